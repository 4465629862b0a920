//! What a crash of the browser leaves behind in Chromium, made harmless.
//!
//! Chromium keeps IndexedDB in LevelDB, which appends each write to a log: seven bytes that say how long the entry is, then
//! the entry, in two steps. A browser that is killed between the two leaves the seven bytes alone. The next start reads the
//! log up to there and goes on writing behind them, so the start after that finds an entry with the wrong content, takes
//! the whole database for damaged and deletes everything this origin has stored. A page that wrote all the time, without
//! this store, met that about once in thirty kills.
//!
//! Deleting any database of the origin makes LevelDB put what the log holds into a table and begin a new log. So every
//! time ours is opened, a database that nobody uses is made and deleted: 4 to 14 ms in the browser's own process, and
//! nobody waits for it.

use js_sys::Reflect;
use wasm_bindgen::prelude::*;
use web_sys::{IdbDatabase, IdbFactory};

use crate::global::{global, property};

/// Has the browser begin a new log, if it is one that needs it. A failure changes nothing: then the log stays as it is.
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

/// Only Chromium says in its events whether it has lost a database.
fn is_chromium() -> bool {
    let event = global("IDBVersionChangeEvent").and_then(|class| property(&class, "prototype"));
    event.is_some_and(|event| Reflect::has(&event, &"dataLoss".into()).unwrap_or(false))
}
