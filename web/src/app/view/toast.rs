//! Short notes at the foot of the page, and the line a screen reader hears.

use crate::act;
use crate::platform::el::{El, each, el};
use crate::platform::icon::icon;
use crate::state::{AppState, Toast};
use crate::text::{T, t};

/// The notes.
pub fn toasts() -> El {
    let state = AppState::here();
    el("div").class("toasts").child(each(
        move || state.toasts.get(),
        |toast| u64::from(toast.id),
        |one| toast(one).view(),
    ))
}

fn toast(toast: Toast) -> El {
    let id = toast.id;
    let undo = toast.undo.map(|undo| {
        el("button")
            .class("btn")
            .attr("type", "button")
            .child(t(T::Undo))
            .click(move || act::take_back(id, undo.clone()))
    });
    el("div")
        .class(if toast.bad { "toast bad" } else { "toast" })
        .child(toast.bad.then(|| icon("warn")))
        .child(el("p").child(toast.text))
        .child(undo)
        .child(
            el("button")
                .class("quiet")
                .attr("type", "button")
                .attr("aria-label", t(T::Close))
                .child(icon("cross"))
                .click(move || act::drop_toast(id)),
        )
}

/// The polite line for screen readers: only boundaries are said, never every token.
pub fn status() -> El {
    let state = AppState::here();
    el("p")
        .class("vh")
        .attr("role", "status")
        .attr("id", "status")
        .text_live(move || state.status.get())
}
