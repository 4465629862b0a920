//! Limits on the size of an answer.

use palimpsest_core::request::ChatRequest;

/// Bounds of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one line.
    pub line: u32,
    /// Bytes of the whole answer on the wire.
    pub response: u32,
    /// Bytes of text, reasoning and tool arguments together.
    pub text: u32,
}

const LINE: u32 = 1 << 20;
const RESPONSE: u32 = 8 << 20;
const BYTES_PER_TOKEN: u32 = 4;
const TIMES_BUDGET: u32 = 4;
const LEAST_TEXT: u32 = 4096;

impl Limits {
    /// The limits for an answer of at most `tokens` tokens: lines of 1 MB, 8 MB in all, and four times the requested
    /// text, at four bytes per token.
    pub fn for_answer(tokens: u32) -> Self {
        let text = tokens
            .saturating_mul(BYTES_PER_TOKEN * TIMES_BUDGET)
            .clamp(LEAST_TEXT, RESPONSE);
        Self {
            line: LINE,
            response: RESPONSE,
            text,
        }
    }
}

impl From<&ChatRequest> for Limits {
    fn from(request: &ChatRequest) -> Self {
        Self::for_answer(request.options.num_predict)
    }
}
