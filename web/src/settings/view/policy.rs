//! The policy editor: the session's policy as a form, and a preview beside it.

use std::rc::Rc;

use leptos::prelude::AnyView;
use palimpsest_core::policy::{PassKind, Policy};

use crate::act;
use crate::context::data::record::TriedView;
use crate::platform::el::{El, el, live_if, nothing};
use crate::platform::icon::icon;
use crate::platform::page;
use crate::platform::signal::{Signal, kept};
use crate::settings::data::policy::{
    Entry, Field, Form, Kind, PASSES, REST, Wrong, base_of, text_of,
};
use crate::state::AppState;
use crate::text::{T, fill, number, t};
use crate::widgets::bar;
use crate::widgets::field::{self, fault, framed, line, lines, option, tick};
use crate::widgets::policies::policy_name;
use crate::widgets::words::pass_name;

/// The pause in typing after which the preview is made, in milliseconds.
const REST_OF_TYPING: i32 = 150;

/// A list: its element, its name, and the choices.
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

/// The fields before those of [`REST`], by the identifiers of their elements, with their names. The steps come between,
/// with their own names.
const FIRST: [(&str, T); 12] = [
    (OF.0, OF.1),
    ("policy-at", T::EditorAt),
    (KEEP.0, KEEP.1),
    ("policy-count", T::EditorCount),
    (COVER.0, COVER.1),
    (WORDS.0, WORDS.1),
    (FADING.0, FADING.1),
    ("policy-sizes", T::EditorSizes),
    (LEVELS.0, LEVELS.1),
    (FAILURE.0, FAILURE.1),
    ("policy-recall", T::EditorRecall),
    ("policy-arrival", T::EditorArrival),
];

/// The values in the fields.
fn typed() -> Form {
    let rest = |entry: &Entry| {
        let selector = format!("#{}", entry.id);
        match entry.kind {
            Kind::Flag if page::checked(&selector) => "true".to_owned(),
            Kind::Flag => String::new(),
            _ => page::value(&selector),
        }
    };
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
        rest: REST.iter().map(rest).collect(),
    }
}

/// A form that is being filled in.
#[derive(Clone)]
struct Sheet {
    /// The present values.
    now: Signal<Form>,
    wrong: Signal<Option<Wrong>>,
    /// The values of the preset.
    preset: Rc<Form>,
    /// The action on a change of a field.
    heard: Rc<dyn Fn()>,
}

fn form(state: AppState, policy: &Rc<Policy>, base: &Rc<str>, turn: Signal<u32>) -> AnyView {
    let first = Form::of(policy);
    let now = Signal::new(first.clone());
    let wrong = Signal::new(None::<Wrong>);
    let read: Rc<dyn Fn() -> Option<String>> = {
        let (policy, base) = (Rc::clone(policy), Rc::clone(base));
        Rc::new(move || {
            let form = typed();
            let made = form.apply(&policy);
            now.change(form);
            wrong.change(made.as_ref().err().cloned());
            text_of(&made.ok()?, &base).ok()
        })
    };
    let preview = preview_at_rest(Rc::clone(&read));
    preview();
    let preset = Policy::preset(base).unwrap_or_else(|_| (**policy).clone());
    let sheet = Sheet {
        now,
        wrong,
        preset: Rc::new(Form::of(&preset)),
        heard: Rc::clone(&preview),
    };
    el("form")
        .on("input", move |_| preview())
        .on("submit", move |event| {
            event.prevent_default();
            if let Some(text) = read() {
                act::choose_policy(text);
            }
        })
        .child(fields(&first, &sheet))
        .child(passes(&first, wrong))
        .child(tick("policy-recall", T::EditorRecall, first.recall))
        .child(tick("policy-arrival", T::EditorArrival, first.arrival))
        .children(groups(&first, &sheet))
        .child(fault_of_the_whole(wrong))
        .child(differs(base, sheet))
        .child(tried_window(state, wrong))
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
                .child(reset(Rc::clone(base), turn)),
        )
        .view()
}

/// Returns what shows the window under the policy that is typed, once typing has rested.
fn preview_at_rest(read: Rc<dyn Fn() -> Option<String>>) -> Rc<dyn Fn()> {
    let changes = kept(0u32);
    Rc::new(move || {
        let turn = *changes.borrow() + 1;
        *changes.borrow_mut() = turn;
        let (changes, read) = (Rc::clone(&changes), Rc::clone(&read));
        page::after(REST_OF_TYPING, move || {
            if *changes.borrow() == turn
                && let Some(text) = read()
            {
                act::try_policy(text);
            }
        });
    })
}

/// The plain fields: when to act, what is kept, how layers are written and fade.
fn fields(first: &Form, sheet: &Sheet) -> El {
    let now = sheet.now;
    el("div")
        .class("fields")
        .child(list(OF, &first.of, sheet))
        .child(field(
            ("policy-at", T::EditorAt, first.at.as_str()),
            (Field::At, T::EditorAtWrong),
            move || now.with(|f| f.of.is_empty()),
            sheet,
        ))
        .child(list(KEEP, &first.keep, sheet))
        .child(field(
            ("policy-count", T::EditorCount, first.count.as_str()),
            (Field::Count, T::EditorCountWrong),
            move || now.with(|f| f.keep == "share"),
            sheet,
        ))
        .child(list(COVER, &first.cover, sheet))
        .child(list(WORDS, &first.words, sheet))
        .child(list(FADING, &first.fading, sheet))
        .child(field(
            ("policy-sizes", T::EditorSizes, first.sizes.as_str()),
            (Field::Sizes, T::EditorSizesWrong),
            move || now.with(|f| f.fading == "notes"),
            sheet,
        ))
        .child(list(LEVELS, &first.levels, sheet))
        .child(list(FAILURE, &first.failure, sheet))
}

/// The passes that the policy makes, as boxes to tick.
fn passes(first: &Form, wrong: Signal<Option<Wrong>>) -> El {
    let passes_wrong = wrong_of((Field::Passes, T::EditorPassesWrong), wrong);
    let box_of =
        |(kind, on): (PassKind, bool)| tick(&format!("pass-{}", kind.name()), pass_name(kind), on);
    el("fieldset")
        .class("choice")
        .attr("aria-describedby", "policy-passes-wrong")
        .child(el("legend").child(t(T::EditorPasses)))
        .children(PASSES.into_iter().zip(first.passes).map(box_of))
        .child(fault("policy-passes-wrong".to_owned(), &passes_wrong))
}

/// A fault that belongs to no field.
fn fault_of_the_whole(wrong: Signal<Option<Wrong>>) -> El {
    let whole = |w: &Wrong| w.field.is_none().then(|| w.why.clone());
    let text = move || wrong.with(|w| w.as_ref().and_then(whole));
    el("p")
        .class("badc")
        .attr("role", "alert")
        .text_live(move || text().unwrap_or_default())
}

/// The window of the open session under the policy that is typed.
fn tried_window(state: AppState, wrong: Signal<Option<Wrong>>) -> El {
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
        )
}

/// The button that goes back to the preset.
fn reset(base: Rc<str>, turn: Signal<u32>) -> El {
    el("button")
        .class("btn")
        .attr("type", "button")
        .attr("id", "policy-reset")
        .child(fill(T::PolicyReset, &[&policy_name(&base)]))
        .click(move || {
            act::choose_policy(base.to_string());
            turn.update(|n| *n += 1);
        })
}

/// The fields of [`REST`], folded by subject.
fn groups(first: &Form, sheet: &Sheet) -> Vec<El> {
    let mut groups: Vec<(T, Vec<El>)> = Vec::new();
    for (at, (entry, value)) in REST.iter().zip(&first.rest).enumerate() {
        let field = one((at, entry), value, sheet);
        match groups.last_mut() {
            Some((group, fields)) if *group == entry.group => fields.push(field),
            _ => groups.push((entry.group, vec![field])),
        }
    }
    let group = |(name, fields): (T, Vec<El>)| {
        el("details")
            .class("more-fields")
            .child(el("summary").child(icon("chev")).child(t(name)))
            .child(el("div").class("fields").children(fields))
    };
    groups.into_iter().map(group).collect()
}

/// One field of [`REST`].
fn one((at, entry): (usize, &'static Entry), value: &str, sheet: &Sheet) -> El {
    let about = (Field::Rest(at), T::EditorMissing);
    let form = sheet.now;
    let idle = move || form.with(|f| entry.is_idle(f));
    match entry.kind {
        Kind::Flag => el("div").child(tick(entry.id, entry.name, !value.is_empty())),
        Kind::Choice(choices) => list((entry.id, entry.name, choices), value, sheet),
        Kind::Number(..) | Kind::Text | Kind::Words => {
            field((entry.id, entry.name, value), about, idle, sheet)
        }
        Kind::Rules => {
            let area = lines(value, "10");
            told(area, (entry.id, entry.name), about, idle, sheet).class("across")
        }
    }
}

fn list((id, name, choices): Choice, chosen: &str, sheet: &Sheet) -> El {
    let choices = choices
        .iter()
        .map(|(value, words)| option(value, t(*words), *value == chosen));
    let label = el("label")
        .child(t(name))
        .child(el("select").attr("id", id).children(choices));
    el("div").child(label).child(back(id, name, sheet))
}

/// A field for a number or a text, with its error beside it.
fn field(
    (id, name, value): (&'static str, T, &str),
    about: (Field, T),
    idle: impl Fn() -> bool + 'static,
    sheet: &Sheet,
) -> El {
    told(line(value), (id, name), about, idle, sheet)
}

fn told(
    input: El,
    (id, name): (&'static str, T),
    about: (Field, T),
    idle: impl Fn() -> bool + 'static,
    sheet: &Sheet,
) -> El {
    let input = input.prop_flag_live("disabled", idle);
    framed(input, id, name, &wrong_of(about, sheet.wrong)).child(back(id, name, sheet))
}

/// The error of one field: the reason, or else these words.
fn wrong_of((own, words): (Field, T), wrong: Signal<Option<Wrong>>) -> field::Wrong {
    let told = move |w: &Wrong| match (w.field == Some(own), w.why.is_empty()) {
        (false, _) => None,
        (true, true) => Some(t(words).to_owned()),
        (true, false) => Some(w.why.clone()),
    };
    Rc::new(move || wrong.with(|w| w.as_ref().and_then(told)))
}

/// A button that puts the preset's value back into a field, while something else stands there.
fn back(id: &'static str, name: T, sheet: &Sheet) -> AnyView {
    let usual = sheet.preset.part(id);
    let (now, heard) = (sheet.now, Rc::clone(&sheet.heard));
    let here = usual.clone();
    live_if(
        move || now.with(|form| form.part(id) != here),
        move || {
            let (heard, value) = (Rc::clone(&heard), usual.clone());
            el("button")
                .class("link")
                .attr("type", "button")
                .attr("data-back", id)
                .child(icon("undo"))
                .child(fill(T::EditorBack, &[t(name), &words_of(id, &usual)]))
                .click(move || {
                    let field = format!("#{id}");
                    page::set_value(&field, &value);
                    // the button goes
                    page::focus(&field);
                    heard();
                })
                .view()
        },
    )
}

/// The value of a field as a person reads it.
fn words_of(id: &str, value: &str) -> String {
    let lists = [OF, KEEP, COVER, WORDS, LEVELS, FADING, FAILURE];
    let first = lists.iter().find(|(list, ..)| *list == id).map(|l| l.2);
    let rest = REST.iter().find(|e| e.id == id).map(|e| e.kind);
    let flag = matches!(rest, Some(Kind::Flag))
        || id.starts_with("pass-")
        || matches!(id, "policy-recall" | "policy-arrival");
    let choices = match rest {
        Some(Kind::Choice(choices)) => Some(choices),
        _ => first,
    };
    let chosen = choices.and_then(|all| all.iter().find(|(word, _)| *word == value));
    match (chosen, flag, value) {
        (Some((_, words)), ..) => t(*words).to_owned(),
        (None, true, "") => t(T::EditorOff).to_owned(),
        (None, true, _) => t(T::EditorOn).to_owned(),
        (None, false, "") => t(T::EditorEmpty).to_owned(),
        (None, false, value) if value.contains('\n') => number(value.lines().count() as u32),
        (None, false, value) => value.to_owned(),
    }
}

/// The differences from the preset, field by field: its value and this one.
fn differs(base: &str, sheet: Sheet) -> El {
    let title = [T::EditorDiffers, T::EditorSame].map(|text| fill(text, &[&policy_name(base)]));
    let changed = move || {
        let passes = PASSES.map(|kind| (format!("pass-{}", kind.name()), pass_name(kind)));
        let first = FIRST.iter().map(|(id, name)| ((*id).to_owned(), *name));
        let rest = REST.iter().map(|e| (e.id.to_owned(), e.name));
        let all = first.chain(passes).chain(rest);
        let pair = |(id, name): (String, T)| {
            let (there, here) = (sheet.preset.part(&id), sheet.now.with(|f| f.part(&id)));
            let words = [there.as_str(), here.as_str()].map(|value| words_of(&id, value));
            (there != here).then(|| (t(name), words))
        };
        all.filter_map(pair).collect::<Vec<_>>()
    };
    el("div")
        .class("differs")
        .attr("id", "policy-differs")
        .attr("aria-live", "polite")
        .live_on(changed, move |changed| {
            if changed.is_empty() {
                return el("p").class("sub").child(title[1].clone()).view();
            }
            let line = |(name, [there, here]): &(&'static str, [String; 2])| {
                el("li")
                    .child(format!("{name}: "))
                    .child(el("del").child(there.clone()))
                    .child(" → ")
                    .child(el("ins").child(here.clone()))
            };
            el("div")
                .child(el("p").class("sub").child(title[0].clone()))
                .child(el("ul").children(changed.iter().map(line)))
                .view()
        })
}

/// The present window under the policy.
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
