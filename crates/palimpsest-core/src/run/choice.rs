//! The choice between the window with a new layer and the one that the passes alone make.

use super::candidate::Candidate;
use super::cover::Plan;
use super::identify::Identified;
use super::verify::verify;
use super::{Refusal, Task};

/// Chooses the window with the layer, if it is worth it. Where it is not, what the passes did may still be.
pub(super) fn choose(
    task: &Task,
    found: &Identified,
    with_layer: Candidate,
) -> Result<Candidate, Refusal> {
    let noticed = with_layer.noticed;
    let with_layer = with_layer.fitted(task, found)?;
    let Err(refusal) = verify(task, found, &with_layer) else {
        return Ok(with_layer);
    };
    if with_layer.layer.is_none() || found.trimmed.passes.is_empty() {
        return Err(refusal);
    }
    let nothing = Plan::bare(found.plan.aim, found.plan.projected);
    let passes_only = Candidate::of(found, nothing, noticed).fitted(task, found)?;
    verify(task, found, &passes_only)?;
    Ok(passes_only)
}
