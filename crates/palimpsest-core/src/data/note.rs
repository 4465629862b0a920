//! A note: the immutable detailed summary of a covered range, kept outside of the window (C4).
//!
//! Layers are made from notes, never from other layers, so no fact is summarised more than twice.

use serde::{Deserialize, Serialize};

use crate::data::covered::{Author, Span};
use palimpsest_text::extractive::Piece;
use palimpsest_text::retention::Fact;

/// Number of a note in its session. Never reused.
pub type NoteId = u32;

/// The detailed summary of a range, made once from the originals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Its number.
    pub id: NoteId,
    /// The messages that it summarises, oldest first.
    pub covers: Vec<Span>,
    /// The summary.
    pub text: String,
    /// The facts of the originals in the ledger's order. Later forms carry those that they lose.
    pub facts: Vec<Fact>,
    /// Tokens of the text.
    pub tokens: u32,
    /// The pieces of a text that was assembled without a model, the best first. Shorter forms drop the last ones. Empty
    /// for a text of a model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<Piece>,
    /// The author.
    pub author: Author,
}
