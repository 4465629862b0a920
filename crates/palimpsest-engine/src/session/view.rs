//! Undo and lift: further revisions, never deletions (P10).

use std::rc::Rc;

use palimpsest_core::context::{Cause, Context, View};
use palimpsest_core::error::CoreError;
use palimpsest_core::layer::LayerId;
use palimpsest_core::message::Seq;

use crate::engine::setup_of;
use crate::error::{EngineError, RoomChoice};
use crate::event::Event;
use crate::head::Head;
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

/// What to do where going back would put the window over its limit (P10).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IfOver {
    /// Change nothing and name the choices.
    #[default]
    Refuse,
    /// Show it all the same. Nothing is sent while the window is over: the next message, or a reply that is
    /// asked for, compacts first.
    Show,
}

/// Window sizes that models are offered with.
const USUAL_WINDOWS: [u32; 9] = [
    4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576,
];

/// Refuses a view that is over the limit, with what can be done instead.
fn check_room(state: &State, view: &View, if_over: IfOver) -> Result<u32, EngineError> {
    let mut context = state.context.clone();
    context.set_view(view.clone());
    let check = context.check_limit();
    let Some(over) = check.overage.filter(|_| if_over == IfOver::Refuse) else {
        return Ok(check.tokens);
    };
    let mut choices = Vec::new();
    for layer in &state.context.view().layers {
        let lifted = without_layer(state.context.view(), layer.id);
        if lifted.layers.iter().eq(view.layers.iter()) {
            continue; // that is what was asked for
        }
        let mut context = state.context.clone();
        context.set_view(lifted);
        let check = context.check_limit();
        if check.valid {
            choices.push(RoomChoice::Lift {
                layer: layer.id,
                tokens: check.tokens,
            });
        }
    }
    choices.extend(larger_window(state, &context));
    choices.push(RoomChoice::ShowAnyway { over });
    Err(EngineError::WouldNotFit {
        tokens: check.tokens,
        limit: check.limit,
        choices,
    })
}

/// The smallest usual window in which the context would fit.
fn larger_window(state: &State, context: &Context) -> Option<RoomChoice> {
    let fits = |window: &u32| {
        let head = Head {
            window: *window,
            ..state.head.clone()
        };
        let Ok(mut setup) = setup_of(&head, context.counter().as_ref()) else {
            return false;
        };
        setup.tools = context.setup().tools;
        let mut context = context.clone();
        context.set_setup(setup);
        context.check_limit().valid
    };
    USUAL_WINDOWS
        .into_iter()
        .filter(|w| *w > state.head.window)
        .find(fits)
        .map(|window| RoomChoice::LargerWindow { window })
}

/// The view without one of its layers.
fn without_layer(view: &View, layer: LayerId) -> View {
    let mut view = view.clone();
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
    view
}

impl Session {
    /// Shows the window as it was before the last compaction. No automatic run starts until the next
    /// message would not fit or the user asks. Refused with the choices if it would not fit.
    pub async fn undo(&self) -> Result<(), EngineError> {
        self.undo_with(IfOver::Refuse).await
    }

    /// As [`Self::undo`], with a say in what happens where the window before does not fit.
    pub async fn undo_with(&self, if_over: IfOver) -> Result<(), EngineError> {
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
        let tokens = check_room(&self.0.state.borrow(), &view, if_over)?;
        view.paused = true;
        view.cause = Cause::Undo { to: target };
        self.show(view, parent, forms, tokens).await
    }

    /// Takes one layer off: the messages it covers are shown as they were said. Refused with the choices if
    /// they would not fit.
    pub async fn lift(&self, layer: LayerId) -> Result<(), EngineError> {
        self.lift_with(layer, IfOver::Refuse).await
    }

    /// As [`Self::lift`], with a say in what happens where the window does not fit any more.
    pub async fn lift_with(&self, layer: LayerId, if_over: IfOver) -> Result<(), EngineError> {
        let (view, forms, tokens) = {
            let state = self.0.state.borrow();
            let now = state.context.view();
            if !now.layers.iter().any(|l| l.id == layer) {
                return Err(CoreError::NotFound {
                    what: "layer",
                    id: layer,
                }
                .into());
            }
            let mut view = without_layer(now, layer);
            view.paused = true;
            view.cause = Cause::Lift { layer };
            let tokens = check_room(&state, &view, if_over)?;
            (view, state.stored_forms.clone(), tokens)
        };
        let parent = Some(self.head().revision);
        self.show(view, parent, forms, tokens).await
    }

    /// The larger window to choose, if one would do.
    pub(super) fn larger_window(&self) -> Option<RoomChoice> {
        let state = self.0.state.borrow();
        larger_window(&state, &state.context)
    }

    pub(super) async fn content_of(
        &self,
        n: u32,
    ) -> Result<
        (
            View,
            Option<u32>,
            palimpsest_core::sorted::SortedMap<Seq, u32>,
        ),
        EngineError,
    > {
        if n == 0 {
            return Ok((
                View::default(),
                None,
                palimpsest_core::sorted::SortedMap::new(),
            ));
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
        forms: palimpsest_core::sorted::SortedMap<Seq, u32>,
        tokens: u32,
    ) -> Result<(), EngineError> {
        let id = self.0.id.clone();
        let now = self.now();
        let mut told = Vec::new();
        self.write(
            Durability::Strict,
            |state| {
                continue_numbers(&mut view, state);
                told = super::compact::shown_anew(state, &view);
                let row = revision_row(&view, parent, &forms, state.head.tip, now);
                let ops = vec![Op::Add {
                    table: Table::Revisions,
                    key: key(&id, view.revision),
                    value: seal(&row)?,
                }];
                let mut head = state.head.clone();
                head.revision = view.revision;
                head.last_revision = view.revision;
                let mut context = state.context.clone();
                context.set_view(view.clone());
                head.shows(&context);
                head.tokens = tokens;
                head.strikes = 0;
                Ok((Change { ops, head }, (view, forms)))
            },
            |state, (view, forms)| {
                state.stored_forms = forms;
                state.layout = view.revision;
                state.put_off = None;
                state.context.set_view(view);
                state.context.recount_view();
            },
        )
        .await?;
        let revision = self.head().revision;
        for event in &told {
            self.emit(event);
        }
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

    /// Every layer that was ever written, oldest first: what a compaction made is kept when it fades, merges or
    /// is undone.
    pub async fn all_layers(&self) -> Result<Vec<palimpsest_core::layer::Layer>, EngineError> {
        let query = crate::ports::Query::all(Table::Layers, crate::rows::session_key(&self.0.id));
        let rows = self.0.engine.store.read(query).await?;
        let layers: Result<Vec<_>, _> = rows
            .iter()
            .map(|r| crate::rows::unseal("a layer", &r.value))
            .collect();
        Ok(layers?)
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
