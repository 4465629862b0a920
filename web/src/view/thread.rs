//! The thread's data.

use std::sync::Arc;

/// One entry of the thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// One message, or an assistant message with its tool results.
    Message(Arc<Message>),
    /// The compaction with this number; what it says changes in place.
    Card(u32),
}

impl Entry {
    /// What keeps its element: a message's numbers (tool results make it longer), or the card's.
    pub fn key(&self) -> u64 {
        match self {
            Self::Message(m) => u64::from(m.seq) << 32 | u64::from(m.last),
            Self::Card(number) => u64::from(*number),
        }
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The person.
    You,
    /// The model.
    Model,
    /// A line of an imported conversation that is neither.
    Other,
}

/// A message as it was said.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its place in the session.
    pub seq: u32,
    /// The last message shown together with it (an assistant message with its tool results).
    pub last: u32,
    /// Who speaks.
    pub who: Who,
    /// The speaker's name: a model's; empty for the person.
    pub name: String,
    /// When; milliseconds since 1970, 0 if unknown.
    pub at: f64,
    /// What was said, in order.
    pub blocks: Vec<Block>,
    /// What the reply cost.
    pub stats: Option<Stats>,
    /// The reply was stopped or cut off.
    pub unfinished: bool,
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Markdown.
    Text(String),
    /// Thinking: kept in the history, never sent back.
    Thinking(String),
    /// A tool call, with its result when there is one.
    Tool {
        /// The tool.
        name: String,
        /// Its arguments, as JSON text.
        arguments: String,
        /// What it returned.
        result: Option<String>,
        /// The result is an error.
        error: bool,
    },
    /// A picture or a file, by name.
    Attachment {
        /// Its name.
        name: String,
        /// Its media type.
        media: String,
    },
}

/// What a reply cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stats {
    /// Tokens the model read.
    pub read: u32,
    /// Tokens it wrote.
    pub wrote: u32,
    /// Tokens written per second.
    pub speed: Option<f64>,
}
