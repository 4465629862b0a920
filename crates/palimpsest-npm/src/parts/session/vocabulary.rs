//! Counting with the vocabulary of the session's model.

use std::rc::Rc;

use js_sys::Promise;
use palimpsest_browser::vocabulary::{SnapshotCache, build, snapshot};
use palimpsest_core::error::CoreError;
use wasm_bindgen::JsValue;

use super::calls::Open;
use super::server::{self, Address};
use crate::border::{options, promise};
use crate::failure::Failure;

/// Counts with the vocabulary of a snapshot from now on, or without one by estimate.
pub(super) fn set(open: &Rc<Open>, bytes: Option<Vec<u8>>) -> Promise {
    let open = Rc::clone(open);
    promise(async move {
        match bytes {
            Some(bytes) => take(&open, open.model_name(), &bytes).await?,
            None => open.engine.set_vocabulary(None),
        }
        open.engine.settle().await;
        Ok(JsValue::UNDEFINED)
    })
}

/// The same with the vocabulary that the Ollama at an address gives for the model.
pub(super) fn ask(open: &Rc<Open>, address: JsValue) -> Result<Promise, Failure> {
    let address: Address = options(address)?;
    if !address.tells_vocabularies() {
        let why = "Only Ollama tells the vocabulary of a model. Load it yourself, with Tokenizer.fromOllamaShow().";
        return Err(Failure::new("not_supported", why));
    }
    let transport = server::transport(&address)?;
    let open = Rc::clone(open);
    Ok(promise(async move {
        let model = open.model_name();
        if model.is_empty() {
            let why = "The session has no model whose vocabulary could be asked for.";
            return Err(CoreError::BadInput(why.into()).into());
        }
        let cache = SnapshotCache::open().await;
        let bytes = snapshot(&transport, &model, cache.as_ref()).await?;
        take(&open, model, &bytes).await?;
        open.engine.settle().await;
        Ok(JsValue::UNDEFINED)
    }))
}

async fn take(open: &Open, model: String, bytes: &[u8]) -> Result<(), Failure> {
    let vocabulary = build(bytes).await?;
    open.engine.set_vocabulary(Some((&model, vocabulary)));
    Ok(())
}
