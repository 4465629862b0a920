//! The goal, the summarisers' proposals for it, and the parts of the system message (G1–G4, G8).

use palimpsest_core::goal::{Goal, GoalEdit, GoalLimits};
use palimpsest_core::marker::Change;
use palimpsest_core::mode::Mode;
use palimpsest_core::model::Tier;
use palimpsest_core::prompt::{BuiltPrompt, Skill, SystemPromptWarning};
use palimpsest_core::record::PendingProposal;
use palimpsest_core::watermark::MarkReason;

use crate::error::EngineError;
use crate::event::Event;

use super::Session;

/// The parts of the system message that are instructions. A part that is `None` stays unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptParts {
    /// The model's role and way of working: the system prompt.
    pub base: Option<String>,
    /// The model's absolute rules.
    pub mandates: Option<String>,
    /// Named blocks that can be on or off.
    pub skills: Option<Vec<Skill>>,
    /// The checks before each answer.
    pub checks: Option<String>,
}

impl Session {
    /// Starts a goal, or replaces the description of the present one.
    pub async fn begin_goal(&self, description: &str) -> Result<(), EngineError> {
        let now = self.now();
        let text = description.to_owned();
        self.edit_records(move |records, window, counter| {
            let goal = match records.goal.take() {
                Some(goal) => {
                    goal.apply(GoalEdit::Describe { text }, GoalLimits::default(), counter)?
                }
                None => Goal::new(&text, now, GoalLimits::default(), counter)?,
            };
            records.goal = Some(goal);
            records.revision += 1;
            Ok(records.check_room(window, counter)?)
        })
        .await
    }

    /// Changes the goal (G1). The revision before it stays stored.
    ///
    /// # Errors
    ///
    /// A refusal if there is no goal, if an item does not exist, if a decision is locked, or if the records would take
    /// more than half of the window.
    pub async fn edit_goal(&self, edit: GoalEdit) -> Result<(), EngineError> {
        self.edit_records(move |records, window, counter| {
            let goal = records.goal.as_ref().ok_or_else(no_goal)?;
            records.goal = Some(goal.apply(edit, GoalLimits::default(), counter)?);
            records.revision += 1;
            Ok(records.check_room(window, counter)?)
        })
        .await
    }

    /// Returns the open proposals, oldest first: the summarisers' changes of the goal (G3), and possible instructions
    /// of the user.
    pub fn proposals(&self) -> Vec<PendingProposal> {
        self.0.state.borrow().context.records().pending.clone()
    }

    /// Accepts a proposal: changes the goal, or makes the instruction a pin. It never locks anything, because only the
    /// user may ([`GoalEdit::LockDecision`]). Returns `false` if the goal already said the same.
    pub async fn accept_proposal(&self, id: u32) -> Result<bool, EngineError> {
        let now = self.now();
        let mut changed = false;
        self.edit_records(|records, window, counter| {
            if records.keep(id, window, counter)? {
                changed = true;
                return Ok(());
            }
            if let Some(edit) = records.accept(id, now)?
                && let Some(goal) = &records.goal
            {
                records.goal = Some(goal.apply(edit, GoalLimits::default(), counter)?);
                changed = true;
            }
            Ok(records.check_room(window, counter)?)
        })
        .await?;
        self.emit_proposals();
        Ok(changed)
    }

    /// Declines a proposal, so that it is not made again.
    pub async fn decline_proposal(&self, id: u32) -> Result<(), EngineError> {
        self.edit_records(move |records, _, _| {
            if records.decline(id) {
                Ok(())
            } else {
                Err(palimpsest_core::error::CoreError::NotFound {
                    what: "proposal",
                    id,
                }
                .into())
            }
        })
        .await?;
        self.emit_proposals();
        Ok(())
    }

    pub(super) fn emit_proposals(&self) {
        let pending = self.proposals().len() as u32;
        self.emit(&Event::ProposalsChanged { pending });
    }

    /// Sets the kind of work (G4). Summaries keep the content that it needs from now on.
    pub async fn set_mode(&self, mode: Mode) -> Result<(), EngineError> {
        self.edit_head(|head| head.mode = mode).await
    }

    /// Changes parts of the system message and counts it again at once. A warning follows if it takes more than the
    /// tier's budget (B2, G8).
    pub async fn set_prompt(&self, parts: PromptParts) -> Result<(), EngineError> {
        self.edit_records(move |records, _, _| {
            let mut put = |field: &mut String, text: Option<String>| {
                if let Some(text) = text.filter(|t| t != field) {
                    *field = text;
                    records.revision += 1;
                }
            };
            put(&mut records.system, parts.base);
            put(&mut records.mandates, parts.mandates);
            put(&mut records.checks, parts.checks);
            if let Some(skills) = parts.skills.filter(|s| *s != records.skills) {
                records.skills = skills;
                records.revision += 1;
            }
            Ok(())
        })
        .await?;
        self.warn_of_prompt();
        Ok(())
    }

    /// Returns the parts of the system message, their sizes and their problems.
    pub fn prompt(&self) -> BuiltPrompt {
        let state = self.0.state.borrow();
        let budgets = &state.context.setup().policy.prompt_budgets;
        let budget = budgets.of(Tier::of_window(state.head.effective_window()));
        state
            .context
            .records()
            .prompt(budget, state.context.counter().as_ref())
    }

    /// Emits a warning for each problem of the system message. Every change of it does so by itself; who has just made a session
    /// calls it once there is a listener.
    pub fn warn_of_prompt(&self) {
        for warning in self.prompt().warnings {
            let (code, message) = match warning {
                SystemPromptWarning::OverBudget {
                    tokens,
                    budget,
                    largest: (name, size),
                } => (
                    "prompt_over_budget",
                    format!(
                        "The system prompt has {tokens} tokens; {budget} are advised for this window. Its largest part is \"{name}\" with {size}."
                    ),
                ),
                SystemPromptWarning::DuplicateSkill { name } => (
                    "duplicate_skill",
                    format!("Two skills are called \"{name}\": they are switched together."),
                ),
            };
            self.emit(&Event::Warning { code, message });
        }
    }

    /// Switches on the skills whose names match (`*`, `?`, `{a,b}`). Returns the names that were off, sorted. Sets the
    /// watermark at the end of the history if the policy marks activations, too.
    pub async fn activate_skills(&self, patterns: &[String]) -> Result<Vec<String>, EngineError> {
        let names = self.switch_skills(patterns, true).await?;
        if self.marks_activation() {
            self.mark_end().await?;
        }
        Ok(names)
    }

    /// Switches off the skills whose names match. Returns the names that were on, sorted. Sets the watermark at the end
    /// of the history even if none was on (W1, W2).
    pub async fn deactivate_skills(&self, patterns: &[String]) -> Result<Vec<String>, EngineError> {
        let names = self.switch_skills(patterns, false).await?;
        self.mark_end().await?;
        Ok(names)
    }

    /// Switches skills through a call of `tool`. The call becomes the watermark when it is in the history.
    pub(super) async fn switch_skills_by(
        &self,
        tool: &str,
        patterns: &[String],
        on: bool,
    ) -> Result<Vec<String>, EngineError> {
        let names = self.switch_skills(patterns, on).await?;
        if !on {
            self.ask_mark(tool, MarkReason::Deactivated).await?;
        } else if self.marks_activation() {
            self.ask_mark(tool, MarkReason::Activated).await?;
        }
        Ok(names)
    }

    fn marks_activation(&self) -> bool {
        let state = self.0.state.borrow();
        state.context.setup().policy.marks.on_activate
    }

    async fn switch_skills(
        &self,
        patterns: &[String],
        on: bool,
    ) -> Result<Vec<String>, EngineError> {
        let mut names = Vec::new();
        self.edit_records(|records, _, _| {
            names = records.switch_skills(patterns, on);
            Ok(())
        })
        .await?;
        let (activated, deactivated) = if on {
            (names.clone(), Vec::new())
        } else {
            (Vec::new(), names.clone())
        };
        self.emit(&Event::SkillsChanged {
            activated,
            deactivated,
        });
        if !names.is_empty() {
            self.warn_of_prompt();
        }
        Ok(names)
    }
}

fn no_goal() -> EngineError {
    palimpsest_core::error::CoreError::NotFound {
        what: "goal",
        id: 0,
    }
    .into()
}

/// Describes a proposal in a sentence, for lists and logs.
pub fn proposal_sentence(change: &Change) -> String {
    match change {
        Change::Goal { text } => format!("The goal is: {text}"),
        Change::Milestone { text, state } => format!("{text}: {}", state.marker().to_lowercase()),
        Change::Decision { text, .. } => format!("Decided: {text}"),
        Change::Artifact { path, action } => format!("{path}: {}", action.name()),
        Change::NextStep { text } => format!("Next: {text}"),
        Change::Blocker { text } => format!("Blocked by: {text}"),
        Change::Demand { text } => text.clone(),
    }
}
