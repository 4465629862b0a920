//! One compaction: a plain value that is stepped (P1).
//!
//! [`Run::step`] answers with a job for a summariser, with the finished proposal, or with the reason
//! why nothing changes. Who answers a job does not matter: `compact` takes the deterministic
//! summary, `compactWith` a callback, a session the model port. There is one path.

mod aging;
mod candidate;
mod caution;
mod checkpoint;
mod choice;
mod cover;
mod edit;
mod forced;
mod identify;
mod join;
mod ladder;
mod metadata;
mod passage;
mod prepare;
mod proposal;
mod quoting;
mod report;
mod rewrite;
mod rooms;
mod scope;
mod sharing;
mod summarize;
mod update;
mod verify;

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::context::{Context, Seed, View};
use crate::data::layer::Span;
use crate::data::message::Seq;
use crate::data::mode::Mode;
use crate::data::record::{Found, Records};
use crate::error::CoreError;
use crate::pass::Shed;
use crate::view_edit::ViewEdit;
use palimpsest_text::retention::Known;

use candidate::Candidate;
use checkpoint::Noted;
use identify::Identified;
use ladder::Ladder;
use summarize::{Answers, Asking};

pub use crate::data::refusal::Refusal;
pub use caution::Caution;
pub use edit::edited_layer;
pub use passage::JobPassage;
pub use report::{RunReport, StageTime, Verification};
pub use rewrite::Rewrite;
pub use scope::Scope;
pub use sharing::SharedRoom;
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
    /// Which messages the new layer covers.
    pub scope: Scope,
    /// What to aim at.
    pub aim: Aim,
    /// Whether a person asked: then even a small gain is taken.
    pub manual: bool,
    /// What the summary should dwell on.
    pub focus: Option<String>,
    /// What the conversation is about.
    pub mode: Mode,
    /// The model that writes summaries; `None` means the deterministic summariser only. Not asked in a window in which its
    /// prompt would not fit.
    pub model: Option<String>,
    /// What a request to that model may hold, if its window is smaller than the session's.
    pub chunk: Option<u32>,
    /// Whether statements of a model's summary are struck out that name what its source does not say.
    pub grounded: bool,
    /// The choice among what all layers say, where they are small. Without it each has its own room.
    pub shared: Option<SharedRoom>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            scope: Scope::Policy,
            aim: Aim::Target,
            manual: false,
            focus: None,
            mode: Mode::default(),
            model: None,
            chunk: None,
            grounded: false,
            shared: Some(SharedRoom::default()),
        }
    }
}

/// The six stages of seed 1, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
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

/// What a run is to do, and with what. No stage changes it.
#[derive(Debug, Clone)]
struct Task {
    /// The context as it was when the run began.
    original: Context,
    /// The context that the report's facts are compared with, where it is not `original`.
    since: Option<Box<Context>>,
    /// What was taken between that context and `original`.
    earlier: Vec<Shed>,
    /// The policy's passes.
    ladder: Ladder,
    options: RunOptions,
    seed: Seed,
    /// What was read of the messages: each text is read once.
    known: Rc<Known>,
}

impl Task {
    /// The most tokens that the window may hold after it.
    fn limit(&self) -> u32 {
        let aim = self.options.aim;
        aim.hard().unwrap_or(self.original.setup().shares.limit)
    }
}

/// How far a run has come. Each variant holds what the stage before it made, which is all that the next stage needs.
#[derive(Debug, Clone, Default)]
enum Progress {
    /// Nothing was done yet.
    #[default]
    Begun,
    /// The deterministic passes ran, and the run knows what it covers.
    Identified(Identified),
    /// Summaries are asked for.
    Asking(Identified, Asking),
    /// Every summary is there.
    Written(Identified, Answers),
    /// The note stands.
    Noted(Identified, Answers, Noted),
    /// The new window stands.
    Drafted(Identified, Box<Candidate>),
    /// The run is over; it ended in this stage.
    Ended(Stage, Step),
}

impl Progress {
    /// The stage that comes next, or in which the run ended.
    const fn stage(&self) -> Stage {
        match self {
            Self::Begun => Stage::Identify,
            Self::Identified(_) => Stage::Prepare,
            Self::Asking(..) => Stage::Summarize,
            Self::Written(..) => Stage::Checkpoint,
            Self::Noted(..) => Stage::Update,
            Self::Drafted(..) => Stage::Verify,
            Self::Ended(stage, _) => *stage,
        }
    }

    /// Does one stage. A job that nobody has answered stays where it is, and so does the end.
    fn advance(self, task: &Task) -> Self {
        match self {
            Self::Begun => match identify::identify(task) {
                Ok(found) => Self::Identified(found),
                Err(refusal) => Self::Ended(Stage::Identify, Step::Refused(refusal)),
            },
            Self::Identified(found) => {
                let asking = prepare::prepare(task, &found);
                Self::Asking(found, asking)
            }
            Self::Asking(found, mut asking) => {
                asking.ask(task);
                if asking.waiting().is_some() {
                    Self::Asking(found, asking)
                } else {
                    Self::Written(found, asking.into_answers())
                }
            }
            Self::Written(found, answers) => {
                let noted = checkpoint::checkpoint(task, &found, &answers);
                Self::Noted(found, answers, noted)
            }
            Self::Noted(found, answers, noted) => {
                let candidate = update::update(task, &found, answers, noted);
                Self::Drafted(found, Box::new(candidate))
            }
            Self::Drafted(found, candidate) => {
                let step = match choice::choose(task, &found, *candidate) {
                    Ok(chosen) => Step::Done(Box::new(proposal::propose(task, &found, chosen))),
                    Err(refusal) => Step::Refused(refusal),
                };
                Self::Ended(Stage::Verify, step)
            }
            ended @ Self::Ended(..) => ended,
        }
    }

    /// What the caller has to do, if it is the caller's turn.
    fn step(&self) -> Option<Step> {
        match self {
            Self::Asking(_, asking) => {
                let job = asking.waiting()?;
                Some(Step::Need(Box::new(job.clone())))
            }
            Self::Ended(_, step) => Some(step.clone()),
            _ => None,
        }
    }
}

/// One compaction in progress.
#[derive(Debug, Clone)]
pub struct Run {
    task: Task,
    progress: Progress,
}

impl Run {
    /// Plans on a copy of the context; messages that arrive meanwhile do not matter.
    pub fn new(context: &Context, mut options: RunOptions, seed: Seed) -> Self {
        if !context.setup().shares.fits_model() {
            options.model = None;
        }
        Self {
            task: Task {
                original: context.clone(),
                since: None,
                earlier: Vec::new(),
                ladder: Ladder::of(&context.setup().policy),
                options,
                seed,
                known: Rc::default(),
            },
            progress: Progress::Begun,
        }
    }

    /// The report says what left since an earlier state of the context, with what was taken since then.
    pub(crate) fn since(mut self, before: Context, earlier: Vec<Shed>) -> Self {
        self.task.since = Some(Box::new(before));
        self.task.earlier = earlier;
        self
    }

    /// The revision it was planned on.
    pub const fn base(&self) -> u32 {
        self.task.original.view.revision
    }

    /// Whether a person asked for it.
    pub const fn is_manual(&self) -> bool {
        self.task.options.manual
    }

    /// Which messages its new layer covers.
    pub const fn scope(&self) -> Scope {
        self.task.options.scope
    }

    /// The stage that comes next, or in which the run ended.
    pub const fn stage(&self) -> Stage {
        self.progress.stage()
    }

    /// What the run will cover and about what it will come to: the preview (P10). The run stays where it is.
    pub fn preview(&self) -> Result<Preview, Refusal> {
        let found = identify::identify(&self.task)?;
        let plan = &found.plan;
        Ok(Preview {
            before: self.task.original.tokens(),
            after: plan.projected,
            covers: plan.spans(&found.trimmed.context),
            messages: plan.covered.len() as u32,
            covered_tokens: plan.covered_tokens,
            layer_tokens: plan.newest,
            passes: found.trimmed.passes,
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
        self.progress = std::mem::take(&mut self.progress).advance(&self.task);
        self.progress.step()
    }

    /// Answers the job that [`Run::step`] asked for.
    ///
    /// A text that is empty, a refusal, an echo, repetitive, cut off, in the wrong language, invented, not smaller, or that
    /// shows marks of the request, is asked for once more, tighter; then the deterministic summary is taken and marked (P8).
    /// It is also taken where it keeps more of the facts in the same room.
    pub fn supply(&mut self, job: JobId, answer: SuppliedSummary) -> Result<(), CoreError> {
        let taken = match &mut self.progress {
            Progress::Asking(found, asking) => asking.supply(&self.task, found, job, answer),
            _ => Err(summarize::not_waiting(job)),
        };
        if let Some(refusal) = taken? {
            self.end(refusal);
        }
        Ok(())
    }

    /// Does not wait for a model any longer: the rest of the jobs get the deterministic summary (P7). What was
    /// written already is kept.
    pub fn skip(&mut self) {
        self.task.options.model = None;
        if let Progress::Asking(_, asking) = &mut self.progress {
            asking.put_back();
        }
    }

    /// The jobs that follow the one that is waited for, as far as they are known: none of them depends on an answer, so a
    /// caller may have them answered at once. They are supplied in the order in which [`Run::step`] asks for them.
    pub fn queued(&self) -> impl Iterator<Item = &SummaryJob> {
        let asking = match &self.progress {
            Progress::Asking(_, asking) if self.task.options.model.is_some() => Some(asking),
            _ => None,
        };
        asking.into_iter().flat_map(Asking::queued)
    }

    /// Stops. Nothing has changed.
    pub fn cancel(&mut self) -> Step {
        match &self.progress {
            Progress::Ended(_, step) => step.clone(),
            _ => self.end(Refusal::Cancelled),
        }
    }

    fn end(&mut self, refusal: Refusal) -> Step {
        let step = Step::Refused(refusal);
        self.progress = Progress::Ended(self.progress.stage(), step.clone());
        step
    }
}

/// What a run would do (P10).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
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
