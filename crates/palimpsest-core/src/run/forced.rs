//! The report of an emergency outside a run: the same figures for the same pass as in one.

use crate::context::Context;
use crate::loss;
use crate::pass::{PassKind, Shed, emergency};
use palimpsest_text::retention::Known;

use super::identify::forget_recalled;
use super::{Refusal, RunReport};

impl RunReport {
    /// Shrinks the context to at most `limit` tokens, whatever it takes, and says what that did (E1).
    pub fn of_emergency(context: &mut Context, limit: u32, now: f64) -> Result<Self, Refusal> {
        let before = context.clone();
        let mut passes: Vec<Shed> = forget_recalled(context).into_iter().collect();
        let bare = context.clone();
        let done = emergency::shrink(context, limit, now)?;
        passes.push(Shed::new(
            PassKind::Emergency,
            loss::changed(&bare, context),
            bare.tokens().saturating_sub(context.tokens()),
        ));
        let loss = loss::settle(&before, context, None, &mut passes, &Known::default());
        let report = Self::between(&before, context, loss, passes);
        Ok(report.adjusted(done).verified(true, limit))
    }
}
