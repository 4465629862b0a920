//! A session as a JSON file for other programs, which this page reads again. The engine writes the other formats.

use palimpsest_core::dialect::{self, Dialect};
use palimpsest_core::message::Role;
use palimpsest_core::request::RequestMessage;
use palimpsest_engine::session::NewMessage;
use palimpsest_engine::{Archive, Session};
use serde_json::{Value, json};

/// Version of the vault's format.
pub const VERSION: u32 = 1;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// To be read by people, and by this page.
    Markdown,
    /// Everything there is, a line each.
    Lines,
    /// OpenAI's messages with everything else beside them.
    Json,
    /// The messages of the path, with tool calls apart.
    Session,
    /// The log of the window, for reading.
    Log,
    /// The exact request that would be sent now.
    Request,
    /// The system message as the model reads it.
    System,
}

/// The messages of the session's path, to add them to another session.
pub fn messages(session: &Session) -> Vec<NewMessage> {
    session
        .history(None, usize::MAX)
        .iter()
        .map(|item| NewMessage {
            role: item.message.role,
            origin: item.message.origin,
            parts: item.message.parts.clone(),
            at: item.message.at,
            ended: item.message.ended,
        })
        .collect()
}

/// Writes the session as OpenAI messages with its other data. If all rows are readable, it also writes them: they
/// restore the session exactly, and the messages are for other programs.
pub fn json(session: &Session, archive: Option<&Archive>) -> Value {
    let head = session.head();
    let records = session.records();
    let mut messages: Vec<RequestMessage> = Vec::new();
    if !records.system.is_empty() {
        messages.push(RequestMessage::text(Role::System, &records.system));
    }
    let history = session.history(None, usize::MAX);
    for item in &history {
        messages.push(RequestMessage {
            role: item.message.role,
            parts: item.message.parts.clone(),
        });
    }
    let layers: Vec<Value> = session
        .layers()
        .iter()
        .map(|layer| {
            json!({
                "number": layer.number,
                "covers": layer.covers,
                "summary": layer.summary,
                "ledger": layer.ledger,
                "tokens": layer.tokens,
                "originalTokens": layer.original_tokens,
            })
        })
        .collect();
    json!({
        "id": session.id(),
        "title": head.title,
        "model": head.model,
        "window": head.window,
        "created": head.created,
        "updated": head.updated,
        "goal": records.goal,
        "pins": records.pins,
        "layers": layers,
        "messages": dialect::to_values(messages.iter().map(RequestMessage::said), Dialect::OpenAi),
        "archive": archive,
    })
}
