//! Going on in a new session that starts from the notes of this one (E1).

use std::rc::Rc;

use palimpsest_core::context::{Cause, Context, Entry, View};
use palimpsest_core::extractive::{self, Passage};
use palimpsest_core::layer::{Author, Layer, Level, Span};
use palimpsest_core::message::{Message, Role};
use palimpsest_core::record::Records;
use palimpsest_core::rendition::Rendition;
use palimpsest_core::retention::Speaker;

use crate::engine::NewSession;
use crate::error::EngineError;
use crate::event::Event;
use crate::ports::{Durability, Op, Table};
use crate::rows::{key, message_ops, revision_row, seal};

use super::snapshots::{Purpose, take, taken};
use super::{Change, Session, Stored};

impl Session {
    /// Opens a new session that starts from this one's records and layers and holds its last user message, as long
    /// as nobody answered that. This session gets an emergency snapshot and is not changed otherwise.
    pub async fn roll_over(&self) -> Result<Session, EngineError> {
        let head = self.head();
        let (records, layers, notes, last) = {
            let state = self.0.state.borrow();
            let context = &state.context;
            let view = context.view();
            let last = context
                .entries()
                .last()
                .filter(|e| e.message.role == Role::User)
                .cloned();
            let layers = carried(context);
            (context.records().clone(), layers, view.notes.clone(), last)
        };
        let count = notes.len() as u32;
        self.snapshot_for(Purpose::Emergency).await?;
        let new = NewSession {
            title: head.title.clone(),
            model: head.model.clone(),
            window: head.window,
            policy: head.policy.clone(),
            system: String::new(),
            thinking: head.thinking,
            provider: head.provider.clone(),
            mode: head.mode,
            config: head.config.clone(),
            profile: head.profile.clone(),
        };
        let next = self.0.engine.create(new).await?;
        let from = self.0.id.clone();
        let id = next.0.id.clone();
        let now = self.now();
        next.write(
            Durability::Strict,
            |state| {
                let mut head = state.head.clone();
                let records = Records {
                    revision: head.records + 1,
                    ..records
                };
                head.records = records.revision;
                head.continues = Some(from);
                let mut ops = vec![Op::Add {
                    table: Table::Records,
                    key: key(&id, records.revision),
                    value: seal(&records)?,
                }];
                let mut view = View {
                    revision: 1,
                    cause: Cause::Start,
                    next_layer: layers.iter().map(|l| l.id + 1).max().unwrap_or(1),
                    next_note: notes.iter().map(|n| n.id + 1).max().unwrap_or(1),
                    ..View::default()
                };
                for note in &notes {
                    ops.push(Op::Add {
                        table: Table::Notes,
                        key: key(&id, note.id),
                        value: seal(note.as_ref())?,
                    });
                }
                for layer in &layers {
                    ops.push(Op::Add {
                        table: Table::Layers,
                        key: key(&id, layer.id),
                        value: seal(layer.as_ref())?,
                    });
                }
                view.layers = layers;
                view.notes = notes;
                head.revision = 1;
                head.last_revision = 1;
                let stored = last.map(|entry| Stored {
                    message: Rc::new(Message {
                        seq: 0,
                        parent: None,
                        ..(*entry.message).clone()
                    }),
                    tokens: entry.tokens,
                    counted_by: entry.counted_by,
                });
                if let Some(stored) = &stored {
                    let epoch = state.context.counter().epoch();
                    ops.extend(message_ops(&id, &stored.message, stored.tokens, epoch)?);
                    head.tip = Some(0);
                    head.last_seq = Some(0);
                    head.messages = 1;
                }
                let forms = std::collections::BTreeMap::new();
                let row = revision_row(&view, Some(0), &forms, head.tip, now);
                ops.push(Op::Add {
                    table: Table::Revisions,
                    key: key(&id, 1),
                    value: seal(&row)?,
                });
                let mut context = state.context.clone();
                context.set_records(records);
                if let Some(stored) = &stored {
                    context.push_counted(Entry {
                        message: Rc::clone(&stored.message),
                        tokens: stored.tokens,
                        counted_by: stored.counted_by,
                    });
                }
                context.set_view(view);
                head.tokens = context.tokens();
                Ok((Change { ops, head }, (context, stored)))
            },
            |state, (context, stored)| {
                state.context = context;
                state.layout = 1;
                if let Some(stored) = stored {
                    state.messages.insert(stored.message.seq, stored);
                }
            },
        )
        .await?;
        self.emit(&Event::RolloverComplete {
            session: next.0.id.clone(),
            notes: count,
        });
        Ok(next)
    }

    /// An automatic snapshot for a purpose, if any are made.
    pub(super) async fn snapshot_for(&self, purpose: Purpose) -> Result<(), EngineError> {
        let id = self.0.id.clone();
        let now = self.now();
        if !self.0.state.borrow().head.config.snapshots.enabled {
            return Ok(());
        }
        let mut n = 0;
        self.write(
            Durability::Strict,
            |state| {
                let (snapshot, ops, prune) = take(state, &id, "", purpose, now)?;
                let mut head = state.head.clone();
                head.snapshots = snapshot.n;
                n = snapshot.n;
                Ok((Change { ops, head }, (snapshot, prune)))
            },
            |state, (snapshot, prune)| taken(state, snapshot, &prune),
        )
        .await?;
        self.emit(&Event::AutoSnapshotCreated {
            snapshot: n,
            purpose,
        });
        Ok(())
    }
}

/// The layers as they start the new session: the same words and sources, covering none of its messages. What was not
/// covered yet comes along as one more layer, cut from the originals without a model.
fn carried(context: &Context) -> Vec<Rc<Layer>> {
    let view = context.view();
    let mut layers: Vec<Rc<Layer>> = view
        .layers
        .iter()
        .map(|layer| {
            Rc::new(Layer {
                covers: Vec::<Span>::new(),
                ..(**layer).clone()
            })
        })
        .collect();
    let mut tail: Vec<(u32, Speaker, String)> = Vec::new();
    let entries = context.entries();
    let open = entries.last().is_some_and(|e| e.message.role == Role::User);
    let end = entries.len() - usize::from(open);
    for entry in &entries[..end] {
        let seq = entry.message.seq;
        if !matches!(view.rendition(seq), Rendition::Covered(_)) {
            let words = entry.message.words();
            if !words.trim().is_empty() {
                tail.push((seq, speaker(entry.message.role), words));
            }
        }
    }
    if tail.is_empty() {
        return layers;
    }
    let shares = context.setup().shares;
    let counter = context.counter().as_ref();
    let passages: Vec<Passage<'_>> = tail
        .iter()
        .map(|(id, role, text)| Passage {
            id: *id,
            role: *role,
            text,
        })
        .collect();
    let options = extractive::Options {
        target_tokens: shares.newest,
        ..extractive::Options::default()
    };
    let summary = extractive::summarize(&passages, &options, counter).text;
    if !summary.trim().is_empty() {
        layers.push(Rc::new(Layer {
            id: view.next_layer,
            level: Level::Detailed,
            covers: Vec::new(),
            tokens: counter.count(&summary),
            summary,
            ledger: Vec::new(),
            original_tokens: 0,
            messages: tail.len() as u32,
            notes: Vec::new(),
            rank: 0,
            number: view.compactions,
            created: 0.0,
            compressed_at: 0.0,
            replaces: Vec::new(),
            author: Author::Extractive,
            retention: 0.0,
            dropped: Vec::new(),
            key_decisions: Vec::new(),
            files_modified: Vec::new(),
            next_steps: Vec::new(),
        }));
    }
    layers
}

const fn speaker(role: Role) -> Speaker {
    match role {
        Role::User | Role::System => Speaker::User,
        Role::Assistant => Speaker::Assistant,
        Role::Tool => Speaker::Tool,
    }
}
