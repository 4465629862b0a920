//! opencode's sessions: what `opencode export` writes, and a list of messages as its server gives it.

use serde_json::{Map, Value};

use super::report::Reason;
use super::sink::{After, Sink};
use super::turn::{Turn, time};

pub(super) const NAME: &str = "opencode";

/// Parts that tell of the program and not of the conversation.
const BESIDE: [&str; 7] = [
    "step-start",
    "step-finish",
    "snapshot",
    "patch",
    "agent",
    "retry",
    "compaction",
];

fn is_message(value: &Value) -> bool {
    value.get("info").is_some_and(Value::is_object)
        && value.get("parts").is_some_and(Value::is_array)
}

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    let messages = fields.get("messages").and_then(Value::as_array);
    let has_parts = fields.get("parts").is_some_and(Value::is_array);
    fields.get("info").is_some_and(Value::is_object)
        && (has_parts || messages.is_some_and(|list| list.iter().any(is_message)))
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    if let Some(list) = fields.get("messages").and_then(Value::as_array) {
        sink.begin(NAME);
        if let Some(info) = fields.get("info").and_then(Value::as_object) {
            sink.name(info, &["title"], &["id"]);
        }
        for one in list.iter().filter_map(Value::as_object) {
            message(sink, one);
        }
        sink.end();
    } else {
        sink.go_on(NAME);
        message(sink, fields);
    }
}

fn message(sink: &mut Sink, fields: &Map<String, Value>) {
    let info = |at: &str| fields.get("info").and_then(|info| info.pointer(at));
    let name = info("/role").and_then(Value::as_str).unwrap_or_default();
    let Some(role) = Turn::role_of(name) else {
        return sink.skip(Reason::Unknown, name);
    };
    sink.speak(None, After::Last, role, time(info("/time/created")));
    for part in fields
        .get("parts")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let text = |at: &str| part.pointer(at).and_then(Value::as_str).unwrap_or_default();
        match text("/type") {
            // a reply has a message for each step
            "step-start" => sink.turn.close(),
            "text" | "reasoning" if part.get("ignored") == Some(&Value::Bool(true)) => {
                sink.skip(Reason::Hidden, "ignored");
            }
            "text" => sink.turn.text(text("/text")),
            "reasoning" => sink.turn.thinking(text("/text")),
            "tool" => {
                let id = text("/callID");
                sink.turn
                    .call(id, text("/tool"), part.pointer("/state/input"));
                match text("/state/status") {
                    "completed" => sink.turn.result(id, text("/state/output")),
                    "error" => sink.turn.result(id, text("/state/error")),
                    _ => {}
                }
            }
            "file" if text("/mime").starts_with("image/") => {
                sink.turn.image(text("/mime"), text("/url"));
            }
            "file" => sink.skip(Reason::Unknown, text("/mime")),
            "subtask" => sink.turn.text(text("/prompt")),
            kind if BESIDE.contains(&kind) => sink.skip(Reason::NotSaid, kind),
            kind => sink.skip(Reason::Unknown, kind),
        }
    }
    sink.flush();
}
