//! Replies that are not whole. The arriving part of a reply is noted, and becomes a message with a mark wherever it
//! ends. No arrived text is lost, and no unfinished reply passes as finished.

use std::rc::Rc;

use palimpsest_core::message::{Ended, Message, Part, Role, Seq};
use palimpsest_core::rendition::verbatim_tokens;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::event::Event;
use crate::ports::{Durability, Op, Table};
use crate::rows::{message_ops, seal, session_key, unseal};

use super::append::arrivals;
use super::revise::{Draft, Revision};
use crate::stored;

use super::{Change, NewMessage, Session, Stored};

/// The noted part of an arriving reply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Partial {
    /// Its text, after the text of the reply that it continues.
    pub(crate) text: String,
    /// The reasoning before them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) thinking: String,
    /// The message that it answers.
    pub(crate) after: Option<Seq>,
    /// The unfinished reply that it continues and replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instead: Option<Seq>,
    /// The time of the note in milliseconds since 1970.
    #[serde(default)]
    pub(crate) at: f64,
}

impl Partial {
    /// Reads the row. Rows of earlier versions hold only the text of a reply to the last message.
    pub(crate) fn unseal(value: &str, tip: Option<Seq>) -> Option<Self> {
        unseal("a partial reply", value).ok().or_else(|| {
            let text = unseal("a partial reply", value).ok()?;
            Some(Self {
                text,
                after: tip,
                ..Self::default()
            })
        })
    }

    /// The message that it becomes.
    fn message(&self) -> NewMessage {
        let mut parts = Vec::new();
        if !self.thinking.is_empty() {
            parts.push(Part::Thinking {
                text: self.thinking.clone(),
            });
        }
        if !self.text.is_empty() {
            parts.push(Part::text(self.text.clone()));
        }
        NewMessage {
            ended: Some(Ended::Stopped),
            at: self.at,
            ..NewMessage::assistant(parts)
        }
    }
}

/// The place of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The message that it answers.
    pub(super) after: Option<Seq>,
    /// The unfinished reply that it replaces.
    pub(super) instead: Option<Seq>,
}

/// The unfinished reply that a new one continues.
pub(super) struct Prior {
    pub(super) place: Place,
    pub(super) text: String,
    pub(super) thinking: String,
    /// Its tokens, from the server or the counter.
    pub(super) tokens: u32,
}

/// Joins the text of an unfinished reply with its continuation. A model that was asked to continue may repeat the last
/// words; they then appear once.
pub(super) fn joined(before: &str, more: &str) -> String {
    let mut ends = more.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
    let again = ends.find(|end| *end >= SAID_AGAIN && before.ends_with(&more[..*end]));
    format!("{before}{}", &more[again.unwrap_or(0)..])
}

/// A repetition of at least this many bytes at the seam is not chance.
const SAID_AGAIN: usize = 16;

impl Session {
    /// Returns the unfinished reply at the end, to continue it.
    pub(super) fn prior(&self) -> Result<Prior, EngineError> {
        let part = self.unfinished().ok_or(EngineError::NothingToContinue)?;
        let mut prior = Prior {
            place: Place {
                after: part.parent,
                instead: Some(part.seq),
            },
            text: String::new(),
            thinking: String::new(),
            tokens: 0,
        };
        for said in &part.parts {
            match said {
                Part::Text { text } => prior.text.push_str(text),
                Part::Thinking { text } => prior.thinking.push_str(text),
                _ => {}
            }
        }
        prior.tokens = match part.ended {
            Some(Ended::Cut(tokens)) => tokens,
            _ => self.count(&prior.thinking) + self.count(&prior.text),
        };
        Ok(prior)
    }

    pub(super) fn count(&self, text: &str) -> u32 {
        let counter = Rc::clone(self.0.state.borrow().context.counter());
        counter.count(text)
    }

    /// Notes the arrived part, so that a crash loses at most the last moments of a reply.
    pub(super) async fn note_partial(&self, mut partial: Partial) {
        if partial.text.is_empty() && partial.thinking.is_empty() {
            return;
        }
        partial.at = self.now();
        let value = seal(&partial);
        self.0.state.borrow_mut().partial = Some(partial);
        let Ok(value) = value else { return };
        let op = Op::Put {
            table: Table::Partials,
            key: session_key(&self.0.id),
            value,
        };
        // The note is a precaution: a failure to write it does not stop the reply.
        let written = self
            .0
            .host
            .store
            .apply(&self.0.lease, None, vec![op], Durability::Relaxed)
            .await;
        if let Err(error) = written {
            self.warn_of(&error.into());
        }
    }

    /// Turns the arrived part of a reply into a message that is marked as stopped, after a broken stream or in a
    /// session that was left in the middle of one. The message follows the question that it answers, wherever the
    /// conversation is now. If it cannot be stored, the note stays and a warning gives the reason. Call it after
    /// opening a session: opening only reads.
    pub async fn keep_arrived(&self) {
        let Some(partial) = self.0.state.borrow().partial.clone() else {
            return;
        };
        let place = Place {
            after: partial.after,
            instead: partial.instead,
        };
        if let Err(error) = self.append_reply(partial.message(), place).await {
            self.warn_of(&error);
        }
    }

    /// Returns `true` if that message stands on the current path without a reply after it.
    fn is_open(&self, after: Option<Seq>) -> bool {
        let state = self.0.state.borrow();
        let mut entries = state.context.entries().iter().rev();
        let end =
            entries.find(|e| Some(e.message.seq) == after || e.message.role == Role::Assistant);
        end.map(|e| e.message.seq) == after
    }

    fn warn_of(&self, error: &EngineError) {
        self.emit(&Event::Warning {
            code: error.code(),
            message: error.to_string(),
        });
    }

    /// Stores a reply at its place: at the end; in the place of the unfinished reply that it continues, which stays on
    /// its branch; or on a branch of its own, if the conversation moved elsewhere meanwhile. It is one transaction.
    pub(super) async fn append_reply(
        &self,
        new: NewMessage,
        place: Place,
    ) -> Result<Seq, EngineError> {
        if place.instead.is_none() && self.is_open(place.after) {
            return Ok(self
                .append_now(vec![new])
                .await?
                .first()
                .copied()
                .unwrap_or(0));
        }
        // The stored revision, because the one in memory leaves out the layers of another branch.
        let (view, _, _) = self.content_of(self.head().revision).await?;
        let now = self.now();
        let mut told = Vec::new();
        let mut added = 0;
        let mut is_shown = false;
        self.write(
            Durability::Strict,
            |state| {
                let counter = Rc::clone(state.context.counter());
                let seq = state.head.last_seq.map_or(0, |s| s + 1);
                added = seq;
                let message = Message {
                    seq,
                    parent: place.after,
                    role: new.role,
                    origin: new.origin,
                    parts: new.parts,
                    at: if new.at > 0.0 { new.at } else { now },
                    ended: new.ended,
                };
                let tokens = verbatim_tokens(&message, counter.as_ref());
                let mut draft = Draft::of(self, state);
                draft.ops = message_ops(&self.0.id, &message, tokens, counter.epoch())?;
                draft.ops.push(Op::Delete {
                    table: Table::Partials,
                    key: session_key(&self.0.id),
                });
                draft.head.last_seq = Some(seq);
                let stored = Stored {
                    message: Rc::new(message),
                    tokens,
                    counted_by: counter.epoch(),
                };
                let replaces = place.instead.is_some() && state.head.tip == place.instead;
                is_shown = replaces || state.head.tip == place.after;
                if is_shown {
                    let path = stored::path(&state.messages, place.after);
                    draft.set_path(place.after, path);
                    draft
                        .context
                        .set_view(if view.revision == state.context.view().revision {
                            view
                        } else {
                            // Another change was committed meanwhile.
                            state.context.view().clone()
                        });
                    draft.context.recount_view();
                    let excerpt = arrivals(&draft.context, std::slice::from_ref(&stored));
                    draft.context.push_counted(stored.entry());
                    draft.head.tip = Some(seq);
                    draft.head.messages += 1;
                    if let Some(view) = excerpt {
                        let edits = state.context.view().edits_to(&view);
                        draft.show(state, Revision::of(state, view.cause, edits))?;
                    } else {
                        draft.head.shows(&draft.context);
                    }
                }
                told = std::mem::take(&mut draft.told);
                let (Change { ops, head }, settled) = draft.finish();
                Ok((Change { ops, head }, (stored, settled)))
            },
            |state, (stored, settled)| {
                settled.settle(state);
                state.messages.insert(stored.message.seq, stored);
                state.covered_index.take();
                state.partial = None;
            },
        )
        .await?;
        for event in &told {
            self.emit(event);
        }
        self.emit(&Event::MessageAdded { seq: added });
        if is_shown {
            self.emit_view(self.head().revision);
        }
        Ok(added)
    }
}
