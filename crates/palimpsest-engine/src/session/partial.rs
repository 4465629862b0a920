//! A reply that is not whole: what has arrived of it is noted while it comes in, and becomes a message with a mark wherever it
//! ends. Nothing that arrived is lost, and nothing that is not whole is taken for whole.

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

/// What has arrived of a reply, as it is noted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Partial {
    /// Its words; those of the reply that it continues come first.
    pub(crate) text: String,
    /// The reasoning before them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) thinking: String,
    /// The message that it answers.
    pub(crate) after: Option<Seq>,
    /// The unfinished reply that it continues, and takes the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instead: Option<Seq>,
    /// When it was noted; milliseconds since 1970.
    #[serde(default)]
    pub(crate) at: f64,
}

impl Partial {
    /// Reads the row. Rows of earlier versions hold the words alone, which answer the message at the end.
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

    /// The message that comes of it.
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

/// Where a reply belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The message that it answers.
    pub(super) after: Option<Seq>,
    /// The unfinished reply whose place it takes.
    pub(super) instead: Option<Seq>,
}

/// The unfinished reply that is gone on with.
pub(super) struct Prior {
    pub(super) place: Place,
    pub(super) text: String,
    pub(super) thinking: String,
    /// Tokens of it, as the server or the counter has them.
    pub(super) tokens: u32,
}

/// What was said with what follows it. A model that was asked to go on in words of ours may say the last ones again: those
/// stand once.
pub(super) fn joined(before: &str, more: &str) -> String {
    let mut ends = more.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
    let again = ends.find(|end| *end >= SAID_AGAIN && before.ends_with(&more[..*end]));
    format!("{before}{}", &more[again.unwrap_or(0)..])
}

/// Bytes at the seam that are more than a chance repetition.
const SAID_AGAIN: usize = 16;

impl Session {
    /// The unfinished reply at the end, to go on with.
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

    /// Notes what has arrived, so that a crash loses at most the last moments of a reply.
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
        // A partial reply is a courtesy: that it could not be noted does not stop the reply.
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

    /// Makes what had arrived of a reply a message that is marked as stopped: where the stream broke, and where the session
    /// was left in the middle of one. It stands with the question that it answers, wherever the conversation is now.
    /// What cannot be stored stays noted, and a warning says why. Whoever opens a session calls it; opening only reads.
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

    /// Whether that message stands on the current path, and no reply behind it.
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

    /// Stores a reply where it belongs: at the end; in the place of the unfinished one that it continues, which stays on its
    /// branch; or, where the conversation has gone elsewhere meanwhile, on a branch of its own. One transaction.
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
        // the revision as it is stored: in memory, layers of another branch were left out
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
                            // something was committed meanwhile
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
