//! Sessions as a whole: search, pin, duplicate, export, erase.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use js_sys::JsString;

use palimpsest_engine::{NewSession, Session};

use super::{Back, adopt, failed, go, list, note, with_engine};
use crate::export::{self, Format};
use crate::page;
use crate::state::{AppState, Screen};
use crate::text::{T, fill, number, t};
use crate::view::hit::{Hit, Place, find};

/// Places shown of one session.
const HITS_EACH: usize = 4;

/// Sessions with places that are shown.
const HITS: usize = 200;

thread_local! {
    /// Which search is the newest: older ones stop.
    static SEARCH: Cell<u32> = const { Cell::new(0) };
}

/// Looks for words in titles, messages and layers of all sessions. What is found appears as it is found.
pub fn search(words: String) {
    let turn = SEARCH.get() + 1;
    SEARCH.set(turn);
    let Some(state) = AppState::remembered() else {
        return;
    };
    let needle = composed(words.trim()).to_lowercase();
    if needle.is_empty() {
        return state.hits.set(None);
    }
    with_engine(move |back| async move {
        let mut hits: Vec<Hit> = Vec::new();
        let sessions = state.sessions.get_untracked();
        for entry in sessions {
            if SEARCH.get() != turn || hits.len() >= HITS {
                break;
            }
            let hit = |place, words| Hit {
                session: entry.id.clone(),
                title: entry.title.clone(),
                place,
                words,
            };
            hits.extend(find(&composed(&entry.title), &needle).map(|w| hit(Place::Title, w)));
            if let Ok(session) = back.engine.follow(&entry.id).await {
                let mut found = 0;
                for layer in session.layers() {
                    if let Some(words) = find(&composed(&layer.summary), &needle) {
                        hits.push(hit(Place::Layer(layer.number), words));
                    }
                }
                for item in session.history(None, usize::MAX).iter().rev() {
                    if found >= HITS_EACH {
                        break;
                    }
                    if let Some(words) = find(&composed(&item.message.words()), &needle) {
                        found += 1;
                        let place = crate::bind::place(item.message.seq);
                        hits.push(hit(Place::Message(place), words));
                    }
                }
            }
            if SEARCH.get() == turn {
                state.hits.set(Some(hits.clone()));
            }
        }
        if SEARCH.get() == turn {
            state.say(fill(T::Found, &[&number(hits.len() as u32)]));
            state.hits.set(Some(hits));
        }
    });
}

/// The text with its letters and marks composed: the same word looks the same and is found, however it was typed.
fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(JsString::from(text).normalize("NFC").into())
}

/// Puts a session first, or back.
pub fn pin_session(id: String, pinned: bool) {
    with_engine(move |back| async move {
        if let Err(error) = back.engine.pin_session(&id, pinned).await {
            failed(&back, &error);
        }
        list(&back).await;
    });
}

/// Makes a second session of what was said in one, with its records and its settings.
pub fn duplicate(id: String) {
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
pub fn export_session(format: Format) {
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
pub fn export_all() {
    with_engine(|back| async move {
        let mut all = Vec::new();
        for entry in back.state.sessions.get_untracked() {
            match back.engine.follow(&entry.id).await {
                Ok(session) => all.push(export::json(&session)),
                Err(error) => return failed(&back, &error),
            }
        }
        let count = all.len() as u32;
        let vault = serde_json::json!({ "palimpsest": export::VERSION, "sessions": all });
        let now = back.world.clock.now();
        let name = format!("palimpsest-{}.json", page::date(now));
        if page::save(&name, "application/json", &vault.to_string()).is_none() {
            return note(t(T::SaveFailed).to_owned(), true);
        }
        super::change(move |s| s.exported = now);
        note(fill(T::ExportedAll, &[&number(count)]), false);
    });
}

/// Removes every session for good.
pub fn erase() {
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
