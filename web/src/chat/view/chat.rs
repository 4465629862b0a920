//! The session screen: header, thread, composer, notes.

use leptos::prelude::AnyView;
use palimpsest_engine::is_temporary;

use crate::act;
use crate::app::data::address::Screen;
use crate::app::embed;
use crate::app::view::header::header;
use crate::chat::view::composer::composer;
use crate::chat::view::thread::thread;
use crate::context::view::notes::notes;
use crate::library::data::export::Format;
use crate::library::data::kept::Kept;
use crate::platform::el::{El, IntoChild, el, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::page;
use crate::platform::resident;
use crate::settings::Server;
use crate::settings::data::connection::{Connection, Verdict};
use crate::settings::view::connection::model_file;
use crate::state::{AppState, Dialog, Notice, Open};
use crate::text::{self, T, fill, number, t};

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
                .child(losses())
                .child(thread())
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
            Some(Notice::Kept(kept)) => text::kept(*kept)
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

fn button(text: T, then: impl FnMut() + 'static) -> El {
    el("button")
        .class("btn")
        .attr("type", "button")
        .child(t(text))
        .click(then)
}

/// What an empty session says, and how to connect when no model answers.
pub fn start() -> AnyView {
    let state = AppState::here();
    let shown = move || {
        let empty = state.thread.with(Vec::is_empty) && state.reply.with(Option::is_none);
        let failed = |c: &Connection| matches!(c, Connection::Failed | Connection::Empty);
        let is_so = |open: &Option<Open>| open.as_ref().is_some_and(|o| is_temporary(&o.id));
        let is_temporary = state.open.with(is_so);
        let shown = empty && state.ready.get();
        shown.then(|| (Some(state.connection.get()).filter(failed), is_temporary))
    };
    live_on(shown, move |shown| {
        let Some((failure, is_temporary)) = shown.clone() else {
            return nothing();
        };
        let kept = state.storage.with_untracked(|s| s.kept);
        let block = el("div")
            .class("start")
            .child(el("h2").child(t(T::StartTitle)))
            .child(el("p").child(t(if embed::keeps() {
                T::StartHosted
            } else if is_temporary || kept == Kept::Memory {
                T::StartMemory
            } else {
                T::StartText
            })));
        let block = block.child(failure.clone().map(act::offline));
        let import = button(T::StartImport, move || {
            state.dialog.set(Some(Dialog::Import));
        });
        let connect = failure.as_ref().map(|_| {
            el("a")
                .class("btn solid")
                .attr("href", format!("#{}", Screen::Settings.name()))
                .child(t(T::StartConnect))
        });
        let sample =
            page::sample().map(|_| button(T::StartSample, act::open_sample).attr("id", "sample"));
        let temporary = (!is_temporary && kept != Kept::Memory)
            .then(|| button(T::StartTemporary, act::begin_temporary).attr("id", "temporary"));
        block
            .child(
                el("p")
                    .class("acts")
                    .child(connect)
                    .child(sample)
                    .child(import)
                    .child(temporary),
            )
            .view()
    })
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
