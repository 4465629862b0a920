//! The compaction card: one element in the thread whose text changes in place.

use std::cmp::Ordering;
use std::rc::Rc;

use leptos::prelude::AnyView;
use palimpsest_core::pass::PassKind;

use crate::act;
use crate::chat::data::line::shortened;
use crate::context::data::card::{Card, Done, Stage, State};
use crate::platform::el::{El, IntoChild, each, el, live_if, live_on, nothing};
use crate::platform::icon::{arrow, icon, strata};
use crate::platform::page::clock;
use crate::platform::signal::Signal;
use crate::state::{AppState, Dialog};
use crate::text::{T, count, fill, number, seconds, t};
use crate::widgets::bar::{layer_by_number, mini};
use crate::widgets::field::{self, button};
use crate::widgets::words::pass_name;

/// Facts that were not carried over, shown at a time.
const FACTS: usize = 200;

/// The card with this number.
pub fn card(id: u32) -> AnyView {
    let state = AppState::here();
    let frame = move || state.cards.with(|cards| cards.get(&id).map(Card::frame));
    live_on(frame, |card| card.as_ref().map_or_else(nothing, draw))
}

fn draw(card: &Card) -> AnyView {
    let n = card.number.to_string();
    let (class, title) = match &card.state {
        State::Announced { .. } => ("card", fill(T::CardAnnounced, &[&n])),
        // its title follows what is done
        State::Working { .. } => ("card working", String::new()),
        State::Done(done) if done.id.is_none() => ("card done", t(T::CardNoLayer).to_owned()),
        State::Done(_) => ("card done", fill(T::CardDone, &[&n])),
        State::Skipped { .. } => ("card", t(T::CardSkipped).to_owned()),
        State::Failed { .. } => ("card", fill(T::CardFailed, &[&n])),
        State::Undone { layer: false, .. } => ("card", t(T::CardNoLayerUndone).to_owned()),
        State::Undone { .. } => ("card", fill(T::CardUndone, &[&n])),
    };
    let took = match &card.state {
        State::Done(done) => done.took,
        _ => None,
    };
    let when = match took {
        Some(ms) => format!("{} · {}", clock(card.at), seconds(ms)),
        None => clock(card.at),
    };
    let heading = format!("card-{n}");
    let title_line = el("h3").attr("id", heading.clone());
    let title_line = match card.state {
        State::Working { .. } => {
            let number = card.number;
            title_line.text_live(move || at_work(number))
        }
        _ => title_line.child(title),
    };
    let body = el("div").class("body").child(title_line);
    el("article")
        .class(class)
        .attr("aria-labelledby", heading)
        .attr("data-card", n)
        .child(el("header").child(strata()).child(el("span").child(when)))
        .child(fill_in(card, body))
        .into_child()
}

/// Returns `true` while a card's summary is written. Every run goes through that stage, so a model has to be at it.
fn is_written(card: u32) -> bool {
    AppState::here().cards.with(|cards| {
        matches!(
            cards.get(&card).map(|card| &card.state),
            Some(State::Working {
                stage: Stage::Summarise,
                progress: Some(_),
                ..
            })
        )
    })
}

/// The work of a run in a few words. A run may make room without a layer, so none is named before one is written.
fn at_work(number: u32) -> String {
    if is_written(number) {
        layer_by_number(T::CardWorking, T::CardWorkingOne, number)
    } else {
        t(T::CardMakingRoom).to_owned()
    }
}

/// Why the model's text was not taken, in words where there are some.
fn why_not(reason: &str) -> &str {
    match reason {
        "fewer_facts" => t(T::NotFewerFacts),
        "leaked" => t(T::NotLeaked),
        "echo" => t(T::NotEcho),
        "repetitive" => t(T::NotRepetitive),
        "invented" => t(T::NotInvented),
        other => other,
    }
}

/// What waits for what while a layer is written: a message that was sent, or nothing.
fn what_waits(state: AppState) -> String {
    let waits = state.reply.with(|r| r.as_ref().and_then(|r| r.waits));
    match waits {
        Some(most) => fill(T::CardMessageWaits, &[&format!("{most} s")]),
        None => t(T::CardNothingChanges).to_owned(),
    }
}

fn fill_in(card: &Card, body: El) -> El {
    match &card.state {
        State::Announced { used, limit } => body
            .child(plain(fill(
                T::CardWindowAt,
                &[&number(*used), &number(*limit)],
            )))
            .child(
                el("p")
                    .class("acts")
                    .child(button(T::Cancel, act::cancel_compaction)),
            ),
        State::Working { .. } => body
            .child(progress_of(card.number))
            .child({
                let state = AppState::here();
                el("p").class("plain").text_live(move || what_waits(state))
            })
            .child(
                el("p")
                    .class("acts")
                    .child(button(T::DontWait, act::skip_wait))
                    .child(button(T::Cancel, act::cancel_compaction)),
            ),
        State::Done(done) => written(card.number, done, body),
        State::Skipped { why } => body
            .child(plain(if why.contains("unchanged") {
                // most reasons say so themselves
                why.clone()
            } else {
                format!("{why} {}", t(T::CardUnchanged))
            }))
            .child(
                el("p")
                    .class("acts")
                    .child(button(T::TryAgain, || act::compact(String::new()))),
            ),
        State::Failed { why } => body
            .child(
                el("p")
                    .class("plain")
                    .child(
                        el("span")
                            .class("badc")
                            .child(icon("warn"))
                            .child(format!(" {why} ")),
                    )
                    .child(t(T::CardUnchanged)),
            )
            .child(
                el("p")
                    .class("acts")
                    .child(button(T::TryAgain, || act::compact(String::new()))),
            ),
        State::Undone { before, after, .. } => body
            .child(delta(
                true,
                *before,
                number(*after),
                t(T::Tokens).to_owned(),
            ))
            .child(plain(t(T::CardUndoneText).to_owned()))
            .child(
                el("p")
                    .class("acts")
                    .child(button(T::CardAgain, || act::compact(String::new()))),
            ),
    }
}

/// How far the run is that the card with this number tells of.
fn progress_of(id: u32) -> AnyView {
    let state = AppState::here();
    let now = move || match state.cards.with(|cards| cards.get(&id).cloned())?.state {
        State::Working {
            stage,
            progress,
            before,
            expected,
        } => Some((stage, progress, before, expected)),
        _ => None,
    };
    live_on(now, |now| {
        let Some((stage, progress, before, expected)) = *now else {
            return nothing();
        };
        el("div")
            .class("goes-on")
            .child(delta(
                true,
                before,
                format!("≈ {}", number(expected)),
                t(T::CardExpected).to_owned(),
            ))
            .child(field::progress(
                t(T::CardStages).to_owned(),
                percent(stage, progress),
            ))
            .child(steps(stage, progress))
            .view()
    })
}

/// What a person can do with the layer's text, while the layer is in the window.
fn hands(number: u32) -> AnyView {
    let state = AppState::here();
    let there = move || {
        let follows = state.open.with(|o| o.as_ref().is_some_and(|o| o.follower));
        !follows
            && state
                .layers
                .with(|all| all.iter().any(|l| l.number == number))
    };
    live_if(there, move || {
        el("p")
            .class("hands")
            .child(button(T::LayerEdit, move || {
                act::with_layer(number, Dialog::EditLayer);
            }))
            .child(button(T::LayerRewrite, move || {
                act::with_layer(number, Dialog::RewriteLayer);
            }))
            .view()
    })
}

fn written(number_of: u32, done: &Done, body: El) -> El {
    let pair = fill(T::CardPair, &[&number(done.before), &number(done.after)]);
    let body = body.child(delta(
        false,
        done.before,
        number(done.after),
        fill(T::CardFewer, &[&done.percent().to_string()]),
    ));
    let body = if done.bar_before.is_empty() {
        body
    } else {
        // Both bars on one scale, whichever is the longest.
        let scale = done.limit.max(done.before).max(done.after);
        body.child(
            el("div")
                .class("pair")
                .attr("role", "img")
                .attr("aria-label", pair)
                .child(el("span").child(t(T::CardBefore)))
                .child(mini(&done.bar_before, scale))
                .child(el("span").child(t(T::CardAfter)))
                .child(mini(&done.bar_after, scale)),
        )
    };
    let covers = || {
        let covers = [done.covers.0, done.covers.1].map(|n| n.to_string());
        let figures = [done.messages, done.layer.0, done.layer.1].map(number);
        let [of, before, after] = &figures;
        fill(
            T::CardCoversText,
            &[&covers[0], &covers[1], of, before, after],
        )
    };
    let wrote = done.id.is_some();
    let author = match (&done.author, &done.fallback) {
        (Some(name), _) => name.clone(),
        (None, Some(why)) => fill(T::CardFallback, &[why_not(why)]),
        (None, None) => t(T::CardExtractive).to_owned(),
    };
    let facts = el("dl")
        .class("facts")
        .child(wrote.then(|| fact(T::CardCovers, covers())))
        .child(steps_taken(done))
        .child(kept(done))
        .child((done.shortened > 0).then(|| {
            fact(
                T::CardShortened,
                count(T::CardKeptOne, T::CardKeptMany, done.shortened),
            )
        }))
        .child((done.summarised > 0).then(|| {
            fact(
                T::CardSummarised,
                count(T::CardKeptOne, T::CardKeptMany, done.summarised),
            )
        }))
        .child((!done.demands.is_empty()).then(|| {
            let lines = done.demands.iter();
            let lines = lines.map(|d| el("li").attr("dir", "auto").child(d.clone()));
            el("div")
                .child(el("dt").child(t(T::CardDemands)))
                .child(el("dd").child(el("ul").children(lines)))
        }))
        .child(
            el("div")
                .child(el("dt").child(t(T::CardDropped)))
                .child(dropped(&done.dropped, unnamed(done))),
        )
        .child(wrote.then(|| fact(T::CardAuthor, author)))
        .child(fact(
            T::CardPrice,
            fill(T::CardPriceText, &[&number(done.after)]),
        ));
    let acts = el("p").class("acts").child(
        done.id
            .map(|id| button(T::CardRead, move || act::read_layer(id))),
    );
    let compare = done
        .id
        .map(|id| button(T::Compare, move || act::compare(id)));
    let acts = if done.undoable {
        acts.child(
            el("button")
                .class("btn")
                .attr("type", "button")
                .child(icon("undo"))
                .child(t(T::Undo))
                .click(act::undo),
        )
    } else {
        acts
    };
    body.child(facts)
        .child(acts.child(compare))
        .child(done.id.map(|_| hands(number_of)))
}

/// The most letters of a fact that stand in its line.
const LETTERS: usize = 60;

/// Lists facts that a layer does not say any more, the first few in full. `unnamed` more were lost that the list does not have.
pub fn dropped(list: &[String], unnamed: u32) -> El {
    let cell = el("dd");
    if list.is_empty() {
        return match unnamed {
            0 => cell.child(t(T::CardDroppedNone)),
            lost => cell.child(number(lost)),
        };
    }
    let shown = 3;
    let lines = list.iter().take(shown);
    let first = lines.fold(cell, |cell, fact| {
        cell.child(el("p").child(el("q").child(shortened(fact, LETTERS))))
    });
    if list.len() > shown {
        first.child(" ").child(rest(list[shown..].into(), unnamed))
    } else if unnamed > 0 {
        let more = fill(T::CardDroppedMore, &[&number(unnamed)]);
        first.child(el("span").child(format!(" {more}")))
    } else {
        first
    }
}

/// The effect of each pass, where there was more than one, or no layer.
fn steps_taken(done: &Done) -> Option<El> {
    let told = done.id.is_none() || done.steps.len() > 1;
    let step = |(pass, messages, tokens): &(PassKind, u32, u32)| {
        let figures = [number(*messages), number(*tokens)];
        el("p").child(fill(
            T::CardStep,
            &[t(pass_name(*pass)), &figures[0], &figures[1]],
        ))
    };
    (told && !done.steps.is_empty()).then(|| {
        el("div")
            .child(el("dt").child(t(T::CardSteps)))
            .child(el("dd").children(done.steps.iter().map(step)))
    })
}

/// The number of dropped facts beside those that the report names.
fn unnamed(done: &Done) -> u32 {
    done.lost.saturating_sub(done.dropped.len() as u32)
}

/// The facts after the first ones: none in the page before they are unfolded, and some at a time.
fn rest(list: Rc<[String]>, unnamed: u32) -> El {
    let shown = Signal::new(0);
    let count = (list.len() as u32).saturating_add(unnamed);
    let more = fill(T::CardDroppedMore, &[&number(count)]);
    let (all, left) = (Rc::clone(&list), move || {
        list.len().saturating_sub(shown.get())
    });
    let facts = move || all.iter().take(shown.get()).cloned().enumerate().collect();
    let fact = |(_, fact): (usize, String)| el("li").child(el("q").child(fact)).view();
    let left_over = left.clone();
    el("details")
        .on("toggle", move |_| shown.update(|n| *n = (*n).max(FACTS)))
        .child(el("summary").child(more))
        .child((unnamed > 0).then(|| {
            el("p")
                .class("sub")
                .child(fill(T::CardDroppedUnnamed, &[&number(unnamed)]))
        }))
        .child(el("ul").class("dropped").attr("tabindex", "0").child(each(
            facts,
            |(place, _)| *place as u64,
            fact,
        )))
        .child(live_if(
            move || shown.get() > 0 && left() > 0,
            move || {
                let left = left_over.clone();
                el("button")
                    .class("link")
                    .attr("type", "button")
                    .text_live(move || fill(T::CardDroppedMore, &[&number(left() as u32)]))
                    .click(move || shown.update(|n| *n += FACTS))
                    .view()
            },
        ))
}

fn delta(small: bool, before: u32, after: String, unit: String) -> El {
    el("p")
        .class(if small { "delta small" } else { "delta" })
        .child(el("span").child(number(before)))
        .child(arrow(t(T::CardTo)))
        .child(el("span").child(after))
        .child(el("em").child(unit))
}

/// What the window holds as it was said: only what is there is named.
fn kept(done: &Done) -> Option<El> {
    let messages = (done.kept > 0).then(|| count(T::CardKeptOne, T::CardKeptMany, done.kept));
    let prompt = done
        .standing
        .has_prompt
        .then(|| t(T::CardPrompt).to_owned());
    let pins = done.standing.pins;
    let pins = (pins > 0).then(|| count(T::CardPinsOne, T::CardPinsMany, pins));
    let all: Vec<String> = [messages, prompt, pins].into_iter().flatten().collect();
    (!all.is_empty()).then(|| fact(T::CardKept, all.join(", ")))
}

fn fact(name: T, text: String) -> El {
    el("div")
        .child(el("dt").child(t(name)))
        .child(el("dd").child(text))
}

fn plain(text: String) -> El {
    el("p").class("plain").child(text)
}

/// How far a run is, in percent: by stage, and within the summary by its tokens.
fn percent(stage: Stage, progress: Option<(u32, u32)>) -> u32 {
    let within = progress.map_or(0, |(done, of)| {
        (done.min(of) * 70).checked_div(of).unwrap_or(0)
    });
    match stage {
        Stage::Identify => 2,
        Stage::Prepare => 6,
        Stage::Summarise => 10 + within,
        Stage::Checkpoint => 84,
        Stage::Update => 90,
        Stage::Verify => 96,
    }
}

fn steps(now: Stage, progress: Option<(u32, u32)>) -> El {
    el("ol")
        .class("steps")
        .attr("aria-label", t(T::CardStages))
        .children(Stage::ALL.into_iter().map(|stage| {
            let name = match stage {
                Stage::Identify => T::StageIdentify,
                Stage::Prepare => T::StagePrepare,
                Stage::Summarise => T::StageSummarise,
                Stage::Checkpoint => T::StageCheckpoint,
                Stage::Update => T::StageUpdate,
                Stage::Verify => T::StageVerify,
            };
            match stage.cmp(&now) {
                Ordering::Less => el("li").class("ok").child(t(name)),
                Ordering::Equal => {
                    let said = match progress {
                        Some((done, of)) => {
                            format!("{} · {} ≤ {}", t(name), number(done), number(of))
                        }
                        None => t(name).to_owned(),
                    };
                    el("li")
                        .class("now")
                        .attr("aria-current", "step")
                        .child(said)
                }
                Ordering::Greater => el("li").child(t(name)),
            }
        }))
}
