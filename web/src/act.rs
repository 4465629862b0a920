//! What a person can do. Every function here may be called from any component at any time: each
//! checks what it needs, says what went wrong, and leaves what was said untouched.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use leptos::task::spawn_local;
use palimpsest_browser::{Listening, Presence};
use palimpsest_core::sorted::SortedMap;
use palimpsest_engine::error::EngineError;
use palimpsest_engine::ports::{Abort, StoreError, World};
use palimpsest_engine::{Engine, Session};

use crate::host::Switch;
use crate::state::{AppState, Notice};
use crate::text::{T, t};
use crate::view::card::Card;
use crate::view::thread::Stats;

mod address;
mod attachments;
mod begin;
mod branch;
mod compaction;
mod figures;
mod hosted;
mod import;
mod layers;
mod library;
mod model;
mod opening;
mod page;
mod parameters;
mod parts;
mod profiles;
mod pull;
mod records;
mod removal;
mod reply;
mod sample;
mod server;
mod sessions;
mod settings;
mod show;
mod storage;
mod talk;
mod temporary;
mod title;
mod trash;

pub use address::{link, turn};
pub use attachments::{address_of, detach, image_at, name_of};
pub use begin::{end, expect_talk, start};
pub use branch::{last_said, words};
pub use compaction::cancel_compaction;
pub use hosted::changed_elsewhere;
pub use library::found_line;
pub use model::{for_model, mode, sampling};
pub use page::{drop_toast, go, look, note};
pub(crate) use parts::{
    add_goal_line, add_model, add_place, anchor, ask_lift, asked, attach, attached_inside,
    begin_temporary, bring, bring_back, bring_results_back, card, check_again, check_integrity,
    choose_elsewhere, choose_model, choose_policy, choose_reserve, choose_server, choose_window,
    compact, compact_at, compare, confirm_demand, connect, context_screen, continue_reply, copy,
    copy_window, count_with, cover, decide_proposal, delete, delete_snapshot, desk, dialog,
    drop_models, drop_place, duplicate, edit_layer, edit_place, erase, export_all, export_session,
    export_settings, flip, forget_quote, german, guest, host_transport, hosted_store, import,
    incoming, keep_key, keep_part, keep_session, learn_german, library_screen, lift, load_log,
    log_screen, look_elsewhere, look_through_trash, losses, mark_end, measure_sessions,
    measure_storage, memory_beside, memory_store, notes_inside, obey, offline, open_at,
    open_damaged, open_sample, persist, pin, pin_session, policy_for_model, preview, preview_new,
    pull_model, purge, read_layer, reader, regenerate, regenerate_with, remove_goal_item,
    remove_messages, remove_model, remove_profile, rename, replay, replay_screen, resend, restore,
    retry, rewrite_layer, roll_over, save_log, save_profile, save_request, save_system,
    save_what_is_left, search, set_formulas, set_goal, set_key, set_system, settings_screen,
    skip_wait, small_store, snapshot, spare, stop_pull, survey, take_back, take_over, talk, told,
    try_model, try_policy, turn_goal_item, undo, unpin, use_place, use_profile, use_server, wire,
    with_layer, write,
};
pub use records::look_back;
pub use sessions::{new_session, open, show_message};
pub use settings::{change, load_settings, settings_elsewhere, switch_theme};
pub use talk::{drafted, send, stop, unqueue};

use address::{arrive, follow, present, settle};
use begin::note_of;
use compaction::{compact_now, summariser, worked, working};
use model::{give_model, thinks, usual_model};
use opening::Opening;
use page::{Progress, contents, toast};
use parts::{
    equip, keep_arrived, prose, reload_profiles, say, settle_in, tell, tended, undo_even_if_over,
    want_vocabulary,
};
use profiles::take_profiles;
use reply::take_in;
use server::tokens_of;
use sessions::{
    adopt, begins_with, create_now, leave_draft, list, open_now, read_along, superseded,
};
use settings::{forget_key, keep_draft, kept_draft, key_of, remember_key};
use show::{heard, show_all, show_head, show_window};
use talk::{can_send, send_held, send_waiting};

thread_local! {
    static BACK: RefCell<Option<Rc<Back>>> = const { RefCell::new(None) };
}

/// The engine behind the page.
struct Back {
    state: AppState,
    engine: Engine,
    /// The store of the engine.
    store: Rc<Switch>,
    world: World,
    session: RefCell<Option<Session>>,
    /// The number of our listener on it.
    listener: Cell<u32>,
    /// How often a session was asked for. Only the one that was asked for last is shown.
    wish: Cell<u32>,
    /// The time in which a session is opened or made.
    opening: Opening,
    /// Cards that are not part of the session's story: working, skipped, failed; by number, with
    /// the place they stand at.
    passing: RefCell<SortedMap<u32, (u32, Card)>>,
    /// Another tab writes the session that is shown here.
    follower: Cell<bool>,
    /// A compaction that a person asked for runs: what is sent waits for it.
    manual: Cell<bool>,
    /// A reading along that is under way, so that many changes cause one.
    following: Cell<bool>,
    /// The number of the newest wait for the conversation to rest.
    rests: Cell<u32>,
    /// What the replies of this visit cost, by their numbers.
    costs: RefCell<SortedMap<u32, Stats>>,
    /// What has come in of a reply and is not shown yet.
    incoming: RefCell<Incoming>,
    /// Sessions whose model was asked for a title in this visit.
    titled: RefCell<BTreeSet<String>>,
    /// Ends the asking for a title that goes on.
    titling: RefCell<Option<Abort>>,
    /// Lets other pages count this one.
    presence: RefCell<Option<Presence>>,
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

    /// Another session is asked for: those asked for before are not shown any more.
    fn wish(&self) -> u32 {
        self.wish.set(self.wish.get() + 1);
        self.wish.get()
    }

    /// The session that is shown is the one that is asked for.
    fn wish_for_this(&self) {
        self.wish();
        self.opening.end();
    }

    /// The same for a session that has to be opened or made first: until [`Opening::end`], actions on the session wait.
    fn wish_to_open(&self) -> u32 {
        let wish = self.wish();
        self.opening.begin();
        wish
    }

    /// Whether none was asked for since.
    fn wishes(&self, wish: u32) -> bool {
        self.wish.get() == wish
    }

    /// The session that is shown, if this tab writes it; else the person is told who does.
    fn writer(&self) -> Option<Session> {
        if self.follower.get() {
            note(t(T::OtherTab).to_owned(), true);
            return None;
        }
        self.session()
    }

    /// The same once nothing is being opened any more. Without a session the user is told so.
    async fn opened(&self) -> Option<Session> {
        self.opening.over().await;
        let session = self.writer();
        if session.is_none() && !self.follower.get() {
            note(t(T::NoSession).to_owned(), true);
        }
        session
    }

    /// Whether this is the session that is shown. Another one may still be replying.
    fn shows(&self, session: &Session) -> bool {
        self.session
            .borrow()
            .as_ref()
            .is_some_and(|s| s.id() == session.id())
    }
}

/// Does something with the engine, in its own time. At the start of the page the action waits for the store.
fn with_engine<F: Future<Output = ()> + 'static>(then: impl FnOnce(Rc<Back>) -> F + 'static) {
    match back() {
        Some(back) => spawn_local(then(back)),
        None => begin::early(Box::new(move |back| spawn_local(then(back)))),
    }
}

/// Does something with the open session if this tab writes it, and otherwise tells the user why not. The action waits for
/// a session that is being opened.
fn with_writer<F: Future<Output = ()> + 'static>(
    then: impl FnOnce(Rc<Back>, Session) -> F + 'static,
) {
    with_engine(|back| async move {
        if let Some(session) = back.opened().await {
            then(back, session).await;
        }
    });
}

/// The present time in milliseconds since 1970.
pub fn now() -> f64 {
    back().map_or_else(|| js_sys::Date::new_0().get_time(), |b| b.world.clock.now())
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
