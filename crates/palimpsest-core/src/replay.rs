//! The same conversation under several policies, side by side (E4): how many tokens the window held over
//! time, how often and how a policy made it smaller, how often a model was asked, what is still there.
//!
//! A pure function: messages in, figures out. Whoever supplies the summaries decides whether a model is
//! asked; without one every summary is the deterministic one.

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

/// How to replay.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayOptions {
    /// The model's window in tokens.
    pub window: u32,
    /// What is known about the model beside it.
    pub share: ShareOptions,
    /// The system prompt.
    pub system: String,
    /// Tokens of the tool definitions.
    pub tools: u32,
    /// What the conversation is about.
    pub mode: Mode,
    /// Name of the summariser that answers the jobs; `None` for the deterministic one.
    pub model: Option<String>,
}

impl ReplayOptions {
    /// A window of that size, everything else as by default.
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

/// Every policy's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayReport {
    /// How many messages were said.
    pub messages: u32,
    /// Tokens of all of them, shown as they were said.
    pub said: u32,
    /// In the order in which the policies were given.
    pub policies: Vec<PolicyReplay>,
}

/// What the window held when a message had been said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// The message.
    pub message: Seq,
    /// Tokens of the window with it, before anything was done.
    pub before: u32,
    /// Tokens after; the same if nothing was.
    pub after: u32,
}

/// One policy's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyReplay {
    /// The policy.
    pub policy: String,
    /// The window over time, a point a message.
    pub tokens: Vec<Point>,
    /// The most that was ever sent.
    pub peak: u32,
    /// What the window holds at the end.
    pub last: u32,
    /// Tokens sent in all: a request for every message of the model.
    pub sent: u64,
    /// Compactions.
    pub compactions: u32,
    /// Compactions that were due and changed nothing.
    pub refused: u32,
    /// How often the emergency had to help.
    pub emergencies: u32,
    /// Summaries asked of a model, repeated attempts included.
    pub model_calls: u32,
    /// Tokens a model had to read again because the beginning of the window had changed.
    pub reread: u64,
    /// What each pass shed over the whole conversation, in the order of the ladder; `on_arrival` beside it.
    pub passes: Vec<Shed>,
    /// Tokens saved by condensing results as they arrived.
    pub on_arrival: u32,
    /// What the last window still holds of the facts that were said, by class.
    pub retention: Vec<ClassRetention>,
}

/// Facts of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassRetention {
    /// The class.
    pub class: FactClass,
    /// Different ones that were said.
    pub said: u32,
    /// Of those, the ones the last window holds.
    pub shown: u32,
    /// Of those, the ones it does not hold, but in messages whose place it does: a reference, or a shorter
    /// form, by which they can be recalled.
    pub recallable: u32,
}

/// Replays `messages` under every policy. `summarize` answers the jobs of a model; it is not called when
/// `options.model` is `None`.
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

/// What is replayed: messages, and the facts in them. Looked through once for all policies.
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
            .map(|m| (speaker(m.role), m.words()))
            .collect();
        Self {
            facts: Audit::new(words.iter().map(|(who, text)| (*who, text.as_str()))),
            messages,
            counter: Rc::clone(counter),
        }
    }

    /// The report before any policy was played.
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

/// The replay under one policy, some messages at a time: for a host that must not stand still meanwhile.
pub struct PolicyRun<'a> {
    said: &'a Said,
    player: Player<'a>,
    at: usize,
}

impl<'a> PolicyRun<'a> {
    /// Nothing is said yet. Refused where the policy or the window cannot be used.
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

    /// Says the next messages, at most `count`. Whether some are left.
    pub fn advance(&mut self, count: usize) -> bool {
        let end = self.at.saturating_add(count).min(self.said.messages.len());
        for message in &self.said.messages[self.at..end] {
            self.player.say(message);
        }
        self.at = end;
        end < self.said.messages.len()
    }

    /// The figures as of what was said.
    pub fn finish(self) -> PolicyReplay {
        let (mut played, context) = (self.player.played, self.player.context);
        played.last = context.tokens();
        played.retention = retention(&context, &self.said.facts);
        played
    }
}

/// Answers a model's jobs with the deterministic summary: every call that a model would get is counted, and none is
/// made.
pub fn counted(job: &SummaryJob, counter: &dyn TokenCounter) -> SuppliedSummary {
    SuppliedSummary::Text(job.extractive(counter))
}

/// As [`replay`], over a list in a caller's dialect (the one it looks like if none is given), with the deterministic
/// summariser; with a model named, the calls it would get are counted ([`counted`]). System messages at its beginning
/// are the system prompt.
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

/// Refused runs in a row after which nothing is tried before the window is full (I9).
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

    /// What a session does: before the model speaks the window must fit; after it spoke the policy is asked.
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

    /// A tool's result is condensed as it comes in, where the policy says so.
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

    /// A call of a marking tool asks for a mark, as the tool itself does in a session.
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
            if emergency::shrink(&mut smaller, limit, 0.0).is_ok() {
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

/// A replay has no clock and no secret: nothing it makes leaves it.
const SEED: Seed = Seed {
    now: 0.0,
    secret: [0; 16],
};

const fn speaker(role: Role) -> Speaker {
    match role {
        Role::User | Role::System => Speaker::User,
        Role::Assistant => Speaker::Assistant,
        Role::Tool => Speaker::Tool,
    }
}

/// What the window holds of the facts, and what the places it shows can bring back.
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
