//! The model server: what it has, what is wrong, its address and key, and how its models count.

use leptos::task::spawn_local;
use palimpsest_core::message::Role;
use palimpsest_engine::Session;

use super::{Back, back, change, give_model};
use crate::settings::Server;
use crate::state::AppState;
use crate::view::model::Connection;
use crate::{server, tokenizer};

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
pub(super) fn want_vocabulary(back: &Back) {
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
