//! Screens, lenses, short notes, the clipboard.

use std::cell::Cell;

use leptos::task::spawn_local;
use palimpsest_core::dialect::{self, Dialect};

use crate::act::{Back, back, present, show_window};
use crate::app::data::address::Screen;
use crate::platform::page;
use crate::state::{AppState, Lens, Toast, Undo};
use crate::text::{T, fill, number, t};

/// The bytes of a file. Read as text, what is not UTF-8 would be replaced in silence.
pub(crate) async fn contents(file: &web_sys::Blob) -> Result<Vec<u8>, String> {
    let buffer = wasm_bindgen_futures::JsFuture::from(file.array_buffer()).await;
    let buffer = buffer.map_err(|e| format!("{e:?}"))?;
    Ok(js_sys::Uint8Array::new(&buffer).to_vec())
}

/// Milliseconds a note stays.
const NOTE_STAYS: i32 = 10_000;

/// Copies a text.
pub(crate) fn copy(text: String) {
    spawn_local(async move {
        let done = page::copy(&text).await;
        if let Some(back) = back() {
            if done {
                back.state.say(t(T::Copied));
            } else {
                note(t(T::CopyFailed).to_owned(), true);
            }
        }
    });
}

/// Copies the next window as the JSON it is sent as.
pub(crate) fn copy_window() {
    let Some(session) = back().and_then(|b| b.session()) else {
        return;
    };
    let messages = session.window().to_request();
    let value = serde_json::Value::Array(dialect::to_values(
        messages
            .iter()
            .map(palimpsest_core::request::RequestMessage::said),
        Dialect::OpenAi,
    ));
    copy(format!("{value:#}"));
}

/// Goes to a screen. It is shown at once: the browser tells of a new address only later, and keys that are pressed until
/// then would go to nobody.
pub fn go(screen: Screen) {
    if let Some(state) = AppState::remembered() {
        page::visit(&present(state, screen));
        state.screen.change(screen);
    }
}

/// Looks through another lens.
pub fn look(lens: Lens) {
    let Some(back) = back() else { return };
    back.state.lens.set(lens);
    show_window(&back);
}

/// Says something short at the foot of the page, also while the page only begins.
pub fn note(text: String, bad: bool) {
    if let Some(state) = AppState::remembered() {
        state.say(text.clone());
        put_toast(state, text, None, bad);
    }
}

/// The same, with a way back.
pub(crate) fn toast(back: &Back, text: String, undo: Option<Undo>, bad: bool) {
    put_toast(back.state, text, undo, bad);
}

/// The same. Its number, by which it can be taken away.
fn put_toast(state: AppState, text: String, undo: Option<Undo>, bad: bool) -> u32 {
    thread_local! {
        static LAST: Cell<u32> = const { Cell::new(0) };
    }
    let id = LAST.get() + 1;
    LAST.set(id);
    state.toasts.update(|all| {
        // The same sentence twice says no more than once.
        all.retain(|toast| toast.text != text);
        all.push(Toast {
            id,
            text,
            undo,
            bad,
        });
        if all.len() > 3 {
            all.remove(0);
        }
    });
    page::after(NOTE_STAYS, move || drop_toast(id));
    id
}

/// How far something with many conversations is: told every so many, one note after the other.
pub(crate) struct Progress {
    name: String,
    all: u32,
    done: u32,
    note: Option<u32>,
}

impl Progress {
    const EACH: u32 = 20;

    pub(crate) const fn of(name: String, all: usize) -> Self {
        Self {
            name,
            all: all as u32,
            done: 0,
            note: None,
        }
    }

    /// The next one begins.
    pub(crate) fn step(&mut self, state: AppState) {
        if self.done > 0 && self.done.is_multiple_of(Self::EACH) {
            let said = [self.name.as_str(), &number(self.done), &number(self.all)];
            let note = put_toast(state, fill(T::FileAt, &said), None, false);
            self.note.replace(note).into_iter().for_each(drop_toast);
        }
        self.done += 1;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.note.into_iter().for_each(drop_toast);
    }
}

/// Takes a note away.
pub fn drop_toast(id: u32) {
    if let Some(state) = AppState::remembered() {
        state
            .toasts
            .update(|all| all.retain(|toast| toast.id != id));
    }
}
