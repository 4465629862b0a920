//! What the class `Library` does: the sessions of a storage as a whole. Each function translates and calls the engine's.

use std::rc::Rc;

use js_sys::Promise;
use palimpsest_engine::ports::World;
use palimpsest_engine::{Archive, Engine, Restored, SessionInfo, days_left};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wasm_bindgen::JsValue;

use super::open::{Kept, engine_over};
use super::told::{format_named, losses};
use crate::border::{options, promise, text, told};
use crate::failure::Failure;
use crate::host::Host;
use crate::session::{Keeping, Library};

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
    tags: Vec<String>,
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
            tags: head.tags,
            created: head.created,
            updated: head.updated,
            deleted: head.deleted_at,
            days_left: head.deleted_at.map(|at| days_left(at, now)),
        }
    }
}

/// The library that JavaScript has.
struct Shelf {
    engine: Engine,
    world: World,
}

/// Opens a library: options, and what the host offers.
pub(super) async fn open(given: JsValue, host: Host) -> Result<Library, Failure> {
    let options: Options = options(given)?;
    let (engine, world) = engine_over(options.store, options.database, &Rc::new(host)).await?;
    Ok(Library(Box::new(Shelf { engine, world })))
}

impl Keeping for Shelf {
    fn sessions(&self) -> Promise {
        let (engine, world) = (self.engine.clone(), self.world.clone());
        promise(async move {
            engine.purge_expired(AT_ONCE).await?;
            let now = world.clock.now();
            let all = engine.sessions().await?.into_iter();
            let sessions: Vec<Listed> = all.map(|info| Listed::of(info, now)).collect();
            let damaged = engine.damaged_sessions().await?;
            told(&json!({"sessions": sessions, "damaged": damaged}))
        })
    }

    fn deleted(&self) -> Promise {
        let (engine, world) = (self.engine.clone(), self.world.clone());
        promise(async move {
            engine.purge_expired(AT_ONCE).await?;
            let now = world.clock.now();
            let all = engine.deleted_sessions().await?.into_iter();
            told(&all.map(|info| Listed::of(info, now)).collect::<Vec<_>>())
        })
    }

    fn rename(&self, id: String, title: String) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            engine.rename(&id, &title).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    fn pin(&self, id: String, pinned: bool) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            engine.pin_session(&id, pinned).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    fn tag(&self, id: String, tags: Vec<String>) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            engine.tag_session(&id, &tags).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    fn duplicate(&self, id: String, title: Option<String>) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let title = match title {
                Some(title) => title,
                None => format!("Copy of {}", engine.follow(&id).await?.head().title),
            };
            told(&engine.duplicate(&id, &title).await?)
        })
    }

    fn search(&self, query: String, limit: u32) -> Promise {
        let engine = self.engine.clone();
        promise(
            async move { told(&super::search::everywhere(&engine, &query, limit as usize).await?) },
        )
    }

    fn archive(&self, id: String) -> Promise {
        let engine = self.engine.clone();
        promise(async move { Ok(text(&engine.archive(&id).await?)?.into()) })
    }

    fn restore_archive(&self, given: String) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let archive: Archive = palimpsest_text::json::read(&given).map_err(|error| {
                Failure::new(
                    "bad_input",
                    format!("This is no archive of a session: {error}. Give restoreArchive() what archive() gave."),
                )
            })?;
            let (id, restored) = engine.restore(&archive).await?;
            let became = match restored {
                Restored::Made => "made",
                Restored::There => "there",
                Restored::Continued => "continued",
                Restored::Beside => "beside",
            };
            told(&json!({"id": id, "became": became}))
        })
    }

    fn delete(&self, id: String) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            engine.delete(&id).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    fn restore(&self, id: String) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            engine.undelete(&id).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    fn purge(&self, id: String) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let purged = engine.purge(&id).await?;
            told(&json!({"released": purged.released, "kept": purged.kept}))
        })
    }

    fn salvage(&self, id: String, named: String) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let saved = engine.salvage(&id, format_named(&named)?).await?;
            told(&json!({"text": saved.text, "losses": losses(&saved.faults)}))
        })
    }
}
