//! The passes by name.

use serde::{Deserialize, Serialize};

/// A pass by name, in the order of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassKind {
    /// Tool output and arguments said more briefly.
    Condense,
    /// Repeated and superseded tool output shown once.
    Dedupe,
    /// Tool blocks before the watermark taken out.
    Strip,
    /// References in the place of large tool results.
    Offload,
    /// The oldest exchanges covered by a layer.
    Summarize,
    /// The oldest exchanges covered without a summary.
    Truncate,
    /// Every layer one step shorter.
    Fade,
    /// Whatever it takes to fit.
    Emergency,
    /// The reasoning of finished turns left out.
    Reasoning,
    /// Passages that were quoted for one message, and went with it.
    Recall,
    /// What the calls before did, whose state came back with the whole list.
    Earlier,
}

impl PassKind {
    /// The word, as data has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Condense => "condense",
            Self::Dedupe => "dedupe",
            Self::Strip => "strip",
            Self::Offload => "offload",
            Self::Summarize => "summarize",
            Self::Truncate => "truncate",
            Self::Fade => "fade",
            Self::Emergency => "emergency",
            Self::Reasoning => "reasoning",
            Self::Recall => "recall",
            Self::Earlier => "earlier",
        }
    }
}
