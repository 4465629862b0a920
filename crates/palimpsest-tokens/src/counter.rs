//! Token counts, and the trait of everything that makes them.

use serde::{Deserialize, Serialize};

/// The origin of a number of tokens, from the most to the least certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Source {
    /// Counted with the model's own vocabulary.
    Exact,
    /// Reported by the provider for a prompt that was sent.
    Measured,
    /// Estimated from the text.
    Estimated,
}

/// A number of tokens with its origin and its possible error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Count {
    /// The number of tokens.
    pub tokens: u32,
    /// The origin of the number.
    pub source: Source,
    /// The true count is at most `tokens + bound` with 95 % confidence. 0 for exact counts.
    pub bound: u32,
}

impl Count {
    /// An exact count.
    pub const fn exact(tokens: u32) -> Self {
        Self {
            tokens,
            source: Source::Exact,
            bound: 0,
        }
    }
}

/// The role of a message that a template wraps. Chat templates charge roles differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CountRole {
    /// The system message.
    System,
    /// A user message.
    User,
    /// An assistant message.
    Assistant,
    /// A tool result.
    Tool,
}

/// The tokens that the chat template adds around the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overhead {
    /// Once per prompt (start token, generation header).
    pub base: u32,
    /// Per system message.
    pub system: u32,
    /// Per user message.
    pub user: u32,
    /// Per assistant message.
    pub assistant: u32,
    /// Per tool result.
    pub tool: u32,
}

impl Overhead {
    /// The cost in tokens of one message of `role`, without its text.
    pub const fn of(&self, role: CountRole) -> u32 {
        match role {
            CountRole::System => self.system,
            CountRole::User => self.user,
            CountRole::Assistant => self.assistant,
            CountRole::Tool => self.tool,
        }
    }

    /// A number that differs between any two overheads.
    pub(crate) fn epoch(&self) -> u64 {
        [self.base, self.system, self.user, self.assistant, self.tool]
            .iter()
            .fold(0, |epoch: u64, n| {
                (epoch ^ u64::from(*n))
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                    .rotate_left(23)
            })
    }
}

impl Default for Overhead {
    /// ChatML as measured on a real server: 4 per prompt, 5 per message, 6 per reply.
    fn default() -> Self {
        Self {
            base: 4,
            system: 5,
            user: 5,
            assistant: 6,
            tool: 5,
        }
    }
}

/// Counts tokens. Methods take `&self` and caches are interior, so one counter can be shared.
///
/// The exact byte-level BPE and SPM vocabularies and the estimator implement it.
pub trait TokenCounter {
    /// Returns the tokens of `text`, without a template around it.
    fn count(&self, text: &str) -> u32;

    /// Counts like [`Self::count`], but stops early and returns `None` if `text` has more than `limit` tokens.
    fn count_until(&self, text: &str, limit: u32) -> Option<u32> {
        let n = self.count(text);
        (n <= limit).then_some(n)
    }

    /// Returns the tokens that a message of `role` adds to a prompt: its text and the template around it.
    ///
    /// Exact counters also know how the template's last character merges with the text's first.
    fn count_message(&self, role: CountRole, text: &str) -> u32 {
        self.overhead().of(role) + self.count(text)
    }

    /// The origin that counts of this counter have.
    fn source(&self) -> Source;

    /// The 95 % bound on the error of a sum of `tokens` tokens that this counter made. 0 if exact.
    fn bound(&self, tokens: u32) -> u32;

    /// The tokens that the chat template adds.
    fn overhead(&self) -> Overhead;

    /// The tokens that a template of unknown cost may add around `messages` messages beyond [`Self::overhead`]. 0 if
    /// live counts have confirmed the overhead, or if [`Self::bound`] already covers it.
    fn template_bound(&self, messages: u32) -> u32 {
        let _ = messages;
        0
    }

    /// A number that changes whenever the same message may get another count (another vocabulary, family or template).
    /// It is stored with every count.
    fn epoch(&self) -> u64;
}
