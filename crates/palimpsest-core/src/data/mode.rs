//! The kind of work of a conversation, and the content that its summaries must keep.

use serde::{Deserialize, Serialize};

/// The kind of work (seed 1). An unknown name is [`Mode::Assistant`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", from = "String")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Mode {
    /// Writing code.
    Developer,
    /// Planning the work.
    Planning,
    /// Searching for a fault.
    Debugger,
    /// Everything else.
    #[default]
    Assistant,
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

    /// The content that a summary must keep in this mode, as lines for a summary prompt.
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
}

impl From<String> for Mode {
    fn from(name: String) -> Self {
        Self::parse(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G4, F 91: names are read in any case, and unknown ones mean assistant, also in stored data.
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
}
