//! Settings that the sessions of one project share, with a policy for each model (W4, E4).
//!
//! A profile is data under a name. A session that uses one begins with its settings and gets them again whenever
//! the profile is saved; with another model it gets the policy the profile has for that model.
//!
//! ```json
//! { "policy": "balanced",
//!   "models": [ { "model": "{llama3.2*,qwen3:4b}", "policy": "watermark" },
//!               { "model": "*70b*", "policy": { "base": "balanced", "recall": false } } ],
//!   "settings": { "compression": { "trigger_at": 0.75 } } }
//! ```

use palimpsest_core::error::CoreError;
use palimpsest_core::policy::Policy;
use palimpsest_text::glob;
use palimpsest_text::json::ToJson as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{Config, ConfigError};
use crate::error::EngineError;
use crate::ports::Key;

/// Settings under a name, for the sessions of a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// The policy for models that no rule below matches: a preset's name, or JSON.
    pub policy: String,
    /// Policies by model. The first match counts.
    pub models: Vec<ModelPolicy>,
    /// All other settings.
    pub settings: Config,
}

/// The policy for some models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPolicy {
    /// A pattern for the names of models ([`palimpsest_text::glob`]). It ignores case.
    pub model: String,
    /// A preset's name, or JSON.
    pub policy: String,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            policy: "balanced".into(),
            models: Vec::new(),
            settings: Config::default(),
        }
    }
}

impl Profile {
    /// Applies the profile to the start of a new session with that model.
    pub(crate) fn apply(
        &self,
        model: &str,
        policy: &mut String,
        config: &mut Config,
    ) -> Result<(), CoreError> {
        let mut settings = self.settings_for(model);
        if let Some(name) = settings.policy.take() {
            Policy::from_text(&name)?;
            *policy = name;
        }
        *config = settings;
        Ok(())
    }

    /// Reads a profile from JSON. A policy may be a name or an object.
    ///
    /// # Errors
    ///
    /// An unknown key gives an error with the nearest name, an unusable policy an error with the reason.
    pub fn from_json(text: &str) -> Result<Self, EngineError> {
        let value: Value = palimpsest_text::json::parse(text).map_err(|e| wrong("profile", &e))?;
        let object = value
            .as_object()
            .ok_or_else(|| wrong("profile", &"it must be an object"))?;
        let mut profile = Self::default();
        for (key, value) in object {
            match key.as_str() {
                "policy" => profile.policy = policy_text(value)?,
                "models" => {
                    let rules = value
                        .as_array()
                        .ok_or_else(|| wrong("models", &"it must be a list"))?;
                    profile.models = rules.iter().map(rule).collect::<Result<_, _>>()?;
                }
                "settings" => profile.settings = Config::from_json(&value.to_json())?,
                _ => return Err(unknown(key, &["policy", "models", "settings"]).into()),
            }
        }
        profile.validate()?;
        Ok(profile)
    }

    /// Returns the policy for a model.
    pub fn policy_for(&self, model: &str) -> &str {
        let model = model.to_lowercase();
        self.models
            .iter()
            .find(|rule| glob::matches(&rule.model.to_lowercase(), &model))
            .map_or(&self.policy, |rule| &rule.policy)
    }

    /// Checks every policy and the settings.
    pub fn validate(&self) -> Result<(), EngineError> {
        let rules = self.models.iter().map(|rule| &rule.policy);
        for policy in rules.chain([&self.policy]) {
            Policy::from_text(policy)?;
        }
        if self.models.iter().any(|rule| rule.model.trim().is_empty()) {
            return Err(wrong("models", &"a rule names its models"));
        }
        Ok(self.settings.validate()?)
    }

    /// Returns the settings, with the policy for that model in them.
    pub(crate) fn settings_for(&self, model: &str) -> Config {
        Config {
            policy: Some(self.policy_for(model).to_owned()),
            ..self.settings.clone()
        }
    }
}

fn rule(value: &Value) -> Result<ModelPolicy, EngineError> {
    let object = value
        .as_object()
        .ok_or_else(|| wrong("models", &"each is an object with model and policy"))?;
    if let Some(key) = object.keys().find(|k| *k != "model" && *k != "policy") {
        return Err(unknown(key, &["model", "policy"]).into());
    }
    let model = object.get("model").and_then(Value::as_str);
    Ok(ModelPolicy {
        model: model
            .ok_or_else(|| wrong("models.model", &"it must be a name or a pattern"))?
            .to_owned(),
        policy: policy_text(object.get("policy").unwrap_or(&Value::Null))?,
    })
}

fn policy_text(value: &Value) -> Result<String, EngineError> {
    match value {
        Value::String(name) => Ok(name.clone()),
        Value::Object(_) => Ok(value.to_json()),
        _ => Err(wrong("policy", &"it must be a name or an object")),
    }
}

pub(crate) fn wrong(key: &str, why: &dyn std::fmt::Display) -> EngineError {
    ConfigError::InvalidValue {
        key: key.to_owned(),
        why: why.to_string(),
    }
    .into()
}

fn unknown(key: &str, keys: &[&str]) -> ConfigError {
    ConfigError::UnknownKey {
        key: key.to_owned(),
        nearest: crate::config::nearest(key, keys),
    }
}

/// The key of the row that holds a profile.
pub(crate) fn row_key(name: &str) -> Key {
    vec!["profile".into(), name.into()]
}
