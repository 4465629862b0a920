//! Policies as data: when to act, with which passes in which order, and with which numbers (E4).

mod kind;
mod options;
pub mod presets;
mod read;

pub use kind::PassKind;
pub use options::{DedupeOptions, OffloadOptions, StripOptions};

use serde::{Deserialize, Serialize};

use crate::data::layer::Level;
use crate::data::mark::Marks;
use crate::data::model::TierBudgets;
use crate::error::CoreError;
use palimpsest_text::condense::CondenseOptions;

/// The base of a fill level (B4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Denominator {
    /// The limit without system, tools, records and layers: the room for the conversation.
    Available,
    /// The window without system, tools, records and layers: seed 2's available room, which knows no
    /// reserve and no margin (B3).
    WindowLessFixed,
    /// The whole window.
    Window,
    /// The window without the tier's prompt budget and the margin (seed 1).
    WindowLessTier,
}

/// A condition for an automatic compaction. It fires at `≥`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "on"))]
pub enum Trigger {
    /// The conversation reaches a fraction of a base.
    Fill {
        /// The base.
        of: Denominator,
        /// The fraction, 0 to 1.
        at: f32,
    },
    /// The window shows this many messages verbatim.
    Messages {
        /// The number.
        count: u32,
    },
    /// A watermark was set, and tool blocks stand before it (seed 3).
    Watermark,
    /// No message came for this time, and the window is over its target.
    Idle {
        /// The time in seconds.
        seconds: u32,
    },
    /// The provider reported that the prompt is too long.
    Overflow,
    /// A person asked for it.
    Manual,
}

palimpsest_text::tagged!(Trigger, "on");

/// One step of the ladder, taken only if the step before was not enough. Deterministic passes come before those that
/// lose more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "pass"))]
pub enum Pass {
    /// Shorten tool output and arguments.
    Condense,
    /// Show repeated and superseded tool output once.
    Dedupe,
    /// Remove tool blocks before the watermark.
    Strip(StripOptions),
    /// Replace large tool results by references.
    Offload(OffloadOptions),
    /// Cover the oldest exchanges with a layer. The only pass that may ask a model.
    Summarize,
    /// Cover the oldest exchanges without a summary, under a line that says so (seed 2's other strategy).
    Truncate,
    /// Make every layer one step shorter.
    Fade,
    /// Make the window fit by all means: strip, fade to essentials, excerpt.
    Emergency,
}

palimpsest_text::tagged!(Pass, "pass");

impl Pass {
    /// Its name.
    pub const fn kind(&self) -> PassKind {
        match self {
            Self::Condense => PassKind::Condense,
            Self::Dedupe => PassKind::Dedupe,
            Self::Strip(_) => PassKind::Strip,
            Self::Offload(_) => PassKind::Offload,
            Self::Summarize => PassKind::Summarize,
            Self::Truncate => PassKind::Truncate,
            Self::Fade => PassKind::Fade,
            Self::Emergency => PassKind::Emergency,
        }
    }
}

/// The condition for the step after the deterministic passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "when"))]
pub enum Escalation {
    /// The target is not reached.
    Target,
    /// The passes freed less than this, and the trigger is still reached (seed 4, O2). A window over its limit always
    /// continues.
    Weak {
        /// The tokens.
        tokens: u32,
        /// At most this share of the window, in percent.
        window_percent: u32,
    },
}

palimpsest_text::tagged!(Escalation, "when");

/// The action when a model had to summarise and did not answer after every attempt. If its text is rejected, the
/// deterministic summary is used instead (P8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum OnFailure {
    /// Use the deterministic summary and mark it.
    #[default]
    Extractive,
    /// Change nothing and report the reason (seed 4, O3).
    Refuse,
}

/// The part of the conversation that a new layer covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Cover {
    /// The oldest exchanges, until the window reaches its target (P2).
    Needed,
    /// Everything before the recent messages (the seeds).
    All,
}

/// The end of a conversation that stays verbatim (P2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "by"))]
pub enum KeepRecent {
    /// The window's share for recent messages.
    Share,
    /// A number of tokens for windows of 16,384 or more, in proportion below.
    Tokens {
        /// The number.
        tokens: u32,
    },
    /// A number of messages.
    Messages {
        /// The number.
        messages: u32,
    },
}

palimpsest_text::tagged!(KeepRecent, "by");

/// The treatment of the user's own words in a covered range (P3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum UserWords {
    /// Verbatim within the user share, newest first; beyond it summarised.
    Share,
    /// Summarised like everything else.
    Summarize,
    /// Never summarised. If they do not fit, nothing is compressible.
    Never,
}

/// The role of the message that holds the layers (C6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum SlotRole {
    /// The default. Models do not take it for their own words.
    User,
    /// As in seeds 1 and 5.
    Assistant,
    /// Part of the system message.
    System,
}

/// The way in which layers become shorter with age.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "by"))]
pub enum Fading {
    /// From immutable notes, in two sizes; neighbours of the lowest rank merge (C4). A list without a model has one layer
    /// where an older one would have fewer than 256 tokens, which is in windows of up to about 4,400: each compaction
    /// chooses anew among what it says and what is covered then.
    Notes,
    /// Every layer at every compaction, through these sizes in tokens for a window of 16,384 or more, in proportion
    /// below (C2).
    Cascade {
        /// Largest first.
        sizes: Vec<u32>,
    },
    /// A cascade in which every size is a share of the one before (C2).
    Ratios {
        /// The newest layer's size.
        largest: u32,
        /// The shares, in percent: 60, 50, 40.
        percent: Vec<u32>,
    },
    /// One layer that is rewritten each time (seed 4).
    Single {
        /// Largest size in tokens; at most a quarter of the window.
        tokens: u32,
    },
}

palimpsest_text::tagged!(Fading, "by");

/// The rule for the level of a new layer (P4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Levels {
    /// By age: a new layer is detailed.
    #[default]
    Age,
    /// By the covered tokens, as in seed 1: over 3,000 compact, over 2,000 moderate, otherwise detailed.
    Size,
}

impl Levels {
    /// The level of a new layer that covers this many tokens.
    pub(crate) const fn of(self, covered: u32) -> Level {
        match (self, covered) {
            (Self::Size, 3_001..) => Level::Compact,
            (Self::Size, 2_001..) => Level::Moderate,
            _ => Level::Detailed,
        }
    }
}

/// The form that a summary should have (P5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Headings {
    /// A plain list, with a length by level.
    Level,
    /// Eight headings, from technical context to key decisions (seed 4).
    Eight,
    /// Three headings: decisions, unresolved issues, current state (seed 5).
    Short,
}

/// The place of the user's demands that were found in covered messages. The user decides which are pinned; pins are
/// always in the system message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Demands {
    /// In a block at the head of the layers, word for word, with a user's authority. They do not fade.
    #[default]
    Layer,
    /// In the system message, with the pins.
    System,
    /// Nowhere. Demands are not searched.
    Off,
}

/// A named set of rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Any of these starts an automatic compaction.
    pub triggers: Vec<Trigger>,
    /// The passes, least lossy first.
    pub passes: Vec<Pass>,
    /// The condition for continuing after the deterministic passes.
    pub escalate: Escalation,
    /// The part that a new layer covers.
    pub cover: Cover,
    /// The end that stays verbatim.
    pub keep_recent: KeepRecent,
    /// The treatment of the user's words.
    pub user_words: UserWords,
    /// The role of the message with the layers.
    pub slot_role: SlotRole,
    /// The place of found demands that the user has not pinned.
    #[serde(default)]
    pub demands: Demands,
    /// A line before the layers, such as `[Compressed History]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot_prefix: Option<String>,
    /// The rule for the level of a new layer.
    #[serde(default)]
    pub levels: Levels,
    /// The aging of layers.
    pub fading: Fading,
    /// The form of summaries.
    pub headings: Headings,
    /// The action when a model had to summarise and did not answer.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Quote covered passages when a message asks for them (R1).
    pub recall: bool,
    /// Condense tool output on arrival (T2). Otherwise a compaction does it.
    #[serde(default)]
    pub on_arrival: bool,
    /// The size of a system prompt that causes a warning, by tier (B2).
    #[serde(default)]
    pub prompt_budgets: TierBudgets,
    /// The rules for condensing tool output (T2, T3).
    #[serde(default)]
    pub tool_output: CondenseOptions,
    /// The rules for repetitions (T3).
    #[serde(default)]
    pub repeats: DedupeOptions,
    /// The rules for watermarks (W1, W4).
    #[serde(default)]
    pub marks: Marks,
}

impl Policy {
    /// Returns the preset of that name.
    ///
    /// # Errors
    ///
    /// [`CoreError::UnknownPolicy`] with the known names.
    pub fn preset(name: &str) -> Result<Self, CoreError> {
        presets::ALL
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, make)| make())
            .ok_or_else(|| CoreError::UnknownPolicy {
                name: name.to_owned(),
                known: presets::names(),
            })
    }

    /// Checks that the rules do not contradict each other.
    ///
    /// # Errors
    ///
    /// [`CoreError::InvalidPolicy`] with the contradiction.
    pub fn validate(&self) -> Result<(), CoreError> {
        let wrong = |why: &str| Err(CoreError::InvalidPolicy(why.to_owned()));
        if self.name.trim().is_empty() {
            return wrong("a policy has a name");
        }
        for trigger in &self.triggers {
            match trigger {
                Trigger::Fill { at, .. } if !(at.is_finite() && *at > 0.0 && *at <= 1.0) => {
                    return wrong("a fill trigger is a fraction above 0 and at most 1");
                }
                Trigger::Messages { count } if *count < 2 => {
                    return wrong("a trigger by messages needs at least 2 of them");
                }
                _ => {}
            }
        }
        let sizes = match &self.fading {
            Fading::Cascade { sizes } => sizes.clone(),
            Fading::Ratios { percent, .. } if percent.iter().any(|p| *p == 0 || *p >= 100) => {
                return wrong("the ratios of a cascade are percentages above 0 and below 100");
            }
            _ => self.fading.sizes(),
        };
        let cascade = matches!(self.fading, Fading::Cascade { .. } | Fading::Ratios { .. });
        if cascade && (sizes.is_empty() || sizes.windows(2).any(|w| w[0] <= w[1])) {
            return wrong("the sizes of a cascade get smaller");
        }
        if self.passes.last() != Some(&Pass::Emergency) {
            return wrong("the last pass is `emergency`, so that a window always fits");
        }
        let order: Vec<PassKind> = self.passes.iter().map(Pass::kind).collect();
        if let Some(pair) = order.windows(2).find(|w| w[0] >= w[1]) {
            let (first, second) = (pair[0].name(), pair[1].name());
            return Err(CoreError::InvalidPolicy(format!(
                "`{second}` cannot stand after `{first}`: each pass once, in the order condense, dedupe, strip, offload, summarize, truncate, fade, emergency"
            )));
        }
        if order.contains(&PassKind::Summarize) && order.contains(&PassKind::Truncate) {
            return wrong("either `summarize` or `truncate`, not both");
        }
        Ok(())
    }

    /// Returns `true` if a watermark makes a compaction due.
    pub(crate) fn acts_on_marks(&self) -> bool {
        self.triggers.contains(&Trigger::Watermark)
    }

    /// The fraction of the available room at which `balanced` and similar policies act; 0.8 if the policy has no such
    /// trigger.
    pub fn fill_of_available(&self) -> f32 {
        self.triggers
            .iter()
            .find_map(|t| match t {
                Trigger::Fill {
                    of: Denominator::Available,
                    at,
                } => Some(*at),
                _ => None,
            })
            .unwrap_or(0.8)
    }
}

impl Fading {
    /// The sizes of a cascade, newest first; empty for other policies.
    pub(crate) fn sizes(&self) -> Vec<u32> {
        match self {
            Self::Cascade { sizes } => sizes.clone(),
            Self::Ratios { largest, percent } => {
                let mut sizes = vec![*largest];
                for p in percent {
                    let last = sizes.last().copied().unwrap_or(*largest);
                    sizes.push((u64::from(last) * u64::from(*p) / 100) as u32);
                }
                sizes
            }
            Self::Notes | Self::Single { .. } => Vec::new(),
        }
    }

    /// The limit in tokens for a layer that is `age` compactions old. `None` if the window's shares decide.
    pub(crate) fn room(&self, age: usize, window: u32) -> Option<u32> {
        match self {
            Self::Notes => None,
            Self::Single { tokens } => Some((*tokens).min(window / 4)),
            Self::Cascade { .. } | Self::Ratios { .. } => {
                let sizes = self.sizes();
                let size = *sizes.get(age).or(sizes.last())?;
                Some(scaled(size, window))
            }
        }
    }
}

/// Scales a number for windows of 16,384 tokens down for smaller ones.
pub(crate) fn scaled(tokens: u32, window: u32) -> u32 {
    (u64::from(tokens) * u64::from(window.min(16_384)) / 16_384) as u32
}

impl Default for Policy {
    fn default() -> Self {
        presets::balanced()
    }
}
