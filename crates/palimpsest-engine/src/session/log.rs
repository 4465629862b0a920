//! The session's log: every change of the window with its figures, as data and as Markdown (T4), and the tokens of tool
//! calls and results (W5). It is read from the stored revisions, so nothing is written twice.

use std::fmt::Write;

use palimpsest_core::analytics::Analytics;
use palimpsest_core::context::Cause;
use palimpsest_core::pass::Shed;
use palimpsest_text::number::fixed;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;

use super::Session;

/// The kind of a change of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum LogAction {
    /// A compaction that a person requested.
    #[serde(rename = "compacted by hand")]
    ByHand,
    /// A compaction at the trigger.
    #[serde(rename = "compacted")]
    Compacted,
    /// An emergency, which does whatever it takes to fit.
    #[serde(rename = "emergency")]
    Emergency,
    /// A person wrote a layer's text.
    #[serde(rename = "layer edited")]
    Edited,
    /// A person had a layer written again.
    #[serde(rename = "layer rewritten")]
    Remade,
}

impl LogAction {
    /// The words of the log for this kind.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ByHand => "compacted by hand",
            Self::Compacted => "compacted",
            Self::Emergency => "emergency",
            Self::Edited => "layer edited",
            Self::Remade => "layer rewritten",
        }
    }
}

/// One change of the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LogEntry {
    /// The revision.
    pub revision: u32,
    /// The time in milliseconds since 1970.
    pub at: f64,
    /// The kind of the change.
    pub action: LogAction,
    /// The number of messages in the window before and after; 0 if it was not counted.
    pub messages: (u32, u32),
    /// The tokens of the window before and after; 0 if they were not counted.
    pub tokens: (u32, u32),
    /// The size of the window in tokens, the base of percentages.
    pub window: u32,
    /// The savings of each pass.
    pub passes: Vec<Shed>,
    /// The tokens that the model had to read again.
    pub reread: u32,
    /// Further changes.
    pub adjustments: Vec<String>,
}

impl LogEntry {
    /// The tokens saved.
    pub const fn saved(&self) -> u32 {
        self.tokens.0.saturating_sub(self.tokens.1)
    }

    /// The tokens saved, in percent of those before.
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
    /// Returns every change of the window that has figures, oldest first.
    pub async fn log(&self) -> Result<Vec<LogEntry>, EngineError> {
        let window = self.head().effective_window();
        let rows = self.revisions().await?;
        let entries = rows.into_iter().filter_map(|row| {
            let report = row.report?;
            let action = match row.cause {
                Cause::Compaction { manual: true, .. } => LogAction::ByHand,
                Cause::Emergency => LogAction::Emergency,
                Cause::Edited { .. } => LogAction::Edited,
                Cause::Remade { .. } => LogAction::Remade,
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

    /// Returns the tokens of tool calls and results in the window, by tool and in total.
    pub fn analytics(&self) -> Analytics {
        Analytics::of(&self.0.state.borrow().context)
    }
}

/// Writes the log as Markdown. `time` formats a time for the reader.
pub fn log_markdown(title: &str, entries: &[LogEntry], time: &dyn Fn(f64) -> String) -> String {
    // Writing to a string cannot fail.
    let mut out = format!("# Session log: {}\n", one_line(title));
    for entry in entries {
        let share = |tokens: u32| fixed(percent(tokens, entry.window), 1);
        let (before, after) = entry.tokens;
        let _ = write!(
            out,
            "\n## {} @ {}\n\n- Before: {before} / {} tokens ({} %), {} messages\n- After: {after} / {} tokens ({} %), {} messages\n- Saved: {} tokens ({} %)\n- To read again: {} tokens\n",
            capital(entry.action.words()),
            time(entry.at),
            entry.window,
            share(before),
            entry.messages.0,
            entry.window,
            share(after),
            entry.messages.1,
            entry.saved(),
            fixed(entry.saving_percent(), 1),
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

/// Puts a title on one line, so that it cannot start a heading or a list.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
