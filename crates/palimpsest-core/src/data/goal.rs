//! The goal of a conversation, with its milestones, decisions, artifacts, next steps and blockers. It is a record: it
//! is never summarised, and it is rendered into the system message.
//!
//! A [`Goal`] is a value. [`Goal::apply`] returns the next revision and keeps the old one; the store keeps all
//! revisions.

mod edit;
mod render;

pub use edit::{GoalEdit, GoalError, GoalLimits};

use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};

/// One revision of a goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Goal {
    /// The description of the goal.
    pub description: String,
    /// Its priority.
    #[serde(default)]
    pub priority: Priority,
    /// Its status.
    #[serde(default)]
    pub status: GoalStatus,
    /// The time of creation, in milliseconds since 1970.
    #[serde(default)]
    pub created: f64,
    /// The time of completion, in milliseconds since 1970.
    #[serde(default)]
    pub completed: Option<f64>,
    /// The steps on the way, in the order of addition.
    #[serde(default)]
    pub milestones: Vec<Milestone>,
    /// The decisions on the way, in their order.
    #[serde(default)]
    pub decisions: Vec<Decision>,
    /// The files and other things that were made, the last touched last. One entry per path.
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
    /// The next steps, in order.
    #[serde(default)]
    pub next_steps: Vec<GoalNote>,
    /// The obstacles.
    #[serde(default)]
    pub blockers: Vec<GoalNote>,
    /// The last number given to an item. Numbers are never reused.
    #[serde(default)]
    pub last_id: u32,
}

/// The priority of a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Priority {
    /// Before everything else.
    High,
    /// As usual.
    #[default]
    Medium,
    /// When there is time.
    Low,
}

/// The status of a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum GoalStatus {
    /// Being worked on.
    #[default]
    Active,
    /// Put aside.
    Paused,
    /// Reached.
    Completed,
}

/// A step towards a goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Milestone {
    /// Its number in the goal.
    pub id: u32,
    /// Its description.
    pub text: String,
    /// Its state.
    pub state: MilestoneState,
    /// The time of completion, in milliseconds since 1970.
    #[serde(default)]
    pub completed: Option<f64>,
}

/// The state of a milestone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum MilestoneState {
    /// Not begun.
    #[default]
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Decision {
    /// Its number in the goal.
    pub id: u32,
    /// The decision in words.
    pub text: String,
    /// The reason, if it is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rationale: String,
    /// Its subject.
    #[serde(default)]
    pub kind: DecisionKind,
    /// The user locked it. It cannot be changed or removed before it is unlocked.
    #[serde(default)]
    pub locked: bool,
}

/// The subject of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum DecisionKind {
    /// Anything.
    #[default]
    General,
    /// The architecture. It is shown as long as locked decisions are.
    Architecture,
}

/// A thing that was made, changed or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Artifact {
    /// Its number in the goal.
    pub id: u32,
    /// Its kind: `file` by default.
    pub kind: String,
    /// Its path.
    pub path: String,
    /// The last action on it.
    pub action: ArtifactAction,
}

/// An action on an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum ArtifactAction {
    /// It was made.
    Created,
    /// It was changed.
    Modified,
    /// It was deleted.
    Deleted,
}

/// A next step or a blocker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct GoalNote {
    /// Its number in the goal.
    pub id: u32,
    /// Its text.
    pub text: String,
}

impl Goal {
    /// Creates a goal at `now` (milliseconds since 1970).
    pub fn new(
        description: &str,
        now: f64,
        limits: GoalLimits,
        counter: &dyn TokenCounter,
    ) -> Result<Self, GoalError> {
        Ok(Self {
            description: edit::checked(description, limits.description, counter)?,
            priority: Priority::default(),
            status: GoalStatus::default(),
            created: now,
            completed: None,
            milestones: Vec::new(),
            decisions: Vec::new(),
            artifacts: Vec::new(),
            next_steps: Vec::new(),
            blockers: Vec::new(),
            last_id: 0,
        })
    }
}

impl MilestoneState {
    /// The form in a prompt or a marker: `COMPLETED`, `IN PROGRESS`, `PENDING`.
    pub const fn marker(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::InProgress => "IN PROGRESS",
            Self::Completed => "COMPLETED",
        }
    }
}

impl ArtifactAction {
    /// The name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}
