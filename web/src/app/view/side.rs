//! The side column: sessions and screens.

use leptos::prelude::AnyView;
use palimpsest_engine::is_temporary;
use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;

use crate::act;
use crate::app::data::address::{Address, Screen};
use crate::library::data::session::{SessionEntry, When, grouped};
use crate::library::view::library::new_session;
use crate::platform::el::{El, each, el, key_of, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::signal::{Signal, derived};
use crate::platform::{guest, page};
use crate::state::{AppState, Dialog};
use crate::text::{T, bytes, fill, t};
use crate::widgets::words::{shortcut, title_of};

/// The side column.
pub fn side() -> El {
    let state = AppState::here();
    let filter = Signal::new(String::new());
    el("nav")
        .class("side")
        .attr("aria-label", t(T::SessionsAndScreens))
        .child(
            el("a")
                .class("wordmark")
                .attr("href", "#chat")
                .attr("aria-label", t(T::Home))
                .child("palimpsest")
                .child(el("span").attr("aria-hidden", "true")),
        )
        .child(new_session())
        .child(search(filter))
        .child(el("div").class("lists").child(list(state, filter)))
        .child(foot(state))
}

fn search(filter: Signal<String>) -> El {
    el("label")
        .class("find")
        .child(icon("search"))
        .child(el("span").class("vh").child(t(T::SearchSessions)))
        .child(
            el("input")
                .attr("type", "search")
                .attr("id", "find")
                .attr("placeholder", t(T::Search))
                .on("input", move |event| {
                    if let Some(input) = event
                        .target()
                        .and_then(|x| x.dyn_into::<HtmlInputElement>().ok())
                    {
                        filter.set(input.value());
                    }
                }),
        )
        .child(el("kbd").child(shortcut("K", false)))
}

fn list(state: AppState, filter: Signal<String>) -> AnyView {
    let groups = derived(move || {
        let midnight = page::midnight(act::now());
        state
            .sessions
            .with(|all| filter.with(|f| grouped(all, f, midnight)))
    });
    let instead = move || {
        if !state.ready.get() {
            Some(T::Loading)
        } else if !groups.with(Vec::is_empty) {
            None
        } else if state.sessions.with(Vec::is_empty) {
            Some(T::NoSessions)
        } else {
            Some(T::NoMatch)
        }
    };
    live_on(instead, move |instead| {
        if let Some(text) = instead {
            return el("p").class("sub").child(t(*text)).view();
        }
        let names =
            move || groups.with(|all| all.iter().map(|(when, _)| *when).collect::<Vec<_>>());
        let group = move |when: When| {
            let name = match when {
                When::Pinned => T::PinnedSessions,
                When::Today => T::Today,
                When::Week => T::ThisWeek,
                When::Earlier => T::Earlier,
            };
            let sessions = move || {
                groups.with(|all| {
                    let own = all.iter().find(|(other, _)| *other == when);
                    own.map_or_else(Vec::new, |(_, sessions)| sessions.clone())
                })
            };
            // a row stays while its title stays: what changes with every reply is live in it
            let rows = each(
                sessions,
                |s| key_of(&(&s.id, &s.title)),
                move |s| row(state, s).view(),
            );
            el("div")
                .child(el("h2").child(t(name)))
                .child(el("ul").child(rows))
                .view()
        };
        el("div")
            .child(each(names, |when: &When| *when as u64, group))
            .view()
    })
}

fn row(state: AppState, session: SessionEntry) -> El {
    let title = title_of(&session);
    let (id, to_open, to_delete) = (session.id.clone(), session.id.clone(), session.id.clone());
    let old_title = session.title.clone();
    let (own, full) = (session.id.clone(), session.id.clone());
    let current = move || state.open.with(|o| o.as_ref().is_some_and(|o| o.id == own));
    let percent = move || {
        let percent = |s: &SessionEntry| s.percent.filter(|_| s.id == full);
        state.sessions.with(|all| all.iter().find_map(percent))
    };
    let link = el("a")
        .attr(
            "href",
            format!("#{}", Address::of(Screen::Chat, Some(&session.id))),
        )
        .attr_live("aria-current", move || current().then(|| "page".to_owned()))
        .attr("data-session", session.id.clone())
        .child(el("span").attr("dir", "auto").child(title.clone()))
        .child(is_temporary(&session.id).then(|| el("small").child(t(T::TemporaryMark))))
        .live_on(percent, |percent| {
            percent.map_or_else(nothing, |p| el("i").child(format!("{p} %")).view())
        })
        .on("click", move |event| {
            if !page::opens_another(&event) {
                event.prevent_default();
                act::open(to_open.clone());
            }
        });
    let tool = |name: T, icon_name: &'static str| {
        el("button")
            .class("quiet")
            .attr("type", "button")
            .attr("aria-label", format!("{}: {title}", t(name)))
            .child(icon(icon_name))
    };
    el("li")
        .child(link)
        .child(tool(T::Rename, "edit").click(move || {
            state.dialog.set(Some(Dialog::Rename {
                id: id.clone(),
                title: old_title.clone(),
            }));
        }))
        .child(tool(T::Delete, "cross").click(move || act::delete(to_delete.clone())))
}

/// The links to the screens, with their icons.
const SCREENS: [(Screen, T, &str); 4] = [
    (Screen::Chat, T::Session, "session"),
    (Screen::Context, T::Context, "eye"),
    (Screen::Library, T::Library, "library"),
    (Screen::Settings, T::Settings, "settings"),
];

fn link(state: AppState, (screen, name, icon_name): (Screen, T, &'static str)) -> El {
    el("a")
        .attr("href", format!("#{}", screen.name()))
        .attr_live("aria-current", move || {
            // the log and the replay are reached from the context
            let now = match state.screen.get() {
                Screen::Log | Screen::Replay => Screen::Context,
                other => other,
            };
            (now == screen).then(|| "page".to_owned())
        })
        .child(icon(icon_name))
        .child(t(name))
}

fn foot(state: AppState) -> El {
    let screens = el("ul")
        .class("screens")
        .children(SCREENS.into_iter().map(|entry| {
            let keys = (entry.0 == Screen::Context).then(|| el("kbd").child(shortcut("I", false)));
            el("li").child(link(state, entry).child(keys))
        }));
    let used = el("span").text_live(move || {
        state
            .storage
            .with(|s| s.used)
            .map_or_else(String::new, |n| fill(T::Stored, &[&bytes(n)]))
    });
    let theme = el("button")
        .class("quiet")
        .attr("type", "button")
        .attr("id", "theme")
        .attr("aria-label", t(T::SwitchTheme))
        .child(icon("sun"))
        .click(act::switch_theme);
    el("div").class("foot").child(screens).child(
        el("p")
            .class("line")
            .child(used)
            .child(guest::theme().is_none().then_some(theme)),
    )
}

/// The bar of screens at the foot of a narrow page.
pub fn bottom() -> El {
    let state = AppState::here();
    el("nav")
        .class("bottom")
        .attr("aria-label", t(T::Screens))
        .children(SCREENS.into_iter().map(|entry| link(state, entry)))
}
