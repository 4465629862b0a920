//! The report of a change of the window: what its card shows.

use serde::{Deserialize, Serialize};

use crate::budget::Segment;
use crate::context::Context;
use crate::data::layer::{LayerId, Span};
use crate::data::message::Seq;
use crate::data::record::FoundDemand;
use crate::loss::Loss;
use crate::pass::offload::Reference;
use crate::pass::{Adjustment, Shed};
use palimpsest_text::retention::Facts;

use super::{Caution, Stage};

/// What the last stage found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Whether the new window fits.
    pub valid: bool,
    /// What it holds.
    pub tokens: u32,
    /// What it may hold.
    pub limit: u32,
    /// Facts found in it ÷ facts of what was taken out or shortened.
    pub retention: f32,
}

/// How long one stage took. Core has no clock: whoever drives the run measures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StageTime {
    /// The stage.
    pub stage: Stage,
    /// Milliseconds; for [`Stage::Summarize`] with what was waited for a model.
    pub ms: f64,
}

/// What a finished run did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Tokens of the window before.
    pub before: u32,
    /// Tokens of the window after.
    pub after: u32,
    /// The new layer, if one was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<LayerId>,
    /// What the new layer covers.
    #[serde(default)]
    pub covers: Vec<Span>,
    /// How many messages that is.
    pub messages: u32,
    /// Tokens of those messages as they were shown.
    pub covered_tokens: u32,
    /// The user's words that stay verbatim in the slot.
    pub quoted: Vec<Seq>,
    /// Of those, the ones of which only an excerpt stands there or in their own place are named here instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<Seq>,
    /// The user's demands that were found in what was covered. They stand where the policy says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demands: Vec<FoundDemand>,
    /// The user's messages that stood word for word before, of which neither the words nor an excerpt stand now (P3). Their
    /// demands stand where the policy says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summarised: Vec<Seq>,
    /// Facts found in the new window ÷ facts of what was taken out or shortened; 1 if nothing was.
    pub retention: f32,
    /// What became of those facts. Reports of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Facts>,
    /// Whether something left without a trace in the window: see [`crate::loss::Loss::lossy`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossy: Option<bool>,
    /// Facts that nothing in the new window leads back to, the most important class first; at most
    /// [`crate::loss::MOST_NAMED`]. `facts` says how many there were.
    pub dropped: Vec<String>,
    /// Tokens the model has to read again: everything from the first changed message on.
    pub reread: u32,
    /// Messages that are still shown.
    #[serde(default)]
    pub preserved: u32,
    /// Offloaded results that are covered now: their references left the window, their texts stay in the
    /// history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<Reference>,
    /// What each pass shed, in the order of the ladder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<Shed>,
    /// What was done beside summarising: passes that had to help, rules that gave way to an invariant.
    pub adjustments: Vec<String>,
    /// A stable name for each of the adjustments, in their order. Reports of earlier versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<String>,
    /// What the user should know although the run succeeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<Caution>,
    /// Whether a person asked.
    pub manual: bool,
    /// The window's stretches before, neighbours of one kind joined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments_before: Vec<Segment>,
    /// The window's stretches after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments_after: Vec<Segment>,
    /// How long it took, in milliseconds. Core has no clock: whoever drives the run fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<f64>,
    /// What the last stage found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// How long each stage took, in their order, where that was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageTime>,
}

impl RunReport {
    /// The figures that every change of a window has. A run adds what it covered and what it aimed at.
    pub(super) fn between(
        before: &Context,
        after: &Context,
        loss: Loss,
        passes: Vec<Shed>,
    ) -> Self {
        Self {
            before: before.tokens(),
            after: after.tokens(),
            layer: None,
            covers: Vec::new(),
            messages: 0,
            covered_tokens: 0,
            quoted: Vec::new(),
            shortened: loss.shortened,
            demands: Vec::new(),
            summarised: loss.summarised,
            retention: loss.facts.retention(),
            facts: Some(loss.facts),
            lossy: Some(loss.lossy),
            dropped: loss.dropped,
            reread: after.tokens(),
            preserved: after.shown_count(),
            released: Vec::new(),
            passes,
            adjustments: Vec::new(),
            codes: Vec::new(),
            cautions: Vec::new(),
            manual: false,
            segments_before: before.stretches(),
            segments_after: after.stretches(),
            took: None,
            verification: None,
            stages: Vec::new(),
        }
    }

    /// Names what was done beside summarising.
    pub(super) fn adjusted(mut self, adjustments: Vec<Adjustment>) -> Self {
        (self.adjustments, self.codes) = Adjustment::split(adjustments);
        self
    }

    /// Says whether the window of `limit` tokens holds the new one.
    pub(super) fn verified(mut self, valid: bool, limit: u32) -> Self {
        self.verification = Some(Verification {
            valid,
            tokens: self.after,
            limit,
            retention: self.retention,
        });
        self
    }

    /// Tokens freed.
    pub const fn freed(&self) -> u32 {
        self.before.saturating_sub(self.after)
    }
}
