//! Shows the size of the browser's storage, and whether the browser promised to keep it.

use std::cell::Cell;

use leptos::prelude::window;
use palimpsest_browser::vocabulary::SnapshotCache;
use palimpsest_engine::Depth;
use wasm_bindgen_futures::JsFuture;

use crate::act::with_engine;
use crate::app::data::address::Screen;
use crate::library::data::hit::Hits;
use crate::library::data::stored::{Integrity, Sizes};
use crate::platform::guest;
use crate::state::AppState;
use crate::text::{T, fill, number, t};

/// Measures the storage, and asks whether the browser promised to keep it.
async fn measure(state: AppState) {
    if guest::keeps() {
        // The browser's storage of this page is not the host's.
        let used = guest::used().await;
        return state.storage.update(|s| s.used = used);
    }
    let manager = window().navigator().storage();
    if let Ok(promise) = manager.estimate()
        && let Ok(estimate) = JsFuture::from(promise).await
    {
        let number = |name: &str| {
            js_sys::Reflect::get(&estimate, &name.into())
                .ok()
                .and_then(|v| v.as_f64())
        };
        let (used, quota) = (number("usage"), number("quota"));
        state.storage.update(|s| {
            s.used = used;
            s.quota = quota;
        });
    }
    if let Ok(promise) = manager.persisted()
        && let Ok(answer) = JsFuture::from(promise).await
    {
        state
            .storage
            .update(|s| s.persistent = answer.as_bool() == Some(true));
    }
}

/// Looks how much is stored, in its own time.
pub(crate) fn measure_now() {
    with_engine(|back| async move { measure(back.state).await });
}

/// Asks the browser not to clear the storage.
pub(crate) fn persist() {
    with_engine(|back| async move {
        if let Ok(promise) = window().navigator().storage().persist() {
            let _ = JsFuture::from(promise).await;
        }
        measure(back.state).await;
    });
}

thread_local! {
    /// The number of the newest measurement. Older ones stop.
    static TURN: Cell<u32> = const { Cell::new(0) };
}

/// Looks again at how much is stored, at the vocabularies, and at the other pages.
pub(crate) fn measure_storage() {
    with_engine(|back| async move {
        let state = back.state;
        measure(state).await;
        let presence = back.presence.borrow().clone();
        if let Some(presence) = presence {
            let others = presence.others().await;
            state.storage.update(|s| s.others = others);
        }
        if guest::keeps() {
            return;
        }
        if let Some(cache) = SnapshotCache::open().await {
            let bytes = cache.bytes().await;
            state.sizes.update(|s| s.vocabularies = bytes);
        }
    });
}

/// Measures one session after the other while the library is open. It does not read sessions again that have not
/// changed.
pub(crate) fn measure_sessions() {
    with_engine(|back| async move {
        let state = back.state;
        let turn = TURN.get() + 1;
        TURN.set(turn);
        let (Ok(mut all), Ok(deleted)) = (
            back.engine.sessions().await,
            back.engine.deleted_sessions().await,
        ) else {
            return;
        };
        all.extend(deleted);
        state.sizes.update(|s| {
            s.of.retain(|id, _| all.iter().any(|info| info.id == *id));
        });
        for info in all {
            let searching = |hits: &Option<Hits>| hits.as_ref().is_some_and(|h| !h.done);
            if TURN.get() != turn
                || state.screen.get_untracked() != Screen::Library
                || state.hits.with_untracked(searching)
            {
                return;
            }
            let version = info.head.version;
            let known = |s: &Sizes| s.of.get(&info.id).is_some_and(|(v, _)| *v == version);
            if !state.sizes.with_untracked(known)
                && let Ok(audit) = back.engine.audit(&info.id, Depth::Rows).await
            {
                state.sizes.update(|s| {
                    s.of.insert(info.id, (version, audit.taken));
                });
            }
        }
        state.sizes.update(|s| s.done = true);
    });
}

/// Reads everything back and checks that it is intact.
pub(crate) fn check_integrity() {
    with_engine(|back| async move {
        let state = back.state;
        let busy = |i: &Integrity| i.of > 0 && !i.done;
        if state.integrity.with_untracked(busy) {
            return;
        }
        let ids = match back.engine.stored_sessions().await {
            Ok(ids) => ids,
            Err(error) => {
                return state.integrity.set(Integrity {
                    failed: error.to_string(),
                    done: true,
                    ..Integrity::default()
                });
            }
        };
        let mut now = Integrity {
            of: ids.len() as u32,
            ..Integrity::default()
        };
        state.integrity.set(now.clone());
        for id in ids {
            match back.engine.audit(&id, Depth::Texts).await {
                Ok(audit) => {
                    now.messages += audit.messages;
                    let title = state.sessions.with_untracked(|all| {
                        let entry = all.iter().find(|s| s.id == id);
                        let title = entry.map(|s| s.title.clone());
                        title.filter(|t| !t.is_empty()).unwrap_or(id)
                    });
                    now.faults
                        .extend(audit.faults.into_iter().map(|f| (title.clone(), f)));
                }
                Err(error) => now.failed = error.to_string(),
            }
            now.read += 1;
            state.integrity.set(now.clone());
        }
        now.done = true;
        state.say(if now.faults.is_empty() && now.failed.is_empty() {
            t(T::IntegrityGood).to_owned()
        } else {
            fill(T::IntegrityBad, &[&number(now.faults.len() as u32)])
        });
        state.integrity.set(now);
    });
}
