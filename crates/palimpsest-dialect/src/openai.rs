//! OpenAI chat completions.

use palimpsest_text::json::ToJson as _;
use serde_json::{Map, Value, json};

use crate::message::{Part, Role};
use crate::parsed::{Fault, Place, Slot};
use crate::problem::Code;
use crate::reader::{
    Placed, Reader, at, data_url, kind, media, opaque, result_text, string, text, time_of, typed,
};
use crate::reasoning::{FIELDS, details_words};
use crate::shape::ROLES;
use crate::writer::{Atom, Group, Writer};

/// Returns `true` if only this dialect has such a message.
pub(crate) fn is(message: &Map<String, Value>) -> bool {
    let role = string(message, "role");
    let tool_text = role == Some("tool") && message.contains_key("tool_call_id");
    let calls = message
        .get("tool_calls")
        .and_then(Value::as_array)
        .is_some_and(|calls| !calls.is_empty());
    tool_text || calls || role == Some("function") || message.contains_key("function_call")
}

/// Returns `true` if only this dialect has such a content block.
pub(crate) fn is_block(block: &Value) -> bool {
    matches!(
        typed(block),
        Some(("image_url" | "input_audio" | "refusal", _))
    )
}

pub(crate) fn read(reader: &mut Reader, message: &Map<String, Value>) {
    let Some(role) = reader.role(message, &ROLES) else {
        return;
    };
    let time = time_of(message);
    match role {
        Role::System => {
            let parts = content(reader, message);
            reader.system(parts, time);
        }
        Role::User => {
            let parts = content(reader, message);
            reader.push(role, parts, time);
        }
        Role::Assistant => {
            let mut parts = Vec::new();
            for field in ["reasoning_content", "reasoning"] {
                if let Some(words) = string(message, field) {
                    parts.push(at(
                        Part::Thinking {
                            text: words.to_owned(),
                        },
                        Slot::Field(field),
                    ));
                }
            }
            if let Some(details) = message.get("reasoning_details").and_then(Value::as_array) {
                let mut text = details_words(details);
                let is_said = |(part, _): &Placed| part.words().trim() == text.trim();
                if parts.iter().any(is_said) {
                    text.clear();
                }
                parts.push(at(
                    Part::Thinking { text },
                    Slot::Field("reasoning_details"),
                ));
            }
            parts.extend(content(reader, message));
            if let Some(words) = string(message, "refusal") {
                parts.push(at(Part::text(words), Slot::Field("refusal")));
            }
            parts.extend(calls(reader, message, true));
            if let Some(call) = message.get("function_call").and_then(Value::as_object)
                && let Some(name) = reader.name(call.get("name"))
            {
                let (arguments, fault) = reader.arguments_text(call.get("arguments"));
                let id = format!("function_{}", reader.index);
                parts.push((
                    Part::ToolCall {
                        id,
                        name,
                        arguments,
                    },
                    Some(Place {
                        slot: Slot::FunctionCall,
                        fault,
                    }),
                ));
            }
            reader.push(role, parts, time);
        }
        Role::Tool => {
            let old = string(message, "role") == Some("function");
            let name = string(message, "name");
            let id = if old {
                None
            } else {
                message.get("tool_call_id")
            };
            let (call, fault) = reader.answered(id, name, !old);
            let Some(text) = result(reader, message) else {
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
        }
    }
}

/// The text of a tool message.
pub(crate) fn result(reader: &mut Reader, message: &Map<String, Value>) -> Option<String> {
    match message.get("content") {
        Some(content @ (Value::String(_) | Value::Array(_) | Value::Null)) => {
            Some(result_text(content))
        }
        None => Some(String::new()),
        Some(other) => {
            reader.problem(
                Code::BadContent,
                format!(
                    "expected content that is a string or an array of parts, found {}",
                    kind(other)
                ),
            );
            None
        }
    }
}

/// The parts of a message's content.
pub(crate) fn content(reader: &mut Reader, message: &Map<String, Value>) -> Vec<Placed> {
    match message.get("content") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(words)) => vec![text(words, Slot::Content)],
        Some(Value::Array(blocks)) => blocks
            .iter()
            .enumerate()
            .filter_map(|(i, block)| self::block(reader, block, Slot::Block(i)))
            .collect(),
        Some(other) => {
            reader.problem(
                Code::BadContent,
                format!(
                    "expected content that is a string, null or an array of parts, found {}",
                    kind(other)
                ),
            );
            Vec::new()
        }
    }
}

fn block(reader: &mut Reader, block: &Value, slot: Slot) -> Option<Placed> {
    let Some((kind, fields)) = typed(block) else {
        reader.problem(
            Code::BadPart,
            "expected a content part, an object with a type",
        );
        return None;
    };
    let words = |key| string(fields, key);
    Some(match kind {
        "text" | "input_text" | "output_text" => text(reader.words(fields)?, slot),
        "refusal" => text(words("refusal").unwrap_or_default(), slot),
        "image_url" | "input_image" => {
            let url = fields.get("image_url");
            let url = url
                .and_then(Value::as_str)
                .or_else(|| string(url?.as_object()?, "url"));
            let Some(url) = url else {
                reader.problem(Code::BadPart, "an image has no url");
                return None;
            };
            let media_type = data_url(url).map_or("image/*", |(media_type, _)| media_type);
            media("image", media_type, url, slot)
        }
        "input_audio" => media("audio", "audio/*", "", slot),
        "file" => {
            let name = fields
                .get("file")
                .and_then(Value::as_object)
                .and_then(|f| string(f, "filename"));
            media(name.unwrap_or("file"), "application/octet-stream", "", slot)
        }
        other => opaque(other, block, slot),
    })
}

/// Reads the calls in `tool_calls`. With `text`, arguments are JSON text and ids are present; otherwise arguments are
/// objects and ids are optional.
pub(crate) fn calls(reader: &mut Reader, message: &Map<String, Value>, text: bool) -> Vec<Placed> {
    let calls = match message.get("tool_calls") {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(calls)) => calls,
        Some(other) => {
            reader.problem(
                Code::BadPart,
                format!(
                    "expected tool_calls that are an array, found {}",
                    kind(other)
                ),
            );
            return Vec::new();
        }
    };
    let mut parts = Vec::new();
    for (nth, call) in calls.iter().enumerate() {
        let function = call
            .get("function")
            .or_else(|| call.get("custom"))
            .and_then(Value::as_object);
        let Some(function) = function else {
            reader.problem(
                Code::BadPart,
                "expected a tool call, an object with a function",
            );
            continue;
        };
        let Some(name) = reader.name(function.get("name")) else {
            continue;
        };
        let (id, no_id) = reader.call_id(call.get("id"), nth, text);
        let (arguments, fault) = match (text, function.get("input")) {
            // A custom tool takes free text.
            (true, Some(Value::String(input))) if call.get("custom").is_some() => {
                (json!({ "input": input }).to_json(), Fault::None)
            }
            (true, _) => reader.arguments_text(function.get("arguments")),
            (false, _) => reader.arguments_object(function.get("arguments")),
        };
        let fault = if no_id == Fault::None { fault } else { no_id };
        parts.push((
            Part::ToolCall {
                id,
                name,
                arguments,
            },
            Some(Place {
                slot: Slot::Call(nth),
                fault,
            }),
        ));
    }
    parts
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
        tool_message(&mut out, group, writer);
        return Value::Object(out);
    }
    set_content(&mut out, group, writer, content_block);
    let calls: Vec<Value> = group
        .calls()
        .filter(|a| !a.is_at(Slot::FunctionCall))
        .map(|atom| call(atom, writer))
        .collect();
    // In old messages, the only call in this field.
    let old = group.calls().find(|a| a.is_at(Slot::FunctionCall));
    if group.role == Role::Assistant {
        for (field, keep) in [
            ("refusal", group.has(Slot::Field("refusal"))),
            ("function_call", old.is_some()),
        ] {
            if !keep {
                out.shift_remove(field);
            }
        }
        if writer.is_silent(group) {
            for field in FIELDS {
                out.shift_remove(field);
            }
        }
        if let Some(Part::ToolCall {
            name, arguments, ..
        }) = old.map(|a| a.part.as_ref())
        {
            out.insert(
                "function_call".into(),
                json!({ "name": name, "arguments": arguments }),
            );
        }
        set_or_remove(&mut out, "tool_calls", calls);
    }
    Value::Object(out)
}

/// Writes one result, named and matched like its call.
fn tool_message(out: &mut Map<String, Value>, group: &Group<'_>, writer: &Writer<'_>) {
    for atom in &group.atoms {
        let Part::ToolResult {
            call, name, text, ..
        } = atom.part.as_ref()
        else {
            continue;
        };
        if !writer.verbatim(atom) {
            out.insert("content".into(), Value::String(text.clone()));
        }
        if call.starts_with("function_") && writer.is_function_call(call) {
            out.insert("role".into(), "function".into());
            out.shift_remove("tool_call_id");
            if let Some(name) = name {
                out.insert("name".into(), name.as_str().into());
            }
        } else if out.get("tool_call_id").and_then(Value::as_str) != Some(call) {
            out.insert("tool_call_id".into(), call.as_str().into());
        }
    }
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
    out.insert("id".into(), id.as_str().into());
    out.insert("type".into(), "function".into());
    out.shift_remove("custom");
    out.insert(
        "function".into(),
        json!({ "name": name, "arguments": arguments }),
    );
    Value::Object(out)
}

/// Sets `content`: one string if it is only text and was a string before, otherwise an array of blocks. An empty line
/// joins the text parts of one message.
pub(crate) fn set_content(
    out: &mut Map<String, Value>,
    group: &Group<'_>,
    writer: &Writer<'_>,
    block: fn(&Atom<'_>, &Writer<'_>) -> Value,
) {
    let atoms: Vec<&Atom<'_>> = group
        .contents()
        .filter(|a| !a.is_at(Slot::Field("refusal")))
        .collect();
    let plain = atoms.iter().all(|a| {
        matches!(a.part.as_ref(), Part::Text { .. } | Part::File { .. }) && !a.in_blocks()
    });
    if plain {
        let texts: Vec<_> = atoms.iter().map(|a| words(&a.part)).collect();
        let calls = group.calls().next().is_some();
        let content = match out.get("content") {
            _ if !texts.is_empty() => Value::String(texts.join("\n\n")),
            // An assistant message of only calls keeps the caller's form of empty content.
            Some(Value::String(own)) if own.is_empty() => return,
            Some(Value::Null) => return,
            None if calls && !out.is_empty() && group.base.is_some() => return,
            _ if calls => Value::Null,
            _ => Value::String(String::new()),
        };
        out.insert("content".into(), content);
    } else {
        let blocks = atoms.iter().map(|a| {
            writer
                .own_block(a)
                .cloned()
                .unwrap_or_else(|| block(a, writer))
        });
        out.insert("content".into(), blocks.collect());
    }
}

/// The text that a model reads for a text part or an attached file.
pub(crate) fn words(part: &Part) -> std::borrow::Cow<'_, str> {
    match part {
        Part::File { name, text } => format!("[File: {name}]\n{text}").into(),
        part => part.words().into(),
    }
}

fn content_block(atom: &Atom<'_>, _: &Writer<'_>) -> Value {
    match atom.part.as_ref() {
        Part::Image {
            media_type,
            data,
            name,
            ..
        } => match image_url(media_type, data) {
            Some(url) => json!({ "type": "image_url", "image_url": { "url": url } }),
            None => json!({ "type": "text", "text": format!("[{name}: {media_type}]") }),
        },
        part => json!({ "type": "text", "text": words(part) }),
    }
}

/// The address of an image: a `data:` URL if the data is present.
pub(crate) fn image_url(media_type: &str, data: &str) -> Option<String> {
    if data.is_empty() || !media_type.starts_with("image/") {
        return None;
    }
    let url = ["http:", "https:", "data:"]
        .iter()
        .any(|scheme| data.starts_with(scheme));
    Some(if url {
        data.to_owned()
    } else {
        format!("data:{media_type};base64,{data}")
    })
}

pub(crate) fn set_or_remove(out: &mut Map<String, Value>, field: &str, values: Vec<Value>) {
    if values.is_empty() {
        out.shift_remove(field);
    } else {
        out.insert(field.into(), Value::Array(values));
    }
}
