//! The notes beside the thread: system prompt, pins, layers.

use std::hash::Hash;

use leptos::prelude::AnyView;
use palimpsest_core::goal::{GoalStatus, Priority};

use crate::act;
use crate::context::data::layer::{LayerView, band};
use crate::context::data::record::{
    GoalItem, GoalKind, GoalView, OtherSession, PinView, ProposalView, QuoteView, SnapshotView,
    TrustView, Why,
};
use crate::context::view::snapshots::name_of;
use crate::library::data::hit::Place;
use crate::platform::el::{El, IntoChild, each, el, key_of, live_if, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::page;
use crate::platform::signal::effect;
use crate::state::{AppState, Dialog, Open};
use crate::text::{T, count, fill, number, t};
use crate::widgets::bar::band_class;
use crate::widgets::trust::{level_name, pips};
use crate::widgets::words::age_name;

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
        .child(act::notes_inside())
}

/// The content of the notes.
pub fn inside() -> AnyView {
    let state = AppState::here();
    el("aside")
        .child(goal(state))
        .child(proposals(state))
        .child(pins(state))
        .child(layers(state))
        .child(trust(state))
        .child(quotes(state))
        .child(snapshots(state))
        .child(system(state))
        .inside()
}

/// The reliability of the session: shape, word and number, and the arithmetic when unfolded. It stays unfolded while
/// its figures change.
fn trust(state: AppState) -> AnyView {
    let badge = move |trust: &Option<TrustView>| {
        let Some(trust) = trust else {
            return nothing();
        };
        el("span")
            .child(pips(trust.level))
            .child(" ")
            .child(el("b").child(level_name(trust.level)))
            .child(format!(" {} %", trust.percent))
            .view()
    };
    live_if(
        move || state.trust.with(Option::is_some),
        move || {
            let badge = el("details")
                .class("trust")
                .attr("id", "trust")
                .child(
                    el("summary")
                        .live_on(move || state.trust.get(), badge)
                        .child(icon("chev")),
                )
                .live_on(
                    move || state.trust.get(),
                    |trust| trust.as_ref().map_or_else(nothing, arithmetic),
                )
                .child(evidence(state));
            el("section")
                .child(el("h2").child(t(T::Trust)))
                .child(badge)
                .view()
        },
    )
}

fn arithmetic(trust: &TrustView) -> AnyView {
    let line = |words: String| el("p").class("sub").child(words);
    let factor = trust.factor.to_string();
    let kept = match trust.kept {
        Some(kept) => fill(T::TrustKept, &[&kept.to_string()]),
        None => t(T::TrustUnknown).to_owned(),
    };
    let sum = fill(
        T::TrustSum,
        &[
            &factor,
            &trust.kept.unwrap_or(100).to_string(),
            &trust.percent.to_string(),
        ],
    );
    let advice = trust.advice.map(|numbers| {
        let numbers = numbers.map(|n| n.to_string());
        fill(
            T::TrustModel,
            &[&numbers[0], &numbers[1], &numbers[2], &numbers[3]],
        )
    });
    el("div")
        .child(line(fill(
            T::TrustCompactions,
            &[&trust.compactions.to_string(), &factor],
        )))
        .child(line(kept))
        .child(line(sum))
        .child(advice.map(line))
        .view()
}

/// Links to the evidence of the figure: each layer, and the log.
fn evidence(state: AppState) -> El {
    let layers = move || {
        let number = |l: &LayerView| (l.number, l.id);
        state.layers.with(|all| all.iter().map(number).collect())
    };
    let link = |(number, id): (u32, u32)| {
        el("li")
            .child(
                el("button")
                    .class("link")
                    .attr("type", "button")
                    .child(fill(T::Layer, &[&number.to_string()]))
                    .click(move || act::read_layer(id)),
            )
            .view()
    };
    el("div")
        .child(el("p").class("sub").child(t(T::TrustLayers)))
        .child(el("ul").class("acts").child(each(layers, key_of, link)))
        .child(
            el("p").child(
                el("a")
                    .class("link")
                    .attr("href", "#log")
                    .child(t(T::TrustLog)),
            ),
        )
}

fn system(state: AppState) -> El {
    // a skill is an instruction, too
    let text = move || {
        let of = |o: &Open| (o.system.clone(), o.skills.iter().any(|(_, on)| *on));
        state.open.with(|o| o.as_ref().map(of)).unwrap_or_default()
    };
    let skills = move || {
        state
            .open
            .with(|o| o.as_ref().map(|o| o.skills.clone()))
            .unwrap_or_default()
    };
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
        .live_on(text, |(text, more)| {
            if text.is_empty() && *more {
                nothing()
            } else if text.is_empty() {
                el("p").class("sub").child(t(T::SystemPromptNone)).view()
            } else {
                el("p")
                    .class("system")
                    .attr("dir", "auto")
                    .child(text.clone())
                    .into_child()
            }
        })
        .child(each(skills, key_of, |(name, active)| skill(name, active)))
}

/// A skill, which is switched on and off here.
fn skill(name: String, active: bool) -> AnyView {
    let shown = name.clone();
    el("label")
        .class("tick-box")
        .child(
            el("input")
                .attr("type", "checkbox")
                .flag("checked", active)
                .on("change", move |_| act::switch_skill(name.clone(), !active)),
        )
        .child(shown)
        .view()
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

/// A list whose lines keep their elements while their content stays, or a sentence in its place.
fn lines<I: Hash + 'static>(
    class: &'static str,
    none: T,
    items: impl Fn() -> Vec<I> + Clone + 'static,
    line: fn(&I) -> El,
) -> AnyView {
    let empty = items.clone();
    live_on(
        move || empty().is_empty(),
        move |empty| {
            if *empty {
                return el("p").class("sub").child(t(none)).view();
            }
            el("ul")
                .class(class)
                .child(each(items.clone(), key_of, move |item| line(&item).view()))
                .view()
        },
    )
}

fn goal(state: AppState) -> El {
    let edit = move || {
        if state.open.with_untracked(Option::is_some) {
            state.dialog.set(Some(Dialog::Goal));
        }
    };
    el("section")
        .child(head(T::Goal, "edit-goal", T::Edit, edit))
        .live_on(
            move || {
                let shown = |g: &GoalView| (g.text.clone(), g.priority, g.status);
                state.goal.with(|g| g.as_ref().map(shown))
            },
            move |goal| {
                let Some((text, priority, status)) = goal else {
                    return el("p").class("sub").child(t(T::GoalNone)).view();
                };
                let words = el("p")
                    .class("goal")
                    .attr("dir", "auto")
                    .child(text.clone());
                let words = words.child(sign_of(*status)).child(match priority {
                    Priority::Medium => None,
                    Priority::High => Some(said(T::GoalIsHigh)),
                    Priority::Low => Some(said(T::GoalIsLow)),
                });
                let tokens = move || state.goal.with(|g| g.as_ref().map_or(0, |g| g.tokens));
                el("div")
                    .child(words)
                    .child(goal_items(state))
                    .child(
                        el("p")
                            .class("sub")
                            .text_live(move || fill(T::GoalTokens, &[&number(tokens())])),
                    )
                    .into_child()
            },
        )
}

/// What is to be said of a goal that is not simply worked on.
fn sign_of(status: GoalStatus) -> Option<El> {
    match status {
        GoalStatus::Active => None,
        GoalStatus::Paused => Some(said(T::GoalPaused)),
        GoalStatus::Completed => Some(
            el("span")
                .class("okc")
                .child(" ")
                .child(icon("check"))
                .child(t(T::GoalReached)),
        ),
    }
}

/// A word about the goal, behind it.
fn said(word: T) -> El {
    el("span").class("sub").child(format!(" · {}", t(word)))
}

/// The items of the goal, one line each.
pub fn goal_items(state: AppState) -> El {
    let items = move || {
        let items = |g: &GoalView| g.items.clone();
        state.goal.with(|g| g.as_ref().map_or_else(Vec::new, items))
    };
    el("ul").class("marks").child(each(
        items,
        |item| key_of(&(item.id, &item.text)),
        move |item| goal_item(state, &item).view(),
    ))
}

/// A line of the goal; a milestone moves on when it is clicked, a decision is locked or unlocked.
fn goal_item(state: AppState, item: &GoalItem) -> El {
    let (id, first) = (item.id, item.kind);
    let kind = move || {
        let kind = |g: &GoalView| g.items.iter().find(|i| i.id == id).map(|i| i.kind);
        state
            .goal
            .with(|g| g.as_ref().and_then(kind))
            .unwrap_or(first)
    };
    let looks = |kind| match kind {
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
        first,
        GoalKind::ToDo | GoalKind::Doing | GoalKind::Done | GoalKind::Decision { .. }
    );
    let sign = live_on(kind, move |kind| icon(looks(*kind).0));
    let text = item.text.clone();
    let mark = if turns {
        // the button stays under the hand that turned it
        el("button")
            .class("quiet")
            .attr("type", "button")
            .attr_live("aria-label", move || {
                Some(format!("{}: {text}", t(looks(kind()).1)))
            })
            .child(sign)
            .click(move || act::turn_goal_item(id, kind()))
            .view()
    } else {
        sign
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
        .child(lines(
            "marks",
            T::PinnedNone,
            move || pins_where(state, |pin| !is_likely(pin)),
            pin_line,
        ))
        .child(live_if(
            move || state.pins.with(|all| all.iter().any(is_likely)),
            move || {
                let all = each(
                    move || pins_where(state, is_likely),
                    key_of,
                    |pin: PinView| likely_line(&pin).view(),
                );
                el("div")
                    .attr("id", "likely")
                    .child(el("p").class("sub").child(t(T::PerhapsMeant)))
                    .child(el("ul").class("marks").child(all))
                    .into_child()
            },
        ))
}

/// Returns `true` for words that may be a demand.
fn is_likely(pin: &PinView) -> bool {
    matches!(pin.why, Why::Likely(_))
}

fn pins_where(state: AppState, is_wanted: fn(&PinView) -> bool) -> Vec<PinView> {
    let mut pins = state.pins.get();
    pins.retain(is_wanted);
    pins
}

/// Words that may be a demand: the person says whether they are one.
fn likely_line(pin: &PinView) -> El {
    let id = pin.id;
    let button = |label: T, sign: &'static str, then: fn(u32)| {
        small(format!("{}: {}", t(label), pin.text), sign, move || {
            then(id);
        })
    };
    el("li")
        .child(pin_words(pin))
        .child(button(T::Accept, "check", act::confirm_demand))
        .child(button(T::Decline, "cross", act::unpin))
}

fn pin_line(pin: &PinView) -> El {
    let id = pin.id;
    let sign = if pin.why == Why::Pinned {
        "pin"
    } else {
        "lock"
    };
    el("li")
        .child(icon(sign))
        .child(pin_words(pin))
        .child(small(
            format!("{}: {}", t(T::Remove), pin.text),
            "cross",
            move || act::unpin(id),
        ))
}

/// The words of a line, and where they are from.
fn pin_words(pin: &PinView) -> El {
    let from = match pin.why {
        Why::Pinned => None,
        Why::Decision => Some(el("i").child(t(T::Decided))),
        Why::Demand(place) | Why::Likely(place) => Some(from_message(place)),
    };
    el("span")
        .attr("dir", "auto")
        .child(pin.text.clone())
        .child(from)
        .child(
            pin.is_left_out
                .then(|| el("i").class("warnc").child(t(T::PinLeftOut))),
        )
}

/// "from 12": a way to that message.
fn from_message(place: u32) -> El {
    let place_words = place.to_string();
    el("button")
        .class("link from")
        .attr("type", "button")
        .attr("aria-label", fill(T::ToMessage, &[&place_words]))
        .child(fill(T::FromMessage, &[&place_words]))
        .click(move || act::show_message(place))
}

/// The way to a message of another session.
fn from_session(from: &OtherSession, place: u32) -> El {
    let id = from.id.clone();
    el("button")
        .class("link from")
        .attr("type", "button")
        .child(fill(T::FromSession, &[&from.source]))
        .click(move || act::open_at(id.clone(), Place::Message(place)))
}

/// A proposal names at most so many of the messages that show it.
const MOST_CITED: usize = 3;

/// A summary's proposals for the goal. None of them counts before the user accepts it.
fn proposals(state: AppState) -> AnyView {
    let line = |proposal: ProposalView| {
        let (id, words) = (proposal.id, proposal.text);
        let button = |label: T, sign: &'static str, accept: bool| {
            small(format!("{}: {words}", t(label)), sign, move || {
                act::decide_proposal(id, accept);
            })
        };
        let shown_in = proposal.cites.into_iter().take(MOST_CITED);
        let lock = proposal
            .asks_lock
            .then(|| el("span").class("sub lock").child(t(T::ProposedLock)));
        el("li")
            .child(
                el("span")
                    .attr("dir", "auto")
                    .child(words.clone())
                    .children(shown_in.map(from_message))
                    .child(lock),
            )
            .child(button(T::Accept, "check", true))
            .child(button(T::Decline, "cross", false))
            .view()
    };
    live_if(
        move || !state.proposals.with(Vec::is_empty),
        move || {
            let all = each(move || state.proposals.get(), key_of, line);
            el("section")
                .attr("id", "proposals")
                .child(el("h2").child(t(T::Proposed)))
                .child(el("p").class("sub").child(t(T::ProposedHelp)))
                .child(el("ul").class("marks").child(all))
                .into_child()
        },
    )
}

/// Passages quoted for the last question: shown, and removable.
fn quotes(state: AppState) -> AnyView {
    let line = |quote: QuoteView| {
        let (place, from) = (quote.place, quote.from);
        let source = match &from {
            Some(from) => from_session(from, place),
            None => from_message(place),
        };
        let name = from.as_ref().map_or("", |from| from.source.as_str());
        let label = format!("{}: {name} {place}", t(T::Remove));
        let session = from.map(|from| from.id);
        el("li")
            .child(icon("eye"))
            .child(
                el("span")
                    .attr("dir", "auto")
                    .child(quote.text)
                    .child(source),
            )
            .child(small(label, "cross", move || {
                act::forget_quote(place, session.clone());
            }))
            .view()
    };
    let total = move || {
        state
            .quotes
            .with(|all| all.iter().map(|q| q.tokens).sum::<u32>())
    };
    live_if(
        move || !state.quotes.with(Vec::is_empty),
        move || {
            let all = each(move || state.quotes.get(), key_of, line);
            el("section")
                .child(
                    el("h2")
                        .child(t(T::Recalled))
                        .child(el("i").text_live(move || number(total()))),
                )
                .child(el("p").class("sub").child(t(T::RecalledHelp)))
                .child(el("ul").class("marks quotes").child(all))
                .into_child()
        },
    )
}

fn snapshots(state: AppState) -> El {
    let all = move || {
        if state.open.with_untracked(Option::is_some) {
            state.dialog.set(Some(Dialog::Snapshots));
        }
    };
    el("section")
        .child(head(T::Snapshots, "snapshots", T::ShowAll, all))
        .live_on(
            move || state.snapshots.get(),
            |all| {
                if all.is_empty() {
                    return el("p").class("sub").child(t(T::SnapshotsNone)).view();
                }
                let line = |s: &SnapshotView| {
                    el("li").child(icon("bookmark")).child(
                        el("span").attr("dir", "auto").child(name_of(s)).child(
                            el("i").child(count(T::MessagesOne, T::MessagesMany, s.messages)),
                        ),
                    )
                };
                // Named snapshots come before automatic ones.
                let (named, own): (Vec<_>, Vec<_>) = all.iter().partition(|s| !s.name.is_empty());
                el("ul")
                    .class("marks")
                    .children(named.into_iter().chain(own).take(3).map(line))
                    .into_child()
            },
        )
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
        .live_on(
            move || state.layers.with(Vec::is_empty),
            move |none| {
                if *none {
                    return el("p").class("sub").child(t(T::LayersNone)).view();
                }
                let bands = move || {
                    state.layers.with(|all| {
                        let largest = all.iter().map(|l| l.tokens).max().unwrap_or(1);
                        all.iter().map(|l| (l.clone(), largest)).collect::<Vec<_>>()
                    })
                };
                el("ol")
                    .class("strata")
                    .child(each(bands, key_of, |(layer, largest)| {
                        strip(&layer, largest).view()
                    }))
                    .into_child()
            },
        )
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
