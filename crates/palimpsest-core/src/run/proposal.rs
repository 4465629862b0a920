//! What a finished run proposes, and its report.

use std::rc::Rc;

use crate::context::{Cause, Context};
use crate::data::message::Seq;
use crate::data::policy::SlotRole;
use crate::loss::{self, alike};
use crate::pass::Adjustment;
use crate::pass::offload::{self, Reference};

use super::candidate::Candidate;
use super::identify::Identified;
use super::summarize::Noticed;
use super::{Caution, Proposal, RunReport, Task};

/// Proposes the window that was chosen.
pub(super) fn propose(task: &Task, found: &Identified, mut chosen: Candidate) -> Proposal {
    let before = &task.original;
    let since = task.since.as_deref().unwrap_or(before);
    let mut passes = task.earlier.clone();
    passes.append(&mut chosen.passes);
    let mut loss = loss::settle(
        since,
        &mut chosen.context,
        chosen.layer,
        &mut passes,
        &task.known,
    );
    let cut = std::mem::take(&mut loss.shortened);
    note_retention(&mut chosen);
    let context = &chosen.context;
    let mut view = context.view().clone();
    view.number_changed_layers(before.view());
    view.revision = before.view().revision + 1;
    view.cause = match &found.remade {
        Some(old) => Cause::Remade { layer: old.id },
        None => Cause::Compaction {
            number: view.compactions,
            manual: task.options.manual,
        },
    };
    view.paused = found.remade.is_some() && before.view().paused;

    let released = released(before, context);
    let mut cautions = found.trimmed.cautions.clone();
    let gone = released.iter();
    let gone = gone.filter(|r| offload::resolve(before, r).is_none());
    cautions.extend(gone.map(|r| Caution::NotReleased {
        reference: r.clone(),
    }));
    let adjustments = adjustments(&cautions, chosen.adjustments, chosen.noticed);
    let quotes = |whole: bool| -> Vec<Seq> {
        let quotes = view.quotes.iter();
        let quotes = quotes.filter(|q| context.says_whole(q) == whole);
        quotes.map(|q| q.seq).collect()
    };
    let plan = &chosen.plan;
    let limit = task.limit();
    let report = RunReport {
        layer: chosen.layer.filter(|_| plan.newest > 0),
        covers: plan.spans(before),
        messages: plan.covered.len() as u32,
        covered_tokens: plan.covered_tokens,
        quoted: quotes(true),
        shortened: quotes(false).into_iter().chain(cut).collect(),
        demands: chosen.found.demands(),
        reread: reread(before, context),
        released,
        cautions,
        manual: task.options.manual,
        ..RunReport::between(before, context, loss, passes)
    };
    let fits = report.after <= limit;
    Proposal {
        base: before.view().revision,
        tip: before.entries().last().map(|e| e.message.seq),
        edits: before.view().edits_to(&view),
        view,
        records: chosen.records,
        records_base: before.records().revision,
        found: chosen.found,
        report: report.adjusted(adjustments).verified(fits, limit),
    }
}

/// Notes in the new layer which of its facts the window holds (P9).
fn note_retention(chosen: &mut Candidate) {
    let layers = &chosen.context.view().layers;
    let place = layers.iter().position(|l| Some(l.id) == chosen.layer);
    let Some(place) = place else { return };
    let audit = chosen.check();
    let mut written = (*chosen.context.view().layers[place]).clone();
    written.retention = audit.retention();
    written.dropped = crate::context::shrink::ordered(&audit.missing)
        .map(|f| f.text.clone())
        .collect();
    chosen.context.view.layers[place] = Rc::new(written);
}

/// Puts warnings for the user first, and things that were noticed in summaries last.
fn adjustments(cautions: &[Caution], done: Vec<Adjustment>, noticed: Noticed) -> Vec<Adjustment> {
    let Noticed {
        struck,
        unknown_markers,
    } = noticed;
    let said = cautions.iter();
    let said = said.map(|c| Adjustment::new(c.code(), c.to_string()));
    let mut all: Vec<Adjustment> = said.chain(done).collect();
    if struck > 0 {
        let statements = if struck == 1 {
            "a statement".to_owned()
        } else {
            format!("{struck} statements")
        };
        all.push(Adjustment::new(
            "struck_statements",
            format!(
                "struck {statements} out of the summary that name what its messages do not say"
            ),
        ));
    }
    if unknown_markers > 0 {
        let lines = if unknown_markers == 1 {
            "a line".to_owned()
        } else {
            format!("{unknown_markers} lines")
        };
        all.push(Adjustment::new(
            "unknown_markers",
            format!("left {lines} of the summary as text that look like changes of the goal and are none"),
        ));
    }
    all
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
