//! What the page around a mounted app reads of the open session and asks to be done with it, and what it tells of its storage.
//! What crosses is JSON text: the very forms that the package's sessions have.

use palimpsest_browser::outline;
use palimpsest_engine::error::EngineError;
use palimpsest_engine::ports::StoreError;
use palimpsest_engine::session::IfOver;
use serde_json::{Value, json};
use wasm_bindgen_futures::spawn_local;

use super::{back, cancel_compaction, compact_now, list, read_along, show_all, superseded};

/// Something of the open session: its `info`, its `budget`, or its `history`, the last `limit` messages before the one with
/// the number `before`. Nothing if no session is open.
pub fn told(what: &str, before: Option<u32>, limit: u32) -> Option<String> {
    let session = back()?.session()?;
    match what {
        "info" => Some(outline::info(&session).to_string()),
        "budget" => serde_json::to_string(&session.budget()).ok(),
        "history" => {
            let items = session.history(before, limit as usize);
            let items: Vec<Value> = items.iter().map(outline::item).collect();
            Some(Value::from(items).to_string())
        }
        _ => None,
    }
}

/// Does something with the open session, as if a person had done it here: `compact` with a focus, `cancel` of that, `undo`
/// (`show`: although the window before is over its limit). `{ "Ok": … }` or `{ "Err": { code, message, retryable } }`.
pub async fn asked(what: &str, given: String) -> String {
    match done(what, given).await {
        Ok(value) => json!({ "Ok": value }),
        Err(error) => {
            let mut told = json!({
                "code": error.code(), "message": error.to_string(), "retryable": error.is_retryable(),
            });
            if let EngineError::WouldNotFit { choices, .. } = &error {
                told["choices"] = json!(choices);
            }
            json!({ "Err": told })
        }
    }
    .to_string()
}

async fn done(what: &str, given: String) -> Result<Value, EngineError> {
    let nothing = || EngineError::NoSession(String::new());
    let back = back().ok_or_else(nothing)?;
    let session = back.session().ok_or_else(nothing)?;
    match what {
        "compact" => {
            let done = compact_now(&back, given).await?;
            Ok(done.map_or(
                Value::Null,
                |done| json!({ "revision": done.revision, "report": done.report }),
            ))
        }
        "cancel" => {
            cancel_compaction();
            Ok(Value::Null)
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
            Ok(Value::Null)
        }
        _ => Ok(Value::Null),
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
    spawn_local(async move { list(&back).await });
}
