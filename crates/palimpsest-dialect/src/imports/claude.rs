//! Claude's export: an array of conversations with `chat_messages`, which name their parents where there are branches.

use serde_json::{Map, Value};

use super::report::Reason;
use super::sink::Sink;
use super::tree::{self, Node};
use super::turn::{Turn, first, time};
use crate::reader::string;

pub(super) const NAME: &str = "claude";

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    fields.get("chat_messages").is_some_and(Value::is_array)
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    sink.begin(NAME);
    sink.name(fields, &["name", "title"], &["uuid"]);
    let list = fields.get("chat_messages").and_then(Value::as_array);
    let list = list.map_or(&[][..], Vec::as_slice);
    let nodes = numbered(list, "uuid", "parent_message_uuid");
    let nodes = nodes.iter().map(|(id, parent, value)| Node {
        id,
        parent: parent.as_deref(),
        value,
    });
    let shown = string(fields, "current_leaf_message_uuid");
    tree::walk(sink, &nodes.collect::<Vec<_>>(), shown, &mut message);
}

/// A list of messages as nodes. A message without a parent of its own follows the one before it.
pub(super) fn numbered<'v>(
    list: &'v [Value],
    id: &str,
    parent: &str,
) -> Vec<(String, Option<String>, &'v Value)> {
    let has_parents = list
        .iter()
        .any(|m| m.get(parent).is_some_and(Value::is_string));
    let mut before: Option<String> = None;
    let mut nodes = Vec::new();
    for (n, value) in list.iter().enumerate() {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let id = text(id).unwrap_or_else(|| format!("#{n}"));
        let parent = if has_parents { text(parent) } else { before };
        before = Some(id.clone());
        nodes.push((id, parent, value));
    }
    nodes
}

fn message(sink: &mut Sink, node: &Node<'_>) {
    let Some(fields) = node.value.as_object() else {
        return sink.silent(Some(node.id), node.after());
    };
    let sender = first(fields, &["sender", "role"]).unwrap_or_default();
    let Some(role) = Turn::role_of(sender) else {
        sink.skip(Reason::Unknown, sender);
        return sink.silent(Some(node.id), node.after());
    };
    sink.speak(
        Some(node.id),
        node.after(),
        role,
        time(fields.get("created_at")),
    );
    let blocks = fields.get("content").and_then(Value::as_array);
    let says = |block: &Value| block.get("type").is_some_and(|kind| kind != "text");
    match string(fields, "text").filter(|text| !text.trim().is_empty()) {
        // the text says the same as blocks of text
        Some(text) if !blocks.is_some_and(|blocks| blocks.iter().any(says)) => sink.turn.text(text),
        _ => sink.content(fields.get("content")),
    }
    for file in fields
        .get("attachments")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let name = file
            .get("file_name")
            .and_then(Value::as_str)
            .unwrap_or("file");
        let text = file.get("extracted_content").and_then(Value::as_str);
        sink.turn.file(name, text.unwrap_or_default());
    }
    for file in fields
        .get("files")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let kind = file.get("file_kind").and_then(Value::as_str);
        sink.skip(Reason::Unknown, kind.unwrap_or("file"));
    }
}
