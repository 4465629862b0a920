//! The further fields of a policy as a table: the place of each in a policy's JSON, and its possible values.

use palimpsest_core::policy::Policy;
use serde_json::{Value, json};

use super::{Field, Wrong, rules};
use crate::text::{T, fill, number, t};

/// The place of a field.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Below these keys.
    Keys(&'static [&'static str]),
    /// The trigger of that name: whether it is there, or a number of it.
    Trigger(&'static str, Option<&'static str>),
    /// In the pass of that name.
    Pass(&'static str, &'static str),
    /// When the passes go on: the choice, or a number of `weak`.
    Escalation(Option<&'static str>),
}

/// The possible values of a field.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A whole number from and to. Nothing is 0.
    Number(u32, u32),
    /// On or off.
    Flag,
    /// A choice: the word in JSON, and the text for the user.
    Choice(&'static [(&'static str, T)]),
    /// A text. Nothing is none.
    Text,
    /// Words with spaces between.
    Words,
    /// Rules for tool output, a line each.
    Rules,
}

/// A field.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The fields it stands with.
    pub group: T,
    /// Its element's identifier.
    pub id: &'static str,
    /// Its name.
    pub name: T,
    /// Its possible values.
    pub kind: Kind,
    place: Place,
}

/// No more tokens, lines, seconds than that.
const MOST: u32 = 1_000_000;

const fn entry(group: T, id: &'static str, name: T, kind: Kind, place: Place) -> Entry {
    Entry {
        group,
        id,
        name,
        kind,
        place,
    }
}

/// The fields, those of a group next to each other.
#[rustfmt::skip]
pub static REST: [Entry; 36] = {
    use Kind::{Choice, Flag, Number, Rules, Text, Words};
    use Place::{Escalation, Keys, Pass, Trigger};
    const PERCENT: Kind = Number(0, 100);
    const TOKENS: Kind = Number(0, MOST);
    [
        entry(T::EditorWhen, "policy-messages", T::WhenMessages, TOKENS, Trigger("messages", Some("count"))),
        entry(T::EditorWhen, "policy-idle", T::WhenIdle, TOKENS, Trigger("idle", Some("seconds"))),
        entry(T::EditorWhen, "policy-mark", T::WhenMark, Flag, Trigger("watermark", None)),
        entry(T::EditorWhen, "policy-escalate", T::EscalateWhen, Choice(&[("target", T::EscalateTarget), ("weak", T::EscalateWeak)]), Escalation(None)),
        entry(T::EditorWhen, "policy-weak", T::EscalateTokens, TOKENS, Escalation(Some("tokens"))),
        entry(T::EditorWhen, "policy-weak-share", T::EscalateShare, PERCENT, Escalation(Some("window_percent"))),
        entry(T::EditorForm, "policy-headings", T::FormHeadings, Choice(&[("level", T::HeadingsLevel), ("eight", T::HeadingsEight), ("short", T::HeadingsShort)]), Keys(&["headings"])),
        entry(T::EditorForm, "policy-role", T::FormRole, Choice(&[("user", T::RoleUser), ("assistant", T::RoleAssistant), ("system", T::RoleSystem)]), Keys(&["slot_role"])),
        entry(T::EditorForm, "policy-demands", T::FormDemands, Choice(&[("layer", T::DemandsLayer), ("system", T::DemandsSystem), ("off", T::DemandsOff)]), Keys(&["demands"])),
        entry(T::EditorForm, "policy-prefix", T::FormPrefix, Text, Keys(&["slot_prefix"])),
        entry(T::EditorSteps, "policy-strip-keep", T::StripKeep, TOKENS, Pass("strip", "keep")),
        entry(T::EditorSteps, "policy-strip-best", T::StripBest, TOKENS, Pass("strip", "keep_best")),
        entry(T::EditorSteps, "policy-strip-errors", T::StripErrors, Flag, Pass("strip", "keep_errors")),
        entry(T::EditorSteps, "policy-offload", T::OffloadTokens, TOKENS, Pass("offload", "tokens")),
        entry(T::EditorSteps, "policy-offload-share", T::OffloadShare, PERCENT, Pass("offload", "window_percent")),
        entry(T::EditorSteps, "policy-offload-brief", T::OffloadBrief, Flag, Pass("offload", "brief")),
        entry(T::EditorMarks, "policy-mark-every", T::MarksEvery, TOKENS, Keys(&["marks", "everyTokens"])),
        entry(T::EditorMarks, "policy-mark-tools", T::MarksTools, Text, Keys(&["marks", "tools"])),
        entry(T::EditorMarks, "policy-mark-tasks", T::MarksTasks, Flag, Keys(&["marks", "atTasks"])),
        entry(T::EditorMarks, "policy-mark-skills", T::MarksSkills, Flag, Keys(&["marks", "onActivate"])),
        entry(T::EditorTools, "policy-out-floor", T::OutFloor, TOKENS, Keys(&["tool_output", "floor"])),
        entry(T::EditorTools, "policy-out-data", T::OutData, TOKENS, Keys(&["tool_output", "structuredFloor"])),
        entry(T::EditorTools, "policy-out-errors", T::OutErrors, PERCENT, Keys(&["tool_output", "errorPercent"])),
        entry(T::EditorTools, "policy-out-gain", T::OutGain, PERCENT, Keys(&["tool_output", "gainPercent"])),
        entry(T::EditorTools, "policy-out-rules", T::OutRules, Rules, Keys(&["tool_output", "rules"])),
        entry(T::EditorTools, "policy-out-off", T::OutOff, Flag, Keys(&["tool_output", "debug"])),
        entry(T::EditorTools, "policy-repeat-floor", T::RepeatFloor, TOKENS, Keys(&["repeats", "floor"])),
        entry(T::EditorTools, "policy-repeat-reads", T::RepeatReads, Text, Keys(&["repeats", "reads"])),
        entry(T::EditorTools, "policy-repeat-writes", T::RepeatWrites, Text, Keys(&["repeats", "writes"])),
        entry(T::EditorTools, "policy-repeat-edits", T::RepeatEdits, Text, Keys(&["repeats", "edits"])),
        entry(T::EditorTools, "policy-repeat-paths", T::RepeatPaths, Words, Keys(&["repeats", "paths"])),
        entry(T::EditorBudgets, "policy-minimal", T::BudgetMinimal, TOKENS, Keys(&["prompt_budgets", "minimal"])),
        entry(T::EditorBudgets, "policy-basic", T::BudgetBasic, TOKENS, Keys(&["prompt_budgets", "basic"])),
        entry(T::EditorBudgets, "policy-standard", T::BudgetStandard, TOKENS, Keys(&["prompt_budgets", "standard"])),
        entry(T::EditorBudgets, "policy-premium", T::BudgetPremium, TOKENS, Keys(&["prompt_budgets", "premium"])),
        entry(T::EditorBudgets, "policy-ultra", T::BudgetUltra, TOKENS, Keys(&["prompt_budgets", "ultra"])),
    ]
};

/// The values of [`REST`] in a policy, as they stand in the form.
pub(super) fn of(policy: &Policy) -> Vec<String> {
    let whole = palimpsest_text::json::value_of(policy).unwrap_or_default();
    let usual = palimpsest_text::json::value_of(&Policy::default()).unwrap_or_default();
    let value = |entry: &Entry| {
        if matches!(entry.kind, Kind::Rules) {
            return rules::shown(&policy.tool_output.rules);
        }
        let found = entry.place.get(&whole);
        // a pass that is not taken would be as it usually is
        let found = match entry.place {
            Place::Pass(..) => found.or_else(|| entry.place.get(&usual)),
            _ => found,
        };
        match found {
            Some(Value::Number(n)) if n.as_u64() == Some(0) && entry.place.may_be_absent() => {
                String::new()
            }
            Some(Value::Number(n)) => n.to_string(),
            Some(Value::String(text)) => text,
            Some(Value::Bool(true)) => "true".to_owned(),
            Some(Value::Array(words)) => {
                let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
                words.join(" ")
            }
            _ => String::new(),
        }
    };
    REST.iter().map(value).collect()
}

/// The policy with these values in it.
pub(super) fn apply(values: &[String], policy: &Policy) -> Result<Policy, Wrong> {
    let mut whole = palimpsest_text::json::value_of(policy).map_err(|e| super::plain(&e))?;
    for (at, (entry, text)) in REST.iter().zip(values).enumerate() {
        let wrong = |why| Wrong {
            field: Some(Field::Rest(at)),
            why,
        };
        let text = text.trim();
        let value = match entry.kind {
            Kind::Number(least, most) => {
                let typed = text.trim_end_matches('%').trim_end();
                let n = match typed {
                    "" => Ok(0),
                    typed => typed.parse::<u32>(),
                };
                match n {
                    Ok(n) if (least..=most).contains(&n) => json!(n),
                    _ => {
                        let range = [least, most].map(number);
                        return Err(wrong(fill(T::EditorNumberWrong, &[&range[0], &range[1]])));
                    }
                }
            }
            Kind::Flag => json!(!text.is_empty()),
            Kind::Text | Kind::Words if text.is_empty() => Value::Null,
            Kind::Words => {
                let words = text.split([' ', ',']).filter(|word| !word.is_empty());
                words.map(Value::from).collect()
            }
            Kind::Text | Kind::Choice(_) => json!(text),
            Kind::Rules => {
                let rules = rules::read(text).map_err(wrong)?;
                palimpsest_text::json::value_of(&rules).map_err(|e| super::plain(&e))?
            }
        };
        if value == Value::Null && !entry.may_be_none() {
            return Err(wrong(t(T::EditorMissing).to_owned()));
        }
        entry.place.set(&mut whole, value);
    }
    palimpsest_text::json::read_value(&whole).map_err(|e| super::plain(&e))
}

impl Entry {
    /// Returns `true` if the text may be empty.
    fn may_be_none(&self) -> bool {
        matches!(self.place, Place::Keys(["slot_prefix"]))
    }

    /// Returns `true` if the other fields make no use of it.
    pub fn is_idle(&self, form: &super::Form) -> bool {
        match self.place {
            Place::Escalation(Some(_)) => {
                let choice = REST
                    .iter()
                    .position(|e| matches!(e.place, Place::Escalation(None)));
                choice
                    .and_then(|at| form.rest.get(at))
                    .is_none_or(|word| word != "weak")
            }
            Place::Pass(name, _) => {
                let mut passes = super::PASSES.iter().zip(form.passes);
                !passes.any(|(kind, on)| on && kind.name() == name)
            }
            _ => false,
        }
    }
}

impl Place {
    /// Returns `true` if 0 means none.
    const fn may_be_absent(self) -> bool {
        matches!(self, Self::Trigger(..))
    }

    fn get(self, whole: &Value) -> Option<Value> {
        let named = |list: &str, tag: &str, name: &str| {
            let mut all = whole.get(list)?.as_array()?.iter();
            all.find(|v| v.get(tag).is_some_and(|v| v == name)).cloned()
        };
        match self {
            Self::Keys(keys) => keys.iter().try_fold(whole, |v, key| v.get(key)).cloned(),
            Self::Trigger(name, None) => named("triggers", "on", name).map(|_| json!(true)),
            Self::Trigger(name, Some(key)) => named("triggers", "on", name)?.get(key).cloned(),
            Self::Pass(name, key) => {
                let pass = named("passes", "pass", name)?;
                // A missing key means off.
                Some(pass.get(key).cloned().unwrap_or(json!(false)))
            }
            Self::Escalation(None) => whole.get("escalate")?.get("when").cloned(),
            Self::Escalation(Some(key)) => whole.get("escalate")?.get(key).cloned(),
        }
    }

    fn set(self, whole: &mut Value, value: Value) {
        match self {
            Self::Keys(keys) => {
                let slot = keys.iter().fold(whole, |v, key| &mut v[*key]);
                *slot = value;
            }
            Self::Trigger(name, key) => {
                let Some(all) = whole["triggers"].as_array_mut() else {
                    return;
                };
                let there = all.iter().position(|v| v["on"] == name);
                let wanted = value != json!(0) && value != json!(false);
                match (there, wanted) {
                    (Some(at), false) => drop(all.remove(at)),
                    (None, false) => {}
                    (Some(at), true) => {
                        if let Some(key) = key {
                            all[at][key] = value;
                        }
                    }
                    (None, true) => {
                        let mut trigger = json!({ "on": name });
                        if let Some(key) = key {
                            trigger[key] = value;
                        }
                        all.push(trigger);
                    }
                }
            }
            Self::Pass(name, key) => {
                let passes = whole["passes"].as_array_mut();
                let pass = passes.and_then(|all| all.iter_mut().find(|v| v["pass"] == name));
                if let Some(pass) = pass {
                    pass[key] = value;
                }
            }
            Self::Escalation(None) => {
                // the numbers of `weak` are set next
                whole["escalate"] = json!({ "when": value });
            }
            Self::Escalation(Some(key)) => {
                if whole["escalate"]["when"] == "weak" {
                    whole["escalate"][key] = value;
                }
            }
        }
    }
}
