//! The library: all sessions, search, snapshots, import, storage.

use leptos::prelude::AnyView;

use crate::act;
use crate::context::view::snapshots::timeline;
use crate::library::data::hit::Hits;
use crate::library::data::session::tags_of;
use crate::library::view::row::row;
use crate::library::view::storage::storage;
use crate::library::view::trash::trash;
use crate::platform::el::{El, IntoChild, each, el, key_of, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::signal::{Signal, effect, kept};
use crate::platform::{guest, page};
use crate::state::{AppState, Dialog};
use crate::text::{T, bytes, count, fill, number, t};
use crate::widgets::words::shortcut;

/// The library.
pub fn library() -> AnyView {
    let state = AppState::here();
    act::measure_storage();
    effect(move || {
        state.sessions.track();
        act::measure_sessions();
        act::look_through_trash();
    });
    let of = move || {
        let number = state.sessions.with(Vec::len) as u32;
        let mut all = count(T::SessionsOne, T::SessionsMany, number);
        if let Some(used) = state.storage.with(|s| s.used) {
            all = format!("{all}, {}", bytes(used));
        }
        if guest::keeps() {
            all
        } else {
            fill(T::LibraryOf, &[&all])
        }
    };
    let tag = Signal::new(String::new());
    let import = el("button")
        .class("btn")
        .attr("type", "button")
        .child(t(T::Import))
        .click(move || state.dialog.set(Some(Dialog::Import)));
    let export = el("button")
        .class("btn")
        .attr("type", "button")
        .attr("id", "export-all")
        .child(t(T::ExportAll))
        .click(act::export_all);
    let head = el("header").class("head wide").child(
        el("div")
            .class("title")
            .child(el("h1").attr("id", "h-library").child(t(T::Library)))
            .child(el("p").class("of").text_live(of))
            .child(
                el("p")
                    .class("acts end")
                    .child(new_session())
                    .child(import)
                    .child(export),
            ),
    );
    el("section")
        .class("screen library")
        .attr("id", "s-library")
        .attr("aria-labelledby", "h-library")
        .child(head.child(search(state)).child(tags(state, tag)))
        .child(rows(state, tag))
        .child(
            el("div")
                .class("two")
                .child(snapshots(state))
                .child(storage(state)),
        )
        .child(trash(state))
        .into_child()
}

/// The snapshots of the open session.
fn snapshots(state: AppState) -> El {
    let title = move || {
        let title = state.open.with(|o| o.as_ref().map(|o| o.title.clone()));
        match title {
            Some(title) if !title.is_empty() => fill(T::OfSession, &[&title]),
            _ => fill(T::OfSession, &[t(T::Untitled)]),
        }
    };
    el("section")
        .attr("aria-labelledby", "h-snap")
        .child(
            el("h2")
                .attr("id", "h-snap")
                .child(t(T::Snapshots))
                .child(" ")
                .child(el("span").attr("dir", "auto").text_live(title)),
        )
        .child(timeline(state))
}

fn search(state: AppState) -> El {
    let turn = kept(0u32);
    let field = el("label")
        .class("find")
        .child(icon("search"))
        .child(el("span").class("vh").child(t(T::SearchAll)))
        .child(
            el("input")
                .attr("type", "search")
                .attr("id", "search-all")
                .attr("placeholder", t(T::SearchAll))
                .on("input", move |_| {
                    let now = *turn.borrow() + 1;
                    *turn.borrow_mut() = now;
                    let turn = std::rc::Rc::clone(&turn);
                    page::after(200, move || {
                        if *turn.borrow() == now {
                            act::search(page::value("#search-all"));
                        }
                    });
                })
                .made(move |_| state.hits.set(None)),
        );
    let names = [T::ScopeTitles, T::ScopeMessages, T::ScopeLayers];
    let boxes = names.into_iter().enumerate().map(|(i, name)| {
        el("label")
            .child(
                el("input")
                    .attr("type", "checkbox")
                    .prop_flag_live("checked", move || state.scope.with(|s| s.0[i]))
                    .on("change", move |_| {
                        state.scope.update(|s| s.0[i] = !s.0[i]);
                        act::search(page::value("#search-all"));
                    }),
            )
            .child(t(name))
    });
    let line = move || {
        state.hits.with(|hits| match hits {
            Some(hits) => act::found_line(hits),
            None => String::new(),
        })
    };
    el("div")
        .class("seek")
        .child(field)
        .child(
            el("fieldset")
                .class("scope")
                .child(el("legend").class("vh").child(t(T::SearchIn)))
                .children(boxes),
        )
        .child(el("p").class("sub").text_live(line))
}

/// Rows that are made at first, and with each wish for more: a thousand at once take more than a second.
const ROWS: usize = 100;

/// Buttons that show the sessions with a tag alone, or all of them.
fn tags(state: AppState, chosen: Signal<String>) -> AnyView {
    let known = move || state.sessions.with(|all| tags_of(all));
    live_on(known, move |known| {
        // the last session with that tag may have lost it
        if !chosen.with_untracked(|chosen| known.contains(chosen)) {
            chosen.change(String::new());
        }
        if known.is_empty() {
            return nothing();
        }
        let one = |tag: &str, name: String| {
            let (own, then) = (tag.to_owned(), tag.to_owned());
            el("button")
                .class("link")
                .attr("type", "button")
                .attr("dir", "auto")
                .attr_live("aria-pressed", move || {
                    Some(chosen.with(|chosen| *chosen == own).to_string())
                })
                .child(name)
                .click(move || chosen.change(then.clone()))
        };
        el("p")
            .class("acts")
            .attr("id", "tags")
            .attr("role", "group")
            .attr("aria-label", t(T::Tags))
            .child(one("", t(T::TagsAll).to_owned()))
            .children(known.iter().map(|tag| one(tag, tag.clone())))
            .view()
    })
}

fn rows(state: AppState, tag: Signal<String>) -> AnyView {
    let most = Signal::new(ROWS);
    let wanted = move || {
        let mut sessions = state.sessions.get();
        state.hits.with(|hits| {
            if let Some(hits) = hits {
                sessions.retain(|s| hits.by.contains_key(&s.id));
            }
        });
        tag.with(|tag| {
            if !tag.is_empty() {
                sessions.retain(|s| s.tags.contains(tag));
            }
        });
        sessions
    };
    let there = move || wanted().len();
    let sorted = move || {
        let mut sessions = wanted();
        sessions.sort_by(|a, b| {
            b.pinned
                .cmp(&a.pinned)
                .then_with(|| b.at.total_cmp(&a.at))
                .then_with(|| a.id.cmp(&b.id))
        });
        sessions.truncate(most.get());
        sessions
    };
    let shown = move || (most.get() as u32, there() as u32);
    let more = move || {
        live_on(shown, move |&(shown, all)| {
            if shown >= all {
                return nothing();
            }
            el("button")
                .class("btn more-rows")
                .attr("type", "button")
                .child(fill(T::RowsMore, &[&number(shown), &number(all)]))
                .click(move || most.update(|n| *n += ROWS))
                .into_child()
        })
    };
    let instead = move || {
        let nothing = |h: &Option<Hits>| h.as_ref().is_some_and(|h| h.done && h.by.is_empty());
        if state.sessions.with(Vec::is_empty) {
            Some(T::NoSessions)
        } else if !state.hits.with(nothing) {
            None
        } else if state.scope.with(|s| s.0 == [false; 3]) {
            Some(T::ScopeNone)
        } else {
            Some(T::FoundNothing)
        }
    };
    live_on(instead, move |instead| {
        if let Some(text) = instead {
            return el("p").class("empty sub").child(t(*text)).view();
        }
        let column = |name: T, class: &'static str| {
            el("th").class(class).attr("scope", "col").child(t(name))
        };
        let head = el("tr")
            .child(column(T::Session, ""))
            .child(column(T::ColumnWindow, ""))
            .child(column(T::ColumnMessages, "n"))
            .child(column(T::ColumnLayers, "n"))
            .child(column(T::Trust, ""))
            .child(column(T::ColumnUsed, ""))
            .child(column(T::ColumnSize, "n"))
            .child(el("th").child(el("span").class("vh").child(t(T::Actions))));
        let table = el("table")
            .class("rows")
            .child(el("thead").child(head))
            .child(el("tbody").child(each(
                sorted,
                |s| key_of(&(&s.id, &s.title, &s.model, s.pinned, &s.tags)),
                move |s| row(state, &s).view(),
            )));
        el("div").child(table).child(more()).into_child()
    })
}

/// The button for a new session.
pub fn new_session() -> El {
    el("button")
        .class("btn wide new")
        .attr("type", "button")
        .child(icon("plus"))
        .child(t(T::NewSession))
        .child(el("kbd").child(shortcut("O", true)))
        .click(act::new_session)
}
