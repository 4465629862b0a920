//! Adds messages. Each addition is one strict transaction that writes the messages and the head.

use std::rc::Rc;

use palimpsest_core::context::{Cause, Context, View};
use palimpsest_core::message::{Ended, Message, Origin, Part, Role, Seq};
use palimpsest_core::pass::{condense, emergency};
use palimpsest_core::policy::Demands;
use palimpsest_core::record::Records;
use palimpsest_core::rendition::verbatim_tokens;
use palimpsest_text::retention::constraints;

use crate::error::EngineError;
use crate::event::Event;
use crate::glance::Glance;
use crate::head::{Head, title_of};
use crate::ports::{Durability, Op, Table};
use crate::rows::{key, message_ops, seal, session_key};

use super::revise::{Draft, Revision, Settled};
use super::{Change, Purpose, Session, State, Stored};

/// A message to add.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// The role of the speaker.
    pub role: Role,
    /// The origin of the content.
    pub origin: Origin,
    /// The content.
    pub parts: Vec<Part>,
    /// The time in milliseconds since 1970; 0 for now.
    pub at: f64,
    /// The way in which an unfinished reply ended.
    pub ended: Option<Ended>,
}

impl NewMessage {
    /// A message that says the same as a stored one.
    pub(crate) fn like(message: &Message) -> Self {
        Self {
            role: message.role,
            origin: message.origin,
            parts: message.parts.clone(),
            at: message.at,
            ended: message.ended,
        }
    }

    /// A message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            origin: Origin::Host,
            parts: vec![Part::text(text)],
            at: 0.0,
            ended: None,
        }
    }

    /// A message of the model.
    pub fn assistant(parts: Vec<Part>) -> Self {
        Self {
            role: Role::Assistant,
            origin: Origin::Model,
            parts,
            at: 0.0,
            ended: None,
        }
    }

    /// The result of a tool.
    pub fn tool(parts: Vec<Part>) -> Self {
        Self {
            role: Role::Tool,
            origin: Origin::Tool,
            parts,
            at: 0.0,
            ended: None,
        }
    }
}

impl Session {
    /// Stores a message at the end of the path. A user's message that fits no window is refused before it is stored
    /// (B5). Replies and tool results are always stored, and shown as an excerpt if they do not fit.
    pub async fn append(&self, new: NewMessage) -> Result<Seq, EngineError> {
        Ok(self
            .append_all(vec![new])
            .await?
            .first()
            .copied()
            .unwrap_or(0))
    }

    /// Stores several messages in one transaction: all of them or none.
    pub async fn append_all(&self, new: Vec<NewMessage>) -> Result<Vec<Seq>, EngineError> {
        // The arrived part of a broken reply comes before the message that follows it.
        if !self.is_replying() {
            self.keep_arrived().await;
        }
        self.append_now(new).await
    }

    pub(super) async fn append_now(&self, new: Vec<NewMessage>) -> Result<Vec<Seq>, EngineError> {
        self.append_at(new, &|_| Ok(())).await
    }

    /// Does the same if `allows` accepts the session's head as it is when it is written.
    pub(super) async fn append_at(
        &self,
        new: Vec<NewMessage>,
        allows: &dyn Fn(&Head) -> Result<(), EngineError>,
    ) -> Result<Vec<Seq>, EngineError> {
        let now = self.now();
        let mut added: Vec<Seq> = Vec::new();
        let mut snapshot_number = 0;
        let mut told = Vec::new();
        let mut asks = false;
        let id = self.0.id.clone();
        self.write(
            Durability::Strict,
            |state| {
                allows(&state.head)?;
                let mut head = state.head.clone();
                let (mut ops, stored) = numbered(state, &mut head, new, &id, now)?;
                ops.push(Op::Delete {
                    table: Table::Partials,
                    key: session_key(&id),
                });
                let (change, shown, events) = self.shown_with(state, head, ops, &stored)?;
                let Change { mut ops, mut head } = change;
                told = events;
                added = stored.iter().map(|s| s.message.seq).collect();
                let records = proposes(state, &stored).map(|mut records| {
                    records.revision = head.records + 1;
                    records
                });
                if let Some(records) = &records {
                    head.records = records.revision;
                    ops.push(Op::Add {
                        table: Table::Records,
                        key: key(&id, records.revision),
                        value: seal(records)?,
                    });
                    asks = true;
                }
                let mut noted = None;
                if crosses_threshold(state, sum_of(&stored)) {
                    let (snapshot, more, prune) = super::noting::take_of(
                        state,
                        &head,
                        &id,
                        "",
                        super::noting::RECOVERY,
                        now,
                    )?;
                    head.snapshots = snapshot.n;
                    snapshot_number = snapshot.n;
                    ops.extend(more);
                    noted = Some((snapshot, prune));
                }
                Ok((Change { ops, head }, (stored, shown, noted, records)))
            },
            |state, (stored, shown, noted, records)| {
                if let Some(settled) = shown {
                    settled.settle(state);
                } else {
                    for s in &stored {
                        state.context.push_counted(s.entry());
                    }
                }
                if let Some((snapshot, prune)) = noted {
                    super::noting::taken(state, snapshot, &prune);
                }
                for s in stored {
                    state.messages.insert(s.message.seq, s);
                }
                if let Some(records) = records {
                    state.context.set_records(records);
                }
                state.partial = None;
            },
        )
        .await?;
        if snapshot_number > 0 {
            self.emit(&Event::AutoSnapshotCreated {
                snapshot: snapshot_number,
                purpose: Purpose::Recovery,
            });
        }
        for event in &told {
            self.emit(event);
        }
        self.tell_of(&added, asks);
        Ok(added)
    }

    /// Shows messages that were added. Quotes that they bring, and excerpts of those that do not fit, make a revision;
    /// without them only the head changes. Returns the events that tell of the revision as well.
    fn shown_with(
        &self,
        state: &State,
        mut head: Head,
        ops: Vec<Op>,
        stored: &[Stored],
    ) -> Result<(Change, Option<Settled>, Vec<Event>), EngineError> {
        let view = arrivals(&state.context, stored).or_else(|| recalls(state, stored));
        let Some(view) = view else {
            head.tokens = state.context.tokens() + sum_of(stored);
            let mut glance = Glance::of(&state.context);
            for s in stored {
                glance.add(s.message.role, s.tokens);
            }
            head.glance = Some(glance);
            return Ok((Change { ops, head }, None, Vec::new()));
        };
        let mut draft = Draft::of(self, state);
        draft.head = head;
        draft.ops = ops;
        for s in stored {
            draft.context.push_counted(s.entry());
        }
        let edits = state.context.view().edits_to(&view);
        draft.show(state, Revision::of(state, view.cause, edits))?;
        let events = std::mem::take(&mut draft.told);
        let (change, settled) = draft.finish();
        Ok((change, Some(settled), events))
    }

    /// Tells of messages that were added, and of what came with them. `asks`: a proposal waits for an answer.
    fn tell_of(&self, added: &[Seq], asks: bool) {
        for seq in added {
            self.emit(&Event::MessageAdded { seq: *seq });
        }
        if asks {
            self.emit_proposals();
        }
        let recalled = self.0.state.borrow().context.view().recalled.clone();
        if let Some(recalled) = recalled.filter(|r| added.contains(&r.before)) {
            let seqs = recalled.quotes.iter().map(|q| q.seq).collect();
            self.emit(&Event::Recalled { seqs });
        }
        self.emit_budget();
    }
}

fn sum_of(stored: &[Stored]) -> u32 {
    stored.iter().map(|s| s.tokens).sum()
}

/// Gives the messages their numbers at the end of the path, and makes their rows. Fails for a user's message that fits no window.
fn numbered(
    state: &State,
    head: &mut Head,
    new: Vec<NewMessage>,
    session: &str,
    now: f64,
) -> Result<(Vec<Op>, Vec<Stored>), EngineError> {
    let counter = state.context.counter().as_ref();
    let counted_by = counter.epoch();
    let mut ops = Vec::new();
    let mut stored = Vec::new();
    dated(head, &new);
    for new in new {
        let seq = head.last_seq.map_or(0, |s| s + 1);
        let at = if new.at > 0.0 { new.at } else { now };
        let message = Message {
            seq,
            parent: head.tip,
            role: new.role,
            origin: new.origin,
            parts: new.parts,
            at,
            ended: new.ended,
        };
        let tokens = verbatim_tokens(&message, counter);
        if message.role == Role::User && message.origin == Origin::Host {
            state.context.check_message(tokens)?;
        }
        ops.extend(message_ops(session, &message, tokens, counted_by)?);
        if !head.titled && head.title.is_empty() && message.role == Role::User {
            head.title = title_of(&message.words());
        }
        head.tip = Some(seq);
        head.last_seq = Some(seq);
        head.messages += 1;
        stored.push(Stored {
            message: Rc::new(message),
            tokens,
            counted_by,
        });
    }
    Ok((ops, stored))
}

/// Returns the records with a proposal, if the user's message contains an instruction for the whole conversation.
fn proposes(state: &State, stored: &[Stored]) -> Option<Records> {
    if state.context.setup().policy.demands == Demands::Off {
        return None;
    }
    let mut records = state.context.records().clone();
    let before = records.revision;
    for s in stored {
        let words = s.message.own_words().unwrap_or_default();
        for constraint in constraints(&words) {
            records.propose_demand(s.message.seq, &constraint);
        }
    }
    (records.revision != before).then_some(records)
}

/// Gives a session that an import makes the date of its messages.
fn dated(head: &mut Head, new: &[NewMessage]) {
    let imported = |m: &NewMessage| m.origin == Origin::Import && m.at > 0.0;
    if new.is_empty() || !new.iter().all(imported) {
        return;
    }
    let times = || new.iter().map(|m| m.at);
    if head.last_seq.is_none() {
        head.created = times().fold(head.created, f64::min);
        head.updated = 0.0;
    }
    head.updated = times().fold(head.updated, f64::max);
}

/// Returns `true` if the conversation passes the share of the available room at which a snapshot is taken (S4).
fn crosses_threshold(state: &State, more: u32) -> bool {
    let rule = &state.head.config.snapshots;
    if !rule.enabled || !rule.auto_create {
        return false;
    }
    let context = &state.context;
    let fixed = context.fixed();
    let available = context.setup().shares.limit.saturating_sub(fixed);
    let at = f64::from(available) * f64::from(rule.auto_threshold);
    let lasting = context.tokens().saturating_sub(context.recalled_tokens());
    let before = f64::from(lasting.saturating_sub(fixed));
    available > 0 && before < at && before + f64::from(more) >= at
}

/// Returns the view that quotes covered passages before the user's message, if some answer it.
fn recalls(state: &State, stored: &[Stored]) -> Option<View> {
    let last = stored.last()?;
    let more = stored.iter().map(|s| s.tokens).fold(0, u32::saturating_add);
    let recalled = super::recall::recall(state, &last.message, more)?;
    let mut view = state.context.view().clone();
    view.recalled = Some(recalled);
    view.cause = Cause::Recall;
    Some(view)
}

/// Returns the view that condenses results on arrival, if the policy says so (T2). It also shows replies and results as
/// excerpts if they are larger than a quarter of the window and would not fit.
pub(super) fn arrivals(base: &Context, stored: &[Stored]) -> Option<View> {
    let shares = base.setup().shares;
    let quarter = shares.window / 4;
    let arrives = base.setup().policy.on_arrival
        && stored.iter().any(|s| s.message.results().next().is_some());
    let total = stored
        .iter()
        .map(|s| s.tokens)
        .fold(base.tokens(), u32::saturating_add);
    let large = |s: &Stored| s.message.role != Role::User && s.tokens > quarter;
    // The usual case copies nothing.
    if !arrives && (total <= shares.limit || !stored.iter().any(large)) {
        return None;
    }
    let policy = Rc::clone(&base.setup().policy);
    let mut context = base.clone();
    let mut view = context.view().clone();
    let mut cause = None;
    for s in stored {
        context.push_counted(s.entry());
        let short = policy
            .on_arrival
            .then(|| condense::on_arrival(&context, &policy.tool_output))
            .flatten();
        if let Some(short) = short {
            view.reduced.insert(s.message.seq, Rc::new(short));
            cause = Some(Cause::Arrival);
        }
    }
    if cause.is_some() {
        context.set_view(view.clone());
    }
    if context.tokens() > shares.limit {
        for s in stored.iter().filter(|s| s.message.role != Role::User) {
            let seq = s.message.seq;
            let now = view.reduced.get(&seq).map_or(s.tokens, |r| r.tokens);
            if now > quarter
                && let Some(reduced) = emergency::excerpt_of(&context, seq, quarter)
            {
                view.reduced.insert(seq, Rc::new(reduced));
                cause = Some(Cause::Excerpt);
            }
        }
    }
    view.cause = cause?;
    Some(view)
}
