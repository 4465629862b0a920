//! One compaction: a plain value that is stepped (P1).
//!
//! [`Run::step`] answers with a job for a summariser, with the finished proposal, or with the reason
//! why nothing changes. Who answers a job does not matter: `compact` takes the deterministic
//! summary, `compactWith` a callback, a session the model port. There is one path.

mod caution;
mod checkpoint;
mod forced;
mod identify;
mod ladder;
mod metadata;
mod prepare;
mod rewrite;
mod summarize;
mod update;
mod verify;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::budget::Segment;
use crate::context::{Context, Seed, View};
use crate::data::layer::{LayerId, Span};
use crate::data::message::Seq;
use crate::data::mode::Mode;
use crate::data::record::{Found, FoundDemand, Records};
use crate::pass::Shed;
use crate::pass::offload::Reference;
use crate::view_edit::ViewEdit;
use palimpsest_text::retention::Facts;

pub use crate::data::refusal::Refusal;
pub use caution::Caution;
pub use prepare::JobPassage;
pub use rewrite::Rewrite;
pub use summarize::{JobId, SummaryJob, SuppliedSummary};

/// What a run aims at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// The policy's target, below its trigger.
    Target,
    /// As much as fits into so many tokens: what a one-shot `compact` keeps.
    AtMost(u32),
    /// The same, and room for quotes where a summary can make it.
    Below {
        /// What is aimed at.
        aim: u32,
        /// The most that may stand.
        most: u32,
    },
}

impl Aim {
    /// The most that may stand, where that is hard.
    pub(crate) const fn hard(self) -> Option<u32> {
        match self {
            Self::Target => None,
            Self::AtMost(most) | Self::Below { most, .. } => Some(most),
        }
    }
}

/// Who asked for the run, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// What to aim at.
    pub aim: Aim,
    /// Whether a person asked: then even a small gain is taken.
    pub manual: bool,
    /// What the summary should dwell on.
    pub focus: Option<String>,
    /// What the conversation is about.
    pub mode: Mode,
    /// The model that writes summaries; `None` means the deterministic summariser only.
    pub model: Option<String>,
    /// What a request to that model may hold, if its window is smaller than the session's.
    pub chunk: Option<u32>,
    /// Whether statements of a model's summary are struck out that name what its source does not say.
    pub grounded: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            aim: Aim::Target,
            manual: false,
            focus: None,
            mode: Mode::default(),
            model: None,
            chunk: None,
            grounded: false,
        }
    }
}

/// The six stages of seed 1, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Choose what is covered.
    Identify,
    /// Turn it into passages and prompts.
    Prepare,
    /// Wait for summaries.
    Summarize,
    /// Make note and layer.
    Checkpoint,
    /// Fade and merge older layers, choose quotes, fill the ledger.
    Update,
    /// Check the new window.
    Verify,
}

/// What the last stage found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Whether the new window fits.
    pub valid: bool,
    /// What it holds.
    pub tokens: u32,
    /// What it may hold.
    pub limit: u32,
    /// Facts found in it ÷ facts of what was taken out or shortened.
    pub retention: f32,
}

/// How long one stage took. Core has no clock: whoever drives the run measures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StageTime {
    /// The stage.
    pub stage: Stage,
    /// Milliseconds; for [`Stage::Summarize`] with what was waited for a model.
    pub ms: f64,
}

/// What a finished run did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Tokens of the window before.
    pub before: u32,
    /// Tokens of the window after.
    pub after: u32,
    /// The new layer, if one was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<LayerId>,
    /// What the new layer covers.
    #[serde(default)]
    pub covers: Vec<Span>,
    /// How many messages that is.
    pub messages: u32,
    /// Tokens of those messages as they were shown.
    pub covered_tokens: u32,
    /// The user's words that stay verbatim in the slot.
    pub quoted: Vec<Seq>,
    /// Of those, the ones of which only an excerpt stands there or in their own place are named here instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<Seq>,
    /// The user's demands that were found in what was covered. They stand where the policy says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demands: Vec<FoundDemand>,
    /// The user's messages that stood word for word before, of which neither the words nor an excerpt stand now (P3). Their
    /// demands stand where the policy says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summarised: Vec<Seq>,
    /// Facts found in the new window ÷ facts of what was taken out or shortened; 1 if nothing was.
    pub retention: f32,
    /// What became of those facts. Reports of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Facts>,
    /// Whether something left without a trace in the window: see [`crate::loss::Loss::lossy`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossy: Option<bool>,
    /// Facts that nothing in the new window leads back to, the most important class first; at most
    /// [`crate::loss::MOST_NAMED`]. `facts` says how many there were.
    pub dropped: Vec<String>,
    /// Tokens the model has to read again: everything from the first changed message on.
    pub reread: u32,
    /// Messages that are still shown.
    #[serde(default)]
    pub preserved: u32,
    /// Offloaded results that are covered now: their references left the window, their texts stay in the
    /// history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<Reference>,
    /// What each pass shed, in the order of the ladder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<Shed>,
    /// What was done beside summarising: passes that had to help, rules that gave way to an invariant.
    pub adjustments: Vec<String>,
    /// A stable name for each of the adjustments, in their order. Reports of earlier versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<String>,
    /// What the user should know although the run succeeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<Caution>,
    /// Whether a person asked.
    pub manual: bool,
    /// The window's stretches before, neighbours of one kind joined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments_before: Vec<Segment>,
    /// The window's stretches after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments_after: Vec<Segment>,
    /// How long it took, in milliseconds. Core has no clock: whoever drives the run fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<f64>,
    /// What the last stage found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// How long each stage took, in their order, where that was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageTime>,
}

impl RunReport {
    /// Tokens freed.
    pub const fn freed(&self) -> u32 {
        self.before.saturating_sub(self.after)
    }
}

/// A finished run: commit it as one revision, or leave it.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The revision it was planned on.
    pub base: u32,
    /// The last message that was there when it was planned.
    pub tip: Option<Seq>,
    /// The new view, where nothing was changed meanwhile.
    pub view: View,
    /// What it changes of the view it was planned on. Who commits makes these changes to the view as it is then.
    pub edits: Vec<ViewEdit>,
    /// New records, where constraints were found in what is now covered, or the goal is proposed to change.
    pub records: Option<Records>,
    /// The records' revision it was planned on. If it is another by now, `found` goes into those.
    pub records_base: u32,
    /// What `records` holds that was not there before.
    pub found: Found,
    /// What it did.
    pub report: RunReport,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Answer this job with [`Run::supply`], then step again.
    Need(Box<SummaryJob>),
    /// Commit this.
    Done(Box<Proposal>),
    /// Nothing changed.
    Refused(Refusal),
}

/// One compaction in progress.
#[derive(Debug, Clone)]
pub struct Run {
    /// As it was when the run began.
    original: Context,
    /// What the report's facts are compared with, where that is not `original`.
    since: Option<Box<Context>>,
    /// What was taken before the run, since then.
    earlier: Vec<Shed>,
    /// As it will be.
    context: Context,
    options: RunOptions,
    seed: Seed,
    stage: Stage,
    plan: Option<identify::Plan>,
    queue: VecDeque<SummaryJob>,
    waiting: Option<SummaryJob>,
    written: Vec<summarize::Written>,
    /// Statements that were struck out of them.
    struck: u32,
    /// What the summaries propose to change in the goal.
    proposals: Vec<crate::data::marker::Proposal>,
    /// A layer's shorter form that the model wrote.
    faded: Option<(LayerId, String)>,
    draft: Option<update::Draft>,
    /// Quotes for one message that stood in the window and went first.
    forgotten: Option<Shed>,
    /// What the deterministic passes did, once they ran.
    trimmed: Option<ladder::Trimmed>,
    next_job: JobId,
    ended: Option<Step>,
}

impl Run {
    /// Plans on a copy of the context; messages that arrive meanwhile do not matter.
    pub fn new(context: &Context, options: RunOptions, seed: Seed) -> Self {
        Self {
            original: context.clone(),
            since: None,
            earlier: Vec::new(),
            context: context.clone(),
            options,
            seed,
            stage: Stage::Identify,
            plan: None,
            queue: VecDeque::new(),
            waiting: None,
            written: Vec::new(),
            struck: 0,
            proposals: Vec::new(),
            faded: None,
            draft: None,
            forgotten: None,
            trimmed: None,
            next_job: 1,
            ended: None,
        }
    }

    /// The report says what left since an earlier state of the context, with what was taken since then.
    pub(crate) fn since(mut self, before: Context, earlier: Vec<Shed>) -> Self {
        self.since = Some(Box::new(before));
        self.earlier = earlier;
        self
    }

    /// The revision it was planned on.
    pub const fn base(&self) -> u32 {
        self.original.view.revision
    }

    /// Whether a person asked for it.
    pub const fn is_manual(&self) -> bool {
        self.options.manual
    }

    /// Where the run is.
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// What the run will cover and about what it will come to, once identified: the preview (P10).
    pub fn preview(&mut self) -> Result<Preview, Refusal> {
        if self.plan.is_none() {
            self.identify()?;
        }
        let plan = self.plan.as_ref().ok_or(Refusal::NothingToCompress)?;
        Ok(Preview {
            before: self.original.tokens(),
            after: plan.projected,
            covers: plan.spans(&self.context),
            messages: plan.covered.len() as u32,
            covered_tokens: plan.covered_tokens,
            layer_tokens: plan.newest,
            passes: self
                .trimmed
                .as_ref()
                .map_or_else(Vec::new, |t| t.passes.clone()),
        })
    }

    /// Goes on until a summary is needed or the run is over.
    pub fn step(&mut self) -> Step {
        loop {
            if let Some(step) = self.tick() {
                return step;
            }
        }
    }

    /// Does one stage. `None` means that the next one is to come; [`Self::cancel`] stops between any two.
    pub fn tick(&mut self) -> Option<Step> {
        if let Some(step) = &self.ended {
            return Some(step.clone());
        }
        if let Some(job) = &self.waiting {
            return Some(Step::Need(Box::new(job.clone())));
        }
        self.stage = match self.stage {
            Stage::Identify => {
                if self.plan.is_none()
                    && let Err(refusal) = self.identify()
                {
                    return Some(self.end(refusal));
                }
                Stage::Prepare
            }
            Stage::Prepare => {
                self.prepare();
                Stage::Summarize
            }
            Stage::Summarize => {
                if let Some(job) = self.next_job() {
                    return Some(Step::Need(Box::new(job)));
                }
                Stage::Checkpoint
            }
            Stage::Checkpoint => {
                self.checkpoint();
                Stage::Update
            }
            Stage::Update => {
                self.update();
                Stage::Verify
            }
            Stage::Verify => {
                let step = match self.verify() {
                    Ok(proposal) => Step::Done(Box::new(proposal)),
                    Err(refusal) => return Some(self.end(refusal)),
                };
                self.ended = Some(step.clone());
                return Some(step);
            }
        };
        None
    }

    fn end(&mut self, refusal: Refusal) -> Step {
        self.waiting = None;
        self.queue.clear();
        let step = Step::Refused(refusal);
        self.ended = Some(step.clone());
        step
    }

    /// Stops. Nothing has changed.
    pub fn cancel(&mut self) -> Step {
        match &self.ended {
            Some(step) => step.clone(),
            None => self.end(Refusal::Cancelled),
        }
    }
}

/// What a run would do (P10).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    /// Tokens of the window now.
    pub before: u32,
    /// About what it would be.
    pub after: u32,
    /// What would be covered.
    pub covers: Vec<Span>,
    /// How many messages that is.
    pub messages: u32,
    /// Tokens of those messages: what a summariser has to read.
    pub covered_tokens: u32,
    /// The most the new layer takes.
    pub layer_tokens: u32,
    /// What the passes before it would shed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<Shed>,
}
