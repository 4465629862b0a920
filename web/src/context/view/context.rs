//! The context screen: one page in two inks, the conversation and the model's view of it.

use std::sync::Arc;

use leptos::prelude::AnyView;
use palimpsest_core::budget::MarkReport;
use wasm_bindgen::JsCast;
use web_sys::KeyboardEvent;

use crate::act;
use crate::chat::data::sent::{Ink, Sent};
use crate::chat::data::thread::{Block, Entry, Message};
use crate::context::data::budget::Age;
use crate::context::data::card::{Card, State};
use crate::context::data::layer::{LayerView, band};
use crate::context::view::card::dropped;
use crate::platform::el::{El, IntoChild, each, el, key_of, live_if, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::page;
use crate::platform::signal::Signal;
use crate::state::{AppState, Dialog, Lens};
use crate::text::{T, fill, number, t};
use crate::widgets::bar;
use crate::widgets::words::{age_name, speaker};

/// Messages shown at once.
const PAGE: usize = 80;

/// Messages of the next window shown at once.
const SENT: usize = 400;

/// Letters of one message shown in the overlay.
const LETTERS: usize = 1200;

/// The context screen.
pub fn context() -> AnyView {
    let state = AppState::here();
    let title = move || {
        state
            .open
            .with(|o| o.as_ref().map(|o| o.title.clone()))
            .unwrap_or_default()
    };
    let head = el("header")
        .class("head wide")
        .child(
            el("div")
                .class("title")
                .child(el("h1").attr("id", "h-context").child(t(T::Context)))
                .child(el("p").class("of").attr("dir", "auto").text_live(title))
                .child(lens(state)),
        )
        .child(bar::budget(true))
        .child(
            el("p")
                .class("acts")
                .child(el("a").class("link").attr("href", "#log").child(t(T::Log)))
                .child(
                    el("a")
                        .class("link")
                        .attr("href", "#replay")
                        .child(t(T::Replay)),
                )
                .child(
                    el("button")
                        .class("link")
                        .attr("type", "button")
                        .attr("id", "save-as")
                        .child(t(T::SaveAs))
                        .click(move || {
                            if state.open.with_untracked(Option::is_some) {
                                state.dialog.set(Some(Dialog::Save));
                            }
                        }),
                ),
        )
        .live_on(
            move || state.mark.get(),
            |shown| shown.as_ref().map_or_else(nothing, mark),
        );
    let (shown, sent) = (Signal::new(PAGE), Signal::new(SENT));
    el("section")
        .class("screen context")
        .attr("id", "s-context")
        .attr("aria-labelledby", "h-context")
        .attr_live("data-lens", move || {
            Some(lens_name(state.lens.get()).to_owned())
        })
        .child(head)
        .child(timeline(state))
        .child(el("div").class("page").live_on(
            move || {
                state
                    .open
                    .with(Option::is_some)
                    .then(|| state.lens.get() == Lens::Sees)
            },
            move |shows_sent| match shows_sent {
                None => el("p").class("sub").child(t(T::NoSessionOpen)).view(),
                Some(true) => sees(state, sent).view(),
                // what differs between the two other lenses is style
                Some(false) => overlay(state, shown),
            },
        ))
        .into_child()
}

/// The place of the watermark, and the content that stays before it.
fn mark(mark: &MarkReport) -> AnyView {
    let mut lines = vec![match (mark.boundary, mark.lost) {
        (Some(_), true) => t(T::MarkLost).to_owned(),
        (Some(seq), false) => fill(T::MarkAt, &[&number(seq + 1)]),
        (None, _) => t(T::MarkNone).to_owned(),
    }];
    let waits = mark.waits_for.as_ref();
    lines.extend(waits.map(|tool| fill(T::MarkWaits, &[tool])));
    if let Some(stays) = &mark.stays {
        if stays.keep > 0 {
            lines.push(fill(T::MarkKeeps, &[&number(stays.keep)]));
        }
        if stays.keep_errors {
            lines.push(t(T::MarkErrors).to_owned());
        }
        if stays.keep_best > 0 {
            lines.push(fill(T::MarkBest, &[&number(stays.keep_best)]));
        }
    }
    if mark.anchors > 0 {
        lines.push(fill(T::MarkAnchors, &[&number(mark.anchors)]));
    }
    if mark.marks.every_tokens > 0 {
        lines.push(fill(T::MarkEvery, &[&number(mark.marks.every_tokens)]));
    }
    if mark.marks.at_tasks {
        lines.push(t(T::MarkTasks).to_owned());
    }
    el("p")
        .class("sub")
        .attr("id", "watermark")
        .child(lines.join(" "))
        .child(" ")
        .child(
            el("button")
                .class("link")
                .attr("type", "button")
                .attr("id", "mark-end")
                .child(t(T::MarkHere))
                .click(act::mark_end),
        )
        .view()
}

/// Where there is a watermark: keeps a message whole before it, or no longer.
fn anchor(state: AppState, message: &Arc<Message>) -> AnyView {
    let (from, to) = (message.seq, message.last);
    live_if(
        move || state.mark.with(Option::is_some),
        move || {
            let on = move || state.anchors.with(|all| all.contains(&from));
            el("button")
                .class("link anchor")
                .attr("type", "button")
                .attr("aria-label", format!("{}: {from}", t(T::AnchorKeep)))
                .attr_live("aria-pressed", move || Some(on().to_string()))
                .text_live(move || t(if on() { T::AnchorKept } else { T::AnchorKeep }).to_owned())
                .click(move || {
                    act::anchor(
                        from,
                        to,
                        !state.anchors.with_untracked(|all| all.contains(&from)),
                    );
                })
                .view()
        },
    )
}

/// Every compaction in time: its two windows as bars on one scale, and the layers as bands whose height is
/// their tokens.
fn timeline(state: AppState) -> AnyView {
    let shown = move || {
        let done = |c: &&Card| matches!(c.state, State::Done(_));
        let cards: Vec<Card> = state
            .cards
            .with(|all| all.values().filter(done).cloned().collect());
        (cards, state.layers.get())
    };
    live_on(shown, |(cards, layers)| compactions(cards, layers))
}

fn compactions(cards: &[Card], layers: &[LayerView]) -> AnyView {
    if cards.is_empty() {
        return nothing();
    }
    let scale = cards
        .iter()
        .filter_map(|c| match &c.state {
            State::Done(done) => Some(done.limit.max(done.before)),
            _ => None,
        })
        .max()
        .unwrap_or(1);
    let largest = layers.iter().map(|l| l.tokens).max().unwrap_or(1);
    let entry = |card: &Card| {
        let State::Done(done) = &card.state else {
            return el("li");
        };
        let n = card.number;
        let now = layers.iter().find(|l| l.number == n);
        let band = now.map(|l| {
            el("span")
                .class(bar::band_class(l.age))
                .var("block-size", format!("{}px", band(l.tokens, largest)))
        });
        let form = match now {
            Some(l) => format!("{}, {}", age_name(l.age), number(l.tokens)),
            None if done.id.is_none() => t(T::CardNoLayer).to_owned(),
            None => t(T::LayerMerged).to_owned(),
        };
        el("li").child(
            el("button")
                .attr("type", "button")
                .child(
                    el("span")
                        .class("pair")
                        .child(bar::mini(&done.bar_before, scale))
                        .child(bar::mini(&done.bar_after, scale)),
                )
                .child(el("span").class("layer-band").child(band))
                .child(
                    el("b")
                        .child(el("span").class("vh").child(t(T::TimelineEntry)))
                        .child(format!(" {n}")),
                )
                .child(el("span").class("sub").child(format!(
                    "{} → {}",
                    number(done.before),
                    number(done.after)
                )))
                .child(el("span").class("vh").child(form))
                .click(move || {
                    act::look(Lens::Overlay);
                    page::next_frame(move || {
                        page::next_frame(move || page::focus(&format!("[data-layer='{n}']")));
                    });
                }),
        )
    };
    el("section")
        .class("timeline")
        .attr("aria-labelledby", "h-timeline")
        .child(el("h2").attr("id", "h-timeline").child(t(T::Timeline)))
        .child(el("ol").children(cards.iter().map(entry)))
        .view()
}

const fn lens_name(lens: Lens) -> &'static str {
    match lens {
        Lens::Said => "said",
        Lens::Overlay => "overlay",
        Lens::Sees => "sees",
    }
}

const LENSES: [(Lens, T, T); 3] = [
    (Lens::Said, T::LensSaid, T::LensSaidShort),
    (Lens::Overlay, T::LensOverlay, T::LensOverlay),
    (Lens::Sees, T::LensSees, T::LensSeesShort),
];

fn lens(state: AppState) -> El {
    el("div")
        .class("lens")
        .attr("role", "radiogroup")
        .attr("aria-label", t(T::Lens))
        .on("keydown", move |event| {
            let Ok(key) = event.dyn_into::<KeyboardEvent>() else {
                return;
            };
            let step = match key.key().as_str() {
                "ArrowRight" | "ArrowDown" => 1,
                "ArrowLeft" | "ArrowUp" => LENSES.len() - 1,
                _ => return,
            };
            key.prevent_default();
            let now = LENSES
                .iter()
                .position(|(l, ..)| *l == state.lens.get_untracked())
                .unwrap_or(0);
            let next = LENSES[(now + step) % LENSES.len()].0;
            act::look(next);
            page::focus(&format!(".lens [data-lens={}]", lens_name(next)));
        })
        .children(LENSES.into_iter().map(|(lens, long, short)| {
            el("button")
                .attr("type", "button")
                .attr("role", "radio")
                .attr("data-lens", lens_name(lens))
                .attr_live("aria-checked", move || {
                    Some((state.lens.get() == lens).to_string())
                })
                .attr_live("tabindex", move || {
                    Some(if state.lens.get() == lens { "0" } else { "-1" }.to_owned())
                })
                .click(move || act::look(lens))
                .child(el("span").class("long").child(t(long)))
                .child(el("span").class("short").child(t(short)))
        }))
}

/// The conversation in the ink of the sent text, with each layer beside its messages.
fn overlay(state: AppState, shown: Signal<usize>) -> AnyView {
    let hidden = move || {
        let is_message = |e: &&Entry| matches!(e, Entry::Message(_));
        let all = state
            .thread
            .with(|all| all.iter().filter(is_message).count());
        all.saturating_sub(shown.get())
    };
    live_on(
        move || state.thread.with(Vec::is_empty),
        move |empty| {
            if *empty {
                return el("p").class("sub").child(t(T::NothingSaid)).view();
            }
            let more = live_if(
                move || hidden() > 0,
                move || {
                    let more = el("button")
                        .class("link")
                        .attr("type", "button")
                        .text_live(move || fill(T::EarlierMessages, &[&number(hidden() as u32)]))
                        .click(move || shown.update(|n| *n += PAGE));
                    el("p").class("where").child(more).view()
                },
            );
            el("div")
                .class("leaf overlay")
                .child(more)
                .child(each(
                    move || ranges(state, hidden()),
                    Range::key,
                    |range| drawn(&range).view(),
                ))
                .view()
        },
    )
}

/// Messages in a row that one layer covers, or none.
struct Range {
    layer: Option<LayerView>,
    messages: Vec<(u64, Arc<Message>)>,
}

impl Range {
    /// It keeps its element while neither its messages nor its layer change.
    fn key(&self) -> u64 {
        let messages: Vec<u64> = self.messages.iter().map(|(key, _)| *key).collect();
        key_of(&(&self.layer, messages))
    }
}

/// The messages after the first `skip`, each with the layer over it.
fn ranges(state: AppState, skip: usize) -> Vec<Range> {
    let layers = state.layers.get();
    let messages: Vec<(u64, Arc<Message>)> = state.thread.with(|all| {
        let message = |e: &Entry| match e {
            Entry::Message(m) => Some((e.key(), Arc::clone(m))),
            Entry::Card(_) => None,
        };
        all.iter().filter_map(message).skip(skip).collect()
    });
    let mut ranges: Vec<Range> = Vec::new();
    for (key, message) in messages {
        let layer = layers.iter().find(|l| l.covers(message.seq));
        // A message of the person inside a layer's range stays with it.
        let layer = layer.or_else(|| {
            layers
                .iter()
                .find(|l| (l.range().0..=l.range().1).contains(&message.seq))
        });
        let number = layer.map(|l| l.number);
        match ranges.last_mut() {
            Some(last) if last.layer.as_ref().map(|l| l.number) == number => {
                last.messages.push((key, message));
            }
            _ => ranges.push(Range {
                layer: layer.cloned(),
                messages: vec![(key, message)],
            }),
        }
    }
    ranges
}

fn drawn(range: &Range) -> El {
    let layer = range.layer.as_ref();
    let class = match layer.map(|l| l.age) {
        None => "range none",
        Some(Age::Fresh) => "range l1",
        Some(Age::Aged) => "range l2",
        Some(Age::Old) => "range l3",
        Some(Age::Ancient) => "range l4",
    };
    let text = el("div")
        .class("text")
        .children(range.messages.iter().map(|(_, m)| said(m, layer)));
    el("div")
        .class(class)
        .child(text)
        .child(el("div").class("margin").child(layer.map(beside)))
}

fn said(message: &Arc<Message>, layer: Option<&LayerView>) -> El {
    let covered = layer.filter(|l| l.covers(message.seq));
    let mark = covered.map_or_else(
        || t(T::Sent).to_owned(),
        |l| fill(T::InLayer, &[&l.number.to_string()]),
    );
    let head = el("header")
        .child(
            el("span")
                .child(speaker(message.who, &message.name))
                .child(" ")
                .child(el("b").child(message.seq.to_string())),
        )
        .child(el("i").child(mark))
        .child(anchor(AppState::here(), message));
    el("article")
        .class(if covered.is_some() {
            "said ghost"
        } else {
            "said"
        })
        .child(head)
        .child(
            el("div")
                .attr("dir", "auto")
                .children(message.blocks.iter().map(words)),
        )
}

fn words(block: &Block) -> El {
    let text = match block {
        Block::Text(text) | Block::Thinking(text) => text.clone(),
        Block::Tool {
            name,
            arguments,
            result,
            ..
        } => format!(
            "{name} {arguments}\n{}",
            result.as_deref().unwrap_or_default()
        ),
        Block::Attachment { name, .. } | Block::Image { name, .. } => name.clone(),
    };
    let cut: String = text.chars().take(LETTERS).collect();
    let cut = if cut.len() < text.len() {
        format!("{cut} …")
    } else {
        cut
    };
    let class = match block {
        Block::Tool { .. } => "mono",
        Block::Thinking(_) => "unsent",
        _ => "",
    };
    el("p").class(class).child(cut)
}

fn beside(layer: &LayerView) -> El {
    let (id, key) = (layer.number, layer.id);
    let (from, to) = layer.range();
    let author = layer
        .author
        .clone()
        .unwrap_or_else(|| t(T::CardExtractive).to_owned());
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
    let short: String = layer.text.chars().take(700).collect();
    let short = if short.len() < layer.text.len() {
        format!("{short} …")
    } else {
        short
    };
    el("div")
        .class("note-block")
        .attr("data-layer", id.to_string())
        .attr("tabindex", "-1")
        .child(
            el("h3")
                .child(el("span").child(fill(T::Layer, &[&id.to_string()])))
                .child(" ")
                .child(age_name(layer.age)),
        )
        .child(el("p").class("script").attr("dir", "auto").child(short))
        .child(el("p").class("cost").child(cost))
        .child(
            el("dl").class("facts tight").child(
                el("div")
                    .child(el("dt").child(t(T::CardDropped)))
                    .child(dropped(&layer.dropped, 0)),
            ),
        )
        .child(
            el("p")
                .class("acts")
                .child(
                    el("button")
                        .class("btn")
                        .attr("type", "button")
                        .child(t(T::CardRead))
                        .click(move || act::read_layer(key)),
                )
                .child(
                    el("button")
                        .class("btn")
                        .attr("type", "button")
                        .child(t(T::Compare))
                        .click(move || act::compare(key)),
                )
                .child(
                    el("button")
                        .class("btn")
                        .attr("type", "button")
                        .child(icon("lift"))
                        .child(fill(
                            T::LiftFor,
                            &[&number(layer.original.saturating_sub(layer.tokens))],
                        ))
                        .click(move || act::ask_lift(id)),
                ),
        )
}

/// The next window, exactly as it is sent; of a long one, the requested number of messages.
fn sees(state: AppState, shown: Signal<usize>) -> El {
    let left = move || state.sent.with(|all| all.len().saturating_sub(shown.get()));
    let copy = el("button")
        .class("link")
        .attr("type", "button")
        .child(t(T::CopyJson))
        .click(act::copy_window);
    el("div")
        .class("leaf sees")
        .child(
            el("p")
                .class("where")
                .child(el("span").child(t(T::NextWindow)))
                .child(copy),
        )
        .child(each(
            move || {
                let some =
                    |all: &Vec<Sent>| all.iter().take(shown.get()).cloned().enumerate().collect();
                state.sent.with(some)
            },
            key_of,
            |(_, sent): (usize, Sent)| one(&sent).view(),
        ))
        .child(live_if(
            move || left() > 0,
            move || {
                let more = el("button")
                    .class("link")
                    .attr("type", "button")
                    .text_live(move || fill(T::LaterMessages, &[&number(left() as u32)]))
                    .click(move || shown.update(|n| *n += SENT));
                el("p").class("where").child(more).view()
            },
        ))
}

fn one(sent: &Sent) -> El {
    let class = match sent.ink {
        Ink::System => "sent s-b-system",
        Ink::Layer => "sent s-b-layer",
        Ink::User => "sent s-b-user",
        Ink::Assistant => "sent s-b-assistant",
        Ink::Tool => "sent s-b-tool",
    };
    let head = el("header")
        .child(el("b").child(sent.role))
        .child((!sent.note.is_empty()).then(|| el("span").child(sent.note.clone())));
    let head = head.child(
        sent.tokens
            .map(|n| el("i").child(fill(T::TokensOf, &[&number(n)]))),
    );
    el("article").class(class).child(head).child(
        el("pre")
            .attr("tabindex", "0")
            .attr("dir", "auto")
            .child(sent.text.clone()),
    )
}
