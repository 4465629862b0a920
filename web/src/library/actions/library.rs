//! Sessions as a whole: search, pin, duplicate, export, erase.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use futures_util::future::join_all;
use js_sys::JsString;
use palimpsest_engine::transfer::Format::{JsonLines, Markdown, SessionJson};
use palimpsest_engine::{Session, is_temporary};
use palimpsest_text::json::value_of;
use palimpsest_text::sorted::SortedMap;
use serde_json::Value;

use crate::act::{self, Back, Progress, adopt, failed, go, list, note, with_engine};
use crate::app::data::address::Screen;
use crate::chat::data::thread::place;
use crate::library::data::export::{self, Format};
use crate::library::data::hit::{Found, Hits, Place, Scope, find};
use crate::platform::page;
use crate::state::AppState;
use crate::text::{T, count, fill, number, t};

/// Bytes of a file of sessions, unless one session alone is larger.
const FILE: usize = 32_000_000;

/// Sessions that are read side by side.
const AT_ONCE: usize = 8;

/// Sessions with places that are shown.
const HITS: usize = 200;

thread_local! {
    /// The number of the newest search. Older ones stop.
    static SEARCH: Cell<u32> = const { Cell::new(0) };
}

/// Searches words in the places of [`AppState::scope`], in all sessions. Results appear as they are found.
pub(crate) fn search(words: String) {
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
        by: SortedMap::new(),
        done: false,
    }));
    let Scope([titles, messages, layers]) = state.scope.get_untracked();
    with_engine(move |back| async move {
        let reads = messages || layers;
        'all: for some in state.sessions.get_untracked().chunks(AT_ONCE) {
            let reading = some.iter().map(|entry| async {
                if reads {
                    back.engine.follow(&entry.id).await.ok()
                } else {
                    None
                }
            });
            let read = join_all(reading).await;
            if SEARCH.get() != turn {
                return;
            }
            for (entry, session) in some.iter().zip(read) {
                let mut found = Found {
                    title: titles && find(&composed(&entry.title), &needle).is_some(),
                    ..Found::default()
                };
                if let Some(session) = session {
                    found_in(&session, &needle, messages, layers, &mut found);
                }
                if found.places() == 0 {
                    continue;
                }
                let mut many = 0;
                state.hits.update(|hits| {
                    if let Some(hits) = hits {
                        hits.by.insert(entry.id.clone(), found);
                        many = hits.by.len();
                    }
                });
                if many >= HITS {
                    break 'all;
                }
            }
        }
        state.hits.update(|hits| {
            if let Some(hits) = hits {
                hits.done = true;
                state.say(found_line(hits));
            }
        });
        // it gave way
        act::measure_sessions();
    });
}

/// Adds the places in a session.
fn found_in(session: &Session, needle: &str, messages: bool, layers: bool, found: &mut Found) {
    if messages {
        for item in session.history(None, usize::MAX).iter().rev() {
            if let Some(words) = find(&composed(&item.message.words()), needle) {
                found.add(Place::Message(place(item.message.seq)), words);
            }
        }
    }
    if layers {
        for layer in session.layers() {
            if let Some(words) = find(&composed(&layer.summary), needle) {
                found.add(Place::Layer(layer.number), words);
            }
        }
    }
}

/// The number of results in words: sessions and places.
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
pub(crate) fn pin_session(id: String, pinned: bool) {
    with_engine(move |back| async move {
        if let Err(error) = back.engine.pin_session(&id, pinned).await {
            failed(&back, &error);
        }
        list(&back).await;
    });
}

/// Makes a second session of one, with everything that it holds.
pub(crate) fn duplicate(id: String) {
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
    let title = back.engine.follow(id).await.map_err(say)?.head().title;
    let copy = back.engine.duplicate(id, &fill(T::CopyOf, &[&title])).await;
    back.engine
        .open(&copy.map_err(say)?, false)
        .await
        .map_err(say)
}

/// Saves the open session as a file.
pub(crate) fn export_session(format: Format) {
    with_engine(move |back| async move {
        if let Some(session) = back.session() {
            save_as(&back, &session, format).await;
        }
    });
}

/// Saves the readable part of a session and names the other rows. Marks in the file show the lost parts.
pub(crate) fn save_what_is_left(id: String) {
    with_engine(|back| async move {
        match back.engine.follow(&id).await {
            Ok(session) => {
                save_as(&back, &session, Format::Json).await;
            }
            Err(error) => failed(&back, &error),
        }
    });
}

async fn save_as(back: &Rc<Back>, session: &Session, format: Format) {
    let title = session.head().title;
    let name = if title.is_empty() {
        "session"
    } else {
        title.as_str()
    };
    let (ending, media, written) = match format {
        Format::Log => return act::save_log(),
        Format::Request => return act::save_request(),
        Format::System => return act::save_system(),
        Format::Json => {
            // A session that is not wholly readable is still saved, without the archive.
            let archive = back.engine.archive(session.id()).await.ok();
            let value = export::json(session, archive.as_ref());
            ("json", "application/json", Ok(format!("{value:#}")))
        }
        Format::Markdown => ("md", "text/markdown", session.export(Markdown).await),
        Format::Lines => (
            "jsonl",
            "application/jsonl",
            session.export(JsonLines).await,
        ),
        Format::Session => (
            "session.json",
            "application/json",
            session.export(SessionJson).await,
        ),
    };
    match written {
        Ok(text) => {
            if page::save(&format!("{name}.{ending}"), media, &text).is_none() {
                note(t(T::SaveFailed).to_owned(), true);
            }
        }
        Err(error) => failed(back, &error),
    }
}

/// Saves all sessions, and remembers when: as one file, or as several that this page can read again.
pub(crate) fn export_all() {
    with_engine(|back| async move {
        let now = back.world.clock.now();
        let profiles = value_of(&back.state.profiles.get_untracked()).unwrap_or_default();
        let mut file = Vault::new(page::date(now), profiles);
        let mut sessions = back.state.sessions.get_untracked();
        sessions.retain(|entry| !is_temporary(&entry.id));
        let mut progress = Progress::of(t(T::ExportAll).to_owned(), sessions.len());
        let mut unread = 0;
        for entry in sessions {
            progress.step(back.state);
            // one that is damaged does not keep the others from being saved
            match back.engine.follow(&entry.id).await {
                Ok(session) => {
                    let archive = back.engine.archive(&entry.id).await.ok();
                    file.add(&export::json(&session, archive.as_ref()).to_string());
                }
                Err(_) => unread += 1,
            }
        }
        drop(progress);
        let Some(count) = file.end() else {
            return note(t(T::SaveFailed).to_owned(), true);
        };
        act::change(move |s| s.exported = now);
        let mut said = fill(T::ExportedAll, &[&number(count)]);
        if unread > 0 {
            said = format!("{said} {}", fill(T::ExportUnread, &[&number(unread)]));
        }
        note(said, unread > 0);
    });
}

/// A file of sessions that is being written.
struct Vault {
    date: String,
    profiles: Value,
    text: String,
    sessions: u32,
    files: u32,
    failed: bool,
}

impl Vault {
    const fn new(date: String, profiles: Value) -> Self {
        Self {
            date,
            profiles,
            text: String::new(),
            sessions: 0,
            files: 0,
            failed: false,
        }
    }

    /// Adds a session. A file that is long enough is saved.
    fn add(&mut self, session: &str) {
        if !self.text.is_empty() && self.text.len() + session.len() > FILE {
            self.save();
        }
        if !self.text.is_empty() {
            self.text.push(',');
        }
        self.text.push_str(session);
        self.sessions += 1;
    }

    fn save(&mut self) {
        let (version, profiles) = (export::VERSION, &self.profiles);
        let sessions = std::mem::take(&mut self.text);
        let text = format!(
            "{{\"palimpsest\":{version},\"profiles\":{profiles},\"sessions\":[{sessions}]}}"
        );
        self.files += 1;
        let name = match self.files {
            1 => format!("palimpsest-{}.json", self.date),
            n => format!("palimpsest-{}-{n}.json", self.date),
        };
        self.failed |= page::save(&name, "application/json", &text).is_none();
    }

    /// Saves the rest. Returns the number of sessions, if all were saved.
    fn end(mut self) -> Option<u32> {
        if !self.text.is_empty() || self.files == 0 {
            self.save();
        }
        (!self.failed).then_some(self.sessions)
    }
}

/// Saves the settings and the profiles as a file, without keys.
pub(crate) fn export_settings() {
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
pub(crate) fn erase() {
    with_engine(|back| async move {
        // deleted and damaged ones, too
        let listed = match back.engine.stored_sessions().await {
            Ok(ids) => ids,
            Err(error) => return failed(&back, &error.into()),
        };
        back.stop_replies();
        if let Some(session) = back.session() {
            session.off(back.listener.get());
        }
        *back.session.borrow_mut() = None;
        page::set_value("#msg", "");
        let mut texts_stay = false;
        for session in listed {
            act::keep_draft(&session, "");
            match back.engine.purge(&session).await {
                Ok(purged) => texts_stay |= purged.kept,
                Err(error) => return failed(&back, &error),
            }
        }
        act::create_now(&back).await;
        list(&back).await;
        act::measure_storage();
        let said = if texts_stay { T::EraseKept } else { T::Erased };
        note(t(said).to_owned(), texts_stay);
    });
}
