//! What a person can do. Every function here may be called from any component at any time: each
//! checks what it needs, says what went wrong, and leaves what was said untouched.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use leptos::prelude::window;
use leptos::task::spawn_local;
use palimpsest_browser::{HeadNote, Listening, StorageEvent, Tabs, settings};
use palimpsest_core::dialect::{self, Dialect};
use palimpsest_core::layer::Layer;
use palimpsest_core::message::{Part, Role};
use palimpsest_core::request::Delta;
use palimpsest_engine::error::EngineError;
use palimpsest_engine::event::Event;
use palimpsest_engine::ports::{Abort, Signal, StoreError, World};
use palimpsest_engine::rows::RevisionRow;
use palimpsest_engine::session::{CompactOptions, IfOver, NewMessage, SendEvent, SendOptions};
use palimpsest_engine::{Engine, NewSession, Session};
use palimpsest_tokens::{Estimator, TokenCounter};
use wasm_bindgen_futures::JsFuture;
use web_sys::File;

use crate::bind;
use crate::embed;
use crate::host;
use crate::import::{self, Imported};
use crate::page;
use crate::server;
use crate::settings::{Server, Settings, Theme};
use crate::state::{AppState, Dialog, Lens, Notice, Open, Reply, Screen, Toast, Undo};
use crate::text::{T, bytes, fill, number, t};
use crate::tokenizer;
use crate::view::budget::Activity;
use crate::view::card::{Card, State};
use crate::view::hit::Place;
use crate::view::kept::Kept;
use crate::view::model::Connection;
use crate::view::thread::{Entry, Stats};

mod branch;
mod figures;
mod library;
mod records;
mod title;

pub use branch::{flip, last_said, regenerate, resend, words};
pub use figures::{load_log, replay, save_log, save_request, save_system};
pub use library::{duplicate, erase, export_all, export_session, pin_session, search};
pub use records::{
    add_milestone, ask_lift, compare, decide_proposal, delete_snapshot, forget_quote, lift, pin,
    preview, reach_goal, remove_goal_item, restore, roll_over, set_goal, skip_wait, snapshot,
    try_policy, turn_goal_item, unpin,
};

/// Where the settings stand in localStorage.
const SETTINGS: &str = "palimpsest.settings";

/// Drafts stand beside them, one for each session.
const DRAFT: &str = "palimpsest.draft.";

/// Milliseconds between two counts of a streaming reply.
const COUNT_EVERY: i32 = 250;

/// Milliseconds between a change in another tab and the reading of it.
const FOLLOW_AFTER: i32 = 150;

/// The largest text file that goes with a message, in bytes.
const LARGEST_FILE: u32 = 4_000_000;

/// Milliseconds a note stays.
const NOTE_STAYS: i32 = 10_000;

thread_local! {
    static BACK: RefCell<Option<Rc<Back>>> = const { RefCell::new(None) };
}

/// The engine behind the page.
struct Back {
    state: AppState,
    engine: Engine,
    world: World,
    session: RefCell<Option<Session>>,
    /// The number of our listener on it.
    listener: Cell<u32>,
    /// Cards that are not part of the session's story: working, skipped, failed; by number, with
    /// the place they stand at.
    passing: RefCell<BTreeMap<u32, (u32, Card)>>,
    /// Another tab writes the session that is shown here.
    follower: Cell<bool>,
    /// A compaction that a person asked for runs: what is sent waits for it.
    manual: Cell<bool>,
    /// A reading along that is under way, so that many changes cause one.
    following: Cell<bool>,
    /// What the replies of this visit cost, by their numbers.
    costs: RefCell<BTreeMap<u32, Stats>>,
    /// What has come in of a reply and is not shown yet.
    incoming: RefCell<Incoming>,
    toasts: Cell<u32>,
    /// Sessions whose model was asked for a title in this visit.
    titled: RefCell<BTreeSet<String>>,
    /// Ends the asking for a title that goes on.
    titling: RefCell<Option<Abort>>,
    /// Hears of other tabs.
    listening: RefCell<Option<Listening>>,
}

#[derive(Default)]
struct Incoming {
    text: String,
    thinking: String,
    uncounted: String,
    frame: bool,
    counting: bool,
}

fn back() -> Option<Rc<Back>> {
    BACK.with(|b| b.borrow().clone())
}

impl Back {
    fn session(&self) -> Option<Session> {
        self.session.borrow().clone()
    }

    /// The session that is shown, if this tab writes it; else the person is told who does.
    fn writer(&self) -> Option<Session> {
        if self.follower.get() {
            note(t(T::OtherTab).to_owned(), true);
            return None;
        }
        self.session()
    }

    /// Whether this is the session that is shown. Another one may still be replying.
    fn shows(&self, session: &Session) -> bool {
        self.session
            .borrow()
            .as_ref()
            .is_some_and(|s| s.id() == session.id())
    }
}

/// Does something with the engine, in its own time.
fn with_engine<F: Future<Output = ()> + 'static>(then: impl FnOnce(Rc<Back>) -> F) {
    if let Some(back) = back() {
        spawn_local(then(back));
    }
}

// ── beginning ───────────────────────────────────────────────────────────────────────────────────

/// The settings of this browser; the defaults where there are none or none may be read.
pub fn load_settings() -> Settings {
    settings::load::<Settings>(SETTINGS).settings
}

fn save_settings(chosen: &Settings) {
    // A browser that refuses localStorage still works for this visit.
    let _ = settings::save(SETTINGS, chosen);
}

fn kept_draft(id: &str) -> String {
    settings::load::<String>(&format!("{DRAFT}{id}")).settings
}

fn keep_draft(id: &str, text: &str) {
    let name = format!("{DRAFT}{id}");
    if text.is_empty() {
        settings::forget(&name);
    } else {
        let _ = settings::save(&name, &text);
    }
}

/// Opens the store, the last session, and asks the model server.
pub fn start(state: AppState) {
    spawn_local(async move {
        let tabs = host::tabs();
        let world = match palimpsest_browser::world(&tabs) {
            Ok(world) => world,
            Err(error) => return state.notice.set(Some(Notice::Saving(error.to_string()))),
        };
        let (store, mut kept) = host::store(|event| storage_event(&event)).await;
        let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
        let engine = match Engine::start(store, world.clone(), Rc::clone(&counter)).await {
            Ok(engine) => engine,
            Err(error) => {
                // The store opened and then failed: work from memory, and say so.
                state.notice.set(Some(Notice::Saving(error.to_string())));
                kept = Kept::Memory;
                match Engine::start(host::memory(), world.clone(), counter).await {
                    Ok(engine) => engine,
                    Err(_) => return,
                }
            }
        };
        if kept != Kept::Whole {
            state.notice.set(Some(Notice::Kept(kept)));
            state.storage.update(|s| s.kept = kept);
        }
        let back = Rc::new(Back {
            state,
            engine,
            world,
            session: RefCell::default(),
            listener: Cell::new(0),
            passing: RefCell::default(),
            follower: Cell::new(false),
            manual: Cell::new(false),
            following: Cell::new(false),
            costs: RefCell::default(),
            incoming: RefCell::default(),
            toasts: Cell::new(0),
            titled: RefCell::default(),
            titling: RefCell::default(),
            listening: RefCell::default(),
        });
        BACK.with(|b| *b.borrow_mut() = Some(Rc::clone(&back)));
        list(&back).await;
        if kept == Kept::Whole && host::lost_since(note_of(state)) {
            toast(&back, t(T::StoreLost).to_owned(), None, true);
        }
        note_of(state).save(host::NAME);
        follow_tabs(&back, &tabs);
        let last = state.settings.with_untracked(|s| s.session.clone());
        let known = state.sessions.with_untracked(|all| {
            all.iter()
                .find(|s| s.id == last)
                .or_else(|| all.first())
                .map(|s| s.id.clone())
        });
        match known {
            Some(id) => open_now(&back, &id, false).await,
            None => create_now(&back).await,
        }
        state.ready.set(true);
        measure(state).await;
    });
    survey(state);
}

fn storage_event(event: &StorageEvent) {
    if let StorageEvent::TakenOver { session } = event
        && let Some(back) = back()
        && back.session().is_some_and(|s| s.id() == session)
    {
        superseded(&back);
    }
    if let Some(text) = host::sentence(event) {
        note(text.to_owned(), true);
    }
}

/// How much there is, for the note beside the database.
fn note_of(state: AppState) -> HeadNote {
    state.sessions.with_untracked(|all| HeadNote {
        sessions: all.len() as u32,
        last_seq: all.iter().map(|s| s.messages).max().unwrap_or(0),
    })
}

/// Other tabs' sessions appear in the list.
fn follow_tabs(back: &Rc<Back>, tabs: &Tabs) {
    let weak = Rc::downgrade(back);
    let listening = tabs.listen(move |change| {
        if let Some(back) = weak.upgrade() {
            if back.follower.get() && back.session().is_some_and(|s| s.id() == change.session) {
                read_along(&back);
            }
            spawn_local(async move { list(&back).await });
        }
    });
    back.listening.replace(Some(listening));
}

/// Lets go of everything, where the app is taken away and its page stays.
pub fn end() {
    let Some(back) = BACK.take() else { return };
    tokenizer::forget();
    back.listening.replace(None);
    title::give_way(&back);
    leave_draft(&back);
    if let Some(session) = back.session.take() {
        session.off(back.listener.get());
        session.stop();
    }
}

/// How much is stored, and whether the browser promised to keep it.
async fn measure(state: AppState) {
    let manager = window().navigator().storage();
    if let Ok(promise) = manager.estimate()
        && let Ok(estimate) = JsFuture::from(promise).await
    {
        let number = |name: &str| {
            js_sys::Reflect::get(&estimate, &name.into())
                .ok()
                .and_then(|v| v.as_f64())
        };
        let (used, quota) = (number("usage"), number("quota"));
        state.storage.update(|s| {
            s.used = used;
            s.quota = quota;
        });
    }
    if let Ok(promise) = manager.persisted()
        && let Ok(answer) = JsFuture::from(promise).await
    {
        state
            .storage
            .update(|s| s.persistent = answer.as_bool() == Some(true));
    }
}

/// Asks the browser not to clear what is stored.
pub fn persist() {
    with_engine(|back| async move {
        if let Ok(promise) = window().navigator().storage().persist() {
            let _ = JsFuture::from(promise).await;
        }
        measure(back.state).await;
    });
}

/// Looks again at how much is stored.
pub fn measure_storage() {
    with_engine(|back| async move { measure(back.state).await });
}

/// The present time in milliseconds since 1970.
pub fn now() -> f64 {
    back().map_or_else(|| js_sys::Date::new_0().get_time(), |b| b.world.clock.now())
}

// ── sessions ────────────────────────────────────────────────────────────────────────────────────

async fn list(back: &Rc<Back>) {
    match back.engine.sessions().await {
        Ok(all) => {
            let open = back
                .session()
                .map(|s| (s.id().to_owned(), s.layers().len() as u32));
            let entries = all
                .iter()
                .map(|info| {
                    let layers = open
                        .as_ref()
                        .filter(|(id, _)| *id == info.id)
                        .map(|(_, n)| *n);
                    bind::session(info, layers)
                })
                .collect();
            back.state.sessions.change(entries);
            if back.state.storage.with_untracked(|s| s.kept) == Kept::Whole
                && back.state.ready.get_untracked()
            {
                note_of(back.state).save(host::NAME);
            }
        }
        Err(error) => failed(back, &error),
    }
}

/// What a failure means for the page.
fn failed(back: &Rc<Back>, error: &EngineError) {
    match error {
        EngineError::Store(StoreError::Superseded | StoreError::Busy) => superseded(back),
        EngineError::Store(error) => back
            .state
            .notice
            .set(Some(Notice::Saving(error.to_string()))),
        other => note(other.to_string(), true),
    }
}

/// Goes to an empty session: the open one if nothing was said in it, else a new one.
pub fn new_session() {
    with_engine(|back| async move {
        let fresh = back.session().is_some_and(|s| s.message_count() == 0);
        if !fresh {
            create_now(&back).await;
        }
        go(Screen::Chat);
        page::next_frame(|| page::focus("#msg"));
    });
}

/// The model of new sessions: the one chosen last if it is there, else the first there is.
fn usual_model(state: AppState) -> Option<String> {
    let preferred = state.settings.with_untracked(|s| s.model.clone());
    state.models.with_untracked(|all| {
        all.iter()
            .find(|m| m.name == preferred)
            .or_else(|| all.first())
            .map(|m| m.name.clone())
    })
}

async fn create_now(back: &Rc<Back>) {
    let usual = usual_model(back.state);
    let new = back.state.settings.with_untracked(|s| {
        let model = usual.unwrap_or_else(|| s.model.clone());
        NewSession {
            policy: s.policy_for(&model).to_owned(),
            model,
            window: s.window,
            ..NewSession::default()
        }
    });
    match back.engine.create(new).await {
        Ok(session) => {
            adopt(back, session, false).await;
            list(back).await;
        }
        Err(error) => failed(back, &error),
    }
}

/// Opens a session.
pub fn open(id: String) {
    with_engine(|back| async move {
        go(Screen::Chat);
        if back.session().is_some_and(|s| s.id() == id) {
            return;
        }
        open_now(&back, &id, false).await;
    });
}

/// Opens a session at a message or a layer.
pub fn open_at(id: String, place: Place) {
    with_engine(move |back| async move {
        go(Screen::Chat);
        if back.session().is_none_or(|s| s.id() != id) {
            open_now(&back, &id, false).await;
        }
        match place {
            Place::Title => {}
            Place::Message(n) => back.state.jump.set(n),
            Place::Layer(_) => {
                look(Lens::Overlay);
                go(Screen::Context);
            }
        }
    });
}

async fn open_now(back: &Rc<Back>, id: &str, take_over: bool) {
    match back.engine.open(id, take_over).await {
        Ok(session) => adopt(back, session, false).await,
        Err(EngineError::Store(StoreError::Busy)) => elsewhere(back, id).await,
        Err(error) => failed(back, &error),
    }
}

/// The session is written in another tab: it is shown as it stands, and read again when it changes.
async fn elsewhere(back: &Rc<Back>, id: &str) {
    match back.engine.follow(id).await {
        Ok(session) => adopt(back, session, true).await,
        Err(error) => failed(back, &error),
    }
}

/// Another tab has changed the session that is shown here: once all that comes at once has come, it is
/// read anew.
fn read_along(back: &Rc<Back>) {
    if back.following.replace(true) {
        return;
    }
    let back = Rc::clone(back);
    page::after(FOLLOW_AFTER, move || {
        spawn_local(async move {
            back.following.set(false);
            let Some(id) = back
                .session()
                .filter(|_| back.follower.get())
                .map(|s| s.id().to_owned())
            else {
                return;
            };
            if let Ok(session) = back.engine.follow(&id).await
                && back.follower.get()
                && back.session().is_some_and(|s| s.id() == id)
            {
                *back.session.borrow_mut() = Some(session);
                show_all(&back).await;
            }
        });
    });
}

/// This tab does not write the session any more.
fn superseded(back: &Rc<Back>) {
    if !back.follower.replace(true) {
        show_head(back);
        read_along(back);
    }
}

/// Writes here from now on; the other tab reads along.
pub fn take_over() {
    with_engine(|back| async move {
        if let Some(id) = back
            .state
            .open
            .with_untracked(|o| o.as_ref().map(|o| o.id.clone()))
        {
            open_now(&back, &id, true).await;
        }
    });
}

/// Shows a session and listens to it. Its draft is set before anything of it is shown: the bar never
/// counts the draft of another session.
async fn adopt(back: &Rc<Back>, session: Session, follower: bool) {
    figures::forget_replay(back.state);
    let state = back.state;
    back.passing.borrow_mut().clear();
    back.costs.borrow_mut().clear();
    state.waiting.set(None);
    state.attached.set(Vec::new());
    state.reply.set(None);
    state.activity.set(Activity::Quiet);
    state.notice.update(|n| {
        if matches!(n, Some(Notice::Reply(_))) {
            *n = None;
        }
    });
    let id = session.id().to_owned();
    if let Some(before) = back.session() {
        before.off(back.listener.get());
    }
    leave_draft(back);
    let draft = match kept_draft(&id) {
        // What was typed before any session was there belongs to the first one.
        none if none.is_empty() && !state.ready.get_untracked() => page::value("#msg"),
        kept => kept,
    };
    state.draft_tokens.set(tokens_of(Some(&session), &draft));
    state.draft.set(draft);
    if !follower {
        let weak = Rc::downgrade(back);
        let own = id.clone();
        back.listener.set(session.on(move |event| {
            if let Some(back) = weak.upgrade()
                && back.session().is_some_and(|s| s.id() == own)
            {
                heard(&back, event);
            }
        }));
    }
    *back.session.borrow_mut() = Some(session);
    back.follower.set(follower);
    change(move |s| s.session.clone_from(&id));
    show_all(back).await;
    if let Some(session) = back.session()
        && !follower
    {
        give_model(back, &session).await;
        want_vocabulary(back);
    }
}

/// Keeps what stands in the field for the session that is left.
fn leave_draft(back: &Back) {
    if let Some(session) = back.session() {
        keep_draft(session.id(), &page::value("#msg"));
    }
}

/// Another title.
pub fn rename(id: String, title: String) {
    with_engine(|back| async move {
        if let Err(error) = back.engine.rename(&id, &title).await {
            failed(&back, &error);
        }
        show_head(&back);
        list(&back).await;
    });
}

/// Deletes a session, until it is taken back.
pub fn delete(id: String) {
    with_engine(|back| async move {
        let title = back
            .state
            .sessions
            .with_untracked(|all| all.iter().find(|s| s.id == id).map(|s| s.title.clone()))
            .unwrap_or_default();
        if let Err(error) = back.engine.delete(&id).await {
            failed(&back, &error);
            return;
        }
        list(&back).await;
        if back.session().is_some_and(|s| s.id() == id) {
            *back.session.borrow_mut() = None;
            let next = back
                .state
                .sessions
                .with_untracked(|all| all.first().map(|s| s.id.clone()));
            match next {
                Some(next) => open_now(&back, &next, false).await,
                None => create_now(&back).await,
            }
        }
        let shown = if title.is_empty() {
            t(T::Untitled).to_owned()
        } else {
            title.clone()
        };
        toast(
            &back,
            fill(T::Deleted, &[&shown]),
            Some(Undo::Delete { id, title }),
            false,
        );
    });
}

/// Takes back what a toast told of.
pub fn take_back(id: u32, undo: Undo) {
    drop_toast(id);
    with_engine(|back| async move {
        let (id, title) = match undo {
            Undo::Delete { id, title } => (id, title),
            Undo::EvenIfOver => return undo_now(&back, IfOver::Show).await,
            Undo::LiftAll { layer } => return lift(layer, true),
            Undo::Restore { n } => return restore(n),
        };
        match back.engine.undelete(&id).await {
            Ok(()) => {
                list(&back).await;
                open_now(&back, &id, false).await;
                let shown = if title.is_empty() {
                    t(T::Untitled).to_owned()
                } else {
                    title
                };
                back.state.say(fill(T::Restored, &[&shown]));
            }
            Err(error) => failed(&back, &error),
        }
    });
}

// ── showing ─────────────────────────────────────────────────────────────────────────────────────

/// Everything of the open session, in one tick: what has to be read is read before anything is shown.
async fn show_all(back: &Rc<Back>) {
    let Some(session) = back.session() else {
        return;
    };
    let story = story(&session).await;
    if back.session().is_none_or(|s| s.id() != session.id()) {
        return;
    }
    show_head(back);
    show_window(back);
    records::show(back);
    show_thread(back, &session, &story);
}

/// What a session's cards are made of: its revisions, and the layers they wrote.
async fn story(session: &Session) -> (Vec<RevisionRow>, BTreeMap<u32, Layer>) {
    let rows = session.revisions().await.unwrap_or_default();
    let mut written: BTreeMap<u32, Layer> = BTreeMap::new();
    for id in rows.iter().filter_map(|r| r.report.as_ref()?.layer) {
        if let Ok(layer) = session.layer(id).await {
            written.insert(id, (*layer).clone());
        }
    }
    (rows, written)
}

/// Title, model, window, records.
fn show_head(back: &Back) {
    let Some(session) = back.session() else {
        return;
    };
    let head = session.head();
    let records = session.records();
    let open = Open {
        id: session.id().to_owned(),
        title: head.title,
        model: head.model,
        window: head.window,
        policy: head.policy,
        system: records.system.clone(),
        messages: head.last_seq.map_or(0, bind::place),
        follower: back.follower.get(),
    };
    back.state.open.change(Some(open));
}

/// Budget, layers and the window itself.
fn show_window(back: &Back) {
    let Some(session) = back.session() else {
        return;
    };
    let state = back.state;
    let mut layers: Vec<_> = session.layers().iter().map(|l| bind::layer(l)).collect();
    let report = session.budget();
    state.budget.change(Some(bind::budget(&report, &layers)));
    state.mark.change(report.watermark);
    layers.reverse();
    state.layers.change(layers);
    if state.lens.get_untracked() == Lens::Sees {
        state.sent.change(bind::sent(&session.window()));
    }
}

/// Messages and cards.
fn show_thread(
    back: &Back,
    session: &Session,
    (rows, written): &(Vec<RevisionRow>, BTreeMap<u32, Layer>),
) {
    let state = back.state;
    let head = session.head();
    let limit = session.budget().limit;
    let mut cards: BTreeMap<u32, Card> = BTreeMap::new();
    let mut places = Vec::new();
    for (after, card) in bind::cards(rows, head.revision, written, limit) {
        places.push((after, card.number));
        cards.insert(card.number, card);
    }
    let mut passing = back.passing.borrow_mut();
    passing.retain(|number, _| !cards.contains_key(number));
    for (number, (after, card)) in passing.iter() {
        places.push((*after, *number));
        cards.insert(*number, card.clone());
    }
    drop(passing);
    let items = session.history(None, usize::MAX);
    state.cards.change(cards);
    let costs = back.costs.borrow();
    let entries = bind::thread(&items, &head.model, &places, &costs);
    drop(costs);
    state.thread.change(entries);
}

/// What the engine tells.
fn heard(back: &Rc<Back>, event: &Event) {
    embed::tell(event);
    match event {
        Event::BudgetChanged { .. } => show_window(back),
        Event::Compressing { stage, written, of } => working(
            back,
            bind::stage(*stage),
            (*of > 0).then_some((*written, *of)),
        ),
        Event::PromptTruncated { sent, read } => {
            note(fill(T::Truncated, &[&number(*sent), &number(*read)]), true);
        }
        Event::Warning { message, .. } => note(message.clone(), true),
        _ => {}
    }
}

// ── compaction ──────────────────────────────────────────────────────────────────────────────────

/// The number the next layer will have, and the place its card takes.
fn next_card(session: &Session) -> (u32, u32) {
    let number = session.context().view().compactions + 1;
    (number, session.head().last_seq.map_or(0, bind::place))
}

fn put_card(back: &Back, number: u32, after: u32, card: Card) {
    let there = back
        .state
        .cards
        .with_untracked(|cards| cards.contains_key(&number));
    back.passing
        .borrow_mut()
        .insert(number, (after, card.clone()));
    back.state.cards.update(|cards| {
        cards.insert(number, card);
    });
    if !there {
        back.state
            .thread
            .update(|all| all.push(Entry::Card(number)));
    }
}

/// The card of the run that works now.
fn working(back: &Back, stage: crate::view::card::Stage, progress: Option<(u32, u32)>) {
    let Some(session) = back.session() else {
        return;
    };
    let (number, after) = next_card(&session);
    let budget = session.budget();
    let at = back
        .passing
        .borrow()
        .get(&number)
        .map_or_else(|| back.world.clock.now(), |(_, card)| card.at);
    let state = State::Working {
        stage,
        progress,
        before: budget.used.tokens,
        expected: budget.target.min(budget.used.tokens),
    };
    back.state.activity.set(Activity::Writing(number));
    put_card(back, number, after, Card { number, at, state });
}

/// Makes the window smaller because a person asked, with an eye on `focus`.
pub fn compact(focus: String) {
    with_engine(|back| async move {
        let Some(session) = back.writer() else {
            return;
        };
        if session.is_compacting() {
            return;
        }
        let focus = Some(focus).filter(|f| !f.is_empty());
        let options = CompactOptions {
            focus,
            manual: true,
            ..summariser(&back)
        };
        back.manual.set(true);
        run(&back, &session, options).await;
        back.manual.set(false);
        send_waiting(&back, &session);
    });
}

/// The automatic run after a reply, if it is due.
async fn tend(back: &Rc<Back>, session: &Session) {
    if !back.state.settings.with_untracked(|s| s.automatic) || session.is_compacting() {
        return;
    }
    if !session.is_due() {
        // a quiet moment: a layer that was cut without a model is written again by one
        if let Ok(Some(_)) = session.rest(summariser(back), Signal::never()).await
            && back.shows(session)
        {
            show_all(back).await;
        }
        return;
    }
    let options = CompactOptions {
        manual: false,
        ..summariser(back)
    };
    run(back, session, options).await;
}

/// Who writes layers, as the settings say: a model, or nobody if none answers.
fn summariser(back: &Back) -> CompactOptions {
    let state = back.state;
    let name = state.settings.with_untracked(|s| s.summary_model.clone());
    let connected = state
        .connection
        .with_untracked(|c| *c == Connection::Connected);
    if name == "-" || !connected {
        return CompactOptions::default();
    }
    let own = back.session().map(|s| s.head().model).unwrap_or_default();
    let model = if name.is_empty() { own } else { name };
    if model.is_empty() {
        return CompactOptions::default();
    }
    CompactOptions {
        model: Some(server::model(state)),
        model_name: Some(model),
        ..CompactOptions::default()
    }
}

async fn run(back: &Rc<Back>, session: &Session, options: CompactOptions) {
    let state = back.state;
    let began = back.world.clock.now();
    let (number, after) = next_card(session);
    let manual = options.manual;
    let result = if manual {
        session.compact(options, Signal::never()).await.map(Some)
    } else {
        session.tend(options, Signal::never()).await
    };
    if !back.shows(session) {
        // Its card is made from its story when it is opened again.
        return list(back).await;
    }
    state.activity.set(Activity::Quiet);
    let card = |state| Card {
        number,
        at: began,
        state,
    };
    match result {
        Ok(Some(done)) => {
            state.say(fill(
                T::StatusCompacted,
                &[
                    &number_of(done.report.before),
                    &number_of(done.report.after),
                    &number_of(done.report.freed()),
                    &number_of(done.report.released.len() as u32),
                ],
            ));
            // who typed /compact sees it, not only hears it
            if manual {
                note(state.status.get_untracked(), false);
            }
        }
        Ok(None) => {
            back.passing.borrow_mut().remove(&number);
        }
        Err(error) => {
            let why = error.to_string();
            match error {
                EngineError::CannotShrink { .. } => {
                    state.activity.set(Activity::Stuck);
                    put_card(
                        back,
                        number,
                        after,
                        card(State::Skipped { why: why.clone() }),
                    );
                }
                EngineError::Refused(palimpsest_core::run::Refusal::Cancelled)
                | EngineError::Busy(_) => {
                    back.passing.borrow_mut().remove(&number);
                }
                EngineError::Refused(_) if manual => put_card(
                    back,
                    number,
                    after,
                    card(State::Skipped { why: why.clone() }),
                ),
                EngineError::Refused(_) => {
                    back.passing.borrow_mut().remove(&number);
                }
                _ => put_card(
                    back,
                    number,
                    after,
                    card(State::Failed { why: why.clone() }),
                ),
            }
            state.say(fill(T::StatusNothing, &[&why]));
        }
    }
    show_all(back).await;
    list(back).await;
}

fn number_of(n: u32) -> String {
    number(n)
}

/// Stops the run that works now. Nothing changes.
pub fn cancel_compaction() {
    if let Some(session) = back().and_then(|b| b.session()) {
        session.cancel_compaction();
    }
}

/// Takes the last compaction back. Where the window before does not fit, the note names the choices and
/// offers to show it all the same.
pub fn undo() {
    with_engine(|back| async move { undo_now(&back, IfOver::Refuse).await });
}

async fn undo_now(back: &Rc<Back>, if_over: IfOver) {
    let Some(session) = back.writer() else {
        return;
    };
    match session.undo_with(if_over).await {
        Ok(()) => {
            show_all(back).await;
            list(back).await;
            back.state.say(fill(
                T::StatusUndone,
                &[&number(session.budget().used.tokens)],
            ));
        }
        Err(error @ EngineError::WouldNotFit { .. }) => {
            back.state.say(error.to_string());
            toast(back, error.to_string(), Some(Undo::EvenIfOver), true);
        }
        Err(error) => failed(back, &error),
    }
}

/// Opens the text of a layer.
pub fn read_layer(id: u32) {
    with_engine(|back| async move {
        let Some(session) = back.session() else {
            return;
        };
        match session.layer(id).await {
            Ok(layer) => {
                back.state.layer.set(Some(bind::layer(&layer)));
                back.state.dialog.set(Some(Dialog::Layer));
            }
            Err(error) => failed(&back, &error),
        }
    });
}

// ── talking ─────────────────────────────────────────────────────────────────────────────────────

/// Says something. Whether it was taken: if not, the text stays where it is. While a reply comes in or a
/// person's compaction runs, it waits.
pub fn send(text: String) -> bool {
    let Some(back) = back() else { return false };
    let state = back.state;
    let Some(session) = back.writer() else {
        return false;
    };
    if session.is_replying() || back.manual.get() {
        if state.waiting.with_untracked(Option::is_some) {
            return false;
        }
        keep_draft(session.id(), "");
        state.say(t(T::Waits));
        state.waiting.set(Some(text));
        return true;
    }
    if !can_send(&back) {
        return false;
    }
    keep_draft(session.id(), "");
    let message = with_files(state, text);
    spawn_local(async move { talk(&back, &session, Some(message)).await });
    true
}

/// Whether a model answers; if not, the person is told.
fn can_send(back: &Back) -> bool {
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
    survey(state);
    false
}

/// The words with the files that were attached, each a part of its own.
fn with_files(state: AppState, text: String) -> NewMessage {
    let mut message = NewMessage::user(text);
    for (name, text) in state.attached.get_untracked() {
        message.parts.push(Part::File { name, text });
    }
    state.attached.set(Vec::new());
    message
}

/// Takes the waiting message back into the field.
pub fn unqueue() {
    if let Some(state) = AppState::remembered()
        && let Some(text) = state.waiting.get_untracked()
    {
        state.waiting.set(None);
        state.draft.set(text);
        page::focus("#msg");
    }
}

/// Sends what waits, now that nothing is in its way.
fn send_waiting(back: &Rc<Back>, session: &Session) {
    if !back.shows(session) || session.is_replying() {
        return;
    }
    if let Some(text) = back.state.waiting.get_untracked() {
        back.state.waiting.set(None);
        let message = with_files(back.state, text);
        let (back, session) = (Rc::clone(back), session.clone());
        spawn_local(async move { talk(&back, &session, Some(message)).await });
    }
}

/// Takes text files along with the next message.
pub fn attach(file: File) {
    with_engine(|back| async move {
        let name = file.name();
        let size = file.size();
        if size > f64::from(LARGEST_FILE) {
            let text = fill(
                T::AttachTooLarge,
                &[&name, &bytes(size), &bytes(f64::from(LARGEST_FILE))],
            );
            return note(text, true);
        }
        let text = JsFuture::from(file.text())
            .await
            .ok()
            .and_then(|t| t.as_string())
            .unwrap_or_default();
        // The browser reads bytes that are no text as replacement marks.
        if text.contains(['\u{0}', '\u{fffd}']) {
            return note(fill(T::AttachNoText, &[&name]), true);
        }
        back.state.say(fill(T::Attached, &[&name]));
        back.state.attached.update(|all| {
            all.retain(|(n, _)| *n != name);
            all.push((name, text));
        });
    });
}

/// Leaves an attached file out again.
pub fn detach(name: &str) {
    if let Some(state) = AppState::remembered() {
        state.attached.update(|all| all.retain(|(n, _)| n != name));
    }
}

/// Asks for the reply again after a failure.
pub fn retry() {
    with_engine(|back| async move {
        if let Some(session) = back.session()
            && !session.is_replying()
        {
            talk(&back, &session, None).await;
        }
    });
}

/// Stops the reply. What was written is kept.
pub fn stop() {
    if let Some(session) = back().and_then(|b| b.session()) {
        session.stop();
    }
}

async fn talk(back: &Rc<Back>, session: &Session, message: Option<NewMessage>) {
    let state = back.state;
    title::give_way(back);
    give_model(back, session).await;
    state.notice.update(|n| {
        if matches!(n, Some(Notice::Reply(_))) {
            *n = None;
        }
    });
    *back.incoming.borrow_mut() = Incoming::default();
    state.reply_text.set(String::new());
    state.reply_thinking.set(String::new());
    let head = session.head();
    let place = |n: u32| head.last_seq.map_or(n, |s| bind::place(s) + n);
    let seq = place(if message.is_some() { 2 } else { 1 });
    state.reply.set(Some(Reply {
        name: head.model.clone(),
        seq,
        tokens: 0,
    }));
    state.say(t(T::ReplyStreaming));
    let options = SendOptions {
        model: server::model(state),
        tools: Vec::new(),
        handler: None,
        temperature: state.settings.with_untracked(|s| s.temperature),
        think: None,
    };
    let hear = {
        let back = Rc::clone(back);
        let own = session.clone();
        move |event: SendEvent| match event {
            _ if !back.shows(&own) => {}
            SendEvent::Stored(_) => {
                let back = Rc::clone(&back);
                spawn_local(async move {
                    show_all(&back).await;
                    list(&back).await;
                });
            }
            SendEvent::Delta(delta) => take_in(&back, &delta),
            SendEvent::Waiting | SendEvent::Tool(_) => {}
        }
    };
    let keep = message.clone();
    let result = match message {
        Some(message) => {
            session
                .send(message, &options, Signal::never(), &hear)
                .await
        }
        None => session.reply(&options, Signal::never(), &hear).await,
    };
    let shown = back.shows(session);
    if shown {
        state.reply.set(None);
    }
    let whole = result.as_ref().is_ok_and(|reply| !reply.stopped);
    match result {
        Ok(reply) => {
            if let (Some(read), Some(wrote)) =
                (reply.usage.prompt_tokens, reply.usage.completion_tokens)
            {
                let stats = Stats {
                    read,
                    wrote,
                    speed: reply
                        .usage
                        .completion_ms
                        .filter(|ms| *ms > 0)
                        .map(|ms| f64::from(wrote) * 1000.0 / f64::from(ms)),
                };
                back.costs
                    .borrow_mut()
                    .insert(bind::place(reply.seq), stats);
            }
            state.say(t(if reply.stopped {
                T::ReplyStopped
            } else {
                T::ReplyDone
            }));
        }
        Err(EngineError::Model(palimpsest_core::request::ModelError::Aborted)) => {
            state.say(t(T::ReplyStopped));
        }
        Err(error) => {
            let why = error.to_string();
            state.say(fill(T::ReplyFailed, &[&why]));
            match &error {
                EngineError::Store(_) => failed(back, &error),
                EngineError::RolledOver { session } => {
                    open_now(back, session, false).await;
                    note(why, false);
                }
                EngineError::Core(_) => {
                    // Refused before it was stored: the words go back into the field.
                    note(why, true);
                    if let Some(text) = keep.map(|m| said_in(&m)) {
                        keep_draft(session.id(), &text);
                        if shown {
                            state.draft.set(text);
                        }
                    }
                }
                _ if shown => state.notice.set(Some(Notice::Reply(why))),
                _ => note(why, true),
            }
        }
    }
    show_all(back).await;
    list(back).await;
    if back.shows(session) && state.waiting.with_untracked(Option::is_some) {
        // The person goes first; what is due is done after their reply.
        return send_waiting(back, session);
    }
    tend(back, session).await;
    if whole {
        title::ask(back, session);
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

/// A piece of the reply. Shown with the next picture, counted four times a second.
fn take_in(back: &Rc<Back>, delta: &Delta) {
    let mut incoming = back.incoming.borrow_mut();
    match delta {
        Delta::Text { text } => {
            incoming.text.push_str(text);
            incoming.uncounted.push_str(text);
        }
        Delta::Thinking { text } => {
            incoming.thinking.push_str(text);
            incoming.uncounted.push_str(text);
        }
        _ => return,
    }
    if !incoming.frame {
        incoming.frame = true;
        let back = Rc::clone(back);
        page::next_frame(move || flush(&back));
    }
    if !incoming.counting {
        incoming.counting = true;
        let back = Rc::clone(back);
        page::after(COUNT_EVERY, move || {
            let text = {
                let mut incoming = back.incoming.borrow_mut();
                incoming.counting = false;
                std::mem::take(&mut incoming.uncounted)
            };
            let more = Estimator::default().count(&text);
            back.state.reply.update(|r| {
                if let Some(r) = r {
                    r.tokens += more;
                }
            });
        });
    }
}

fn flush(back: &Back) {
    let (text, thinking) = {
        let mut incoming = back.incoming.borrow_mut();
        incoming.frame = false;
        (
            std::mem::take(&mut incoming.text),
            std::mem::take(&mut incoming.thinking),
        )
    };
    if back.state.reply.with_untracked(Option::is_none) {
        return;
    }
    if !text.is_empty() {
        back.state.reply_text.update(|all| all.push_str(&text));
    }
    if !thinking.is_empty() {
        back.state
            .reply_thinking
            .update(|all| all.push_str(&thinking));
    }
}

/// The draft has rested: it is counted and kept.
pub fn drafted(text: String) {
    let Some(back) = back() else { return };
    back.state
        .draft_tokens
        .set(tokens_of(back.session().as_ref(), &text));
    if let Some(session) = back.session() {
        keep_draft(session.id(), &text);
    }
}

// ── the session's own settings ──────────────────────────────────────────────────────────────────

/// Another model.
pub fn choose_model(name: String) {
    remodel(move |s| s.model = name);
}

/// Another window.
pub fn choose_window(tokens: u32) {
    remodel(move |s| s.window = tokens);
}

/// Another policy, by its name or as JSON; for a model that has one of its own, it gets this one.
pub fn choose_policy(text: String) {
    remodel(move |s| {
        if let Some(own) = s.model_policies.get_mut(&s.model) {
            own.clone_from(&text);
        }
        s.policy = text;
    });
}

/// Whether the policy of the open session goes with its model from now on.
pub fn policy_for_model(on: bool) {
    let Some(head) = back().and_then(|b| b.session()).map(|s| s.head()) else {
        return;
    };
    change(move |s| {
        if on {
            s.model_policies.insert(head.model, head.policy);
        } else {
            s.model_policies.remove(&head.model);
        }
    });
}

/// Changes model, window or policy of the open session; the next session starts with the same.
fn remodel(edit: impl FnOnce(&mut Settings) + 'static) {
    with_engine(|back| async move {
        let Some(session) = back.writer() else {
            return;
        };
        let head = session.head();
        let mut wish = back.state.settings.get_untracked();
        wish.model.clone_from(&head.model);
        wish.window = head.window;
        wish.policy.clone_from(&head.policy);
        edit(&mut wish);
        if wish.model != head.model
            && let Some(own) = wish.model_policies.get(&wish.model)
        {
            wish.policy.clone_from(own);
        }
        match session
            .set_model(&wish.model, wish.window, &wish.policy, head.thinking)
            .await
        {
            Ok(()) => {
                change(move |s| *s = wish);
                back.state.activity.set(Activity::Quiet);
            }
            Err(error) => failed(&back, &error),
        }
        show_all(&back).await;
        list(&back).await;
        want_vocabulary(&back);
        tend(&back, &session).await;
    });
}

/// Another system prompt.
pub fn set_system(text: String) {
    with_engine(|back| async move {
        let Some(session) = back.writer() else {
            return;
        };
        if let Err(error) = session.set_system(&text).await {
            failed(&back, &error);
        }
        show_all(&back).await;
    });
}

// ── in and out ──────────────────────────────────────────────────────────────────────────────────

/// Reads a conversation from a file. The same file again opens the session it made.
pub fn import(file: File, take_system: bool) {
    with_engine(move |back| async move {
        let name = file.name();
        back.state.say(fill(T::ImportReading, &[&name]));
        match read_in(&back, &file, take_system).await {
            Ok(messages) => {
                go(Screen::Chat);
                let text = fill(T::ImportDone, &[&name, &number(messages)]);
                back.state.say(text.clone());
                toast(&back, text, None, false);
            }
            Err(why) => toast(&back, fill(T::ImportFailed, &[&name, &why]), None, true),
        }
    });
}

async fn read_in(back: &Rc<Back>, file: &File, take_system: bool) -> Result<u32, String> {
    if file.size() > f64::from(import::LARGEST) {
        return Err(fill(
            T::ImportTooLarge,
            &[&bytes(file.size()), &bytes(f64::from(import::LARGEST))],
        ));
    }
    let text = JsFuture::from(file.text())
        .await
        .map_err(|e| format!("{e:?}"))?
        .as_string()
        .unwrap_or_default();
    if text.trim().is_empty() {
        return Err(t(T::ImportEmpty).to_owned());
    }
    let mut count = 0;
    let mut first = None;
    for mut imported in import::read(&text, &file.name()).map_err(|e| e.to_string())? {
        if !take_system {
            imported.decline_system();
        }
        count += imported.messages.len() as u32;
        let id = merge(back, imported).await?;
        first.get_or_insert(id);
    }
    list(back).await;
    if let Some(id) = first {
        open_now(back, &id, false).await;
    }
    Ok(count)
}

/// Makes a session of what was read, unless it is there already. Its identifier.
async fn merge(back: &Rc<Back>, imported: Imported) -> Result<String, String> {
    let say = |e: EngineError| e.to_string();
    let id = imported.id;
    let is = |all: Vec<palimpsest_engine::SessionInfo>| all.iter().any(|s| s.id == id);
    if is(back.engine.sessions().await.map_err(say)?) {
        // what the file has more is added, if the rest is the same
        let session = back.engine.open(&id, false).await.map_err(say)?;
        let there = session.history(None, usize::MAX);
        let same = there.iter().zip(&imported.messages);
        let same = same
            .take_while(|(a, b)| a.message.role == b.role && a.message.parts == b.parts)
            .count();
        if same == there.len() && same < imported.messages.len() {
            let more = imported.messages[same..].to_vec();
            session.append_all(more).await.map_err(say)?;
        }
        return Ok(id);
    }
    if is(back.engine.deleted_sessions().await.map_err(say)?) {
        back.engine.undelete(&id).await.map_err(say)?;
        return Ok(id);
    }
    let chosen = back.state.settings.get_untracked();
    let new = NewSession {
        title: imported.title,
        // the model that will answer counts best from the beginning
        model: usual_model(back.state).unwrap_or(chosen.model),
        window: chosen.window,
        system: imported.system,
        ..NewSession::default()
    };
    let session = back.engine.create_with_id(&id, new).await.map_err(say)?;
    if let Err(error) = session.append_all(imported.messages).await {
        // An empty session would only stand in the way of another attempt.
        let _ = back.engine.purge(&id).await;
        return Err(error.to_string());
    }
    // What does not fit into the records stays in what was said.
    if imported.goal.is_some() {
        let _ = session.set_goal(imported.goal).await;
    }
    for pin in imported.pins {
        let _ = session.pin(pin.kind, &pin.text).await;
    }
    Ok(id)
}

/// Copies a text.
pub fn copy(text: String) {
    spawn_local(async move {
        let done = page::copy(&text).await;
        if let Some(back) = back() {
            if done {
                back.state.say(t(T::Copied));
            } else {
                note(t(T::CopyFailed).to_owned(), true);
            }
        }
    });
}

/// Copies the next window as the JSON it is sent as.
pub fn copy_window() {
    let Some(session) = back().and_then(|b| b.session()) else {
        return;
    };
    let messages = session.window().to_request();
    let value = serde_json::Value::Array(dialect::to_values(&messages, Dialect::OpenAi));
    copy(format!("{value:#}"));
}

// ── page ────────────────────────────────────────────────────────────────────────────────────────

/// Goes to a screen.
pub fn go(screen: Screen) {
    if !page::visit(screen.name())
        && let Some(state) = AppState::remembered()
    {
        state.screen.change(screen);
    }
}

/// Looks through another lens.
pub fn look(lens: Lens) {
    let Some(back) = back() else { return };
    back.state.lens.set(lens);
    show_window(&back);
}

/// Says something short at the foot of the page.
pub fn note(text: String, bad: bool) {
    if let Some(back) = back() {
        back.state.say(text.clone());
        toast(&back, text, None, bad);
    }
}

fn toast(back: &Back, text: String, undo: Option<Undo>, bad: bool) {
    let id = back.toasts.get() + 1;
    back.toasts.set(id);
    back.state.toasts.update(|all| {
        // The same sentence twice says no more than once.
        all.retain(|toast| toast.text != text);
        all.push(Toast {
            id,
            text,
            undo,
            bad,
        });
        if all.len() > 3 {
            all.remove(0);
        }
    });
    page::after(NOTE_STAYS, move || drop_toast(id));
}

/// Takes a note away.
pub fn drop_toast(id: u32) {
    if let Some(back) = back() {
        back.state
            .toasts
            .update(|all| all.retain(|toast| toast.id != id));
    }
}

/// Changes the settings, keeps them, and dresses the page in them.
pub fn change(edit: impl FnOnce(&mut Settings)) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    let language = state.settings.with_untracked(|s| s.language.clone());
    state.settings.update(edit);
    let now = state.settings.get_untracked();
    save_settings(&now);
    page::dress(&now);
    if now.language != language {
        // Every text of the page changes: the page begins anew, and everything is stored.
        page::reload();
    }
}

/// From light to dark and back.
pub fn switch_theme() {
    change(|s| {
        s.theme = if page::is_dark(s) {
            Theme::Light
        } else {
            Theme::Dark
        }
    });
}

// ── the model server ────────────────────────────────────────────────────────────────────────────

/// Asks the model server what there is, and the doctor what is wrong.
pub fn survey(state: AppState) {
    state.connection.set(Connection::Asking);
    spawn_local(async move {
        let found = server::survey(state).await;
        if let Some(back) = back() {
            for model in &found.models {
                back.engine.know_model(&model.name, &model.size);
            }
        }
        state.models.change(found.models);
        state.checks.change(found.checks);
        state.connection.set(found.connection);
        if let Some(back) = back()
            && let Some(session) = back.session()
        {
            give_model(&back, &session).await;
            want_vocabulary(&back);
        }
    });
}

/// Asks for the vocabulary of the open session's model, where it is to be had.
fn want_vocabulary(back: &Back) {
    let state = back.state;
    let Some(session) = back.session() else {
        return;
    };
    let (server, address) = state
        .settings
        .with_untracked(|s| (s.server, s.address.clone()));
    if server != Server::Ollama {
        return tokenizer::forget();
    }
    if state.connection.get_untracked() != Connection::Connected {
        return;
    }
    let key = state.key.get_untracked();
    tokenizer::want(&back.engine, &address, &key, &session.head().model);
    // What was stored may have been counted before the model was known this well.
    spawn_local(async move { session.settle().await });
}

/// Tokens of a text as the user's next message.
fn tokens_of(session: Option<&Session>, text: &str) -> u32 {
    session
        .filter(|_| !text.trim().is_empty())
        .map_or(0, |session| session.count_text(Role::User, text).tokens)
}

/// A session without a model takes the last chosen one, or the first there is.
async fn give_model(back: &Rc<Back>, session: &Session) {
    let state = back.state;
    let head = session.head();
    if !head.model.is_empty() {
        return;
    }
    if let Some(name) = usual_model(state) {
        match session
            .set_model(&name, head.window, &head.policy, head.thinking)
            .await
        {
            Ok(()) => show_head(back),
            Err(error) => failed(back, &error),
        }
    }
}

/// Another address.
pub fn connect(address: String) {
    change(move |s| s.address = address);
    if let Some(state) = AppState::remembered() {
        survey(state);
    }
}

/// Another kind of server, at its usual address unless one was typed.
pub fn choose_server(server: Server) {
    change(move |s| {
        if s.address.is_empty() || s.address == s.server.usual_address() {
            server.usual_address().clone_into(&mut s.address);
        }
        s.server = server;
    });
    if let Some(state) = AppState::remembered() {
        state.checks.set(Vec::new());
        survey(state);
    }
}

/// Another key for this tab, and for the settings if it is kept there.
pub fn set_key(key: String) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    state.key.set(key.clone());
    if state.settings.with_untracked(|s| !s.key.is_empty()) {
        change(move |s| s.key = key);
    }
}

/// Keeps the key in the settings, or takes it out of them.
pub fn keep_key(keep: bool) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    let key = if keep {
        state.key.get_untracked()
    } else {
        String::new()
    };
    change(move |s| s.key = key);
}
