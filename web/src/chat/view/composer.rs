//! The composer: the next message, on the same text edge as the thread.

use std::rc::Rc;

use leptos::prelude::AnyView;
use palimpsest_engine::is_temporary;
use wasm_bindgen::JsCast;
use web_sys::{ClipboardEvent, Event, HtmlInputElement, KeyboardEvent};

use crate::act;
use crate::app::data::address::Screen;
use crate::chat::data::command::{self, Command, Input};
use crate::platform::el::{El, el, live_if, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::page;
use crate::platform::signal::{derived, effect, kept};
use crate::state::{AppState, Dialog};
use crate::text::{T, fill, number, t};

/// The pause in typing after which the draft is counted and stored, in milliseconds.
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
            state.command.change(String::new());
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
            let text = page::value("#msg");
            // The rest of the page only needs the input if it begins a command.
            let slash = text.starts_with('/') && !text.contains(char::is_whitespace);
            state
                .command
                .change(if slash { text } else { String::new() });
            let turn = *typed.borrow() + 1;
            *typed.borrow_mut() = turn;
            let typed = Rc::clone(&typed);
            page::after(REST, move || {
                if *typed.borrow() == turn {
                    act::drafted(page::value("#msg"));
                }
            });
        })
        .on("paste", |event| pasted(&event))
        .on("keydown", move |event| {
            let Ok(key) = event.clone().dyn_into::<KeyboardEvent>() else {
                return;
            };
            // Enter that ends the composition of a character must not send.
            if key.key() == "Enter" && !key.shift_key() && !key.is_composing() {
                event.prevent_default();
                submit();
            }
            // An empty field: the arrow up brings the last message back to be changed.
            if key.key() == "ArrowUp"
                && page::value("#msg").is_empty()
                && let Some((place, text)) = act::last_said(state)
            {
                event.prevent_default();
                state.dialog.set(Some(Dialog::Edit { place, text }));
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
                .child(offered(state))
                .child(temporary(state))
                .child(waiting(state))
                .child(attached(state))
                .child(under(state)),
        )
}

/// The commands that begin with the input. A click completes the name.
fn offered(state: AppState) -> AnyView {
    live_on(
        move || command::beginning(&state.command.get()),
        move |names| {
            if names.is_empty() {
                return nothing();
            }
            el("ul")
                .class("offered")
                .attr("aria-label", t(T::Commands))
                .children(names.iter().map(|&(line, what)| {
                    let name = line.split(' ').next().unwrap_or(line);
                    el("li").child(
                        el("button")
                            .attr("type", "button")
                            .child(el("code").child(line))
                            .child(el("span").child(t(what)))
                            .click(move || {
                                page::set_value("#msg", &format!("{name} "));
                                state.command.change(String::new());
                                page::focus("#msg");
                            }),
                    )
                }))
                .view()
        },
    )
}

/// That the session is temporary, and the way to keep it.
fn temporary(state: AppState) -> AnyView {
    let is_so = move || {
        let open = state.open;
        open.with(|open| open.as_ref().is_some_and(|open| is_temporary(&open.id)))
    };
    live_if(is_so, || {
        el("p")
            .class("queued")
            .child(el("span").class("sub").child(t(T::TemporaryGoes)))
            .child(
                el("button")
                    .class("link")
                    .attr("id", "keep-session")
                    .attr("type", "button")
                    .child(t(T::AskYes))
                    .click(act::keep_session),
            )
            .view()
    })
}

/// The message that waits.
fn waiting(state: AppState) -> AnyView {
    live_on(
        move || state.waiting.get(),
        |waiting| match waiting {
            None => nothing(),
            Some(waiting) => el("p")
                .class("queued")
                .child(el("span").class("sub").child(t(waiting.until.told())))
                .child(" ")
                .child(el("span").attr("dir", "auto").child(waiting.text.clone()))
                .child(
                    el("button")
                        .class("link")
                        .attr("type", "button")
                        .child(t(T::TakeBack))
                        .click(act::unqueue),
                )
                .view(),
        },
    )
}

/// The list of files and images that go with the message. It comes with the code that attaches them.
fn attached(state: AppState) -> AnyView {
    live_if(
        move || !state.attached.with(Vec::is_empty),
        act::attached_inside,
    )
}

/// Takes what was pasted along with the message, if it is files and no text.
fn pasted(event: &Event) {
    let data = event.dyn_ref::<ClipboardEvent>();
    let Some(data) = data.and_then(ClipboardEvent::clipboard_data) else {
        return;
    };
    let has_text = data.types().includes(&"text/plain".into(), 0);
    let files = page::files(data.files());
    if !files.is_empty() && !has_text {
        event.prevent_default();
        act::attach(files);
    }
}

/// The button that takes files and images along.
fn attach() -> El {
    el("label")
        .class("quiet file")
        .attr("title", t(T::Attach))
        .child(icon("clip"))
        .child(el("span").class("vh").child(t(T::Attach)))
        .child(
            el("input")
                .attr("type", "file")
                .attr("id", "attach")
                .flag("multiple", true)
                .on("change", |event| {
                    let input = event
                        .target()
                        .and_then(|x| x.dyn_into::<HtmlInputElement>().ok());
                    if let Some(input) = input {
                        act::attach(page::files(input.files()));
                        input.set_value("");
                    }
                }),
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
    el("div")
        .class("under")
        .child(attach())
        .child(hint)
        .child(tokens)
        .child(send_or_stop(state))
}

/// One button for both: a user who sends with the keyboard has the focus on the button that stops the reply, and the
/// other way round.
fn send_or_stop(state: AppState) -> El {
    let busy = derived(move || state.reply.with(Option::is_some));
    let either = |stop: &'static str, send: &'static str| {
        move || Some(if busy.get() { stop } else { send }.to_owned())
    };
    let follows = derived(move || state.open.with(|o| o.as_ref().is_some_and(|o| o.follower)));
    el("button")
        .attr("type", "submit")
        // the chat is open in another tab: what is written here stays a draft
        .flag_live("disabled", move || follows.get())
        .attr_live("title", move || {
            follows.get().then(|| t(T::OtherTab).to_owned())
        })
        .attr_live("id", either("stop", "send"))
        .attr_live("class", either("btn", "btn solid"))
        .live_on(
            move || busy.get(),
            |busy| icon(if *busy { "stop" } else { "send" }),
        )
        .text_live(move || t(if busy.get() { T::Stop } else { T::Send }).to_owned())
        .on("click", move |event| {
            // The second click of a double click must not undo the first.
            let clicks = js_sys::Reflect::get(&event, &"detail".into());
            let again = clicks.ok().and_then(|n| n.as_f64()) > Some(1.0);
            let busy = busy.get_untracked();
            if busy || again {
                event.prevent_default();
            }
            if busy && !again {
                act::stop();
            }
        })
}

/// Handles the input. Returns `true` if the field should be emptied.
fn run(state: AppState, text: &str) -> bool {
    let files = state.attached.with_untracked(|all| !all.is_empty());
    match command::read(text) {
        Input::Empty if files => act::send(String::new()),
        Input::Empty => false,
        Input::Message(text) => act::send(text),
        Input::Unknown(name) => {
            act::note(fill(T::UnknownCommand, &[&name]), true);
            false
        }
        Input::Command(_) => {
            let text = text.to_owned();
            act::desk().then(move |desk| {
                if desk.is_some() {
                    act::obey(text);
                } else if page::value("#msg").is_empty() {
                    // The code did not load, so the input returns to the field.
                    state.draft.set(text);
                }
            });
            true
        }
    }
}

/// Runs a command.
pub fn obey(text: String) {
    let state = AppState::here();
    let Input::Command(command) = command::read(&text) else {
        return;
    };
    let open = |dialog| state.dialog.set(Some(dialog));
    match command {
        Command::Compact(focus) => act::compact(focus),
        Command::Preview(focus) => act::preview(focus),
        Command::Undo => act::undo(),
        Command::Lift(number) => act::ask_lift(number),
        Command::Context => act::go(Screen::Context),
        Command::Log => act::go(Screen::Log),
        Command::Replay => act::go(Screen::Replay),
        Command::Snapshot(name) => act::snapshot(name),
        Command::Restore => open(Dialog::Snapshots),
        Command::Goal(text) if text.is_empty() => open(Dialog::Goal),
        Command::Goal(text) => act::set_goal(text, None),
        Command::Decide(text) => act::pin(vec![text], true),
        Command::Pin(text) => act::pin(vec![text], false),
        Command::Model(name) if name.is_empty() => open(Dialog::Model),
        Command::Model(name) => act::choose_model(name),
        Command::Title(title) => {
            if let Some(id) = state.open.with(|o| o.as_ref().map(|o| o.id.clone())) {
                act::rename(id, title, None);
            }
        }
        Command::Export(format) => act::export_session(format),
        Command::Skip => act::skip_wait(),
        Command::Rollover => act::roll_over(),
        Command::Temporary => act::begin_temporary(),
        Command::Help => open(Dialog::Keys),
    }
}
