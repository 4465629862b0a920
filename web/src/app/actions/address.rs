//! The address of what is shown, and what an address shows: links to sessions, messages and layers, Back and Forward.

use crate::act::{go, note, open_now, read_layer, show_message, with_engine};
use crate::app::data::address::{Address, Screen};
use crate::library::data::hit::Place;
use crate::library::data::session::SessionEntry;
use crate::platform::page;
use crate::state::AppState;
use crate::text::{T, t};

/// The address of a screen, with the session that is open.
pub(crate) fn present(state: AppState, screen: Screen) -> Address {
    let open = state
        .open
        .with_untracked(|open| open.as_ref().map(|open| open.id.clone()));
    Address::of(screen, open.as_deref())
}

/// The page is at another address: by a link, by Back or Forward, or because somebody typed it.
pub fn turn(address: Address) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    state.screen.change(address.screen);
    match address.session {
        Some(id) => follow(id, address.place),
        None => settle(state),
    }
}

/// Opens a session and shows a place in it. A session that is not there leaves what is shown as it is.
pub(crate) fn follow(id: String, place: Option<Place>) {
    with_engine(move |back| async move {
        let state = back.state;
        if back.session().is_none_or(|session| session.id() != id) {
            let is_there = |all: &Vec<SessionEntry>| all.iter().any(|one| one.id == id);
            if !state.sessions.with_untracked(is_there) {
                note(t(T::NoSuchSession).to_owned(), true);
                return settle(state);
            }
            open_now(&back, &id, false).await;
        }
        match place {
            Some(Place::Message(number)) => show_message(number),
            Some(Place::Layer(number)) => read_numbered(state, number),
            None => return,
        }
        settle(state);
    });
}

/// Opens the text of a layer by the number that people see. Where a later compaction took it in, all layers are shown.
fn read_numbered(state: AppState, number: u32) {
    let id = state.layers.with_untracked(|all| {
        let found = all.iter().find(|layer| layer.number == number);
        found.map(|layer| layer.id)
    });
    match id {
        Some(id) => read_layer(id),
        None => go(Screen::Context),
    }
}

/// A session is shown: its address is the page's. It takes the place of one that names no session.
pub(crate) fn arrive(state: AppState) {
    let shown = present(state, state.screen.get_untracked());
    let here = page::address();
    if shown.session.is_none() || (&here.session, here.screen) == (&shown.session, shown.screen) {
        return;
    }
    if here.session.is_none() && here.screen == shown.screen {
        page::replace(&shown);
    } else {
        page::visit(&shown);
    }
}

/// The page's address becomes that of what is shown, without a way back to the one before.
pub(crate) fn settle(state: AppState) {
    let shown = present(state, state.screen.get_untracked());
    if page::address() != shown {
        page::replace(&shown);
    }
}

/// A link to a place in the open session, to be kept or given away.
pub fn link(place: Place) -> Option<String> {
    let open = AppState::remembered()?.open;
    let id = open.with_untracked(|open| open.as_ref().map(|open| open.id.clone()))?;
    let address = Address::at(&id, place);
    address.session.as_ref()?;
    page::link(&address)
}
