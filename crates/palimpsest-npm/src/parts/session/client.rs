//! The host's own client as the engine's model.

use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};
use futures_util::{StreamExt, stream};
use palimpsest_core::request::{ChatRequest, Delta, ModelError};
use palimpsest_engine::ports::{DeltaStream, LanguageModel, Signal};
use wasm_bindgen_futures::JsFuture;

use super::request::Asked;
use crate::border::text;
use crate::host::{Host, Reader};

/// A model that the host asks.
#[derive(Debug)]
pub(crate) struct HostModel(pub(crate) Rc<Host>);

impl LanguageModel for HostModel {
    fn complete(&self, request: ChatRequest, signal: Signal) -> DeltaStream<'_> {
        let reading = text(&Asked::from(request)).ok().map(|request| Reading {
            reader: self.0.chat(&request),
            signal,
        });
        stream::unfold(reading, |reading| async {
            let reading = reading?;
            match reading.next().await? {
                Ok(delta) => Some((Ok(delta), Some(reading))),
                // an error is the last item
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed_local()
    }
}

/// An answer that comes in. Dropping it tells the client that no more is wanted.
struct Reading {
    reader: Reader,
    signal: Signal,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.reader.stop();
    }
}

impl Reading {
    async fn next(&self) -> Option<Result<Delta, ModelError>> {
        let aborted = pin!(self.signal.aborted());
        match select(JsFuture::from(self.reader.next()), aborted).await {
            Either::Left((Ok(piece), _)) => Some(understood(&piece.as_string()?)),
            Either::Left((Err(_), _)) => Some(Err(ModelError::Truncated)),
            Either::Right(_) => Some(Err(ModelError::Aborted)),
        }
    }
}

fn understood(piece: &str) -> Result<Delta, ModelError> {
    let read: Result<Result<Delta, ModelError>, _> = palimpsest_text::json::read(piece);
    read.unwrap_or_else(|error| {
        Err(ModelError::BadResponse {
            why: format!("the client gave something that is no piece of an answer: {error}"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I10: pieces, errors with their numbers, and nonsense.
    #[test]
    fn pieces_are_read() {
        let check = |piece: &str, expected: Result<Delta, &str>| {
            let got = understood(piece);
            assert_eq!(
                got.as_ref().map_err(ModelError::code),
                expected.as_ref().map_err(|e| *e),
                "{piece}"
            );
        };
        check(
            r#"{"Ok":{"type":"text","text":"Hi"}}"#,
            Ok(Delta::text("Hi")),
        );
        check(
            r#"{"Err":{"kind":"overflow","prompt":9,"window":8}}"#,
            Err("overflow"),
        );
        check(r#"{"Err":{"kind":"busy"}}"#, Err("busy"));
        check(r#"{"Ok":{"type":"song"}}"#, Err("bad_response"));
        check("", Err("bad_response"));
    }
}
