//! The chat app.
fn main() {}
