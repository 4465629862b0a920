//! The model servers: the one in use with what its doctor found, and others beside it.

use leptos::prelude::AnyView;
use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;

use crate::act;
use crate::platform::el::{El, IntoChild, el, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::signal::{Shown, Signal};
use crate::platform::{guest, page, resident};
use crate::settings::data::connection::{Check, Connection, Fix, Verdict};
use crate::settings::view::models::models;
use crate::settings::{Place, Server, Settings, address_of, host_of};
use crate::state::AppState;
use crate::text::{T, fill, number, seconds, t};
use crate::widgets::field::{option, selected, tick};

/// The kinds of servers, and their names.
const KINDS: [(Server, T); 4] = [
    (Server::Ollama, T::KindOllama),
    (Server::LlamaCpp, T::KindLlamaCpp),
    (Server::OpenAi, T::KindOpenAi),
    (Server::InPage, T::KindInPage),
];

/// The servers.
pub fn connection(state: AppState) -> El {
    // a page around the app asks its own server only
    if guest::asks() {
        return el("div").class("servers").child(in_use(state));
    }
    let places = move || state.settings.with(|s| s.places.clone());
    el("div")
        .class("servers")
        .child(in_use(state))
        .live_on(places, move |places| {
            let beside = places.iter().enumerate();
            el("div")
                .class("servers")
                .children(beside.map(|(at, place)| other(state, at, place)))
                .view()
        })
        .child(
            el("p").class("acts across").child(
                el("button")
                    .class("btn")
                    .attr("type", "button")
                    .attr("id", "add-server")
                    .child(icon("plus"))
                    .child(t(T::AddServer))
                    .click(move || {
                        let at = state.settings.with_untracked(|s| s.places.len());
                        act::add_place();
                        page::next_frame(move || page::focus(&format!("#address-{at}")));
                    }),
            ),
        )
}

/// The name of a server at that address.
fn name_of(address: &str) -> String {
    if address == Server::InPage.usual_address() {
        return t(T::ThisPage).to_owned();
    }
    match host_of(address) {
        "" => t(T::AnotherServer).to_owned(),
        "localhost" | "127.0.0.1" | "[::1]" => {
            let usual = KINDS.iter().any(|(kind, _)| {
                kind.usual_address().rsplit(':').next() == address.rsplit(':').next()
            });
            match address.rsplit(':').next() {
                Some(port) if !usual => fill(T::ThisComputerPort, &[port]),
                _ => t(T::ThisComputer).to_owned(),
            }
        }
        host => host.to_owned(),
    }
}

/// The worst finding, in a word.
fn chip(checks: &[Check]) -> AnyView {
    let worst = checks.iter().map(|c| c.verdict).max_by_key(|v| *v as u8);
    let (class, text) = match worst {
        None => return nothing(),
        Some(Verdict::Good) => ("chip okc", T::DoctorWorks),
        Some(Verdict::Remark) => ("chip warnc", T::DoctorRemark),
        Some(Verdict::Bad) => ("chip badc", T::DoctorBroken),
    };
    el("span").class(class).child(t(text)).view()
}

/// The kinds of servers. Only the one in use may become the model in the page, where the page can have one.
fn kinds(id: String, chosen: Server, in_use: bool) -> El {
    let offered = |(server, _): &&(Server, T)| {
        *server != Server::InPage || chosen == *server || in_use && resident::is_possible()
    };
    let kinds = KINDS
        .iter()
        .filter(offered)
        .map(|(server, name)| option(server.name(), t(*name), *server == chosen));
    el("select")
        .attr("id", id)
        .class("across")
        .children(kinds.collect::<Vec<_>>())
}

fn label(id: String, text: T) -> El {
    el("label").attr("for", id).child(t(text))
}

fn address(id: String) -> El {
    el("input")
        .attr("id", id)
        // a field for an address would refuse one without a scheme
        .attr("type", "text")
        .attr("inputmode", "url")
        .attr("spellcheck", "false")
        .attr("autocomplete", "off")
}

fn found(checks: &[Check]) -> AnyView {
    el("ol")
        .class("checks")
        .attr("aria-live", "polite")
        .children(checks.iter().cloned().map(check))
        .view()
}

/// The address of the server that is asked, with a button that tests it.
fn way(state: AppState) -> El {
    let address_now = move || state.settings.with(|s| s.address.clone());
    el("div")
        .class("addr across")
        .child(label("address".to_owned(), T::ServerAddress))
        .child(
            address("address".to_owned())
                .flag("disabled", guest::asks())
                .prop_live("value", address_now),
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
}

/// The words about a model in the page, and the buttons that add one and remove those that were added.
fn in_page() -> El {
    el("div")
        .class("across")
        .child(el("p").class("sub").child(t(T::InPageText)))
        .child(
            el("p").class("acts").child(model_file("model-file")).child(
                el("button")
                    .class("link")
                    .attr("type", "button")
                    .attr("id", "drop-models")
                    .child(t(T::DropModels))
                    .click(act::drop_models),
            ),
        )
}

/// A button that takes the file of a model.
pub fn model_file(id: &'static str) -> El {
    let input = el("input")
        .attr("type", "file")
        .attr("id", id)
        .attr("accept", ".gguf")
        .on("change", |event| {
            let input = event.target();
            let input = input.and_then(|t| t.dyn_into::<HtmlInputElement>().ok());
            if let Some(file) = input.and_then(|i| i.files()).and_then(|all| all.get(0)) {
                act::add_model(file);
            }
        });
    el("label")
        .class("btn file")
        .child(el("span").child(t(T::AddModelFile)))
        .child(input)
}

/// The server that is asked.
fn in_use(state: AppState) -> El {
    let kind = move || state.settings.with(|s| s.server);
    let chosen = move || state.settings.with(|s| (s.server, s.address.clone()));
    let form = el("form")
        .class("addr")
        .on("submit", move |event| {
            event.prevent_default();
            if state.settings.with_untracked(|s| s.server) != Server::InPage {
                act::connect(address_of(&page::value("#address")));
            }
        })
        .child(label("kind".to_owned(), T::ServerKind))
        .live_on(kind, |kind| {
            kinds("kind".to_owned(), *kind, true)
                .on("change", |event| {
                    act::choose_server(Server::named(&selected(&event).unwrap_or_default()));
                    page::next_frame(|| page::focus("#kind"));
                })
                .view()
        })
        .live_on(
            move || kind() == Server::InPage,
            move |is_in_page| {
                if *is_in_page {
                    in_page().view()
                } else {
                    way(state).view()
                }
            },
        )
        .child(guest::asks().then(|| el("p").class("sub across").child(t(T::HostAsks))))
        .live_on(
            move || {
                let (server, address) = chosen();
                let has = !matches!(server, Server::Ollama | Server::InPage) && !guest::asks();
                let kept = state.settings.with(Settings::keeps_key);
                has.then_some((address, kept))
            },
            move |shown| match shown {
                Some((address, kept)) => key(state, address.clone(), *kept).view(),
                None => nothing(),
            },
        );
    el("section")
        .attr("aria-labelledby", "h-server")
        .child(
            el("h2")
                .attr("id", "h-server")
                .child(el("span").text_live(move || name_of(&chosen().1)))
                .live_on(move || state.checks.get(), |checks| chip(checks)),
        )
        .child(form)
        .live_on(move || state.checks.get(), |checks| found(checks))
        .child(trial(state))
        .child(models(state))
}

/// A button that asks the open session's model for one token, once the server is well.
fn trial(state: AppState) -> AnyView {
    let shown = move || {
        let well = state.connection.with(|c| *c == Connection::Connected);
        let open = state
            .open
            .with(|o| o.as_ref().map(|o| (o.model.clone(), o.window)));
        let small = state
            .checks
            .with(|all| all.iter().any(|c| c.code == "window_smaller"));
        open.filter(|(model, _)| well && !model.is_empty())
            .map(|(model, window)| (model, small.then_some(window)))
    };
    live_on(shown, |shown| {
        let Some((model, window)) = shown else {
            return nothing();
        };
        let words = match window {
            Some(window) => fill(T::LoadWith, &[model, &number(*window)]),
            None => fill(T::TryModel, &[model]),
        };
        el("p")
            .class("acts")
            .child(
                el("button")
                    .class("btn")
                    .attr("type", "button")
                    .attr("id", "try-model")
                    .child(words)
                    .click(act::try_model),
            )
            .view()
    })
}

/// A server that is not asked: it can be examined, taken into use, and forgotten.
fn other(state: AppState, at: usize, place: &Place) -> El {
    let id = move |what: &str| format!("{what}-{at}");
    let own = place.address.clone();
    let checks = Shown::of(move || {
        let found = state.visited.with(|all| all.get(&own).cloned());
        found.unwrap_or_default()
    });
    let listed = checks.clone();
    let test = move || {
        let server = Server::named(&page::value(&format!("#kind-{at}")));
        let address = address_of(&page::value(&format!("#address-{at}")));
        act::edit_place(at, server, address);
        page::next_frame(move || page::focus(&format!("#test-{at}")));
    };
    let form = el("form")
        .class("addr")
        .on("submit", move |event| {
            event.prevent_default();
            test();
        })
        .child(label(id("kind"), T::ServerKind))
        .child(kinds(id("kind"), place.server, false))
        .child(label(id("address"), T::ServerAddress))
        .child(
            address(id("address"))
                .attr("placeholder", place.server.usual_address())
                .attr("value", place.address.clone()),
        )
        .child(
            el("button")
                .class("btn")
                .attr("type", "submit")
                .attr("id", id("test"))
                .child(t(T::Test)),
        );
    let act = |what: &str, class: &'static str, name: T| {
        el("button")
            .class(class)
            .attr("type", "button")
            .attr("id", id(what))
            .child(t(name))
    };
    el("section")
        .attr("aria-labelledby", id("h-server"))
        .child(
            el("h2")
                .attr("id", id("h-server"))
                .child(el("span").child(name_of(&place.address)))
                .live_on(move || checks.with(Clone::clone), |checks| chip(checks)),
        )
        .child(form)
        .live_on(move || listed.with(Clone::clone), |checks| found(checks))
        .child(
            el("p")
                .class("acts")
                .child((!place.address.is_empty()).then(|| {
                    act("use", "btn solid", T::UseServer).click(move || act::use_place(at))
                }))
                .child(act("drop", "link", T::Remove).click(move || act::drop_place(at))),
        )
}

/// The key of the server at that address.
fn key(state: AppState, address: String, keep: bool) -> El {
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
                        .prop_live("value", move || {
                            state.key.with(|key| key.at(&address).to_owned())
                        })
                        .on("change", |_| act::set_key(page::value("#key"))),
                ),
        )
        .child(el("p").class("sub").child(t(T::ApiKeyHelp)))
        .child(
            tick("keep-key", T::ApiKeyKeep, keep)
                .on("change", |_| act::keep_key(page::checked("#keep-key"))),
        )
}

fn check(check: Check) -> El {
    let (class, icon_name) = match check.verdict {
        Verdict::Good => ("ok", "check"),
        Verdict::Remark => ("bad warnc", "warn"),
        Verdict::Bad => ("bad badc", "cross"),
    };
    let exact = check.code == "cors_refused";
    let words = el("div")
        .child(el("b").child(check.title))
        .child((!check.detail.is_empty()).then(|| el("p").child(check.detail)))
        .child(fixes(check.fixes))
        // a star would open the server to every page
        .child(exact.then(|| el("p").class("sub").child(t(T::ExactOrigin))));
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
