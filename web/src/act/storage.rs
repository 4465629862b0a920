//! How much the browser stores, and whether it promised to keep it.

use leptos::prelude::window;
use wasm_bindgen_futures::JsFuture;

use super::with_engine;
use crate::embed;
use crate::state::AppState;

/// How much is stored, and whether the browser promised to keep it.
pub(super) async fn measure(state: AppState) {
    if embed::keeps() {
        // what the browser stores for this page is not what the host keeps
        let used = embed::used().await;
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

/// Asks the browser not to clear what is stored.
pub fn persist() {
    with_engine(|back| async move {
        if let Ok(promise) = window().navigator().storage().persist() {
            let _ = JsFuture::from(promise).await;
        }
        measure(back.state).await;
    });
}

/// Looks again at how much is stored.
pub fn measure_storage() {
    with_engine(|back| async move { measure(back.state).await });
}
