//! A policy as a form: what stands in its fields, and the policy that they make.

use palimpsest_core::error::CoreError;
use palimpsest_core::pass::PassKind;
use palimpsest_core::policy::{
    Cover, Denominator, Fading, KeepRecent, Levels, OnFailure, Pass, Policy, Trigger, UserWords,
};
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
    /// What the fill level is a share of; empty: it does not act by fill.
    pub of: String,
    /// At which share, in percent.
    pub at: String,
    /// What stays of the end: `share`, `tokens` or `messages`.
    pub keep: String,
    /// How many tokens or messages.
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
    /// Whether covered passages are recalled.
    pub recall: bool,
    /// Whether tool output is condensed as it arrives.
    pub arrival: bool,
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
}

/// What is wrong with a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Where; `None`: with the whole.
    pub field: Option<Field>,
    /// Why, where the core said so.
    pub why: String,
}

/// The preset that a policy's text begins from.
pub fn base_of(text: &str) -> String {
    let base = serde_json::from_str::<Value>(text)
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
                |(_, at)| (f64::from(at) * 100.0).round().to_string(),
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
        }
    }

    /// The policy that the fields make of `policy`: what they do not name stays.
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
        policy.validate().map_err(|error| Wrong {
            field: None,
            why: error.to_string(),
        })?;
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

/// The policy as it is kept: the name of the preset if it is that one, else what differs from it.
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
    match serde_json::to_value(policy) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// The word for one of a few, as it stands in JSON.
fn word(choice: impl serde::Serialize) -> String {
    match serde_json::to_value(choice) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

fn choice<C: serde::de::DeserializeOwned>(word: &str) -> Result<C, Wrong> {
    serde_json::from_value(Value::String(word.to_owned())).map_err(|error| Wrong {
        field: None,
        why: error.to_string(),
    })
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

    /// E4: every preset goes through the form and comes back as it was, and is kept as its name.
    #[test]
    fn presets_come_back() {
        for (name, make) in palimpsest_core::policy::presets::ALL {
            let policy = make();
            let back = Form::of(&policy).apply(&policy).unwrap();
            assert_eq!(back, policy, "{name}");
            assert_eq!(text_of(&back, name).as_deref(), Ok(*name));
        }
    }

    /// E4: what was changed is kept as what differs from the preset, and reads back as the same policy.
    #[test]
    fn what_differs_is_kept() {
        let balanced = Policy::preset("balanced").unwrap();
        let mut form = Form::of(&balanced);
        assert_eq!(
            (form.of.as_str(), form.at.as_str(), form.keep.as_str()),
            ("available", "80", "share")
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
        assert_eq!(base_of("watermark"), "watermark");
        assert_eq!(
            base_of(r#"{"base":"watermark","recall":true}"#),
            "watermark"
        );
        assert_eq!(base_of(r#"{"recall":true}"#), "balanced");
    }
}
