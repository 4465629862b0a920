//! The part of HTTP/1.1 that a static site on loopback needs: GET and HEAD, and connections that stay open.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The largest accepted head of a request, in bytes.
const HEAD_LIMIT: u64 = 32 * 1024;

/// The parts of a request that a static site needs.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    method: String,
    /// Decoded, without query.
    pub(crate) path: String,
    /// A browser asks for a page to show.
    pub(crate) wants_page: bool,
    encodings: Vec<String>,
    /// The `ETag`s of the browser's copies.
    tags: Vec<String>,
    keep_alive: bool,
}

impl Request {
    /// Reads the text from the request line to the empty line.
    pub(crate) fn parse(head: &str) -> Option<Self> {
        let mut lines = head.lines();
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        let mut request = Self {
            method: method.to_owned(),
            path: decode(target.split(['?', '#']).next()?)?,
            wants_page: false,
            encodings: Vec::new(),
            tags: Vec::new(),
            keep_alive: version == "HTTP/1.1",
        };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim().to_ascii_lowercase();
            match name.to_ascii_lowercase().as_str() {
                "accept" => request.wants_page = value.contains("text/html"),
                "accept-encoding" => request.encodings = accepted(&value),
                "if-none-match" => {
                    request.tags = value.split(',').map(|tag| tag.trim().to_owned()).collect();
                }
                "connection" => request.keep_alive &= value != "close",
                _ => {}
            }
        }
        Some(request)
    }

    /// The same request for another path.
    pub(crate) fn at(&self, path: &str) -> Self {
        Self {
            path: path.to_owned(),
            ..self.clone()
        }
    }

    /// Returns `true` if the browser has a copy with this `ETag`.
    pub(crate) fn has(&self, tag: &str) -> bool {
        self.tags.iter().any(|known| known == tag)
    }

    pub(crate) fn accepts(&self, coding: &str) -> bool {
        self.encodings.iter().any(|accepted| accepted == coding)
    }
}

/// The content codings of an `Accept-Encoding` that are not refused with a weight of zero.
fn accepted(value: &str) -> Vec<String> {
    value
        .split(',')
        .filter_map(|entry| {
            let mut parts = entry.split(';').map(str::trim);
            let coding = parts.next()?;
            let refused = parts.any(|part| {
                part.strip_prefix("q=")
                    .is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0))
            });
            (!refused).then(|| coding.to_owned())
        })
        .collect()
}

/// Decodes percent signs. `None` if the result is not UTF-8 or the text is cut off.
fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// An answer with its headers.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn file(media_type: &'static str, body: Vec<u8>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type", media_type.to_owned())],
            body,
        }
    }

    /// The browser's copy is current.
    pub(crate) fn unchanged() -> Self {
        Self {
            status: 304,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// The file stands at another address.
    pub(crate) fn moved(to: &str) -> Self {
        let mut response = Self::text(308, "");
        response.header("location", to);
        response
    }

    pub(crate) fn text(status: u16, text: &str) -> Self {
        let mut response = Self::file("text/plain; charset=utf-8", text.as_bytes().to_vec());
        response.status = status;
        response
    }

    pub(crate) fn header(&mut self, name: &'static str, value: &str) {
        self.headers.push((name, value.to_owned()));
    }

    #[cfg(test)]
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
    }

    fn write(&self, stream: &mut impl Write, with_body: bool, keep_alive: bool) -> io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            308 => "Permanent Redirect",
            304 => "Not Modified",
            400 => "Bad Request",
            404 => "Not Found",
            _ => "Method Not Allowed",
        };
        let mut head = format!(
            "HTTP/1.1 {} {reason}\r\ncontent-length: {}\r\n",
            self.status,
            self.body.len()
        );
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str(if keep_alive {
            "\r\n"
        } else {
            "connection: close\r\n\r\n"
        });
        stream.write_all(head.as_bytes())?;
        if with_body {
            stream.write_all(&self.body)?;
        }
        stream.flush()
    }
}

/// Answers the requests of one connection until it closes, idles for a minute, or sends something other than HTTP.
pub(crate) fn converse(stream: &TcpStream, answer: impl Fn(&Request) -> Response) {
    let _ = stream.set_read_timeout(Some(Duration::from_mins(1)));
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    while let Some(head) = read_head(&mut reader) {
        let Some(request) = Request::parse(&head) else {
            let _ = Response::text(400, "Bad request\n").write(&mut writer, true, false);
            return;
        };
        let (response, keep_alive) = match request.method.as_str() {
            "GET" | "HEAD" => (answer(&request), request.keep_alive),
            // A body may follow, which is not read.
            _ => (Response::text(405, "Only GET and HEAD\n"), false),
        };
        if response
            .write(&mut writer, request.method != "HEAD", keep_alive)
            .is_err()
            || !keep_alive
        {
            return;
        }
    }
}

/// Reads up to the empty line. `None` if the connection ends before it or the limit is passed.
fn read_head(reader: &mut impl BufRead) -> Option<String> {
    let mut limited = reader.take(HEAD_LIMIT);
    let mut head = String::new();
    loop {
        let before = head.len();
        if limited.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if matches!(&head[before..], "\r\n" | "\n") {
            return Some(head);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    fn served(request: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            converse(&stream, |request| Response::text(200, &request.path));
        });
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        server.join().unwrap();
        answer
    }

    #[test]
    fn one_connection_carries_several_requests() {
        let answer = served(
            "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b%20c HTTP/1.1\r\nConnection: close\r\n\r\n",
        );
        assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 2);
        assert!(
            answer.contains("\r\n\r\n/a") && answer.ends_with("\r\n\r\n/b c"),
            "{answer}"
        );
    }

    #[test]
    fn head_has_no_body_and_other_methods_are_refused() {
        let head = served("HEAD /a HTTP/1.0\r\n\r\n");
        assert!(
            head.contains("content-length: 2\r\n") && head.ends_with("\r\n\r\n"),
            "{head}"
        );
        assert!(served("POST /a HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(served("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
        assert_eq!(served("GET /a HTTP/1.1\r\nno end"), "");
    }

    #[test]
    fn a_coding_with_weight_zero_is_refused() {
        let request =
            Request::parse("GET / HTTP/1.1\r\nAccept-Encoding: br;q=0, gzip;q=0.5\r\n\r\n")
                .unwrap();
        assert!(!request.accepts("br") && request.accepts("gzip"));
    }
}
