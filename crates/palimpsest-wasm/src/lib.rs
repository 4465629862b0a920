//! The npm package: what crosses between JavaScript and the engine.
//!
//! Each export translates and calls: no decision is made here. `npm/src` wraps these exports in the public,
//! documented TypeScript, checks that the module is there, and gives errors their class.
//!
//! | file | exports |
//! |---|---|
//! | `version.rs` | `version` |
//! | `compact.rs` | the class `Compaction` behind `compact` and `compactWith` |
//! | `recall.rs` | `recall` |
//! | `resolve.rs` | `resolvePolicy` |
//! | `replay.rs` | `replay` |
//! | `validate.rs` | `validate` |
//! | `forgotten.rs` | `forgotten` |
//! | `conversations.rs` | `ConversationReader` |
//! | `count.rs` | the class `Counter` behind `countTokens` |
//! | `own_counter.rs` | counters that call a function of the caller's |
//! | `calibrator.rs` | the class `Calibrator` behind `calibrate` |
//! | `tokenizer.rs` | the class `TokenizerLoader` |
//! | `error.rs` | the table of codes, and how an error becomes a JavaScript `Error` |
//! | `boundary.rs` | how messages, options and reports cross |
//!
//! Everything structured crosses as JSON text: keys such as `__proto__` are only data there, fractions keep their
//! shortest form, and one reader and one writer are half the code of two. A list of messages comes back as an array
//! that holds, for each message that is the caller's own, its index: the caller gets its very object back.

#![allow(
    clippy::needless_pass_by_value,
    unreachable_pub,
    reason = "wasm-bindgen takes owned values across the border and exports what is `pub` in private modules"
)]

mod boundary;
mod calibrator;
mod compact;
mod conversations;
mod count;
mod error;
mod forgotten;
mod own_counter;
mod recall;
mod replay;
mod resolve;
mod tokenizer;
mod validate;
mod version;

pub use error::CODES;
