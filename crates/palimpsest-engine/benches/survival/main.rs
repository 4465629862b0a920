//! What survives of conversations in the windows that are made of them: by lists, by sessions, and by what others do.
//! `cargo xtask bench survival` runs it. The conversations, methods and measures are those of the test of this name.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench stops at the first surprise, and prints what it measured with a clock of the machine"
)]

#[path = "../../tests/survival/contender.rs"]
mod contender;
#[path = "../../tests/survival/corpus.rs"]
mod corpus;
#[path = "../../tests/survival/measure.rs"]
mod measure;
#[path = "../../tests/survival/peers.rs"]
mod peers;
mod planted;
mod report;
#[path = "../../tests/survival/table.rs"]
mod table;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    // cargo adds it
    arguments.retain(|argument| argument != "--bench");
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let file = arguments.iter().skip_while(|a| *a != "--layers").nth(1);
    match file {
        Some(file) => report::layers(file),
        None if has("--planted") => planted::print(),
        None if has("--room") => report::room(),
        None if has("--values") => report::needed_values(),
        None => report::tables(report::Extent::of(&has), has("--bless")),
    }
}
