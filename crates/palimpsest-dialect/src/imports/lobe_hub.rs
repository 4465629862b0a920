//! LobeHub's export (LobeChat): tables of messages, topics and sessions. Each topic is a conversation.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::report::Reason;
use super::sink::{After, Sink};
use super::turn::{Turn, first, time};
use crate::reader::string;

pub(super) const NAME: &str = "lobehub";

fn tables(fields: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let named = |key: &str, beside: &str| fields.get(key).filter(|_| fields.contains_key(beside));
    let tables = named("state", "exportType")
        .or_else(|| named("data", "mode"))?
        .as_object()?;
    tables.get("messages")?.is_array().then_some(tables)
}

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    tables(fields).is_some()
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    let Some(tables) = tables(fields) else {
        return;
    };
    let rows = |name: &str| {
        tables
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let titles = rows("topics").chain(rows("sessions")).filter_map(|row| {
        let row = row.as_object()?;
        let title = string(row, "title").or_else(|| row.get("meta")?.get("title")?.as_str());
        Some((string(row, "id")?, title.unwrap_or_default()))
    });
    let titles: BTreeMap<&str, &str> = titles.collect();
    let of_tools = rows("messagePlugins").filter_map(|row| Some((row.get("id")?.as_str()?, row)));
    let of_tools: BTreeMap<&str, &Value> = of_tools.collect();
    // conversations in the order in which they begin
    let mut order: Vec<&str> = Vec::new();
    let mut talks: BTreeMap<&str, Vec<&Map<String, Value>>> = BTreeMap::new();
    for row in rows("messages").filter_map(Value::as_object) {
        let talk = first(row, &["topicId", "threadId", "sessionId"]).unwrap_or_default();
        if !talks.contains_key(talk) {
            order.push(talk);
        }
        talks.entry(talk).or_default().push(row);
    }
    for talk in order {
        sink.begin(NAME);
        let title = titles.get(talk).copied().unwrap_or_default();
        sink.name(
            &Map::from_iter([("title".to_owned(), title.into())]),
            &["title"],
            &[],
        );
        sink.head().id = Some(talk.to_owned());
        let mut rows = talks.remove(talk).unwrap_or_default();
        palimpsest_text::order::sort_by_key(&mut rows, |row| time(row.get("createdAt")) as u64);
        for row in rows {
            message(sink, row, &of_tools);
        }
    }
}

fn message(sink: &mut Sink, row: &Map<String, Value>, of_tools: &BTreeMap<&str, &Value>) {
    let name = string(row, "role").unwrap_or_default();
    let Some(role) = Turn::role_of(name) else {
        return sink.skip(Reason::Unknown, name);
    };
    sink.speak(None, After::Last, role, time(row.get("createdAt")));
    let content = string(row, "content").unwrap_or_default();
    if role == "tool" {
        let own = string(row, "id").and_then(|id| of_tools.get(id));
        let call = first(row, &["tool_call_id", "toolCallId"]);
        let call = call.or_else(|| own?.get("toolCallId")?.as_str());
        return sink.turn.result(call.unwrap_or_default(), content);
    }
    if let Some(words) = row
        .get("reasoning")
        .and_then(|r| r.get("content")?.as_str())
    {
        sink.turn.thinking(words);
    }
    sink.turn.text(content);
    for call in row
        .get("tools")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = [text("identifier"), text("apiName")];
        let name = name.iter().filter(|part| !part.is_empty()).copied();
        let name = name.collect::<Vec<_>>().join("-");
        sink.turn
            .call(text("id"), &name, Some(&json!(text("arguments"))));
    }
}
