//! The problems that a message of a list can have.

use serde::{Deserialize, Serialize};

/// The kind of a problem. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Code {
    /// The value is not an object.
    NotAMessage,
    /// The role is missing, or the dialect does not know it.
    UnknownRole,
    /// The content is neither text nor parts.
    BadContent,
    /// A part of the content lacks a field that its type needs.
    BadPart,
    /// The arguments of a call do not have the dialect's form.
    BadArguments,
    /// A call or a result has no id although the dialect needs one.
    MissingId,
    /// An id of more than [`MAX_ID_BYTES`](crate::MAX_ID_BYTES) bytes.
    IdTooLong,
    /// Two calls with one id.
    DuplicateId,
    /// Two messages with one id.
    DuplicateMessageId,
    /// A call without a result.
    MissingResult,
    /// A result without a call.
    OrphanResult,
    /// A second result of one call.
    SecondResult,
    /// A result does not stand directly after its call.
    MisplacedResult,
    /// A message without content.
    EmptyMessage,
    /// A text block without content.
    EmptyPart,
    /// Two user messages in a row.
    ConsecutiveUsers,
    /// Two assistant messages in a row, although roles must alternate.
    ConsecutiveAssistants,
    /// The list begins with the assistant, although the user must begin.
    LeadingAssistant,
    /// A system message in a dialect that has none.
    SystemMessage,
}

impl Code {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::NotAMessage,
        Self::UnknownRole,
        Self::BadContent,
        Self::BadPart,
        Self::BadArguments,
        Self::MissingId,
        Self::IdTooLong,
        Self::DuplicateId,
        Self::DuplicateMessageId,
        Self::MissingResult,
        Self::OrphanResult,
        Self::SecondResult,
        Self::MisplacedResult,
        Self::EmptyMessage,
        Self::EmptyPart,
        Self::ConsecutiveUsers,
        Self::ConsecutiveAssistants,
        Self::LeadingAssistant,
        Self::SystemMessage,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotAMessage => "not_a_message",
            Self::UnknownRole => "unknown_role",
            Self::BadContent => "bad_content",
            Self::BadPart => "bad_part",
            Self::BadArguments => "bad_arguments",
            Self::MissingId => "missing_id",
            Self::IdTooLong => "id_too_long",
            Self::DuplicateId => "duplicate_id",
            Self::DuplicateMessageId => "duplicate_message_id",
            Self::MissingResult => "missing_result",
            Self::OrphanResult => "orphan_result",
            Self::SecondResult => "second_result",
            Self::MisplacedResult => "misplaced_result",
            Self::EmptyMessage => "empty_message",
            Self::EmptyPart => "empty_part",
            Self::ConsecutiveUsers => "consecutive_users",
            Self::ConsecutiveAssistants => "consecutive_assistants",
            Self::LeadingAssistant => "leading_assistant",
            Self::SystemMessage => "system_message",
        }
    }
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Problem {
    /// Its kind.
    pub code: Code,
    /// Index of the message in the caller's list.
    pub index: usize,
    /// The problem in words, with the expected form.
    pub message: String,
}

impl Problem {
    /// Returns `true` if the message is not readable. A strict reader then refuses the list, and the linter leaves out
    /// the part or the message.
    pub(crate) const fn fatal(&self) -> bool {
        matches!(
            self.code,
            Code::NotAMessage
                | Code::UnknownRole
                | Code::BadContent
                | Code::BadPart
                | Code::IdTooLong
        )
    }
}
