//! Marks and anchors of the watermark (W1, W4), and the return of offloaded results (O1). Each is one revision.

use palimpsest_core::context::Cause;
use palimpsest_core::error::CoreError;
use palimpsest_core::message::Seq;
use palimpsest_core::pass::offload::{self, Reference};
use palimpsest_core::view_edit::ViewEdit;
use palimpsest_core::watermark::MarkReason;

use crate::error::EngineError;

use super::revise::Revision;
use super::{Session, State};

impl Session {
    /// Asks for a mark on the next call of `tool`, as `deactivate_skills` and `compress_to_checkpoint` do. It settles
    /// at the next compaction, which the policy may start for it.
    pub async fn ask_mark(&self, tool: &str, reason: MarkReason) -> Result<(), EngineError> {
        let tool = tool.to_owned();
        self.change_view(Cause::Mark, |state| {
            let tip = state.head.tip;
            Ok(ViewEdit::Ask { tool, reason, tip })
        })
        .await
    }

    /// Sets the watermark at the present end of the history.
    pub async fn mark_end(&self) -> Result<(), EngineError> {
        self.change_view(Cause::Mark, |state| {
            let tip = state.head.tip;
            Ok(ViewEdit::MarkEnd { tip })
        })
        .await
    }

    /// Keeps a message whole before the watermark.
    ///
    /// # Errors
    ///
    /// `not_found` if the session has no such message.
    pub async fn anchor(&self, message: Seq) -> Result<(), EngineError> {
        self.mark_message(message, ViewEdit::Anchor(message)).await
    }

    /// Stops keeping a message whole before the watermark.
    ///
    /// # Errors
    ///
    /// `not_found` if the session has no such message.
    pub async fn release(&self, message: Seq) -> Result<(), EngineError> {
        self.mark_message(message, ViewEdit::Release(message)).await
    }

    async fn mark_message(&self, message: Seq, edit: ViewEdit) -> Result<(), EngineError> {
        self.change_view(Cause::Mark, |state| {
            if !state.messages.contains_key(&message) {
                return Err(missing(message));
            }
            Ok(edit)
        })
        .await
    }

    /// The references that the window shows, oldest first.
    pub fn references(&self) -> Vec<Reference> {
        offload::references(&self.0.state.borrow().context)
    }

    /// Returns the text of a reference from the history.
    pub fn offloaded_text(&self, reference: &Reference) -> Result<String, EngineError> {
        let state = self.0.state.borrow();
        let stored = state.messages.get(&reference.message);
        let text = stored.and_then(|s| offload::text_of(&s.message, reference));
        Ok(text.ok_or_else(|| missing(reference.message))?.to_owned())
    }

    /// Shows an offloaded message verbatim again, if the window has room for it.
    pub async fn bring_back(&self, message: Seq) -> Result<(), EngineError> {
        self.change_view(Cause::Returned { message }, |state| {
            let view = state.context.view();
            let back = offload::restore(view, message).ok_or_else(|| missing(message))?;
            let mut context = state.context.clone();
            context.set_view(back);
            let (tokens, limit) = (context.tokens(), context.setup().shares.limit);
            if tokens > limit {
                return Err(CoreError::CannotFit {
                    floor: tokens,
                    limit,
                }
                .into());
            }
            Ok(ViewEdit::Show {
                seq: message,
                from: view.reduced.get(&message).cloned(),
                to: None,
                anchored: view.anchors.contains(&message),
            })
        })
        .await
    }

    /// Writes one revision that changes no other row.
    async fn change_view(
        &self,
        cause: Cause,
        change: impl FnOnce(&State) -> Result<ViewEdit, EngineError>,
    ) -> Result<(), EngineError> {
        let revision = self
            .revise(|state, draft| {
                let edits = vec![change(state)?];
                draft.show(state, Revision::of(state, cause, edits))
            })
            .await?;
        self.emit_view(revision);
        Ok(())
    }
}

fn missing(message: Seq) -> EngineError {
    CoreError::NotFound {
        what: "offloaded or stored message",
        id: message,
    }
    .into()
}
