//! The app inside somebody else's page: what the package's `./ui` mounts.
//!
//! The package's TypeScript (`crates/palimpsest-npm/npm/src/ui.ts`) makes a shadow root with the styles and the icons, and
//! gives us an element in it and a [`EmbedHost`]. From then on that element is the page for everything here: `page` looks
//! for nothing outside of it, nothing is written into `localStorage`, and the address is the host's.

use std::rc::Rc;

use js_sys::Promise;
use leptos::mount::mount_to;
use leptos::prelude::Owner;
use palimpsest_browser::settings;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;
use web_sys::{DragEvent, HtmlElement, KeyboardEvent};

use crate::act;
use crate::app::data::address::{Address, Screen};
use crate::app::start;
use crate::app::view::app;
use crate::library::data::export::Format;
use crate::platform::guest::{EmbedHost, MOUNTED, Mounted, Options, with};
use crate::platform::page;
use crate::platform::signal::effect;
use crate::settings::Theme;
use crate::state::AppState;

/// Mounts the app in `root`; `options` is JSON text. The package sees to it that there is one at a time.
#[wasm_bindgen]
pub fn mount(root: HtmlElement, host: EmbedHost, options: &str) {
    unmount();
    settings::keep_in(Some(Rc::new(host.clone())));
    let options: Options = palimpsest_text::json::read(options).unwrap_or_default();
    let address = options.address.clone();
    let owner = Owner::new();
    MOUNTED.set(Some(Mounted {
        root: root.clone(),
        host: host.clone(),
        options,
        owner: owner.clone(),
        view: None,
    }));
    let state = owner.with(|| {
        start::begin(|settings| {
            if let Some(address) = address {
                settings.address = address;
            }
        })
    });
    start::spoken(move || {
        // it was taken away while its language came
        if state.is_gone() {
            return;
        }
        let view = mount_to(root, move || {
            effect(move || {
                if state.ready.get() {
                    host.ready();
                }
            });
            app::app()
        });
        MOUNTED.with(|mounted| {
            if let Some(mounted) = mounted.borrow_mut().as_mut() {
                mounted.view = Some(Box::new(view));
            }
        });
        act::start(state);
    });
}

/// Takes the app away: its elements, its listeners, its hold on the session, and everything it showed.
#[wasm_bindgen]
pub fn unmount() {
    act::end();
    // taken out first: what is dropped may still ask where it is
    let view = MOUNTED.with(|mounted| mounted.borrow_mut().as_mut()?.view.take());
    drop(view);
    AppState::forget();
    if let Some(owner) = with(|mounted| mounted.owner.clone()) {
        owner.cleanup();
    }
    MOUNTED.set(None);
    settings::keep_in(None);
}

/// Shows what an address such as `#context` names.
#[wasm_bindgen]
pub fn navigate(hash: &str) {
    act::turn(Address::read(hash));
}

/// The model of the open session and of later ones.
#[wasm_bindgen]
pub fn model(name: String) {
    act::choose_model(name);
}

/// Puts the cursor into the message field.
#[wasm_bindgen]
pub fn focus() {
    act::go(Screen::Chat);
    page::next_frame(|| page::focus("#msg"));
}

/// Goes to an empty session.
#[wasm_bindgen]
pub fn fresh() {
    act::new_session();
}

/// Saves the open session as a file: `json`, else Markdown.
#[wasm_bindgen]
pub fn export_session(format: &str) {
    act::export_session(match format {
        "json" => Format::Json,
        _ => Format::Markdown,
    });
}

/// A key was pressed inside.
#[wasm_bindgen]
pub fn pressed(event: &KeyboardEvent) {
    app::key(AppState::here(), event);
}

/// Something was dropped inside.
#[wasm_bindgen]
pub fn dropped(event: &DragEvent) {
    app::dropped(event);
}

/// Somebody else has written a session of the host's storage; `taken`: it was ours to write until then.
#[wasm_bindgen]
pub fn changed(session: &str, taken: bool) {
    act::changed_elsewhere(session, taken);
}

/// Something of the open session as JSON text: see [`act::told`].
#[wasm_bindgen]
pub fn look(what: &str, before: Option<u32>, limit: u32) -> Option<String> {
    act::told(what.to_owned(), before, limit)?
}

/// Does something with the open session: see [`act::asked`].
#[wasm_bindgen]
pub fn ask(what: String, given: String) -> Promise {
    future_to_promise(async move {
        act::expect_talk();
        act::talk().wait().await;
        Ok(match act::asked(what, given) {
            Some(answer) => answer.await.into(),
            None => JsValue::NULL,
        })
    })
}

/// The host's colours have changed.
#[wasm_bindgen]
pub fn colours(dark: bool, contrast: bool) {
    MOUNTED.with(|mounted| {
        if let Some(mounted) = mounted.borrow_mut().as_mut() {
            mounted.options.theme = Some(if dark { Theme::Dark } else { Theme::Light });
            mounted.options.contrast = contrast;
        }
    });
    page::dress(&AppState::here().settings.get_untracked());
}
