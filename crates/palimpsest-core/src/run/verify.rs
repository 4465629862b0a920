//! Stage 6: the new window must fit, be whole and be worth it (I3, I5). Otherwise nothing changes.

use std::rc::Rc;

use crate::context::{Cause, Context};
use crate::data::layer::LayerId;
use crate::data::message::Seq;
use crate::data::policy::{Pass, SlotRole};
use crate::loss::{self, alike};
use crate::pass::offload::{self, Reference};
use crate::pass::{Adjustment, PassKind, Shed, emergency, fade};

use super::identify::Form;
use super::{Caution, Proposal, Refusal, Run, RunReport, Verification};

impl Run {
    pub(super) fn verify(&mut self) -> Result<Proposal, Refusal> {
        let (Some(plan), Some(mut draft)) = (self.plan.take(), self.draft.take()) else {
            return Err(Refusal::NothingToCompress);
        };
        let before_context = self.original.clone();
        let before = before_context.tokens();
        let lasting = before.saturating_sub(self.forgotten.map_or(0, |shed| shed.tokens));
        let hard = self.options.aim.hard();
        let limit = hard.unwrap_or(self.context.setup().shares.limit);
        let trimmed = self.trimmed.take();
        let mut passes: Vec<Shed> = self.forgotten.into_iter().collect();
        passes.extend(trimmed.iter().flat_map(|t| t.passes.iter().copied()));
        let replaced = trimmed.as_ref().map_or(0, |t| t.replaced);
        let marked = trimmed.as_ref().is_some_and(|t| t.marked);
        let mut cautions = trimmed
            .as_ref()
            .map_or_else(Vec::new, |t| t.cautions.clone());
        let mut context = self.context.clone();
        context.set_view(draft.view.clone());
        let covers = !plan.covered.is_empty();
        if covers {
            let from = trimmed
                .as_ref()
                .map_or_else(|| self.context.tokens(), |t| t.context.tokens());
            let kind = if plan.form == Form::Note {
                PassKind::Truncate
            } else {
                PassKind::Summarize
            };
            let tokens = from.saturating_sub(context.tokens());
            passes.push(Shed::new(kind, plan.covered.len() as u32, tokens));
        }
        let newest = covers.then_some(draft.layer);
        self.last_resorts(
            &mut context,
            &mut passes,
            &mut draft.adjustments,
            newest,
            (plan.aim, limit),
        )?;
        let after = context.tokens();
        let worth = if self.options.manual {
            0
        } else {
            plan.covered_tokens.saturating_add(replaced).div_ceil(10)
        };
        let needed = lasting > limit;
        let did_nothing = passes.iter().all(|p| p.pass == PassKind::Recall);
        let only_marked = marked && did_nothing && after <= limit;
        if !only_marked && (after >= lasting || (!needed && lasting - after < worth)) {
            // The new layer was not worth it; what the passes before it did may still be.
            return match trimmed {
                Some(trimmed) if covers && !trimmed.passes.is_empty() => {
                    let mut plan = plan;
                    plan.covered.clear();
                    plan.covered_tokens = 0;
                    plan.newest = 0;
                    plan.form = Form::Bare;
                    let mut view = trimmed.context.view().clone();
                    view.compactions += 1;
                    self.draft = Some(super::update::Draft::new(
                        view,
                        None,
                        palimpsest_text::retention::Audit::default(),
                    ));
                    self.context = trimmed.context.clone();
                    self.plan = Some(plan);
                    self.trimmed = Some(trimmed);
                    self.verify()
                }
                _ => Err(Refusal::NotWorth { before, after }),
            };
        }

        let since = self.since.as_deref().unwrap_or(&before_context);
        let mut passes: Vec<Shed> = self.earlier.iter().copied().chain(passes).collect();
        let loss = loss::settle(since, &mut context, newest, &mut passes);
        let retention = loss.facts.retention();
        let mut view = context.view().clone();
        if let Some(layer) = view.layers.iter_mut().find(|l| l.id == draft.layer) {
            let audit = draft.check(&context);
            let mut written = (**layer).clone();
            written.retention = audit.retention();
            written.dropped = crate::context::shrink::ordered(&audit.missing)
                .map(|f| f.text.clone())
                .collect();
            *layer = Rc::new(written);
        }
        view.number_changed_layers(before_context.view());
        view.revision = before_context.view().revision + 1;
        let reread = reread(&before_context, &context);
        let released = released(&before_context, &context);
        let gone = released
            .iter()
            .filter(|r| offload::resolve(&before_context, r).is_none());
        cautions.extend(gone.map(|r| Caution::NotReleased {
            reference: r.clone(),
        }));
        let said = cautions
            .iter()
            .map(|c| Adjustment::new(c.code(), c.to_string()));
        draft.adjustments.splice(0..0, said);
        if self.struck > 0 {
            draft.adjustments.push(Adjustment::new(
                "struck_statements",
                format!(
                    "struck {} out of the summary that name what its messages do not say",
                    if self.struck == 1 {
                        "a statement".to_owned()
                    } else {
                        format!("{} statements", self.struck)
                    }
                ),
            ));
        }
        let (adjustments, codes) = Adjustment::split(draft.adjustments);
        view.cause = Cause::Compaction {
            number: view.compactions,
            manual: self.options.manual,
        };
        view.paused = false;
        let check = context.check_limit();
        let quotes = |whole: bool| -> Vec<Seq> {
            let quotes = view.quotes.iter();
            let quotes = quotes.filter(|q| context.says_whole(q) == whole);
            quotes.map(|q| q.seq).collect()
        };
        let report = RunReport {
            verification: Some(Verification {
                valid: after <= limit,
                tokens: check.tokens,
                limit,
                retention,
            }),
            stages: Vec::new(),
            before,
            after,
            layer: (plan.newest > 0).then_some(draft.layer),
            covers: plan.spans(&before_context),
            messages: plan.covered.len() as u32,
            covered_tokens: plan.covered_tokens,
            quoted: quotes(true),
            shortened: quotes(false).into_iter().chain(loss.shortened).collect(),
            demands: draft.found.demands(),
            summarised: loss.summarised,
            retention,
            facts: Some(loss.facts),
            lossy: Some(loss.lossy),
            dropped: loss.dropped,
            preserved: context.shown.len() as u32,
            released,
            reread,
            passes,
            adjustments,
            codes,
            cautions,
            manual: self.options.manual,
            segments_before: before_context.stretches(),
            segments_after: context.stretches(),
            took: None,
        };
        let tip = before_context.entries().last().map(|e| e.message.seq);
        Ok(Proposal {
            base: before_context.view().revision,
            tip,
            edits: before_context.view().edits_to(&view),
            view,
            records: draft.records,
            records_base: before_context.records().revision,
            found: draft.found,
            report,
        })
    }

    /// The steps after the summary: older layers one step shorter, then whatever it takes to fit.
    fn last_resorts(
        &self,
        context: &mut Context,
        passes: &mut Vec<Shed>,
        adjustments: &mut Vec<Adjustment>,
        newest: Option<LayerId>,
        (aim, limit): (u32, u32),
    ) -> Result<(), Refusal> {
        let policy = Rc::clone(&context.setup().policy);
        let mut shed = |pass, before: &Context, after: &Context| {
            passes.push(Shed::new(
                pass,
                loss::changed(before, after),
                before.tokens().saturating_sub(after.tokens()),
            ));
        };
        let before = context.tokens();
        if before > limit && policy.passes.contains(&Pass::Fade) {
            let was = context.clone();
            fade::step(context, newest, self.seed.now);
            if context.tokens() < before {
                shed(PassKind::Fade, &was, context);
                adjustments.push(Adjustment::new(
                    "faded_layers",
                    "made the older layers one step shorter",
                ));
            }
        }
        // A policy that covers nothing goes down some way at once, not to the limit at every message.
        let covers = policy.covers_with().is_some();
        let before = context.tokens();
        let hard = self.options.aim.hard().is_some();
        let most = if hard && !covers {
            aim.min(limit)
        } else if covers || !context.is_due() || self.options.manual {
            limit
        } else {
            below_trigger(context, limit).max(aim).min(limit)
        };
        if before > most {
            let mut smaller = context.clone();
            let helped = match emergency::shrink(&mut smaller, most, self.seed.now) {
                Err(_) if most < limit => {
                    smaller = context.clone();
                    emergency::shrink(&mut smaller, limit, self.seed.now)?
                }
                result => result?,
            };
            shed(PassKind::Emergency, context, &smaller);
            *context = smaller;
            adjustments.extend(helped);
        }
        Ok(())
    }
}

/// Passages that were quoted for one message do not stand in a window that is made anew.
pub(super) fn forget_recalled(context: &mut Context) -> Option<Shed> {
    context.view.recalled.as_ref()?;
    let before = context.tokens();
    let mut view = context.view.clone();
    view.recalled = None;
    context.set_view(view);
    let tokens = before.saturating_sub(context.tokens());
    (tokens > 0).then_some(Shed::new(PassKind::Recall, 0, tokens))
}

/// An eighth below the limit, or so far below that the bound of the count does not reach the trigger.
fn below_trigger(context: &Context, limit: u32) -> u32 {
    let mut most = limit - limit / 8;
    while most > 0 && most.saturating_add(context.counter.bound(most)) >= context.trigger() {
        most -= most / 16 + 1;
    }
    most
}

/// The references that the old window showed and the new one does not.
fn released(before: &Context, after: &Context) -> Vec<Reference> {
    let left = offload::references(after);
    let mut gone = offload::references(before);
    gone.retain(|r| !left.contains(r));
    gone
}

/// Tokens that the model has to read again: everything from the first place on that differs. A provider's prefix
/// cache, and a local model's, reach that far. Told from the views: neither window is put together for it.
fn reread(before: &Context, after: &Context) -> u32 {
    // the template's own tokens and the tool definitions do not change
    let beside = after.counter.overhead().base + after.setup().tools;
    let all = after.tokens().saturating_sub(beside);
    let same_slot = slot_text(before) == slot_text(after);
    let in_system = after.setup().policy.slot_role == SlotRole::System;
    if before.rendered.text != after.rendered.text || (in_system && !same_slot) {
        return all;
    }
    let mut same = after.fixed_tokens().saturating_sub(beside);
    if !same_slot {
        return all.saturating_sub(same);
    }
    same = same.saturating_add(after.slot_tokens());
    for (&old, &new) in before.shown.iter().zip(&after.shown) {
        let (was, is) = (&before.entries[old], &after.entries[new]);
        if was.message.seq != is.message.seq || !alike(before, after, was.message.seq) {
            break;
        }
        same = same.saturating_add(after.shown_tokens(new));
    }
    all.saturating_sub(same)
}

/// What stands in the slot.
fn slot_text(context: &Context) -> Option<&str> {
    context.slot.as_ref().map(|slot| slot.text.as_str())
}
