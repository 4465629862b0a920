//! What a list's reasoning costs.
//!
//! Reasoning that is sent is counted, by a rule for each dialect:
//!
//! | dialect | what counts |
//! |---|---|
//! | Anthropic | `thinking` and `redacted_thinking` after the user's last words: the provider drops that of earlier turns itself |
//! | OpenAI | `reasoning_content`, `reasoning`, `reasoning_details` of every message: which providers read it is not known |
//! | Ollama | `thinking` of every message: which templates write it is not known |
//! | AI SDK | `reasoning` parts of every message: the provider is not known |
//! | OpenAI Responses | `reasoning` items: the provider reads them with the item that they stand before |
//! | Gemini, Bedrock | thoughts and `reasoningContent` of every message |
//!
//! The same words in two fields of one message count once. Encrypted reasoning counts a quarter of its length in bytes: the
//! provider reads the text it hides, not the letters it is written in.

use palimpsest_text::json::ToJson as _;
use palimpsest_tokens::TokenCounter;
use serde_json::Value;

use crate::message::{Part, Role};
use crate::parsed::{Parsed, ParsedMessage, Place, Slot};
use crate::reader::string;
use crate::shape::Dialect;

/// The fields that hold the reasoning of a message in OpenAI's shape, beside its content.
pub(crate) const FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

/// Tokens that a template puts around a stretch of reasoning.
const FRAME_TOKENS: u32 = 4;

/// Bytes of encrypted reasoning that stand for one token.
const HIDDEN_BYTES: usize = 4;

/// Tokens of the reasoning that is sent and read with each message of `parsed`, which was read from `values`.
pub fn reasoning(parsed: &Parsed, values: &[Value], counter: &dyn TokenCounter) -> Vec<u32> {
    let dropped = reasoning_begins(parsed);
    let tokens = |(n, from): (usize, &ParsedMessage)| {
        if n < dropped {
            0
        } else {
            of_message(from, values, counter)
        }
    };
    parsed.messages.iter().enumerate().map(tokens).collect()
}

/// The first message whose reasoning the provider does not drop by itself.
pub fn reasoning_begins(parsed: &Parsed) -> usize {
    let spoken = |from: &ParsedMessage| {
        from.message.role == Role::User && from.message.parts.iter().any(|p| !p.is_empty())
    };
    match parsed.dialect {
        Dialect::Anthropic => parsed.messages.iter().rposition(spoken).unwrap_or(0),
        _ => 0,
    }
}

/// Tokens of the reasoning of one message, which was read from `values`, if the provider reads it.
pub fn reasoning_of(from: &ParsedMessage, values: &[Value], counter: &dyn TokenCounter) -> u32 {
    of_message(from, values, counter)
}

fn of_message(from: &ParsedMessage, values: &[Value], counter: &dyn TokenCounter) -> u32 {
    let mut said: Vec<&str> = Vec::new();
    let mut tokens = 0_u32;
    for (part, place) in from.message.parts.iter().zip(&from.places) {
        let Part::Thinking { text } = part else {
            continue;
        };
        let mut own = 0;
        if !text.is_empty() && !said.contains(&text.as_str()) {
            said.push(text);
            own = counter.count(text);
        }
        let item = match place.map(|place| place.slot) {
            Some(Slot::Item(item)) => item,
            _ => from.raw,
        };
        if let (Some(place), Some(raw)) = (place, values.get(item)) {
            let hidden = hidden_bytes(*place, raw, text).div_ceil(HIDDEN_BYTES);
            own = own.saturating_add(u32::try_from(hidden).unwrap_or(u32::MAX));
        }
        if own > 0 {
            tokens = tokens.saturating_add(own).saturating_add(FRAME_TOKENS);
        }
    }
    tokens
}

/// Bytes of reasoning that only the provider can read. A signature beside words that can be read hides those same words.
fn hidden_bytes(place: Place, raw: &Value, text: &str) -> usize {
    let length = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.len(),
        Some(value @ Value::Object(_)) => value.to_json().len(),
        _ => 0,
    };
    match place.slot {
        Slot::Field("reasoning_details") => {
            let details = raw.get("reasoning_details").and_then(Value::as_array);
            details
                .into_iter()
                .flatten()
                .map(|d| length(d.get("data")))
                .sum()
        }
        Slot::Item(_) if text.is_empty() => length(raw.get("encrypted_content")),
        Slot::Block(i) if text.is_empty() => {
            let blocks = raw.get("content").or_else(|| raw.get("parts"));
            let block = blocks.and_then(|blocks| blocks.get(i));
            [
                "data",
                "signature",
                "providerOptions",
                "providerMetadata",
                "reasoningContent",
            ]
            .iter()
            .map(|key| length(block.and_then(|block| block.get(*key))))
            .sum()
        }
        _ => 0,
    }
}

/// The words of OpenRouter's `reasoning_details`.
pub(crate) fn details_words(details: &[Value]) -> String {
    let words = details.iter().filter_map(|detail| {
        let fields = detail.as_object()?;
        string(fields, "text").or_else(|| string(fields, "summary"))
    });
    words.collect()
}
