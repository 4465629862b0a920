//! Codex' sessions ("rollouts"): JSON Lines whose records hold the items of OpenAI's Responses API.

use serde_json::{Map, Value};

use super::report::Reason;
use super::sink::{After, Sink};
use super::turn::{Turn, first, time};
use crate::reader::{result_text, string};

pub(super) const NAME: &str = "codex";

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    fields.get("payload").is_some_and(Value::is_object) && fields.contains_key("type")
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    sink.go_on(NAME);
    let none = Map::new();
    let payload = fields
        .get("payload")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    match string(fields, "type").unwrap_or_default() {
        "session_meta" => sink.name(payload, &[], &["id"]),
        "response_item" => item(sink, payload, time(fields.get("timestamp"))),
        // these say again what the items say
        kind @ ("event_msg" | "turn_context" | "compacted" | "ghost_snapshot") => {
            sink.skip(Reason::NotSaid, kind);
        }
        kind => sink.skip(Reason::Unknown, kind),
    }
}

/// Takes one item. Items of the assistant that follow each other are one message.
fn item(sink: &mut Sink, item: &Map<String, Value>, at: f64) {
    let kind = string(item, "type").unwrap_or_default();
    if kind == "message" {
        let name = string(item, "role").unwrap_or_default();
        let Some(role) = Turn::role_of(name) else {
            return sink.skip(Reason::Unknown, name);
        };
        if role != "assistant" || sink.turn.role() != "assistant" {
            sink.speak(None, After::Last, role, at);
        }
        return sink.content(item.get("content"));
    }
    if sink.turn.role() != "assistant" {
        sink.speak(None, After::Last, "assistant", at);
    }
    let call = first(item, &["call_id", "id"]).unwrap_or_default();
    match kind {
        "function_call" => {
            let name = string(item, "name").unwrap_or_default();
            sink.turn.call(call, name, item.get("arguments"));
        }
        "custom_tool_call" => {
            let name = string(item, "name").unwrap_or_default();
            sink.turn.call(call, name, item.get("input"));
        }
        "local_shell_call" => sink.turn.call(call, "local_shell", item.get("action")),
        "function_call_output" | "custom_tool_call_output" => {
            let output = item.get("output").unwrap_or(&Value::Null);
            let output = output.get("content").unwrap_or(output);
            sink.turn.result(call, &result_text(output));
            sink.drain();
        }
        "reasoning" => {
            for part in ["summary", "content"] {
                for words in item
                    .get(part)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                {
                    let words = words.get("text").and_then(Value::as_str);
                    sink.turn.thinking(words.unwrap_or_default());
                }
            }
        }
        "web_search_call" => sink.skip(Reason::NotSaid, kind),
        "compaction" | "compaction_summary" => sink.skip(Reason::Hidden, kind),
        _ => sink.skip(Reason::Unknown, kind),
    }
}
