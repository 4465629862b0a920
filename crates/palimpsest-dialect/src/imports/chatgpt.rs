//! ChatGPT's export: `conversations.json`, an array of trees of nodes with at most a message each.

use serde_json::{Map, Value};

use super::report::Reason;
use super::sink::Sink;
use super::tree::{self, Node};
use super::turn::{Turn, time};
use crate::reader::string;

pub(super) const NAME: &str = "chatgpt";

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    fields.get("mapping").is_some_and(Value::is_object)
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    sink.begin(NAME);
    sink.name(fields, &["title"], &["conversation_id", "id"]);
    let Some(nodes) = fields.get("mapping").and_then(Value::as_object) else {
        return;
    };
    let nodes = nodes.iter().map(|(id, value)| Node {
        id,
        parent: value.get("parent").and_then(Value::as_str),
        value,
    });
    let mut call = String::new();
    tree::walk(
        sink,
        &nodes.collect::<Vec<_>>(),
        string(fields, "current_node"),
        &mut |sink, node| {
            message(sink, node, &mut call);
        },
    );
}

fn message(sink: &mut Sink, node: &Node<'_>, last_call: &mut String) {
    let after = node.after();
    let nobody = Map::new();
    let message = node.value.get("message").and_then(Value::as_object);
    let content = message
        .and_then(|m| m.get("content"))
        .and_then(Value::as_object);
    let Some((message, content)) = message.zip(content) else {
        return sink.silent(Some(node.id), after);
    };
    let author = message
        .get("author")
        .and_then(Value::as_object)
        .unwrap_or(&nobody);
    let name = string(author, "role").unwrap_or_default();
    let Some(role) = Turn::role_of(name) else {
        sink.skip(Reason::Unknown, name);
        return sink.silent(Some(node.id), after);
    };
    sink.speak(Some(node.id), after, role, time(message.get("create_time")));
    let words = words(sink, content);
    let kind = string(content, "content_type").unwrap_or_default();
    let to = string(message, "recipient").unwrap_or("all");
    match role {
        "assistant" if to != "all" => {
            node.id.clone_into(last_call);
            sink.turn.call(node.id, to, Some(&words.into()));
        }
        "assistant" if matches!(kind, "thoughts" | "reasoning_recap") => {
            sink.turn.thinking(&words);
            sink.skip(Reason::NotSaid, kind);
        }
        // a result can only stand after its call
        "tool" if last_call.is_empty() => sink.skip(Reason::NotSaid, "tool"),
        "tool" => {
            let call = std::mem::take(last_call);
            sink.turn.result(&call, &words);
        }
        _ if words.trim().is_empty() => {}
        _ => sink.turn.text(&words),
    }
}

/// The words of a message's content; a picture or a recording is counted, since the file holds only a reference to it.
fn words(sink: &mut Sink, content: &Map<String, Value>) -> String {
    let kind = string(content, "content_type").unwrap_or_default();
    let mut words: Vec<&str> = Vec::new();
    for part in content
        .get("parts")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        match part {
            Value::String(text) => words.push(text),
            part => {
                let Some(text) = part.get("text").and_then(Value::as_str) else {
                    let kind = part.get("content_type").and_then(Value::as_str);
                    sink.skip(Reason::Unknown, kind.unwrap_or("a part without a type"));
                    continue;
                };
                words.push(text);
            }
        }
    }
    for thought in content
        .get("thoughts")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        words.extend(thought.get("content").and_then(Value::as_str));
    }
    for key in [
        "text",
        "content",
        "result",
        "user_profile",
        "user_instructions",
    ] {
        words.extend(string(content, key));
    }
    if words.is_empty() && !content.contains_key("parts") && !content.contains_key("thoughts") {
        sink.skip(Reason::Unknown, kind);
    }
    words.join("\n")
}
