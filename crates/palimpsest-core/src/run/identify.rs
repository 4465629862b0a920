//! Stage 1: what the deterministic passes do, and what is covered after them (P2).

use std::rc::Rc;

use crate::context::Context;
use crate::data::layer::Layer;
use crate::pass::{PassKind, Shed};

use super::cover::{Plan, cover};
use super::ladder::{Trimmed, trim};
use super::scope::{Named, named};
use super::{Aim, Refusal, Task};

/// What the run will do.
#[derive(Debug, Clone)]
pub(super) struct Identified {
    /// Quotes for one message that stood in the window and went first.
    pub(super) forgotten: Option<Shed>,
    /// The window after the deterministic passes. What follows starts from it.
    pub(super) trimmed: Trimmed,
    /// What is covered after them.
    pub(super) plan: Plan,
    /// The layer that is written again, if a person asked for that.
    pub(super) remade: Option<Rc<Layer>>,
}

/// Runs the deterministic passes and, where they are not enough, chooses what a layer covers.
pub(super) fn identify(task: &Task) -> Result<Identified, Refusal> {
    let mut context = task.original.clone();
    // first, so that nothing is covered to make room for what goes anyway
    let forgotten = forget_recalled(&mut context);
    if let Some(named) = named(&context, task.options.scope) {
        let Named {
            context,
            plan,
            remade,
        } = named?;
        return Ok(Identified {
            forgotten,
            trimmed: Trimmed::untouched(context),
            plan,
            remade,
        });
    }
    let (aim, limit) = match task.options.aim {
        Aim::Target => (context.target(), context.setup().shares.limit),
        Aim::AtMost(most) => (most, most),
        Aim::Below { aim, most } => (aim, most),
    };
    let manual = task.options.manual;
    let due = || matches!(task.options.aim, Aim::Target) && context.is_due();
    let aim = if context.tokens() <= aim && (manual || due()) {
        // A person asks below the target, or a trigger that is no matter of size, or the bound of an
        // estimate reached it: halve the conversation.
        context.fixed() + context.conversation_tokens() / 2
    } else {
        aim
    };
    if context.floor() > limit {
        let floor = context.must_stay();
        return Err(Refusal::CannotFit { floor, limit });
    }
    let trimmed = trim(task, context, aim, limit);
    let context = &trimmed.context;
    let planned = match task.ladder.covers {
        Some(form) if !trimmed.is_enough => cover(context, &task.options, form, aim),
        _ => Err(Refusal::NothingToCompress),
    };
    // A policy that never covers messages has to fall back on the emergency pass.
    let must_shrink = || {
        task.ladder.covers.is_none() && (context.tokens() > limit || (!manual && context.is_due()))
    };
    let plan = match planned {
        Ok(plan) => plan,
        Err(refusal) if trimmed.did_nothing() && !must_shrink() => return Err(refusal),
        Err(_) => Plan::bare(aim, context.tokens()),
    };
    Ok(Identified {
        forgotten,
        trimmed,
        plan,
        remade: None,
    })
}

/// Passages that were quoted for one message do not stand in a window that is made anew.
pub(super) fn forget_recalled(context: &mut Context) -> Option<Shed> {
    context.view.recalled.as_ref()?;
    let before = context.tokens();
    context.edit_view(|view| view.recalled = None);
    let tokens = before.saturating_sub(context.tokens());
    (tokens > 0).then_some(Shed::new(PassKind::Recall, 0, tokens))
}
