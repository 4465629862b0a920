//! Stage 3: jobs for a summariser, and what is made of its answers (P7, P8).

use std::collections::VecDeque;

use palimpsest_tokens::TokenCounter;

use crate::context::Context;
use crate::data::layer::{Author, LayerId, Level};
use crate::data::marker::Proposal;
use crate::data::mode::Mode;
use crate::data::policy::Headings;
use crate::data::policy::OnFailure;
use crate::error::CoreError;
use palimpsest_text::extractive::{self, Passage, Piece, Summary};
use palimpsest_text::retention::{self, Known, Rejection};

use super::cover::SMALLEST_SUMMARY;
use super::identify::Identified;
use super::passage::emphasis;
use super::{JobPassage, Refusal, Task};

/// Number of a job within its run.
pub type JobId = u32;

/// How many times as long as the first form of its layer a note without a model may be.
const LONGEST_NOTE: u32 = 4;

/// Attempts with a model before the deterministic summary is taken.
const ATTEMPTS: u32 = 2;

/// A text that a summariser is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryJob {
    /// Its number.
    pub id: JobId,
    /// Which part of the range it is, from 1.
    pub part: u32,
    /// Into how many parts the range was split.
    pub parts: u32,
    /// 1, or 2 after a rejected answer.
    pub attempt: u32,
    /// Tokens the summary should have at most.
    pub target_tokens: u32,
    /// System message for a model.
    pub system: String,
    /// User message for a model: instructions and the messages, fenced as data.
    pub prompt: String,
    /// What the markers of this job's answer are fenced with.
    pub nonce: String,
    /// The messages themselves.
    pub passages: Vec<JobPassage>,
    /// The layer that this summary is a shorter form of, made from its notes; `None` for the new layer's summary.
    pub fades: Option<LayerId>,
    pub(super) level: Level,
    pub(super) mode: Mode,
    pub(super) focus: Option<String>,
    pub(super) language: Option<String>,
    pub(super) goal: Option<String>,
    pub(super) headings: Headings,
}

impl SummaryJob {
    /// The most tokens a model may answer with: 120 % of the target (P7).
    pub const fn num_predict(&self) -> u32 {
        self.target_tokens + self.target_tokens / 5 + 16
    }

    /// The deterministic summary of the same messages.
    pub fn extractive(&self, counter: &dyn TokenCounter) -> String {
        self.selection(self.target_tokens, None, counter).text
    }

    /// The same, as the most worthy pieces in at most `room` tokens.
    fn selection(&self, room: u32, known: Option<&Known>, counter: &dyn TokenCounter) -> Summary {
        let passages: Vec<Passage<'_>> = self
            .passages
            .iter()
            .map(|p| Passage {
                calls: p.calls,
                day: p.day,
                ..Passage::new(p.seq, retention::Speaker::from(p.role), &p.text)
            })
            .collect();
        let options = extractive::Options {
            target_tokens: room,
            emphasis: emphasis(self.mode),
            focus: self.focus.as_deref(),
            known,
            ..extractive::Options::default()
        };
        extractive::summarize(&passages, &options, counter)
    }

    /// The deterministic summary, longer than is asked for: layers are made from it as their room allows.
    fn written(&self, author: Author, known: &Known, counter: &dyn TokenCounter) -> Written {
        let source: u32 = self.passages.iter().map(|p| counter.count(&p.text)).sum();
        let most = self.target_tokens.saturating_mul(LONGEST_NOTE);
        let room = (source / 3).clamp(self.target_tokens, most);
        let summary = self.selection(room, Some(known), counter);
        Written {
            text: summary.text,
            order: summary.order,
            author,
        }
    }

    /// What a model is told, without the messages and without what a person said of the goal: its sentences are no summary.
    pub(super) fn instructions(&self) -> String {
        let mut out = self.system.clone();
        for said in [&self.goal, &self.focus].into_iter().flatten() {
            out = out.replace(said.trim(), "");
        }
        let (open, close) = (
            palimpsest_text::fence::fence(&self.nonce, "messages"),
            palimpsest_text::fence::fence(&self.nonce, palimpsest_text::fence::END),
        );
        out.push('\n');
        match (self.prompt.find(&open), self.prompt.rfind(&close)) {
            (Some(from), Some(to)) if from < to => {
                out.push_str(&self.prompt[..from]);
                out.push_str(&self.prompt[to + close.len()..]);
            }
            _ => {}
        }
        out
    }

    /// How many of `facts` a layer holds whose summary is `text`: those in it, and those that its list of facts has room
    /// for beside it, which is as much again as the summary's.
    fn facts_kept(&self, text: &str, facts: &retention::Audit, counter: &dyn TokenCounter) -> u32 {
        let checked = facts.check(text);
        let room = (self.target_tokens * 2).saturating_sub(counter.count(text));
        let emphasis = emphasis(self.mode);
        let ledger = retention::ledger(&checked.missing, emphasis, room, counter);
        checked.found + ledger.kept.len() as u32
    }

    /// Whether the deterministic summary, in the same room, keeps more facts than this one.
    fn keeps_less(&self, text: &str, known: &Known, counter: &dyn TokenCounter) -> bool {
        let facts = retention::Audit::of_known(
            known,
            self.passages
                .iter()
                .map(|p| (retention::Speaker::from(p.role), p.text.as_str())),
        );
        let kept = |text: &str| self.facts_kept(text, &facts, counter);
        kept(text)
            < kept(
                &self
                    .selection(self.target_tokens, Some(known), counter)
                    .text,
            )
    }

    /// All words to be summarised.
    pub fn source(&self) -> String {
        self.passages
            .iter()
            .map(|p| p.text.as_str())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// A summariser's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SuppliedSummary {
    /// What it wrote.
    Text(String),
    /// It did not write anything, and will not: the code says why. The deterministic summary is used.
    Failed(String),
}

/// An accepted text for one job.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    pub(super) text: String,
    /// The pieces of a text without a model, the most worthy first.
    pub(super) order: Vec<Piece>,
    pub(super) author: Author,
}

/// What the summarisers have written so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Answers {
    /// The texts of the parts, in their order.
    pub(super) written: Vec<Written>,
    /// Statements that were struck out of them.
    pub(super) struck: u32,
    /// What they propose to change in the goal.
    pub(super) proposals: Vec<Proposal>,
    /// A layer's shorter form that the model wrote.
    pub(super) faded: Option<(LayerId, String)>,
}

/// The jobs of a run, while they are answered one after the other.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    /// The job that the caller was asked for.
    waiting: Option<SummaryJob>,
    /// The jobs after it.
    queue: VecDeque<SummaryJob>,
    /// The next job's number.
    next_id: JobId,
    answers: Answers,
}

/// The error of an answer to a job that nobody was asked for.
pub(super) const fn not_waiting(job: JobId) -> CoreError {
    CoreError::NotFound {
        what: "waiting job",
        id: job,
    }
}

impl Asking {
    /// These jobs, none of which was asked for yet. `next_id` is the number of the next one.
    pub(super) fn of(queue: VecDeque<SummaryJob>, next_id: JobId) -> Self {
        Self {
            waiting: None,
            queue,
            next_id,
            answers: Answers::default(),
        }
    }

    /// The job that waits for its answer.
    pub(super) const fn waiting(&self) -> Option<&SummaryJob> {
        self.waiting.as_ref()
    }

    /// The jobs after it that a model is asked for.
    pub(super) fn queued(&self) -> impl Iterator<Item = &SummaryJob> {
        self.queue.iter().filter(|job| !job.prompt.is_empty())
    }

    /// The job that waits is asked for again, or answered without a model.
    pub(super) fn put_back(&mut self) {
        if let Some(job) = self.waiting.take() {
            self.queue.push_front(job);
        }
    }

    /// Asks for the next job that a model has to answer, if none waits. Jobs without a model are answered here.
    pub(super) fn ask(&mut self, task: &Task) {
        while self.waiting.is_none()
            && let Some(job) = self.queue.pop_front()
        {
            if !job.prompt.is_empty() && task.options.model.is_some() {
                self.waiting = Some(job);
            } else if job.fades.is_none() {
                let counter = task.original.counter.as_ref();
                let written = job.written(Author::Extractive, &task.known, counter);
                self.answers.written.push(written);
            }
            // a layer's shorter form is cut deterministically when its turn comes
        }
    }

    /// What was written, once no job is left.
    pub(super) fn into_answers(self) -> Answers {
        self.answers
    }

    /// Takes the answer to the job that waits. Gives the reason where the run ends by it.
    pub(super) fn supply(
        &mut self,
        task: &Task,
        found: &Identified,
        job: JobId,
        answer: SuppliedSummary,
    ) -> Result<Option<Refusal>, CoreError> {
        let waiting = match self.waiting.take() {
            Some(waiting) if waiting.id == job => waiting,
            other => {
                self.waiting = other;
                return Err(not_waiting(job));
            }
        };
        let context = &found.trimmed.context;
        let counter = context.counter.as_ref();
        if let Some(layer) = waiting.fades {
            // a fade that fails is cut deterministically: no second call for it (C4)
            if let SuppliedSummary::Text(text) = answer {
                let text = accepted(&text, &waiting, counter);
                self.answers.faded = text.map(|text| (layer, text));
            }
            return Ok(None);
        }
        let text = match answer {
            SuppliedSummary::Text(text) => text,
            SuppliedSummary::Failed(code) if code == "overflow" && waiting.passages.len() > 1 => {
                self.halve(context, waiting, &task.seed.secret);
                return Ok(None);
            }
            SuppliedSummary::Failed(_)
                if context.setup().policy.on_failure == OnFailure::Refuse =>
            {
                return Ok(Some(Refusal::ModelFailed));
            }
            SuppliedSummary::Failed(code) => {
                self.fall_back(task, &waiting, code);
                return Ok(None);
            }
        };
        let (text, proposals) = clean(&text, &waiting);
        let source = waiting.source();
        let rejection = rejection(&text, &source, &waiting, counter);
        let (text, struck) = if task.options.grounded && rejection.is_none() {
            retention::grounded(&text, &source)
        } else {
            (text, 0)
        };
        match rejection {
            None if text.is_empty() => self.fall_back(task, &waiting, "invented".into()),
            None if waiting.keeps_less(&text, &task.known, counter) => {
                self.fall_back(task, &waiting, "fewer_facts".into());
            }
            None => {
                let model = task.options.model.clone();
                self.answers.proposals.extend(proposals);
                self.answers.struck += struck;
                self.answers.written.push(Written {
                    text,
                    order: Vec::new(),
                    author: model.map_or(Author::Extractive, |name| Author::Model { name }),
                });
            }
            Some(_) if waiting.attempt < ATTEMPTS => {
                let mut again = waiting;
                again.attempt += 1;
                again.target_tokens = (again.target_tokens * 3 / 4).max(SMALLEST_SUMMARY);
                again.write_prompt();
                self.queue.push_front(again);
            }
            Some(rejection) => {
                let reason = format!("{rejection:?}").to_lowercase();
                self.fall_back(task, &waiting, reason);
            }
        }
        Ok(None)
    }

    /// Takes the deterministic summary in place of a model's.
    fn fall_back(&mut self, task: &Task, job: &SummaryJob, reason: String) {
        let counter = task.original.counter.as_ref();
        let written = job.written(Author::Fallback { reason }, &task.known, counter);
        self.answers.written.push(written);
    }

    /// Asks for a job in two halves: the model's tokenizer found more in it than was counted here.
    fn halve(&mut self, context: &Context, mut job: SummaryJob, secret: &[u8; 16]) {
        let rest = job.passages.split_off(job.passages.len() / 2);
        job.target_tokens = (job.target_tokens / 2).max(SMALLEST_SUMMARY);
        job.parts += 1;
        let mut second = SummaryJob {
            id: self.next_id,
            part: job.part + 1,
            passages: rest,
            nonce: nonce_of(context, self.next_id, secret),
            ..job.clone()
        };
        self.next_id += 1;
        for half in [&mut second, &mut job] {
            half.write_prompt();
        }
        for later in self.queue.iter_mut().filter(|job| job.fades.is_none()) {
            later.part += 1;
            later.parts += 1;
        }
        self.queue.push_front(second);
        self.queue.push_front(job);
    }
}

/// Why a model's text is no summary of the job's messages (P8), if it is none. The words of the goal and of the first message
/// are not held against it.
fn rejection(
    text: &str,
    source: &str,
    job: &SummaryJob,
    counter: &dyn TokenCounter,
) -> Option<Rejection> {
    let instructions = job.instructions();
    let first_message = match job.fades {
        Some(_) => "",
        None => job.passages.first().map_or("", |p| &p.text),
    };
    let draft = retention::Attempt {
        prompt: &instructions,
        first_message,
        source_tokens: counter.count(source),
        summary_tokens: counter.count(text),
    };
    retention::reject(text, source, &draft)
}

/// The text of a layer's shorter form, if it is one.
pub(super) fn accepted(text: &str, job: &SummaryJob, counter: &dyn TokenCounter) -> Option<String> {
    let (text, _) = clean(text, job);
    rejection(&text, &job.source(), job, counter)
        .is_none()
        .then_some(text)
}

/// What the fences of a job are made with (G3): unique by the revision it starts from, the last message and the
/// job's number.
pub(super) fn nonce_of(context: &Context, id: JobId, secret: &[u8; 16]) -> String {
    let tip = context.entries.last().map_or(0, |e| e.message.seq);
    let place = u64::from(context.view().revision) << 32 | u64::from(tip);
    palimpsest_text::fence::nonce_at(place, id.into(), secret)
}

/// The summary without the model's thinking and markers, and what the markers propose. A citation counts only
/// of a message the job showed.
fn clean(text: &str, job: &SummaryJob) -> (String, Vec<Proposal>) {
    let text = strip_thinking(text);
    let mut markers = crate::data::marker::parse(&text, &job.nonce);
    markers.keep_citations(|seq| job.passages.iter().any(|p| p.seq == seq));
    (markers.text.trim().to_owned(), markers.proposals)
}

/// Removes `<think>` blocks; an unclosed one takes everything after it.
fn strip_thinking(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("<think>") {
        out.push_str(&rest[..at]);
        match rest[at..].find("</think>") {
            Some(end) => rest = &rest[at + end + "</think>".len()..],
            None => return out,
        }
    }
    // a template may open the block itself
    if let Some(end) = rest.find("</think>")
        && out.is_empty()
    {
        rest = &rest[end + "</think>".len()..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P8: a model's thinking is no part of its summary.
    #[test]
    fn thinking_is_stripped() {
        let check = |input: &str, expected: &str| assert_eq!(strip_thinking(input), expected);
        check("plain", "plain");
        check("<think>a</think>b", "b");
        check("a<think>b</think>c<think>d", "ac");
        check("opened by the template</think>b", "b");
    }
}
