//! The list of windows, for a session and for new ones.

use crate::platform::el::{El, each, el, key_of, live_if};
use crate::platform::page;
use crate::platform::signal::effect;
use crate::settings::Server;
use crate::settings::data::window::{Choice, offered, profile};
use crate::state::AppState;
use crate::text::{T, number, t};
use crate::widgets::field::selected;

/// A list of the windows for a model, in two groups. It stays one element, and shows a choice after it has taken
/// effect.
pub fn windows(
    id: &'static str,
    model: impl Fn() -> String + Copy + 'static,
    now: impl Fn() -> u32 + Copy + 'static,
    words: fn(String) -> String,
    then: impl Fn(Option<u32>) + 'static,
) -> El {
    let state = AppState::here();
    // the share is Ollama's: other servers are not told a window
    let named = move || state.settings.with(|s| s.server) == Server::Ollama;
    let list = move || {
        let profile = state.models.with(|all| profile(&model(), all));
        offered(named().then_some(&profile), now())
    };
    let option = move |choice: Choice| {
        let tokens = choice.tokens;
        let text = if choice.name.is_empty() {
            number(tokens)
        } else {
            format!("{} ({})", number(tokens), choice.name)
        };
        el("option")
            .attr("value", tokens.to_string())
            .flag("selected", now() == tokens)
            .child(words(text))
            .view()
    };
    // Options may change meanwhile, so the choice is set after they are in place.
    effect(move || {
        let tokens = now().to_string();
        list();
        page::after(0, move || page::set_value(&format!("#{id}"), &tokens));
    });
    let group = |name: T| el("optgroup").attr("label", t(name));
    el("select")
        .attr("id", id)
        .on("change", move |event| {
            let chosen = selected(&event).and_then(|v| v.parse().ok());
            page::set_value(&format!("#{id}"), &now().to_string());
            then(chosen);
        })
        .child(live_if(named, move || {
            group(T::WindowsNamed)
                .child(each(move || list().0, key_of, option))
                .view()
        }))
        .child(group(T::WindowsPlain).child(each(move || list().1, key_of, option)))
}
