//! A session in the table of the library. What changes with every reply changes in place.

use leptos::prelude::AnyView;
use palimpsest_engine::is_temporary;

use crate::act;
use crate::app::data::address::{Address, Screen};
use crate::context::data::budget::{Segment, sum};
use crate::library::data::hit::{Found, Hit, Place, split};
use crate::library::data::session::{Recall, SessionEntry};
use crate::library::data::stored::Sizes;
use crate::platform::el::{El, el, nothing};
use crate::platform::icon::{icon, icon_named};
use crate::platform::page;
use crate::platform::signal::Shown;
use crate::state::{AppState, Dialog};
use crate::text::{T, bytes, fill, language, number, t};
use crate::widgets::bar::mini;
use crate::widgets::trust::{level_name, pips};
use crate::widgets::words::title_of;

/// The values that change with every reply.
#[derive(Clone, PartialEq, Default)]
struct Figures {
    /// The fill of the window in percent, and its stretches.
    percent: Option<u32>,
    bar: Vec<Segment>,
    messages: u32,
    layers: Option<u32>,
    recall: Option<Recall>,
    /// The time of the last use, in milliseconds since 1970.
    at: f64,
}

/// The search words and the results in one session.
type Here = Option<(String, Found)>;

/// The row of a session.
pub fn row(state: AppState, session: &SessionEntry) -> El {
    let now = figures(state, session.id.clone());
    let count = |name: T, text: fn(&Figures) -> String| cell(name, &now, text).class("n");
    let counts = [
        count(T::ColumnMessages, |now| number(now.messages)),
        count(T::ColumnLayers, |now| {
            now.layers.map_or_else(|| "–".to_owned(), number)
        }),
    ];
    el("tr")
        .child(name(state, session))
        .child(window(&now, session.model.clone()))
        .children(counts)
        .child(recall(&now))
        .child(cell(T::ColumnUsed, &now, |now| used(now.at)))
        .child(size(state, session.id.clone()))
        .child(acts(state, session))
}

/// Follows what changes of the session with that `id`.
fn figures(state: AppState, id: String) -> Shown<Figures> {
    let of = |session: &SessionEntry| Figures {
        percent: session.percent,
        bar: session.bar.clone(),
        messages: session.messages,
        layers: session.layers,
        recall: session.recall,
        at: session.at,
    };
    Shown::of(move || {
        let sessions = state.sessions;
        let found = sessions.with(|all| all.iter().find(|session| session.id == id).map(of));
        found.unwrap_or_default()
    })
}

/// A cell under that heading.
fn cell(name: T, now: &Shown<Figures>, text: fn(&Figures) -> String) -> El {
    let now = now.clone();
    el("td")
        .attr("data-l", t(name))
        .text_live(move || now.with(text))
}

/// The title, and the places in the session where the words that are looked for stand.
fn name(state: AppState, session: &SessionEntry) -> El {
    let id = session.id.clone();
    let here = Shown::of(move || {
        state.hits.with(|hits| {
            let hits = hits.as_ref()?;
            let found = hits.by.get(&id)?.clone();
            Some((hits.needle.clone(), found))
        })
    });
    let (open, title) = (session.id.clone(), title_of(session));
    let address = Address::of(Screen::Chat, Some(&open));
    let in_title = here.clone();
    let link = el("a")
        .attr("href", format!("#{address}"))
        .attr("dir", "auto")
        .live(move || in_title.with(|here| marked(&title, here)))
        .on("click", move |event| {
            if !page::opens_another(&event) {
                event.prevent_default();
                act::open(open.clone());
            }
        });
    let pinned = session.pinned;
    let pinned = pinned.then(|| icon_named("pin", t(T::PinnedSessions)));
    let temporary = is_temporary(&session.id);
    let temporary = temporary.then(|| el("small").child(t(T::TemporaryMark)));
    let tags = (!session.tags.is_empty()).then(|| {
        el("small")
            .attr("dir", "auto")
            .child(session.tags.join(", "))
    });
    let id = session.id.clone();
    el("th")
        .attr("scope", "row")
        .child(link)
        .child(pinned)
        .child(temporary)
        .child(tags)
        .live(move || here.with(|here| places(&id, here)))
}

/// The fill of the window, and the model.
fn window(now: &Shown<Figures>, model: String) -> El {
    let now = now.clone();
    el("td")
        .attr("data-l", t(T::ColumnWindow))
        .live_on(
            move || now.with(|now| (now.percent, now.bar.clone())),
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
        .child(el("span").class("sub").child(model))
}

/// How far the session can be trusted after its compactions.
fn recall(now: &Shown<Figures>) -> El {
    let now = now.clone();
    el("td").attr("data-l", t(T::Trust)).live_on(
        move || now.with(|now| now.recall),
        |recall| match recall {
            Some(recall) => el("span")
                .attr("title", format!("{} %", recall.percent))
                .child(pips(recall.level))
                .child(" ")
                .child(level_name(recall.level))
                .view(),
            None => el("span").child("–").view(),
        },
    )
}

/// The size in the store, once it was measured.
fn size(state: AppState, id: String) -> El {
    let text = move || {
        let taken = |sizes: &Sizes| sizes.of.get(&id).map(|(_, taken)| taken.all());
        let taken = state.sizes.with(taken);
        taken.map_or_else(|| "–".to_owned(), |n| bytes(n as f64))
    };
    el("td")
        .class("n")
        .attr("data-l", t(T::ColumnSize))
        .text_live(text)
}

/// What can be done with the session.
fn acts(state: AppState, session: &SessionEntry) -> El {
    let shown = title_of(session);
    let tool = |name: T, icon_name: &'static str| {
        el("button")
            .class("quiet")
            .attr("type", "button")
            .attr("aria-label", format!("{}: {shown}", t(name)))
            .child(icon(icon_name))
    };
    let (pinned, title) = (session.pinned, session.title.clone());
    let [pin, copy, rename, delete] = std::array::from_fn(|_| session.id.clone());
    let rename = move || {
        let (id, title) = (rename.clone(), title.clone());
        state.dialog.set(Some(Dialog::Rename { id, title }));
    };
    let pin_name = if pinned { T::Unpin } else { T::PinSession };
    el("td")
        .class("act")
        .child(
            tool(pin_name, "pin")
                .attr("aria-pressed", pinned.to_string())
                .click(move || act::pin_session(pin.clone(), !pinned)),
        )
        .child(tool(T::Duplicate, "copy").click(move || act::duplicate(copy.clone())))
        .child(tool(T::Rename, "edit").click(rename))
        .child(tool(T::Delete, "cross").click(move || act::delete(delete.clone())))
}

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
    let line = |hit: &Hit| el("li").child(words(hit)).child(" ").child(link(hit));
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
