//! What can go wrong while a session is driven.

use palimpsest_core::error::CoreError;
use palimpsest_core::request::ModelError;
use palimpsest_core::run::Refusal;
use thiserror::Error;

use crate::ports::StoreError;

/// A typed failure. Nothing is half-done when one is returned.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The input is refused.
    #[error(transparent)]
    Core(#[from] CoreError),
    /// Storage failed. What was said is still in memory.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model did not answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A compaction changed nothing.
    #[error("{}", refusal_sentence(.0))]
    Refused(Refusal),
    /// There is no such session.
    #[error("There is no session \"{0}\". It may have been deleted.")]
    NoSession(String),
    /// There is nothing that could be undone.
    #[error("There is no compaction to undo.")]
    NothingToUndo,
    /// Going back would need more room than there is (P10).
    #[error(
        "That needs {tokens} tokens, but the limit is {limit}. Choose a larger window, or lift a single layer."
    )]
    WouldNotFit {
        /// Tokens the window would hold.
        tokens: u32,
        /// Tokens it may hold.
        limit: u32,
    },
    /// Automatic runs do not help any more (I9).
    #[error(
        "Compaction cannot make the window smaller: {floor} tokens must stay and the trigger is {trigger}. Shorten the system prompt or the pins, or choose a larger window."
    )]
    CannotShrink {
        /// Tokens that must stay.
        floor: u32,
        /// Where automatic runs start.
        trigger: u32,
    },
    /// A reply or a compaction is already under way.
    #[error("This session is busy with {0}. Wait for it or stop it.")]
    Busy(&'static str),
}

impl EngineError {
    /// A stable name of the kind of failure.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Core(e) => e.code(),
            Self::Store(e) => e.code(),
            Self::Model(e) => e.code(),
            Self::Refused(r) => r.code(),
            Self::NoSession(_) => "no_session",
            Self::NothingToUndo => "nothing_to_undo",
            Self::WouldNotFit { .. } => "would_not_fit",
            Self::CannotShrink { .. } => "cannot_shrink",
            Self::Busy(_) => "busy",
        }
    }

    /// Whether the same call may work later without anybody doing anything.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Store(e) => e.is_retryable(),
            Self::Model(e) => e.retryable(),
            Self::Busy(_) => true,
            _ => false,
        }
    }
}

/// The refusal in a sentence that says what is unchanged.
pub fn refusal_sentence(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NothingToCompress => {
            "Nothing to compact: only the last exchange is in the window. It is unchanged.".into()
        }
        Refusal::NothingCompressible => {
            "The policy keeps the user's words, and nothing else is left to compact. Choose a larger window or another policy.".into()
        }
        Refusal::NotWorth { before, after } => format!(
            "A compaction would bring {before} tokens only to {after}. The window is unchanged."
        ),
        Refusal::CannotFit { floor, limit } => format!(
            "What must stay takes {floor} tokens, but only {limit} fit. Shorten the system prompt, the pins or the last message, or choose a larger window."
        ),
        Refusal::Cancelled => "The compaction was cancelled. The window is unchanged.".into(),
    }
}
