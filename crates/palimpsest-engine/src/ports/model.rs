//! The port for models, which write replies and summaries.

use futures_util::stream::LocalBoxStream;
use palimpsest_core::request::{ChatRequest, Delta, ModelError};

use super::Signal;

/// The pieces of an answer as they arrive. Ends with `Delta::Done`; an error ends it early.
pub type DeltaStream<'a> = LocalBoxStream<'a, Result<Delta, ModelError>>;

/// A language model behind a server. The implementations are the Ollama and OpenAI dialects over `fetch`
/// (`palimpsest-browser`), a host's own client in the npm package, and the scripted model of the `testing` feature.
pub trait LanguageModel {
    /// Sends a request. Dropping the stream or aborting the signal stops the server's work.
    fn complete(&self, request: ChatRequest, signal: Signal) -> DeltaStream<'_>;
}
