//! Plain lists of messages in the dialects, which stay as they are: alone, in an object, a message on each line, or as
//! sessions of palimpsest's own.

use serde_json::{Map, Value, json};

use super::sink::Sink;
use crate::reader::{result_text, string};

pub(super) const NAME: &str = "messages";

/// The fields that hold the messages of a request or a session.
const LISTS: [&str; 3] = ["messages", "contents", "input"];

/// Whether a value is a message of one of the dialects.
fn is_message(value: &Value) -> bool {
    value.as_object().is_some_and(is)
}

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    fields.get("role").is_some_and(Value::is_string)
        || crate::responses::is(fields)
        || crate::gemini::is(fields)
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    sink.go_on(NAME);
    sink.keep(&Value::Object(fields.clone()));
}

fn list(fields: &Map<String, Value>) -> Option<(&'static str, &[Value])> {
    let inner = fields.get("chat").and_then(Value::as_object);
    [Some(fields), inner]
        .into_iter()
        .flatten()
        .find_map(|fields| {
            LISTS.iter().find_map(|key| {
                let list = fields.get(*key)?.as_array()?;
                (list.is_empty() || list.iter().any(is_message)).then_some((*key, list.as_slice()))
            })
        })
}

/// Whether the object holds a plain list.
pub(super) fn is_held(fields: &Map<String, Value>) -> bool {
    list(fields).is_some()
}

pub(super) fn read_held(sink: &mut Sink, fields: &Map<String, Value>) {
    let Some((key, list)) = list(fields) else {
        return;
    };
    sink.begin(NAME);
    sink.name(fields, &["title", "name"], &["id"]);
    // a session of palimpsest's own comes with everything that belongs to it
    if fields.contains_key("layers") && fields.contains_key("pins") {
        let mut rest = fields.clone();
        rest.shift_remove(key);
        sink.head().fields = Some(Value::Object(rest));
    }
    // a request has its system prompt beside the messages
    let system = [
        "system",
        "instructions",
        "systemInstruction",
        "system_instruction",
    ];
    let system = system.iter().find_map(|key| fields.get(*key));
    let words = match system {
        Some(Value::Object(parts)) => parts.get("parts").map(result_text),
        Some(system @ (Value::String(_) | Value::Array(_))) => Some(result_text(system)),
        _ => None,
    };
    if let Some(words) = words.filter(|words| !words.trim().is_empty()) {
        sink.keep(&json!({ "role": "system", "content": words }));
    }
    for message in list {
        match message {
            Value::Object(fields) if is(fields) => sink.keep(message),
            other => sink.unknown(other),
        }
    }
    sink.end();
}

/// The kind of a record that is not understood, for the report.
pub(super) fn kind_of(value: &Value) -> String {
    let Some(fields) = value.as_object() else {
        return crate::reader::kind(value).to_owned();
    };
    if let Some(kind) = string(fields, "type").or_else(|| string(fields, "object")) {
        return kind.to_owned();
    }
    let keys: Vec<&str> = fields.keys().take(4).map(String::as_str).collect();
    if keys.is_empty() {
        "an empty object".to_owned()
    } else {
        format!("an object with {}", keys.join(", "))
    }
}
