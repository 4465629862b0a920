//! The list of sessions: new ones, opening, reading along with another tab, titles, deletion.

use std::rc::Rc;

use leptos::task::spawn_local;
use palimpsest_engine::error::EngineError;
use palimpsest_engine::ports::{LocalFuture, StoreError};
use palimpsest_engine::{Config, Engine, NewSession, Profile, Session, is_temporary};
use palimpsest_text::sorted::SortedMap;

use crate::act::{
    self, Back, arrive, change, drop_toast, failed, forget_failure, forget_replay, go, heard,
    keep_draft, kept_draft, lift, load_profiles, look, note_of, parts, restore, send_held,
    settle_in, show_all, show_branch, show_head, thinks, toast, tokens_of, undo_even_if_over,
    usual_model, wire, with_engine, with_writer,
};
use crate::app::data::address::Screen;
use crate::context::data::budget::Activity;
use crate::library::data::bind;
use crate::library::data::hit::Place;
use crate::library::data::kept::Kept;
use crate::platform::{host, page};
use crate::server;
use crate::state::{AppState, Lens, Undo, Until, Waiting};
use crate::text::{T, fill, t};

/// Milliseconds between a change in another tab and the reading of it.
const FOLLOW_AFTER: i32 = 150;

pub(crate) async fn list(back: &Rc<Back>) {
    match back.engine.sessions().await {
        Ok(all) => {
            let entries = all.iter().map(bind::session).collect();
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

/// Goes to an empty session: the open one if nothing was said in it, else a new one.
pub fn new_session() {
    with_engine(|back| async move {
        // an empty session that another tab writes is of no use here
        if back.is_session_empty() && !back.follower.get() {
            back.wish_for_this();
        } else {
            create_now(&back).await;
        }
        go(Screen::Chat);
        page::next_frame(|| page::focus("#msg"));
    });
}

/// Quotes what was said in other sessions from now on.
pub(crate) fn recall_others(engine: Engine) {
    engine.recall_others();
}

/// What a new session begins with.
pub(crate) fn begins_with(back: &Back) -> NewSession {
    let usual = usual_model(back.state);
    back.state.settings.with_untracked(|s| {
        let model = usual.unwrap_or_else(|| s.model.clone());
        let known = |profiles: &SortedMap<String, Profile>| profiles.contains_key(&s.profile);
        let mut config = Config {
            reserve: s.reserve,
            ..Config::default()
        };
        config.tools.enabled = s.own_tools;
        NewSession {
            policy: s.policy_for(&model).to_owned(),
            window: s.window_for(&model),
            thinking: thinks(back.state, &model).unwrap_or_default(),
            profile: back
                .state
                .profiles
                .with_untracked(known)
                .then(|| s.profile.clone()),
            config,
            model,
            provider: server::provider(s.server).to_owned(),
            ..NewSession::default()
        }
    })
}

pub(crate) async fn create_now(back: &Rc<Back>) {
    let wish = back.wish_to_open();
    wire().wait().await;
    if let Some(creating) = parts::create(Rc::clone(back), wish) {
        creating.await;
    }
    opened(back, wish);
}

/// The session that was wished for is open, or cannot be opened. What waited for that goes on.
pub(crate) fn opened(back: &Rc<Back>, wish: u32) {
    if back.wishes(wish) {
        back.opening.end();
        send_held(back);
    }
}

/// Makes a session and shows it, unless another is asked for before it is there.
pub(crate) fn create(back: Rc<Back>, wish: u32) -> LocalFuture<'static, ()> {
    Box::pin(async move { make(&back, wish).await })
}

/// Reads the profiles if new sessions begin with one: the page may have just begun.
pub(crate) async fn profiles_there(back: &Rc<Back>) {
    let chosen = back.state.settings;
    if chosen.with_untracked(|s| !s.profile.is_empty()) {
        load_profiles(back).await;
    }
}

async fn make(back: &Rc<Back>, wish: u32) {
    profiles_there(back).await;
    if !back.wishes(wish) {
        return;
    }
    let new = begins_with(back);
    match back.engine.create(new).await {
        Ok(session) => {
            if back.wishes(wish) {
                adopt(back, session, false).await;
            }
            list(back).await;
        }
        Err(error) => failed(back, &error),
    }
}

/// Opens a session.
pub fn open(id: String) {
    with_engine(|back| async move {
        if back.session().is_some_and(|s| s.id() == id) {
            go(Screen::Chat);
            back.wish_for_this();
            send_held(&back);
            return;
        }
        back.state.screen.change(Screen::Chat);
        open_now(&back, &id, false).await;
    });
}

/// Shows a message of the open session.
pub fn show_message(place: u32) {
    if let Some(state) = AppState::remembered() {
        state.notes.set(false);
        go(Screen::Chat);
        state.jump.set(place);
    }
}

/// Opens a session at a message or a layer.
pub(crate) fn open_at(id: String, place: Place) {
    with_engine(move |back| async move {
        if back.session().is_some_and(|s| s.id() == id) {
            go(Screen::Chat);
        } else {
            back.state.screen.change(Screen::Chat);
            open_now(&back, &id, false).await;
        }
        match place {
            Place::Message(n) => back.state.jump.set(n),
            Place::Layer(_) => {
                look(Lens::Overlay);
                go(Screen::Context);
            }
        }
    });
}

/// Opens a session, unless another is asked for before it is there.
pub(crate) async fn open_now(back: &Rc<Back>, id: &str, take_over: bool) {
    let wish = back.wish_to_open();
    let found = back.engine.open(id, take_over).await;
    if !back.wishes(wish) {
        return;
    }
    match found {
        Ok(session) => adopt(back, session, false).await,
        Err(EngineError::Store(StoreError::Busy)) => elsewhere(back, id, wish).await,
        Err(error) => failed(back, &error),
    }
    opened(back, wish);
}

/// The session is written in another tab: it is shown as it stands, and read again when it changes.
async fn elsewhere(back: &Rc<Back>, id: &str, wish: u32) {
    match back.engine.follow(id).await {
        Ok(_) if !back.wishes(wish) => {}
        Ok(session) => adopt(back, session, true).await,
        Err(error) => failed(back, &error),
    }
}

/// Another tab has changed the session that is shown here: once all that comes at once has come, it is
/// read anew.
pub(crate) fn read_along(back: &Rc<Back>) {
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
pub(crate) fn superseded(back: &Rc<Back>) {
    if !back.follower.replace(true) {
        show_head(back);
        read_along(back);
    }
}

/// Writes here from now on; the other tab reads along.
pub(crate) fn take_over() {
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
pub(crate) async fn adopt(back: &Rc<Back>, session: Session, follower: bool) {
    forget_replay(back.state);
    let state = back.state;
    back.passing.borrow_mut().clear();
    back.costs.borrow_mut().clear();
    state.reply.set(None);
    state.activity.set(Activity::Quiet);
    forget_failure(state);
    let id = session.id().to_owned();
    if let Some(before) = back.session() {
        before.off(back.listener.get());
    }
    // What was typed while this session was being opened belongs to it.
    let typed = back.opening.typed();
    leave_draft(back);
    change_files(back, &id);
    let draft = together(kept_draft(&id), &typed);
    let tokens = tokens_of(Some(&session), &draft) + state.attached_tokens();
    state.draft_tokens.set(tokens);
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
    if !is_temporary(&id) {
        change(move |s| s.session.clone_from(&id));
    }
    show_all(back).await;
    arrive(state);
    if let Some(session) = back.session()
        && !follower
    {
        settle_in(Rc::clone(back), session);
    }
}

/// Keeps for the session that is left what stands in the field, and the message that waits for its reply or compaction.
pub(crate) fn leave_draft(back: &Back) {
    let waiting = back.state.waiting;
    let is_its_own = |w: &Option<Waiting>| w.as_ref().is_some_and(|w| w.until == Until::Free);
    let unsent = waiting
        .with_untracked(is_its_own)
        .then(|| waiting.get_untracked());
    let unsent = unsent.flatten().map(|waiting| waiting.text);
    if unsent.is_some() {
        waiting.set(None);
    }
    if let Some(session) = back.session() {
        let typed = if back.opening.typed().is_empty() {
            page::value("#msg")
        } else {
            String::new()
        };
        keep_draft(session.id(), &together(unsent.unwrap_or_default(), &typed));
    }
}

/// Keeps the attached files of the session that is left, and brings back those of the one with that `id`.
fn change_files(back: &Back, id: &str) {
    let attached = back.state.attached;
    let (left, new) = back.opening.attached(attached.get_untracked());
    let mut unsent = back.unsent.borrow_mut();
    if let Some(before) = back.session()
        && !left.is_empty()
    {
        let before = before.id().to_owned();
        let read_since = unsent.remove(&before).unwrap_or_default();
        unsent.insert(before, left.into_iter().chain(read_since).collect());
    }
    let mut files = unsent.remove(id).unwrap_or_default();
    files.extend(new);
    attached.set(files);
}

/// Two texts as one draft.
pub(crate) fn together(first: String, second: &str) -> String {
    if first.is_empty() || second.is_empty() {
        return first + second;
    }
    format!("{first}\n\n{second}")
}

/// Another title.
pub(crate) fn rename(id: String, title: String, tags: Option<Vec<String>>) {
    with_engine(|back| async move {
        if let Err(error) = back.engine.rename(&id, &title).await {
            failed(&back, &error);
        }
        if let Some(tags) = tags
            && let Err(error) = back.engine.tag_session(&id, &tags).await
        {
            failed(&back, &error);
        }
        show_head(&back);
        list(&back).await;
    });
}

/// Deletes a session, until it is taken back.
pub(crate) fn delete(id: String) {
    with_engine(|back| async move {
        let wish = back.wish.get();
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
                // the person has chosen another one meanwhile
                _ if !back.wishes(wish) => {}
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
pub(crate) fn take_back(id: u32, undo: Undo) {
    drop_toast(id);
    with_engine(|back| async move {
        let (id, title) = match undo {
            Undo::Delete { id, title } => (id, title),
            Undo::EvenIfOver => return undo_even_if_over(),
            Undo::Window => return act::undo(),
            Undo::Branch { tip } => return show_branch(tip),
            Undo::LiftAll { layer } => return lift(layer, true),
            Undo::Restore { n } => return restore(n, String::new()),
        };
        let wish = back.wish();
        match back.engine.undelete(&id).await {
            Ok(()) => {
                list(&back).await;
                if back.wishes(wish) {
                    open_now(&back, &id, false).await;
                }
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

/// Goes on in a new session that starts from the layers and records of this one.
pub(crate) fn roll_over() {
    with_writer(|back, session| async move {
        match session.roll_over().await {
            Ok(next) => {
                list(&back).await;
                open_now(&back, next.id(), false).await;
            }
            Err(error) => failed(&back, &error),
        }
    });
}
