//! The answer of a model while it arrives. The formats of all servers use it.

use palimpsest_core::request::{Delta, FinishReason, ModelError, Usage};
use palimpsest_text::json::ToJson as _;

use crate::limits::Limits;
use crate::think::{Piece, ThinkSplitter};

/// An answer as far as it has arrived.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) model: String,
    pub(crate) limits: Limits,
    pub(crate) deltas: Vec<Delta>,
    pub(crate) think: ThinkSplitter,
    pub(crate) received: u64,
    pub(crate) text_bytes: u64,
    pub(crate) calls: usize,
    pub(crate) done: bool,
}

impl Answer {
    pub(crate) fn new(limits: Limits, model: String) -> Self {
        Self {
            model,
            limits,
            deltas: Vec::new(),
            think: ThinkSplitter::new(),
            received: 0,
            text_bytes: 0,
            calls: 0,
            done: false,
        }
    }

    /// Counts a line against the limit of the whole answer. Counting lines makes the result independent of chunks.
    pub(crate) fn receive(&mut self, line: &[u8]) -> Result<(), ModelError> {
        self.received += line.len() as u64 + 1;
        if self.received > u64::from(self.limits.response) {
            return Err(ModelError::TooLong {
                what: "the answer".into(),
                limit: self.limits.response,
            });
        }
        Ok(())
    }

    /// Counts text of any kind against the limit.
    pub(crate) fn charge(&mut self, text: &str) -> Result<(), ModelError> {
        self.text_bytes += text.len() as u64;
        if self.text_bytes > u64::from(self.limits.text) {
            return Err(ModelError::TooLong {
                what: "the text of the answer".into(),
                limit: self.limits.text,
            });
        }
        Ok(())
    }

    pub(crate) fn text(&mut self, text: &str) -> Result<(), ModelError> {
        if text.is_empty() {
            return Ok(());
        }
        self.charge(text)?;
        let mut pieces = Vec::new();
        self.think.push(text, &mut pieces);
        self.pieces(pieces);
        Ok(())
    }

    pub(crate) fn thinking(&mut self, text: &str) -> Result<(), ModelError> {
        if text.is_empty() {
            return Ok(());
        }
        self.charge(text)?;
        self.deltas.push(Delta::Thinking {
            text: text.to_owned(),
        });
        Ok(())
    }

    /// Adds a complete tool call. Its size must already be charged.
    pub(crate) fn call(&mut self, id: &str, name: &str, arguments: String) {
        self.settle();
        let id = if id.is_empty() {
            format!("call_{}", self.calls)
        } else {
            id.to_owned()
        };
        self.calls += 1;
        self.deltas.push(Delta::ToolCall {
            id,
            name: name.to_owned(),
            arguments,
        });
    }

    /// Ends the answer, with the server's counts if it sent any.
    pub(crate) fn end(&mut self, usage: Usage, reason: FinishReason) {
        self.settle();
        if usage != Usage::default() {
            self.deltas.push(Delta::Usage(usage));
        }
        let reason = if self.calls > 0 && reason == FinishReason::Stop {
            FinishReason::ToolCalls
        } else {
            reason
        };
        self.deltas.push(Delta::Done { reason });
        self.done = true;
    }

    pub(crate) const fn is_done(&self) -> bool {
        self.done
    }

    /// Emits text that was held back because it might have been a tag.
    pub(crate) fn settle(&mut self) {
        let mut pieces = Vec::new();
        self.think.finish(&mut pieces);
        self.pieces(pieces);
    }

    pub(crate) fn pieces(&mut self, pieces: Vec<Piece>) {
        self.deltas
            .extend(pieces.into_iter().map(|piece| match piece {
                Piece::Text(text) => Delta::Text { text },
                Piece::Thinking(text) => Delta::Thinking { text },
            }));
    }
}

/// Translates the reason to finish from the server's word.
pub(crate) fn finish_reason(name: Option<&str>) -> FinishReason {
    match name {
        Some("stop") | None => FinishReason::Stop,
        Some("length" | "max_tokens") => FinishReason::Length,
        Some("tool_calls" | "function_call") => FinishReason::ToolCalls,
        Some("load" | "unload") => FinishReason::Load,
        Some(_) => FinishReason::Other,
    }
}

/// Returns the arguments of a call as JSON text. Servers send an object or text.
pub(crate) fn arguments(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "{}".into(),
        serde_json::Value::String(text) if text.trim().is_empty() => "{}".into(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_json(),
    }
}
