//! What a count is, and who can make one.

use serde::{Deserialize, Serialize};

/// Where a number of tokens comes from, from the most to the least certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Counted with the model's own vocabulary.
    Exact,
    /// Reported by the provider for a prompt that was really sent.
    Measured,
    /// Estimated from the text.
    Estimated,
}

/// A number of tokens, where it comes from, and how far off it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Tokens.
    pub tokens: u32,
    /// Where the number comes from.
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

/// Whose message a template wraps: chat templates charge roles differently.
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

/// What the chat template adds around the texts, in tokens.
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
    /// The cost of one message of `role`, without its text.
    pub const fn of(&self, role: CountRole) -> u32 {
        match role {
            CountRole::System => self.system,
            CountRole::User => self.user,
            CountRole::Assistant => self.assistant,
            CountRole::Tool => self.tool,
        }
    }

    /// A number that differs with every overhead.
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
    /// ChatML as measured through a real server: 4 per prompt, 5 per message, 6 per reply.
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

/// Counts tokens. Takes `&self`: caches are interior, so that one counter can be shared.
///
/// Implemented by the exact byte-level BPE and SPM vocabularies and by the estimator.
pub trait TokenCounter {
    /// Tokens of `text`, without any template around it.
    fn count(&self, text: &str) -> u32;

    /// As [`Self::count`], but stops early: `None` if `text` has more than `limit` tokens.
    fn count_until(&self, text: &str, limit: u32) -> Option<u32> {
        let n = self.count(text);
        (n <= limit).then_some(n)
    }

    /// Tokens a message of `role` adds to a prompt: its text and what the template puts around it.
    ///
    /// Exact counters also know what the template's last character does to the text's first.
    fn count_message(&self, role: CountRole, text: &str) -> u32 {
        self.overhead().of(role) + self.count(text)
    }

    /// How certain this counter is.
    fn source(&self) -> Source;

    /// 95 % bound on the error of a sum of `tokens` tokens counted by this counter. 0 if exact.
    fn bound(&self, tokens: u32) -> u32;

    /// What the chat template adds.
    fn overhead(&self) -> Overhead;

    /// How many more tokens a template nobody has measured yet may add around `messages` messages. 0 where live counts have
    /// confirmed [`Self::overhead`], or where [`Self::bound`] allows for it.
    fn template_bound(&self, messages: u32) -> u32 {
        let _ = messages;
        0
    }

    /// Changes whenever the same message may get another count (another vocabulary, a new family, another template).
    /// Stored with every count.
    fn epoch(&self) -> u64;
}
