//! Where the page begins.

use leptos::mount::mount_to;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::act;
use crate::page;
use crate::state::AppState;
use crate::text::{T, speak, t};
use crate::tokenizer;
use crate::ui::app;

/// Called by the module once it is loaded.
#[wasm_bindgen(start)]
pub fn start() {
    if tokenizer::serve() {
        return;
    }
    std::panic::set_hook(Box::new(|info| {
        // The module cannot go on: say that what was said is safe.
        page::crashed(t(T::Crashed), &info.to_string());
    }));
    let settings = act::load_settings();
    speak(page::language(&settings));
    page::dress(&settings);
    let state = AppState::new(settings);
    state.remember();
    let Some(root) = page::find("#root") else {
        return;
    };
    page::empty(&root);
    mount_to(root, move || {
        app::listen(state);
        app::app()
    })
    .forget();
    act::start(state);
}
