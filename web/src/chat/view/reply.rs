//! The reply that is being written. Finished blocks are made once; only the tail is read again.

use leptos::prelude::AnyView;
use web_sys::Element;

use crate::act;
use crate::chat::data::thread::Who;
use crate::chat::view::message::thinking;
use crate::markdown::{self, Splitter};
use crate::platform::el::{IntoChild, el, live_if, live_on, nothing};
use crate::platform::signal::effect;
use crate::state::AppState;
use crate::text::{T, t};
use crate::widgets::words::speaker;

/// The reply, while there is one.
pub fn reply() -> AnyView {
    let state = AppState::here();
    let who = move || {
        state
            .reply
            .with(|r| r.as_ref().map(|r| (r.seq, r.name.clone())))
    };
    live_on(who, move |who| {
        let Some((seq, name)) = who else {
            return nothing();
        };
        // unfolded it stays unfolded while more comes in
        let thought = live_if(
            move || !state.reply_thinking.with(String::is_empty),
            move || thinking(el("p").text_live(move || state.reply_thinking.get())).into_child(),
        );
        el("article")
            .class("msg replying")
            .attr("aria-busy", "true")
            .attr("data-seq", seq.to_string())
            .child(
                el("header")
                    .child(el("b").child(speaker(Who::Model, name)))
                    .child(el("span").child(seq.to_string())),
            )
            .child(
                el("div")
                    .class("body")
                    .child(thought)
                    .child(
                        el("div")
                            .class("prose")
                            .made(move |element| write(state, &element)),
                    )
                    .child(waiting(state)),
            )
            .into_child()
    })
}

/// Three dots until the first word.
fn waiting(state: AppState) -> AnyView {
    live_if(
        move || state.reply_text.with(String::is_empty),
        || {
            el("p")
                .class("waiting")
                .attr("aria-label", t(T::ReplyStreaming))
                .child("…")
                .view()
        },
    )
}

/// Keeps `element` in step with the text: blocks that can no longer change are appended for good.
fn write(state: AppState, element: &Element) {
    let Some(document) = element.owner_document() else {
        return;
    };
    let (Ok(done), Ok(tail)) = (
        document.create_element("div"),
        document.create_element("div"),
    ) else {
        return;
    };
    let _ = element.append_child(&done);
    let _ = element.append_child(&tail);
    let (mut splitter, mut shown) = (Splitter::new(), 0);
    effect(move || {
        state.reply_text.with(|text| {
            let settled = splitter.settled(text);
            if settled > shown {
                act::write(done.clone(), text[shown..settled].to_owned(), true);
            }
            shown = settled;
            markdown::dom::clear(&tail);
            act::write(tail.clone(), text[settled..].to_owned(), false);
        });
    });
}
