//! The dialogs for pins: lines that the model reads word for word in every request.

use leptos::prelude::AnyView;

use crate::act;
use crate::chat::data::sentences::sentences;
use crate::platform::el::{El, el};
use crate::platform::page;
use crate::platform::signal::Signal;
use crate::state::AppState;
use crate::text::{T, fill, t};
use crate::widgets::dialog::{PLAIN, area, buttons, buttons_for, form, frame, then_close};

/// A line that the person types.
pub fn typed(state: AppState) -> AnyView {
    let body = form(move || {
        let text = page::value("#pin-text");
        if !text.trim().is_empty() {
            act::pin(vec![text], page::checked("#pin-decision"));
        }
        state.dialog.set(None);
    })
    .child(area(T::PinHelp, "pin-text", "3", String::new()))
    .child(tick("pin-decision", t(T::PinDecision).to_owned()))
    .child(buttons(state));
    frame(state, t(T::Pinned).to_owned(), body)
}

/// The sentences of the message with the number `place`: those that are ticked are pinned, or all that it says.
pub fn sentences_of(state: AppState, place: u32, text: String) -> AnyView {
    let all = sentences(&text);
    let ticks: Vec<El> = all
        .iter()
        .enumerate()
        .map(|(n, said)| tick(&format!("pin-{n}"), said.clone()))
        .collect();
    let none = Signal::new(false);
    let body = form(move || {
        let ticked = all.iter().enumerate();
        let ticked = ticked.filter(|(n, _)| page::checked(&format!("#pin-{n}")));
        let chosen: Vec<String> = ticked.map(|(_, said)| said.clone()).collect();
        if chosen.is_empty() {
            none.set(true);
            return;
        }
        act::pin(chosen, false);
        state.dialog.set(None);
    })
    .child(
        el("fieldset")
            .class("only sentences")
            .child(el("legend").class("sub").child(t(T::PinWhich)))
            .children(ticks),
    )
    .child(
        el("span")
            .class("badc")
            .attr("role", "alert")
            .text_live(move || {
                if none.get() {
                    t(T::PinNone).to_owned()
                } else {
                    String::new()
                }
            }),
    )
    .child(
        buttons_for(state, T::Pin).child(then_close(state, T::PinAll, PLAIN, move || {
            act::pin(vec![text.clone()], false);
        })),
    );
    frame(state, fill(T::PinTitle, &[&place.to_string()]), body)
}

fn tick(id: &str, said: String) -> El {
    el("label")
        .class("tick-box")
        .child(
            el("input")
                .attr("type", "checkbox")
                .attr("id", id.to_owned()),
        )
        .child(el("span").attr("dir", "auto").child(said))
}
