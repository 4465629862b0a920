//! The head of a session: title, model, window, connection, and the budget bar.

use leptos::prelude::AnyView;

use crate::act;
use crate::app::data::address::Screen;
use crate::platform::el::{El, IntoChild, el, live_if, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::page;
use crate::platform::signal::derived;
use crate::settings::data::connection::Connection;
use crate::settings::view::window::windows;
use crate::state::{AppState, Dialog};
use crate::text::{T, fill, t};
use crate::widgets::bar;

/// The head of the open session.
pub fn header() -> El {
    let state = AppState::here();
    let rename = move || {
        if let Some((id, title)) = state
            .open
            .with(|o| o.as_ref().map(|o| (o.id.clone(), o.title.clone())))
        {
            state.dialog.set(Some(Dialog::Rename { id, title }));
        }
    };
    let title = derived(move || {
        state
            .open
            .with(|o| o.as_ref().map(|o| o.title.clone()))
            .unwrap_or_default()
    });
    let name = move || {
        if title.with(String::is_empty) {
            t(T::Untitled).to_owned()
        } else {
            title.get()
        }
    };
    let line = el("div")
        .class("title")
        .child(
            el("h1")
                .attr("id", "h-chat")
                .attr("dir", "auto")
                .text_live(name),
        )
        .child(
            el("button")
                .class("quiet")
                .attr("type", "button")
                .attr("aria-label", t(T::Rename))
                .child(icon("edit"))
                .click(rename),
        )
        .child(
            el("div")
                .class("model")
                .child(model(state))
                .child(window(state))
                .child(connection(state))
                .child(
                    el("button")
                        .class("quiet notes-open")
                        .attr("type", "button")
                        .attr("aria-controls", "notes")
                        .attr_live("aria-expanded", move || Some(state.notes.get().to_string()))
                        .child(icon("strata"))
                        .child(t(T::Notes))
                        .click(move || {
                            state.notes.set(true);
                            page::next_frame(|| page::focus(".notes-close"));
                        }),
                ),
        );
    el("header")
        .class("head")
        .child(line)
        .child(bar::budget(false))
}

/// The model, with its known properties beside it. A click opens the list.
fn model(state: AppState) -> AnyView {
    let chosen = derived(move || state.model());
    let about = move || {
        state.models.with(|all| {
            all.iter()
                .find(|m| chosen.with(|c| m.name == *c))
                .map_or_else(String::new, |m| m.quantisation.clone())
        })
    };
    let name = move || {
        if chosen.with(String::is_empty) {
            t(T::NoModel).to_owned()
        } else {
            chosen.get()
        }
    };
    let button = el("button")
        .class("pick")
        .attr("type", "button")
        .attr("id", "model")
        .attr_live("aria-label", move || {
            Some(format!("{}: {}", t(T::ChooseModel), name()))
        })
        .text_live(name)
        .child(icon("down"))
        .click(move || state.dialog.set(Some(Dialog::Model)));
    el("span")
        .class("which")
        .child(button)
        .child(el("span").class("sub").text_live(about))
        .into_child()
}

/// The window of the session.
fn window(state: AppState) -> AnyView {
    let now = move || state.open.with(|o| o.as_ref().map_or(0, |o| o.window));
    let model = move || state.open.with(|o| o.as_ref().map(|o| o.model.clone()));
    live_if(
        move || now() > 0,
        move || {
            windows(
                "window",
                move || model().unwrap_or_default(),
                now,
                |size| fill(T::WindowIs, &[&size]),
                move |chosen| match chosen {
                    Some(tokens) => act::choose_window(tokens),
                    None => state.dialog.set(Some(Dialog::Window)),
                },
            )
            .class("pick sub")
            .attr("aria-label", t(T::Window))
            .child(
                el("option")
                    .attr("value", "other")
                    .child(format!("{}…", t(T::WindowOther))),
            )
            .view()
        },
    )
}

/// The state of the connection, in a word; a link to the doctor if no model answers.
fn connection(state: AppState) -> AnyView {
    live_on(
        move || state.connection.get(),
        |connection| match connection {
            Connection::Unknown => nothing(),
            Connection::Asking => el("span")
                .class("live sub")
                .child(icon("ring"))
                .child(t(T::Connecting))
                .view(),
            Connection::Connected => el("span")
                .class("live okc")
                .child(icon("dot"))
                .child(t(T::Connected))
                .view(),
            Connection::Empty => doctor(T::NoModelInstalled),
            Connection::Failed => doctor(T::NotConnected),
        },
    )
}

fn doctor(text: T) -> AnyView {
    el("a")
        .class("live warnc")
        .attr("href", format!("#{}", Screen::Settings.name()))
        .child(icon("ring"))
        .child(t(text))
        .into_child()
}
