//! A request as plain data. Whoever has a network sends it.

/// What to send. The caller adds the server's address, and `Authorization: Bearer …` where a key is set; nothing else,
/// because any header of our own fails the preflight of a real server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Begins with a slash.
    pub path: String,
    /// JSON as UTF-8 for `POST` (content type `application/json`), empty for `GET`.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// A `GET` of this path.
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: "GET",
            path: path.into(),
            body: Vec::new(),
        }
    }

    /// A `POST` of this JSON.
    pub fn post(path: impl Into<String>, json: &serde_json::Value) -> Self {
        Self {
            method: "POST",
            path: path.into(),
            body: json.to_string().into_bytes(),
        }
    }
}
