//! A person's hands on layers: their text, who writes it again, and what a new one covers.

use leptos::prelude::AnyView;

use crate::act;
use crate::context::data::layer::{LayerView, Writer};
use crate::library::data::hit::Place;
use crate::platform::el::{El, el, nothing};
use crate::platform::page;
use crate::platform::signal::Signal;
use crate::settings::data::connection::Connection;
use crate::state::{AppState, Dialog};
use crate::text::{T, fill, number, t};
use crate::widgets::dialog::{area, buttons, buttons_for, form, frame};
use crate::widgets::field;

/// Who wrote a layer.
pub fn author(layer: &LayerView) -> String {
    match &layer.author {
        _ if layer.by_person => t(T::You).to_owned(),
        Some(name) => name.clone(),
        None => t(T::CardExtractive).to_owned(),
    }
}

/// A fact of a layer that has several lines, if it has any.
pub fn listed(name: T, lines: &[String]) -> Option<El> {
    (!lines.is_empty()).then(|| {
        let lines = lines.iter();
        let lines = lines.map(|line| el("li").attr("dir", "auto").child(line.clone()));
        el("div")
            .child(el("dt").child(t(name)))
            .child(el("dd").child(el("ul").children(lines)))
    })
}

/// What can be done with the text of a layer that is in the window.
pub fn hands(state: AppState, id: u32, number: u32) -> Option<El> {
    let follows = state
        .open
        .with_untracked(|o| o.as_ref().is_some_and(|o| o.follower));
    let there = state
        .layers
        .with_untracked(|all| all.iter().any(|l| l.id == id));
    let to = move |name: T, dialog: Dialog| {
        el("button")
            .class("btn")
            .attr("type", "button")
            .child(t(name))
            .click(move || state.dialog.set(Some(dialog.clone())))
    };
    (there && !follows).then(|| {
        el("p")
            .class("acts end")
            .child(act::link(Place::Layer(number)).map(|link| {
                el("button")
                    .class("btn")
                    .attr("type", "button")
                    .child(t(T::CopyLink))
                    .click(move || act::copy(link.clone()))
            }))
            .child(to(T::LayerEdit, Dialog::EditLayer))
            .child(to(T::LayerRewrite, Dialog::RewriteLayer))
    })
}

/// A person's own words in place of a layer's text.
pub fn edit(state: AppState) -> AnyView {
    let Some(layer) = state.layer.get_untracked() else {
        return nothing();
    };
    let id = layer.id;
    let body = form(move || {
        let text = page::value("#layer-text");
        state.dialog.set(None);
        act::edit_layer(id, text);
    })
    .child(area(T::LayerEditHelp, "layer-text", "14", layer.whole()))
    .child(buttons(state));
    let title = fill(T::LayerEditTitle, &[&layer.number.to_string()]);
    frame(state, title, body)
}

/// Who writes a layer again, and with an eye on what.
pub fn rewrite(state: AppState) -> AnyView {
    let Some(layer) = state.layer.get_untracked() else {
        return nothing();
    };
    let id = layer.id;
    let (from, to) = layer.range();
    let said = fill(
        T::LayerRewriteHelp,
        &[&from.to_string(), &to.to_string(), &number(layer.original)],
    );
    let body = form(move || {
        let (by, focus) = (writer(), page::value("#layer-focus"));
        state.dialog.set(None);
        act::rewrite_layer(id, by, focus);
    })
    .child(el("p").child(said))
    .child(
        el("label")
            .child(el("span").class("sub").child(t(T::LayerFocus)))
            .child(
                field::line("")
                    .attr("id", "layer-focus")
                    .attr("dir", "auto")
                    .flag("autofocus", true),
            ),
    )
    .child(writers(state))
    .child(buttons_for(state, T::LayerRewrite));
    let title = fill(T::LayerRewriteTitle, &[&layer.number.to_string()]);
    frame(state, title, body)
}

/// Which messages a new layer covers: those up to `place`, unless other numbers are typed.
pub fn cover(state: AppState, place: u32) -> AnyView {
    // what follows the last layer, where that lies before the place
    let first = state.layers.with_untracked(|all| {
        let ends = all.iter().map(|l| l.range().1);
        ends.filter(|to| *to < place).max().map_or(1, |to| to + 1)
    });
    let wrong = Signal::new(false);
    let body = form(move || {
        let typed = |id: &str| page::value(id).trim().parse::<u32>().ok();
        match (typed("#cover-from"), typed("#cover-to")) {
            (Some(from), Some(to)) if 0 < from && from <= to => {
                let by = writer();
                state.dialog.set(None);
                act::cover(from, to, by);
            }
            _ => wrong.set(true),
        }
    })
    .child(el("p").child(t(T::CoverHelp)))
    .child(
        el("div")
            .class("fields")
            .child(place_field(T::CoverFrom, "cover-from", first))
            .child(place_field(T::CoverTo, "cover-to", place)),
    )
    .child(
        el("span")
            .class("badc")
            .attr("role", "alert")
            .text_live(move || {
                if wrong.get() {
                    t(T::CoverWrong).to_owned()
                } else {
                    String::new()
                }
            }),
    )
    .child(writers(state))
    .child(buttons_for(state, T::CompactNow));
    frame(state, t(T::CoverTitle).to_owned(), body)
}

fn place_field(name: T, id: &'static str, place: u32) -> El {
    el("label")
        .child(el("span").class("sub").child(t(name)))
        .child(
            field::line(&place.to_string())
                .attr("id", id)
                .attr("inputmode", "numeric"),
        )
}

/// The choice between the model and the built-in summariser.
fn writers(state: AppState) -> El {
    let connected = state
        .connection
        .with_untracked(|c| *c == Connection::Connected);
    let one = |id: &'static str, name: T, checked: bool| {
        el("label")
            .class("tick-box")
            .child(
                el("input")
                    .attr("type", "radio")
                    .attr("name", "writer")
                    .attr("id", id)
                    .flag("checked", checked),
            )
            .child(t(name))
    };
    el("fieldset")
        .class("only")
        .child(el("legend").class("sub").child(t(T::CardAuthor)))
        .child(one("by-built-in", T::CardExtractive, !connected))
        .child(connected.then(|| one("by-model", T::ByModel, true)))
}

fn writer() -> Writer {
    if page::checked("#by-model") {
        Writer::Model
    } else {
        Writer::BuiltIn
    }
}
