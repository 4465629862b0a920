//! One list of messages in, a smaller one out: no session, no storage (the npm function `compact`).
//!
//! The caller keeps the whole list. What is left out is still there, under its index; the state given
//! back with the longer list keeps earlier layers byte-identical.

use std::hash::Hasher;
use std::rc::Rc;

use palimpsest_tokens::{Count, Source, TokenCounter};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use siphasher::sip::SipHasher24;

use crate::context::window;
use crate::context::{Context, Recalled, Seed, Setup, View};
use crate::data::goal::Goal;
use crate::data::layer::Span;
use crate::data::message::{Message, Origin, Part, Role, Seq};
use crate::data::mode::Mode;
use crate::data::policy::{Demands, Policy};
use crate::data::record::{FoundDemand, Pin, PinKind, Records};
use crate::data::shares::ShareOptions;
use crate::data::tool::definitions_tokens;
use crate::error::CoreError;
use crate::loss::{self, Loss};
use crate::pass::{Adjustment, PassKind, Shed, emergency};
use crate::run::{JobId, Refusal, Run, RunOptions, RunReport, Step, SummaryJob, SuppliedSummary};
use crate::watermark;
use palimpsest_dialect::{self as dialect, Dialect, Parsed, Rendered, Shows};
use palimpsest_text::retention::{Facts, Known};

mod headroom;
mod quoting;
mod recall;
mod resolve;
mod seal;
mod stored;
mod tail;

pub use headroom::{Cache, PRICE_CACHED, PRICE_WRITTEN};
use quoting::{Asked, Earlier};
pub use recall::{RECALL_TOOL, Unfound, Wanted, recall};
pub use resolve::Resolved;
use tail::Tail;

/// How to compact a list.
#[derive(Debug, Clone)]
pub struct CompactOptions {
    /// The model's window in tokens.
    pub window: u32,
    /// Tokens kept free for the answer; by default what [`crate::shares::Shares`] keeps free in such a window.
    pub reserve: Option<u32>,
    /// The most tokens the result may hold; by default the window without reserve and margin.
    pub max_tokens: Option<u32>,
    /// The rules.
    pub policy: Policy,
    /// Tool definitions that go with the request.
    pub tools: Vec<Value>,
    /// The goal.
    pub goal: Option<Goal>,
    /// Lines to keep word for word.
    pub pins: Vec<String>,
    /// The list's shape, where the caller knows it.
    pub dialect: Option<Dialect>,
    /// The model thinks before it answers.
    pub thinking: bool,
    /// What the conversation is about.
    pub mode: Mode,
    /// What the summary should dwell on.
    pub focus: Option<String>,
    /// Name of the summariser that will answer the jobs; `None` for the deterministic one.
    pub model: Option<String>,
    /// What is kept of a prompt between requests: how far below its limit a compaction goes.
    pub cache: Cache,
}

impl CompactOptions {
    /// `balanced` in a window of that size.
    pub fn new(window: u32) -> Self {
        Self {
            window,
            reserve: None,
            max_tokens: None,
            policy: Policy::default(),
            tools: Vec::new(),
            goal: None,
            pins: Vec::new(),
            dialect: None,
            thinking: false,
            mode: Mode::default(),
            focus: None,
            model: None,
            cache: Cache::default(),
        }
    }
}

/// What to give back with the longer list. Opaque.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompactState {
    version: u32,
    /// Messages it was made from.
    messages: u32,
    /// Hash of those messages.
    hash: String,
    view: View,
    /// The view's shorter forms, as positions in the messages.
    #[serde(default)]
    shorter: Vec<stored::Shorter>,
    pins: Vec<Pin>,
    /// The reasoning of messages before this one is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning_from: Option<Seq>,
    /// The list that came back, where layers stand in it: given back instead of the whole list, it is recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Handed>,
    /// What is quoted before the user's last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<Asked>,
    /// Check sum of all this: a state that was edited is not used.
    #[serde(default)]
    seal: String,
}

/// A list that was handed to the caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Handed {
    /// Hash of its messages and of its system prompt.
    hash: String,
    /// The system prompt of the list it was made from, without the records that are rendered with it.
    system: String,
    /// Which message each of its messages shows.
    shows: Vec<Shows>,
}

/// What a call did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactReport {
    /// Whether the list came back changed.
    pub changed: bool,
    /// Tokens of the list as it was given, tools included.
    pub before: Count,
    /// Tokens of the list that came back, tools included.
    pub after: Count,
    /// The most it may hold.
    pub limit: u32,
    /// Layers in the result.
    pub layers: u32,
    /// Messages that are not shown any more, as ranges of positions.
    pub covered: Vec<Span>,
    /// Positions of the user's messages that stand word for word in the slot.
    pub quoted: Vec<Seq>,
    /// Positions of the user's messages of which an excerpt stands in the slot, or since this call in their own place.
    pub shortened: Vec<Seq>,
    /// The user's demands that were found in covered messages, with the positions of those messages. They stand where the
    /// policy says.
    pub demands: Vec<FoundDemand>,
    /// Positions of the user's messages that stood word for word before this call, of which neither the words nor an
    /// excerpt stand now.
    pub summarised: Vec<Seq>,
    /// Positions of the covered messages of which passages are quoted before the user's last message. A message may be
    /// there more than once.
    pub recalled: Vec<Seq>,
    /// Tokens that those quotes added; 0 if they stood in the given list already.
    pub recalled_tokens: u32,
    /// What each pass took, in the order in which they ran. The tokens of all together are `before` less `after`, with
    /// `recalledTokens` on top.
    pub passes: Vec<Shed>,
    /// What became of the facts of what this call took out or shortened. With a state: since the call that gave it.
    pub facts: Facts,
    /// Facts found in the result ÷ facts of what this call took out or shortened; 1 if it took nothing.
    pub retention: f32,
    /// Whether something left without a trace in the result: see [`Loss::lossy`].
    pub lossy: bool,
    /// Facts that nothing in the result leads back to, the most important class first; at most [`loss::MOST_NAMED`].
    /// `facts` says how many there were.
    pub dropped: Vec<String>,
    /// What was done beside summarising.
    pub adjustments: Vec<String>,
    /// A stable name for each of the adjustments, in their order.
    pub codes: Vec<String>,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactOutput {
    /// The new list: the caller's own values by index, others in the same dialect.
    pub messages: Vec<Rendered>,
    /// What was done.
    pub report: CompactReport,
    /// Give this back with the longer list.
    pub state: CompactState,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum CompactStep {
    /// Answer this job with [`Compaction::supply`], then step again.
    Need(Box<SummaryJob>),
    /// The result.
    Done(Box<CompactOutput>),
}

/// One call in progress.
#[derive(Debug)]
pub struct Compaction {
    values: Vec<Value>,
    parsed: Parsed,
    context: Context,
    run: Option<Run>,
    before: Count,
    /// As the call found it: what it took is told by comparison.
    found: Context,
    passes: Vec<Shed>,
    limit: u32,
    /// What a compaction goes down to.
    aim: u32,
    adjustments: Vec<Adjustment>,
    plain: bool,
    /// The list is one that an earlier call gave.
    is_handed: bool,
    /// What an earlier call quoted.
    earlier: Earlier,
    /// The list's unfinished end, which stays as it is. `values` is what stands before it.
    tail: Tail,
}

impl Compaction {
    /// Reads the list and decides whether anything has to be done.
    pub fn start(
        mut values: Vec<Value>,
        options: &CompactOptions,
        state: Option<CompactState>,
        counter: &Rc<dyn TokenCounter>,
        seed: Seed,
    ) -> Result<Self, CoreError> {
        let dialect = options
            .dialect
            .or_else(|| dialect::detect(&values))
            .unwrap_or(Dialect::OpenAi);
        let mut parsed = dialect::parse(&values, dialect, Origin::Host)?;
        let tail = Tail::take(&mut values, &mut parsed, counter.as_ref())?;
        let mut adjustments = Vec::new();
        let state = state.filter(|state| {
            let wrong = seal::wrong(state, STATE_VERSION);
            adjustments.extend(wrong.map(|(code, text)| Adjustment::new(code, text)));
            wrong.is_none()
        });
        let quoted = state.as_ref().map(|s| s.given_quotes(&parsed));
        let handed = state.as_ref().and_then(|s| s.recognise(&mut parsed));
        let tools =
            definitions_tokens(&options.tools, counter.as_ref()).saturating_add(tail.tokens);
        let share = ShareOptions {
            reserve: options.reserve,
            thinking: options.thinking,
            exact: counter.source() == Source::Exact,
        };
        let mut setup = Setup::new(options.window, share, options.policy.clone(), tools)?;
        // a list has no session behind it: what is not shown is found by a tool, or not at all
        setup.lookup = recall::lookup(&options.tools);
        let limit = options
            .max_tokens
            .unwrap_or(setup.shares.limit)
            .min(options.window);

        let system = handed.map_or_else(|| parsed.system_text(), |h| h.system.clone());
        let mut records = Records::with_system(system);
        records.goal.clone_from(&options.goal);
        records.check_room(options.window, counter.as_ref())?;
        for pin in &options.pins {
            records.pin(PinKind::Pin, pin, options.window, counter.as_ref())?;
        }
        let mut context = Context::new(setup, records.clone(), Rc::clone(counter));
        let mut hash = Fingerprint::default();
        let mut prefix = None;
        let reasoning = dialect::reasoning(&parsed, &values, counter.as_ref());
        for (n, (from, reasoning)) in parsed.messages.iter().zip(reasoning).enumerate() {
            if state.as_ref().is_some_and(|s| s.messages as usize == n) {
                prefix = Some(hash.text());
            }
            hash.add(&from.message);
            context.push_with_reasoning(Rc::new(from.message.clone()), reasoning);
        }
        let mut before = context.count();
        let is_handed = handed.is_some();
        let mut earlier = Earlier::default();
        if let Some(mut state) = state {
            let whole = (state.messages as usize == parsed.messages.len()).then(|| hash.text());
            // of a list that was handed back the shorter forms are what was read
            state.view.reduced.clear();
            if is_handed || prefix.or(whole).as_deref() == Some(&state.hash) {
                let quoted = quoted.filter(|_| is_handed).unwrap_or_default();
                earlier = Earlier::of(&state, quoting::given(&state, quoted, &context));
                for pin in state.pins {
                    if !records.pins.iter().any(|p| p.text == pin.text) {
                        records.pins.push(pin);
                    }
                }
                if !is_handed {
                    stored::put(&mut state.view, &state.shorter, &context);
                }
                context.set_records(records);
                context.set_view(state.view);
                context.leave_out_reasoning(state.reasoning_from.unwrap_or(0) as usize);
                if is_handed {
                    before = quoting::count_with(&mut context, earlier.given());
                }
            } else {
                adjustments.push(Adjustment::new(
                    "state_of_other_list",
                    "the state belongs to another list and was not used",
                ));
            }
        }
        let plain = options.pins.is_empty() && options.goal.is_none();
        let found = context.clone();
        let mut passes = Vec::new();
        let given = earlier.given().map_or(0, |given| given.tokens);
        let was = before.tokens.saturating_sub(given);
        shed(&mut passes, PassKind::Earlier, 0, was, &context);
        let is_over = context.tokens() > limit - quoting::kept_free(&context, limit);
        if leave_out_reasoning(&mut context, limit) {
            let messages = (0..context.entries().len())
                .filter(|&n| found.reasoning_of(n) > 0 && context.reasoning_of(n) == 0)
                .count() as u32;
            let was = found.count().tokens;
            shed(&mut passes, PassKind::Reasoning, messages, was, &context);
            adjustments.push(Adjustment::new(
                "left_out_reasoning",
                "left out the reasoning of finished turns",
            ));
        }
        let marked = mark(&mut context);
        let aim = headroom::aim(&context, limit, options.cache);
        // what is changed is changed at once: the next requests find the beginning as it is
        let run = (is_over && context.tokens() > aim || marked).then(|| {
            let run_options = RunOptions {
                aim: quoting::aim(&context, limit, aim),
                manual: false,
                focus: options.focus.clone(),
                mode: options.mode,
                model: options.model.clone(),
                chunk: None,
                grounded: true,
            };
            Run::new(&context, run_options, seed).since(found.clone(), passes.clone())
        });
        Ok(Self {
            values,
            parsed,
            context,
            run,
            before,
            found,
            passes,
            limit,
            aim,
            adjustments,
            plain,
            is_handed,
            earlier,
            tail,
        })
    }

    /// Goes on until a summary is needed or the result is there.
    pub fn step(&mut self) -> Result<CompactStep, CoreError> {
        let Some(run) = &mut self.run else {
            return Ok(self.finish(None));
        };
        match run.step() {
            Step::Need(job) => Ok(CompactStep::Need(job)),
            Step::Done(proposal) => {
                if let Some(records) = proposal.records {
                    self.context.set_records(records);
                }
                self.context.set_view(proposal.view);
                Ok(self.finish(Some(proposal.report)))
            }
            Step::Refused(Refusal::CannotFit { floor, limit }) => {
                Err(CoreError::CannotFit { floor, limit })
            }
            Step::Refused(Refusal::Cancelled) => Err(CoreError::Cancelled),
            Step::Refused(Refusal::ModelFailed) => Err(CoreError::ModelFailed),
            Step::Refused(Refusal::NothingCompressible) => Err(CoreError::NothingCompressible),
            Step::Refused(Refusal::NothingToCompress | Refusal::NotWorth { .. }) => {
                // No summary helps: whatever else makes it fit.
                let was = self.context.clone();
                // some way below the limit, so that the next message finds room
                let below = self.aim.max(self.limit - self.limit / 8);
                let mut done = emergency::shrink(&mut self.context, below, 0.0);
                if done.is_err() && below < self.limit {
                    self.context = was.clone();
                    done = emergency::shrink(&mut self.context, self.limit, 0.0);
                }
                match done {
                    Ok(done) => {
                        self.adjustments.extend(done);
                        shed(
                            &mut self.passes,
                            PassKind::Emergency,
                            loss::changed(&was, &self.context),
                            was.count().tokens,
                            &self.context,
                        );
                        Ok(self.finish(None))
                    }
                    Err(Refusal::CannotFit { floor, limit }) => {
                        Err(CoreError::CannotFit { floor, limit })
                    }
                    Err(_) => Err(CoreError::NothingCompressible),
                }
            }
        }
    }

    /// Answers the job that [`Self::step`] asked for.
    pub fn supply(&mut self, job: JobId, answer: SuppliedSummary) -> Result<(), CoreError> {
        match &mut self.run {
            Some(run) => run.supply(job, answer),
            None => Err(CoreError::NotFound {
                what: "waiting job",
                id: job,
            }),
        }
    }

    /// The jobs after the one that [`Self::step`] asked for: see [`Run::queued`].
    pub fn queued(&self) -> impl Iterator<Item = &SummaryJob> {
        self.run.iter().flat_map(Run::queued)
    }

    /// Does it all with the deterministic summariser.
    pub fn finish_without_model(mut self) -> Result<CompactOutput, CoreError> {
        loop {
            match self.step()? {
                CompactStep::Done(output) => return Ok(*output),
                CompactStep::Need(job) => {
                    let text = job.extractive(self.context.counter.as_ref());
                    self.supply(job.id, SuppliedSummary::Text(text))?;
                }
            }
        }
    }

    fn finish(&mut self, run: Option<RunReport>) -> CompactStep {
        let (loss, done) = match run {
            Some(report) => {
                self.passes = report.passes;
                let done = report.adjustments.into_iter().zip(report.codes).collect();
                let loss = Loss {
                    facts: report.facts.unwrap_or_default(),
                    dropped: report.dropped,
                    lossy: report.lossy.unwrap_or_default(),
                    summarised: report.summarised,
                    shortened: report.shortened,
                };
                (loss, done)
            }
            None => (
                loss::settle(
                    &self.found,
                    &mut self.context,
                    None,
                    &mut self.passes,
                    &Known::default(),
                ),
                Vec::new(),
            ),
        };
        let (mut adjustments, mut codes) = Adjustment::split(std::mem::take(&mut self.adjustments));
        for (text, code) in done {
            adjustments.push(text);
            codes.push(code);
        }
        let was = self.context.count().tokens;
        let mut asked = self.quote();
        let context = &self.context;
        let messages = self.parsed.messages.iter().enumerate();
        let silent = messages.filter(|(n, from)| from.reasons() && !context.sends_reasoning(*n));
        self.parsed.silent = silent.map(|(_, from)| from.message.seq).collect();
        let (mut messages, mut untouched) = self.render();
        let mut hash = Fingerprint::default();
        for from in &self.parsed.messages {
            hash.add(&from.message);
        }
        let has_layers = !self.context.view().layers.is_empty();
        let mut output = has_layers.then(|| self.handed(&messages)).flatten();
        if output.is_none() && self.context.view().recalled.is_some() {
            // a list that is recognised with its state is worth more than quotes
            let quotes = self.context.view().recalled.clone();
            self.show_quotes(None);
            let (bare, bare_untouched) = self.render();
            output = self.handed(&bare);
            if output.is_some() {
                (messages, untouched, asked) = (bare, bare_untouched, None);
            } else {
                self.show_quotes(quotes);
            }
        }
        std::mem::take(&mut self.tail).put_back(&mut messages);
        let after = self.context.count();
        let mut view = self.context.view().clone();
        let quotes_now = view.recalled.take();
        let recalled_tokens = self.settle_quotes(quotes_now.as_ref(), was, after.tokens);
        // what a caller counts are the values of its list, of which one may hold several messages
        let position = |seq: Seq| self.parsed.raw_of(seq).map_or(seq, |raw| raw as u32);
        let quotes = |whole: bool| -> Vec<Seq> {
            let quotes = view.quotes.iter();
            let quotes = quotes.filter(|q| self.context.says_whole(q) == whole);
            quotes.map(|q| position(q.seq)).collect()
        };
        let mut shortened = quotes(false);
        for seq in loss.shortened.into_iter().map(position) {
            if !shortened.contains(&seq) {
                shortened.push(seq);
            }
        }
        let report = CompactReport {
            changed: !untouched,
            before: self.before,
            after,
            limit: self.limit,
            layers: view.layers.iter().filter(|l| l.tokens > 0).count() as u32,
            covered: view
                .layers
                .iter()
                .flat_map(|l| l.covers.iter())
                .map(|span| Span {
                    from: position(span.from),
                    to: position(span.to),
                })
                .collect(),
            quoted: quotes(true),
            shortened,
            demands: self.demands(position),
            summarised: loss.summarised.into_iter().map(position).collect(),
            recalled: quotes_now
                .iter()
                .flat_map(|r| r.quotes.iter().map(|q| position(q.seq)))
                .collect(),
            recalled_tokens,
            passes: std::mem::take(&mut self.passes),
            facts: loss.facts,
            retention: loss.facts.retention(),
            lossy: loss.lossy,
            dropped: loss.dropped,
            adjustments,
            codes,
        };
        let shorter = stored::take(&mut view, &self.context);
        stored::slim(&mut view, &self.context);
        let pins = self.context.records().pins.iter();
        let mut state = CompactState {
            version: STATE_VERSION,
            messages: self.parsed.messages.len() as u32,
            hash: hash.text(),
            view,
            shorter,
            pins: pins
                .filter(|p| matches!(p.kind, PinKind::Constraint { .. }))
                .cloned()
                .collect(),
            reasoning_from: Some(self.context.reasoning_from() as Seq).filter(|from| *from > 0),
            output,
            asked,
            seal: String::new(),
        };
        state.seal = seal::of(&state);
        CompactStep::Done(Box::new(CompactOutput {
            messages,
            report,
            state,
        }))
    }
}

impl Compaction {
    /// The list as the context has it, and whether that is the caller's.
    fn render(&self) -> (Vec<Rendered>, bool) {
        let view = self.context.view();
        let untouched = view.layers.is_empty()
            && view.reduced.is_empty()
            && self.parsed.silent.is_empty()
            && self.plain;
        let mut messages: Vec<Rendered> = if untouched {
            (0..self.values.len()).map(Rendered::Kept).collect()
        } else {
            dialect::render_list(self.context.window().said(), &self.values, &self.parsed)
        };
        if self.is_handed {
            // what an earlier call made is the caller's own by now
            for (n, message) in messages.iter_mut().enumerate() {
                if matches!(message, Rendered::Made(made) if self.values.get(n) == Some(made)) {
                    *message = Rendered::Kept(n);
                }
            }
        }
        let same = messages.len() == self.values.len()
            && (0..).zip(&messages).all(|(n, m)| *m == Rendered::Kept(n));
        (messages, untouched || (self.is_handed && same))
    }

    /// Notes the quotes that went out of the given list, and says how many tokens others added. `was` is the window without
    /// any quotes.
    fn settle_quotes(&mut self, now: Option<&Recalled>, was: u32, after: u32) -> u32 {
        let added = after.saturating_sub(was);
        match self.earlier.given() {
            Some(given) if now.is_some_and(|now| now == given) => 0,
            Some(given) => {
                self.passes
                    .push(Shed::new(PassKind::Recall, 0, given.tokens));
                added
            }
            None => added,
        }
    }

    /// The demands that the list carries from now on.
    fn demands(&self, position: impl Fn(Seq) -> Seq) -> Vec<FoundDemand> {
        if self.context.setup().policy.demands == Demands::Off {
            return Vec::new();
        }
        let pins = self.context.records().pins.iter();
        let demands = pins.filter_map(|pin| match pin.kind {
            PinKind::Constraint { from, level } => Some(FoundDemand {
                text: pin.text.clone(),
                message: position(from),
                level,
            }),
            _ => None,
        });
        demands.collect()
    }

    /// What to know the list by that goes to the caller, if each message read from it shows one of ours.
    fn handed(&self, messages: &[Rendered]) -> Option<Handed> {
        let own = |message: &Rendered| match message {
            Rendered::Kept(index) => self.values.get(*index).cloned(),
            Rendered::Made(value) => Some(value.clone()),
        };
        let values = messages.iter().map(own).collect::<Option<Vec<Value>>>()?;
        let read = dialect::parse(&values, self.parsed.dialect, Origin::Host).ok()?;
        let window = self.context.window();
        // where a dialect has no system messages, the prompt is the first text of the first message
        let inside = read.system.is_empty();
        let mut parts = window.messages().iter().flat_map(|message| {
            let role = match message.role() {
                Role::System if inside => Some(Role::User),
                Role::System => None,
                role => Some(role),
            };
            let sources = message.sources().iter().zip(message.parts());
            sources.filter_map(move |(s, part)| Some((role?, s, part)))
        });
        let mut rows: Vec<Shows> = Vec::new();
        for from in &read.messages {
            let mut row = Shows {
                seq: None,
                after: 0,
                quoted: None,
            };
            for read in from.message.parts.iter().filter(|p| !p.is_empty()) {
                let (role, mut source, part) = parts.next()?;
                if role != from.message.role {
                    return None;
                }
                if *source == window::Source::Recalled {
                    // quotes for a message that somebody else's words lead could not be told from those
                    if row.seq.is_some() {
                        return None;
                    }
                    let lead = part.words().len();
                    let is_joined = read.words().len() > lead;
                    row.quoted = Some(0);
                    if is_joined {
                        let lead = lead + quoting::JOIN.len();
                        row.quoted = Some(u32::try_from(lead).ok()?);
                        let (_, next, own) = parts.next()?;
                        if read.words().get(lead..) != Some(own.words()) {
                            return None;
                        }
                        source = next;
                    }
                }
                match source {
                    window::Source::Message(seq) => row.seq = row.seq.or(Some(*seq)),
                    _ if row.seq.is_none() => row.after += 1,
                    _ => {}
                }
            }
            // one message in two values cannot be put together again
            let is_split = |other: &Shows| other.seq.is_some() && other.seq == row.seq;
            if rows.iter().any(is_split) {
                return None;
            }
            rows.push(row);
        }
        // layers that stand anywhere but first cannot be told from what stands beside them
        let leads = rows
            .first()
            .is_some_and(|row| row.seq.is_none() || row.after > 0);
        if parts.next().is_some() || !leads {
            return None;
        }
        Some(Handed {
            hash: fingerprint(&read, read.messages.len()),
            system: self.context.records().system.clone(),
            shows: rows,
        })
    }
}

impl CompactState {
    /// Whether a list begins with the one that was handed out with this state. Then it becomes the longer one that it
    /// stands for: what the layers cover is not there any more, and not needed, since they stand for it.
    fn recognise(&self, parsed: &mut Parsed) -> Option<&Handed> {
        let handed = self.output.as_ref()?;
        let count = handed.shows.len();
        // a state comes from outside: what it says of itself must not cost more than a list could
        if self.messages > MOST_HANDED
            || parsed.messages.len() < count
            || fingerprint(parsed, count) != handed.hash
        {
            return None;
        }
        parsed.of_compacted(self.messages, &handed.shows, |seq| {
            let quote = self.view.quotes.iter().find(|q| q.seq == seq);
            let role = quote.map_or(Role::Assistant, |_| Role::User);
            Message {
                parts: quote.map(|q| Part::text(&q.text)).into_iter().collect(),
                ..Message::text(seq, role, "")
            }
        });
        Some(handed)
    }
}

/// Of the first messages of a list, and its system prompt.
fn fingerprint(parsed: &Parsed, count: usize) -> String {
    let mut hash = Fingerprint::default();
    hash.add(&Message::text(0, Role::System, parsed.system_text()));
    for from in &parsed.messages[..count] {
        hash.add(&from.message);
    }
    hash.text()
}

/// Notes what a pass freed since the window held `was` tokens, if that is anything.
fn shed(passes: &mut Vec<Shed>, pass: PassKind, messages: u32, was: u32, context: &Context) {
    let tokens = was.saturating_sub(context.count().tokens);
    if tokens > 0 {
        passes.push(Shed::new(pass, messages, tokens));
    }
}

/// Leaves the reasoning of finished turns out where the list is too long with it, that of the last message last. Says
/// whether there was any.
fn leave_out_reasoning(context: &mut Context, limit: u32) -> bool {
    let end = context.loop_start();
    let last = context.entries().len().saturating_sub(1);
    let mut is_changed = false;
    for end in [end.min(last), end] {
        let before = context.tokens();
        let costs = (0..end).any(|n| context.reasoning_of(n) > 0);
        if before > limit && costs {
            context.leave_out_reasoning(end);
            is_changed |= context.tokens() < before;
        }
    }
    is_changed
}

/// Nobody attends to a list: where the policy acts on marks, the last call of a marking tool is one. Says
/// whether that leaves something to strip.
fn mark(context: &mut Context) -> bool {
    let policy = Rc::clone(&context.setup().policy);
    if !policy.acts_on_marks() {
        return false;
    }
    let Some(at) = watermark::last_call(context, &policy.marks.tools) else {
        return false;
    };
    let mut view = context.view().clone();
    view.watermark = Some(at);
    context.set_view(view);
    context.due(&crate::budget::Occasion::default()) == Some(crate::budget::Due::Watermark)
}

/// The longest list, in messages, whose compacted form is recognised.
const MOST_HANDED: u32 = 1_000_000;

/// Version of [`CompactState`].
const STATE_VERSION: u32 = 2;

/// Recognises the beginning of a list.
struct Fingerprint(SipHasher24);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(SipHasher24::new_with_key(b"palimpsest state"))
    }
}

impl Fingerprint {
    fn add(&mut self, message: &Message) {
        // parts are plain data: this cannot fail
        let parts = serde_json::to_string(&message.parts).unwrap_or_default();
        self.0.write_u8(message.role as u8);
        self.0.write_u64(parts.len() as u64);
        self.0.write(parts.as_bytes());
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0.finish())
    }
}
