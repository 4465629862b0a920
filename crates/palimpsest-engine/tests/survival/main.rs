//! What survives of conversations in the windows that are made of them: by lists, by sessions, and by what others do.
//!
//! `cargo xtask bench survival` prints the tables. What runs without being asked for is a smaller part: ratios to the tail
//! and to TextRank, on conversations of our own.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, and prints what it measured with a clock of the machine; the bench of this name uses all of it"
)]

mod contender;
mod corpus;
mod gate;
mod instructions;
mod measure;
mod page;
mod peers;
mod table;
