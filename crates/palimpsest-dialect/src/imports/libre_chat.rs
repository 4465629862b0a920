//! LibreChat's export of a conversation: a tree of messages inside each other, or a list whose messages name their parents.

use serde_json::{Map, Value};

use super::claude::numbered;
use super::sink::Sink;
use super::tree::{self, Node};
use super::turn::time;
use crate::reader::string;

pub(super) const NAME: &str = "librechat";

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    fields.get("conversationId").is_some_and(Value::is_string)
        && ["messagesTree", "messages"]
            .iter()
            .any(|key| fields.get(*key).is_some_and(Value::is_array))
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    sink.begin(NAME);
    sink.name(fields, &["title"], &["conversationId"]);
    let list = |key: &str| fields.get(key).and_then(Value::as_array);
    let mut flat: Vec<(&str, Option<&str>, &Value)> = Vec::new();
    let mut next: Vec<(Option<&str>, &Value)> = Vec::new();
    for value in list("messagesTree").into_iter().flatten().rev() {
        next.push((None, value));
    }
    while let Some((parent, value)) = next.pop() {
        let id = value
            .get("messageId")
            .and_then(Value::as_str)
            .unwrap_or_default();
        flat.push((id, parent, value));
        let children = value.get("children").and_then(Value::as_array);
        next.extend(
            children
                .into_iter()
                .flatten()
                .rev()
                .map(|child| (Some(id), child)),
        );
    }
    let given = list("messages").map_or(&[][..], Vec::as_slice);
    let given = numbered(given, "messageId", "parentMessageId");
    let given = given
        .iter()
        .map(|(id, parent, value)| (id.as_str(), parent.as_deref(), *value));
    let nodes = flat.into_iter().chain(given);
    let nodes: Vec<Node<'_>> = nodes
        .map(|(id, parent, value)| Node { id, parent, value })
        .collect();
    // the newest message is the one that was shown last
    let newest = nodes
        .iter()
        .filter_map(|node| Some((node.value.get("createdAt")?.as_str()?, node.id)));
    let newest = newest.max().map(|(_, id)| id);
    tree::walk(sink, &nodes, newest, &mut message);
}

fn message(sink: &mut Sink, node: &Node<'_>) {
    let Some(fields) = node.value.as_object() else {
        return sink.silent(Some(node.id), node.after());
    };
    let is_user = fields.get("isCreatedByUser") == Some(&Value::Bool(true));
    let role = if is_user { "user" } else { "assistant" };
    sink.speak(
        Some(node.id),
        node.after(),
        role,
        time(fields.get("createdAt")),
    );
    match fields.get("content").filter(|content| content.is_array()) {
        Some(content) => sink.content(Some(content)),
        None => sink.turn.text(string(fields, "text").unwrap_or_default()),
    }
}
