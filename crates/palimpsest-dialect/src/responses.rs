//! The items of OpenAI's Responses API: messages, calls and results stand one after the other. A reasoning item belongs to the item
//! after it; a compaction item stands for what came before it, and is never covered or changed.

use palimpsest_text::json::ToJson as _;
use serde_json::{Map, Value, json};

use crate::message::{Part, Role};
use crate::openai::{content, image_url, set_content, words};
use crate::parsed::{Fault, Place, Slot};
use crate::reader::{Placed, Reader, media, opaque, result_text, string, time_of, typed};
use crate::shape::ROLES;
use crate::writer::{Atom, Group, Writer};

/// Items that are neither messages, calls nor results.
const OTHERS: [&str; 13] = [
    "reasoning",
    "compaction",
    "compaction_summary",
    "item_reference",
    "web_search_call",
    "file_search_call",
    "image_generation_call",
    "code_interpreter_call",
    "mcp_list_tools",
    "mcp_call",
    "mcp_approval_request",
    "mcp_approval_response",
    "tool_search_call",
];

/// Returns `true` if only this dialect has such an item.
pub(crate) fn is(item: &Map<String, Value>) -> bool {
    let kind = string(item, "type").unwrap_or_default();
    kind == "message"
        || OTHERS.contains(&kind)
        || (item.contains_key("call_id")
            && (kind.ends_with("_call") || kind.ends_with("_call_output")))
}

/// Returns `true` if only this dialect has such a content block.
pub(crate) fn is_block(block: &Value) -> bool {
    matches!(
        typed(block),
        Some((
            "input_text" | "output_text" | "input_image" | "input_file",
            _
        ))
    )
}

pub(crate) fn read(reader: &mut Reader, item: &Map<String, Value>) {
    let time = time_of(item);
    let kind = string(item, "type").unwrap_or("message");
    let whole = |part: Part, fault: Fault| -> Placed {
        let slot = Slot::Content;
        (part, Some(Place { slot, fault }))
    };
    match kind {
        "message" => message(reader, item, time),
        "reasoning" => reader.thought(item),
        "compaction" | "compaction_summary" => {
            reader.push(Role::System, vec![hidden(kind, item)], time);
        }
        kind if kind.ends_with("_call_output") && item.contains_key("call_id") => {
            let (call, fault) = reader.answered(item.get("call_id"), None, true);
            let text = item.get("output").map_or_else(String::new, output);
            let part = Part::ToolResult {
                call,
                name: None,
                text,
                error: false,
            };
            reader.push(Role::Tool, vec![whole(part, fault)], time);
        }
        "function_call" | "custom_tool_call" => {
            let Some(name) = reader.name(item.get("name")) else {
                return;
            };
            let (id, no_id) = reader.call_id(item.get("call_id"), 0, true);
            let (arguments, fault) = match item.get("input") {
                Some(Value::String(input)) if kind == "custom_tool_call" => {
                    (json!({ "input": input }).to_json(), Fault::None)
                }
                _ => reader.arguments_text(item.get("arguments")),
            };
            let fault = if no_id == Fault::None { fault } else { no_id };
            let part = Part::ToolCall {
                id,
                name,
                arguments,
            };
            reader.push_thinking(vec![whole(part, fault)], time);
        }
        kind if kind.ends_with("_call") && item.contains_key("call_id") => {
            let (id, fault) = reader.call_id(item.get("call_id"), 0, true);
            let action = item.get("action").or_else(|| item.get("operation"));
            let part = Part::ToolCall {
                id,
                name: kind.trim_end_matches("_call").to_owned(),
                arguments: action.unwrap_or(&json!({})).to_json(),
            };
            reader.push_thinking(vec![whole(part, fault)], time);
        }
        kind => {
            let placed = opaque(kind, &Value::Object(item.clone()), Slot::Content);
            reader.push_thinking(vec![placed], time);
        }
    }
}

/// An item that only the provider reads: its size is a quarter of its bytes.
fn hidden(kind: &str, item: &Map<String, Value>) -> Placed {
    let bytes = string(item, "encrypted_content").map_or(0, str::len);
    let tokens = u32::try_from(bytes / 4).unwrap_or(u32::MAX);
    let (part, place) = media(kind, "application/json", "", Slot::Content);
    let part = match part {
        Part::Image {
            name,
            media_type,
            data,
            ..
        } => Part::Image {
            name,
            media_type,
            data,
            tokens: Some(tokens),
        },
        part => part,
    };
    (part, place)
}

fn message(reader: &mut Reader, item: &Map<String, Value>, time: f64) {
    let Some(role) = reader.role(item, &ROLES[..4]) else {
        return;
    };
    let parts = content(reader, item);
    match role {
        Role::System => reader.system(parts, time),
        Role::Assistant => reader.push_thinking(parts, time),
        Role::User | Role::Tool => reader.push(role, parts, time),
    }
}

/// The text of a result: words, or content blocks.
fn output(output: &Value) -> String {
    match output {
        Value::Array(blocks) => {
            let words = blocks.iter().map(|block| {
                let words = block.get("text").and_then(Value::as_str);
                words.map_or_else(|| result_text(&json!([block])), str::to_owned)
            });
            words.collect::<Vec<_>>().join("\n")
        }
        other => result_text(other),
    }
}

pub(crate) fn write(group: &Group<'_>, writer: &Writer<'_>) -> Value {
    let first = group.atoms.first().map(|atom| atom.part.as_ref());
    match first {
        Some(Part::ToolCall {
            id,
            name,
            arguments,
        }) => {
            let mut out = writer.base(group, "assistant");
            out.shift_remove("role");
            let kind = string(&out, "type").unwrap_or("function_call").to_owned();
            if !out.contains_key("type") {
                out.insert("type".into(), kind.as_str().into());
            }
            out.insert("call_id".into(), id.as_str().into());
            match kind.as_str() {
                "function_call" => {
                    out.insert("name".into(), name.as_str().into());
                    out.insert("arguments".into(), arguments.as_str().into());
                }
                "custom_tool_call" => {
                    let read = palimpsest_text::json::parse(arguments).ok();
                    let input = read.as_ref().and_then(|value| value.get("input")?.as_str());
                    out.insert("input".into(), input.unwrap_or(arguments).into());
                }
                // what the provider's own tools are told is not shortened
                _ => {}
            }
            Value::Object(out)
        }
        Some(Part::ToolResult { call, text, .. }) => {
            let mut out = writer.base(group, "tool");
            out.shift_remove("role");
            if !out.contains_key("type") {
                out.insert("type".into(), "function_call_output".into());
            }
            out.insert("call_id".into(), call.as_str().into());
            if group.atoms.iter().any(|atom| !writer.verbatim(atom)) {
                out.insert("output".into(), text.as_str().into());
            }
            Value::Object(out)
        }
        _ => {
            let name = match group.role {
                Role::System => "developer",
                Role::Assistant => "assistant",
                Role::User | Role::Tool => "user",
            };
            let mut out = writer.base(group, name);
            let said = if group.role == Role::Assistant {
                spoken
            } else {
                given
            };
            set_content(&mut out, group, writer, said);
            if out.get("content") == Some(&Value::Null) {
                out.insert("content".into(), "".into());
            }
            Value::Object(out)
        }
    }
}

fn spoken(atom: &Atom<'_>, _: &Writer<'_>) -> Value {
    json!({ "type": "output_text", "text": words(&atom.part), "annotations": [] })
}

fn given(atom: &Atom<'_>, _: &Writer<'_>) -> Value {
    match atom.part.as_ref() {
        Part::Image {
            media_type,
            data,
            name,
            ..
        } => match image_url(media_type, data) {
            Some(url) => json!({ "type": "input_image", "image_url": url }),
            None => json!({ "type": "input_text", "text": format!("[{name}: {media_type}]") }),
        },
        part => json!({ "type": "input_text", "text": words(part) }),
    }
}
