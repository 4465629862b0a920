//! Messages of other branches, as an import brings them along.

use std::rc::Rc;

use palimpsest_core::message::{Message, Seq};
use palimpsest_core::rendition::verbatim_tokens;

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
    /// Stores messages beside the shown branch, whose messages are `path`: all of them or none. What is shown stays as it is;
    /// [`Self::switch_to`] shows them. An aside that follows nothing which is there is left out. The session keeps the date of its
    /// last change.
    pub async fn append_aside(&self, path: &[Seq], asides: Vec<Aside>) -> Result<(), EngineError> {
        if asides.is_empty() {
            return Ok(());
        }
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
                    let parent = match follows {
                        None => Some(None),
                        Some(Follows::Path(n)) => path.get(n).map(|seq| Some(*seq)),
                        Some(Follows::Aside(n)) => numbers.get(n).copied().flatten().map(Some),
                    };
                    let Some(parent) = parent else {
                        numbers.push(None);
                        continue;
                    };
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
                Ok((Change { ops, head }, stored))
            },
            |state, stored| {
                for s in stored {
                    state.messages.insert(s.message.seq, s);
                }
            },
        )
        .await
    }
}
