//! Builds the system message of a conversation: base prompt, mandates, goal, skills, checks.

use palimpsest_text::glob;
use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};

/// The parts of a system message. It is a value: after a change, build it again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SystemPrompt {
    /// The model's role and way of working, as long as the tier allows.
    pub base: String,
    /// The model's absolute rules.
    pub mandates: String,
    /// The goal, from [`crate::data::goal::Goal::render`]. Goals appear once: leave this empty if the goal is a record
    /// of the session.
    pub goal: String,
    /// Blocks that can be on or off, in order.
    pub skills: Vec<Skill>,
    /// The checks before each answer.
    pub checks: String,
}

/// A named block of instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Skill {
    /// Its name, unique in the prompt.
    pub name: String,
    /// The instructions.
    pub text: String,
    /// The block is part of the system message now.
    #[serde(default)]
    pub active: bool,
}

/// A system message and its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BuiltPrompt {
    /// The message's text.
    pub text: String,
    /// Tokens of `text`.
    pub tokens: u32,
    /// The parts, in order.
    pub sections: Vec<PromptSection>,
    /// The problems.
    pub warnings: Vec<SystemPromptWarning>,
}

/// A part of a system message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PromptSection {
    /// The kind.
    pub kind: SectionKind,
    /// A skill's name; empty for the others.
    pub name: String,
    /// Its tokens.
    pub tokens: u32,
}

/// The parts of a system message, in the order they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum SectionKind {
    /// [`SystemPrompt::base`].
    Base,
    /// [`SystemPrompt::mandates`].
    Mandates,
    /// [`SystemPrompt::goal`].
    Goal,
    /// One of [`SystemPrompt::skills`].
    Skill,
    /// [`SystemPrompt::checks`].
    Checks,
}

/// A problem of a system message. The message is used nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "warning", rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum SystemPromptWarning {
    /// It is longer than its tier's budget.
    OverBudget {
        /// Its tokens.
        tokens: u32,
        /// The budget.
        budget: u32,
        /// The largest part, by name, and its tokens.
        largest: (String, u32),
    },
    /// Two skills have the same name, so they are switched together.
    DuplicateSkill {
        /// The name.
        name: String,
    },
}

impl SystemPrompt {
    /// Builds the system message, with a warning if it takes more than `budget` tokens (its tier's).
    pub fn build(&self, budget: u32, counter: &dyn TokenCounter) -> BuiltPrompt {
        let mut texts: Vec<(SectionKind, &str, String)> = Vec::new();
        let mut add = |kind, name, text: &str| {
            let text = text.trim();
            if !text.is_empty() {
                texts.push((kind, name, text.to_owned()));
            }
        };
        add(SectionKind::Base, "", &self.base);
        add(SectionKind::Mandates, "", &self.mandates);
        add(SectionKind::Goal, "", &self.goal);
        for skill in self
            .skills
            .iter()
            .filter(|s| s.active && !s.text.trim().is_empty())
        {
            let text = format!("Skill {}:\n{}", skill.name, skill.text.trim());
            add(SectionKind::Skill, &skill.name, &text);
        }
        add(SectionKind::Checks, "", &self.checks);

        let parts: Vec<&str> = texts.iter().map(|(_, _, text)| text.as_str()).collect();
        let text = parts.join("\n\n");
        let tokens = counter.count(&text);
        let section = |(kind, name, text): &(SectionKind, &str, String)| PromptSection {
            kind: *kind,
            name: (*name).to_owned(),
            tokens: counter.count(text),
        };
        let sections: Vec<PromptSection> = texts.iter().map(section).collect();
        let mut warnings = self.duplicates();
        if tokens > budget {
            // Of equal parts the first counts, so that the warning is stable.
            let largest = sections.iter().rev().max_by_key(|s| s.tokens);
            let largest = largest.map(|s| (s.label(), s.tokens)).unwrap_or_default();
            warnings.push(SystemPromptWarning::OverBudget {
                tokens,
                budget,
                largest,
            });
        }
        BuiltPrompt {
            text,
            tokens,
            sections,
            warnings,
        }
    }

    /// Switches on the skills whose name matches one of `patterns` ([`palimpsest_text::glob`]). Returns the names that
    /// were off, sorted.
    pub fn activate<P: AsRef<str>>(&mut self, patterns: &[P]) -> Vec<String> {
        self.switch(patterns, true)
    }

    /// Switches off the skills whose name matches one of `patterns`. Returns the names that were
    /// on, sorted.
    pub fn deactivate<P: AsRef<str>>(&mut self, patterns: &[P]) -> Vec<String> {
        self.switch(patterns, false)
    }

    fn switch<P: AsRef<str>>(&mut self, patterns: &[P], on: bool) -> Vec<String> {
        let named = |name: &str| patterns.iter().any(|p| glob::matches(p.as_ref(), name));
        let mut changed = Vec::new();
        for skill in &mut self.skills {
            if skill.active != on && named(&skill.name) {
                skill.active = on;
                changed.push(skill.name.clone());
            }
        }
        palimpsest_text::order::sort(&mut changed);
        changed.dedup();
        changed
    }

    fn duplicates(&self) -> Vec<SystemPromptWarning> {
        let mut names: Vec<&str> = self.skills.iter().map(|s| s.name.as_str()).collect();
        palimpsest_text::order::sort(&mut names);
        let mut twice: Vec<&str> = names
            .windows(2)
            .filter(|w| w[0] == w[1])
            .map(|w| w[0])
            .collect();
        twice.dedup();
        let warn = |name: &str| SystemPromptWarning::DuplicateSkill {
            name: name.to_owned(),
        };
        twice.into_iter().map(warn).collect()
    }
}

impl PromptSection {
    /// The name for display: the skill's name, or the kind in lower case.
    pub fn label(&self) -> String {
        match self.kind {
            SectionKind::Base => "base".to_owned(),
            SectionKind::Mandates => "mandates".to_owned(),
            SectionKind::Goal => "goal".to_owned(),
            SectionKind::Skill => self.name.clone(),
            SectionKind::Checks => "checks".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::model::{Tier, TierBudgets};
    use palimpsest_tokens::Estimator;

    fn skill(name: &str, active: bool) -> Skill {
        Skill {
            name: name.into(),
            text: format!("How to do {name}."),
            active,
        }
    }

    fn prompt() -> SystemPrompt {
        SystemPrompt {
            base: "You help.".into(),
            mandates: "Never guess.".into(),
            goal: "Goal: ship.".into(),
            skills: vec![
                skill("web-css", true),
                skill("db-sql", false),
                skill("web-html", true),
            ],
            checks: "Check twice.\n".into(),
        }
    }

    /// G8: the order is fixed, only active skills appear, and each part is counted.
    #[test]
    fn order() {
        let built = prompt().build(1_000, &Estimator::default());
        assert_eq!(
            built.text,
            "You help.\n\nNever guess.\n\nGoal: ship.\n\nSkill web-css:\nHow to do web-css.\n\n\
             Skill web-html:\nHow to do web-html.\n\nCheck twice."
        );
        let labels: Vec<String> = built.sections.iter().map(PromptSection::label).collect();
        assert_eq!(
            labels,
            ["base", "mandates", "goal", "web-css", "web-html", "checks"]
        );
        assert_eq!(built.tokens, Estimator::default().count(&built.text));
        assert!(built.sections.iter().all(|s| s.tokens > 0));
        assert_eq!(built.warnings, []);
        assert_eq!(
            SystemPrompt::default().build(0, &Estimator::default()).text,
            ""
        );
    }

    /// B2, G8: a prompt over the tier's budget gives a warning with sizes, one at the budget gives none.
    #[test]
    fn over_budget() {
        let mut long = prompt();
        long.mandates = "Never guess anything at all. ".repeat(100);
        let budget = TierBudgets::default().of(Tier::Minimal);
        let built = long.build(budget, &Estimator::default());
        let SystemPromptWarning::OverBudget {
            tokens,
            budget: 200,
            largest,
        } = &built.warnings[0]
        else {
            panic!("{:?}", built.warnings)
        };
        assert_eq!((*tokens, largest.0.as_str()), (built.tokens, "mandates"));
        assert!(
            long.build(built.tokens, &Estimator::default())
                .warnings
                .is_empty()
        );
    }

    /// G8, W1: patterns switch skills, and the result lists the changed names, sorted.
    #[test]
    fn skills() {
        let mut prompt = prompt();
        assert_eq!(prompt.deactivate(&["web-*"]), ["web-css", "web-html"]);
        assert_eq!(prompt.deactivate(&["web-*"]), [""; 0]);
        assert_eq!(
            prompt.activate(&["{db,web}-???", "nothing"]),
            ["db-sql", "web-css"]
        );
        let built = prompt.build(1_000, &Estimator::default());
        let shown: Vec<String> = built.sections.iter().map(PromptSection::label).collect();
        assert_eq!(
            shown,
            ["base", "mandates", "goal", "web-css", "db-sql", "checks"]
        );
    }

    /// G8: two skills with the same name are reported.
    #[test]
    fn duplicate_names() {
        let mut prompt = prompt();
        prompt.skills.push(skill("db-sql", false));
        let built = prompt.build(1_000, &Estimator::default());
        assert_eq!(
            built.warnings,
            [SystemPromptWarning::DuplicateSkill {
                name: "db-sql".into()
            }]
        );
        assert_eq!(prompt.activate(&["db-sql"]), ["db-sql"]);
    }
}
