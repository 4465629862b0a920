//! The snapshots of the open session as a line from now into the past: in the library, and in a dialog.

use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;

use crate::act;
use crate::app::data::address::Screen;
use crate::context::data::record::SnapshotView;
use crate::library::data::session::SessionEntry;
use crate::platform::el::{El, each, el, key_of, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::page;
use crate::platform::signal::{Signal, kept};
use crate::state::AppState;
use crate::text::{T, count, fill, language, number, t};

/// The unfolded part below a snapshot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unfolded {
    Preview,
    Restore,
}

/// The line, newest first, with the way back to each.
pub fn timeline(state: AppState) -> El {
    let chosen = Signal::new(None::<(u32, Unfolded)>);
    let all = each(
        move || state.snapshots.get(),
        |s| key_of(&(s.n, &s.name)),
        move |s| item(state, &s, chosen).view(),
    );
    let line = el("ol").class("line-list").child(now(state)).child(all);
    let none = live_on(
        move || state.snapshots.with(Vec::is_empty),
        |none| {
            if *none {
                el("p").class("sub").child(t(T::SnapshotsNone)).view()
            } else {
                nothing()
            }
        },
    );
    el("div")
        .class("snaps")
        .child(line)
        .child(none)
        .child(el("p").class("sub").child(t(T::SnapshotsHelp)))
}

/// The present, and what remembers it.
fn now(state: AppState) -> El {
    let facts = move || {
        let said = |id: &str| {
            let of = |s: &SessionEntry| (s.id == id).then_some(s.messages);
            state.sessions.with(|all| all.iter().find_map(of))
        };
        let messages = state.open.with(|o| o.as_ref().and_then(|o| said(&o.id)));
        let tokens = state.budget.with(|b| b.as_ref().map_or(0, |b| b.used));
        facts(
            messages.unwrap_or(0),
            state.layers.with(Vec::len) as u32,
            tokens,
        )
    };
    let field = kept(None::<HtmlInputElement>);
    let filled = std::rc::Rc::clone(&field);
    let name = el("input")
        .attr("type", "text")
        .attr("dir", "auto")
        .attr("maxlength", "80")
        .attr("aria-label", t(T::SnapshotName))
        .attr("placeholder", t(T::SnapshotNameShort))
        .made(move |element| *field.borrow_mut() = element.dyn_into().ok());
    let take = el("form")
        .class("acts inline")
        .on("submit", move |event| {
            event.prevent_default();
            if let Some(field) = &*filled.borrow() {
                act::snapshot(field.value());
                field.set_value("");
            }
        })
        .child(name)
        .child(
            el("button")
                .class("btn")
                .attr("type", "submit")
                .child(t(T::SnapshotTake)),
        );
    el("li")
        .class("here")
        .child(
            el("div")
                .child(el("b").child(t(T::Now)))
                .child(el("p").class("sub").text_live(facts)),
        )
        .child(take)
}

fn item(state: AppState, snapshot: &SnapshotView, chosen: Signal<Option<(u32, Unfolded)>>) -> El {
    let (n, tip) = (snapshot.n, snapshot.tip);
    let mine = !snapshot.name.is_empty();
    let (time, what) = (when(snapshot.at), what(snapshot));
    let name = format!("{time} {what}");
    let open = move |which| chosen.get() == Some((n, which));
    let button = |text: T, which: Unfolded| {
        el("button")
            .class("link")
            .attr("type", "button")
            .attr("aria-label", format!("{}: {name}", t(text)))
            .attr_live("aria-expanded", move || Some(open(which).to_string()))
            .child(t(text))
            .click(move || chosen.set((!open(which)).then_some((n, which))))
    };
    let delete = mine.then(|| {
        el("button")
            .class("quiet")
            .attr("type", "button")
            .attr("aria-label", format!("{}: {name}", t(T::SnapshotDelete)))
            .child(icon("cross"))
            .click(move || act::delete_snapshot(n))
    });
    let kind = t(if mine {
        T::SnapshotMine
    } else {
        T::SnapshotByItself
    });
    let (label, at) = (name.clone(), time.clone());
    let below = live_on(
        move || chosen.get().filter(|(of, _)| *of == n).map(|(_, w)| w),
        move |which| match which {
            None => nothing(),
            Some(Unfolded::Preview) => preview(tip, &label).view(),
            Some(Unfolded::Restore) => ask(state, n, tip, &at, &label, chosen).view(),
        },
    );
    el("li")
        .attr_live("class", move || {
            let picked = chosen.get().is_some_and(|(of, _)| of == n);
            let class = if picked { "picked" } else { "" };
            Some(if mine {
                format!("mine {class}")
            } else {
                class.to_owned()
            })
        })
        .child(
            el("div")
                .child(el("b").child(time))
                .child(" ")
                .child(el("span").attr("dir", "auto").child(what))
                .child(" ")
                .child(el("em").class("sub").child(kind))
                .child(el("p").class("sub").child(facts(
                    snapshot.messages,
                    snapshot.layers,
                    snapshot.tokens,
                ))),
        )
        .child(
            el("p")
                .class("acts")
                .child(button(T::Preview, Unfolded::Preview))
                .child(button(T::Restore, Unfolded::Restore))
                .child(delete),
        )
        .child(below)
}

/// The last words there.
fn preview(tip: u32, name: &str) -> El {
    let (newer, last) = act::look_back(tip);
    let words = last.into_iter().map(|(place, words)| {
        el("blockquote")
            .child(el("b").class("sub").child(format!("{place}: ")))
            .child(el("span").attr("dir", "auto").child(words))
    });
    el("div")
        .class("ask")
        .attr("role", "group")
        .attr("aria-label", format!("{}: {name}", t(T::Preview)))
        .children(words)
        .child(el("p").class("sub").child(newer_line(newer, &[])))
}

/// The number of newer messages, compared with the given places.
fn newer_line(newer: u32, than: &[&str]) -> String {
    if newer == 0 {
        return t(T::NewerNone).to_owned();
    }
    let many = count(T::MessagesOne, T::MessagesMany, newer);
    match than {
        [at] => {
            let text = if newer == 1 {
                T::NewerOne
            } else {
                T::NewerMany
            };
            fill(text, &[&many, at])
        }
        _ => fill(T::NewerSince, &[&many]),
    }
}

/// Asks where to continue from there.
fn ask(
    state: AppState,
    n: u32,
    tip: u32,
    at: &str,
    name: &str,
    chosen: Signal<Option<(u32, Unfolded)>>,
) -> El {
    let (newer, _) = act::look_back(tip);
    let present = fill(T::BeforeRestore, &[at]);
    let go = move |present: String, stay: bool| {
        chosen.set(None);
        state.dialog.set(None);
        act::restore(n, present);
        if !stay {
            act::go(Screen::Chat);
            // the thread is shown once the address has changed
            page::next_frame(|| page::next_frame(|| page::focus("#msg")));
        }
    };
    let solid = el("button")
        .class("btn solid")
        .attr("type", "button")
        .child(icon("branch"))
        .child(t(T::RestoreBranch))
        .click(move || go(present.clone(), false));
    let rewind = el("button")
        .class("btn")
        .attr("type", "button")
        .child(t(T::RestoreRewind))
        .click(move || go(String::new(), true));
    let cancel = el("button")
        .class("link")
        .attr("type", "button")
        .child(t(T::Cancel))
        .click(move || chosen.set(None));
    el("div")
        .class("ask")
        .attr("role", "group")
        .attr("aria-label", format!("{}: {name}", t(T::Restore)))
        .child(
            el("p")
                .child(el("b").child(newer_line(newer, &[at])))
                .child(" ")
                .child(t(T::RestoreText)),
        )
        .child(
            el("p")
                .class("acts")
                .child(solid)
                .child(rewind)
                .child(cancel),
        )
        .child(el("p").class("sub").child(t(T::RestoreHelp)))
}

/// A window in words.
fn facts(messages: u32, layers: u32, tokens: u32) -> String {
    let layers = match layers {
        0 => t(T::LayersZero).to_owned(),
        n => count(T::LayersOne, T::LayersMany, n),
    };
    fill(
        T::SnapshotFacts,
        &[
            &count(T::MessagesOne, T::MessagesMany, messages),
            &layers,
            &number(tokens),
        ],
    )
}

/// The time of today; of another day with its date.
fn when(at: f64) -> String {
    let clock = page::clock(at);
    if at >= page::midnight(act::now()) {
        clock
    } else {
        format!("{} {clock}", page::day(at, language()))
    }
}

/// A snapshot's name, or why it was made.
fn what(snapshot: &SnapshotView) -> String {
    match snapshot.before {
        _ if !snapshot.name.is_empty() => snapshot.name.clone(),
        Some(layer) => fill(T::BeforeLayer, &[&layer.to_string()]),
        None => t(T::SnapshotAutomatic).to_owned(),
    }
}

/// A snapshot's time with its name, or why it was made.
pub fn name_of(snapshot: &SnapshotView) -> String {
    format!("{} {}", when(snapshot.at), what(snapshot))
}
