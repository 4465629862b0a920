//! The way of a request to a model server.

use futures_util::StreamExt;
use futures_util::stream::LocalBoxStream;
use palimpsest_core::request::ModelError;
use palimpsest_engine::ports::{LocalFuture, Signal};
use palimpsest_ollama::HttpRequest;

/// The body of an answer while it arrives. An error ends it.
pub type ByteStream = LocalBoxStream<'static, Result<Vec<u8>, ModelError>>;

/// An answer whose head has arrived. Dropping it ends the connection.
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The `Retry-After` header, if the server lets a page read it.
    pub retry_after: Option<String>,
    /// The body.
    pub body: ByteStream,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// Sends a request and returns a stream of bytes. `fetch` implements it; a host that must not fetch itself (a VS Code
/// webview) provides its own.
pub trait Transport {
    /// Sends a request.
    ///
    /// # Errors
    ///
    /// Only errors of the connection: [`ModelError::Unreachable`], [`ModelError::TimedOut`], [`ModelError::Aborted`],
    /// [`ModelError::TooLong`]. The transport does not interpret the status.
    fn send(
        &self,
        request: HttpRequest,
        signal: Signal,
    ) -> LocalFuture<'_, Result<Answer, ModelError>>;
}

impl<T: Transport + ?Sized> Transport for std::rc::Rc<T> {
    fn send(
        &self,
        request: HttpRequest,
        signal: Signal,
    ) -> LocalFuture<'_, Result<Answer, ModelError>> {
        (**self).send(request, signal)
    }
}

/// Returns the whole body, or its first `limit` bytes.
pub async fn beginning(mut body: ByteStream, limit: usize) -> Result<Vec<u8>, ModelError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await {
        bytes.extend(chunk?);
        if bytes.len() >= limit {
            bytes.truncate(limit);
            break;
        }
    }
    Ok(bytes)
}

/// Returns the whole body, or [`ModelError::TooLong`] past `limit` bytes.
pub async fn whole(mut body: ByteStream, limit: u32) -> Result<Vec<u8>, ModelError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await {
        bytes.extend(chunk?);
        if bytes.len() > limit as usize {
            return Err(ModelError::TooLong {
                what: "the answer".into(),
                limit,
            });
        }
    }
    Ok(bytes)
}
