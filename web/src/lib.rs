//! The chat app: a page over `palimpsest-engine` with the adapters of `palimpsest-browser`.
//!
//! | module | content |
//! |---|---|
//! | `text`, `markdown` | texts and Markdown, without a page |
//! | `platform`, `server` | the browser: elements, signals, stores, the document; the model server |
//! | `state` | every signal of the page |
//! | `widgets` | pieces of views that several features use |
//! | `chat`, `context`, `library`, `settings`, `tools`, `log` | the features: what they show (`data`), what they do (`actions`), how they look (`view`) |
//! | `app` | the frame around them, and the two starts: a page of its own, or an element of another page |
//! | `act` | every action by its name, and when its code is loaded |
//!
//! Views read signals and call `act`. Only actions talk to the engine. No view computes a budget. No code
//! makes HTML text: the page forbids `innerHTML` (see `platform::el`).

#![allow(
    clippy::large_types_passed_by_value,
    clippy::needless_pass_by_value,
    reason = "components own what they are given: signals are handles, and a closure that lives on the page needs its own"
)]
#![allow(
    clippy::return_self_not_must_use,
    clippy::similar_names,
    reason = "elements are built in chains, and siblings in a view have kindred names"
)]

pub mod app;
pub mod chat;
pub mod context;
pub mod library;
pub mod log;
pub mod markdown;
pub mod settings;
pub mod text;
pub mod tools;

#[cfg(target_arch = "wasm32")]
pub mod act;
#[cfg(target_arch = "wasm32")]
pub mod platform;
#[cfg(target_arch = "wasm32")]
pub mod server;
#[cfg(target_arch = "wasm32")]
pub mod state;
#[cfg(target_arch = "wasm32")]
pub mod widgets;
