//! Sends a message: append → window → model → append. It recounts and rereads nothing on the way.

use std::rc::Rc;

use futures_util::future::{Either, Fuse, FusedFuture, select};
use futures_util::{FutureExt, StreamExt, pin_mut};
use palimpsest_core::message::{Ended, Part, Seq};
use palimpsest_core::request::{Delta, FinishReason, ModelError, Usage};
use palimpsest_core::run::{Proposal, RunReport};
use palimpsest_core::tool::definitions_tokens;

use crate::config::{ConfigError, Sampling};
use crate::error::EngineError;
use crate::ports::{Abort, LanguageModel, LocalFuture, Signal};

use super::partial::{Partial, Place, Prior, joined};
use super::{CompactOptions, NewMessage, Session};

/// The number of rounds of tool calls that one message may cause (G9). The calls of the last one are not run.
const TOOL_ROUNDS: u32 = 8;
/// The result of the calls of the last round, so that the model answers with what it has.
const NO_MORE_TOOLS: &str =
    "No more tools can be used before the next message. Answer with the results so far.";
/// The number of characters after which the reply so far is noted.
const PARTIAL_EVERY: usize = 1_200;
/// The milliseconds after which it is noted.
const PARTIAL_AFTER: f64 = 800.0;
/// The seconds that a message waits for a model's summary, unless the settings give another number.
const MOST_WAIT: u32 = 10;

/// Answers the tool calls of a model.
pub trait ToolHandler {
    /// Runs the tool. An `Err` is shown to the model as a failed result.
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a str,
    ) -> LocalFuture<'a, Result<String, String>>;
}

/// The options of a send.
#[derive(Clone)]
pub struct SendOptions {
    /// The model that answers.
    pub model: Rc<dyn LanguageModel>,
    /// Tool definitions in the dialect's JSON.
    pub tools: Vec<serde_json::Value>,
    /// The handler of tool calls. Without it a tool call ends the turn.
    pub handler: Option<Rc<dyn ToolHandler>>,
    /// Sampling options that replace those of the session's settings.
    pub sampling: Sampling,
    /// The limit of a reply in tokens. The session's reserve is the upper bound.
    pub max_tokens: Option<u32>,
    /// Texts that end a reply.
    pub stop: Vec<String>,
    /// The JSON schema of the reply, or the text `json` for any JSON.
    pub format: Option<serde_json::Value>,
    /// A thinking model thinks, or not. `None` leaves it to the server.
    pub think: Option<bool>,
    /// The author of the summaries that this message has to wait for.
    pub summariser: Summariser,
}

/// The author of the summaries of a compaction that a message waits for, or that its model asks for.
#[derive(Clone, Default)]
pub enum Summariser {
    /// The model that answers.
    #[default]
    Same,
    /// The built-in summariser.
    BuiltIn,
    /// A model by its name, which is asked through this connection.
    Named(Rc<dyn LanguageModel>, String),
}

impl std::fmt::Debug for SendOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SendOptions")
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}

impl SendOptions {
    /// Options with this model, and the session's settings for the rest.
    pub fn new(model: Rc<dyn LanguageModel>) -> Self {
        Self {
            model,
            tools: Vec::new(),
            handler: None,
            sampling: Sampling::default(),
            max_tokens: None,
            stop: Vec::new(),
            format: None,
            think: None,
            summariser: Summariser::default(),
        }
    }

    /// The options of a compaction that this message brings about.
    pub(super) fn compaction(&self) -> CompactOptions {
        let (model, model_name) = match &self.summariser {
            Summariser::Same => (Some(Rc::clone(&self.model)), None),
            Summariser::BuiltIn => (None, None),
            Summariser::Named(model, name) => (Some(Rc::clone(model)), Some(name.clone())),
        };
        CompactOptions {
            model,
            model_name,
            manual: true,
            ..CompactOptions::default()
        }
    }
}

/// An event of a reply that is coming in.
#[derive(Debug, Clone, PartialEq)]
pub enum SendEvent {
    /// The user's message is stored.
    Stored(Seq),
    /// A piece of the reply.
    Delta(Delta),
    /// The window does not fit, so a compaction runs before sending.
    Waiting,
    /// A tool runs.
    Tool(String),
}

/// A finished reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The number of the stored message.
    pub seq: Seq,
    /// The provider's counts.
    pub usage: Usage,
    /// The reason for its end.
    pub reason: FinishReason,
    /// The user stopped it.
    pub stopped: bool,
    /// The way in which it ended, if it is not whole: [`Session::continue_reply`] continues it.
    pub ended: Option<Ended>,
}

pub(super) struct Answer {
    /// The place of the reply.
    place: Place,
    text: String,
    thinking: String,
    calls: Vec<Part>,
    usage: Usage,
    reason: FinishReason,
    stopped: bool,
}

/// Marks a running reply. When the reply ends in any way, also when its future is dropped, the session is free again.
struct ReplyTurn<'a> {
    session: &'a Session,
    stop: Signal,
}

impl Drop for ReplyTurn<'_> {
    fn drop(&mut self) {
        self.session.0.state.borrow_mut().reply = None;
    }
}

impl Session {
    /// Stores the user's message and streams the reply. The message takes precedence over a running compaction, which
    /// is put off if the window still fits (P7).
    ///
    /// # Errors
    ///
    /// [`EngineError`]; if the message was stored before the failure, it stays.
    pub async fn send(
        &self,
        message: NewMessage,
        options: &SendOptions,
        signal: Signal,
        on: &dyn Fn(SendEvent),
    ) -> Result<Reply, EngineError> {
        self.check(options)?;
        let turn = self.claim_reply()?;
        let signal = signal.or(&turn.stop);
        self.send_claimed(message, options, signal, on).await
    }

    /// Asks the model to answer the end of the path. An unfinished reply at the end is replaced. The old one stays on
    /// its branch, and returns if no new one arrives.
    pub async fn reply(
        &self,
        options: &SendOptions,
        signal: Signal,
        on: &dyn Fn(SendEvent),
    ) -> Result<Reply, EngineError> {
        self.check(options)?;
        let turn = self.claim_reply()?;
        let signal = signal.or(&turn.stop);
        self.keep_arrived().await;
        self.count_tools(options);
        let unfinished = self.unfinished();
        if let Some(part) = &unfinished {
            self.move_tip(part.parent).await?;
        }
        let reply = self.rounds(options, signal, on, None).await;
        if let (Err(_), Some(part)) = (&reply, &unfinished)
            && self.head().tip == part.parent
        {
            // No new reply arrived.
            self.move_tip(Some(part.seq)).await?;
        }
        reply
    }

    /// Asks the model to continue the unfinished reply at the end of the path. The result is one message in its place.
    /// The old one stays on its branch, and stays the end of the path until the new one is stored.
    ///
    /// # Errors
    ///
    /// [`EngineError::NothingToContinue`] if the last message is not such a reply.
    pub async fn continue_reply(
        &self,
        options: &SendOptions,
        signal: Signal,
        on: &dyn Fn(SendEvent),
    ) -> Result<Reply, EngineError> {
        self.check(options)?;
        let turn = self.claim_reply()?;
        let signal = signal.or(&turn.stop);
        self.keep_arrived().await;
        let prior = self.prior()?;
        self.count_tools(options);
        self.rounds(options, signal, on, Some(prior)).await
    }

    /// Refuses options that allow no reply, before anything is stored.
    fn check(&self, options: &SendOptions) -> Result<(), EngineError> {
        options.sampling.validate()?;
        let room = self.0.state.borrow().context.setup().shares.reserve;
        let wrong = |key: &str, why: &str| Err(ConfigError::invalid(key, why).into());
        match options.max_tokens {
            Some(0) => return wrong("max_tokens", "a reply has at least one token"),
            Some(most) if most > room => {
                let why = format!(
                    "this session keeps {room} tokens free for a reply, and its setting `reserve` can keep more"
                );
                return wrong("max_tokens", &why);
            }
            _ => {}
        }
        if options.stop.iter().any(String::is_empty) {
            return wrong("stop", "a text that ends a reply is not empty");
        }
        match &options.format {
            None | Some(serde_json::Value::Object(_)) => Ok(()),
            Some(serde_json::Value::String(text)) if text == "json" => Ok(()),
            Some(_) => wrong("format", "it is a JSON schema, or the text json"),
        }
    }

    /// Stops the running reply in any stage: the compaction before it, the pauses between attempts, the stream, the
    /// tools. The arrived part is stored. If nothing has arrived, the call ends with [`ModelError::Aborted`], and the
    /// sent message stays.
    pub fn stop(&self) {
        let running = self.0.state.borrow().reply.clone();
        if let Some(abort) = running {
            abort.abort();
        }
    }

    /// Returns `true` while a reply streams.
    pub fn is_replying(&self) -> bool {
        self.0.state.borrow().reply.is_some()
    }

    /// Counts the tool definitions as the JSON that is sent, because they take part of the window.
    fn count_tools(&self, options: &SendOptions) {
        let mut state = self.0.state.borrow_mut();
        let own = state.head.config.tools.definitions();
        let sent = own.iter().chain(&options.tools);
        let tokens = definitions_tokens(sent, state.context.counter().as_ref());
        if tokens != state.context.setup().tools {
            let mut setup = state.context.setup().clone();
            setup.tools = tokens;
            state.context.set_setup(setup);
        }
    }

    fn claim_reply(&self) -> Result<ReplyTurn<'_>, EngineError> {
        let mut state = self.0.state.borrow_mut();
        if state.reply.is_some() {
            return Err(EngineError::Busy("a reply"));
        }
        let abort = Abort::new();
        let stop = abort.signal();
        state.reply = Some(abort);
        Ok(ReplyTurn {
            session: self,
            stop,
        })
    }

    async fn send_claimed(
        &self,
        message: NewMessage,
        options: &SendOptions,
        signal: Signal,
        on: &dyn Fn(SendEvent),
    ) -> Result<Reply, EngineError> {
        self.keep_arrived().await;
        self.count_tools(options);
        let seq = self.append(message).await?;
        on(SendEvent::Stored(seq));
        self.recall_others().await?;
        if self.0.state.borrow().context.check_limit().valid {
            // On a server that does one thing at a time, the user comes first.
            self.put_off_compaction();
        }
        self.rounds(options, signal, on, None).await
    }

    async fn rounds(
        &self,
        options: &SendOptions,
        signal: Signal,
        on: &dyn Fn(SendEvent),
        mut prior: Option<Prior>,
    ) -> Result<Reply, EngineError> {
        let mut round = 0;
        loop {
            self.make_fit(options, &signal, on).await?;
            let asked = Box::pin(self.ask_within(options, &signal, on, prior.as_ref())).await;
            let answer = match asked {
                Ok(answer) => answer,
                Err(error) => {
                    self.keep_arrived().await;
                    return Err(error);
                }
            };
            let reply = self.store_answer(&answer, prior.take().as_ref()).await?;
            round += 1;
            let calls: Vec<Part> = answer.calls.clone();
            if calls.is_empty() || answer.stopped || round > TOOL_ROUNDS {
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
                    // The host answers it later, or never, so the turn ends here.
                    (None, None) => {
                        unanswered += 1;
                        continue;
                    }
                    _ if round == TOOL_ROUNDS => Err(NO_MORE_TOOLS.into()),
                    (Some(tool), _) => {
                        on(SendEvent::Tool(name.clone()));
                        self.answer_own(tool, &arguments, options, &signal).await
                    }
                    (None, Some(handler)) => {
                        on(SendEvent::Tool(name.clone()));
                        unless_stopped(handler.call(&name, &arguments), &signal).await
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
            if signal.is_aborted() {
                return Ok(Reply {
                    stopped: true,
                    ..reply
                });
            }
            if unanswered > 0 {
                return Ok(reply);
            }
        }
    }

    /// Makes the window fit before sending: by a compaction if one helps, otherwise by the emergency.
    pub(super) async fn make_fit(
        &self,
        options: &SendOptions,
        signal: &Signal,
        on: &dyn Fn(SendEvent),
    ) -> Result<(), EngineError> {
        if self.0.state.borrow().context.check_limit().valid {
            return Ok(());
        }
        // Quotes never push anything out, so they go first.
        if self.0.state.borrow().context.recalled_tokens() > 0 {
            self.forget_recalled(None).await?;
            if self.0.state.borrow().context.check_limit().valid {
                return Ok(());
            }
        }
        on(SendEvent::Waiting);
        // One time limit for everything that holds this message up.
        let mut late = self.wait_is_over().fuse();
        // A compaction that runs already may be enough. "Skip" ends this wait, too.
        let turn = self.no_longer_than(&mut late, self.compaction_turn(signal));
        drop(turn.await);
        if signal.is_aborted() {
            return Err(ModelError::Aborted.into());
        }
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
        let mut compact = options.compaction();
        // A model that is known to take longer than the wait is not asked in vain (P7).
        if matches!(options.summariser, Summariser::Same) {
            compact.most_seconds = Some(self.most_wait());
        }
        if late.is_terminated() {
            // The time is over, so no model is asked.
            compact.model = None;
        }
        let run = Box::pin(self.compact(compact, signal.clone()));
        let result = self.no_longer_than(&mut late, run).await;
        if self.0.state.borrow().context.check_limit().valid {
            return self.recall_anew().await;
        }
        match result {
            Err(error @ EngineError::Store(_)) => Err(error),
            // A user who stops the send wants no other change of the window instead.
            _ if signal.is_aborted() => Err(ModelError::Aborted.into()),
            _ => self.emergency().await,
        }
    }

    /// Resolves after the time that the settings allow a message to wait for a model's summary.
    fn wait_is_over(&self) -> LocalFuture<'static, ()> {
        let most = self.most_wait().saturating_mul(1_000);
        self.0.host.world.timer.sleep(most)
    }

    /// The seconds that a message waits for a model's summary.
    fn most_wait(&self) -> u32 {
        let seconds = self.0.state.borrow().head.config.compression.wait_seconds;
        seconds.unwrap_or(MOST_WAIT)
    }

    /// Waits for `work`, a compaction that holds a message up. After `late` resolves, the compaction no longer waits
    /// for the model's summary.
    async fn no_longer_than<T>(
        &self,
        late: &mut (impl FusedFuture<Output = ()> + Unpin),
        work: impl Future<Output = T>,
    ) -> T {
        pin_mut!(work);
        if late.is_terminated() {
            return work.await;
        }
        match select(work, late).await {
            Either::Left((done, _)) => done,
            Either::Right(((), work)) => {
                self.skip_wait();
                work.await
            }
        }
    }

    /// Makes the window fit by all means: strip, fade, excerpt (E1). It writes one revision.
    pub async fn emergency(&self) -> Result<(), EngineError> {
        let limit = {
            let context = &self.0.state.borrow().context;
            let before = context.tokens();
            // The goal is below the limit if the server says that the window does not fit.
            let less = before.saturating_sub(before / 8);
            context.setup().shares.limit.min(less)
        };
        match self.shrink_to(limit, |_| Ok(())).await {
            // Another change of the window was stored meanwhile, so the excess is computed once more.
            Err(EngineError::Busy(_)) if self.0.state.borrow().context.tokens() <= limit => Ok(()),
            Err(EngineError::Busy(_)) => self.shrink_to(limit, |_| Ok(())).await,
            done => done,
        }
    }

    /// Does the work of [`Self::emergency`] down to `limit` tokens, if `allows` accepts the resulting view.
    pub(super) async fn shrink_to(
        &self,
        limit: u32,
        allows: impl FnOnce(&palimpsest_core::context::View) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let proposal = {
            let state = self.0.state.borrow();
            let mut context = state.context.clone();
            let (report, found) = RunReport::of_emergency(&mut context, limit, self.now())
                .map_err(EngineError::Refused)?;
            allows(context.view())?;
            let mut view = context.view().clone();
            view.number_changed_layers(state.context.view());
            view.cause = palimpsest_core::context::Cause::Emergency;
            Proposal {
                base: state.head.revision,
                tip: state.head.tip,
                edits: state.context.view().edits_to(&view),
                view,
                records: (!found.constraints.is_empty()).then(|| context.records().clone()),
                records_base: state.context.records().revision,
                found,
                report,
            }
        };
        self.commit(proposal).await?;
        Ok(())
    }

    pub(super) async fn ask_model(
        &self,
        options: &SendOptions,
        signal: &Signal,
        on: &dyn Fn(SendEvent),
        prior: Option<&Prior>,
    ) -> Result<Answer, EngineError> {
        let at = self.sent();
        let (request, window) = self.request_and_window(options)?;
        let stop = Abort::new();
        // The server's count includes everything that was sent, so our own tools count, too.
        let tools = request.tools.clone();
        let mut stream = options.model.complete(request, stop.signal());
        let mut answer = Answer::at(prior.map_or_else(
            || Place {
                after: self.head().tip,
                instead: None,
            },
            |prior| prior.place,
        ));
        let (mut noted, mut noted_at) = (0, 0.0);
        // A stream that stalls is noted, too.
        let mut due: Fuse<LocalFuture<'static, ()>> = Fuse::terminated();
        loop {
            // A stream that is always ready must not win over the stop signal.
            if signal.is_aborted() {
                stop.abort();
                answer.stopped = true;
                break;
            }
            let next = stream.next();
            let stopped = signal.aborted();
            pin_mut!(next, stopped);
            let delta = match select(next, select(stopped, &mut due)).await {
                Either::Left((delta, _)) => delta,
                Either::Right((Either::Left(_), _)) => {
                    stop.abort();
                    answer.stopped = true;
                    break;
                }
                Either::Right((Either::Right(_), _)) => {
                    (noted, noted_at) = (answer.arrived(), self.now());
                    self.note_answer(&answer, prior).await;
                    continue;
                }
            };
            match delta {
                None => {
                    self.note_answer(&answer, prior).await;
                    return Err(ModelError::Truncated.into());
                }
                Some(Err(error)) => {
                    self.note_answer(&answer, prior).await;
                    return Err(error.into());
                }
                Some(Ok(delta)) => {
                    on(SendEvent::Delta(delta.clone()));
                    if answer.take(delta) {
                        break;
                    }
                    let arrived = answer.arrived();
                    let late = self.now() - noted_at >= PARTIAL_AFTER && arrived > noted;
                    if late || arrived > noted + PARTIAL_EVERY {
                        (noted, noted_at) = (arrived, self.now());
                        due = Fuse::terminated();
                        self.note_answer(&answer, prior).await;
                    } else if arrived > noted && due.is_terminated() {
                        due = self.0.host.world.timer.sleep(PARTIAL_AFTER as u32).fuse();
                    }
                }
            }
        }
        drop(stream);
        self.0.state.borrow_mut().speed.learn(&answer.usage);
        self.observe(&window, &tools, &at, answer.usage.prompt_tokens)
            .await;
        Ok(answer)
    }

    async fn note_answer(&self, answer: &Answer, prior: Option<&Prior>) {
        if answer.arrived() > 0 {
            self.note_partial(answer.partial(prior)).await;
        }
    }

    /// Stores an answer. If it continues `prior`, both become one message.
    async fn store_answer(
        &self,
        answer: &Answer,
        prior: Option<&Prior>,
    ) -> Result<Reply, EngineError> {
        // A server that is asked to continue and has nothing to add thereby says that the reply was whole.
        let is_whole = !answer.stopped && answer.reason == FinishReason::Stop;
        if answer.arrived() == 0 && answer.calls.is_empty() && !(prior.is_some() && is_whole) {
            if answer.stopped {
                return Err(ModelError::Aborted.into());
            }
            return Err(ModelError::Truncated.into());
        }
        let all = answer.partial(prior);
        let mut parts = Vec::new();
        if !all.thinking.is_empty() {
            parts.push(Part::Thinking { text: all.thinking });
        }
        if !all.text.is_empty() {
            parts.push(Part::text(all.text));
        }
        parts.extend(answer.calls.iter().cloned());
        let ended = if answer.stopped {
            Some(Ended::Stopped)
        } else if answer.reason == FinishReason::Length {
            let wrote = answer.usage.completion_tokens;
            let wrote =
                wrote.unwrap_or_else(|| self.count(&answer.thinking) + self.count(&answer.text));
            Some(Ended::Cut(
                wrote.saturating_add(prior.map_or(0, |p| p.tokens)),
            ))
        } else {
            None
        };
        let new = NewMessage {
            ended,
            ..NewMessage::assistant(parts)
        };
        let seq = self.append_reply(new, answer.place).await?;
        Ok(Reply {
            seq,
            usage: answer.usage,
            reason: answer.reason,
            stopped: answer.stopped,
            ended,
        })
    }
}

impl Answer {
    /// An answer of which nothing has arrived.
    fn at(place: Place) -> Self {
        Self {
            place,
            text: String::new(),
            thinking: String::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            reason: FinishReason::Stop,
            stopped: false,
        }
    }

    /// Adds a piece. Returns `true` if it is the end.
    fn take(&mut self, delta: Delta) -> bool {
        match delta {
            Delta::Text { text } => self.text.push_str(&text),
            Delta::Thinking { text } => self.thinking.push_str(&text),
            Delta::ToolCall {
                id,
                name,
                arguments,
            } => self.calls.push(Part::ToolCall {
                id,
                name,
                arguments,
            }),
            Delta::Usage(usage) => self.usage = usage,
            Delta::Done { reason } => {
                self.reason = reason;
                return true;
            }
        }
        false
    }

    /// The number of bytes that have arrived.
    const fn arrived(&self) -> usize {
        self.text.len() + self.thinking.len()
    }

    /// The arrived part, after the text that it continues.
    fn partial(&self, prior: Option<&Prior>) -> Partial {
        let (text, thinking) = match prior {
            Some(prior) => (
                joined(&prior.text, &self.text),
                format!("{}{}", prior.thinking, self.thinking),
            ),
            None => (self.text.clone(), self.thinking.clone()),
        };
        Partial {
            text,
            thinking,
            after: self.place.after,
            instead: self.place.instead,
            at: 0.0,
        }
    }
}

/// Returns the answer of a host's tool, or the fact that the call was stopped before.
async fn unless_stopped(
    call: LocalFuture<'_, Result<String, String>>,
    signal: &Signal,
) -> Result<String, String> {
    match select(call, Box::pin(signal.aborted())).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => Err("The person stopped this call before it gave a result.".into()),
    }
}
