//! Puts a host's own way to a model server behind [`Transport`]. A page uses it if it must not fetch itself, such as a
//! webview of an editor whose models run on another machine.

use std::pin::pin;

use futures_util::future::{Either, select};
use futures_util::{StreamExt, stream};
use js_sys::{Promise, Uint8Array};
use palimpsest_core::request::ModelError;
use palimpsest_engine::ports::{LocalFuture, Signal};
use palimpsest_ollama::HttpRequest;
use serde::Deserialize;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::transport::{Answer, ByteStream, Transport};

#[wasm_bindgen]
extern "C" {
    /// A JavaScript object with the function `request`. None of its functions throws, and none of its promises rejects.
    #[derive(Debug, Clone)]
    pub type TransportHost;

    /// Starts a request. `path` begins with a slash; `body` is text, empty for `GET`.
    #[wasm_bindgen(method)]
    fn request(this: &TransportHost, method: &str, path: &str, body: &str) -> Exchange;

    /// A request and its answer while it arrives.
    #[derive(Debug)]
    pub type Exchange;

    /// The head of the answer: JSON text of `{ "Ok": { status, retryAfter? } }` or `{ "Err": error }`.
    #[wasm_bindgen(method)]
    fn head(this: &Exchange) -> Promise;

    /// Returns the next bytes of the body, or the JSON text of an error as the last item, or nothing at the end.
    #[wasm_bindgen(method)]
    fn next(this: &Exchange) -> Promise;

    /// Tells the host that the page needs no more of the answer.
    #[wasm_bindgen(method)]
    fn stop(this: &Exchange);
}

/// A server that the host contacts. The host decides about time-outs; the signal ends the waiting here.
#[derive(Debug, Clone)]
pub struct HostTransport(TransportHost);

impl HostTransport {
    /// Creates a transport over `host`.
    pub const fn new(host: TransportHost) -> Self {
        Self(host)
    }
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    status: u16,
    #[serde(default)]
    retry_after: Option<String>,
}

impl Transport for HostTransport {
    fn send(
        &self,
        request: HttpRequest,
        signal: Signal,
    ) -> LocalFuture<'_, Result<Answer, ModelError>> {
        Box::pin(async move {
            if signal.is_aborted() {
                return Err(ModelError::Aborted);
            }
            let body = String::from_utf8_lossy(&request.body);
            let exchange = self.0.request(request.method, &request.path, &body);
            let reading = Reading { exchange, signal };
            let head = reading.wait(reading.exchange.head()).await?;
            let head: Head = understood(head.as_string().as_deref())?;
            Ok(Answer {
                status: head.status,
                retry_after: head.retry_after,
                body: reading.stream(),
            })
        })
    }
}

/// An answer in the middle of arriving. Dropping it tells the host that the page needs no more.
struct Reading {
    exchange: Exchange,
    signal: Signal,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.exchange.stop();
    }
}

impl Reading {
    async fn wait(&self, promise: Promise) -> Result<JsValue, ModelError> {
        let aborted = pin!(self.signal.aborted());
        match select(JsFuture::from(promise), aborted).await {
            Either::Left((Ok(value), _)) => Ok(value),
            Either::Left((Err(_), _)) => Err(ModelError::Truncated),
            Either::Right(_) => Err(ModelError::Aborted),
        }
    }

    fn stream(self) -> ByteStream {
        stream::unfold(Some(self), |reading| async {
            let reading = reading?;
            match reading.next().await {
                Ok(Some(bytes)) => Some((Ok(bytes), Some(reading))),
                Ok(None) => None,
                // An error is the last item.
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed_local()
    }

    async fn next(&self) -> Result<Option<Vec<u8>>, ModelError> {
        let piece = self.wait(self.exchange.next()).await?;
        if piece.is_undefined() || piece.is_null() {
            return Ok(None);
        }
        if let Some(bytes) = piece.dyn_ref::<Uint8Array>() {
            return Ok(Some(bytes.to_vec()));
        }
        let never: Head = understood(piece.as_string().as_deref())?;
        Err(nonsense(&format!("a second head, {}", never.status)))
    }
}

fn understood(text: Option<&str>) -> Result<Head, ModelError> {
    let text = text.ok_or_else(|| nonsense("no text"))?;
    let read: Result<Result<Head, ModelError>, _> = palimpsest_text::json::read(text);
    read.unwrap_or_else(|error| Err(nonsense(&error.to_string())))
}

fn nonsense(why: &str) -> ModelError {
    ModelError::BadResponse {
        why: format!("the host's transport gave something else than an answer: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I10: the head is read as a status or as an error of the transport, and nonsense is an error.
    #[test]
    fn heads_are_read() {
        let check = |text: Option<&str>, expected: Result<(u16, Option<&str>), &str>| {
            let got = understood(text);
            let got = got
                .as_ref()
                .map(|head| (head.status, head.retry_after.as_deref()));
            assert_eq!(got.map_err(ModelError::code), expected, "{text:?}");
        };
        check(Some(r#"{"Ok":{"status":200}}"#), Ok((200, None)));
        check(
            Some(r#"{"Ok":{"status":503,"retryAfter":"2"}}"#),
            Ok((503, Some("2"))),
        );
        check(
            Some(r#"{"Err":{"kind":"unreachable","why":"nobody"}}"#),
            Err("unreachable"),
        );
        check(Some(r#"{"Err":{"kind":"forbidden"}}"#), Err("forbidden"));
        check(Some(r#"{"Ok":{"status":"200"}}"#), Err("bad_response"));
        check(Some("oops"), Err("bad_response"));
        check(None, Err("bad_response"));
    }
}
