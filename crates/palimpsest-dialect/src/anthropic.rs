//! Anthropic messages: content blocks, tool results inside user messages, roles that alternate.

use serde_json::{Map, Value, json};

use crate::blocks;
use crate::message::{Part, Role};
use crate::openai::words;
use crate::parsed::Slot;
use crate::problem::Code;
use crate::reader::{
    Named, Placed, Reader, at, data_url, media, opaque, result_text, string, text, typed,
};
use crate::writer::{Atom, Group, Writer, object};

const ROLES: [(&str, Role); 3] = [
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("system", Role::System),
];

/// The text before an assistant message that would begin the list.
pub(crate) const OPENING: &str = "(The conversation begins with the assistant.)";

/// Returns `true` if only this dialect has such a content block.
pub(crate) fn is(block: &Value) -> bool {
    match typed(block) {
        Some((
            "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "server_tool_use",
            _,
        )) => true,
        Some(("image" | "document", fields)) => fields.get("source").is_some_and(Value::is_object),
        Some(("text", fields)) => {
            fields.contains_key("cache_control") || fields.contains_key("citations")
        }
        _ => false,
    }
}

pub(crate) fn read(reader: &mut Reader, message: &Map<String, Value>) {
    let Some(role) = reader.role(message, &ROLES) else {
        return;
    };
    blocks::read(reader, message, role, "content", block);
}

fn block(reader: &mut Reader, block: &Value, role: Role, i: usize) -> Option<Placed> {
    let slot = Slot::Block(i);
    let Some((kind, fields)) = typed(block) else {
        reader.problem(
            Code::BadPart,
            "expected a content block, an object with a type",
        );
        return None;
    };
    let words = |key| string(fields, key);
    Some(match (kind, role) {
        ("text", _) => text(reader.words(fields)?, slot),
        ("thinking", _) => at(
            Part::Thinking {
                text: words("thinking").unwrap_or_default().to_owned(),
            },
            slot,
        ),
        ("redacted_thinking", _) => at(
            Part::Thinking {
                text: String::new(),
            },
            slot,
        ),
        ("tool_use", Role::Assistant) => {
            let id = Named::required(fields.get("id"));
            reader.call_in_block(i, fields.get("name"), id, fields.get("input"))?
        }
        ("tool_result", Role::User) => {
            let id = Named::required(fields.get("tool_use_id"));
            let text = fields.get("content").map_or_else(String::new, result_text);
            let error = fields.get("is_error") == Some(&Value::Bool(true));
            reader.result_in_block(i, None, id, (text, error))
        }
        ("tool_use", _) => {
            reader.misplaced("tool_use block", "an assistant");
            return None;
        }
        ("tool_result", _) => {
            reader.misplaced("tool_result block", "a user");
            return None;
        }
        ("image", _) => {
            let (media_type, data) = source(fields);
            media("image", media_type, data, slot)
        }
        ("document", _) => {
            let title = words("title").unwrap_or("document");
            let (media_type, data) = source(fields);
            if media_type.starts_with("text/")
                && fields.get("source").and_then(|s| s.get("type")) == Some(&"text".into())
            {
                at(
                    Part::File {
                        name: title.to_owned(),
                        text: data.to_owned(),
                    },
                    slot,
                )
            } else {
                media(title, media_type, "", slot)
            }
        }
        (other, _) => opaque(other, block, slot),
    })
}

/// Returns the MIME type and the data (or address) of an image or document.
fn source(fields: &Map<String, Value>) -> (&str, &str) {
    let Some(source) = fields.get("source").and_then(Value::as_object) else {
        return ("image/*", "");
    };
    let data = ["data", "url"]
        .iter()
        .find_map(|key| string(source, key))
        .unwrap_or_default();
    (string(source, "media_type").unwrap_or("image/*"), data)
}

pub(crate) fn write(group: &Group<'_>, writer: &Writer<'_>) -> Value {
    let name = match group.role {
        Role::System => "system",
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
    };
    blocks::write(group, writer, name, "content", content_block)
}

fn content_block(atom: &Atom<'_>, writer: &Writer<'_>) -> Value {
    match atom.part.as_ref() {
        Part::ToolCall {
            id,
            name,
            arguments,
        } => {
            let mut out = writer.replaced(atom).cloned().unwrap_or_default();
            out.insert("type".into(), "tool_use".into());
            out.insert("id".into(), id.as_str().into());
            out.insert("name".into(), name.as_str().into());
            out.insert("input".into(), object(arguments));
            Value::Object(out)
        }
        Part::ToolResult {
            call, text, error, ..
        } => {
            let mut out = writer.replaced(atom).cloned().unwrap_or_default();
            out.insert("type".into(), "tool_result".into());
            out.insert("tool_use_id".into(), call.as_str().into());
            if !writer.verbatim(atom) {
                out.insert("content".into(), text.as_str().into());
            }
            if *error {
                out.insert("is_error".into(), true.into());
            }
            Value::Object(out)
        }
        Part::Image {
            media_type,
            data,
            name,
            ..
        } if data.is_empty() || !media_type.starts_with("image/") => {
            json!({ "type": "text", "text": format!("[{name}: {media_type}]") })
        }
        Part::Image { data, .. } if data.starts_with("http") => {
            json!({ "type": "image", "source": { "type": "url", "url": data } })
        }
        Part::Image {
            media_type, data, ..
        } => {
            let (media_type, data) = data_url(data).unwrap_or((media_type, data));
            json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": data } })
        }
        Part::File { name, text } => json!({
            "type": "document", "title": name,
            "source": { "type": "text", "media_type": "text/plain", "data": text },
        }),
        Part::Text { .. } | Part::Thinking { .. } => {
            let mut out = writer.replaced(atom).cloned().unwrap_or_default();
            out.insert("type".into(), "text".into());
            out.insert("text".into(), words(&atom.part).into());
            Value::Object(out)
        }
    }
}
