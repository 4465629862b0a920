//! The page as a whole.

use leptos::prelude::{AnyView, window};
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{DragEvent, HashChangeEvent, KeyboardEvent, StorageEvent};

use crate::act;
use crate::app::data::address::Screen;
use crate::app::view::{session, side, toast};
use crate::platform::el::{El, IntoChild, el, live, live_on, nothing};
use crate::platform::page;
use crate::platform::signal::{derived, effect};
use crate::settings::data::connection::Connection;
use crate::state::{AppState, Dialog};
use crate::text::{T, language, t};

/// The page. Mounted anew when the language changes.
pub fn app() -> AnyView {
    let state = AppState::here();
    page::mark("lang", Some(language().tag()));
    effect(move || page::mark("data-view", Some(state.screen.get().name())));
    effect(move || page::title(&title(state)));
    el("div")
        .class("root")
        // who touches the page is about to say something: the conversation's code is on its way before it is needed
        .on("pointerdown", |_| act::expect_talk())
        .on("keydown", |_| act::expect_talk())
        .child(
            el("a")
                .class("skip")
                .attr("href", "#msg")
                .child(t(T::SkipToThread))
                .on("click", |event| {
                    event.prevent_default();
                    act::go(Screen::Chat);
                    page::next_frame(|| page::focus(".thread"));
                }),
        )
        .child(
            el("div")
                .class("app")
                .child(side::side())
                .child(main(state))
                .child(side::bottom()),
        )
        .child(dialogs(state))
        .child(toast::status())
        .into_child()
}

fn main(state: AppState) -> El {
    // The session stays mounted: its place and its draft survive a look at another screen.
    let screen = derived(move || state.screen.get());
    el("main")
        .attr("id", "main")
        .attr("tabindex", "-1")
        .child(session::session())
        .child(live(move || match screen.get() {
            Screen::Chat => nothing(),
            Screen::Context => act::context_screen(),
            Screen::Library => act::library_screen(),
            Screen::Settings => act::settings_screen(),
            Screen::Log => act::log_screen(),
            Screen::Replay => act::replay_screen(),
        }))
        .child(toast::toasts())
}

/// The open dialog, if any.
fn dialogs(state: AppState) -> AnyView {
    live_on(
        move || state.dialog.get(),
        |open| open.clone().map_or_else(nothing, act::dialog),
    )
}

fn title(state: AppState) -> String {
    let name = match state.screen.get() {
        Screen::Chat => state
            .open
            .with(|o| o.as_ref().map(|o| o.title.clone()))
            .filter(|s| !s.is_empty()),
        Screen::Context => Some(t(T::Context).to_owned()),
        Screen::Library => Some(t(T::Library).to_owned()),
        Screen::Settings => Some(t(T::Settings).to_owned()),
        Screen::Log => Some(t(T::Log).to_owned()),
        Screen::Replay => Some(t(T::Replay).to_owned()),
    };
    name.map_or_else(
        || "palimpsest".to_owned(),
        |name| format!("{name} · palimpsest"),
    )
}

/// Listens to the address, the keys and dropped files, for as long as the page lives.
pub fn listen(state: AppState) {
    let window = window();
    let on_hash = Closure::<dyn FnMut(HashChangeEvent)>::new(move |_| act::turn(page::address()));
    let _ = window.add_event_listener_with_callback("hashchange", on_hash.as_ref().unchecked_ref());
    on_hash.forget();
    state.screen.set(page::address().screen);

    let on_key = Closure::<dyn FnMut(KeyboardEvent)>::new(move |event: KeyboardEvent| {
        // a key that goes to no element of the page is a sign of somebody, too
        act::expect_talk();
        key(state, &event);
    });
    let _ = window.add_event_listener_with_callback("keydown", on_key.as_ref().unchecked_ref());
    on_key.forget();

    let on_storage = Closure::<dyn FnMut(StorageEvent)>::new(|event: StorageEvent| {
        act::settings_elsewhere(event.key());
    });
    let _ = window.add_event_listener_with_callback("storage", on_storage.as_ref().unchecked_ref());
    on_storage.forget();

    let on_online = Closure::<dyn FnMut()>::new(move || {
        if state
            .connection
            .with_untracked(|c| *c == Connection::Failed)
        {
            act::survey();
        }
    });
    let _ = window.add_event_listener_with_callback("online", on_online.as_ref().unchecked_ref());
    on_online.forget();

    let on_over = Closure::<dyn FnMut(DragEvent)>::new(|event: DragEvent| {
        if event
            .data_transfer()
            .is_some_and(|data| data.types().includes(&"Files".into(), 0))
        {
            event.prevent_default();
        }
    });
    let _ = window.add_event_listener_with_callback("dragover", on_over.as_ref().unchecked_ref());
    on_over.forget();
    let on_drop = Closure::<dyn FnMut(DragEvent)>::new(|event: DragEvent| dropped(&event));
    let _ = window.add_event_listener_with_callback("drop", on_drop.as_ref().unchecked_ref());
    on_drop.forget();
}

/// Takes the files that were dropped.
pub fn dropped(event: &DragEvent) {
    let files = page::files(event.data_transfer().and_then(|data| data.files()));
    if files.is_empty() {
        return;
    }
    event.prevent_default();
    // A list of messages is a conversation; any other text or an image goes with the next message.
    let (conversations, others) = files.into_iter().partition(|file| {
        std::path::Path::new(&file.name())
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
    });
    let conversations: Vec<web_sys::File> = conversations;
    for file in conversations {
        act::import(file, true);
    }
    if !others.is_empty() {
        act::attach(others);
    }
}

/// Does what a key stands for.
pub fn key(state: AppState, event: &KeyboardEvent) {
    let command = event.ctrl_key() || event.meta_key();
    let name = event.key();
    match (command, event.shift_key(), name.to_lowercase().as_str()) {
        (false, true, "escape") => page::focus("#msg"),
        (false, false, "escape") => {
            if state.dialog.with(Option::is_some) {
                return;
            }
            if state.notes.get_untracked() {
                state.notes.set(false);
                page::focus(".notes-open");
            } else if state.reply.with_untracked(Option::is_some) {
                act::stop();
            }
            return;
        }
        (true, true, "o") => act::new_session(),
        (true, false, "k") => page::focus("#find"),
        (true, false, "i") => act::go(if state.screen.get_untracked() == Screen::Context {
            Screen::Chat
        } else {
            Screen::Context
        }),
        (true, false, "b") => page::toggle("data-side"),
        (false, _, "?") if !page::is_typing() => state.dialog.set(Some(Dialog::Keys)),
        (false, false, "arrowup" | "arrowdown") if event.alt_key() => {
            let step = if name == "ArrowUp" { -1 } else { 1 };
            state.steps.update(|steps| *steps += step);
        }
        _ => return,
    }
    event.prevent_default();
}
