//! Undo and lift. Both write further revisions and delete nothing (P10).

use std::rc::Rc;

use palimpsest_core::context::{Cause, Context, View};
use palimpsest_core::error::CoreError;
use palimpsest_core::layer::LayerId;
use palimpsest_core::message::Seq;
use palimpsest_core::view_edit::{Stale, ViewEdit};

use crate::error::{EngineError, RoomChoice};
use crate::head::Head;
use crate::ports::Table;
use crate::rows::{RevisionRow, key};
use crate::setup::setup_of;

use super::revise::Revision;
use crate::stored;

use super::{Session, State};

/// The action if going back would put the window over its limit (P10).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IfOver {
    /// Change nothing and name the choices.
    #[default]
    Refuse,
    /// Show it anyway. Nothing is sent while the window is over its limit: the next message or reply compacts first.
    Show,
}

/// The window sizes with which models are offered.
const USUAL_WINDOWS: [u32; 9] = [
    4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576,
];

/// Refuses a view over the limit, with the alternatives.
pub(super) fn check_room(state: &State, view: &View, if_over: IfOver) -> Result<(), EngineError> {
    let mut context = state.context.clone();
    context.set_view(view.clone());
    let check = context.check_limit();
    let Some(over) = check.overage.filter(|_| if_over == IfOver::Refuse) else {
        return Ok(());
    };
    let mut choices = Vec::new();
    for layer in &state.context.view().layers {
        let lifted = edited(state.context.view(), &[ViewEdit::Uncover(layer.id)])?;
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

/// Returns the view after these edits.
fn edited(view: &View, edits: &[ViewEdit]) -> Result<View, Stale> {
    let mut view = view.clone();
    edits.iter().try_for_each(|edit| view.apply(edit))?;
    Ok(view)
}

/// A change of the layers that is in force, and the view before it.
struct Undoing {
    /// The view that it made.
    made: View,
    /// The last message at its commit.
    tip: Option<Seq>,
    /// The revision before it.
    to: u32,
}

impl Undoing {
    /// The edits of the present view. Layers and forms become those of before. Forms of messages that arrived since
    /// stay, and so do marks and anchors that were set since.
    fn edits(&self, now: &View, before: &View) -> Vec<ViewEdit> {
        let mut reduced = now.reduced.clone();
        reduced.retain(|seq, _| self.tip.is_none_or(|tip| *seq <= tip));
        let from = View {
            layers: now.layers.clone(),
            notes: now.notes.clone(),
            quotes: now.quotes.clone(),
            recalled: now.recalled.clone(),
            reduced,
            paused: before.paused,
            ..self.made.clone()
        };
        let mut edits = from.edits_to(before);
        for edit in &mut edits {
            // Messages that were stripped before are stripped again. An anchor that was set since applies to the next
            // time.
            if let ViewEdit::Show { seq, anchored, .. } = edit {
                *anchored = now.anchors.contains(seq);
            }
        }
        // a layer as it was before a person wrote over it asks for no rest from automatic runs
        if matches!(self.made.cause, Cause::Compaction { .. } | Cause::Emergency) {
            edits.push(ViewEdit::Pause);
        }
        edits
    }
}

impl Session {
    /// Shows the window as it was before the last compaction, or before a person wrote a layer or had it written again.
    /// After a compaction was undone no automatic run starts until the next
    /// message would not fit or the user asks. Refused with the choices if it would not fit.
    pub async fn undo(&self) -> Result<(), EngineError> {
        self.undo_with(IfOver::Refuse).await
    }

    /// Does [`Self::undo`] and takes the action for a window that does not fit.
    pub async fn undo_with(&self, if_over: IfOver) -> Result<(), EngineError> {
        loop {
            let (seen, layout) = {
                let state = self.0.state.borrow();
                (state.head.revision, state.layout)
            };
            let undoing = self.last_compaction(seen).await?;
            let (before, parent, stored) = self.content_of(undoing.to).await?;
            let done = self
                .revise(|state, draft| {
                    if state.head.revision != seen {
                        return Err(Stale.into());
                    }
                    let now = state.context.view();
                    let edits = undoing.edits(now, &before);
                    check_room(state, &edited(now, &edits)?, if_over)?;
                    let revision = Revision {
                        parent,
                        stored,
                        ..Revision::of(state, Cause::Undo { to: undoing.to }, edits)
                    };
                    draft.show(state, revision)
                })
                .await;
            let moved_on = {
                let state = self.0.state.borrow();
                state.head.revision != seen && state.layout == layout
            };
            match done {
                // Meanwhile a message became an excerpt, or a mark was set. Those stay, and the edits are computed
                // again.
                Err(EngineError::Busy(_)) if moved_on => {}
                done => {
                    self.emit_view(done?);
                    return Ok(());
                }
            }
        }
    }

    /// The last compaction whose result revision `n` shows.
    async fn last_compaction(&self, mut n: u32) -> Result<Undoing, EngineError> {
        let store = self.0.host.store.as_ref();
        loop {
            if n == 0 {
                return Err(EngineError::NothingToUndo);
            }
            let row = stored::revision(store, &self.0.id, n).await?;
            let to = row.parent.ok_or(EngineError::NothingToUndo)?;
            n = match row.cause {
                Cause::Compaction { .. }
                | Cause::Emergency
                | Cause::Remade { .. }
                | Cause::Edited { .. } => {
                    let tip = row.tip;
                    let made = self.view_of(row).await?;
                    return Ok(Undoing { made, tip, to });
                }
                // An undo or a restore shows the content of another revision, so the search continues there.
                Cause::Undo { to } | Cause::Restore { to } => to,
                _ => to,
            };
        }
    }

    /// Removes one layer: its messages are verbatim again.
    ///
    /// # Errors
    ///
    /// [`EngineError::WouldNotFit`] with the alternatives.
    pub async fn lift(&self, layer: LayerId) -> Result<(), EngineError> {
        self.lift_with(layer, IfOver::Refuse).await
    }

    /// Does [`Self::lift`] and takes the action for a window that does not fit.
    pub async fn lift_with(&self, layer: LayerId, if_over: IfOver) -> Result<(), EngineError> {
        let revision = self
            .revise(|state, draft| {
                let now = state.context.view();
                if !now.layers.iter().any(|l| l.id == layer) {
                    return Err(CoreError::NotFound {
                        what: "layer",
                        id: layer,
                    }
                    .into());
                }
                let edits = vec![ViewEdit::Uncover(layer), ViewEdit::Pause];
                check_room(state, &edited(now, &edits)?, if_over)?;
                draft.show(state, Revision::of(state, Cause::Lift { layer }, edits))
            })
            .await?;
        self.emit_view(revision);
        Ok(())
    }

    /// The larger window to choose, if one would be enough.
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
        let store = self.0.host.store.as_ref();
        let row = stored::revision(store, &self.0.id, n).await?;
        let parent = row.parent;
        let mut forms: palimpsest_core::sorted::SortedMap<Seq, u32> =
            row.reduced.iter().copied().collect();
        let view = self.view_of(row).await?;
        forms.retain(|seq, _| view.reduced.contains_key(seq));
        Ok((view, parent, forms))
    }

    /// The readable part of a revision's view. Unreadable rows become losses of the session.
    async fn view_of(&self, row: RevisionRow) -> Result<View, EngineError> {
        let mut losses = Vec::new();
        let store = self.0.host.store.as_ref();
        let view = stored::view(store, &self.0.id, row, &mut losses).await?;
        let known = &mut self.0.state.borrow_mut().losses;
        losses.retain(|loss| !known.contains(loss));
        known.extend(losses);
        Ok(view)
    }

    /// Returns the rows of all revisions, oldest first, for cards and logs.
    pub async fn revisions(&self) -> Result<Vec<RevisionRow>, EngineError> {
        let query =
            crate::ports::Query::all(Table::Revisions, crate::rows::session_key(&self.0.id));
        let rows = self.0.host.store.read(query).await?;
        Ok(rows
            .iter()
            .filter_map(|r| crate::rows::unseal("a revision", &r.value).ok())
            .collect())
    }

    /// Returns every readable layer that was ever written, oldest first. Layers stay stored when they fade, merge or
    /// are undone.
    pub async fn all_layers(&self) -> Result<Vec<palimpsest_core::layer::Layer>, EngineError> {
        let query = crate::ports::Query::all(Table::Layers, crate::rows::session_key(&self.0.id));
        let rows = self.0.host.store.read(query).await?;
        // A layer that is not readable is a loss of the session only if the view needs it.
        Ok(rows
            .iter()
            .filter_map(|r| crate::rows::unseal("a layer", &r.value).ok())
            .collect())
    }

    /// Returns a stored layer, in the window or not.
    pub async fn layer(
        &self,
        id: LayerId,
    ) -> Result<Rc<palimpsest_core::layer::Layer>, EngineError> {
        let query = crate::ports::Query::Get {
            table: Table::Layers,
            key: key(&self.0.id, id),
        };
        let rows = self.0.host.store.read(query).await?;
        let row = rows
            .first()
            .ok_or(CoreError::NotFound { what: "layer", id })?;
        Ok(Rc::new(crate::rows::unseal("a layer", &row.value)?))
    }
}
