//! What became of a file that was imported: what was read, and what was not and why.

use serde::Serialize;
use thiserror::Error;

/// How many different kinds of skipped records are told apart.
const KINDS: usize = 64;

/// Why a record, or a part of one, is not among the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Reason {
    /// It is no JSON.
    NotJson,
    /// It is no UTF-8.
    NotText,
    /// The file ends in the middle of it.
    CutOff,
    /// Nobody here knows what it is.
    Unknown,
    /// It is known, and says nothing to a model: settings, progress, counts.
    NotSaid,
    /// The program that wrote the file did not show it to the model: side tasks, hidden messages, summaries of what is here.
    Hidden,
    /// It says nothing.
    Empty,
}

/// Records that were left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Skipped {
    /// Why.
    pub reason: Reason,
    /// What kind of record it is, in the words of the program that wrote it.
    pub what: String,
    /// How many there are.
    pub count: u32,
    /// The first one, counted from 1: the line in JSON Lines, else the value.
    pub first: u32,
}

/// What became of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Report {
    /// The formats that were found in the file, by name.
    pub formats: Vec<&'static str>,
    /// Conversations in which something was said.
    pub conversations: u32,
    /// Messages of them, on all branches.
    pub imported: u32,
    /// What was left out.
    pub skipped: Vec<Skipped>,
}

impl Report {
    pub(super) fn skip(&mut self, reason: Reason, what: &str, record: u32) {
        let same = |s: &&mut Skipped| s.reason == reason && s.what == what;
        if let Some(known) = self.skipped.iter_mut().find(same) {
            known.count += 1;
            return;
        }
        let what = if self.skipped.len() < KINDS {
            what.chars().take(40).collect()
        } else if what == "others" {
            what.to_owned()
        } else {
            return self.skip(reason, "others", record);
        };
        self.skipped.push(Skipped {
            reason,
            what,
            count: 1,
            first: record,
        });
    }

    pub(super) fn found(&mut self, format: &'static str) {
        if !self.formats.contains(&format) {
            self.formats.push(format);
        }
    }
}

/// Why a file cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// There is nothing in it.
    #[error("The file is empty.")]
    Empty,
    /// It is no JSON.
    #[error(
        "The file is not JSON that can be read ({0}). Export the conversation as JSON or JSON Lines."
    )]
    NotJson(String),
    /// It holds no conversation that is understood.
    #[error("The file holds no messages: it is {found}. Understood are {known}.")]
    NoMessages {
        /// The shape that was found.
        found: String,
        /// The formats that are understood.
        known: String,
    },
}

impl ImportError {
    /// A stable name of the kind of failure.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Empty => "empty_file",
            Self::NotJson(_) => "not_json",
            Self::NoMessages { .. } => "no_messages",
        }
    }
}
