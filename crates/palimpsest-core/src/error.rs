//! The errors of the core, one variant for each action of a caller.

use palimpsest_dialect::DialectError;
use thiserror::Error;

/// A typed refusal. Nothing has changed when one is returned.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CoreError {
    /// A pin or goal without words.
    #[error("The text is empty. Write what should be kept.")]
    EmptyRecord,
    /// Goal and pins would take more than half of the window (I4).
    #[error(
        "Goal and pins would need {need} tokens, but at most {room} fit: half of the window. Shorten or remove some, or choose a larger window."
    )]
    RecordsTooLarge {
        /// Tokens they would take.
        need: u32,
        /// Tokens they may take.
        room: u32,
    },
    /// The user's message is larger than the room any window has for it (B5).
    #[error(
        "The message has {tokens} tokens, but only {room} fit. Send an excerpt, choose a larger window, or attach it as a file."
    )]
    MessageTooLarge {
        /// Tokens of the message.
        tokens: u32,
        /// Tokens there is room for.
        room: u32,
    },
    /// The content that no pass may remove is larger than the limit (B10).
    #[error(
        "What must stay takes {floor} tokens, but the limit is {limit}. Shorten the system prompt, the pins or the last message, or choose a larger window."
    )]
    CannotFit {
        /// Tokens of system prompt, tools, records, last user message and last exchange.
        floor: u32,
        /// Tokens a window may hold.
        limit: u32,
    },
    /// A window no conversation fits in.
    #[error("A window of {window} tokens is not possible: {why}.")]
    InvalidWindow {
        /// The requested window.
        window: String,
        /// The reason for the refusal.
        why: &'static str,
    },
    /// A policy that contradicts itself.
    #[error("The policy is not usable: {0}.")]
    InvalidPolicy(String),
    /// A policy name nobody knows.
    #[error("There is no policy called \"{name}\". Choose one of: {known}.")]
    UnknownPolicy {
        /// The requested name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A layer, snapshot, pin or message that is not there.
    #[error("There is no {what} {id} in this session.")]
    NotFound {
        /// The kind of the missing item.
        what: &'static str,
        /// Its number.
        id: u32,
    },
    /// Input that is not a list of messages in a known dialect.
    #[error("{0}")]
    BadInput(String),
    /// Nothing but the user's words is left, and the policy keeps them.
    #[error(
        "The policy keeps the user's words, and nothing else is left to compact. Choose a larger window or another policy."
    )]
    NothingCompressible,
    /// The model that was to summarise did not answer, and the policy does not go on without it.
    #[error(
        "The model that was to summarise did not answer. Nothing has changed. Try again, or choose a policy that goes on without it."
    )]
    ModelFailed,
    /// It was cancelled.
    #[error("The compaction was cancelled. Nothing has changed.")]
    Cancelled,
    /// A saved conversation of a later version.
    #[error(
        "This conversation was saved by a later version (its form is {version}). Update palimpsest to load it."
    )]
    SavedNewer {
        /// Its form.
        version: u64,
    },
    /// The text is not a saved conversation, or it was edited.
    #[error(
        "This is no saved conversation as it was written: {why}. Load the text that save() gave, or push your messages into a new conversation."
    )]
    SavedDamaged {
        /// The fault.
        why: String,
    },
    /// A part of a window that is not of the active context (I7).
    #[error(
        "A part of the window is not of the active context ({0}). This is a fault in palimpsest; nothing was sent."
    )]
    Egress(&'static str),
}

impl From<DialectError> for CoreError {
    fn from(error: DialectError) -> Self {
        Self::BadInput(error.to_string())
    }
}

impl CoreError {
    /// A stable name of the kind of failure.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::EmptyRecord => "empty_record",
            Self::RecordsTooLarge { .. } => "records_too_large",
            Self::MessageTooLarge { .. } => "message_too_large",
            Self::CannotFit { .. } => "cannot_fit",
            Self::InvalidWindow { .. } => "invalid_window",
            Self::InvalidPolicy(_) => "invalid_policy",
            Self::UnknownPolicy { .. } => "unknown_policy",
            Self::NotFound { .. } => "not_found",
            Self::BadInput(_) => "bad_input",
            Self::NothingCompressible => "nothing_compressible",
            Self::ModelFailed => "model_failed",
            Self::Cancelled => "cancelled",
            Self::SavedNewer { .. } => "saved_newer",
            Self::SavedDamaged { .. } => "saved_damaged",
            Self::Egress(_) => "egress",
        }
    }

    /// The numbers that go with it, by the names of the fields. All are tokens.
    pub fn numbers(&self) -> Vec<(&'static str, u32)> {
        match *self {
            Self::RecordsTooLarge { need, room } => vec![("need", need), ("room", room)],
            Self::MessageTooLarge { tokens, room } => vec![("tokens", tokens), ("room", room)],
            Self::CannotFit { floor, limit } => vec![("floor", floor), ("limit", limit)],
            _ => Vec::new(),
        }
    }
}
