//! Builds requests to models: the server of the settings, with the parameters of each model.

use std::rc::Rc;

use palimpsest_core::message::Part;
use palimpsest_core::request::{ChatRequest, Effort, Purpose};
use palimpsest_engine::ports::{DeltaStream, LanguageModel, Signal};
use palimpsest_engine::session::{SendOptions, Summariser};

use crate::act::{Back, summariser};
use crate::server;
use crate::settings::Think;
use crate::settings::data::connection::ModelEntry;
use crate::state::AppState;

/// The server as the engine's model.
pub(crate) fn model(state: AppState) -> Rc<dyn LanguageModel> {
    Rc::new(Tuned {
        state,
        server: server::model(state),
    })
}

/// The options of a message. Summaries that it has to wait for are by whom the settings say.
pub(crate) fn options(back: &Back) -> SendOptions {
    let chosen = summariser(back);
    SendOptions {
        summariser: match (chosen.model, chosen.model_name) {
            (Some(model), Some(name)) => Summariser::Named(model, name),
            _ => Summariser::BuiltIn,
        },
        // how words are chosen: the session's own, then the model's, then everyone's: see `tune`
        ..SendOptions::new(model(back.state))
    }
}

/// The request with what goes with its model. How words are chosen is a matter of replies alone; how long a model
/// stays loaded, of every request.
pub(crate) fn tune(state: AppState, request: &mut ChatRequest) {
    let is = |what: fn(&ModelEntry) -> bool| {
        state.models.with_untracked(|all| {
            let there = all.iter().find(|m| m.name == request.model);
            there.is_some_and(what)
        })
    };
    let (may_think, is_blind) = (is(ModelEntry::may_think), is(ModelEntry::is_blind));
    // Ollama refuses tools for a model that cannot use them
    if is(ModelEntry::is_toolless) {
        request.tools.clear();
    }
    // and images for one that sees none
    if is_blind {
        for part in request.messages.iter_mut().flat_map(|m| &mut m.parts) {
            if let Part::Image { name, .. } = part {
                *part = Part::text(format!("[image: {name}]"));
            }
        }
    }
    let (own, usual) = state.settings.with_untracked(|s| {
        let own = s.models.get(&request.model).cloned();
        (own.unwrap_or_default(), s.temperature)
    });
    // and to think of one that cannot
    let think = own.think.filter(|_| may_think);
    let options = &mut request.options;
    options.keep_alive = own.keep_alive.or(options.keep_alive);
    if request.purpose == Purpose::Chat {
        options.temperature = options.temperature.or(own.temperature).or(usual);
        options.top_p = options.top_p.or(own.top_p);
        options.min_p = options.min_p.or(own.min_p);
        options.repeat_penalty = options.repeat_penalty.or(own.repeat_penalty);
        options.stop.extend(own.stop);
        if let Some(most) = own.most_tokens {
            options.num_predict = options.num_predict.min(most);
        }
        options.seed = options.seed.or(own.seed);
        if let Some(think) = think {
            options.think = Some(think != Think::Off);
            options.effort = match think {
                Think::Off | Think::On => None,
                Think::Low => Some(Effort::Low),
                Think::Medium => Some(Effort::Medium),
                Think::High => Some(Effort::High),
            };
        }
    }
}

struct Tuned {
    state: AppState,
    server: Rc<dyn LanguageModel>,
}

impl LanguageModel for Tuned {
    fn complete(&self, mut request: ChatRequest, signal: Signal) -> DeltaStream<'_> {
        tune(self.state, &mut request);
        self.server.complete(request, signal)
    }
}
