//! Stage 2: what a summariser is given (P5, P7).

use crate::context::Context;
use crate::data::layer::Level;
use crate::data::layer::layer_body;
use crate::data::message::{Message, Part, Role, Seq};
use crate::data::policy::{Fading, Headings as PolicyHeadings};
use crate::data::prompt::{Headings, PromptMessage, SummaryRequest};
use crate::pass::offload;
use palimpsest_text::extractive;

use super::identify::{Form, words_of};
use super::summarize::SummaryJob;
use super::{Run, Stage};

/// One message as a summariser reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPassage {
    /// The message.
    pub seq: Seq,
    /// Who speaks.
    pub role: Role,
    /// The words, without thinking.
    pub text: String,
    /// Where in the text the calls of tools begin, if it makes any.
    pub calls: Option<usize>,
    /// The day it was said, if that is known.
    pub day: Option<extractive::Day>,
}

impl JobPassage {
    /// Words that were written about messages, the first of which is `seq`.
    pub(super) const fn made(seq: Seq, text: String) -> Self {
        Self {
            seq,
            role: Role::Assistant,
            text,
            calls: None,
            day: None,
        }
    }
}

/// A message longer than this part of a chunk is given to a model as head and tail.
const LARGEST_PART: u32 = 2;

impl Run {
    /// Whether a model is asked at all. At 2,048 tokens and below its prompt would not fit beside what
    /// is to be summarised (section XI).
    fn asks_model(&self) -> bool {
        self.options.model.is_some() && self.context.setup().shares.window > 2_048
    }

    pub(super) fn prepare(&mut self) {
        debug_assert_eq!(self.stage, Stage::Prepare);
        let Some(plan) = self.plan.clone() else {
            return;
        };
        if plan.form != Form::Summary {
            return;
        }
        let standing: Vec<String> = self
            .context
            .shown
            .iter()
            .filter(|i| plan.covered.binary_search(i).is_err())
            .map(|&i| &self.context.entries[i].message)
            .filter(|m| m.role == Role::User)
            .map(|m| m.words().trim().to_owned())
            .collect();
        let passages: Vec<JobPassage> = self
            .rewritten()
            .chain(
                plan.covered
                    .iter()
                    .map(|&i| passage(&self.context.entries[i].message)),
            )
            .filter(|p| !p.text.trim().is_empty())
            // what the user says again where nothing covers it
            .filter(|p| p.role != Role::User || standing.iter().all(|s| s != p.text.trim()))
            .collect();
        if passages.is_empty() {
            return;
        }
        let asks_model = self.asks_model();
        let chunks = if asks_model {
            self.chunks(passages)
        } else {
            vec![passages]
        };
        let parts = chunks.len() as u32;
        let total: u32 = chunks
            .iter()
            .flatten()
            .map(|p| self.context.counter.count(&p.text))
            .sum();
        let language = self.language();
        let goal = self
            .context
            .records()
            .goal
            .as_ref()
            .map(|g| g.render(400, self.context.counter.as_ref()));
        for (part, passages) in chunks.into_iter().enumerate() {
            let size: u32 = passages
                .iter()
                .map(|p| self.context.counter.count(&p.text))
                .sum();
            let share = u64::from(plan.newest) * u64::from(size) / u64::from(total.max(1));
            let id = self.next_job;
            self.next_job += 1;
            let nonce = self.nonce(id);
            let mut job = SummaryJob {
                id,
                part: part as u32 + 1,
                parts,
                fades: None,
                attempt: 1,
                target_tokens: (share as u32).max(super::identify::SMALLEST_SUMMARY),
                system: String::new(),
                prompt: String::new(),
                nonce,
                passages,
                level: self.context.setup().policy.levels.of(plan.covered_tokens),
                mode: self.options.mode,
                focus: self.options.focus.clone(),
                language: language.clone(),
                goal: goal.clone(),
                headings: headings(self.context.setup().policy.headings),
            };
            if asks_model {
                job.write_prompt();
            }
            self.queue.push_back(job);
        }
        if asks_model {
            let fade = self.fade_job(language);
            self.queue.extend(fade);
        }
    }

    /// The one model call of a compaction that goes to fading (C4): the layer that was the newest, made shorter from
    /// its notes. Older ones are cut deterministically.
    fn fade_job(&mut self, language: Option<String>) -> Option<SummaryJob> {
        let context = &self.context;
        let room = context.setup().shares.older;
        if context.setup().policy.fading != Fading::Notes {
            return None;
        }
        let layer = context
            .view()
            .layers
            .iter()
            .rfind(|l| l.level == Level::Detailed && l.tokens > room && !l.notes.is_empty())?;
        let notes = layer.notes.iter().filter_map(|n| context.view().note(*n));
        let passages: Vec<JobPassage> = notes
            .map(|note| {
                let seq = note.covers.first().map_or(0, |s| s.from);
                JobPassage::made(seq, note.text.clone())
            })
            .collect();
        let id = self.next_job;
        let mut job = SummaryJob {
            id,
            part: 1,
            parts: 1,
            fades: Some(layer.id),
            attempt: 1,
            target_tokens: room * 3 / 4,
            system: String::new(),
            prompt: String::new(),
            nonce: self.nonce(id),
            passages,
            level: Level::Moderate,
            mode: self.options.mode,
            focus: None,
            language,
            goal: None,
            headings: Headings::ByLevel,
        };
        job.write_prompt();
        self.next_job += 1;
        Some(job)
    }

    /// Where one layer is rewritten each time (seed 4), what it said is summarised along.
    fn rewritten(&self) -> impl Iterator<Item = JobPassage> {
        let single = matches!(self.context.setup().policy.fading, Fading::Single { .. });
        let layers = self.context.view().layers.iter();
        layers
            .filter(move |l| single && l.tokens > 0)
            .map(|l| JobPassage::made(l.range().from, layer_body(&l.summary, &l.ledger)))
    }

    /// What the fences of a job are made with (G3). The number of a job is unique in its run only: the revision
    /// the run starts from and the last message make it unique in the session; the caller's secret is the
    /// session's own.
    pub(super) fn nonce(&self, id: super::JobId) -> String {
        super::summarize::nonce_of(&self.context, id, &self.seed.secret)
    }

    /// Splits at messages so that each request fits what the summariser may read.
    fn chunks(&self, passages: Vec<JobPassage>) -> Vec<Vec<JobPassage>> {
        let counter = self.context.counter.as_ref();
        let room = self
            .options
            .chunk
            .unwrap_or(u32::MAX)
            .min(self.context.setup().shares.chunk)
            .max(256);
        let mut chunks: Vec<Vec<JobPassage>> = Vec::new();
        let mut left = 0;
        for mut passage in passages {
            let mut tokens = counter.count(&passage.text);
            if tokens > room / LARGEST_PART {
                passage.text = extractive::excerpt(&passage.text, room / LARGEST_PART, counter);
                passage.calls = None;
                tokens = counter.count(&passage.text);
            }
            // number, role and JSON quoting
            tokens += 12;
            if tokens > left || chunks.is_empty() {
                chunks.push(Vec::new());
                left = room;
            }
            left = left.saturating_sub(tokens);
            if let Some(chunk) = chunks.last_mut() {
                chunk.push(passage);
            }
        }
        chunks
    }

    fn language(&self) -> Option<String> {
        language(&self.context)
    }
}

/// The language of the user's words, which the summary must keep.
pub(super) fn language(context: &Context) -> Option<String> {
    let words: String = context
        .entries
        .iter()
        .rev()
        .filter(|e| e.message.role == Role::User)
        .take(8)
        .map(|e| e.message.words())
        .collect::<Vec<_>>()
        .join("\n");
    palimpsest_text::words::detect_language(&words).map(|l| format!("{l:?}"))
}

impl SummaryJob {
    /// Writes system and user text for a model.
    pub(super) fn write_prompt(&mut self) {
        let messages: Vec<PromptMessage<'_>> = self
            .passages
            .iter()
            .map(|p| PromptMessage {
                number: p.seq,
                role: role_name(p.role),
                text: &p.text,
            })
            .collect();
        let request = SummaryRequest {
            level: self.level.into(),
            mode: self.mode,
            goal_text: self.goal.as_deref(),
            focus: self.focus.as_deref(),
            language: self.language.as_deref(),
            headings: self.headings,
            target_tokens: self.target_tokens,
            messages: &messages,
            nonce: &self.nonce,
        };
        let prompt = if self.attempt > 1 {
            request.tighter()
        } else {
            request.prompt()
        };
        self.system = prompt.system;
        self.prompt = prompt.user;
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

const fn headings(headings: PolicyHeadings) -> Headings {
    match headings {
        PolicyHeadings::Level => Headings::ByLevel,
        PolicyHeadings::Eight => Headings::Eight,
        PolicyHeadings::Short => Headings::Short,
    }
}

fn passage(message: &Message) -> JobPassage {
    let parts: Vec<Part> = message.parts.iter().map(restored).collect();
    let text = words_of(&parts);
    let first = parts
        .iter()
        .position(|p| matches!(p, Part::ToolCall { .. }));
    JobPassage {
        seq: message.seq,
        role: message.role,
        calls: first.map(|at| words_of(&parts[..at]).len().min(text.len())),
        day: extractive::day_at(message.at),
        text,
    }
}

/// What another program offloaded to a file of its own cannot be read here: it says so (O3). What palimpsest
/// offloaded is whole in the message.
fn restored(part: &Part) -> Part {
    let mut part = part.clone();
    if let Part::ToolResult { text, .. } = &mut part
        && let Some(path) = offload::foreign_path(text)
    {
        *text = offload::unavailable(path);
    }
    part
}
