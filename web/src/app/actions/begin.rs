//! The page begins: the store is opened, the last session, and other tabs are listened to.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use leptos::task::spawn_local;
use palimpsest_browser::{HeadNote, Presence, StorageEvent, Tabs};
use palimpsest_engine::{DEVICE, Engine, is_temporary};
use palimpsest_tokens::{Estimator, TokenCounter};

use crate::act::{
    BACK, Back, back, create_now, follow, leave_draft, list, memory_store, note, open_now, parts,
    prose, read_along, reload_profiles, send_held, settle, spare, superseded, survey, talk, toast,
    want_vocabulary,
};
use crate::chat::actions::title;
use crate::library::data::kept::Kept;
use crate::platform::{guest, host, page, tokenizer};
use crate::settings::actions::settings::has_damaged_settings;
use crate::state::{AppState, Notice};
use crate::text::{T, t};

/// Sessions that are removed for good at the beginning.
const PURGED_AT_BEGIN: u32 = 2;

/// An action that was asked for before the store was open.
type Early = Box<dyn FnOnce(Rc<Back>)>;

thread_local! {
    static EARLY: RefCell<Vec<Early>> = const { RefCell::new(Vec::new()) };
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Keeps an action until the first session is open.
pub(crate) fn early(action: Early) {
    EARLY.with_borrow_mut(|all| all.push(action));
}

/// Opens the store, the last session, and asks the model server.
pub fn start(state: AppState) {
    let asked = page::address();
    let last = state.settings.with_untracked(|s| s.session.clone());
    if asked.session.is_some() || !last.is_empty() {
        prose().load();
    }
    spawn_local(async move {
        let tabs = host::tabs();
        let Some((back, kept)) = opened_store(state, &tabs).await else {
            return;
        };
        BACK.with(|b| *b.borrow_mut() = Some(Rc::clone(&back)));
        list(&back).await;
        reload_profiles(Rc::clone(&back));
        tell_of_losses(&back, kept);
        note_of(state).save(host::NAME);
        follow_tabs(&back, &tabs);
        parts::be_present(Rc::clone(&back));
        if !open_first(&back, asked.session.as_deref(), &last).await {
            return;
        }
        state.ready.set(true);
        send_held(&back);
        if let (Some(id), Some(place)) = (asked.session, asked.place) {
            follow(id, Some(place));
        }
        for action in EARLY.take() {
            action(Rc::clone(&back));
        }
        parts::measure();
    });
    survey();
}

/// The engine over the best store there is, and which one that is. `None` if there is no way to go on, or if the app was taken
/// away meanwhile; the person was told what is wrong.
async fn opened_store(state: AppState, tabs: &Tabs) -> Option<(Rc<Back>, Kept)> {
    let world = match palimpsest_browser::world(tabs) {
        Ok(world) => world,
        Err(error) => {
            state.notice.set(Some(Notice::Saving(error.to_string())));
            return None;
        }
    };
    let Some((store, mut kept)) = host::store(|event| storage_event(&event)).await else {
        page::crashed(t(T::PartMissing), "");
        return None;
    };
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let mut store = Rc::new(host::Switch::to(store));
    let engine = Engine::start(Rc::clone(&store) as _, world.clone(), Rc::clone(&counter));
    let engine = match engine.await {
        Ok(engine) => engine,
        Err(error) => {
            // The store opened and then failed: work from memory, and say so.
            state.notice.set(Some(Notice::Saving(error.to_string())));
            kept = Kept::Memory;
            spare().wait().await;
            store = Rc::new(host::Switch::to(memory_store()?));
            let engine = Engine::start(Rc::clone(&store) as _, world.clone(), counter);
            engine.await.ok()?
        }
    };
    if state.is_gone() {
        return None;
    }
    if kept != Kept::Whole {
        state.notice.set(Some(Notice::Kept(kept)));
        state.storage.update(|s| s.kept = kept);
    }
    Some((Rc::new(Back::new(state, engine, store, world)), kept))
}

/// Tells the person if sessions or settings are not as they were.
fn tell_of_losses(back: &Rc<Back>, kept: Kept) {
    if kept == Kept::Whole && host::lost_since(note_of(back.state)) {
        toast(back, t(T::StoreLost).to_owned(), None, true);
    }
    if has_damaged_settings() {
        toast(back, t(T::SettingsDamaged).to_owned(), None, true);
    }
}

/// Opens the session that the address asks for, the `last` one, the newest, or a new one. Returns `false` if the app was taken
/// away meanwhile.
async fn open_first(back: &Rc<Back>, asked: Option<&str>, last: &str) -> bool {
    let state = back.state;
    let wanted = asked.unwrap_or(last);
    let known = state.sessions.with_untracked(|all| {
        let wanted = all.iter().find(|s| s.id == wanted);
        wanted.or_else(|| all.first()).map(|s| s.id.clone())
    });
    if known.is_some() {
        // what a session says is written by it: it stands at once, and whole
        prose().wait().await;
        if state.is_gone() {
            return false;
        }
    }
    // a temporary session is not missed
    if asked != known.as_deref() && asked.is_some_and(|id| !is_temporary(id)) {
        note(t(T::NoSuchSession).to_owned(), true);
        settle(state);
    }
    match known {
        // a person has asked for a session meanwhile
        _ if !back.wishes(0) => {}
        Some(id) => {
            open_now(back, &id, false).await;
            // who has said something before will soon say more
            expect_talk();
        }
        None => create_now(back).await,
    }
    true
}

/// Somebody begins to do something, or has a session already: the conversation's code and the model's vocabulary are on their
/// way before they are needed.
pub fn expect_talk() {
    prose().load();
    talk().load();
    if !EXPECTED.replace(true)
        && let Some(back) = back()
    {
        want_vocabulary(back);
    }
}

/// Returns `true` once a conversation is to be expected: see [`expect_talk`]. Who mounts the app in another page expects one.
pub(crate) fn is_talk_expected() -> bool {
    EXPECTED.get() || guest::is_guest()
}

/// Lets other pages count this one, and has what was deleted long ago removed, in its own time.
pub(crate) fn be_present(back: Rc<Back>) {
    spawn_local(async move {
        let presence = Presence::begin(host::NAME, back.world.ids.as_ref()).await;
        back.presence.replace(presence);
        // few have something that waits for its end: what removes it comes with the conversation
        match back.engine.expired_sessions().await {
            Ok(expired) if expired.is_empty() => {}
            Ok(_) => parts::sweep(back),
            Err(error) => note(error.to_string(), true),
        }
    });
}

/// Removes what waits for its end since long ago; the rest goes when the library is looked at.
pub(crate) fn sweep(back: Rc<Back>) {
    spawn_local(async move {
        if let Err(error) = back.engine.purge_expired(PURGED_AT_BEGIN).await {
            note(error.to_string(), true);
        }
    });
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
pub(crate) fn note_of(state: AppState) -> HeadNote {
    state.sessions.with_untracked(|all| {
        let stored = || all.iter().filter(|s| !is_temporary(&s.id));
        HeadNote {
            sessions: stored().count() as u32,
            last_seq: stored().map(|s| s.messages).max().unwrap_or(0),
        }
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
            let profiles = change.session == DEVICE;
            spawn_local(async move {
                if profiles {
                    reload_profiles(Rc::clone(&back));
                }
                list(&back).await;
            });
        }
    });
    back.listening.replace(Some(listening));
}

/// Lets go of everything, where the app is taken away and its page stays.
pub fn end() {
    EARLY.take();
    EXPECTED.set(false);
    let Some(back) = BACK.take() else { return };
    // a session that is being opened is not shown any more
    back.wish();
    tokenizer::forget();
    back.listening.replace(None);
    back.presence.replace(None);
    title::give_way(&back);
    leave_draft(&back);
    back.stop_replies();
    if let Some(session) = back.session.take() {
        session.off(back.listener.get());
    }
}
