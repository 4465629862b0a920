//! A session as a file: Markdown to be read, JSON to be imported again, here or elsewhere.

use palimpsest_core::dialect::{self, Dialect};
use palimpsest_core::message::{Part, Role};
use palimpsest_core::request::RequestMessage;
use palimpsest_engine::session::NewMessage;
use palimpsest_engine::{Archive, Session};
use serde_json::{Value, json};

/// Version of the vault's format.
pub const VERSION: u32 = 1;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// To be read.
    Markdown,
    /// To be imported again.
    Json,
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

/// Writes the session as Markdown: the messages in order, and the layers at the end.
pub fn markdown(session: &Session) -> String {
    let head = session.head();
    let mut out = String::new();
    let title = if head.title.is_empty() {
        "Session"
    } else {
        head.title.as_str()
    };
    let mut line = |text: &str| {
        out.push_str(text);
        out.push_str("\n\n");
    };
    line(&format!("# {title}"));
    let records = session.records();
    if !records.system.is_empty() {
        line("## System prompt");
        line(&records.system);
    }
    if let Some(goal) = &records.goal {
        line(&format!("**Goal:** {}", goal.description));
    }
    for pin in &records.pins {
        line(&format!("- {}", pin.text));
    }
    for item in session.history(None, usize::MAX) {
        let who = match item.message.role {
            Role::User => "You",
            Role::Assistant => head.model.as_str(),
            Role::Tool => "Tool",
            Role::System => "System",
        };
        line(&format!("## {}. {who}", item.message.seq + 1));
        for part in &item.message.parts {
            match part {
                Part::Text { text } => line(text),
                Part::Thinking { text } => line(&quoted(text)),
                Part::ToolCall {
                    name, arguments, ..
                } => line(&format!("`{name}` {}", fenced(arguments))),
                Part::ToolResult { text, .. } => line(&fenced(text)),
                Part::File { name, text } => line(&format!("`{name}`\n\n{}", fenced(text))),
                Part::Image { name, .. } => line(&format!("[{name}]")),
            }
        }
    }
    for layer in session.layers() {
        line(&format!(
            "## Layer {} ({} → {} tokens)",
            layer.number, layer.original_tokens, layer.tokens
        ));
        line(&layer.summary);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|l| format!("> {l}")).collect();
    lines.join("\n")
}

/// A block whose fence is longer than any in it.
fn fenced(text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    format!("\n{fence}\n{text}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_longer_than_what_they_hold() {
        assert_eq!(fenced("a"), "\n```\na\n```");
        assert_eq!(fenced("a ```` b"), "\n`````\na ```` b\n`````");
        assert_eq!(quoted("a\nb"), "> a\n> b");
    }
}
