//! A session as a file: Markdown for people, JSON Lines with everything, and the session JSON of seed 2. Each loads
//! back (S3).
//!
//! | format | holds | loads back |
//! |---|---|---|
//! | [`Format::JsonLines`] | every message of every branch, records, layers, notes, the view | the same window, byte for byte |
//! | [`Format::Markdown`] | the messages of the current path, readable; a table of the layers | every part of every message, exactly |
//! | [`Format::SessionJson`] | the messages of the current path, tool calls listed apart as seed 2 has it | every part of every message; from other writers texts and tool calls |

mod json_lines;
mod markdown;
mod session_json;

use palimpsest_core::layer::Layer;
use palimpsest_core::message::{Message, Origin, Part, Role};
use palimpsest_core::note::Note;
use palimpsest_core::record::Records;
use palimpsest_core::rendition::Reduced;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::head::NewSession;
use crate::ports::{Durability, Op, Table};
use crate::rows::{RenditionRow, RevisionRow, content_hash, key, message_ops, revision_row, seal};
use crate::session::{Change, NewMessage, Session};

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Readable, with invisible marks that let it be read back.
    Markdown,
    /// One JSON object per line, the session first: the project's own format, with everything.
    JsonLines,
    /// The session JSON of seed 2.
    SessionJson,
}

/// The facts about a session as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionFacts {
    /// Its identifier.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The model.
    pub model: String,
    /// The provider of the model.
    pub provider: String,
    /// The window in tokens.
    pub window: u32,
    /// The policy's name.
    pub policy: String,
    /// The time of its start in milliseconds since 1970.
    pub created: f64,
    /// The time of its last message in milliseconds since 1970.
    pub updated: f64,
    /// Tokens of the window.
    pub tokens: u32,
    /// Compactions so far.
    pub compressions: u32,
    /// The last message of the current path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<u32>,
}

/// The content of a session's file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transfer {
    /// The facts about the session as a whole.
    pub facts: SessionFacts,
    /// System prompt, goal, pins.
    pub records: Records,
    /// The messages by number. JSON Lines holds every branch, the other formats one path.
    pub messages: Vec<Message>,
    /// Every layer that was ever written. `view` names the active ones.
    pub layers: Vec<Layer>,
    /// The notes of the active layers.
    pub notes: Vec<Note>,
    /// The shorter forms in the current view.
    pub forms: Vec<(u32, Reduced)>,
    /// The current view.
    pub view: Option<RevisionRow>,
}

/// The trust in an import (S7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accept {
    /// The user vouches for the file: system prompt, goal, pins and layers are imported, and the user's messages in it
    /// count as the user's.
    Everything,
    /// Only the messages, as an import: none of them can become a record.
    Words,
}

/// The reason for which a file is not a readable session.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The file has none of the formats.
    #[error(
        "This is no session file: it is neither our JSON Lines, nor our Markdown, nor a session JSON."
    )]
    Unknown,
    /// A line or an object is damaged.
    #[error("The session file is damaged at line {line}: {why}.")]
    Damaged {
        /// Counted from 1.
        line: usize,
        /// The fault.
        why: String,
    },
    /// A newer version wrote the file.
    #[error("The session file has version {0}, which is newer than this program. Update it.")]
    Newer(u64),
}

impl TransferError {
    /// A stable code of the kind of failure.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown_file",
            Self::Damaged { .. } => "damaged_file",
            Self::Newer(_) => "newer_file",
        }
    }
}

impl Transfer {
    /// Writes a file.
    pub fn write(&self, format: Format) -> String {
        match format {
            Format::Markdown => markdown::write(self),
            Format::JsonLines => json_lines::write(self),
            Format::SessionJson => session_json::write(self),
        }
    }

    /// Whether a file that begins so is our own JSON Lines or Markdown, of which nothing may be left out.
    pub fn is_ours(beginning: &[u8]) -> bool {
        let end = beginning.iter().position(|b| *b == b'\n');
        let Ok(line) = std::str::from_utf8(&beginning[..end.unwrap_or(beginning.len())]) else {
            return false;
        };
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        markdown::is_ours(line) || (end.is_some() && json_lines::is_ours(line))
    }

    /// Reads a file of any of the formats.
    pub fn read(text: &str) -> Result<Self, TransferError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if markdown::is_ours(text) {
            markdown::read(text)
        } else if json_lines::is_ours(text) {
            json_lines::read(text)
        } else if let Some(value) = session_json::is_one(text) {
            session_json::read(&value)
        } else {
            Err(TransferError::Unknown)
        }
    }
}

/// A line of a file that was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejected {
    /// Counted from 1.
    pub line: usize,
    /// The offset of the first byte that is not UTF-8.
    pub offset: usize,
}

impl Transfer {
    /// Reads the bytes of a file. In JSON Lines, a line that is not UTF-8 is skipped and reported, and the next message
    /// follows the one before it.
    ///
    /// # Errors
    ///
    /// Any other file with such a byte is refused with its place.
    pub fn read_bytes(bytes: &[u8]) -> Result<(Self, Vec<Rejected>), TransferError> {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Ok((Self::read(text)?, Vec::new()));
        }
        let mut good = String::new();
        let mut rejected = Vec::new();
        let mut offset = 0;
        for (n, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
            match std::str::from_utf8(line) {
                Ok(line) => good.push_str(line),
                Err(error) => rejected.push(Rejected {
                    line: n + 1,
                    offset: offset + error.valid_up_to(),
                }),
            }
            offset += line.len();
        }
        let first = rejected.first().copied();
        if !json_lines::is_ours(&good) {
            return Err(
                first.map_or(TransferError::Unknown, |at| TransferError::Damaged {
                    line: at.line,
                    why: format!("byte {} is no UTF-8", at.offset),
                }),
            );
        }
        let mut read = json_lines::read(&good)?;
        read.close_gaps();
        Ok((read, rejected))
    }

    /// Attaches every message without a parent to the message before it. Layers and forms of a lost message are
    /// dropped.
    fn close_gaps(&mut self) {
        let there: palimpsest_core::sorted::SortedSet<u32> =
            self.messages.iter().map(|m| m.seq).collect();
        for message in &mut self.messages {
            if message.parent.is_some_and(|p| !there.contains(&p)) {
                message.parent = there.range(..message.seq).next_back().copied();
            }
        }
        if self.facts.tip.is_some_and(|tip| !there.contains(&tip)) {
            self.facts.tip = there.last().copied();
        }
        self.forms.retain(|(seq, _)| there.contains(seq));
        self.view = None;
    }

    /// Places the system lines of a foreign file: the first is the system prompt if the user vouches for the file, and
    /// every other one is quoted text (S7, I8).
    fn place_system_lines(&mut self, accept: Accept) {
        let own = self.records.revision > 0;
        if own && accept == Accept::Everything {
            return;
        }
        if accept == Accept::Everything
            && self.records.system.is_empty()
            && self
                .messages
                .first()
                .is_some_and(|m| m.role == Role::System)
        {
            let first = self.messages.remove(0);
            self.records.system = first.words();
            for message in &mut self.messages {
                if message.parent == Some(first.seq) {
                    message.parent = None;
                }
            }
        }
        for message in self.messages.iter_mut().filter(|m| m.role == Role::System) {
            message.role = Role::User;
            message.origin = Origin::Import;
            let words = message.words();
            message.parts = vec![Part::text(format!(
                "[System line of the imported conversation]\n{words}"
            ))];
        }
    }
}

impl Session {
    /// Returns the session as a file.
    pub async fn export(&self, format: Format) -> Result<String, EngineError> {
        Ok(self.transfer().await?.write(format))
    }

    /// Returns everything that a file can hold.
    pub async fn transfer(&self) -> Result<Transfer, EngineError> {
        let layers = self.all_layers().await?;
        let state = self.0.state.borrow();
        let head = &state.head;
        let view = state.context.view();
        let row = (view.revision > 0)
            .then(|| revision_row(view, None, &state.stored_forms, head.tip, head.updated));
        Ok(Transfer {
            facts: SessionFacts {
                id: self.id().to_owned(),
                title: head.title.clone(),
                model: head.model.clone(),
                provider: head.provider.clone(),
                window: head.window,
                policy: head.policy.clone(),
                created: head.created,
                updated: head.updated,
                tokens: state.context.tokens(),
                compressions: view.compactions,
                tip: head.tip,
            },
            records: state.context.records().clone(),
            messages: state
                .messages
                .values()
                .map(|s| (*s.message).clone())
                .collect(),
            layers,
            notes: view.notes.iter().map(|n| (**n).clone()).collect(),
            forms: view
                .reduced
                .iter()
                .map(|(seq, form)| (*seq, (**form).clone()))
                .collect(),
            view: row,
        })
    }
}

impl Engine {
    /// Makes a session from a file. The same file again opens the existing session and adds the messages that it lacks
    /// (S7).
    pub async fn import(
        &self,
        mut transfer: Transfer,
        accept: Accept,
    ) -> Result<Session, EngineError> {
        let id = import_id(&transfer, accept);
        transfer.place_system_lines(accept);
        match self.open(&id, false).await {
            Ok(session) => {
                merge(&session, &transfer, accept).await?;
                return Ok(session);
            }
            Err(EngineError::NoSession(_)) => {}
            Err(error) => return Err(error),
        }
        let facts = &transfer.facts;
        let defaults = NewSession::default();
        let window = if facts.window == 0 {
            defaults.window
        } else {
            facts.window
        };
        let known = palimpsest_core::policy::Policy::preset(&facts.policy).is_ok();
        let new = NewSession {
            title: facts.title.clone(),
            model: facts.model.clone(),
            provider: facts.provider.clone(),
            window,
            policy: if known {
                facts.policy.clone()
            } else {
                defaults.policy.clone()
            },
            ..defaults
        };
        // One transaction makes the session with all of the file's content (I6).
        let session = self.draft(&id, new).await?;
        match accept {
            Accept::Everything => {
                restore(&session, transfer).await?;
                // Rows are written directly, so the session is read like any other.
                drop(session);
                self.open(&id, true).await
            }
            Accept::Words => {
                merge(&session, &transfer, accept).await?;
                if session.head().version == 0 {
                    session.edit_head(|_| {}).await?;
                }
                self.open.remember(&session);
                Ok(session)
            }
        }
    }
}

/// The identifier: the file's own if the user vouches for it, otherwise one that only this content has.
fn import_id(transfer: &Transfer, accept: Accept) -> String {
    let own = &transfer.facts.id;
    if accept == Accept::Everything && !own.is_empty() {
        return own.clone();
    }
    let first = transfer.messages.first();
    let words = serde_json::to_string(&(own, first)).unwrap_or_default();
    content_hash(words.as_bytes())
}

/// The messages from the first to the tip.
fn path(transfer: &Transfer) -> Vec<&Message> {
    let by_seq = |seq: u32| {
        transfer
            .messages
            .binary_search_by_key(&seq, |m| m.seq)
            .ok()
            .map(|at| &transfer.messages[at])
    };
    let tip = transfer
        .facts
        .tip
        .and_then(by_seq)
        .or(transfer.messages.last());
    let mut path: Vec<&Message> = Vec::new();
    let mut at = tip;
    while let Some(message) = at {
        path.push(message);
        at = message.parent.filter(|p| *p < message.seq).and_then(by_seq);
    }
    path.reverse();
    path
}

/// Adds the file's further messages, if the session's messages are the first ones of the file.
async fn merge(session: &Session, transfer: &Transfer, accept: Accept) -> Result<(), EngineError> {
    let path = path(transfer);
    let there = session.history(None, usize::MAX);
    let same = there
        .iter()
        .zip(&path)
        .take_while(|(a, b)| a.message.role == b.role && a.message.parts == b.parts)
        .count();
    if same < there.len() {
        // The conversations differ, so nothing is removed and nothing mixed in.
        return Ok(());
    }
    let more: Vec<NewMessage> = path[same..]
        .iter()
        .map(|m| NewMessage {
            origin: if accept == Accept::Everything {
                m.origin
            } else {
                Origin::Import
            },
            ..NewMessage::like(m)
        })
        .collect();
    if !more.is_empty() {
        session.append_all(more).await?;
    }
    Ok(())
}

/// Writes all rows of a file for which the user vouches.
async fn restore(session: &Session, transfer: Transfer) -> Result<(), EngineError> {
    let id = session.id().to_owned();
    let last = transfer.messages.last().map(|m| m.seq);
    let tip = path(&transfer).last().map(|m| m.seq);
    let count = path(&transfer).len() as u32;
    session
        .write(
            Durability::Strict,
            |state| {
                let counter = state.context.counter().as_ref();
                let epoch = counter.epoch();
                let mut head = state.head.clone();
                let mut ops = Vec::new();
                for message in &transfer.messages {
                    let tokens = palimpsest_core::rendition::verbatim_tokens(message, counter);
                    ops.extend(message_ops(&id, message, tokens, epoch)?);
                }
                let mut records: Records = transfer.records.clone();
                records.revision = head.records + 1;
                head.records = records.revision;
                ops.push(Op::Add {
                    table: Table::Records,
                    key: key(&id, records.revision),
                    value: seal(&records)?,
                });
                for layer in &transfer.layers {
                    ops.push(Op::Put {
                        table: Table::Layers,
                        key: key(&id, layer.id),
                        value: seal(layer)?,
                    });
                }
                for note in &transfer.notes {
                    ops.push(Op::Put {
                        table: Table::Notes,
                        key: key(&id, note.id),
                        value: seal(note)?,
                    });
                }
                let known = |row: &RevisionRow| {
                    row.layers
                        .iter()
                        .all(|n| transfer.layers.iter().any(|l| l.id == *n))
                        && row
                            .notes
                            .iter()
                            .all(|n| transfer.notes.iter().any(|x| x.id == *n))
                };
                if let Some(row) = transfer.view.as_ref().filter(|row| known(row)) {
                    let mut row = row.clone();
                    row.n = 1;
                    row.parent = Some(0);
                    row.tip = tip;
                    row.report = None;
                    row.reduced = transfer.forms.iter().map(|(seq, _)| (*seq, 1)).collect();
                    for (seq, form) in &transfer.forms {
                        let form = RenditionRow {
                            reduced: form.clone(),
                            counted_by: epoch,
                        };
                        ops.push(Op::Put {
                            table: Table::Renditions,
                            key: vec![id.as_str().into(), (*seq).into(), 1u32.into()],
                            value: seal(&form)?,
                        });
                    }
                    ops.push(Op::Add {
                        table: Table::Revisions,
                        key: key(&id, 1),
                        value: seal(&row)?,
                    });
                    head.revision = 1;
                    head.last_revision = 1;
                }
                head.tip = tip;
                head.last_seq = last;
                head.messages = count;
                head.tokens = transfer.facts.tokens;
                if transfer.facts.created > 0.0 {
                    head.created = transfer.facts.created;
                }
                if transfer.facts.updated > 0.0 {
                    head.updated = transfer.facts.updated;
                }
                Ok((Change { ops, head }, ()))
            },
            |_, ()| {},
        )
        .await
}
