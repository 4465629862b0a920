//! The passes by name.

use serde::{Deserialize, Serialize};

/// A pass by name, in the order of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum PassKind {
    /// Shorten tool output and arguments.
    Condense,
    /// Show repeated and superseded tool output once.
    Dedupe,
    /// Remove tool blocks before the watermark.
    Strip,
    /// Replace large tool results by references.
    Offload,
    /// Cover the oldest exchanges with a layer.
    Summarize,
    /// Cover the oldest exchanges without a summary.
    Truncate,
    /// Make every layer one step shorter.
    Fade,
    /// Make the window fit by all means.
    Emergency,
    /// Leave out the reasoning of finished turns.
    Reasoning,
    /// Passages that were quoted for one message and left with it.
    Recall,
    /// The work of earlier calls, whose state came with the whole list.
    Earlier,
}

impl PassKind {
    /// The name in data.
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
