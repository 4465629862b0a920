//! Sending: append → window → model → append. Nothing is recounted or reread on the way.

use std::rc::Rc;

use futures_util::future::{Either, select};
use futures_util::{StreamExt, pin_mut};
use palimpsest_core::message::{Part, Seq};
use palimpsest_core::model::ModelSize;
use palimpsest_core::pass::{PassKind, Shed, emergency};
use palimpsest_core::request::{Delta, FinishReason, ModelError, Usage};
use palimpsest_core::run::{Proposal, RunReport, Verification};

use crate::error::EngineError;
use crate::event::Event;
use crate::ports::{Abort, Durability, LanguageModel, LocalFuture, Op, Signal, Table};
use crate::rows::{seal, session_key};

use super::{CompactOptions, NewMessage, Session};

/// Rounds of tool calls that one message may cause (G9).
const TOOL_ROUNDS: u32 = 8;
/// Characters after which the reply so far is written down.
const PARTIAL_EVERY: usize = 1_200;

/// Answers the tool calls of a model.
pub trait ToolHandler {
    /// Runs the tool. An `Err` is shown to the model as a failed result.
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a str,
    ) -> LocalFuture<'a, Result<String, String>>;
}

/// How to send.
#[derive(Clone)]
pub struct SendOptions {
    /// Who answers.
    pub model: Rc<dyn LanguageModel>,
    /// Tool definitions in the dialect's JSON.
    pub tools: Vec<serde_json::Value>,
    /// Who runs the tools; without it tool calls end the turn.
    pub handler: Option<Rc<dyn ToolHandler>>,
    /// Sampling temperature.
    pub temperature: Option<f32>,
    /// Whether a thinking model thinks.
    pub think: Option<bool>,
}

impl std::fmt::Debug for SendOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SendOptions")
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}

/// What happens while a reply comes in.
#[derive(Debug, Clone, PartialEq)]
pub enum SendEvent {
    /// The user's message is stored.
    Stored(Seq),
    /// A piece of the reply.
    Delta(Delta),
    /// The window does not fit before sending; a compaction runs first.
    Waiting,
    /// A tool runs.
    Tool(String),
}

/// A finished reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The message that was stored.
    pub seq: Seq,
    /// The provider's counts.
    pub usage: Usage,
    /// Why it ended.
    pub reason: FinishReason,
    /// Whether the user stopped it.
    pub stopped: bool,
}

struct Answer {
    text: String,
    thinking: String,
    calls: Vec<Part>,
    usage: Usage,
    reason: FinishReason,
    stopped: bool,
}

impl Session {
    /// Says something and streams the reply. The user's message is stored before the model is asked; it
    /// goes before a running compaction, which is put off if the window still fits (P7).
    pub async fn send(
        &self,
        message: NewMessage,
        options: &SendOptions,
        signal: Signal,
        on: &dyn Fn(SendEvent),
    ) -> Result<Reply, EngineError> {
        self.claim_reply()?;
        let result = self.send_claimed(message, options, signal, on).await;
        self.0.state.borrow_mut().reply = None;
        result
    }

    /// Lets the model answer what stands at the end of the path: after a rewind, or a reply that broke off.
    pub async fn reply(
        &self,
        options: &SendOptions,
        signal: Signal,
        on: &dyn Fn(SendEvent),
    ) -> Result<Reply, EngineError> {
        self.claim_reply()?;
        self.count_tools(options);
        let result = self.rounds(options, signal, on).await;
        self.0.state.borrow_mut().reply = None;
        result
    }

    /// Stops the reply that streams now. What has arrived is stored.
    pub fn stop(&self) {
        let running = self.0.state.borrow().reply.clone();
        if let Some(abort) = running {
            abort.abort();
        }
    }

    /// Whether a reply streams now.
    pub fn is_replying(&self) -> bool {
        self.0.state.borrow().reply.is_some()
    }

    /// The tool definitions take part of the window: counted as the JSON they are sent as.
    fn count_tools(&self, options: &SendOptions) {
        let mut state = self.0.state.borrow_mut();
        let own = state.head.config.tools.definitions();
        let counter = Rc::clone(state.context.counter());
        let tokens: u32 = own
            .iter()
            .chain(&options.tools)
            .map(|t| counter.count(&t.to_string()))
            .fold(0, u32::saturating_add);
        if tokens != state.context.setup().tools {
            let mut setup = state.context.setup().clone();
            setup.tools = tokens;
            state.context.set_setup(setup);
        }
    }

    fn claim_reply(&self) -> Result<(), EngineError> {
        let mut state = self.0.state.borrow_mut();
        if state.reply.is_some() {
            return Err(EngineError::Busy("a reply"));
        }
        state.reply = Some(Abort::new());
        Ok(())
    }

    async fn send_claimed(
        &self,
        message: NewMessage,
        options: &SendOptions,
        signal: Signal,
        on: &dyn Fn(SendEvent),
    ) -> Result<Reply, EngineError> {
        self.count_tools(options);
        let seq = self.append(message).await?;
        on(SendEvent::Stored(seq));
        if self.0.state.borrow().context.check_limit().valid {
            // The user has right of way on a server that does one thing at a time.
            self.put_off_compaction();
        }
        self.rounds(options, signal, on).await
    }

    async fn rounds(
        &self,
        options: &SendOptions,
        signal: Signal,
        on: &dyn Fn(SendEvent),
    ) -> Result<Reply, EngineError> {
        let mut round = 0;
        loop {
            self.make_fit(options, &signal, on).await?;
            let answer = match self.ask_model(options, &signal, on).await {
                Err(EngineError::Model(ModelError::Overflow { .. })) => {
                    if self.rolls_over_early() {
                        return Err(self.go_on_elsewhere().await?);
                    }
                    // The server counts more than we do: once, whatever it takes.
                    self.emergency().await?;
                    match self.ask_model(options, &signal, on).await {
                        Err(EngineError::Model(ModelError::Overflow { .. }))
                            if self.0.state.borrow().head.config.rollover.enabled
                                && self.message_count() > 1 =>
                        {
                            return Err(self.go_on_elsewhere().await?);
                        }
                        other => other?,
                    }
                }
                other => other?,
            };
            let reply = self.store_answer(&answer).await?;
            round += 1;
            let calls: Vec<Part> = answer.calls.clone();
            if calls.is_empty() || answer.stopped || round >= TOOL_ROUNDS {
                return Ok(reply);
            }
            let mut results = Vec::new();
            let mut unanswered = 0;
            for call in calls {
                let Part::ToolCall {
                    id,
                    name,
                    arguments,
                } = call
                else {
                    continue;
                };
                let outcome = match (self.own_tool(&name), &options.handler) {
                    (Some(tool), _) => {
                        on(SendEvent::Tool(name.clone()));
                        self.answer_own(tool, &arguments, options, &signal).await
                    }
                    (None, Some(handler)) => {
                        on(SendEvent::Tool(name.clone()));
                        handler.call(&name, &arguments).await
                    }
                    // the host answers it later, or never: the turn ends here
                    (None, None) => {
                        unanswered += 1;
                        continue;
                    }
                };
                let (text, error) = match outcome {
                    Ok(text) => (text, false),
                    Err(text) => (text, true),
                };
                results.push(NewMessage::tool(vec![Part::ToolResult {
                    call: id,
                    name: Some(name),
                    text,
                    error,
                }]));
            }
            if !results.is_empty() {
                self.append_all(results).await?;
            }
            if unanswered > 0 {
                return Ok(reply);
            }
        }
    }

    /// Whether an overflow leads to a new session at once: a small model whose conversation was compacted often.
    fn rolls_over_early(&self) -> bool {
        let state = self.0.state.borrow();
        let rule = &state.head.config.rollover;
        let small = ModelSize::from_name(&state.head.model).is_some_and(|s| s.nominal() <= 3);
        rule.enabled && small && state.context.view().compactions >= rule.small_model_compactions
    }

    async fn go_on_elsewhere(&self) -> Result<EngineError, EngineError> {
        let next = self.roll_over().await?;
        Ok(EngineError::RolledOver {
            session: next.id().to_owned(),
        })
    }

    /// Before sending the window must fit: a compaction if one helps, else the emergency.
    async fn make_fit(
        &self,
        options: &SendOptions,
        signal: &Signal,
        on: &dyn Fn(SendEvent),
    ) -> Result<(), EngineError> {
        if self.0.state.borrow().context.check_limit().valid {
            return Ok(());
        }
        on(SendEvent::Waiting);
        // what runs already may be enough; "skip" ends that wait, too
        drop(self.0.compacting.lock().await);
        let check = self.0.state.borrow().context.check_limit();
        if check.valid {
            return Ok(());
        }
        if !self.0.state.borrow().head.config.compression.enabled {
            return Err(EngineError::WouldNotFit {
                tokens: check.tokens,
                limit: check.limit,
                choices: self.larger_window().into_iter().collect(),
            });
        }
        let compact = CompactOptions {
            model: Some(Rc::clone(&options.model)),
            manual: true,
            ..CompactOptions::default()
        };
        let result = self.compact(compact, signal.clone()).await;
        if self.0.state.borrow().context.check_limit().valid {
            return Ok(());
        }
        match result {
            Err(error @ EngineError::Store(_)) => Err(error),
            _ => self.emergency().await,
        }
    }

    /// Strip, fade, excerpt: whatever it takes to fit (E1). One revision.
    pub async fn emergency(&self) -> Result<(), EngineError> {
        let proposal = {
            let state = self.0.state.borrow();
            let mut context = state.context.clone();
            let before = context.tokens();
            let segments_before = context.stretches();
            // Below the limit, too, when the server says that it does not fit.
            let limit = context
                .setup()
                .shares
                .limit
                .min(before.saturating_sub(before / 8));
            let adjustments =
                emergency::shrink(&mut context, limit, self.now()).map_err(EngineError::Refused)?;
            let mut view = context.view().clone();
            view.number_changed_layers(state.context.view());
            view.cause = palimpsest_core::context::Cause::Emergency;
            let report = RunReport {
                verification: Some(Verification {
                    valid: true,
                    tokens: context.tokens(),
                    limit,
                    retention: 0.0,
                }),
                stages: Vec::new(),
                before,
                after: context.tokens(),
                layer: None,
                covers: Vec::new(),
                messages: 0,
                covered_tokens: 0,
                quoted: Vec::new(),
                summarised: Vec::new(),
                retention: 0.0,
                dropped: Vec::new(),
                reread: context.tokens(),
                preserved: context.shown_count(),
                released: Vec::new(),
                passes: vec![Shed {
                    pass: PassKind::Emergency,
                    messages: 0,
                    tokens: before.saturating_sub(context.tokens()),
                }],
                adjustments,
                cautions: Vec::new(),
                manual: false,
                segments_before,
                segments_after: context.stretches(),
                took: None,
            };
            Proposal {
                base: state.head.revision,
                tip: state.head.tip,
                view,
                records: None,
                records_base: context.records().revision,
                found: palimpsest_core::record::Found::default(),
                report,
            }
        };
        self.commit(proposal).await?;
        Ok(())
    }

    async fn ask_model(
        &self,
        options: &SendOptions,
        signal: &Signal,
        on: &dyn Fn(SendEvent),
    ) -> Result<Answer, EngineError> {
        let at = self.sent();
        let (request, window) = self.request_and_window(options)?;
        let own = self
            .0
            .state
            .borrow()
            .reply
            .as_ref()
            .map_or_else(Signal::never, Abort::signal);
        let stop = Abort::new();
        let mut stream = options.model.complete(request, stop.signal());
        let mut answer = Answer {
            text: String::new(),
            thinking: String::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            reason: FinishReason::Stop,
            stopped: false,
        };
        let mut noted = 0;
        loop {
            // a stream that is always ready must not win over the wish to stop
            if signal.is_aborted() || own.is_aborted() {
                stop.abort();
                answer.stopped = true;
                break;
            }
            let next = stream.next();
            let stopped = select(Box::pin(signal.aborted()), Box::pin(own.aborted()));
            pin_mut!(next, stopped);
            let delta = match select(next, stopped).await {
                Either::Left((delta, _)) => delta,
                Either::Right(_) => {
                    stop.abort();
                    answer.stopped = true;
                    break;
                }
            };
            match delta {
                None => {
                    self.keep_partial(&answer.text).await;
                    return Err(ModelError::Truncated.into());
                }
                Some(Err(error)) => {
                    self.keep_partial(&answer.text).await;
                    return Err(error.into());
                }
                Some(Ok(delta)) => {
                    on(SendEvent::Delta(delta.clone()));
                    match delta {
                        Delta::Text { text } => answer.text.push_str(&text),
                        Delta::Thinking { text } => answer.thinking.push_str(&text),
                        Delta::ToolCall {
                            id,
                            name,
                            arguments,
                        } => {
                            answer.calls.push(Part::ToolCall {
                                id,
                                name,
                                arguments,
                            });
                        }
                        Delta::Usage(usage) => answer.usage = usage,
                        Delta::Done { reason } => {
                            answer.reason = reason;
                            break;
                        }
                    }
                    if answer.text.len() > noted + PARTIAL_EVERY {
                        noted = answer.text.len();
                        self.keep_partial(&answer.text).await;
                    }
                }
            }
        }
        drop(stream);
        self.0.state.borrow_mut().speed.learn(&answer.usage);
        self.observe(&window, &options.tools, &at, answer.usage.prompt_tokens)
            .await;
        Ok(answer)
    }

    /// Notes what has arrived, so that a crash loses at most the last moments of a reply.
    async fn keep_partial(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.0.state.borrow_mut().partial = Some(text.to_owned());
        let Ok(value) = seal(&text) else { return };
        let op = Op::Put {
            table: Table::Partials,
            key: session_key(&self.0.id),
            value,
        };
        // A partial reply is a courtesy: that it could not be noted does not stop the reply.
        let written = self
            .0
            .engine
            .store
            .apply(&self.0.lease, None, vec![op], Durability::Relaxed)
            .await;
        if let Err(error) = written {
            self.emit(&Event::Warning {
                code: error.code(),
                message: error.to_string(),
            });
        }
    }

    async fn store_answer(&self, answer: &Answer) -> Result<Reply, EngineError> {
        let mut parts = Vec::new();
        if !answer.thinking.is_empty() {
            parts.push(Part::Thinking {
                text: answer.thinking.clone(),
            });
        }
        if !answer.text.is_empty() {
            parts.push(Part::text(answer.text.clone()));
        }
        parts.extend(answer.calls.iter().cloned());
        if parts.is_empty() {
            if answer.stopped {
                return Err(ModelError::Aborted.into());
            }
            return Err(ModelError::Truncated.into());
        }
        let seq = self.append(NewMessage::assistant(parts)).await?;
        Ok(Reply {
            seq,
            usage: answer.usage,
            reason: answer.reason,
            stopped: answer.stopped,
        })
    }
}
