//! The session JSON of seed 2: `sessionId`, `startTime`, `lastActivity`, `model`, `provider`, `messages` with typed
//! parts, `toolCalls` with arguments and result, `metadata` with counts.
//!
//! Seed 2 has no place for tool calls inside of a message. This module writes them twice: as parts, from which
//! everything is read back, and in `toolCalls` for other programs. In files of other programs, which only have
//! `toolCalls`, the calls go to their place by time.

use palimpsest_core::message::{Message, Origin, Part, Role};
use palimpsest_core::record::Records;
use palimpsest_core::tool::{Pairing, PartAt};
use palimpsest_text::json::ToJson as _;
use palimpsest_text::time::{from_iso, to_iso};
use serde_json::{Value, json};

use super::{SessionFacts, Transfer, TransferError, path};

pub(super) fn is_one(text: &str) -> Option<Value> {
    let value: Value = palimpsest_text::json::parse(text).ok()?;
    (value.get("sessionId").is_some() && value.get("messages").is_some_and(Value::is_array))
        .then_some(value)
}

pub(super) fn write(transfer: &Transfer) -> String {
    let facts = &transfer.facts;
    let path = path(transfer);
    let messages: Vec<Value> = path
        .iter()
        .map(|m| {
            let mut one = json!({ "role": m.role, "parts": m.parts, "timestamp": to_iso(m.at) });
            if let Some(ended) = m.ended {
                one["ended"] = json!(ended);
            }
            one
        })
        .collect();
    let pairing = Pairing::of(path.iter().copied());
    let result_of = |call| {
        let at = pairing.result_of.get(&call)?;
        match &path[at.message].parts[at.part] {
            Part::ToolResult { text, error, .. } if *error => {
                Some(json!({ "llmContent": text, "error": true }))
            }
            Part::ToolResult { text, .. } => Some(json!({ "llmContent": text })),
            _ => None,
        }
    };
    let mut calls = Vec::new();
    for (m, message) in path.iter().enumerate() {
        for (p, part) in message.parts.iter().enumerate() {
            let Part::ToolCall {
                id,
                name,
                arguments,
            } = part
            else {
                continue;
            };
            let at = PartAt {
                message: m,
                part: p,
            };
            let args: Value =
                palimpsest_text::json::parse(arguments).unwrap_or_else(|_| json!(arguments));
            calls.push(json!({ "id": id, "name": name, "args": args,
                "result": result_of(at), "timestamp": to_iso(message.at) }));
        }
    }
    let value = json!({
        "sessionId": facts.id,
        "title": facts.title,
        "startTime": to_iso(facts.created),
        "lastActivity": to_iso(facts.updated),
        "model": facts.model,
        "provider": facts.provider,
        "systemPrompt": transfer.records.system,
        "messages": messages,
        "toolCalls": calls,
        "metadata": { "tokenCount": facts.tokens, "compressionCount": facts.compressions },
    });
    let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
    text.push('\n');
    text
}

pub(super) fn read(value: &Value) -> Result<Transfer, TransferError> {
    let damaged = |n: usize, why: String| TransferError::Damaged {
        line: 1,
        why: format!("message {n}: {why}"),
    };
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let number = |v: &Value| v.as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    let mut out = Transfer {
        facts: SessionFacts {
            id: text("sessionId"),
            title: text("title"),
            model: text("model"),
            provider: text("provider"),
            created: from_iso(&text("startTime")),
            updated: from_iso(&text("lastActivity")),
            tokens: number(&value["metadata"]["tokenCount"]),
            compressions: number(&value["metadata"]["compressionCount"]),
            ..SessionFacts::default()
        },
        records: Records::with_system(text("systemPrompt")),
        ..Transfer::default()
    };
    let mut has_calls = false;
    for (n, message) in value["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let role = match message["role"].as_str() {
            Some("system") => Role::System,
            Some("user") => Role::User,
            Some("assistant" | "model") => Role::Assistant,
            Some("tool") => Role::Tool,
            _ => return Err(damaged(n, "no role that is known".into())),
        };
        let parts: Vec<Part> = match (&message["parts"], &message["content"]) {
            (Value::Array(parts), _) => parts
                .iter()
                .map(palimpsest_text::json::read_value)
                .collect::<Result<_, _>>()
                .map_err(|e| damaged(n, e.to_string()))?,
            (_, Value::String(text)) => vec![Part::text(text)],
            _ => return Err(damaged(n, "no parts".into())),
        };
        has_calls |= parts.iter().any(|p| matches!(p, Part::ToolCall { .. }));
        push(
            &mut out.messages,
            role,
            parts,
            from_iso(message["timestamp"].as_str().unwrap_or_default()),
        );
        if let Some(last) = out.messages.last_mut() {
            // A mark of another program has another meaning.
            last.ended = palimpsest_text::json::read_value(&message["ended"]).unwrap_or_default();
        }
    }
    if !has_calls {
        place_calls(&mut out.messages, &value["toolCalls"]);
    }
    out.facts.tip = out.messages.last().map(|m| m.seq);
    Ok(out)
}

fn push(messages: &mut Vec<Message>, role: Role, parts: Vec<Part>, at: f64) {
    let seq = messages.len() as u32;
    messages.push(Message {
        seq,
        parent: seq.checked_sub(1),
        role,
        origin: match role {
            Role::Assistant => Origin::Model,
            Role::Tool => Origin::Tool,
            Role::System | Role::User => Origin::Host,
        },
        parts,
        at,
        ended: None,
    });
}

/// A message: role and parts.
type Said = (Role, Vec<Part>);

/// Puts calls and results before the first later message. Calls without a time go to the end.
fn place_calls(messages: &mut Vec<Message>, calls: &Value) {
    let mut all: Vec<(f64, Vec<Said>)> = Vec::new();
    for call in calls.as_array().into_iter().flatten() {
        let at = from_iso(call["timestamp"].as_str().unwrap_or_default());
        let name = call["name"].as_str().unwrap_or("tool").to_owned();
        let id = call["id"].as_str().unwrap_or("call").to_owned();
        let mut pair = vec![(
            Role::Assistant,
            vec![Part::ToolCall {
                id: id.clone(),
                name: name.clone(),
                arguments: call["args"].to_json(),
            }],
        )];
        let result = &call["result"];
        let text = result["llmContent"]
            .as_str()
            .or(result.as_str())
            .map(str::to_owned)
            .or_else(|| (!result.is_null()).then(|| result.to_json()));
        if let Some(text) = text {
            pair.push((
                Role::Tool,
                vec![Part::ToolResult {
                    call: id,
                    name: Some(name),
                    text,
                    error: result["error"].as_bool().unwrap_or(false),
                }],
            ));
        }
        all.push((if at > 0.0 { at } else { f64::MAX }, pair));
    }
    palimpsest_text::order::sort_by(&mut all, |a, b| a.0.total_cmp(&b.0));
    let mut calls = all.into_iter().peekable();
    let mut placed = Vec::with_capacity(messages.len());
    for message in std::mem::take(messages) {
        while let Some((at, pair)) = calls.next_if(|(at, _)| *at < message.at) {
            for (role, parts) in pair {
                push(&mut placed, role, parts, at);
            }
        }
        push(&mut placed, message.role, message.parts, message.at);
        if let Some(last) = placed.last_mut() {
            last.ended = message.ended;
        }
    }
    for (at, pair) in calls {
        for (role, parts) in pair {
            push(
                &mut placed,
                role,
                parts,
                if at < f64::MAX { at } else { 0.0 },
            );
        }
    }
    *messages = placed;
}
