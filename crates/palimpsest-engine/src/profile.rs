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
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{Config, ConfigError};
use crate::engine::{DEVICE, Engine, setup_of};
use crate::error::EngineError;
use crate::ports::{Durability, Key, KeyPart, Op, Query, Table};
use crate::rows::{seal, unseal};
use crate::session::{Change, Session};

/// Settings under a name, for the sessions of a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// The policy where no rule below fits: a preset's name, or JSON.
    pub policy: String,
    /// Policies by model; the first that fits counts.
    pub models: Vec<ModelPolicy>,
    /// Everything else.
    pub settings: Config,
}

/// The policy for some models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPolicy {
    /// Their names, as a pattern ([`palimpsest_text::glob`]); case does not matter.
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
    /// Reads a profile from JSON: a policy may be a name or an object. Unknown keys are refused with the nearest
    /// name, policies that cannot be used with the reason.
    pub fn from_json(text: &str) -> Result<Self, EngineError> {
        let value: Value = palimpsest_text::json::read(text).map_err(|e| wrong("profile", &e))?;
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
                "settings" => profile.settings = Config::from_json(&value.to_string())?,
                _ => return Err(unknown(key, &["policy", "models", "settings"]).into()),
            }
        }
        profile.validate()?;
        Ok(profile)
    }

    /// The policy for a model.
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

    /// The settings with the policy for that model in them.
    fn settings_for(&self, model: &str) -> Config {
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
        Value::Object(_) => Ok(value.to_string()),
        _ => Err(wrong("policy", &"it must be a name or an object")),
    }
}

fn wrong(key: &str, why: &dyn std::fmt::Display) -> EngineError {
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

fn row_key(name: &str) -> Key {
    vec!["profile".into(), name.into()]
}

impl Engine {
    /// Keeps a profile under that name. The sessions that use it take it over at once; the number of those, and of
    /// them the ones that another writer holds, which take it over when they are told to.
    pub async fn save_profile(
        &self,
        name: &str,
        profile: &Profile,
    ) -> Result<(u32, u32), EngineError> {
        profile.validate()?;
        if name.trim().is_empty() {
            return Err(wrong("profile", &"it has a name"));
        }
        let lease = self.store.claim(DEVICE, true).await?;
        let op = Op::Put {
            table: Table::Meta,
            key: row_key(name),
            value: seal(profile)?,
        };
        self.store
            .apply(&lease, None, vec![op], Durability::Strict)
            .await?;
        self.world.notify.changed(DEVICE, 0);
        let (mut done, mut held) = (0, 0);
        for info in self.sessions().await? {
            if info.head.profile.as_deref() != Some(name) {
                continue;
            }
            let taken = match self.open(&info.id, false).await {
                Ok(session) => session.use_profile(Some(name)).await,
                Err(error) => Err(error),
            };
            match taken {
                Ok(()) => done += 1,
                Err(EngineError::Store(_)) => held += 1,
                Err(error) => return Err(error),
            }
        }
        Ok((done, held))
    }

    /// The profile of that name.
    pub async fn profile(&self, name: &str) -> Result<Option<Profile>, EngineError> {
        let query = Query::Get {
            table: Table::Meta,
            key: row_key(name),
        };
        let rows = self.store.read(query).await?;
        let row = rows.first();
        Ok(row.map(|r| unseal("a profile", &r.value)).transpose()?)
    }

    /// The names of all profiles, sorted.
    pub async fn profiles(&self) -> Result<Vec<String>, EngineError> {
        let all = Query::all(Table::Meta, vec!["profile".into()]);
        let rows = self.store.read(all).await?;
        let names = rows.iter().filter_map(|r| match r.key.get(1) {
            Some(KeyPart::Text(name)) => Some(name.clone()),
            _ => None,
        });
        Ok(names.collect())
    }

    /// Forgets a profile. Sessions that used it keep their settings.
    pub async fn remove_profile(&self, name: &str) -> Result<(), EngineError> {
        let lease = self.store.claim(DEVICE, true).await?;
        let op = Op::DeletePrefix {
            table: Table::Meta,
            prefix: row_key(name),
        };
        self.store
            .apply(&lease, None, vec![op], Durability::Strict)
            .await?;
        self.world.notify.changed(DEVICE, 0);
        Ok(())
    }

    /// As [`Self::profile`]; an error where there is none.
    pub(crate) async fn known_profile(&self, name: &str) -> Result<Profile, EngineError> {
        match self.profile(name).await? {
            Some(profile) => Ok(profile),
            None => Err(ConfigError::UnknownProfile {
                name: name.to_owned(),
                known: self.profiles().await?.join(", "),
            }
            .into()),
        }
    }
}

impl Session {
    /// Takes over a project's settings, with the policy for this session's model; `None` lets go of the profile and
    /// leaves the settings as they are.
    pub async fn use_profile(&self, name: Option<&str>) -> Result<(), EngineError> {
        let Some(name) = name else {
            return self.edit_head(|head| head.profile = None).await;
        };
        let profile = self.0.engine.known_profile(name).await?;
        let name = name.to_owned();
        self.write(
            Durability::Strict,
            |state| {
                let mut head = state.head.clone();
                let mut config = profile.settings_for(&head.model);
                head.policy = config.policy.take().unwrap_or_default();
                head.config = config;
                head.profile = Some(name);
                head.strikes = 0;
                let mut setup = setup_of(&head, state.context.counter().as_ref())?;
                setup.tools = state.context.setup().tools;
                let ops = Vec::new();
                Ok((Change { ops, head }, setup))
            },
            |state, setup| state.context.set_setup(setup),
        )
        .await?;
        self.emit_budget();
        Ok(())
    }

    /// The policy for another model: the profile's, where the session still has the one that the profile has for its
    /// model now; else `policy`.
    pub(crate) async fn policy_with(
        &self,
        model: &str,
        policy: &str,
    ) -> Result<String, EngineError> {
        let head = self.head();
        if let Some(name) = head.profile
            && model != head.model
            && policy == head.policy
            && let Some(profile) = self.0.engine.profile(&name).await?
            && profile.policy_for(&head.model) == head.policy
        {
            return Ok(profile.policy_for(model).to_owned());
        }
        Ok(policy.to_owned())
    }
}

/// What a new session of that model begins with.
pub(crate) fn apply(
    profile: &Profile,
    model: &str,
    policy: &mut String,
    config: &mut Config,
) -> Result<(), CoreError> {
    let mut settings = profile.settings_for(model);
    if let Some(name) = settings.policy.take() {
        Policy::from_text(&name)?;
        *policy = name;
    }
    *config = settings;
    Ok(())
}
