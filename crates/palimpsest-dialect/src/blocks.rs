//! Reads and writes messages that are lists of blocks, for the dialects in which user and assistant take turns: Anthropic, Bedrock,
//! Gemini. Results stand inside the user's messages, before everything else in them.

use serde_json::{Map, Value};

use crate::message::{Part, Role};
use crate::openai::words;
use crate::parsed::Slot;
use crate::problem::Code;
use crate::reader::{Placed, Reader, kind, text, time_of};
use crate::writer::{Atom, Group, Writer};

/// Reads one block of a message of this role.
pub(crate) type ReadBlock = fn(&mut Reader, &Value, Role, usize) -> Option<Placed>;

/// Reads a message whose blocks are the list in the field `key`: results become a message of their own, before the rest.
pub(crate) fn read(
    reader: &mut Reader,
    message: &Map<String, Value>,
    role: Role,
    key: &str,
    block: ReadBlock,
) {
    let time = time_of(message);
    let mut results = Vec::new();
    let mut parts = Vec::new();
    match message.get(key) {
        None | Some(Value::Null) => {}
        Some(Value::String(words)) if key == "content" => parts.push(text(words, Slot::Content)),
        Some(Value::Array(blocks)) => {
            for (i, one) in blocks.iter().enumerate() {
                let Some(placed) = block(reader, one, role, i) else {
                    continue;
                };
                if matches!(placed.0, Part::ToolResult { .. }) {
                    results.push(placed);
                } else {
                    parts.push(placed);
                }
            }
        }
        Some(other) => {
            let found = kind(other);
            let text = if key == "content" { "a string or " } else { "" };
            reader.problem(
                Code::BadContent,
                format!("expected {key} that is {text}an array of blocks, found {found}"),
            );
            return;
        }
    }
    if role == Role::System {
        reader.system(parts, time);
        return;
    }
    let only_results = !results.is_empty() && parts.is_empty();
    if !results.is_empty() {
        reader.push(Role::Tool, results, time);
    }
    if !only_results {
        reader.push(role, parts, time);
    }
}

/// Writes a message of that role. In Anthropic's messages a single text stands without a block.
pub(crate) fn write(
    group: &Group<'_>,
    writer: &Writer<'_>,
    role: &str,
    key: &str,
    block: fn(&Atom<'_>, &Writer<'_>) -> Value,
) -> Value {
    let mut out = writer.base(group, role);
    let texts = group
        .atoms
        .iter()
        .all(|a| matches!(a.part.as_ref(), Part::Text { .. }) && !a.in_blocks());
    if writer.has_plain_texts() && texts && group.atoms.len() == 1 {
        out.insert(key.into(), words(&group.atoms[0].part).into());
        return Value::Object(out);
    }
    // results first: the APIs refuse them after other blocks
    let (results, rest): (Vec<_>, Vec<_>) = group
        .atoms
        .iter()
        .partition(|a| matches!(a.part.as_ref(), Part::ToolResult { .. }));
    let atoms = results.into_iter().chain(rest);
    let blocks = writer.with_reasoning(group, atoms, block);
    out.insert(key.into(), Value::Array(blocks));
    Value::Object(out)
}
