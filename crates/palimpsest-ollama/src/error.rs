//! Translates a server's refusal, its status and words, to an error that a caller can act on.

use palimpsest_core::request::ModelError;
use palimpsest_text::json::ToJson as _;
use serde_json::Value;

use crate::json::{self, bad};

/// The longest server message that is shown, in bytes.
const LONGEST_MESSAGE: usize = 300;

/// The parts of an answer that tell the error.
#[derive(Debug, Clone, Copy)]
pub struct Refusal<'a> {
    /// HTTP status.
    pub status: u16,
    /// The `Retry-After` header, where the caller may read it.
    pub retry_after: Option<&'a str>,
    /// The body, or its beginning; 64 KB are enough.
    pub body: &'a [u8],
}

impl<'a> Refusal<'a> {
    /// A refusal without a `Retry-After` header.
    pub const fn new(status: u16, body: &'a [u8]) -> Self {
        Self {
            status,
            retry_after: None,
            body,
        }
    }

    /// Returns the error for a request to `model`. Also handles a status that looks like success but is not 200.
    pub fn meaning(&self, model: &str) -> ModelError {
        let body = Body::read(self.body);
        match self.status {
            403 if self.body.is_empty() => ModelError::Forbidden,
            401 | 403 => ModelError::Unauthorized,
            408 | 425 | 429 | 503 => ModelError::Busy {
                retry_after_ms: self.retry_after.and_then(retry_after_ms),
            },
            499 => ModelError::Aborted,
            502 | 504 => ModelError::Unreachable {
                why: format!("a gateway answered {}", self.status),
            },
            300..=399 => bad("it redirects to another address"),
            400..=599 => match body {
                Body::Error(error) => error.meaning(self.status, model),
                Body::Page => bad("it is an HTML page"),
                Body::Other if self.status == 404 || self.status == 405 => {
                    bad("it does not know this request")
                }
                Body::Other if self.status >= 500 => ModelError::ServerFailed {
                    message: format!("status {}", self.status),
                },
                Body::Other => ModelError::BadRequest {
                    message: format!("status {}", self.status),
                },
            },
            status => ModelError::BadResponse {
                why: format!("status {status}"),
            },
        }
    }
}

/// Reads seconds as in `Retry-After: 2`, and returns milliseconds. It does not read dates, because this crate has no
/// clock.
fn retry_after_ms(value: &str) -> Option<u32> {
    let seconds: u32 = value.trim().parse().ok()?;
    Some(seconds.saturating_mul(1000))
}

enum Body {
    Error(ServerError),
    Page,
    Other,
}

impl Body {
    fn read(bytes: &[u8]) -> Self {
        match json::object(bytes) {
            Ok(value) => ServerError::find(&value).map_or(Self::Other, Self::Error),
            Err(_) if bytes.trim_ascii_start().starts_with(b"<") => Self::Page,
            Err(_) => Self::Other,
        }
    }
}

/// The content of `{"error": …}`, in any of its shapes.
#[derive(Debug, Default)]
pub(crate) struct ServerError {
    message: String,
    /// The values of `type` and `code`, if they are names.
    kinds: Vec<String>,
    prompt: Option<u32>,
    window: Option<u32>,
}

impl ServerError {
    /// Finds the error of an answer: a string, an object, or an object as JSON inside a string.
    pub(crate) fn find(value: &Value) -> Option<Self> {
        match value.get("error")? {
            Value::Null => None,
            Value::String(text) => Some(
                json::object(text.as_bytes())
                    .ok()
                    .and_then(|inner| Self::find(&inner))
                    .unwrap_or_else(|| Self {
                        message: text.clone(),
                        ..Self::default()
                    }),
            ),
            Value::Object(fields) => Some(Self {
                message: fields
                    .get("message")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                kinds: ["type", "code"]
                    .iter()
                    .filter_map(|k| fields.get(*k)?.as_str().map(str::to_owned))
                    .collect(),
                prompt: fields.get("n_prompt_tokens").and_then(json::count),
                window: fields.get("n_ctx").and_then(json::count),
            }),
            other => Some(Self {
                message: other.to_json(),
                ..Self::default()
            }),
        }
    }

    /// Translates the error. `status` is 200 for an error in the middle of a stream.
    pub(crate) fn meaning(&self, status: u16, model: &str) -> ModelError {
        let text = self.message.as_str();
        let is = |kind: &str| self.kinds.iter().any(|k| k == kind);
        if is("exceed_context_size_error")
            || is("context_length_exceeded")
            || text.starts_with("the prompt is longer than the context length")
            || text.starts_with("the input length exceeds the context length")
            || text.starts_with("This model's maximum context length is")
        {
            let (prompt, window) = self.numbers();
            return ModelError::Overflow { prompt, window };
        }
        if is("model_not_found")
            || (status == 404 && text.contains("not found") && text.contains("model"))
        {
            return ModelError::ModelMissing {
                model: model.to_owned(),
            };
        }
        if let Some(what) = unsupported(text) {
            return ModelError::NotSupported { what };
        }
        if is("unavailable_error") || text.starts_with("server busy") {
            return ModelError::Busy {
                retry_after_ms: None,
            };
        }
        let message = shown(text);
        // Ollama reports a wrong option as an internal error.
        if (400..500).contains(&status) || text.starts_with("option \"") {
            ModelError::BadRequest { message }
        } else {
            ModelError::ServerFailed { message }
        }
    }

    /// The tokens of prompt and window, from the fields or from the words of OpenAI-like servers ("maximum context
    /// length is 8192 tokens. However, your messages resulted in 9000 tokens").
    fn numbers(&self) -> (Option<u32>, Option<u32>) {
        if self.prompt.is_some() || self.window.is_some() {
            return (self.prompt, self.window);
        }
        let mut numbers = self
            .message
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|n| n.parse().ok());
        let window = numbers.next();
        let prompt = numbers.find(|n| Some(*n) > window);
        (prompt, window.filter(|_| prompt.is_some()))
    }
}

/// The feature that a model lacks, from "… does not support tools".
fn unsupported(text: &str) -> Option<String> {
    let (_, what) = text.split_once("does not support ")?;
    let what = what.trim_end_matches('.');
    if what.starts_with("multimodal") || what.contains("image") {
        return Some("images".into());
    }
    (what.len() <= 60).then(|| what.to_owned())
}

/// Shortens a server's message for display.
fn shown(text: &str) -> String {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(
        clippy::needless_pass_by_value,
        reason = "reads better at the call sites"
    )]
    fn check(status: u16, body: &str, expected: ModelError) {
        assert_eq!(
            Refusal::new(status, body.as_bytes()).meaning("nope"),
            expected,
            "{status} {body}"
        );
    }

    fn message(text: &str) -> String {
        text.to_owned()
    }

    /// F 79: Ollama's refusals, in recorded words.
    #[test]
    fn refusals_of_ollama() {
        check(
            404,
            r#"{"error":"model 'nope' not found"}"#,
            ModelError::ModelMissing {
                model: "nope".into(),
            },
        );
        check(
            400,
            r#"{"error":"{\"error\":{\"code\":400,\"message\":\"request (710 tokens) exceeds the available context size (512 tokens), try increasing it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":710,\"n_ctx\":512}}"}"#,
            ModelError::Overflow {
                prompt: Some(710),
                window: Some(512),
            },
        );
        let no_numbers = ModelError::Overflow {
            prompt: None,
            window: None,
        };
        check(
            400,
            r#"{"error":"the prompt is longer than the context length currently available to the model; shorten the prompt"}"#,
            no_numbers.clone(),
        );
        check(
            400,
            r#"{"error":"the input length exceeds the context length"}"#,
            no_numbers,
        );
        check(
            400,
            r#"{"error":"registry.ollama.ai/library/smollm2:135m does not support tools"}"#,
            ModelError::NotSupported {
                what: "tools".into(),
            },
        );
        check(
            400,
            r#"{"error":"\"smollm2:135m\" does not support thinking"}"#,
            ModelError::NotSupported {
                what: "thinking".into(),
            },
        );
        check(
            400,
            r#"{"error":"{\"error\":{\"code\":400,\"message\":\"Multimodal data provided, but model does not support multimodal requests.\",\"type\":\"invalid_request_error\"}}"}"#,
            ModelError::NotSupported {
                what: "images".into(),
            },
        );
        check(
            400,
            r#"{"error":"missing request body"}"#,
            ModelError::BadRequest {
                message: message("missing request body"),
            },
        );
        check(
            500,
            r#"{"error":"option \"num_ctx\" must be of type integer"}"#,
            ModelError::BadRequest {
                message: message("option \"num_ctx\" must be of type integer"),
            },
        );
        check(
            500,
            r#"{"error":"llama runner process has terminated: signal: killed"}"#,
            ModelError::ServerFailed {
                message: message("llama runner process has terminated: signal: killed"),
            },
        );
        check(
            503,
            r#"{"error":"server busy, please try again.  maximum pending requests exceeded"}"#,
            ModelError::Busy {
                retry_after_ms: None,
            },
        );
        check(403, "", ModelError::Forbidden);
        check(
            404,
            "404 page not found",
            bad("it does not know this request"),
        );
        check(
            405,
            "405 method not allowed",
            bad("it does not know this request"),
        );
        // Only the words distinguish an overflow from other errors, so the message must begin with them.
        check(
            400,
            r#"{"error":"cannot parse: the input length exceeds the context length"}"#,
            ModelError::BadRequest {
                message: message("cannot parse: the input length exceeds the context length"),
            },
        );
    }

    /// Refusals of servers with OpenAI's protocol.
    #[test]
    fn refusals_of_openai_servers() {
        check(
            404,
            r#"{"error":{"message":"model 'nope' not found","type":"not_found_error","param":null,"code":null}}"#,
            ModelError::ModelMissing {
                model: "nope".into(),
            },
        );
        check(
            404,
            r#"{"error":{"message":"The model `nope` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#,
            ModelError::ModelMissing {
                model: "nope".into(),
            },
        );
        check(
            400,
            r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
            ModelError::Overflow {
                prompt: Some(9000),
                window: Some(8192),
            },
        );
        check(
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","code":"context_length_exceeded"}}"#,
            ModelError::Overflow {
                prompt: Some(9000),
                window: Some(8192),
            },
        );
        check(
            503,
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            ModelError::Busy {
                retry_after_ms: None,
            },
        );
        check(
            401,
            r#"{"error":{"message":"Incorrect API key"}}"#,
            ModelError::Unauthorized,
        );
    }

    /// F 78: answers that do not come from a model server.
    #[test]
    fn refusals_of_something_else() {
        check(302, "", bad("it redirects to another address"));
        check(
            204,
            "",
            ModelError::BadResponse {
                why: "status 204".into(),
            },
        );
        check(404, "<html>", bad("it is an HTML page"));
        check(
            502,
            "<html>",
            ModelError::Unreachable {
                why: "a gateway answered 502".into(),
            },
        );
        check(
            500,
            "",
            ModelError::ServerFailed {
                message: "status 500".into(),
            },
        );
        check(
            400,
            r#"{"error":null}"#,
            ModelError::BadRequest {
                message: "status 400".into(),
            },
        );
        check(
            418,
            "[]",
            ModelError::BadRequest {
                message: "status 418".into(),
            },
        );
    }

    /// P7: the time of the next attempt is known only if the server gave it in seconds.
    #[test]
    fn retry_after() {
        let busy = |retry_after| {
            Refusal {
                status: 429,
                retry_after,
                body: b"",
            }
            .meaning("m")
        };
        assert_eq!(
            busy(Some("2")),
            ModelError::Busy {
                retry_after_ms: Some(2000)
            }
        );
        assert_eq!(
            busy(Some("Wed, 21 Oct 2026 07:28:00 GMT")),
            ModelError::Busy {
                retry_after_ms: None
            }
        );
        assert_eq!(
            busy(Some("99999999")),
            ModelError::Busy {
                retry_after_ms: Some(u32::MAX)
            }
        );
    }

    /// A long server message is shortened, and not inside of a character.
    #[test]
    fn long_messages_are_cut() {
        let body = format!(r#"{{"error":"{}"}}"#, "é".repeat(1000));
        let ModelError::ServerFailed { message } = Refusal::new(500, body.as_bytes()).meaning("m")
        else {
            panic!("not a failure")
        };
        assert_eq!(message, format!("{}…", "é".repeat(300)));
    }
}
