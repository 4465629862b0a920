//! The library: all sessions, import, storage.

use leptos::prelude::AnyView;

use crate::act;
use crate::el::{El, IntoChild, each, el, key_of, live_on, nothing};
use crate::embed;
use crate::icon::icon;
use crate::page;
use crate::signal::{Shown, kept};
use crate::state::{AppState, Dialog};
use crate::text::{self, T, bytes, count, fill, language, number, t};
use crate::ui::side::{new_session, title_of};
use crate::view::hit::{Hit, Place};
use crate::view::session::SessionEntry;

/// Days without an export after which the library reminds of one.
const REMIND_AFTER: u32 = 7;

/// The library.
pub fn library() -> AnyView {
    let state = AppState::here();
    act::measure_storage();
    let of = move || {
        let number = state.sessions.with(Vec::len) as u32;
        let all = count(T::SessionsOne, T::SessionsMany, number);
        if embed::keeps() {
            all
        } else {
            fill(T::LibraryOf, &[&all])
        }
    };
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
        .child(head.child(search(state)))
        .child(found(state))
        .child(rows(state))
        .child(storage(state))
        .into_child()
}

fn search(state: AppState) -> El {
    let turn = kept(0u32);
    el("label")
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
        )
}

/// Where the words that are looked for stand.
fn found(state: AppState) -> AnyView {
    live_on(
        move || state.hits.get(),
        |hits| {
            let Some(hits) = hits else {
                return nothing();
            };
            if hits.is_empty() {
                return el("p").class("empty sub").child(t(T::FoundNothing)).view();
            }
            let line = |hit: &Hit| {
                let (id, place) = (hit.session.clone(), hit.place);
                let title = if hit.title.is_empty() {
                    t(T::Untitled).to_owned()
                } else {
                    hit.title.clone()
                };
                let where_ = match place {
                    Place::Title => t(T::InTitle).to_owned(),
                    Place::Message(n) => fill(T::InMessage, &[&n.to_string()]),
                    Place::Layer(n) => fill(T::InLayer, &[&n.to_string()]),
                };
                let (before, it, after) = hit.words.clone();
                el("li").child(
                    el("a")
                        .attr("href", "#chat")
                        .child(el("b").attr("dir", "auto").child(title))
                        .child(el("i").class("sub").child(where_))
                        .child(
                            el("span")
                                .attr("dir", "auto")
                                .child(before)
                                .child(el("mark").child(it))
                                .child(after),
                        )
                        .on("click", move |_| act::open_at(id.clone(), place)),
                )
            };
            el("ol")
                .class("hits")
                .attr("aria-label", t(T::SearchAll))
                .children(hits.iter().map(line))
                .view()
        },
    )
}

fn rows(state: AppState) -> AnyView {
    let sorted = move || {
        let mut sessions = state.sessions.get();
        sessions.sort_by(|a, b| {
            b.pinned
                .cmp(&a.pinned)
                .then_with(|| b.at.total_cmp(&a.at))
                .then_with(|| a.id.cmp(&b.id))
        });
        sessions
    };
    let shown = move || {
        (
            state.hits.with(Option::is_some),
            state.sessions.with(Vec::is_empty),
        )
    };
    live_on(shown, move |(searching, empty)| {
        if *searching {
            return nothing();
        }
        if *empty {
            return el("p").class("empty sub").child(t(T::NoSessions)).view();
        }
        let column = |name: T, class: &'static str| {
            el("th").class(class).attr("scope", "col").child(t(name))
        };
        let head = el("tr")
            .child(column(T::Session, ""))
            .child(column(T::ColumnWindow, ""))
            .child(column(T::ColumnMessages, "n"))
            .child(column(T::ColumnLayers, "n"))
            .child(column(T::ColumnUsed, ""))
            .child(el("th").child(el("span").class("vh").child(t(T::Actions))));
        el("table")
            .class("rows")
            .child(el("thead").child(head))
            .child(el("tbody").child(each(
                sorted,
                |s| key_of(&(&s.id, &s.title, &s.model, s.pinned)),
                move |s| row(state, s).view(),
            )))
            .into_child()
    })
}

/// Percent of the window, messages, layers, and when it was last used (the bits of that number).
type Figures = (Option<u32>, u32, Option<u32>, u64);

fn row(state: AppState, session: SessionEntry) -> El {
    let title = title_of(&session);
    let (open, id, delete) = (session.id.clone(), session.id.clone(), session.id.clone());
    let (pin, copy, pinned) = (session.id.clone(), session.id.clone(), session.pinned);
    let old = session.title.clone();
    let tool = |name: T, icon_name: &'static str| {
        el("button")
            .class("quiet")
            .attr("type", "button")
            .attr("aria-label", format!("{}: {title}", t(name)))
            .child(icon(icon_name))
    };
    // what changes with every reply changes in place
    let own = session.id.clone();
    let now = Shown::of(move || {
        let figures = |s: &SessionEntry| {
            (s.id == own).then_some((s.percent, s.messages, s.layers, s.at.to_bits()))
        };
        let found = state.sessions.with(|all| all.iter().find_map(figures));
        found.unwrap_or_default()
    });
    let percent = now.clone();
    let cell = |name: T, class: &'static str, text: fn(&Figures) -> String| {
        let now = now.clone();
        let text = move || now.with(text);
        el("td")
            .class(class)
            .attr("data-l", t(name))
            .text_live(text)
    };
    let window = el("td")
        .attr("data-l", t(T::ColumnWindow))
        .live_on(
            move || percent.with(|f| f.0),
            |percent| {
                let gauge = format!("{}%", percent.unwrap_or(0).min(100));
                let words = percent.map_or_else(String::new, |p| format!("{p} %"));
                el("span")
                    .class("cellbar")
                    .child(el("span").class("gauge").child(el("i").var("--p", gauge)))
                    .child(el("i").child(words))
                    .view()
            },
        )
        .child(el("span").class("sub").child(session.model.clone()));
    el("tr")
        .child(
            el("th").attr("scope", "row").child(
                el("a")
                    .attr("href", "#chat")
                    .attr("dir", "auto")
                    .child(title.clone())
                    .on("click", move |_| act::open(open.clone())),
            ),
        )
        .child(window)
        .child(cell(T::ColumnMessages, "n", |f| number(f.1)))
        .child(cell(T::ColumnLayers, "n", |f| {
            f.2.map_or_else(|| "–".to_owned(), number)
        }))
        .child(cell(T::ColumnUsed, "", |f| used(f64::from_bits(f.3))))
        .child(
            el("td")
                .class("act")
                .child(
                    tool(if pinned { T::Unpin } else { T::PinSession }, "pin")
                        .attr("aria-pressed", pinned.to_string())
                        .click(move || act::pin_session(pin.clone(), !pinned)),
                )
                .child(tool(T::Duplicate, "copy").click(move || act::duplicate(copy.clone())))
                .child(tool(T::Rename, "edit").click(move || {
                    state.dialog.set(Some(Dialog::Rename {
                        id: id.clone(),
                        title: old.clone(),
                    }));
                }))
                .child(tool(T::Delete, "cross").click(move || act::delete(delete.clone()))),
        )
}

/// The time of today, the day of another.
fn used(at: f64) -> String {
    if at >= page::midnight(act::now()) {
        page::clock(at)
    } else {
        page::day(at, language())
    }
}

fn storage(state: AppState) -> El {
    let figure = |name: T, value: AnyView| {
        el("div")
            .child(el("dt").child(t(name)))
            .child(el("dd").child(value))
    };
    let used = live_on(
        move || state.storage.get(),
        |storage| {
            if let Some(warning) = text::kept(storage.kept) {
                return el("span")
                    .class("warnc")
                    .child(icon("warn"))
                    .child(warning)
                    .view();
            }
            let line = el("span").child(storage.used.map_or_else(|| "–".to_owned(), bytes));
            line.child(
                storage
                    .quota
                    .map(|q| el("span").child(fill(T::StorageOf, &[&bytes(q)]))),
            )
            .view()
        },
    );
    let eviction = live_on(
        move || state.storage.with(|s| s.persistent),
        |persistent| {
            if *persistent {
                el("span")
                    .child(
                        el("span")
                            .class("okc")
                            .child(icon("check"))
                            .child(t(T::StoragePersistent)),
                    )
                    .child(el("span").child(t(T::StoragePersistentHelp)))
                    .view()
            } else {
                el("span")
                    .child(t(T::StorageBestEffort))
                    .child(" ")
                    .child(
                        el("button")
                            .class("link")
                            .attr("type", "button")
                            .child(t(T::StorageAsk))
                            .click(act::persist),
                    )
                    .into_child()
            }
        },
    );
    let exported = live_on(
        move || state.settings.with(|s| s.exported),
        |at| {
            let at = *at;
            let days = ((act::now() - at) / 86_400_000.0) as u32;
            let line = if at <= 0.0 {
                el("span")
                    .class("warnc")
                    .child(icon("warn"))
                    .child(t(T::ExportNever))
            } else if days >= REMIND_AFTER {
                el("span")
                    .class("warnc")
                    .child(icon("warn"))
                    .child(fill(T::ExportDaysAgo, &[&number(days)]))
            } else {
                el("span").child(page::day(at, language()))
            };
            line.view()
        },
    );
    el("section")
        .class("store")
        .attr("aria-labelledby", "h-store")
        .child(el("h2").attr("id", "h-store").child(t(T::Storage)))
        .child(
            el("dl")
                .class("figures")
                .child(figure(T::StorageUsed, used))
                // a host's storage is not the browser's to clear
                .child((!embed::keeps()).then(|| figure(T::StorageEviction, eviction)))
                .child(figure(T::LastExport, exported)),
        )
        .child(
            el("p").class("acts").child(
                el("button")
                    .class("btn danger")
                    .attr("type", "button")
                    .attr("id", "erase")
                    .child(t(T::Erase))
                    .click(move || state.dialog.set(Some(Dialog::Erase))),
            ),
        )
}
