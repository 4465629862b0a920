//! Lets the page around a mounted app read and drive the open session, and reports on its storage. The data crosses as
//! JSON text, in the forms of the package's sessions.

use std::rc::Rc;

use palimpsest_browser::outline::{Info, Item};
use palimpsest_core::run::RunReport;
use palimpsest_engine::DEVICE;
use palimpsest_engine::error::{EngineError, RoomChoice};
use palimpsest_engine::ports::{LocalFuture, StoreError};
use palimpsest_engine::session::IfOver;
use serde::Serialize;
use wasm_bindgen_futures::spawn_local;

use crate::act::{
    back, cancel_compaction, compact_now, list, read_along, reload_profiles, show_all, superseded,
};

/// Something of the open session: its `info`, its `budget`, or its `history`, the last `limit` messages before the one with
/// the number `before`. Nothing if no session is open.
pub(crate) fn told(what: String, before: Option<u32>, limit: u32) -> Option<String> {
    let session = back()?.session()?;
    match what.as_str() {
        "info" => text(&Info::of(&session)),
        "budget" => text(&session.budget()),
        "history" => {
            let items = session.history(before, limit as usize);
            let items: Vec<Item<'_>> = items.iter().map(Item::of).collect();
            text(&items)
        }
        _ => None,
    }
}

fn text(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

/// Does something with the open session, as if a person had done it here: `compact` with a focus, `cancel` of that, `undo`
/// (`show`: although the window before is over its limit). `{ "Ok": … }` or `{ "Err": { code, message, retryable } }`.
pub(crate) fn asked(what: String, given: String) -> LocalFuture<'static, String> {
    Box::pin(async move { answer(&what, given).await })
}

async fn answer(what: &str, given: String) -> String {
    let answer = match done(what, given).await {
        Ok(done) => Answer::Ok(done),
        Err(error) => Answer::Err(Failed {
            code: error.code(),
            message: error.to_string(),
            retryable: error.is_retryable(),
            choices: match error {
                EngineError::WouldNotFit { choices, .. } => Some(choices),
                _ => None,
            },
        }),
    };
    text(&answer).unwrap_or_default()
}

#[derive(Serialize)]
enum Answer {
    Ok(Option<Done>),
    Err(Failed),
}

/// A compaction that was committed.
#[derive(Serialize)]
struct Done {
    revision: u32,
    report: Box<RunReport>,
}

#[derive(Serialize)]
struct Failed {
    code: &'static str,
    message: String,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    choices: Option<Vec<RoomChoice>>,
}

async fn done(what: &str, given: String) -> Result<Option<Done>, EngineError> {
    let nothing = || EngineError::NoSession(String::new());
    let back = back().ok_or_else(nothing)?;
    let session = back.session().ok_or_else(nothing)?;
    match what {
        "compact" => {
            let done = compact_now(&back, given).await?;
            Ok(done.map(|done| Done {
                revision: done.revision,
                report: Box::new(done.report),
            }))
        }
        "cancel" => {
            cancel_compaction();
            Ok(None)
        }
        "undo" if back.follower.get() => Err(StoreError::Busy.into()),
        "undo" => {
            let if_over = if given == "show" {
                IfOver::Show
            } else {
                IfOver::Refuse
            };
            session.undo_with(if_over).await?;
            show_all(&back).await;
            list(&back).await;
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Another view has changed a session of the storage that both have; `taken`: it writes one that was ours to write.
pub fn changed_elsewhere(session: &str, taken: bool) {
    let Some(back) = back() else { return };
    if back.session().is_some_and(|s| s.id() == session) {
        if taken {
            superseded(&back);
        } else if back.follower.get() {
            read_along(&back);
        }
    }
    let profiles = session == DEVICE;
    spawn_local(async move {
        if profiles {
            reload_profiles(Rc::clone(&back));
        }
        list(&back).await;
    });
}
