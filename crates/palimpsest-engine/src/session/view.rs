//! Undo and lift: further revisions, never deletions (P10).

use std::rc::Rc;

use palimpsest_core::context::{Cause, View};
use palimpsest_core::error::CoreError;
use palimpsest_core::layer::LayerId;
use palimpsest_core::message::Seq;

use crate::error::EngineError;
use crate::event::Event;
use crate::ports::{Durability, Op, Table};
use crate::rows::{RevisionRow, key, revision_row, seal};

use super::{Change, Session, State, load};

/// Numbers never go back, whatever revision's content is shown again.
pub(super) fn continue_numbers(view: &mut View, state: &State) {
    let now = state.context.view();
    view.revision = state.head.last_revision + 1;
    view.next_layer = view.next_layer.max(now.next_layer);
    view.next_note = view.next_note.max(now.next_note);
    view.compactions = view.compactions.max(now.compactions);
}

/// The row of a view whose shorter forms are all stored already.
pub(super) fn row_of(view: &View, state: &State, tip: Option<Seq>, at: f64) -> RevisionRow {
    let mut forms = state.stored_forms.clone();
    forms.retain(|seq, _| view.reduced.contains_key(seq));
    revision_row(view, Some(state.head.revision), &forms, tip, at)
}

impl Session {
    /// Shows the window as it was before the last compaction. No automatic run starts until the next
    /// message would not fit or the user asks.
    pub async fn undo(&self) -> Result<(), EngineError> {
        let store = self.0.engine.store.as_ref();
        let id = self.0.id.clone();
        // find the compaction that is in force
        let mut n = self.head().revision;
        let target = loop {
            if n == 0 {
                return Err(EngineError::NothingToUndo);
            }
            let row = load::revision(store, &id, n).await?;
            let before = row.parent.ok_or(EngineError::NothingToUndo)?;
            if matches!(row.cause, Cause::Compaction { .. } | Cause::Emergency) {
                break before;
            }
            // what an undo or a restore shows is another revision's content: go on from that one
            n = match row.cause {
                Cause::Undo { to } | Cause::Restore { to } => to,
                _ => before,
            };
        };
        let (mut view, parent, forms) = self.content_of(target).await?;
        let tokens = {
            let state = self.0.state.borrow();
            let mut context = state.context.clone();
            context.set_view(view.clone());
            let (tokens, limit) = (context.tokens(), context.setup().shares.limit);
            if tokens > limit {
                return Err(EngineError::WouldNotFit { tokens, limit });
            }
            tokens
        };
        view.paused = true;
        view.cause = Cause::Undo { to: target };
        self.show(view, parent, forms, tokens).await
    }

    /// Takes one layer off: the messages it covers are shown as they were said.
    pub async fn lift(&self, layer: LayerId) -> Result<(), EngineError> {
        let (view, forms, tokens) = {
            let state = self.0.state.borrow();
            let mut view = state.context.view().clone();
            if !view.layers.iter().any(|l| l.id == layer) {
                return Err(CoreError::NotFound {
                    what: "layer",
                    id: layer,
                }
                .into());
            }
            view.quotes.retain(|q| {
                view.layers
                    .iter()
                    .find(|l| l.covers(q.seq))
                    .is_none_or(|l| l.id != layer)
            });
            view.layers.retain(|l| l.id != layer);
            let used: Vec<u32> = view
                .layers
                .iter()
                .flat_map(|l| l.notes.iter().copied())
                .collect();
            view.notes.retain(|n| used.contains(&n.id));
            view.paused = true;
            view.cause = Cause::Lift { layer };
            let mut context = state.context.clone();
            context.set_view(view.clone());
            let (tokens, limit) = (context.tokens(), context.setup().shares.limit);
            if tokens > limit {
                return Err(EngineError::WouldNotFit { tokens, limit });
            }
            (view, state.stored_forms.clone(), tokens)
        };
        let parent = Some(self.head().revision);
        self.show(view, parent, forms, tokens).await
    }

    async fn content_of(
        &self,
        n: u32,
    ) -> Result<(View, Option<u32>, std::collections::BTreeMap<Seq, u32>), EngineError> {
        if n == 0 {
            return Ok((View::default(), None, std::collections::BTreeMap::new()));
        }
        let store = self.0.engine.store.as_ref();
        let row = load::revision(store, &self.0.id, n).await?;
        let parent = row.parent;
        let forms = row.reduced.iter().copied().collect();
        Ok((load::view(store, &self.0.id, row).await?, parent, forms))
    }

    /// Commits a view whose rows are all stored already.
    async fn show(
        &self,
        mut view: View,
        parent: Option<u32>,
        forms: std::collections::BTreeMap<Seq, u32>,
        tokens: u32,
    ) -> Result<(), EngineError> {
        let id = self.0.id.clone();
        let now = self.now();
        self.write(
            Durability::Strict,
            |state| {
                continue_numbers(&mut view, state);
                let row = revision_row(&view, parent, &forms, state.head.tip, now);
                let ops = vec![Op::Add {
                    table: Table::Revisions,
                    key: key(&id, view.revision),
                    value: seal(&row)?,
                }];
                let mut head = state.head.clone();
                head.revision = view.revision;
                head.last_revision = view.revision;
                head.tokens = tokens;
                head.strikes = 0;
                Ok((Change { ops, head }, (view, forms)))
            },
            |state, (view, forms)| {
                state.stored_forms = forms;
                state.context.set_view(view);
            },
        )
        .await?;
        let revision = self.head().revision;
        self.emit(&Event::ViewChanged { revision });
        self.emit_budget();
        Ok(())
    }

    /// The row of every revision, oldest first: the session's story for cards and logs.
    pub async fn revisions(&self) -> Result<Vec<RevisionRow>, EngineError> {
        let query =
            crate::ports::Query::all(Table::Revisions, crate::rows::session_key(&self.0.id));
        let rows = self.0.engine.store.read(query).await?;
        Ok(rows
            .iter()
            .filter_map(|r| crate::rows::unseal("a revision", &r.value).ok())
            .collect())
    }

    /// A stored layer, whether it is in the window or not.
    pub async fn layer(
        &self,
        id: LayerId,
    ) -> Result<Rc<palimpsest_core::layer::Layer>, EngineError> {
        let query = crate::ports::Query::Get {
            table: Table::Layers,
            key: key(&self.0.id, id),
        };
        let rows = self.0.engine.store.read(query).await?;
        let row = rows
            .first()
            .ok_or(CoreError::NotFound { what: "layer", id })?;
        Ok(Rc::new(crate::rows::unseal("a layer", &row.value)?))
    }
}
