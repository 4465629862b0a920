//! Protects against the damage that a crash of Chromium leaves in its database.
//!
//! Chromium keeps IndexedDB in LevelDB, which appends each write to a log in two steps: seven bytes with the length of
//! the entry, then the entry. If the browser is killed between the two steps, the seven bytes stay alone. The next
//! start reads the log up to there and continues to write behind them. The start after that finds an entry with the
//! wrong content, takes the whole database for damaged and deletes everything that this origin has stored. A page that
//! wrote all the time, without this protection, lost its data about once in thirty kills.
//!
//! When any database of the origin is deleted, LevelDB writes the log into a table and begins a new log. So every time
//! this store opens, it makes and deletes a database that has no other use. That takes 4 to 14 ms in the browser's own
//! process, and nothing waits for it.

use js_sys::Reflect;
use wasm_bindgen::prelude::*;
use web_sys::{IdbDatabase, IdbFactory};

use crate::global::{global, property};

/// Makes a browser that needs it begin a new log. After a failure the old log simply stays.
pub(super) fn begin_new_log(factory: &IdbFactory, name: &str) {
    if !is_chromium() {
        return;
    }
    let name = [name, "-log"].concat();
    let Ok(request) = factory.open(&name) else {
        return;
    };
    let (made, factory) = (request.clone(), factory.clone());
    let delete = Closure::once_into_js(move || {
        if let Ok(database) = made.result() {
            database.unchecked_into::<IdbDatabase>().close();
            let _ = factory.delete_database(&name);
        }
    });
    request.set_onsuccess(Some(delete.unchecked_ref()));
}

/// Only Chromium reports in its events whether it has lost a database.
fn is_chromium() -> bool {
    let event = global("IDBVersionChangeEvent").and_then(|class| property(&class, "prototype"));
    event.is_some_and(|event| Reflect::has(&event, &"dataLoss".into()).unwrap_or(false))
}
