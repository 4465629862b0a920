//! Dialogs about windows, models and servers.

use leptos::prelude::AnyView;

use crate::act;
use crate::platform::el::{El, el};
use crate::platform::page;
use crate::platform::signal::Signal;
use crate::settings::Server;
use crate::settings::data::connection::ModelEntry;
use crate::settings::data::window::{NoWindow, profile, typed};
use crate::settings::view::models::capabilities;
use crate::state::AppState;
use crate::text::{self, T, fill, number, t};
use crate::widgets::dialog::{DANGER, PLAIN, SOLID, buttons, form, frame, then_close};

/// Asks for another window.
pub fn window_size(state: AppState) -> AnyView {
    let wrong = Signal::new(String::new());
    let (now, model) = state.open.with_untracked(|o| {
        o.as_ref()
            .map_or((8192, String::new()), |o| (o.window, o.model.clone()))
    });
    let named = state.settings.with_untracked(|s| s.server) == Server::Ollama;
    let profile = named.then(|| state.models.with_untracked(|all| profile(&model, all)));
    let body = form(
        move || match typed(&page::value("#tokens"), profile.as_ref()) {
            Ok(tokens) => {
                act::choose_window(tokens);
                state.dialog.set(None);
            }
            Err(NoWindow::Number) => {
                wrong.set(format!("{} – {}", number(2048), number(1_048_576)));
            }
            Err(NoWindow::Size { asked, known }) => {
                wrong.set(fill(T::WindowNoSize, &[&asked, &known]));
            }
        },
    )
    .child(
        el("label")
            .child(el("span").class("sub").child(t(if named {
                T::WindowHelpNamed
            } else {
                T::WindowHelp
            })))
            .child(
                el("input")
                    .attr("type", "text")
                    .attr("id", "tokens")
                    .attr("value", number(now))
                    .flag("autofocus", true)
                    .attr_live("aria-invalid", move || {
                        (!wrong.with(String::is_empty)).then(|| "true".to_owned())
                    }),
            )
            .child(
                el("span")
                    .class("badc")
                    .attr("role", "alert")
                    .text_live(move || wrong.get()),
            ),
    )
    .child(buttons(state));
    frame(state, t(T::Window).to_owned(), body)
}

/// The models of the server with what is known of each, and what is done with the one that is chosen.
pub fn model(state: AppState, title: T, then: fn(String)) -> AnyView {
    let others = matches!(title, T::ChooseModel);
    let chosen = state
        .open
        .with_untracked(|o| o.as_ref().map(|o| o.model.clone()))
        .unwrap_or_default();
    let models = state.models.get_untracked();
    if models.is_empty() {
        let connection = state.connection.get_untracked();
        let to_settings = el("a")
            .class("btn solid")
            .attr("href", "#settings")
            .child(t(T::StartConnect))
            .on("click", move |_| state.dialog.set(None));
        let body = el("div")
            .child(act::offline(connection))
            .child(el("p").class("acts").child(to_settings))
            .child(others.then(|| elsewhere(state)));
        return frame(state, t(title).to_owned(), body);
    }
    let list = el("ul")
        .class("models")
        .children(models.into_iter().map(|m| {
            let name = m.name.clone();
            let choose = entry(m, &chosen).click(move || {
                then(name.clone());
                state.dialog.set(None);
            });
            el("li").child(choose)
        }));
    let body = el("div")
        .child(list)
        .child(others.then(|| elsewhere(state)));
    frame(state, t(T::ChooseModel).to_owned(), body)
}

/// A model with what is known of it.
fn entry(m: ModelEntry, chosen: &str) -> El {
    let current = m.name == chosen;
    let size = [m.size.clone(), m.quantisation.clone()]
        .into_iter()
        .filter(|s| !s.is_empty())
        .collect::<Vec<_>>()
        .join(" · ");
    let mut about: Vec<String> = Vec::new();
    about.extend(m.trained.map(|n| fill(T::WindowTrained, &[&number(n)])));
    about.extend(m.loaded.map(|n| fill(T::WindowLoaded, &[&number(n)])));
    about.extend(m.bytes.map(text::bytes));
    about.extend(capabilities(&m));
    el("button")
        .attr("type", "button")
        .attr("data-model", m.name.clone())
        .attr_some("aria-current", current.then_some("true"))
        .flag("autofocus", current)
        .child(el("b").child(m.name))
        .child(el("span").child(size))
        .child(el("span").class("sub").child(about.join(" · ")))
}

/// The models of the servers that are not in use.
fn elsewhere(state: AppState) -> El {
    let places = state.settings.with_untracked(|s| s.places.clone());
    let places = places.into_iter().enumerate();
    let places =
        places.filter(|(_, place)| !place.address.is_empty() || place.server == Server::InPage);
    act::look_elsewhere();
    el("div")
        .class("elsewhere")
        .children(places.map(|(at, place)| {
            let address = place.address.clone();
            let found = move || state.elsewhere.with(|all| all.get(&address).cloned());
            el("section")
                .child(el("h3").child(if place.address.is_empty() {
                    t(T::KindInPage).to_owned()
                } else {
                    place.address
                }))
                .live_on(found, move |found| match found {
                    None => el("p").class("sub").child(t(T::ServerAsked)).view(),
                    Some(None) => el("p").class("sub").child(t(T::ServerSilent)).view(),
                    Some(Some(models)) => {
                        let models = models.iter().cloned().map(|m| {
                            let name = m.name.clone();
                            let choose = entry(m, "").click(move || {
                                act::choose_elsewhere(at, name.clone());
                                state.dialog.set(None);
                            });
                            el("li").child(choose)
                        });
                        el("ul").class("models").children(models).view()
                    }
                })
        }))
}

/// A file must not lead conversations to another server unasked.
pub fn other_server(state: AppState, server: Server, address: String) -> AnyView {
    let here = state.settings.with_untracked(|s| s.address.clone());
    let body = el("div")
        .child(el("p").child(fill(T::OtherServerText, &[&address, &here])))
        .child(
            el("p")
                .class("acts end")
                .child(then_close(state, T::OtherServerKeep, PLAIN, || {}))
                .child(
                    then_close(state, T::OtherServerUse, SOLID, move || {
                        act::use_server(server, address.clone());
                    })
                    .attr("id", "use-server"),
                ),
        );
    frame(state, t(T::OtherServer).to_owned(), body)
}

/// Asks before a model is removed from the server.
pub fn remove_model(state: AppState, name: String) -> AnyView {
    let title = format!("{}: {name}", t(T::Remove));
    let body = el("div")
        .child(el("p").child(fill(T::RemoveModelText, &[&name])))
        .child(
            el("p")
                .class("acts end")
                .child(then_close(state, T::Cancel, PLAIN, || {}))
                .child(
                    then_close(state, T::Remove, DANGER, move || {
                        act::remove_model(name.clone());
                    })
                    .attr("id", "remove-model"),
                ),
        );
    frame(state, title, body)
}
