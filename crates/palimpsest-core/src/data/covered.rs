//! What a summary stands for, and who wrote it.

use serde::{Deserialize, Serialize};

use crate::data::message::Seq;

/// A run of messages on a path, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Span {
    /// First message.
    pub from: Seq,
    /// Last message.
    pub to: Seq,
}

impl Span {
    /// Whether `seq` lies in the span.
    pub const fn contains(&self, seq: Seq) -> bool {
        self.from <= seq && seq <= self.to
    }
}

/// Who wrote a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "by"))]
pub enum Author {
    /// A model.
    Model {
        /// Its name.
        name: String,
    },
    /// A person, who wrote it over what stood there.
    Person,
    /// The deterministic summariser, because no model was asked.
    Extractive,
    /// The deterministic summariser, because the model's text was rejected or never came.
    Fallback {
        /// The code of the reason.
        reason: String,
    },
}

palimpsest_text::tagged!(Author, "by");
