//! Rates the reliability of a session after its compactions (G6, G7).

use palimpsest_core::model::{Penalty, Reliability, reliability};

use crate::glance::measured;

use super::Session;

impl Session {
    /// Returns the badge: retention and number of compactions, beside the model's class. A chat without compactions has
    /// 100 % with any model.
    pub fn reliability(&self) -> Reliability {
        let state = self.0.state.borrow();
        let view = state.context.view();
        reliability(
            self.0.host.model_size(&state.head.model),
            view.compactions,
            measured(view),
            Penalty::default(),
        )
    }
}
