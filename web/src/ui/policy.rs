//! The policy editor: the session's policy as a form, and beside it what it would do now.

use std::rc::Rc;

use leptos::prelude::AnyView;
use palimpsest_core::policy::Policy;

use crate::act;
use crate::el::{El, el, nothing};
use crate::icon::icon;
use crate::page;
use crate::signal::{Signal, kept};
use crate::state::AppState;
use crate::text::{T, fill, number, t};
use crate::ui::bar;
use crate::ui::figures::{pass_name, policy_name};
use crate::view::policy::{Field, Form, PASSES, Wrong, base_of, text_of};
use crate::view::record::TriedView;

/// How long typing must rest before the preview is made, in milliseconds.
const REST: i32 = 150;

/// A list: its element, its name, and what can be chosen.
type Choice = (&'static str, T, &'static [(&'static str, T)]);

const OF: Choice = (
    "policy-of",
    T::EditorOf,
    &[
        ("available", T::OfAvailable),
        ("window_less_fixed", T::OfLessFixed),
        ("window", T::OfWindow),
        ("window_less_tier", T::OfLessTier),
        ("", T::OfNone),
    ],
);
const KEEP: Choice = (
    "policy-keep",
    T::EditorKeep,
    &[
        ("share", T::KeepShare),
        ("tokens", T::KeepTokens),
        ("messages", T::KeepMessages),
    ],
);
const COVER: Choice = (
    "policy-cover",
    T::EditorCover,
    &[("needed", T::CoverNeeded), ("all", T::CoverAll)],
);
const WORDS: Choice = (
    "policy-words",
    T::EditorWords,
    &[
        ("share", T::WordsShare),
        ("summarize", T::WordsSummarize),
        ("never", T::WordsNever),
    ],
);
const LEVELS: Choice = (
    "policy-levels",
    T::EditorLevels,
    &[("age", T::LevelsAge), ("size", T::LevelsSize)],
);
const FADING: Choice = (
    "policy-fading",
    T::EditorFading,
    &[
        ("notes", T::FadingNotes),
        ("cascade", T::FadingCascade),
        ("ratios", T::FadingRatios),
        ("single", T::FadingSingle),
    ],
);
const FAILURE: Choice = (
    "policy-failure",
    T::EditorFailure,
    &[
        ("extractive", T::FailureExtractive),
        ("refuse", T::FailureRefuse),
    ],
);

/// The editor of the open session's policy, folded.
pub fn editor(state: AppState) -> El {
    let turn = Signal::new(0u32);
    let own = move || {
        let own = state.open.with(|o| o.as_ref().map(|o| o.policy.clone()));
        own.unwrap_or_else(|| state.settings.with(|s| s.policy.clone()))
    };
    el("details")
        .class("editor")
        .attr("id", "policy-editor")
        .child(el("summary").child(icon("chev")).child(t(T::PolicyEdit)))
        .live_on(
            move || (own(), turn.get()),
            move |(text, _)| match Policy::from_text(text) {
                Ok(policy) => form(state, &Rc::new(policy), &Rc::from(base_of(text)), turn),
                Err(error) => el("p").class("badc").child(error.to_string()).view(),
            },
        )
}

/// What stands in the fields.
fn typed() -> Form {
    Form {
        of: page::value("#policy-of"),
        at: page::value("#policy-at"),
        keep: page::value("#policy-keep"),
        count: page::value("#policy-count"),
        cover: page::value("#policy-cover"),
        words: page::value("#policy-words"),
        levels: page::value("#policy-levels"),
        fading: page::value("#policy-fading"),
        sizes: page::value("#policy-sizes"),
        failure: page::value("#policy-failure"),
        passes: PASSES.map(|kind| page::checked(&format!("#pass-{}", kind.name()))),
        recall: page::checked("#policy-recall"),
        arrival: page::checked("#policy-arrival"),
    }
}

fn form(state: AppState, policy: &Rc<Policy>, base: &Rc<str>, turn: Signal<u32>) -> AnyView {
    let first = Form::of(policy);
    let now = Signal::new(first.clone());
    let wrong = Signal::new(None::<Wrong>);
    let read = {
        let (policy, base) = (Rc::clone(policy), Rc::clone(base));
        move || -> Option<String> {
            let form = typed();
            let made = form.apply(&policy);
            now.change(form);
            wrong.change(made.as_ref().err().cloned());
            text_of(&made.ok()?, &base).ok()
        }
    };
    let changes = kept(0u32);
    let preview = {
        let read = read.clone();
        move || {
            let turn = *changes.borrow() + 1;
            *changes.borrow_mut() = turn;
            let (changes, read) = (Rc::clone(&changes), read.clone());
            page::after(REST, move || {
                if *changes.borrow() == turn
                    && let Some(text) = read()
                {
                    act::try_policy(text);
                }
            });
        }
    };
    preview();
    let fields = el("div")
        .class("fields")
        .child(list(OF, &first.of))
        .child(field(
            ("policy-at", T::EditorAt, first.at.as_str()),
            (Field::At, T::EditorAtWrong, wrong),
            move || now.with(|f| f.of.is_empty()),
        ))
        .child(list(KEEP, &first.keep))
        .child(field(
            ("policy-count", T::EditorCount, first.count.as_str()),
            (Field::Count, T::EditorCountWrong, wrong),
            move || now.with(|f| f.keep == "share"),
        ))
        .child(list(COVER, &first.cover))
        .child(list(WORDS, &first.words))
        .child(list(FADING, &first.fading))
        .child(field(
            ("policy-sizes", T::EditorSizes, first.sizes.as_str()),
            (Field::Sizes, T::EditorSizesWrong, wrong),
            move || now.with(|f| f.fading == "notes"),
        ))
        .child(list(LEVELS, &first.levels))
        .child(list(FAILURE, &first.failure));
    let passes = el("fieldset")
        .class("choice")
        .attr("aria-describedby", "policy-passes-wrong")
        .child(el("legend").child(t(T::EditorPasses)))
        .children(
            PASSES
                .into_iter()
                .zip(first.passes)
                .map(|(kind, on)| tick(format!("pass-{}", kind.name()), pass_name(kind), on)),
        )
        .child(fault(
            "policy-passes-wrong",
            (Field::Passes, T::EditorPassesWrong, wrong),
        ));
    let back = Rc::clone(base);
    let reset = el("button")
        .class("btn")
        .attr("type", "button")
        .attr("id", "policy-reset")
        .child(fill(T::PolicyReset, &[&policy_name(base)]))
        .click(move || {
            act::choose_policy(back.to_string());
            turn.update(|n| *n += 1);
        });
    let heard = preview.clone();
    el("form")
        .on("input", move |_| heard())
        .on("submit", move |event| {
            event.prevent_default();
            if let Some(text) = read() {
                act::choose_policy(text);
            }
        })
        .child(fields)
        .child(passes)
        .child(tick(
            "policy-recall".to_owned(),
            T::EditorRecall,
            first.recall,
        ))
        .child(tick(
            "policy-arrival".to_owned(),
            T::EditorArrival,
            first.arrival,
        ))
        .child(
            el("p")
                .class("badc")
                .attr("role", "alert")
                .text_live(move || {
                    let whole = |w: &Wrong| w.field.is_none().then(|| w.why.clone());
                    wrong
                        .with(|w| w.as_ref().and_then(whole))
                        .unwrap_or_default()
                }),
        )
        .child(
            el("div")
                .class("tried")
                .attr("id", "policy-tried")
                .attr("aria-live", "polite")
                .child(el("h3").child(t(T::Tried)))
                .live_on(
                    move || (state.tried.get(), wrong.with(Option::is_none)),
                    |(shown, good)| match shown {
                        Some(shown) if *good => tried(shown).view(),
                        _ => nothing(),
                    },
                ),
        )
        .child(
            el("p")
                .class("acts")
                .child(
                    el("button")
                        .class("btn solid")
                        .attr("type", "submit")
                        .attr("id", "policy-use")
                        .child(t(T::PolicyUse)),
                )
                .child(reset),
        )
        .view()
}

fn list((id, name, choices): Choice, chosen: &str) -> El {
    let choices = choices.iter().map(|(value, words)| {
        el("option")
            .attr("value", *value)
            .flag("selected", *value == chosen)
            .child(t(*words))
    });
    el("label")
        .child(t(name))
        .child(el("select").attr("id", id).children(choices))
}

fn tick(id: String, name: T, on: bool) -> El {
    el("label")
        .class("tick-box")
        .child(
            el("input")
                .attr("type", "checkbox")
                .attr("id", id)
                .flag("checked", on),
        )
        .child(t(name))
}

/// Where a field can be wrong, what is said then, and what is wrong now.
type Fault = (Field, T, Signal<Option<Wrong>>);

/// A field for numbers, with what is wrong about it beside it.
fn field(
    (id, name, value): (&'static str, T, &str),
    about: Fault,
    idle: impl Fn() -> bool + 'static,
) -> El {
    let (own, _, wrong) = about;
    let is_wrong = move || wrong.with(|w| w.as_ref().is_some_and(|w| w.field == Some(own)));
    let told = format!("{id}-wrong");
    let label = el("label").child(t(name)).child(
        el("input")
            .attr("type", "text")
            .attr("id", id)
            .attr("value", value)
            .attr("autocomplete", "off")
            .attr("aria-describedby", told.clone())
            .attr_live("aria-invalid", move || {
                is_wrong().then(|| "true".to_owned())
            })
            .prop_flag_live("disabled", idle),
    );
    el("div").child(label).child(fault(told, about))
}

fn fault(id: impl Into<String>, (own, words, wrong): Fault) -> El {
    el("span")
        .class("badc")
        .attr("id", id)
        .attr("role", "alert")
        .text_live(move || {
            let told = wrong.with(|w| w.as_ref().is_some_and(|w| w.field == Some(own)));
            if told {
                t(words).to_owned()
            } else {
                String::new()
            }
        })
}

/// What the policy would make of the window now.
fn tried(shown: &TriedView) -> El {
    let budget = &shown.budget;
    let sizes = [budget.trigger, budget.limit, budget.target, budget.floor].map(number);
    let now = match &shown.plan {
        Err(why) => why.clone(),
        Ok(plan) if plan.messages == 0 => {
            fill(T::TriedPlain, &[&number(plan.before), &number(plan.after)])
        }
        Ok(plan) => fill(
            T::TriedNow,
            &[
                &number(plan.before),
                &number(plan.after),
                &number(plan.messages),
                &plan.covers.0.to_string(),
                &plan.covers.1.to_string(),
                &number(plan.read),
                &number(plan.layer),
            ],
        ),
    };
    el("div")
        .child(el("p").child(fill(
            T::TriedSizes,
            &[&sizes[0], &sizes[1], &sizes[2], &sizes[3]],
        )))
        .child(el("p").child(now))
        .child(bar::preview(budget))
        .child(el("p").class("sub").child(t(T::PreviewHelp)))
}
