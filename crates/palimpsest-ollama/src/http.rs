//! An HTTP request as plain data. The caller sends it.

use palimpsest_text::json::ToJson as _;

/// An HTTP request. The caller adds the server's address, and `Authorization: Bearer …` if a key is set. It must add no
/// other header, because any other header fails the preflight of a real server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// `GET`, `POST` or `DELETE`.
    pub method: &'static str,
    /// Begins with a slash.
    pub path: String,
    /// JSON as UTF-8 (content type `application/json`), empty for `GET`.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// Creates a `GET` request for this path.
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: "GET",
            path: path.into(),
            body: Vec::new(),
        }
    }

    /// Creates a `POST` request with this JSON.
    pub fn post(path: impl Into<String>, json: &serde_json::Value) -> Self {
        Self {
            method: "POST",
            path: path.into(),
            body: json.to_json().into_bytes(),
        }
    }
}
