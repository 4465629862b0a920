//! The present form of one message in the window.

use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};

use crate::data::message::{Part, Role, message_tokens};
pub use palimpsest_dialect::verbatim::{
    DEMANDS, DEMANDS_END, FENCE, FENCE_END, QUOTE, QUOTE_END, escape_fences, escape_part,
    verbatim_parts, verbatim_tokens,
};

/// The action of a pass on a message that is still in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum ReducedKind {
    /// A deterministic rule shortened it.
    Condensed,
    /// Tool blocks and thinking were removed, and text was kept.
    Stripped,
    /// A reference replaces a large part; `recall` returns it.
    Offloaded,
    /// The head and the tail of a text that is larger than its room.
    Excerpt,
}

/// A shorter form of one message. It is stored when it is made and never recomputed, so that the window stays a pure
/// function of stored data (I2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reduced {
    /// The action that made it.
    pub kind: ReducedKind,
    /// The parts that the model sees instead. If empty, the message is hidden.
    pub parts: Vec<Part>,
    /// The tokens of these parts with the message around them; 0 if the message is hidden.
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

/// The form of a message: the result of [`crate::context::View::rendition`], which borrows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rendition<'a> {
    /// The original.
    Verbatim,
    /// In a shorter form.
    Reduced(&'a Reduced),
    /// Hidden under a layer.
    Covered(u32),
}
