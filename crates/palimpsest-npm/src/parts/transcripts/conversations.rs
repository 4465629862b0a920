use std::cell::RefCell;

use palimpsest_core::dialect::imports::{
    Branch, Conversation, Event, ImportError, Importer, Report,
};
use serde::Serialize;
use serde_json::Value;

use crate::border;
use crate::failure::Failure;
use crate::transcripts::Reading;

/// Reads one file.
pub(super) struct Reader(RefCell<File>);

struct File {
    /// Nothing once the file was read to its end.
    importer: Option<Importer>,
    /// How the messages of the open conversation follow each other. The messages themselves are on the other side.
    open: Conversation,
}

impl Default for Reader {
    fn default() -> Self {
        Self(RefCell::new(File {
            importer: Some(Importer::default()),
            open: Conversation::default(),
        }))
    }
}

/// What was read, in order: messages, and what is known of a conversation at its end.
#[derive(Serialize)]
#[serde(untagged)]
enum Piece {
    Message((u8, Value)),
    End((u8, End)),
}

#[derive(Serialize)]
struct End {
    title: String,
    format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The messages of the branch that was shown last, by number.
    shown: Vec<u32>,
    branches: Vec<Way>,
}

#[derive(Serialize)]
struct Way {
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<u32>,
    after: u32,
    messages: Vec<u32>,
}

#[derive(Serialize)]
struct Rest {
    pieces: Vec<Piece>,
    report: Report,
}

impl Reading for Reader {
    fn push(&self, bytes: &[u8]) -> Result<String, Failure> {
        let mut file = self.0.borrow_mut();
        let importer = file.importer.as_mut().ok_or_else(over)?;
        importer.push(bytes);
        let events = importer.take();
        border::text(&file.pieces(events))
    }

    fn finish(&self) -> Result<String, Failure> {
        let mut file = self.0.borrow_mut();
        let importer = file.importer.take().ok_or_else(over)?;
        let (events, report) = importer.finish().map_err(refused)?;
        let pieces = file.pieces(events);
        border::text(&Rest { pieces, report })
    }
}

fn refused(error: ImportError) -> Failure {
    Failure::new("bad_input", error.to_string())
}

fn over() -> Failure {
    Failure::new("bad_input", "The file was read to its end.")
}

impl File {
    fn pieces(&mut self, events: Vec<Event>) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(events.len());
        for event in events {
            match event {
                Event::Begin => self.open = Conversation::default(),
                Event::Message { parent, message } => {
                    self.open.parents.push(parent);
                    pieces.push(Piece::Message((0, message)));
                }
                Event::End(head) => {
                    self.open.head = head;
                    if !self.open.parents.is_empty() {
                        pieces.push(Piece::End((1, end(&self.open))));
                    }
                    self.open = Conversation::default();
                }
                // settings and profiles are the app's own
                Event::Beside(_) => {}
            }
        }
        pieces
    }
}

fn end(conversation: &Conversation) -> End {
    let way = |branch: Branch| Way {
        of: branch.of,
        after: branch.after,
        messages: branch.messages,
    };
    End {
        title: conversation.head.title.clone(),
        format: conversation.head.format,
        id: conversation.head.id.clone(),
        shown: conversation.shown(),
        branches: conversation.branches().into_iter().map(way).collect(),
    }
}
