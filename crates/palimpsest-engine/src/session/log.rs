//! The session's log: every change of the window with its figures, as data and as Markdown (T4), and what
//! the tools' words take (W5). Read from the revisions, which are stored anyway: nothing is written twice.

use std::fmt::Write;

use palimpsest_core::analytics::Analytics;
use palimpsest_core::context::Cause;
use palimpsest_core::pass::Shed;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;

use super::Session;

/// What was done to the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogAction {
    /// A compaction that a person asked for.
    #[serde(rename = "compacted by hand")]
    ByHand,
    /// A compaction at the trigger.
    #[serde(rename = "compacted")]
    Compacted,
    /// Whatever it took to fit.
    #[serde(rename = "emergency")]
    Emergency,
}

impl LogAction {
    /// Its words, as they stand in the log.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ByHand => "compacted by hand",
            Self::Compacted => "compacted",
            Self::Emergency => "emergency",
        }
    }
}

/// One change of the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// The revision.
    pub revision: u32,
    /// When, in milliseconds since 1970.
    pub at: f64,
    /// What was done.
    pub action: LogAction,
    /// Messages shown before and after; 0 where that was not counted.
    pub messages: (u32, u32),
    /// Tokens of the window before and after; 0 where that was not counted.
    pub tokens: (u32, u32),
    /// The window's size in tokens now: what percentages are of.
    pub window: u32,
    /// What each pass shed.
    pub passes: Vec<Shed>,
    /// Tokens the model had to read again.
    pub reread: u32,
    /// What was done beside that.
    pub adjustments: Vec<String>,
}

impl LogEntry {
    /// Tokens saved.
    pub const fn saved(&self) -> u32 {
        self.tokens.0.saturating_sub(self.tokens.1)
    }

    /// Tokens saved in percent of those before.
    pub fn saving_percent(&self) -> f64 {
        percent(self.saved(), self.tokens.0)
    }
}

fn percent(part: u32, whole: u32) -> f64 {
    if whole == 0 {
        0.0
    } else {
        f64::from(part) * 100.0 / f64::from(whole)
    }
}

impl Session {
    /// Every change of the window that has figures, oldest first.
    pub async fn log(&self) -> Result<Vec<LogEntry>, EngineError> {
        let window = self.head().effective_window();
        let rows = self.revisions().await?;
        let entries = rows.into_iter().filter_map(|row| {
            let report = row.report?;
            let action = match row.cause {
                Cause::Compaction { manual: true, .. } => LogAction::ByHand,
                Cause::Emergency => LogAction::Emergency,
                _ => LogAction::Compacted,
            };
            Some(LogEntry {
                revision: row.n,
                at: row.at,
                action,
                messages: (report.preserved + report.messages, report.preserved),
                tokens: (report.before, report.after),
                window,
                passes: report.passes,
                reread: report.reread,
                adjustments: report.adjustments,
            })
        });
        Ok(entries.collect())
    }

    /// What is shown of the tools' words, by tool and in total.
    pub fn analytics(&self) -> Analytics {
        Analytics::of(&self.0.state.borrow().context)
    }
}

/// The log as Markdown. `time` writes a moment as the reader's calendar has it.
pub fn log_markdown(title: &str, entries: &[LogEntry], time: &dyn Fn(f64) -> String) -> String {
    // writing to a string cannot fail
    let mut out = format!("# Session log: {}\n", one_line(title));
    for entry in entries {
        let share = |tokens: u32| percent(tokens, entry.window);
        let (before, after) = entry.tokens;
        let _ = write!(
            out,
            "\n## {} @ {}\n\n- Before: {before} / {} tokens ({:.1} %), {} messages\n- After: {after} / {} tokens ({:.1} %), {} messages\n- Saved: {} tokens ({:.1} %)\n- To read again: {} tokens\n",
            capital(entry.action.words()),
            time(entry.at),
            entry.window,
            share(before),
            entry.messages.0,
            entry.window,
            share(after),
            entry.messages.1,
            entry.saved(),
            entry.saving_percent(),
            entry.reread,
        );
        for shed in &entry.passes {
            let _ = writeln!(
                out,
                "- {}: {} tokens",
                capital(shed.pass.name()),
                shed.tokens
            );
        }
        for line in &entry.adjustments {
            let _ = writeln!(out, "- Note: {}", one_line(line));
        }
    }
    out
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// A title cannot begin a heading or a list of its own.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
