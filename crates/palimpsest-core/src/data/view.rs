//! How every message of a path is shown: the value of one revision.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::data::layer::{Layer, LayerId};
use crate::data::mark::Pending;
use crate::data::message::Seq;
use crate::data::note::{Note, NoteId};
use crate::data::rendition::{Reduced, Rendition};
use palimpsest_text::sorted::{SortedMap, SortedSet};

/// Words of the user that stand verbatim in the slot although their message is covered (P3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Quote {
    /// The message they are from.
    pub seq: Seq,
    /// The words, perhaps an excerpt.
    pub text: String,
    /// Tokens of the line they take in the slot.
    pub tokens: u32,
}

/// Passages of covered messages quoted before the last user message (R1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recalled {
    /// The user message they stand before.
    pub before: Seq,
    /// The passages, most relevant first.
    pub quotes: Vec<Quote>,
    /// Passages of other sessions, most relevant first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Elsewhere>,
    /// Tokens of the whole block.
    pub tokens: u32,
}

impl Recalled {
    /// Returns `true` if nothing is quoted.
    pub fn is_empty(&self) -> bool {
        self.quotes.is_empty() && self.elsewhere.is_empty()
    }
}

/// A passage of another session, quoted before the last user message. It is stored as a list of its fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(String, String, Quote)", into = "(String, String, Quote)")]
pub struct Elsewhere {
    /// The session.
    pub session: String,
    /// Its title at that time, and the day on which the passage was said if that is known: `The cabin, 2026-05-12`.
    pub source: String,
    /// The passage; its message is that session's.
    pub quote: Quote,
}

impl From<(String, String, Quote)> for Elsewhere {
    fn from((session, source, quote): (String, String, Quote)) -> Self {
        Self {
            session,
            source,
            quote,
        }
    }
}

impl From<Elsewhere> for (String, String, Quote) {
    fn from(one: Elsewhere) -> Self {
        (one.session, one.source, one.quote)
    }
}

/// Why a revision was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum Cause {
    /// The session began.
    Start,
    /// A compaction.
    Compaction {
        /// Its number in the session, from 1.
        number: u32,
        /// Whether the user asked for it.
        manual: bool,
    },
    /// The revision before the last compaction came back.
    Undo {
        /// The revision whose renditions are shown again.
        to: u32,
    },
    /// One layer was taken off.
    Lift {
        /// The layer.
        layer: LayerId,
    },
    /// A snapshot was restored.
    Restore {
        /// The revision it named.
        to: u32,
    },
    /// An emergency.
    Emergency,
    /// A message larger than its room was shown as an excerpt.
    Excerpt,
    /// Old passages were quoted, or such a quote was removed.
    Recall,
    /// Tool output was said more briefly as it arrived.
    Arrival,
    /// A watermark was asked for, or a message anchored.
    Mark,
    /// A layer that had been cut was written again by a model, shorter still (C4).
    Rewritten {
        /// The layer.
        layer: LayerId,
    },
    /// A person had a layer written again from the messages that it covers.
    Remade {
        /// The layer as it was.
        layer: LayerId,
    },
    /// A person wrote a layer's text.
    Edited {
        /// The layer as it was.
        layer: LayerId,
    },
    /// An offloaded result came back.
    Returned {
        /// The message that holds it.
        message: Seq,
    },
}

palimpsest_text::tagged!(Cause, "cause");

/// How every message of a path is shown: the value of one revision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Its number in the session. 0 is the empty start.
    pub revision: u32,
    /// Why it was made.
    pub cause: Cause,
    /// The layers in the slot, oldest first.
    pub layers: Vec<Rc<Layer>>,
    /// The notes those layers are made from, oldest first.
    pub notes: Vec<Rc<Note>>,
    /// Messages shown in a shorter form.
    pub reduced: SortedMap<Seq, Rc<Reduced>>,
    /// The user's words that stand verbatim in the slot, oldest first.
    pub quotes: Vec<Quote>,
    /// Quotes from covered messages for the last user message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recalled: Option<Recalled>,
    /// Everything before this message has had its tool blocks stripped (seed 3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watermark: Option<Seq>,
    /// A watermark that waits for its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// Messages that stay whole before the watermark.
    #[serde(default, skip_serializing_if = "SortedSet::is_empty")]
    pub anchors: SortedSet<Seq>,
    /// Compactions committed in this session so far, undone ones included.
    pub compactions: u32,
    /// The next layer's number.
    pub next_layer: LayerId,
    /// The next note's number.
    pub next_note: NoteId,
    /// No automatic run until the next message would not fit or the user asks (P10).
    #[serde(default)]
    pub paused: bool,
}

impl Default for View {
    fn default() -> Self {
        Self {
            revision: 0,
            cause: Cause::Start,
            layers: Vec::new(),
            notes: Vec::new(),
            reduced: SortedMap::new(),
            quotes: Vec::new(),
            recalled: None,
            watermark: None,
            pending: None,
            anchors: SortedSet::new(),
            compactions: 0,
            next_layer: 1,
            next_note: 1,
            paused: false,
        }
    }
}

impl View {
    /// How the message is shown.
    pub fn rendition(&self, seq: Seq) -> Rendition<'_> {
        if let Some(layer) = self.layers.iter().find(|l| l.covers(seq)) {
            return Rendition::Covered(layer.id);
        }
        self.reduced
            .get(&seq)
            .map_or(Rendition::Verbatim, |r| Rendition::Reduced(r))
    }

    /// Gives a new number to every layer of `before` that is another text here: a stored layer never changes, so that
    /// undo and snapshots show the very text again.
    pub fn number_changed_layers(&mut self, before: &Self) {
        let next = &mut self.next_layer;
        for layer in &mut self.layers {
            let old = before.layers.iter().find(|old| old.id == layer.id);
            if let Some(old) = old.filter(|old| !Rc::ptr_eq(old, layer)) {
                *layer = Rc::new(Layer {
                    id: *next,
                    replaces: vec![old.id],
                    compressions: old.compressions + 1,
                    ..(**layer).clone()
                });
                *next += 1;
            }
        }
    }

    /// The note of that number.
    pub fn note(&self, id: NoteId) -> Option<&Rc<Note>> {
        self.notes.iter().find(|n| n.id == id)
    }
}
