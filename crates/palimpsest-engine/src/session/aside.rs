//! Messages of other branches, as an import brings them along.

use std::rc::Rc;

use palimpsest_core::message::{Message, Seq};
use palimpsest_core::rendition::verbatim_tokens;
use palimpsest_core::sorted::SortedMap;

use crate::error::EngineError;
use crate::ports::Durability;
use crate::rows::message_ops;

use super::{Change, Dating, NewMessage, Session, Stored};

/// What a message of another branch follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// The message of this place on the shown branch, counted from 0.
    Path(usize),
    /// The aside of this place, which stands before it in the list.
    Aside(usize),
}

/// A message of a branch that is not shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Aside {
    /// What it follows; nothing for a first message.
    pub follows: Option<Follows>,
    /// The message.
    pub message: NewMessage,
}

impl Session {
    /// Stores messages beside the shown branch, whose messages are `path`: all of them or none. A place of `path` without a
    /// message stands for the beginning of the session. What is shown stays as it is; [`Self::switch_to`] shows them. An aside
    /// that is stored already is not stored again, and one that follows nothing which is there is left out. The session keeps the
    /// date of its last change. Returns the number of messages that were new.
    pub async fn append_aside(
        &self,
        path: &[Option<Seq>],
        asides: Vec<Aside>,
    ) -> Result<usize, EngineError> {
        if !self.lacks(path, &asides) {
            return Ok(0);
        }
        let mut added = 0;
        let now = self.now();
        let id = self.0.id.clone();
        self.write_dated(
            Durability::Strict,
            Dating::AsGiven,
            |state| {
                let mut head = state.head.clone();
                let counter = Rc::clone(state.context.counter());
                let mut ops = Vec::new();
                let mut stored = Vec::new();
                let mut numbers: Vec<Option<Seq>> = Vec::new();
                for Aside { follows, message } in asides {
                    let Some(parent) = parent(follows, path, &numbers) else {
                        numbers.push(None);
                        continue;
                    };
                    if let Some(known) = known(&state.messages, parent, &message) {
                        numbers.push(Some(known));
                        continue;
                    }
                    let seq = head.last_seq.map_or(0, |s| s + 1);
                    let message = Message {
                        seq,
                        parent,
                        role: message.role,
                        origin: message.origin,
                        parts: message.parts,
                        at: if message.at > 0.0 { message.at } else { now },
                        ended: message.ended,
                    };
                    let tokens = verbatim_tokens(&message, counter.as_ref());
                    ops.extend(message_ops(&id, &message, tokens, counter.epoch())?);
                    head.last_seq = Some(seq);
                    numbers.push(Some(seq));
                    stored.push(Stored {
                        message: Rc::new(message),
                        tokens,
                        counted_by: counter.epoch(),
                    });
                }
                added = stored.len();
                Ok((Change { ops, head }, stored))
            },
            |state, stored| {
                for s in stored {
                    state.messages.insert(s.message.seq, s);
                }
            },
        )
        .await?;
        Ok(added)
    }

    /// Returns `true` if [`Self::append_aside`] would store something.
    pub(crate) fn lacks(&self, path: &[Option<Seq>], asides: &[Aside]) -> bool {
        let state = self.0.state.borrow();
        let mut numbers: Vec<Option<Seq>> = Vec::new();
        asides.iter().any(|Aside { follows, message }| {
            let parent = parent(*follows, path, &numbers);
            let known = parent.and_then(|parent| known(&state.messages, parent, message));
            numbers.push(known);
            parent.is_some() && known.is_none()
        })
    }
}

/// The message before an aside, or the beginning of the session; nothing if that is not there.
#[allow(
    clippy::option_option,
    reason = "the beginning of a session is a place, too"
)]
fn parent(
    follows: Option<Follows>,
    path: &[Option<Seq>],
    numbers: &[Option<Seq>],
) -> Option<Option<Seq>> {
    match follows {
        None => Some(None),
        Some(Follows::Path(n)) => path.get(n).copied(),
        Some(Follows::Aside(n)) => numbers.get(n).copied().flatten().map(Some),
    }
}

/// The stored message that says the same at the same place.
fn known(messages: &SortedMap<Seq, Stored>, parent: Option<Seq>, new: &NewMessage) -> Option<Seq> {
    let later = messages.range(parent.map_or(0, |parent| parent + 1)..);
    let mut same = later.filter(|(_, stored)| {
        let message = &stored.message;
        message.parent == parent && message.role == new.role && message.parts == new.parts
    });
    same.next().map(|(seq, _)| *seq)
}
