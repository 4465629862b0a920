//! The report of an emergency outside a run: the same figures for the same pass as in one.

use crate::context::Context;
use crate::loss;
use crate::pass::{Adjustment, PassKind, Shed, emergency};

use super::verify::forget_recalled;
use super::{Refusal, RunReport, Verification};

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
        let loss = loss::settle(&before, context, None, &mut passes);
        let (adjustments, codes) = Adjustment::split(done);
        let after = context.tokens();
        let retention = loss.facts.retention();
        Ok(Self {
            verification: Some(Verification {
                valid: true,
                tokens: after,
                limit,
                retention,
            }),
            stages: Vec::new(),
            before: before.tokens(),
            after,
            layer: None,
            covers: Vec::new(),
            messages: 0,
            covered_tokens: 0,
            quoted: Vec::new(),
            shortened: loss.shortened,
            demands: Vec::new(),
            summarised: loss.summarised,
            retention,
            facts: Some(loss.facts),
            lossy: Some(loss.lossy),
            dropped: loss.dropped,
            reread: after,
            preserved: context.shown_count(),
            released: Vec::new(),
            passes,
            adjustments,
            codes,
            cautions: Vec::new(),
            manual: false,
            segments_before: before.stretches(),
            segments_after: context.stretches(),
            took: None,
        })
    }
}
