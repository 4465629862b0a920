//! Decides what a model sees of a long conversation.
//!
//! The crate is synchronous and pure: it has no clock, no storage, no network and no randomness. Everything that it needs
//! is an argument, so the same input always gives the same window. Its strata, from the bottom up. Each uses only those
//! above it in this list:
//!
//! 1. [`error`], [`nearest`]: tools for every other module.
//! 2. `data`: the data. Layers, notes, records, goals, policies, the shares of a window.
//! 3. [`context`]: the shown content and its size. A [`context::Context`] holds the messages and the view over them;
//!    [`window`] makes the exact messages for a model from it.
//! 4. [`pass`]: makes a context smaller without a model: repeats, long tool output, old layers.
//! 5. [`watermark`], [`budget`], [`view_edit`], [`loss`]: the boundary of tool blocks, the moment to act, the changes of a
//!    view, and the content that left it.
//! 6. [`run`]: one compaction, as a value that the caller steps until it has a proposal or a reason against one.
//! 7. [`compact`], [`replay`], [`forgotten`] and [`series`]: a compaction of a list, several policies side by side, the content
//!    that a window of any program forgot of a list, and the cost of successive windows.
//!
//! `palimpsest-dialect` defines messages and the shapes of message lists, here as [`dialect`], [`message`] and [`tool`].
//! `palimpsest-text` reads text, and `palimpsest-tokens` counts tokens.
//!
//! ```
//! use std::rc::Rc;
//!
//! use palimpsest_core::compact::{CompactOptions, Compaction};
//! use palimpsest_core::context::Seed;
//! use palimpsest_tokens::{Estimator, TokenCounter};
//! use serde_json::json;
//!
//! let list: Vec<_> = (0..200)
//!     .map(|n| json!({
//!         "role": if n % 2 == 0 { "user" } else { "assistant" },
//!         "content": format!("Parcel {n} weighs {} kg and goes to gate {}.", n % 9 + 1, n % 4),
//!     }))
//!     .collect();
//! let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
//! let seed = Seed { now: 0.0, secret: [0; 16] };
//! let compaction = Compaction::start(list, &CompactOptions::new(2_048), None, &counter, seed)?;
//! let output = compaction.finish_without_model()?;
//! assert!(output.report.changed);
//! assert!(output.report.after.tokens < 2_048);
//! assert!(output.messages.len() < 200);
//! # Ok::<(), palimpsest_core::error::CoreError>(())
//! ```
#![forbid(unsafe_code)]
pub mod budget;
pub mod compact;
pub mod context;
mod data;
pub mod error;
pub mod forgotten;
mod headroom;
pub mod loss;
pub mod nearest;
pub mod pass;
pub mod replay;
pub mod run;
pub mod series;
pub mod view_edit;
pub mod watermark;

pub use palimpsest_dialect as dialect;
pub use palimpsest_text::sorted;

pub use context::{analytics, quotes, window};
pub use data::{
    goal, layer, mark, marker, message, mode, model, note, policy, prompt, record, rendition,
    request, shares, tool, view,
};
