//! Model servers: behind a session, and as clients that JavaScript can ask itself.

use std::rc::Rc;

use futures_channel::mpsc::{self, UnboundedReceiver};
use futures_util::StreamExt;
use futures_util::lock::Mutex;
use js_sys::Promise;
use palimpsest_browser::{FetchTransport, Patience, ServedModel, ServerModel, served_model};
use palimpsest_core::request::{Delta, ModelError};
use palimpsest_engine::ports::{Abort, LanguageModel};
use palimpsest_ollama::Dialect;
use serde::Deserialize;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::{future_to_promise, spawn_local};

use super::request::Asked as Request;
use crate::border::{options, read, told};
use crate::failure::Failure;
use crate::session::{Answer, Answering, Server, Serving};

/// Where a server is, and how it speaks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Address {
    protocol: Protocol,
    url: String,
    #[serde(default)]
    key: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Protocol {
    Ollama,
    OpenAi,
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
}

impl Protocol {
    const fn dialect(self) -> Dialect {
        match self {
            Self::Ollama => Dialect::Ollama,
            Self::OpenAi => Dialect::OpenAi,
            Self::LlamaCpp => Dialect::LlamaCpp,
        }
    }
}

/// How long the question for the model may take: a message waits for the answer.
const WINDOW_PATIENCE: Patience = Patience {
    first_byte_ms: 3_000,
    idle_ms: 3_000,
    whole_ms: 6_000,
    ..Patience::SERVER
};

impl Address {
    /// The name of whoever runs the model.
    pub(super) const fn provider(&self) -> &'static str {
        self.protocol.dialect().name()
    }

    /// What the server there says of a model.
    pub(crate) async fn served(&self, model: &str) -> Result<ServedModel, Failure> {
        let transport = transport(self)?.with_patience(WINDOW_PATIENCE);
        Ok(served_model(self.protocol.dialect(), &transport, model).await?)
    }

    /// Whether the server there tells what tokens a model has.
    pub(crate) const fn tells_vocabularies(&self) -> bool {
        matches!(self.protocol, Protocol::Ollama)
    }
}

/// The way to an address.
pub(crate) fn transport(address: &Address) -> Result<FetchTransport, Failure> {
    let transport = FetchTransport::new(&address.url)
        .map_err(|error| Failure::new("invalid_options", error.to_string()))?;
    Ok(transport.with_key(&address.key))
}

/// The models of the server at an address.
pub(crate) fn model(address: &Address) -> Result<Rc<dyn LanguageModel>, Failure> {
    let dialect = address.protocol.dialect();
    Ok(Rc::new(ServerModel::new(dialect, transport(address)?)))
}

/// The server that JavaScript asks.
struct Asked(Rc<dyn LanguageModel>);

/// The server of an address: `{ protocol, url, key? }`.
pub(super) fn open(address: JsValue) -> Result<Server, Failure> {
    Ok(Server(Box::new(Asked(model(&options(address)?)?))))
}

impl Serving for Asked {
    fn chat(&self, request: &str) -> Result<Answer, Failure> {
        let asked: Request = read(request)?;
        let request = asked.request()?;
        let stop = Abort::new();
        let (sender, receiver) = mpsc::unbounded();
        let (model, signal) = (Rc::clone(&self.0), stop.signal());
        spawn_local(async move {
            let mut deltas = model.complete(request, signal);
            while let Some(delta) = deltas.next().await {
                // nobody listens any more: dropping the stream ends the request
                if sender.unbounded_send(delta).is_err() {
                    break;
                }
            }
        });
        Ok(Answer(Box::new(Coming {
            stop,
            deltas: Rc::new(Mutex::new(receiver)),
        })))
    }
}

/// An answer that comes in.
struct Coming {
    stop: Abort,
    deltas: Rc<Mutex<UnboundedReceiver<Result<Delta, ModelError>>>>,
}

impl Answering for Coming {
    fn next(&self) -> Promise {
        let deltas = Rc::clone(&self.deltas);
        future_to_promise(async move {
            let delta = deltas.lock().await.next().await;
            match delta {
                None => Ok(JsValue::UNDEFINED),
                Some(Ok(delta)) => Ok(told(&delta)?),
                Some(Err(error)) => Err(Failure::from(error).into()),
            }
        })
    }

    fn stop(&self) {
        self.stop.abort();
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        self.stop.abort();
    }
}
