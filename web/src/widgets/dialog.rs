//! The frame of a dialog, on the native element, and the pieces of its form.

use leptos::prelude::AnyView;
use wasm_bindgen::JsCast;
use web_sys::HtmlDialogElement;

use crate::platform::el::{El, IntoChild, el};
use crate::platform::icon::icon;
use crate::platform::page::next_frame;
use crate::state::AppState;
use crate::text::{T, t};

/// The frame: modal, closed by Escape and by its cross.
pub fn frame(state: AppState, title: String, body: El) -> AnyView {
    let close = move || state.dialog.set(None);
    el("dialog")
        .attr("aria-labelledby", "h-dialog")
        .made(|element| {
            // A dialog can only be shown once it is in the page.
            next_frame(move || {
                if let Ok(dialog) = element.dyn_into::<HtmlDialogElement>()
                    && dialog.is_connected()
                {
                    let _ = dialog.show_modal();
                }
            });
        })
        .on("close", move |_| close())
        .on("click", move |event| {
            // A click on the backdrop hits the dialog itself.
            let outside = event
                .target()
                .zip(event.current_target())
                .is_some_and(|(target, own)| target == own);
            if outside {
                close();
            }
        })
        .child(
            el("header")
                .child(el("h2").attr("id", "h-dialog").child(title))
                .child(
                    el("button")
                        .class("quiet")
                        .attr("type", "button")
                        .attr("aria-label", t(T::Close))
                        .child(icon("cross"))
                        .click(close),
                ),
        )
        .child(body)
        .into_child()
}

/// The buttons at the foot of a form that saves something.
pub fn buttons(state: AppState) -> El {
    buttons_for(state, T::Save)
}

/// The buttons at the foot of a form: one leaves it, and the other does what `name` says.
pub fn buttons_for(state: AppState, name: T) -> El {
    el("p")
        .class("acts end")
        .child(
            el("button")
                .class("btn")
                .attr("type", "button")
                .child(t(T::Cancel))
                .click(move || state.dialog.set(None)),
        )
        .child(
            el("button")
                .class("btn solid")
                .attr("type", "submit")
                .child(t(name)),
        )
}

/// A form that does `then` when it is sent.
pub fn form(then: impl FnMut() + 'static) -> El {
    let mut then = then;
    el("form").on("submit", move |event| {
        event.prevent_default();
        then();
    })
}

/// A labelled text area of a dialog.
pub fn area(label: T, id: &'static str, rows: &'static str, text: String) -> El {
    el("label")
        .child(el("span").class("sub").child(t(label)))
        .child(
            el("textarea")
                .attr("rows", rows)
                .attr("dir", "auto")
                .attr("id", id)
                .flag("autofocus", true)
                .child(text),
        )
}

/// The look of a button that is one of several.
pub const PLAIN: &str = "btn";
/// The look of the button that does what the dialog is for.
pub const SOLID: &str = "btn solid";
/// The look of a button that removes something for good.
pub const DANGER: &str = "btn danger";

/// A button that closes the dialog and does something.
pub fn then_close(
    state: AppState,
    text: T,
    class: &'static str,
    mut then: impl FnMut() + 'static,
) -> El {
    el("button")
        .class(class)
        .attr("type", "button")
        .child(t(text))
        .click(move || {
            state.dialog.set(None);
            then();
        })
}
