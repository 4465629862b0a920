//! What a person names to be covered, and the plan that follows from it.

use std::rc::Rc;

use crate::context::Context;
use crate::data::layer::{Layer, LayerId};
use crate::data::message::{Role, Seq};
use crate::data::policy::UserWords;
use crate::data::tool::Pairing;
use crate::view_edit::ViewEdit;

use super::Refusal;
use super::cover::{Form, Plan, SLOT_FRAME, SMALLEST_SUMMARY};

/// Which messages the new layer of a run covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// The oldest exchanges, as many as the policy's target needs.
    #[default]
    Policy,
    /// Every message up to this one, and this one.
    UpTo(Seq),
    /// The messages between these two, both included. A call and its results stay together, so the range grows to whole
    /// steps.
    Range {
        /// First message.
        from: Seq,
        /// Last message.
        to: Seq,
    },
    /// What this layer covers. The new layer takes its place.
    Layer(LayerId),
}

/// What a run covers because a person named it.
pub(super) struct Named {
    /// The window that the run starts from: a layer that is written again is taken off first.
    pub(super) context: Context,
    /// What the new layer covers, and how large it may be.
    pub(super) plan: Plan,
    /// The layer that is written again, if there is one.
    pub(super) remade: Option<Rc<Layer>>,
}

/// Plans for what a person named. `None` for a run that covers what its policy says.
pub(super) fn named(context: &Context, scope: Scope) -> Option<Result<Named, Refusal>> {
    let within = |from: Seq, to: Seq| {
        plan(context, &covered(context, from, to), None).map(|plan| Named {
            context: context.clone(),
            plan,
            remade: None,
        })
    };
    match scope {
        Scope::Policy => None,
        Scope::UpTo(to) => Some(within(0, to)),
        Scope::Range { from, to } => Some(within(from, to)),
        Scope::Layer(id) => Some(again(context, id)),
    }
}

/// Plans to write a layer again from the messages that it covers.
fn again(context: &Context, id: LayerId) -> Result<Named, Refusal> {
    let layers = &context.view().layers;
    let old = layers.iter().find(|l| l.id == id).cloned();
    let old = old.ok_or(Refusal::NothingToCompress)?;
    let mut view = context.view().clone();
    view.apply(&ViewEdit::Uncover(id))
        .map_err(|_| Refusal::NothingToCompress)?;
    let mut open = context.clone();
    open.set_view(view);
    let shown = open.shown.iter().copied();
    let messages: Vec<usize> = shown
        .filter(|&i| old.covers(open.entries[i].message.seq))
        .collect();
    let plan = plan(&open, &messages, Some(&old))?;
    Ok(Named {
        context: open,
        plan,
        remade: Some(old),
    })
}

/// The shown messages between two, grown to whole steps. The last exchange, the last user message and the host's own
/// system messages stay (B10).
fn covered(context: &Context, from: Seq, to: Seq) -> Vec<usize> {
    let shown = &context.shown;
    let message = |p: usize| &context.entries[shown[p]].message;
    let role = |p: usize| message(p).role;
    let last = |wanted: Role| (0..shown.len()).rev().find(|&p| role(p) == wanted);
    let Some(end) = last(Role::Assistant).or_else(|| last(Role::User)) else {
        return Vec::new();
    };
    let pairing = Pairing::of(shown.iter().map(|&i| context.entries[i].message.as_ref()));
    let safe = pairing.safe_cuts(shown.len());
    let may_cut = |p: usize| safe[p] && matches!(role(p), Role::User | Role::Assistant);
    let first = (0..shown.len()).find(|&p| message(p).seq >= from);
    let after = (0..shown.len()).find(|&p| message(p).seq > to);
    let Some(first) = first else {
        return Vec::new();
    };
    let begin = (0..=first).rev().find(|&p| may_cut(p)).unwrap_or(0);
    let after = after.unwrap_or(end).min(end);
    let stop = (after..=end).find(|&p| may_cut(p)).unwrap_or(end);
    let kept = context.last_user();
    (begin..stop)
        .filter(|&p| role(p) != Role::System && Some(shown[p]) != kept)
        .map(|p| shown[p])
        .collect()
}

/// At most this part of the messages that a person named stays, as a divisor.
const KEPT_OF_NAMED: u32 = 3;

/// How large the new layer may be, and what the window comes to with it.
fn plan(context: &Context, covered: &[usize], remade: Option<&Layer>) -> Result<Plan, Refusal> {
    if covered.is_empty() {
        return Err(Refusal::NothingToCompress);
    }
    let setup = context.setup();
    let (shares, policy) = (setup.shares, &setup.policy);
    let sum = |of: &mut dyn Iterator<Item = &usize>| -> u32 {
        of.map(|&i| context.shown_tokens(i))
            .fold(0, u32::saturating_add)
    };
    let tokens = sum(&mut covered.iter());
    let is_user = |i: &&usize| context.entries[**i].message.role == Role::User;
    let words = sum(&mut covered.iter().filter(is_user));
    if policy.user_words == UserWords::Never && words > shares.user {
        return Err(Refusal::NothingCompressible);
    }
    let rest = context.tokens().saturating_sub(tokens);
    let room = setup.layer_room(0);
    let most = room
        .unwrap_or(shares.newest)
        .max(remade.map_or(0, |l| l.tokens))
        .min(tokens * 3 / 5)
        .min(shares.limit.saturating_sub(rest));
    if most < SMALLEST_SUMMARY {
        let before = context.tokens();
        return Err(Refusal::NotWorth {
            before,
            after: before,
        });
    }
    let said = match policy.user_words {
        UserWords::Summarize => 0,
        _ => words.min(shares.user),
    };
    let projected = rest + SLOT_FRAME + most + said;
    // What is free under the policy's target is used, but a person who names messages frees most of their room.
    let roomy = rest + SLOT_FRAME + tokens / KEPT_OF_NAMED;
    let aim = projected.max(roomy.min(context.target()));
    Ok(Plan {
        covered: covered.to_vec(),
        form: Form::Summary,
        covered_tokens: tokens,
        newest: most,
        aim: aim.min(shares.limit),
        projected,
        shared: None,
    })
}
