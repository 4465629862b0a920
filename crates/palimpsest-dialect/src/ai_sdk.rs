//! The Vercel AI SDK: model messages, and the messages of its user interface hooks.

use palimpsest_text::json::ToJson as _;
use serde_json::{Map, Value, json};

use crate::message::{Part, Role};
use crate::openai::{image_url, set_content, words};
use crate::parsed::{Fault, Place, Slot};
use crate::problem::Code;
use crate::reader::{
    Named, Placed, Reader, at, kind, media, opaque, result_text, string, text, time_of, typed,
};
use crate::writer::{Atom, Group, Writer, object};

const ROLES: [(&str, Role); 4] = [
    ("system", Role::System),
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("tool", Role::Tool),
];

/// Returns `true` if only the model messages have such a content block.
pub(crate) fn is(block: &Value) -> bool {
    match typed(block) {
        Some((
            "tool-call"
            | "tool-result"
            | "reasoning"
            | "tool-approval-request"
            | "tool-approval-response",
            _,
        )) => true,
        Some(("image", fields)) => fields.contains_key("image"),
        Some(("file", fields)) => fields.contains_key("mediaType"),
        Some(("text", fields)) => fields.contains_key("providerOptions"),
        _ => false,
    }
}

/// Returns `true` for a message of the user interface, whose parts have types.
pub(crate) fn is_ui(message: &Map<String, Value>) -> bool {
    let parts = message.get("parts").and_then(Value::as_array);
    let is_part = |part: &Value| typed(part).is_some();
    let known = ROLES[..3]
        .iter()
        .any(|(name, _)| string(message, "role") == Some(*name));
    known && parts.is_some_and(|parts| parts.is_empty() || parts.iter().any(is_part))
}

pub(crate) fn read_model(reader: &mut Reader, message: &Map<String, Value>) {
    let Some(role) = reader.role(message, &ROLES) else {
        return;
    };
    let time = time_of(message);
    let mut parts = Vec::new();
    match message.get("content") {
        None | Some(Value::Null) => {}
        Some(Value::String(words)) => parts.push(text(words, Slot::Content)),
        Some(Value::Array(blocks)) => {
            for (i, block) in blocks.iter().enumerate() {
                parts.extend(self::block(reader, block, role, i));
            }
        }
        Some(other) => {
            let found = kind(other);
            reader.problem(
                Code::BadContent,
                format!("expected content that is a string or an array of parts, found {found}"),
            );
            return;
        }
    }
    match role {
        Role::System => reader.system(parts, time),
        Role::Tool
            if parts
                .iter()
                .any(|(p, _)| !matches!(p, Part::ToolResult { .. })) =>
        {
            reader.problem(
                Code::BadContent,
                "expected a tool message of tool-result parts",
            );
        }
        _ => reader.push(role, parts, time),
    }
}

fn block(reader: &mut Reader, block: &Value, role: Role, i: usize) -> Option<Placed> {
    let slot = Slot::Block(i);
    let Some((kind, fields)) = typed(block) else {
        reader.problem(
            Code::BadPart,
            "expected a content part, an object with a type",
        );
        return None;
    };
    Some(match (kind, role) {
        ("text", _) => text(reader.words(fields)?, slot),
        ("reasoning", _) => at(
            Part::Thinking {
                text: string(fields, "text").unwrap_or_default().to_owned(),
            },
            slot,
        ),
        ("image", _) => {
            let data = fields
                .get("image")
                .and_then(Value::as_str)
                .unwrap_or_default();
            media(
                "image",
                string(fields, "mediaType").unwrap_or("image/*"),
                data,
                slot,
            )
        }
        ("file", _) => file(fields, "data", slot),
        // The provider runs this tool: call and result stay inside of the assistant's message, and no pass looks into
        // them.
        ("tool-call", Role::Assistant)
            if fields.get("providerExecuted") != Some(&Value::Bool(true)) =>
        {
            let id = Named::required(fields.get("toolCallId"));
            let input = fields.get("input").or_else(|| fields.get("args"));
            reader.call_in_block(i, fields.get("toolName"), id, input)?
        }
        ("tool-result", Role::Tool) => {
            let id = Named::required(fields.get("toolCallId"));
            let (text, error) = output(fields.get("output").or_else(|| fields.get("result")));
            let error = error || fields.get("isError") == Some(&Value::Bool(true));
            reader.result_in_block(i, string(fields, "toolName"), id, (text, error))
        }
        ("tool-call", Role::User | Role::System | Role::Tool)
        | ("tool-result", Role::User | Role::System) => {
            reader.problem(
                Code::BadPart,
                format!("a {kind} part does not stand in a message of this role"),
            );
            return None;
        }
        ("tool-approval-request" | "tool-approval-response", _) => return None,
        (other, _) => opaque(other, block, slot),
    })
}

fn file(fields: &Map<String, Value>, data: &str, slot: Slot) -> Placed {
    let media_type = string(fields, "mediaType").unwrap_or("application/octet-stream");
    let data = string(fields, data).filter(|_| media_type.starts_with("image/"));
    media(
        string(fields, "filename").unwrap_or("file"),
        media_type,
        data.unwrap_or_default(),
        slot,
    )
}

/// Returns the text of a tool's output, and whether the tool failed.
fn output(output: Option<&Value>) -> (String, bool) {
    let Some(value) = output else {
        return (String::new(), false);
    };
    let Some((kind, fields)) = typed(value) else {
        return (plain(value), false);
    };
    let inner = || fields.get("value").map_or_else(String::new, plain);
    match kind {
        "text" | "json" => (inner(), false),
        "error-text" | "error-json" => (inner(), true),
        "content" => (
            fields.get("value").map_or_else(String::new, result_text),
            false,
        ),
        "execution-denied" => (
            format!("Denied. {}", string(fields, "reason").unwrap_or_default())
                .trim_end()
                .to_owned(),
            true,
        ),
        _ => (plain(value), false),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(
        || {
            if value.is_null() {
                String::new()
            } else {
                value.to_json()
            }
        },
        str::to_owned,
    )
}

pub(crate) fn write_model(group: &Group<'_>, writer: &Writer<'_>) -> Value {
    let mut out = writer.base(
        group,
        match group.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        },
    );
    match group.role {
        // System content is a string in this dialect.
        Role::System => {
            let text = group
                .atoms
                .iter()
                .map(|a| words(&a.part))
                .collect::<Vec<_>>()
                .join("\n\n");
            out.insert("content".into(), text.into());
        }
        Role::Tool => {
            let parts = group.atoms.iter().map(|a| {
                writer
                    .own_block(a)
                    .cloned()
                    .unwrap_or_else(|| model_block(a, writer))
            });
            out.insert("content".into(), parts.collect());
        }
        Role::Assistant if group.calls().next().is_some() || writer.reasons(group) => {
            let parts = writer.with_reasoning(group, group.atoms.iter(), model_block);
            out.insert("content".into(), Value::Array(parts));
        }
        Role::User | Role::Assistant => set_content(&mut out, group, writer, model_block),
    }
    Value::Object(out)
}

fn model_block(atom: &Atom<'_>, writer: &Writer<'_>) -> Value {
    match atom.part.as_ref() {
        Part::ToolCall {
            id,
            name,
            arguments,
        } => {
            let mut out = writer.replaced(atom).cloned().unwrap_or_default();
            out.insert("type".into(), "tool-call".into());
            out.insert("toolCallId".into(), id.as_str().into());
            out.insert("toolName".into(), name.as_str().into());
            out.shift_remove("args");
            out.insert("input".into(), object(arguments));
            Value::Object(out)
        }
        Part::ToolResult {
            call,
            name,
            text,
            error,
        } => {
            let mut out = writer.replaced(atom).cloned().unwrap_or_default();
            out.insert("type".into(), "tool-result".into());
            out.insert("toolCallId".into(), call.as_str().into());
            let name = name
                .as_deref()
                .or_else(|| writer.tool_of(call))
                .unwrap_or("unknown");
            out.insert("toolName".into(), name.into());
            if !writer.verbatim(atom) {
                out.shift_remove("result");
                let kind = if *error { "error-text" } else { "text" };
                out.insert("output".into(), json!({ "type": kind, "value": text }));
            }
            Value::Object(out)
        }
        Part::Image {
            media_type,
            data,
            name,
            ..
        } => match image_url(media_type, data) {
            Some(_) => json!({ "type": "image", "image": data, "mediaType": media_type }),
            None => json!({ "type": "text", "text": format!("[{name}: {media_type}]") }),
        },
        part => json!({ "type": "text", "text": words(part) }),
    }
}

pub(crate) fn read_ui(reader: &mut Reader, message: &Map<String, Value>) {
    let known = &ROLES[..3];
    let Some(role) = reader.role(message, known) else {
        return;
    };
    let time = time_of(message);
    let blocks: &[Value] = match (message.get("parts"), message.get("content")) {
        (Some(Value::Array(blocks)), _) => blocks,
        // Messages of earlier versions.
        (None, Some(Value::String(words))) => {
            let parts = vec![text(words, Slot::Content)];
            if role == Role::System {
                reader.system(parts, time);
            } else {
                reader.push(role, parts, time);
            }
            return;
        }
        (other, _) => {
            let found = other.map_or("none", kind);
            reader.problem(
                Code::BadContent,
                format!("expected parts that are an array, found {found}"),
            );
            return;
        }
    };
    // One step is one assistant message with its calls, and the results follow it.
    let mut said: Vec<Placed> = Vec::new();
    let mut results: Vec<Placed> = Vec::new();
    let mut pushed = false;
    for (i, block) in blocks.iter().enumerate() {
        let Some((kind, fields)) = typed(block) else {
            reader.problem(Code::BadPart, "expected a part, an object with a type");
            continue;
        };
        let slot = Slot::Block(i);
        match kind {
            "text" => said.extend(reader.words(fields).map(|words| text(words, slot))),
            "reasoning" => said.push(at(
                Part::Thinking {
                    text: string(fields, "text").unwrap_or_default().to_owned(),
                },
                slot,
            )),
            "file" => said.push(file(fields, "url", slot)),
            // only the assistant works in steps
            "step-start" => {
                if role == Role::Assistant && !(said.is_empty() && results.is_empty()) {
                    step(reader, role, &mut said, &mut results, time);
                    pushed = true;
                }
            }
            "source-url" | "source-document" => {}
            kind if kind.starts_with("data-") => {}
            kind if role == Role::Assistant
                && (kind == "dynamic-tool" || kind.starts_with("tool-")) =>
            {
                tool(reader, kind, fields, i, &mut said, &mut results);
            }
            other => said.push(opaque(other, block, slot)),
        }
    }
    if role == Role::System {
        reader.system(said, time);
    } else if !said.is_empty() || !results.is_empty() || !pushed {
        step(reader, role, &mut said, &mut results, time);
    }
}

fn step(
    reader: &mut Reader,
    role: Role,
    said: &mut Vec<Placed>,
    results: &mut Vec<Placed>,
    time: f64,
) {
    reader.push(role, std::mem::take(said), time);
    if !results.is_empty() {
        reader.push(Role::Tool, std::mem::take(results), time);
    }
}

fn tool(
    reader: &mut Reader,
    kind: &str,
    fields: &Map<String, Value>,
    i: usize,
    said: &mut Vec<Placed>,
    results: &mut Vec<Placed>,
) {
    let name = match kind.strip_prefix("tool-") {
        Some(name) if kind != "dynamic-tool" && !name.is_empty() => name.to_owned(),
        _ => match reader.name(fields.get("toolName")) {
            Some(name) => name,
            None => return,
        },
    };
    let state = string(fields, "state").unwrap_or_default();
    // A call whose arguments are still arriving does not count as a call yet.
    if state == "input-streaming" {
        return;
    }
    let (mut id, mut no_id) = reader.call_id(fields.get("toolCallId"), i, true);
    if said
        .iter()
        .any(|(part, _)| matches!(part, Part::ToolCall { id: other, .. } if *other == id))
    {
        reader.problem(Code::DuplicateId, "two calls of one step have the same id");
        (id, no_id) = (format!("call_{}_{i}", reader.index), Fault::Identity);
    }
    let input = fields.get("input").or_else(|| fields.get("rawInput"));
    let (arguments, fault) = reader.arguments_object(input);
    let fault = if no_id == Fault::None { fault } else { no_id };
    let result = match state {
        "output-available" => Some((fields.get("output").map_or_else(String::new, plain), false)),
        "output-error" => Some((
            string(fields, "errorText").unwrap_or_default().to_owned(),
            true,
        )),
        "output-denied" => Some(("Denied.".to_owned(), true)),
        _ => None,
    };
    if let Some((text, error)) = result {
        let part = Part::ToolResult {
            call: id.clone(),
            name: Some(name.clone()),
            text,
            error,
        };
        let fault = if fault == Fault::Identity {
            fault
        } else {
            Fault::None
        };
        results.push((
            part,
            Some(Place {
                slot: Slot::ResultOf(i),
                fault,
            }),
        ));
    }
    said.push((
        Part::ToolCall {
            id,
            name,
            arguments,
        },
        Some(Place {
            slot: Slot::Block(i),
            fault,
        }),
    ));
}

pub(crate) fn write_ui(group: &Group<'_>, writer: &Writer<'_>) -> Value {
    let mut out = writer.base(
        group,
        match group.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant | Role::Tool => "assistant",
        },
    );
    if !out.contains_key("id") {
        // The id comes first, as the SDK writes it.
        let id = writer.message_id();
        out.shift_insert(0, "id".into(), id.into());
    }
    let mut parts: Vec<Value> = Vec::new();
    let mut decor = writer.decor(group);
    for atom in &group.atoms {
        if let Some(place) = atom.place
            && let Slot::Block(i) = place.slot
        {
            while let Some((at, value)) = decor.first()
                && *at < i
            {
                parts.push((*value).clone());
                decor.remove(0);
            }
        }
        match atom.part.as_ref() {
            Part::ToolResult { .. } => {}
            Part::ToolCall {
                id,
                name,
                arguments,
            } => {
                let own = |a: &&Atom<'_>| {
                    a.raw == atom.raw
                        && atom.place.is_some_and(
                            |p| matches!(p.slot, Slot::Block(i) if a.is_at(Slot::ResultOf(i))),
                        )
                };
                let same = |a: &&Atom<'_>| matches!(a.part.as_ref(), Part::ToolResult { call, .. } if call == id);
                let result = group
                    .atoms
                    .iter()
                    .find(own)
                    .or_else(|| group.atoms.iter().find(same));
                parts.push(tool_part(atom, result, (id, name, arguments), writer));
            }
            part => parts.push(match writer.own_block(atom) {
                Some(own) => own.clone(),
                None => ui_block(part, writer.replaced(atom)),
            }),
        }
    }
    parts.extend(
        decor
            .into_iter()
            .filter(|(_, v)| typed(v).is_some_and(|(k, _)| k != "step-start"))
            .map(|(_, v)| v.clone()),
    );
    // Covered steps leave no empty steps behind.
    let is_start = |part: &Value| typed(part).is_some_and(|(kind, _)| kind == "step-start");
    parts.dedup_by(|next, part| is_start(next) && is_start(part));
    out.shift_remove("content");
    out.insert("parts".into(), Value::Array(parts));
    Value::Object(out)
}

fn ui_block(part: &Part, replaced: Option<&Map<String, Value>>) -> Value {
    if let Part::Image {
        media_type,
        data,
        name,
        ..
    } = part
    {
        return match image_url(media_type, data) {
            Some(url) => {
                json!({ "type": "file", "mediaType": media_type, "filename": name, "url": url })
            }
            None => json!({ "type": "text", "text": format!("[{name}: {media_type}]") }),
        };
    }
    let mut out = replaced
        .filter(|r| string(r, "type") == Some("text"))
        .cloned()
        .unwrap_or_default();
    out.insert("type".into(), "text".into());
    out.insert("text".into(), words(part).into());
    Value::Object(out)
}

/// A tool's part: the call, and its result if there is one.
fn tool_part(
    call: &Atom<'_>,
    result: Option<&Atom<'_>>,
    (id, name, arguments): (&str, &str, &str),
    writer: &Writer<'_>,
) -> Value {
    let whole = result.is_some_and(|r| writer.own(r).is_some() && r.raw == call.raw);
    if whole && let Some(own) = writer.own(call) {
        return own.clone();
    }
    let mut out = writer.replaced(call).cloned().unwrap_or_default();
    if string(&out, "type") != Some("dynamic-tool") {
        out.insert("type".into(), format!("tool-{name}").into());
    }
    out.insert("toolCallId".into(), id.into());
    if writer.own(call).is_none() || !out.contains_key("input") {
        out.insert("input".into(), object(arguments));
    }
    match result {
        Some(result) if writer.verbatim(result) && out.contains_key("state") => {}
        Some(result) => {
            if let Part::ToolResult { text, error, .. } = result.part.as_ref() {
                let (state, field, other) = if *error {
                    ("output-error", "errorText", "output")
                } else {
                    ("output-available", "output", "errorText")
                };
                out.insert("state".into(), state.into());
                out.shift_remove(other);
                // Only a granted approval stands beside a result.
                if out
                    .get("approval")
                    .is_some_and(|a| a.get("approved") != Some(&true.into()))
                {
                    out.shift_remove("approval");
                }
                out.insert(field.into(), text.as_str().into());
            }
        }
        None => {
            out.insert("state".into(), "input-available".into());
        }
    }
    Value::Object(out)
}
