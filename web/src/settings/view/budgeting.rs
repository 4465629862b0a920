//! The settings of model and budget: what new sessions begin with, and how much of a window they have.

use std::rc::Rc;

use leptos::prelude::AnyView;

use crate::act;
use crate::platform::el::{El, el, live_on, nothing};
use crate::platform::page;
use crate::platform::signal::{Shown, Signal, effect};
use crate::settings::data::connection::ModelEntry;
use crate::settings::data::policy::share_of;
use crate::settings::view::models::describe;
use crate::settings::view::parameters;
use crate::settings::view::settings::switch;
use crate::settings::view::window::windows;
use crate::settings::{percent_of, temperature_of, tokens_of};
use crate::state::AppState;
use crate::text::{T, count, fill, number, t};
use crate::widgets::bar;
use crate::widgets::field::{Wrong, framed, line, option, selected};

/// The tab.
pub fn model(state: AppState) -> El {
    let (titles, others) = state
        .settings
        .with_untracked(|s| (s.titles, s.other_sessions));
    effect(move || {
        state.settings.track();
        state.open.track();
        state.models.track();
        act::preview_new();
    });
    el("section")
        .attr("aria-labelledby", "h-model")
        .child(
            el("h2")
                .attr("id", "h-model")
                .child(t(T::TabModel))
                .child(el("span").class("sub").text_live(move || state.model())),
        )
        .child(
            el("div")
                .class("fields")
                .live_on(
                    move || state.models.get(),
                    move |models| field(T::Model, list(state, models, false), nothing()).view(),
                )
                .child(window(state))
                .child(reserve(state))
                .child(compact_at(state))
                .live_on(
                    move || state.models.get(),
                    move |models| {
                        field(T::SummaryModel, list(state, models, true), nothing()).view()
                    },
                )
                .child(temperature(state)),
        )
        .live_on(
            move || state.fresh.get(),
            |fresh| {
                let Some((budget, turns)) = fresh else {
                    return nothing();
                };
                let turns = turns.map(|n| {
                    el("span")
                        .class("sub")
                        .child(count(T::FreshTurnsOne, T::FreshTurnsMany, n))
                });
                el("div")
                    .attr("id", "fresh")
                    .child(
                        el("p")
                            .class("fresh")
                            .child(el("b").child(t(T::FreshStarts)))
                            .child(turns),
                    )
                    .child(bar::preview(budget))
                    .view()
            },
        )
        .child(parameters::parameters(state))
        .child(switch("titles", T::AutoTitle, titles, |s, on| {
            s.titles = on;
        }))
        .child(switch("others", T::OtherSessions, others, |s, on| {
            s.other_sessions = on;
        }))
}

fn field(name: T, control: El, help: AnyView) -> El {
    el("label").child(t(name)).child(control).child(help)
}

fn help(text: impl Fn() -> String + 'static) -> AnyView {
    el("span").text_live(text).view()
}

fn window(state: AppState) -> El {
    let control = windows(
        "default-window",
        move || state.settings.with(|s| s.model.clone()),
        move || state.settings.with(|s| s.window),
        |size| size,
        |chosen| {
            if let Some(tokens) = chosen {
                act::change(move |s| s.window = tokens);
            }
        },
    );
    let known = move || {
        let name = state.settings.with(|s| s.model.clone());
        state.models.with(|all| {
            let model = all.iter().find(|m| m.name == name)?;
            let sizes = [
                model.trained.map(|n| fill(T::WindowTrained, &[&number(n)])),
                model.loaded.map(|n| fill(T::WindowLoaded, &[&number(n)])),
            ];
            let words: Vec<String> = sizes.into_iter().flatten().collect();
            (!words.is_empty()).then(|| words.join(", "))
        })
    };
    field(
        T::Window,
        control,
        help(move || known().unwrap_or_else(|| t(T::WindowHelp).to_owned())),
    )
}

/// A field whose value the session has: typed, checked, and shown again as it then is.
fn typed<V: 'static>(
    (id, name, wrong): (&'static str, T, T),
    shown: impl Fn() -> String + 'static,
    read: fn(&str) -> Option<V>,
    then: fn(V),
) -> El {
    let fault = Signal::new(false);
    let shown = Shown::of(shown);
    let now = shown.clone();
    let selector = format!("#{id}");
    let input = line("")
        .attr("inputmode", "numeric")
        .prop_live("value", move || now.with(Clone::clone))
        .on("change", move |_| {
            let value = read(&page::value(&selector));
            fault.change(value.is_none());
            if let Some(value) = value {
                then(value);
                // The value may be the same as before although the user typed another one.
                let (selector, shown) = (selector.clone(), shown.clone());
                page::after(300, move || {
                    page::set_value(&selector, &shown.with(Clone::clone));
                });
            }
        });
    let said = move || fault.get().then(|| t(wrong).to_owned());
    framed(input, id, name, &(Rc::new(said) as Wrong))
}

fn reserve(state: AppState) -> El {
    let reserve = move || state.budget.with(|b| b.as_ref().map(|b| b.reserve));
    let share = move || {
        state.budget.with(|b| {
            let b = b.as_ref()?;
            let window = b.window.filter(|w| *w > 0)?;
            Some((u64::from(b.reserve) * 100 / u64::from(window)) as u32)
        })
    };
    typed(
        ("reserve", T::Reserve, T::ReserveWrong),
        move || reserve().map(number).unwrap_or_default(),
        tokens_of,
        act::choose_reserve,
    )
    .child(el("span").class("help").child(help(move || {
        share().map_or_else(String::new, |n| fill(T::ReserveHelp, &[&n.to_string()]))
    })))
}

fn compact_at(state: AppState) -> AnyView {
    let share = move || {
        let policy = state.open.with(|o| o.as_ref().map(|o| o.policy.clone()));
        share_of(&policy.unwrap_or_else(|| state.settings.with(|s| s.policy.clone())))
    };
    let trigger = move || state.budget.with(|b| b.as_ref().map(|b| b.trigger));
    live_on(
        move || share().is_some(),
        move |fills| {
            if !*fills {
                let control = line("").attr("id", "compact-at").flag("disabled", true);
                return field(
                    T::CompactAt,
                    control,
                    help(|| t(T::CompactAtNot).to_owned()),
                )
                .view();
            }
            typed(
                ("compact-at", T::CompactAt, T::EditorAtWrong),
                move || share().map(|n| format!("{n} %")).unwrap_or_default(),
                percent_of,
                act::compact_at,
            )
            .child(el("span").class("help").child(help(move || {
                trigger().map_or_else(String::new, |n| fill(T::CompactAtHelp, &[&number(n)]))
            })))
            .view()
        },
    )
}

fn temperature(state: AppState) -> El {
    let chosen = state.settings.with_untracked(|s| s.temperature);
    let control = line(&chosen.map(|x| x.to_string()).unwrap_or_default())
        .attr("inputmode", "decimal")
        .attr("id", "temperature")
        .attr("placeholder", t(T::TemperatureOwn))
        .on("change", |_| {
            match temperature_of(&page::value("#temperature")) {
                Ok(value) => act::change(move |s| s.temperature = value),
                Err(_) => act::note(t(T::TemperatureWrong).to_owned(), true),
            }
        });
    field(
        T::Temperature,
        control,
        help(|| t(T::TemperatureHelp).to_owned()),
    )
}

/// The models to choose from: of new sessions, or those that write layers.
fn list(state: AppState, models: &[ModelEntry], for_layers: bool) -> El {
    let chosen = state.settings.with_untracked(|s| {
        if for_layers {
            s.summary_model.clone()
        } else {
            s.model.clone()
        }
    });
    let (id, first) = if for_layers {
        ("summary-model", T::SummaryModelSame)
    } else {
        ("default-model", T::ModelFirst)
    };
    let lost = !chosen.is_empty() && chosen != "-" && !models.iter().any(|m| m.name == chosen);
    el("select")
        .attr("id", id)
        .on("change", move |event| {
            let Some(name) = selected(&event) else { return };
            act::change(move |s| {
                if for_layers {
                    s.summary_model = name;
                } else {
                    s.model = name;
                }
            });
        })
        .child(option("", t(first), chosen.is_empty()))
        .child(for_layers.then(|| option("-", t(T::SummaryModelNone), chosen == "-")))
        .child(lost.then(|| option(&chosen, &chosen, true)))
        .children(
            models
                .iter()
                .map(|m| option(&m.name, &describe(m), m.name == chosen)),
        )
}
