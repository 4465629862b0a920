//! The chat app: a page over `palimpsest-engine` with the adapters of `palimpsest-browser`.
//!
//! | module | content |
//! |---|---|
//! | `view`, `bind` | the data of the page, and its conversion from the engine's reports |
//! | `markdown`, `text`, `settings`, `key`, `command`, `import` | texts in and out, without a page |
//! | `state`, `act` | the signals, and every action of a user |
//! | `ui`, `el`, `icon` | components, elements, icons |
//! | `later` | code that is loaded when it is needed |
//! | `host`, `server`, `page` | the browser: stores and ports, the model server, the document |
//! | `start`, `embed` | the two starts: a page of its own, or an element of another page |
//!
//! Components read signals and call `act`. Only `act` talks to the engine. No component computes a budget. No code
//! makes HTML text: the page forbids `innerHTML` (see `el`).

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
