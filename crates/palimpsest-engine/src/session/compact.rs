//! Compactions: the core's run, driven by a model, by the host, or by nobody (P1, P7, I6).

use std::rc::Rc;

use futures_util::future::{Either, select};
use futures_util::{StreamExt, pin_mut};
use palimpsest_core::message::Role;
use palimpsest_core::mode::Mode;
use palimpsest_core::request::{
    ChatRequest, Delta, FinishReason, ModelError, Purpose as Asked, RequestMessage, RequestOptions,
};
use palimpsest_core::run::{
    Preview, Proposal, Refusal, Run, RunOptions, RunReport, Step, SummaryJob, SuppliedSummary,
};

use crate::counting::was_cut;
use crate::error::{EngineError, refusal_sentence};
use crate::event::Event;
use crate::ports::{Abort, Durability, LanguageModel, Op, Signal, Table};
use crate::rows::{RenditionRow, key, revision_row, seal};

use super::snapshots::{Purpose, take, taken};
use super::{Change, Session};

/// Attempts for one summary when the server is busy or the line breaks.
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
    /// What the conversation is about.
    pub mode: Mode,
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

pub(crate) struct HostRun {
    run: Run,
}

impl Session {
    /// What a compaction would do now. Asks no model (P10).
    pub fn preview(&self, focus: Option<String>) -> Result<Preview, EngineError> {
        let options = RunOptions {
            manual: true,
            focus,
            ..RunOptions::default()
        };
        let mut run = Run::new(&self.0.state.borrow().context, options, self.seed());
        run.preview().map_err(EngineError::Refused)
    }

    /// Whether the policy asks for a compaction, and nothing speaks against it.
    pub fn is_due(&self) -> bool {
        let state = self.0.state.borrow();
        state.context.is_due() && !state.context.view().paused && state.head.strikes < STRIKES
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
        let turn = self.0.compacting.lock().await;
        let abort = Abort::new();
        self.0.state.borrow_mut().compaction = Some(abort.clone());
        let result = self.drive(&options, &signal, &abort.signal()).await;
        self.0.state.borrow_mut().compaction = None;
        drop(turn);
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

    async fn drive(
        &self,
        options: &CompactOptions,
        outer: &Signal,
        own: &Signal,
    ) -> Result<Compacted, EngineError> {
        let name = options.model.as_ref().map(|_| {
            options
                .model_name
                .clone()
                .unwrap_or_else(|| self.0.state.borrow().head.model.clone())
        });
        let run_options = RunOptions {
            manual: options.manual,
            focus: options.focus.clone(),
            mode: options.mode,
            model: name.clone(),
            ..RunOptions::default()
        };
        let mut run = Run::new(&self.0.state.borrow().context, run_options, self.seed());
        let began = self.now();
        loop {
            if outer.is_aborted() || own.is_aborted() {
                run.cancel();
            }
            let step = run.step();
            self.emit(&Event::Compressing {
                stage: run.stage(),
                written: 0,
                of: 0,
            });
            match step {
                Step::Done(mut proposal) => {
                    proposal.report.took = Some((self.now() - began).max(0.0));
                    return self.commit(*proposal).await;
                }
                Step::Refused(refusal) => return Err(EngineError::Refused(refusal)),
                Step::Need(job) => {
                    let answer = match (&options.model, &name) {
                        (Some(model), Some(name)) => {
                            self.ask(model.as_ref(), name, &job, outer, own).await
                        }
                        _ => SuppliedSummary::Failed("no_model".into()),
                    };
                    run.supply(job.id, answer)?;
                }
            }
        }
    }

    /// One summary from a model, asked for again when the server is busy or the line breaks.
    async fn ask(
        &self,
        model: &dyn LanguageModel,
        name: &str,
        job: &SummaryJob,
        outer: &Signal,
        own: &Signal,
    ) -> SuppliedSummary {
        let mut attempt = 1;
        loop {
            let failed = match self.ask_once(model, name, job, outer, own).await {
                Ok(text) => return SuppliedSummary::Text(text),
                Err(error) => error,
            };
            if !failed.retryable() || attempt >= ATTEMPTS || outer.is_aborted() || own.is_aborted()
            {
                return SuppliedSummary::Failed(failed.code().to_owned());
            }
            let wait = match &failed {
                ModelError::Busy {
                    retry_after_ms: Some(ms),
                } => (*ms).min(30_000),
                _ => 400 << attempt,
            };
            let sleep = self.0.engine.world.timer.sleep(wait);
            let stopped = own.aborted();
            pin_mut!(stopped);
            if let Either::Right(_) = select(sleep, stopped).await {
                return SuppliedSummary::Failed(ModelError::Aborted.code().to_owned());
            }
            attempt += 1;
        }
    }

    async fn ask_once(
        &self,
        model: &dyn LanguageModel,
        name: &str,
        job: &SummaryJob,
        outer: &Signal,
        own: &Signal,
    ) -> Result<String, ModelError> {
        let window = self.0.state.borrow().head.window;
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
        loop {
            if outer.is_aborted() || own.is_aborted() {
                stop.abort();
                return Err(ModelError::Aborted);
            }
            let next = stream.next();
            let stopped = select(Box::pin(outer.aborted()), Box::pin(own.aborted()));
            pin_mut!(next, stopped);
            let delta = match select(next, stopped).await {
                Either::Left((delta, _)) => delta,
                Either::Right(_) => {
                    stop.abort();
                    return Err(ModelError::Aborted);
                }
            };
            match delta {
                None => return Err(ModelError::Truncated),
                Some(Err(error)) => return Err(error),
                Some(Ok(Delta::Text { text: more })) => {
                    text.push_str(&more);
                    written += 1;
                    self.emit(&Event::Compressing {
                        stage: palimpsest_core::run::Stage::Summarize,
                        written,
                        of: job.num_predict(),
                    });
                }
                Some(Ok(Delta::Done {
                    reason: FinishReason::Length,
                })) => {
                    // Cut off: whole sentences may still be worth keeping; the checks decide.
                    text.push_str(" …");
                    return Ok(text);
                }
                Some(Ok(Delta::Done { .. })) => return Ok(text),
                Some(Ok(Delta::Usage(usage))) => {
                    // A summary of half of what it was given would be taken for one of all of it (B9).
                    let asked = [(Role::System, &*job.system), (Role::User, &*job.prompt)];
                    let sent = self.0.engine.prompt_of(name, &asked);
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

    /// Stops the compaction that runs now, if one does. Nothing changes.
    pub fn cancel_compaction(&self) {
        let running = self.0.state.borrow().compaction.clone();
        if let Some(abort) = running {
            abort.abort();
        }
    }

    /// Whether a compaction runs now.
    pub fn is_compacting(&self) -> bool {
        self.0.state.borrow().compaction.is_some()
    }

    /// One strict transaction: layers, notes, forms, records, revision, snapshot, head. Messages that
    /// arrived meanwhile do not matter; another revision does.
    pub(crate) async fn commit(&self, proposal: Proposal) -> Result<Compacted, EngineError> {
        let id = self.0.id.clone();
        let now = self.now();
        let Proposal {
            base,
            view,
            records,
            report,
            ..
        } = proposal;
        let revision = view.revision;
        let mut snapshot_number = 0;
        let mut aged = Vec::new();
        let report_out = report.clone();
        let mut number = revision;
        self.write(
            Durability::Strict,
            |state| {
                if state.head.revision != base {
                    return Err(EngineError::Busy("another change of the window"));
                }
                let mut view = view;
                view.revision = state.head.last_revision + 1;
                number = view.revision;
                let (snapshot, mut ops, prune) = take(state, &id, "", Purpose::Rollback, now)?;
                snapshot_number = snapshot.n;
                let old = state.context.view();
                for layer in view
                    .layers
                    .iter()
                    .filter(|l| !old.layers.iter().any(|o| Rc::ptr_eq(o, l)))
                {
                    ops.push(Op::Put {
                        table: Table::Layers,
                        key: key(&id, layer.id),
                        value: seal(layer.as_ref())?,
                    });
                    aged.extend(layer.replaces.iter().map(|from| (*from, layer.id)));
                }
                for note in view
                    .notes
                    .iter()
                    .filter(|n| !old.notes.iter().any(|o| o.id == n.id))
                {
                    ops.push(Op::Add {
                        table: Table::Notes,
                        key: key(&id, note.id),
                        value: seal(note.as_ref())?,
                    });
                }
                let epoch = state.context.counter().epoch();
                let mut forms = state.stored_forms.clone();
                forms.retain(|seq, _| view.reduced.contains_key(seq));
                for (seq, reduced) in super::append::new_forms(state, &view) {
                    let row = RenditionRow {
                        reduced: (*reduced).clone(),
                        counted_by: epoch,
                    };
                    let key = vec![id.as_str().into(), seq.into(), view.revision.into()];
                    ops.push(Op::Add {
                        table: Table::Renditions,
                        key,
                        value: seal(&row)?,
                    });
                    forms.insert(seq, view.revision);
                }
                let mut head = state.head.clone();
                let records = records.map(|mut records| {
                    records.revision = head.records + 1;
                    records
                });
                if let Some(records) = &records {
                    head.records = records.revision;
                    ops.push(Op::Add {
                        table: Table::Records,
                        key: key(&id, records.revision),
                        value: seal(records)?,
                    });
                }
                let mut row = revision_row(&view, Some(base), &forms, state.head.tip, now);
                row.report = Some(report);
                ops.push(Op::Add {
                    table: Table::Revisions,
                    key: key(&id, view.revision),
                    value: seal(&row)?,
                });
                head.revision = view.revision;
                head.last_revision = view.revision;
                head.snapshots = snapshot.n;
                let mut context = state.context.clone();
                if let Some(records) = &records {
                    context.set_records(records.clone());
                }
                context.set_view(view.clone());
                head.tokens = context.tokens();
                head.strikes = if context.is_due() {
                    head.strikes.saturating_add(1)
                } else {
                    0
                };
                Ok((Change { ops, head }, (context, forms, snapshot, prune)))
            },
            |state, (context, forms, snapshot, prune)| {
                taken(state, snapshot, &prune);
                state.stored_forms = forms;
                state.context = context;
            },
        )
        .await?;
        self.emit(&Event::SnapshotCreated {
            snapshot: snapshot_number,
            automatic: true,
        });
        for (from, to) in aged {
            self.emit(&Event::CheckpointAged { from, to });
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

    /// A summary that the host is to write: starts a run if a compaction is due or `manual`. `None` when
    /// there is nothing to do. Ask again after [`Self::complete_job`].
    pub fn next_job(&self, manual: bool) -> Option<PendingJob> {
        if self.0.state.borrow().host_run.is_none() {
            if !manual && !self.is_due() {
                return None;
            }
            let options = RunOptions {
                manual,
                model: Some("host".into()),
                ..RunOptions::default()
            };
            let run = Run::new(&self.0.state.borrow().context, options, self.seed());
            self.0.state.borrow_mut().host_run = Some(HostRun { run });
        }
        let mut state = self.0.state.borrow_mut();
        match state.host_run.as_mut()?.run.step() {
            Step::Need(job) => Some(PendingJob {
                id: job.id,
                system: job.system.clone(),
                prompt: job.prompt.clone(),
                target_tokens: job.target_tokens,
            }),
            Step::Done(_) => None,
            Step::Refused(_) => {
                state.host_run = None;
                None
            }
        }
    }

    /// The host's summary, or `None` if it could not write one. Commits when it was the last one needed.
    pub async fn complete_job(
        &self,
        id: u32,
        text: Option<String>,
    ) -> Result<Option<Compacted>, EngineError> {
        let step = {
            let mut state = self.0.state.borrow_mut();
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
