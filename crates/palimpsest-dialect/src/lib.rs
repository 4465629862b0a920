//! Message lists in the shapes people already have: read, written back in the same shape, checked and repaired.
//!
//! Reading gives [`message::Message`]s and remembers where each part stood in the caller's list. Writing gives the caller's own
//! value back wherever a message stands as it was said, so that fields palimpsest does not know survive untouched, and
//! writes in the dialect what is new or changed. Each file uses only those above it:
//!
//! | file | what |
//! |---|---|
//! | `error.rs`, `message.rs` | a refusal; messages and their parts, whatever shape they came in |
//! | `tool.rs`, `repair.rs` | which result answers which call; the order of parts that every provider takes |
//! | `verbatim.rs` | a message as a model sees it |
//! | `shape.rs`, `problem.rs` | the dialects by name; what can be wrong with a message |
//! | `parsed.rs`, `reader.rs`, `reasoning.rs`, `writer.rs` | what the readers and the writers of all dialects share |
//! | `blocks.rs` | what the dialects share in which roles take turns |
//! | `openai.rs`, `ollama.rs`, `anthropic.rs`, `ai_sdk.rs`, `responses.rs`, `gemini.rs`, `bedrock.rs` | one dialect each: reader and writer |
//! | `lists.rs` | detect, parse, render: the one place that knows which dialect is which file |
//! | `growing.rs`, `tail.rs`, `count.rs`, `validate.rs` | a list that grows, its unfinished end, its size as a prompt, the public linter |
//! | `imports.rs`, `imports/` | conversations in the files of other programs, a file for each format |
#![forbid(unsafe_code)]

mod ai_sdk;
mod anthropic;
mod bedrock;
mod blocks;
mod count;
mod error;
mod gemini;
mod growing;
pub mod imports;
mod lists;
pub mod message;
mod ollama;
mod openai;
mod parsed;
mod problem;
mod reader;
mod reasoning;
pub mod repair;
mod responses;
mod shape;
mod tail;
pub mod tool;
pub mod validate;
pub mod verbatim;
mod writer;

pub use count::count;
pub use error::DialectError;
pub use growing::Reading;
pub use lists::{detect, detect_certain, parse, render, render_list, to_values};
pub use parsed::{Parsed, ParsedMessage, Rendered, Shows, SystemLine};
pub use problem::{Code, Problem};
pub use reasoning::{reasoning, reasoning_begins, reasoning_of};
pub use shape::{Dialect, MAX_ID_BYTES};
pub use tail::{OpenTail, open_tail};
pub use validate::{Validation, said_once, validate, validate_list};
pub use writer::{From, Said};
