//! Goal, pins, snapshots and recalled quotes, as the page shows them.

use palimpsest_core::goal::{ArtifactAction, GoalStatus, Priority};

use crate::context::data::budget::Budget;

/// A line that stands word for word in every window.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PinView {
    /// Its number.
    pub id: u32,
    /// Its words.
    pub text: String,
    /// Why it stands there.
    pub why: Why,
    /// The window has no room for it now.
    pub is_left_out: bool,
}

/// Why a line is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// The person pinned it.
    Pinned,
    /// A demand that was found in the message with this number.
    Demand(u32),
    /// Words in the message with this number that may be a demand.
    Likely(u32),
    /// A decision the person locked.
    Decision,
}

/// A change of the goal that a summary proposes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProposalView {
    /// Its number.
    pub id: u32,
    /// The change as a sentence.
    pub text: String,
    /// The numbers of the messages that are said to show it.
    pub cites: Vec<u32>,
    /// The summary wants the decision locked, which only a person does.
    pub asks_lock: bool,
}

/// The goal of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoalView {
    /// Its description.
    pub text: String,
    /// Its priority.
    pub priority: Priority,
    /// It is worked on, paused or reached.
    pub status: GoalStatus,
    /// Milestones, next steps and blockers, in that order.
    pub items: Vec<GoalItem>,
    /// Tokens of goal and pins in the window.
    pub tokens: u32,
}

/// One line of a goal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GoalItem {
    /// Its number.
    pub id: u32,
    /// Its words.
    pub text: String,
    /// Its kind.
    pub kind: GoalKind,
}

/// The kind of a line of a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GoalKind {
    /// A milestone that is not begun.
    ToDo,
    /// A milestone that is begun.
    Doing,
    /// A milestone that is done.
    Done,
    /// A decision, locked or not.
    Decision {
        /// It is not to be changed.
        locked: bool,
    },
    /// A file or another thing that was made.
    Artifact,
    /// A next step.
    Next,
    /// An obstacle.
    Blocker,
}

/// A line that a person adds to a goal, beside its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewLine {
    /// A milestone that is not begun.
    Milestone,
    /// A decision.
    Decision {
        /// Its reason; may be empty.
        reason: String,
    },
    /// A next step.
    Next,
    /// An obstacle.
    Blocker,
    /// A file by its path, and what happened to it.
    File(ArtifactAction),
}

/// A position to return to.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotView {
    /// Its number.
    pub n: u32,
    /// Its name; empty for those made by themselves.
    pub name: String,
    /// When; milliseconds since 1970.
    pub at: f64,
    /// Messages on its path.
    pub messages: u32,
    /// Layers in its window.
    pub layers: u32,
    /// Tokens of its window.
    pub tokens: u32,
    /// The number of the layer it was taken before, if one was about to be written.
    pub before: Option<u32>,
    /// The number of its last message; 0 before the first.
    pub tip: u32,
}

/// A passage quoted for the last question, from a covered message or from another session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QuoteView {
    /// The other session.
    pub from: Option<OtherSession>,
    /// The message it is from.
    pub place: u32,
    /// Its words.
    pub text: String,
    /// Its tokens.
    pub tokens: u32,
}

/// The session of a quote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OtherSession {
    /// Its identifier.
    pub id: String,
    /// Its title and the day.
    pub source: String,
}

/// The reliability of a session after its compactions, with the arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustView {
    /// The product, in percent.
    pub percent: u32,
    /// Its level, 1 (very low) to 4 (high).
    pub level: u32,
    /// The number of compactions.
    pub compactions: u32,
    /// The factor after that many compactions, in percent.
    pub factor: u32,
    /// Facts that were checked and are still there, in percent; `None` if there were none to check.
    pub kept: Option<u32>,
    /// The recommendation for the model's size: compactions from and to, and the saving of one from and to, in percent.
    pub advice: Option<[u32; 4]>,
}

/// The window under another policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedView {
    /// The window with its trigger, target and floor.
    pub budget: Budget,
    /// The compaction that would happen now, or the reason against it.
    pub plan: Result<PreviewView, String>,
}

/// The compaction that would happen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewView {
    /// Tokens now.
    pub before: u32,
    /// The approximate size after it.
    pub after: u32,
    /// First and last message covered.
    pub covers: (u32, u32),
    /// The number of those messages.
    pub messages: u32,
    /// Tokens a summariser has to read.
    pub read: u32,
    /// The most the new layer takes.
    pub layer: u32,
    /// The subject that it should cover in most detail.
    pub focus: String,
    /// Its expected time.
    pub takes: Takes,
}

/// The expected time of a compaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Takes {
    /// No model is asked: next to nothing.
    #[default]
    Nothing,
    /// So many seconds, at the speed that the model had in this visit.
    Seconds(u32),
    /// The model has not answered in this visit.
    Unknown,
}
