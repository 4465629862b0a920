//! The model server: its models, its problems, its address and key, and the counting of its models.

use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::rc::Rc;

use leptos::task::spawn_local;
use palimpsest_core::message::Role;
use palimpsest_engine::Session;
use palimpsest_ollama::doctor::Trial;
use palimpsest_text::sorted::SortedMap;
use web_sys::File;

use crate::act::{
    Back, back, change, forget_key, give_model, is_talk_expected, keep_arrived, key_of, list, note,
    offer_reply, remember_key, send_held, survey, take_model, wire,
};
use crate::platform::{resident, tokenizer};
use crate::server;
use crate::settings::data::connection::Connection;
use crate::settings::data::key::Key;
use crate::settings::{Place, Server, Settings};
use crate::state::AppState;
use crate::text::{T, fill, t};

/// Milliseconds after which a server that went away is asked again.
const ASK_AFTER: u32 = 15_000;

thread_local! {
    /// The server that answered last since the page began, by its kind and its address.
    static WAS_THERE: RefCell<Option<(Server, String)>> = const { RefCell::new(None) };
    /// The model that was chosen on a server that has not answered yet.
    static CHOSEN: Cell<Option<String>> = const { Cell::new(None) };
    /// Another check waits. Only one may wait at a time.
    static IS_WAITING: Cell<bool> = const { Cell::new(false) };
}

/// The server in use, by its kind and its address.
fn in_use(state: AppState) -> (Server, String) {
    state
        .settings
        .with_untracked(|s| (s.server, s.address.clone()))
}

/// Returns `true` if the server in use has answered before.
fn was_there(state: AppState) -> bool {
    WAS_THERE.with_borrow(|known| known.as_ref() == Some(&in_use(state)))
}

/// Asks the model server for its models, and the doctor for its problems.
pub(crate) fn survey_now() {
    if let Some(state) = AppState::remembered() {
        ask(state, None);
    }
}

/// Asks the doctor again, because the session has another model or window. The page stays connected meanwhile.
pub(crate) fn check_again() {
    let connected = |state: &AppState| {
        state
            .connection
            .with_untracked(|c| *c == Connection::Connected)
    };
    let Some(state) = AppState::remembered().filter(connected) else {
        return;
    };
    let asked = in_use(state);
    spawn_local(async move {
        let found = server::survey(state, None).await;
        if connected(&state) && asked == in_use(state) {
            state.checks.change(found.checks);
        }
    });
}

/// The same, with a question to the open session's model at the end: it is loaded with the session's window.
pub(crate) fn try_model() {
    if let Some(state) = AppState::remembered() {
        // hidden from the compiler, which would otherwise put the trial into the part that asks without one
        ask(state, Some(black_box(Trial::ONE_TOKEN)));
    }
}

/// Asks a server that was there before once more after a while, as long as nothing else has.
fn ask_later(state: AppState) {
    let Some(back) = back() else { return };
    if IS_WAITING.replace(true) {
        return;
    }
    spawn_local(async move {
        back.world.timer.sleep(ASK_AFTER).await;
        IS_WAITING.set(false);
        let failed = state
            .connection
            .with_untracked(|c| *c == Connection::Failed);
        if failed && was_there(state) {
            ask(state, None);
        }
    });
}

fn ask(state: AppState, trial: Option<Trial>) {
    state.connection.set(Connection::Asking);
    let asked = in_use(state);
    spawn_local(async move {
        let found = server::survey(state, trial).await;
        // another server was chosen meanwhile, and is asked itself
        if asked != in_use(state) {
            return;
        }
        if let Some(back) = back() {
            for model in &found.models {
                back.engine.know_model(&model.name, &model.size);
            }
        }
        state.models.change(found.models);
        state.checks.change(found.checks);
        match &found.connection {
            Connection::Connected => WAS_THERE.set(Some(asked)),
            Connection::Failed if was_there(state) => ask_later(state),
            _ => {}
        }
        state.connection.set(found.connection);
        if let Some(back) = back()
            && let Some(session) = back.session()
        {
            let is_there = |name: &String| {
                let models = state.models;
                models.with_untracked(|all| all.iter().any(|m| m.name == *name))
            };
            if let Some(name) = CHOSEN.take().filter(is_there) {
                take_model(&back, &session, name).await;
            }
            give_model(&back, &session).await;
            send_held(&back);
            want_vocabulary(back);
        }
    });
}

/// A session that was opened gets what had arrived of a reply, its model and that model's vocabulary. Few sessions have an
/// unfinished reply, and what stores one is a third of a first visit: it stays in the part that makes replies.
pub(crate) fn settle_in(back: Rc<Back>, session: Session) {
    // another one may have been opened while this part came
    if !back.shows(&session) {
        return;
    }
    if session.partial().is_some() {
        keep_arrived(back, session);
    } else {
        equip(back, session);
    }
}

/// A session gets its model and that model's vocabulary, once everything that had arrived is in it.
pub(crate) fn equip(back: Rc<Back>, session: Session) {
    spawn_local(async move {
        if back.shows(&session) {
            offer_reply(back.state, &session);
            if give_model(&back, &session).await {
                list(&back).await;
            }
            want_vocabulary(back);
        }
    });
}

/// Asks for the vocabulary of the open session's model, where it is to be had.
pub(crate) fn want_vocabulary(back: Rc<Back>) {
    let state = back.state;
    let Some(session) = back.session() else {
        return;
    };
    let (server, address) = state
        .settings
        .with_untracked(|s| (s.server, s.address.clone()));
    if !matches!(server, Server::Ollama | Server::InPage) {
        return tokenizer::forget();
    }
    // a page that only stands there does without: nothing is counted yet
    if state.connection.get_untracked() != Connection::Connected || !is_talk_expected() {
        return;
    }
    tokenizer::want(&back.engine, &address, "", &session.head().model);
    // The stored counts may be older than this knowledge of the model.
    spawn_local(async move { session.settle().await });
}

/// Tokens of a text as the user's next message.
pub(crate) fn tokens_of(session: Option<&Session>, text: &str) -> u32 {
    session
        .filter(|_| !text.trim().is_empty())
        .map_or(0, |session| session.count_text(Role::User, text).tokens)
}

/// The server in use gets another address or is of another kind, as `edit` says. Its key goes with it as long as the origin
/// stays the same; one that was given for the new address comes back.
fn turn(edit: impl FnOnce(&mut Settings)) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    let held = state.key.get_untracked();
    remember_key(state);
    change(edit);
    let now = state.settings.with_untracked(Settings::in_use);
    state.key.set(if held.at(&now.address).is_empty() {
        key_of(&now)
    } else {
        held
    });
    state.checks.set(Vec::new());
    survey();
}

/// Another address.
pub(crate) fn connect(address: String) {
    turn(move |s| s.address = address);
}

/// Another kind of server, at its usual address unless one was typed. The model in the page has no address; one that was typed
/// stays among the other servers.
pub(crate) fn choose_server(server: Server) {
    turn(move |s| {
        let is_usual = s.address.is_empty() || s.address == s.server.usual_address();
        let is_in_page = server == Server::InPage;
        if is_in_page && !is_usual {
            let place = s.in_use();
            s.places.push(place);
        }
        if is_in_page || is_usual {
            server.usual_address().clone_into(&mut s.address);
        }
        s.server = server;
    });
}

/// Keeps the file of a model for the model in the page, and looks for models again.
pub(crate) fn add_model(file: File) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    state.say(fill(T::ModelFileReading, &[&file.name()]));
    spawn_local(async move {
        match resident::keep(&file).await {
            Ok(()) => {
                state.say(fill(T::ModelFileKept, &[&file.name()]));
                survey();
            }
            Err(why) => note(fill(T::ModelFileFailed, &[&file.name(), &why]), true),
        }
    });
}

/// Removes the files of models that were added, and looks which models are left.
pub(crate) fn drop_models() {
    let Some(state) = AppState::remembered() else {
        return;
    };
    spawn_local(async move {
        match resident::forget().await {
            Ok(()) => {
                state.say(t(T::ModelsDropped));
                survey();
            }
            Err(why) => note(fill(T::ModelsStay, &[&why]), true),
        }
    });
}

/// The server that a file of settings names, once a person has agreed to it.
pub(crate) fn use_server(server: Server, address: String) {
    replace(move |s| {
        s.server = server;
        s.address = address;
    });
}

/// A place for one more server.
pub(crate) fn add_place() {
    change(|s| {
        s.places.push(Place {
            server: Server::Ollama,
            address: String::new(),
            key: String::new(),
            key_origin: String::new(),
        });
    });
}

/// Another kind or address for one that is not in use; it is examined if it has an address.
pub(crate) fn edit_place(at: usize, server: Server, address: String) {
    change(|s| {
        if let Some(place) = s.places.get_mut(at) {
            place.server = server;
            place.address = address;
        }
    });
    let Some(state) = AppState::remembered() else {
        return;
    };
    let Some(place) = state
        .settings
        .with_untracked(|s| s.places.get(at).cloned())
        .filter(|p| !p.address.is_empty())
    else {
        return;
    };
    let key = key_of(&place);
    spawn_local(async move {
        // it has the words for what is found
        wire().wait().await;
        let checks = server::visit(state, &place, &key).await;
        state.visited.update(|all| {
            all.insert(place.address, checks);
        });
    });
}

/// Another server is used from now on.
pub(crate) fn use_place(at: usize) {
    replace(|s| s.use_place(at));
}

/// Asks the servers that are not in use for their models.
pub(crate) fn look_elsewhere() {
    let Some(state) = AppState::remembered() else {
        return;
    };
    state.elsewhere.set(SortedMap::new());
    for place in state.settings.with_untracked(|s| s.places.clone()) {
        let key = key_of(&place);
        spawn_local(async move {
            let found = server::models(&place, &key).await.ok();
            state.elsewhere.update(|all| {
                all.insert(place.address, found);
            });
        });
    }
}

/// The open session gets a model of another server, which is used from now on.
pub(crate) fn choose_elsewhere(at: usize, name: String) {
    CHOSEN.set(Some(name));
    use_place(at);
}

/// Another server is used from now on, as `edit` says, with its own key or none.
fn replace(edit: impl FnOnce(&mut Settings)) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    remember_key(state);
    change(edit);
    state
        .key
        .set(key_of(&state.settings.with_untracked(Settings::in_use)));
    state.checks.set(Vec::new());
    survey();
}

/// Forgets a server that is not in use.
pub(crate) fn drop_place(at: usize) {
    change(|s| {
        if at < s.places.len() {
            s.places.remove(at);
        }
    });
}

/// Another key for the server in use: for this tab, and for the settings if it is kept there.
pub(crate) fn set_key(key: String) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    let key = state
        .settings
        .with_untracked(|s| Key::given(&key, &s.address));
    state.key.set(key.clone());
    if !key.is_some() {
        forget_key(state);
    }
    if state.settings.with_untracked(Settings::keeps_key) {
        change(move |s| s.keep_key(key));
    }
}

/// Keeps the key in the settings, or takes it out of them.
pub(crate) fn keep_key(keep: bool) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    let key = if keep {
        state.key.get_untracked()
    } else {
        Key::default()
    };
    change(move |s| s.keep_key(key));
}
