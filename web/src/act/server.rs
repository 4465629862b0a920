//! The model server: what it has, what is wrong, its address and key, and how its models count.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use leptos::task::spawn_local;
use palimpsest_core::message::Role;
use palimpsest_engine::Session;

use super::{Back, back, change, give_model, list, survey};
use crate::settings::{Place, Server};
use crate::state::AppState;
use crate::view::model::Connection;
use crate::{server, tokenizer};

thread_local! {
    /// Keys that were typed in this tab and are kept nowhere, by the addresses they are for.
    static KEYS: RefCell<BTreeMap<String, String>> = const { RefCell::new(BTreeMap::new()) };
}

/// Asks the model server what there is, and the doctor what is wrong.
pub(super) fn survey_now() {
    if let Some(state) = AppState::remembered() {
        ask(state, false);
    }
}

/// The same, with a question to the open session's model at the end: it is loaded with the session's window.
pub(super) fn try_model() {
    if let Some(state) = AppState::remembered() {
        ask(state, true);
    }
}

fn ask(state: AppState, try_model: bool) {
    state.connection.set(Connection::Asking);
    spawn_local(async move {
        let found = server::survey(state, try_model).await;
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
            want_vocabulary(back);
        }
    });
}

/// A session that was opened gets its model and that model's vocabulary.
pub(super) fn settle_in(back: Rc<Back>, session: Session) {
    spawn_local(async move {
        // another one may have been opened while this part came
        if back.shows(&session) {
            if give_model(&back, &session).await {
                list(&back).await;
            }
            want_vocabulary(back);
        }
    });
}

/// Asks for the vocabulary of the open session's model, where it is to be had.
pub(super) fn want_vocabulary(back: Rc<Back>) {
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
pub(super) fn tokens_of(session: Option<&Session>, text: &str) -> u32 {
    session
        .filter(|_| !text.trim().is_empty())
        .map_or(0, |session| session.count_text(Role::User, text).tokens)
}

/// Another address.
pub(super) fn connect(address: String) {
    change(move |s| s.address = address);
    survey();
}

/// Another kind of server, at its usual address unless one was typed.
pub(super) fn choose_server(server: Server) {
    change(move |s| {
        if s.address.is_empty() || s.address == s.server.usual_address() {
            server.usual_address().clone_into(&mut s.address);
        }
        s.server = server;
    });
    if let Some(state) = AppState::remembered() {
        state.checks.set(Vec::new());
        survey();
    }
}

/// A place for one more server.
pub(super) fn add_place() {
    change(|s| {
        s.places.push(Place {
            server: Server::Ollama,
            address: String::new(),
            key: String::new(),
        });
    });
}

/// Another kind or address for one that is not in use; it is examined if it has an address.
pub(super) fn edit_place(at: usize, server: Server, address: String) {
    change(|s| {
        if let Some(place) = s.places.get_mut(at) {
            // a key is for the server it was given for
            if place.address != address {
                place.key.clear();
            }
            place.server = server;
            place.address = address;
        }
    });
    let Some(state) = AppState::remembered() else {
        return;
    };
    let Some(mut place) = state
        .settings
        .with_untracked(|s| s.places.get(at).cloned())
        .filter(|p| !p.address.is_empty())
    else {
        return;
    };
    if place.key.is_empty() {
        place.key = KEYS.with_borrow(|keys| keys.get(&place.address).cloned().unwrap_or_default());
    }
    spawn_local(async move {
        let checks = server::visit(state, &place).await;
        state.visited.update(|all| {
            all.insert(place.address, checks);
        });
    });
}

/// Another server is used from now on.
pub(super) fn use_place(at: usize) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    let (address, key) = (
        state.settings.with_untracked(|s| s.address.clone()),
        state.key.get_untracked(),
    );
    KEYS.with_borrow_mut(|keys| keys.insert(address, key));
    change(|s| s.use_place(at));
    let (address, kept) = state
        .settings
        .with_untracked(|s| (s.address.clone(), s.key.clone()));
    let typed = KEYS.with_borrow(|keys| keys.get(&address).cloned());
    state.key.set(if kept.is_empty() {
        typed.unwrap_or_default()
    } else {
        kept
    });
    state.checks.set(Vec::new());
    survey();
}

/// Forgets a server that is not in use.
pub(super) fn drop_place(at: usize) {
    change(|s| {
        if at < s.places.len() {
            s.places.remove(at);
        }
    });
}

/// Another key for this tab, and for the settings if it is kept there.
pub(super) fn set_key(key: String) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    state.key.set(key.clone());
    if state.settings.with_untracked(|s| !s.key.is_empty()) {
        change(move |s| s.key = key);
    }
}

/// Keeps the key in the settings, or takes it out of them.
pub(super) fn keep_key(keep: bool) {
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
