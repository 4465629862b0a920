//! Jan's threads: `messages.jsonl` with a message on each line, in the shape of OpenAI's threads.

use serde_json::{Map, Value};

use super::report::Reason;
use super::sink::{After, Sink};
use super::turn::{Turn, time};
use crate::reader::string;

pub(super) const NAME: &str = "jan";

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    string(fields, "object") == Some("thread.message")
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    let thread = string(fields, "thread_id");
    let is_other = |sink: &mut Sink| sink.head().id.as_deref() != thread;
    if sink.format() != Some(NAME) || is_other(sink) {
        sink.begin(NAME);
        sink.head().id = thread.map(str::to_owned);
    }
    let name = string(fields, "role").unwrap_or_default();
    let Some(role) = Turn::role_of(name) else {
        return sink.skip(Reason::Unknown, name);
    };
    sink.speak(None, After::Last, role, time(fields.get("created_at")));
    sink.content(fields.get("content"));
    // earlier versions keep calls and results beside the words
    let calls = fields
        .get("metadata")
        .and_then(|m| m.get("tool_calls")?.as_array());
    for call in calls.into_iter().flatten() {
        let text = |at: &str| call.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let id = text("/tool/id");
        sink.turn.call(
            id,
            text("/tool/function/name"),
            call.pointer("/tool/function/arguments"),
        );
        if let Some(content) = call.pointer("/response/content") {
            sink.turn.result(id, &crate::reader::result_text(content));
        }
    }
}
