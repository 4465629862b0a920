//! The shapes of message lists, by name.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::DialectError;
use crate::message::Role;

/// The longest accepted identifier, in bytes (F 18).
pub const MAX_ID_BYTES: usize = 256;

/// Every name that a role has in any of the dialects.
pub(crate) const ROLES: [(&str, Role); 6] = [
    ("system", Role::System),
    ("developer", Role::System),
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("tool", Role::Tool),
    ("function", Role::Tool),
];

/// Every name that a role has in Gemini's contents. A message without a role is the user's.
pub(crate) const GEMINI_ROLES: [(&str, Role); 3] = [
    ("user", Role::User),
    ("model", Role::Assistant),
    ("function", Role::User),
];

/// A shape of message lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Dialect {
    /// OpenAI chat completions: `tool_calls` with arguments as text, results as messages of role `tool`.
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic messages: content blocks, results inside user messages.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// Ollama's `/api/chat`: `tool_calls` with arguments as objects, `images` as base64.
    #[serde(rename = "ollama")]
    Ollama,
    /// The Vercel AI SDK's model messages (`ModelMessage`).
    #[serde(rename = "ai-sdk")]
    AiSdkModel,
    /// The Vercel AI SDK's messages of the user interface (`UIMessage`). A tool's call and its result are one part.
    #[serde(rename = "ai-sdk-ui")]
    AiSdkUi,
    /// The items of OpenAI's Responses API.
    #[serde(rename = "openai-responses")]
    Responses,
    /// Gemini's `contents`.
    #[serde(rename = "gemini")]
    Gemini,
    /// The messages of Amazon Bedrock's Converse API.
    #[serde(rename = "bedrock")]
    Bedrock,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Ollama,
        Self::AiSdkModel,
        Self::AiSdkUi,
        Self::Responses,
        Self::Gemini,
        Self::Bedrock,
    ];

    /// Returns `true` if user and assistant take turns and results stand inside the user's messages, before everything else.
    pub(crate) const fn takes_turns(self) -> bool {
        matches!(self, Self::Anthropic | Self::Gemini | Self::Bedrock)
    }

    /// The field of a message that holds its blocks.
    pub(crate) const fn blocks(self) -> &'static str {
        match self {
            Self::AiSdkUi | Self::Gemini => "parts",
            _ => "content",
        }
    }

    /// The role of a message, if the dialect knows it.
    pub(crate) fn role_of(self, message: &Map<String, Value>) -> Option<Role> {
        let text = |key: &str| message.get(key).and_then(Value::as_str);
        let known = |names: &[(&str, Role)], role: &str| {
            let found = names.iter().find(|(name, _)| *name == role);
            found.map(|(_, role)| *role)
        };
        match (self, text("role")) {
            (Self::Gemini, None) => (!message.contains_key("role")).then_some(Role::User),
            (Self::Gemini, Some(role)) => known(&GEMINI_ROLES, role),
            // an item that is no message: its kind says who made it
            (Self::Responses, None) => Some(match text("type").unwrap_or_default() {
                "compaction" | "compaction_summary" => Role::System,
                kind if kind.ends_with("_call_output") => Role::Tool,
                _ => Role::Assistant,
            }),
            (_, role) => known(&ROLES, role?),
        }
    }

    /// The name in options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Ollama => "ollama",
            Self::AiSdkModel => "ai-sdk",
            Self::AiSdkUi => "ai-sdk-ui",
            Self::Responses => "openai-responses",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock",
        }
    }

    /// Returns the dialect of that name.
    ///
    /// # Errors
    ///
    /// [`DialectError::BadInput`] for an unknown name.
    pub fn named(name: &str) -> Result<Self, DialectError> {
        Self::ALL
            .into_iter()
            .find(|d| d.name() == name)
            .ok_or_else(|| {
                let known = Self::ALL.map(Self::name).join(", ");
                DialectError::BadInput(format!(
                    "There is no dialect called \"{name}\". Choose one of: {known}."
                ))
            })
    }
}
