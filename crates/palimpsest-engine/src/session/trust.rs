//! How far a session can be trusted after its compactions (G6, G7).

use palimpsest_core::model::{Penalty, Reliability, reliability};

use crate::glance::measured;

use super::Session;

impl Session {
    /// The badge: retention and compactions beside the model's class. A chat that was never compacted is at 100 %,
    /// whatever its model.
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
