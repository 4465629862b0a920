//! A profile as a form: the settings that several sessions share.

use palimpsest_core::policy::Policy;
use palimpsest_engine::{ModelPolicy, Profile};
use serde_json::{Value, json};

use crate::text::{T, fill, t};

/// A setting of a profile.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its element's identifier.
    pub id: &'static str,
    /// Its name.
    pub name: T,
    /// It is a number, and nothing is as the policy has it; else it is on or off.
    pub number: bool,
    /// Where it stands in the settings.
    keys: [&'static str; 2],
}

const fn entry(id: &'static str, name: T, number: bool, keys: [&'static str; 2]) -> Entry {
    Entry {
        id,
        name,
        number,
        keys,
    }
}

/// The settings beside the policies: numbers first.
#[rustfmt::skip]
pub static ENTRIES: [Entry; 7] = [
    entry("profile-keep", T::ProfileKeep, true, ["compression", "preserve_count"]),
    entry("profile-layer", T::ProfileLayer, true, ["compression", "summary_max_tokens"]),
    entry("profile-tries", T::ProfileTries, true, ["compression", "attempts"]),
    entry("profile-runs", T::ProfileRuns, false, ["compression", "enabled"]),
    entry("profile-snapshots", T::ProfileSnapshots, false, ["snapshots", "auto_create"]),
    entry("profile-rollover", T::ProfileRollover, false, ["rollover", "enabled"]),
    entry("profile-tools", T::ProfileTools, false, ["tools", "enabled"]),
];

/// The identifier of the field with policies by model.
pub const RULES: &str = "profile-rules";

/// What stands in the fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sheet {
    /// The policy: a preset's name, or JSON.
    pub policy: String,
    /// Policies by model, a line each: `pattern → policy`.
    pub rules: String,
    /// The other settings, as [`ENTRIES`] has them; what is on is `true`, what is off is empty.
    pub rest: Vec<String>,
}

/// What is wrong with a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The field's identifier; empty: the whole is wrong.
    pub id: &'static str,
    /// Why.
    pub why: String,
}

impl Sheet {
    /// The form of a profile.
    pub fn of(profile: &Profile) -> Self {
        let line = |rule: &ModelPolicy| format!("{} → {}", rule.model, rule.policy);
        let whole = palimpsest_core::json::value_of(&profile.settings).unwrap_or_default();
        let value = |entry: &Entry| match &whole[entry.keys[0]][entry.keys[1]] {
            Value::Number(n) => n.to_string(),
            Value::Bool(true) => "true".to_owned(),
            _ => String::new(),
        };
        Self {
            policy: profile.policy.clone(),
            rules: profile
                .models
                .iter()
                .map(line)
                .collect::<Vec<_>>()
                .join("\n"),
            rest: ENTRIES.iter().map(value).collect(),
        }
    }

    /// The profile that the fields make of `profile`: what they do not name stays.
    pub fn apply(&self, profile: &Profile) -> Result<Profile, Wrong> {
        let plain = |why: String| Wrong { id: "", why };
        let mut whole =
            palimpsest_core::json::value_of(&profile.settings).map_err(|e| plain(e.to_string()))?;
        for (entry, text) in ENTRIES.iter().zip(&self.rest) {
            let text = text.trim();
            let value = match (entry.number, text) {
                (false, _) => json!(!text.is_empty()),
                (true, "") => Value::Null,
                (true, text) => match text.parse::<u32>() {
                    Ok(n) if n > 0 => json!(n),
                    _ => {
                        let (id, why) = (entry.id, t(T::EditorCountWrong).to_owned());
                        return Err(Wrong { id, why });
                    }
                },
            };
            whole[entry.keys[0]][entry.keys[1]] = value;
        }
        let models = rules(&self.rules).map_err(|why| Wrong { id: RULES, why })?;
        let made = Profile {
            policy: self.policy.clone(),
            models,
            settings: palimpsest_core::json::read_value(&whole)
                .map_err(|e| plain(e.to_string()))?,
        };
        made.validate().map_err(|e| plain(e.to_string()))?;
        Ok(made)
    }
}

/// The rules of such lines; else what is wrong, with its line.
fn rules(text: &str) -> Result<Vec<ModelPolicy>, String> {
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let rule = |(n, line): (usize, &str)| {
        let wrong = |word: &str| fill(T::EditorRuleWrong, &[&(n + 1).to_string(), word.trim()]);
        let parts = line.split_once('→').or_else(|| line.split_once("->"));
        let (model, policy) = parts.ok_or_else(|| wrong(line))?;
        let [model, policy] = [model, policy].map(|part| part.trim().to_owned());
        if model.is_empty() || Policy::from_text(&policy).is_err() {
            return Err(wrong(if model.is_empty() { line } else { &policy }));
        }
        Ok(ModelPolicy { model, policy })
    };
    lines.map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(id: &str) -> usize {
        ENTRIES.iter().position(|entry| entry.id == id).unwrap()
    }

    /// E3, W4: a profile goes through the form and comes back as it was; each field changes its own place.
    #[test]
    fn profiles_come_back() {
        let text = r#"{ "policy": { "base": "balanced", "recall": false },
            "models": [{ "model": "{qwen3*,phi*}", "policy": "watermark" }, { "model": "*70b*", "policy": "checkpoints" }],
            "settings": { "compression": { "trigger_at": 0.7, "attempts": 2 }, "tools": { "enabled": true, "recall": "look" } } }"#;
        let profile = Profile::from_json(text).unwrap();
        let mut sheet = Sheet::of(&profile);
        assert_eq!(
            sheet.rules,
            "{qwen3*,phi*} → watermark\n*70b* → checkpoints"
        );
        assert_eq!(
            sheet.rest,
            ["", "", "2", "true", "true", "true", "true"].map(str::to_owned)
        );
        assert_eq!(sheet.apply(&profile), Ok(profile.clone()));
        sheet.rest[at("profile-keep")] = " 4 ".into();
        sheet.rest[at("profile-tries")].clear();
        sheet.rest[at("profile-runs")].clear();
        sheet.rules = "qwen3* -> auto-summarize\n".into();
        let made = sheet.apply(&profile).unwrap();
        let compression = &made.settings.compression;
        assert_eq!(
            (
                compression.preserve_count,
                compression.attempts,
                compression.enabled
            ),
            (Some(4), None, false)
        );
        assert_eq!(
            (compression.trigger_at, made.settings.tools.recall.as_str()),
            (Some(0.7), "look")
        );
        assert_eq!(made.policy_for("qwen3:4b"), "auto-summarize");
        assert_eq!(made.policy_for("llama3:70b"), profile.policy);
    }

    /// E3: each mistake is told of its field.
    #[test]
    fn mistakes_by_field() {
        let check = |edit: fn(&mut Sheet), id: &str, why: &str| {
            let mut sheet = Sheet::of(&Profile::default());
            edit(&mut sheet);
            let wrong = sheet.apply(&Profile::default()).unwrap_err();
            assert_eq!((wrong.id, wrong.why.as_str()), (id, why));
        };
        check(
            |s| s.rest[0] = "0".into(),
            "profile-keep",
            "A whole number above 0.",
        );
        check(
            |s| s.rest[2] = "often".into(),
            "profile-tries",
            "A whole number above 0.",
        );
        let unknown = "Line 2: “shorten” is not known here.";
        check(
            |s| s.rules = "a → watermark\nb → shorten".into(),
            RULES,
            unknown,
        );
        check(
            |s| s.rules = "watermark".into(),
            RULES,
            "Line 1: “watermark” is not known here.",
        );
        check(
            |s| s.rules = " → watermark".into(),
            RULES,
            "Line 1: “→ watermark” is not known here.",
        );
        let mut sheet = Sheet::of(&Profile::default());
        sheet.policy = "shorten".into();
        assert_eq!(sheet.apply(&Profile::default()).unwrap_err().id, "");
    }
}
