//! Goal, pins, snapshots and recalled quotes, as the page shows them.

/// A line that stands word for word in every window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinView {
    /// Its number.
    pub id: u32,
    /// Its words.
    pub text: String,
    /// Why it stands there.
    pub why: Why,
}

/// Why a line is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The person pinned it.
    Pinned,
    /// A demand that was found in the message with this number.
    Demand(u32),
    /// A decision the person locked.
    Decision,
}

/// What a conversation is for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoalView {
    /// What is to be reached.
    pub text: String,
    /// It has been reached.
    pub reached: bool,
    /// Milestones, next steps and what is in the way, in that order.
    pub items: Vec<GoalItem>,
    /// Tokens of goal and pins in the window.
    pub tokens: u32,
}

/// One line of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalItem {
    /// Its number.
    pub id: u32,
    /// Its words.
    pub text: String,
    /// What it is.
    pub kind: GoalKind,
}

/// What a line of a goal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// What to do next.
    Next,
    /// What is in the way.
    Blocker,
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
    /// The number of its last message; 0 before the first.
    pub tip: u32,
}

/// A passage quoted from a covered message for the last question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuoteView {
    /// The message it is from.
    pub place: u32,
    /// Its words.
    pub text: String,
    /// Its tokens.
    pub tokens: u32,
}

/// What a compaction would do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewView {
    /// Tokens now.
    pub before: u32,
    /// About what it would be.
    pub after: u32,
    /// First and last message covered.
    pub covers: (u32, u32),
    /// How many messages that is.
    pub messages: u32,
    /// Tokens a summariser has to read.
    pub read: u32,
    /// The most the new layer takes.
    pub layer: u32,
    /// What it should dwell on.
    pub focus: String,
}
