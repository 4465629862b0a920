use std::cell::RefCell;

use palimpsest_core::dialect::imports::{
    Branch, Conversation, Event, ImportError, Importer, Report,
};
use serde::Serialize;
use serde_json::Value;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border;
use crate::failure::Failure;

/// Reads the conversations of a file that another program wrote, while its bytes arrive.
#[wasm_bindgen]
#[derive(Default)]
pub struct ConversationReader(RefCell<Reading>);

#[derive(Default)]
struct Reading {
    importer: Option<Importer>,
    /// How the messages of the open conversation follow each other. The messages themselves are on the other side.
    open: Conversation,
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

#[wasm_bindgen]
impl ConversationReader {
    /// One that has read nothing.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        let reading = Reading {
            importer: Some(Importer::default()),
            ..Reading::default()
        };
        Self(RefCell::new(reading))
    }

    /// Takes the next bytes of the file. Gives what is complete by now, as JSON text.
    pub fn push(&self, bytes: &[u8]) -> Result<String, Failure> {
        let mut reading = self.0.borrow_mut();
        let importer = reading.importer.as_mut().ok_or_else(over)?;
        importer.push(bytes);
        let events = importer.take();
        border::text(&reading.pieces(events))
    }

    /// Ends the file. Gives the rest and the report, as JSON text. Once.
    pub fn finish(&self) -> Result<String, Failure> {
        let mut reading = self.0.borrow_mut();
        let importer = reading.importer.take().ok_or_else(over)?;
        let (events, report) = importer.finish().map_err(refused)?;
        let pieces = reading.pieces(events);
        border::text(&Rest { pieces, report })
    }
}

fn refused(error: ImportError) -> Failure {
    Failure::new("bad_input", error.to_string())
}

fn over() -> Failure {
    Failure::new("bad_input", "The file was read to its end.")
}

impl Reading {
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
