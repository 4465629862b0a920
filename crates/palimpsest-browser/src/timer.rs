//! Sleep.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_channel::oneshot;
use palimpsest_engine::ports::{LocalFuture, Timer};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    // The id is a number in browsers and an object in Node.
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &js_sys::Function, ms: i32) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(id: &JsValue);
}

/// `setTimeout` of the page, the worker or Node.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostTimer;

impl Timer for HostTimer {
    fn sleep(&self, ms: u32) -> LocalFuture<'static, ()> {
        Box::pin(sleep(ms))
    }
}

/// Resolves after about `ms` milliseconds, at most 24 days. Dropping it clears the time-out.
pub(crate) fn sleep(ms: u32) -> Sleep {
    let (sender, woken) = oneshot::channel();
    let callback = Closure::once(move || {
        let _ = sender.send(());
    });
    // A larger number wraps round in hosts and fires at once.
    let ms = i32::try_from(ms).unwrap_or(i32::MAX);
    let id = set_timeout(callback.as_ref().unchecked_ref(), ms);
    Sleep {
        id,
        woken,
        _callback: callback,
    }
}

#[derive(Debug)]
pub(crate) struct Sleep {
    id: JsValue,
    woken: oneshot::Receiver<()>,
    _callback: Closure<dyn FnMut()>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.woken).poll(cx).map(drop)
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        clear_timeout(&self.id);
    }
}
