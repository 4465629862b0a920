//! What is said: messages and their parts. A message never changes once it is stored (I1).

use palimpsest_text::retention::Speaker;
use palimpsest_tokens::{CountRole, TokenCounter};
use serde::{Deserialize, Serialize};

/// Position of a message in its session. Given by the store, orders everything; never a clock.
pub type Seq = u32;

/// Tokens an image costs when the provider's own rule is not known (P2).
pub const IMAGE_TOKENS: u32 = 768;

/// Tokens that chat templates put around one tool call besides its name and arguments.
const CALL_TOKENS: u32 = 8;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// Where the words of a message come from. Trust never rises by compaction (I8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Typed by the user, or given by the program that embeds palimpsest.
    Host,
    /// Written by a model.
    Model,
    /// Returned by a tool.
    Tool,
    /// Read from a file; nobody vouches for it.
    Import,
}

/// One piece of a message, as in the provider APIs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text {
        /// The words.
        text: String,
    },
    /// The model's reasoning. Kept in the history, never summarised; sessions never send it back (P2), lists of a caller's hold
    /// it as long as it is of use.
    Thinking {
        /// The words.
        text: String,
    },
    /// The model asks for a tool.
    ToolCall {
        /// Matches the result. Unique only between a call and its result; ids are reused in the wild.
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
        /// The tool's name, where the provider repeats it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// What the tool returned.
        text: String,
        /// Whether the tool failed.
        #[serde(default, skip_serializing_if = "is_false")]
        error: bool,
    },
    /// A picture. Never compressed; past the tail it becomes `[image: name, size]` (P2).
    Image {
        /// A name to show.
        name: String,
        /// MIME type, such as `image/png`.
        media_type: String,
        /// Base64 data or a URL, as the provider takes it.
        data: String,
        /// Tokens by the provider's rule, where known.
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

/// Tokens that a template may put around a part that [`Part::is_loose`].
pub const LOOSE_TOKENS: u32 = 24;

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The words of the part that a reader (or a summariser) would read. Not those of images.
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

    /// Tokens this part costs in a prompt, without the message around it. Thinking costs nothing: it
    /// is not sent.
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

    /// Whether only the model's template knows what form it has in a prompt: its tokens are never exact.
    pub const fn is_loose(&self) -> bool {
        matches!(
            self,
            Self::ToolCall { .. } | Self::Image { .. } | Self::File { .. }
        )
    }

    /// Nothing a model could see: empty text, or thinking.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text { text } => text.trim().is_empty(),
            Self::Thinking { .. } => true,
            _ => false,
        }
    }
}

/// How a reply ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// The person stopped it, or it broke off: a connection that failed, a page that was closed, a crash.
    Stopped,
    /// The server ended it at its most: so many tokens of it were written.
    Cut(u32),
}

/// One message of a session. Immutable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its position in the session.
    pub seq: Seq,
    /// The message it follows; `None` for the first. Regenerating and editing add a message with
    /// the same parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Seq>,
    /// Who speaks.
    pub role: Role,
    /// Where the words come from.
    pub origin: Origin,
    /// What is said.
    pub parts: Vec<Part>,
    /// Milliseconds since 1970 for display only; 0 if unknown.
    #[serde(default)]
    pub at: f64,
    /// How a reply ended that is not whole; nothing for all others.
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

    /// Whether it is a model's reply that ended before its end and can be gone on with: a call that was made is answered
    /// first.
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

    /// What a person wrote here in their own name: the text of a user's message of the host's, without attached files.
    /// Nothing for what tools, models and imports say.
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

    /// Whether a tool reported a failure in it.
    pub fn is_error(&self) -> bool {
        self.parts
            .iter()
            .any(|p| matches!(p, Part::ToolResult { error: true, .. }))
    }
}

/// Tokens of a message with these parts, template included.
pub fn message_tokens(role: Role, parts: &[Part], counter: &dyn TokenCounter) -> u32 {
    let mut tokens = 0_u32;
    // The first words stand right after the message's header, which an exact counter knows to join with them. Every
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
