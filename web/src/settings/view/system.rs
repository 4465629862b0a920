//! The dialog for the system prompt and the way the model chooses its words.

use std::rc::Rc;

use leptos::prelude::AnyView;
use palimpsest_core::mode::Mode;
use palimpsest_engine::Sampling;
use palimpsest_engine::session::PromptParts;
use palimpsest_text::number::shortest;

use crate::act;
use crate::platform::el::{El, el};
use crate::platform::page;
use crate::platform::signal::Signal;
use crate::settings::view::{prompts, skills};
use crate::settings::{seed_of, share_of, temperature_of};
use crate::state::AppState;
use crate::text::{T, t};
use crate::widgets::dialog::{buttons, form, frame};
use crate::widgets::field;

/// Asks for the system prompt, the kind of work, and the way the model chooses its words.
pub fn system(state: AppState) -> AnyView {
    let before = act::prompt_parts();
    let text = before.base.clone().unwrap_or_default();
    let now = act::sampling();
    let written = skills::written(&before);
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
            let parts = PromptParts {
                base: Some(page::value("#system")),
                ..skills::typed(written)
            };
            act::set_system(parts, sampling, chosen_mode());
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
    .child(skills::fields(&before, written))
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
