//! Amazon Bedrock's Converse API: content blocks named by their only field, tool results inside user messages, roles that alternate.

use palimpsest_text::json::ToJson as _;
use serde_json::{Map, Value, json};

use crate::blocks;
use crate::message::{Part, Role};
use crate::openai::words;
use crate::parsed::Slot;
use crate::problem::Code;
use crate::reader::{Named, Placed, Reader, at, media, opaque, string, text};
use crate::writer::{Atom, Group, Writer, object};

const ROLES: [(&str, Role); 2] = [("user", Role::User), ("assistant", Role::Assistant)];

/// The fields that name a block.
const BLOCKS: [&str; 10] = [
    "text",
    "image",
    "document",
    "video",
    "toolUse",
    "toolResult",
    "reasoningContent",
    "cachePoint",
    "guardContent",
    "citationsContent",
];

/// Returns `true` if only this dialect has such a content block.
pub(crate) fn is(block: &Value) -> bool {
    block
        .as_object()
        .is_some_and(|fields| !fields.contains_key("type") && named(fields).is_some())
}

fn named(fields: &Map<String, Value>) -> Option<(&'static str, &Value)> {
    BLOCKS
        .iter()
        .find_map(|key| Some((*key, fields.get(*key)?)))
}

pub(crate) fn read(reader: &mut Reader, message: &Map<String, Value>) {
    if let Some(role) = reader.role(message, &ROLES) {
        blocks::read(reader, message, role, "content", block);
    }
}

fn block(reader: &mut Reader, block: &Value, role: Role, i: usize) -> Option<Placed> {
    let slot = Slot::Block(i);
    let found = block.as_object().and_then(named);
    let Some((kind, inner)) = found else {
        reader.problem(
            Code::BadPart,
            "expected a content block, an object with text, toolUse, toolResult or another block of Converse",
        );
        return None;
    };
    let none = Map::new();
    let fields = inner.as_object().unwrap_or(&none);
    Some(match (kind, role) {
        ("text", _) => {
            let Some(words) = inner.as_str() else {
                reader.problem(Code::BadPart, "a text block has no text");
                return None;
            };
            text(words, slot)
        }
        ("toolUse", Role::Assistant) => {
            let id = Named::required(fields.get("toolUseId"));
            reader.call_in_block(i, fields.get("name"), id, fields.get("input"))?
        }
        ("toolResult", Role::User) => {
            let id = Named::required(fields.get("toolUseId"));
            let failed = string(fields, "status") == Some("error");
            reader.result_in_block(i, None, id, (result(fields.get("content")), failed))
        }
        ("toolUse", _) => {
            reader.misplaced("toolUse block", "an assistant");
            return None;
        }
        ("toolResult", _) => {
            reader.misplaced("toolResult block", "a user");
            return None;
        }
        ("reasoningContent", _) => {
            let words = inner.pointer("/reasoningText/text").and_then(Value::as_str);
            at(
                Part::Thinking {
                    text: words.unwrap_or_default().to_owned(),
                },
                slot,
            )
        }
        ("image", _) => {
            let format = string(fields, "format").unwrap_or("*");
            let data = inner.pointer("/source/bytes").and_then(Value::as_str);
            media(
                "image",
                &format!("image/{format}"),
                data.unwrap_or_default(),
                slot,
            )
        }
        ("document" | "video", _) => {
            let name = string(fields, "name").unwrap_or(kind);
            let format = string(fields, "format").unwrap_or("*");
            media(name, &format!("application/{format}"), "", slot)
        }
        (other, _) => opaque(other, block, slot),
    })
}

/// The text of a result's content, with a word for whatever is no text.
fn result(content: Option<&Value>) -> String {
    let words = |block: &Value| match block.as_object().and_then(named) {
        Some(("text", text)) => text.as_str().unwrap_or_default().to_owned(),
        Some((kind, _)) => format!("[{kind}]"),
        None => block
            .get("json")
            .map_or_else(|| block.to_json(), Value::to_json),
    };
    let blocks = content.and_then(Value::as_array).into_iter().flatten();
    blocks.map(words).collect::<Vec<_>>().join("\n")
}

pub(crate) fn write(group: &Group<'_>, writer: &Writer<'_>) -> Value {
    let name = match group.role {
        Role::Assistant => "assistant",
        Role::System | Role::User | Role::Tool => "user",
    };
    blocks::write(group, writer, name, "content", content_block)
}

fn content_block(atom: &Atom<'_>, writer: &Writer<'_>) -> Value {
    let inner = |key: &str| {
        let own = writer
            .replaced(atom)
            .and_then(|own| own.get(key)?.as_object());
        own.cloned().unwrap_or_default()
    };
    match atom.part.as_ref() {
        Part::ToolCall {
            id,
            name,
            arguments,
        } => {
            let mut out = inner("toolUse");
            out.insert("toolUseId".into(), id.as_str().into());
            out.insert("name".into(), name.as_str().into());
            out.insert("input".into(), object(arguments));
            json!({ "toolUse": out })
        }
        Part::ToolResult {
            call, text, error, ..
        } => {
            let mut out = inner("toolResult");
            out.insert("toolUseId".into(), call.as_str().into());
            if !writer.verbatim(atom) {
                out.insert("content".into(), json!([{ "text": text }]));
            }
            if *error {
                out.insert("status".into(), "error".into());
            }
            json!({ "toolResult": out })
        }
        Part::Image {
            media_type, data, ..
        } if media_type.starts_with("image/") && !data.is_empty() && !data.contains(':') => {
            let format = media_type.trim_start_matches("image/");
            json!({ "image": { "format": format, "source": { "bytes": data } } })
        }
        Part::Image {
            media_type, name, ..
        } => json!({ "text": format!("[{name}: {media_type}]") }),
        part => json!({ "text": words(part) }),
    }
}
