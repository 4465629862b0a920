//! One list of messages in, a smaller one out: no session, no storage (the npm function `compact`).
//!
//! The caller keeps the whole list. What is left out is still there, under its index; the state given
//! back with the longer list keeps earlier layers byte-identical.

use std::rc::Rc;

use palimpsest_tokens::{Count, TokenCounter};
use serde_json::Value;

use crate::context::window;
use crate::context::{Context, Recalled, Seed};
use crate::data::layer::Span;
use crate::data::message::{Origin, Role, Seq};
use crate::data::policy::Demands;
use crate::data::record::{FoundDemand, Pin, PinKind, Records};
use crate::data::view::View;
use crate::error::CoreError;
use crate::headroom;
use crate::loss::{self, Loss};
use crate::pass::{Adjustment, PassKind, Shed, emergency};
use crate::run::{
    JobId, Refusal, Run, RunOptions, RunReport, Scope, Step, SummaryJob, SuppliedSummary,
};
use crate::watermark;
use palimpsest_dialect::{self as dialect, Dialect, Parsed, Rendered, Shows};
use palimpsest_text::retention::Known;
use palimpsest_text::sorted::SortedSet;

mod live;
mod options;
mod quoting;
mod recall;
mod report;
mod resolve;
mod seal;
mod state;
mod stored;
mod tail;
mod yielding;

pub use crate::headroom::{Cache, PRICE_CACHED, PRICE_WRITTEN};
pub use live::{Fitted, Live, Saved};
pub use options::CompactOptions;
use quoting::{Asked, Covered, Earlier};
pub use recall::{RECALL_TOOL, Unfound, Wanted, recall};
pub use report::CompactReport;
pub use resolve::Resolved;
pub use state::CompactState;
use state::{Fingerprint, Handed, STATE_VERSION, fingerprint};
use tail::Tail;

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
    /// Hash of the messages that were read.
    hash: String,
    /// The index over what layers cover, where one is kept between calls.
    covered: Option<Covered>,
    /// Demands for which the window has no room. The state keeps them.
    yielded: Vec<Pin>,
    /// The place that keeps the state until the next call.
    keeper: Keeper,
}

/// The place that keeps a state until the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeper {
    /// The caller, outside of the program: it is sealed.
    Caller,
    /// A [`Live`] conversation.
    Live,
}

/// A list as a call finds it: read, and seen as the call before left it.
struct Given {
    values: Vec<Value>,
    parsed: Parsed,
    tail: Tail,
    context: Context,
    limit: u32,
    before: Count,
    hash: String,
    adjustments: Vec<Adjustment>,
    is_handed: bool,
    earlier: Earlier,
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
            .or_else(|| dialect::detect_certain(&values))
            .or_else(|| state.as_ref()?.dialect)
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
        let beside = options.beside(counter.as_ref());
        let setup = options.setup(beside.saturating_add(tail.tokens), counter.as_ref())?;
        let limit = options.limit(&setup);
        let system = handed.map_or_else(|| parsed.system_text(), |h| h.system.clone());
        let mut records = options.records(system, counter.as_ref())?;
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
                adopt(&mut records, state.pins);
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
                adjustments.push(of_other_list());
            }
        }
        Ok(Self::begin(
            Given {
                values,
                parsed,
                tail,
                context,
                limit,
                before,
                hash: hash.text(),
                adjustments,
                is_handed,
                earlier,
            },
            options,
            seed,
        ))
    }

    /// Decides whether anything has to be done.
    fn begin(given: Given, options: &CompactOptions, seed: Seed) -> Self {
        let Given {
            values,
            parsed,
            tail,
            mut context,
            limit,
            before,
            hash,
            mut adjustments,
            is_handed,
            earlier,
        } = given;
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
                scope: Scope::Policy,
                aim: quoting::aim(&context, limit, aim),
                manual: false,
                focus: options.focus.clone(),
                mode: options.mode,
                model: options.model.clone(),
                chunk: None,
                grounded: true,
                // a list has one layer there
                shared: None,
            };
            Run::new(&context, run_options, seed).since(found.clone(), passes.clone())
        });
        Self {
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
            hash,
            covered: None,
            yielded: Vec::new(),
            keeper: Keeper::Caller,
        }
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
            Step::Refused(Refusal::CannotFit { floor, .. }) => {
                self.yield_records(floor)?;
                Ok(self.finish(None))
            }
            Step::Refused(Refusal::Cancelled) => Err(CoreError::Cancelled),
            Step::Refused(Refusal::ModelFailed) => Err(CoreError::ModelFailed),
            Step::Refused(Refusal::NothingCompressible) => Err(CoreError::NothingCompressible),
            Step::Refused(Refusal::NothingToCompress | Refusal::NotWorth { .. }) => {
                // No summary helps: whatever else makes it fit.
                let was = self.context.clone();
                // some way below the limit, so that the next message finds room
                let below = self.aim.max(self.limit - self.limit / 8);
                let mut done = emergency::shrink_with_demands(&mut self.context, below, 0.0);
                if done.is_err() && below < self.limit {
                    self.context = was.clone();
                    done = emergency::shrink_with_demands(&mut self.context, self.limit, 0.0);
                }
                match done {
                    Ok(done) => {
                        self.adjustments.extend(done.adjustments);
                        shed(
                            &mut self.passes,
                            PassKind::Emergency,
                            loss::changed(&was, &self.context),
                            was.count().tokens,
                            &self.context,
                        );
                        Ok(self.finish(None))
                    }
                    Err(Refusal::CannotFit { floor, .. }) => {
                        self.context = was;
                        self.yield_records(floor)?;
                        Ok(self.finish(None))
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
        self.complete()
    }

    fn complete(&mut self) -> Result<CompactOutput, CoreError> {
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
        let (loss, done) = self.lost(run);
        if self.passes.iter().any(|p| p.pass == PassKind::Emergency) {
            self.keep_lost_demands();
        }
        let (mut adjustments, mut codes) = Adjustment::split(std::mem::take(&mut self.adjustments));
        for (text, code) in done {
            adjustments.push(text);
            codes.push(code);
        }
        let was = self.context.count().tokens;
        let asked = self.quote();
        self.parsed.silent = self.silent();
        let mut written = self.write(asked);
        std::mem::take(&mut self.tail).put_back(&mut written.messages);
        let after = self.context.count();
        let mut view = self.context.view().clone();
        let quotes_now = view.recalled.take();
        let recalled_tokens = self.settle_quotes(quotes_now.as_ref(), was, after.tokens);
        let positions = |seqs: Vec<Seq>| seqs.into_iter().map(|seq| self.position(seq)).collect();
        let recalled = quotes_now.iter().flat_map(|r| &r.quotes);
        let report = CompactReport {
            changed: !written.untouched,
            before: self.before,
            after,
            limit: self.limit,
            layers: view.layers.iter().filter(|l| l.tokens > 0).count() as u32,
            covered: self.covered_in(&view),
            quoted: self.quoted_in(&view, true),
            shortened: self.shortened_in(&view, loss.shortened),
            demands: self.demands(|seq| self.position(seq)),
            summarised: positions(loss.summarised),
            recalled: positions(recalled.map(|q| q.seq).collect()),
            recalled_tokens,
            passes: std::mem::take(&mut self.passes),
            facts: loss.facts,
            retention: loss.facts.retention(),
            lossy: loss.lossy,
            dropped: loss.dropped,
            adjustments,
            codes,
        };
        let state = self.state(view, written.output, written.asked);
        CompactStep::Done(Box::new(CompactOutput {
            messages: written.messages,
            report,
            state,
        }))
    }

    /// Returns the loss that a run reports, with its adjustments as sentences and codes; without a run the loss of the passes.
    fn lost(&mut self, run: Option<RunReport>) -> (Loss, Vec<(String, String)>) {
        let Some(run) = run else {
            let known = Known::default();
            let passes = &mut self.passes;
            let loss = loss::settle(&self.found, &mut self.context, None, passes, &known);
            return (loss, Vec::new());
        };
        self.passes = run.passes;
        let loss = Loss {
            facts: run.facts.unwrap_or_default(),
            dropped: run.dropped,
            lossy: run.lossy.unwrap_or_default(),
            summarised: run.summarised,
            shortened: run.shortened,
        };
        (loss, run.adjustments.into_iter().zip(run.codes).collect())
    }

    /// The shown messages whose reasoning is not sent. Of what is covered nothing is written at all.
    fn silent(&self) -> SortedSet<Seq> {
        let shown = self.context.shown.iter().copied();
        let shown = shown.filter_map(|n| Some((n, self.parsed.messages.get(n)?)));
        let silent = shown.filter(|(n, from)| from.reasons() && !self.context.sends_reasoning(*n));
        silent.map(|(_, from)| from.message.seq).collect()
    }

    /// Writes the list. A list that is recognised with its state is worth more than quotes, which are left out where only
    /// without them it is.
    fn write(&mut self, asked: Option<Asked>) -> Written {
        let (messages, untouched) = self.render();
        let has_layers = !self.context.view().layers.is_empty();
        let output = has_layers.then(|| self.handed(&messages)).flatten();
        if output.is_none() && self.context.view().recalled.is_some() {
            let quotes = self.context.view().recalled.clone();
            self.show_quotes(None);
            let (bare, untouched) = self.render();
            let output = self.handed(&bare);
            if output.is_some() {
                return Written {
                    messages: bare,
                    untouched,
                    output,
                    asked: None,
                };
            }
            self.show_quotes(quotes);
        }
        Written {
            messages,
            untouched,
            output,
            asked,
        }
    }

    /// The place of a message in the caller's list, of which one value may hold several messages.
    fn position(&self, seq: Seq) -> Seq {
        self.parsed.raw_of(seq).map_or(seq, |raw| raw as u32)
    }

    fn covered_in(&self, view: &View) -> Vec<Span> {
        let covered = view.layers.iter().flat_map(|l| l.covers.iter());
        let covered = covered.map(|span| Span {
            from: self.position(span.from),
            to: self.position(span.to),
        });
        covered.collect()
    }

    /// The messages of which a layer quotes the user's own words, whole ones or cut ones.
    fn quoted_in(&self, view: &View, whole: bool) -> Vec<Seq> {
        let quotes = view.quotes.iter();
        let quotes = quotes.filter(|q| self.context.says_whole(q) == whole);
        quotes.map(|q| self.position(q.seq)).collect()
    }

    fn shortened_in(&self, view: &View, lost: Vec<Seq>) -> Vec<Seq> {
        let mut shortened = self.quoted_in(view, false);
        for seq in lost.into_iter().map(|seq| self.position(seq)) {
            if !shortened.contains(&seq) {
                shortened.push(seq);
            }
        }
        shortened
    }

    /// The state that the caller gives back with the longer list.
    fn state(&self, mut view: View, output: Option<Handed>, asked: Option<Asked>) -> CompactState {
        let shorter = stored::take(&mut view, &self.context);
        stored::slim(&mut view, &self.context);
        let mut state = CompactState {
            version: STATE_VERSION,
            messages: self.parsed.messages.len() as u32,
            hash: self.hash.clone(),
            view,
            shorter,
            pins: self.kept_demands(),
            reasoning_from: Some(self.context.reasoning_from() as Seq).filter(|from| *from > 0),
            output,
            asked,
            dialect: Some(self.parsed.dialect).filter(|d| *d != Dialect::OpenAi),
            seal: String::new(),
        };
        if self.keeper == Keeper::Caller {
            state.seal = seal::of(&state);
        }
        state
    }
}

/// A list as it is handed out.
struct Written {
    messages: Vec<Rendered>,
    /// It is the caller's, unchanged.
    untouched: bool,
    /// The mark by which a later call recognises the list.
    output: Option<Handed>,
    /// The quotes that were chosen for the user's last message.
    asked: Option<Asked>,
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
        let pins = self.kept_demands().into_iter();
        let demands = pins.filter_map(|pin| match pin.kind {
            PinKind::Constraint { from, level } => Some(FoundDemand {
                text: pin.text,
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

/// Says that a state is not that of the list.
fn of_other_list() -> Adjustment {
    Adjustment::new(
        "state_of_other_list",
        "the state belongs to another list and was not used",
    )
}

/// Adds the demands that earlier calls found.
fn adopt(records: &mut Records, found: Vec<Pin>) {
    for pin in found {
        if !records.pins.iter().any(|p| p.text == pin.text) {
            records.pins.push(pin);
        }
    }
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
    let Some(at) = watermark::last_call(context, &policy.marks.tools, context.view().watermark)
    else {
        return false;
    };
    let mut view = context.view().clone();
    view.watermark = Some(at);
    context.set_view(view);
    context.due(&crate::budget::Occasion::default()) == Some(crate::budget::Due::Watermark)
}
