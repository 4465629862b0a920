//! The dialog that says something else in place of a message.

use leptos::prelude::AnyView;

use crate::act;
use crate::platform::el::el;
use crate::platform::icon::icon;
use crate::platform::page;
use crate::state::AppState;
use crate::text::{T, fill, t};
use crate::widgets::dialog::{PLAIN, area, form, frame, then_close};

/// Asks for the words that take the place of a message.
pub fn edit(state: AppState, place: u32, text: String) -> AnyView {
    let body = form(move || {
        let text = page::value("#edit-text");
        state.dialog.set(None);
        act::resend(place, text);
    })
    .child(area(T::EditHelp, "edit-text", "8", text))
    .child(
        el("p")
            .class("acts end")
            .child(then_close(state, T::Cancel, PLAIN, || {}))
            .child(
                el("button")
                    .class("btn solid")
                    .attr("type", "submit")
                    .child(icon("branch"))
                    .child(t(T::Resend)),
            ),
    );
    frame(state, fill(T::EditTitle, &[&place.to_string()]), body)
}
