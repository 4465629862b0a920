//! Messages as they are put together from the records of other programs: what OpenAI's servers take, with the time in
//! `timestamp` (milliseconds since 1970) where it is known.

use palimpsest_text::json::ToJson as _;
use palimpsest_text::time::from_iso;
use serde_json::{Map, Value, json};

use crate::reader::{result_text, string};

/// Milliseconds of a time in seconds, in milliseconds, or as a date in words of ISO 8601; 0 if nobody knows.
pub(super) fn time(value: Option<&Value>) -> f64 {
    match value {
        Some(Value::String(text)) => from_iso(text),
        Some(value) => {
            let n = value.as_f64().unwrap_or_default();
            // no conversation with a model is older than 1973
            if n < 1e11 { n * 1000.0 } else { n }
        }
        None => 0.0,
    }
}

/// The first of these fields that is a string.
pub(super) fn first<'v>(fields: &'v Map<String, Value>, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| string(fields, key))
}

/// What one speaker says until another one does. A tool's result between two stretches of an assistant's words is a
/// message of its own.
#[derive(Debug, Default)]
pub(super) struct Turn {
    role: &'static str,
    at: f64,
    texts: Vec<String>,
    images: Vec<String>,
    reasoning: Vec<String>,
    calls: Vec<Value>,
    /// Messages that are complete.
    pub(super) said: Vec<Value>,
}

impl Turn {
    /// The role that an OpenAI message has for a role of another program. Nothing for a role that nobody knows.
    pub(super) fn role_of(name: &str) -> Option<&'static str> {
        Some(match name.to_ascii_lowercase().as_str() {
            "user" | "human" | "you" => "user",
            "assistant" | "ai" | "model" | "gemini" | "bot" => "assistant",
            "system" | "developer" => "system",
            "tool" | "toolresult" | "function" => "tool",
            _ => return None,
        })
    }

    /// Somebody begins to speak.
    pub(super) fn begin(&mut self, role: &'static str, at: f64) {
        self.close();
        self.reasoning.clear();
        self.role = role;
        self.at = at;
    }

    /// Who speaks.
    pub(super) const fn role(&self) -> &'static str {
        self.role
    }

    pub(super) fn text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.texts.push(text.to_owned());
        }
    }

    pub(super) fn thinking(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.reasoning.push(text.to_owned());
        }
    }

    /// An attached file's text.
    pub(super) fn file(&mut self, name: &str, text: &str) {
        if !text.trim().is_empty() {
            self.text(&format!("[File: {name}]\n{text}"));
        }
    }

    /// An image by its address or its base64 data.
    pub(super) fn image(&mut self, media_type: &str, data: &str) {
        if data.starts_with("data:") || data.starts_with("http") {
            self.images.push(data.to_owned());
        } else if !data.is_empty() {
            self.images.push(format!("data:{media_type};base64,{data}"));
        }
    }

    pub(super) fn call(&mut self, id: &str, name: &str, arguments: Option<&Value>) {
        let arguments = match arguments {
            Some(Value::String(text)) if text.trim_start().starts_with('{') => text.clone(),
            Some(object @ Value::Object(_)) => object.to_json(),
            None | Some(Value::Null) => "{}".to_owned(),
            Some(other) => json!({ "input": other }).to_json(),
        };
        self.calls.push(json!({
            "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }));
    }

    /// The result of a call: it stands after the message that makes the call.
    pub(super) fn result(&mut self, call: &str, text: &str) {
        self.close();
        let message = json!({ "role": "tool", "tool_call_id": call, "content": text });
        self.push(message);
    }

    /// Whether anything was said that is not among the complete messages.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.images.is_empty() && self.calls.is_empty()
    }

    /// Completes the message that is being put together. What was only thought belongs to the next words.
    pub(super) fn close(&mut self) {
        if self.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.texts).join("\n");
        let images = std::mem::take(&mut self.images);
        let content = if !images.is_empty() {
            let words = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
            let image = |url| json!({ "type": "image_url", "image_url": { "url": url } });
            words
                .into_iter()
                .chain(images.into_iter().map(image))
                .collect()
        } else if text.is_empty() {
            Value::Null
        } else {
            text.into()
        };
        let mut message = json!({ "role": self.role, "content": content });
        let reasoning = std::mem::take(&mut self.reasoning).join("\n");
        if !reasoning.is_empty() && self.role == "assistant" {
            message["reasoning_content"] = reasoning.into();
        }
        let calls = std::mem::take(&mut self.calls);
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        self.push(message);
    }

    fn push(&mut self, mut message: Value) {
        if self.at > 0.0 {
            message["timestamp"] = self.at.into();
        }
        self.said.push(message);
    }

    /// Takes content as most programs have it: text, or a list of blocks. `unknown` is told the type of each block that is not
    /// understood.
    pub(super) fn content(&mut self, content: Option<&Value>, unknown: &mut dyn FnMut(&str)) {
        match content {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => self.text(text),
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    match block {
                        Value::String(text) => self.text(text),
                        Value::Object(fields) => self.block(fields, unknown),
                        other => unknown(crate::reader::kind(other)),
                    }
                }
            }
            Some(Value::Object(fields)) => self.block(fields, unknown),
            Some(other) => unknown(crate::reader::kind(other)),
        }
    }

    /// Takes one block of content. The names are those of Anthropic, OpenAI, pi, LibreChat, Jan and Gemini.
    fn block(&mut self, fields: &Map<String, Value>, unknown: &mut dyn FnMut(&str)) {
        let kind = string(fields, "type").unwrap_or_default();
        let own = |key: &str| fields.get(key).unwrap_or(&Value::Null);
        match kind {
            "text" | "input_text" | "output_text" | "" if fields.contains_key("text") => {
                match own("text") {
                    Value::String(text) => self.text(text),
                    value => self.text(
                        value
                            .get("value")
                            .and_then(Value::as_str)
                            .unwrap_or_default(),
                    ),
                }
            }
            "thinking" | "reasoning" | "think" | "redacted_thinking" => {
                let words = first(fields, &["thinking", "think", "text"]);
                let inner = || own("text").get("value")?.as_str();
                self.thinking(words.or_else(inner).unwrap_or_default());
            }
            "tool_use" | "toolCall" | "tool-call" | "server_tool_use" | "mcp_tool_use" => {
                let id = first(fields, &["id", "toolCallId"]).unwrap_or_default();
                let name = first(fields, &["name", "toolName"]).unwrap_or_default();
                let arguments = ["input", "arguments", "args"];
                let arguments = arguments.iter().find_map(|key| fields.get(*key));
                self.call(id, name, arguments);
            }
            "tool_call" => {
                // LibreChat keeps call and result under one key, Jan beside the type
                let inner = own("tool_call").as_object().unwrap_or(fields);
                let id = first(inner, &["id", "tool_call_id"]).unwrap_or_default();
                let name = first(inner, &["name", "tool_name"]).unwrap_or_default();
                self.call(id, name, inner.get("args").or_else(|| inner.get("input")));
                if let Some(output) = inner.get("output").filter(|o| !o.is_null()) {
                    self.result(id, &result_text(output));
                }
            }
            "tool_result" | "tool-result" | "mcp_tool_result" => {
                let id = first(fields, &["tool_use_id", "toolCallId"]).unwrap_or_default();
                let output = ["content", "output", "result"];
                let output = output.iter().find_map(|key| fields.get(*key));
                self.result(id, &output.map_or_else(String::new, result_text));
            }
            "image" | "image_url" | "input_image" => {
                let source = own("source");
                let data = [
                    own("data"),
                    &source["data"],
                    &source["url"],
                    own("image_url"),
                    &own("image_url")["url"],
                ];
                let data = data.into_iter().find_map(Value::as_str).unwrap_or_default();
                let media = [own("mimeType"), &source["media_type"]];
                let media = media.into_iter().find_map(Value::as_str);
                self.image(media.unwrap_or("image/png"), data);
            }
            other => unknown(if other.is_empty() {
                "a block without a type"
            } else {
                other
            }),
        }
    }
}
