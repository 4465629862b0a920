//! Gemini's `contents`: parts named by their fields, results inside user messages, identifiers of calls where the caller has them.

use palimpsest_text::json::ToJson as _;
use serde_json::{Map, Value, json};

use crate::blocks;
use crate::message::{Part, Role};
use crate::openai::words;
use crate::parsed::Slot;
use crate::problem::Code;
use crate::reader::{Named, Placed, Reader, at, media, opaque, string, text};
use crate::shape::GEMINI_ROLES as ROLES;
use crate::writer::{Atom, Group, Writer, object};

/// The fields that name a part. The API writes them in camel case and takes both.
const PARTS: [(&str, &str); 8] = [
    ("functionCall", "function_call"),
    ("functionResponse", "function_response"),
    ("inlineData", "inline_data"),
    ("fileData", "file_data"),
    ("executableCode", "executable_code"),
    ("codeExecutionResult", "code_execution_result"),
    ("toolCall", "tool_call"),
    ("text", "text"),
];

/// Returns `true` for a message of this dialect, whose parts have no type.
pub(crate) fn is(message: &Map<String, Value>) -> bool {
    let role = string(message, "role");
    let known = role.is_none() || ROLES.iter().any(|(name, _)| role == Some(*name));
    let parts = message.get("parts").and_then(Value::as_array);
    let is_part = |part: &Value| {
        let fields = part.as_object();
        fields.is_some_and(|fields| !fields.contains_key("type") && named(fields).is_some())
    };
    known && parts.is_some_and(|parts| parts.iter().any(is_part))
}

fn named(fields: &Map<String, Value>) -> Option<(&'static str, &Value)> {
    PARTS.iter().find_map(|(name, other)| {
        let value = fields.get(*name).or_else(|| fields.get(*other))?;
        Some((*name, value))
    })
}

pub(crate) fn read(reader: &mut Reader, message: &Map<String, Value>) {
    let role = if message.contains_key("role") {
        reader.role(message, &ROLES)
    } else {
        Some(Role::User)
    };
    if let Some(role) = role {
        blocks::read(reader, message, role, "parts", part);
    }
}

fn part(reader: &mut Reader, part: &Value, role: Role, i: usize) -> Option<Placed> {
    let slot = Slot::Block(i);
    let Some(fields) = part.as_object() else {
        reader.problem(Code::BadPart, "expected a part, an object");
        return None;
    };
    let thought = fields.get("thought") == Some(&Value::Bool(true));
    let Some((kind, inner)) = named(fields) else {
        return Some(opaque("part", part, slot));
    };
    let none = Map::new();
    let inside = inner.as_object().unwrap_or(&none);
    Some(match (kind, role) {
        ("text", _) => {
            let words = inner.as_str().unwrap_or_default();
            if thought {
                at(
                    Part::Thinking {
                        text: words.to_owned(),
                    },
                    slot,
                )
            } else {
                text(words, slot)
            }
        }
        ("functionCall", Role::Assistant) => {
            let none = json!({});
            let arguments = inside.get("args").unwrap_or(&none);
            let id = Named::optional(inside.get("id"));
            reader.call_in_block(i, inside.get("name"), id, Some(arguments))?
        }
        ("functionResponse", Role::User) => {
            let id = Named::optional(inside.get("id"));
            let said = response(inside.get("response"));
            reader.result_in_block(i, string(inside, "name"), id, said)
        }
        ("functionCall", _) => {
            reader.misplaced("functionCall part", "a model");
            return None;
        }
        ("functionResponse", _) => {
            reader.misplaced("functionResponse part", "a user");
            return None;
        }
        ("inlineData", _) => {
            let media_type = inside.get("mimeType").or_else(|| inside.get("mime_type"));
            let media_type = media_type.and_then(Value::as_str).unwrap_or("image/*");
            let is_image = media_type.starts_with("image/");
            let data = string(inside, "data").filter(|_| is_image);
            let name = if is_image { "image" } else { "file" };
            media(name, media_type, data.unwrap_or_default(), slot)
        }
        ("fileData", _) => media("file", "application/octet-stream", "", slot),
        (other, _) => opaque(other, part, slot),
    })
}

/// The text of a function's response, and whether the function failed.
fn response(value: Option<&Value>) -> (String, bool) {
    let fields = value.and_then(Value::as_object);
    let only = |key: &str| {
        let fields = fields.filter(|fields| fields.len() == 1)?;
        fields.get(key)
    };
    let plain = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_json(), str::to_owned)
    };
    if let Some(error) = only("error") {
        return (plain(error), true);
    }
    let inner = only("output").or_else(|| only("result")).or(value);
    (inner.map_or_else(String::new, plain), false)
}

pub(crate) fn write(group: &Group<'_>, writer: &Writer<'_>) -> Value {
    let name = match group.role {
        Role::Assistant => "model",
        Role::System | Role::User | Role::Tool => "user",
    };
    blocks::write(group, writer, name, "parts", written)
}

fn written(atom: &Atom<'_>, writer: &Writer<'_>) -> Value {
    // what stands beside the part's own field, such as the signature of a thought, goes along
    let mut out = writer.replaced(atom).cloned().unwrap_or_default();
    // words that stand for a part of another kind, or for a thought, are plain words
    let is_plain = out.contains_key("text") && !out.contains_key("thought");
    let is_said = !matches!(
        atom.part.as_ref(),
        Part::ToolCall { .. } | Part::ToolResult { .. }
    );
    if is_said && !is_plain {
        out = Map::new();
    }
    let mut inner = Map::new();
    for (name, other) in PARTS {
        for key in [name, other] {
            if let Some(Value::Object(own)) = out.shift_remove(key) {
                inner = own;
            }
        }
    }
    match atom.part.as_ref() {
        Part::ToolCall {
            id,
            name,
            arguments,
        } => {
            named_by(&mut inner, id, writer);
            inner.insert("name".into(), name.as_str().into());
            inner.insert("args".into(), object(arguments));
            out.insert("functionCall".into(), Value::Object(inner));
        }
        Part::ToolResult {
            call,
            name,
            text,
            error,
        } => {
            named_by(&mut inner, call, writer);
            let name = name.as_deref().or_else(|| writer.tool_of(call));
            inner.insert("name".into(), name.unwrap_or("unknown").into());
            if !writer.verbatim(atom) {
                let key = if *error { "error" } else { "output" };
                inner.insert("response".into(), json!({ key: text }));
            }
            out.insert("functionResponse".into(), Value::Object(inner));
        }
        Part::Image {
            media_type, data, ..
        } if media_type.starts_with("image/") && !data.is_empty() && !data.contains(':') => {
            out.insert(
                "inlineData".into(),
                json!({ "mimeType": media_type, "data": data }),
            );
        }
        Part::Image {
            media_type, name, ..
        } => {
            out.insert("text".into(), format!("[{name}: {media_type}]").into());
        }
        part => {
            out.insert("text".into(), words(part).into());
        }
    }
    Value::Object(out)
}

/// A call and its result have an id where the caller gave one that can be used.
fn named_by(inner: &mut Map<String, Value>, id: &str, writer: &Writer<'_>) {
    if writer.is_callers_id(id) {
        inner.insert("id".into(), id.into());
    } else {
        inner.shift_remove("id");
    }
}
