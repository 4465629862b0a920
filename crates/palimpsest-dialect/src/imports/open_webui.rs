//! Open WebUI's export: an array of chats, each with a tree of messages by identifier.

use serde_json::{Map, Value};

use super::report::Reason;
use super::sink::{After, Sink};
use super::tree::{self, Node};
use super::turn::{Turn, time};
use crate::reader::string;

pub(super) const NAME: &str = "open-webui";

fn history(fields: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let chat = fields
        .get("chat")
        .and_then(Value::as_object)
        .unwrap_or(fields);
    let history = chat.get("history")?.as_object()?;
    history.get("messages")?.is_object().then_some(history)
}

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    history(fields).is_some()
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    let Some(history) = history(fields) else {
        return;
    };
    sink.begin(NAME);
    let chat = fields
        .get("chat")
        .and_then(Value::as_object)
        .unwrap_or(fields);
    sink.name(chat, &["title"], &["id"]);
    sink.name(fields, &["title"], &["id"]);
    let system = chat.get("params").and_then(|params| params.get("system"));
    if let Some(Value::String(system)) = system.or_else(|| chat.get("system")) {
        sink.speak(Some("system"), After::Nothing, "system", 0.0);
        sink.turn.text(system);
    }
    let nodes = history.get("messages").and_then(Value::as_object);
    let nodes = nodes.into_iter().flatten().map(|(id, value)| Node {
        id,
        parent: value.get("parentId").and_then(Value::as_str),
        value,
    });
    tree::walk(
        sink,
        &nodes.collect::<Vec<_>>(),
        string(history, "currentId"),
        &mut message,
    );
}

fn message(sink: &mut Sink, node: &Node<'_>) {
    let after = node.parent.map_or(After::Named("system"), After::Named);
    let name = node
        .value
        .get("role")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some(role) = Turn::role_of(name).filter(|role| *role != "tool") else {
        sink.skip(Reason::Unknown, name);
        return sink.silent(Some(node.id), after);
    };
    sink.speak(
        Some(node.id),
        after,
        role,
        time(node.value.get("timestamp")),
    );
    sink.content(node.value.get("content"));
    for file in node
        .value
        .get("files")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let text = |at: &str| file.pointer(at).and_then(Value::as_str);
        match text("/type").unwrap_or("file") {
            "image" => sink
                .turn
                .image("image/png", text("/url").unwrap_or_default()),
            kind => match text("/file/data/content") {
                Some(words) => sink.turn.file(text("/name").unwrap_or(kind), words),
                None => sink.skip(Reason::Unknown, kind),
            },
        }
    }
}
