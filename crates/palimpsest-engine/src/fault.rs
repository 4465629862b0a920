//! What can be wrong with a stored session (S5).

use std::fmt;

use palimpsest_core::message::Seq;

use crate::ports::Table;

/// Something about a stored session that is not as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Its head cannot be read: the session is in no list.
    Head,
    /// A newer version wrote it: its rows were not looked at.
    Newer,
    /// A row cannot be read, or its checksum differs.
    Damaged {
        /// Where.
        table: Table,
        /// Its number.
        n: u32,
    },
    /// Messages whose numbers were given are not there.
    Gap {
        /// The first.
        from: Seq,
        /// The last.
        to: Seq,
    },
    /// A message follows one that is not there.
    Broken {
        /// The message.
        seq: Seq,
    },
    /// The last message of the path shown is not there, or the path is not as long as it was.
    Path,
    /// A large text of a message is not there, or is another one.
    Text {
        /// The message.
        seq: Seq,
    },
    /// A layer covers messages that were never said.
    Range {
        /// The layer's number in its rows.
        layer: u32,
    },
    /// A row that another one names is not there.
    Missing {
        /// Where.
        table: Table,
        /// Its number.
        n: u32,
    },
}

impl fmt::Display for Fault {
    /// A sentence without its dot. Messages are named by their numbers, from 0.
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
