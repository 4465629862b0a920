//! The smallest HTTP client that can feed a decoder: one request per connection, over a plain socket.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use palimpsest_core::request::{ChatRequest, Delta, ModelError};
use palimpsest_ollama::{Decoder, Dialect, HttpRequest, Limits, Refusal, encode};

/// The longest silence of a server.
const IDLE: Duration = Duration::from_mins(2);

/// An answer whose body is read as it arrives.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    stream: TcpStream,
    /// Bytes that were read but not yet returned.
    buffer: Vec<u8>,
    framing: Framing,
}

enum Framing {
    Chunked,
    Length(usize),
    UntilClose,
    Ended,
}

#[allow(clippy::needless_pass_by_value, reason = "reads better in map_err")]
fn unreachable(why: impl ToString) -> ModelError {
    ModelError::Unreachable {
        why: why.to_string(),
    }
}

/// Sends a request to `http://127.0.0.1:PORT`.
pub(crate) fn send(server: &str, request: &HttpRequest) -> Result<Answer, ModelError> {
    let host = server.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).map_err(unreachable)?;
    stream.set_read_timeout(Some(IDLE)).map_err(unreachable)?;
    let head = format!(
        "{} {} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        request.method,
        request.path,
        request.body.len()
    );
    stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&request.body))
        .map_err(unreachable)?;
    let mut answer = Answer {
        status: 0,
        headers: Vec::new(),
        stream,
        buffer: Vec::new(),
        framing: Framing::UntilClose,
    };
    answer.read_head()?;
    Ok(answer)
}

impl Answer {
    fn read_head(&mut self) -> Result<(), ModelError> {
        const LONGEST_HEAD: usize = 64 * 1024;
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                break at;
            }
            if self.buffer.len() > LONGEST_HEAD {
                return Err(ModelError::TooLong {
                    what: "the head".into(),
                    limit: LONGEST_HEAD as u32,
                });
            }
            if !self.fill()? {
                return Err(unreachable("closed before an answer"));
            }
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end + 4);
        let mut lines = head.split("\r\n");
        self.status = lines
            .next()
            .and_then(|l| l.split(' ').nth(1))
            .and_then(|s| s.parse().ok())
            .unwrap_or(0);
        self.headers = lines
            .filter_map(|l| l.split_once(": "))
            .map(|(n, v)| (n.to_ascii_lowercase(), v.to_owned()))
            .collect();
        self.framing = if self.header("transfer-encoding") == Some("chunked") {
            Framing::Chunked
        } else if let Some(length) = self.header("content-length").and_then(|v| v.parse().ok()) {
            Framing::Length(length)
        } else {
            Framing::UntilClose
        };
        Ok(())
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    /// Reads more from the socket. Returns `false` at its end.
    fn fill(&mut self) -> Result<bool, ModelError> {
        let mut block = [0; 16 * 1024];
        let n = self.stream.read(&mut block).map_err(unreachable)?;
        self.buffer.extend_from_slice(&block[..n]);
        Ok(n > 0)
    }

    /// Returns the next bytes of the body, or `None` at its end. A body that breaks off is an error.
    pub(crate) fn chunk(&mut self) -> Result<Option<Vec<u8>>, ModelError> {
        loop {
            match self.framing {
                Framing::Ended => return Ok(None),
                Framing::UntilClose | Framing::Length(_) if !self.buffer.is_empty() => {
                    let bytes = std::mem::take(&mut self.buffer);
                    if let Framing::Length(left) = &mut self.framing {
                        *left = left.saturating_sub(bytes.len());
                    }
                    return Ok(Some(bytes));
                }
                Framing::Length(0) => self.framing = Framing::Ended,
                Framing::Chunked => {
                    if let Some(at) = self.buffer.windows(2).position(|w| w == b"\r\n") {
                        let size = std::str::from_utf8(&self.buffer[..at])
                            .ok()
                            .and_then(|s| usize::from_str_radix(s, 16).ok());
                        let size = size.ok_or_else(|| unreachable("a broken chunk"))?;
                        if self.buffer.len() >= at + 2 + size + 2 {
                            let bytes = self.buffer[at + 2..at + 2 + size].to_vec();
                            self.buffer.drain(..at + 2 + size + 2);
                            if size == 0 {
                                self.framing = Framing::Ended;
                            } else {
                                return Ok(Some(bytes));
                            }
                            continue;
                        }
                    }
                    if !self.fill()? {
                        return Err(unreachable("broke off"));
                    }
                }
                Framing::UntilClose => {
                    if !self.fill()? {
                        self.framing = Framing::Ended;
                    }
                }
                Framing::Length(_) => {
                    if !self.fill()? {
                        return Err(unreachable("broke off"));
                    }
                }
            }
        }
    }

    /// Returns the whole body, up to `limit` bytes.
    pub(crate) fn body(&mut self, limit: usize) -> Result<Vec<u8>, ModelError> {
        let mut out = Vec::new();
        while let Some(bytes) = self.chunk()? {
            out.extend(bytes);
            if out.len() >= limit {
                break;
            }
        }
        Ok(out)
    }
}

/// Does a whole exchange with the codec, like a transport in a browser.
pub(crate) fn complete(
    server: &str,
    dialect: Dialect,
    request: &ChatRequest,
) -> Result<Vec<Delta>, ModelError> {
    let mut answer = send(server, &encode(dialect, request))?;
    if answer.status != 200 {
        let retry_after = answer.header("retry-after").map(str::to_owned);
        let body = answer.body(64 * 1024)?;
        return Err(Refusal {
            status: answer.status,
            retry_after: retry_after.as_deref(),
            body: &body,
        }
        .meaning(&request.model));
    }
    let mut decoder = Decoder::new(dialect, Limits::from(request), request.model.as_str());
    let mut deltas = Vec::new();
    while let Some(bytes) = answer.chunk()? {
        deltas.extend(decoder.push(&bytes)?);
        if decoder.is_done() {
            return Ok(deltas); // and the socket is closed, whatever the server still wants to say
        }
    }
    deltas.extend(decoder.finish()?);
    Ok(deltas)
}

/// The text of an answer.
pub(crate) fn text(deltas: &[Delta]) -> String {
    deltas
        .iter()
        .filter_map(|d| {
            if let Delta::Text { text } = d {
                Some(text.as_str())
            } else {
                None
            }
        })
        .collect()
}
