//! How one message is shown to the model now.

use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};

use crate::data::message::{Part, Role, message_tokens};
pub use palimpsest_dialect::verbatim::{
    DEMANDS, DEMANDS_END, FENCE, FENCE_END, QUOTE, QUOTE_END, escape_fences, escape_part,
    verbatim_parts, verbatim_tokens,
};

/// What a pass did to a message that is still in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReducedKind {
    /// Said more briefly by a deterministic rule.
    Condensed,
    /// Tool blocks and thinking taken out, text kept.
    Stripped,
    /// A reference stands for a large part; `recall` brings it back.
    Offloaded,
    /// Head and tail of a text that is larger than its room.
    Excerpt,
}

/// A shorter form of one message. Stored when it is made and never recomputed, so that the window
/// stays a pure function of what is stored (I2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reduced {
    /// What was done.
    pub kind: ReducedKind,
    /// What the model sees instead. May be empty: then the message is not shown.
    pub parts: Vec<Part>,
    /// Tokens of these parts with the message around them; 0 if nothing is shown.
    pub tokens: u32,
}

impl Reduced {
    /// Counts `parts` as a message of `role`.
    pub fn new(
        kind: ReducedKind,
        role: Role,
        parts: Vec<Part>,
        counter: &dyn TokenCounter,
    ) -> Self {
        let shown = parts.iter().any(|p| !p.is_empty());
        let tokens = if shown {
            message_tokens(role, &parts, counter)
        } else {
            0
        };
        Self {
            kind,
            parts,
            tokens,
        }
    }
}

/// How a message is shown: the borrowed answer of [`crate::context::View::rendition`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rendition<'a> {
    /// As it was said.
    Verbatim,
    /// In a shorter form.
    Reduced(&'a Reduced),
    /// Not shown: a layer stands for it.
    Covered(u32),
}
