//! Who answers and who writes summaries.

use futures_util::stream::LocalBoxStream;
use palimpsest_core::request::{ChatRequest, Delta, ModelError};

use super::Signal;

/// The pieces of an answer as they arrive. Ends with `Delta::Done`; an error ends it early.
pub type DeltaStream<'a> = LocalBoxStream<'a, Result<Delta, ModelError>>;

/// A language model behind some server. Implemented by the Ollama and OpenAI dialects over `fetch`
/// (`palimpsest-browser`), by a host's own client in the npm package, and by the scripted model of the
/// `testing` feature.
pub trait LanguageModel {
    /// Asks. Dropping the stream or aborting the signal stops the server's work.
    fn complete(&self, request: ChatRequest, signal: Signal) -> DeltaStream<'_>;
}
