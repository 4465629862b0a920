//! Web Locks. Other tabs see that a session has a writer, and the lock of a closed or crashed tab is free by itself.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use js_sys::{Function, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::AbortController;

use crate::global::{global, object, property};
use crate::timer::sleep;

#[wasm_bindgen]
extern "C" {
    /// `LockManager`, still unstable in web-sys.
    type Locks;
    #[wasm_bindgen(method, catch)]
    fn request(
        this: &Locks,
        name: &str,
        options: &JsValue,
        callback: &Function,
    ) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn query(this: &Locks) -> Result<Promise, JsValue>;
}

/// The number of locks with this prefix that are held in this browser, or `None` if the host cannot tell.
pub(crate) async fn held(prefix: &str) -> Option<u32> {
    let locks = property(&global("navigator")?, "locks")?;
    let promise = locks.unchecked_ref::<Locks>().query().ok()?;
    let held = property(&JsFuture::from(promise).await.ok()?, "held")?;
    let names = js_sys::Array::from(&held);
    let is_ours = |lock: JsValue| {
        let name = property(&lock, "name").and_then(|name| name.as_string());
        name.is_some_and(|name| name.starts_with(prefix))
    };
    Some(names.iter().filter(|lock| is_ours(lock.clone())).count() as u32)
}

/// The way to request a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// Wait this many milliseconds. A tab that is just closing needs some.
    Patient(u32),
    /// Take the lock from its holder, even from a frozen tab.
    Steal,
}

/// A held lock. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Lock {
    release: Function,
    /// The lock was given back, so the end of its promise is not a theft.
    is_released: Rc<Cell<bool>>,
    _granted: Closure<dyn FnMut(JsValue) -> Promise>,
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.is_released.set(true);
        let _ = self.release.call0(&JsValue::UNDEFINED);
    }
}

/// The result of a request.
#[derive(Debug)]
pub(crate) enum Answer {
    /// This tab holds the lock.
    Held(Lock),
    /// Another tab holds the lock.
    Taken,
    /// This host has no locks.
    None,
}

/// Requests the lock `name`. Calls `on_lost` if another tab steals it later.
pub(crate) async fn lock(name: &str, asking: Asking, on_lost: impl FnOnce() + 'static) -> Answer {
    let Some(locks) = global("navigator").and_then(|navigator| property(&navigator, "locks"))
    else {
        return Answer::None;
    };
    // The lock is held until this promise resolves.
    let resolve = Rc::new(RefCell::new(None));
    let held = {
        let resolve = Rc::clone(&resolve);
        Promise::new(&mut move |resolved, _| {
            resolve.replace(Some(resolved));
        })
    };
    let Some(release) = resolve.take() else {
        return Answer::None;
    };
    let (sender, mut is_granted) = oneshot::channel();
    let was_granted = Rc::new(Cell::new(false));
    let granted = {
        let was_granted = Rc::clone(&was_granted);
        Closure::once(move |_: JsValue| {
            was_granted.set(true);
            let _ = sender.send(());
            held
        })
    };
    let Ok(controller) = AbortController::new() else {
        return Answer::None;
    };
    let (options, patience) = match asking {
        Asking::Patient(ms) => (object([("signal", controller.signal().into())]), ms),
        // A theft takes no time, but the code must not wait for ever.
        Asking::Steal => (object([("steal", true.into())]), 5_000),
    };
    let callback = granted.as_ref().unchecked_ref();
    let Ok(promise) = locks
        .unchecked_ref::<Locks>()
        .request(name, &options, callback)
    else {
        return Answer::None;
    };
    let lock = Lock {
        release: release.unchecked_into(),
        is_released: Rc::default(),
        _granted: granted,
    };
    let is_released = Rc::clone(&lock.is_released);
    let (denied, is_denied) = oneshot::channel();
    // The promise always needs a listener: the browser reports a rejected promise without one as unhandled.
    spawn_local(async move {
        if JsFuture::from(promise).await.is_ok() || is_released.get() {
            return;
        }
        if was_granted.get() {
            on_lost();
        } else {
            let _ = denied.send(());
        }
    });
    let is_denied = async {
        match is_denied.await {
            Ok(()) => {}
            Err(_) => std::future::pending().await,
        }
    };
    let no_answer = select(Box::pin(is_denied), sleep(patience));
    match select(&mut is_granted, no_answer).await {
        Either::Left((Ok(()), _)) => return Answer::Held(lock),
        // A sandboxed frame has the object but not the permission.
        Either::Right((Either::Left(_), _)) => return Answer::None,
        _ => {}
    }
    // This is set before the abort, so that the refusal counts as our own.
    lock.is_released.set(true);
    controller.abort();
    if matches!(is_granted.try_recv(), Ok(Some(()))) {
        lock.is_released.set(false);
        return Answer::Held(lock);
    }
    Answer::Taken
}
