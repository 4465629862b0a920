//! A layer: a summary that covers a range of messages (`Checkpoint` in the API's data).

use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};

pub use crate::data::covered::{Author, Span};
use crate::data::message::Seq;
use crate::data::note::NoteId;

/// Number of a layer in its session. Never reused.
pub type LayerId = u32;

/// The detail in a form of a layer (P4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
#[cfg_attr(
    feature = "typescript",
    derive(ts_rs::TS),
    ts(rename = "LayerLevel", type = "1 | 2 | 3")
)]
pub enum Level {
    /// Essentials only.
    Compact = 1,
    /// No code, references kept.
    Moderate = 2,
    /// The first form.
    Detailed = 3,
}

impl From<Level> for u8 {
    fn from(level: Level) -> Self {
        level as Self
    }
}

impl TryFrom<u8> for Level {
    type Error = String;
    fn try_from(n: u8) -> Result<Self, String> {
        match n {
            1 => Ok(Self::Compact),
            2 => Ok(Self::Moderate),
            3 => Ok(Self::Detailed),
            _ => Err(format!("a layer's level is 1, 2 or 3, not {n}")),
        }
    }
}

/// A summary that covers a range of messages. It is immutable: fading writes a new layer that names its sources (C1,
/// C3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Layer {
    /// Its number.
    pub id: LayerId,
    /// The detail of this form.
    pub level: Level,
    /// The covered messages, oldest first. There is more than one span if a message in between stayed in place.
    pub covers: Vec<Span>,
    /// The summary.
    pub summary: String,
    /// The facts that the summary missed, verbatim, the most important class first.
    pub ledger: Vec<String>,
    /// The tokens of summary and ledger in the slot.
    pub tokens: u32,
    /// The tokens of the covered messages as they were first shown.
    pub original_tokens: u32,
    /// The number of covered messages.
    pub messages: u32,
    /// The notes from which it is made, oldest first.
    pub notes: Vec<NoteId>,
    /// The number of times that its sources were merged. A layer of rank r covers about 2^r compactions.
    pub rank: u32,
    /// The compaction of the session that wrote it, counted from 1.
    pub number: u32,
    /// The number of times that the covered text was shortened: 1 for the first form, one more each time it fades or
    /// merges.
    #[serde(default = "once")]
    pub compressions: u32,
    /// The time of its first form in milliseconds since 1970.
    pub created: f64,
    /// The time of this form in milliseconds since 1970.
    pub compressed_at: f64,
    /// The layers that it replaces (fading: one; merging: two).
    pub replaces: Vec<LayerId>,
    /// The author of the summary.
    pub author: Author,
    /// This form was cut from its notes without a model. A model may rewrite it in a quiet moment (C4).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// The facts in the new window divided by those in the source, 0 to 1 (P9).
    pub retention: f32,
    /// The facts that no part of the window holds any more.
    pub dropped: Vec<String>,
    /// Decisions found in the source.
    #[serde(default)]
    pub key_decisions: Vec<String>,
    /// Files that tools wrote or that the source names.
    #[serde(default)]
    pub files_modified: Vec<String>,
    /// Next steps found in the source.
    #[serde(default)]
    pub next_steps: Vec<String>,
}

const fn once() -> u32 {
    1
}

impl Layer {
    /// Creates a layer with this number for these messages, without text, sources or history.
    pub const fn new(id: LayerId, level: Level, covers: Vec<Span>, now: f64) -> Self {
        Self {
            id,
            level,
            covers,
            summary: String::new(),
            ledger: Vec::new(),
            tokens: 0,
            original_tokens: 0,
            messages: 0,
            notes: Vec::new(),
            rank: 0,
            number: 0,
            compressions: 1,
            created: now,
            compressed_at: now,
            replaces: Vec::new(),
            author: Author::Extractive,
            is_cut: false,
            retention: 0.0,
            dropped: Vec::new(),
            key_decisions: Vec::new(),
            files_modified: Vec::new(),
            next_steps: Vec::new(),
        }
    }

    /// Returns `true` if the layer covers this message.
    pub fn covers(&self, seq: Seq) -> bool {
        self.covers.iter().any(|s| s.contains(seq))
    }

    /// The first and the last message that it covers.
    pub fn range(&self) -> Span {
        Span {
            from: self.covers.iter().map(|s| s.from).min().unwrap_or(0),
            to: self.covers.iter().map(|s| s.to).max().unwrap_or(0),
        }
    }

    /// Counts summary and ledger in their form in the slot.
    pub(crate) fn recount(&mut self, counter: &dyn TokenCounter) {
        let body = layer_body(&self.summary, &self.ledger);
        self.tokens = if body.is_empty() {
            0
        } else {
            counter.count(&body)
        };
    }
}

/// The body of a layer as it stands in the slot.
pub(crate) fn layer_body(summary: &str, ledger: &[String]) -> String {
    let mut body = summary.trim().to_owned();
    for line in ledger {
        if !body.is_empty() {
            body.push('\n');
        }
        body.push_str("* ");
        body.push_str(line);
    }
    body
}
