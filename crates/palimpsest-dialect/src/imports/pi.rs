//! pi's sessions: JSON Lines, a header and a tree of entries. The last entry of the file ends the branch that was shown last.

use serde_json::{Map, Value};

use super::report::Reason;
use super::sink::{After, Sink};
use super::turn::{Turn, first, time};
use crate::reader::{result_text, string};

pub(super) const NAME: &str = "pi";

/// Entries that tell of the program and not of the conversation.
const BESIDE: [&str; 5] = [
    "model_change",
    "thinking_level_change",
    "custom",
    "label",
    "leaf",
];

/// Entries that say again what other entries say.
const SUMMARIES: [&str; 2] = ["compaction", "branch_summary"];

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    let kind = string(fields, "type").unwrap_or_default();
    (kind == "session" && fields.contains_key("cwd"))
        || (fields.contains_key("parentId") && fields.contains_key("id") && !kind.is_empty())
        || (kind == "message"
            && fields
                .get("message")
                .is_some_and(|m| m.get("role").is_some()))
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    let kind = string(fields, "type").unwrap_or_default();
    if kind == "session" {
        sink.begin(NAME);
        return sink.name(fields, &[], &["id"]);
    }
    sink.go_on(NAME);
    let id = string(fields, "id");
    let after = match fields.get("parentId") {
        Some(Value::String(parent)) => After::Named(parent),
        Some(_) => After::Nothing,
        // the first version has no parents
        None => After::Last,
    };
    match kind {
        "message" => {
            let none = Map::new();
            let message = fields.get("message").and_then(Value::as_object);
            self::message(sink, id, after, message.unwrap_or(&none));
        }
        "custom_message" => {
            sink.speak(id, after, "user", time(fields.get("timestamp")));
            sink.content(fields.get("content"));
        }
        "session_info" => {
            sink.name(fields, &["name"], &[]);
            sink.silent(id, after);
        }
        kind => {
            let reason = match kind {
                _ if BESIDE.contains(&kind) => Reason::NotSaid,
                _ if SUMMARIES.contains(&kind) => Reason::Hidden,
                _ => Reason::Unknown,
            };
            sink.skip(reason, kind);
            sink.silent(id, after);
        }
    }
    if let Some(id) = id {
        sink.shown(id);
    }
}

fn message(sink: &mut Sink, id: Option<&str>, after: After<'_>, message: &Map<String, Value>) {
    let at = time(message.get("timestamp"));
    let name = string(message, "role").unwrap_or_default();
    match (name, Turn::role_of(name)) {
        ("bashExecution", _) => {
            sink.speak(id, after, "user", at);
            let text = |key| string(message, key).unwrap_or_default();
            let words = format!("$ {}\n{}", text("command"), text("output"));
            sink.turn.text(words.trim_end());
        }
        (_, Some("tool")) => {
            sink.speak(id, after, "tool", at);
            let call = first(message, &["toolCallId"]).unwrap_or_default();
            let text = message.get("content").map_or_else(String::new, result_text);
            sink.turn.result(call, &text);
        }
        ("custom" | "hookMessage", _) => {
            sink.speak(id, after, "user", at);
            sink.content(message.get("content"));
        }
        (_, Some(role)) => {
            sink.speak(id, after, role, at);
            sink.content(message.get("content"));
        }
        (name, None) => {
            let known = matches!(name, "branchSummary" | "compactionSummary");
            sink.skip(
                if known {
                    Reason::Hidden
                } else {
                    Reason::Unknown
                },
                name,
            );
            sink.silent(id, after);
        }
    }
}
