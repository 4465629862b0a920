//! The report of an emergency outside a run: the same figures for the same pass as in one.

use crate::context::Context;
use crate::data::record::Found;
use crate::loss;
use crate::pass::{PassKind, Shed, emergency};
use palimpsest_text::retention::Known;

use super::identify::forget_recalled;
use super::{Refusal, RunReport};

impl RunReport {
    /// Shrinks the context to at most `limit` tokens, whatever it takes, and says what that did (E1). The
    /// context's records may hold demands of what went; they are returned, too.
    pub fn of_emergency(
        context: &mut Context,
        limit: u32,
        now: f64,
    ) -> Result<(Self, Found), Refusal> {
        let before = context.clone();
        let mut passes: Vec<Shed> = forget_recalled(context).into_iter().collect();
        let bare = context.clone();
        let done = emergency::shrink_with_demands(context, limit, now)?;
        passes.push(Shed::new(
            PassKind::Emergency,
            loss::changed(&bare, context),
            bare.tokens().saturating_sub(context.tokens()),
        ));
        let loss = loss::settle(&before, context, None, &mut passes, &Known::default());
        let report = Self {
            demands: done.found.demands(),
            ..Self::between(&before, context, loss, passes)
        };
        let report = report.adjusted(done.adjustments).verified(true, limit);
        Ok((report, done.found))
    }
}
