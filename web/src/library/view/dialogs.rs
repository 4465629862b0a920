//! Dialogs about sessions as a whole: a title, a file to take in, the removal of everything.

use leptos::prelude::AnyView;
use wasm_bindgen::JsCast;
use web_sys::{File, HtmlInputElement};

use crate::act;
use crate::library::data::session::tags_of;
use crate::platform::el::el;
use crate::platform::page::{self, next_frame};
use crate::platform::signal::Signal;
use crate::state::AppState;
use crate::text::{T, fill, number, t};
use crate::widgets::dialog::{DANGER, PLAIN, buttons, form, frame, then_close};
use crate::widgets::field::line;

/// Asks for another title, and other tags.
pub fn rename(state: AppState, id: String, title: String) -> AnyView {
    let (tags, known) = state.sessions.with_untracked(|all| {
        let own = all.iter().find(|session| session.id == id);
        let own = own.map(|session| session.tags.join(", "));
        (own.unwrap_or_default(), tags_of(all))
    });
    let body = form(move || {
        let tags = page::value("#new-tags");
        let tags = tags.split(',').map(str::to_owned).collect();
        act::rename(id.clone(), page::value("#new-title"), Some(tags));
        state.dialog.set(None);
    })
    .child(
        el("label")
            .child(el("span").class("sub").child(t(T::Title)))
            .child(
                el("input")
                    .attr("type", "text")
                    .attr("dir", "auto")
                    .attr("id", "new-title")
                    .attr("maxlength", "120")
                    .attr("value", title)
                    .flag("autofocus", true)
                    .made(move |element| {
                        if let Ok(input) = element.dyn_into::<HtmlInputElement>() {
                            next_frame(move || next_frame(move || input.select()));
                        }
                    }),
            ),
    )
    .child(
        el("label")
            .child(el("span").class("sub").child(t(T::TagsHelp)))
            .child(
                line(&tags)
                    .attr("dir", "auto")
                    .attr("id", "new-tags")
                    .attr("list", "known-tags"),
            ),
    )
    .child(
        el("datalist").attr("id", "known-tags").children(
            known
                .iter()
                .map(|tag| el("option").attr("value", tag.clone())),
        ),
    )
    .child(buttons(state));
    frame(state, t(T::Rename).to_owned(), body)
}

/// Asks for a file of conversations or settings, and says what can be read.
pub fn import(state: AppState) -> AnyView {
    let take_system = Signal::new(true);
    let choose = el("label")
        .class("btn solid file")
        .child(t(T::ImportChoose))
        .child(
            el("input")
                .attr("type", "file")
                .attr("id", "file")
                .attr("accept", ".json,.jsonl,.md,application/json")
                .on("change", move |event| {
                    if let Some(file) = event
                        .target()
                        .and_then(|x| x.dyn_into::<HtmlInputElement>().ok())
                        .and_then(|i| i.files())
                        .and_then(|f| f.get(0))
                    {
                        take(state, file, take_system.get_untracked());
                    }
                }),
        );
    let accept = el("label")
        .class("tick-box")
        .child(
            el("input")
                .attr("type", "checkbox")
                .attr("id", "take-system")
                .prop_flag_live("checked", move || take_system.get())
                .on("change", move |_| take_system.update(|on| *on = !*on)),
        )
        .child(t(T::ImportSystem));
    let body = el("div")
        .child(el("p").child(t(T::ImportHelp)))
        .child(accept)
        .child(
            el("p")
                .class("acts")
                .child(choose)
                .child(el("span").class("sub").child(t(T::ImportDrop))),
        );
    frame(state, t(T::ImportTitle).to_owned(), body)
}

fn take(state: AppState, file: File, system: bool) {
    state.dialog.set(None);
    act::import(file, system);
}

/// Asks before everything is deleted.
pub fn erase(state: AppState) -> AnyView {
    let count = state.sessions.with_untracked(Vec::len) as u32;
    let body = el("div")
        .child(el("p").child(fill(T::EraseText, &[&number(count)])))
        .child(
            el("p")
                .class("acts end")
                .child(then_close(state, T::ExportAll, PLAIN, act::export_all))
                .child(then_close(state, T::Cancel, PLAIN, || {}))
                .child(then_close(state, T::EraseNow, DANGER, act::erase).attr("id", "erase-now")),
        );
    frame(state, t(T::Erase).to_owned(), body)
}
