//! Conversations from files.

use std::rc::Rc;

use palimpsest_core::dialect::imports::{Reason, Skipped};
use palimpsest_core::message::Seq;
use palimpsest_engine::error::EngineError;
use palimpsest_engine::imports::{FileReader, Imported};
use palimpsest_engine::ports::StoreError;
use palimpsest_engine::{
    Accept, Engine, NewSession, Rejected, Restored, SessionInfo, Transfer, TransferError,
};
use palimpsest_text::sorted::SortedSet;
use web_sys::File;

use crate::act::{
    Back, Progress, begins_with, change, contents, go, list, open_now, take_profiles, toast,
    with_engine,
};
use crate::app::data::address::Screen;
use crate::library::data::import::{self, Beside};
use crate::settings::{Settings, address_of};
use crate::state::Dialog;
use crate::text::{T, bytes, fill, number, t};

/// Bytes of a file that are read at once.
const PIECE: f64 = 1_048_576.0;

/// Reads a conversation from a file. The same file again opens the session it made.
pub(crate) fn import(file: File, take_system: bool) {
    with_engine(move |back| async move {
        let name = file.name();
        back.state.say(fill(T::ImportReading, &[&name]));
        match read_in(&back, &file, take_system).await {
            Ok(read) => {
                let text = if read.sessions {
                    let done = match read.messages {
                        0 => fill(T::ImportNothing, &[&name]),
                        n => fill(T::ImportDone, &[&name, &number(n)]),
                    };
                    [done, left_out(&read.rejected), skipped(&read.skipped)].concat()
                } else {
                    fill(T::ImportSettings, &[&name, &number(read.profiles)])
                };
                back.state.say(text.clone());
                let is_whole = read.rejected.is_empty() && !read.skipped.iter().any(is_lost);
                toast(&back, text, None, !is_whole);
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
    /// What was left out of another program's file.
    skipped: Vec<Skipped>,
}

/// Whether something that may have been said was left out.
const fn is_lost(skipped: &Skipped) -> bool {
    !matches!(
        skipped.reason,
        Reason::NotSaid | Reason::Hidden | Reason::Empty
    )
}

/// A sentence on what was left out of another program's file: what was not understood by its name and number, at most eight
/// kinds, and how much says nothing to a model.
fn skipped(skipped: &[Skipped]) -> String {
    let kinds: Vec<_> = skipped
        .iter()
        .filter(|one| is_lost(one))
        .map(|one| {
            fill(
                T::ImportKind,
                &[&one.what, &number(one.count), &one.first.to_string()],
            )
        })
        .collect();
    let silent: u32 = skipped
        .iter()
        .filter(|one| !is_lost(one))
        .map(|one| one.count)
        .sum();
    let mut said = String::new();
    if !kinds.is_empty() {
        let more = if kinds.len() > 8 { ", …" } else { "" };
        let kinds = kinds[..kinds.len().min(8)].join(", ");
        said = format!(" {}", fill(T::ImportUnknown, &[&kinds, more]));
    }
    if silent > 0 {
        said = format!("{said} {}", fill(T::ImportNotSaid, &[&number(silent)]));
    }
    said
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
    if file.size() == 0.0 {
        return Err(t(T::ImportEmpty).to_owned());
    }
    let beginning = piece(file, 0.0).await?;
    if Transfer::is_ours(&beginning) {
        let taken = take_own(back, file, take_system).await;
        return taken.map_err(|why| why.unwrap_or_else(|| TransferError::Unknown.to_string()));
    }
    let mut reader = FileReader::default();
    reader.push(&beginning);
    let mut at = beginning.len() as f64;
    while at < file.size() {
        let piece = piece(file, at).await?;
        if piece.is_empty() {
            break;
        }
        reader.push(&piece);
        at += piece.len() as f64;
    }
    let mut count = 0;
    let mut first = None;
    let read = match reader.finish(&file.name()) {
        Ok(read) => read,
        // a session as the package writes it
        Err(why) => match take_own(back, file, take_system).await {
            Err(None) => return Err(why.to_string()),
            taken => return taken.map_err(Option::unwrap_or_default),
        },
    };
    let skipped = read.report.skipped;
    let beside = read.beside.as_ref().map(Beside::of).unwrap_or_default();
    let conversations = read.conversations;
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
        // its title never stands over a screen that is still another one
        back.state.screen.change(Screen::Chat);
        open_now(back, &id, false).await;
        go(Screen::Chat);
    }
    Ok(Read {
        sessions,
        messages: count,
        profiles,
        settings: beside.settings,
        skipped,
        ..Read::default()
    })
}

/// Bytes of a file from this place on: no more than are read at once.
async fn piece(file: &File, from: f64) -> Result<Vec<u8>, String> {
    let to = (from + PIECE).min(file.size());
    let slice = file.slice_with_f64_and_f64(from, to);
    let slice = slice.map_err(|e| format!("{e:?}"))?;
    contents(&slice).await
}

/// Makes a session of a file of the package: JSON Lines, session JSON or Markdown. The error is empty for a file that is none.
async fn take_own(back: &Rc<Back>, file: &File, take_system: bool) -> Result<Read, Option<String>> {
    let bytes = contents(file).await.map_err(Some)?;
    let (transfer, rejected) = Transfer::read_bytes(&bytes).map_err(|error| match error {
        TransferError::Unknown => None,
        error => Some(error.to_string()),
    })?;
    let read = take_transfer(back, transfer, take_system).await;
    read.map(|read| Read { rejected, ..read }).map_err(Some)
}

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
    back.state.screen.change(Screen::Chat);
    open_now(back, &id, false).await;
    go(Screen::Chat);
    Ok(Read {
        sessions: true,
        messages,
        ..Read::default()
    })
}

/// The sessions that are here, with the deleted ones that can be brought back.
struct Known {
    here: SortedSet<String>,
    deleted: SortedSet<String>,
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
        if let Some(added) = back.engine.join(&id, &imported).await? {
            return Ok((id, added));
        }
        // nothing is mixed in, and nothing left out
        id.clone_from(&imported.other);
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
    // model, window, policy and profile are those of every new session
    let new = NewSession {
        title: imported.title,
        system: imported.system,
        ..begins_with(back)
    };
    let session = back.engine.create_with_id(id, new).await?;
    // What does not fit into the records stays in what was said.
    if imported.goal.is_some() {
        let _ = session.set_goal(imported.goal).await;
    }
    for pin in imported.pins {
        let _ = session.pin(pin.kind, &pin.text).await;
    }
    let said = async {
        let path = session.append_all(imported.messages).await?;
        let path: Vec<Option<Seq>> = path.into_iter().map(Some).collect();
        session.append_aside(&path, imported.asides).await
    };
    if let Err(error) = said.await {
        // An empty session would only stand in the way of another attempt.
        let _ = back.engine.purge(id).await;
        return Err(error);
    }
    Ok(())
}
