//! The Model Context Protocol as plain data: requests, and answers as JSON or as a stream of events. The caller sends and
//! receives them ("streamable HTTP").

use std::fmt::Write as _;

use palimpsest_text::json::{self, ToJson as _};
use serde_json::{Map, Value, json};

/// The version of the protocol that is asked for. A server may answer with another one, which is then spoken.
pub const VERSION: &str = "2025-06-18";

/// The most pages of a list that are read.
pub const MOST_PAGES: usize = 20;

/// A tool of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tool {
    /// Its name on the server.
    pub name: String,
    /// Its description for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub schema: Value,
}

/// A request with its number.
pub fn request(id: u32, method: &str, parameters: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }).to_json()
}

/// A message that gets no answer.
pub fn notice(method: &str, parameters: Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": parameters }).to_json()
}

/// The parameters of the first request.
pub fn greeting() -> Value {
    json!({
        "protocolVersion": VERSION,
        "capabilities": {},
        "clientInfo": { "name": "palimpsest", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// The version that a server speaks, by its answer to the first request.
pub fn version(result: &Value) -> &str {
    result["protocolVersion"].as_str().unwrap_or(VERSION)
}

/// The tools of a page of the list, and the place where the next page begins.
pub fn tools(result: &Value) -> (Vec<Tool>, Option<String>) {
    let listed = result["tools"].as_array().into_iter().flatten();
    let tools = listed.filter_map(|tool| {
        let mut schema = tool["inputSchema"].as_object().cloned();
        let fields =
            schema.get_or_insert_with(|| Map::from_iter([("type".to_owned(), json!("object"))]));
        // some model servers refuse it, and it tells a model nothing
        fields.remove("$schema");
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let words = text(&tool["description"]).or_else(|| text(&tool["title"]));
        Some(Tool {
            name: text(&tool["name"])?,
            description: words.unwrap_or_default(),
            schema: Value::Object(schema?),
        })
    });
    let next = result["nextCursor"].as_str();
    (tools.collect(), next.map(str::to_owned))
}

/// The words of a tool's result for the model; `Err` where the tool failed. What is no text is named.
pub fn words(result: &Value) -> Result<String, String> {
    let mut all = String::new();
    for block in result["content"].as_array().into_iter().flatten() {
        if !all.is_empty() {
            all.push('\n');
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let inside = &block["resource"];
        let _ = match block["type"].as_str() {
            Some("text") => write!(all, "{}", text(&block["text"])),
            Some("resource") if inside["text"].is_string() => {
                write!(all, "{}\n{}", text(&inside["uri"]), text(&inside["text"]))
            }
            Some("resource") => write!(all, "[file: {}]", text(&inside["uri"])),
            Some("resource_link") => {
                write!(
                    all,
                    "[file: {} {}]",
                    text(&block["name"]),
                    text(&block["uri"])
                )
            }
            Some(kind) => write!(all, "[{kind}: {}]", text(&block["mimeType"])),
            None => Ok(()),
        };
    }
    let structured = &result["structuredContent"];
    if all.is_empty() && !structured.is_null() {
        all = structured.to_json();
    }
    if result["isError"].as_bool() == Some(true) {
        Err(all)
    } else {
        Ok(all)
    }
}

/// The reason why there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The server's own words.
    Told(String),
    /// The body holds no answer of this protocol.
    NoAnswer,
}

/// Reads the body of an answer as it arrives, until the answer with a certain number is there. A server may send other
/// messages before it, which are passed over.
#[derive(Debug)]
pub struct Reader {
    id: u32,
    is_stream: bool,
    /// The beginning of a line, or of the whole body.
    rest: Vec<u8>,
    /// The data of an event that is not complete.
    data: Vec<u8>,
}

impl Reader {
    /// A reader for the answer to the request with that number.
    pub fn new(id: u32, content_type: &str) -> Self {
        Self {
            id,
            is_stream: content_type.trim_start().starts_with("text/event-stream"),
            rest: Vec::new(),
            data: Vec::new(),
        }
    }

    /// Takes a piece of the body. Returns the result as soon as it is complete.
    ///
    /// # Errors
    ///
    /// [`Fault::Told`] if the server answers with an error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Value>, Fault> {
        self.rest.extend_from_slice(bytes);
        if !self.is_stream {
            return Ok(None);
        }
        while let Some(end) = self.rest.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            if let Some(found) = self.line(line.trim_ascii_end())? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The result after the last piece of the body.
    ///
    /// # Errors
    ///
    /// [`Fault::NoAnswer`] if there is none, [`Fault::Told`] if the server answers with an error.
    pub fn end(mut self) -> Result<Value, Fault> {
        let found = if self.is_stream {
            let line = std::mem::take(&mut self.rest);
            match self.line(line.trim_ascii_end())? {
                Some(found) => Some(found),
                None => self.line(b"")?,
            }
        } else {
            self.answer(&self.rest)?
        };
        found.ok_or(Fault::NoAnswer)
    }

    /// Reads a line of a stream. An empty one ends an event.
    fn line(&mut self, line: &[u8]) -> Result<Option<Value>, Fault> {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return self.answer(&data);
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.trim_ascii_start());
        }
        Ok(None)
    }

    /// The answer in a JSON text, if it has the number.
    fn answer(&self, text: &[u8]) -> Result<Option<Value>, Fault> {
        let Ok(text) = std::str::from_utf8(text) else {
            return Ok(None);
        };
        let Ok(value) = json::parse(text) else {
            return Ok(None);
        };
        // older servers may send several at once
        let all = match value {
            Value::Array(all) => all,
            one => vec![one],
        };
        for mut one in all {
            if !one["error"].is_null() {
                // an error that concerns no certain request has no number
                let id = one["id"].as_u64();
                if id.is_none_or(|id| id == u64::from(self.id)) {
                    let told = one["error"]["message"].as_str().unwrap_or_default();
                    return Err(Fault::Told(told.to_owned()));
                }
            } else if one["id"].as_u64() == Some(u64::from(self.id)) && !one["result"].is_null() {
                return Ok(Some(one["result"].take()));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a body in pieces of `size` bytes.
    fn read(content_type: &str, body: &str, size: usize) -> Result<Value, Fault> {
        let mut reader = Reader::new(7, content_type);
        for piece in body.as_bytes().chunks(size) {
            if let Some(found) = reader.push(piece)? {
                return Ok(found);
            }
        }
        reader.end()
    }

    #[test]
    fn answers_are_found_in_any_pieces() {
        let check = |content_type: &str, body: &str, expected: Result<Value, Fault>| {
            for size in [1, 2, 3, 7, 1000] {
                assert_eq!(read(content_type, body, size), expected, "{size} {body}");
            }
        };
        let (plain, stream) = ("application/json; charset=utf-8", "text/event-stream");
        let found = || Ok(json!({ "a": "ü" }));
        let told = |words: &str| Err(Fault::Told(words.to_owned()));
        check(
            plain,
            r#"{"jsonrpc":"2.0","id":7,"result":{"a":"ü"}}"#,
            found(),
        );
        check(
            plain,
            r#"[{"id":6,"result":{}},{"id":7,"result":{"a":"ü"}}]"#,
            found(),
        );
        check(
            plain,
            r#"{"id":7,"error":{"code":-32601,"message":"No such method"}}"#,
            told("No such method"),
        );
        check(
            plain,
            r#"{"id":null,"error":{"code":-32000,"message":"No session"}}"#,
            told("No session"),
        );
        check(plain, r#"{"id":8,"result":{}}"#, Err(Fault::NoAnswer));
        check(plain, "<html>", Err(Fault::NoAnswer));
        check(plain, "", Err(Fault::NoAnswer));
        check(
            stream,
            "event: message\nid: 1\ndata: {\"id\":7,\"result\":{\"a\":\"ü\"}}\n\n",
            found(),
        );
        check(
            stream,
            "data: {\"id\":7,\r\ndata: \"result\":{\"a\":\"ü\"}}\r\n\r\n",
            found(),
        );
        check(
            stream,
            "data: {\"method\":\"ping\",\"id\":7}\n\n: wait\n\ndata: {\"id\":7,\"result\":{\"a\":\"ü\"}}",
            found(),
        );
        check(
            stream,
            "data: {\"id\":7,\"error\":{\"message\":\"Wrong\"}}\n\n",
            told("Wrong"),
        );
        check(
            stream,
            "data: {\"id\":6,\"error\":{\"message\":\"Wrong\"}}\n\n",
            Err(Fault::NoAnswer),
        );
        check(stream, "data: {\"id\":7\n\n", Err(Fault::NoAnswer));
    }

    #[test]
    fn results_become_words() {
        let check = |result: Value, expected: Result<&str, &str>| {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(words(&result), expected);
        };
        check(
            json!({ "content": [{ "type": "text", "text": "Hi" }] }),
            Ok("Hi"),
        );
        check(
            json!({ "content": [
                { "type": "text", "text": "Two" },
                { "type": "image", "data": "aGk=", "mimeType": "image/png" },
                { "type": "resource", "resource": { "uri": "file:///a.md", "text": "# A" } },
                { "type": "resource", "resource": { "uri": "file:///b.bin", "blob": "aGk=" } },
                { "type": "resource_link", "uri": "file:///c.md", "name": "c" },
            ] }),
            Ok(
                "Two\n[image: image/png]\nfile:///a.md\n# A\n[file: file:///b.bin]\n[file: c file:///c.md]",
            ),
        );
        check(
            json!({ "content": [], "structuredContent": { "sum": 3 } }),
            Ok("{\"sum\":3}"),
        );
        check(
            json!({ "content": [{ "type": "text", "text": "No" }], "isError": true }),
            Err("No"),
        );
        check(json!({}), Ok(""));
    }

    #[test]
    fn tools_are_read_page_by_page() {
        let (found, next) = tools(&json!({
            "tools": [
                { "name": "echo", "description": "Says it again", "inputSchema": { "$schema": "x", "type": "object" } },
                { "name": "now", "title": "The time" },
                { "title": "no name" },
            ],
            "nextCursor": "2",
        }));
        let tool = |name: &str, description: &str| Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            schema: json!({ "type": "object" }),
        };
        assert_eq!(
            found,
            [tool("echo", "Says it again"), tool("now", "The time")]
        );
        assert_eq!(next.as_deref(), Some("2"));
        assert_eq!(tools(&json!({})), (Vec::new(), None));
    }
}
