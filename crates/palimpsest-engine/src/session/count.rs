//! Counts with the model's own vocabulary or an estimate, and learns from the server's counts (B8, B9).

use std::rc::Rc;

use palimpsest_core::budget::Budget;
use palimpsest_core::message::Part;
use palimpsest_core::message::Role;
use palimpsest_core::window::Window;
use palimpsest_tokens::{Count, Reported, TokenCounter, Verdict};

use crate::counting::{Sent, Weighing, was_cut};
use crate::event::Event;
use crate::ports::Durability;
use crate::setup::setup_of;

use super::Session;

/// The bytes of text that are counted before other work gets a turn. They take a millisecond or two with a vocabulary,
/// less with an estimate.
const SLICE: usize = 64 * 1024;

impl Session {
    /// Returns the counter of a model.
    pub(super) fn counter_of(&self, model: &str) -> Rc<dyn TokenCounter> {
        self.0.host.counter_for(model)
    }

    /// Returns the budget of the window with a message that the user is still writing.
    pub fn budget_with_draft(&self, draft: &str) -> Budget {
        let state = self.0.state.borrow();
        let tokens = if draft.trim().is_empty() {
            0
        } else {
            state.context.tokens_of(Role::User, &[Part::text(draft)])
        };
        state.context.budget_with_draft(tokens)
    }

    /// Counts a text as a message of that role.
    pub fn count_text(&self, role: Role, text: &str) -> Count {
        let state = self.0.state.borrow();
        let tokens = state.context.tokens_of(role, &[Part::text(text)]);
        let counter = state.context.counter();
        Count {
            tokens,
            source: counter.source(),
            bound: counter.bound(tokens),
        }
    }

    /// Adopts the present counter of the model: another vocabulary, or an estimate that has learned. The window does
    /// not change. Old counts of messages stay as estimates until [`Self::settle`] has replaced them.
    pub(crate) fn adopt_counter(&self) {
        {
            let mut state = self.0.state.borrow_mut();
            let counter = self.counter_of(&state.head.model);
            let head = &state.head;
            let again = setup_of(head, counter.as_ref());
            if let Ok(again) = again {
                let mut present = state.context.setup().clone();
                if again.shares != present.shares {
                    present.shares = again.shares;
                    state.context.set_setup(present);
                }
            }
            state.context.set_counter(counter);
        }
        self.emit_budget();
    }

    /// Recounts about `bytes` bytes of text that another counter counted. Returns `true` when nothing is left.
    pub fn recount(&self, bytes: usize) -> bool {
        let mut state = self.0.state.borrow_mut();
        let state = &mut *state;
        let done = state.context.recount(bytes);
        if done {
            for entry in state.context.entries() {
                if let Some(stored) = state.messages.get_mut(&entry.message.seq) {
                    (stored.tokens, stored.counted_by) = (entry.tokens, entry.counted_by);
                }
            }
        }
        done
    }

    /// Recounts everything that another counter counted, in slices between which other work runs.
    pub async fn settle(&self) {
        if self.0.state.borrow().context.is_settled() {
            return;
        }
        while !self.recount(SLICE) {
            self.0.host.world.timer.sleep(0).await;
        }
        self.emit_budget();
    }

    /// The position of the window that is about to be sent.
    pub(super) fn sent(&self) -> Sent {
        let state = self.0.state.borrow();
        Sent {
            entries: state.context.entries().len(),
            revision: state.context.view().revision,
            records: state.context.records().revision,
        }
    }

    /// Compares the server's count with the sent prompt, learns from it, and notes it as the window's true size.
    pub(super) async fn observe(
        &self,
        window: &Window,
        tools: &[serde_json::Value],
        sent: &Sent,
        read: Option<u32>,
    ) {
        let Some(read) = read.filter(|n| *n > 0) else {
            return;
        };
        let host = &self.0.host;
        let head = self.head();
        let mut weigher = host.counting.borrow_mut().weigher(&head.model);
        let mut weighing = Weighing::new(window, tools);
        while !weighing.step(&mut weigher, SLICE) {
            host.world.timer.sleep(0).await;
        }
        let weight = weigher.finish();
        let reported = Reported {
            prompt_tokens: Some(read),
            window: head.effective_window(),
        };
        let (verdict, op) =
            host.counting
                .borrow_mut()
                .learn(&head.model, self.id(), sent, &weight, reported);
        self.0.open.adopt_counters();
        match verdict {
            // Templates may leave out tool calls and definitions, so only a large difference in the rest proves a cut.
            Verdict::Truncated { sent, counted }
                if !weight.is_loose()
                    || was_cut(sent.saturating_sub(weight.loose_tokens()), counted) =>
            {
                self.emit(&Event::PromptTruncated {
                    sent,
                    read: counted,
                });
            }
            Verdict::Learned { .. } => {
                if self.sent() == *sent {
                    let mut state = self.0.state.borrow_mut();
                    state.context.anchor(sent.entries, read);
                }
            }
            Verdict::Truncated { .. } | Verdict::Ignored(_) => {}
        }
        if let Some(op) = op {
            // If the calibration cannot be stored, it is learned again.
            let _ = host
                .store
                .apply(&self.0.lease, None, vec![op], Durability::Relaxed)
                .await;
        }
        self.settle().await;
        self.emit_budget();
    }
}
