//! The changes of a goal. Every edit is an act of the user or the host; a summariser only proposes changes
//! ([`crate::data::marker`]).

use super::{
    Artifact, ArtifactAction, Decision, DecisionKind, Goal, GoalNote, GoalStatus, Milestone,
    MilestoneState, Priority,
};
use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One change of a goal. Items are named by their number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "edit"))]
pub enum GoalEdit {
    /// Replaces the description.
    Describe {
        /// The new description.
        text: String,
    },
    /// Changes the priority.
    Prioritise {
        /// The new priority.
        priority: Priority,
    },
    /// Pauses, resumes or completes the goal.
    SetStatus {
        /// The new status.
        status: GoalStatus,
        /// The time, in milliseconds since 1970.
        at: f64,
    },
    /// Adds a milestone at the end.
    AddMilestone {
        /// Its description.
        text: String,
        /// Its state.
        #[serde(default)]
        state: MilestoneState,
        /// The time, in milliseconds since 1970.
        at: f64,
    },
    /// Changes the state of a milestone.
    SetMilestone {
        /// The number of the item.
        id: u32,
        /// The new state.
        state: MilestoneState,
        /// The time, in milliseconds since 1970.
        at: f64,
    },
    /// Adds a decision at the end. The same text is not added twice; a second time may add the reason or the lock.
    AddDecision {
        /// The decision.
        text: String,
        /// The reason; may be empty.
        #[serde(default)]
        rationale: String,
        /// Its subject.
        #[serde(default)]
        kind: DecisionKind,
        /// Lock it at once.
        #[serde(default)]
        locked: bool,
    },
    /// Locks or unlocks a decision.
    LockDecision {
        /// The number of the item.
        id: u32,
        /// Lock or unlock it.
        locked: bool,
    },
    /// Records an action on an artifact. A known path moves to the end.
    RecordArtifact {
        /// Its path.
        path: String,
        /// The action.
        action: ArtifactAction,
        /// Its kind; empty means `file`.
        #[serde(default)]
        kind: String,
    },
    /// Adds a next step at the end.
    AddNextStep {
        /// The step.
        text: String,
    },
    /// Adds a blocker at the end.
    AddBlocker {
        /// The obstacle.
        text: String,
    },
    /// Changes the words of a milestone, an unlocked decision, a next step or a blocker.
    Reword {
        /// The number of the item.
        id: u32,
        /// The new words.
        text: String,
    },
    /// Removes any item but a locked decision.
    Remove {
        /// The number of the item.
        id: u32,
    },
}

palimpsest_text::tagged!(GoalEdit, "edit");

/// The largest sizes of the parts of a goal, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GoalLimits {
    /// The description.
    pub description: u32,
    /// The text of one item.
    pub item: u32,
}

impl Default for GoalLimits {
    /// A description may fill the largest share of records (2,000 tokens), an item a quarter of it.
    fn default() -> Self {
        Self {
            description: 2_000,
            item: 500,
        }
    }
}

/// The reason for which a goal was not changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GoalError {
    /// A text is too long: shorten it.
    #[error("the text has more than {limit} tokens")]
    TooLarge {
        /// The largest size in tokens.
        limit: u32,
    },
    /// There is no text.
    #[error("the text is empty")]
    EmptyText,
    /// The goal has no item of this number.
    #[error("the goal has no item {id}")]
    UnknownItem {
        /// The number.
        id: u32,
    },
    /// The decision is locked: unlock it first.
    #[error("decision {id} is locked")]
    DecisionLocked {
        /// Its number.
        id: u32,
    },
    /// The goal already has the largest number of items.
    #[error("a goal has at most {limit} items")]
    TooManyItems {
        /// The largest number.
        limit: usize,
    },
}

impl GoalError {
    /// A stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "goal_too_large",
            Self::EmptyText => "goal_empty_text",
            Self::UnknownItem { .. } => "goal_unknown_item",
            Self::DecisionLocked { .. } => "decision_locked",
            Self::TooManyItems { .. } => "goal_too_many_items",
        }
    }
}

/// A goal with more items would be a log.
const MOST_ITEMS: usize = 10_000;

impl Goal {
    /// Returns the next revision with `edit` applied. This one stays unchanged.
    pub fn apply(
        &self,
        edit: GoalEdit,
        limits: GoalLimits,
        counter: &dyn TokenCounter,
    ) -> Result<Self, GoalError> {
        let item = |text: &str| checked(text, limits.item, counter);
        let mut goal = self.clone();
        match edit {
            GoalEdit::Describe { text } => {
                goal.description = checked(&text, limits.description, counter)?;
            }
            GoalEdit::Prioritise { priority } => goal.priority = priority,
            GoalEdit::SetStatus { status, at } => {
                goal.status = status;
                goal.completed = (status == GoalStatus::Completed).then_some(at);
            }
            GoalEdit::AddMilestone { text, state, at } => {
                let text = item(&text)?;
                let completed = (state == MilestoneState::Completed).then_some(at);
                let id = goal.next_id()?;
                goal.milestones.push(Milestone {
                    id,
                    text,
                    state,
                    completed,
                });
            }
            GoalEdit::SetMilestone { id, state, at } => {
                let milestone = goal.milestones.iter_mut().find(|m| m.id == id);
                let milestone = milestone.ok_or(GoalError::UnknownItem { id })?;
                milestone.state = state;
                milestone.completed = (state == MilestoneState::Completed).then_some(at);
            }
            GoalEdit::AddDecision {
                text,
                rationale,
                kind,
                locked,
            } => {
                let text = item(&text)?;
                let rationale = optional(&rationale, limits.item, counter)?;
                goal.add_decision(text, rationale, kind, locked)?;
            }
            GoalEdit::LockDecision { id, locked } => {
                let decision = goal.decisions.iter_mut().find(|d| d.id == id);
                decision.ok_or(GoalError::UnknownItem { id })?.locked = locked;
            }
            GoalEdit::RecordArtifact { path, action, kind } => {
                let path = item(&path)?;
                let kind = optional(&kind, limits.item, counter)?;
                goal.record_artifact(path, action, kind)?;
            }
            GoalEdit::AddNextStep { text } => {
                let text = item(&text)?;
                let id = goal.next_id()?;
                goal.next_steps.push(GoalNote { id, text });
            }
            GoalEdit::AddBlocker { text } => {
                let text = item(&text)?;
                let id = goal.next_id()?;
                goal.blockers.push(GoalNote { id, text });
            }
            GoalEdit::Reword { id, text } => *goal.text_of(id)? = item(&text)?,
            GoalEdit::Remove { id } => goal.remove(id)?,
        }
        Ok(goal)
    }

    fn next_id(&mut self) -> Result<u32, GoalError> {
        let items = self.milestones.len()
            + self.decisions.len()
            + self.artifacts.len()
            + self.next_steps.len()
            + self.blockers.len();
        if items >= MOST_ITEMS || self.last_id == u32::MAX {
            return Err(GoalError::TooManyItems { limit: MOST_ITEMS });
        }
        self.last_id += 1;
        Ok(self.last_id)
    }

    fn add_decision(
        &mut self,
        text: String,
        rationale: String,
        kind: DecisionKind,
        locked: bool,
    ) -> Result<(), GoalError> {
        if let Some(known) = self.decisions.iter_mut().find(|d| d.text == text) {
            if !rationale.is_empty() && !known.locked {
                known.rationale = rationale;
            }
            known.locked |= locked;
            return Ok(());
        }
        let id = self.next_id()?;
        self.decisions.push(Decision {
            id,
            text,
            rationale,
            kind,
            locked,
        });
        Ok(())
    }

    fn record_artifact(
        &mut self,
        path: String,
        action: ArtifactAction,
        kind: String,
    ) -> Result<(), GoalError> {
        let known = self.artifacts.iter().position(|a| a.path == path);
        let mut artifact = match known {
            Some(at) => self.artifacts.remove(at),
            None => Artifact {
                id: self.next_id()?,
                kind: "file".to_owned(),
                path,
                action,
            },
        };
        artifact.action = action;
        if !kind.is_empty() {
            artifact.kind = kind;
        }
        self.artifacts.push(artifact);
        Ok(())
    }

    fn text_of(&mut self, id: u32) -> Result<&mut String, GoalError> {
        if self.decisions.iter().any(|d| d.id == id && d.locked) {
            return Err(GoalError::DecisionLocked { id });
        }
        let milestones = self.milestones.iter_mut().map(|m| (m.id, &mut m.text));
        let decisions = self.decisions.iter_mut().map(|d| (d.id, &mut d.text));
        let notes = self.next_steps.iter_mut().chain(&mut self.blockers);
        milestones
            .chain(decisions)
            .chain(notes.map(|n| (n.id, &mut n.text)))
            .find_map(|(item, text)| (item == id).then_some(text))
            .ok_or(GoalError::UnknownItem { id })
    }

    fn remove(&mut self, id: u32) -> Result<(), GoalError> {
        if self.decisions.iter().any(|d| d.id == id && d.locked) {
            return Err(GoalError::DecisionLocked { id });
        }
        fn take<T>(items: &mut Vec<T>, wanted: impl Fn(&T) -> bool) -> bool {
            let before = items.len();
            items.retain(|item| !wanted(item));
            items.len() < before
        }
        let removed = take(&mut self.milestones, |m| m.id == id)
            || take(&mut self.decisions, |d| d.id == id)
            || take(&mut self.artifacts, |a| a.id == id)
            || take(&mut self.next_steps, |n| n.id == id)
            || take(&mut self.blockers, |b| b.id == id);
        if removed {
            Ok(())
        } else {
            Err(GoalError::UnknownItem { id })
        }
    }
}

/// Trims a text, and refuses an empty or too long one.
pub(super) fn checked(
    text: &str,
    limit: u32,
    counter: &dyn TokenCounter,
) -> Result<String, GoalError> {
    let text = optional(text, limit, counter)?;
    if text.is_empty() {
        return Err(GoalError::EmptyText);
    }
    Ok(text)
}

fn optional(text: &str, limit: u32, counter: &dyn TokenCounter) -> Result<String, GoalError> {
    let text = text.trim();
    match counter.count_until(text, limit) {
        Some(_) => Ok(text.to_owned()),
        None => Err(GoalError::TooLarge { limit }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palimpsest_tokens::Estimator;

    fn goal() -> Goal {
        Goal::new(
            "Ship the login page",
            1.0,
            GoalLimits::default(),
            &Estimator::default(),
        )
        .unwrap()
    }

    fn try_all(edits: &[&str]) -> Result<Goal, GoalError> {
        edits.iter().try_fold(goal(), |goal, edit| {
            let edit: GoalEdit = serde_json::from_str(edit).unwrap();
            goal.apply(edit, GoalLimits::default(), &Estimator::default())
        })
    }

    fn check_error(edits: &[&str], code: &str) {
        assert_eq!(try_all(edits).unwrap_err().code(), code, "{edits:?}");
    }

    /// G1: milestones move through their states with a time, and keep their number.
    #[test]
    fn milestones() {
        let goal = try_all(&[
            r#"{"edit":"add-milestone","text":" Design it ","at":2}"#,
            r#"{"edit":"add-milestone","text":"Build it","at":2}"#,
            r#"{"edit":"set-milestone","id":1,"state":"completed","at":9}"#,
            r#"{"edit":"remove","id":2}"#,
            r#"{"edit":"add-milestone","text":"Test it","state":"in-progress","at":10}"#,
        ])
        .unwrap();
        let shown: Vec<_> = goal
            .milestones
            .iter()
            .map(|m| (m.id, m.text.as_str(), m.state.marker(), m.completed))
            .collect();
        assert_eq!(
            shown,
            [
                (1, "Design it", "COMPLETED", Some(9.0)),
                (3, "Test it", "IN PROGRESS", None)
            ]
        );
    }

    /// G1, I4: a locked decision is neither reworded nor removed before it is unlocked.
    #[test]
    fn locked_decisions() {
        let locked = r#"{"edit":"add-decision","text":"Use JWT","rationale":"no state","kind":"architecture","locked":true}"#;
        check_error(&[locked, r#"{"edit":"remove","id":1}"#], "decision_locked");
        check_error(
            &[locked, r#"{"edit":"reword","id":1,"text":"Use cookies"}"#],
            "decision_locked",
        );
        let again = r#"{"edit":"add-decision","text":"Use JWT","rationale":"I say so"}"#;
        let goal = try_all(&[locked, again]).unwrap();
        assert_eq!(goal.decisions.len(), 1);
        assert_eq!(
            (
                goal.decisions[0].rationale.as_str(),
                goal.decisions[0].locked
            ),
            ("no state", true)
        );
        let unlock = r#"{"edit":"lock-decision","id":1,"locked":false}"#;
        let goal = try_all(&[locked, unlock, r#"{"edit":"remove","id":1}"#]).unwrap();
        assert_eq!(goal.decisions, []);
    }

    /// G1: one artifact per path, the last touched last.
    #[test]
    fn artifacts() {
        let goal = try_all(&[
            r#"{"edit":"record-artifact","path":"src/a.rs","action":"created"}"#,
            r#"{"edit":"record-artifact","path":"img.png","action":"created","kind":"image"}"#,
            r#"{"edit":"record-artifact","path":"src/a.rs","action":"modified"}"#,
        ])
        .unwrap();
        let shown: Vec<_> = goal
            .artifacts
            .iter()
            .map(|a| (a.id, a.kind.as_str(), a.path.as_str(), a.action.name()))
            .collect();
        assert_eq!(
            shown,
            [
                (2, "image", "img.png", "created"),
                (1, "file", "src/a.rs", "modified")
            ]
        );
    }

    /// G1: status and time, both ways.
    #[test]
    fn status() {
        let done = r#"{"edit":"set-status","status":"completed","at":5}"#;
        let goal = try_all(&[done]).unwrap();
        assert_eq!(
            (goal.status, goal.completed),
            (GoalStatus::Completed, Some(5.0))
        );
        let goal = try_all(&[done, r#"{"edit":"set-status","status":"active","at":6}"#]).unwrap();
        assert_eq!((goal.status, goal.completed), (GoalStatus::Active, None));
    }

    /// F 62: a description of 50,000 tokens is refused at entry, an item too, and nothing changes.
    #[test]
    fn f62_too_large() {
        let long = "word ".repeat(50_000);
        let new = Goal::new(&long, 0.0, GoalLimits::default(), &Estimator::default());
        assert_eq!(new.unwrap_err(), GoalError::TooLarge { limit: 2_000 });
        let edit = GoalEdit::AddBlocker { text: long };
        let before = goal();
        let error = before.apply(edit, GoalLimits::default(), &Estimator::default());
        assert_eq!(error.unwrap_err().code(), "goal_too_large");
        assert_eq!(before, goal());
    }

    /// I10: an impossible edit is an error with a code.
    #[test]
    fn errors() {
        check_error(
            &[r#"{"edit":"add-next-step","text":"  "}"#],
            "goal_empty_text",
        );
        check_error(&[r#"{"edit":"remove","id":7}"#], "goal_unknown_item");
        check_error(
            &[r#"{"edit":"set-milestone","id":1,"state":"pending","at":0}"#],
            "goal_unknown_item",
        );
        assert!(
            serde_json::from_str::<GoalEdit>(r#"{"edit":"remove","id":1,"x":2}"#).is_err(),
            "unknown keys are refused"
        );
    }
}
