//! Reaches model servers over `fetch`, in a page, in a worker and in Node.

use std::pin::pin;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream;
use js_sys::{Promise, Uint8Array};
use palimpsest_core::request::ModelError;
use palimpsest_engine::ports::{LocalFuture, Signal};
use palimpsest_ollama::HttpRequest;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AbortController, Headers, ReadableStreamDefaultReader, ReferrerPolicy, RequestCache,
    RequestCredentials, RequestInit, RequestRedirect, Response,
};

use crate::global::{exception, property};
use crate::timer::{Sleep, sleep};
use crate::transport::{Answer, ByteStream, Transport};

#[wasm_bindgen]
extern "C" {
    // Binds `fetch` of the global object, so that the same code works in a page, in a worker and in Node.
    #[wasm_bindgen(catch, js_name = fetch)]
    pub(crate) fn fetch(url: &str, init: &RequestInit) -> Result<Promise, JsValue>;
}

/// The limits on time and size of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Milliseconds until the head of the answer, and until each of the first pieces of the body. A large model on a slow
    /// disk that reads a long prompt without a graphics card needs minutes, and some servers send the head and an empty
    /// first event before that.
    pub first_byte_ms: u32,
    /// Milliseconds between two later pieces of the body.
    pub idle_ms: u32,
    /// Milliseconds for the whole request.
    pub whole_ms: u32,
    /// The largest body in bytes.
    pub bytes: u32,
}

/// The pieces of a body that may come before the model has read its prompt, and the first one after that.
const FIRST_PIECES: u32 = 2;

impl Patience {
    /// The limits for an answer that a model writes.
    pub const MODEL: Self = Self {
        first_byte_ms: 600_000,
        idle_ms: 120_000,
        whole_ms: 3_600_000,
        bytes: 64 << 20,
    };

    /// The limits for the download of a model, which may take a night; at its end the server is silent while it reads
    /// everything once more.
    pub const DOWNLOAD: Self = Self {
        first_byte_ms: 600_000,
        idle_ms: 600_000,
        whole_ms: u32::MAX,
        bytes: 1 << 30,
    };

    /// The limits for a question that a server answers at once.
    pub const SERVER: Self = Self {
        first_byte_ms: 15_000,
        idle_ms: 15_000,
        whole_ms: 120_000,
        bytes: 64 << 20,
    };
}

/// A transport to the server at one address. It sends neither cookies nor the page's address, follows no redirect (a
/// redirect could send the conversation to another server), and leaves nothing in the browser's cache.
#[derive(Debug, Clone)]
pub struct FetchTransport {
    server: String,
    key: Option<String>,
    patience: Patience,
}

impl FetchTransport {
    /// Creates a transport to the server at `address`, such as `http://localhost:11434`.
    ///
    /// # Errors
    ///
    /// [`ModelError::BadRequest`] if `address` is not an http or https address.
    pub fn new(address: &str) -> Result<Self, ModelError> {
        let server = address.trim().trim_end_matches('/');
        let is_web = ["http://", "https://"].iter().any(|scheme| {
            server
                .get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        if !is_web {
            return Err(ModelError::BadRequest {
                message: format!("\"{address}\" is not an address like http://localhost:11434"),
            });
        }
        Ok(Self {
            server: server.to_owned(),
            key: None,
            patience: Patience::MODEL,
        })
    }

    /// Sends `Authorization: Bearer …` with this key, unless it is empty.
    #[must_use]
    pub fn with_key(mut self, key: &str) -> Self {
        let key = key.trim();
        self.key = (!key.is_empty()).then(|| key.to_owned());
        self
    }

    /// Uses these limits instead of [`Patience::MODEL`].
    #[must_use]
    pub const fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// The server's address, without a path.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Posts a JSON text with these headers besides, and returns the answer with its headers: those that the server lets a
    /// page read.
    ///
    /// # Errors
    ///
    /// As [`Transport::send`].
    pub async fn post(
        &self,
        json: String,
        besides: &[(&str, &str)],
        signal: Signal,
    ) -> Result<(Answer, Headers), ModelError> {
        let request = HttpRequest {
            method: "POST",
            path: String::new(),
            body: json.into_bytes(),
        };
        self.ask(request, besides, signal).await
    }

    fn init(
        &self,
        request: &HttpRequest,
        besides: &[(&str, &str)],
        controller: &AbortController,
    ) -> Result<RequestInit, JsValue> {
        let headers = Headers::new()?;
        for (name, value) in besides {
            headers.set(name, value)?;
        }
        if let Some(key) = &self.key {
            headers.set("authorization", &format!("Bearer {key}"))?;
        }
        let init = RequestInit::new();
        init.set_method(request.method);
        if request.method != "GET" {
            headers.set("content-type", "application/json")?;
            // The body is a copy of the bytes: a view of wasm memory would become invalid when the memory grows.
            init.set_body(&Uint8Array::from(request.body.as_slice()));
        }
        init.set_headers(&headers);
        init.set_redirect(RequestRedirect::Error);
        init.set_credentials(RequestCredentials::Omit);
        init.set_cache(RequestCache::NoStore);
        init.set_referrer_policy(ReferrerPolicy::NoReferrer);
        init.set_signal(Some(&controller.signal()));
        Ok(init)
    }

    async fn ask(
        &self,
        request: HttpRequest,
        besides: &[(&str, &str)],
        signal: Signal,
    ) -> Result<(Answer, Headers), ModelError> {
        if signal.is_aborted() {
            return Err(ModelError::Aborted);
        }
        let unreachable = |thrown: JsValue| ModelError::Unreachable {
            why: words(&thrown),
        };
        let connection = Connection(AbortController::new().map_err(unreachable)?);
        let bad = |thrown: JsValue| ModelError::BadRequest {
            message: words(&thrown),
        };
        let init = self.init(&request, besides, &connection.0).map_err(bad)?;
        let url = format!("{}{}", self.server, request.path);
        let patience = self.patience;
        let deadline = sleep(patience.whole_ms);
        let promise = fetch(&url, &init).map_err(unreachable)?;
        let response = within(JsFuture::from(promise), &signal, patience.first_byte_ms).await?;
        let response: Response = response.map_err(unreachable)?.unchecked_into();
        let headers = response.headers();
        let retry_after = headers.get("retry-after").ok().flatten();
        let body = match response.body() {
            Some(body) => {
                let reader = body.get_reader().unchecked_into();
                Reading {
                    reader,
                    _connection: connection,
                    signal,
                    patience,
                    pieces: 0,
                    received: 0,
                    deadline,
                }
                .stream()
            }
            None => stream::empty().boxed_local(),
        };
        let answer = Answer {
            status: response.status(),
            retry_after,
            body,
        };
        Ok((answer, headers))
    }
}

impl Transport for FetchTransport {
    fn send(
        &self,
        request: HttpRequest,
        signal: Signal,
    ) -> LocalFuture<'_, Result<Answer, ModelError>> {
        Box::pin(async move { Ok(self.ask(request, &[], signal).await?.0) })
    }
}

/// Aborts the request when it is dropped. This has no effect on a complete request.
struct Connection(AbortController);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Reading {
    reader: ReadableStreamDefaultReader,
    _connection: Connection,
    signal: Signal,
    patience: Patience,
    pieces: u32,
    received: usize,
    deadline: Sleep,
}

impl Reading {
    fn stream(self) -> ByteStream {
        stream::unfold(Some(self), |reading| async {
            let mut reading = reading?;
            match reading.next().await {
                Ok(Some(chunk)) => Some((Ok(chunk), Some(reading))),
                Ok(None) => None,
                // An error is the last item. The connection closes here.
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed_local()
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, ModelError> {
        let Self {
            reader,
            signal,
            patience,
            pieces,
            received,
            deadline,
            ..
        } = self;
        let silence = if *pieces < FIRST_PIECES {
            patience.first_byte_ms
        } else {
            patience.idle_ms
        };
        *pieces = pieces.saturating_add(1);
        let read = within(JsFuture::from(reader.read()), signal, silence);
        let piece = match select(pin!(read), deadline).await {
            Either::Left((piece, _)) => piece?,
            Either::Right(_) => return Err(timed_out(patience.whole_ms)),
        };
        let piece = piece.map_err(|thrown| ModelError::Unreachable {
            why: format!("the connection broke: {}", words(&thrown)),
        })?;
        let is_end = property(&piece, "done").is_none_or(|done| done.is_truthy());
        let Some(value) = property(&piece, "value").filter(|_| !is_end) else {
            return Ok(None);
        };
        let chunk = value.unchecked_into::<Uint8Array>().to_vec();
        *received += chunk.len();
        if *received > patience.bytes as usize {
            return Err(ModelError::TooLong {
                what: "the answer".into(),
                limit: patience.bytes,
            });
        }
        Ok(Some(chunk))
    }
}

/// Waits for `future`, at most until the signal and at most `ms` milliseconds.
async fn within<F: Future>(future: F, signal: &Signal, ms: u32) -> Result<F::Output, ModelError> {
    let aborted = pin!(signal.aborted());
    let stop = select(aborted, sleep(ms));
    match select(pin!(future), stop).await {
        Either::Left((output, _)) => Ok(output),
        Either::Right((Either::Left(_), _)) => Err(ModelError::Aborted),
        Either::Right((Either::Right(_), _)) => Err(timed_out(ms)),
    }
}

const fn timed_out(ms: u32) -> ModelError {
    ModelError::TimedOut {
        seconds: ms.div_ceil(1000),
    }
}

/// The browser's message about a failed `fetch`. It never says more than "failed".
fn words(thrown: &JsValue) -> String {
    let (name, message) = exception(thrown);
    if message.is_empty() { name } else { message }
}
