//! A snapshot: a position to return to (S4).

use palimpsest_core::message::Seq;
use palimpsest_core::mode::Mode;
use palimpsest_core::model::Tier;
use serde::{Deserialize, Serialize};

/// The purpose of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Purpose {
    /// Taken on request, to return to.
    Recovery,
    /// Before a compaction.
    Rollback,
    /// Before an emergency.
    Emergency,
}

/// A position to return to. Immutable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Snapshot {
    /// Its number.
    pub n: u32,
    /// Its name; empty for automatic ones.
    pub name: String,
    /// Its purpose.
    pub purpose: Purpose,
    /// The revision of the view.
    pub revision: u32,
    /// The last message.
    pub tip: Option<Seq>,
    /// The revision of the records.
    pub records: u32,
    /// Exempt from pruning.
    pub pinned: bool,
    /// The time in milliseconds since 1970.
    pub at: f64,
    /// Tokens of the window.
    pub tokens: u32,
    /// Messages on the path.
    pub messages: u32,
    /// Layers in the window.
    pub layers: u32,
    /// The model.
    pub model: String,
    /// The class of its window.
    #[serde(default = "smallest_tier")]
    pub tier: Tier,
    /// The kind of work.
    #[serde(default)]
    pub mode: Mode,
    /// The number of the layer that a compaction was about to write, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u32>,
    /// The description of the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
}

const fn smallest_tier() -> Tier {
    Tier::Minimal
}

impl Snapshot {
    /// Returns `true` if nobody asked for the snapshot, so that it may be pruned.
    pub(crate) fn is_automatic(&self) -> bool {
        self.name.is_empty() && !self.pinned
    }
}
