//! What is kept in localStorage: the settings, and the drafts beside them.

use palimpsest_browser::settings;

use crate::page;
use crate::settings::{Settings, Theme};
use crate::state::AppState;

/// Where the settings stand in localStorage.
const SETTINGS: &str = "palimpsest.settings";

/// Drafts stand beside them, one for each session.
const DRAFT: &str = "palimpsest.draft.";

/// The settings of this browser; the defaults where there are none or none may be read.
pub fn load_settings() -> Settings {
    settings::load::<Settings>(SETTINGS).settings
}

fn save_settings(chosen: &Settings) {
    // A browser that refuses localStorage still works for this visit.
    let _ = settings::save(SETTINGS, chosen);
}

pub(super) fn kept_draft(id: &str) -> String {
    settings::load::<String>(&format!("{DRAFT}{id}")).settings
}

pub(super) fn keep_draft(id: &str, text: &str) {
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

/// Another tab has changed what stands under that name in localStorage: its settings hold here too, all but the session
/// that is open.
pub fn settings_elsewhere(name: Option<String>) {
    let Some(state) = AppState::remembered().filter(|_| name.as_deref() == Some(SETTINGS)) else {
        return;
    };
    let mut now = load_settings();
    now.session = state.settings.with_untracked(|s| s.session.clone());
    other_server(state, &now);
    state.settings.change(now.clone());
    page::dress(&now);
}

/// Whether these settings name another server. The key that was typed for the one before is not for it.
pub(super) fn other_server(state: AppState, now: &Settings) -> bool {
    let other = state.settings.with_untracked(|s| s.address != now.address);
    if other {
        state.key.set(now.key.clone());
    }
    other
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
