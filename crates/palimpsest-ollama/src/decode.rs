//! The bytes of an answer, turned into deltas.

use palimpsest_core::request::{Delta, ModelError};

use crate::answer::Answer;
use crate::dialect::Dialect;
use crate::json;
use crate::limits::Limits;
use crate::lines::LineSplitter;
use crate::ndjson;
use crate::sse;

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
    /// No byte has arrived yet.
    empty: bool,
    failed: Option<ModelError>,
}

#[derive(Debug)]
enum Protocol {
    Lines,
    Events(sse::Events),
}

impl Decoder {
    /// Creates a decoder for the answer of `model` to a request in this dialect.
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

    /// Reads the next bytes and returns the deltas that they complete. If an error follows complete deltas, this call
    /// returns the deltas and the next call the error, so the result does not depend on chunks.
    ///
    /// # Errors
    ///
    /// [`ModelError`] for a broken or oversized answer, or for an error that the server sent inside of the answer.
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

    /// Ends the stream.
    ///
    /// # Errors
    ///
    /// [`ModelError`] if the answer is not complete.
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

    /// Returns `true` if the answer is complete. The caller may close the connection.
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
    /// Reads one line. Returns `false` when the answer is complete.
    fn line(&mut self, line: &[u8], answer: &mut Answer) -> Result<bool, ModelError> {
        answer.receive(line)?;
        match self {
            Self::Lines => ndjson::line(line, answer)?,
            Self::Events(events) => events.line(line, answer)?,
        }
        Ok(!answer.done)
    }
}
