//! System prompts that a person keeps: one is put into the field of the session's, another is kept from it.

use leptos::prelude::{AnyView, document};
use wasm_bindgen::JsCast;
use web_sys::HtmlTextAreaElement;

use crate::act;
use crate::platform::el::{El, el, nothing};
use crate::platform::icon::icon;
use crate::platform::page::{self, next_frame};
use crate::platform::signal::Signal;
use crate::settings::data::prompt::{filled, gaps};
use crate::state::AppState;
use crate::text::{Language, T, fill, language, t};
use crate::widgets::field::{line, option, selected};

/// The field of the session's prompt.
const FIELD: &str = "system";

/// The kept prompts, and what can be done with them.
pub fn prompts(state: AppState) -> El {
    let chosen = Signal::new(String::new());
    let names = move || {
        let all = state.settings.with(|s| s.prompts.clone());
        all.into_keys().collect::<Vec<_>>()
    };
    el("details")
        .class("more-fields")
        .child(el("summary").child(icon("chev")).child(t(T::Prompts)))
        .child(
            el("div")
                .class("kept")
                .live_on(names, move |names| {
                    if names.is_empty() {
                        return el("p").class("sub").child(t(T::PromptsNone)).view();
                    }
                    let all = names.iter().map(|name| option(name, name, false));
                    let list = el("select")
                        .attr("id", "prompt")
                        .child(option("", t(T::PromptChoose), true))
                        .children(all)
                        .on("change", move |event| {
                            choose(state, chosen, selected(&event).unwrap_or_default());
                        });
                    el("label").child(t(T::PromptUse)).child(list).view()
                })
                .live_on(move || chosen.get(), move |name| rest(state, chosen, name))
                .child(keep(state)),
        )
}

fn text_of(state: AppState, name: &str) -> String {
    let kept = state
        .settings
        .with_untracked(|s| s.prompts.get(name).cloned());
    kept.unwrap_or_default()
}

/// A prompt without gaps is put into the field at once.
fn choose(state: AppState, chosen: Signal<String>, name: String) {
    if !name.is_empty() && gaps(&text_of(state, &name)).is_empty() {
        put(state, &name);
    }
    chosen.set(name);
}

/// Puts the prompt into the field, with what was typed for its gaps.
fn put(state: AppState, name: &str) {
    let text = text_of(state, name);
    let names = gaps(&text);
    let of = |gap: &str| match gap {
        "date" => Some(page::date(act::now())),
        "model" => state
            .open
            .with_untracked(|o| o.as_ref().map(|o| o.model.clone())),
        "language" => Some(language_name().to_owned()),
        gap => {
            let at = names.iter().position(|name| name == gap)?;
            Some(page::value(&format!("#gap-{at}")))
        }
    };
    let field = document().get_element_by_id(FIELD);
    if let Some(field) = field.and_then(|f| f.dyn_into::<HtmlTextAreaElement>().ok()) {
        field.set_value(&filled(&text, of));
        let _ = field.focus();
    }
}

/// The page's language in its own words.
fn language_name() -> &'static str {
    match language() {
        Language::English => "English",
        Language::German => "Deutsch",
    }
}

/// The gaps of the chosen prompt, and a button that forgets it.
fn rest(state: AppState, chosen: Signal<String>, name: &str) -> AnyView {
    if name.is_empty() {
        return nothing();
    }
    let names = gaps(&text_of(state, name));
    let (used, gone) = (name.to_owned(), name.to_owned());
    let put_in = (!names.is_empty()).then(|| {
        el("button")
            .class("btn")
            .attr("type", "button")
            .attr("id", "prompt-put")
            .child(t(T::PromptPut))
            .click(move || put(state, &used))
    });
    let fields = names.into_iter().enumerate().map(|(at, gap)| {
        let input = line("").attr("id", format!("gap-{at}"));
        el("div").child(el("label").child(gap).child(input))
    });
    el("div")
        .child(el("div").class("fields").children(fields))
        .child(
            el("p").class("acts").child(put_in).child(
                el("button")
                    .class("link")
                    .attr("type", "button")
                    .attr("id", "prompt-forget")
                    .child(fill(T::ProfileRemove, &[name]))
                    .click(move || {
                        let gone = gone.clone();
                        act::change(move |s| {
                            s.prompts.remove(&gone);
                        });
                        chosen.set(String::new());
                    }),
            ),
        )
        .view()
}

/// The field for a name under which the session's prompt is kept.
fn keep(state: AppState) -> El {
    let then = move || {
        let name = page::value("#prompt-name").trim().to_owned();
        let text = page::value(&format!("#{FIELD}"));
        if name.is_empty() || text.trim().is_empty() {
            let empty = if name.is_empty() {
                "prompt-name"
            } else {
                FIELD
            };
            return page::focus(&format!("#{empty}"));
        }
        let told = fill(T::PromptKept, &[&name]);
        act::change(move |s| {
            s.prompts.insert(name, text);
        });
        state.say(told);
        next_frame(|| page::focus("#prompt"));
    };
    let name = line("").attr("id", "prompt-name").attr("maxlength", "60");
    el("div")
        .child(el("label").child(t(T::PromptName)).child(name))
        .child(el("p").class("sub").child(t(T::PromptHelp)))
        .child(
            el("p").class("acts").child(
                el("button")
                    .class("btn")
                    .attr("type", "button")
                    .attr("id", "prompt-keep")
                    .child(t(T::PromptKeep))
                    .click(then),
            ),
        )
}
