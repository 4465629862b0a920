//! Stage 6: the new window must fit, be whole and be worth it (I3, I5). Otherwise nothing changes.

use std::rc::Rc;

use crate::context::Cause;
use crate::pass::emergency;

use super::update::window_words;
use super::{Aim, Proposal, Refusal, Run, RunReport};

impl Run {
    pub(super) fn verify(&mut self) -> Result<Proposal, Refusal> {
        let (Some(plan), Some(mut draft)) = (self.plan.take(), self.draft.take()) else {
            return Err(Refusal::NothingToCompress);
        };
        let before_context = self.original.clone();
        let before = before_context.tokens();
        let limit = match self.options.aim {
            Aim::Target => self.context.setup().shares.limit,
            Aim::AtMost(most) => most,
        };
        let mut context = self.context.clone();
        context.set_view(draft.view.clone());
        if context.tokens() > limit {
            let helped = emergency::shrink(&mut context, limit, self.seed.now)?;
            draft.adjustments.extend(helped);
        }
        let after = context.tokens();
        let worth = if self.options.manual {
            0
        } else {
            plan.covered_tokens.div_ceil(10)
        };
        let needed = before > limit;
        if after >= before || (!needed && before - after < worth) {
            return Err(Refusal::NotWorth { before, after });
        }

        let audit = draft.audit.check(&window_words(&context));
        let retention = audit.retention();
        let dropped: Vec<String> = super::checkpoint::ordered(&audit.missing)
            .map(|f| f.text.clone())
            .collect();
        let mut view = context.view().clone();
        if let Some(layer) = view.layers.iter_mut().find(|l| l.id == draft.layer) {
            let mut written = (**layer).clone();
            written.retention = retention;
            written.dropped.clone_from(&dropped);
            *layer = Rc::new(written);
        }
        view.revision = before_context.view().revision + 1;
        view.cause = Cause::Compaction {
            number: view.compactions,
            manual: self.options.manual,
        };
        view.paused = false;
        view.recalled = None;
        let report = RunReport {
            before,
            after,
            layer: (plan.newest > 0).then_some(draft.layer),
            covers: plan.spans(&before_context),
            messages: plan.covered.len() as u32,
            covered_tokens: plan.covered_tokens,
            quoted: view.quotes.iter().map(|q| q.seq).collect(),
            retention,
            dropped,
            reread: after.saturating_sub(context.fixed_tokens()),
            adjustments: draft.adjustments,
            manual: self.options.manual,
            segments_before: before_context.stretches(),
            segments_after: context.stretches(),
            took: None,
        };
        let tip = before_context.entries().last().map(|e| e.message.seq);
        Ok(Proposal {
            base: before_context.view().revision,
            tip,
            view,
            records: draft.records,
            report,
        })
    }
}
