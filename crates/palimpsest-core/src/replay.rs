//! Replays the same conversation under several policies, side by side (E4): the tokens of the window over time, the
//! number and kind of compactions, the calls of a model, and the facts that are still there.
//!
//! It is a pure function from messages to figures. The supplier of summaries decides if a model is asked; without one
//! every summary is the deterministic one.

use std::rc::Rc;

use palimpsest_text::sorted::SortedMap;
use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::{Context, Seed, Setup};
use crate::data::message::{Message, Origin, Part, Role, Seq};
use crate::data::mode::Mode;
use crate::data::policy::Policy;
use crate::data::record::Records;
use crate::data::rendition::{ReducedKind, Rendition};
use crate::data::shares::ShareOptions;
use crate::error::CoreError;
use crate::pass::{self, PassKind, Shed, emergency};
use crate::run::{Refusal, Run, RunOptions, Step, SummaryJob, SuppliedSummary};
use crate::watermark::{self, MarkReason};
use palimpsest_dialect::{self as dialect, Dialect};
use palimpsest_text::retention::{Audit, FactClass, Speaker};

/// The options of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayOptions {
    /// The model's window in tokens.
    pub window: u32,
    /// The other facts about the model.
    pub share: ShareOptions,
    /// The system prompt.
    pub system: String,
    /// Tokens of the tool definitions.
    pub tools: u32,
    /// The kind of work.
    pub mode: Mode,
    /// The name of the summariser that answers the jobs; `None` for the deterministic one.
    pub model: Option<String>,
}

impl ReplayOptions {
    /// Creates options with a window of that size and defaults for the rest.
    pub fn new(window: u32) -> Self {
        Self {
            window,
            share: ShareOptions::default(),
            system: String::new(),
            tools: 0,
            mode: Mode::default(),
            model: None,
        }
    }
}

/// The figures of all policies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ReplayReport {
    /// The number of messages.
    pub messages: u32,
    /// The tokens of all messages in verbatim form.
    pub said: u32,
    /// The figures, in the order of the given policies.
    pub policies: Vec<PolicyReplay>,
}

/// The window after one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Point {
    /// The message.
    pub message: Seq,
    /// The tokens of the window with the message, before any action.
    pub before: u32,
    /// The tokens after the actions; the same number without any.
    pub after: u32,
}

/// The figures of one policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PolicyReplay {
    /// The policy.
    pub policy: String,
    /// The window over time, one point per message.
    pub tokens: Vec<Point>,
    /// The largest prompt.
    pub peak: u32,
    /// The tokens of the window at the end.
    pub last: u32,
    /// The tokens of all requests, one for every message of the model.
    pub sent: u64,
    /// Compactions.
    pub compactions: u32,
    /// The number of compactions that were due and changed nothing.
    pub refused: u32,
    /// The number of emergencies.
    pub emergencies: u32,
    /// The number of summaries requested of a model, repeated attempts included.
    pub model_calls: u32,
    /// The tokens that a model had to read again because the beginning of the window had changed.
    pub reread: u64,
    /// The savings of each pass over the whole conversation, in the order of the ladder. `on_arrival` comes separately.
    pub passes: Vec<Shed>,
    /// The tokens saved by condensing results on arrival.
    pub on_arrival: u32,
    /// The facts of the conversation that the last window still holds, by class.
    pub retention: Vec<ClassRetention>,
}

/// Facts of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ClassRetention {
    /// The class.
    pub class: FactClass,
    /// The number of different facts in the conversation.
    pub said: u32,
    /// The number of them that the last window holds.
    pub shown: u32,
    /// The number of them that it does not hold, but whose message is there as a reference or in a shorter form, so
    /// that they can be recalled.
    pub recallable: u32,
}

/// Replays `messages` under every policy. `summarize` answers the jobs of a model; it is not called if `options.model`
/// is `None`.
pub fn replay(
    messages: &[Message],
    policies: &[Policy],
    options: &ReplayOptions,
    counter: &Rc<dyn TokenCounter>,
    summarize: &mut dyn FnMut(&SummaryJob) -> SuppliedSummary,
) -> Result<ReplayReport, CoreError> {
    let said = Said::new(messages.iter().cloned().map(Rc::new).collect(), counter);
    let mut report = said.report();
    for policy in policies {
        let mut run = PolicyRun::new(&said, policy.clone(), options, summarize)?;
        run.advance(usize::MAX);
        report.policies.push(run.finish());
    }
    Ok(report)
}

/// The messages of a replay and their facts, read once for all policies.
pub struct Said {
    messages: Vec<Rc<Message>>,
    counter: Rc<dyn TokenCounter>,
    facts: Audit,
}

impl Said {
    /// Finds the facts.
    pub fn new(messages: Vec<Rc<Message>>, counter: &Rc<dyn TokenCounter>) -> Self {
        let words: Vec<(Speaker, String)> = messages
            .iter()
            .map(|m| (Speaker::from(m.role), m.words()))
            .collect();
        Self {
            facts: Audit::new(words.iter().map(|(who, text)| (*who, text.as_str()))),
            messages,
            counter: Rc::clone(counter),
        }
    }

    /// Returns the report before any policy was replayed.
    pub fn report(&self) -> ReplayReport {
        let sizes = self
            .messages
            .iter()
            .map(|m| crate::data::rendition::verbatim_tokens(m, self.counter.as_ref()));
        ReplayReport {
            messages: self.messages.len() as u32,
            said: sizes.fold(0, u32::saturating_add),
            policies: Vec::new(),
        }
    }
}

/// The replay under one policy, in steps of some messages, for a host that must not block meanwhile.
pub struct PolicyRun<'a> {
    said: &'a Said,
    player: Player<'a>,
    at: usize,
}

impl<'a> PolicyRun<'a> {
    /// Starts before the first message.
    ///
    /// # Errors
    ///
    /// [`CoreError`] if the policy or the window is not usable.
    pub fn new(
        said: &'a Said,
        policy: Policy,
        options: &'a ReplayOptions,
        summarize: &'a mut dyn FnMut(&SummaryJob) -> SuppliedSummary,
    ) -> Result<Self, CoreError> {
        let setup = Setup::new(options.window, options.share, policy, options.tools)?;
        let records = Records::with_system(options.system.clone());
        let context = Context::new(setup, records, Rc::clone(&said.counter));
        Ok(Self {
            said,
            player: Player::new(context, options, summarize),
            at: 0,
        })
    }

    /// Adds at most `count` further messages. Returns `true` if some are left.
    pub fn advance(&mut self, count: usize) -> bool {
        let end = self.at.saturating_add(count).min(self.said.messages.len());
        for message in &self.said.messages[self.at..end] {
            self.player.say(message);
        }
        self.at = end;
        end < self.said.messages.len()
    }

    /// Returns the figures of the messages so far.
    pub fn finish(self) -> PolicyReplay {
        let (mut played, context) = (self.player.played, self.player.context);
        played.last = context.tokens();
        played.retention = retention(&context, &self.said.facts);
        played
    }
}

/// Answers a model's job with the deterministic summary: counts the call without making it.
pub fn counted(job: &SummaryJob, counter: &dyn TokenCounter) -> SuppliedSummary {
    SuppliedSummary::Text(job.extractive(counter))
}

/// Replays a list in a caller's dialect (detected if none is given), with the deterministic summariser. If a model is
/// named, its calls are counted ([`counted`]). System messages at the beginning are the system prompt.
pub fn replay_list(
    values: &[Value],
    dialect: Option<Dialect>,
    policies: &[Policy],
    options: &ReplayOptions,
    counter: &Rc<dyn TokenCounter>,
) -> Result<ReplayReport, CoreError> {
    let dialect = dialect
        .or_else(|| dialect::detect(values))
        .unwrap_or(Dialect::OpenAi);
    let parsed = dialect::parse(values, dialect, Origin::Host)?;
    let options = ReplayOptions {
        system: parsed.system_text(),
        ..options.clone()
    };
    let messages: Vec<Message> = parsed.messages.into_iter().map(|m| m.message).collect();
    let mut nobody = |job: &SummaryJob| counted(job, counter.as_ref());
    replay(&messages, policies, &options, counter, &mut nobody)
}

/// The number of refused runs in a row after which nothing is tried before the window is full (I9).
const STRIKES: u32 = 2;

struct Player<'a> {
    context: Context,
    options: &'a ReplayOptions,
    summarize: &'a mut dyn FnMut(&SummaryJob) -> SuppliedSummary,
    passes: SortedMap<PassKind, Shed>,
    strikes: u32,
    played: PolicyReplay,
}

impl<'a> Player<'a> {
    fn new(
        context: Context,
        options: &'a ReplayOptions,
        summarize: &'a mut dyn FnMut(&SummaryJob) -> SuppliedSummary,
    ) -> Self {
        let policy = context.setup().policy.name.clone();
        Self {
            context,
            options,
            summarize,
            passes: SortedMap::new(),
            strikes: 0,
            played: PolicyReplay {
                policy,
                tokens: Vec::new(),
                peak: 0,
                last: 0,
                sent: 0,
                compactions: 0,
                refused: 0,
                emergencies: 0,
                model_calls: 0,
                reread: 0,
                passes: Vec::new(),
                on_arrival: 0,
                retention: Vec::new(),
            },
        }
    }

    /// Acts like a session: before the model speaks the window must fit, and afterwards the policy is asked.
    fn say(&mut self, message: &Rc<Message>) {
        if message.role == Role::Assistant {
            self.fit();
            let tokens = self.context.tokens();
            self.played.sent += u64::from(tokens);
            self.played.peak = self.played.peak.max(tokens);
        }
        self.context.push(Rc::clone(message));
        self.arrive(message);
        self.mark(message);
        let before = self.context.tokens();
        if self.strikes < STRIKES && self.context.is_due() {
            self.compact();
        }
        self.played.tokens.push(Point {
            message: message.seq,
            before,
            after: self.context.tokens(),
        });
    }

    /// Condenses a tool's result on arrival, if the policy says so.
    fn arrive(&mut self, message: &Message) {
        let policy = Rc::clone(&self.context.setup().policy);
        if !policy.on_arrival
            || !message
                .parts
                .iter()
                .any(|p| matches!(p, Part::ToolResult { .. }))
        {
            return;
        }
        if let Some(short) = pass::condense::on_arrival(&self.context, &policy.tool_output) {
            let before = self.context.tokens();
            let mut view = self.context.view().clone();
            view.reduced.insert(message.seq, Rc::new(short));
            self.context.set_view(view);
            self.played.on_arrival += before.saturating_sub(self.context.tokens());
        }
    }

    /// Asks for a mark on a call of a marking tool, as the tool itself does in a session.
    fn mark(&mut self, message: &Message) {
        let policy = Rc::clone(&self.context.setup().policy);
        if watermark::marks(message, &policy.marks.tools) {
            let mut view = self.context.view().clone();
            let before = message.seq.checked_sub(1);
            watermark::ask(&mut view, &policy.marks.tools, MarkReason::Asked, before);
            self.context.set_view(view);
        }
    }

    fn fit(&mut self) {
        if self.context.check_limit().valid {
            return;
        }
        self.compact();
        let limit = self.context.setup().shares.limit;
        if self.context.tokens() > limit {
            let before = self.context.tokens();
            let mut smaller = self.context.clone();
            if emergency::shrink_with_demands(&mut smaller, limit, 0.0).is_ok() {
                self.context = smaller;
            }
            self.add(&[Shed::new(
                PassKind::Emergency,
                0,
                before.saturating_sub(self.context.tokens()),
            )]);
            self.played.reread += u64::from(self.context.tokens());
        }
    }

    fn compact(&mut self) {
        let options = RunOptions {
            mode: self.options.mode,
            model: self.options.model.clone(),
            ..RunOptions::default()
        };
        let mut run = Run::new(&self.context, options, SEED);
        let result = loop {
            match run.step() {
                Step::Need(job) => {
                    self.played.model_calls += 1;
                    let answer = (self.summarize)(&job);
                    if run.supply(job.id, answer).is_err() {
                        break Err(Refusal::Cancelled);
                    }
                }
                Step::Done(proposal) => break Ok(proposal),
                Step::Refused(refusal) => break Err(refusal),
            }
        };
        if let Ok(proposal) = result {
            if let Some(records) = proposal.records {
                self.context.set_records(records);
            }
            self.context.set_view(proposal.view);
            self.played.compactions += 1;
            self.played.reread += u64::from(proposal.report.reread);
            self.add(&proposal.report.passes);
            self.strikes = if self.context.is_due() {
                self.strikes + 1
            } else {
                0
            };
        } else {
            self.played.refused += 1;
            self.strikes += 1;
        }
    }

    fn add(&mut self, passes: &[Shed]) {
        for shed in passes {
            let sum = self
                .passes
                .entry(shed.pass)
                .or_insert(Shed::new(shed.pass, 0, 0));
            sum.messages = sum.messages.saturating_add(shed.messages);
            sum.tokens = sum.tokens.saturating_add(shed.tokens);
            self.played.emergencies += u32::from(shed.pass == PassKind::Emergency);
        }
        self.played.passes = self.passes.values().copied().collect();
    }
}

/// A replay has no clock and no secret, because nothing that it makes leaves it.
const SEED: Seed = Seed {
    now: 0.0,
    secret: [0; 16],
};

/// Counts the facts that the window holds, and those that its references can return.
fn retention(context: &Context, facts: &Audit) -> Vec<ClassRetention> {
    let mut window = String::new();
    for message in context.window().messages() {
        for part in message.parts() {
            window.push_str(part.words());
            window.push('\n');
        }
    }
    let mut places = String::new();
    for entry in context.entries() {
        let kept = match context.view().rendition(entry.message.seq) {
            Rendition::Reduced(r) => {
                matches!(
                    r.kind,
                    ReducedKind::Offloaded | ReducedKind::Condensed | ReducedKind::Excerpt
                )
            }
            Rendition::Verbatim | Rendition::Covered(_) => false,
        };
        if kept {
            places.push_str(&entry.message.words());
            places.push('\n');
        }
    }
    let missing = facts.check(&window).missing;
    let lost = Audit { facts: missing };
    let gone = lost.check(&places).missing;
    let mut classes: SortedMap<FactClass, ClassRetention> = SortedMap::new();
    let mut count = |list: &[palimpsest_text::retention::Fact], add: fn(&mut ClassRetention)| {
        for fact in list {
            add(classes.entry(fact.class).or_insert(ClassRetention {
                class: fact.class,
                said: 0,
                shown: 0,
                recallable: 0,
            }));
        }
    };
    count(&facts.facts, |c| {
        c.said += 1;
        c.shown += 1;
    });
    count(&lost.facts, |c| {
        c.shown -= 1;
        c.recallable += 1;
    });
    count(&gone, |c| c.recallable -= 1);
    classes.into_values().collect()
}
