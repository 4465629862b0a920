//! Marks and anchors of the watermark (W1, W4), and offloaded results coming back (O1). Each is one revision.

use palimpsest_core::context::{Cause, View};
use palimpsest_core::error::CoreError;
use palimpsest_core::message::Seq;
use palimpsest_core::pass::offload::{self, Reference};
use palimpsest_core::watermark::{self, MarkReason};

use crate::error::EngineError;
use crate::event::Event;
use crate::ports::{Durability, Op, Table};
use crate::rows::{key, revision_row, seal};

use super::view::continue_numbers;
use super::{Change, Session, State};

impl Session {
    /// Asks for a mark on the next call of `tool`, as deactivating skills and `compress_to_checkpoint` do. It
    /// settles at the next compaction, which the policy may start for it.
    pub async fn ask_mark(&self, tool: &str, reason: MarkReason) -> Result<(), EngineError> {
        let tool = tool.to_owned();
        self.change_view(Cause::Mark, |state, view| {
            watermark::ask(view, &tool, reason, state.head.tip);
            Ok(())
        })
        .await
    }

    /// The present end of the history is the watermark.
    pub async fn mark_end(&self) -> Result<(), EngineError> {
        self.change_view(Cause::Mark, |state, view| {
            watermark::mark_end(view, state.head.tip);
            Ok(())
        })
        .await
    }

    /// Keeps a message whole before the watermark, or no longer.
    pub async fn anchor(&self, message: Seq, keep: bool) -> Result<(), EngineError> {
        self.change_view(Cause::Mark, |state, view| {
            if !state.messages.contains_key(&message) {
                return Err(missing(message));
            }
            watermark::anchor(view, message, keep);
            Ok(())
        })
        .await
    }

    /// The references that the window shows, oldest first.
    pub fn references(&self) -> Vec<Reference> {
        offload::references(&self.0.state.borrow().context)
    }

    /// The text that a reference stands for, from the history.
    pub fn offloaded_text(&self, reference: &Reference) -> Result<String, EngineError> {
        let state = self.0.state.borrow();
        let stored = state.messages.get(&reference.message);
        let text = stored.and_then(|s| offload::text_of(&s.message, reference));
        Ok(text.ok_or_else(|| missing(reference.message))?.to_owned())
    }

    /// Shows an offloaded message as it was said again, if the window has room for it.
    pub async fn bring_back(&self, message: Seq) -> Result<(), EngineError> {
        self.change_view(Cause::Returned { message }, |state, view| {
            let back = offload::restore(view, message).ok_or_else(|| missing(message))?;
            let mut context = state.context.clone();
            context.set_view(back.clone());
            let (tokens, limit) = (context.tokens(), context.setup().shares.limit);
            if tokens > limit {
                return Err(CoreError::CannotFit {
                    floor: tokens,
                    limit,
                }
                .into());
            }
            *view = back;
            Ok(())
        })
        .await
    }

    /// One revision that changes what no row but its own holds.
    async fn change_view(
        &self,
        cause: Cause,
        change: impl FnOnce(&State, &mut View) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let id = self.0.id.clone();
        let now = self.now();
        self.write(
            Durability::Strict,
            |state| {
                let mut view = state.context.view().clone();
                change(state, &mut view)?;
                continue_numbers(&mut view, state);
                view.cause = cause;
                // every shorter form that stays is stored already
                let mut forms = state.stored_forms.clone();
                forms.retain(|seq, _| view.reduced.contains_key(seq));
                let parent = Some(state.head.revision);
                let row = revision_row(&view, parent, &forms, state.head.tip, now);
                let ops = vec![Op::Add {
                    table: Table::Revisions,
                    key: key(&id, view.revision),
                    value: seal(&row)?,
                }];
                let mut context = state.context.clone();
                context.set_view(view);
                let mut head = state.head.clone();
                head.revision = context.view().revision;
                head.last_revision = head.revision;
                head.shows(&context);
                Ok((Change { ops, head }, context))
            },
            |state, context| {
                let shown = &context.view().reduced;
                state.stored_forms.retain(|seq, _| shown.contains_key(seq));
                state.context = context;
            },
        )
        .await?;
        let revision = self.head().revision;
        self.emit(&Event::ViewChanged { revision });
        self.emit_budget();
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
