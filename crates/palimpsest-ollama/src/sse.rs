//! The stream of OpenAI-compatible servers: server-sent events with a JSON object in `data:`, then `[DONE]`.

use palimpsest_core::request::{FinishReason, ModelError, Usage};
use palimpsest_text::json::ToJson as _;
use serde_json::Value;

use crate::answer::{Answer, arguments, finish_reason};
use crate::error::ServerError;
use crate::json;

/// An answer with more tool calls than this is an error.
const MOST_CALLS: usize = 128;

/// The state between two events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Tool calls arrive in fragments, by index.
    calls: Vec<Call>,
    usage: Usage,
    reason: Option<FinishReason>,
}

#[derive(Debug, Default)]
struct Call {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl Events {
    /// Reads one line. All servers put the data of an event in one line, so the empty line after it has no meaning.
    pub(crate) fn line(&mut self, line: &[u8], answer: &mut Answer) -> Result<(), ModelError> {
        if let Some(data) = field(line, b"data") {
            return self.data(data, answer);
        }
        // A whole answer instead of a stream, an error without the frame, or a page of another server.
        if matches!(line.trim_ascii_start().first(), Some(b'{' | b'<')) {
            return self.data(line, answer);
        }
        // Comments, event:, id:, retry: and future fields.
        Ok(())
    }

    /// Ends the stream. `[DONE]` may be missing if the server gave a reason to finish.
    pub(crate) fn finish(&mut self, answer: &mut Answer) {
        if self.reason.is_some() && !answer.is_done() {
            self.end(answer);
        }
    }

    fn data(&mut self, data: &[u8], answer: &mut Answer) -> Result<(), ModelError> {
        let data = data.trim_ascii();
        if data.is_empty() {
            return Ok(());
        }
        if data == b"[DONE]" {
            self.end(answer);
            return Ok(());
        }
        let value = json::object(data)?;
        if let Some(error) = ServerError::find(&value) {
            return Err(error.meaning(200, &answer.model));
        }
        self.count(&value);
        for choice in value["choices"].as_array().into_iter().flatten() {
            if choice["index"].as_u64().unwrap_or(0) > 0 {
                continue; // only one answer was asked for
            }
            let whole = choice["message"].is_object();
            let delta = if whole {
                &choice["message"]
            } else {
                &choice["delta"]
            };
            answer.thinking(json::text(&delta["reasoning_content"])?)?;
            answer.thinking(json::text(&delta["reasoning"])?)?;
            answer.text(json::text(&delta["content"])?)?;
            for (at, call) in delta["tool_calls"]
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
            {
                self.fragment(at as u64, call, answer)?;
            }
            if let Some(reason) = choice["finish_reason"].as_str() {
                self.reason = Some(finish_reason(Some(reason)));
                if whole {
                    self.end(answer);
                }
            }
        }
        Ok(())
    }

    /// Adds a fragment of a tool call to the call with its index.
    fn fragment(&mut self, at: u64, call: &Value, answer: &mut Answer) -> Result<(), ModelError> {
        let index = call["index"].as_u64().unwrap_or(at);
        let position = match self.calls.iter().position(|c| c.index == index) {
            Some(position) => position,
            None if self.calls.len() >= MOST_CALLS => {
                return Err(json::bad("it has too many tool calls"));
            }
            None => {
                self.calls.push(Call {
                    index,
                    ..Call::default()
                });
                self.calls.len() - 1
            }
        };
        let known = &mut self.calls[position];
        let function = &call["function"];
        if known.id.is_empty() {
            json::text(&call["id"])?.clone_into(&mut known.id);
        }
        let name = json::text(&function["name"])?;
        if known.name.is_empty() {
            answer.charge(name)?;
            name.clone_into(&mut known.name);
        }
        let more = match &function["arguments"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_json(),
        };
        answer.charge(&more)?;
        known.arguments.push_str(&more);
        Ok(())
    }

    /// Reads the counts, and llama.cpp's times. Some servers repeat them with every event; the last ones count.
    fn count(&mut self, value: &Value) {
        let (usage, timings) = (&value["usage"], &value["timings"]);
        let ms = |value: &Value| {
            let ms = value
                .as_f64()
                .filter(|ms| *ms > 0.0 && *ms < f64::from(u32::MAX))?;
            Some(ms.ceil() as u32)
        };
        let known = self.usage;
        self.usage = Usage {
            prompt_tokens: json::count(&usage["prompt_tokens"]).or(known.prompt_tokens),
            completion_tokens: json::count(&usage["completion_tokens"]).or(known.completion_tokens),
            prompt_ms: ms(&timings["prompt_ms"]).or(known.prompt_ms),
            completion_ms: ms(&timings["predicted_ms"]).or(known.completion_ms),
        };
    }

    fn end(&mut self, answer: &mut Answer) {
        palimpsest_text::order::sort_by_key(&mut self.calls, |call| call.index);
        for call in self.calls.drain(..) {
            answer.call(
                &call.id,
                &call.name,
                arguments(&Value::String(call.arguments)),
            );
        }
        answer.end(self.usage, self.reason.unwrap_or(FinishReason::Stop));
    }
}

/// The value of `name: value` on this line.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let value = line.strip_prefix(name)?.strip_prefix(b":")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}
