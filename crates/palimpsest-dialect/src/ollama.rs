//! Ollama's `/api/chat`. It resembles OpenAI's shape, but arguments are objects, ids are optional, images are base64
//! beside the text, and a result names its tool.

use serde_json::{Map, Value, json};

use crate::message::{Part, Role};
use crate::openai::{self, set_or_remove};
use crate::parsed::{Place, Slot};
use crate::problem::Code;
use crate::reader::{Reader, at, data_url, kind, media, string, time_of};
use crate::writer::{Atom, Group, Writer};

const ROLES: [(&str, Role); 4] = [
    ("system", Role::System),
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("tool", Role::Tool),
];

/// Returns `true` if only this dialect has such a message.
pub(crate) fn is(message: &Map<String, Value>) -> bool {
    let objects = message
        .get("tool_calls")
        .and_then(Value::as_array)
        .is_some_and(|calls| {
            calls.iter().any(|call| {
                call.pointer("/function/arguments")
                    .is_some_and(Value::is_object)
            })
        });
    objects
        || message.contains_key("tool_name")
        || message.get("images").is_some_and(Value::is_array)
        || message.get("thinking").is_some_and(Value::is_string)
        || (string(message, "role") == Some("tool")
            && !message.contains_key("tool_call_id")
            && message.get("content").is_some_and(Value::is_string))
}

pub(crate) fn read(reader: &mut Reader, message: &Map<String, Value>) {
    let Some(role) = reader.role(message, &ROLES) else {
        return;
    };
    let time = time_of(message);
    if role == Role::Tool {
        let name = string(message, "tool_name").or_else(|| string(message, "name"));
        let (call, fault) = reader.answered(message.get("tool_call_id"), name, false);
        let Some(text) = openai::result(reader, message) else {
            return;
        };
        let part = Part::ToolResult {
            call,
            name: name.map(str::to_owned),
            text,
            error: false,
        };
        reader.push(
            role,
            vec![(
                part,
                Some(Place {
                    slot: Slot::Content,
                    fault,
                }),
            )],
            time,
        );
        return;
    }
    let mut parts = Vec::new();
    if let Some(words) = string(message, "thinking") {
        parts.push(at(
            Part::Thinking {
                text: words.to_owned(),
            },
            Slot::Field("thinking"),
        ));
    }
    parts.extend(openai::content(reader, message));
    match message.get("images") {
        None | Some(Value::Null) => {}
        Some(Value::Array(images)) => {
            for (i, image) in images.iter().enumerate() {
                match image.as_str() {
                    Some(data) => parts.push(media("image", "image/*", data, Slot::Image(i))),
                    None => reader.problem(Code::BadPart, "expected an image, a string of base64"),
                }
            }
        }
        Some(other) => reader.problem(
            Code::BadPart,
            format!("expected images that are an array, found {}", kind(other)),
        ),
    }
    match role {
        Role::System => reader.system(parts, time),
        Role::Assistant => {
            parts.extend(openai::calls(reader, message, false));
            reader.push(role, parts, time);
        }
        _ => reader.push(role, parts, time),
    }
}

pub(crate) fn write(group: &Group<'_>, writer: &Writer<'_>) -> Value {
    let mut out = writer.base(
        group,
        match group.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        },
    );
    if group.role == Role::Tool {
        for atom in &group.atoms {
            let Part::ToolResult {
                call, name, text, ..
            } = atom.part.as_ref()
            else {
                continue;
            };
            if !writer.verbatim(atom) {
                out.insert("content".into(), text.as_str().into());
            }
            if let Some(name) = name
                && !out.contains_key("tool_name")
            {
                out.insert("tool_name".into(), name.as_str().into());
            }
            // Ids that the reader made are not written.
            if made_id(call) && atom.lacks_id() {
                out.shift_remove("tool_call_id");
            } else if !made_id(call)
                && out.get("tool_call_id").and_then(Value::as_str) != Some(call)
            {
                out.insert("tool_call_id".into(), call.as_str().into());
            }
        }
        return Value::Object(out);
    }
    let texts = group.contents().filter(|a| image(a).is_none());
    let text = texts
        .map(|a| match a.part.as_ref() {
            // A file of which only the name is known can be named and nothing more.
            Part::Image {
                name, media_type, ..
            } => format!("[{name}, {media_type}]").into(),
            part => openai::words(part),
        })
        .collect::<Vec<_>>()
        .join("\n\n");
    out.insert("content".into(), text.into());
    let images = group.atoms.iter().filter_map(image).collect();
    set_or_remove(&mut out, "images", images);
    if group.role == Role::Assistant {
        let calls = group.calls().map(|atom| call(atom, writer)).collect();
        set_or_remove(&mut out, "tool_calls", calls);
        if writer.is_silent(group) {
            out.shift_remove("thinking");
        }
    }
    Value::Object(out)
}

fn image(atom: &Atom<'_>) -> Option<Value> {
    let Part::Image { data, .. } = atom.part.as_ref() else {
        return None;
    };
    let data = data_url(data).map_or(data.as_str(), |(_, data)| data);
    (!data.is_empty()).then(|| data.into())
}

fn call(atom: &Atom<'_>, writer: &Writer<'_>) -> Value {
    if let Some(own) = writer.own(atom) {
        return own.clone();
    }
    let Part::ToolCall {
        id,
        name,
        arguments,
    } = atom.part.as_ref()
    else {
        return Value::Null;
    };
    let mut out = writer.replaced(atom).cloned().unwrap_or_default();
    if !made_id(id) {
        out.insert("id".into(), id.as_str().into());
    } else if atom.lacks_id() {
        out.shift_remove("id");
    }
    out.insert(
        "function".into(),
        json!({ "name": name, "arguments": crate::writer::object(arguments) }),
    );
    Value::Object(out)
}

/// Returns `true` if the reader made this id because the caller's list has none.
fn made_id(id: &str) -> bool {
    let numbers =
        |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    ["call_", "result_"]
        .iter()
        .any(|made| id.strip_prefix(made).is_some_and(numbers))
}
