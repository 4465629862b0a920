//! Sessions: the engine over the caller's storage, models and listeners.
//!
//! | file | what it does |
//! |---|---|
//! | `open.rs` | the engine over the chosen store, and the session in it |
//! | `calls.rs` | what the class `Session` does |
//! | `send.rs` | saying something and hearing the reply |
//! | `library.rs` | what the class `Library` does: listing, deleting, bringing back, saving what is left |
//! | `server.rs` | what the class `Server` behind `ollama` and `openai` does |
//! | `client.rs` | the host's client behind the engine's port; its storage is `palimpsest-browser`'s `HostStore` |
//! | `request.rs` | a request as a client reads it |
//! | `search.rs` | finding what was said |
//! | `vocabulary.rs` | counting with the vocabulary of the session's model |
//! | `told.rs` | what callers tell and are told, where several of these share it |
//! | `refused.rs` | the failures of engine, storage, models and files |

mod calls;
mod client;
mod library;
mod open;
mod refused;
mod request;
mod search;
mod send;
mod server;
mod told;
mod vocabulary;

use palimpsest_engine::ports::LocalFuture;
use wasm_bindgen::JsValue;

use crate::failure::Failure;
use crate::host::Host;
use crate::session::{Library, Server, Session};

/// How what the part holds is begun.
pub(crate) struct Table {
    pub(crate) open: fn(JsValue, Host) -> LocalFuture<'static, Result<Session, Failure>>,
    pub(crate) library: fn(JsValue, Host) -> LocalFuture<'static, Result<Library, Failure>>,
    pub(crate) server: fn(JsValue) -> Result<Server, Failure>,
}

pub(super) static TABLE: Table = Table {
    open: |given, host| Box::pin(open::open(given, host)),
    library: |given, host| Box::pin(library::open(given, host)),
    server: server::open,
};
