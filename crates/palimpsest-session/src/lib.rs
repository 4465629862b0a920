//! The npm package's second module: sessions. A module of its own, so that who only makes lists fit does not load it.
//!
//! Each export translates and calls: no decision is made here. `npm/src/session` wraps them in the public, documented
//! TypeScript.
//!
//! | file | exports |
//! |---|---|
//! | `open.rs` | `open`: the engine over the chosen store, and the session in it |
//! | `library.rs` | `library` and the class `Library`: listing, deleting, bringing back, saving what is left |
//! | `session.rs` | the class `Session` |
//! | `send.rs` | saying something and hearing the reply |
//! | `server.rs` | the class `Server` behind `ollama` and `openai` |
//! | `stop.rs` | the class `Stop`: how a signal reaches what runs |
//! | `host.rs` | what the TypeScript offers: a client, tools, storage, who listens |
//! | `client.rs` | the host's client behind the engine's port; its storage is `palimpsest-browser`'s `HostStore` |
//! | `request.rs` | a request as a client reads it |
//! | `search.rs` | finding what was said |
//! | `vocabulary.rs` | counting with the vocabulary of the session's model |
//! | `panic.rs` | who hears that the module has come to its end |
//! | `error.rs` | the codes, and how a failure becomes a JavaScript `Error` |
//! | `text.rs` | how things cross: as JSON text |

#![allow(
    clippy::needless_pass_by_value,
    unreachable_pub,
    reason = "wasm-bindgen takes owned values across the border and exports what is `pub` in private modules"
)]

mod client;
mod error;
mod host;
mod library;
mod open;
mod panic;
mod request;
mod search;
mod send;
mod server;
mod session;
mod stop;
mod text;
mod vocabulary;

pub use error::CODES;
