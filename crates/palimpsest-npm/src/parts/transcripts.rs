//! Transcripts: reading the files of other programs, and finding what a window forgot.
//!
//! | file | what it does |
//! |---|---|
//! | `conversations.rs` | what the class `ConversationReader` does |
//! | `forgotten.rs` | what a window does not hold of a history |

mod conversations;
mod forgotten;

use crate::failure::Failure;
use crate::lists::count::Counter;
use crate::transcripts::{ConversationReader, Examining, Transcripts};

struct Examiner;

/// The way to everything that this part does.
pub(super) fn open() -> Transcripts {
    Transcripts(Box::new(Examiner))
}

impl Examining for Examiner {
    fn forgotten(
        &self,
        history: &str,
        window: &str,
        options: &str,
        counter: &Counter,
    ) -> Result<String, Failure> {
        forgotten::forgotten(history, window, options, counter)
    }

    fn reader(&self) -> ConversationReader {
        ConversationReader(Box::<conversations::Reader>::default())
    }
}
