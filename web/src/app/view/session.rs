//! The session screen: header, thread, composer, notes.

use leptos::prelude::AnyView;

use crate::act;
use crate::app::view::header::header;
use crate::chat::view::composer::composer;
use crate::chat::view::thread::thread;
use crate::context::view::notes::notes;
use crate::library::data::export::Format;
use crate::platform::el::{El, IntoChild, el, live_if, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::resident;
use crate::settings::Server;
use crate::settings::data::connection::{Connection, Verdict};
use crate::settings::view::connection::model_file;
use crate::state::{AppState, Notice};
use crate::text::{T, fill, number, t};
use crate::widgets::field::button;
use crate::widgets::words::durability;

/// The session screen.
pub fn session() -> AnyView {
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
                .child(losses())
                .child(thread())
                .child(calls())
                .child(asked())
                .child(composer()),
        )
        .child(notes())
        .into_child()
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
            Some(Notice::Kept(kept)) => durability(*kept)
                .map_or_else(nothing, |warning| strip("warn", warning.to_owned()).view()),
            Some(Notice::Saving(why)) => strip("warn", fill(T::StorageFailed, &[why]))
                .child(button(T::ExportAll, act::export_all))
                .view(),
            Some(Notice::Reply { why, arrived }) => {
                let told = strip("warn", fill(T::ReplyFailed, &[why]));
                part(told, arrived)
                    .child(button(T::TryAgain, act::retry))
                    .view()
            }
            Some(Notice::Open(arrived)) if arrived.is_empty() => {
                strip("page", t(T::QuestionOpen).to_owned())
                    .child(button(T::WriteReply, act::retry))
                    .view()
            }
            Some(Notice::Open(arrived)) => {
                part(strip("page", t(T::ReplyBroken).to_owned()), arrived)
                    .child(button(T::WriteReply, act::retry))
                    .view()
            }
        }
    })
}

/// What had arrived of a reply, which can be kept as it is.
fn part(strip: El, arrived: &str) -> El {
    if arrived.is_empty() {
        return strip;
    }
    strip
        .child(el("pre").class("part").child(arrived.to_owned()))
        .child(button(T::KeepPart, act::keep_part))
}

/// What of the session cannot be read, and the way to save the rest.
fn losses() -> AnyView {
    let state = AppState::here();
    live_on(
        move || state.losses.with(Vec::len),
        |lost| {
            if *lost == 0 {
                return nothing();
            }
            let told = fill(T::LossesTold, &[&number(*lost as u32)]);
            strip("warn", told)
                .attr("id", "losses")
                .child(act::losses())
                .child(button(T::DamagedSave, || {
                    act::export_session(Format::Json);
                }))
                .view()
        },
    )
}

/// The tool calls of a reply, while there are some.
fn calls() -> AnyView {
    let state = AppState::here();
    live_if(move || state.calls.get() > 0, act::calls_inside)
}

/// Asks whether what was just said is to hold for the whole conversation. One at a time, the newest first.
fn asked() -> AnyView {
    let state = AppState::here();
    let newest = move || {
        let follower = state.open.with(|o| o.as_ref().is_some_and(|o| o.follower));
        let newest = state.asked.with(|all| all.last().cloned());
        newest.filter(|_| !follower)
    };
    live_on(newest, |newest| {
        let Some((id, words)) = newest.clone() else {
            return nothing();
        };
        let decide = move |label: T, accept: bool| {
            el("button")
                .class("btn")
                .attr("type", "button")
                .child(t(label))
                .click(move || act::decide_proposal(id, accept))
        };
        el("div")
            .class("keep-it")
            .attr("id", "ask")
            .attr("role", "status")
            .child(
                el("p")
                    .child(el("span").class("sub").child(t(T::AskKeep)))
                    .child(el("q").attr("dir", "auto").child(words)),
            )
            .child(decide(T::AskYes, true))
            .child(decide(T::AskNo, false))
            .view()
    })
}

fn strip(icon_name: &'static str, text: String) -> El {
    el("div")
        .class("notice")
        .attr("role", "alert")
        .child(icon(icon_name))
        .child(el("p").child(text))
}

/// What to do when no model answers.
pub fn offline(connection: Connection) -> AnyView {
    let state = AppState::here();
    let address = state.settings.with_untracked(|s| s.address.clone());
    let block = el("div").class("offline").attr("role", "note");
    let server = state.settings.with_untracked(|s| s.server);
    if server == Server::InPage && connection == Connection::Empty {
        return block
            .child(el("h3").child(t(T::NoModelInstalled)))
            .child(el("p").child(t(T::InPageNone)))
            .child(el("p").class("acts").child(model_file("first-model-file")))
            .view();
    }
    if connection == Connection::Empty {
        return block
            .child(el("h3").child(t(T::NoModelInstalled)))
            .child(el("p").child(fill(T::InstallModel, &["ollama pull llama3.2:3b"])))
            .view();
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
                .child(if server == Server::InPage {
                    t(T::OfflineInPage).to_owned()
                } else {
                    fill(T::OfflineTitle, &[&address])
                }),
        )
        .child(el("p").child(t(T::OfflineText)))
        .child(first_step)
        .child(
            (server != Server::InPage && resident::is_possible()).then(|| {
                let use_it = button(T::UseInPage, || act::choose_server(Server::InPage));
                el("p")
                    .class("acts")
                    .child(use_it.attr("id", "use-page-model"))
            }),
        )
        .view()
}
