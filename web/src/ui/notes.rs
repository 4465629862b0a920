//! The notes beside the thread: system prompt, pins, layers.

use leptos::prelude::AnyView;

use crate::act;
use crate::el::{El, IntoChild, el, live, nothing};
use crate::icon::icon;
use crate::page;
use crate::signal::{derived, effect};
use crate::state::{AppState, Dialog};
use crate::text::{T, count, fill, number, t};
use crate::ui::bar::{age_name, band_class};
use crate::view::layer::{LayerView, band};
use crate::view::record::{GoalItem, GoalKind, PinView, QuoteView, SnapshotView, Why};

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
        .child(goal(state))
        .child(proposals(state))
        .child(pins(state))
        .child(layers(state))
        .child(live(move || {
            let words = state.trust.get();
            if words.is_empty() {
                return nothing();
            }
            el("p").class("sub trust").child(words).view()
        }))
        .child(quotes(state))
        .child(snapshots(state))
        .child(system(state))
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

/// A heading with a button beside it that opens a dialog.
fn head(title: T, id: &'static str, button: T, then: impl FnMut() + 'static) -> El {
    el("h2").child(t(title)).child(
        el("button")
            .class("link")
            .attr("type", "button")
            .attr("id", id)
            .attr("aria-label", format!("{}: {}", t(title), t(button)))
            .child(t(button))
            .click(then),
    )
}

/// A small button at the end of a line.
fn small(label: String, icon_name: &'static str, then: impl FnMut() + 'static) -> El {
    el("button")
        .class("quiet")
        .attr("type", "button")
        .attr("aria-label", label)
        .child(icon(icon_name))
        .click(then)
}

fn goal(state: AppState) -> El {
    let edit = move || {
        if state.open.with_untracked(Option::is_some) {
            state.dialog.set(Some(Dialog::Goal));
        }
    };
    el("section")
        .child(head(T::Goal, "edit-goal", T::Edit, edit))
        .live(move || {
            let Some(goal) = state.goal.get() else {
                return el("p").class("sub").child(t(T::GoalNone)).view();
            };
            let words = el("p")
                .class("goal")
                .attr("dir", "auto")
                .child(goal.text.clone());
            let words = if goal.reached {
                words.child(" ").child(
                    el("span")
                        .class("okc")
                        .child(icon("check"))
                        .child(t(T::GoalReached)),
                )
            } else {
                words
            };
            el("div")
                .child(words)
                .child(
                    el("ul")
                        .class("marks")
                        .children(goal.items.iter().map(goal_item)),
                )
                .child(
                    el("p")
                        .class("sub")
                        .child(fill(T::GoalTokens, &[&number(goal.tokens)])),
                )
                .into_child()
        })
}

/// A line of the goal; a milestone moves on when it is clicked, a decision is locked or unlocked.
pub fn goal_item(item: &GoalItem) -> El {
    let (id, kind) = (item.id, item.kind);
    let (sign, state) = match kind {
        GoalKind::ToDo => ("ring", T::MilestoneToDo),
        GoalKind::Doing => ("dot", T::MilestoneDoing),
        GoalKind::Done => ("check", T::MilestoneDone),
        GoalKind::Decision { locked: true } => ("lock", T::DecisionLocked),
        GoalKind::Decision { locked: false } => ("flag", T::DecisionOpen),
        GoalKind::Artifact => ("page", T::GoalArtifact),
        GoalKind::Next => ("chev", T::GoalNext),
        GoalKind::Blocker => ("warn", T::GoalBlocker),
    };
    let turns = matches!(
        kind,
        GoalKind::ToDo | GoalKind::Doing | GoalKind::Done | GoalKind::Decision { .. }
    );
    let label = format!("{}: {}", t(state), item.text);
    let mark = if turns {
        small(label, sign, move || act::turn_goal_item(id, kind)).view()
    } else {
        icon(sign)
    };
    el("li")
        .child(mark)
        .child(el("span").attr("dir", "auto").child(item.text.clone()))
        .child(small(
            format!("{}: {}", t(T::Remove), item.text),
            "cross",
            move || act::remove_goal_item(id),
        ))
}

fn pins(state: AppState) -> El {
    let add = move || {
        if state.open.with_untracked(Option::is_some) {
            state.dialog.set(Some(Dialog::Pin));
        }
    };
    el("section")
        .child(head(T::Pinned, "add-pin", T::Add, add))
        .live(move || {
            let pins = state.pins.get();
            if pins.is_empty() {
                return el("p").class("sub").child(t(T::PinnedNone)).view();
            }
            el("ul")
                .class("marks")
                .children(pins.iter().map(pin_line))
                .into_child()
        })
}

fn pin_line(pin: &PinView) -> El {
    let id = pin.id;
    let (sign, from) = match pin.why {
        Why::Pinned => ("pin", None),
        Why::Decision => ("lock", Some(t(T::Decided).to_owned())),
        Why::Demand(place) => ("lock", Some(fill(T::FromMessage, &[&place.to_string()]))),
    };
    let words = el("span")
        .attr("dir", "auto")
        .child(pin.text.clone())
        .child(from.map(|from| el("i").child(from)));
    el("li").child(icon(sign)).child(words).child(small(
        format!("{}: {}", t(T::Remove), pin.text),
        "cross",
        move || act::unpin(id),
    ))
}

/// What a summary proposes for the goal: nothing of it counts until the person accepts it.
fn proposals(state: AppState) -> AnyView {
    live(move || {
        let all = state.proposals.get();
        if all.is_empty() {
            return nothing();
        }
        let line = |(id, words): &(u32, String)| {
            let id = *id;
            let button = |label: T, sign: &'static str, accept: bool| {
                small(format!("{}: {words}", t(label)), sign, move || {
                    act::decide_proposal(id, accept);
                })
            };
            el("li")
                .child(el("span").attr("dir", "auto").child(words.clone()))
                .child(button(T::Accept, "check", true))
                .child(button(T::Decline, "cross", false))
        };
        el("section")
            .attr("id", "proposals")
            .child(el("h2").child(t(T::Proposed)))
            .child(el("p").class("sub").child(t(T::ProposedHelp)))
            .child(el("ul").class("marks").children(all.iter().map(line)))
            .into_child()
    })
}

/// Passages quoted for the last question: shown, and removable.
fn quotes(state: AppState) -> AnyView {
    live(move || {
        let quotes = state.quotes.get();
        if quotes.is_empty() {
            return nothing();
        }
        let line = |quote: &QuoteView| {
            let place = quote.place;
            el("li")
                .child(icon("eye"))
                .child(
                    el("span")
                        .attr("dir", "auto")
                        .child(quote.text.clone())
                        .child(el("i").child(fill(T::FromMessage, &[&place.to_string()]))),
                )
                .child(small(
                    format!("{}: {place}", t(T::Remove)),
                    "cross",
                    move || act::forget_quote(place),
                ))
        };
        let total: u32 = quotes.iter().map(|q| q.tokens).sum();
        el("section")
            .child(
                el("h2")
                    .child(t(T::Recalled))
                    .child(el("i").child(number(total))),
            )
            .child(el("p").class("sub").child(t(T::RecalledHelp)))
            .child(
                el("ul")
                    .class("marks quotes")
                    .children(quotes.iter().map(line)),
            )
            .into_child()
    })
}

fn snapshots(state: AppState) -> El {
    let all = move || {
        if state.open.with_untracked(Option::is_some) {
            state.dialog.set(Some(Dialog::Snapshots));
        }
    };
    el("section")
        .child(head(T::Snapshots, "snapshots", T::ShowAll, all))
        .live(move || {
            let all = state.snapshots.get();
            if all.is_empty() {
                return el("p").class("sub").child(t(T::SnapshotsNone)).view();
            }
            let line = |s: &SnapshotView| {
                el("li").child(icon("bookmark")).child(
                    el("span")
                        .attr("dir", "auto")
                        .child(snapshot_name(s))
                        .child(el("i").child(count(T::MessagesOne, T::MessagesMany, s.messages))),
                )
            };
            // what somebody named comes before what was made by itself
            let (named, own): (Vec<_>, Vec<_>) = all.iter().partition(|s| !s.name.is_empty());
            el("ul")
                .class("marks")
                .children(named.into_iter().chain(own).take(3).map(line))
                .into_child()
        })
}

/// A snapshot's name, or why it was made.
pub fn snapshot_name(snapshot: &SnapshotView) -> String {
    let when = page::clock(snapshot.at);
    if snapshot.name.is_empty() {
        format!("{when} {}", t(T::SnapshotAutomatic))
    } else {
        format!("{when} {}", snapshot.name)
    }
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
