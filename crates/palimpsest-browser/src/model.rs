//! A language model behind a server: a codec and a transport together.

use std::collections::VecDeque;

use futures_util::{StreamExt, stream};
use palimpsest_core::request::{ChatRequest, Delta, ModelError};
use palimpsest_engine::ports::{DeltaStream, LanguageModel, Signal};
use palimpsest_ollama::{Decoder, Dialect, HttpRequest, Limits, Refusal, encode};

use crate::transport::{ByteStream, Transport, beginning};

/// The number of bytes of a refusal that are read.
const REFUSAL_BYTES: usize = 64 << 10;

/// A model on a server that speaks `dialect`.
#[derive(Debug, Clone)]
pub struct ServerModel<T> {
    transport: T,
    dialect: Dialect,
}

impl<T: Transport> ServerModel<T> {
    /// Creates the models behind `transport`. Each request names its model.
    pub const fn new(dialect: Dialect, transport: T) -> Self {
        Self { transport, dialect }
    }

    /// The dialect of the server.
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The transport, for requests about models.
    pub const fn transport(&self) -> &T {
        &self.transport
    }

    async fn ask(
        &self,
        request: HttpRequest,
        reader: Decoder,
        model: &str,
        signal: Signal,
    ) -> Result<Reading, ModelError> {
        let answer = self.transport.send(request, signal).await?;
        if answer.status != 200 {
            // The server's message may be cut off; the status is enough then.
            let body = beginning(answer.body, REFUSAL_BYTES)
                .await
                .unwrap_or_default();
            let retry_after = answer.retry_after.as_deref();
            return Err(Refusal {
                status: answer.status,
                retry_after,
                body: &body,
            }
            .meaning(model));
        }
        Ok(Reading {
            body: answer.body,
            decoder: reader,
            ready: VecDeque::new(),
        })
    }
}

impl<T: Transport> LanguageModel for ServerModel<T> {
    fn complete(&self, request: ChatRequest, signal: Signal) -> DeltaStream<'_> {
        let decoder = Decoder::new(self.dialect, Limits::from(&request), request.model.as_str());
        let http = encode(self.dialect, &request);
        let begin = async move { self.ask(http, decoder, &request.model, signal).await };
        stream::once(begin)
            .flat_map(|reading| match reading {
                Ok(reading) => reading.deltas(),
                Err(error) => stream::iter([Err(error)]).boxed_local(),
            })
            .boxed_local()
    }
}

/// An answer in the middle of being read.
struct Reading {
    body: ByteStream,
    decoder: Decoder,
    ready: VecDeque<Delta>,
}

impl Reading {
    fn deltas(self) -> DeltaStream<'static> {
        stream::unfold(Some(self), |reading| async {
            let mut reading = reading?;
            match reading.next().await {
                Ok(Some(delta)) => Some((Ok(delta), Some(reading))),
                // The connection closes here, even if the server would continue.
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed_local()
    }

    async fn next(&mut self) -> Result<Option<Delta>, ModelError> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Ok(Some(delta));
            }
            if self.decoder.is_done() {
                return Ok(None);
            }
            // An error that arrived together with deltas is reported now, even if the connection stays open.
            self.ready.extend(self.decoder.push(&[])?);
            if let Some(chunk) = self.body.next().await {
                self.ready.extend(self.decoder.push(&chunk?)?);
                continue;
            }
            self.ready.extend(self.decoder.finish()?);
            if self.ready.is_empty() {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use std::cell::RefCell;

    use futures_executor::block_on;
    use palimpsest_core::message::Role;
    use palimpsest_core::request::{FinishReason, Purpose, RequestMessage, RequestOptions};
    use palimpsest_engine::ports::LocalFuture;

    use super::*;
    use crate::transport::Answer;

    /// A server that gives one answer, in pieces of a given size.
    struct Scripted {
        status: u16,
        retry_after: Option<&'static str>,
        body: &'static str,
        piece: usize,
        /// The error with which the connection ends.
        end: Option<ModelError>,
        asked: RefCell<Vec<HttpRequest>>,
    }

    impl Scripted {
        fn new(status: u16, body: &'static str) -> Self {
            Self {
                status,
                retry_after: None,
                body,
                piece: 7,
                end: None,
                asked: RefCell::default(),
            }
        }
    }

    impl Transport for Scripted {
        fn send(
            &self,
            request: HttpRequest,
            _: Signal,
        ) -> LocalFuture<'_, Result<Answer, ModelError>> {
            self.asked.borrow_mut().push(request);
            let pieces: Vec<_> = self
                .body
                .as_bytes()
                .chunks(self.piece)
                .map(|piece| Ok(piece.to_vec()))
                .collect();
            let body =
                stream::iter(pieces.into_iter().chain(self.end.clone().map(Err))).boxed_local();
            let retry_after = self.retry_after.map(str::to_owned);
            Box::pin(std::future::ready(Ok(Answer {
                status: self.status,
                retry_after,
                body,
            })))
        }
    }

    fn answer(dialect: Dialect, transport: Scripted) -> Vec<Result<Delta, ModelError>> {
        let model = ServerModel::new(dialect, transport);
        let request = ChatRequest {
            model: "m".into(),
            messages: vec![RequestMessage::text(Role::User, "hi")],
            tools: vec![],
            options: RequestOptions::new(8192, 100),
            purpose: Purpose::Chat,
        };
        block_on(model.complete(request, Signal::never()).collect())
    }

    const OLLAMA: &str = "{\"message\":{\"content\":\"Grüß\"},\"done\":false}\n{\"message\":{\"content\":\"e\"},\"done\":true,\"done_reason\":\"stop\"}\n";

    /// F 73: whole answers of both protocols arrive at every size of pieces, and nothing after the end is read.
    #[test]
    fn an_answer_becomes_deltas() {
        let done = Ok(Delta::Done {
            reason: FinishReason::Stop,
        });
        for piece in 1..=OLLAMA.len() {
            let transport = Scripted {
                piece,
                ..Scripted::new(200, OLLAMA)
            };
            let deltas = answer(Dialect::Ollama, transport);
            assert_eq!(
                deltas,
                [Ok(Delta::text("Grüß")), Ok(Delta::text("e")), done.clone()],
                "pieces of {piece}"
            );
        }
        let events = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        assert_eq!(
            answer(Dialect::OpenAi, Scripted::new(200, events)),
            [Ok(Delta::text("a")), done.clone()]
        );
        let late = Scripted {
            piece: OLLAMA.len(),
            end: Some(ModelError::Truncated),
            ..Scripted::new(200, OLLAMA)
        };
        assert_eq!(answer(Dialect::Ollama, late).last(), Some(&done));
    }

    /// F 76, F 77, F79: an answer that is not whole ends with one error, the last item.
    #[test]
    fn failures_are_the_last_item() {
        let check = |transport: Scripted, before: usize, expected: ModelError| {
            let deltas = answer(Dialect::Ollama, transport);
            assert_eq!(
                (deltas.len(), deltas.last()),
                (before + 1, Some(&Err(expected)))
            );
        };
        let half = OLLAMA.split_inclusive('\n').next().unwrap_or_default();
        check(Scripted::new(200, half), 1, ModelError::Truncated);
        let broken = ModelError::Unreachable {
            why: "broke".into(),
        };
        check(
            Scripted {
                end: Some(broken.clone()),
                ..Scripted::new(200, half)
            },
            1,
            broken,
        );
        check(Scripted::new(403, ""), 0, ModelError::Forbidden);
        let busy = Scripted {
            retry_after: Some("2"),
            ..Scripted::new(503, "{\"error\":\"busy\"}")
        };
        check(
            busy,
            0,
            ModelError::Busy {
                retry_after_ms: Some(2000),
            },
        );
        let missing = "{\"error\":\"model 'm' not found\"}";
        check(
            Scripted::new(404, missing),
            0,
            ModelError::ModelMissing { model: "m".into() },
        );
        let unreadable = Scripted {
            end: Some(ModelError::Truncated),
            ..Scripted::new(401, "{")
        };
        check(unreadable, 0, ModelError::Unauthorized);
    }

    /// B9: the request goes to the protocol's path and carries the window.
    #[test]
    fn the_request_is_the_protocols() {
        let model = ServerModel::new(Dialect::Ollama, Scripted::new(200, OLLAMA));
        let request = ChatRequest {
            model: "m".into(),
            messages: vec![RequestMessage::text(Role::User, "hi")],
            tools: vec![],
            options: RequestOptions::new(8192, 100),
            purpose: Purpose::Chat,
        };
        let _: Vec<_> = block_on(model.complete(request, Signal::never()).collect());
        let asked = model.transport().asked.borrow();
        let [request] = asked.as_slice() else {
            panic!("{asked:?}")
        };
        assert_eq!(
            (request.method, request.path.as_str()),
            ("POST", "/api/chat")
        );
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(
            (&body["options"]["num_ctx"], &body["truncate"]),
            (&8192.into(), &false.into())
        );
    }
}
