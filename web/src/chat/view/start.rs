//! What an empty session says.

use leptos::prelude::AnyView;
use palimpsest_engine::is_temporary;

use crate::act;
use crate::app::data::address::Screen;
use crate::library::data::kept::Kept;
use crate::platform::el::{el, live_on, nothing};
use crate::platform::{guest, page};
use crate::settings::data::connection::Connection;
use crate::state::{AppState, Dialog, Open};
use crate::text::{T, t};
use crate::widgets::field::button;

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
            .child(el("p").child(t(if guest::keeps() {
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
