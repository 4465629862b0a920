//! Stage 3: makes jobs for a summariser and processes its answers (P7, P8).

use std::collections::VecDeque;

use palimpsest_tokens::TokenCounter;

use crate::context::Context;
use crate::data::layer::{Author, LayerId, Level};
use crate::data::marker::{self, Markers, Proposal};
use crate::data::message::seq_of;
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

/// A note without a model is at most this many times as long as the first form of its layer.
const LONGEST_NOTE: u32 = 4;

/// Attempts with a model before the deterministic summary is taken.
const ATTEMPTS: u32 = 2;

/// A request for a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryJob {
    /// Its number.
    pub id: JobId,
    /// The part of the range, counted from 1.
    pub part: u32,
    /// The number of parts into which the range was split.
    pub parts: u32,
    /// 1, or 2 after a rejected answer.
    pub attempt: u32,
    /// The largest number of tokens of the summary.
    pub target_tokens: u32,
    /// System message for a model.
    pub system: String,
    /// User message for a model: instructions and the messages, fenced as data.
    pub prompt: String,
    /// The nonce of the fences around markers in the answer.
    pub nonce: String,
    /// The messages themselves.
    pub passages: Vec<JobPassage>,
    /// The layer of which this summary is a shorter form, made from its notes; `None` for the summary of the new layer.
    pub fades: Option<LayerId>,
    pub(super) level: Level,
    pub(super) mode: Mode,
    pub(super) focus: Option<String>,
    pub(super) language: Option<String>,
    pub(super) goal: Option<String>,
    pub(super) headings: Headings,
}

impl SummaryJob {
    /// The largest number of tokens of a model's answer: 120 % of the target (P7).
    pub const fn num_predict(&self) -> u32 {
        self.target_tokens + self.target_tokens / 5 + 16
    }

    /// The deterministic summary of the same messages.
    pub fn extractive(&self, counter: &dyn TokenCounter) -> String {
        self.selection(self.target_tokens, None, counter).text
    }

    /// Selects the best pieces of the deterministic summary in at most `room` tokens.
    fn selection(&self, room: u32, known: Option<&Known>, counter: &dyn TokenCounter) -> Summary {
        let mut passages: Vec<Passage<'_>> = Vec::new();
        for passage in &self.passages {
            let whole = Passage {
                calls: passage.calls,
                day: passage.day,
                ..Passage::new(
                    passage.seq,
                    retention::Speaker::from(passage.role),
                    &passage.text,
                )
            };
            if passage.is_summary {
                passages.extend(extractive::lines_of(&whole));
            } else {
                passages.push(whole);
            }
        }
        let options = extractive::Options {
            target_tokens: room,
            emphasis: emphasis(self.mode),
            focus: self.focus.as_deref(),
            known,
            ..extractive::Options::default()
        };
        extractive::summarize(&passages, &options, counter)
    }

    /// Writes the deterministic summary, longer than requested, because layers take from it what they have room for.
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

    /// The instructions for the model, without the messages and without the user's words about the goal. A sentence of
    /// them does not belong in a summary.
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

    /// Counts the `facts` in a layer with the summary `text`: those in the text, and those for which its list of facts
    /// has room, which is as large as the summary's.
    fn facts_kept(&self, text: &str, facts: &retention::Audit, counter: &dyn TokenCounter) -> u32 {
        let checked = facts.check(text);
        let room = (self.target_tokens * 2).saturating_sub(counter.count(text));
        let emphasis = emphasis(self.mode);
        let ledger = retention::ledger(&checked.missing, emphasis, room, counter);
        checked.found + ledger.kept.len() as u32
    }

    /// Returns `true` if the deterministic summary keeps more facts in the same room.
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

    /// All words of the messages to summarise.
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
    /// The text.
    Text(String),
    /// It wrote nothing, for the reason of this code. The deterministic summary is used.
    Failed(String),
}

/// An accepted text for one job.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    pub(super) text: String,
    /// The pieces of a text without a model, the best first.
    pub(super) order: Vec<Piece>,
    pub(super) author: Author,
}

/// Things that were noticed in the summarisers' answers, for the report.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Noticed {
    /// Statements that were struck out, because their messages do not say what they name.
    pub(super) struck: u32,
    /// Lines among the proposals that look like a marker and are none.
    pub(super) unknown_markers: u32,
}

/// The summarisers' answers so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Answers {
    /// The texts of the parts, in their order.
    pub(super) written: Vec<Written>,
    pub(super) noticed: Noticed,
    /// Their proposed changes of the goal.
    pub(super) proposals: Vec<Proposal>,
    /// The shorter form of a layer that the model wrote.
    pub(super) faded: Option<(LayerId, String)>,
}

/// The jobs of a run, while they are answered one after the other.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    /// The job whose answer the caller owes.
    waiting: Option<SummaryJob>,
    /// The jobs after it.
    queue: VecDeque<SummaryJob>,
    /// The next job's number.
    next_id: JobId,
    answers: Answers,
}

/// The error for an answer to a job that is not waiting.
pub(super) const fn not_waiting(job: JobId) -> CoreError {
    CoreError::NotFound {
        what: "waiting job",
        id: job,
    }
}

impl Asking {
    /// Starts with these jobs, none of them requested. `next_id` is the number of the next one.
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

    /// The further jobs that a model has to answer.
    pub(super) fn queued(&self) -> impl Iterator<Item = &SummaryJob> {
        self.queue.iter().filter(|job| !job.prompt.is_empty())
    }

    /// Requests the waiting job again, or answers it without a model.
    pub(super) fn put_back(&mut self) {
        if let Some(job) = self.waiting.take() {
            self.queue.push_front(job);
        }
    }

    /// Requests the next job that a model has to answer, if none is waiting. Jobs without a model are answered here.
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
            // The shorter form of a layer is cut deterministically when its turn comes.
        }
    }

    /// Returns the answers, when no job is left.
    pub(super) fn into_answers(self) -> Answers {
        self.answers
    }

    /// Takes the answer to the waiting job. Returns the reason if it ends the run.
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
            // A failed fade is cut deterministically, without a second call (C4).
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
        let Markers {
            text,
            proposals,
            unknown,
            ..
        } = clean(&text, &waiting);
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
                self.answers.noticed.struck += struck;
                self.answers.noticed.unknown_markers += unknown;
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

    /// Uses the deterministic summary in place of a model's.
    fn fall_back(&mut self, task: &Task, job: &SummaryJob, reason: String) {
        let counter = task.original.counter.as_ref();
        let written = job.written(Author::Fallback { reason }, &task.known, counter);
        self.answers.written.push(written);
    }

    /// Splits a job in two, because the model's tokenizer counted more tokens than ours.
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

/// Returns the reason for which a model's text is not a summary of the job's messages (P8). Words of the goal and of
/// the first message do not count against it.
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

/// Returns the text of a layer's shorter form, if it is acceptable.
pub(super) fn accepted(text: &str, job: &SummaryJob, counter: &dyn TokenCounter) -> Option<String> {
    let text = clean(text, job).text;
    rejection(&text, &job.source(), job, counter)
        .is_none()
        .then_some(text)
}

/// The nonce of a job's fences (G3). The revision at the start of the run, the last message and the job's number make
/// it unique.
pub(super) fn nonce_of(context: &Context, id: JobId, secret: &[u8; 16]) -> String {
    let tip = context.entries.last().map_or(0, |e| e.message.seq);
    let place = u64::from(context.view().revision) << 32 | u64::from(tip);
    palimpsest_text::fence::nonce_at(place, id.into(), secret)
}

/// Reads the markers of a summary, whose text is then without them and without the model's thinking. A citation counts only if
/// the job showed the message.
fn clean(text: &str, job: &SummaryJob) -> Markers {
    let text = strip_thinking(text);
    let mut markers = marker::parse(&text, &job.nonce);
    markers.keep_citations(|number| {
        seq_of(number).filter(|seq| job.passages.iter().any(|p| p.seq == *seq))
    });
    markers.text = markers.text.trim().to_owned();
    markers
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
    // A template may open the block itself.
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

    /// P8: a model's thinking is not part of its summary.
    #[test]
    fn thinking_is_stripped() {
        let check = |input: &str, expected: &str| assert_eq!(strip_thinking(input), expected);
        check("plain", "plain");
        check("<think>a</think>b", "b");
        check("a<think>b</think>c<think>d", "ac");
        check("opened by the template</think>b", "b");
    }
}
