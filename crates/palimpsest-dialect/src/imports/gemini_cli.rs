//! Gemini CLI's sessions: one object with all messages, or JSON Lines with a header, messages and changes of them.

use palimpsest_text::json::ToJson as _;
use serde_json::{Map, Value, json};

use super::report::Reason;
use super::sink::{After, Sink};
use super::turn::{Turn, time};
use crate::reader::string;

pub(super) const NAME: &str = "gemini-cli";

/// Messages of the program to the person.
const BESIDE: [&str; 3] = ["info", "error", "warning"];

fn is_record(fields: &Map<String, Value>) -> bool {
    let kind = string(fields, "type").unwrap_or_default();
    (matches!(kind, "user" | "gemini") || BESIDE.contains(&kind))
        && fields.contains_key("content")
        && !fields.contains_key("role")
}

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    (fields.contains_key("sessionId") && fields.contains_key("projectHash"))
        || fields.contains_key("$set")
        || is_record(fields)
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    if fields.contains_key("projectHash") {
        sink.begin(NAME);
        sink.name(fields, &["summary"], &["sessionId"]);
    } else {
        sink.go_on(NAME);
    }
    let changed = fields
        .get("$set")
        .and_then(Value::as_object)
        .unwrap_or(fields);
    sink.name(changed, &["summary"], &[]);
    if let Some(list) = changed.get("messages").and_then(Value::as_array) {
        for record in list.iter().filter_map(Value::as_object) {
            message(sink, record);
        }
    } else if is_record(fields) {
        message(sink, fields);
    }
}

fn message(sink: &mut Sink, fields: &Map<String, Value>) {
    let kind = string(fields, "type").unwrap_or_default();
    let id = string(fields, "id");
    if id.is_some_and(|id| sink.knows(id)) {
        // written again, with what the program added to it
        return sink.skip(Reason::NotSaid, "a message that is here");
    }
    let Some(role) = Turn::role_of(kind) else {
        let known = BESIDE.contains(&kind);
        return sink.skip(
            if known {
                Reason::NotSaid
            } else {
                Reason::Unknown
            },
            kind,
        );
    };
    sink.speak(id, After::Last, role, time(fields.get("timestamp")));
    for thought in fields
        .get("thoughts")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let text = |key: &str| thought.get(key).and_then(Value::as_str).unwrap_or_default();
        sink.turn
            .thinking(&[text("subject"), text("description")].join(": "));
    }
    sink.content(fields.get("content"));
    let calls = fields.get("toolCalls").and_then(Value::as_array);
    for call in calls.into_iter().flatten() {
        let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
        sink.turn.call(text("id"), text("name"), call.get("args"));
    }
    for call in calls.into_iter().flatten() {
        let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
        let results = call.get("result").and_then(Value::as_array);
        let words = results.into_iter().flatten().filter_map(|result| {
            let response = result.pointer("/functionResponse/response")?;
            let output = ["output", "error"]
                .iter()
                .find_map(|key| response.get(*key)?.as_str());
            Some(output.map_or_else(|| json!(response).to_json(), str::to_owned))
        });
        let words: Vec<String> = words.collect();
        if !words.is_empty() {
            sink.turn.result(id, &words.join("\n"));
        }
    }
    sink.flush();
}
