//! What can be wrong with a message of a list.

use serde::{Deserialize, Serialize};

/// What is wrong. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The value is no object.
    NotAMessage,
    /// The role is missing or none of the dialect's.
    UnknownRole,
    /// The content is neither text nor parts.
    BadContent,
    /// A part of the content lacks what its type needs.
    BadPart,
    /// The arguments of a call are not what the dialect wants.
    BadArguments,
    /// A call or a result has no id where the dialect needs one.
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
    /// A result that does not stand right after its call.
    MisplacedResult,
    /// A message that says nothing.
    EmptyMessage,
    /// A text block that says nothing.
    EmptyPart,
    /// Two user messages in a row.
    ConsecutiveUsers,
    /// Two assistant messages in a row, where roles must alternate.
    ConsecutiveAssistants,
    /// The list begins with the assistant, where the user must begin.
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

    /// Its name in reports.
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

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// What kind of thing.
    pub code: Code,
    /// Index of the message in the caller's list.
    pub index: usize,
    /// The same in words, with what is expected.
    pub message: String,
}

impl Problem {
    /// Whether the message cannot be read as it stands: reading strictly refuses the list, the linter leaves the
    /// part or the message out.
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
