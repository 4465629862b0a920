//! Saying something: messages that go at once or wait, with their files, and what becomes of the reply.

use std::cell::Cell;
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use leptos::task::spawn_local;
use palimpsest_core::message::{Ended, Part};
use palimpsest_core::request::ModelError;
use palimpsest_engine::Session;
use palimpsest_engine::error::EngineError;
use palimpsest_engine::ports::{Abort, Signal};
use palimpsest_engine::session::{self, NewMessage, SendEvent, SendOptions};

use crate::act::{
    Back, Incoming, arrived, back, equip, failed, forget_failure, give_model, keep_draft,
    kept_draft, list, note, offer_reply, open_now, parameters, parts, say, show_all, survey,
    take_in, tend, together, tokens_of, toolbox, with_engine,
};
use crate::chat::actions::attachments::{attached_to, counted, refuses_images, with_attached};
use crate::chat::actions::title;
use crate::chat::data::thread::{self, Stats};
use crate::platform::{guest, page};
use crate::server;
use crate::settings::Settings;
use crate::settings::data::connection::{Connection, ModelEntry};
use crate::state::{AppState, Attached, Notice, Reply, Until, Waiting};
use crate::text::{T, fill, number, t};

/// Seconds that a message waits for a model's summary where the session does not say.
const USUAL_WAIT: u32 = 10;

/// Says something. Whether it was taken: if not, the text stays where it is. While a session is being opened, a reply comes
/// in, or a person's compaction runs, it waits.
pub fn send(text: String) -> bool {
    let Some(state) = AppState::remembered() else {
        return false;
    };
    let Some(back) = back().filter(|back| !back.opening.is_on()) else {
        return wait(state, text, Until::Open);
    };
    let Some(session) = back.writer() else {
        return false;
    };
    // a reply that has begun looks for its tools first
    let begins = state.reply.with_untracked(Option::is_some);
    if begins || session.is_replying() || back.manual.get() {
        let waits = wait(state, text, Until::Free);
        if waits {
            keep_draft(session.id(), "");
        }
        return waits;
    }
    let has_image = |one: &Attached| matches!(one.part, Part::Image { .. });
    let has_image = state
        .attached
        .with_untracked(|all| all.iter().any(has_image));
    if !can_send(&back) || has_image && refuses_images(&back) {
        return false;
    }
    // until it is stored: tools are looked for before that
    keep_draft(session.id(), &text);
    let message = with_attached(state, text);
    say(back, session, Some(message));
    true
}

/// Stores what had arrived of a reply when the page ended. Then the session settles in.
pub(crate) fn keep_arrived_now(back: Rc<Back>, session: Session) {
    // another one may have been opened while this part came
    if !back.shows(&session) {
        return;
    }
    spawn_local(async move {
        session.keep_arrived().await;
        if back.shows(&session) {
            show_all(&back).await;
            equip(back, session);
        }
    });
}

/// Lets a message wait. Returns `false` if another one waits already.
fn wait(state: AppState, text: String, until: Until) -> bool {
    if state.waiting.with_untracked(Option::is_some) {
        return false;
    }
    state.say(t(until.told()));
    state.waiting.set(Some(Waiting { text, until }));
    true
}

/// Sends the message that waited for a session to be open, once it is known whether a model answers. A message that cannot
/// be sent goes back into the field.
pub(crate) fn send_held(back: &Rc<Back>) {
    let state = back.state;
    let asking = |c: &Connection| matches!(c, Connection::Unknown | Connection::Asking);
    if back.opening.is_on() || state.connection.with_untracked(asking) {
        return;
    }
    if let Some(text) = no_longer(state, Until::Open)
        && !send(text.clone())
    {
        state.draft.set(together(text, &page::value("#msg")));
    }
}

/// Takes the message that waits for that moment, if there is one.
fn no_longer(state: AppState, moment: Until) -> Option<String> {
    let waiting = state.waiting.get_untracked();
    let waiting = waiting.filter(|waiting| waiting.until == moment)?;
    state.waiting.set(None);
    Some(waiting.text)
}

/// Returns `true` if a model can answer, and otherwise tells the user.
pub(crate) fn can_send(back: &Back) -> bool {
    let state = back.state;
    let named = back.session().is_some_and(|s| !s.head().model.is_empty());
    let some = named || state.models.with_untracked(|all| !all.is_empty());
    let connected = state
        .connection
        .with_untracked(|c| *c == Connection::Connected);
    if some && connected {
        return true;
    }
    note(t(T::NotSentNoModel).to_owned(), true);
    survey();
    false
}

/// Takes the waiting message back into the field.
pub fn unqueue() {
    if let Some(state) = AppState::remembered()
        && let Some(waiting) = state.waiting.get_untracked()
    {
        state.waiting.set(None);
        state.draft.set(waiting.text);
        page::focus("#msg");
    }
}

/// Sends what waits, now that nothing is in its way.
pub(crate) fn send_waiting(back: &Rc<Back>, session: &Session) {
    if !back.shows(session) || session.is_replying() {
        return;
    }
    if let Some(text) = no_longer(back.state, Until::Free) {
        let message = with_attached(back.state, text);
        say(Rc::clone(back), session.clone(), Some(message));
    }
}

/// Says something, or has the last question answered, in its own time.
pub(crate) fn say_now(back: Rc<Back>, session: Session, message: Option<NewMessage>) {
    let turn = message.map_or(Turn::Waits, Turn::Says);
    spawn_local(async move { talk(&back, &session, turn).await });
}

/// Asks for the reply again after a failure.
pub(crate) fn retry() {
    with_engine(|back| async move {
        if let Some(session) = back.session()
            && !session.is_replying()
        {
            talk(&back, &session, Turn::Waits).await;
        }
    });
}

/// Keeps what had arrived of a reply that broke off as the answer.
pub(crate) fn keep_part() {
    with_engine(|back| async move {
        let Some(session) = back.writer().filter(|s| !s.is_replying()) else {
            return;
        };
        // It is removed before the first await, so a second click does not store it again.
        let told = back.state.notice.get_untracked();
        if !matches!(told, Some(Notice::Reply { .. } | Notice::Open(_))) {
            return;
        }
        forget_failure(back.state);
        let arrived = arrived(&session);
        if arrived.is_empty() {
            return;
        }
        let message = NewMessage::assistant(vec![Part::text(arrived)]);
        if let Err(error) = session.append(message).await {
            back.state.notice.set(told);
            failed(&back, &error);
        }
        show_all(&back).await;
        list(&back).await;
    });
}

/// Stops the reply. The text so far is kept.
pub fn stop() {
    if let Some(back) = back()
        && let Some(session) = back.session()
    {
        let running = back.replies.borrow().get(session.id()).cloned();
        if let Some(running) = running {
            running.abort();
        }
    }
}

/// The message to answer.
pub(crate) enum Turn {
    /// This new message.
    Says(NewMessage),
    /// The message at the end.
    Waits,
    /// The last reply is gone on with.
    GoesOn,
}

/// A reply that has begun in a session. It can be stopped until it has ended, however it ends.
struct Begun<'a> {
    back: &'a Back,
    session: &'a str,
    abort: Abort,
}

impl<'a> Begun<'a> {
    fn new(back: &'a Back, session: &'a str) -> Self {
        let abort = Abort::new();
        back.replies
            .borrow_mut()
            .insert(session.to_owned(), abort.clone());
        Self {
            back,
            session,
            abort,
        }
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.back.replies.borrow_mut().remove(self.session);
    }
}

pub(crate) async fn talk(back: &Rc<Back>, session: &Session, turn: Turn) {
    let state = back.state;
    let begun = Begun::new(back, session.id());
    title::give_way(back);
    let provider = server::provider(state.settings.with_untracked(|s| s.server));
    // a store that fails says so when the message is stored
    let _ = session.set_provider(provider).await;
    give_model(back, session).await;
    forget_failure(state);
    begin_to_show(back, session, &turn);
    if state.settings.with_untracked(|s| s.other_sessions) {
        toolbox().wait().await;
        parts::recall_others(back.engine.clone());
    } else {
        back.engine.forget_others();
    }
    let stop = begun.abort.signal();
    let options = with_tools(state, session, parameters::options(back), &stop).await;
    let said = match &turn {
        Turn::Says(message) => Some(message.clone()),
        Turn::Waits | Turn::GoesOn => None,
    };
    let hearing = Hearing {
        back: Rc::clone(back),
        session: session.clone(),
        said: said
            .as_ref()
            .and_then(|message| message.parts.first())
            .map(|part| part.words().to_owned()),
        called: Cell::new(false),
    };
    let hear = |event: SendEvent| hearing.hear(event);
    let result = match turn {
        Turn::Says(message) => session.send(message, &options, stop, &hear).await,
        Turn::Waits => session.reply(&options, stop, &hear).await,
        Turn::GoesOn => session.continue_reply(&options, stop, &hear).await,
    };
    drop(begun);
    if back.shows(session) {
        state.reply.set(None);
    }
    let whole = result.as_ref().is_ok_and(|reply| reply.ended.is_none());
    let goes_on = match result {
        Ok(reply) => {
            note_cost(back, &reply);
            state.say(match reply.ended {
                Some(Ended::Cut(tokens)) => fill(T::EndedCut, &[&number(tokens)]),
                Some(Ended::Stopped) => t(T::ReplyStopped).to_owned(),
                None => t(T::ReplyDone).to_owned(),
            });
            None
        }
        Err(error) => failed_reply(back, session, error, said),
    };
    if let Some(next) = goes_on {
        return go_on_in(back, session, &next).await;
    }
    show_all(back).await;
    list(back).await;
    if back.shows(session) && state.waiting.with_untracked(Option::is_some) {
        // The user's message comes first; due work follows the reply.
        return send_waiting(back, session);
    }
    tend(back, session).await;
    if back.shows(session) {
        offer_reply(state, session);
    }
    if whole {
        title::ask(back, session);
    }
}

/// Shows a reply that has begun: empty, or with the words that it goes on with.
fn begin_to_show(back: &Back, session: &Session, turn: &Turn) {
    let state = back.state;
    *back.incoming.borrow_mut() = Incoming::default();
    let prior = match turn {
        Turn::GoesOn => session.unfinished(),
        Turn::Says(_) | Turn::Waits => None,
    };
    let so_far = |thinking: bool| {
        let parts = prior.iter().flat_map(|m| &m.parts);
        let said = parts.filter(|p| matches!(p, Part::Thinking { .. }) == thinking);
        said.map(Part::words).collect::<String>()
    };
    state.reply_text.set(so_far(false));
    state.reply_thinking.set(so_far(true));
    let head = session.head();
    let place = |n: u32| head.last_seq.map_or(n, |s| thread::place(s) + n);
    let seq = place(if matches!(turn, Turn::Says(_)) { 2 } else { 1 });
    state.reply.set(Some(Reply {
        name: head.model.clone(),
        seq,
        instead: prior.map(|m| thread::place(m.seq)),
        tokens: 0,
        waits: None,
    }));
    state.say(t(T::ReplyStreaming));
}

/// Shows what happens to a reply while it comes in.
struct Hearing {
    back: Rc<Back>,
    session: Session,
    /// The words of the message that asked for it.
    said: Option<String>,
    /// Tools of this round have been called.
    called: Cell<bool>,
}

impl Hearing {
    fn hear(&self, event: SendEvent) {
        let (back, session) = (&self.back, &self.session);
        let state = back.state;
        match event {
            SendEvent::Stored(_) => {
                if self.said.as_ref() == Some(&kept_draft(session.id())) {
                    keep_draft(session.id(), "");
                }
                if back.shows(session) {
                    let back = Rc::clone(back);
                    spawn_local(async move {
                        show_all(&back).await;
                        list(&back).await;
                    });
                }
            }
            _ if !back.shows(session) => {}
            SendEvent::Delta(delta) => {
                waits(state, None);
                if self.called.replace(false) {
                    next_round(back, session);
                }
                take_in(back, &delta);
            }
            SendEvent::Waiting => {
                let chosen = session.config().compression.wait_seconds;
                waits(state, Some(chosen.unwrap_or(USUAL_WAIT)));
                state.say(t(T::StatusMessageWaits));
            }
            SendEvent::Tool(_) => {
                // the calls of a round are stored together
                if !self.called.replace(true) {
                    next_round(back, session);
                }
            }
        }
    }
}

/// The options with the tools that the person has set up, unless the session's model is known to use none, or the reply is
/// stopped before they are found.
async fn with_tools(
    state: AppState,
    session: &Session,
    options: SendOptions,
    stop: &Signal,
) -> SendOptions {
    let model = session.head().model;
    let is_unable = |m: &ModelEntry| m.name == model && m.is_toolless();
    let is_unable = state.models.with_untracked(|all| all.iter().any(is_unable));
    let is_set_up = |s: &Settings| !s.tool_servers.is_empty();
    if guest::asks() || is_unable || !state.settings.with_untracked(is_set_up) {
        return options;
    }
    let (tell, told) = oneshot::channel();
    let session = session.clone();
    // what is found after a stop serves the next message
    spawn_local(async move {
        toolbox().wait().await;
        if let Some(offered) = parts::offered_tools(session) {
            let _ = tell.send(offered.await);
        }
    });
    match select(told, Box::pin(stop.aborted())).await {
        Either::Left((Ok(Some((tools, handler))), _)) => SendOptions {
            tools,
            handler: Some(handler),
            ..options
        },
        _ => options,
    }
}

/// The reply goes on after tool calls, or after their results: what came before is stored, and stands in the thread.
fn next_round(back: &Rc<Back>, session: &Session) {
    let state = back.state;
    *back.incoming.borrow_mut() = Incoming::default();
    state.reply_text.set(String::new());
    state.reply_thinking.set(String::new());
    let last = session.head().last_seq;
    state.reply.update(|reply| {
        if let Some(reply) = reply {
            reply.seq = last.map_or(1, |seq| thread::place(seq) + 1);
            reply.instead = None;
        }
    });
    let back = Rc::clone(back);
    spawn_local(async move { show_all(&back).await });
}

/// Keeps what a reply cost, as far as the server says, for the line under it.
fn note_cost(back: &Back, reply: &session::Reply) {
    let usage = &reply.usage;
    let (Some(read), Some(wrote)) = (usage.prompt_tokens, usage.completion_tokens) else {
        return;
    };
    let ms = usage.completion_ms.filter(|ms| *ms > 0);
    let stats = Stats {
        read,
        wrote,
        speed: ms.map(|ms| f64::from(wrote) * 1000.0 / f64::from(ms)),
    };
    back.costs
        .borrow_mut()
        .insert(thread::place(reply.seq), stats);
}

/// Tells the person why there is no reply, or no whole one. `said` is the message that asked for it, if one did. Returns the
/// session in which the conversation goes on, if it does in another.
fn failed_reply(
    back: &Rc<Back>,
    session: &Session,
    error: EngineError,
    said: Option<NewMessage>,
) -> Option<String> {
    let state = back.state;
    let shown = back.shows(session);
    if matches!(error, EngineError::Model(ModelError::Aborted)) {
        state.say(t(T::ReplyStopped));
        return None;
    }
    let why = error.to_string();
    state.say(fill(T::ReplyFailed, &[&why]));
    match error {
        EngineError::Store(_) => failed(back, &error),
        EngineError::RolledOver { session } => {
            note(why, false);
            return Some(session);
        }
        EngineError::Core(_) => {
            // Refused before it was stored: the words go back into the field, with what was attached.
            note(why, true);
            if let Some(message) = said {
                let text = said_in(&message);
                keep_draft(session.id(), &text);
                let attached = attached_to(&message.parts).into_iter();
                let attached = attached.map(|part| counted(back, part)).collect();
                if shown {
                    state.attached.set(attached);
                    state.draft.set(text.clone());
                    drafted(text);
                } else {
                    let id = session.id().to_owned();
                    back.unsent.borrow_mut().insert(id, attached);
                }
            }
        }
        _ if shown => {
            let arrived = arrived(session);
            state.notice.set(Some(Notice::Reply { why, arrived }));
            if matches!(error, EngineError::Model(ModelError::Unreachable { .. })) {
                survey();
            }
        }
        _ => note(why, true),
    }
    None
}

/// Goes on in the session that continues this one, which holds the question that could not be answered here. A person who
/// has gone to another one meanwhile stays there; the question then waits in the new session.
async fn go_on_in(back: &Rc<Back>, session: &Session, next: &str) {
    list(back).await;
    if !back.shows(session) {
        return;
    }
    open_now(back, next, false).await;
    let opened = back.writer().filter(|opened| opened.id() == next);
    if let Some(opened) = opened.filter(|opened| !opened.is_replying()) {
        Box::pin(talk(back, &opened, Turn::Waits)).await;
    }
}

/// Notes whether the message that is being sent waits, and how long it does at most.
fn waits(state: AppState, seconds: Option<u32>) {
    let now = |r: &Option<Reply>| r.as_ref().and_then(|r| r.waits);
    if state.reply.with_untracked(now) != seconds {
        state.reply.update(|r| {
            if let Some(r) = r {
                r.waits = seconds;
            }
        });
    }
}

/// The words of a message, without its files.
fn said_in(message: &NewMessage) -> String {
    message
        .parts
        .iter()
        .find_map(|part| match part {
            Part::Text { text } => Some(text.clone()),
            _ => None,
        })
        .unwrap_or_default()
}

/// The draft has rested: it is counted and kept.
pub fn drafted(text: String) {
    let Some(back) = back() else { return };
    let said = tokens_of(back.session().as_ref(), &text);
    let attached = back.state.attached_tokens();
    back.state.draft_tokens.set(said + attached);
    // what is typed while another session is being opened is that one's
    if let Some(session) = back.session().filter(|_| !back.opening.is_on()) {
        keep_draft(session.id(), &text);
    }
}
