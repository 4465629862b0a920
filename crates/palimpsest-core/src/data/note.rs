//! A note: the immutable detailed summary of a covered range, kept outside the window (C4).
//!
//! Layers are made from notes, never from other layers, so that no fact is summarised more than
//! twice.

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
    /// What it summarises, oldest first.
    pub covers: Vec<Span>,
    /// The summary.
    pub text: String,
    /// Facts of the originals in the ledger's order, so that later forms can carry what they lose.
    pub facts: Vec<Fact>,
    /// Tokens of the text.
    pub tokens: u32,
    /// The pieces of a text that was put together without a model, the most worthy first: shorter forms are made by
    /// dropping the last. Empty for what a model wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<Piece>,
    /// Who wrote it.
    pub author: Author,
}
