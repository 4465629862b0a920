//! The composer: the next message, on the same text edge as the thread.

use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::KeyboardEvent;

use crate::act;
use crate::command::{self, Command, Input};
use crate::el::{El, IntoChild, el, live};
use crate::icon::icon;
use crate::page;
use crate::signal::{derived, effect, kept};
use crate::state::{AppState, Screen};
use crate::text::{T, fill, number, t};

/// How long typing must rest before the draft is counted and kept, in milliseconds.
const REST: i32 = 300;

/// The composer. Its field is not controlled: typing never waits for anything else on the page.
pub fn composer() -> El {
    let state = AppState::here();
    let typed = kept(0u32);
    // A kept draft, or an emptied field.
    effect(move || {
        let text = state.draft.get();
        page::set_value("#msg", &text);
    });
    let submit = move || {
        if run(state, &page::value("#msg")) {
            state.draft.set(String::new());
            // The signal may have been empty before: set the field as well.
            page::set_value("#msg", "");
            state.draft_tokens.set(0);
        }
    };
    let textarea = el("textarea")
        .attr("id", "msg")
        .attr("rows", "2")
        .attr("dir", "auto")
        .attr("placeholder", t(T::MessagePlaceholder))
        .attr("enterkeyhint", "send")
        .on("input", move |_| {
            let turn = *typed.borrow() + 1;
            *typed.borrow_mut() = turn;
            let typed = Rc::clone(&typed);
            page::after(REST, move || {
                if *typed.borrow() == turn {
                    act::drafted(page::value("#msg"));
                }
            });
        })
        .on("keydown", move |event| {
            let Ok(key) = event.clone().dyn_into::<KeyboardEvent>() else {
                return;
            };
            // Enter that ends the composition of a character must not send.
            if key.key() == "Enter" && !key.shift_key() && !key.is_composing() {
                event.prevent_default();
                submit();
            }
        });
    let seq = move || {
        state
            .open
            .with(|o| o.as_ref().map_or(1, |o| o.messages + 1))
    };
    let label = el("label")
        .attr("for", "msg")
        .child(el("b").child(t(T::You)))
        .child(el("span").text_live(move || format!("{} · {}", seq(), t(T::Draft))));
    el("form")
        .class("composer")
        .on("submit", move |event| {
            event.prevent_default();
            submit();
        })
        .child(
            el("div")
                .class("field")
                .child(label)
                .child(textarea)
                .child(under(state)),
        )
}

fn under(state: AppState) -> El {
    let hint = el("span")
        .class("hint")
        .child(el("kbd").child("/"))
        .child(format!(" {}", t(T::Commands)));
    let tokens = el("span")
        .class("num")
        .text_live(move || match state.draft_tokens.get() {
            0 => String::new(),
            n => fill(T::AboutTokens, &[&number(n)]),
        });
    let busy = derived(move || state.reply.with(Option::is_some));
    el("div")
        .class("under")
        .child(hint)
        .child(tokens)
        .child(live(move || {
            if busy.get() {
                el("button")
                    .class("btn")
                    .attr("type", "button")
                    .attr("id", "stop")
                    .child(icon("stop"))
                    .child(t(T::Stop))
                    .click(act::stop)
                    .view()
            } else {
                el("button")
                    .class("btn solid")
                    .attr("type", "submit")
                    .attr("id", "send")
                    .child(icon("send"))
                    .child(t(T::Send))
                    .into_child()
            }
        }))
}

/// Does what was typed. Whether the field is to be emptied.
fn run(state: AppState, text: &str) -> bool {
    match command::read(text) {
        Input::Empty => false,
        Input::Message(text) => act::send(text),
        Input::Unknown(name) => {
            act::note(fill(T::UnknownCommand, &[&name]), true);
            false
        }
        Input::Command(Command::Compact(focus)) => {
            act::compact(focus);
            true
        }
        Input::Command(Command::Context) => {
            act::go(Screen::Context);
            true
        }
        Input::Command(Command::Undo) => {
            act::undo();
            true
        }
        Input::Command(Command::Model(name)) => {
            act::choose_model(name);
            true
        }
        Input::Command(Command::Title(title)) => {
            if let Some(id) = state.open.with(|o| o.as_ref().map(|o| o.id.clone())) {
                act::rename(id, title);
            }
            true
        }
        Input::Command(Command::Export) => {
            act::export();
            true
        }
        Input::Command(Command::Help) => {
            act::note(fill(T::CommandsAre, &[&command::NAMES.join(", ")]), false);
            true
        }
    }
}
