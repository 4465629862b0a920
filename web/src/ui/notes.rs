//! The notes beside the thread: system prompt, pins, layers.

use leptos::prelude::AnyView;

use crate::act;
use crate::el::{El, IntoChild, el, live, nothing};
use crate::icon::icon;
use crate::page;
use crate::signal::{derived, effect};
use crate::state::{AppState, Dialog};
use crate::text::{T, number, t};
use crate::ui::bar::{age_name, band_class};
use crate::view::layer::{LayerView, band};

/// The notes: a column, or a sheet where the page is narrow.
pub fn notes() -> El {
    let state = AppState::here();
    effect(move || page::mark("data-notes", state.notes.get().then_some("")));
    el("aside")
        .class("notes")
        .attr("id", "notes")
        .attr("aria-label", t(T::NotesLabel))
        .child(
            el("button")
                .class("quiet notes-close")
                .attr("type", "button")
                .attr("aria-label", t(T::Close))
                .child(icon("cross"))
                .click(move || {
                    state.notes.set(false);
                    page::focus(".notes-open");
                }),
        )
        .child(system(state))
        .child(pins(state))
        .child(layers(state))
}

fn system(state: AppState) -> El {
    let text = derived(move || {
        state
            .open
            .with(|o| o.as_ref().map(|o| o.system.clone()))
            .unwrap_or_default()
    });
    let edit = el("button")
        .class("link")
        .attr("type", "button")
        .attr("id", "edit-system")
        .child(t(T::Edit))
        .click(move || {
            if state.open.with(Option::is_some) {
                state.dialog.set(Some(Dialog::System));
            }
        });
    el("section")
        .child(el("h2").child(t(T::SystemPrompt)).child(edit))
        .live(move || {
            let text = text.get();
            if text.is_empty() {
                el("p").class("sub").child(t(T::SystemPromptNone)).view()
            } else {
                el("p")
                    .class("system")
                    .attr("dir", "auto")
                    .child(text)
                    .into_child()
            }
        })
}

fn pins(state: AppState) -> AnyView {
    live(move || {
        let pins = state.pins.get();
        if pins.is_empty() {
            return nothing();
        }
        let lines = pins.into_iter().map(|pin| {
            el("li")
                .child(icon("lock"))
                .child(el("span").attr("dir", "auto").child(pin))
        });
        el("section")
            .child(el("h2").child(t(T::Pinned)))
            .child(el("ul").class("marks").children(lines))
            .into_child()
    })
}

fn layers(state: AppState) -> El {
    let total = move || {
        state
            .layers
            .with(|all| all.iter().map(|l| l.tokens).sum::<u32>())
    };
    let head = el("h2")
        .child(t(T::Layers))
        .child(el("i").text_live(move || match total() {
            0 => String::new(),
            n => number(n),
        }));
    let compact = el("button")
        .class("btn")
        .attr("type", "button")
        .attr("id", "compact")
        .child(icon("strata"))
        .child(t(T::CompactNow))
        .click(|| act::compact(String::new()));
    el("section")
        .child(head)
        .live(move || {
            let all = state.layers.get();
            if all.is_empty() {
                return el("p").class("sub").child(t(T::LayersNone)).view();
            }
            let largest = all.iter().map(|l| l.tokens).max().unwrap_or(1);
            el("ol")
                .class("strata")
                .children(all.iter().map(|layer| strip(layer, largest)))
                .into_child()
        })
        .child(el("p").class("acts").child(compact))
}

fn strip(layer: &LayerView, largest: u32) -> El {
    let (id, key) = (layer.number, layer.id);
    let (from, to) = layer.range();
    let words = el("span")
        .child(el("b").child(format!("{id} · {}", age_name(layer.age))))
        .child(format!("{from}–{to}"))
        .child(el("i").child(number(layer.tokens)));
    let height = format!("{}px", band(layer.tokens, largest));
    el("li").child(
        el("button")
            .attr("type", "button")
            .child(
                el("span")
                    .class(band_class(layer.age))
                    .var("block-size", height),
            )
            .child(words)
            .click(move || act::read_layer(key)),
    )
}
