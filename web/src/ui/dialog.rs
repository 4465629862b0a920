//! The dialogs, on the native element.

use leptos::prelude::AnyView;
use wasm_bindgen::JsCast;
use web_sys::{File, HtmlDialogElement, HtmlInputElement};

use crate::act;
use crate::el::{El, IntoChild, el, live, nothing};
use crate::icon::icon;
use crate::page::{self, next_frame};
use crate::settings::window_of;
use crate::signal::Signal;
use crate::state::{AppState, Dialog};
use crate::text::{T, fill, number, t};
use crate::ui::bar::age_name;
use crate::ui::card::dropped;
use crate::ui::message::prose;

/// The open dialog, if any.
pub fn dialogs() -> AnyView {
    let state = AppState::here();
    live(move || match state.dialog.get() {
        None => nothing(),
        Some(Dialog::Rename { id, title }) => rename(state, id, title),
        Some(Dialog::System) => system(state),
        Some(Dialog::Import) => import(state),
        Some(Dialog::Layer) => layer(state),
        Some(Dialog::Window) => window_size(state),
        Some(Dialog::Model) => model(state),
    })
}

/// The frame: modal, closed by Escape and by its cross.
fn frame(state: AppState, title: String, body: El) -> AnyView {
    let close = move || state.dialog.set(None);
    el("dialog")
        .attr("aria-labelledby", "h-dialog")
        .made(|element| {
            // A dialog can only be shown once it is in the page.
            next_frame(move || {
                if let Ok(dialog) = element.dyn_into::<HtmlDialogElement>()
                    && dialog.is_connected()
                {
                    let _ = dialog.show_modal();
                }
            });
        })
        .on("close", move |_| close())
        .on("click", move |event| {
            // A click on the backdrop hits the dialog itself.
            let outside = event
                .target()
                .zip(event.current_target())
                .is_some_and(|(target, own)| target == own);
            if outside {
                close();
            }
        })
        .child(
            el("header")
                .child(el("h2").attr("id", "h-dialog").child(title))
                .child(
                    el("button")
                        .class("quiet")
                        .attr("type", "button")
                        .attr("aria-label", t(T::Close))
                        .child(icon("cross"))
                        .click(close),
                ),
        )
        .child(body)
        .into_child()
}

/// The buttons at the foot of a form.
fn buttons(state: AppState) -> El {
    el("p")
        .class("acts end")
        .child(
            el("button")
                .class("btn")
                .attr("type", "button")
                .child(t(T::Cancel))
                .click(move || state.dialog.set(None)),
        )
        .child(
            el("button")
                .class("btn solid")
                .attr("type", "submit")
                .child(t(T::Save)),
        )
}

fn form(then: impl FnMut() + 'static) -> El {
    let mut then = then;
    el("form").on("submit", move |event| {
        event.prevent_default();
        then();
    })
}

fn rename(state: AppState, id: String, title: String) -> AnyView {
    let body = form(move || {
        act::rename(id.clone(), page::value("#new-title"));
        state.dialog.set(None);
    })
    .child(
        el("label")
            .child(el("span").class("sub").child(t(T::Title)))
            .child(
                el("input")
                    .attr("type", "text")
                    .attr("dir", "auto")
                    .attr("id", "new-title")
                    .attr("maxlength", "120")
                    .attr("value", title)
                    .flag("autofocus", true)
                    .made(move |element| {
                        if let Ok(input) = element.dyn_into::<HtmlInputElement>() {
                            next_frame(move || next_frame(move || input.select()));
                        }
                    }),
            ),
    )
    .child(buttons(state));
    frame(state, t(T::Rename).to_owned(), body)
}

fn system(state: AppState) -> AnyView {
    let text = state
        .open
        .with_untracked(|o| o.as_ref().map(|o| o.system.clone()))
        .unwrap_or_default();
    let body = form(move || {
        act::set_system(page::value("#system"));
        state.dialog.set(None);
    })
    .child(
        el("label")
            .child(el("span").class("sub").child(t(T::SystemPromptHelp)))
            .child(
                el("textarea")
                    .attr("rows", "12")
                    .attr("dir", "auto")
                    .attr("id", "system")
                    .flag("autofocus", true)
                    .child(text),
            ),
    )
    .child(buttons(state));
    frame(state, t(T::SystemPrompt).to_owned(), body)
}

fn window_size(state: AppState) -> AnyView {
    let wrong = Signal::new(false);
    let now = state
        .open
        .with_untracked(|o| o.as_ref().map_or(8192, |o| o.window));
    let body = form(move || match window_of(&page::value("#tokens")) {
        Some(tokens) => {
            act::choose_window(tokens);
            state.dialog.set(None);
        }
        None => wrong.set(true),
    })
    .child(
        el("label")
            .child(el("span").class("sub").child(t(T::WindowHelp)))
            .child(
                el("input")
                    .attr("type", "text")
                    .attr("id", "tokens")
                    .attr("inputmode", "numeric")
                    .attr("value", number(now))
                    .flag("autofocus", true)
                    .attr_live("aria-invalid", move || {
                        wrong.get().then(|| "true".to_owned())
                    }),
            )
            .child(
                el("span")
                    .class("badc")
                    .attr("role", "alert")
                    .text_live(move || {
                        if wrong.get() {
                            format!("{} – {}", number(2048), number(1_048_576))
                        } else {
                            String::new()
                        }
                    }),
            ),
    )
    .child(buttons(state));
    frame(state, t(T::Window).to_owned(), body)
}

/// The models of the server with what is known of each.
fn model(state: AppState) -> AnyView {
    let chosen = state
        .open
        .with_untracked(|o| o.as_ref().map(|o| o.model.clone()))
        .unwrap_or_default();
    let models = state.models.get_untracked();
    if models.is_empty() {
        let connection = state.connection.get_untracked();
        let to_settings = el("a")
            .class("btn solid")
            .attr("href", "#settings")
            .child(t(T::StartConnect))
            .on("click", move |_| state.dialog.set(None));
        let body = el("div")
            .child(crate::ui::chat::offline(state, &connection))
            .child(el("p").class("acts").child(to_settings));
        return frame(state, t(T::ChooseModel).to_owned(), body);
    }
    let list = el("ul")
        .class("models")
        .children(models.into_iter().map(|m| {
            let current = m.name == chosen;
            let name = m.name.clone();
            let size = [m.size.clone(), m.quantisation.clone()]
                .into_iter()
                .filter(|s| !s.is_empty())
                .collect::<Vec<_>>()
                .join(" · ");
            let mut about: Vec<String> = Vec::new();
            about.extend(m.trained.map(|n| fill(T::WindowTrained, &[&number(n)])));
            about.extend(m.loaded.map(|n| fill(T::WindowLoaded, &[&number(n)])));
            about.extend(m.bytes.map(crate::text::bytes));
            el("li").child(
                el("button")
                    .attr("type", "button")
                    .attr("data-model", m.name.clone())
                    .attr_some("aria-current", current.then_some("true"))
                    .flag("autofocus", current)
                    .child(el("b").child(m.name))
                    .child(el("span").child(size))
                    .child(el("span").class("sub").child(about.join(" · ")))
                    .click(move || {
                        act::choose_model(name.clone());
                        state.dialog.set(None);
                    }),
            )
        }));
    frame(state, t(T::ChooseModel).to_owned(), el("div").child(list))
}

fn import(state: AppState) -> AnyView {
    let take_system = Signal::new(true);
    let choose = el("label")
        .class("btn solid file")
        .child(t(T::ImportChoose))
        .child(
            el("input")
                .attr("type", "file")
                .attr("id", "file")
                .attr("accept", ".json,application/json")
                .on("change", move |event| {
                    if let Some(file) = event
                        .target()
                        .and_then(|x| x.dyn_into::<HtmlInputElement>().ok())
                        .and_then(|i| i.files())
                        .and_then(|f| f.get(0))
                    {
                        take(state, file, take_system.get_untracked());
                    }
                }),
        );
    let accept = el("label")
        .class("tick-box")
        .child(
            el("input")
                .attr("type", "checkbox")
                .attr("id", "take-system")
                .prop_flag_live("checked", move || take_system.get())
                .on("change", move |_| take_system.update(|on| *on = !*on)),
        )
        .child(t(T::ImportSystem));
    let body = el("div")
        .child(el("p").child(t(T::ImportHelp)))
        .child(accept)
        .child(
            el("p")
                .class("acts")
                .child(choose)
                .child(el("span").class("sub").child(t(T::ImportDrop))),
        );
    frame(state, t(T::ImportTitle).to_owned(), body)
}

fn take(state: AppState, file: File, system: bool) {
    state.dialog.set(None);
    act::import(file, system);
}

fn layer(state: AppState) -> AnyView {
    let Some(layer) = state.layer.get_untracked() else {
        return nothing();
    };
    let (from, to) = layer.range();
    let author = layer
        .author
        .clone()
        .unwrap_or_else(|| t(T::CardExtractive).to_owned());
    let cost = fill(
        T::LayerCost,
        &[
            &from.to_string(),
            &to.to_string(),
            &number(layer.original),
            &number(layer.tokens),
            &author,
        ],
    );
    let facts = el("dl").class("facts tight").child(
        el("div")
            .child(el("dt").child(t(T::CardDropped)))
            .child(dropped(&layer.dropped)),
    );
    let body = el("div")
        .class("layer")
        .child(
            el("p")
                .class("cost")
                .child(format!("{} · {cost}", age_name(layer.age))),
        )
        .child(
            el("div")
                .class("script")
                .attr("dir", "auto")
                .child(prose(&layer.text)),
        )
        .child(ledger(&layer.ledger))
        .child(facts);
    frame(state, fill(T::Layer, &[&layer.number.to_string()]), body)
}

/// Facts carried word for word.
fn ledger(facts: &[String]) -> Option<El> {
    (!facts.is_empty()).then(|| {
        el("dl")
            .class("facts tight")
            .child(el("div").child(el("dt").child(t(T::CardKept))).child(
                el("dd").child(el("ul").children(facts.iter().map(|f| el("li").child(f.clone())))),
            ))
    })
}
