//! Stage 2: what a summariser is given (P5, P7).

use std::collections::VecDeque;

use crate::context::Context;
use crate::data::layer::{Layer, Level, layer_body};
use crate::data::message::{Role, number_of};
use crate::data::mode::Mode;
use crate::data::policy::{Fading, Headings};
use crate::data::prompt::{PromptMessage, SummaryRequest};
use palimpsest_text::extractive;

use super::cover::{Form, SMALLEST_SUMMARY};
use super::identify::Identified;
use super::summarize::{Asking, SummaryJob, nonce_of};
use super::{JobId, JobPassage, Task, join};

/// A message longer than this part of a chunk is given to a model as head and tail.
const LARGEST_PART: u32 = 2;

/// Makes the jobs of a run: one for each part of the covered messages, and one for a layer that fades.
pub(super) fn prepare(task: &Task, found: &Identified) -> Asking {
    let context = &found.trimmed.context;
    let plan = &found.plan;
    let mut queue = VecDeque::new();
    let passages = if plan.form == Form::Summary {
        passages(context, &plan.covered)
    } else {
        Vec::new()
    };
    if passages.is_empty() {
        return Asking::of(queue, 1);
    }
    let asks_model = task.options.model.is_some();
    let chunks = if asks_model {
        let room = chunk_room(context, task.options.chunk);
        let parts = chunks(context, room, passages);
        join::small(parts, plan.newest, room, context.counter.as_ref())
    } else {
        vec![passages]
    };
    let counter = context.counter.as_ref();
    let parts = chunks.len() as u32;
    let size_of =
        |passages: &[JobPassage]| -> u32 { passages.iter().map(|p| counter.count(&p.text)).sum() };
    let total: u32 = chunks.iter().map(|passages| size_of(passages)).sum();
    let language = language(context);
    let goal = context.records().goal.as_ref();
    let goal = goal.map(|g| g.render(400, counter));
    let mut id: JobId = 1;
    for (part, passages) in chunks.into_iter().enumerate() {
        let share =
            u64::from(plan.newest) * u64::from(size_of(&passages)) / u64::from(total.max(1));
        let mut job = SummaryJob {
            id,
            part: part as u32 + 1,
            parts,
            fades: None,
            attempt: 1,
            target_tokens: (share as u32).max(SMALLEST_SUMMARY),
            system: String::new(),
            prompt: String::new(),
            nonce: nonce_of(context, id, &task.seed.secret),
            passages,
            level: context.setup().policy.levels.of(plan.covered_tokens),
            mode: task.options.mode,
            focus: task.options.focus.clone(),
            language: language.clone(),
            goal: goal.clone(),
            headings: context.setup().policy.headings,
        };
        if asks_model {
            job.write_prompt();
        }
        queue.push_back(job);
        id += 1;
    }
    let fades = asks_model && found.remade.is_none();
    if fades && let Some(job) = fade_job(task, context, id, language) {
        queue.push_back(job);
        id += 1;
    }
    Asking::of(queue, id)
}

/// What the summary is made of: the covered messages, and the layer that the new one takes the place of. What the user says
/// again where nothing covers it is left out.
fn passages(context: &Context, covered: &[usize]) -> Vec<JobPassage> {
    let standing: Vec<String> = context
        .shown
        .iter()
        .filter(|i| covered.binary_search(i).is_err())
        .map(|&i| &context.entries[i].message)
        .filter(|m| m.role == Role::User)
        .map(|m| m.words().trim().to_owned())
        .collect();
    let messages = covered.iter();
    let messages = messages.map(|&i| JobPassage::of(&context.entries[i].message));
    rewritten(context)
        .chain(messages)
        .filter(|p| !p.text.trim().is_empty())
        .filter(|p| p.role != Role::User || standing.iter().all(|s| s != p.text.trim()))
        .collect()
}

/// Where one layer is rewritten each time (seed 4), what it said is summarised along.
fn rewritten(context: &Context) -> impl Iterator<Item = JobPassage> {
    let single = context.setup().has_one_layer;
    let layers = context.view().layers.iter();
    layers
        .filter(move |l| single && l.tokens > 0)
        .map(|l| JobPassage::made(l.range().from, layer_body(&l.summary, &l.ledger)))
}

/// The one model call of a compaction that goes to fading (C4): the layer that was the newest, made shorter from
/// its notes. Older ones are cut deterministically.
fn fade_job(
    task: &Task,
    context: &Context,
    id: JobId,
    language: Option<String>,
) -> Option<SummaryJob> {
    let room = context.setup().shares.older;
    if context.setup().policy.fading != Fading::Notes {
        return None;
    }
    let layer = context
        .view()
        .layers
        .iter()
        .rfind(|l| l.level == Level::Detailed && l.tokens > room && !l.notes.is_empty())?;
    let form = LayerForm {
        target_tokens: room * 3 / 4,
        level: Level::Moderate,
        mode: task.options.mode,
        language,
    };
    Some(form.job(context, layer, id, &task.seed.secret))
}

/// A shorter form of a layer that a model is to write from its notes.
pub(super) struct LayerForm {
    /// Tokens that it should have at most.
    pub(super) target_tokens: u32,
    /// How much detail it has.
    pub(super) level: Level,
    pub(super) mode: Mode,
    pub(super) language: Option<String>,
}

impl LayerForm {
    /// The job of that number.
    pub(super) fn job(
        self,
        context: &Context,
        layer: &Layer,
        id: JobId,
        secret: &[u8; 16],
    ) -> SummaryJob {
        let notes = layer.notes.iter().filter_map(|n| context.view().note(*n));
        let mut job = SummaryJob {
            id,
            part: 1,
            parts: 1,
            fades: Some(layer.id),
            attempt: 1,
            target_tokens: self.target_tokens,
            system: String::new(),
            prompt: String::new(),
            nonce: nonce_of(context, id, secret),
            passages: notes.map(|note| JobPassage::of_note(note)).collect(),
            level: self.level,
            mode: self.mode,
            focus: None,
            language: self.language,
            goal: None,
            headings: Headings::Level,
        };
        job.write_prompt();
        job
    }
}

/// The tokens of messages that one request to the summariser may hold; `most` is what its window holds.
fn chunk_room(context: &Context, most: Option<u32>) -> u32 {
    let most = most.unwrap_or(u32::MAX);
    most.min(context.setup().shares.chunk).max(256)
}

/// Splits at messages so that no request holds more than `room` tokens of them.
fn chunks(context: &Context, room: u32, passages: Vec<JobPassage>) -> Vec<Vec<JobPassage>> {
    let counter = context.counter.as_ref();
    let mut chunks: Vec<Vec<JobPassage>> = Vec::new();
    let mut left = 0;
    for mut passage in passages {
        let mut tokens = counter.count(&passage.text);
        if tokens > room / LARGEST_PART {
            passage.text = extractive::excerpt(&passage.text, room / LARGEST_PART, counter);
            passage.calls = None;
            tokens = counter.count(&passage.text);
        }
        tokens += join::FRAME;
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
                number: number_of(p.seq),
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
