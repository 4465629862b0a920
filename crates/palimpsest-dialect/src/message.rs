//! Messages and their parts. A stored message never changes (I1).

use palimpsest_text::fence::is_blank;
use palimpsest_text::retention::Speaker;
use palimpsest_tokens::{CountRole, TokenCounter};
use serde::{Deserialize, Serialize};

/// The position of a message in its session. The store assigns it, and it decides every order; a clock never does.
pub type Seq = u32;

/// The number by which people and models name a message. The first message is number 1.
pub const fn number_of(seq: Seq) -> u32 {
    seq.saturating_add(1)
}

/// The message of this number. No message has the number 0.
pub const fn seq_of(number: u32) -> Option<Seq> {
    number.checked_sub(1)
}

/// The tokens of an image if the provider's own rule is unknown (P2).
pub const IMAGE_TOKENS: u32 = 768;

/// The tokens that chat templates put around one tool call besides its name and arguments.
const CALL_TOKENS: u32 = 8;

/// The role of a speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Role {
    /// The host's instructions. In a session they live in the records; in an imported list they
    /// may stand anywhere.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool's answer.
    Tool,
}

impl From<Role> for CountRole {
    fn from(role: Role) -> Self {
        match role {
            Role::System => Self::System,
            Role::User => Self::User,
            Role::Assistant => Self::Assistant,
            Role::Tool => Self::Tool,
        }
    }
}

/// The speaker for the search of facts. The system's words count as the user's, whose rules they are.
impl From<Role> for Speaker {
    fn from(role: Role) -> Self {
        match role {
            Role::User | Role::System => Self::User,
            Role::Assistant => Self::Assistant,
            Role::Tool => Self::Tool,
        }
    }
}

/// The origin of a message. Compaction never raises the trust in it (I8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Typed by the user, or given by the program that embeds palimpsest.
    Host,
    /// Written by a model.
    Model,
    /// Returned by a tool.
    Tool,
    /// Read from a file for which nobody vouches.
    Import,
}

/// One piece of a message, as in the provider APIs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "type"))]
pub enum Part {
    /// Plain text.
    Text {
        /// The words.
        text: String,
    },
    /// The model's reasoning. It is kept in the history and never summarised. Sessions never send it back (P2); a
    /// caller's list holds it as long as it is useful.
    Thinking {
        /// The words.
        text: String,
    },
    /// The model asks for a tool.
    ToolCall {
        /// The id that the result repeats. It is unique only between a call and its result, because providers reuse
        /// ids.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments, as JSON text.
        arguments: String,
    },
    /// A tool's answer.
    ToolResult {
        /// The id of the call it answers.
        call: String,
        /// The tool's name, if the provider repeats it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The result.
        text: String,
        /// The tool failed.
        #[serde(default, skip_serializing_if = "is_false")]
        error: bool,
    },
    /// A picture. It is never compressed; before the tail it becomes `[image: name, size]` (P2).
    Image {
        /// A name to show.
        name: String,
        /// MIME type, such as `image/png`.
        media_type: String,
        /// Base64 data or a URL, in the provider's form.
        data: String,
        /// The tokens by the provider's rule, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u32>,
    },
    /// A text file that the user attached.
    File {
        /// The file's name.
        name: String,
        /// Its text.
        text: String,
    },
}

palimpsest_text::tagged!(Part, "type");

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
fn is_false(b: &bool) -> bool {
    !*b
}

/// The tokens that a template may put around a part that [`Part::is_loose`].
pub const LOOSE_TOKENS: u32 = 24;

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text of the part for a reader or a summariser. Images have none.
    pub fn words(&self) -> &str {
        match self {
            Self::Text { text }
            | Self::Thinking { text }
            | Self::ToolResult { text, .. }
            | Self::File { text, .. } => text,
            Self::ToolCall { arguments, .. } => arguments,
            Self::Image { .. } => "",
        }
    }

    /// The tokens of this part in a prompt, without the message around it. Thinking costs nothing, because it is not
    /// sent.
    pub fn tokens(&self, counter: &dyn TokenCounter) -> u32 {
        match self {
            Self::Thinking { .. } => 0,
            Self::Text { text } | Self::ToolResult { text, .. } => counter.count(text),
            Self::ToolCall {
                name, arguments, ..
            } => CALL_TOKENS + counter.count(name) + counter.count(arguments),
            Self::Image { tokens, .. } => tokens.unwrap_or(IMAGE_TOKENS),
            Self::File { name, text } => CALL_TOKENS + counter.count(name) + counter.count(text),
        }
    }

    /// Returns `true` if only the model's template knows the form of this part in a prompt. Its tokens are never exact.
    pub const fn is_loose(&self) -> bool {
        matches!(
            self,
            Self::ToolCall { .. } | Self::Image { .. } | Self::File { .. }
        )
    }

    /// Returns `true` if a model would see nothing of it: empty text, or thinking.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text { text } => is_blank(text),
            Self::Thinking { .. } => true,
            _ => false,
        }
    }
}

/// The way in which a reply ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Ended {
    /// The user stopped it, or it broke off: a failed connection, a closed page, a crash.
    Stopped,
    /// The server ended it at its limit, after this many tokens.
    Cut(u32),
}

/// One message of a session. Immutable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its position in the session.
    pub seq: Seq,
    /// The message before it; `None` for the first. Regenerating and editing add a message with the same parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Seq>,
    /// The role of the speaker.
    pub role: Role,
    /// The origin of the words.
    pub origin: Origin,
    /// The content.
    pub parts: Vec<Part>,
    /// Milliseconds since 1970 for display only; 0 if unknown.
    #[serde(default)]
    pub at: f64,
    /// The way in which a reply ended early; `None` for all other messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
}

impl Message {
    /// A message of one text part.
    pub fn text(seq: Seq, role: Role, text: impl Into<String>) -> Self {
        let origin = match role {
            Role::Assistant => Origin::Model,
            Role::Tool => Origin::Tool,
            Role::System | Role::User => Origin::Host,
        };
        Self {
            seq,
            parent: seq.checked_sub(1),
            role,
            origin,
            parts: vec![Part::text(text)],
            at: 0.0,
            ended: None,
        }
    }

    /// Returns `true` for a model's reply that ended early and can be continued. A reply with calls cannot, because the
    /// calls are answered first.
    pub fn is_unfinished(&self) -> bool {
        self.role == Role::Assistant && self.ended.is_some() && self.calls().next().is_none()
    }

    /// All words of the message without its thinking, parts separated by a line break.
    pub fn words(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            if matches!(part, Part::Thinking { .. }) || part.words().is_empty() {
                continue;
            }
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(part.words());
        }
        out
    }

    /// Returns the words that a person wrote here in their own name: the text of a user's message from the host,
    /// without attached files. `None` for text of tools, models and imports.
    pub fn own_words(&self) -> Option<String> {
        if self.role != Role::User || self.origin != Origin::Host {
            return None;
        }
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        });
        Some(texts.collect::<Vec<_>>().join("\n\n"))
    }

    /// The ids of the tool calls it makes, in order.
    pub fn calls(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|p| match p {
            Part::ToolCall { id, .. } => Some(id.as_str()),
            _ => None,
        })
    }

    /// The ids of the tool calls it answers, in order.
    pub fn results(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|p| match p {
            Part::ToolResult { call, .. } => Some(call.as_str()),
            _ => None,
        })
    }

    /// Returns `true` if a tool reported a failure in it.
    pub fn is_error(&self) -> bool {
        self.parts
            .iter()
            .any(|p| matches!(p, Part::ToolResult { error: true, .. }))
    }
}

/// The tokens of a message with these parts, template included.
pub fn message_tokens(role: Role, parts: &[Part], counter: &dyn TokenCounter) -> u32 {
    let mut tokens = 0_u32;
    // The first words stand directly after the message's header, and an exact counter knows how the two merge. Every
    // result is a message of its own in a prompt.
    let mut opened = false;
    for part in parts {
        tokens = tokens.saturating_add(match part {
            Part::Text { text } if !opened => {
                opened = true;
                counter.count_message(role.into(), text)
            }
            Part::ToolResult { text, .. } => {
                opened = true;
                counter.count_message(role.into(), text)
            }
            part => part.tokens(counter),
        });
    }
    if opened {
        tokens
    } else {
        tokens.saturating_add(counter.overhead().of(role.into()))
    }
}
