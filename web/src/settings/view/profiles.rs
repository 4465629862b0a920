//! Profiles: which one the open session uses, and a form for it or for a new one.

use std::rc::Rc;

use leptos::prelude::AnyView;
use palimpsest_engine::Profile;
use palimpsest_text::sorted::SortedMap;

use crate::act;
use crate::platform::el::{El, el};
use crate::platform::icon::icon;
use crate::platform::page;
use crate::platform::signal::Signal;
use crate::settings::data::policy::base_of;
use crate::settings::data::profile::{ENTRIES, Entry, Kind, RULES, Sheet, Wrong};
use crate::state::{AppState, Open};
use crate::text::{T, fill, t};
use crate::widgets::field::{self, framed, line, lines, option, selected, tick};
use crate::widgets::policies::{POLICIES, policy_name};

/// The field with the profile's name.
const NAME: &str = "profile-name";

/// The profiles, folded.
pub fn profiles(state: AppState) -> El {
    let open = move |part: fn(&Open) -> String| {
        state
            .open
            .with(|o| o.as_ref().map(part).unwrap_or_default())
    };
    let shown = move || (open(|o| o.profile.clone()), state.profiles.get());
    el("details")
        .class("editor")
        .attr("id", "profiles")
        .child(el("summary").child(icon("chev")).child(t(T::Profiles)))
        .child(el("p").class("sub").child(t(T::ProfilesHelp)))
        .live_on(shown, move |(own, all)| {
            form(own, &open(|o| o.policy.clone()), all)
        })
}

/// The form of the profile `own`, which may be new, for a session with that policy.
fn form(own: &str, policy: &str, all: &SortedMap<String, Profile>) -> AnyView {
    let known = all.get(own);
    // A new profile begins with the session's settings.
    let before = Rc::new(known.cloned().unwrap_or_else(|| Profile {
        policy: policy.to_owned(),
        ..Profile::default()
    }));
    let first = Sheet::of(&before);
    let wrong = Signal::new(None::<Wrong>);
    let of = |id: &'static str| -> field::Wrong {
        Rc::new(move || wrong.with(|w| Some(w.as_ref().filter(|w| w.id == id)?.why.clone())))
    };
    let names = all.keys().map(|name| option(name, name, name == own));
    let used = el("select")
        .attr("id", "profile-of")
        .child(option("", t(T::ProfileNone), known.is_none()))
        .children(names)
        .on("change", |event| {
            act::use_profile(selected(&event).filter(|name| !name.is_empty()));
        });
    let entries = || ENTRIES.iter().zip(&first.rest);
    let is_flag = |e: &Entry| matches!(e.kind, Kind::Flag);
    let is_tool = |e: &Entry| matches!(e.kind, Kind::Word);
    let plain = entries().filter(|(e, _)| !is_flag(e) && !is_tool(e));
    let plain = plain.map(|(e, value)| {
        if let Kind::Choice(choices) = e.kind {
            let all = choices.iter();
            let all = all.map(|(choice, words)| option(choice, t(*words), choice == value));
            let list = el("select").attr("id", e.id).children(all);
            return el("div").child(el("label").child(t(e.name)).child(list));
        }
        let input = line(value)
            .attr("inputmode", "numeric")
            .attr("placeholder", t(T::ProfileAsPolicy));
        framed(input, e.id, e.name, &of(e.id))
    });
    let flags = entries().filter(|(e, _)| is_flag(e));
    let flags = flags.map(|(e, value)| tick(e.id, e.name, !value.is_empty()));
    let tools = entries().filter(|(e, _)| is_tool(e));
    let tools = tools.map(|(e, value)| {
        let usual = e.usual_name();
        let name = el("label").child(usual).child(line(value).attr("id", e.id));
        el("div").child(name)
    });
    let tools = el("details")
        .class("more-fields")
        .child(
            el("summary")
                .child(icon("chev"))
                .child(t(T::ProfileToolNames)),
        )
        .child(el("div").class("fields").children(tools));
    let fields = el("div")
        .class("fields")
        .child(el("div").child(el("label").child(t(T::ProfileOf)).child(used)))
        .child(framed(line(own), NAME, T::ProfileName, &of(NAME)))
        .child(
            el("div").child(
                el("label")
                    .child(t(T::ProfilePolicy))
                    .child(policies(&first.policy, policy)),
            ),
        )
        .children(plain)
        .child(
            framed(lines(&first.rules, "3"), RULES, T::ProfileRules, &of(RULES)).class("across"),
        );
    let save = move || {
        wrong.set(None);
        let name = page::value(&format!("#{NAME}")).trim().to_owned();
        let made = if name.is_empty() {
            let why = t(T::EditorMissing).to_owned();
            Err(Wrong { id: NAME, why })
        } else {
            typed().apply(&before)
        };
        match made {
            Ok(profile) => act::save_profile(name, profile),
            Err(why) => {
                if !why.id.is_empty() {
                    page::focus(&format!("#{}", why.id));
                }
                wrong.set(Some(why));
            }
        }
    };
    let (name, gone) = (own.to_owned(), known.is_some());
    el("form")
        .on("submit", move |event| {
            event.prevent_default();
            save();
        })
        .child(fields)
        .children(flags)
        .child(tools)
        .child(el("p").class("badc").attr("role", "alert").text_live({
            let whole = of("");
            move || whole().unwrap_or_default()
        }))
        .child(
            el("p")
                .class("acts")
                .child(
                    el("button")
                        .class("btn solid")
                        .attr("type", "submit")
                        .attr("id", "profile-save")
                        .child(t(T::ProfileSave)),
                )
                .child(gone.then(|| {
                    el("button")
                        .class("btn")
                        .attr("type", "button")
                        .attr("id", "profile-remove")
                        .child(fill(T::ProfileRemove, &[&name]))
                        .click(move || act::remove_profile(name.clone()))
                })),
        )
        .view()
}

/// The policies to choose from: the presets, and the own policy of the profile or the session.
fn policies(chosen: &str, session: &str) -> El {
    let is_preset = |text: &str| POLICIES.iter().any(|(name, ..)| *name == text);
    let mut own = vec![chosen];
    if session != chosen {
        own.push(session);
    }
    own.retain(|text| !is_preset(text));
    let presets = POLICIES
        .iter()
        .map(|(name, title, _)| option(name, t(*title), *name == chosen));
    let own = own.into_iter().map(|text| {
        let base = policy_name(&base_of(text));
        option(text, &fill(T::ProfileChanged, &[&base]), text == chosen)
    });
    el("select")
        .attr("id", "profile-policy")
        .children(presets)
        .children(own)
}

/// The values in the fields.
fn typed() -> Sheet {
    let rest = ENTRIES.iter().map(|entry| {
        let selector = format!("#{}", entry.id);
        match (entry.kind, page::checked(&selector)) {
            (Kind::Flag, true) => "true".to_owned(),
            (Kind::Flag, false) => String::new(),
            _ => page::value(&selector),
        }
    });
    Sheet {
        policy: page::value("#profile-policy"),
        rules: page::value(&format!("#{RULES}")),
        rest: rest.collect(),
    }
}
