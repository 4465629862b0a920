//! What kind of work a conversation is, and what a summary of it must not lose.

use serde::{Deserialize, Serialize};

/// The kind of work (seed 1). An unknown name is [`Mode::Assistant`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", from = "String")]
pub enum Mode {
    /// Writing code.
    Developer,
    /// Working out what to do.
    Planning,
    /// Finding out what is wrong.
    Debugger,
    /// Everything else.
    #[default]
    Assistant,
}

/// How much more a kind of sentence counts: 1 is neutral. Multiplies scores of the extractive
/// summariser, and orders what a ledger keeps first among facts of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModeWeights {
    /// Code, commands, file paths, identifiers.
    pub code: f64,
    /// Goals, plans, next steps, trade-offs.
    pub goals: f64,
    /// Errors, stack traces, causes, fixes.
    pub errors: f64,
    /// Decisions and their reasons. Above 1 in every mode: they are always kept.
    pub decisions: f64,
    /// What the user likes and dislikes.
    pub preferences: f64,
}

/// What a mode keeps whatever it costs (seed 1's preservation strategy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Preserves {
    /// Code, in developer and debugger.
    pub code: bool,
    /// Goals, in planning.
    pub goals: bool,
    /// Errors, in debugger.
    pub errors: bool,
    /// Decisions, always.
    pub decisions: bool,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 4] = [
        Self::Developer,
        Self::Planning,
        Self::Debugger,
        Self::Assistant,
    ];

    /// The mode of a name in any case; unknown names are [`Mode::Assistant`].
    pub fn parse(name: &str) -> Self {
        let name = name.trim();
        let named = |mode: &Self| mode.name().eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(named).unwrap_or_default()
    }

    /// The name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Developer => "developer",
            Self::Planning => "planning",
            Self::Debugger => "debugger",
            Self::Assistant => "assistant",
        }
    }

    /// What a summary must keep in this mode, as lines for a summary prompt.
    pub const fn prompt_lines(self) -> &'static [&'static str] {
        match self {
            Self::Developer => &[
                "Code that is still in use, and the files and functions it is in.",
                "Technical decisions and how things are implemented.",
                "Error messages and what they turned out to mean.",
                "Commands, versions and settings.",
            ],
            Self::Planning => &[
                "Goals and what would count as reaching them.",
                "Decisions about the design, and the alternatives that were turned down and why.",
                "Trade-offs, estimates, dates and dependencies.",
                "The steps that were agreed next, in order.",
            ],
            Self::Debugger => &[
                "Symptoms, exact error messages and the top lines of stack traces.",
                "What was tried, and what each attempt showed.",
                "Causes that were found and causes that were ruled out.",
                "Fixes, and whether they worked.",
            ],
            Self::Assistant => &[
                "Decisions and agreements.",
                "Facts about the user and what the user likes or dislikes.",
                "Questions that are still open.",
                "What the conversation was about last.",
            ],
        }
    }

    /// What is kept whatever it costs.
    pub const fn preserves(self) -> Preserves {
        Preserves {
            code: matches!(self, Self::Developer | Self::Debugger),
            goals: matches!(self, Self::Planning),
            errors: matches!(self, Self::Debugger),
            decisions: true,
        }
    }

    /// How much each kind of sentence counts.
    pub const fn weights(self) -> ModeWeights {
        let neutral = ModeWeights {
            code: 1.0,
            goals: 1.0,
            errors: 1.0,
            decisions: 1.5,
            preferences: 1.0,
        };
        match self {
            Self::Developer => ModeWeights {
                code: 1.5,
                errors: 1.2,
                ..neutral
            },
            Self::Planning => ModeWeights {
                code: 0.7,
                goals: 1.6,
                ..neutral
            },
            Self::Debugger => ModeWeights {
                code: 1.3,
                errors: 1.7,
                ..neutral
            },
            Self::Assistant => ModeWeights {
                code: 0.9,
                preferences: 1.4,
                ..neutral
            },
        }
    }
}

impl From<String> for Mode {
    fn from(name: String) -> Self {
        Self::parse(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G4, F 91: names in any case; unknown ones are assistant, also in stored data.
    #[test]
    fn names() {
        let check = |name: &str, expected| {
            assert_eq!(Mode::parse(name), expected, "{name:?}");
            assert_eq!(
                serde_json::from_value::<Mode>(name.into()).unwrap(),
                expected
            );
        };
        check("developer", Mode::Developer);
        check("DEVELOPER", Mode::Developer);
        check(" Planning ", Mode::Planning);
        check("debugger", Mode::Debugger);
        check("assistant", Mode::Assistant);
        check("", Mode::Assistant);
        check("pirate", Mode::Assistant);
        for mode in Mode::ALL {
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.name());
        }
    }

    /// P6: code for developer and debugger, goals for planning, errors for debugger,
    /// decisions always; and what is kept weighs more than what is not.
    #[test]
    fn preservation() {
        let row = |mode: Mode| {
            let p = mode.preserves();
            (p.code, p.goals, p.errors, p.decisions)
        };
        assert_eq!(row(Mode::Developer), (true, false, false, true));
        assert_eq!(row(Mode::Planning), (false, true, false, true));
        assert_eq!(row(Mode::Debugger), (true, false, true, true));
        assert_eq!(row(Mode::Assistant), (false, false, false, true));
        for mode in Mode::ALL {
            let (p, w) = (mode.preserves(), mode.weights());
            for (kept, weight) in [
                (p.code, w.code),
                (p.goals, w.goals),
                (p.errors, w.errors),
                (p.decisions, w.decisions),
            ] {
                assert_eq!(kept, weight >= 1.3, "{mode:?}");
            }
        }
    }
}
