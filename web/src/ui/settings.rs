//! The settings: connection with its doctor, model and budget, appearance, shortcuts.

use leptos::prelude::AnyView;
use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;

use crate::act;
use crate::el::{El, IntoChild, el, live_if, live_on, nothing};
use crate::embed;
use crate::icon::icon;
use crate::page;
use crate::settings::{Server, Settings, Theme, address_of, temperature_of};
use crate::signal::{Signal, derived};
use crate::state::{AppState, Tab};
use crate::text::{T, fill, seconds, t};
use crate::ui::header::{describe, selected};
use crate::ui::side::shortcut;
use crate::ui::window::windows;
use crate::ui::{parameters, policy, profiles};
use crate::view::model::{Check, Connection, Fix, ModelEntry, Verdict};

/// The settings screen.
pub fn settings() -> AnyView {
    let state = AppState::here();
    let tabs = [
        (Tab::Connection, T::TabConnection),
        (Tab::Model, T::TabModel),
        (Tab::Appearance, T::TabAppearance),
        (Tab::Shortcuts, T::TabShortcuts),
    ];
    let nav = el("nav")
        .class("tabs")
        .attr("aria-label", t(T::Settings))
        .children(tabs.into_iter().map(|(tab, name)| {
            el("button")
                .attr("type", "button")
                .attr_live("aria-current", move || {
                    (state.tab.get() == tab).then(|| "page".to_owned())
                })
                .child(t(name))
                .click(move || state.tab.set(tab))
        }));
    let head = el("header")
        .class("head wide")
        .child(
            el("div")
                .class("title")
                .child(el("h1").attr("id", "h-settings").child(t(T::Settings))),
        )
        .child(nav);
    el("section")
        .class("screen settings")
        .attr("id", "s-settings")
        .attr("aria-labelledby", "h-settings")
        .child(head)
        .child(el("div").class("doc").live_on(
            move || state.tab.get(),
            move |tab| match tab {
                Tab::Connection => connection(state).view(),
                Tab::Model => model(state).view(),
                Tab::Appearance => appearance(state).view(),
                Tab::Shortcuts => shortcuts().view(),
            },
        ))
        .into_child()
}

fn input_value(event: &web_sys::Event) -> Option<String> {
    Some(event.target()?.dyn_into::<HtmlInputElement>().ok()?.value())
}

fn ticked(event: &web_sys::Event) -> Option<bool> {
    Some(
        event
            .target()?
            .dyn_into::<HtmlInputElement>()
            .ok()?
            .checked(),
    )
}

/// The address of the model server and what the doctor found.
fn connection(state: AppState) -> El {
    let worst = move || {
        state
            .checks
            .with(|all| all.iter().map(|c| c.verdict).max_by_key(|v| *v as u8))
    };
    let chip = live_on(worst, |worst| {
        let (class, text) = match worst {
            None => return nothing(),
            Some(Verdict::Good) => ("chip okc", T::DoctorWorks),
            Some(Verdict::Remark) => ("chip warnc", T::DoctorRemark),
            Some(Verdict::Bad) => ("chip badc", T::DoctorBroken),
        };
        el("span").class(class).child(t(text)).view()
    });
    let test = || act::connect(address_of(&page::value("#address")));
    let kind = move || state.settings.with(|s| s.server);
    let chosen = state.settings.with_untracked(|s| s.server);
    let form = el("form")
        .class("addr")
        .on("submit", move |event| {
            event.prevent_default();
            test();
        })
        .child(el("label").attr("for", "kind").child(t(T::ServerKind)))
        .child(
            el("select")
                .attr("id", "kind")
                .class("across")
                .on("change", |event| {
                    act::choose_server(Server::named(&selected(&event).unwrap_or_default()));
                })
                .children(
                    [
                        (Server::Ollama, T::KindOllama),
                        (Server::LlamaCpp, T::KindLlamaCpp),
                        (Server::OpenAi, T::KindOpenAi),
                    ]
                    .map(|(server, name)| {
                        el("option")
                            .attr("value", server.name())
                            .flag("selected", chosen == server)
                            .child(t(name))
                    }),
                ),
        )
        .child(
            el("label")
                .attr("for", "address")
                .child(t(T::ServerAddress)),
        )
        .child(
            el("input")
                .attr("id", "address")
                .attr("type", "url")
                .attr("spellcheck", "false")
                .attr("autocomplete", "off")
                .flag("disabled", embed::asks())
                .prop_live("value", move || state.settings.with(|s| s.address.clone())),
        )
        .child(
            el("button")
                .class("btn")
                .attr("type", "submit")
                .attr("id", "test")
                .text_live(move || {
                    let text = match state.connection.get() {
                        Connection::Asking => T::Testing,
                        _ if state.checks.with(Vec::is_empty) => T::Test,
                        _ => T::TestAgain,
                    };
                    t(text).to_owned()
                }),
        )
        .child(embed::asks().then(|| el("p").class("sub across").child(t(T::HostAsks))))
        .child(live_if(
            move || kind() != Server::Ollama && !embed::asks(),
            move || key(state).view(),
        ));
    el("section")
        .attr("aria-labelledby", "h-server")
        .child(
            el("h2")
                .attr("id", "h-server")
                .child(t(T::TabConnection))
                .child(chip),
        )
        .child(form)
        .live_on(
            move || state.checks.get(),
            |checks| {
                el("ol")
                    .class("checks")
                    .attr("aria-live", "polite")
                    .children(checks.iter().cloned().map(check))
                    .view()
            },
        )
}

fn key(state: AppState) -> El {
    let keep = state.settings.with_untracked(|s| !s.key.is_empty());
    el("div")
        .class("across key")
        .child(
            el("label")
                .child(el("span").class("sub").child(t(T::ApiKey)))
                .child(
                    el("input")
                        .attr("type", "password")
                        .attr("id", "key")
                        .attr("autocomplete", "off")
                        .prop_live("value", move || state.key.get())
                        .on("change", |event| {
                            act::set_key(input_value(&event).unwrap_or_default());
                        }),
                ),
        )
        .child(el("p").class("sub").child(t(T::ApiKeyHelp)))
        .child(
            el("label")
                .class("tick-box")
                .child(
                    el("input")
                        .attr("type", "checkbox")
                        .flag("checked", keep)
                        .on("change", |event| {
                            act::keep_key(ticked(&event).unwrap_or(false));
                        }),
                )
                .child(t(T::ApiKeyKeep)),
        )
}

fn check(check: Check) -> El {
    let (class, icon_name) = match check.verdict {
        Verdict::Good => ("ok", "check"),
        Verdict::Remark => ("bad warnc", "warn"),
        Verdict::Bad => ("bad badc", "cross"),
    };
    let words = el("div")
        .child(el("b").child(check.title))
        .child((!check.detail.is_empty()).then(|| el("p").child(check.detail)));
    let words = words.child(fixes(check.fixes)).child(
        check
            .exact
            .then(|| el("p").class("sub").child(t(T::ExactOrigin))),
    );
    el("li")
        .class(class)
        .child(icon(icon_name))
        .child(words)
        .child(check.took.map(|ms| el("i").child(seconds(ms))))
}

/// Fixes that differ by system are tabs, the likely one first; the others stand one below the other.
fn fixes(all: Vec<Fix>) -> AnyView {
    if all.len() < 2 || all.iter().any(|f| f.system.is_none()) {
        return el("div").children(all.into_iter().map(fix)).into_child();
    }
    let chosen = Signal::new(0);
    let tabs = el("div")
        .class("os")
        .attr("role", "tablist")
        .attr("aria-label", t(T::SystemOfServer))
        .children(all.iter().enumerate().map(|(i, fix)| {
            el("button")
                .attr("type", "button")
                .attr("role", "tab")
                .attr_live("aria-selected", move || {
                    Some((chosen.get() == i).to_string())
                })
                .child(fix.system.unwrap_or_default())
                .click(move || chosen.set(i))
        }));
    el("div")
        .child(tabs)
        .live_on(
            move || chosen.get(),
            move |chosen| {
                all.get(*chosen)
                    .cloned()
                    .map_or_else(nothing, |f| fix(f).view())
            },
        )
        .into_child()
}

fn fix(fix: Fix) -> El {
    let words = el("div").child(el("p").child(fix.text));
    if fix.commands.is_empty() {
        return words;
    }
    let text = fix.commands.clone();
    let copy = el("button")
        .class("quiet")
        .attr("type", "button")
        .child(icon("copy"))
        .child(t(T::Copy))
        .click(move || act::copy(text.clone()));
    words.child(
        el("figure")
            .class("code")
            .child(
                el("figcaption")
                    .child(el("span").child(fix.system.unwrap_or_default()))
                    .child(copy),
            )
            .child(
                el("pre")
                    .attr("tabindex", "0")
                    .child(el("code").child(fix.commands)),
            ),
    )
}

fn field(name: T, control: El, help: Option<String>) -> El {
    el("label")
        .child(t(name))
        .child(control)
        .child(help.map(|h| el("span").child(h)))
}

/// What new sessions begin with, and who writes layers.
fn model(state: AppState) -> El {
    let window_control = windows(
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
    let (automatic, titles) = state.settings.with_untracked(|s| (s.automatic, s.titles));
    let temperature = el("input")
        .attr("type", "text")
        .attr("inputmode", "decimal")
        .attr("id", "temperature")
        .attr("placeholder", t(T::TemperatureOwn))
        .attr(
            "value",
            state
                .settings
                .with_untracked(|s| s.temperature.map(|x| x.to_string()))
                .unwrap_or_default(),
        )
        .on("change", |event| {
            let text = input_value(&event).unwrap_or_default();
            match temperature_of(&text) {
                Ok(value) => act::change(move |s| s.temperature = value),
                Err(_) => act::note(t(T::TemperatureWrong).to_owned(), true),
            }
        });
    el("section")
        .class("span")
        .attr("aria-labelledby", "h-model")
        .child(el("h2").attr("id", "h-model").child(t(T::TabModel)))
        .child(
            el("div")
                .class("fields")
                .live_on(
                    move || state.models.get(),
                    move |models| field(T::Model, model_list(state, models, false), None).view(),
                )
                .child(field(
                    T::Window,
                    window_control,
                    Some(t(T::WindowHelp).to_owned()),
                ))
                .live_on(
                    move || state.models.get(),
                    move |models| {
                        field(T::SummaryModel, model_list(state, models, true), None).view()
                    },
                )
                .child(field(
                    T::Temperature,
                    temperature,
                    Some(t(T::TemperatureHelp).to_owned()),
                )),
        )
        .child(parameters::parameters(state))
        .child(policies(state))
        .child(for_model(state))
        .child(profiles::profiles(state))
        .child(policy::editor(state))
        .child(switch("automatic", T::AutoCompact, automatic, |s, on| {
            s.automatic = on;
        }))
        .child(switch("titles", T::AutoTitle, titles, |s, on| {
            s.titles = on;
        }))
}

/// A box that switches something on or off.
fn switch(id: &'static str, name: T, on: bool, then: fn(&mut Settings, bool)) -> El {
    el("label")
        .class("tick-box")
        .child(
            el("input")
                .attr("type", "checkbox")
                .attr("id", id)
                .flag("checked", on)
                .on("change", move |event| {
                    let on = ticked(&event).unwrap_or(true);
                    act::change(move |s| then(s, on));
                }),
        )
        .child(t(name))
}

/// How compaction is done, for this session and for new ones.
fn policies(state: AppState) -> El {
    let chosen = derived(move || {
        state
            .open
            .with(|o| o.as_ref().map(|o| o.policy.clone()))
            .unwrap_or_else(|| state.settings.with(|s| s.policy.clone()))
    });
    el("fieldset")
        .class("policies")
        .child(el("legend").child(t(T::Policy)))
        .children(POLICIES.into_iter().map(|(name, title, help)| {
            let control = el("input")
                .attr("type", "radio")
                .attr("name", "policy")
                .attr("value", name)
                .prop_flag_live("checked", move || chosen.with(|c| c == name))
                .on("change", move |_| act::choose_policy(name.to_owned()));
            let words = el("span")
                .child(el("b").child(t(title)))
                .child(" ")
                .child(el("span").class("sub").child(t(help)));
            el("label").class("tick-box").child(control).child(words)
        }))
}

/// Whether that policy goes with the session's model.
fn for_model(state: AppState) -> AnyView {
    live_on(
        move || state.model(),
        move |model| {
            if model.is_empty() {
                return nothing();
            }
            let name = model.clone();
            let on = move || {
                state
                    .settings
                    .with(|s| s.model_policies.contains_key(&name))
            };
            el("label")
                .class("tick-box")
                .child(
                    el("input")
                        .attr("type", "checkbox")
                        .attr("id", "policy-for-model")
                        .prop_flag_live("checked", on)
                        .on("change", |event| {
                            act::policy_for_model(ticked(&event).unwrap_or(false));
                        }),
                )
                .child(fill(T::PolicyForModel, &[model]))
                .view()
        },
    )
}

/// The presets with what they are called and what they do.
pub const POLICIES: [(&str, T, T); 5] = [
    ("balanced", T::PolicyBalanced, T::PolicyBalancedHelp),
    (
        "checkpoints",
        T::PolicyCheckpoints,
        T::PolicyCheckpointsHelp,
    ),
    ("watermark", T::PolicyWatermark, T::PolicyWatermarkHelp),
    ("offload-compact", T::PolicyOffload, T::PolicyOffloadHelp),
    ("auto-summarize", T::PolicyAuto, T::PolicyAutoHelp),
];

fn model_list(state: AppState, models: &[ModelEntry], for_layers: bool) -> El {
    let chosen = state.settings.with_untracked(|s| {
        if for_layers {
            s.summary_model.clone()
        } else {
            s.model.clone()
        }
    });
    let list = el("select")
        .attr(
            "id",
            if for_layers {
                "summary-model"
            } else {
                "default-model"
            },
        )
        .on("change", move |event| {
            let Some(name) = selected(&event) else { return };
            act::change(move |s| {
                if for_layers {
                    s.summary_model = name;
                } else {
                    s.model = name;
                }
            });
        });
    let first = if for_layers {
        T::SummaryModelSame
    } else {
        T::NoModel
    };
    let list = list.child(
        el("option")
            .attr("value", "")
            .flag("selected", chosen.is_empty())
            .child(t(first)),
    );
    let list = if for_layers {
        list.child(
            el("option")
                .attr("value", "-")
                .flag("selected", chosen == "-")
                .child(t(T::SummaryModelNone)),
        )
    } else {
        list
    };
    let lost = !chosen.is_empty() && chosen != "-" && !models.iter().any(|m| m.name == chosen);
    list.child(lost.then(|| {
        el("option")
            .attr("value", chosen.clone())
            .flag("selected", true)
            .child(chosen.clone())
    }))
    .children(models.iter().map(|m| {
        el("option")
            .attr("value", m.name.clone())
            .flag("selected", m.name == chosen)
            .child(describe(m))
    }))
}

/// A choice of a few, as radio buttons.
fn choice(
    name: T,
    group: &'static str,
    options: Vec<(String, &'static str, bool)>,
    then: fn(&str),
) -> El {
    el("fieldset")
        .class("choice")
        .child(el("legend").child(t(name)))
        .children(options.into_iter().map(move |(label, value, on)| {
            el("label")
                .child(
                    el("input")
                        .attr("type", "radio")
                        .attr("name", group)
                        .attr("value", value)
                        .flag("checked", on)
                        .on("change", move |_| then(value)),
                )
                .child(label)
        }))
}

/// Light or dark, and how much contrast: a page around a mounted app may decide that.
fn colours(now: &Settings) -> El {
    let own = |text: T| t(text).to_owned();
    el("div")
        .child(choice(
            T::Theme,
            "theme",
            vec![
                (own(T::ThemeSystem), "system", now.theme == Theme::System),
                (own(T::ThemeLight), "light", now.theme == Theme::Light),
                (own(T::ThemeDark), "dark", now.theme == Theme::Dark),
            ],
            |value| {
                let theme = match value {
                    "light" => Theme::Light,
                    "dark" => Theme::Dark,
                    _ => Theme::System,
                };
                act::change(move |s| s.theme = theme);
            },
        ))
        .child(choice(
            T::Contrast,
            "contrast",
            vec![
                (own(T::ContrastSystem), "system", !now.contrast),
                (own(T::ContrastMore), "more", now.contrast),
            ],
            |value| {
                let more = value == "more";
                act::change(move |s| s.contrast = more);
            },
        ))
}

fn appearance(state: AppState) -> El {
    let now = state.settings.get_untracked();
    let own = |text: T| t(text).to_owned();
    el("section")
        .attr("aria-labelledby", "h-look")
        .child(el("h2").attr("id", "h-look").child(t(T::TabAppearance)))
        .child(if embed::theme().is_some() {
            el("p")
                .class("sub choice")
                .child(t(T::HostColours))
                .into_child()
        } else {
            colours(&now).into_child()
        })
        .child(choice(
            T::Palette,
            "palette",
            vec![
                (own(T::PaletteColour), "colour", !now.grey),
                (own(T::PaletteGrey), "grey", now.grey),
            ],
            |value| {
                let grey = value == "grey";
                act::change(move |s| s.grey = grey);
            },
        ))
        .child(choice(
            T::Language,
            "language",
            vec![
                (own(T::ThemeSystem), "", now.language.is_empty()),
                ("English".to_owned(), "en", now.language == "en"),
                ("Deutsch".to_owned(), "de", now.language == "de"),
            ],
            |value| act::change(move |s| value.clone_into(&mut s.language)),
        ))
}

/// A key: itself, with Ctrl or the command key, or with Shift as well.
#[derive(Debug, Clone, Copy)]
pub enum Key {
    /// As it is written.
    Plain(&'static str),
    /// With Ctrl, or the command key.
    Command(&'static str),
    /// With Shift too.
    Shifted(&'static str),
}

/// The keys of the page.
pub const KEYS: [(Key, T); 12] = [
    (Key::Plain("Enter"), T::KeySend),
    (Key::Plain("Shift Enter"), T::KeyBreak),
    (Key::Plain("Esc"), T::KeyStop),
    (Key::Plain("↑"), T::KeyEditLast),
    (Key::Plain("Alt ↑ ↓"), T::KeyMessages),
    (Key::Shifted("O"), T::KeyNew),
    (Key::Command("K"), T::KeySearch),
    (Key::Command("I"), T::KeyInspector),
    (Key::Command("B"), T::KeySide),
    (Key::Plain("Shift Esc"), T::KeyComposer),
    (Key::Plain("/"), T::KeyCommands),
    (Key::Plain("?"), T::KeySheet),
];

/// A key as the system writes it.
pub fn key_name(key: Key) -> String {
    match key {
        Key::Plain(name) => name.to_owned(),
        Key::Command(name) => shortcut(name, false),
        Key::Shifted(name) => shortcut(name, true),
    }
}

fn shortcuts() -> El {
    let line = |name: AnyView, text: T| {
        el("div")
            .child(el("dt").child(name))
            .child(el("dd").child(t(text)))
    };
    el("section")
        .attr("aria-labelledby", "h-keys")
        .child(el("h2").attr("id", "h-keys").child(t(T::TabShortcuts)))
        .child(
            el("dl").class("facts").children(
                KEYS.into_iter()
                    .map(|(key, text)| line(el("kbd").child(key_name(key)).view(), text)),
            ),
        )
        .child(el("h2").child(t(T::Commands)))
        .child(
            el("dl").class("facts").children(
                crate::command::NAMES
                    .into_iter()
                    .map(|(name, text)| line(el("code").child(name).view(), text)),
            ),
        )
}
