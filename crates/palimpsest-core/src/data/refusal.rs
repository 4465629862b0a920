//! The reasons for which a compaction changes nothing.

use serde::{Deserialize, Serialize};

/// The reason for which nothing changed (I5, P2, P3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum Refusal {
    /// Nothing stands before the last exchange.
    NothingToCompress,
    /// The policy forbids to summarise the messages that would have to be covered.
    NothingCompressible,
    /// The compaction would free less than a tenth of the replaced text.
    NotWorth {
        /// The tokens before.
        before: u32,
        /// The tokens after it.
        after: u32,
    },
    /// The content that must stay does not fit.
    CannotFit {
        /// The tokens that no pass may remove.
        floor: u32,
        /// Tokens a window may hold.
        limit: u32,
    },
    /// The summarising model did not answer, and the policy does not continue without it.
    ModelFailed,
    /// The compaction was cancelled.
    Cancelled,
}

palimpsest_text::tagged!(Refusal, "reason");

impl Refusal {
    /// A stable code of the reason.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NothingToCompress => "nothing_to_compress",
            Self::NothingCompressible => "nothing_compressible",
            Self::NotWorth { .. } => "not_worth",
            Self::CannotFit { .. } => "cannot_fit",
            Self::ModelFailed => "model_failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The numbers of the refusal, with the names of their fields. All are tokens.
    pub fn numbers(&self) -> Vec<(&'static str, u32)> {
        match *self {
            Self::NotWorth { before, after } => vec![("before", before), ("after", after)],
            Self::CannotFit { floor, limit } => vec![("floor", floor), ("limit", limit)],
            _ => Vec::new(),
        }
    }
}
