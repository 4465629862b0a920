//! The session screen: header, thread, composer, notes.

use std::rc::Rc;

use leptos::prelude::AnyView;
use wasm_bindgen::JsCast;
use web_sys::Element;

use crate::act;
use crate::el::{El, IntoChild, each, el, live_if, live_on, nothing};
use crate::icon::icon;
use crate::markdown::dom::{Clicked, clicked};
use crate::page::next_frame;
use crate::signal::{Kept, Signal, derived, effect, kept};
use crate::state::{AppState, Dialog, Notice, Screen};
use crate::text::{self, T, fill, number, t};
use crate::ui::{
    card::card, composer::composer, header::header, message::message, notes::notes, reply::reply,
};
use crate::view::model::{Connection, Verdict};
use crate::view::thread::Entry;

/// Entries shown at first, and added by each click on "earlier".
const PAGE: usize = 60;

/// Pictures until every message at the end has its height.
const FRAMES: u32 = 5;

/// How near to the end the thread must be to follow it, in pixels.
const NEAR: i32 = 80;

/// The session screen.
pub fn chat() -> AnyView {
    el("section")
        .class("screen chat")
        .attr("id", "s-chat")
        .attr("aria-labelledby", "h-chat")
        .child(
            el("div")
                .class("session")
                .child(header())
                // not in the thread: that scrolls to its end with every message
                .child(notice())
                .child(thread())
                .child(composer()),
        )
        .child(notes())
        .into_child()
}

fn thread() -> El {
    let state = AppState::here();
    let shown = Signal::new(PAGE);
    let away = Signal::new(false);
    let place = kept(None::<Element>);
    let session = derived(move || state.open.with(|o| o.as_ref().map(|o| o.id.clone())));
    // A session opens at its end.
    let opened = Rc::clone(&place);
    effect(move || {
        session.track();
        shown.set(PAGE);
        away.set(false);
        follow(&opened);
    });
    let grown = Rc::clone(&place);
    effect(move || {
        state.thread.track();
        state.reply_text.track();
        state.cards.track();
        if !away.get_untracked() {
            follow(&grown);
        }
    });
    // A place that was looked for: enough of the thread is shown, and the message gets the focus.
    effect(move || {
        let seq = state.jump.get();
        if seq == 0 {
            return;
        }
        state.jump.set(0);
        away.set(true);
        let (after, seq) = state.thread.with_untracked(|all| {
            all.iter()
                .enumerate()
                .find_map(|(at, e)| match e {
                    Entry::Message(m) if (m.seq..=m.last).contains(&seq) => {
                        Some((all.len() - at, m.seq))
                    }
                    _ => None,
                })
                .unwrap_or((0, seq))
        });
        if after + 10 > shown.get_untracked() {
            shown.set(after + 10);
        }
        crate::page::after(120, move || {
            crate::page::focus(&format!(".thread [data-seq='{seq}']"));
        });
    });
    // The messages of two sessions have the same numbers: an element belongs to one session.
    let entries = move || {
        let own = state
            .open
            .with_untracked(|o| o.as_ref().map_or(0, |o| salt(&o.id)));
        let skip = state.thread.with(Vec::len).saturating_sub(shown.get());
        state.thread.with(|all| {
            let tail = all[skip..].iter();
            tail.map(|e| (e.key() ^ own, e.clone())).collect::<Vec<_>>()
        })
    };
    let made = Rc::clone(&place);
    el("div")
        .class("thread")
        .attr("role", "log")
        .attr("aria-live", "off")
        .attr("aria-label", t(T::Conversation))
        .attr("tabindex", "0")
        .made(move |element| *made.borrow_mut() = Some(element))
        .on("scroll", move |event| {
            if let Some(element) = target(&event) {
                let left = element.scroll_height() - element.scroll_top() - element.client_height();
                away.change(left > NEAR);
            }
        })
        .on("click", |event| {
            if let Some(Clicked::Copy(text)) = target(&event).as_ref().and_then(clicked) {
                act::copy(text);
            }
        })
        .child(el("h2").class("vh").child(t(T::Conversation)))
        .child(start())
        .child(earlier(shown))
        .child(each(
            entries,
            |(key, _)| *key,
            |(_, entry)| match &entry {
                Entry::Message(m) => message(m),
                Entry::Card(number) => card(*number),
            },
        ))
        .child(reply())
        .child(live_if(
            move || away.get(),
            move || {
                let place = Rc::clone(&place);
                el("button")
                    .class("btn latest")
                    .attr("type", "button")
                    .child(icon("down"))
                    .child(t(T::JumpToLatest))
                    .click(move || {
                        away.set(false);
                        follow(&place);
                    })
                    .view()
            },
        ))
}

/// A number for a session's identifier (FNV-1a).
fn salt(id: &str) -> u64 {
    id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn target(event: &web_sys::Event) -> Option<Element> {
    event.target()?.dyn_into().ok()
}

/// Goes to the end, and once more when the messages there have been laid out.
fn follow(place: &Kept<Option<Element>>) {
    settle(Rc::clone(place), FRAMES);
}

/// Goes to the end with each of the next pictures: a message's height is only known once it is in view.
fn settle(place: Kept<Option<Element>>, frames: u32) {
    next_frame(move || {
        if let Some(element) = place.borrow().as_ref() {
            element.set_scroll_top(element.scroll_height());
        }
        if frames > 1 {
            settle(place, frames - 1);
        }
    });
}

fn earlier(shown: Signal<usize>) -> AnyView {
    let state = AppState::here();
    let hidden = move || state.thread.with(Vec::len).saturating_sub(shown.get());
    let covered = move || {
        state.thread.with(|all| {
            let is_covered = |e: &&Entry| match e {
                Entry::Message(m) => state.layers.with(|l| l.iter().any(|l| l.covers(m.seq))),
                Entry::Card(_) => false,
            };
            all[..hidden()].iter().filter(is_covered).count() as u32
        })
    };
    live_if(
        move || hidden() > 0,
        move || {
            let more = el("button")
                .class("link")
                .attr("type", "button")
                .text_live(move || fill(T::EarlierMessages, &[&number(hidden() as u32)]))
                .click(move || shown.update(|n| *n += PAGE));
            let covered = live_on(covered, |n| {
                if *n == 0 {
                    return nothing();
                }
                el("span")
                    .child(fill(T::EarlierCovered, &[&number(*n)]))
                    .view()
            });
            el("div").class("earlier").child(more).child(covered).view()
        },
    )
}

/// What must not be missed.
fn notice() -> AnyView {
    let state = AppState::here();
    // the same words stay the same element: a new one would be read aloud again, and take the button from under the hand
    let shown = move || {
        let follower = state.open.with(|o| o.as_ref().is_some_and(|o| o.follower));
        (follower, state.notice.get())
    };
    live_on(shown, |(follower, notice)| {
        if *follower {
            return strip("page", t(T::OtherTab).to_owned())
                .child(button(T::TakeOver, act::take_over))
                .view();
        }
        match notice {
            None => nothing(),
            Some(Notice::Kept(kept)) => text::kept(*kept)
                .map_or_else(nothing, |warning| strip("warn", warning.to_owned()).view()),
            Some(Notice::Saving(why)) => strip("warn", fill(T::StorageFailed, &[why]))
                .child(button(T::ExportAll, act::export_all))
                .view(),
            Some(Notice::Reply(why)) => strip("warn", fill(T::ReplyFailed, &[why]))
                .child(button(T::TryAgain, act::retry))
                .view(),
        }
    })
}

fn strip(icon_name: &'static str, text: String) -> El {
    el("div")
        .class("notice")
        .attr("role", "alert")
        .child(icon(icon_name))
        .child(el("p").child(text))
}

fn button(text: T, then: impl FnMut() + 'static) -> El {
    el("button")
        .class("btn")
        .attr("type", "button")
        .child(t(text))
        .click(then)
}

/// What an empty session says, and how to connect when no model answers.
fn start() -> AnyView {
    let state = AppState::here();
    let shown = move || {
        let empty = state.thread.with(Vec::is_empty) && state.reply.with(Option::is_none);
        let failed = |c: &Connection| matches!(c, Connection::Failed | Connection::Empty);
        (empty && state.ready.get()).then(|| Some(state.connection.get()).filter(failed))
    };
    live_on(shown, move |shown| {
        let Some(failure) = shown else {
            return nothing();
        };
        let block = el("div")
            .class("start")
            .child(el("h2").child(t(T::StartTitle)))
            .child(el("p").child(t(T::StartText)));
        let block = block.child(failure.as_ref().map(|c| offline(state, c)));
        let import = button(T::StartImport, move || {
            state.dialog.set(Some(Dialog::Import));
        });
        let connect = failure.as_ref().map(|_| {
            el("a")
                .class("btn solid")
                .attr("href", format!("#{}", Screen::Settings.name()))
                .child(t(T::StartConnect))
        });
        block
            .child(el("p").class("acts").child(connect).child(import))
            .view()
    })
}

/// What to do when no model answers.
pub fn offline(state: AppState, connection: &Connection) -> El {
    let address = state.settings.with_untracked(|s| s.address.clone());
    let block = el("div").class("offline").attr("role", "note");
    if *connection == Connection::Empty {
        return block
            .child(el("h3").child(t(T::NoModelInstalled)))
            .child(el("p").child(fill(T::InstallModel, &["ollama pull llama3.2:3b"])));
    }
    let fix = move || {
        state.checks.with(|all| {
            all.iter()
                .find(|c| c.verdict == Verdict::Bad)
                .and_then(|c| c.fixes.first().cloned())
        })
    };
    let first_step = live_on(fix, |fix| {
        fix.clone().map_or_else(nothing, |fix| {
            let command = (!fix.commands.is_empty()).then(|| {
                el("pre")
                    .attr("tabindex", "0")
                    .child(el("code").child(fix.commands))
            });
            el("div")
                .child(el("p").child(fix.text))
                .child(command)
                .view()
        })
    });
    block
        .child(
            el("h3")
                .child(icon("warn"))
                .child(" ")
                .child(fill(T::OfflineTitle, &[&address])),
        )
        .child(el("p").child(t(T::OfflineText)))
        .child(first_step)
}
