//! The library's deleted sessions, and those that no list can show.

use leptos::prelude::AnyView;

use crate::act;
use crate::platform::el::{El, el, live_on, nothing};
use crate::state::{AppState, Trashed};
use crate::text::{T, fill, number, t};
use crate::widgets::field;

/// Letters of an identifier that tell damaged sessions apart.
const LETTERS: usize = 8;

/// Deleted sessions: how long they stay, the way back, and the way out.
pub fn trash(state: AppState) -> El {
    let list = live_on(
        move || state.trash.get(),
        |all| {
            if all.is_empty() {
                return el("p").class("empty sub").child(t(T::TrashNone)).view();
            }
            el("ul").class("trash").children(all.iter().map(row)).view()
        },
    );
    el("section")
        .class("bin")
        .attr("id", "deleted")
        .attr("aria-labelledby", "h-deleted")
        .child(el("h2").attr("id", "h-deleted").child(t(T::Trash)))
        .child(el("p").class("sub").child(t(T::TrashHelp)))
        .child(list)
        .child(damaged(state))
}

fn row(session: &Trashed) -> El {
    let title = if session.title.is_empty() {
        t(T::Untitled).to_owned()
    } else {
        session.title.clone()
    };
    let days = match session.days {
        1 => t(T::TrashDay).to_owned(),
        days => fill(T::TrashDays, &[&number(days)]),
    };
    let (back, gone, old) = (
        session.id.clone(),
        session.id.clone(),
        session.title.clone(),
    );
    el("li")
        .child(el("b").attr("dir", "auto").child(title.clone()))
        .child(" ")
        .child(el("span").class("sub").child(days))
        .child(" ")
        .child(button(T::TrashRestore, &title, move || {
            act::bring_back(back.clone());
        }))
        .child(" ")
        .child(button(T::TrashPurge, &title, move || {
            act::purge(gone.clone(), old.clone());
        }))
}

/// Sessions whose head cannot be read.
fn damaged(state: AppState) -> AnyView {
    live_on(
        move || state.damaged.get(),
        |all| {
            if all.is_empty() {
                return nothing();
            }
            let line = |id: &String| {
                let short: String = id.chars().take(LETTERS).collect();
                let title = fill(T::DamagedSession, &[&short]);
                let (open, save, gone) = (id.clone(), id.clone(), id.clone());
                let shown = title.clone();
                el("li")
                    .child(el("b").child(title.clone()))
                    .child(" ")
                    .child(button(T::DamagedOpen, &title, move || {
                        act::open_damaged(open.clone());
                    }))
                    .child(" ")
                    .child(button(T::DamagedSave, &title, move || {
                        act::save_what_is_left(save.clone());
                    }))
                    .child(" ")
                    .child(button(T::TrashPurge, &title, move || {
                        act::purge(gone.clone(), shown.clone());
                    }))
            };
            el("div")
                .attr("id", "damaged")
                .child(el("h3").child(t(T::DamagedSessions)))
                .child(el("p").class("sub").child(t(T::DamagedHelp)))
                .child(el("ul").class("trash").children(all.iter().map(line)))
                .view()
        },
    )
}

fn button(text: T, of: &str, then: impl FnMut() + 'static) -> El {
    field::button(text, then).attr("aria-label", format!("{}: {of}", t(text)))
}
