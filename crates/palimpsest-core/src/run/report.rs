//! The report of a change of the window, for its card.

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

/// The result of the last stage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Verification {
    /// The new window fits.
    pub valid: bool,
    /// The tokens of the window.
    pub tokens: u32,
    /// The limit in tokens.
    pub limit: u32,
    /// The facts in the window divided by the facts of removed or shortened text, 0 to 1.
    pub retention: f32,
}

/// The time of one stage. The core has no clock, so the driver of the run measures it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StageTime {
    /// The stage.
    pub stage: Stage,
    /// Milliseconds. For [`Stage::Summarize`] they include the wait for a model.
    pub ms: f64,
}

/// The result of a finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RunReport {
    /// Tokens of the window before.
    pub before: u32,
    /// Tokens of the window after.
    pub after: u32,
    /// The new layer, if one was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<LayerId>,
    /// The messages that the new layer covers.
    #[serde(default)]
    pub covers: Vec<Span>,
    /// The number of those messages.
    pub messages: u32,
    /// The tokens of those messages in their form before.
    pub covered_tokens: u32,
    /// The messages whose words stay verbatim in the slot.
    pub quoted: Vec<Seq>,
    /// The user's messages of which only an excerpt is left, in the slot or in their own place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<Seq>,
    /// The user's demands in the covered messages. The policy decides about their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demands: Vec<FoundDemand>,
    /// The user's messages that were verbatim before and have neither their words nor an excerpt in the window now
    /// (P3). The policy decides about the place of their demands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summarised: Vec<Seq>,
    /// The facts in the new window divided by the facts of removed or shortened text; 1 if there was none.
    pub retention: f32,
    /// The fate of those facts. Reports of earlier versions lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Facts>,
    /// Some content left without a trace in the window: see [`crate::loss::Loss::lossy`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossy: Option<bool>,
    /// Facts to which nothing in the new window leads, the most important class first; at most
    /// [`crate::loss::MOST_NAMED`]. `facts` has their number.
    pub dropped: Vec<String>,
    /// The tokens that the model has to read again: everything from the first changed message on.
    pub reread: u32,
    /// The number of messages that are still shown.
    #[serde(default)]
    pub preserved: u32,
    /// Offloaded results that are covered now. Their references left the window, and their texts stay in the history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<Reference>,
    /// The savings of each pass, in the order of the ladder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<Shed>,
    /// Further actions: passes that had to help, and rules that gave way to an invariant.
    pub adjustments: Vec<String>,
    /// A stable code for each of the adjustments, in their order. Reports of earlier versions lack them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<String>,
    /// Warnings for the user about a successful run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<Caution>,
    /// A person asked for it.
    pub manual: bool,
    /// The window's stretches before, neighbours of one kind joined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments_before: Vec<Segment>,
    /// The window's stretches after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments_after: Vec<Segment>,
    /// The time in milliseconds. The core has no clock, so the driver of the run fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<f64>,
    /// The result of the last stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// The time of each stage, in order, if it was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageTime>,
}

impl RunReport {
    /// The figures of any change of a window. A run adds the covered range and its goal.
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

    /// Adds the adjustments.
    pub(super) fn adjusted(mut self, adjustments: Vec<Adjustment>) -> Self {
        (self.adjustments, self.codes) = Adjustment::split(adjustments);
        self
    }

    /// Notes whether a window with this `limit` holds the new content.
    pub(super) fn verified(mut self, valid: bool, limit: u32) -> Self {
        self.verification = Some(Verification {
            valid,
            tokens: self.after,
            limit,
            retention: self.retention,
        });
        self
    }

    /// The tokens freed.
    pub const fn freed(&self) -> u32 {
        self.before.saturating_sub(self.after)
    }
}
