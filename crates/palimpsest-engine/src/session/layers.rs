//! A person's hands on layers: their text, and what a new one covers.

use palimpsest_core::error::CoreError;
use palimpsest_core::layer::LayerId;
use palimpsest_core::message::Seq;
use palimpsest_core::run::{Scope, edited_layer};

use crate::error::EngineError;
use crate::event::Event;
use crate::snapshot::Purpose;

use super::revise::Revision;
use super::view::check_room;
use super::{CompactOptions, Compacted, IfOver, Session};
use crate::ports::Signal;

impl Session {
    /// Shows `text` in place of a layer's summary and its facts. It is a revision like any other: audited against the
    /// messages that the layer covers, with a snapshot of the window before, and undone by [`Self::undo`]. Shorter forms
    /// of the layer are made from this text.
    ///
    /// Refused if there is no such layer in the window or the text is empty; and with the choices if the window would not
    /// fit, unless `if_over` says to show it all the same. A compaction that runs meanwhile is not committed: it was
    /// planned with the text before.
    pub async fn edit_layer(
        &self,
        layer: LayerId,
        text: &str,
        if_over: IfOver,
    ) -> Result<Compacted, EngineError> {
        let seed = self.seed();
        let mut written = None;
        let revision = self
            .revise(|state, draft| {
                let proposal = edited_layer(&state.context, layer, text, seed)?;
                check_room(state, &proposal.view, if_over)?;
                let snapshots = &state.head.config.snapshots;
                if snapshots.enabled && snapshots.auto_create {
                    let mut layers = state.context.view().layers.iter();
                    let number = layers.find(|l| l.id == layer).map(|l| l.number);
                    let kind = (Purpose::Rollback, number);
                    let snapshot = draft.note_present(state, "", kind)?;
                    draft.told.push(Event::AutoSnapshotCreated {
                        snapshot,
                        purpose: Purpose::Rollback,
                    });
                }
                written = Some(proposal.report.clone());
                let revision = Revision {
                    report: Some(proposal.report),
                    ..Revision::of(state, proposal.view.cause, proposal.edits)
                };
                draft.show(state, revision)
            })
            .await?;
        self.emit_view(revision);
        match written {
            Some(report) => Ok(Compacted { revision, report }),
            // a revision is stored only after its plan was made
            None => Err(EngineError::Busy("another change of the window")),
        }
    }

    /// Has a layer written again from the messages that it covers, by the model of `options` or else by the deterministic
    /// summariser, with an eye on its focus. The new text may be longer than the old one.
    ///
    /// Refused as [`Refusal::ModelFailed`](palimpsest_core::run::Refusal::ModelFailed) where the model's text was not taken:
    /// the layer stays as it is.
    pub async fn rewrite_layer(
        &self,
        layer: LayerId,
        options: CompactOptions,
        signal: Signal,
    ) -> Result<Compacted, EngineError> {
        let options = CompactOptions {
            scope: Scope::Layer(layer),
            manual: true,
            ..options
        };
        self.compact(options, signal).await
    }

    /// Whether what a person named is there.
    pub(super) fn check_scope(&self, scope: Scope) -> Result<(), EngineError> {
        let state = self.0.state.borrow();
        let message = |id: Seq| {
            let entries = state.context.entries();
            let is_there = entries.iter().any(|e| e.message.seq == id);
            let what = "message";
            is_there
                .then_some(())
                .ok_or(CoreError::NotFound { what, id })
        };
        match scope {
            Scope::Policy => {}
            Scope::UpTo(to) => message(to)?,
            Scope::Range { from, to } => {
                message(from)?;
                message(to)?;
                if from > to {
                    let why = format!(
                        "The range ends at message {to}, before it begins at message {from}. Name the first message first."
                    );
                    return Err(CoreError::BadInput(why).into());
                }
            }
            Scope::Layer(id) => {
                let layers = &state.context.view().layers;
                if !layers.iter().any(|l| l.id == id) {
                    return Err(CoreError::NotFound { what: "layer", id }.into());
                }
            }
        }
        Ok(())
    }
}
