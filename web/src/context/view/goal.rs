//! The dialog for the goal: what is to be reached, how pressing it is, and the lines that go with it.

use leptos::prelude::AnyView;
use palimpsest_core::goal::{ArtifactAction, GoalStatus, Priority};

use crate::act;
use crate::context::data::record::{GoalView, NewLine};
use crate::context::view::notes::goal_items;
use crate::platform::el::{El, el, live_on, nothing};
use crate::platform::page;
use crate::platform::signal::Signal;
use crate::state::AppState;
use crate::text::{T, t};
use crate::widgets::dialog::{PLAIN, area, buttons, form, frame, then_close};
use crate::widgets::field::{option, selected};

const PRIORITIES: [(&str, Priority, T); 3] = [
    ("high", Priority::High, T::GoalHigh),
    ("medium", Priority::Medium, T::GoalMedium),
    ("low", Priority::Low, T::GoalLow),
];

const STATUSES: [(&str, GoalStatus, T); 3] = [
    ("active", GoalStatus::Active, T::GoalActive),
    ("paused", GoalStatus::Paused, T::GoalPaused),
    ("completed", GoalStatus::Completed, T::GoalReached),
];

const ACTIONS: [(&str, ArtifactAction, T); 3] = [
    ("created", ArtifactAction::Created, T::FileCreated),
    ("modified", ArtifactAction::Modified, T::FileModified),
    ("deleted", ArtifactAction::Deleted, T::FileDeleted),
];

/// The kinds of lines that a person adds.
const KINDS: [(&str, T); 5] = [
    ("milestone", T::Milestone),
    ("decision", T::GoalDecision),
    ("next", T::GoalNextStep),
    ("blocker", T::GoalObstacle),
    ("file", T::GoalFile),
];

/// The goal of the open session.
pub fn goal(state: AppState) -> AnyView {
    let now = state.goal.get_untracked();
    let there = now.is_some();
    let goal = now.unwrap_or_default();
    let body = form(move || {
        let rest = there.then(|| {
            (
                chosen("#goal-priority", PRIORITIES),
                chosen("#goal-status", STATUSES),
            )
        });
        act::set_goal(page::value("#goal-text"), rest);
        state.dialog.set(None);
    })
    .child(area(T::GoalHelp, "goal-text", "3", goal.text.clone()))
    .child(there.then(|| {
        el("div")
            .class("fields")
            .child(choice(
                T::GoalPriority,
                "goal-priority",
                PRIORITIES,
                goal.priority,
            ))
            .child(choice(T::GoalStatus, "goal-status", STATUSES, goal.status))
    }));
    let lines = there.then(|| {
        el("div")
            .child(el("h3").child(t(T::GoalItems)))
            .live_on(
                move || {
                    let none = |g: &GoalView| g.items.is_empty();
                    state.goal.with(|g| g.as_ref().is_none_or(none))
                },
                move |none| {
                    if *none {
                        return el("p").class("sub").child(t(T::GoalNoItems)).view();
                    }
                    goal_items(state).view()
                },
            )
            .child(new_line())
    });
    let remove = there.then(|| {
        then_close(state, T::GoalRemove, PLAIN, || {
            act::set_goal(String::new(), None);
        })
    });
    let foot = el("p").class("acts").child(remove);
    let body = body.child(lines).child(foot).child(buttons(state));
    frame(state, t(T::Goal).to_owned(), body)
}

/// The line to add: its kind, its words, and what else a decision or a file has.
fn new_line() -> El {
    let kind = Signal::new("milestone".to_owned());
    let beside = move |kind: &String| match kind.as_str() {
        "decision" => text_field("goal-reason", T::GoalReason).view(),
        "file" => el("select")
            .attr("id", "goal-action")
            .attr("aria-label", t(T::GoalFileWas))
            .children(ACTIONS.map(|(name, _, words)| option(name, t(words), false)))
            .view(),
        _ => nothing(),
    };
    el("div")
        .class("acts new-line")
        .child(
            el("select")
                .attr("id", "goal-kind")
                .attr("aria-label", t(T::GoalKind))
                .children(KINDS.map(|(name, words)| option(name, t(words), false)))
                .on("change", move |event| {
                    if let Some(chosen) = selected(&event) {
                        kind.set(chosen);
                    }
                }),
        )
        .child(text_field("goal-line", T::GoalLine))
        .child(live_on(move || kind.get(), beside))
        .child(
            el("button")
                .class("btn")
                .attr("type", "button")
                .attr("id", "add-goal-line")
                .child(t(T::Add))
                .click(move || add(&kind.get_untracked())),
        )
}

fn add(kind: &str) {
    let text = page::value("#goal-line");
    if text.trim().is_empty() {
        return page::focus("#goal-line");
    }
    let line = match kind {
        "decision" => NewLine::Decision {
            reason: page::value("#goal-reason"),
        },
        "next" => NewLine::Next,
        "blocker" => NewLine::Blocker,
        "file" => NewLine::File(chosen("#goal-action", ACTIONS)),
        _ => NewLine::Milestone,
    };
    act::add_goal_line(text, line);
    for field in ["#goal-line", "#goal-reason"] {
        page::set_value(field, "");
    }
    page::focus("#goal-line");
}

fn text_field(id: &str, words: T) -> El {
    el("input")
        .attr("type", "text")
        .attr("id", id)
        .attr("dir", "auto")
        .attr("aria-label", t(words))
        .attr("placeholder", t(words))
}

/// A choice of three with its name.
fn choice<V: PartialEq>(name: T, id: &str, all: [(&str, V, T); 3], now: V) -> El {
    let options = all.map(|(value, one, words)| option(value, t(words), one == now));
    el("label")
        .child(el("span").class("sub").child(t(name)))
        .child(el("select").attr("id", id).children(options))
}

/// The one that is chosen in the page.
fn chosen<V: Copy>(selector: &str, all: [(&str, V, T); 3]) -> V {
    let name = page::value(selector);
    let found = all.iter().find(|(value, ..)| *value == name);
    found.map_or(all[0].1, |(_, one, _)| *one)
}
