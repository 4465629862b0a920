//! The chat app: a page over `palimpsest-engine` with the adapters of `palimpsest-browser`.
//!
//! | module | what |
//! |---|---|
//! | `view`, `bind` | what the page shows, as plain data; the engine's reports as that data |
//! | `markdown`, `text`, `settings`, `key`, `command`, `import` | texts in and out, without a page |
//! | `state`, `act` | the signals, and everything a person can do |
//! | `ui`, `el`, `icon` | components, elements, icons |
//! | `later` | what is loaded when something needs it |
//! | `host`, `server`, `page` | the browser: stores and ports, the model server, the document |
//! | `start`, `embed` | the two beginnings: a page of our own, or an element of somebody else's |
//!
//! Components read signals and call `act`. Only `act` talks to the engine. No component computes a
//! budget. No HTML text is ever made: the page forbids `innerHTML` (see `el`).

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

pub mod bind;
pub mod command;
pub mod doctor;
pub mod export;
pub mod import;
pub mod key;
pub mod markdown;
pub mod settings;
pub mod text;
pub mod view;

#[cfg(target_arch = "wasm32")]
pub mod act;
#[cfg(target_arch = "wasm32")]
pub mod el;
#[cfg(target_arch = "wasm32")]
pub mod embed;
#[cfg(target_arch = "wasm32")]
pub mod host;
#[cfg(target_arch = "wasm32")]
pub mod icon;
#[cfg(target_arch = "wasm32")]
pub mod later;
#[cfg(target_arch = "wasm32")]
pub mod page;
#[cfg(target_arch = "wasm32")]
pub mod server;
#[cfg(target_arch = "wasm32")]
pub mod signal;
#[cfg(target_arch = "wasm32")]
pub mod start;
#[cfg(target_arch = "wasm32")]
pub mod state;
#[cfg(target_arch = "wasm32")]
pub mod tokenizer;
#[cfg(target_arch = "wasm32")]
pub mod ui;
