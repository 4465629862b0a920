//! The class `Library`: the sessions of a storage as a whole. Each function translates and calls the engine's.

use std::rc::Rc;

use js_sys::Promise;
use palimpsest_engine::ports::World;
use palimpsest_engine::{Engine, SessionInfo, days_left};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::host::Host;
use crate::open::{Kept, engine_over};
use crate::text::{format_named, losses, options, promise, text};

/// Sessions that are removed for good at one look: each reads who else names its large texts.
const AT_ONCE: u32 = 8;

/// Which storage.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    store: Kept,
    /// The name of the database in IndexedDB.
    database: Option<String>,
}

/// A session in a list.
#[derive(Debug, Serialize)]
struct Listed {
    id: String,
    title: String,
    model: String,
    window: u32,
    messages: u32,
    tokens: u32,
    pinned: bool,
    created: f64,
    updated: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    days_left: Option<u32>,
}

impl Listed {
    fn of(info: SessionInfo, now: f64) -> Self {
        let head = info.head;
        Self {
            id: info.id,
            title: head.title,
            model: head.model,
            window: head.window,
            messages: head.messages,
            tokens: head.tokens,
            pinned: head.pinned,
            created: head.created,
            updated: head.updated,
            deleted: head.deleted_at,
            days_left: head.deleted_at.map(|at| days_left(at, now)),
        }
    }
}

/// The sessions of one storage.
#[wasm_bindgen]
pub struct Library {
    engine: Engine,
    world: World,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").finish_non_exhaustive()
    }
}

/// Opens a library: JSON text of options, and what the host offers.
#[wasm_bindgen]
pub async fn library(given: String, host: Host) -> Result<Library, JsValue> {
    let options: Options = options(&given)?;
    let (engine, world) = engine_over(options.store, options.database, &Rc::new(host)).await?;
    Ok(Library { engine, world })
}

#[wasm_bindgen]
impl Library {
    /// The sessions that are not deleted, and the identifiers of those that no list can show.
    pub fn sessions(&self) -> Promise {
        let (engine, world) = (self.engine.clone(), self.world.clone());
        promise(async move {
            engine.purge_expired(AT_ONCE).await?;
            let now = world.clock.now();
            let all = engine.sessions().await?.into_iter();
            let sessions: Vec<Listed> = all.map(|info| Listed::of(info, now)).collect();
            let damaged = engine.damaged_sessions().await?;
            Ok(json!({"sessions": sessions, "damaged": damaged}).to_string())
        })
    }

    /// The deleted sessions that can be brought back.
    pub fn deleted(&self) -> Promise {
        let (engine, world) = (self.engine.clone(), self.world.clone());
        promise(async move {
            engine.purge_expired(AT_ONCE).await?;
            let now = world.clock.now();
            let all = engine.deleted_sessions().await?.into_iter();
            text(&all.map(|info| Listed::of(info, now)).collect::<Vec<_>>())
        })
    }

    /// Another title.
    pub fn rename(&self, id: String, title: String) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            engine.rename(&id, &title).await?;
            Ok(String::new())
        })
    }

    /// Deletes a session: it can be brought back for thirty days.
    pub fn delete(&self, id: String) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            engine.delete(&id).await?;
            Ok(String::new())
        })
    }

    /// Brings a deleted session back.
    pub fn restore(&self, id: String) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            engine.undelete(&id).await?;
            Ok(String::new())
        })
    }

    /// Removes every row of a session for good.
    pub fn purge(&self, id: String) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let purged = engine.purge(&id).await?;
            Ok(json!({"released": purged.released, "kept": purged.kept}).to_string())
        })
    }

    /// What can be read of a session, as a file, and what could not.
    pub fn salvage(&self, id: String, named: String) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let saved = engine.salvage(&id, format_named(&named)?).await?;
            Ok(json!({"text": saved.text, "losses": losses(&saved.faults)}).to_string())
        })
    }
}
