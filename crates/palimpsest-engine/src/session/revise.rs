//! The only writer of revisions. Callers describe a change of the view as edits. This module applies them inside of the
//! write lock to the view as it is then, so that changes made while a caller planned, read or waited are never
//! overwritten.

use std::rc::Rc;

use palimpsest_core::context::{Cause, Context, Entry, View};
use palimpsest_core::message::Seq;
use palimpsest_core::record::Records;
use palimpsest_core::rendition::{ReducedKind, Rendition};
use palimpsest_core::run::RunReport;
use palimpsest_core::sorted::SortedMap;
use palimpsest_core::view_edit::{Stale, ViewEdit};

use crate::error::EngineError;
use crate::event::Event;
use crate::head::Head;
use crate::ports::{Durability, Op, Table};
use crate::rows::{RenditionRow, key, revision_row, seal};
use crate::snapshot::{Purpose, Snapshot};

use super::noting::{take, taken};
use super::{Change, Session, State};

impl From<Stale> for EngineError {
    fn from(_: Stale) -> Self {
        Self::Busy("another change of the window")
    }
}

/// A revision to write.
pub(super) struct Revision {
    /// Its cause.
    pub(super) cause: Cause,
    /// The changes of the view.
    pub(super) edits: Vec<ViewEdit>,
    /// The revision that undoing this one shows again.
    pub(super) parent: Option<u32>,
    /// The shorter forms among the edits that are stored already, and the revision that stored them.
    pub(super) stored: SortedMap<Seq, u32>,
    /// The report of a compaction, for its card.
    pub(super) report: Option<RunReport>,
}

impl Revision {
    /// A revision that follows the present one.
    pub(super) fn of(state: &State, cause: Cause, edits: Vec<ViewEdit>) -> Self {
        Self {
            cause,
            edits,
            parent: Some(state.head.revision),
            stored: SortedMap::new(),
            report: None,
        }
    }
}

/// A transaction that makes a revision, while it is assembled.
pub(super) struct Draft {
    session: String,
    now: f64,
    /// The head after it.
    pub(super) head: Head,
    /// The path, records and view after it.
    pub(super) context: Context,
    /// The rows that it writes.
    pub(super) ops: Vec<Op>,
    /// The events for listeners after the write.
    pub(super) told: Vec<Event>,
    forms: SortedMap<Seq, u32>,
    noted: Option<(Snapshot, Vec<u32>)>,
}

impl Draft {
    /// Starts with no changes.
    pub(super) fn of(session: &Session, state: &State) -> Self {
        Self {
            session: session.0.id.clone(),
            now: session.now(),
            head: state.head.clone(),
            context: state.context.clone(),
            ops: Vec::new(),
            told: Vec::new(),
            forms: state.stored_forms.clone(),
            noted: None,
        }
    }

    /// Adds a snapshot of the present, and returns its number.
    pub(super) fn note_present(
        &mut self,
        state: &State,
        name: &str,
        kind: (Purpose, Option<u32>),
    ) -> Result<u32, EngineError> {
        let (snapshot, ops, prune) = take(state, &self.session, name, kind, self.now)?;
        let n = snapshot.n;
        self.head.snapshots = self.head.snapshots.max(n);
        self.ops.extend(ops);
        self.noted = Some((snapshot, prune));
        Ok(n)
    }

    /// Sets new records. Their numbers never go back, because the next change would find its number taken.
    pub(super) fn set_records(&mut self, mut records: Records) -> Result<(), EngineError> {
        records.revision = self.head.records + 1;
        self.head.records = records.revision;
        self.ops.push(Op::Add {
            table: Table::Records,
            key: key(&self.session, records.revision),
            value: seal(&records)?,
        });
        self.context.set_records(records);
        Ok(())
    }

    /// Sets another path. Call it before [`Self::show`].
    pub(super) fn set_path(&mut self, tip: Option<Seq>, path: Vec<Entry>) {
        self.head.tip = tip;
        self.head.messages = path.len() as u32;
        let mut context = Context::new(
            self.context.setup().clone(),
            self.context.records().clone(),
            Rc::clone(self.context.counter()),
        );
        for entry in path {
            context.push_counted(entry);
        }
        self.context = context;
    }

    /// Makes the revision: applies its edits to the present view, and adds all new rows and the figures of the head.
    pub(super) fn show(&mut self, state: &State, revision: Revision) -> Result<(), EngineError> {
        let before = state.context.view();
        let mut view = before.clone();
        for edit in &revision.edits {
            view.apply(edit)?;
        }
        view.revision = self.head.last_revision + 1;
        view.cause = revision.cause;
        self.add_layers(before, &view)?;
        self.add_forms(state, &view, &revision.stored)?;
        let mut row = revision_row(&view, revision.parent, &self.forms, self.head.tip, self.now);
        row.report = revision.report;
        self.ops.push(Op::Add {
            table: Table::Revisions,
            key: key(&self.session, view.revision),
            value: seal(&row)?,
        });
        let again = before.reduced.keys();
        let again = again.filter(|seq| matches!(view.rendition(**seq), Rendition::Verbatim));
        self.told
            .extend(again.map(|seq| Event::Restored { seq: *seq }));
        self.head.revision = view.revision;
        self.head.last_revision = view.revision;
        let goes_back = goes_back(&view.cause);
        self.context.set_view(view);
        if goes_back {
            // Another counter may have counted the content that returns.
            self.context.recount_view();
            self.head.strikes = 0;
        }
        self.head.shows(&self.context);
        Ok(())
    }

    /// Stores the new layers and notes. Their numbers tell them from old ones, because numbers only grow, even after an
    /// undo.
    fn add_layers(&mut self, before: &View, view: &View) -> Result<(), EngineError> {
        for layer in view.layers.iter().filter(|l| l.id >= before.next_layer) {
            self.ops.push(Op::Add {
                table: Table::Layers,
                key: key(&self.session, layer.id),
                value: seal(layer.as_ref())?,
            });
            let replaced = layer.replaces.iter();
            self.told.extend(replaced.map(|from| Event::CheckpointAged {
                from: *from,
                to: layer.id,
            }));
        }
        for note in view.notes.iter().filter(|n| n.id >= before.next_note) {
            self.ops.push(Op::Add {
                table: Table::Notes,
                key: key(&self.session, note.id),
                value: seal(note.as_ref())?,
            });
        }
        Ok(())
    }

    /// Stores the shorter forms that no revision has stored.
    fn add_forms(
        &mut self,
        state: &State,
        view: &View,
        stored: &SortedMap<Seq, u32>,
    ) -> Result<(), EngineError> {
        let counted_by = self.context.counter().epoch();
        let before = &state.context.view().reduced;
        let mut forms = SortedMap::new();
        for (seq, reduced) in &view.reduced {
            let stays = before.get(seq).is_some_and(|old| Rc::ptr_eq(old, reduced));
            let known = if stays {
                state.stored_forms.get(seq)
            } else {
                stored.get(seq)
            };
            if let Some(n) = known {
                forms.insert(*seq, *n);
                continue;
            }
            let row = RenditionRow {
                reduced: (**reduced).clone(),
                counted_by,
            };
            self.ops.push(Op::Add {
                table: Table::Renditions,
                key: vec![
                    self.session.as_str().into(),
                    (*seq).into(),
                    view.revision.into(),
                ],
                value: seal(&row)?,
            });
            forms.insert(*seq, view.revision);
            if reduced.kind == ReducedKind::Offloaded {
                let full = state.messages.get(seq).map_or(0, |s| s.tokens);
                let freed = full.saturating_sub(reduced.tokens);
                self.told.push(Event::Offloaded { seq: *seq, freed });
            }
        }
        self.forms = forms;
        Ok(())
    }

    /// Returns the writes, and the data for [`Settled::settle`] after them.
    pub(super) fn finish(self) -> (Change, Settled) {
        let change = Change {
            ops: self.ops,
            head: self.head,
        };
        let settled = Settled {
            context: self.context,
            forms: self.forms,
            noted: self.noted,
        };
        (change, settled)
    }
}

/// The state in memory after a revision was stored.
pub(super) struct Settled {
    context: Context,
    forms: SortedMap<Seq, u32>,
    noted: Option<(Snapshot, Vec<u32>)>,
}

impl Settled {
    /// Updates the state.
    pub(super) fn settle(self, state: &mut State) {
        if let Some((snapshot, prune)) = self.noted {
            taken(state, snapshot, &prune);
        }
        let view = self.context.view();
        if lays_out(&view.cause) {
            state.layout = view.revision;
        }
        if goes_back(&view.cause) {
            state.put_off = None;
        }
        if matches!(view.cause, Cause::Restore { .. }) {
            // The path has changed.
            state.covered_index.take();
        }
        state.stored_forms = self.forms;
        state.replace_context(self.context);
    }
}

/// Returns `true` if a plan made on the revision before can no longer be committed. After the other causes a plan stays
/// valid, because edits keep their changes.
const fn lays_out(cause: &Cause) -> bool {
    !matches!(
        cause,
        Cause::Arrival | Cause::Excerpt | Cause::Recall | Cause::Mark | Cause::Returned { .. }
    )
}

/// Returns `true` if the content of an earlier revision is shown again.
const fn goes_back(cause: &Cause) -> bool {
    matches!(
        cause,
        Cause::Undo { .. } | Cause::Restore { .. } | Cause::Lift { .. }
    )
}

impl Session {
    /// Makes one revision. `plan` sees the state inside of the write lock. Returns the revision's number.
    pub(super) async fn revise(
        &self,
        plan: impl FnOnce(&State, &mut Draft) -> Result<(), EngineError>,
    ) -> Result<u32, EngineError> {
        let mut told = Vec::new();
        let mut number = 0;
        self.write(
            Durability::Strict,
            |state| {
                let mut draft = Draft::of(self, state);
                plan(state, &mut draft)?;
                told = std::mem::take(&mut draft.told);
                number = draft.head.revision;
                Ok(draft.finish())
            },
            |state, settled| settled.settle(state),
        )
        .await?;
        for event in &told {
            self.emit(event);
        }
        Ok(number)
    }

    /// Reports that the window has changed.
    pub(super) fn emit_view(&self, revision: u32) {
        self.emit(&Event::ViewChanged { revision });
        self.emit_budget();
    }
}

/// The rows of a session's first revision, and its figures in the head. The session must have no rows yet.
pub(super) fn begin(
    session: &str,
    head: &mut Head,
    context: &mut Context,
    view: View,
    now: f64,
) -> Result<Vec<Op>, EngineError> {
    let mut ops = Vec::new();
    for note in &view.notes {
        ops.push(Op::Add {
            table: Table::Notes,
            key: key(session, note.id),
            value: seal(note.as_ref())?,
        });
    }
    for layer in &view.layers {
        ops.push(Op::Add {
            table: Table::Layers,
            key: key(session, layer.id),
            value: seal(layer.as_ref())?,
        });
    }
    let row = revision_row(&view, Some(0), &SortedMap::new(), head.tip, now);
    ops.push(Op::Add {
        table: Table::Revisions,
        key: key(session, view.revision),
        value: seal(&row)?,
    });
    head.revision = view.revision;
    head.last_revision = view.revision;
    context.set_view(view);
    head.shows(context);
    Ok(ops)
}
