//! What a conversation is for: a goal with its milestones, decisions, artifacts, next steps and
//! blockers. A record: never summarised, rendered into the system message.
//!
//! A [`Goal`] is a value. [`Goal::apply`] gives the next revision and leaves the old one alone;
//! whoever stores goals keeps the revisions.

mod edit;
mod render;

pub use edit::{GoalEdit, GoalError, GoalLimits};

use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};

/// One revision of a goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Goal {
    /// What is to be reached.
    pub description: String,
    /// How much it matters.
    #[serde(default)]
    pub priority: Priority,
    /// Whether it is being worked on.
    #[serde(default)]
    pub status: GoalStatus,
    /// When it was set, in milliseconds since 1970.
    #[serde(default)]
    pub created: f64,
    /// When it was completed, in milliseconds since 1970.
    #[serde(default)]
    pub completed: Option<f64>,
    /// Steps on the way, in the order they were added.
    #[serde(default)]
    pub milestones: Vec<Milestone>,
    /// What was decided on the way, in the order it was.
    #[serde(default)]
    pub decisions: Vec<Decision>,
    /// Files and other things that were made, the last touched last. One entry per path.
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
    /// What to do next, in order.
    #[serde(default)]
    pub next_steps: Vec<GoalNote>,
    /// What is in the way.
    #[serde(default)]
    pub blockers: Vec<GoalNote>,
    /// The last number given to an item. Numbers are never reused.
    #[serde(default)]
    pub last_id: u32,
}

/// How much a goal matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Before everything else.
    High,
    /// As usual.
    #[default]
    Medium,
    /// When there is time.
    Low,
}

/// Whether a goal is being worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GoalStatus {
    /// Being worked on.
    #[default]
    Active,
    /// Put aside.
    Paused,
    /// Reached.
    Completed,
}

/// A step on the way to a goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Milestone {
    /// Its number in the goal.
    pub id: u32,
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub state: MilestoneState,
    /// When it was completed, in milliseconds since 1970.
    #[serde(default)]
    pub completed: Option<f64>,
}

/// How far a milestone is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MilestoneState {
    /// Not begun.
    #[default]
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
}

/// Something that was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Its number in the goal.
    pub id: u32,
    /// What was decided.
    pub text: String,
    /// Why, if it was said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rationale: String,
    /// What it is about.
    #[serde(default)]
    pub kind: DecisionKind,
    /// The user locked it: it is not to be changed or removed before it is unlocked.
    #[serde(default)]
    pub locked: bool,
}

/// What a decision is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecisionKind {
    /// Anything.
    #[default]
    General,
    /// The architecture: shown as long as locked ones are.
    Architecture,
}

/// Something that was made, changed or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its number in the goal.
    pub id: u32,
    /// What it is: `file` where nothing else is said.
    pub kind: String,
    /// Where it is.
    pub path: String,
    /// What last happened to it.
    pub action: ArtifactAction,
}

/// What happened to an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
pub struct GoalNote {
    /// Its number in the goal.
    pub id: u32,
    /// What it says.
    pub text: String,
}

impl Goal {
    /// A new goal, set at `now` (milliseconds since 1970).
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
    /// As it is written in a prompt or a marker: `COMPLETED`, `IN PROGRESS`, `PENDING`.
    pub const fn marker(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::InProgress => "IN PROGRESS",
            Self::Completed => "COMPLETED",
        }
    }
}

impl ArtifactAction {
    /// The word, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}
