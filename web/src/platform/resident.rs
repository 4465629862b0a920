//! A model in the page itself: a worker with llama.cpp answers in a server's place, as an Ollama would.
//!
//! The page's script (`public/model.js`) starts the worker when the first request is made.

use std::cell::RefCell;

use js_sys::{Function, Promise};
use palimpsest_browser::{Answer, HostTransport, Transport, TransportHost};
use palimpsest_core::request::ModelError;
use palimpsest_engine::ports::{LocalFuture, Signal};
use palimpsest_ollama::HttpRequest;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::File;

#[wasm_bindgen]
extern "C" {
    /// The worker, as the script gives it: a way to it, and a place for files of models.
    type Resident;

    /// Keeps a file. The promise is resolved with nothing, or with the reason why it was not kept.
    #[wasm_bindgen(method)]
    fn add(this: &Resident, file: &File) -> Promise;

    /// Removes every file that was added. The promise is resolved as that of `add` is.
    #[wasm_bindgen(method)]
    fn drop(this: &Resident) -> Promise;
}

thread_local! {
    /// The function that starts the worker, where the page is our own.
    static START: RefCell<Option<Function>> = const { RefCell::new(None) };
    /// The worker that was started, or is being started.
    static STARTED: RefCell<Option<Promise>> = const { RefCell::new(None) };
}

/// Says what starts the worker.
pub fn started_by(start: Function) {
    START.set(Some(start));
}

/// Returns `true` if this page can have a model of its own.
pub fn is_possible() -> bool {
    START.with_borrow(Option::is_some)
}

/// The way to the worker.
pub async fn host() -> Result<HostTransport, ModelError> {
    let worker = worker().await?;
    Ok(HostTransport::new(worker.unchecked_into::<TransportHost>()))
}

/// Keeps a file of a model for this visit and later ones.
///
/// # Errors
///
/// A sentence that says why it was not kept.
pub async fn keep(file: &File) -> Result<(), String> {
    done(|worker| worker.add(file)).await
}

/// Removes every file of a model that was added.
///
/// # Errors
///
/// A sentence that says why one stays.
pub async fn forget() -> Result<(), String> {
    done(Resident::drop).await
}

async fn done(ask: impl FnOnce(&Resident) -> Promise) -> Result<(), String> {
    let worker = worker().await.map_err(|error| error.to_string())?;
    match JsFuture::from(ask(worker.unchecked_ref())).await {
        Ok(why) => why.as_string().map_or(Ok(()), Err),
        Err(_) => Err(ModelError::Truncated.to_string()),
    }
}

async fn worker() -> Result<JsValue, ModelError> {
    let unreachable = |why: &str| ModelError::Unreachable { why: why.into() };
    if STARTED.with_borrow(Option::is_none) {
        let start = START.with_borrow(Clone::clone);
        let start = start.ok_or_else(|| unreachable("this page has no model of its own"))?;
        let started = start.call0(&JsValue::NULL).ok();
        STARTED.set(started.and_then(|promise| promise.dyn_into().ok()));
    }
    let started = STARTED.with_borrow(Clone::clone);
    let started = started.ok_or_else(|| unreachable("the model's script is not there"))?;
    let worker = JsFuture::from(started).await;
    worker.map_err(|_| {
        // it may be there at the next attempt
        STARTED.set(None);
        unreachable("the model's script could not be loaded")
    })
}

/// The transport of every request to the model in the page.
#[derive(Debug, Clone, Copy)]
pub struct InPage;

impl Transport for InPage {
    fn send(
        &self,
        request: HttpRequest,
        signal: Signal,
    ) -> LocalFuture<'_, Result<Answer, ModelError>> {
        Box::pin(async move { host().await?.send(request, signal).await })
    }
}
