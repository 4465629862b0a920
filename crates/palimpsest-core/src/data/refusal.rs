//! Why a compaction changed nothing.

use serde::{Deserialize, Serialize};

/// Why nothing changed (I5, P2, P3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum Refusal {
    /// There is nothing before the last exchange.
    NothingToCompress,
    /// The policy forbids summarising what would have to be.
    NothingCompressible,
    /// It would free less than a tenth of what it replaces.
    NotWorth {
        /// Tokens before.
        before: u32,
        /// Tokens there would have been.
        after: u32,
    },
    /// What must stay does not fit.
    CannotFit {
        /// Tokens that no pass may shrink.
        floor: u32,
        /// Tokens a window may hold.
        limit: u32,
    },
    /// The model that was to summarise did not answer, and the policy does not go on without it.
    ModelFailed,
    /// It was cancelled.
    Cancelled,
}

palimpsest_text::tagged!(Refusal, "reason");

impl Refusal {
    /// A stable name of the reason.
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

    /// The numbers that go with it, by the names of the fields. All are tokens.
    pub fn numbers(&self) -> Vec<(&'static str, u32)> {
        match *self {
            Self::NotWorth { before, after } => vec![("before", before), ("after", after)],
            Self::CannotFit { floor, limit } => vec![("floor", floor), ("limit", limit)],
            _ => Vec::new(),
        }
    }
}
