//! Continues a conversation in a new session that starts from the notes of this one (E1).

use std::rc::Rc;

use palimpsest_core::context::{Cause, Context, Entry, View};
use palimpsest_core::layer::{Layer, Level, Span};
use palimpsest_core::message::{Message, Role};
use palimpsest_core::record::Records;
use palimpsest_core::rendition::Rendition;
use palimpsest_text::extractive::{self, Passage};
use palimpsest_text::retention::Speaker;

use crate::error::EngineError;
use crate::event::Event;
use crate::head::{NewSession, first_head, head_json};
use crate::ports::{Durability, Op, Table};
use crate::rows::{key, message_ops, seal, session_key};
use crate::setup::setup_of;
use crate::snapshot::Purpose;
use crate::temporary;

use super::noting::{take, taken};
use super::{Change, Session, State};

impl Session {
    /// Opens a new session that starts from this one's records and layers. It holds the last user message if that has
    /// no answer yet. This session gets an emergency snapshot and no other change. Both sessions change in one
    /// transaction (I6).
    pub async fn roll_over(&self) -> Result<Session, EngineError> {
        let from = self.0.id.clone();
        let id = temporary::like(&from, self.0.host.fresh_id());
        let now = self.now();
        let mut snapshot_number = 0;
        let mut count = 0;
        self.write(
            Durability::Strict,
            |state| {
                count = state.context.view().notes.len() as u32;
                let (mut ops, noted) = if state.head.config.snapshots.enabled {
                    let (snapshot, ops, prune) =
                        take(state, &from, "", (Purpose::Emergency, None), now)?;
                    snapshot_number = snapshot.n;
                    (ops, Some((snapshot, prune)))
                } else {
                    (Vec::new(), None)
                };
                let mut head = state.head.clone();
                head.snapshots = head.snapshots.max(snapshot_number);
                ops.extend(continuation(state, &from, &id, now)?);
                Ok((Change { ops, head }, noted))
            },
            |state, noted| {
                if let Some((snapshot, prune)) = noted {
                    taken(state, snapshot, &prune);
                }
            },
        )
        .await?;
        if snapshot_number > 0 {
            self.emit(&Event::AutoSnapshotCreated {
                snapshot: snapshot_number,
                purpose: Purpose::Emergency,
            });
        }
        let next = Session::open(&self.0.open, &id, false).await?;
        self.emit(&Event::RolloverComplete {
            session: id,
            notes: count,
        });
        Ok(next)
    }
}

/// All rows of the session that continues this one.
fn continuation(state: &State, from: &str, id: &str, now: f64) -> Result<Vec<Op>, EngineError> {
    let old = &state.head;
    let new = NewSession {
        title: old.title.clone(),
        model: old.model.clone(),
        window: old.window,
        policy: old.policy.clone(),
        system: String::new(),
        thinking: old.thinking,
        provider: old.provider.clone(),
        mode: old.mode,
        config: old.config.clone(),
        profile: old.profile.clone(),
    };
    // Nobody has claimed the session yet; the first to open it does.
    let mut head = first_head(new, 0, now);
    head.version = 1;
    head.continues = Some(from.to_owned());
    head.served.clone_from(&old.served);
    head.tags.clone_from(&old.tags);
    let records = Records {
        revision: 1,
        ..state.context.records().clone()
    };
    let mut ops = vec![Op::Add {
        table: Table::Records,
        key: key(id, 1),
        value: seal(&records)?,
    }];
    let layers = carried(&state.context, now);
    let notes = state.context.view().notes.clone();
    let view = View {
        revision: 1,
        cause: Cause::Start,
        next_layer: layers.iter().map(|l| l.id + 1).max().unwrap_or(1),
        next_note: notes.iter().map(|n| n.id + 1).max().unwrap_or(1),
        layers,
        notes,
        ..View::default()
    };
    let counter = state.context.counter();
    let mut context = Context::new(
        setup_of(&head, counter.as_ref())?,
        records,
        Rc::clone(counter),
    );
    let open = state.context.entries().last();
    if let Some(entry) = open.filter(|e| e.message.role == Role::User) {
        let message = Rc::new(Message {
            seq: 0,
            parent: None,
            ..(*entry.message).clone()
        });
        ops.extend(message_ops(id, &message, entry.tokens, entry.counted_by)?);
        head.tip = Some(0);
        head.last_seq = Some(0);
        head.messages = 1;
        context.push_counted(Entry {
            message,
            ..entry.clone()
        });
    }
    ops.extend(super::revise::begin(
        id,
        &mut head,
        &mut context,
        view,
        now,
    )?);
    ops.push(Op::Add {
        table: Table::Heads,
        key: session_key(id),
        value: head_json(&head)?,
    });
    Ok(ops)
}

/// The layers for the new session: the same text and sources, but they cover none of its messages. Messages without a
/// layer become one more layer, cut from the originals without a model.
fn carried(context: &Context, now: f64) -> Vec<Rc<Layer>> {
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
                tail.push((seq, Speaker::from(entry.message.role), words));
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
        .map(|(id, role, text)| Passage::new(*id, *role, text))
        .collect();
    let options = extractive::Options {
        target_tokens: shares.newest,
        ..extractive::Options::default()
    };
    let summary = extractive::summarize(&passages, &options, counter).text;
    if !summary.trim().is_empty() {
        layers.push(Rc::new(Layer {
            tokens: counter.count(&summary),
            summary,
            messages: tail.len() as u32,
            number: view.compactions,
            ..Layer::new(view.next_layer, Level::Detailed, Vec::new(), now)
        }));
    }
    layers
}
