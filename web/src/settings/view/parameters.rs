//! The parameters of the open session's model: its window, its sampling, its summariser.

use std::rc::Rc;

use leptos::prelude::AnyView;
use palimpsest_text::number::shortest;

use crate::act;
use crate::platform::el::{El, el, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::page;
use crate::platform::signal::Signal;
use crate::settings::data::connection::ModelEntry;
use crate::settings::{
    ModelSettings, Think, penalty_of, seed_of, share_of, stops_of, temperature_of, tokens_of,
    window_of,
};
use crate::state::AppState;
use crate::text::{T, fill, number, t};
use crate::widgets::field::{Wrong, framed, line, lines, option, selected};

/// A field: its element, its name, the text of an error, its value, and the action on input.
struct Field {
    id: &'static str,
    name: T,
    wrong: T,
    shown: fn(&ModelSettings) -> String,
    typed: fn(&str) -> Option<Edit>,
}

/// A change of what goes with a model.
type Edit = Box<dyn FnOnce(&mut ModelSettings)>;

/// The usual time that a model stays loaded, in seconds.
const USUAL: i32 = 1800;

/// The times for which a model may stay loaded: seconds and names.
const STAYS: [(i32, T); 5] = [
    (0, T::KeepNone),
    (300, T::KeepShort),
    (USUAL, T::KeepUsual),
    (7200, T::KeepLong),
    (-1, T::KeepEver),
];

/// The amounts of thinking: keys and names.
const THINKS: [(&str, Think, T); 5] = [
    ("off", Think::Off, T::EditorOff),
    ("on", Think::On, T::EditorOn),
    ("low", Think::Low, T::ThinkLow),
    ("medium", Think::Medium, T::ThinkMedium),
    ("high", Think::High, T::ThinkHigh),
];

fn whole(value: Option<u32>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

fn share(value: Option<f32>) -> String {
    value.map(shortest).unwrap_or_default()
}

static FIELDS: [Field; 7] = [
    Field {
        id: "own-window",
        name: T::Window,
        wrong: T::OwnWindowWrong,
        shown: |own| whole(own.window),
        typed: |typed| {
            let window = match typed.trim() {
                "" => None,
                typed => Some(window_of(typed)?),
            };
            Some(Box::new(move |own: &mut ModelSettings| {
                own.window = window;
            }))
        },
    },
    Field {
        id: "own-temperature",
        name: T::Temperature,
        wrong: T::TemperatureWrong,
        shown: |own| share(own.temperature),
        typed: |typed| {
            let value = temperature_of(typed).ok()?;
            Some(Box::new(move |own: &mut ModelSettings| {
                own.temperature = value;
            }))
        },
    },
    Field {
        id: "own-share",
        name: T::TopP,
        wrong: T::TopPWrong,
        shown: |own| share(own.top_p),
        typed: |typed| {
            let value = share_of(typed).ok()?;
            Some(Box::new(move |own: &mut ModelSettings| {
                own.top_p = value;
            }))
        },
    },
    Field {
        id: "own-least",
        name: T::MinP,
        wrong: T::TopPWrong,
        shown: |own| share(own.min_p),
        typed: |typed| {
            let value = share_of(typed).ok()?;
            Some(Box::new(move |own: &mut ModelSettings| {
                own.min_p = value;
            }))
        },
    },
    Field {
        id: "own-penalty",
        name: T::RepeatPenalty,
        wrong: T::PenaltyWrong,
        shown: |own| share(own.repeat_penalty),
        typed: |typed| {
            let value = penalty_of(typed).ok()?;
            Some(Box::new(move |own: &mut ModelSettings| {
                own.repeat_penalty = value;
            }))
        },
    },
    Field {
        id: "own-most",
        name: T::MostTokens,
        wrong: T::MostTokensWrong,
        shown: |own| whole(own.most_tokens),
        typed: |typed| {
            let value = tokens_of(typed)?;
            Some(Box::new(move |own: &mut ModelSettings| {
                own.most_tokens = value;
            }))
        },
    },
    Field {
        id: "own-seed",
        name: T::Seed,
        wrong: T::SeedWrong,
        shown: |own| whole(own.seed),
        typed: |typed| {
            let value = seed_of(typed).ok()?;
            Some(Box::new(move |own: &mut ModelSettings| {
                own.seed = value;
            }))
        },
    },
];

/// The parameters of the open session's model, folded.
pub fn parameters(state: AppState) -> AnyView {
    let can_think = move |model: &str| {
        let own = |m: &ModelEntry| m.name == model && m.may_think();
        state.models.with(|all| all.iter().any(own))
    };
    live_on(
        move || {
            let model = state.model();
            let thinks = can_think(&model);
            (model, thinks)
        },
        move |(model, thinks)| {
            if model.is_empty() {
                return nothing();
            }
            let own = state
                .settings
                .with_untracked(|s| s.models.get(model).cloned())
                .unwrap_or_default();
            el("details")
                .class("editor")
                .attr("id", "model-editor")
                .flag("open", own != ModelSettings::default())
                .child(
                    el("summary")
                        .child(icon("chev"))
                        .child(fill(T::OnlyFor, &[model])),
                )
                .child(el("p").class("sub").child(t(T::OnlyForHelp)))
                .child(
                    el("div")
                        .class("fields")
                        .children(FIELDS.iter().map(|field| one(field, &own)))
                        .child(thinks.then(|| thinking(&own)))
                        .child(stays(&own))
                        .child(stops(&own))
                        .child(writers(state, &own)),
                )
                .view()
        },
    )
}

fn one(field: &'static Field, own: &ModelSettings) -> El {
    let wrong = Signal::new(false);
    let input = line(&(field.shown)(own))
        .attr("inputmode", "decimal")
        .attr("placeholder", t(T::AsForAll))
        .on("change", move |_| {
            let edit = (field.typed)(&page::value(&format!("#{}", field.id)));
            wrong.change(edit.is_none());
            if let Some(edit) = edit {
                act::for_model(edit);
            }
        });
    let said = move || wrong.get().then(|| t(field.wrong).to_owned());
    framed(input, field.id, field.name, &(Rc::new(said) as Wrong))
}

fn thinking(own: &ModelSettings) -> El {
    let chosen = own.think;
    let all = THINKS
        .iter()
        .map(|(value, think, name)| option(value, t(*name), Some(*think) == chosen));
    let list = el("select")
        .attr("id", "own-think")
        .on("change", |event| {
            let value = selected(&event).unwrap_or_default();
            let think = THINKS.iter().find(|(name, ..)| *name == value);
            act::for_model(move |own| own.think = think.map(|(_, think, _)| *think));
        })
        .child(option("", t(T::ThinkOwn), chosen.is_none()))
        .children(all);
    el("label").child(t(T::ThinkFirst)).child(list)
}

/// Texts that end a reply, a line each.
fn stops(own: &ModelSettings) -> El {
    let shown: Vec<String> = own.stop.iter().map(|s| s.replace('\n', "\\n")).collect();
    let area = lines(&shown.join("\n"), "2")
        .attr("id", "own-stop")
        .on("change", |_| {
            let all = stops_of(&page::value("#own-stop"));
            act::for_model(move |own| own.stop = all);
        });
    el("label").child(t(T::StopTexts)).child(area)
}

fn stays(own: &ModelSettings) -> El {
    let chosen = own.keep_alive;
    let known = STAYS.iter().any(|(seconds, _)| Some(*seconds) == chosen);
    let other = chosen
        .filter(|_| !known)
        .map(|n| option(&n.to_string(), &number(n.unsigned_abs()), true));
    let all = STAYS
        .iter()
        .map(|(seconds, name)| option(&seconds.to_string(), t(*name), Some(*seconds) == chosen));
    let list = el("select")
        .attr("id", "own-stay")
        .on("change", |event| {
            let seconds = selected(&event).and_then(|v| v.parse().ok());
            act::for_model(move |own| own.keep_alive = seconds);
        })
        .child(option("", t(T::AsForAll), chosen.is_none()))
        .children(all)
        .child(other);
    el("label").child(t(T::KeepAlive)).child(list)
}

fn writers(state: AppState, own: &ModelSettings) -> El {
    let chosen = own.summary_model.clone();
    let usual = [
        (None, T::AsForAll),
        (Some(""), T::SummaryModelSame),
        (Some("-"), T::SummaryModelNone),
    ];
    // A choice may have no name, so its index identifies it.
    let mut choices: Vec<(Option<String>, String)> = usual
        .into_iter()
        .map(|(name, words)| (name.map(str::to_owned), t(words).to_owned()))
        .collect();
    choices.extend(state.models.with_untracked(|all| {
        let model = |name: &String| (Some(name.clone()), name.clone());
        all.iter().map(|m| model(&m.name)).collect::<Vec<_>>()
    }));
    if let Some(name) = chosen.as_ref()
        && !choices
            .iter()
            .any(|(choice, _)| choice.as_ref() == Some(name))
    {
        choices.push((Some(name.clone()), name.clone()));
    }
    let options = choices
        .iter()
        .enumerate()
        .map(|(at, (choice, words))| option(&at.to_string(), words, *choice == chosen));
    let list = el("select").attr("id", "own-writer").children(options);
    let list = list.on("change", move |event| {
        let at = selected(&event).and_then(|v| v.parse::<usize>().ok());
        if let Some((choice, _)) = at.and_then(|at| choices.get(at)).cloned() {
            act::for_model(move |own| own.summary_model = choice);
        }
    });
    el("label").child(t(T::SummaryModel)).child(list)
}
