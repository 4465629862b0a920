//! Starts the page.

use js_sys::Function;
use leptos::mount::mount_to;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::act;
use crate::app::view::app;
use crate::platform::{page, pdf, resident, tokenizer};
use crate::settings::Settings;
use crate::state::AppState;
use crate::text::{Language, T, language, speak, t};

/// Starts the app's own page after the module is loaded. `worker` is the name of the script that reads vocabularies: it
/// contains the hash of its content, which the module cannot know. `model` starts the worker of a model in the page, and `pdf`
/// reads the text of a PDF file. A program that mounts the app in another page calls `embed::mount` instead.
#[wasm_bindgen]
pub fn run(worker: String, model: Function, pdf: Function) {
    tokenizer::work_with(worker);
    resident::started_by(model);
    pdf::read_by(pdf);
    let state = begin(|_| {});
    spoken(move || {
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
    });
}

/// Goes on once the page's language is there.
pub(crate) fn spoken(then: impl FnOnce() + 'static) {
    match language() {
        Language::English => then(),
        Language::German => act::german().then(move |part| {
            match part {
                Some(_) => act::learn_german(),
                // without its texts the page is English, and stays so
                None => speak(Language::English),
            }
            then();
        }),
    }
}

/// The module trapped and cannot go on. Its script calls this, to tell the user that the conversation is safe.
#[wasm_bindgen]
pub fn trapped(detail: &str) {
    page::crashed(t(T::Crashed), detail);
}

/// The state of a page, dressed in its settings, which are `edit`ed before.
pub(crate) fn begin(edit: impl FnOnce(&mut Settings)) -> AppState {
    // A release traps without a message, and its script says so: see `trapped`.
    #[cfg(debug_assertions)]
    std::panic::set_hook(Box::new(|info| {
        page::crashed(t(T::Crashed), &info.to_string());
    }));
    let mut settings = act::load_settings();
    edit(&mut settings);
    speak(page::language(&settings));
    page::dress(&settings);
    let state = AppState::new(settings);
    state.remember();
    state
}
