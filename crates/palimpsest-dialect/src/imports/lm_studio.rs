//! LM Studio's conversations: messages in several versions, of which one is selected. The other versions are branches.

use palimpsest_text::json::ToJson as _;
use serde_json::{Map, Value};

use super::report::Reason;
use super::sink::{After, Sink};
use super::turn::{Turn, first, time};
use crate::reader::{result_text, string};

pub(super) const NAME: &str = "lm-studio";

fn messages(fields: &Map<String, Value>) -> Option<&[Value]> {
    let list = fields.get("messages")?.as_array()?;
    let versions = |message: &Value| message.get("versions").is_some_and(Value::is_array);
    list.iter().any(versions).then_some(list)
}

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    messages(fields).is_some()
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    sink.begin(NAME);
    sink.name(fields, &["name"], &[]);
    let begun = time(fields.get("createdAt"));
    sink.head().id = fields.get("createdAt").map(Value::to_json);
    let config = fields
        .get("perChatPredictionConfig")
        .and_then(|c| c.get("fields")?.as_array());
    let is_system = |field: &&Value| field["key"] == "llm.prediction.systemPrompt";
    let system = config.and_then(|fields| fields.iter().find(is_system)?.get("value")?.as_str());
    let system = system
        .filter(|text| !text.is_empty())
        .or_else(|| string(fields, "systemPrompt"));
    if let Some(system) = system {
        sink.speak(None, After::Last, "system", begun);
        sink.turn.text(system);
    }
    let mut before = "start".to_owned();
    sink.silent(Some(&before), After::Last);
    for (n, message) in messages(fields).unwrap_or_default().iter().enumerate() {
        let versions = message.get("versions").and_then(Value::as_array);
        let versions = versions.map_or(&[][..], Vec::as_slice);
        let selected = message
            .get("currentlySelected")
            .and_then(Value::as_u64)
            .unwrap_or(0) as usize;
        let here = format!("{n}");
        for (v, version) in versions.iter().enumerate() {
            let id = if v == selected {
                here.clone()
            } else {
                format!("{n}/{v}")
            };
            self::version(sink, &id, After::Named(&before), version);
        }
        before = here;
    }
    sink.shown(&before);
}

fn version(sink: &mut Sink, id: &str, after: After<'_>, version: &Value) {
    let name = version
        .get("role")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some(role) = Turn::role_of(name) else {
        sink.skip(Reason::Unknown, name);
        return sink.silent(Some(id), after);
    };
    sink.speak(Some(id), after, role, 0.0);
    let Some(steps) = version.get("steps").and_then(Value::as_array) else {
        return sink.content(version.get("content"));
    };
    for step in steps.iter().filter_map(Value::as_object) {
        match string(step, "type").unwrap_or_default() {
            "contentBlock" => block(sink, step),
            kind @ ("debugInfoBlock" | "status" | "toolStatus") => sink.skip(Reason::NotSaid, kind),
            kind => sink.skip(Reason::Unknown, kind),
        }
    }
}

fn block(sink: &mut Sink, step: &Map<String, Value>) {
    let style = step.get("style").and_then(|style| style.get("type"));
    let is_thinking = style.is_some_and(|kind| kind == "thinking");
    for part in step
        .get("content")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let Some(fields) = part.as_object() else {
            continue;
        };
        let call =
            || first(fields, &["toolCallRequestId", "toolCallId", "callId"]).unwrap_or_default();
        match string(fields, "type").unwrap_or_default() {
            "text" if is_thinking => sink
                .turn
                .thinking(string(fields, "text").unwrap_or_default()),
            "toolCallRequest" => {
                let name = string(fields, "name").unwrap_or_default();
                sink.turn.call(call(), name, fields.get("parameters"));
            }
            "toolCallResult" => {
                let text = fields.get("content").map_or_else(String::new, result_text);
                sink.turn.result(call(), &text);
            }
            _ => sink.content(Some(part)),
        }
    }
}
