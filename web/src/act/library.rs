//! Sessions as a whole: search, pin, duplicate, export, erase.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use js_sys::JsString;

use palimpsest_core::json::value_of;
use palimpsest_engine::{NewSession, Session};

use super::{Back, adopt, failed, go, list, note, with_engine};
use crate::bind;
use crate::export::{self, Format};
use crate::page;
use crate::state::{AppState, Screen};
use crate::text::{T, count, fill, number, t};
use crate::view::hit::{Found, Hits, Place, Scope, find};

/// Sessions with places that are shown.
const HITS: usize = 200;

thread_local! {
    /// Which search is the newest: older ones stop.
    static SEARCH: Cell<u32> = const { Cell::new(0) };
}

/// Looks for words where [`AppState::scope`] says, in all sessions. What is found appears as it is found.
pub(super) fn search(words: String) {
    let turn = SEARCH.get() + 1;
    SEARCH.set(turn);
    let Some(state) = AppState::remembered() else {
        return;
    };
    let needle = composed(words.trim()).to_lowercase();
    if needle.is_empty() {
        return state.hits.set(None);
    }
    state.hits.set(Some(Hits {
        needle: needle.clone(),
        by: BTreeMap::new(),
        done: false,
    }));
    let Scope([titles, messages, layers]) = state.scope.get_untracked();
    with_engine(move |back| async move {
        for entry in state.sessions.get_untracked() {
            let mut found = Found {
                title: titles && find(&composed(&entry.title), &needle).is_some(),
                ..Found::default()
            };
            if (messages || layers)
                && let Ok(session) = back.engine.follow(&entry.id).await
            {
                if messages {
                    for item in session.history(None, usize::MAX).iter().rev() {
                        if let Some(words) = find(&composed(&item.message.words()), &needle) {
                            found.add(Place::Message(bind::place(item.message.seq)), words);
                        }
                    }
                }
                if layers {
                    for layer in session.layers() {
                        if let Some(words) = find(&composed(&layer.summary), &needle) {
                            found.add(Place::Layer(layer.number), words);
                        }
                    }
                }
            }
            if SEARCH.get() != turn {
                return;
            }
            if found.places() > 0 {
                state.hits.update(|hits| {
                    if let Some(hits) = hits {
                        hits.by.insert(entry.id, found);
                    }
                });
                if state
                    .hits
                    .with_untracked(|h| h.as_ref().is_some_and(|h| h.by.len() >= HITS))
                {
                    break;
                }
            }
        }
        state.hits.update(|hits| {
            if let Some(hits) = hits {
                hits.done = true;
                state.say(found_line(hits));
            }
        });
    });
}

/// How much was found: sessions and places.
pub fn found_line(hits: &Hits) -> String {
    let (sessions, places) = hits.totals();
    format!(
        "{}, {}",
        count(T::SessionsOne, T::SessionsMany, sessions),
        count(T::PlacesOne, T::PlacesMany, places)
    )
}

/// The text with its letters and marks composed: the same word looks the same and is found, however it was typed.
fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(JsString::from(text).normalize("NFC").into())
}

/// Puts a session first, or back.
pub(super) fn pin_session(id: String, pinned: bool) {
    with_engine(move |back| async move {
        if let Err(error) = back.engine.pin_session(&id, pinned).await {
            failed(&back, &error);
        }
        list(&back).await;
    });
}

/// Makes a second session of what was said in one, with its records and its settings.
pub(super) fn duplicate(id: String) {
    with_engine(move |back| async move {
        match copy_of(&back, &id).await {
            Ok(session) => {
                adopt(&back, session, false).await;
                list(&back).await;
                go(Screen::Chat);
                note(t(T::Duplicated).to_owned(), false);
            }
            Err(why) => note(why, true),
        }
    });
}

async fn copy_of(back: &Rc<Back>, id: &str) -> Result<Session, String> {
    let say = |e: palimpsest_engine::EngineError| e.to_string();
    let from = back.engine.follow(id).await.map_err(say)?;
    let head = from.head();
    let records = from.records();
    let new = NewSession {
        title: fill(T::CopyOf, &[&head.title]),
        model: head.model,
        window: head.window,
        policy: head.policy,
        system: records.system.clone(),
        thinking: head.thinking,
        config: head.config,
        profile: head.profile,
        ..NewSession::default()
    };
    let session = back.engine.create(new).await.map_err(say)?;
    session
        .append_all(export::messages(&from))
        .await
        .map_err(say)?;
    if records.goal.is_some() {
        session.set_goal(records.goal).await.map_err(say)?;
    }
    for pin in records.pins {
        session.pin(pin.kind, &pin.text).await.map_err(say)?;
    }
    Ok(session)
}

/// Saves the open session as a file.
pub(super) fn export_session(format: Format) {
    let Some(session) = super::back().and_then(|b| b.session()) else {
        return;
    };
    let title = session.head().title;
    let name = if title.is_empty() {
        "session"
    } else {
        title.as_str()
    };
    let done = match format {
        Format::Log => return super::save_log(),
        Format::Request => return super::save_request(),
        Format::System => return super::save_system(),
        Format::Json => page::save(
            &format!("{name}.json"),
            "application/json",
            &format!("{:#}", export::json(&session)),
        ),
        Format::Markdown => page::save(
            &format!("{name}.md"),
            "text/markdown",
            &export::markdown(&session),
        ),
    };
    if done.is_none() {
        note(t(T::SaveFailed).to_owned(), true);
    }
}

/// Saves all sessions as one file, and remembers when.
pub(super) fn export_all() {
    with_engine(|back| async move {
        let mut all = Vec::new();
        let mut unread = 0;
        for entry in back.state.sessions.get_untracked() {
            // one that is damaged does not keep the others from being saved
            match back.engine.follow(&entry.id).await {
                Ok(session) => all.push(export::json(&session)),
                Err(_) => unread += 1,
            }
        }
        let count = all.len() as u32;
        let profiles = back.state.profiles.get_untracked();
        let vault = serde_json::json!({
            "palimpsest": export::VERSION,
            "sessions": all,
            "profiles": value_of(&profiles).unwrap_or_default(),
        });
        let now = back.world.clock.now();
        let name = format!("palimpsest-{}.json", page::date(now));
        if page::save(&name, "application/json", &vault.to_string()).is_none() {
            return note(t(T::SaveFailed).to_owned(), true);
        }
        super::change(move |s| s.exported = now);
        let mut said = fill(T::ExportedAll, &[&number(count)]);
        if unread > 0 {
            said = format!("{said} {}", fill(T::ExportUnread, &[&number(unread)]));
        }
        note(said, unread > 0);
    });
}

/// Saves the settings and the profiles as a file, without keys.
pub(super) fn export_settings() {
    let Some(state) = AppState::remembered() else {
        return;
    };
    let file = serde_json::json!({
        "palimpsest": export::VERSION,
        "settings": state.settings.with_untracked(|s| value_of(&s.shared())).unwrap_or_default(),
        "profiles": state.profiles.with_untracked(value_of).unwrap_or_default(),
    });
    let text = format!("{file:#}");
    if page::save("palimpsest-settings.json", "application/json", &text).is_none() {
        note(t(T::SaveFailed).to_owned(), true);
    }
}

/// Removes every session for good.
pub(super) fn erase() {
    with_engine(|back| async move {
        let listed = match (
            back.engine.sessions().await,
            back.engine.deleted_sessions().await,
        ) {
            (Ok(a), Ok(b)) => [a, b].concat(),
            (Err(error), _) | (_, Err(error)) => return failed(&back, &error),
        };
        if let Some(session) = back.session() {
            session.stop();
            session.off(back.listener.get());
        }
        *back.session.borrow_mut() = None;
        page::set_value("#msg", "");
        let mut texts_stay = false;
        for session in listed {
            super::keep_draft(&session.id, "");
            match back.engine.purge(&session.id).await {
                Ok(purged) => texts_stay |= purged.kept,
                Err(error) => return failed(&back, &error),
            }
        }
        super::create_now(&back).await;
        list(&back).await;
        super::measure_storage();
        let said = if texts_stay { T::EraseKept } else { T::Erased };
        note(t(said).to_owned(), texts_stay);
    });
}
