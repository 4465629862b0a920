//! Runs compactions: a model, the host or the deterministic summariser drives the core's run (P1, P7, I6).

use std::rc::Rc;

use futures_util::future::{Either, select};
use futures_util::lock::MutexGuard;
use futures_util::{StreamExt, pin_mut};
use palimpsest_core::budget::{Budget, Occasion};
use palimpsest_core::context::{Cause, Context};
use palimpsest_core::message::Role;
use palimpsest_core::mode::Mode;
use palimpsest_core::policy::Trigger;
use palimpsest_core::request::{
    ChatRequest, Delta, FinishReason, ModelError, Purpose as Asked, RequestMessage, RequestOptions,
    Usage,
};
use palimpsest_core::run::{
    Caution, Preview, Proposal, Refusal, Rewrite, Run, RunOptions, RunReport, Scope, Stage,
    StageTime, Step, SummaryJob, SuppliedSummary,
};
use palimpsest_core::view_edit::Stale;
use palimpsest_core::watermark;

use crate::counting::was_cut;
use crate::error::{EngineError, refusal_sentence};
use crate::event::Event;
use crate::head::Head;
use crate::ports::{Abort, LanguageModel, Signal};
use crate::setup::setup_of;
use crate::snapshot::Purpose;

use super::Session;
use super::revise::Revision;

/// The number of attempts at one summary when the server is busy or the connection breaks, unless the settings give
/// another.
const ATTEMPTS: u32 = 3;
/// The number of consecutive automatic runs that may fail before the engine stops trying (I9).
const STRIKES: u8 = 2;

/// The options of a compaction.
#[derive(Clone, Default)]
pub struct CompactOptions {
    /// Which messages the new layer covers: what the policy says, or what a person named.
    pub scope: Scope,
    /// The model that writes the summaries. `None` selects the deterministic summariser.
    pub model: Option<Rc<dyn LanguageModel>>,
    /// The summary model's name; `None` is the session's model.
    pub model_name: Option<String>,
    /// The subject that the summary should cover in most detail.
    pub focus: Option<String>,
    /// The kind of work that the conversation is about. `None` selects the session's mode (G4).
    pub mode: Option<Mode>,
    /// The limit in seconds. The model is asked only if its measured speed promises to keep it (P7).
    pub most_seconds: Option<u32>,
    /// A person requested the compaction.
    pub manual: bool,
}

impl std::fmt::Debug for CompactOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompactOptions")
            .field("manual", &self.manual)
            .finish_non_exhaustive()
    }
}

/// A committed compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Compacted {
    /// The revision.
    pub revision: u32,
    /// The report of the compaction.
    pub report: RunReport,
}

/// A summary that the host has to write.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingJob {
    /// Its number.
    pub id: u32,
    /// System message.
    pub system: String,
    /// User message.
    pub prompt: String,
    /// The largest number of tokens that the summary should have.
    pub target_tokens: u32,
}

/// The next action of a host that writes summaries.
#[derive(Debug, Clone, PartialEq)]
pub enum NextJob {
    /// Write this summary and pass it to [`Session::complete_job`].
    Write(PendingJob),
    /// Do nothing: no compaction is due.
    NotDue,
    /// Do nothing: a compaction would not help, for this reason.
    Refused(Refusal),
    /// Commit the finished compaction with [`Session::finish_jobs`].
    Finished,
}

impl NextJob {
    /// Returns the summary to write, if that is the next action.
    pub fn job(self) -> Option<PendingJob> {
        match self {
            Self::Write(job) => Some(job),
            _ => None,
        }
    }
}

pub(crate) struct HostRun {
    run: Run,
}

/// The controls of the running compaction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Running {
    /// Ends it.
    stop: Abort,
    /// The run should continue later where it stops.
    put_off: Rc<std::cell::Cell<bool>>,
    /// Ends the wait for the model. The deterministic summary takes its place.
    skip: Abort,
}

/// Marks a running compaction. When the compaction ends in any way, also when its future is dropped, the session is
/// free again.
struct RunGuard<'a> {
    session: &'a Session,
    running: Running,
    _turn: MutexGuard<'a, ()>,
}

impl RunGuard<'_> {
    /// Declares the compaction over, so that it can no longer be stopped.
    fn is_over(&mut self) {
        self.session.0.state.borrow_mut().compaction = None;
    }
}

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        self.is_over();
    }
}

/// The speed of a model in tokens per second, as its server last reported it. `None` means unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Speed {
    /// Reading a prompt.
    pub reads: Option<f64>,
    /// Writing an answer.
    pub writes: Option<f64>,
}

impl Speed {
    /// Learns from a server's figures. Very short times are ignored.
    pub(crate) fn learn(&mut self, usage: &Usage) {
        let rate = |tokens: Option<u32>, ms: Option<u32>| match (tokens, ms) {
            (Some(tokens), Some(ms)) if ms >= 20 && tokens >= 8 => {
                Some(f64::from(tokens) * 1000.0 / f64::from(ms))
            }
            _ => None,
        };
        self.reads = rate(usage.prompt_tokens, usage.prompt_ms).or(self.reads);
        self.writes = rate(usage.completion_tokens, usage.completion_ms).or(self.writes);
    }

    /// The seconds for reading and writing this many tokens, or `None` while the speed is unknown.
    pub fn seconds(&self, read: u32, write: u32) -> Option<u32> {
        let (reads, writes) = (self.reads?, self.writes?);
        Some((f64::from(read) / reads + f64::from(write) / writes).ceil() as u32)
    }

    /// The milliseconds after which the engine gives up on an answer: four times the expected time, plus a minute for
    /// loading the model. It assumes 20 tokens per second for reading and 2 for writing if the speed is unknown.
    fn patience(&self, read: u32, write: u32) -> u32 {
        let expected = f64::from(read) / self.reads.unwrap_or(20.0)
            + f64::from(write) / self.writes.unwrap_or(2.0);
        (60_000.0 + expected * 4_000.0).min(3_600_000.0) as u32
    }
}

/// The tokens that no compaction may shrink, and those at which one starts.
fn least(context: &Context) -> (u32, u32) {
    (context.floor(), context.trigger())
}

/// Adds to the time of a stage.
fn note_time(stages: &mut Vec<StageTime>, stage: Stage, ms: f64) {
    let ms = ms.max(0.0);
    match stages.last_mut() {
        Some(last) if last.stage == stage => last.ms += ms,
        _ => stages.push(StageTime { stage, ms }),
    }
}

impl Session {
    /// Previews a compaction of the present window. It asks no model (P10). Where a model has written summaries since the session
    /// was opened, one is expected to write the next.
    pub fn preview(&self, focus: Option<String>) -> Result<Preview, EngineError> {
        let writes = self.speed().reads.is_some();
        let options = RunOptions {
            manual: true,
            focus,
            model: writes.then(|| self.0.state.borrow().head.model.clone()),
            ..RunOptions::default()
        };
        let run = Run::new(&self.0.state.borrow().context, options, self.seed());
        run.preview().map_err(EngineError::Refused)
    }

    /// Previews another policy (a preset's name, or JSON): the budget of its window, and the compaction that it would
    /// do now, or the reason for doing none. Nothing changes, and no model is asked.
    pub fn preview_with(
        &self,
        policy: &str,
    ) -> Result<(Budget, Result<Preview, Refusal>), EngineError> {
        let state = self.0.state.borrow();
        let head = Head {
            policy: policy.to_owned(),
            ..state.head.clone()
        };
        let mut setup = setup_of(&head, state.context.counter().as_ref())?;
        setup.tools = state.context.setup().tools;
        let mut context = state.context.clone();
        drop(state);
        context.set_setup(setup);
        let options = RunOptions {
            manual: true,
            ..RunOptions::default()
        };
        let plan = Run::new(&context, options, self.seed()).preview();
        Ok((context.budget(), plan))
    }

    /// Returns `true` if the policy asks for a compaction and no setting or pause prevents it.
    pub fn is_due(&self) -> bool {
        let idle_seconds = (self.idle_ms() / 1_000.0) as u32;
        let occasion = Occasion {
            idle_seconds,
            ..Occasion::default()
        };
        self.is_due_at(occasion)
    }

    fn is_due_at(&self, occasion: Occasion) -> bool {
        let state = self.0.state.borrow();
        state.context.due(&occasion).is_some()
            && state.head.config.compression.enabled
            && !state.context.view().paused
            && state.head.strikes < STRIKES
    }

    /// Returns `true` if the window is still at its trigger after two compactions in a row. None is tried before it changes.
    pub fn is_stuck(&self) -> bool {
        let state = self.0.state.borrow();
        state.head.strikes >= STRIKES && state.context.is_due()
    }

    /// The milliseconds since the last message, by the present clock; 0 where no message has a time.
    fn idle_ms(&self) -> f64 {
        let last = self.0.state.borrow().head.updated;
        if last > 0.0 {
            (self.now() - last).max(0.0)
        } else {
            0.0
        }
    }

    /// The milliseconds until the policy's idle trigger fires, if nothing is said. `None` if it has none, or if it would change
    /// nothing. A host waits so long and calls [`Self::tend`] again, which asks the clock itself: timers may be early.
    pub fn until_idle(&self) -> Option<u32> {
        let idle = |trigger: &Trigger| match trigger {
            Trigger::Idle { seconds } => Some(*seconds),
            _ => None,
        };
        let state = self.0.state.borrow();
        let policy = &state.context.setup().policy;
        let idle_seconds = policy.triggers.iter().find_map(idle)?;
        let occasion = Occasion {
            idle_seconds,
            ..Occasion::default()
        };
        let left = f64::from(idle_seconds) * 1_000.0 - self.idle_ms();
        self.is_due_at(occasion)
            .then_some(left.max(0.0).ceil() as u32)
    }

    /// The speed of the model, as measured since the session was opened.
    pub fn speed(&self) -> Speed {
        self.0.state.borrow().speed
    }

    /// The seconds that a model's summary would take for that preview, at the measured speed (P7).
    pub fn summary_seconds(&self, preview: &Preview) -> Option<u32> {
        self.speed()
            .seconds(preview.covered_tokens, preview.layer_tokens)
    }

    /// Runs the automatic compaction if it is due. Call it after every reply, in the background.
    pub async fn tend(
        &self,
        options: CompactOptions,
        signal: Signal,
    ) -> Result<Option<Compacted>, EngineError> {
        if !self.is_due() {
            return Ok(None);
        }
        let options = CompactOptions {
            manual: false,
            ..options
        };
        match self.compact(options, signal).await {
            Ok(done) => Ok(Some(done)),
            Err(EngineError::Refused(Refusal::Cancelled) | EngineError::Busy(_)) => Ok(None),
            Err(EngineError::Refused(_)) => {
                let strikes = self.0.state.borrow().head.strikes;
                if strikes < STRIKES {
                    return Ok(None);
                }
                let (floor, trigger) = least(&self.0.state.borrow().context);
                self.emit(&Event::CannotShrink { floor, trigger });
                Err(EngineError::CannotShrink { floor, trigger })
            }
            Err(error) => Err(error),
        }
    }

    /// Makes the window smaller. Either one new revision is committed or nothing changes.
    pub async fn compact(
        &self,
        options: CompactOptions,
        signal: Signal,
    ) -> Result<Compacted, EngineError> {
        let result = match self.compaction_turn(&signal).await {
            Some(turn) => {
                let run = self.begin_run(turn);
                self.drive(&options, &signal, &run.running).await
            }
            None => Err(EngineError::Refused(Refusal::Cancelled)),
        };
        self.warn(&result);
        match &result {
            // A person who asks sees what it freed. The compaction stands, with quotes or without: what cannot be stored is told
            // by whatever is stored next.
            Ok(_) if !options.manual => drop(self.recall_anew().await),
            Ok(_) => {}
            Err(EngineError::Refused(refusal)) => {
                if !options.manual && *refusal != Refusal::Cancelled {
                    self.edit_head(|head| head.strikes = head.strikes.saturating_add(1))
                        .await?;
                }
                self.emit(&Event::CompressionSkipped {
                    code: refusal.code(),
                    message: refusal_sentence(refusal),
                });
            }
            Err(error) => {
                self.emit(&Event::CompressionError {
                    code: error.code(),
                    message: error.to_string(),
                });
            }
        }
        result
    }

    /// Waits for the end of any other compaction. Returns `None` if the signal fires first.
    pub(super) async fn compaction_turn(&self, signal: &Signal) -> Option<MutexGuard<'_, ()>> {
        let turn = self.0.compacting.lock();
        match select(turn, Box::pin(signal.aborted())).await {
            Either::Left((turn, _)) => Some(turn),
            Either::Right(_) => None,
        }
    }

    fn begin_run<'a>(&'a self, turn: MutexGuard<'a, ()>) -> RunGuard<'a> {
        let running = Running::default();
        self.0.state.borrow_mut().compaction = Some(running.clone());
        RunGuard {
            session: self,
            running,
            _turn: turn,
        }
    }

    async fn drive(
        &self,
        options: &CompactOptions,
        outer: &Signal,
        running: &Running,
    ) -> Result<Compacted, EngineError> {
        let own = &running.stop.signal();
        let name = options.model.as_ref().map(|_| {
            let state = self.0.state.borrow();
            let settings = &state.head.config.compression;
            let named = options
                .model_name
                .as_ref()
                .or(settings.summary_model.as_ref());
            named.unwrap_or(&state.head.model).clone()
        });
        self.check_scope(options.scope)?;
        let mut run = match self.put_off_run(options) {
            Some(run) => run,
            None => self.new_run(options, name.clone()),
        };
        let began = self.now();
        let mut stages: Vec<StageTime> = Vec::new();
        loop {
            if own.is_aborted() && running.put_off.get() {
                // The run gave way. Its finished summaries stay.
                self.0.state.borrow_mut().put_off = Some(Box::new(run));
                return Err(EngineError::Refused(Refusal::Cancelled));
            }
            if outer.is_aborted() || own.is_aborted() {
                run.cancel();
            } else if running.skip.signal().is_aborted() {
                run.skip();
            }
            let (stage, at) = (run.stage(), self.now());
            let step = run.tick();
            if !matches!(step, Some(Step::Refused(_))) {
                self.emit(&Event::Compressing {
                    stage: run.stage(),
                    written: 0,
                    of: 0,
                });
            }
            note_time(&mut stages, stage, self.now() - at);
            let Some(step) = step else { continue };
            match step {
                Step::Done(mut proposal) => {
                    proposal.report.took = Some((self.now() - began).max(0.0));
                    proposal.report.stages = stages;
                    return self.commit(*proposal).await;
                }
                Step::Refused(refusal) => return Err(EngineError::Refused(refusal)),
                Step::Need(job) => {
                    let at = self.now();
                    let answer = match (&options.model, &name) {
                        (Some(model), Some(name)) => {
                            self.ask(model.as_ref(), name, &job, outer, running).await
                        }
                        _ => Some(SuppliedSummary::Failed("no_model".into())),
                    };
                    note_time(&mut stages, Stage::Summarize, self.now() - at);
                    // Without an answer, the run was stopped or its wait was skipped. The next turn finds out which.
                    if let Some(answer) = answer {
                        run.supply(job.id, answer)?;
                    }
                }
            }
        }
    }

    /// Uses a quiet moment: a model rewrites one layer that was shortened without a model, from its notes (C4). It
    /// gives way to the user's message like a compaction. Returns `None` if there was nothing to do or the result was
    /// not better. In the second case the same model is not asked about that layer again while the session is open.
    pub async fn rest(
        &self,
        options: CompactOptions,
        signal: Signal,
    ) -> Result<Option<u32>, EngineError> {
        let Some(model) = options.model else {
            return Ok(None);
        };
        let Some(turn) = self.compaction_turn(&signal).await else {
            return Ok(None);
        };
        let (rewrite, context, name) = {
            let state = self.0.state.borrow();
            let mode = options.mode.unwrap_or(state.head.mode);
            let name = options
                .model_name
                .unwrap_or_else(|| state.head.model.clone());
            let rewrite = Rewrite::of(&state.context, mode, self.seed());
            let idle = !state.context.view().paused && state.head.config.compression.enabled;
            let hopeless = |rewrite: &Rewrite| {
                let tried = state.as_good_as_gets.as_ref();
                tried.is_some_and(|(layer, by)| rewrite.job().fades == Some(*layer) && *by == name)
            };
            match rewrite.filter(|rewrite| idle && !hopeless(rewrite)) {
                Some(rewrite) => (rewrite, state.context.clone(), name),
                None => return Ok(None),
            }
        };
        let mut run = self.begin_run(turn);
        let answer = self
            .ask(model.as_ref(), &name, rewrite.job(), &signal, &run.running)
            .await;
        run.is_over();
        let answered = answer.is_some();
        let done = match answer {
            Some(SuppliedSummary::Text(text)) => rewrite.finish(&context, &text, &name).ok(),
            _ => None,
        };
        if done.is_none() && answered {
            let layer = rewrite.job().fades;
            self.0.state.borrow_mut().as_good_as_gets = layer.map(|layer| (layer, name));
        }
        let result = match done {
            Some(proposal) => self.commit(proposal).await.map(|done| Some(done.revision)),
            None => Ok(None),
        };
        drop(run);
        match result {
            // Another change reached the window meanwhile. The next quiet moment tries again.
            Err(EngineError::Busy(_)) => Ok(None),
            result => result,
        }
    }

    fn new_run(&self, options: &CompactOptions, model: Option<String>) -> Run {
        let state = self.0.state.borrow();
        let mut run_options = RunOptions {
            scope: options.scope,
            manual: options.manual,
            focus: options.focus.clone(),
            mode: options.mode.unwrap_or(state.head.mode),
            model,
            ..RunOptions::default()
        };
        if let Some(most) = options.most_seconds {
            let plan = Run::new(&state.context, run_options.clone(), self.seed());
            let seconds = plan
                .preview()
                .ok()
                .and_then(|p| state.speed.seconds(p.covered_tokens, p.layer_tokens));
            if seconds.is_some_and(|s| s > most) {
                run_options.model = None;
            }
        }
        Run::new(&state.context, run_options, self.seed())
    }

    /// The run that gave way to the user's message, if it is of this kind and can still be committed.
    fn put_off_run(&self, options: &CompactOptions) -> Option<Run> {
        let mut state = self.0.state.borrow_mut();
        let run = state.put_off.take()?;
        let fits = run.base() >= state.layout
            && run.is_manual() == options.manual
            && run.scope() == options.scope
            && options.focus.is_none();
        fits.then_some(*run)
    }

    /// Emits the warnings of a run: a mark whose call never came, and a text that no longer exists (W2, O3). It also
    /// warns of a watermark that is not on this branch, even if the run did nothing (W3).
    fn warn(&self, result: &Result<Compacted, EngineError>) {
        let mut cautions = match result {
            Ok(done) => done.report.cautions.clone(),
            Err(_) => Vec::new(),
        };
        let lost = Caution::WatermarkNotFound;
        if watermark::is_lost(&self.0.state.borrow().context) && !cautions.contains(&lost) {
            cautions.push(lost);
        }
        for caution in cautions {
            self.emit(&Event::Warning {
                code: caution.code(),
                message: caution.to_string(),
            });
        }
    }

    /// Asks a model for one summary, and asks again when the server is busy or the connection breaks. Returns `None` if
    /// the run was stopped or the wait was skipped.
    async fn ask(
        &self,
        model: &dyn LanguageModel,
        name: &str,
        job: &SummaryJob,
        outer: &Signal,
        running: &Running,
    ) -> Option<SuppliedSummary> {
        let own = &running.stop.signal();
        let skip = &running.skip.signal();
        let over = || outer.is_aborted() || own.is_aborted() || skip.is_aborted();
        let most = self.0.state.borrow().head.config.compression.attempts;
        let most = most.unwrap_or(ATTEMPTS);
        let mut attempt = 1;
        loop {
            let stops = [outer, own, skip];
            let failed = match self.ask_once(model, name, job, stops).await {
                Ok(text) => return Some(SuppliedSummary::Text(text)),
                Err(error) => error,
            };
            if over() {
                return None;
            }
            if !failed.retryable() || attempt >= most {
                return Some(SuppliedSummary::Failed(failed.code().to_owned()));
            }
            let wait = match &failed {
                ModelError::Busy {
                    retry_after_ms: Some(ms),
                } => (*ms).min(30_000),
                _ => 400 << attempt,
            };
            let sleep = self.0.host.world.timer.sleep(wait);
            let stopped = outer.or(own).or(skip);
            if let Either::Right(_) = select(sleep, Box::pin(stopped.aborted())).await {
                return None;
            }
            attempt += 1;
        }
    }

    async fn ask_once(
        &self,
        model: &dyn LanguageModel,
        name: &str,
        job: &SummaryJob,
        stops: [&Signal; 3],
    ) -> Result<String, ModelError> {
        let [outer, own, skip] = stops;
        let (window, patience) = {
            let state = self.0.state.borrow();
            let counter = state.context.counter();
            let read = counter.count(&job.system) + counter.count(&job.prompt);
            let patience = state.speed.patience(read, job.num_predict());
            (state.head.effective_window(), patience)
        };
        let stop = Abort::new();
        let mut stream = model.complete(summary_request(name, job, window), stop.signal());
        let mut text = String::new();
        let mut written = 0;
        let tell = |written| {
            self.emit(&Event::Compressing {
                stage: Stage::Summarize,
                written,
                of: job.num_predict(),
            });
        };
        // A model may take long to its first word.
        tell(written);
        let mut late = self.0.host.world.timer.sleep(patience);
        loop {
            if stops.iter().any(|s| s.is_aborted()) {
                stop.abort();
                return Err(ModelError::Aborted);
            }
            let next = stream.next();
            let stopped = select(
                select(Box::pin(outer.aborted()), Box::pin(own.aborted())),
                select(Box::pin(skip.aborted()), &mut late),
            );
            pin_mut!(next, stopped);
            let delta = match select(next, stopped).await {
                Either::Left((delta, _)) => delta,
                Either::Right(_) => {
                    stop.abort();
                    if stops.iter().any(|s| s.is_aborted()) {
                        return Err(ModelError::Aborted);
                    }
                    let seconds = patience / 1000;
                    return Err(ModelError::TimedOut { seconds });
                }
            };
            match delta {
                None => return Err(ModelError::Truncated),
                Some(Err(error)) => return Err(error),
                Some(Ok(Delta::Text { text: more })) => {
                    text.push_str(&more);
                    written += 1;
                    tell(written);
                }
                Some(Ok(Delta::Done { reason })) => {
                    if reason == FinishReason::Length {
                        // The summary was cut off. Its whole sentences may still be useful; the checks decide.
                        text.push_str(" …");
                    }
                    return Ok(text);
                }
                Some(Ok(Delta::Usage(usage))) => {
                    self.0.state.borrow_mut().speed.learn(&usage);
                    if let Err(cut) = self.check_whole(name, job, &usage) {
                        stop.abort();
                        return Err(cut);
                    }
                }
                Some(Ok(_)) => {}
            }
        }
    }

    /// Fails if the server read only a part of a job's prompt: a summary of half of it would pass as one of the whole (B9).
    fn check_whole(&self, name: &str, job: &SummaryJob, usage: &Usage) -> Result<(), ModelError> {
        let asked = [(Role::System, &*job.system), (Role::User, &*job.prompt)];
        let sent = self.0.host.prompt_of(name, &asked);
        let reported = usage.prompt_tokens.unwrap_or(0);
        if reported == 0 || !was_cut(sent.tokens.saturating_sub(sent.bound), reported) {
            return Ok(());
        }
        self.emit(&Event::PromptTruncated {
            sent: sent.tokens,
            read: reported,
        });
        Err(ModelError::PromptTruncated {
            sent: sent.tokens,
            reported,
        })
    }

    /// Stops the running compaction, if there is one, and drops one that was put off. Nothing changes.
    pub fn cancel_compaction(&self) {
        let running = {
            let mut state = self.0.state.borrow_mut();
            state.put_off = None;
            state.compaction.clone()
        };
        if let Some(running) = running {
            running.stop.abort();
        }
    }

    /// Makes the running compaction give way. It continues later where it stops (P7).
    pub(super) fn put_off_compaction(&self) {
        let running = self.0.state.borrow().compaction.clone();
        if let Some(running) = running {
            running.put_off.set(true);
            running.stop.abort();
        }
    }

    /// Ends the wait for the summary model: the running compaction commits with the deterministic summary (P7).
    pub fn skip_wait(&self) {
        let running = self.0.state.borrow().compaction.clone();
        if let Some(running) = running {
            running.skip.abort();
        }
    }

    /// Returns `true` while a compaction runs.
    pub fn is_compacting(&self) -> bool {
        self.0.state.borrow().compaction.is_some()
    }

    /// Commits a proposal in one strict transaction: layers, notes, forms, records, revision, snapshot, head. Messages
    /// that arrived meanwhile do not matter, and marks, anchors and returned results of that time stay. If the layers
    /// changed meanwhile, the proposal is refused.
    pub(crate) async fn commit(&self, proposal: Proposal) -> Result<Compacted, EngineError> {
        let Proposal {
            base,
            view,
            edits,
            records,
            records_base,
            found,
            report,
            ..
        } = proposal;
        let quiet = matches!(view.cause, Cause::Rewritten { .. });
        let purpose = if view.cause == Cause::Emergency {
            Purpose::Emergency
        } else {
            Purpose::Rollback
        };
        let proposes = !found.proposals.is_empty();
        let report_out = report.clone();
        let number = self
            .revise(|state, draft| {
                if base < state.layout {
                    return Err(Stale.into());
                }
                let snapshots = &state.head.config.snapshots;
                if snapshots.enabled && snapshots.auto_create && !quiet {
                    let layer = view.layers.iter().find(|l| Some(l.id) == report.layer);
                    let kind = (purpose, layer.map(|l| l.number));
                    let snapshot = draft.note_present(state, "", kind)?;
                    draft
                        .told
                        .push(Event::AutoSnapshotCreated { snapshot, purpose });
                }
                let now = state.context.records();
                let records = if now.revision == records_base {
                    records
                } else {
                    // The user changed the records meanwhile, so the findings go into the new ones.
                    let mut later = now.clone();
                    later.adopt(&found);
                    (later.revision != now.revision).then_some(later)
                };
                if let Some(records) = records {
                    draft.set_records(records)?;
                }
                let revision = Revision {
                    report: Some(report),
                    ..Revision::of(state, view.cause, edits)
                };
                draft.show(state, revision)?;
                let shown = draft.context.view();
                let warning = self.0.host.often_compacted(&mut draft.head, shown);
                draft.told.extend(warning);
                let strikes = draft.head.strikes;
                draft.head.strikes = if draft.context.is_due() {
                    strikes.saturating_add(1)
                } else {
                    0
                };
                if strikes < STRIKES && draft.head.strikes >= STRIKES {
                    let (floor, trigger) = least(&draft.context);
                    draft.told.push(Event::CannotShrink { floor, trigger });
                }
                Ok(())
            })
            .await?;
        if proposes {
            self.emit_proposals();
        }
        if quiet {
            self.emit_view(number);
            return Ok(Compacted {
                revision: number,
                report: report_out,
            });
        }
        if let Some(layer) = report_out.layer {
            self.emit(&Event::CheckpointCreated { layer });
        }
        self.emit(&Event::Compressed {
            revision: number,
            report: Box::new(report_out.clone()),
        });
        self.emit_budget();
        Ok(Compacted {
            revision: number,
            report: report_out,
        })
    }

    /// Returns the next action for a host that writes summaries. Starts a compaction if one is due or `manual` is set.
    /// Call it again after [`Self::complete_job`]. If the layers have changed so that a run cannot be committed any
    /// more, it starts a new one.
    pub fn next_job(&self, manual: bool) -> NextJob {
        let waiting = {
            let mut state = self.0.state.borrow_mut();
            let layout = state.layout;
            let run = state.host_run.take();
            state.host_run = run.filter(|host| host.run.base() >= layout);
            state.host_run.is_some()
        };
        if !waiting {
            if !manual && !self.is_due() {
                return NextJob::NotDue;
            }
            let options = RunOptions {
                manual,
                model: Some("host".into()),
                mode: self.0.state.borrow().head.mode,
                ..RunOptions::default()
            };
            let run = Run::new(&self.0.state.borrow().context, options, self.seed());
            self.0.state.borrow_mut().host_run = Some(HostRun { run });
        }
        let refusal = {
            let mut state = self.0.state.borrow_mut();
            let Some(host) = state.host_run.as_mut() else {
                return NextJob::NotDue;
            };
            match host.run.step() {
                Step::Need(job) => {
                    return NextJob::Write(PendingJob {
                        id: job.id,
                        system: job.system.clone(),
                        prompt: job.prompt.clone(),
                        target_tokens: job.target_tokens,
                    });
                }
                Step::Done(_) => return NextJob::Finished,
                Step::Refused(refusal) => {
                    state.host_run = None;
                    refusal
                }
            }
        };
        self.emit(&Event::CompressionSkipped {
            code: refusal.code(),
            message: refusal_sentence(&refusal),
        });
        NextJob::Refused(refusal)
    }

    /// Commits a compaction that needed no summary ([`NextJob::Finished`]). Returns `None` if there is none.
    pub async fn finish_jobs(&self) -> Result<Option<Compacted>, EngineError> {
        let step = {
            let mut state = self.0.state.borrow_mut();
            let Some(host) = state.host_run.as_mut() else {
                return Ok(None);
            };
            let step = host.run.step();
            if !matches!(step, Step::Need(_)) {
                state.host_run = None;
            }
            step
        };
        match step {
            Step::Done(proposal) => Ok(Some(self.commit(*proposal).await?)),
            _ => Ok(None),
        }
    }

    /// Takes the host's summary, or `None` if the host could not write one. Commits after the last summary.
    ///
    /// # Errors
    ///
    /// [`EngineError::Busy`] if the layers have changed. The next job then starts a new run.
    pub async fn complete_job(
        &self,
        id: u32,
        text: Option<String>,
    ) -> Result<Option<Compacted>, EngineError> {
        let step = {
            let mut state = self.0.state.borrow_mut();
            let layout = state.layout;
            let overtaken = |host: &HostRun| host.run.base() < layout;
            if state.host_run.as_ref().is_some_and(overtaken) {
                state.host_run = None;
                return Err(Stale.into());
            }
            let Some(host) = state.host_run.as_mut() else {
                return Err(palimpsest_core::error::CoreError::NotFound {
                    what: "waiting job",
                    id,
                }
                .into());
            };
            let answer = text.map_or_else(
                || SuppliedSummary::Failed("host_failed".into()),
                SuppliedSummary::Text,
            );
            host.run.supply(id, answer)?;
            host.run.step()
        };
        match step {
            Step::Need(_) => Ok(None),
            Step::Done(proposal) => {
                self.0.state.borrow_mut().host_run = None;
                Ok(Some(self.commit(*proposal).await?))
            }
            Step::Refused(refusal) => {
                self.0.state.borrow_mut().host_run = None;
                Err(EngineError::Refused(refusal))
            }
        }
    }
}

/// The request for one summary.
fn summary_request(name: &str, job: &SummaryJob, window: u32) -> ChatRequest {
    ChatRequest {
        model: name.to_owned(),
        messages: vec![
            RequestMessage::text(Role::System, &job.system),
            RequestMessage::text(Role::User, &job.prompt),
        ],
        tools: Vec::new(),
        options: RequestOptions {
            temperature: Some(0.2),
            think: Some(false),
            ..RequestOptions::new(window, job.num_predict())
        },
        purpose: Asked::Summary,
    }
}
