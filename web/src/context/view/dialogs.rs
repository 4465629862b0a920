//! Dialogs that show a layer, the price of its lift, and what a compaction would do.

use leptos::prelude::AnyView;

use crate::act;
use crate::chat::data::thread::Entry;
use crate::context::data::record::Takes;
use crate::context::view::card::dropped;
use crate::context::view::layers;
use crate::platform::el::{El, el, nothing};
use crate::state::AppState;
use crate::text::{T, fill, number, t};
use crate::widgets::dialog::{PLAIN, SOLID, frame, then_close};
use crate::widgets::prose::prose;
use crate::widgets::words::{self, age_name};

/// Shows a layer: its text, what it holds word for word, and what can be done with it.
pub fn layer(state: AppState) -> AnyView {
    let Some(layer) = state.layer.get_untracked() else {
        return nothing();
    };
    let (from, to) = layer.range();
    let author = layers::author(&layer);
    let cost = fill(
        T::LayerCost,
        &[
            &from.to_string(),
            &to.to_string(),
            &number(layer.original),
            &number(layer.tokens),
            &author,
        ],
    );
    let facts = el("dl")
        .class("facts tight")
        .child(layers::listed(T::LayerDecisions, &layer.decisions))
        .child(layers::listed(T::LayerFiles, &layer.files))
        .child(layers::listed(T::LayerSteps, &layer.steps))
        .child(
            el("div")
                .child(el("dt").child(t(T::CardDropped)))
                .child(dropped(&layer.dropped, 0)),
        );
    let body = el("div")
        .class("layer")
        .child(
            el("p")
                .class("cost")
                .child(format!("{} · {cost}", age_name(layer.age))),
        )
        .child(
            el("div")
                .class("script")
                .attr("dir", "auto")
                .child(prose(&layer.text)),
        )
        .child(ledger(&layer.ledger))
        .child(facts)
        .child(layers::hands(state, layer.id, layer.number));
    frame(state, fill(T::Layer, &[&layer.number.to_string()]), body)
}

/// Facts carried word for word.
fn ledger(facts: &[String]) -> Option<El> {
    (!facts.is_empty()).then(|| {
        el("dl")
            .class("facts tight")
            .child(el("div").child(el("dt").child(t(T::CardKept))).child(
                el("dd").child(el("ul").children(facts.iter().map(|f| el("li").child(f.clone())))),
            ))
    })
}

/// A price before a lift.
pub fn lift(state: AppState) -> AnyView {
    let Some(layer) = state.layer.get_untracked() else {
        return nothing();
    };
    let (used, limit) = state
        .budget
        .with_untracked(|b| b.as_ref().map_or((0, 0), |b| (b.used, b.limit)));
    let more = layer.original.saturating_sub(layer.tokens);
    let after = used.saturating_add(more);
    let (from, to) = layer.range();
    let id = layer.id;
    let body = el("div")
        .child(el("p").child(fill(
            T::LiftText,
            &[&from.to_string(), &to.to_string(), &number(more)],
        )))
        .child(
            el("p")
                .class(if after > limit { "badc" } else { "sub" })
                .child(fill(
                    if after > limit {
                        T::LiftOver
                    } else {
                        T::LiftFits
                    },
                    &[&number(after), &number(limit)],
                )),
        )
        .child(
            el("p")
                .class("acts end")
                .child(then_close(state, T::Cancel, PLAIN, || {}))
                .child(then_close(state, T::LiftLayer, SOLID, move || {
                    act::lift(id, false);
                })),
        );
    frame(
        state,
        fill(T::LiftTitle, &[&layer.number.to_string()]),
        body,
    )
}

/// What a layer says beside what it covers.
pub fn compare(state: AppState) -> AnyView {
    let Some(layer) = state.layer.get_untracked() else {
        return nothing();
    };
    let covered = state.thread.with_untracked(|all| {
        all.iter()
            .filter_map(|entry| match entry {
                Entry::Message(m) if layer.covers(m.seq) => Some(m.clone()),
                _ => None,
            })
            .collect::<Vec<_>>()
    });
    let said = el("div")
        .class("side-said")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", t(T::LensSaid))
        .child(el("h3").child(t(T::LensSaid)))
        .children(covered.iter().map(|m| {
            el("article")
                .child(el("b").class("sub").child(format!(
                    "{} {}",
                    words::speaker(m.who, &m.name),
                    m.seq
                )))
                .child(prose(&act::words(&m.blocks)))
        }));
    let written = el("div")
        .class("side-layer")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", fill(T::Layer, &[&layer.number.to_string()]))
        .child(el("h3").child(fill(T::Layer, &[&layer.number.to_string()])))
        .child(
            el("div")
                .class("script")
                .attr("dir", "auto")
                .child(prose(&layer.text)),
        )
        .child(ledger(&layer.ledger))
        .child(
            el("dl").class("facts tight").child(
                el("div")
                    .child(el("dt").child(t(T::CardDropped)))
                    .child(dropped(&layer.dropped, 0)),
            ),
        );
    let body = el("div").class("compare").child(said).child(written);
    frame(
        state,
        fill(T::CompareTitle, &[&layer.number.to_string()]),
        body,
    )
}

/// What a compaction would do, before it is asked for.
pub fn preview(state: AppState) -> AnyView {
    let Some(plan) = state.preview.get_untracked() else {
        return nothing();
    };
    let fact = |name: T, text: String| {
        el("div")
            .child(el("dt").child(t(name)))
            .child(el("dd").child(text))
    };
    let focus = plan.focus.clone();
    let takes = match plan.takes {
        Takes::Nothing => t(T::TakesNothing).to_owned(),
        Takes::Seconds(n) => fill(T::TakesSeconds, &[&number(n)]),
        Takes::Unknown => t(T::TakesUnknown).to_owned(),
    };
    let body = el("div")
        .child(
            el("dl")
                .class("facts")
                .child(fact(
                    T::PreviewWindow,
                    format!("{} → ≈ {}", number(plan.before), number(plan.after)),
                ))
                .child(fact(
                    T::CardCovers,
                    fill(
                        T::PreviewCovers,
                        &[
                            &plan.covers.0.to_string(),
                            &plan.covers.1.to_string(),
                            &number(plan.messages),
                        ],
                    ),
                ))
                .child(fact(
                    T::PreviewRead,
                    fill(
                        T::PreviewReadText,
                        &[&number(plan.read), &number(plan.layer)],
                    ),
                ))
                .child(fact(T::PreviewTakes, takes)),
        )
        .child(el("p").class("sub").child(t(T::PreviewHelp)))
        .child(
            el("p")
                .class("acts end")
                .child(then_close(state, T::Cancel, PLAIN, || {}))
                .child(then_close(state, T::CompactNow, SOLID, move || {
                    act::compact(focus.clone());
                })),
        );
    frame(state, t(T::PreviewTitle).to_owned(), body)
}
