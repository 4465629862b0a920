//! The deterministic steps of the ladder, each taken only if the one before was not enough. Their edits
//! are committed together with the rest of the run, so the provider's prefix is broken once.

use crate::context::Context;
use crate::data::policy::{Escalation, KeepRecent, Pass};
use crate::pass::offload::OffloadOptions;
use crate::pass::strip::StripOptions;
use crate::pass::{self, Applied, PassKind, Shed};
use crate::watermark::{self, Settled};

use super::{Aim, Caution, Run};

/// What the deterministic passes did.
#[derive(Debug, Clone)]
pub(super) struct Trimmed {
    /// The context after them.
    pub(super) context: Context,
    /// Each pass that changed something.
    pub(super) passes: Vec<Shed>,
    /// Tokens of the messages that were changed, as they were shown before.
    pub(super) replaced: u32,
    /// A mark moved, or was dropped: worth a revision even if no token was saved.
    pub(super) marked: bool,
    /// What the user should know.
    pub(super) cautions: Vec<Caution>,
}

impl Run {
    /// Runs the passes before summarising until the window is at most `aim`. Says whether that is enough.
    pub(super) fn trim(&mut self, aim: u32, limit: u32) -> bool {
        let mut trimmed = Trimmed {
            context: self.context.clone(),
            passes: Vec::new(),
            replaced: 0,
            marked: false,
            cautions: Vec::new(),
        };
        let settled = trimmed.settle();
        let policy = std::rc::Rc::clone(&self.context.setup().policy);
        for step in &policy.passes {
            let forced = settled && matches!(step, Pass::Strip { .. });
            if trimmed.context.tokens() <= aim && !forced {
                continue;
            }
            let context = &trimmed.context;
            let recent = pass::recent_from(context);
            let is_large = |index: usize| is_large_recent(context, index, aim);
            let end = match self.options.aim {
                Aim::Target => recent,
                Aim::AtMost(_) | Aim::Below { .. } => {
                    context.last_exchange().unwrap_or(context.entries.len())
                }
            };
            let edits = match *step {
                Pass::Condense => pass::condense::edits(context, end, &policy.tool_output),
                Pass::Dedupe => pass::dedupe::edits(context, end, &policy.repeats),
                Pass::Strip {
                    keep,
                    keep_errors,
                    keep_best,
                } => {
                    let options = StripOptions {
                        keep,
                        keep_errors,
                        keep_best,
                    };
                    watermark::strip(context, &options).edits
                }
                Pass::Offload {
                    tokens,
                    window_percent,
                    brief,
                } => {
                    let options = OffloadOptions {
                        tokens,
                        window_percent,
                        brief,
                    };
                    pass::offload::edits(context, end, options)
                }
                Pass::Summarize | Pass::Truncate | Pass::Fade | Pass::Emergency => break,
            };
            // Where a limit is hard, the oldest go first and no more than have to. Tool blocks go with their mates.
            let edits = match (self.options.aim, step) {
                (Aim::Target, _) | (_, Pass::Strip { .. }) => edits,
                (Aim::AtMost(_) | Aim::Below { .. }, _) => {
                    let mut edits = edits;
                    edits.retain(|index, _| *index < recent || is_large(*index));
                    pass::oldest_of(&trimmed.context, edits, aim)
                }
            };
            if let Some(applied) = pass::apply(&mut trimmed.context, step.kind(), edits) {
                trimmed.add(applied);
            }
        }
        // who asks for it gets more than references, however much they freed
        let enough = if self.options.manual {
            trimmed.context.tokens() <= aim.min(limit)
        } else {
            trimmed.is_enough(aim, limit)
        };
        self.context = trimmed.context.clone();
        self.trimmed = Some(trimmed);
        enough
    }
}

/// Whether a recent message is so large that it is shortened all the same, where the policy does not name what is recent: it
/// would leave no room for others.
fn is_large_recent(context: &Context, index: usize, aim: u32) -> bool {
    context.setup().policy.keep_recent == KeepRecent::Share && context.shown_tokens(index) > aim / 3
}

impl Trimmed {
    /// Lets a pending mark settle. Says whether the boundary is new, or tool blocks stand before it although
    /// the policy acts on marks.
    fn settle(&mut self) -> bool {
        let acts = self.context.setup().policy.acts_on_marks();
        let mut view = self.context.view().clone();
        let settled = watermark::settle(&self.context, &mut view);
        match &settled {
            Settled::Same => {}
            Settled::Moved { .. } => self.marked = true,
            Settled::Dropped { tool } => {
                self.marked = true;
                self.cautions
                    .push(Caution::MarkDropped { tool: tool.clone() });
            }
        }
        if self.marked {
            self.context.set_view(view);
        }
        if watermark::is_lost(&self.context) {
            self.cautions.push(Caution::WatermarkNotFound);
        }
        acts
    }

    fn add(&mut self, applied: Applied) {
        self.passes.push(applied.shed);
        self.replaced = self.replaced.saturating_add(applied.replaced);
    }

    /// Whether the passes that lose more are not needed.
    fn is_enough(&self, aim: u32, limit: u32) -> bool {
        let tokens = self.context.tokens();
        if tokens > limit {
            return false;
        }
        if tokens <= aim {
            return true;
        }
        match self.context.setup().policy.escalate {
            Escalation::Target => false,
            Escalation::Weak {
                tokens: most,
                window_percent,
            } => {
                let window = self.context.setup().shares.window;
                let share = u64::from(window) * u64::from(window_percent) / 100;
                let weak = most.min(share as u32);
                let offloaded = self.passes.iter().filter(|s| s.pass == PassKind::Offload);
                let freed: u32 = offloaded.map(|s| s.tokens).sum();
                !self.context.is_due() || freed >= weak
            }
        }
    }
}
