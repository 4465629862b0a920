//! Renders a goal as text for the system message or a summary prompt.

use super::{DecisionKind, Goal, GoalStatus, Milestone, MilestoneState, Priority};
use palimpsest_tokens::TokenCounter;
use std::fmt::Write;

/// The sections, in the order they are shown.
const SECTIONS: [&str; 7] = [
    "In progress",
    "Pending",
    "Blockers",
    "Next steps",
    "Decisions",
    "Artifacts",
    "Completed",
];

struct Line {
    section: usize,
    text: String,
}

impl Goal {
    /// Returns the goal as text of at most `max_tokens`. If room is short, completed items become a count first, and
    /// then open items are counted by section. The text is empty if not even the beginning of the description fits. The
    /// same goal and room give the same text.
    pub fn render(&self, max_tokens: u32, counter: &dyn TokenCounter) -> String {
        let fits = |text: &str| counter.count_until(text, max_tokens).is_some();
        let head = self.head();
        let completed = completed_lines(&self.milestones);
        let open = self.open_lines();
        let all: Vec<&Line> = open.iter().chain(&completed).collect();
        let full = assemble(&head, &all, &[0; SECTIONS.len()]);
        if fits(&full) {
            return full;
        }
        let with = |kept: usize| {
            let mut left_out = [0; SECTIONS.len()];
            left_out[SECTIONS.len() - 1] = completed.len();
            for line in &open[kept..] {
                left_out[line.section] += 1;
            }
            let kept: Vec<&Line> = open[..kept].iter().collect();
            assemble(&head, &kept, &left_out)
        };
        // Searches for the most lines that fit. More lines mean more tokens, except for the last line of a section,
        // which also ends its count; hence the walk down.
        let (mut low, mut high) = (0, open.len());
        while low < high {
            let middle = (low + high).div_ceil(2);
            if fits(&with(middle)) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        let kept = (0..=low).rev().map(with).find(|text| fits(text));
        kept.unwrap_or_else(|| beginning(&head, fits))
    }

    /// Returns the first line: what is to be reached, with its priority and its status.
    pub(crate) fn head(&self) -> String {
        let priority = match self.priority {
            Priority::High => "high priority",
            Priority::Medium => "medium priority",
            Priority::Low => "low priority",
        };
        let status = match self.status {
            GoalStatus::Active => "active",
            GoalStatus::Paused => "paused",
            GoalStatus::Completed => "completed",
        };
        format!("Goal ({priority}, {status}): {}", self.description.trim())
    }

    /// Returns everything but completed milestones, the most important first.
    fn open_lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut add = |section, text: String| lines.push(Line { section, text });
        let lasting = |d: &&super::Decision| d.locked || d.kind == DecisionKind::Architecture;
        for decision in self.decisions.iter().filter(lasting) {
            add(4, decision_text(decision));
        }
        for milestone in in_state(&self.milestones, MilestoneState::InProgress) {
            add(0, one_line(&milestone.text));
        }
        for blocker in &self.blockers {
            add(2, one_line(&blocker.text));
        }
        for step in &self.next_steps {
            add(3, one_line(&step.text));
        }
        for milestone in in_state(&self.milestones, MilestoneState::Pending) {
            add(1, one_line(&milestone.text));
        }
        for decision in self.decisions.iter().filter(|d| !lasting(d)).rev() {
            add(4, decision_text(decision));
        }
        for artifact in self.artifacts.iter().rev() {
            let kind = match artifact.kind.as_str() {
                "" | "file" => String::new(),
                kind => format!("{} ", one_line(kind)),
            };
            let path = one_line(&artifact.path);
            add(5, format!("{} {kind}{path}", artifact.action.name()));
        }
        lines
    }
}

fn in_state(items: &[Milestone], state: MilestoneState) -> impl Iterator<Item = &Milestone> {
    items.iter().filter(move |m| m.state == state)
}

fn completed_lines(milestones: &[Milestone]) -> Vec<Line> {
    let section = SECTIONS.len() - 1;
    in_state(milestones, MilestoneState::Completed)
        .map(|m| Line {
            section,
            text: one_line(&m.text),
        })
        .collect()
}

fn decision_text(decision: &super::Decision) -> String {
    let mark = match (decision.locked, decision.kind) {
        (true, DecisionKind::Architecture) => "[locked, architecture] ",
        (true, DecisionKind::General) => "[locked] ",
        (false, DecisionKind::Architecture) => "[architecture] ",
        (false, DecisionKind::General) => "",
    };
    let reason = if decision.rationale.is_empty() {
        String::new()
    } else {
        format!(" (reason: {})", one_line(&decision.rationale))
    };
    format!("{mark}{}{reason}", one_line(&decision.text))
}

/// Puts an item on one line, because a line break could pass for another item.
fn one_line(text: &str) -> String {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |line, word| line + " " + word)
}

fn assemble(head: &str, lines: &[&Line], left_out: &[usize]) -> String {
    let mut text = head.to_owned();
    for (section, (name, missing)) in SECTIONS.iter().zip(left_out).enumerate() {
        let mut shown = lines.iter().filter(|l| l.section == section).peekable();
        match (shown.peek().is_some(), missing) {
            (false, 0) => continue,
            (false, n) => _ = write!(text, "\n{name}: {n}"),
            (true, 0) => _ = write!(text, "\n{name}:"),
            (true, n) => _ = write!(text, "\n{name} ({n} more not shown):"),
        }
        for line in shown {
            _ = write!(text, "\n- {}", line.text);
        }
    }
    text
}

/// Returns as many of the first words as fit, marked as cut.
fn beginning(head: &str, fits: impl Fn(&str) -> bool) -> String {
    let ends: Vec<usize> = head
        .char_indices()
        .filter_map(|(i, c)| c.is_whitespace().then_some(i))
        .chain([head.len()])
        .collect();
    let cut = |words: usize| match ends.get(words) {
        Some(&end) if end < head.len() => format!("{} …", &head[..end]),
        _ => head.to_owned(),
    };
    let (mut low, mut high) = (0, ends.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if fits(&cut(middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (0..low)
        .rev()
        .map(cut)
        .find(|text| fits(text))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::{Artifact, ArtifactAction, Decision, GoalLimits, GoalNote};
    use super::*;
    use palimpsest_tokens::{Overhead, Source};
    use proptest::prelude::*;

    /// A counter with one token per word, so that the tests can be counted by hand.
    struct Words;

    impl TokenCounter for Words {
        fn count(&self, text: &str) -> u32 {
            text.split_whitespace().count() as u32
        }
        fn source(&self) -> Source {
            Source::Exact
        }
        fn bound(&self, _: u32) -> u32 {
            0
        }
        fn overhead(&self) -> Overhead {
            Overhead::default()
        }
        fn epoch(&self) -> u64 {
            0
        }
    }

    fn milestone(id: u32, state: MilestoneState) -> Milestone {
        let text = format!("Step {id} of\nthe plan");
        Milestone {
            id,
            text,
            state,
            completed: None,
        }
    }

    fn goal() -> Goal {
        let counter = Words;
        let mut goal = Goal::new(
            "Implement user log-in",
            0.0,
            GoalLimits::default(),
            &counter,
        )
        .unwrap();
        goal.priority = Priority::High;
        goal.milestones = vec![
            milestone(1, MilestoneState::Completed),
            milestone(2, MilestoneState::InProgress),
            milestone(3, MilestoneState::Pending),
        ];
        let decision = |id, text: &str, rationale: &str, kind, locked| Decision {
            id,
            text: text.into(),
            rationale: rationale.into(),
            kind,
            locked,
        };
        goal.decisions = vec![
            decision(4, "Tabs, not spaces", "", DecisionKind::General, false),
            decision(5, "Use JWT", "no state", DecisionKind::General, true),
            decision(6, "One crate", "", DecisionKind::Architecture, false),
        ];
        goal.artifacts = vec![Artifact {
            id: 7,
            kind: "file".into(),
            path: "src/login.rs".into(),
            action: ArtifactAction::Created,
        }];
        goal.next_steps = vec![GoalNote {
            id: 8,
            text: "Write the tests".into(),
        }];
        goal.blockers = vec![GoalNote {
            id: 9,
            text: "No staging server".into(),
        }];
        goal
    }

    fn check(goal: &Goal, room: u32, expected: &str) {
        assert_eq!(goal.render(room, &Words), expected.trim());
    }

    /// G2: everything is rendered, open items first.
    #[test]
    fn full() {
        check(
            &goal(),
            1_000,
            "
Goal (high priority, active): Implement user log-in
In progress:
- Step 2 of the plan
Pending:
- Step 3 of the plan
Blockers:
- No staging server
Next steps:
- Write the tests
Decisions:
- [locked] Use JWT (reason: no state)
- [architecture] One crate
- Tabs, not spaces
Artifacts:
- created src/login.rs
Completed:
- Step 1 of the plan",
        );
    }

    /// G2: if room is short, locked and architecture decisions come before open steps, and omitted items are counted.
    #[test]
    fn short() {
        check(
            &goal(),
            42,
            "
Goal (high priority, active): Implement user log-in
In progress:
- Step 2 of the plan
Pending: 1
Blockers: 1
Next steps: 1
Decisions (1 more not shown):
- [locked] Use JWT (reason: no state)
- [architecture] One crate
Artifacts: 1
Completed: 1",
        );
        check(&goal(), 6, "Goal (high priority, active): Implement …");
        check(&goal(), 0, "");
    }

    /// F 61: a goal with 1,000 milestones: open ones first, completed as a count, the goal
    /// itself untouched.
    #[test]
    fn f61_many_milestones() {
        let mut many = goal();
        many.milestones = (0..1_000)
            .map(|i| match i {
                0..990 => milestone(i, MilestoneState::Completed),
                _ => milestone(i, MilestoneState::Pending),
            })
            .collect();
        let before = many.clone();
        let text = many.render(300, &Words);
        assert!(text.contains("\nCompleted: 990"), "{text}");
        assert!(text.contains("- Step 999 of the plan"), "{text}");
        assert!(!text.contains("Step 12 "), "{text}");
        assert_eq!(many, before);
    }

    proptest! {
        /// G2: the text never exceeds its room, is the same each time, and has the head whenever that fits.
        #[test]
        fn within_room(room in 0u32..200, steps in 0u32..60, long in "[a-z \\n]{0,200}") {
            let mut goal = goal();
            let states = [MilestoneState::Completed, MilestoneState::Pending];
            goal.milestones = (0..steps).map(|i| milestone(i, states[i as usize % 2])).collect();
            goal.blockers.push(GoalNote { id: 90, text: long });
            let counter = Words;
            let text = goal.render(room, &counter);
            prop_assert!(counter.count(&text) <= room);
            prop_assert_eq!(&text, &goal.render(room, &counter));
            if room >= 30 {
                prop_assert!(text.starts_with("Goal (high priority, active): Implement user log-in"));
            }
        }
    }
}
