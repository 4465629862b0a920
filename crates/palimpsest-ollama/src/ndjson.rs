//! Ollama's stream: one JSON object per line, the last one with `done: true`.

use palimpsest_core::request::{ModelError, Usage};
use serde_json::Value;

use crate::answer::{Answer, arguments, finish_reason};
use crate::error::ServerError;
use crate::json;

const NANOSECONDS_PER_MS: f64 = 1e6;

/// Reads one line of `/api/chat` (`message.content`) or `/api/generate` (`response`).
pub(crate) fn line(bytes: &[u8], answer: &mut Answer) -> Result<(), ModelError> {
    if bytes.trim_ascii().is_empty() {
        return Ok(());
    }
    let value = json::object(bytes)?;
    if let Some(error) = ServerError::find(&value) {
        return Err(error.meaning(200, &answer.model));
    }
    let message = &value["message"];
    answer.thinking(json::text(&message["thinking"])?)?;
    answer.thinking(json::text(&value["thinking"])?)?;
    answer.text(json::text(&message["content"])?)?;
    answer.text(json::text(&value["response"])?)?;
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        let name = json::text(&function["name"])?;
        let arguments = arguments(&function["arguments"]);
        answer.charge(name)?;
        answer.charge(&arguments)?;
        answer.call(json::text(&call["id"])?, name, arguments);
    }
    if value["done"] == Value::Bool(true) {
        let usage = Usage {
            prompt_tokens: json::count(&value["prompt_eval_count"]),
            completion_tokens: json::count(&value["eval_count"]),
            prompt_ms: milliseconds(&value["prompt_eval_duration"]),
            completion_ms: milliseconds(&value["eval_duration"]),
        };
        answer.end(usage, finish_reason(value["done_reason"].as_str()));
    }
    Ok(())
}

/// Durations come in nanoseconds; zero is left out by the server.
fn milliseconds(value: &Value) -> Option<u32> {
    let ns = value.as_f64().filter(|ns| ns.is_finite() && *ns > 0.0)?;
    let ms = (ns / NANOSECONDS_PER_MS).ceil();
    (ms <= f64::from(u32::MAX)).then_some(ms as u32)
}
