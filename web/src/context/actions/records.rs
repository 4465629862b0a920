//! Goal, pins, snapshots, quotes and layers.

use std::rc::Rc;

use palimpsest_core::goal::{
    DecisionKind, Goal, GoalEdit, GoalLimits, GoalStatus, MilestoneState, Priority,
};
use palimpsest_core::marker::Change;
use palimpsest_core::record::{PendingProposal, PinKind};
use palimpsest_engine::session::proposal_sentence;
use palimpsest_tokens::Estimator;

use crate::act::{Back, failed, note, show_all, with_engine, with_writer};
use crate::context::data::bind;
use crate::context::data::budget::{Kind, Segment};
use crate::context::data::record::{GoalKind, NewLine};
use crate::text::{T, fill};

/// Shows goal, pins, snapshots and quotes of the open session.
pub(crate) fn show(back: &Back) {
    let Some(session) = back.session() else {
        return;
    };
    let state = back.state;
    let records = session.records();
    let context = session.context();
    let tokens = state.budget.with_untracked(|b| {
        let goal = |s: &&Segment| s.kind == Kind::Goal;
        b.as_ref().map_or(0, |b| {
            b.segments.iter().filter(goal).map(|s| s.tokens).sum()
        })
    });
    state
        .goal
        .change(records.goal.as_ref().map(|g| bind::goal(g, tokens)));
    let left_out = &context.rendered_records().left_out;
    let pins = records.pins.iter();
    state
        .pins
        .change(pins.map(|pin| bind::pin(pin, left_out)).collect());
    let is_demand = |p: &PendingProposal| matches!(p.proposal.change, Change::Demand { .. });
    let (demands, proposals): (Vec<_>, Vec<_>) =
        session.proposals().into_iter().partition(is_demand);
    // what a compaction has kept meanwhile is no question any more
    let stands = |change: &Change| {
        let mut pins = records.pins.iter();
        matches!(change, Change::Demand { text } if pins.any(|pin| pin.text == *text))
    };
    let asked = demands.into_iter().filter(|p| !stands(&p.proposal.change));
    let asked = asked.map(|p| (p.id, proposal_sentence(&p.proposal.change)));
    state.asked.change(asked.collect());
    let proposals = proposals.iter().map(bind::proposal);
    state.proposals.change(proposals.collect());
    // of compactions that were all undone nothing is left to doubt
    let view = context.view();
    let stands = !view.layers.is_empty() || !view.reduced.is_empty();
    let compactions = if stands { view.compactions } else { 0 };
    state
        .trust
        .change(bind::trust(&session.reliability(), compactions));
    let mut snapshots: Vec<_> = session.snapshots().iter().map(bind::snapshot).collect();
    snapshots.reverse();
    state.snapshots.change(snapshots);
    state
        .quotes
        .change(bind::quotes(context.view().recalled.as_ref()));
}

/// Sets what the goal says, with its priority and its status where they are given. Without words the goal goes.
pub(crate) fn set_goal(text: String, rest: Option<(Priority, GoalStatus)>) {
    with_writer(move |back, session| async move {
        let text = text.trim();
        let (limits, counter) = (GoalLimits::default(), Estimator::default());
        let goal = if text.is_empty() {
            Ok(None)
        } else {
            match session.records().goal {
                Some(goal) => {
                    let describe = GoalEdit::Describe {
                        text: text.to_owned(),
                    };
                    let at = back.world.clock.now();
                    let rest = rest.into_iter().flat_map(|(priority, status)| {
                        let status =
                            (status != goal.status).then_some(GoalEdit::SetStatus { status, at });
                        [Some(GoalEdit::Prioritise { priority }), status]
                    });
                    let mut edits = std::iter::once(describe).chain(rest.flatten());
                    edits
                        .try_fold(goal.clone(), |goal, edit| {
                            goal.apply(edit, limits, &counter)
                        })
                        .map(Some)
                }
                None => Goal::new(text, back.world.clock.now(), limits, &counter).map(Some),
            }
        };
        match goal {
            Ok(goal) => commit_goal(&back, goal).await,
            Err(error) => note(fill(T::GoalRefused, &[&error.to_string()]), true),
        }
    });
}

async fn commit_goal(back: &Rc<Back>, goal: Option<Goal>) {
    let Some(session) = back.writer() else {
        return;
    };
    if let Err(error) = session.set_goal(goal).await {
        failed(back, &error);
    }
    show_all(back).await;
}

/// Changes one thing about the goal.
fn edit_goal(edit: impl FnOnce(f64) -> GoalEdit + 'static) {
    with_engine(|back| async move {
        let Some(goal) = back.session().and_then(|s| s.records().goal) else {
            return;
        };
        let edit = edit(back.world.clock.now());
        match goal.apply(edit, GoalLimits::default(), &Estimator::default()) {
            Ok(goal) => commit_goal(&back, Some(goal)).await,
            Err(error) => note(fill(T::GoalRefused, &[&error.to_string()]), true),
        }
    });
}

/// Adds a line to the goal.
pub(crate) fn add_goal_line(text: String, line: NewLine) {
    edit_goal(move |at| match line {
        NewLine::Milestone => GoalEdit::AddMilestone {
            text,
            state: MilestoneState::Pending,
            at,
        },
        NewLine::Decision { reason } => GoalEdit::AddDecision {
            text,
            rationale: reason,
            kind: DecisionKind::default(),
            locked: false,
        },
        NewLine::Next => GoalEdit::AddNextStep { text },
        NewLine::Blocker => GoalEdit::AddBlocker { text },
        NewLine::File(action) => GoalEdit::RecordArtifact {
            path: text,
            action,
            kind: String::new(),
        },
    });
}

/// Moves a line of the goal on: a milestone from open to begun to done and back, a decision's lock.
pub(crate) fn turn_goal_item(id: u32, kind: GoalKind) {
    edit_goal(move |at| match kind {
        GoalKind::Decision { locked } => GoalEdit::LockDecision {
            id,
            locked: !locked,
        },
        _ => GoalEdit::SetMilestone {
            id,
            state: match kind {
                GoalKind::ToDo => MilestoneState::InProgress,
                GoalKind::Doing => MilestoneState::Completed,
                _ => MilestoneState::Pending,
            },
            at,
        },
    });
}

/// Takes a line out of the goal.
pub(crate) fn remove_goal_item(id: u32) {
    edit_goal(move |_| GoalEdit::Remove { id });
}

/// Keeps a line word for word; as a decision if `decided`.
pub(crate) fn pin(texts: Vec<String>, decided: bool) {
    with_writer(move |back, session| async move {
        for text in texts {
            let kind = if decided {
                PinKind::Decision
            } else {
                PinKind::Pin
            };
            match session.pin(kind, &text).await {
                Ok(_) => back.state.say(fill(T::PinKept, &[text.trim()])),
                Err(error) => failed(&back, &error),
            }
        }
        show_all(&back).await;
    });
}

/// Removes a line from the records. It stays in the conversation.
pub(crate) fn unpin(id: u32) {
    with_writer(move |back, session| async move {
        if let Err(error) = session.unpin(id).await {
            failed(&back, &error);
        }
        show_all(&back).await;
    });
}

/// Pins a demand that was found in a message.
pub(crate) fn confirm_demand(id: u32) {
    with_writer(move |back, session| async move {
        if let Err(error) = session.confirm_demand(id).await {
            failed(&back, &error);
        }
        show_all(&back).await;
    });
}

/// Takes a proposal over into the goal, or turns it down for good.
pub(crate) fn decide_proposal(id: u32, accept: bool) {
    with_writer(move |back, session| async move {
        let result = if accept {
            session.accept_proposal(id).await.map(drop)
        } else {
            session.decline_proposal(id).await
        };
        if let Err(error) = result {
            failed(&back, &error);
        }
        show_all(&back).await;
    });
}

/// Takes a recalled quote out of the window. `from`: the session that it is from, if that is another one.
pub(crate) fn forget_quote(place: u32, from: Option<String>) {
    with_writer(move |back, session| async move {
        let seq = place.checked_sub(1);
        let forgotten = match (seq, from) {
            (Some(seq), Some(from)) => session.forget_elsewhere(&from, seq).await,
            (seq, _) => session.forget_recalled(seq).await,
        };
        if let Err(error) = forgotten {
            failed(&back, &error);
        }
        show_all(&back).await;
    });
}
