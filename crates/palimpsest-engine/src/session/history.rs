//! Reads the conversation and chooses among its branches.

use std::rc::Rc;

use palimpsest_core::layer::LayerId;
use palimpsest_core::message::{Message, Role, Seq};
use palimpsest_core::rendition::{ReducedKind, Rendition};
use palimpsest_core::sorted::{SortedMap, SortedSet};

use crate::error::EngineError;
use crate::event::Event;
use crate::ports::Durability;
use palimpsest_core::error::CoreError;

use crate::stored;

use super::{Change, Session, State};

/// A message of the path, and its form in the window.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryItem {
    /// The message.
    pub message: Rc<Message>,
    /// The tokens of the verbatim message.
    pub tokens: u32,
    /// The layer that covers it, if one does.
    pub covered_by: Option<LayerId>,
    /// Its shorter form, if it has one.
    pub reduced: Option<ReducedKind>,
    /// The number of the message among its siblings, from 1, and the number of siblings.
    pub branch: (u32, u32),
}

/// A place on a path, seen from the present.
#[derive(Debug, Clone, PartialEq)]
pub struct LookBack {
    /// The number of messages on the current path that are not on the way to that place.
    pub newer: u32,
    /// The last messages up to it, oldest first.
    pub last: Vec<Rc<Message>>,
}

impl Session {
    /// Returns the last `limit` messages before `before` on the current path, oldest first.
    pub fn history(&self, before: Option<Seq>, limit: usize) -> Vec<HistoryItem> {
        let state = self.0.state.borrow();
        let entries = state.context.entries();
        let end = before.map_or(entries.len(), |seq| {
            entries.partition_point(|e| e.message.seq < seq)
        });
        let start = end.saturating_sub(limit);
        // One pass over all messages instead of one per message, because a session may have tens of thousands.
        let mut children: SortedMap<Option<Seq>, Vec<(Role, Seq)>> = SortedMap::new();
        if let Some(first) = entries.get(start) {
            let from = first.message.parent.map_or(0, |p| p + 1);
            for (seq, stored) in state.messages.range(from..) {
                let of = children.entry(stored.message.parent).or_default();
                of.push((stored.message.role, *seq));
            }
        }
        entries[start..end]
            .iter()
            .map(|e| {
                let (covered_by, reduced) = match state.context.view().rendition(e.message.seq) {
                    Rendition::Covered(layer) => (Some(layer), None),
                    Rendition::Reduced(r) => (None, Some(r.kind)),
                    Rendition::Verbatim => (None, None),
                };
                let siblings: Vec<Seq> = children
                    .get(&e.message.parent)
                    .into_iter()
                    .flatten()
                    .filter(|(role, _)| *role == e.message.role)
                    .map(|(_, seq)| *seq)
                    .collect();
                let at = siblings
                    .iter()
                    .position(|s| *s == e.message.seq)
                    .unwrap_or(0);
                HistoryItem {
                    message: Rc::clone(&e.message),
                    tokens: e.tokens,
                    covered_by,
                    reduced,
                    branch: (at as u32 + 1, siblings.len().max(1) as u32),
                }
            })
            .collect()
    }

    /// Describes the result of going back to `tip`: the last `limit` messages there, and the number of newer messages
    /// on the current path.
    pub fn look_back(&self, tip: Option<Seq>, limit: usize) -> LookBack {
        let state = self.0.state.borrow();
        let mut path = stored::path(&state.messages, tip);
        let there: SortedSet<Seq> = path.iter().map(|e| e.message.seq).collect();
        let entries = state.context.entries().iter();
        let newer = entries.filter(|e| !there.contains(&e.message.seq)).count();
        let last = path.split_off(path.len().saturating_sub(limit));
        LookBack {
            newer: newer as u32,
            last: last.into_iter().map(|e| e.message).collect(),
        }
    }

    /// The number of messages on the current path.
    pub fn message_count(&self) -> usize {
        self.0.state.borrow().context.entries().len()
    }

    /// The text of a reply that has arrived and is not stored as a message yet.
    pub fn partial(&self) -> Option<String> {
        let state = self.0.state.borrow();
        let partial = state.partial.as_ref()?;
        let is_here = [partial.after, partial.instead].contains(&state.head.tip);
        is_here.then(|| partial.text.clone())
    }

    /// The last message, if it is a reply that was stopped, broke off or was cut. [`Self::continue_reply`] continues
    /// it.
    pub fn unfinished(&self) -> Option<Rc<Message>> {
        let state = self.0.state.borrow();
        let last = state.context.entries().last()?;
        last.message
            .is_unfinished()
            .then(|| Rc::clone(&last.message))
    }

    /// The messages with the same parent as `seq`, itself included, oldest first.
    pub fn siblings(&self, seq: Seq) -> Vec<Seq> {
        siblings(&self.0.state.borrow(), seq)
    }

    /// Shows the branch of `seq`, at its newest end.
    pub async fn switch_to(&self, seq: Seq) -> Result<(), EngineError> {
        let tip = {
            let state = self.0.state.borrow();
            if !state.messages.contains_key(&seq) {
                return Err(CoreError::NotFound {
                    what: "message",
                    id: seq,
                }
                .into());
            }
            newest_end(&state, seq)
        };
        self.move_tip(Some(tip)).await
    }

    /// Goes back to just before `seq`. The next message becomes its sibling. Nothing is removed.
    pub async fn rewind_before(&self, seq: Seq) -> Result<(), EngineError> {
        let parent = {
            let state = self.0.state.borrow();
            let stored = state.messages.get(&seq);
            stored
                .map(|s| s.message.parent)
                .ok_or(CoreError::NotFound {
                    what: "message",
                    id: seq,
                })?
        };
        self.move_tip(parent).await
    }

    /// Goes back to the last user message, so that the model can reply again.
    pub async fn rewind_to_last_user(&self) -> Result<Seq, EngineError> {
        let last = {
            let state = self.0.state.borrow();
            let mut entries = state.context.entries().iter().rev();
            entries
                .find(|e| e.message.role == Role::User)
                .map(|e| e.message.seq)
        };
        let last = last.ok_or(CoreError::NotFound {
            what: "user message",
            id: 0,
        })?;
        self.move_tip(Some(last)).await?;
        Ok(last)
    }

    pub(crate) async fn move_tip(&self, tip: Option<Seq>) -> Result<(), EngineError> {
        // The stored revision, because the one in memory leaves out the layers of the other branch.
        let (view, _, _) = self.content_of(self.head().revision).await?;
        self.write(
            Durability::Strict,
            |state| {
                let mut head = state.head.clone();
                head.tip = tip;
                let path = stored::path(&state.messages, tip);
                head.messages = path.len() as u32;
                let mut context = palimpsest_core::context::Context::new(
                    state.context.setup().clone(),
                    state.context.records().clone(),
                    Rc::clone(state.context.counter()),
                );
                for entry in path {
                    context.push_counted(entry);
                }
                if view.revision == state.context.view().revision {
                    context.set_view(view);
                } else {
                    // Another change was committed meanwhile.
                    context.set_view(state.context.view().clone());
                }
                context.recount_view();
                head.shows(&context);
                let ops = Vec::new();
                Ok((Change { ops, head }, context))
            },
            |state, context| {
                state.covered_index.take();
                state.replace_context(context);
            },
        )
        .await?;
        let revision = self.head().revision;
        self.emit(&Event::ViewChanged { revision });
        self.emit_budget();
        Ok(())
    }
}

fn siblings(state: &State, seq: Seq) -> Vec<Seq> {
    let Some(parent) = state.messages.get(&seq).map(|s| s.message.parent) else {
        return vec![seq];
    };
    let role = state.messages.get(&seq).map(|s| s.message.role);
    // Siblings are few and close together, and children come after their parent.
    state
        .messages
        .range(parent.map_or(0, |p| p + 1)..)
        .filter(|(_, s)| s.message.parent == parent && Some(s.message.role) == role)
        .map(|(n, _)| *n)
        .collect()
}

fn newest_end(state: &State, seq: Seq) -> Seq {
    let mut tip = seq;
    while let Some((next, _)) = state
        .messages
        .range(tip + 1..)
        .rev()
        .find(|(_, s)| s.message.parent == Some(tip))
    {
        tip = *next;
    }
    tip
}
