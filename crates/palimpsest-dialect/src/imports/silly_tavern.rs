//! SillyTavern's chats: JSON Lines with a header and a message on each line. Swipes, the other answers to a message, are branches.

use serde_json::{Map, Value};

use super::report::Reason;
use super::sink::{After, Sink};
use super::turn::time;
use crate::reader::string;

pub(super) const NAME: &str = "sillytavern";

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    fields.get("mes").is_some_and(Value::is_string)
        || (fields.contains_key("character_name") && fields.contains_key("user_name"))
        || fields.contains_key("chat_metadata")
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    let Some(text) = string(fields, "mes") else {
        sink.begin(NAME);
        sink.name(fields, &["character_name"], &[]);
        // the file goes on under the same date
        let id = string(fields, "character_name").zip(string(fields, "create_date"));
        sink.head().id = id.map(|(name, date)| format!("{name} {date}"));
        return;
    };
    sink.go_on(NAME);
    let set = |key: &str| fields.get(key) == Some(&Value::Bool(true));
    if set("is_system") {
        return sink.skip(Reason::Hidden, "is_system");
    }
    let role = if set("is_user") { "user" } else { "assistant" };
    let at = time(fields.get("send_date"));
    // the swipes follow what this message follows
    let number = sink.record;
    let before = format!("<{number}");
    sink.silent(Some(&before), After::Last);
    let swipes = fields.get("swipes").and_then(Value::as_array);
    let selected = fields.get("swipe_id").and_then(Value::as_u64).unwrap_or(0) as usize;
    for (n, swipe) in swipes.into_iter().flatten().enumerate() {
        let swipe = swipe
            .as_str()
            .filter(|words| n != selected && *words != text);
        if let Some(swipe) = swipe {
            sink.speak(None, After::Named(&before), role, at);
            sink.turn.text(swipe);
        }
    }
    sink.speak(None, After::Named(&before), role, at);
    let reasoning = fields
        .get("extra")
        .and_then(|extra| extra.get("reasoning")?.as_str());
    sink.turn.thinking(reasoning.unwrap_or_default());
    if text.trim().is_empty() {
        sink.skip(Reason::Empty, "mes");
    }
    sink.turn.text(text);
    sink.flush();
    sink.forget(&before);
}
