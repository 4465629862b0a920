//! The tool calls of the open session's reply: a question for each that waits for a person, a line for one that runs.

use leptos::prelude::AnyView;

use crate::act;
use crate::platform::el::{El, each, el};
use crate::state::AppState;
use crate::text::{T, fill};
use crate::tools::actions::calls::{Permission, running};
use crate::tools::data::call::Call;
use crate::widgets::field::button;

/// The calls, oldest first.
pub fn calls() -> AnyView {
    let state = AppState::here();
    let shown = move || {
        let open = state.open.with(|o| o.as_ref().map(|o| o.id.clone()));
        running().with(|all| {
            let own = all
                .iter()
                .filter(|call| Some(&call.session) == open.as_ref());
            own.cloned().collect::<Vec<_>>()
        })
    };
    let key = |call: &Call| u64::from(call.id) * 2 + u64::from(call.asks);
    el("div")
        .attr("id", "calls")
        .child(each(shown, key, |call| {
            if call.asks {
                question(&call).view()
            } else {
                let told = fill(T::ToolRuns, &[&call.tool, &call.server]);
                el("div")
                    .class("keep-it")
                    .attr("role", "status")
                    .child(el("p").child(told))
                    .view()
            }
        }))
        .view()
}

fn question(call: &Call) -> El {
    let id = call.id;
    let decide = move |name: T, permission: Permission| {
        button(name, move || act::decide_call(id, permission))
    };
    let label = fill(T::ToolAsks, &[&call.tool]);
    el("div")
        .class("keep-it")
        .attr("role", "group")
        .attr("aria-label", label)
        .child(
            el("p")
                .child(
                    el("span")
                        .class("sub")
                        .child(fill(T::ToolWants, &[&call.server])),
                )
                .child(el("b").child(call.tool.clone())),
        )
        .child(decide(T::ToolOnce, Permission::Once))
        .child(decide(T::ToolAlways, Permission::Always))
        .child(decide(T::ToolNo, Permission::No))
        .child(
            el("pre")
                .attr("tabindex", "0")
                .child(el("code").child(call.arguments.clone())),
        )
}
