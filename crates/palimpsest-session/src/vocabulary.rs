//! Counting with the vocabulary of the session's model.

use std::rc::Rc;

use js_sys::Promise;
use palimpsest_browser::vocabulary::{SnapshotCache, build, snapshot};
use palimpsest_core::error::CoreError;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::Failure;
use crate::server::{self, Address};
use crate::session::{Open, Session};
use crate::text::{options, promise};

#[wasm_bindgen]
impl Session {
    /// Counts with the vocabulary of a snapshot from now on, or without one by estimate.
    #[wasm_bindgen(js_name = setVocabulary)]
    pub fn set_vocabulary(&self, bytes: Option<Vec<u8>>) -> Promise {
        let open = Rc::clone(&self.0);
        promise(async move {
            match bytes {
                Some(bytes) => take(&open, open.model_name(), &bytes).await?,
                None => open.engine.set_vocabulary(None),
            }
            open.engine.settle().await;
            Ok(String::new())
        })
    }

    /// The same with the vocabulary that the Ollama at an address gives for the model.
    #[wasm_bindgen(js_name = askVocabulary)]
    pub fn ask_vocabulary(&self, address: &str) -> Result<Promise, JsValue> {
        let address: Address = options(address)?;
        if !address.tells_vocabularies() {
            let why = "Only Ollama tells the vocabulary of a model. Load it yourself, with Tokenizer.fromOllamaShow().";
            return Err(Failure::new("not_supported", why).into());
        }
        let transport = server::transport(&address)?;
        let open = Rc::clone(&self.0);
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
            Ok(String::new())
        }))
    }
}

async fn take(open: &Open, model: String, bytes: &[u8]) -> Result<(), Failure> {
    let vocabulary = build(bytes).await?;
    open.engine.set_vocabulary(Some((&model, vocabulary)));
    Ok(())
}
