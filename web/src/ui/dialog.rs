//! The dialogs, on the native element.

mod goal;
mod layers;
mod pin;
mod prompts;
mod save;

use std::rc::Rc;

use leptos::prelude::AnyView;
use palimpsest_core::mode::Mode;
use palimpsest_engine::Sampling;
use palimpsest_text::number::shortest;
use wasm_bindgen::JsCast;
use web_sys::{File, HtmlDialogElement, HtmlInputElement};

use crate::act;
use crate::el::{El, IntoChild, el, nothing};
use crate::icon::icon;
use crate::page::{self, next_frame};
use crate::settings::{Server, seed_of, share_of, temperature_of};
use crate::signal::Signal;
use crate::state::{AppState, Dialog};
use crate::text::{T, fill, number, t};
use crate::ui::bar::age_name;
use crate::ui::card::dropped;
use crate::ui::field;
use crate::ui::header::capabilities;
use crate::ui::message::prose;
use crate::ui::snapshots::timeline;
use crate::view::model::ModelEntry;
use crate::view::record::Takes;
use crate::view::thread::Entry;
use crate::view::window::{NoWindow, profile, typed};

/// A dialog.
pub fn dialog(dialog: Dialog) -> AnyView {
    let state = AppState::here();
    match dialog {
        Dialog::Rename { id, title } => rename(state, id, title),
        Dialog::System => system(state),
        Dialog::Import => import(state),
        Dialog::Layer => layer(state),
        Dialog::EditLayer => layers::edit(state),
        Dialog::RewriteLayer => layers::rewrite(state),
        Dialog::Cover { place } => layers::cover(state, place),
        Dialog::Window => window_size(state),
        Dialog::Model => model(state, T::ChooseModel, act::choose_model),
        Dialog::AgainWith => model(state, T::RegenerateWith, act::regenerate_with),
        Dialog::Goal => goal::goal(state),
        Dialog::Save => save::save(state),
        Dialog::Pin => pin::typed(state),
        Dialog::PinSentences { place, text } => pin::sentences_of(state, place, text),
        Dialog::Edit { place, text } => edit(state, place, text),
        Dialog::Lift => lift(state),
        Dialog::Compare => compare(state),
        Dialog::Preview => preview(state),
        Dialog::Snapshots => frame(state, t(T::Snapshots).to_owned(), timeline(state)),
        Dialog::OtherServer { server, address } => other_server(state, server, address),
        Dialog::RemoveModel { name } => remove_model(state, name),
        Dialog::Keys => keys(state),
        Dialog::Erase => erase(state),
    }
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

/// The buttons at the foot of a form that saves something.
fn buttons(state: AppState) -> El {
    buttons_for(state, T::Save)
}

/// The buttons at the foot of a form: one leaves it, and the other does what `name` says.
fn buttons_for(state: AppState, name: T) -> El {
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
                .child(t(name)),
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
    let now = act::sampling();
    let wrong = Signal::new(None::<&'static str>);
    let typed = |id: &str| page::value(&format!("#{id}"));
    let read = move || -> Result<Sampling, &'static str> {
        Ok(Sampling {
            temperature: temperature_of(&typed(TEMPERATURE)).map_err(|_| TEMPERATURE)?,
            top_p: share_of(&typed(SHARE)).map_err(|_| SHARE)?,
            seed: seed_of(&typed(SEED)).map_err(|_| SEED)?,
            ..now
        })
    };
    let text_of = |value: Option<f32>| value.map(shortest).unwrap_or_default();
    let fields = [
        (
            TEMPERATURE,
            T::Temperature,
            T::TemperatureWrong,
            text_of(now.temperature),
        ),
        (SHARE, T::TopP, T::TopPWrong, text_of(now.top_p)),
        (
            SEED,
            T::Seed,
            T::SeedWrong,
            now.seed.map(|v| v.to_string()).unwrap_or_default(),
        ),
    ]
    .map(|(id, name, why, value)| {
        let told: field::Wrong =
            Rc::new(move || wrong.with(|w| (*w == Some(id)).then(|| t(why).to_owned())));
        let input = field::line(&value)
            .attr("inputmode", "decimal")
            .attr("placeholder", t(T::AsForModel));
        field::framed(input, id, name, &told)
    });
    let body = form(move || match read() {
        Ok(sampling) => {
            act::set_system(page::value("#system"), sampling, chosen_mode());
            state.dialog.set(None);
        }
        Err(id) => {
            wrong.set(Some(id));
            page::focus(&format!("#{id}"));
        }
    })
    .child(prompts::prompts(state))
    .child(
        el("label")
            .child(el("span").class("sub").child(t(T::SystemPromptHelp)))
            .child(
                el("textarea")
                    .attr("rows", "10")
                    .attr("dir", "auto")
                    .attr("id", "system")
                    .flag("autofocus", true)
                    .child(text),
            ),
    )
    .child(modes(act::mode()))
    .child(
        el("fieldset")
            .class("only")
            .child(el("legend").class("sub").child(t(T::OnlyHere)))
            .child(el("div").class("fields").children(fields)),
    )
    .child(buttons(state));
    frame(state, t(T::SystemPrompt).to_owned(), body)
}

/// The choice of what kind of work a session is.
fn modes(now: Mode) -> El {
    let words = |mode| match mode {
        Mode::Assistant => T::ModeAssistant,
        Mode::Developer => T::ModeDeveloper,
        Mode::Planning => T::ModePlanning,
        Mode::Debugger => T::ModeDebugger,
    };
    let options = Mode::ALL
        .into_iter()
        .map(|mode| field::option(mode.name(), t(words(mode)), mode == now));
    el("label")
        .child(el("span").class("sub").child(t(T::Mode)))
        .child(el("select").attr("id", "mode").children(options))
}

fn chosen_mode() -> Mode {
    let name = page::value("#mode");
    let mut all = Mode::ALL.into_iter();
    all.find(|mode| mode.name() == name).unwrap_or_default()
}

/// The fields of how a session's replies choose their words.
const TEMPERATURE: &str = "session-temperature";
const SHARE: &str = "session-share";
const SEED: &str = "session-seed";

fn window_size(state: AppState) -> AnyView {
    let wrong = Signal::new(String::new());
    let (now, model) = state.open.with_untracked(|o| {
        o.as_ref()
            .map_or((8192, String::new()), |o| (o.window, o.model.clone()))
    });
    let named = state.settings.with_untracked(|s| s.server) == Server::Ollama;
    let profile = named.then(|| state.models.with_untracked(|all| profile(&model, all)));
    let body = form(
        move || match typed(&page::value("#tokens"), profile.as_ref()) {
            Ok(tokens) => {
                act::choose_window(tokens);
                state.dialog.set(None);
            }
            Err(NoWindow::Number) => {
                wrong.set(format!("{} – {}", number(2048), number(1_048_576)));
            }
            Err(NoWindow::Size { asked, known }) => {
                wrong.set(fill(T::WindowNoSize, &[&asked, &known]));
            }
        },
    )
    .child(
        el("label")
            .child(el("span").class("sub").child(t(if named {
                T::WindowHelpNamed
            } else {
                T::WindowHelp
            })))
            .child(
                el("input")
                    .attr("type", "text")
                    .attr("id", "tokens")
                    .attr("value", number(now))
                    .flag("autofocus", true)
                    .attr_live("aria-invalid", move || {
                        (!wrong.with(String::is_empty)).then(|| "true".to_owned())
                    }),
            )
            .child(
                el("span")
                    .class("badc")
                    .attr("role", "alert")
                    .text_live(move || wrong.get()),
            ),
    )
    .child(buttons(state));
    frame(state, t(T::Window).to_owned(), body)
}

/// The models of the server with what is known of each, and what is done with the one that is chosen.
fn model(state: AppState, title: T, then: fn(String)) -> AnyView {
    let others = matches!(title, T::ChooseModel);
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
            .child(act::offline(connection))
            .child(el("p").class("acts").child(to_settings))
            .child(others.then(|| elsewhere(state)));
        return frame(state, t(title).to_owned(), body);
    }
    let list = el("ul")
        .class("models")
        .children(models.into_iter().map(|m| {
            let name = m.name.clone();
            let choose = entry(m, &chosen).click(move || {
                then(name.clone());
                state.dialog.set(None);
            });
            el("li").child(choose)
        }));
    let body = el("div")
        .child(list)
        .child(others.then(|| elsewhere(state)));
    frame(state, t(T::ChooseModel).to_owned(), body)
}

/// A model with what is known of it.
fn entry(m: ModelEntry, chosen: &str) -> El {
    let current = m.name == chosen;
    let size = [m.size.clone(), m.quantisation.clone()]
        .into_iter()
        .filter(|s| !s.is_empty())
        .collect::<Vec<_>>()
        .join(" · ");
    let mut about: Vec<String> = Vec::new();
    about.extend(m.trained.map(|n| fill(T::WindowTrained, &[&number(n)])));
    about.extend(m.loaded.map(|n| fill(T::WindowLoaded, &[&number(n)])));
    about.extend(m.bytes.map(crate::text::bytes));
    about.extend(capabilities(&m));
    el("button")
        .attr("type", "button")
        .attr("data-model", m.name.clone())
        .attr_some("aria-current", current.then_some("true"))
        .flag("autofocus", current)
        .child(el("b").child(m.name))
        .child(el("span").child(size))
        .child(el("span").class("sub").child(about.join(" · ")))
}

/// The models of the servers that are not in use.
fn elsewhere(state: AppState) -> El {
    let places = state.settings.with_untracked(|s| s.places.clone());
    let places = places.into_iter().enumerate();
    let places =
        places.filter(|(_, place)| !place.address.is_empty() || place.server == Server::InPage);
    act::look_elsewhere();
    el("div")
        .class("elsewhere")
        .children(places.map(|(at, place)| {
            let address = place.address.clone();
            let found = move || state.elsewhere.with(|all| all.get(&address).cloned());
            el("section")
                .child(el("h3").child(if place.address.is_empty() {
                    t(T::KindInPage).to_owned()
                } else {
                    place.address
                }))
                .live_on(found, move |found| match found {
                    None => el("p").class("sub").child(t(T::ServerAsked)).view(),
                    Some(None) => el("p").class("sub").child(t(T::ServerSilent)).view(),
                    Some(Some(models)) => {
                        let models = models.iter().cloned().map(|m| {
                            let name = m.name.clone();
                            let choose = entry(m, "").click(move || {
                                act::choose_elsewhere(at, name.clone());
                                state.dialog.set(None);
                            });
                            el("li").child(choose)
                        });
                        el("ul").class("models").children(models).view()
                    }
                })
        }))
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
                .attr("accept", ".json,.jsonl,.md,application/json")
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
    let author = layers::author(&layer);
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
    let facts = el("dl")
        .class("facts tight")
        .child(layers::listed(T::LayerDecisions, &layer.decisions))
        .child(layers::listed(T::LayerFiles, &layer.files))
        .child(layers::listed(T::LayerSteps, &layer.steps))
        .child(
            el("div")
                .child(el("dt").child(t(T::CardDropped)))
                .child(dropped(&layer.dropped, 0)),
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
        .child(facts)
        .child(layers::hands(state, layer.id, layer.number));
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

/// A labelled text area of a dialog.
fn area(label: T, id: &'static str, rows: &'static str, text: String) -> El {
    el("label")
        .child(el("span").class("sub").child(t(label)))
        .child(
            el("textarea")
                .attr("rows", rows)
                .attr("dir", "auto")
                .attr("id", id)
                .flag("autofocus", true)
                .child(text),
        )
}

/// A button of a dialog that closes it.
/// The looks of a button: one of several, the one that is meant to be pressed, one that removes for good.
const PLAIN: &str = "btn";
const SOLID: &str = "btn solid";
const DANGER: &str = "btn danger";

/// A button that closes the dialog and does something.
fn then_close(
    state: AppState,
    text: T,
    class: &'static str,
    mut then: impl FnMut() + 'static,
) -> El {
    el("button")
        .class(class)
        .attr("type", "button")
        .child(t(text))
        .click(move || {
            state.dialog.set(None);
            then();
        })
}

fn edit(state: AppState, place: u32, text: String) -> AnyView {
    let body = form(move || {
        let text = page::value("#edit-text");
        state.dialog.set(None);
        act::resend(place, text);
    })
    .child(area(T::EditHelp, "edit-text", "8", text))
    .child(
        el("p")
            .class("acts end")
            .child(then_close(state, T::Cancel, PLAIN, || {}))
            .child(
                el("button")
                    .class("btn solid")
                    .attr("type", "submit")
                    .child(icon("branch"))
                    .child(t(T::Resend)),
            ),
    );
    frame(state, fill(T::EditTitle, &[&place.to_string()]), body)
}

/// A price before a lift.
fn lift(state: AppState) -> AnyView {
    let Some(layer) = state.layer.get_untracked() else {
        return nothing();
    };
    let (used, limit) = state
        .budget
        .with_untracked(|b| b.as_ref().map_or((0, 0), |b| (b.used, b.limit)));
    let more = layer.original.saturating_sub(layer.tokens);
    let after = used.saturating_add(more);
    let (from, to) = layer.range();
    let id = layer.id;
    let body = el("div")
        .child(el("p").child(fill(
            T::LiftText,
            &[&from.to_string(), &to.to_string(), &number(more)],
        )))
        .child(
            el("p")
                .class(if after > limit { "badc" } else { "sub" })
                .child(fill(
                    if after > limit {
                        T::LiftOver
                    } else {
                        T::LiftFits
                    },
                    &[&number(after), &number(limit)],
                )),
        )
        .child(
            el("p")
                .class("acts end")
                .child(then_close(state, T::Cancel, PLAIN, || {}))
                .child(then_close(state, T::LiftLayer, SOLID, move || {
                    act::lift(id, false);
                })),
        );
    frame(
        state,
        fill(T::LiftTitle, &[&layer.number.to_string()]),
        body,
    )
}

/// What a layer says beside what it covers.
fn compare(state: AppState) -> AnyView {
    let Some(layer) = state.layer.get_untracked() else {
        return nothing();
    };
    let covered = state.thread.with_untracked(|all| {
        all.iter()
            .filter_map(|entry| match entry {
                Entry::Message(m) if layer.covers(m.seq) => Some(m.clone()),
                _ => None,
            })
            .collect::<Vec<_>>()
    });
    let said = el("div")
        .class("side-said")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", t(T::LensSaid))
        .child(el("h3").child(t(T::LensSaid)))
        .children(covered.iter().map(|m| {
            el("article")
                .child(el("b").class("sub").child(format!(
                    "{} {}",
                    crate::ui::message::speaker(m.who, &m.name),
                    m.seq
                )))
                .child(prose(&act::words(&m.blocks)))
        }));
    let written = el("div")
        .class("side-layer")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", fill(T::Layer, &[&layer.number.to_string()]))
        .child(el("h3").child(fill(T::Layer, &[&layer.number.to_string()])))
        .child(
            el("div")
                .class("script")
                .attr("dir", "auto")
                .child(prose(&layer.text)),
        )
        .child(ledger(&layer.ledger))
        .child(
            el("dl").class("facts tight").child(
                el("div")
                    .child(el("dt").child(t(T::CardDropped)))
                    .child(dropped(&layer.dropped, 0)),
            ),
        );
    let body = el("div").class("compare").child(said).child(written);
    frame(
        state,
        fill(T::CompareTitle, &[&layer.number.to_string()]),
        body,
    )
}

/// What a compaction would do, before it is asked for.
fn preview(state: AppState) -> AnyView {
    let Some(plan) = state.preview.get_untracked() else {
        return nothing();
    };
    let fact = |name: T, text: String| {
        el("div")
            .child(el("dt").child(t(name)))
            .child(el("dd").child(text))
    };
    let focus = plan.focus.clone();
    let takes = match plan.takes {
        Takes::Nothing => t(T::TakesNothing).to_owned(),
        Takes::Seconds(n) => fill(T::TakesSeconds, &[&number(n)]),
        Takes::Unknown => t(T::TakesUnknown).to_owned(),
    };
    let body = el("div")
        .child(
            el("dl")
                .class("facts")
                .child(fact(
                    T::PreviewWindow,
                    format!("{} → ≈ {}", number(plan.before), number(plan.after)),
                ))
                .child(fact(
                    T::CardCovers,
                    fill(
                        T::PreviewCovers,
                        &[
                            &plan.covers.0.to_string(),
                            &plan.covers.1.to_string(),
                            &number(plan.messages),
                        ],
                    ),
                ))
                .child(fact(
                    T::PreviewRead,
                    fill(
                        T::PreviewReadText,
                        &[&number(plan.read), &number(plan.layer)],
                    ),
                ))
                .child(fact(T::PreviewTakes, takes)),
        )
        .child(el("p").class("sub").child(t(T::PreviewHelp)))
        .child(
            el("p")
                .class("acts end")
                .child(then_close(state, T::Cancel, PLAIN, || {}))
                .child(then_close(state, T::CompactNow, SOLID, move || {
                    act::compact(focus.clone());
                })),
        );
    frame(state, t(T::PreviewTitle).to_owned(), body)
}

/// Commands and keys.
fn keys(state: AppState) -> AnyView {
    let row = |name: AnyView, what: &'static str| {
        el("div")
            .child(el("dt").child(name))
            .child(el("dd").child(what))
    };
    let commands = crate::command::NAMES
        .into_iter()
        .map(|(name, what)| row(el("code").child(name).view(), t(what)));
    let keys = crate::ui::settings::KEYS.into_iter().map(|(key, what)| {
        row(
            el("kbd").child(crate::ui::settings::key_name(key)).view(),
            t(what),
        )
    });
    let body = el("div")
        .class("keymap")
        .child(
            el("div")
                .child(el("h3").child(t(T::Commands)))
                .child(el("dl").class("facts").children(commands)),
        )
        .child(
            el("div")
                .child(el("h3").child(t(T::TabShortcuts)))
                .child(el("dl").class("facts").children(keys)),
        );
    frame(state, t(T::KeysTitle).to_owned(), body)
}

/// A file must not lead conversations to another server unasked.
fn other_server(state: AppState, server: Server, address: String) -> AnyView {
    let here = state.settings.with_untracked(|s| s.address.clone());
    let body = el("div")
        .child(el("p").child(fill(T::OtherServerText, &[&address, &here])))
        .child(
            el("p")
                .class("acts end")
                .child(then_close(state, T::OtherServerKeep, PLAIN, || {}))
                .child(
                    then_close(state, T::OtherServerUse, SOLID, move || {
                        act::use_server(server, address.clone());
                    })
                    .attr("id", "use-server"),
                ),
        );
    frame(state, t(T::OtherServer).to_owned(), body)
}

/// Erasing everything has to be meant.
fn remove_model(state: AppState, name: String) -> AnyView {
    let title = format!("{}: {name}", t(T::Remove));
    let body = el("div")
        .child(el("p").child(fill(T::RemoveModelText, &[&name])))
        .child(
            el("p")
                .class("acts end")
                .child(then_close(state, T::Cancel, PLAIN, || {}))
                .child(
                    then_close(state, T::Remove, DANGER, move || {
                        act::remove_model(name.clone());
                    })
                    .attr("id", "remove-model"),
                ),
        );
    frame(state, title, body)
}

fn erase(state: AppState) -> AnyView {
    let count = state.sessions.with_untracked(Vec::len) as u32;
    let body = el("div")
        .child(el("p").child(fill(T::EraseText, &[&number(count)])))
        .child(
            el("p")
                .class("acts end")
                .child(then_close(state, T::ExportAll, PLAIN, act::export_all))
                .child(then_close(state, T::Cancel, PLAIN, || {}))
                .child(then_close(state, T::EraseNow, DANGER, act::erase).attr("id", "erase-now")),
        );
    frame(state, t(T::Erase).to_owned(), body)
}
