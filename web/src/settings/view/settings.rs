//! The settings: connection with its doctor, model and budget, compaction, appearance, data, shortcuts.

use leptos::prelude::AnyView;

use crate::act;
use crate::chat::data::command::NAMES;
use crate::library::view::storage::storage;
use crate::platform::el::{El, IntoChild, el, live_on, nothing};
use crate::platform::signal::derived;
use crate::platform::{guest, page};
use crate::settings::view::budgeting::model;
use crate::settings::view::connection::connection;
use crate::settings::view::{policy, profiles};
use crate::settings::{Settings, Theme};
use crate::state::{AppState, Dialog, Tab};
use crate::text::{T, fill, t};
use crate::widgets::field::tick;
use crate::widgets::policies::POLICIES;
use crate::widgets::words::shortcut;

/// The settings screen.
pub fn settings() -> AnyView {
    let state = AppState::here();
    let tabs = [
        (Tab::Connection, "connection", T::TabConnection),
        (Tab::Model, "model", T::TabModel),
        (Tab::Compaction, "compaction", T::TabCompaction),
        (Tab::Tools, "tools", T::TabTools),
        (Tab::Appearance, "appearance", T::TabAppearance),
        (Tab::Data, "data", T::TabData),
        (Tab::Shortcuts, "shortcuts", T::TabShortcuts),
    ]
    .into_iter()
    // what a page around the app offers a model is its own matter
    .filter(|(tab, ..)| *tab != Tab::Tools || !guest::asks());
    let nav = el("nav")
        .class("tabs")
        .attr("aria-label", t(T::Settings))
        .children(tabs.map(|(tab, id, name)| {
            el("button")
                .attr("type", "button")
                .attr("data-tab", id)
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
                Tab::Compaction => compaction(state).view(),
                Tab::Tools => tools().view(),
                Tab::Appearance => appearance(state).view(),
                Tab::Data => data(state).view(),
                Tab::Shortcuts => shortcuts().view(),
            },
        ))
        .into_child()
}

/// When and how a window is made smaller.
fn compaction(state: AppState) -> El {
    let automatic = state.settings.with_untracked(|s| s.automatic);
    el("section")
        .attr("aria-labelledby", "h-compaction")
        .child(
            el("h2")
                .attr("id", "h-compaction")
                .child(t(T::TabCompaction)),
        )
        .child(policies(state))
        .child(for_model(state))
        .child(switch("automatic", T::AutoCompact, automatic, |s, on| {
            s.automatic = on;
        }))
        .child(profiles::profiles(state))
        .child(policy::editor(state))
}

/// The tools of a model.
fn tools() -> El {
    el("section")
        .attr("aria-labelledby", "h-tools")
        .child(el("h2").attr("id", "h-tools").child(t(T::TabTools)))
        .child(act::tool_settings())
}

/// A box that switches something on or off.
pub fn switch(id: &'static str, name: T, on: bool, then: fn(&mut Settings, bool)) -> El {
    tick(id, name, on).on("change", move |_| {
        let on = page::checked(&format!("#{id}"));
        act::change(move |s| then(s, on));
    })
}

/// The policy of compactions, for this session and for new ones.
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

/// Use that policy for the session's model.
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
                        .on("change", |_| {
                            act::policy_for_model(page::checked("#policy-for-model"));
                        }),
                )
                .child(fill(T::PolicyForModel, &[model]))
                .view()
        },
    )
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
        .child(if guest::theme().is_some() {
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

/// The stored data, and files of it.
fn data(state: AppState) -> El {
    let button = |id: &'static str, name: T| {
        el("button")
            .class("btn")
            .attr("type", "button")
            .attr("id", id)
            .child(t(name))
    };
    el("div")
        .class("data")
        .child(
            el("section")
                .attr("aria-labelledby", "h-files")
                .child(el("h2").attr("id", "h-files").child(t(T::DataFiles)))
                .child(el("p").class("sub").child(t(T::DataSessionsHelp)))
                .child(
                    el("p")
                        .class("acts")
                        .child(button("save-all", T::ExportAll).click(act::export_all))
                        .child(
                            button("read-file", T::Import)
                                .click(move || state.dialog.set(Some(Dialog::Import))),
                        ),
                )
                .child(el("p").class("sub").child(t(T::DataSettingsHelp)))
                .child(
                    el("p").class("acts").child(
                        button("save-settings", T::ExportSettings).click(act::export_settings),
                    ),
                ),
        )
        .child(storage(state))
}

/// A key: itself, with Ctrl or the command key, or with Shift as well.
#[derive(Debug, Clone, Copy)]
pub enum Key {
    /// As text.
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
                NAMES
                    .into_iter()
                    .map(|(name, text)| line(el("code").child(name).view(), text)),
            ),
        )
}
