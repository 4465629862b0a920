//! Stage 6: the new window must fit, be whole and be worth it (I3, I5). Otherwise nothing changes.

use crate::data::layer::Author;
use crate::pass::PassKind;

use super::candidate::Candidate;
use super::identify::Identified;
use super::{Refusal, Task};

/// Says why a window is not worth the change, if it is not. It fits already, and is whole: every pass keeps it so.
pub(super) fn verify(
    task: &Task,
    found: &Identified,
    candidate: &Candidate,
) -> Result<(), Refusal> {
    if found.remade.is_some() {
        return written_as_asked(task, candidate);
    }
    let (before, after) = (task.original.tokens(), candidate.context.tokens());
    let limit = task.limit();
    // quotes for one message go anyway
    let lasting = before.saturating_sub(found.forgotten.map_or(0, |shed| shed.tokens));
    let worth = if task.options.manual {
        0
    } else {
        let changed = candidate.plan.covered_tokens;
        changed.saturating_add(found.trimmed.replaced).div_ceil(10)
    };
    let is_needed = lasting > limit;
    let did_nothing = candidate.passes.iter().all(|p| p.pass == PassKind::Recall);
    let only_marked = found.trimmed.marked && did_nothing && after <= limit;
    if only_marked || (after < lasting && (is_needed || lasting - after >= worth)) {
        return Ok(());
    }
    Err(Refusal::NotWorth { before, after })
}

/// A layer that a person has written again may be longer than before. Where a model was asked and its text was not taken, the
/// layer stays as it is: the person did not ask for the text of the deterministic summariser.
fn written_as_asked(task: &Task, candidate: &Candidate) -> Result<(), Refusal> {
    let layers = &candidate.context.view().layers;
    let layer = layers.iter().find(|l| Some(l.id) == candidate.layer);
    match layer.map(|l| &l.author) {
        Some(Author::Fallback { .. }) if task.options.model.is_some() => Err(Refusal::ModelFailed),
        _ => Ok(()),
    }
}
