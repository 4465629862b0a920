//! Keeps the settings and the drafts in localStorage.

use std::cell::RefCell;

use palimpsest_browser::settings;
use palimpsest_engine::is_temporary;
use palimpsest_text::sorted::SortedMap;

use crate::act;
use crate::platform::page;
use crate::settings::data::key::Key;
use crate::settings::{Place, Settings, Theme};
use crate::state::AppState;

thread_local! {
    /// The drafts of temporary sessions.
    static DRAFTS: RefCell<SortedMap<String, String>> = const { RefCell::new(SortedMap::new()) };
    /// Keys that were typed in this tab, by the kind and the address of the server that each was typed for.
    static KEYS: RefCell<SortedMap<(&'static str, String), Key>> = const { RefCell::new(SortedMap::new()) };
}

/// The name of the settings in localStorage.
const SETTINGS: &str = "palimpsest.settings";

/// Drafts stand beside them, one for each session.
const DRAFT: &str = "palimpsest.draft.";

/// The settings of this browser; the defaults where there are none or none may be read.
pub fn load_settings() -> Settings {
    settings::load::<Settings>(SETTINGS).settings.with_origins()
}

/// Returns `true` if some of the settings of this browser cannot be read.
pub(crate) fn has_damaged_settings() -> bool {
    !settings::load::<Settings>(SETTINGS).dropped.is_empty()
}

fn save_settings(chosen: &Settings) {
    // A browser that refuses localStorage still works for this visit.
    let _ = settings::save(SETTINGS, chosen);
}

pub(crate) fn kept_draft(id: &str) -> String {
    if is_temporary(id) {
        return DRAFTS.with_borrow(|all| all.get(id).cloned().unwrap_or_default());
    }
    settings::load::<String>(&format!("{DRAFT}{id}")).settings
}

pub(crate) fn keep_draft(id: &str, text: &str) {
    if is_temporary(id) {
        DRAFTS.with_borrow_mut(|all| all.insert(id.to_owned(), text.to_owned()));
        return;
    }
    let name = format!("{DRAFT}{id}");
    if text.is_empty() {
        settings::forget(&name);
    } else {
        let _ = settings::save(&name, &text);
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

/// Another tab changed the entry with that name in localStorage. Its settings apply here, too, except for the open
/// session.
pub fn settings_elsewhere(name: Option<String>) {
    let Some(state) = AppState::remembered().filter(|_| name.as_deref() == Some(SETTINGS)) else {
        return;
    };
    let mut now = load_settings();
    now.session = state.settings.with_untracked(|s| s.session.clone());
    remember_key(state);
    let before = state.settings.with_untracked(Settings::in_use);
    state.settings.change(now.clone());
    state.key.set(key_of(&now.in_use()));
    page::dress(&now);
    if (before.server, before.address) != (now.server, now.address) {
        act::survey();
    }
}

/// Remembers the key of the server in use for as long as the tab is there: another one will be in use.
pub(crate) fn remember_key(state: AppState) {
    let (server, address) = state
        .settings
        .with_untracked(|s| (s.server, s.address.clone()));
    let key = state.key.get_untracked();
    if key.is_some() {
        KEYS.with_borrow_mut(|keys| keys.insert((server.name(), address), key));
    }
}

/// Forgets the key that was typed in this tab for the origin of the server in use, because it was removed.
pub(crate) fn forget_key(state: AppState) {
    let address = state.settings.with_untracked(|s| s.address.clone());
    KEYS.with_borrow_mut(|keys| keys.retain(|_, key| key.at(&address).is_empty()));
}

/// The key of a server: the one that is kept for it, else the one that was typed for it in this tab.
pub(crate) fn key_of(place: &Place) -> Key {
    let kept = place.own_key();
    if !kept.at(&place.address).is_empty() {
        return kept;
    }
    let asked = (place.server.name(), place.address.clone());
    KEYS.with_borrow(|keys| keys.get(&asked).cloned().unwrap_or_default())
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
