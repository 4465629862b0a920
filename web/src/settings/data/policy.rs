//! A policy as a form: the values of its fields, and the policy that they make.

mod rest;
mod rules;

pub use rest::{Entry, Kind, REST};

use palimpsest_core::error::CoreError;
use palimpsest_core::pass::PassKind;
use palimpsest_core::policy::{
    Cover, Denominator, Fading, KeepRecent, Levels, OnFailure, Pass, Policy, Trigger, UserWords,
};
use palimpsest_text::number;
use serde_json::{Map, Value};

/// The passes that can be left out, in their order. The last resort stands in every policy.
pub const PASSES: [PassKind; 7] = [
    PassKind::Condense,
    PassKind::Dedupe,
    PassKind::Strip,
    PassKind::Offload,
    PassKind::Summarize,
    PassKind::Truncate,
    PassKind::Fade,
];

/// The fields of the form. Numbers are as they were typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Form {
    /// The base of the fill level; empty: no fill trigger.
    pub of: String,
    /// At which share, in percent.
    pub at: String,
    /// The end that stays: `share`, `tokens` or `messages`.
    pub keep: String,
    /// The number of tokens or messages.
    pub count: String,
    /// `needed` or `all`.
    pub cover: String,
    /// `share`, `summarize` or `never`.
    pub words: String,
    /// `age` or `size`.
    pub levels: String,
    /// `notes`, `cascade`, `ratios` or `single`.
    pub fading: String,
    /// The sizes of layers, as the way of fading needs them.
    pub sizes: String,
    /// `extractive` or `refuse`.
    pub failure: String,
    /// The passes, as [`PASSES`] has them.
    pub passes: [bool; 7],
    /// Recall covered passages.
    pub recall: bool,
    /// Condense tool output on arrival.
    pub arrival: bool,
    /// The other fields, in the order of [`REST`]; `true` for on, empty for off.
    pub rest: Vec<String>,
}

/// A field that can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The share, in percent.
    At,
    /// Tokens or messages that stay.
    Count,
    /// The sizes of layers.
    Sizes,
    /// The passes.
    Passes,
    /// One of [`REST`].
    Rest(usize),
}

/// An error in a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The field; `None` for the whole form.
    pub field: Option<Field>,
    /// Why; empty where the field says it itself.
    pub why: String,
}

/// The preset that a policy's text begins from.
pub fn base_of(text: &str) -> String {
    let base = palimpsest_text::json::parse(text)
        .ok()
        .and_then(|value| value.get("base")?.as_str().map(str::to_owned));
    match base {
        Some(base) => base,
        None if text.trim_start().starts_with('{') => "balanced".to_owned(),
        None => text.to_owned(),
    }
}

impl Form {
    /// The form of a policy.
    pub fn of(policy: &Policy) -> Self {
        let fill = policy.triggers.iter().find_map(|trigger| match trigger {
            Trigger::Fill { of, at } => Some((*of, *at)),
            _ => None,
        });
        let (keep, count) = match policy.keep_recent {
            KeepRecent::Share => ("share", String::new()),
            KeepRecent::Tokens { tokens } => ("tokens", tokens.to_string()),
            KeepRecent::Messages { messages } => ("messages", messages.to_string()),
        };
        let list = |numbers: &[u32]| {
            let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
            words.join(", ")
        };
        let (fading, sizes) = match &policy.fading {
            Fading::Notes => ("notes", String::new()),
            Fading::Cascade { sizes } => ("cascade", list(sizes)),
            Fading::Ratios { largest, percent } => {
                ("ratios", format!("{largest}, {}", list(percent)))
            }
            Fading::Single { tokens } => ("single", tokens.to_string()),
        };
        Self {
            of: fill.map_or_else(String::new, |(of, _)| word(of)),
            at: fill.map_or_else(
                || "80".to_owned(),
                |(_, at)| number::fixed(f64::from(at) * 100.0, 0),
            ),
            keep: keep.to_owned(),
            count,
            cover: word(policy.cover),
            words: word(policy.user_words),
            levels: word(policy.levels),
            fading: fading.to_owned(),
            sizes,
            failure: word(policy.on_failure),
            passes: PASSES.map(|kind| policy.passes.iter().any(|p| p.kind() == kind)),
            recall: policy.recall,
            arrival: policy.on_arrival,
            rest: rest::of(policy),
        }
    }

    /// The value of the field whose element has that identifier.
    pub fn part(&self, id: &str) -> String {
        let flag = |on: bool| if on { "true" } else { "" }.to_owned();
        let plain = match id {
            "policy-of" => &self.of,
            "policy-at" => &self.at,
            "policy-keep" => &self.keep,
            "policy-count" => &self.count,
            "policy-cover" => &self.cover,
            "policy-words" => &self.words,
            "policy-levels" => &self.levels,
            "policy-fading" => &self.fading,
            "policy-sizes" => &self.sizes,
            "policy-failure" => &self.failure,
            "policy-recall" => return flag(self.recall),
            "policy-arrival" => return flag(self.arrival),
            _ => {
                let pass = PASSES
                    .iter()
                    .zip(self.passes)
                    .find(|(kind, _)| id.strip_prefix("pass-") == Some(kind.name()));
                let at = REST.iter().position(|entry| entry.id == id);
                return match (pass, at.and_then(|at| self.rest.get(at))) {
                    (Some((_, on)), _) => flag(on),
                    (None, Some(text)) => text.clone(),
                    (None, None) => String::new(),
                };
            }
        };
        plain.clone()
    }

    /// Returns `policy` with the values of the fields. Values without a field stay.
    pub fn apply(&self, policy: &Policy) -> Result<Policy, Wrong> {
        let mut policy = policy.clone();
        policy
            .triggers
            .retain(|t| !matches!(t, Trigger::Fill { .. }));
        if !self.of.is_empty() {
            let percent = whole(&self.at, Field::At)?;
            if !(1..=100).contains(&percent) {
                return Err(wrong(Field::At));
            }
            let fill = Trigger::Fill {
                of: choice::<Denominator>(&self.of)?,
                at: percent as f32 / 100.0,
            };
            policy.triggers.insert(0, fill);
        }
        policy.keep_recent = match self.keep.as_str() {
            "tokens" => KeepRecent::Tokens {
                tokens: whole(&self.count, Field::Count)?,
            },
            "messages" => KeepRecent::Messages {
                messages: whole(&self.count, Field::Count)?,
            },
            _ => KeepRecent::Share,
        };
        policy.cover = choice::<Cover>(&self.cover)?;
        policy.user_words = choice::<UserWords>(&self.words)?;
        policy.levels = choice::<Levels>(&self.levels)?;
        policy.on_failure = choice::<OnFailure>(&self.failure)?;
        policy.fading = self.fading()?;
        policy.passes = self.ladder(&policy)?;
        policy.recall = self.recall;
        policy.on_arrival = self.arrival;
        let policy = rest::apply(&self.rest, &policy)?;
        policy.validate().map_err(|error| core(&error))?;
        Ok(policy)
    }

    fn fading(&self) -> Result<Fading, Wrong> {
        let numbers = || -> Result<Vec<u32>, Wrong> {
            self.sizes
                .split([',', ';', ' '])
                .filter(|word| !word.is_empty())
                .map(|word| whole(word, Field::Sizes))
                .collect()
        };
        let bad = wrong(Field::Sizes);
        let falls = |sizes: &[u32]| sizes.windows(2).all(|w| w[0] > w[1]);
        match self.fading.as_str() {
            "cascade" => {
                let sizes = numbers()?;
                let good = !sizes.is_empty() && falls(&sizes);
                good.then_some(Fading::Cascade { sizes }).ok_or(bad)
            }
            "ratios" => {
                let numbers = numbers()?;
                let (largest, percent) = numbers.split_first().ok_or_else(|| bad.clone())?;
                let good = !percent.is_empty() && percent.iter().all(|p| *p < 100);
                let fading = Fading::Ratios {
                    largest: *largest,
                    percent: percent.to_vec(),
                };
                good.then_some(fading).ok_or(bad)
            }
            "single" => match numbers()?[..] {
                [tokens] => Ok(Fading::Single { tokens }),
                _ => Err(bad),
            },
            _ => Ok(Fading::Notes),
        }
    }

    /// The passes that are ticked, each as the policy, or else the default, has it.
    fn ladder(&self, policy: &Policy) -> Result<Vec<Pass>, Wrong> {
        let chosen = |kind| {
            let at = PASSES.iter().position(|k| *k == kind);
            at.is_some_and(|at| self.passes[at])
        };
        if chosen(PassKind::Summarize) && chosen(PassKind::Truncate) {
            return Err(wrong(Field::Passes));
        }
        let usual = Policy::preset("balanced").map_err(|error| core(&error))?;
        let all = policy.passes.iter().chain(&usual.passes);
        let passes = PASSES.into_iter().filter(|kind| chosen(*kind));
        let mut passes: Vec<Pass> = passes
            .map(|kind| {
                let there = all.clone().find(|pass| pass.kind() == kind);
                there.copied().unwrap_or(Pass::Truncate)
            })
            .collect();
        passes.push(Pass::Emergency);
        Ok(passes)
    }
}

/// The share of its denominator at which a policy acts, in percent; nothing if it does not act by fill.
pub fn share_of(text: &str) -> Option<u32> {
    let form = Form::of(&Policy::from_text(text).ok()?);
    (!form.of.is_empty()).then(|| form.at.parse().ok())?
}

/// The policy's text with another such share.
pub fn acting_at(text: &str, percent: u32) -> Option<String> {
    let policy = Policy::from_text(text).ok()?;
    let mut form = Form::of(&policy);
    form.at = percent.to_string();
    text_of(&form.apply(&policy).ok()?, &base_of(text)).ok()
}

/// The stored form of the policy: the name of the preset if it is equal, otherwise the differences from it.
pub fn text_of(policy: &Policy, base: &str) -> Result<String, CoreError> {
    let (mine, preset) = (fields(policy), fields(&Policy::preset(base)?));
    let given = format!("custom {base}");
    let differs = |(key, value): &(String, Value)| {
        preset.get(key) != Some(value) && !(key == "name" && *value == given.as_str())
    };
    let mut kept: Map<String, Value> = mine.into_iter().filter(differs).collect();
    if kept.is_empty() {
        return Ok(base.to_owned());
    }
    kept.insert("base".to_owned(), base.into());
    Ok(Value::Object(kept).to_string())
}

fn fields(policy: &Policy) -> Map<String, Value> {
    match palimpsest_text::json::value_of(policy) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// The word for one of a few, as it stands in JSON.
fn word(choice: impl serde::Serialize) -> String {
    match palimpsest_text::json::value_of(&choice) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

fn choice<C: serde::de::DeserializeOwned>(word: &str) -> Result<C, Wrong> {
    palimpsest_text::json::read_value(&Value::String(word.to_owned()))
        .map_err(|error| plain(&error))
}

fn plain(error: &serde_json::Error) -> Wrong {
    Wrong {
        field: None,
        why: error.to_string(),
    }
}

/// A number of one or more.
fn whole(text: &str, field: Field) -> Result<u32, Wrong> {
    match text.trim().trim_end_matches('%').trim().parse::<u32>() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(wrong(field)),
    }
}

fn wrong(field: Field) -> Wrong {
    Wrong {
        field: Some(field),
        why: String::new(),
    }
}

fn core(error: &CoreError) -> Wrong {
    Wrong {
        field: None,
        why: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palimpsest_core::policy::StripOptions;

    /// E4: every preset survives the form unchanged, and is stored as its name.
    #[test]
    fn presets_come_back() {
        for (name, make) in palimpsest_core::policy::presets::ALL {
            let policy = make();
            let back = Form::of(&policy).apply(&policy).unwrap();
            assert_eq!(back, policy, "{name}");
            assert_eq!(text_of(&back, name).as_deref(), Ok(*name));
        }
    }

    /// E4, B4: another share changes nothing else; a policy that does not act by fill has none.
    #[test]
    fn another_share() {
        assert_eq!(share_of("balanced"), Some(90));
        let text = acting_at("balanced", 60).unwrap();
        assert_eq!(
            (share_of(&text), base_of(&text).as_str()),
            (Some(60), "balanced")
        );
        assert_eq!(acting_at(&text, 90).as_deref(), Some("balanced"));
        assert_eq!(acting_at("balanced", 101), None);
        assert_eq!(
            share_of(r#"{"base":"balanced","triggers":[{"kind":"messages","count":40}]}"#),
            None
        );
        assert_eq!(share_of("shorten"), None);
    }

    /// E4: changes are stored as differences from the preset, and are read as the same policy.
    #[test]
    fn what_differs_is_kept() {
        let balanced = Policy::preset("balanced").unwrap();
        let mut form = Form::of(&balanced);
        assert_eq!(
            (form.of.as_str(), form.at.as_str(), form.keep.as_str()),
            ("available", "90", "share")
        );
        form.at = " 60 %".into();
        form.keep = "messages".into();
        form.count = "6".into();
        form.fading = "cascade".into();
        form.sizes = "900, 450; 200".into();
        form.passes[1] = false;
        let mine = form.apply(&balanced).unwrap();
        let text = text_of(&mine, "balanced").unwrap();
        assert!(!text.contains("user_words") && text.len() < 700, "{text}");
        let read = Policy::from_text(&text).unwrap();
        assert_eq!(
            (read.name.as_str(), base_of(&text).as_str()),
            ("custom balanced", "balanced")
        );
        assert_eq!(
            Policy {
                name: "balanced".into(),
                ..read.clone()
            },
            mine
        );
        assert_eq!(
            read.triggers[0],
            Trigger::Fill {
                of: Denominator::Available,
                at: 0.6
            }
        );
        assert_eq!(
            read.fading,
            Fading::Cascade {
                sizes: vec![900, 450, 200]
            }
        );
        assert!(!read.passes.contains(&Pass::Dedupe) && read.passes.len() == 6);
        let form = Form::of(&read);
        assert_eq!(
            (form.count.as_str(), form.sizes.as_str()),
            ("6", "900, 450, 200")
        );
    }

    /// E4, W4, O5: every field beyond the first ones changes its own place in the policy, and nothing else.
    #[test]
    fn each_of_the_rest_is_a_field() {
        let base = Policy::preset("offload-compact").unwrap();
        let check = |id: &str, text: &str, expected: Value| {
            let at = REST.iter().position(|entry| entry.id == id).unwrap();
            let mut form = Form::of(&base);
            form.rest[at] = text.into();
            let mine = form.apply(&base).unwrap();
            let kept: Value =
                serde_json::from_str(&text_of(&mine, "offload-compact").unwrap()).unwrap();
            let mut expected = expected;
            expected["base"] = "offload-compact".into();
            assert_eq!(kept, expected, "{id}");
            let back = Policy::from_text(&kept.to_string()).unwrap();
            assert_eq!(
                Form::of(&back).part(id),
                text.trim_end_matches(" %"),
                "{id}"
            );
        };
        use serde_json::json;
        let fields = fields(&base);
        let with = |key: &str, inner: &str, value: Value| {
            let mut whole = fields[key].clone();
            whole[inner] = value;
            json!({ key: whole })
        };
        check("policy-headings", "short", json!({ "headings": "short" }));
        check("policy-role", "system", json!({ "slot_role": "system" }));
        check("policy-demands", "off", json!({ "demands": "off" }));
        check(
            "policy-prefix",
            "Earlier:",
            json!({ "slot_prefix": "Earlier:" }),
        );
        check(
            "policy-escalate",
            "target",
            json!({ "escalate": { "when": "target" } }),
        );
        check(
            "policy-weak",
            "900",
            json!({ "escalate": { "when": "weak", "tokens": 900, "window_percent": 20 } }),
        );
        check(
            "policy-weak-share",
            "7 %",
            json!({ "escalate": { "when": "weak", "tokens": 15_000, "window_percent": 7 } }),
        );
        check(
            "policy-mark-every",
            "4000",
            with("marks", "everyTokens", json!(4_000)),
        );
        check(
            "policy-mark-tasks",
            "true",
            with("marks", "atTasks", json!(true)),
        );
        check(
            "policy-mark-tools",
            "done*",
            with("marks", "tools", json!("done*")),
        );
        check(
            "policy-out-floor",
            "50",
            with("tool_output", "floor", json!(50)),
        );
        check(
            "policy-out-off",
            "true",
            with("tool_output", "debug", json!(true)),
        );
        check(
            "policy-repeat-floor",
            "99",
            with("repeats", "floor", json!(99)),
        );
        check(
            "policy-repeat-writes",
            "put*",
            with("repeats", "writes", json!("put*")),
        );
        check(
            "policy-repeat-edits",
            "sed",
            with("repeats", "edits", json!("sed")),
        );
        check(
            "policy-repeat-paths",
            "where path",
            with("repeats", "paths", json!(["where", "path"])),
        );
        check(
            "policy-premium",
            "1800",
            with("prompt_budgets", "premium", json!(1_800)),
        );
        let mut triggers = fields["triggers"].clone();
        triggers
            .as_array_mut()
            .unwrap()
            .push(json!({ "on": "idle", "seconds": 90 }));
        check("policy-idle", "90", json!({ "triggers": triggers }));
        let mut passes = fields["passes"].clone();
        passes[0]["tokens"] = json!(800);
        check("policy-offload", "800", json!({ "passes": passes }));
        passes[0]["tokens"] = json!(512);
        passes[0]["brief"] = json!(true);
        check("policy-offload-brief", "true", json!({ "passes": passes }));
        let rules = "psql* rows>9 → rows\n* → keep";
        let read = json!([
            { "tools": "psql*", "content": null, "aboveLines": 0, "aboveRows": 9, "method": "rows" },
            { "tools": "*", "content": null, "aboveLines": 0, "aboveRows": 0, "method": "keep" },
        ]);
        check(
            "policy-out-rules",
            rules,
            with("tool_output", "rules", read),
        );
    }

    /// E4: a trigger and a line that are emptied are gone; numbers of steps that are not taken change nothing.
    #[test]
    fn what_is_emptied_is_gone() {
        let base = Policy::preset("watermark").unwrap();
        let at = |id: &str| REST.iter().position(|entry| entry.id == id).unwrap();
        let mut form = Form::of(&base);
        assert_eq!(
            (
                form.part("policy-mark").as_str(),
                form.part("policy-offload").as_str()
            ),
            ("true", "512")
        );
        assert!(
            REST[at("policy-offload")].is_idle(&form)
                && !REST[at("policy-strip-keep")].is_idle(&form)
        );
        assert!(REST[at("policy-weak")].is_idle(&form));
        form.rest[at("policy-mark")].clear();
        form.rest[at("policy-offload")] = "77".into();
        form.rest[at("policy-strip-keep")] = "3".into();
        let mine = form.apply(&base).unwrap();
        assert_eq!(mine.triggers, [Trigger::Overflow, Trigger::Manual]);
        let strip = Pass::Strip(StripOptions {
            keep: 3,
            ..StripOptions::default()
        });
        assert_eq!(mine.passes, [strip, Pass::Emergency]);
        let seed = Policy::preset("offload-compact").unwrap();
        let mut form = Form::of(&seed);
        form.rest[at("policy-prefix")] = " ".into();
        assert_eq!(form.apply(&seed).unwrap().slot_prefix, None);
    }

    /// E4: each mistake is told of its field.
    #[test]
    fn mistakes_by_field() {
        let balanced = Policy::preset("balanced").unwrap();
        let check = |edit: fn(&mut Form), field| {
            let mut form = Form::of(&balanced);
            edit(&mut form);
            let found = form.apply(&balanced).map(|p| p.name).map_err(|w| w.field);
            assert_eq!(found, Err(Some(field)));
        };
        check(|f| f.at = "0".into(), Field::At);
        check(|f| f.at = "101".into(), Field::At);
        check(|f| f.at = "6.5".into(), Field::At);
        check(|f| f.at = "often".into(), Field::At);
        check(|f| f.keep = "tokens".into(), Field::Count);
        check(
            |f| {
                f.fading = "cascade".into();
                f.sizes = "100, 200".into();
            },
            Field::Sizes,
        );
        check(
            |f| {
                f.fading = "ratios".into();
                f.sizes = "1200, 60, 100".into();
            },
            Field::Sizes,
        );
        check(|f| f.passes[5] = true, Field::Passes);
        check(|f| f.rest[0] = "some".into(), Field::Rest(0));
        check(|f| f.rest[5] = "101".into(), Field::Rest(5));
        let rules = |f: &mut Form| f.rest[24] = "* → shorten".into();
        check(rules, Field::Rest(24));
        let mut form = Form::of(&balanced);
        rules(&mut form);
        let why = form.apply(&balanced).map(|p| p.name).map_err(|w| w.why);
        assert_eq!(why, Err("Line 1: “shorten” is not a known rule.".into()));
        check(|f| f.rest[17] = " ".into(), Field::Rest(17));
        assert_eq!(base_of("watermark"), "watermark");
        assert_eq!(
            base_of(r#"{"base":"watermark","recall":true}"#),
            "watermark"
        );
        assert_eq!(base_of(r#"{"recall":true}"#), "balanced");
    }
}
