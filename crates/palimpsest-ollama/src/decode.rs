//! The bytes of an answer, turned into deltas.

use palimpsest_core::request::{Delta, FinishReason, ModelError, Usage};

use crate::dialect::Dialect;
use crate::json;
use crate::limits::Limits;
use crate::lines::LineSplitter;
use crate::ndjson;
use crate::sse;
use crate::think::{Piece, ThinkSplitter};

/// Reads the body of a 200 answer as it arrives, in chunks of any size.
///
/// The deltas depend on the bytes alone, never on where the chunks end. After an error every further call returns the
/// same error; after the end further bytes are ignored. Anything before an error must not be kept as an answer.
///
/// ```
/// use palimpsest_ollama::{Decoder, Dialect, Limits};
/// use palimpsest_core::request::{Delta, FinishReason};
///
/// let mut decoder = Decoder::new(Dialect::Ollama, Limits::for_answer(100), "llama3.2:3b");
/// let mut deltas = decoder.push(br#"{"message":{"content":"Hel"#)?;
/// deltas.extend(decoder.push(b"lo\"}}\n{\"done\":true,\"done_reason\":\"stop\"}\n")?);
/// deltas.extend(decoder.finish()?);
/// assert_eq!(deltas, [Delta::text("Hello"), Delta::Done { reason: FinishReason::Stop }]);
/// # Ok::<(), palimpsest_core::request::ModelError>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    lines: LineSplitter,
    protocol: Protocol,
    answer: Answer,
    /// Nothing has come yet.
    empty: bool,
    failed: Option<ModelError>,
}

#[derive(Debug)]
enum Protocol {
    Lines,
    Events(sse::Events),
}

impl Decoder {
    /// For the answer of `model` to a request in this dialect.
    pub fn new(dialect: Dialect, limits: Limits, model: impl Into<String>) -> Self {
        Self {
            lines: LineSplitter::new(limits.line as usize),
            protocol: match dialect {
                Dialect::Ollama => Protocol::Lines,
                Dialect::OpenAi | Dialect::LlamaCpp => Protocol::Events(sse::Events::default()),
            },
            answer: Answer::new(limits, model.into()),
            empty: true,
            failed: None,
        }
    }

    /// The next bytes. Returns the deltas they complete. An error that comes behind deltas is returned by the next call: what
    /// arrived before it is not lost, whatever arrived together.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, ModelError> {
        self.guarded(|decoder| {
            if decoder.answer.done {
                return Ok(());
            }
            decoder.empty &= bytes.is_empty();
            let Self {
                lines,
                protocol,
                answer,
                ..
            } = decoder;
            lines.push(bytes, |line| protocol.line(line, answer))
        })
    }

    /// The stream has ended. An answer that was not complete by then is an error.
    pub fn finish(&mut self) -> Result<Vec<Delta>, ModelError> {
        self.guarded(|decoder| {
            if decoder.answer.done {
                return Ok(());
            }
            let Self {
                lines,
                protocol,
                answer,
                empty,
                ..
            } = decoder;
            lines.finish(|line| protocol.line(line, answer))?;
            if let Protocol::Events(events) = protocol {
                events.finish(answer);
            }
            if answer.done {
                Ok(())
            } else if *empty {
                Err(json::bad("it is empty"))
            } else {
                Err(ModelError::Truncated)
            }
        })
    }

    /// Whether the answer is complete: the connection may be closed.
    pub fn is_done(&self) -> bool {
        self.answer.done
    }

    fn guarded(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<(), ModelError>,
    ) -> Result<Vec<Delta>, ModelError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        match step(self) {
            Ok(()) => Ok(std::mem::take(&mut self.answer.deltas)),
            Err(error) => {
                self.failed = Some(error.clone());
                let before = std::mem::take(&mut self.answer.deltas);
                if before.is_empty() {
                    Err(error)
                } else {
                    Ok(before)
                }
            }
        }
    }
}

impl Protocol {
    /// Reads one line; false when the answer is complete.
    fn line(&mut self, line: &[u8], answer: &mut Answer) -> Result<bool, ModelError> {
        answer.receive(line)?;
        match self {
            Self::Lines => ndjson::line(line, answer)?,
            Self::Events(events) => events.line(line, answer)?,
        }
        Ok(!answer.done)
    }
}

/// What has come of an answer so far.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) model: String,
    limits: Limits,
    deltas: Vec<Delta>,
    think: ThinkSplitter,
    received: u64,
    text_bytes: u64,
    calls: usize,
    done: bool,
}

impl Answer {
    fn new(limits: Limits, model: String) -> Self {
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

    /// Counts a line against the limit of the whole answer. By lines, so that the result does not depend on chunks.
    fn receive(&mut self, line: &[u8]) -> Result<(), ModelError> {
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

    /// A complete tool call, its size already charged.
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

    /// The end, with the server's counts if it gave any.
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

    /// Gives out text that was held back because it might have been a tag.
    fn settle(&mut self) {
        let mut pieces = Vec::new();
        self.think.finish(&mut pieces);
        self.pieces(pieces);
    }

    fn pieces(&mut self, pieces: Vec<Piece>) {
        self.deltas
            .extend(pieces.into_iter().map(|piece| match piece {
                Piece::Text(text) => Delta::Text { text },
                Piece::Thinking(text) => Delta::Thinking { text },
            }));
    }
}

/// The reason as servers write it.
pub(crate) fn finish_reason(name: Option<&str>) -> FinishReason {
    match name {
        Some("stop") | None => FinishReason::Stop,
        Some("length" | "max_tokens") => FinishReason::Length,
        Some("tool_calls" | "function_call") => FinishReason::ToolCalls,
        Some("load" | "unload") => FinishReason::Load,
        Some(_) => FinishReason::Other,
    }
}

/// The arguments of a call as JSON text, whether the server gives an object or text.
pub(crate) fn arguments(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "{}".into(),
        serde_json::Value::String(text) if text.trim().is_empty() => "{}".into(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
