//! The parts of the system message beside the system prompt: rules that always hold, skills, and checks before each answer.

use leptos::prelude::AnyView;
use palimpsest_core::prompt::Skill;
use palimpsest_engine::session::PromptParts;

use crate::platform::el::{El, each, el};
use crate::platform::icon::icon;
use crate::platform::page::{self, next_frame};
use crate::platform::signal::Signal;
use crate::text::{T, fill, t};
use crate::widgets::field::{button, line, lines, link, tick};

/// The skills in the form, each with a number of its own.
pub type Written = Signal<Vec<(u32, Skill)>>;

/// The skills that were there before.
pub fn written(before: &PromptParts) -> Written {
    let all = before.skills.clone().unwrap_or_default();
    Signal::new((0..).zip(all).collect())
}

/// The parts as they stand in the form. A skill without a name is none.
pub fn typed(written: Written) -> PromptParts {
    let value = |what: &str, n: u32| page::value(&format!("#skill-{what}-{n}"));
    let skill = |(n, _): &(u32, Skill)| Skill {
        name: value("name", *n).trim().to_owned(),
        text: value("text", *n),
        active: page::checked(&format!("#skill-on-{n}")),
    };
    let skills = written.with_untracked(|all| all.iter().map(skill).collect::<Vec<_>>());
    let named = skills.into_iter().filter(|skill| !skill.name.is_empty());
    PromptParts {
        base: None,
        mandates: Some(page::value("#mandates")),
        skills: Some(named.collect()),
        checks: Some(page::value("#checks")),
    }
}

/// The fields for all of them.
pub fn fields(before: &PromptParts, written: Written) -> El {
    let mandates = before.mandates.clone().unwrap_or_default();
    let checks = before.checks.clone().unwrap_or_default();
    let area = |id: &'static str, name: T, text: &str| {
        el("label")
            .child(el("span").class("sub").child(t(name)))
            .child(lines(text, "3").attr("id", id).attr("dir", "auto"))
    };
    let used =
        !mandates.is_empty() || !checks.is_empty() || written.with_untracked(|all| !all.is_empty());
    let add = move || {
        let n = written.with_untracked(|all| all.last().map_or(0, |(n, _)| n + 1));
        let new = Skill {
            name: String::new(),
            text: String::new(),
            active: true,
        };
        written.update(|all| all.push((n, new)));
        next_frame(move || page::focus(&format!("#skill-name-{n}")));
    };
    el("details")
        .class("more-fields")
        .flag("open", used)
        .child(
            el("summary")
                .attr("id", "prompt-parts")
                .child(icon("chev"))
                .child(t(T::PromptParts)),
        )
        .child(
            el("div")
                .class("goes-on")
                .child(area("mandates", T::Mandates, &mandates))
                .child(el("p").class("sub").child(t(T::SkillsAbout)))
                .child(each(
                    move || written.get(),
                    |(n, _)| u64::from(*n),
                    move |(n, skill)| one(written, n, &skill),
                ))
                .child(
                    el("p")
                        .class("acts")
                        .child(button(T::AddSkill, add).attr("id", "add-skill")),
                )
                .child(area("checks", T::Checks, &checks)),
        )
}

fn one(written: Written, n: u32, skill: &Skill) -> AnyView {
    let id = |what: &str| format!("skill-{what}-{n}");
    let label = fill(T::SkillText, &[&skill.name]);
    el("div")
        .class("goes-on")
        .attr("role", "group")
        .child(
            el("label")
                .child(el("span").class("sub").child(t(T::SkillName)))
                .child(line(&skill.name).attr("id", id("name"))),
        )
        .child(
            lines(&skill.text, "3")
                .attr("id", id("text"))
                .attr("dir", "auto")
                .attr("aria-label", label),
        )
        .child(
            el("p")
                .class("acts")
                .child(tick(&id("on"), T::SkillOn, skill.active))
                .child(link(T::Remove, move || {
                    written.update(|all| all.retain(|(known, _)| *known != n));
                })),
        )
        .view()
}
