//! Conversations from files.

use std::collections::BTreeSet;
use std::rc::Rc;

use palimpsest_engine::error::EngineError;
use palimpsest_engine::ports::StoreError;
use palimpsest_engine::{
    Accept, Config, Engine, NewSession, Rejected, Restored, SessionInfo, Transfer, TransferError,
};
use web_sys::File;

use super::{
    Back, Progress, change, contents, go, list, open_now, take_profiles, toast, usual_model,
    with_engine,
};
use crate::import::{self, Imported, Meeting, meet};
use crate::settings::{Settings, address_of};
use crate::state::{Dialog, Screen};
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
                    let done = match read.messages {
                        0 => fill(T::ImportNothing, &[&name]),
                        n => fill(T::ImportDone, &[&name, &number(n)]),
                    };
                    [done, left_out(&read.rejected)].concat()
                } else {
                    fill(T::ImportSettings, &[&name, &number(read.profiles)])
                };
                back.state.say(text.clone());
                toast(&back, text, None, !read.rejected.is_empty());
                if let Some(settings) = read.settings {
                    take_settings(&back, settings);
                }
            }
            Err(why) => {
                let text = fill(T::ImportFailed, &[&name, &why]);
                // the status says no longer that it is read
                back.state.say(text.clone());
                toast(&back, text, None, true);
            }
        }
    });
}

/// Takes settings over. Where conversations are sent is not changed by a file: if it names another server than the one in
/// use, the person is asked.
fn take_settings(back: &Back, settings: Settings) {
    let here = back.state.settings.get_untracked();
    let (server, address) = (settings.server, address_of(&settings.address));
    let other = !address.is_empty() && (server, &address) != (here.server, &here.address);
    change(move |s| {
        *s = Settings {
            server: here.server,
            address: here.address,
            ..settings.taken_in(s)
        }
    });
    if other {
        let asked = Dialog::OtherServer { server, address };
        back.state.dialog.set(Some(asked));
    }
}

/// What was in a file.
#[derive(Default)]
struct Read {
    sessions: bool,
    /// Those that were not there before.
    messages: u32,
    profiles: u32,
    settings: Option<Settings>,
    /// Lines that are no text.
    rejected: Vec<Rejected>,
}

/// A sentence on the lines that are no text, with the place of each; at most eight of them.
fn left_out(rejected: &[Rejected]) -> String {
    if rejected.is_empty() {
        return String::new();
    }
    let place = |at: &Rejected| {
        let (line, offset) = (at.line.to_string(), at.offset.to_string());
        fill(T::ImportPlace, &[&line, &offset])
    };
    let places: Vec<_> = rejected.iter().take(8).map(place).collect();
    let more = if rejected.len() > places.len() {
        ", …"
    } else {
        ""
    };
    format!(" {}", fill(T::ImportLeftOut, &[&places.join(", "), more]))
}

async fn read_in(back: &Rc<Back>, file: &File, take_system: bool) -> Result<Read, String> {
    if file.size() > f64::from(import::LARGEST) {
        return Err(fill(
            T::ImportTooLarge,
            &[&bytes(file.size()), &bytes(f64::from(import::LARGEST))],
        ));
    }
    let bytes = contents(file).await?;
    let Ok(text) = std::str::from_utf8(&bytes) else {
        let (transfer, rejected) = Transfer::read_bytes(&bytes).map_err(|e| e.to_string())?;
        let read = take_transfer(back, transfer, take_system).await?;
        return Ok(Read { rejected, ..read });
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(t(T::ImportEmpty).to_owned());
    }
    let mut count = 0;
    let mut first = None;
    let (conversations, beside) = match import::read_whole(text, &file.name()) {
        Ok(read) => read,
        // the package's own formats
        Err(why) => match Transfer::read(text) {
            Ok(transfer) => return take_transfer(back, transfer, take_system).await,
            Err(TransferError::Unknown) => return Err(why.to_string()),
            Err(error) => return Err(error.to_string()),
        },
    };
    let profiles = take_profiles(back, beside.profiles)
        .await
        .map_err(|e| e.to_string())?;
    let say = |e: EngineError| e.to_string();
    let mut known = Known::of(&back.engine).await.map_err(say)?;
    let mut progress = Progress::of(file.name(), conversations.len());
    for mut imported in conversations {
        progress.step(back.state);
        if !take_system {
            imported.decline_system();
        }
        let (id, added) = merge(back, &mut known, imported).await.map_err(say)?;
        count += added as u32;
        first.get_or_insert(id);
    }
    drop(progress);
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
        ..Read::default()
    })
}

/// Makes a session of a file of the package: JSON Lines, session JSON or Markdown.
async fn take_transfer(
    back: &Rc<Back>,
    transfer: Transfer,
    take_system: bool,
) -> Result<Read, String> {
    let before = back.engine.sessions().await.map_err(|e| e.to_string())?;
    let accept = if take_system {
        Accept::Everything
    } else {
        Accept::Words
    };
    let session = back.engine.import(transfer, accept).await;
    let session = session.map_err(|e| e.to_string())?;
    let id = session.id().to_owned();
    let there = before
        .iter()
        .find(|info| info.id == id)
        .map_or(0, |info| info.head.messages);
    let messages = session.head().messages.saturating_sub(there);
    list(back).await;
    open_now(back, &id, false).await;
    Ok(Read {
        sessions: true,
        messages,
        ..Read::default()
    })
}

/// The sessions that are here, with the deleted ones that can be brought back.
struct Known {
    here: BTreeSet<String>,
    deleted: BTreeSet<String>,
}

impl Known {
    async fn of(engine: &Engine) -> Result<Self, EngineError> {
        let ids = |all: Vec<SessionInfo>| all.into_iter().map(|s| s.id).collect();
        Ok(Self {
            here: ids(engine.sessions().await?),
            deleted: ids(engine.deleted_sessions().await?),
        })
    }
}

/// Makes a session of what was read, unless it is there already. Its identifier, and how many messages are new.
async fn merge(
    back: &Rc<Back>,
    known: &mut Known,
    imported: Imported,
) -> Result<(String, usize), EngineError> {
    let all = imported.messages.len();
    if let Some(archive) = &imported.archive {
        match back.engine.restore(archive).await {
            Ok((id, Restored::There)) => return Ok((id, 0)),
            Ok((id, _)) => return Ok((id, all)),
            // what cannot be read as it was stored is still there as what was said
            Err(EngineError::Store(StoreError::Newer | StoreError::Corrupt(_))) => {}
            Err(error) => return Err(error),
        }
    }
    let mut id = imported.id.clone();
    if known.deleted.remove(&id) {
        back.engine.undelete(&id).await?;
        known.here.insert(id.clone());
    }
    if known.here.contains(&id) {
        let session = back.engine.follow(&id).await?;
        let here = session.history(None, usize::MAX);
        let here = here.iter().map(|item| item.message.as_ref());
        match meet(here, &imported.messages) {
            Meeting::Here => return Ok((id, 0)),
            Meeting::More(from) => {
                let session = back.engine.open(&id, false).await?;
                session
                    .append_all(imported.messages[from..].to_vec())
                    .await?;
                return Ok((id, all - from));
            }
            // nothing is mixed in, and nothing left out
            Meeting::Apart => id.clone_from(&imported.other),
        }
        if known.deleted.remove(&id) {
            back.engine.undelete(&id).await?;
        }
        if !known.here.insert(id.clone()) {
            return Ok((id, 0));
        }
    }
    make(back, &id, imported).await?;
    known.here.insert(id.clone());
    Ok((id, all))
}

async fn make(back: &Rc<Back>, id: &str, imported: Imported) -> Result<(), EngineError> {
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
    let session = back.engine.create_with_id(id, new).await?;
    // What does not fit into the records stays in what was said.
    if imported.goal.is_some() {
        let _ = session.set_goal(imported.goal).await;
    }
    for pin in imported.pins {
        let _ = session.pin(pin.kind, &pin.text).await;
    }
    if let Err(error) = session.append_all(imported.messages).await {
        // An empty session would only stand in the way of another attempt.
        let _ = back.engine.purge(id).await;
        return Err(error);
    }
    Ok(())
}
