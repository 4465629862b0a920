//! The models of the Ollama server in use: what it has, a download with its progress, and removal.

use leptos::prelude::AnyView;

use crate::act;
use crate::platform::el::{El, el, live_on, nothing};
use crate::platform::signal::derived;
use crate::platform::{guest, page};
use crate::settings::Server;
use crate::settings::data::connection::{Connection, ModelEntry, Pull};
use crate::state::{AppState, Dialog};
use crate::text::{self, T, bytes, fill, number, t};
use crate::widgets::field::{link, progress as progress_bar};

/// Names that the field offers: small models that follow instructions well.
const KNOWN: [&str; 4] = ["llama3.2:3b", "qwen3:4b", "gemma3:4b", "smollm2:1.7b"];

/// The models, if the server in use is an Ollama that answers. A host's server is the host's to fill.
pub fn models(state: AppState) -> AnyView {
    let is_there = derived(move || {
        let is_ollama = state.settings.with(|s| s.server == Server::Ollama);
        let answers = state
            .connection
            .with(|c| matches!(c, Connection::Connected | Connection::Empty));
        // a server that is asked again keeps its list meanwhile
        let asked = state.connection.with(|c| *c == Connection::Asking)
            && state.models.with(|models| !models.is_empty());
        is_ollama && (answers || asked) && !guest::asks()
    });
    live_on(
        move || is_there.get(),
        move |is_there| {
            if !is_there {
                return nothing();
            }
            el("div")
                .attr("id", "models")
                .child(el("h3").child(t(T::ModelsOfServer)))
                .live_on(
                    move || state.models.get(),
                    move |models| {
                        let rows = models.iter().map(|model| row(state, model));
                        el("ul").class("installed").children(rows).view()
                    },
                )
                .child(download())
                .child(progress(state))
                .view()
        },
    )
}

fn row(state: AppState, model: &ModelEntry) -> El {
    let name = model.name.clone();
    el("li").child(el("span").child(describe(model))).child(
        el("button")
            .class("link")
            .attr("type", "button")
            .attr("aria-label", format!("{}: {name}", t(T::Remove)))
            .child(t(T::Remove))
            .click(move || {
                state
                    .dialog
                    .set(Some(Dialog::RemoveModel { name: name.clone() }));
            }),
    )
}

/// The form that asks for a name and starts a download.
fn download() -> El {
    el("form")
        .class("addr")
        .on("submit", |event| {
            event.prevent_default();
            act::pull_model(page::value("#pull"));
        })
        .child(el("label").attr("for", "pull").child(t(T::PullName)))
        .child(
            el("input")
                .attr("id", "pull")
                .attr("type", "text")
                .attr("list", "pull-known")
                .attr("placeholder", KNOWN[0])
                .attr("spellcheck", "false")
                .attr("autocapitalize", "none")
                .attr("autocomplete", "off"),
        )
        .child(
            el("datalist")
                .attr("id", "pull-known")
                .children(KNOWN.iter().map(|name| el("option").attr("value", *name))),
        )
        .child(
            el("button")
                .class("btn")
                .attr("type", "submit")
                .attr("id", "pull-now")
                .child(t(T::Download)),
        )
}

/// The bar of a download, or the reason why it ended. Its button stays while the figures change, so that it can be pressed.
fn progress(state: AppState) -> AnyView {
    let stage = move || {
        let of = |pull: &Pull| (pull.model.clone(), pull.failed.clone());
        state.pull.with(|pull| pull.as_ref().map(of))
    };
    live_on(stage, move |stage| match stage {
        None => nothing(),
        Some((_, Some(why))) => el("p")
            .class("badc")
            .attr("role", "alert")
            .child(why.clone())
            .view(),
        Some((model, None)) => running(state, fill(T::PullBegins, &[model])),
    })
}

fn running(state: AppState, begins: String) -> AnyView {
    let words = begins.clone();
    let figures = move || {
        state
            .pull
            .with(|pull| pull.as_ref().map(|p| (p.done, p.total)))
    };
    el("div")
        .live_on(figures, move |figures| {
            let percent = match figures {
                Some((done, total)) if *total > 0.0 => (done / total * 100.0) as u32,
                _ => 0,
            };
            progress_bar(begins.clone(), percent).view()
        })
        .child(
            el("p")
                .class("acts")
                .live_on(
                    move || state.pull.with(|pull| pull.as_ref().and_then(so_far)),
                    move |so_far| {
                        let said = so_far.clone().unwrap_or_else(|| words.clone());
                        el("span").child(said).view()
                    },
                )
                .child(link(T::Cancel, act::stop_pull).attr("id", "pull-stop")),
        )
        .view()
}

/// The bytes of a download, once the server has said how many there are.
fn so_far(pull: &Pull) -> Option<String> {
    let figures = || {
        fill(
            T::PullProgress,
            &[&pull.model, &bytes(pull.done), &bytes(pull.total)],
        )
    };
    (pull.total > 0.0).then(figures)
}

/// A model in one line: name, size, quantisation, windows, bytes.
pub fn describe(model: &ModelEntry) -> String {
    let mut parts = vec![model.name.clone()];
    if !model.size.is_empty() {
        parts.push(model.size.clone());
    }
    if !model.quantisation.is_empty() {
        parts.push(model.quantisation.clone());
    }
    if let Some(trained) = model.trained {
        parts.push(fill(T::WindowTrained, &[&number(trained)]));
    }
    if let Some(bytes) = model.bytes {
        parts.push(text::bytes(bytes));
    }
    parts.extend(capabilities(model));
    parts.join(" · ")
}

/// The abilities of a model besides talking, in words: "tools, thinking". `None` if they are unknown.
pub fn capabilities(model: &ModelEntry) -> Option<String> {
    let known = [
        ("tools", T::CanUseTools),
        ("thinking", T::CanThink),
        ("vision", T::CanSee),
    ];
    let can = |(name, words): &(&str, T)| model.can(name).then(|| t(*words));
    let words: Vec<&str> = known.iter().filter_map(can).collect();
    (!words.is_empty()).then(|| words.join(", "))
}
