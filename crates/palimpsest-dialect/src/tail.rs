//! Finds the unfinished end of a list: calls that wait for their result or for a person's approval, tools that the
//! client runs, arguments that are still arriving.
//!
//! The caller still has to work on that end, so no code may change it or invent a result in it. A call without a result
//! counts as interrupted only if a later message follows it.

use serde_json::Value;

use crate::message::{Part, Role};
use crate::parsed::{Parsed, ParsedMessage, Slot};
use crate::reader::{string, typed};
use crate::shape::Dialect;
use crate::tool::Pairing;

/// The beginning of the unfinished end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTail {
    /// The index of the value in which it begins.
    pub raw: usize,
    /// The index of the part with which it begins, if one value contains several steps; 0 if it begins with the value.
    pub part: usize,
}

/// Returns the unfinished end of the list from which `parsed` was read; `None` if everything is finished.
pub fn open_tail(values: &[Value], parsed: &Parsed) -> Option<OpenTail> {
    let messages = &parsed.messages;
    if parsed.dialect == Dialect::Responses {
        return open_items(values, parsed);
    }
    let last = messages
        .iter()
        .rposition(|m| m.message.role == Role::Assistant)?;
    let rest = messages[last + 1..].iter();
    if rest.clone().any(|m| m.message.role != Role::Tool) {
        return None;
    }
    let raw = messages[last].raw;
    let steps = messages[last..].iter().map(|m| &m.message);
    let is_open = !Pairing::of(steps).unanswered.is_empty();
    if parsed.dialect == Dialect::AiSdkUi {
        let parts = values.get(raw)?.get("parts").and_then(Value::as_array);
        let parts = parts.map_or(&[][..], Vec::as_slice);
        let own = messages[last].places.iter().flatten();
        let said = own.filter_map(|place| match place.slot {
            Slot::Block(i) => Some(i),
            _ => None,
        });
        let first = said.min().filter(|_| is_open);
        let from = first.into_iter().chain(streaming(parts)).min()?;
        let step = parts[..=from.min(parts.len().checked_sub(1)?)]
            .iter()
            .rposition(|part| typed(part).is_some_and(|(kind, _)| kind == "step-start"));
        return Some(OpenTail {
            raw,
            part: step.unwrap_or(0),
        });
    }
    (is_open || runs_at_provider(values, raw)).then_some(OpenTail { raw, part: 0 })
}

/// The same for items, of which each call is one of its own: the turn of the first call that waits, or else the
/// reasoning at the end, which waits for what it leads to.
fn open_items(values: &[Value], parsed: &Parsed) -> Option<OpenTail> {
    let is_reasoning = |item: &Value| matches!(typed(item), Some(("reasoning", _)));
    let thoughts = values.iter().rposition(|item| !is_reasoning(item));
    let thoughts = thoughts.map_or(0, |n| n + 1);
    let raw = waiting_turn(&parsed.messages).unwrap_or(values.len());
    let raw = raw.min(thoughts);
    (raw < values.len()).then_some(OpenTail { raw, part: 0 })
}

/// The first value of the turn of the first call that waits.
fn waiting_turn(messages: &[ParsedMessage]) -> Option<usize> {
    let is_spoken = |m: &ParsedMessage| matches!(m.message.role, Role::User | Role::System);
    let from = messages.iter().rposition(is_spoken).map_or(0, |n| n + 1);
    let pairing = Pairing::of(messages[from..].iter().map(|m| &m.message));
    let mut first = from + pairing.unanswered.first()?.message;
    // The calls of one turn stand side by side. What was said before them is finished.
    let calls = |m: &ParsedMessage| {
        m.message
            .parts
            .iter()
            .any(|p| matches!(p, Part::ToolCall { .. }))
    };
    while first > from && calls(&messages[first - 1]) {
        first -= 1;
    }
    let items = messages[first].places.iter().flatten();
    let thoughts = items.filter_map(|place| match place.slot {
        Slot::Item(item) => Some(item),
        _ => None,
    });
    thoughts.chain([messages[first].raw]).min()
}

/// The first part whose arguments are still arriving.
fn streaming(parts: &[Value]) -> Option<usize> {
    parts.iter().position(|part| {
        typed(part).is_some_and(|(_, fields)| string(fields, "state") == Some("input-streaming"))
    })
}

/// Returns `true` if the provider itself still runs a tool of that message. Its result will come in a later block.
fn runs_at_provider(values: &[Value], raw: usize) -> bool {
    let blocks = |value: &Value| -> Vec<Value> {
        let content = value.get("content").and_then(Value::as_array);
        content.cloned().unwrap_or_default()
    };
    let calls = values.get(raw).map(blocks).unwrap_or_default();
    let later: Vec<Value> = values[raw..].iter().flat_map(blocks).collect();
    calls.iter().filter_map(typed).any(|(kind, call)| {
        let (id, answers) = match kind {
            "tool-call" if call.get("providerExecuted") == Some(&Value::Bool(true)) => {
                (string(call, "toolCallId"), "toolCallId")
            }
            "server_tool_use" | "mcp_tool_use" => (string(call, "id"), "tool_use_id"),
            _ => return false,
        };
        let answered = later.iter().filter_map(typed).any(|(other, fields)| {
            other != "tool-call"
                && other != "tool-approval-request"
                && string(fields, answers) == id
        });
        !answered
    })
}
