//! The npm package: what crosses between JavaScript and the engine.
//!
//! Each export translates and calls: no decision is made here. `npm/src` wraps these exports in the public,
//! documented TypeScript, checks that the module is there, and gives errors their class.
//!
//! | file | what it holds |
//! |---|---|
//! | `lists/` | the functions for lists: `compact`, `Conversation`, `recall`, `resolvePolicy`, `validate`, counting |
//! | `session.rs` | the classes `Session`, `Library`, `Server`, `Answer` |
//! | `tokenizer.rs` | the classes `TokenizerLoader`, `Calibrator` |
//! | `transcripts.rs` | the classes `Transcripts`, `ConversationReader`, `Replayer` |
//! | `opening.rs` | the exports that make those: each loads its part |
//! | `parts.rs`, `parts/` | what is loaded later: `session`, `tokenizer`, `transcripts`, `replay` |
//! | `class.rs` | how a class of the main module has its code in a part |
//! | `stop.rs` | the class `Stop`: how a signal reaches what runs |
//! | `host.rs` | what the TypeScript offers: a client, tools, storage, who listens |
//! | `border.rs`, `names.rs` | how messages, options and reports cross, and the names of their fields |
//! | `types.rs`, `shapes.rs` | the TypeScript types of the exports, and the test that compares them with ours |
//! | `codes.rs`, `failure.rs` | the table of codes, and how an error becomes a JavaScript `Error` |

#![allow(
    clippy::needless_pass_by_value,
    unreachable_pub,
    reason = "wasm-bindgen takes owned values across the border and exports what is `pub` in private modules"
)]

mod border;
mod class;
mod codes;
mod failure;
mod host;
mod lists;
mod names;
mod opening;
mod parts;
mod session;
#[cfg(test)]
mod shapes;
mod stop;
mod tokenizer;
mod transcripts;
mod types;

pub use codes::CODES;
