//! The failures of driving a session.

use palimpsest_core::error::CoreError;
use palimpsest_core::goal::GoalError;
use palimpsest_core::layer::LayerId;
use palimpsest_core::request::ModelError;
use palimpsest_core::run::Refusal;
use serde::Serialize;
use thiserror::Error;

use crate::config::ConfigError;
use crate::ports::StoreError;

/// A way out when the window would be larger than its limit (P10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "choice", rename_all = "snake_case")]
pub enum RoomChoice {
    /// Lift this one layer. The messages under it fit.
    Lift {
        /// The layer.
        layer: LayerId,
        /// The tokens of the window after it.
        tokens: u32,
    },
    /// Choose a window of at least this size, then try again.
    LargerWindow {
        /// The smallest usual size in which it fits.
        window: u32,
    },
    /// Show it anyway ([`crate::session::IfOver::Show`]). Nothing is sent while it is over the limit; the next message
    /// compacts first.
    ShowAnyway {
        /// Tokens past the limit.
        over: u32,
    },
}

/// A typed failure. No operation is half-done when one is returned.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The core refused the input.
    #[error(transparent)]
    Core(#[from] CoreError),
    /// Storage failed. The conversation is still in memory.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The goal cannot change that way.
    #[error("The goal is unchanged: {0}.")]
    Goal(#[from] GoalError),
    /// The settings are refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
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
    /// The last message is not a reply that ended early.
    #[error("There is nothing to continue: the last message is no reply that was stopped or cut.")]
    NothingToContinue,
    /// Going back would need more room than there is (P10). Nothing has changed.
    #[error("That needs {tokens} tokens, but the limit is {limit}. {}", choices_sentence(.choices))]
    WouldNotFit {
        /// The tokens that the window would hold.
        tokens: u32,
        /// The tokens that it may hold.
        limit: u32,
        /// The alternatives, the least far-reaching first.
        choices: Vec<RoomChoice>,
    },
    /// Automatic runs no longer help (I9).
    #[error(
        "Compaction cannot make the window smaller: {floor} tokens must stay and the trigger is {trigger}. Shorten the system prompt or the pins, or choose a larger window."
    )]
    CannotShrink {
        /// Tokens that must stay.
        floor: u32,
        /// The tokens at which automatic runs start.
        trigger: u32,
    },
    /// The window could not be made small enough. The conversation continues in another session, which starts from the
    /// notes of this one and holds the last message (E1). Request the reply there.
    #[error(
        "The conversation has grown past its window. It goes on in session \"{session}\", which starts from notes."
    )]
    RolledOver {
        /// The new session.
        session: String,
    },
    /// A reply or a compaction is already under way.
    #[error("This session is busy with {0}. Wait for it or stop it.")]
    Busy(&'static str),
}

impl EngineError {
    /// A stable code of the kind of failure.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Core(e) => e.code(),
            Self::Store(e) => e.code(),
            Self::Goal(e) => e.code(),
            Self::Config(e) => e.code(),
            Self::RolledOver { .. } => "rolled_over",
            Self::Model(e) => e.code(),
            Self::Refused(r) => r.code(),
            Self::NoSession(_) => "no_session",
            Self::NothingToUndo => "nothing_to_undo",
            Self::NothingToContinue => "nothing_to_continue",
            Self::WouldNotFit { .. } => "would_not_fit",
            Self::CannotShrink { .. } => "cannot_shrink",
            Self::Busy(_) => "busy",
        }
    }

    /// Returns `true` if the same call may succeed later without any other action.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Store(e) => e.is_retryable(),
            Self::Model(e) => e.retryable(),
            Self::Busy(_) => true,
            _ => false,
        }
    }

    /// The numbers of the failure, with the names of their fields.
    pub fn numbers(&self) -> Vec<(&'static str, u32)> {
        match self {
            Self::Core(e) => e.numbers(),
            Self::Model(e) => e.numbers(),
            Self::Refused(r) => r.numbers(),
            Self::WouldNotFit { tokens, limit, .. } => vec![("tokens", *tokens), ("limit", *limit)],
            Self::CannotShrink { floor, trigger } => vec![("floor", *floor), ("trigger", *trigger)],
            _ => Vec::new(),
        }
    }
}

/// The choices in a sentence.
fn choices_sentence(choices: &[RoomChoice]) -> String {
    let mut ways: Vec<String> = choices
        .iter()
        .map(|choice| match choice {
            RoomChoice::Lift { layer, .. } => format!("lift only layer {layer}"),
            RoomChoice::LargerWindow { window } => {
                format!("choose a window of {window} tokens or more")
            }
            RoomChoice::ShowAnyway { over } => format!(
                "show it although it is {over} tokens over: the next message compacts before it is sent"
            ),
        })
        .collect();
    let last = ways.pop().unwrap_or_default();
    let mut sentence = if ways.is_empty() {
        last
    } else {
        format!("{}, or {last}", ways.join(", "))
    };
    if let Some(first) = sentence.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    sentence + "."
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
        Refusal::ModelFailed => {
            "The model that was to summarise did not answer. The window is unchanged.".into()
        }
        Refusal::Cancelled => "The compaction was cancelled. The window is unchanged.".into(),
    }
}
