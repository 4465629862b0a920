//! How far a session can be trusted after its compactions (G6, G7).

use palimpsest_core::context::View;
use palimpsest_core::model::ModelProfile;
use palimpsest_core::model::{
    ModelSize, Penalty, Reliability, WarningCheck, WindowAsk, WindowError, WindowSize,
    check_warning, reliability, resolve_window,
};

use crate::engine::Engine;
use crate::event::Event;
use crate::head::Head;

use super::Session;

impl Session {
    /// The badge: retention and compactions beside the model's class. A chat that was never compacted is at 100 %,
    /// whatever its model.
    pub fn reliability(&self) -> Reliability {
        let state = self.0.state.borrow();
        let view = state.context.view();
        reliability(
            self.0.engine.model_size(&state.head.model),
            view.compactions,
            measured(view),
            Penalty::default(),
        )
    }
}

impl Engine {
    /// What a provider says about a model's size, such as `7.6B`: it goes before what the name says (G5).
    pub fn know_model(&self, name: &str, parameter_size: &str) {
        let mut known = self.sizes.borrow_mut();
        known.insert(name.to_owned(), parameter_size.to_owned());
    }

    /// The size of a model as its provider or its name says it; `None` if neither does.
    pub fn model_size(&self, name: &str) -> Option<ModelSize> {
        let known = self.sizes.borrow();
        ModelSize::detect(known.get(name).map(String::as_str), name)
    }

    /// The window to run a model with (B1): a named size, a number, or what is usual for it. `trained` is the context
    /// it was made for. Its `tokens` are what [`crate::NewSession::window`] takes: shown, sent as `num_ctx` and divided by.
    pub fn window_for(
        &self,
        model: &str,
        trained: Option<u32>,
        ask: Option<&WindowAsk>,
    ) -> Result<WindowSize, WindowError> {
        let known = self.sizes.borrow();
        let stated = known.get(model).map(String::as_str);
        let profile = (!model.is_empty()).then(|| ModelProfile::new(model, stated, trained));
        resolve_window(profile.as_ref(), ask)
    }

    /// The warning that is due after a compaction, once per crossing; notes in the head that it was given.
    pub(super) fn often_compacted(&self, head: &mut Head, view: &View) -> Option<Event> {
        let (warning, warned) = check_warning(WarningCheck {
            model: &head.model,
            size: self.model_size(&head.model),
            compactions: view.compactions,
            retention: measured(view),
            warned: head.warned,
        });
        head.warned = warned;
        warning.map(|w| Event::Warning {
            code: "compacted_often",
            message: format!("{} {}", w.message, w.recommendations.join(" ")),
        })
    }
}

/// Facts that are still in the window ÷ facts that were covered, over the layers, each by what it stands for. `None`
/// while nothing was measured.
pub(crate) fn measured(view: &View) -> Option<f64> {
    let layers = || view.layers.iter().filter(|l| !l.notes.is_empty());
    let all: f64 = layers().map(|l| f64::from(l.original_tokens)).sum();
    let kept: f64 = layers()
        .map(|l| f64::from(l.original_tokens) * f64::from(l.retention))
        .sum();
    (all > 0.0).then(|| kept / all)
}
