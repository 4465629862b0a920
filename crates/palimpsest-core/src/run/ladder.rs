//! The policy's passes, told apart once, and the deterministic ones among them. Each is taken only if the one before was
//! not enough. Their edits are committed together with the rest of the run, so the provider's prefix is broken once.

use crate::context::Context;
use crate::data::policy::{Escalation, KeepRecent, Pass, Policy};
use crate::pass::offload::OffloadOptions;
use crate::pass::strip::StripOptions;
use crate::pass::{self, Adjustment, Applied, Edits, PassKind, Shed, emergency};
use crate::watermark::{self, Settled};

use super::cover::Form;
use super::{Caution, Task};

/// A policy's passes by what they do in a run.
#[derive(Debug, Clone)]
pub(super) struct Ladder {
    /// The passes that change single messages, in their order.
    trims: Vec<Trim>,
    /// How the oldest messages are covered, if they are.
    pub(super) covers: Option<Form>,
    /// Whether layers fade where the window does not fit.
    pub(super) fades: bool,
}

/// A deterministic pass that shows single messages in shorter forms.
#[derive(Debug, Clone, Copy)]
enum Trim {
    Condense,
    Dedupe,
    Strip(StripOptions),
    Offload(OffloadOptions),
}

impl Ladder {
    /// The one place that tells a policy's passes apart. The last one, `emergency`, is part of every policy.
    pub(super) fn of(policy: &Policy) -> Self {
        let mut ladder = Self {
            trims: Vec::new(),
            covers: None,
            fades: false,
        };
        for pass in &policy.passes {
            match *pass {
                Pass::Condense => ladder.trims.push(Trim::Condense),
                Pass::Dedupe => ladder.trims.push(Trim::Dedupe),
                Pass::Strip(options) => ladder.trims.push(Trim::Strip(options)),
                Pass::Offload(options) => ladder.trims.push(Trim::Offload(options)),
                Pass::Summarize => ladder.covers = Some(Form::Summary),
                Pass::Truncate => ladder.covers = Some(Form::Note),
                Pass::Fade => ladder.fades = true,
                Pass::Emergency => {}
            }
        }
        ladder
    }
}

impl Trim {
    const fn kind(self) -> PassKind {
        match self {
            Self::Condense => PassKind::Condense,
            Self::Dedupe => PassKind::Dedupe,
            Self::Strip(_) => PassKind::Strip,
            Self::Offload(_) => PassKind::Offload,
        }
    }

    /// The forms that the pass gives to messages before entry `end`.
    fn edits(self, context: &Context, end: usize) -> Edits {
        let policy = &context.setup().policy;
        match self {
            Self::Condense => pass::condense::edits(context, end, &policy.tool_output),
            Self::Dedupe => pass::dedupe::edits(context, end, &policy.repeats),
            Self::Strip(options) => watermark::strip(context, &options).edits,
            Self::Offload(options) => pass::offload::edits(context, end, options),
        }
    }
}

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
    /// The measures that were taken beside the passes.
    pub(super) adjustments: Vec<Adjustment>,
    /// What the user should know.
    pub(super) cautions: Vec<Caution>,
    /// Whether the passes that lose more are not needed.
    pub(super) is_enough: bool,
}

/// Runs the passes before summarising until the window is at most `aim`.
pub(super) fn trim(task: &Task, context: Context, aim: u32, limit: u32) -> Trimmed {
    let mut trimmed = Trimmed::untouched(context);
    let hard = task.options.aim.hard().is_some();
    let settled = trimmed.settle();
    // what came last was read by nobody yet: the beginning of the window stays as the provider has it
    if trimmed.lighten(limit)
        && !task.options.manual
        && trimmed.context.tokens() <= limit
        && (hard || !trimmed.context.is_due())
    {
        trimmed.is_enough = true;
        return trimmed;
    }
    for trim in &task.ladder.trims {
        let context = &trimmed.context;
        let strips = matches!(trim, Trim::Strip(_));
        if context.tokens() <= aim && !(settled && strips) {
            continue;
        }
        let recent = pass::recent_from(context);
        let end = if hard {
            context.last_exchange().unwrap_or(context.entries.len())
        } else {
            recent
        };
        let mut edits = trim.edits(context, end);
        // Where a limit is hard, the oldest go first and no more than have to. Tool blocks go with their mates.
        if hard && !strips {
            edits.retain(|index, _| *index < recent || is_large_recent(context, *index, aim));
            edits = pass::oldest_of(context, edits, aim);
        }
        if let Some(applied) = pass::apply(&mut trimmed.context, trim.kind(), edits) {
            trimmed.add(applied);
        }
    }
    // A person who asks gets more than references, however much they freed.
    trimmed.is_enough = if task.options.manual {
        trimmed.context.tokens() <= aim.min(limit)
    } else {
        trimmed.suffices(aim, limit)
    };
    trimmed
}

/// Whether a recent message is so large that it is shortened all the same, where the policy does not name what is recent: it
/// would leave no room for others.
fn is_large_recent(context: &Context, index: usize, aim: u32) -> bool {
    context.setup().policy.keep_recent == KeepRecent::Share && context.shown_tokens(index) > aim / 3
}

impl Trimmed {
    /// A window that no pass has changed.
    pub(super) const fn untouched(context: Context) -> Self {
        Self {
            context,
            passes: Vec::new(),
            replaced: 0,
            marked: false,
            adjustments: Vec::new(),
            cautions: Vec::new(),
            is_enough: false,
        }
    }

    /// Lets a pending mark settle. Says whether the policy acts on marks: then the tool blocks before the boundary go,
    /// however full the window is.
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

    /// Shortens a last exchange that no window could hold, before anything older leaves for it. Says whether it did.
    fn lighten(&mut self, limit: u32) -> bool {
        if self.context.tokens() <= limit {
            return false;
        }
        let edits = emergency::too_large(&self.context, limit);
        let Some(applied) = pass::apply(&mut self.context, PassKind::Emergency, edits) else {
            return false;
        };
        self.add(applied);
        self.adjustments.push(emergency::last_exchange_excerpted());
        true
    }

    fn add(&mut self, applied: Applied) {
        self.passes.push(applied.shed);
        self.replaced = self.replaced.saturating_add(applied.replaced);
    }

    /// Whether nothing was changed.
    pub(super) fn did_nothing(&self) -> bool {
        self.passes.is_empty() && !self.marked
    }

    /// Whether the passes that lose more are not needed, where nobody asked.
    fn suffices(&self, aim: u32, limit: u32) -> bool {
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
