//! The tools in the settings: the servers that offer them, and what the model is offered of each.

use leptos::prelude::AnyView;
use palimpsest_core::tool::definitions_tokens;
use palimpsest_tokens::Estimator;

use crate::act;
use crate::platform::el::{El, el, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::page;
use crate::settings::Settings;
use crate::settings::data::connection::ModelEntry;
use crate::state::AppState;
use crate::text::{T, fill, number, t};
use crate::tools::actions::servers::{Findings, found};
use crate::tools::data::server::{self, Offered, ToolServer, name_of, offer};
use crate::widgets::field::{link, tick};

/// The part of the settings about tools.
pub fn tools() -> AnyView {
    let state = AppState::here();
    act::look_at_tools();
    let own = state.settings.with_untracked(|s| s.own_tools);
    el("div")
        .class("goes-on")
        .child(el("p").child(t(T::ToolsAbout)))
        .child(without_tools(state))
        .child(tick("own-tools", T::ToolsOwn, own).on("change", |_| {
            act::offer_own_tools(page::checked("#own-tools"));
        }))
        .live_on(
            // a box that is ticked stays the same box
            move || {
                let shown = |one: &ToolServer| (one.address.clone(), one.paused);
                let all = state.settings.with(|s| server::read(&s.tool_servers));
                all.iter().map(shown).collect::<Vec<_>>()
            },
            move |servers| {
                let servers = servers.iter().enumerate();
                el("div")
                    .class("servers")
                    .children(
                        servers.map(|(at, (address, paused))| one(state, at, address, *paused)),
                    )
                    .view()
            },
        )
        .child(new_server())
        .view()
}

/// A sentence where the open session's model cannot use tools.
fn without_tools(state: AppState) -> AnyView {
    let cannot = move || {
        let model = state.model();
        let cannot = state.models.with(|all| {
            let known = all.iter().find(|one| one.name == model);
            known.is_some_and(ModelEntry::is_toolless)
        });
        cannot.then_some(model)
    };
    live_on(cannot, |model| match model {
        Some(model) => el("p")
            .class("warnc")
            .child(fill(T::ToolsNotByModel, &[model]))
            .view(),
        None => nothing(),
    })
}

/// The form that adds a server.
fn new_server() -> El {
    let field = |id: &'static str, kind: &'static str, name: T| {
        el("label").child(t(name)).child(
            el("input")
                .attr("id", id)
                .attr("type", kind)
                .attr("spellcheck", "false")
                .attr("autocapitalize", "none")
                .attr("autocomplete", "off"),
        )
    };
    let wrong = move || match found().with(|all| all.get("").cloned()) {
        Some(Findings::Failed(why)) => why,
        _ => String::new(),
    };
    el("form")
        .class("fields")
        .on("submit", |event| {
            event.prevent_default();
            act::add_tool_server(page::value("#tool-server"), page::value("#tool-key"));
        })
        .child(field("tool-server", "text", T::ToolsAddress))
        .child(field("tool-key", "password", T::ToolsKey))
        .child(
            el("p")
                .class("acts")
                .child(
                    el("button")
                        .class("btn")
                        .attr("type", "submit")
                        .attr("id", "add-tools")
                        .child(t(T::ToolsAdd)),
                )
                .child(
                    el("span")
                        .class("badc")
                        .attr("role", "alert")
                        .text_live(wrong),
                ),
        )
}

/// A server with its tools.
fn one(state: AppState, at: usize, address: &str, paused: bool) -> El {
    let id = format!("tools-{at}");
    let head = el("h3")
        .attr("id", id.clone())
        .child(name_of(address).to_owned());
    let own = || address.to_owned();
    let (drop, ask, pause, shown) = (own(), own(), own(), own());
    let on = format!("offer-{at}");
    let field = format!("#{on}");
    let acts = el("p")
        .class("acts")
        .child(tick(&on, T::ToolsOffer, !paused).on("change", move |_| {
            act::pause_tool_server(pause.clone(), !page::checked(&field));
        }))
        .child(link(T::ToolsAsk, move || act::ask_tool_server(ask.clone())))
        .child(link(T::Remove, move || act::drop_tool_server(drop.clone())));
    let found_here = {
        let own = own();
        move || found().with(|all| all.get(&own).cloned())
    };
    el("section")
        .attr("aria-labelledby", id)
        .child(head)
        .child(acts)
        .live_on(found_here, move |found| match found {
            _ if paused => nothing(),
            None | Some(Findings::Asking) => el("p").class("sub").child(t(T::Connecting)).view(),
            Some(Findings::Failed(why)) => el("p")
                .class("badc")
                .attr("role", "alert")
                .child(why.clone())
                .view(),
            Some(Findings::Tools(tools)) => {
                let all = offer(tools.iter().map(|tool| (at, tool.clone())), &[]);
                listed(state, at, &shown, all).view()
            }
        })
}

/// The tools of a server: which of them are offered, which run without a question, and what they take of a window.
fn listed(state: AppState, at: usize, address: &str, all: Vec<Offered>) -> El {
    let server = {
        let address = address.to_owned();
        move |s: &Settings| {
            let all = server::read(&s.tool_servers);
            let own = all.into_iter().find(|one| one.address == address);
            own.unwrap_or_default()
        }
    };
    let now = state.settings.with_untracked(&server);
    let rows: Vec<El> = all
        .iter()
        .enumerate()
        .map(|(n, one)| {
            let name = one.tool.name.clone();
            let box_of = |what: &str, text: T, on: bool, then: fn(String, String, bool)| {
                let id = format!("{what}-{at}-{n}");
                let field = format!("#{id}");
                let (address, tool) = (address.to_owned(), name.clone());
                tick(&id, text, on).on("change", move |_| {
                    then(address.clone(), tool.clone(), page::checked(&field));
                })
            };
            let is_offered = !now.left_out.contains(&name);
            let is_allowed = now.allowed.contains(&name);
            el("li")
                .child(el("b").child(name.clone()))
                .child(el("p").class("sub").child(one.tool.description.clone()))
                .child(
                    el("p")
                        .class("acts")
                        .child(box_of("use", T::ToolUse, is_offered, act::offer_tool))
                        .child(box_of("free", T::ToolFree, is_allowed, act::allow_tool)),
                )
        })
        .collect();
    let sum = move || {
        let left_out = state.settings.with(&server).left_out;
        let wanted = all.iter().filter(|one| !left_out.contains(&one.tool.name));
        let definitions: Vec<_> = wanted.map(Offered::definition).collect();
        let tokens = definitions_tokens(&definitions, &Estimator::default());
        let (offered, all) = (definitions.len() as u32, all.len() as u32);
        fill(
            T::ToolsTake,
            &[&number(offered), &number(all), &number(tokens)],
        )
    };
    el("details")
        .class("tool")
        .child(
            el("summary")
                .child(icon("tool"))
                .child(el("b").text_live(sum)),
        )
        .child(el("ul").class("goes-on").children(rows))
}
