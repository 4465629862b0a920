//! The list of files and images that go with the next message.

use leptos::prelude::AnyView;

use crate::act;
use crate::platform::el::{each, el, key_of};
use crate::platform::icon::icon;
use crate::state::{AppState, Attached};
use crate::text::{T, fill, number, t};

/// The files and images, each with what removes it.
pub fn attached() -> AnyView {
    let state = AppState::here();
    let files = move || {
        let lines = |one: &Attached| one.part.words().lines().count() as u32;
        state.attached.with(|all| {
            all.iter()
                .map(|one| (act::name_of(&one.part).to_owned(), lines(one)))
                .collect::<Vec<_>>()
        })
    };
    el("ul")
        .class("attached")
        .attr("aria-label", t(T::AttachedFiles))
        .child(each(files, key_of, move |(name, lines)| {
            line(state, name, lines)
        }))
        .view()
}

fn line(state: AppState, name: String, lines: u32) -> AnyView {
    let address = state.attached.with_untracked(|all| {
        let mut parts = all.iter().map(|one| &one.part);
        let part = parts.find(|part| act::name_of(part) == name);
        part.and_then(act::address_of)
    });
    let item = match address {
        Some(address) => el("li").child(el("img").attr("src", address).attr("alt", "")),
        None => el("li").child(icon("page")),
    };
    let item = item.child(el("span").child(name.clone()));
    let item = match lines {
        0 => item,
        lines => item.child(el("i").child(fill(T::Lines, &[&number(lines)]))),
    };
    item.child(
        el("button")
            .class("quiet")
            .attr("type", "button")
            .attr("aria-label", format!("{}: {name}", t(T::Remove)))
            .child(icon("cross"))
            .click(move || act::detach(&name)),
    )
    .view()
}
