//! A policy is data: when to act, which passes in which order, with which numbers (E4).

pub mod presets;

use serde::{Deserialize, Serialize};

use crate::error::CoreError;

/// What a fill level is a fraction of (B4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Denominator {
    /// The limit without system, tools, records and layers: what the conversation may take.
    Available,
    /// The whole window.
    Window,
    /// The window without the tier's prompt budget and the margin (seed 1).
    WindowLessTier,
}

/// When to compact without being asked. Fires at `≥`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "snake_case", deny_unknown_fields)]
pub enum Trigger {
    /// The conversation reaches a fraction of something.
    Fill {
        /// Of what.
        of: Denominator,
        /// The fraction, 0 to 1.
        at: f32,
    },
    /// So many messages are shown verbatim.
    Messages {
        /// The number.
        count: u32,
    },
    /// A watermark was set (seed 3).
    Watermark,
}

/// One step of the ladder. Deterministic passes stand before the ones that lose more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "pass", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pass {
    /// Say tool output and arguments more briefly.
    Condense,
    /// Show repeated and superseded tool output once.
    Dedupe,
    /// Take out tool blocks before the watermark.
    Strip {
        /// Messages kept in full before the mark.
        #[serde(default)]
        keep: u32,
        /// Whether failed results stay.
        #[serde(default)]
        keep_errors: bool,
    },
    /// Put references in the place of large tool results.
    Offload,
    /// Cover the oldest exchanges with a layer. The only pass that may ask a model.
    Summarize,
    /// Cover the oldest exchanges without a summary (seed 2's other strategy).
    Truncate,
    /// Strip, fade to essentials, excerpt: whatever it takes to fit.
    Emergency,
}

/// How much of the end of a conversation stays as it was said (P2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum KeepRecent {
    /// The share of section XI.
    Share,
    /// A number of tokens.
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

/// What happens to the user's own words in a covered range (P3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserWords {
    /// Verbatim within the user share, newest first; past it summarised.
    Share,
    /// Summarised like everything else.
    Summarize,
    /// Never summarised: where they do not fit nothing is compressible.
    Never,
}

/// The role of the message that holds the layers (C6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotRole {
    /// Default: models do not mistake it for their own words.
    User,
    /// As seeds 1 and 5 have it.
    Assistant,
    /// Part of the system message.
    System,
}

/// How layers get shorter with age.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fading {
    /// From immutable notes, two sizes, neighbours of lowest rank merge (C4).
    Notes,
    /// Every layer at every compaction, through these sizes in tokens at a window of 16,384 or more,
    /// scaled below (C2).
    Cascade {
        /// Largest first.
        sizes: Vec<u32>,
    },
    /// One layer that is rewritten each time (seeds 4 and 5).
    Single {
        /// Largest size in tokens; at most a quarter of the window.
        tokens: u32,
    },
}

/// The form a summary is asked for in (P5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Headings {
    /// By level.
    Level,
    /// Seed 4's eight.
    Eight,
    /// Seed 5's short form.
    Short,
}

/// A named set of rules for one engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Any of these starts an automatic compaction.
    pub triggers: Vec<Trigger>,
    /// The passes, least lossy first.
    pub passes: Vec<Pass>,
    /// What stays of the end.
    pub keep_recent: KeepRecent,
    /// What happens to the user's words.
    pub user_words: UserWords,
    /// Where the layers stand.
    pub slot_role: SlotRole,
    /// A line before the layers, such as `[Compressed History]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot_prefix: Option<String>,
    /// How layers age.
    pub fading: Fading,
    /// The form of summaries.
    pub headings: Headings,
    /// Whether old passages are quoted when a message asks for them (R1).
    pub recall: bool,
}

impl Policy {
    /// The preset of that name.
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
    pub fn validate(&self) -> Result<(), CoreError> {
        let wrong = |why: &str| Err(CoreError::InvalidPolicy(why.to_owned()));
        for trigger in &self.triggers {
            if let Trigger::Fill { at, .. } = trigger
                && !(at.is_finite() && *at > 0.0 && *at <= 1.0)
            {
                return wrong("a fill trigger is a fraction above 0 and at most 1");
            }
        }
        if let Fading::Cascade { sizes } = &self.fading
            && (sizes.is_empty() || sizes.windows(2).any(|w| w[0] <= w[1]))
        {
            return wrong("the sizes of a cascade get smaller");
        }
        if self.passes.last() != Some(&Pass::Emergency) {
            return wrong("the last pass is `emergency`, so that a window always fits");
        }
        Ok(())
    }

    /// The fraction of the available room at which `balanced` and its kin act; 0.8 where the policy
    /// has no such trigger.
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

impl Default for Policy {
    fn default() -> Self {
        presets::balanced()
    }
}
