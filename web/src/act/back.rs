//! The engine behind the page, and the way of every action to it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use leptos::task::spawn_local;
use palimpsest_browser::{Listening, Presence};
use palimpsest_engine::error::EngineError;
use palimpsest_engine::ports::{Abort, StoreError, World};
use palimpsest_engine::{Engine, Session};
use palimpsest_text::sorted::{SortedMap, SortedSet};

use crate::act::{Opening, note, superseded};
use crate::chat::data::thread::Stats;
use crate::context::data::card::Card;
use crate::platform::host::Switch;
use crate::state::{AppState, Attached, Notice};
use crate::text::{T, t};

thread_local! {
    pub(crate) static BACK: RefCell<Option<Rc<Back>>> = const { RefCell::new(None) };
}

/// The engine behind the page.
pub(crate) struct Back {
    pub(crate) state: AppState,
    pub(crate) engine: Engine,
    /// The store of the engine.
    pub(crate) store: Rc<Switch>,
    pub(crate) world: World,
    pub(crate) session: RefCell<Option<Session>>,
    /// The number of our listener on it.
    pub(crate) listener: Cell<u32>,
    /// How often a session was asked for. Only the one that was asked for last is shown.
    pub(crate) wish: Cell<u32>,
    /// The time in which a session is opened or made.
    pub(crate) opening: Opening,
    /// Cards that are not part of the session's story: working, skipped, failed; by number, with
    /// the place they stand at.
    pub(crate) passing: RefCell<SortedMap<u32, (u32, Card)>>,
    /// Another tab writes the session that is shown here.
    pub(crate) follower: Cell<bool>,
    /// A compaction that a person asked for runs: what is sent waits for it.
    pub(crate) manual: Cell<bool>,
    /// A reading along that is under way, so that many changes cause one.
    pub(crate) following: Cell<bool>,
    /// The number of the newest wait for the conversation to rest.
    pub(crate) rests: Cell<u32>,
    /// What the replies of this visit cost, by their numbers.
    pub(crate) costs: RefCell<SortedMap<u32, Stats>>,
    /// The files that go with the next message of sessions that are not shown. They are gone with the page.
    pub(crate) unsent: RefCell<SortedMap<String, Vec<Attached>>>,
    /// The replies that have begun and can be stopped, by their sessions.
    pub(crate) replies: RefCell<SortedMap<String, Abort>>,
    /// What has come in of a reply and is not shown yet.
    pub(crate) incoming: RefCell<Incoming>,
    /// Sessions whose model was asked for a title in this visit.
    pub(crate) titled: RefCell<SortedSet<String>>,
    /// Ends the asking for a title that goes on.
    pub(crate) titling: RefCell<Option<Abort>>,
    /// Lets other pages count this one.
    pub(crate) presence: RefCell<Option<Presence>>,
    /// Hears of other tabs.
    pub(crate) listening: RefCell<Option<Listening>>,
}

#[derive(Default)]
pub(crate) struct Incoming {
    pub(crate) text: String,
    pub(crate) thinking: String,
    pub(crate) uncounted: String,
    pub(crate) frame: bool,
    pub(crate) counting: bool,
}

pub(crate) fn back() -> Option<Rc<Back>> {
    BACK.with(|b| b.borrow().clone())
}

impl Back {
    /// One with no session yet: the first is being opened.
    pub(crate) fn new(state: AppState, engine: Engine, store: Rc<Switch>, world: World) -> Self {
        Self {
            state,
            engine,
            store,
            world,
            session: RefCell::default(),
            listener: Cell::new(0),
            wish: Cell::new(0),
            opening: Opening::of_the_first(),
            passing: RefCell::default(),
            follower: Cell::new(false),
            manual: Cell::new(false),
            following: Cell::new(false),
            rests: Cell::new(0),
            costs: RefCell::default(),
            unsent: RefCell::default(),
            replies: RefCell::default(),
            incoming: RefCell::default(),
            titled: RefCell::default(),
            titling: RefCell::default(),
            presence: RefCell::default(),
            listening: RefCell::default(),
        }
    }

    pub(crate) fn session(&self) -> Option<Session> {
        self.session.borrow().clone()
    }

    /// Returns `true` if a session is open in which nothing was said.
    pub(crate) fn is_session_empty(&self) -> bool {
        self.session().is_some_and(|s| s.message_count() == 0)
    }

    /// Another session is asked for: those asked for before are not shown any more.
    pub(crate) fn wish(&self) -> u32 {
        self.wish.set(self.wish.get() + 1);
        self.wish.get()
    }

    /// The session that is shown is the one that is asked for.
    pub(crate) fn wish_for_this(&self) {
        self.wish();
        self.opening.end();
    }

    /// The same for a session that has to be opened or made first: until [`Opening::end`], actions on the session wait.
    pub(crate) fn wish_to_open(&self) -> u32 {
        let wish = self.wish();
        let files = self.state.attached.with_untracked(Vec::len);
        self.opening.begin(files);
        wish
    }

    /// Whether none was asked for since.
    pub(crate) fn wishes(&self, wish: u32) -> bool {
        self.wish.get() == wish
    }

    /// The session that is shown, if this tab writes it; else the person is told who does.
    pub(crate) fn writer(&self) -> Option<Session> {
        if self.follower.get() {
            note(t(T::OtherTab).to_owned(), true);
            return None;
        }
        self.session()
    }

    /// The same once nothing is being opened any more. Without a session the user is told so.
    pub(crate) async fn opened(&self) -> Option<Session> {
        self.opening.over().await;
        let session = self.writer();
        if session.is_none() && !self.follower.get() {
            note(t(T::NoSession).to_owned(), true);
        }
        session
    }

    /// Stops the replies in all sessions. What has arrived of them is kept.
    pub(crate) fn stop_replies(&self) {
        let replies = self.replies.borrow().clone();
        replies.values().for_each(Abort::abort);
    }

    /// Whether this is the session that is shown. Another one may still be replying.
    pub(crate) fn shows(&self, session: &Session) -> bool {
        self.session
            .borrow()
            .as_ref()
            .is_some_and(|s| s.id() == session.id())
    }
}

/// Does something with the engine, in its own time. At the start of the page the action waits for the store.
pub(crate) fn with_engine<F: Future<Output = ()> + 'static>(
    then: impl FnOnce(Rc<Back>) -> F + 'static,
) {
    match back() {
        Some(back) => spawn_local(then(back)),
        None => crate::app::actions::begin::early(Box::new(move |back| spawn_local(then(back)))),
    }
}

/// Does something with the open session if this tab writes it, and otherwise tells the user why not. The action waits for
/// a session that is being opened.
pub(crate) fn with_writer<F: Future<Output = ()> + 'static>(
    then: impl FnOnce(Rc<Back>, Session) -> F + 'static,
) {
    with_engine(|back| async move {
        if let Some(session) = back.opened().await {
            then(back, session).await;
        }
    });
}

/// The present time in milliseconds since 1970.
pub(crate) fn now() -> f64 {
    back().map_or_else(|| js_sys::Date::new_0().get_time(), |b| b.world.clock.now())
}

/// What a failure means for the page.
pub(crate) fn failed(back: &Rc<Back>, error: &EngineError) {
    match error {
        EngineError::Store(StoreError::Superseded | StoreError::Busy) => superseded(back),
        EngineError::Store(error) => back
            .state
            .notice
            .set(Some(Notice::Saving(error.to_string()))),
        other => note(other.to_string(), true),
    }
}
