//! A session's settings (E3): typed, checked, and refused with the nearest name where a key is unknown.
//!
//! As JSON, every key may be left out:
//!
//! ```json
//! {
//!   "policy": "balanced",
//!   "recall": true,
//!   "reserve": 1024,
//!   "sampling": { "temperature": 0.7, "top_p": 0.9, "seed": 7 },
//!   "compression": { "enabled": true, "strategy": "summarise", "preserve_recent": 2048, "preserve_count": 5,
//!                    "summary_max_tokens": 1024, "summary_model": "qwen3:4b", "attempts": 3, "wait_seconds": 10,
//!                    "trigger_at": 0.8, "trigger_threshold": 15000 },
//!   "snapshots": { "enabled": true, "auto_create": true, "auto_threshold": 0.8 },
//!   "rollover": { "enabled": true, "small_model_compactions": 6 },
//!   "tools": { "enabled": false, "recall": "recall", "search_history": "search_history",
//!              "compress_to_checkpoint": "compress_to_checkpoint",
//!              "activate_skills": "activate_skills", "deactivate_skills": "deactivate_skills" }
//! }
//! ```

use palimpsest_core::context::Setup;
use palimpsest_core::nearest::edits;
use palimpsest_core::policy::{Escalation, Fading, KeepRecent, Pass, Policy, Trigger};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// A session's settings. The policy decides whatever is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The policy's name. The head keeps it in a field of its own, so `None` here means "no change".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Quote covered passages when a message asks for them (R1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<bool>,
    /// Tokens that stay free for the answer, and the limit of a reply: at most half of the window. Without it the table
    /// of windows decides, with twice its value for a model that thinks (B5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<u32>,
    /// The sampling of replies, for calls that do not set their own.
    #[serde(skip_serializing_if = "Sampling::is_default")]
    pub sampling: Sampling,
    /// The rules for making the window smaller.
    pub compression: Compression,
    /// The rules for automatic snapshots.
    pub snapshots: Snapshots,
    /// The rules for continuing in a new session.
    pub rollover: Rollover,
    /// The tools that sessions offer themselves.
    pub tools: OwnTools,
}

/// The sampling of a session's replies. The model or the host decides whatever is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// Randomness, 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// The share of probability from which words are chosen, above 0 and at most 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f32>,
    /// Excludes words less likely than this share of the likeliest one, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f32>,
    /// The penalty on recently written words, above 0 and at most 2; 1 means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_penalty: Option<f32>,
    /// A number that makes choices repeatable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
}

impl Sampling {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Fills the fields that are `None` from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            temperature: self.temperature.or(other.temperature),
            top_p: self.top_p.or(other.top_p),
            min_p: self.min_p.or(other.min_p),
            repeat_penalty: self.repeat_penalty.or(other.repeat_penalty),
            seed: self.seed.or(other.seed),
        }
    }

    /// Checks the ranges of the values.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |key: &str, why: &str| Err(ConfigError::invalid(key, why));
        if self.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
            return wrong("sampling.temperature", "it is from 0 to 2");
        }
        if self.top_p.is_some_and(|p| !(p > 0.0 && p <= 1.0)) {
            return wrong("sampling.top_p", "it is above 0 and at most 1");
        }
        if self.min_p.is_some_and(|p| !(0.0..=1.0).contains(&p)) {
            return wrong("sampling.min_p", "it is from 0 to 1");
        }
        if self.repeat_penalty.is_some_and(|p| !(p > 0.0 && p <= 2.0)) {
            return wrong("sampling.repeat_penalty", "it is above 0 and at most 2");
        }
        Ok(())
    }
}

/// The rules for making the window smaller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Compression {
    /// Start runs automatically. Otherwise a message that does not fit is refused with the choices.
    pub enabled: bool,
    /// The representation of covered messages.
    pub strategy: Strategy,
    /// The tokens at the end of the conversation that stay verbatim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_recent: Option<u32>,
    /// The number of messages at the end that stay verbatim, instead of a number of tokens (O5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_count: Option<u32>,
    /// The largest number of tokens for a new summary: seed 4's target (O5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_max_tokens: Option<u32>,
    /// The model that writes summaries. Without it the session's own model does (P7, O5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_model: Option<String>,
    /// The number of attempts at a summary when the server is busy or the connection breaks (O5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The seconds that a message waits for a model's summary before the deterministic summariser takes over; 10 by
    /// default (P7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<u32>,
    /// The share of the window at which a policy with a fill trigger acts, above 0 and at most 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_at: Option<f32>,
    /// Tokens, for policies that offload first. If offloading frees less than this and the trigger is still reached,
    /// older text is summarised. At most a fifth of the window (O2, O5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_threshold: Option<u32>,
}

/// The representation of covered messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// By a summary.
    #[default]
    #[serde(alias = "summarize")]
    Summarise,
    /// By a line that says how many messages were left out (seed 2).
    Truncate,
}

/// The rules for snapshots (S4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Snapshots {
    /// Allow snapshots, manual and automatic.
    pub enabled: bool,
    /// Take snapshots automatically: at the threshold and before every compaction.
    pub auto_create: bool,
    /// The share of the available room at which a snapshot is taken, above 0 and at most 1.
    pub auto_threshold: f32,
}

/// The rules for continuing in a new session (E1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rollover {
    /// Continue automatically in a new session when nothing else helps.
    pub enabled: bool,
    /// For a model of at most 3 billion parameters: after this many compactions an overflow leads to a new session at
    /// once.
    pub small_model_compactions: u32,
}

/// The tools that `send` answers itself (G9), and the names under which a model calls them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OwnTools {
    /// Offer the tools. They cost about 400 tokens of every window.
    pub enabled: bool,
    /// Returns covered passages, or a whole message.
    pub recall: String,
    /// Searches the whole conversation.
    pub search_history: String,
    /// Makes the window smaller at once.
    pub compress_to_checkpoint: String,
    /// Switches skills on.
    pub activate_skills: String,
    /// Switches skills off.
    pub deactivate_skills: String,
}

impl Default for Compression {
    fn default() -> Self {
        Self {
            enabled: true,
            strategy: Strategy::default(),
            preserve_recent: None,
            preserve_count: None,
            summary_max_tokens: None,
            summary_model: None,
            attempts: None,
            wait_seconds: None,
            trigger_at: None,
            trigger_threshold: None,
        }
    }
}

impl Default for Snapshots {
    fn default() -> Self {
        Self {
            enabled: true,
            auto_create: true,
            auto_threshold: 0.8,
        }
    }
}

impl Default for Rollover {
    fn default() -> Self {
        Self {
            enabled: true,
            small_model_compactions: 6,
        }
    }
}

impl Default for OwnTools {
    fn default() -> Self {
        Self {
            enabled: false,
            recall: "recall".into(),
            search_history: "search_history".into(),
            compress_to_checkpoint: "compress_to_checkpoint".into(),
            activate_skills: "activate_skills".into(),
            deactivate_skills: "deactivate_skills".into(),
        }
    }
}

/// The reason for which settings are refused. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is no setting of that name.
    #[error("There is no setting \"{key}\". Did you mean \"{nearest}\"?")]
    UnknownKey {
        /// The unknown key, with its group.
        key: String,
        /// The most similar known key.
        nearest: String,
    },
    /// There is no profile of that name.
    #[error("There is no profile \"{name}\". Known: {known}.")]
    UnknownProfile {
        /// The name in the request.
        name: String,
        /// The existing names.
        known: String,
    },
    /// A value is out of range.
    #[error("The setting \"{key}\" is not possible: {why}.")]
    InvalidValue {
        /// The setting.
        key: String,
        /// The problem with the value.
        why: String,
    },
}

impl ConfigError {
    pub(crate) fn invalid(key: &str, why: &str) -> Self {
        Self::InvalidValue {
            key: key.to_owned(),
            why: why.to_owned(),
        }
    }

    /// A stable code of the kind of failure.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownKey { .. } => "unknown_setting",
            Self::UnknownProfile { .. } => "unknown_profile",
            Self::InvalidValue { .. } => "invalid_setting",
        }
    }
}

/// The smallest reserve for an answer, in tokens.
const SHORTEST_ANSWER: u32 = 16;

/// The groups and their keys. The group without a name is the top level.
const KEYS: [(&str, &[&str]); 6] = [
    (
        "",
        &[
            "policy",
            "recall",
            "reserve",
            "sampling",
            "compression",
            "snapshots",
            "rollover",
            "tools",
        ],
    ),
    (
        "compression",
        &[
            "enabled",
            "strategy",
            "preserve_recent",
            "preserve_count",
            "summary_max_tokens",
            "summary_model",
            "attempts",
            "wait_seconds",
            "trigger_at",
            "trigger_threshold",
        ],
    ),
    (
        "sampling",
        &["temperature", "top_p", "min_p", "repeat_penalty", "seed"],
    ),
    ("snapshots", &["enabled", "auto_create", "auto_threshold"]),
    ("rollover", &["enabled", "small_model_compactions"]),
    (
        "tools",
        &[
            "enabled",
            "recall",
            "search_history",
            "compress_to_checkpoint",
            "activate_skills",
            "deactivate_skills",
        ],
    ),
];

impl Config {
    /// Reads settings from JSON.
    ///
    /// # Errors
    ///
    /// An unknown key gives an error with the nearest name, a wrong type an error with its key.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        let invalid = |key: &str, why: String| ConfigError::InvalidValue {
            key: key.to_owned(),
            why,
        };
        let value: Value =
            palimpsest_text::json::parse(text).map_err(|e| invalid("settings", e.to_string()))?;
        for (group, keys) in KEYS {
            let fields = if group.is_empty() {
                Some(&value)
            } else {
                value.get(group)
            };
            let Some(fields) = fields else { continue };
            let Some(fields) = fields.as_object() else {
                let name = if group.is_empty() { "settings" } else { group };
                return Err(invalid(name, "it must be an object".into()));
            };
            for key in fields.keys() {
                if !keys.contains(&key.as_str()) {
                    return Err(unknown(group, key));
                }
            }
            // One field at a time, so that the error names the field.
            for (key, field) in fields {
                let alone = if group.is_empty() {
                    serde_json::json!({ key: field })
                } else {
                    serde_json::json!({ group: { key: field } })
                };
                if field.is_object() && group.is_empty() {
                    continue;
                }
                palimpsest_text::json::read_value::<Self>(&alone)
                    .map_err(|e| invalid(&place(group, key), e.to_string()))?;
            }
        }
        let config: Self =
            palimpsest_text::json::take(value).map_err(|e| invalid("settings", e.to_string()))?;
        config.validate()?;
        Ok(config)
    }

    /// Checks the ranges of the values.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |key: &str, why: &str| Err(ConfigError::invalid(key, why));
        let at = self.snapshots.auto_threshold;
        if !(at.is_finite() && at > 0.0 && at <= 1.0) {
            return wrong("snapshots.auto_threshold", "it is above 0 and at most 1");
        }
        if self.reserve.is_some_and(|n| n < SHORTEST_ANSWER) {
            return wrong("reserve", "an answer needs at least 16 tokens");
        }
        self.sampling.validate()?;
        if self.compression.summary_max_tokens.is_some_and(|n| n < 24) {
            return wrong(
                "compression.summary_max_tokens",
                "a summary needs at least 24 tokens",
            );
        }
        let compression = &self.compression;
        if compression
            .trigger_at
            .is_some_and(|at| !(at.is_finite() && at > 0.0 && at <= 1.0))
        {
            return wrong("compression.trigger_at", "it is above 0 and at most 1");
        }
        if compression.preserve_count == Some(0) {
            return wrong(
                "compression.preserve_count",
                "at least one message stays as it was said",
            );
        }
        if compression.preserve_count.is_some() && compression.preserve_recent.is_some() {
            return wrong(
                "compression.preserve_count",
                "either a number of messages or preserve_recent, a number of tokens",
            );
        }
        if compression.attempts.is_some_and(|n| !(1..=10).contains(&n)) {
            return wrong("compression.attempts", "1 to 10");
        }
        if compression.wait_seconds.is_some_and(|n| n > 3_600) {
            return wrong("compression.wait_seconds", "0 to 3600");
        }
        let names = self.tools.names();
        for (i, name) in names.iter().enumerate() {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
                return wrong("tools", "a tool's name has 1 to 64 letters, digits, _ or -");
            }
            if names[..i].contains(name) {
                return wrong("tools", "two tools have the same name");
            }
        }
        Ok(())
    }

    /// Returns `true` if all settings have their defaults. The store keeps none then.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Applies the settings to a policy.
    pub(crate) fn shape(&self, policy: &mut Policy) {
        if let Some(recall) = self.recall {
            policy.recall = recall;
        }
        if let Some(tokens) = self.compression.preserve_recent {
            policy.keep_recent = KeepRecent::Tokens { tokens };
        }
        if let Some(messages) = self.compression.preserve_count {
            policy.keep_recent = KeepRecent::Messages { messages };
        }
        if let Some(share) = self.compression.trigger_at {
            for trigger in &mut policy.triggers {
                if let Trigger::Fill { at, .. } = trigger {
                    *at = share;
                }
            }
        }
        if let Some(most) = self.compression.trigger_threshold
            && let Escalation::Weak { tokens, .. } = &mut policy.escalate
        {
            *tokens = most;
        }
        if let Some(most) = self.compression.summary_max_tokens {
            match &mut policy.fading {
                Fading::Single { tokens } => *tokens = most,
                Fading::Ratios { largest, .. } => *largest = most,
                Fading::Cascade { sizes } => {
                    let first = sizes.first().copied().unwrap_or(1).max(1);
                    for size in sizes {
                        *size = (u64::from(*size) * u64::from(most) / u64::from(first)) as u32;
                    }
                }
                Fading::Notes => {}
            }
        }
        if self.compression.strategy == Strategy::Truncate {
            for pass in &mut policy.passes {
                if *pass == Pass::Summarize {
                    *pass = Pass::Truncate;
                }
            }
        }
    }

    /// Applies the settings to the division of a window. One summary gets at most a quarter of the window.
    pub(crate) fn shape_setup(&self, setup: &mut Setup) {
        if let Some(most) = self.compression.summary_max_tokens {
            let most = most.min(setup.shares.window / 4);
            setup.shares.newest = most;
            setup.longest_layer = Some(most);
        }
    }
}

impl OwnTools {
    pub(crate) fn names(&self) -> [&str; 5] {
        [
            &self.recall,
            &self.search_history,
            &self.compress_to_checkpoint,
            &self.activate_skills,
            &self.deactivate_skills,
        ]
    }
}

fn place(group: &str, key: &str) -> String {
    if group.is_empty() {
        key.to_owned()
    } else {
        format!("{group}.{key}")
    }
}

/// The error for an unknown key. The nearest name may belong to another group.
fn unknown(group: &str, key: &str) -> ConfigError {
    let all = KEYS
        .iter()
        .flat_map(|(g, keys)| keys.iter().map(move |k| (*g, *k)));
    let nearest = all
        .min_by_key(|(g, k)| (edits(key, k), *g != group))
        .map(|(g, k)| place(g, k))
        .unwrap_or_default();
    ConfigError::UnknownKey {
        key: place(group, key),
        nearest,
    }
}

/// The most similar of `keys`.
pub(crate) fn nearest(key: &str, keys: &[&str]) -> String {
    let found = keys.iter().min_by_key(|k| edits(key, k));
    found.map_or_else(String::new, |k| (*k).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E3: settings are read, checked, and refused by key: an unknown one with the nearest name.
    #[test]
    fn settings_are_checked() {
        let config = Config::from_json(
            r#"{"policy":"balanced","recall":false,"compression":{"strategy":"truncate","preserve_recent":2048,"summary_max_tokens":1024},"snapshots":{"auto_threshold":0.5}}"#,
        )
        .unwrap();
        assert_eq!(config.compression.preserve_recent, Some(2048));
        assert_eq!(config.compression.strategy, Strategy::Truncate);
        assert!(config.compression.enabled && config.snapshots.auto_create);
        assert!(Config::from_json("{}").unwrap().is_default());
        assert_eq!(
            Config::from_json(r#"{"compression":{"strategy":"summarize"}}"#)
                .unwrap()
                .compression
                .strategy,
            Strategy::Summarise
        );

        let refused = |json: &str, code: &str, sentence: &str| {
            let error = Config::from_json(json).unwrap_err();
            assert_eq!(error.code(), code, "{json}");
            assert!(error.to_string().starts_with(sentence), "{json}: {error}");
        };
        let unknown = |json, key: &str, nearest: &str| {
            refused(
                json,
                "unknown_setting",
                &format!("There is no setting \"{key}\". Did you mean \"{nearest}\"?"),
            );
        };
        unknown(r#"{"polcy":"balanced"}"#, "polcy", "policy");
        unknown(
            r#"{"compression":{"preserveRecent":1}}"#,
            "compression.preserveRecent",
            "compression.preserve_recent",
        );
        unknown(
            r#"{"auto_treshold":1}"#,
            "auto_treshold",
            "snapshots.auto_threshold",
        );
        unknown(r#"{"__proto__":{}}"#, "__proto__", "policy");
        let invalid = |json, key: &str| {
            refused(
                json,
                "invalid_setting",
                &format!("The setting \"{key}\" is not possible"),
            );
        };
        invalid("[]", "settings");
        invalid("{", "settings");
        invalid(r#"{"compression":3}"#, "compression");
        invalid(
            r#"{"compression":{"preserve_recent":-1}}"#,
            "compression.preserve_recent",
        );
        invalid(
            r#"{"compression":{"summary_max_tokens":3}}"#,
            "compression.summary_max_tokens",
        );
        invalid(
            r#"{"snapshots":{"auto_threshold":1.5}}"#,
            "snapshots.auto_threshold",
        );
        invalid(r#"{"reserve":15}"#, "reserve");
        invalid(
            r#"{"sampling":{"temperature":2.5}}"#,
            "sampling.temperature",
        );
        invalid(r#"{"sampling":{"top_p":0}}"#, "sampling.top_p");
        invalid(r#"{"sampling":{"seed":-1}}"#, "sampling.seed");
        invalid(r#"{"tools":{"recall":"search_history"}}"#, "tools");
        invalid(r#"{"tools":{"recall":"a b"}}"#, "tools");
    }

    /// E3: stored settings can be read again, and defaults take no room.
    #[test]
    fn settings_survive_storage() {
        let mut config = Config::default();
        config.tools.enabled = true;
        config.reserve = Some(700);
        config.sampling.seed = Some(7);
        config.compression.preserve_recent = Some(100);
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(Config::from_json(&json).unwrap(), config);
    }
}
