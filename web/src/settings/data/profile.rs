//! A profile as a form: the settings that several sessions share.

use palimpsest_core::policy::Policy;
use palimpsest_engine::{ModelPolicy, Profile};
use palimpsest_text::number;
use serde_json::{Value, json};

use crate::settings::percent_of;
use crate::text::{T, fill, t};

/// A setting of a profile.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its element's identifier.
    pub id: &'static str,
    /// Its name.
    pub name: T,
    /// Its possible values.
    pub kind: Kind,
    /// Its place in the settings; the group is empty for the top level.
    keys: [&'static str; 2],
}

/// The possible values of a field.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A whole number above 0; nothing is as the policy has it.
    Number,
    /// A share in percent; nothing is as the policy, or else the default, has it.
    Percent,
    /// A word.
    Word,
    /// A choice: values and names. The empty one leaves it to the policy.
    Choice(&'static [(&'static str, T)]),
    /// On or off.
    Flag,
}

const fn entry(id: &'static str, name: T, kind: Kind, keys: [&'static str; 2]) -> Entry {
    Entry {
        id,
        name,
        kind,
        keys,
    }
}

/// The settings beside the policies. Tools' names come last.
#[rustfmt::skip]
pub static ENTRIES: [Entry; 18] = [
    entry("profile-at", T::ProfileAt, Kind::Percent, ["compression", "trigger_at"]),
    entry("profile-reserve", T::Reserve, Kind::Number, ["", "reserve"]),
    entry("profile-keep", T::ProfileKeep, Kind::Number, ["compression", "preserve_count"]),
    entry("profile-layer", T::ProfileLayer, Kind::Number, ["compression", "summary_max_tokens"]),
    entry("profile-tries", T::ProfileTries, Kind::Number, ["compression", "attempts"]),
    entry("profile-freed", T::ProfileFreed, Kind::Number, ["compression", "trigger_threshold"]),
    entry("profile-mark", T::ProfileMark, Kind::Percent, ["snapshots", "auto_threshold"]),
    entry("profile-strategy", T::ProfileStrategy, Kind::Choice(&[("summarise", T::StrategySummary), ("truncate", T::StrategyCut)]), ["compression", "strategy"]),
    entry("profile-recall", T::ProfileRecall, Kind::Choice(&[("", T::ProfileAsPolicy), ("true", T::EditorOn), ("false", T::EditorOff)]), ["", "recall"]),
    entry("profile-runs", T::ProfileRuns, Kind::Flag, ["compression", "enabled"]),
    entry("profile-snapshots", T::ProfileSnapshots, Kind::Flag, ["snapshots", "auto_create"]),
    entry("profile-rollover", T::ProfileRollover, Kind::Flag, ["rollover", "enabled"]),
    entry("profile-tools", T::ProfileTools, Kind::Flag, ["tools", "enabled"]),
    entry("tool-recall", T::ProfileToolNames, Kind::Word, ["tools", "recall"]),
    entry("tool-search", T::ProfileToolNames, Kind::Word, ["tools", "search_history"]),
    entry("tool-compress", T::ProfileToolNames, Kind::Word, ["tools", "compress_to_checkpoint"]),
    entry("tool-activate", T::ProfileToolNames, Kind::Word, ["tools", "activate_skills"]),
    entry("tool-deactivate", T::ProfileToolNames, Kind::Word, ["tools", "deactivate_skills"]),
];

impl Entry {
    /// The name that its setting has.
    pub const fn usual_name(&self) -> &'static str {
        self.keys[1]
    }

    /// The place of its value.
    fn at<'a>(&self, whole: &'a mut Value) -> &'a mut Value {
        match self.keys {
            ["", key] => &mut whole[key],
            [group, key] => &mut whole[group][key],
        }
    }

    /// The text of the field for a value.
    fn shown(&self, value: &Value) -> String {
        match (self.kind, value) {
            (Kind::Percent, Value::Number(n)) => {
                let share = n.as_f64().unwrap_or_default();
                number::fixed(share * 100.0, 0)
            }
            (_, Value::Number(n)) => n.to_string(),
            (_, Value::String(word)) => word.clone(),
            (_, Value::Bool(true)) => "true".to_owned(),
            (Kind::Choice(_), Value::Bool(false)) => "false".to_owned(),
            _ => String::new(),
        }
    }

    /// The value of the input, or the error. An unchanged share keeps the old value.
    fn read(&self, text: &str, before: &Value) -> Result<Value, T> {
        let text = text.trim();
        if text == self.shown(before) {
            return Ok(before.clone());
        }
        match (self.kind, text) {
            (Kind::Flag, text) => Ok(json!(!text.is_empty())),
            // the only share that has no policy behind it
            (Kind::Percent, "") if self.keys[0] == "snapshots" => Ok(json!(0.8)),
            (Kind::Number | Kind::Percent | Kind::Choice(_), "") => Ok(Value::Null),
            (Kind::Number, text) => match text.parse::<u32>() {
                Ok(n) if n > 0 => Ok(json!(n)),
                _ => Err(T::EditorCountWrong),
            },
            (Kind::Percent, text) => match percent_of(text) {
                Some(percent) => Ok(json!(f64::from(percent) / 100.0)),
                None => Err(T::ProfilePercentWrong),
            },
            (Kind::Choice(_), "true" | "false") => Ok(json!(text == "true")),
            (Kind::Choice(_) | Kind::Word, text) => Ok(json!(text)),
        }
    }
}

/// The identifier of the field with policies by model.
pub const RULES: &str = "profile-rules";

/// The values of the fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sheet {
    /// The policy: a preset's name, or JSON.
    pub policy: String,
    /// Policies by model, a line each: `pattern → policy`.
    pub rules: String,
    /// The other settings, in the order of [`ENTRIES`]; `true` for on, empty for off.
    pub rest: Vec<String>,
}

/// An error in a form.
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
        let whole = palimpsest_text::json::value_of(&profile.settings).unwrap_or_default();
        let value = |entry: &Entry| entry.shown(entry.at(&mut whole.clone()));
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

    /// Returns `profile` with the values of the fields. Values without a field stay.
    pub fn apply(&self, profile: &Profile) -> Result<Profile, Wrong> {
        let plain = |why: String| Wrong { id: "", why };
        let mut whole =
            palimpsest_text::json::value_of(&profile.settings).map_err(|e| plain(e.to_string()))?;
        for (entry, text) in ENTRIES.iter().zip(&self.rest) {
            let place = entry.at(&mut whole);
            *place = entry.read(text, place).map_err(|why| Wrong {
                id: entry.id,
                why: t(why).to_owned(),
            })?;
        }
        let models = rules(&self.rules).map_err(|why| Wrong { id: RULES, why })?;
        let made = Profile {
            policy: self.policy.clone(),
            models,
            settings: palimpsest_text::json::read_value(&whole)
                .map_err(|e| plain(e.to_string()))?,
        };
        made.validate().map_err(|e| plain(e.to_string()))?;
        Ok(made)
    }
}

/// Parses the rules of such lines, or returns the error with its line.
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
    use palimpsest_engine::config::Strategy;

    fn at(id: &str) -> usize {
        ENTRIES.iter().position(|entry| entry.id == id).unwrap()
    }

    /// E3, W4: a profile survives the form unchanged, and each field changes only its own place.
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
            [
                "70",
                "",
                "",
                "",
                "2",
                "",
                "80",
                "summarise",
                "",
                "true",
                "true",
                "true",
                "true",
                "look",
                "search_history",
                "compress_to_checkpoint",
                "activate_skills",
                "deactivate_skills"
            ]
            .map(str::to_owned)
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
        sheet.rest[at("profile-at")] = "65 %".into();
        sheet.rest[at("profile-reserve")] = "700".into();
        sheet.rest[at("profile-strategy")] = "truncate".into();
        sheet.rest[at("profile-recall")] = "false".into();
        sheet.rest[at("profile-mark")].clear();
        sheet.rest[at("tool-search")] = "find".into();
        let other = sheet.apply(&profile).unwrap().settings;
        assert_eq!(
            (
                other.reserve,
                other.recall,
                other.tools.search_history.as_str()
            ),
            (Some(700), Some(false), "find")
        );
        assert_eq!(
            (other.compression.trigger_at, other.compression.strategy),
            (Some(0.65), Strategy::Truncate)
        );
        assert!((other.snapshots.auto_threshold - 0.8).abs() < 1e-6);
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
            |s| s.rest[2] = "0".into(),
            "profile-keep",
            "A whole number above 0.",
        );
        check(
            |s| s.rest[4] = "often".into(),
            "profile-tries",
            "A whole number above 0.",
        );
        check(
            |s| s.rest[0] = "120".into(),
            "profile-at",
            "A whole number from 1 to 100.",
        );
        let unknown = "Line 2: “shorten” is not a known rule.";
        check(
            |s| s.rules = "a → watermark\nb → shorten".into(),
            RULES,
            unknown,
        );
        check(
            |s| s.rules = "watermark".into(),
            RULES,
            "Line 1: “watermark” is not a known rule.",
        );
        check(
            |s| s.rules = " → watermark".into(),
            RULES,
            "Line 1: “→ watermark” is not a known rule.",
        );
        let mut sheet = Sheet::of(&Profile::default());
        sheet.policy = "shorten".into();
        assert_eq!(sheet.apply(&Profile::default()).unwrap_err().id, "");
    }
}
