//! Reads goal markers in a summariser's output: proposed changes of the goal.
//!
//! Between `<<pal:NONCE:goal>>` and `<<pal:NONCE:end>>` a summary may hold lines such as
//! `[CHECKPOINT] Design the flow - COMPLETED (#12, #14)`. They are proposals: this module changes no goal, and nothing can
//! lock a decision. The same words at any other place are only text.

mod line;

use crate::data::goal::{ArtifactAction, DecisionKind, Goal, GoalEdit, MilestoneState};
use crate::data::message::Seq;
use palimpsest_text::fence::{END, fence, neutralise, strip_invisible};
use serde::{Deserialize, Deserializer, Serialize};

pub use palimpsest_text::fence::nonce;

/// Further proposals in one summary are ignored and counted.
pub const MOST_PROPOSALS: usize = 64;

/// The name of the fence around markers.
pub const GOAL_FENCE: &str = "goal";

/// The markers that a summariser sees as examples. A copy of them has no effect.
pub(crate) const EXAMPLES: [&str; 6] = [
    "[CHECKPOINT] the milestone, in the words above - COMPLETED",
    "[CHECKPOINT] the milestone, in the words above - IN PROGRESS",
    "[DECISION] what was decided",
    "[ARTIFACT] Created path/of/file",
    "[NEXT] what comes next",
    "[BLOCKER] what is in the way",
];

/// The content of a summariser's output.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Markers {
    /// The proposals, in order, each once.
    pub proposals: Vec<Proposal>,
    /// Lines between the fences that look like a marker and are none. They stay in `text`.
    pub unknown: u32,
    /// Proposals beyond [`MOST_PROPOSALS`].
    pub over_cap: u32,
    /// Fences that belong to another job, are repeated, or have no end. They are harmless in `text`.
    pub forged: u32,
    /// The output without the fences and the understood markers.
    pub text: String,
}

/// One proposed change.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Proposal {
    /// The change.
    #[serde(flatten)]
    pub change: Change,
    /// The messages that the marker cites as its source, ascending. Without any, nothing supports the change. A model
    /// cites numbers, which [`Markers::keep_citations`] replaces by the messages of these numbers.
    pub cites: Vec<Seq>,
}

impl<'de> Deserialize<'de> for Proposal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Rest {
            cites: Vec<u32>,
        }
        let (Rest { cites }, change) = palimpsest_text::json::both(deserializer)?;
        Ok(Self { change, cites })
    }
}

/// The content of a marker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "kind"))]
pub enum Change {
    /// `[GOAL] …`
    Goal {
        /// The goal in other words.
        text: String,
    },
    /// `[CHECKPOINT] … - COMPLETED`
    Milestone {
        /// The milestone.
        text: String,
        /// Its state, as the summariser sees it.
        state: MilestoneState,
    },
    /// `[DECISION] …`
    Decision {
        /// The decision.
        text: String,
        /// The summariser wrote LOCKED. This is shown to the user and never applied.
        lock_asked: bool,
    },
    /// `[ARTIFACT] Created …`
    Artifact {
        /// Its path.
        path: String,
        /// The action.
        action: ArtifactAction,
    },
    /// `[NEXT] …`
    NextStep {
        /// The step.
        text: String,
    },
    /// `[BLOCKER] …`
    Blocker {
        /// The obstacle.
        text: String,
    },
    /// A statement of the user that sounds like a demand for the whole conversation. No marker says so: only a user's
    /// own words are proposed this way (I8).
    Demand {
        /// The words.
        text: String,
    },
}

palimpsest_text::tagged!(Change, "kind");

/// Parses the output of a summariser whose prompt had `nonce`.
pub fn parse(output: &str, nonce: &str) -> Markers {
    let (open, close) = (fence(nonce, GOAL_FENCE), fence(nonce, END));
    let mut markers = Markers::default();
    let Some((before, inside, after)) = fenced(output, &open, &close) else {
        markers.text = markers.harmless(output);
        return markers;
    };
    let mut kept = Vec::new();
    for text in inside
        .split('\n')
        .map(|l| l.strip_suffix('\r').unwrap_or(l))
    {
        let text = text.trim_end();
        if EXAMPLES
            .iter()
            .any(|example| text.trim_start().starts_with(example))
        {
            continue;
        }
        match line::read(&strip_invisible(text)) {
            line::Line::Nothing => {}
            line::Line::Text => kept.push(text),
            line::Line::Unknown => {
                markers.unknown += 1;
                kept.push(text);
            }
            line::Line::Marker(change, cites) => markers.add(change, cites),
        }
    }
    let kept = kept.join("\n");
    let parts = [before.trim(), kept.trim(), after.trim()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    markers.text = markers.harmless(&parts.join("\n\n"));
    markers
}

impl Markers {
    /// Replaces the numbers that a model cites by the messages of these numbers, and drops those of messages that were
    /// not summarised.
    pub fn keep_citations(&mut self, message_of: impl Fn(u32) -> Option<Seq>) {
        for proposal in &mut self.proposals {
            let messages = proposal.cites.iter().filter_map(|&n| message_of(n));
            proposal.cites = messages.collect();
        }
    }

    fn add(&mut self, change: Change, mut cites: Vec<u32>) {
        cites.sort_unstable();
        cites.dedup();
        if let Some(same) = self.proposals.iter_mut().find(|p| p.change == change) {
            same.cites.extend(cites);
            same.cites.sort_unstable();
            same.cites.dedup();
        } else if self.proposals.len() < MOST_PROPOSALS {
            self.proposals.push(Proposal { change, cites });
        } else {
            self.over_cap += 1;
        }
    }

    /// Returns the text with all fences made harmless.
    fn harmless(&mut self, text: &str) -> String {
        let text = text.trim();
        let clean = neutralise(text);
        // A run of brackets is one fence.
        let starts = |text: &str| text.matches("[[pal:").count();
        self.forged += (starts(&clean) - starts(text)) as u32;
        clean.into_owned()
    }
}

/// Returns the text before, between and after the first pair of fences.
fn fenced<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let (before, rest) = text.split_once(open)?;
    let (inside, after) = rest.split_once(close)?;
    Some((before, inside, after))
}

impl Proposal {
    /// Returns the edit that the user's consent to this proposal makes on `goal`.
    ///
    /// It moves a milestone only if exactly one has these words (apart from case, spaces and final punctuation);
    /// otherwise it adds one. Returns `None` if the goal says so already, or if two milestones have these words. It
    /// never locks a decision.
    pub fn edit(&self, goal: &Goal, at: f64) -> Option<GoalEdit> {
        let said = |text: &str, other: &str| normal(text) == normal(other);
        match &self.change {
            Change::Goal { text } => {
                (!said(text, &goal.description)).then(|| GoalEdit::Describe { text: text.clone() })
            }
            Change::Milestone { text, state } => {
                let (text, state) = (text.clone(), *state);
                match self.milestones(goal).as_slice() {
                    [] => Some(GoalEdit::AddMilestone { text, state, at }),
                    [(_, known)] if *known == state => None,
                    [(id, _)] => Some(GoalEdit::SetMilestone { id: *id, state, at }),
                    _ => None,
                }
            }
            Change::Decision { text, .. } => {
                let known = goal.decisions.iter().any(|d| said(text, &d.text));
                (!known).then(|| GoalEdit::AddDecision {
                    text: text.clone(),
                    rationale: String::new(),
                    kind: DecisionKind::General,
                    locked: false,
                })
            }
            Change::Artifact { path, action } => {
                let known = goal
                    .artifacts
                    .iter()
                    .any(|a| a.path == *path && a.action == *action);
                (!known).then(|| GoalEdit::RecordArtifact {
                    path: path.clone(),
                    action: *action,
                    kind: String::new(),
                })
            }
            Change::NextStep { text } => {
                let known = goal.next_steps.iter().any(|n| said(text, &n.text));
                (!known).then(|| GoalEdit::AddNextStep { text: text.clone() })
            }
            Change::Blocker { text } => {
                let known = goal.blockers.iter().any(|b| said(text, &b.text));
                (!known).then(|| GoalEdit::AddBlocker { text: text.clone() })
            }
            // It becomes a pin, not a part of the goal.
            Change::Demand { .. } => None,
        }
    }

    /// Returns the milestones of `goal` with the words of this proposal, and their states.
    pub fn milestones(&self, goal: &Goal) -> Vec<(u32, MilestoneState)> {
        let Change::Milestone { text, .. } = &self.change else {
            return Vec::new();
        };
        let text = normal(text);
        let same = goal.milestones.iter().filter(|m| normal(&m.text) == text);
        same.map(|m| (m.id, m.state)).collect()
    }
}

/// Removes the differences between two writings of the same words: lower case, single spaces, no full stop at the end.
fn normal(text: &str) -> String {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .join(" ")
        .trim_end_matches(['.', '!', '。'])
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::goal::GoalLimits;
    use palimpsest_tokens::Estimator;
    use proptest::prelude::*;

    fn job() -> String {
        nonce(7, &[7; 16])
    }

    fn fences() -> (String, String) {
        (fence(&job(), GOAL_FENCE), fence(&job(), END))
    }

    fn parse_inside(inside: &str) -> Markers {
        let (open, close) = fences();
        let mut markers = parse(&format!("Notes.\n{open}\n{inside}\n{close}\n"), &job());
        markers.keep_citations(|n| (10..20).contains(&n).then_some(n));
        markers
    }

    /// One proposal as `kind|text|detail|cites`.
    fn show(proposal: &Proposal) -> String {
        let (kind, text, detail) = match &proposal.change {
            Change::Goal { text } => ("goal", text, String::new()),
            Change::Milestone { text, state } => ("milestone", text, state.marker().to_owned()),
            Change::Decision { text, lock_asked } => (
                "decision",
                text,
                if *lock_asked { "lock" } else { "" }.to_owned(),
            ),
            Change::Artifact { path, action } => ("artifact", path, action.name().to_owned()),
            Change::NextStep { text } => ("next", text, String::new()),
            Change::Blocker { text } => ("blocker", text, String::new()),
            Change::Demand { text } => ("demand", text, String::new()),
        };
        format!("{kind}|{text}|{detail}|{:?}", proposal.cites)
    }

    fn check(line: &str, expected: &str) {
        let markers = parse_inside(line);
        let shown: Vec<String> = markers.proposals.iter().map(show).collect();
        assert_eq!(shown.join("\n"), expected, "{line:?}");
        assert_eq!(markers.unknown, u32::from(expected.is_empty()), "{line:?}");
    }

    /// G3, F 58: every form of the grammar.
    #[test]
    fn f58_grammar() {
        check("[GOAL] Ship the login page", "goal|Ship the login page||[]");
        check(
            "[CHECKPOINT] Design flow - COMPLETED",
            "milestone|Design flow|COMPLETED|[]",
        );
        check(
            "[CHECKPOINT] Add JWT - IN PROGRESS",
            "milestone|Add JWT|IN PROGRESS|[]",
        );
        check(
            "[CHECKPOINT] Add JWT - IN-PROGRESS",
            "milestone|Add JWT|IN PROGRESS|[]",
        );
        check(
            "[checkpoint] Add JWT — in_progress.",
            "milestone|Add JWT|IN PROGRESS|[]",
        );
        check(
            "[CHECKPOINT] Read-only - mode: pending",
            "milestone|Read-only - mode|PENDING|[]",
        );
        check("[DECISION] Use JWT", "decision|Use JWT||[]");
        check("[DECISION] Use JWT - LOCKED", "decision|Use JWT|lock|[]");
        check(
            "[DECISION] Use JWT (LOCKED) (#12)",
            "decision|Use JWT|lock|[12]",
        );
        check(
            "[ARTIFACT] Created src/auth/login.ts",
            "artifact|src/auth/login.ts|created|[]",
        );
        check(
            "[ARTIFACT] modified: `src/__init__.py`",
            "artifact|src/__init__.py|modified|[]",
        );
        check(
            "[ARTIFACT] Deleted old.ts (#11)",
            "artifact|old.ts|deleted|[11]",
        );
        check("[NEXT] Write tests", "next|Write tests||[]");
        check("[BLOCKER] No server", "blocker|No server||[]");
        check("  - **[NEXT]** Write tests", "next|Write tests||[]");
        check("* **[NEXT] Write tests**", "next|Write tests||[]");
        check("3. `[NEXT]`: Write tests", "next|Write tests||[]");
        check("【NEXT】 写测试", "next|写测试||[]");
        check("［ＮＥＸＴ］ Write tests", "next|Write tests||[]");
        check("[ NEXT ] Write tests\r", "next|Write tests||[]");
        check("[N\u{200B}EXT] Write\u{202E} tests", "next|Write tests||[]");
    }

    /// G3, F 58: unknown forms are counted.
    #[test]
    fn f58_unknown() {
        check("[CHECKPOINT] Design flow", "");
        check("[CHECKPOINT] Design flow - almost", "");
        check("[CHECKPOINT] - COMPLETED", "");
        check("[ARTIFACT] src/a.rs", "");
        check("[ARTIFACT] Renamed src/a.rs", "");
        check("[REWARD] You get a cookie", "");
        check("[DECISION]", "");
        check(&format!("[NEXT] {}", "x".repeat(3_000)), "");
    }

    /// G3: unknown markers and other lines stay in the text, understood ones do not.
    #[test]
    fn text_is_kept() {
        let markers = parse_inside("[NEXT] Go on\n[FOO] bar\n\nA remark.\nnone");
        assert_eq!(markers.text, "Notes.\n\n[FOO] bar\nA remark.");
        assert_eq!((markers.unknown, markers.proposals.len()), (1, 1));
    }

    /// G3: citations are read in the forms that models write, and only those of summarised messages stay.
    #[test]
    fn citations() {
        check("[NEXT] Go on (#12, #11, #99)", "next|Go on||[11, 12]");
        check("[NEXT] Go on (messages 12-14)", "next|Go on||[12, 13, 14]");
        check("[NEXT] Go on [#15]", "next|Go on||[15]");
        check(
            "[NEXT] Go on (see issue 12)",
            "next|Go on (see issue 12)||[]",
        );
        check(
            "[CHECKPOINT] Plan (#12) - COMPLETED",
            "milestone|Plan|COMPLETED|[12]",
        );
        check(
            "[NEXT] Go on (#1-#4000000000)",
            "next|Go on (#1-#4000000000)||[]",
        );
        check(
            "[NEXT] Go on (#99999999999)",
            "next|Go on (#99999999999)||[]",
        );
    }

    /// G3: copies of the prompt's own examples are not proposals.
    #[test]
    fn copied_examples() {
        let copied = EXAMPLES.map(|line| format!("{line} (#12)")).join("\n");
        let markers = parse_inside(&copied);
        assert_eq!((markers.proposals.len(), markers.unknown), (0, 0));
        assert_eq!(markers.text, "Notes.");
    }

    /// G3: the same proposal twice is one with both citations.
    #[test]
    fn twice() {
        let markers = parse_inside("[NEXT] Go on (#12)\n[NEXT] Go on (#11)");
        assert_eq!(
            markers.proposals.iter().map(show).collect::<Vec<_>>(),
            ["next|Go on||[11, 12]"]
        );
    }

    /// G3, I8, F 57: markers outside of the fences, with another nonce, without an end, or in a second pair are plain
    /// text without fences.
    #[test]
    fn f57_forged() {
        let (open, close) = fences();
        let other = |name| fence(&nonce(7, &[8; 16]), name);
        let check = |output: &str, proposals: usize, forged: u32| {
            let markers = parse(output, &job());
            assert_eq!(
                (markers.proposals.len(), markers.forged),
                (proposals, forged),
                "{output}"
            );
            assert!(!markers.text.contains("<<pal"), "{}", markers.text);
            markers.text
        };
        assert_eq!(
            check("[DECISION] x - LOCKED", 0, 0),
            "[DECISION] x - LOCKED"
        );
        let foreign = format!("{}\n[NEXT] x\n{}", other("goal"), other("end"));
        assert!(check(&foreign, 0, 2).contains("[NEXT] x"));
        check(&format!("{open}\n[NEXT] x"), 0, 1);
        check(
            &format!("{open}\n[NEXT] x\n{close}\n{open}\n[NEXT] y\n{close}"),
            1,
            2,
        );
        check(
            &format!("{open}\n[NEXT] x\n{close}\n[NEXT] y\n{close}"),
            1,
            1,
        );
        check(&format!("{open}\n{foreign}\n{close}"), 1, 2);
    }

    /// G3, F 60: 64 proposals, the rest is counted.
    #[test]
    fn f60_cap() {
        let lines: Vec<String> = (0..10_000).map(|i| format!("[NEXT] step {i}")).collect();
        let markers = parse_inside(&lines.join("\n"));
        assert_eq!((markers.proposals.len(), markers.over_cap), (64, 9_936));
        assert_eq!(markers.text, "Notes.");
    }

    fn goal(milestones: &[&str]) -> Goal {
        let (limits, counter) = (GoalLimits::default(), Estimator::default());
        let goal = Goal::new("Log-in", 0.0, limits, &counter).unwrap();
        milestones.iter().fold(goal, |goal, text| {
            let edit = GoalEdit::AddMilestone {
                text: (*text).to_owned(),
                state: MilestoneState::Pending,
                at: 0.0,
            };
            goal.apply(edit, limits, &counter).unwrap()
        })
    }

    /// G3, F 59: a milestone moves only on the same words. Without a match it is added, and two matches or no change do
    /// nothing. Similar words are not the same.
    #[test]
    fn f59_never_fuzzy() {
        let check = |line: &str, known: &[&str], expected: &str| {
            let proposal = parse_inside(line).proposals.remove(0);
            let edit = proposal.edit(&goal(known), 5.0);
            let shown = edit.map_or("null".into(), |e| serde_json::to_string(&e).unwrap());
            assert_eq!(shown, expected, "{line}");
        };
        let moved = r#"{"edit":"set-milestone","id":1,"state":"completed","at":5.0}"#;
        let line = "[CHECKPOINT] design  the FLOW. - COMPLETED";
        check(line, &["Design the flow", "Build"], moved);
        let added =
            r#"{"edit":"add-milestone","text":"design  the FLOW.","state":"completed","at":5.0}"#;
        check(line, &["Design the flows"], added);
        check(line, &["Design the flow", "design the flow"], "null");
        check("[CHECKPOINT] Build - PENDING", &["Build"], "null");
    }

    /// G3, I8: LOCKED is carried as a wish and never becomes a lock.
    #[test]
    fn never_locks() {
        let proposal = parse_inside("[DECISION] Use JWT - LOCKED (#12)")
            .proposals
            .remove(0);
        let edit = proposal.edit(&goal(&[]), 0.0).unwrap();
        let goal = goal(&[])
            .apply(edit, GoalLimits::default(), &Estimator::default())
            .unwrap();
        assert_eq!(
            (goal.decisions[0].text.as_str(), goal.decisions[0].locked),
            ("Use JWT", false)
        );
        assert_eq!(proposal.edit(&goal, 0.0), None, "known by now");
    }

    proptest! {
        /// G3, I10: any output is read; no fence survives; cites are covered messages.
        #[test]
        fn any_output(parts in proptest::collection::vec(prop_oneof![
            Just("OPEN".to_owned()), Just("CLOSE".to_owned()), Just("\n".to_owned()),
            "[\\[【*# -]{0,3}(GOAL|NEXT|CHECKPOINT|DECISION|ARTIFACT|X)[\\]】*:]{0,2} \\PC{0,12}( - LOCKED| - COMPLETED|\\(#[0-9]{1,3}\\))?",
            "\\PC{0,10}",
        ], 0..12)) {
            let (open, close) = fences();
            let output = parts.join("\n").replace("OPEN", &open).replace("CLOSE", &close);
            let mut markers = parse(&output, &job());
            markers.keep_citations(|n| (n < 50).then_some(n));
            prop_assert!(!markers.text.contains("<<pal:"));
            prop_assert!(markers.proposals.iter().all(|p| p.cites.iter().all(|n| *n < 50)));
        }
    }
}
