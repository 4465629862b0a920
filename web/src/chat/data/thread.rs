//! The thread's data.

use std::sync::Arc;

use palimpsest_core::message::{Ended, Seq};

/// One entry of the thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// One message, or an assistant message with its tool results.
    Message(Arc<Message>),
    /// The compaction with this number; what it says changes in place.
    Card(u32),
}

impl Entry {
    /// What keeps its element: a message's numbers, with what changes its looks (tool results, branches,
    /// its form, its cost), or the card's.
    pub fn key(&self) -> u64 {
        match self {
            Self::Message(m) => {
                let looks = u64::from(m.last - m.seq) << 16
                    ^ u64::from(m.branch.0) << 10
                    ^ u64::from(m.branch.1) << 4
                    ^ m.form.map_or(0, |f| f as u64 + 1)
                    ^ u64::from(m.stats.is_some()) << 3;
                u64::from(m.seq) << 32 | looks & 0xffff_ffff
            }
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
    /// How a reply ended that is not whole.
    pub ended: Option<Ended>,
    /// What the reply cost.
    pub stats: Option<Stats>,
    /// How it is sent, where that is not word for word.
    pub form: Option<Form>,
    /// The messages of tools in it of whose text only a reference is sent.
    pub offloaded: Vec<u32>,
    /// Its tokens, word for word.
    pub tokens: u32,
    /// Which of its siblings it is, from 1, and how many there are.
    pub branch: (u32, u32),
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
    /// An image.
    Image {
        /// Its name.
        name: String,
        /// Its media type.
        media: String,
        /// The number of its message, and its place among the parts.
        at: (u32, usize),
    },
    /// A file, by name.
    Attachment {
        /// Its name.
        name: String,
        /// Its text.
        text: String,
    },
}

/// How a message is sent, where that is not word for word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Said more briefly.
    Condensed,
    /// Without tool calls and thinking.
    Stripped,
    /// As a reference to what is stored.
    Offloaded,
    /// Its head and its tail.
    Excerpt,
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

/// The number people see.
pub const fn place(seq: Seq) -> u32 {
    seq + 1
}
