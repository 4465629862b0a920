use std::cell::RefCell;

use palimpsest_core::compact::{
    self, Cache, CompactOptions, CompactOutput, CompactReport, CompactState, CompactStep,
};
use palimpsest_core::context::Seed;
use palimpsest_core::dialect::Dialect;
use palimpsest_core::goal::Goal;
use palimpsest_core::mode::Mode;
use palimpsest_core::policy::{Demands, Policy};
use palimpsest_core::run::{SummaryJob, SuppliedSummary};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border::{self, Tokens};
use crate::failure::Failure;
use crate::lists::count::Counter;

/// The options of `compact` and `compactWith`, as a caller writes them. Tool definitions, whose fields are not ours,
/// cross as text beside them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Options {
    window: Tokens,
    reserve: Option<Tokens>,
    max_tokens: Option<Tokens>,
    /// A preset's name.
    policy: Option<String>,
    /// Where found demands stand; comes before what the policy says.
    demands: Option<Demands>,
    /// Whether covered passages are quoted; comes before what the policy says.
    recall: Option<bool>,
    /// What the provider keeps of a prompt between requests.
    cache: Option<Cache>,
    /// Rules of the caller's own: a preset and what differs from it.
    rules: Option<Value>,
    /// The system prompt, where it is no message of the list.
    system: Option<String>,
    goal: Option<Goal>,
    #[serde(default)]
    pins: Vec<String>,
    dialect: Option<String>,
    #[serde(default)]
    thinking: bool,
    mode: Option<String>,
    focus: Option<String>,
    /// Who answers the jobs; nobody for the extractive summariser.
    model: Option<String>,
}

impl Options {
    pub(crate) fn core(self, tools: Vec<Value>) -> Result<CompactOptions, Failure> {
        let mut policy = match (self.rules, self.policy) {
            (Some(rules), _) => Policy::from_value(&rules)?,
            (None, Some(name)) => Policy::preset(&name)?,
            (None, None) => Policy::default(),
        };
        if let Some(demands) = self.demands {
            policy.demands = demands;
        }
        if let Some(recall) = self.recall {
            policy.recall = recall;
        }
        Ok(CompactOptions {
            window: self.window.get()?,
            reserve: self.reserve.map(Tokens::reserve).transpose()?,
            max_tokens: self.max_tokens.map(Tokens::get).transpose()?,
            policy,
            tools,
            system: self.system,
            goal: self.goal,
            pins: self.pins,
            dialect: self.dialect.as_deref().map(Dialect::named).transpose()?,
            thinking: self.thinking,
            mode: self.mode.map_or_else(Mode::default, Mode::from),
            focus: self.focus,
            model: self.model,
            cache: self.cache.unwrap_or_default(),
        })
    }
}

/// What a summariser is asked for, as a caller reads it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Job<'a> {
    id: u32,
    part: u32,
    parts: u32,
    attempt: u32,
    target_tokens: u32,
    max_tokens: u32,
    system: &'a str,
    prompt: &'a str,
}

impl<'a> From<&'a SummaryJob> for Job<'a> {
    fn from(job: &'a SummaryJob) -> Self {
        Self {
            id: job.id,
            part: job.part,
            parts: job.parts,
            attempt: job.attempt,
            target_tokens: job.target_tokens,
            max_tokens: job.num_predict(),
            system: &job.system,
            prompt: &job.prompt,
        }
    }
}

#[derive(Debug, Serialize)]
struct Asked<'a> {
    job: Job<'a>,
}

#[derive(Debug, Serialize)]
struct Written<'a> {
    messages: border::Items<'a>,
    report: &'a CompactReport,
    state: &'a CompactState,
}

/// One call of `compact` or `compactWith`.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Compaction(RefCell<Option<compact::Compaction>>);

#[wasm_bindgen]
impl Compaction {
    /// Reads the list. `secret` are 16 random bytes, for what the answers' markers are fenced with; nothing for the
    /// extractive summariser.
    #[wasm_bindgen(constructor)]
    pub fn new(
        messages: &str,
        #[wasm_bindgen(unchecked_param_type = "Border.Compacting")] options: JsValue,
        tools: Option<String>,
        state: Option<String>,
        counter: &Counter,
        secret: &[u8],
    ) -> Result<Self, Failure> {
        let options = border::options(options)?;
        start(
            messages,
            options,
            tools.as_deref(),
            state.as_deref(),
            counter,
            secret,
        )
    }

    /// Goes on: JSON text of `{ job }`, or of `{ messages, report, state }`.
    #[wasm_bindgen(unchecked_return_type = "Border.Text<Border.Step>")]
    pub fn step(&self) -> Result<String, Failure> {
        self.next()
    }

    /// The jobs that follow the one that was asked for, which may be answered at once.
    #[wasm_bindgen(unchecked_return_type = "SummaryJob[]")]
    pub fn queued(&self) -> Result<JsValue, Failure> {
        let inner = self.0.borrow();
        let jobs: Vec<Job<'_>> = inner
            .iter()
            .flat_map(compact::Compaction::queued)
            .map(Job::from)
            .collect();
        border::told(&jobs)
    }

    /// Answers a job.
    pub fn supply(&self, job: u32, text: String) -> Result<(), Failure> {
        self.answer(job, SuppliedSummary::Text(text))
    }

    /// Says that a job will not be answered: the extractive summary is taken.
    pub fn fail(&self, job: u32, code: String) -> Result<(), Failure> {
        self.answer(job, SuppliedSummary::Failed(code))
    }

    /// Does the rest with the extractive summariser: JSON text of `{ messages, report, state }`.
    #[wasm_bindgen(unchecked_return_type = "Border.Text<Border.Compacted>")]
    pub fn finish(&self) -> Result<String, Failure> {
        let compaction = self.0.borrow_mut().take().ok_or_else(over)?;
        let output = compaction.finish_without_model().map_err(Failure::from)?;
        written(&output)
    }
}

impl Compaction {
    fn next(&self) -> Result<String, Failure> {
        let step = self.0.borrow_mut().as_mut().ok_or_else(over)?.step()?;
        match step {
            CompactStep::Need(job) => border::text(&Asked {
                job: job.as_ref().into(),
            }),
            CompactStep::Done(output) => written(&output),
        }
    }

    fn answer(&self, job: u32, answer: SuppliedSummary) -> Result<(), Failure> {
        Ok(self
            .0
            .borrow_mut()
            .as_mut()
            .ok_or_else(over)?
            .supply(job, answer)?)
    }
}

fn start(
    messages: &str,
    options: Options,
    tools: Option<&str>,
    state: Option<&str>,
    counter: &Counter,
    secret: &[u8],
) -> Result<Compaction, Failure> {
    let bad = |what: &str, error: serde_json::Error| {
        Failure::new(
            "invalid_options",
            format!("{what} cannot be used: {error}."),
        )
    };
    let tools = tools.map_or_else(
        || Ok(Vec::new()),
        |t| palimpsest_text::json::read(t).map_err(|e| bad("tools", e)),
    )?;
    let state = state
        .map(|s| palimpsest_text::json::read(s).map_err(|e| bad("state", e)))
        .transpose()?;
    // no clock: the same call has the same result
    let seed = Seed {
        now: 0.0,
        secret: secret.try_into().unwrap_or_default(),
    };
    let values = border::messages(messages)?;
    let inner = compact::Compaction::start(values, &options.core(tools)?, state, &counter.0, seed)?;
    Ok(Compaction(RefCell::new(Some(inner))))
}

/// One text for all of it: fractions keep their shortest form, and the caller parses once.
fn written(output: &CompactOutput) -> Result<String, Failure> {
    border::text(&Written {
        messages: border::Items(&output.messages),
        report: &output.report,
        state: &output.state,
    })
}

fn over() -> Failure {
    Failure::new("closed", "This compaction is over.")
}
