//! Conversations from files.

use std::rc::Rc;

use palimpsest_engine::error::EngineError;
use palimpsest_engine::{Config, NewSession};
use wasm_bindgen_futures::JsFuture;
use web_sys::File;

use super::{
    Back, change, go, list, open_now, other_server, survey, take_profiles, toast, usual_model,
    with_engine,
};
use crate::import::{self, Imported};
use crate::settings::Settings;
use crate::state::Screen;
use crate::text::{T, bytes, fill, number, t};

/// Reads a conversation from a file. The same file again opens the session it made.
pub(super) fn import(file: File, take_system: bool) {
    with_engine(move |back| async move {
        let name = file.name();
        back.state.say(fill(T::ImportReading, &[&name]));
        match read_in(&back, &file, take_system).await {
            Ok(read) => {
                let text = if read.sessions {
                    go(Screen::Chat);
                    fill(T::ImportDone, &[&name, &number(read.messages)])
                } else {
                    fill(T::ImportSettings, &[&name, &number(read.profiles)])
                };
                back.state.say(text.clone());
                toast(&back, text, None, false);
                if let Some(settings) = read.settings {
                    let other = other_server(back.state, &settings);
                    change(move |s| *s = settings.taken_in(s));
                    if other {
                        survey();
                    }
                }
            }
            Err(why) => toast(&back, fill(T::ImportFailed, &[&name, &why]), None, true),
        }
    });
}

/// What was in a file.
struct Read {
    sessions: bool,
    messages: u32,
    profiles: u32,
    settings: Option<Settings>,
}

async fn read_in(back: &Rc<Back>, file: &File, take_system: bool) -> Result<Read, String> {
    if file.size() > f64::from(import::LARGEST) {
        return Err(fill(
            T::ImportTooLarge,
            &[&bytes(file.size()), &bytes(f64::from(import::LARGEST))],
        ));
    }
    let text = JsFuture::from(file.text())
        .await
        .map_err(|e| format!("{e:?}"))?
        .as_string()
        .unwrap_or_default();
    if text.trim().is_empty() {
        return Err(t(T::ImportEmpty).to_owned());
    }
    let mut count = 0;
    let mut first = None;
    let (conversations, beside) =
        import::read_whole(&text, &file.name()).map_err(|e| e.to_string())?;
    let profiles = take_profiles(back, beside.profiles)
        .await
        .map_err(|e| e.to_string())?;
    for mut imported in conversations {
        if !take_system {
            imported.decline_system();
        }
        count += imported.messages.len() as u32;
        let id = merge(back, imported).await?;
        first.get_or_insert(id);
    }
    list(back).await;
    let sessions = first.is_some();
    if let Some(id) = first {
        open_now(back, &id, false).await;
    }
    Ok(Read {
        sessions,
        messages: count,
        profiles,
        settings: beside.settings,
    })
}

/// Makes a session of what was read, unless it is there already. Its identifier.
async fn merge(back: &Rc<Back>, imported: Imported) -> Result<String, String> {
    let say = |e: EngineError| e.to_string();
    let id = imported.id;
    let is = |all: Vec<palimpsest_engine::SessionInfo>| all.iter().any(|s| s.id == id);
    if is(back.engine.sessions().await.map_err(say)?) {
        // what the file has more is added, if the rest is the same
        let session = back.engine.open(&id, false).await.map_err(say)?;
        let there = session.history(None, usize::MAX);
        let same = there.iter().zip(&imported.messages);
        let same = same
            .take_while(|(a, b)| a.message.role == b.role && a.message.parts == b.parts)
            .count();
        if same == there.len() && same < imported.messages.len() {
            let more = imported.messages[same..].to_vec();
            session.append_all(more).await.map_err(say)?;
        }
        return Ok(id);
    }
    if is(back.engine.deleted_sessions().await.map_err(say)?) {
        back.engine.undelete(&id).await.map_err(say)?;
        return Ok(id);
    }
    let chosen = back.state.settings.get_untracked();
    let new = NewSession {
        title: imported.title,
        // the model that will answer counts best from the beginning
        model: usual_model(back.state).unwrap_or(chosen.model),
        window: chosen.window,
        config: Config {
            reserve: chosen.reserve,
            ..Config::default()
        },
        system: imported.system,
        ..NewSession::default()
    };
    let session = back.engine.create_with_id(&id, new).await.map_err(say)?;
    if let Err(error) = session.append_all(imported.messages).await {
        // An empty session would only stand in the way of another attempt.
        let _ = back.engine.purge(&id).await;
        return Err(error.to_string());
    }
    // What does not fit into the records stays in what was said.
    if imported.goal.is_some() {
        let _ = session.set_goal(imported.goal).await;
    }
    for pin in imported.pins {
        let _ = session.pin(pin.kind, &pin.text).await;
    }
    Ok(id)
}
