//! The library: all sessions, search, snapshots, import, storage.

use leptos::prelude::AnyView;

use crate::act;
use crate::app::data::address::{Address, Screen};
use crate::context::data::budget::{Segment, sum};
use crate::context::view::snapshots::timeline;
use crate::library::data::hit::{Found, Hit, Hits, Place, split};
use crate::library::data::session::{Recall, SessionEntry};
use crate::library::view::storage::storage;
use crate::library::view::trash::trash;
use crate::platform::el::{El, IntoChild, each, el, key_of, live_on, nothing};
use crate::platform::icon::{icon, icon_named};
use crate::platform::signal::{Shown, Signal, effect, kept};
use crate::platform::{guest, page};
use crate::state::{AppState, Dialog};
use crate::text::{T, bytes, count, fill, language, number, t};
use crate::widgets::bar::mini;
use crate::widgets::trust::{level_name, pips};
use crate::widgets::words::{shortcut, title_of};

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
        .child(rows(state))
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

/// The search words and the results in one session.
type Here = Option<(String, Found)>;

/// The title, with the results marked.
fn marked(title: &str, here: &Here) -> AnyView {
    let found = here.as_ref().filter(|(_, found)| found.title);
    match found.and_then(|(needle, _)| split(title, needle)) {
        Some((before, it, after)) => el("span")
            .child(before.to_owned())
            .child(el("mark").child(it.to_owned()))
            .child(after.to_owned())
            .view(),
        None => el("span").child(title.to_owned()).view(),
    }
}

/// The first place in a session with the words around it, and the way to all others.
fn places(id: &str, here: &Here) -> AnyView {
    let Some((_, found)) = here else {
        return nothing();
    };
    let Some((first, others)) = found.hits.split_first() else {
        return nothing();
    };
    let link = |hit: &Hit| {
        let (id, place) = (id.to_owned(), hit.place);
        let where_ = match place {
            Place::Message(n) => fill(T::InMessage, &[&number(n)]),
            Place::Layer(n) => fill(T::InLayer, &[&n.to_string()]),
        };
        el("a")
            .attr("href", format!("#{}", Address::at(&id, place)))
            .child(where_)
            .on("click", move |event| {
                if !page::opens_another(&event) {
                    event.prevent_default();
                    act::open_at(id.clone(), place);
                }
            })
    };
    let words = |hit: &Hit| {
        let (before, it, after) = hit.words.clone();
        el("span")
            .attr("dir", "auto")
            .child(before)
            .child(el("mark").child(it))
            .child(after)
    };
    let line = |hit: &Hit| el("li").child(link(hit)).child(" ").child(words(hit));
    let rest = others.len() as u32 + found.more;
    let more = (rest > 0).then(|| {
        let unlisted = (found.more > 0).then(|| {
            el("li")
                .class("sub")
                .child(fill(T::PlacesMore, &[&number(found.more)]))
        });
        el("details")
            .child(el("summary").child(fill(T::PlacesAnd, &[&number(rest)])))
            .child(el("ol").children(others.iter().map(line)).child(unlisted))
    });
    el("div")
        .class("found")
        .child(words(first))
        .child(" ")
        .child(link(first))
        .child(more)
        .view()
}

/// Rows that are made at first, and with each wish for more: a thousand at once take more than a second.
const ROWS: usize = 100;

fn rows(state: AppState) -> AnyView {
    let most = Signal::new(ROWS);
    let there = move || {
        let found = state.hits.with(|h| h.as_ref().map(|h| h.by.len()));
        found.unwrap_or_else(|| state.sessions.with(Vec::len))
    };
    let sorted = move || {
        let mut sessions = state.sessions.get();
        state.hits.with(|hits| {
            if let Some(hits) = hits {
                sessions.retain(|s| hits.by.contains_key(&s.id));
            }
        });
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
                |s| key_of(&(&s.id, &s.title, &s.model, s.pinned)),
                move |s| row(state, s).view(),
            )));
        el("div").child(table).child(more()).into_child()
    })
}

/// The values that change with every reply: percent of the window and its stretches, messages, layers, trust, and the
/// time of last use (as the bits of a number).
type Figures = (
    Option<u32>,
    Vec<Segment>,
    u32,
    Option<u32>,
    Option<Recall>,
    u64,
);

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
            (s.id == own).then(|| {
                let bar = s.bar.clone();
                (
                    s.percent,
                    bar,
                    s.messages,
                    s.layers,
                    s.recall,
                    s.at.to_bits(),
                )
            })
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
            move || percent.with(|f| (f.0, f.1.clone())),
            |(percent, bar)| {
                let words = percent.map_or_else(String::new, |p| format!("{p} %"));
                let shape = if bar.is_empty() {
                    let gauge = format!("{}%", percent.unwrap_or(0).min(100));
                    el("span").class("gauge").child(el("i").var("--p", gauge))
                } else {
                    mini(bar, sum(bar))
                };
                el("span")
                    .class("cellbar")
                    .child(shape)
                    .child(el("i").child(words))
                    .view()
            },
        )
        .child(el("span").class("sub").child(session.model.clone()));
    let trust = now.clone();
    let recall = el("td").attr("data-l", t(T::Trust)).live_on(
        move || trust.with(|f| f.4),
        |recall| match recall {
            Some(recall) => el("span")
                .attr("title", format!("{} %", recall.percent))
                .child(pips(recall.level))
                .child(" ")
                .child(level_name(recall.level))
                .view(),
            None => el("span").child("–").view(),
        },
    );
    let measured = session.id.clone();
    let size = move || {
        let taken = state
            .sizes
            .with(|s| s.of.get(&measured).map(|(_, t)| t.all()));
        taken.map_or_else(|| "–".to_owned(), |n| bytes(n as f64))
    };
    let size = el("td")
        .class("n")
        .attr("data-l", t(T::ColumnSize))
        .text_live(size);
    let here = {
        let own = session.id.clone();
        Shown::of(move || {
            state.hits.with(|hits| {
                let hits = hits.as_ref()?;
                let found = hits.by.get(&own)?.clone();
                Some((hits.needle.clone(), found))
            })
        })
    };
    let (in_title, below) = (here.clone(), session.id.clone());
    let shown = title.clone();
    let name = el("a")
        .attr(
            "href",
            format!("#{}", Address::of(Screen::Chat, Some(&open))),
        )
        .attr("dir", "auto")
        .live(move || in_title.with(|here| marked(&shown, here)))
        .on("click", move |event| {
            if !page::opens_another(&event) {
                event.prevent_default();
                act::open(open.clone());
            }
        });
    let mark = pinned.then(|| icon_named("pin", t(T::PinnedSessions)));
    el("tr")
        .child(
            el("th")
                .attr("scope", "row")
                .child(name)
                .child(mark)
                .live(move || here.with(|here| places(&below, here))),
        )
        .child(window)
        .child(cell(T::ColumnMessages, "n", |f| number(f.2)))
        .child(cell(T::ColumnLayers, "n", |f| {
            f.3.map_or_else(|| "–".to_owned(), number)
        }))
        .child(recall)
        .child(cell(T::ColumnUsed, "", |f| used(f64::from_bits(f.5))))
        .child(size)
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

/// The time of today, the day of the week, the date of another day.
fn used(at: f64) -> String {
    if at >= page::midnight(act::now()) {
        page::clock(at)
    } else if at >= page::midnight(act::now()) - 6.0 * 86_400_000.0 {
        page::weekday(at, language())
    } else {
        page::day(at, language())
    }
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
