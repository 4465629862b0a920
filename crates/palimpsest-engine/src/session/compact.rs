//! Compactions: the core's run, driven by a model, by the host, or by nobody (P1, P7, I6).

use std::rc::Rc;

use futures_util::future::{Either, select};
use futures_util::lock::MutexGuard;
use futures_util::{StreamExt, pin_mut};
use palimpsest_core::budget::Budget;
use palimpsest_core::context::Cause;
use palimpsest_core::message::Role;
use palimpsest_core::mode::Mode;
use palimpsest_core::request::{
    ChatRequest, Delta, FinishReason, ModelError, Purpose as Asked, RequestMessage, RequestOptions,
    Usage,
};
use palimpsest_core::run::{
    Caution, Preview, Proposal, Refusal, Rewrite, Run, RunOptions, RunReport, Stage, StageTime,
    Step, SummaryJob, SuppliedSummary,
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

/// Attempts for one summary when the server is busy or the line breaks, where the settings name no other number.
const ATTEMPTS: u32 = 3;
/// Automatic runs in a row that may fail before the engine stops trying (I9).
const STRIKES: u8 = 2;

/// How to compact.
#[derive(Clone, Default)]
pub struct CompactOptions {
    /// Who writes the summaries; `None` is the deterministic summariser.
    pub model: Option<Rc<dyn LanguageModel>>,
    /// The summary model's name; `None` is the session's model.
    pub model_name: Option<String>,
    /// What the summary should dwell on.
    pub focus: Option<String>,
    /// What kind of work the conversation is; `None` is the session's mode (G4).
    pub mode: Option<Mode>,
    /// A model is only asked if its measured speed says that it takes no longer, in seconds (P7).
    pub most_seconds: Option<u32>,
    /// Whether a person asked.
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
    /// What it did.
    pub report: RunReport,
}

/// A summary that the host is to write.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingJob {
    /// Its number.
    pub id: u32,
    /// System message.
    pub system: String,
    /// User message.
    pub prompt: String,
    /// Tokens the summary should have at most.
    pub target_tokens: u32,
}

/// What a host that writes summaries has to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum NextJob {
    /// To write this one and give it to [`Session::complete_job`].
    Write(PendingJob),
    /// Nothing: no compaction is due.
    NotDue,
    /// Nothing: a compaction would not help, for this reason.
    Refused(Refusal),
    /// To commit what is finished, with [`Session::finish_jobs`].
    Finished,
}

impl NextJob {
    /// The summary to write, if that is what is next.
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

/// What can be done to the compaction that runs now.
#[derive(Debug, Clone, Default)]
pub(crate) struct Running {
    /// Ends it.
    stop: Abort,
    /// It is to go on later, where it stops.
    put_off: Rc<std::cell::Cell<bool>>,
    /// No waiting for the model: the deterministic summary will do.
    skip: Abort,
}

/// A compaction that runs. Wherever it ends, also where its future is dropped, the session is free again.
struct RunGuard<'a> {
    session: &'a Session,
    running: Running,
    _turn: MutexGuard<'a, ()>,
}

impl RunGuard<'_> {
    /// Nothing is left that could be stopped.
    fn is_over(&mut self) {
        self.session.0.state.borrow_mut().compaction = None;
    }
}

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        self.is_over();
    }
}

/// How fast the model is, in tokens a second, as its server last said. `None`: not known yet.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Speed {
    /// Reading a prompt.
    pub reads: Option<f64>,
    /// Writing an answer.
    pub writes: Option<f64>,
}

impl Speed {
    /// Takes a server's figures in. Too short a time says nothing.
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

    /// Seconds for reading and writing so much; `None` while the speed is not known.
    pub fn seconds(&self, read: u32, write: u32) -> Option<u32> {
        let (reads, writes) = (self.reads?, self.writes?);
        Some((f64::from(read) / reads + f64::from(write) / writes).ceil() as u32)
    }

    /// Milliseconds after which an answer is given up: four times what it should take, and a minute for loading
    /// the model. At an unknown speed: 20 tokens a second read, 2 written.
    fn patience(&self, read: u32, write: u32) -> u32 {
        let expected = f64::from(read) / self.reads.unwrap_or(20.0)
            + f64::from(write) / self.writes.unwrap_or(2.0);
        (60_000.0 + expected * 4_000.0).min(3_600_000.0) as u32
    }
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
    /// What a compaction would do now. Asks no model (P10).
    pub fn preview(&self, focus: Option<String>) -> Result<Preview, EngineError> {
        let options = RunOptions {
            manual: true,
            focus,
            ..RunOptions::default()
        };
        let run = Run::new(&self.0.state.borrow().context, options, self.seed());
        run.preview().map_err(EngineError::Refused)
    }

    /// What another policy (a preset's name, or JSON) would make of the window: its budget, and what a compaction
    /// would do now, or why it would do nothing. Nothing changes, and no model is asked.
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

    /// Whether the policy asks for a compaction, and nothing speaks against it.
    pub fn is_due(&self) -> bool {
        let state = self.0.state.borrow();
        state.context.is_due()
            && state.head.config.compression.enabled
            && !state.context.view().paused
            && state.head.strikes < STRIKES
    }

    /// How fast the model is, as measured in this session since it was opened.
    pub fn speed(&self) -> Speed {
        self.0.state.borrow().speed
    }

    /// Seconds a model's summary would take for that preview, at the measured speed (P7).
    pub fn summary_seconds(&self, preview: &Preview) -> Option<u32> {
        self.speed()
            .seconds(preview.covered_tokens, preview.layer_tokens)
    }

    /// Runs the automatic compaction if it is due. To be called after every reply, in the background.
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
                let (floor, trigger) = {
                    let context = &self.0.state.borrow().context;
                    (context.floor(), context.trigger())
                };
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

    /// Waits until no other compaction runs. `None` if it was stopped before.
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
        let mut run = match self.put_off_run(options) {
            Some(run) => run,
            None => self.new_run(options, name.clone()),
        };
        let began = self.now();
        let mut stages: Vec<StageTime> = Vec::new();
        loop {
            if own.is_aborted() && running.put_off.get() {
                // it gave way: what is written stays written
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
                    // without an answer somebody stopped it or skipped the wait: the next turn says which
                    if let Some(answer) = answer {
                        run.supply(job.id, answer)?;
                    }
                }
            }
        }
    }

    /// Uses a quiet moment: one layer that was cut without a model is written again by one, from its notes (C4). Gives
    /// way to the user's message like a compaction. `None` if there was nothing to do, or nothing better came; then that
    /// model is not asked about that layer again while the session is open.
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
            // something else changed the window meanwhile: there will be another quiet moment
            Err(EngineError::Busy(_)) => Ok(None),
            result => result,
        }
    }

    fn new_run(&self, options: &CompactOptions, model: Option<String>) -> Run {
        let state = self.0.state.borrow();
        let mut run_options = RunOptions {
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

    /// The run that gave way to the user's message, if it can still be committed and is of this kind.
    fn put_off_run(&self, options: &CompactOptions) -> Option<Run> {
        let mut state = self.0.state.borrow_mut();
        let run = state.put_off.take()?;
        let fits = run.base() >= state.layout
            && run.is_manual() == options.manual
            && options.focus.is_none();
        fits.then_some(*run)
    }

    /// What a run came upon: a mark whose call never came, a text that is not there any more (W2, O3); and a
    /// watermark that is not on this branch, also where nothing else was to be done (W3).
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

    /// One summary from a model, asked for again when the server is busy or the line breaks. `None` if it was
    /// stopped or skipped.
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
        let request = ChatRequest {
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
        };
        let stop = Abort::new();
        let mut stream = model.complete(request, stop.signal());
        let mut text = String::new();
        let mut written = 0;
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
                    self.emit(&Event::Compressing {
                        stage: Stage::Summarize,
                        written,
                        of: job.num_predict(),
                    });
                }
                Some(Ok(Delta::Done { reason })) => {
                    if reason == FinishReason::Length {
                        // Cut off: whole sentences may still be worth keeping; the checks decide.
                        text.push_str(" …");
                    }
                    return Ok(text);
                }
                Some(Ok(Delta::Usage(usage))) => {
                    self.0.state.borrow_mut().speed.learn(&usage);
                    // A summary of half of what it was given would be taken for one of all of it (B9).
                    let asked = [(Role::System, &*job.system), (Role::User, &*job.prompt)];
                    let sent = self.0.host.prompt_of(name, &asked);
                    let reported = usage.prompt_tokens.unwrap_or(0);
                    if reported > 0 && was_cut(sent.tokens.saturating_sub(sent.bound), reported) {
                        stop.abort();
                        self.emit(&Event::PromptTruncated {
                            sent: sent.tokens,
                            read: reported,
                        });
                        return Err(ModelError::PromptTruncated {
                            sent: sent.tokens,
                            reported,
                        });
                    }
                }
                Some(Ok(_)) => {}
            }
        }
    }

    /// Stops the compaction that runs now, if one does, and forgets one that was put off. Nothing changes.
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

    /// Makes the compaction that runs now give way: it goes on later where it stops (P7).
    pub(super) fn put_off_compaction(&self) {
        let running = self.0.state.borrow().compaction.clone();
        if let Some(running) = running {
            running.put_off.set(true);
            running.stop.abort();
        }
    }

    /// Does not wait for the summary model any longer: the compaction that runs now is committed with the
    /// deterministic summary (P7).
    pub fn skip_wait(&self) {
        let running = self.0.state.borrow().compaction.clone();
        if let Some(running) = running {
            running.skip.abort();
        }
    }

    /// Whether a compaction runs now.
    pub fn is_compacting(&self) -> bool {
        self.0.state.borrow().compaction.is_some()
    }

    /// One strict transaction: layers, notes, forms, records, revision, snapshot, head. Messages that arrived
    /// meanwhile do not matter, and what was marked, anchored or brought back meanwhile stays; another layout of the
    /// layers does matter.
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
                    // the user changed them meanwhile: what was found goes into those
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
                draft.head.strikes = if draft.context.is_due() {
                    draft.head.strikes.saturating_add(1)
                } else {
                    0
                };
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

    /// What is next of a compaction whose summaries the host writes: starts one if a compaction is due or `manual`. Ask
    /// again after [`Self::complete_job`]. A run that cannot be committed any more, because the layers are others by now, is
    /// begun anew.
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

    /// Commits a compaction whose passes were enough, so that [`Self::next_job`] had nothing to ask for
    /// ([`NextJob::Finished`]). `None` if there is none.
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

    /// The host's summary, or `None` if it could not write one. Commits when it was the last one needed. Refused as busy if
    /// the layers are others by now: the next job begins anew.
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
