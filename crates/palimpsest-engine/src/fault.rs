//! The faults of a stored session (S5).

use std::fmt;

use palimpsest_core::message::Seq;

use crate::ports::Table;

/// A difference between a stored session and the rows that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The head is not readable, so no list shows the session.
    Head,
    /// A newer version wrote the session. Its rows were not read.
    Newer,
    /// A row is not readable, or its checksum differs.
    Damaged {
        /// The table.
        table: Table,
        /// Its number.
        n: u32,
    },
    /// Messages are missing although their numbers were given out.
    Gap {
        /// The first.
        from: Seq,
        /// The last.
        to: Seq,
    },
    /// A message follows one that does not exist.
    Broken {
        /// The message.
        seq: Seq,
    },
    /// The last message of the shown path does not exist, or the path has another length than before.
    Path,
    /// A large text of a message does not exist, or is another one.
    Text {
        /// The message.
        seq: Seq,
    },
    /// A layer covers messages that do not exist.
    Range {
        /// The layer's number in its rows.
        layer: u32,
    },
    /// A row does not exist although another row names it.
    Missing {
        /// The table.
        table: Table,
        /// Its number.
        n: u32,
    },
}

impl fmt::Display for Fault {
    /// Writes a sentence without its full stop. Messages are named by their numbers, from 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head => write!(
                f,
                "the head could not be read and was made anew from the other rows"
            ),
            Self::Newer => write!(
                f,
                "a newer version wrote the session: its rows were not looked at"
            ),
            Self::Damaged { table, n } => write!(f, "row {n} of {} cannot be read", table.name()),
            Self::Missing { table, n } => write!(f, "row {n} of {} is missing", table.name()),
            Self::Gap { from, to } if from == to => write!(f, "message {from} is missing"),
            Self::Gap { from, to } => write!(f, "messages {from} to {to} are missing"),
            Self::Broken { seq } => write!(f, "message {seq} follows one that is missing"),
            Self::Path => write!(f, "the conversation shown is not as long as it was"),
            Self::Text { seq } => {
                write!(f, "a large text of message {seq} is missing or was altered")
            }
            Self::Range { layer } => {
                write!(f, "layer {layer} covers messages that were never said")
            }
        }
    }
}
