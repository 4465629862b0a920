//! Reads policies from data: a preset and its differences, checked; an error names the nearest known word.

use serde_json::{Map, Value};

use super::{Policy, presets};
use crate::error::CoreError;
use crate::nearest::nearest;

impl Policy {
    /// Reads a policy from text: the name of a preset, or the JSON of [`Self::from_value`]. A session's head stores
    /// this text.
    pub fn from_text(text: &str) -> Result<Self, CoreError> {
        if !text.trim_start().starts_with('{') {
            return Self::preset(text);
        }
        let value: Value = palimpsest_text::json::parse(text)
            .map_err(|e| CoreError::InvalidPolicy(format!("it is not JSON: {e}")))?;
        Self::from_value(&value)
    }

    /// Reads a policy from data: the name of a preset, or an object with any of a policy's keys. Keys that the object
    /// lacks have the value of the preset `base` (`balanced` by default). Keys may be in camel case. An unknown key is
    /// an error that names the nearest known one.
    ///
    /// ```
    /// # use palimpsest_core::policy::Policy;
    /// let data = serde_json::json!({"base": "watermark", "name": "mine", "keepRecent": {"by": "messages", "messages": 9}});
    /// assert_eq!(Policy::from_value(&data).map(|p| p.name), Ok("mine".to_owned()));
    /// ```
    pub fn from_value(value: &Value) -> Result<Self, CoreError> {
        let given = match value {
            Value::String(name) => return Self::preset(name),
            Value::Object(given) => given,
            _ => {
                return Err(CoreError::InvalidPolicy(
                    "a policy is a name or an object".into(),
                ));
            }
        };
        let mut given = snake_keys(given);
        let base = match given.remove("base") {
            None => presets::balanced(),
            Some(Value::String(name)) => Self::preset(&name)?,
            Some(_) => {
                return Err(CoreError::InvalidPolicy(
                    "`base` is the name of a preset".into(),
                ));
            }
        };
        let named = given.contains_key("name");
        let Ok(Value::Object(mut whole)) = palimpsest_text::json::value_of(&base) else {
            return Err(CoreError::InvalidPolicy("the preset cannot be read".into()));
        };
        whole.extend(given);
        if !named {
            whole.insert("name".into(), format!("custom {}", base.name).into());
        }
        let policy: Self = palimpsest_text::json::take(Value::Object(whole))
            .map_err(|e| CoreError::InvalidPolicy(explain(&e.to_string())))?;
        policy.validate()?;
        Ok(policy)
    }
}

/// Converts keys to their stored case: snake case, and camel case inside of the rules for tools, whose types use it.
fn snake_keys(given: &Map<String, Value>) -> Map<String, Value> {
    given
        .iter()
        .map(|(key, value)| {
            let key = snake(key);
            let inside = match key.as_str() {
                "tool_output" | "repeats" | "marks" => camel,
                _ => snake,
            };
            let value = with_keys(value, inside);
            (key, value)
        })
        .collect()
}

/// Converts every key of every object in a value with `case`.
fn with_keys(value: &Value, case: fn(&str) -> String) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (case(key), with_keys(value, case)))
            .collect(),
        Value::Array(items) => items.iter().map(|v| with_keys(v, case)).collect(),
        plain => plain.clone(),
    }
}

fn snake(key: &str) -> String {
    let mut out = String::with_capacity(key.len() + 4);
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
            out.push(c.to_ascii_lowercase());
        } else {
            out.push(c);
        }
    }
    out
}

fn camel(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    let mut upper = false;
    for c in key.chars() {
        if c == '_' {
            upper = !out.is_empty();
        } else {
            out.push(if upper { c.to_ascii_uppercase() } else { c });
            upper = false;
        }
    }
    out
}

/// Adds the nearest expected name to serde's error about an unknown one. Names are in camel case, as a policy is written.
fn explain(error: &str) -> String {
    let mut quoted = error.split('`').skip(1).step_by(2);
    let is_key = error.starts_with("unknown field");
    if !is_key && !error.starts_with("unknown variant") {
        return error.to_owned();
    }
    let (what, case): (_, fn(&str) -> String) = if is_key {
        ("key", camel)
    } else {
        ("word", str::to_owned)
    };
    let Some(name) = quoted.next().map(case) else {
        return error.to_owned();
    };
    let mut known: Vec<String> = quoted.map(case).collect();
    if known.iter().any(|key| key == "triggers") {
        // read before the others
        known.insert(0, "base".into());
    }
    match nearest(&name, known.iter().map(String::as_str)) {
        Some(meant) => format!("there is no {what} \"{name}\" (did you mean \"{meant}\"?)"),
        None => format!(
            "there is no {what} \"{name}\"; known are {}",
            known.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(value: &Value, expected: Result<&str, &str>) {
        let got = Policy::from_value(value);
        match (got, expected) {
            (Ok(policy), Ok(name)) => assert_eq!(policy.name, name),
            (Err(error), Err(words)) => {
                assert!(error.to_string().contains(words), "{error}");
                let code = error.code();
                assert!(
                    code == "invalid_policy" || code == "unknown_policy",
                    "{code}"
                );
            }
            (got, expected) => panic!("{value}: {got:?}, not {expected:?}"),
        }
    }

    /// E4: a custom policy is a preset and its differences. Contradictions and unknown keys are typed errors that name
    /// the nearest known word.
    #[test]
    fn custom_policies() {
        check(&json!("watermark"), Ok("watermark"));
        check(&json!("watermarks"), Err("There is no policy called"));
        check(&json!({}), Ok("custom balanced"));
        check(&json!({"base": "watermark"}), Ok("custom watermark"));
        check(
            &json!({"base": "checkpoint"}),
            Err("There is no policy called"),
        );
        check(&json!({"base": 3}), Err("name of a preset"));
        check(&json!(7), Err("a name or an object"));
        check(&json!({"name": "mine", "onArrival": true}), Ok("mine"));
        check(
            &json!({"name": "rules", "toolOutput": {"error_percent": 20, "rules": [{"tools": "*", "aboveLines": 9, "method": "content"}]}, "passes": [{"pass": "strip", "keepErrors": true}, {"pass": "emergency"}]}),
            Ok("rules"),
        );
        check(&json!({"name": " "}), Err("has a name"));
        check(&json!({"trigers": []}), Err("did you mean \"triggers\"?"));
        check(
            &json!({"passes": [{"pass": "condnese"}]}),
            Err("did you mean \"condense\"?"),
        );
        check(
            &json!({"passes": [{"pass": "strip", "keepErors": true}]}),
            Err("did you mean \"keepErrors\"?"),
        );
        check(
            &json!({"preset": "balanced"}),
            Err("known are base, name, triggers, passes, escalate, cover, keepRecent, "),
        );
        check(
            &json!({"passes": [{"pass": "summarize"}]}),
            Err("the last pass is `emergency`"),
        );
        check(
            &json!({"passes": [{"pass": "offload"}, {"pass": "condense"}, {"pass": "emergency"}]}),
            Err("`condense` cannot stand after `offload`"),
        );
        check(
            &json!({"passes": [{"pass": "summarize"}, {"pass": "truncate"}, {"pass": "emergency"}]}),
            Err("not both"),
        );
        check(
            &json!({"triggers": [{"on": "fill", "of": "window", "at": 1.5}]}),
            Err("a fraction above 0"),
        );
        check(
            &json!({"triggers": [{"on": "messages", "count": 1}]}),
            Err("at least 2"),
        );
        check(
            &json!({"fading": {"by": "cascade", "sizes": [100, 200]}}),
            Err("get smaller"),
        );
        check(
            &json!({"fading": {"by": "ratios", "largest": 1_200, "percent": [60, 100]}}),
            Err("below 100"),
        );
        check(
            &json!({"fading": {"by": "ratios", "largest": 1_200, "percent": [60, 50, 40]}}),
            Ok("custom balanced"),
        );
    }

    /// E4: a head stores a name or JSON.
    #[test]
    fn from_text() {
        assert_eq!(
            Policy::from_text("watermark").map(|p| p.name),
            Ok("watermark".into())
        );
        let mine = Policy::from_text(" {\"base\":\"watermark\",\"name\":\"mine\"}").unwrap();
        assert_eq!((mine.name.as_str(), mine.passes.len()), ("mine", 2));
        assert_eq!(
            Policy::from_text("{\"base\":").unwrap_err().code(),
            "invalid_policy"
        );
        assert_eq!(
            Policy::from_text("mine").unwrap_err().code(),
            "unknown_policy"
        );
    }

    /// E4: every preset is valid data: written and read again it is the same policy.
    #[test]
    fn presets_are_data() {
        for (name, make) in presets::ALL {
            let policy = make();
            assert_eq!(policy.name, *name);
            policy.validate().unwrap();
            let data = serde_json::to_value(&policy).unwrap();
            assert_eq!(Policy::from_value(&data).unwrap(), policy, "{name}");
        }
    }

    /// C2: the ratios 60, 50, 40 % give the other table of sizes.
    #[test]
    fn ratio_tables() {
        let fading = super::super::Fading::Ratios {
            largest: 1_200,
            percent: vec![60, 50, 40],
        };
        assert_eq!(fading.sizes(), [1_200, 720, 360, 144]);
        assert_eq!(fading.room(2, 16_384), Some(360));
        assert_eq!(fading.room(9, 8_192), Some(72));
    }
}
