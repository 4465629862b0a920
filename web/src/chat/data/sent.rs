//! The model's view: one message of the next window.

/// The origin of a sent message, for the edge beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ink {
    /// System prompt, goal, pins.
    System,
    /// The slot with the layers.
    Layer,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

/// One message exactly as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sent {
    /// Its role, as the provider calls it.
    pub role: &'static str,
    /// Its origin.
    pub ink: Ink,
    /// Its kind in a word or two; may be empty.
    pub note: String,
    /// Its text.
    pub text: String,
    /// Its tokens.
    pub tokens: Option<u32>,
}
