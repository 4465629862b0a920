//! Requests to a model and their answers: plain data that the engine and the codecs share without depending on each
//! other.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::data::message::{Part, Role};

/// The purpose of a request. It decides about fields that are always or never sent, such as thinking (P7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// The conversation's next reply.
    Chat,
    /// A summary for a layer or a note.
    Summary,
}

/// One message of a request, in the model's order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestMessage {
    /// The role of the speaker.
    pub role: Role,
    /// The content. The codecs drop thinking (P2).
    pub parts: Vec<Part>,
}

impl RequestMessage {
    /// Creates a message of one text part.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            parts: vec![Part::text(text)],
        }
    }

    /// The role and the content.
    pub fn said(&self) -> (Role, &[Part]) {
        (self.role, &self.parts)
    }
}

/// The time in seconds for which a model stays loaded, unless the user sets another.
const KEEP_ALIVE_SECONDS: i32 = 1800;

/// The options of an answer. A field that is `None` is not sent, so the server's default holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestOptions {
    /// The requested window in tokens. Keep it constant within a session, because another one reloads the model.
    pub num_ctx: u32,
    /// The largest number of tokens of the answer. It is always sent: without it a model may continue for ten windows.
    pub num_predict: u32,
    /// The randomness; 0 always takes the most likely words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// The share of probability from which words are chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f32>,
    /// Excludes words less likely than this share of the likeliest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f32>,
    /// The penalty on recently written words; 1 means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat_penalty: Option<f32>,
    /// Makes the choice repeatable, if the server supports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The JSON schema of the answer, or the text `json` for any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Value>,
    /// The seconds for which the model stays loaded afterwards; negative: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_alive: Option<i32>,
    /// Let the model think first, or not. A summary never thinks (P7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<bool>,
    /// The amount of thinking, if the server supports it. Without it the model decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

/// An amount of thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

impl RequestOptions {
    /// Options with a window and a limit of the answer. The model stays loaded for half an hour, because loading it
    /// again costs more than the memory that it holds. The server decides the rest.
    pub const fn new(num_ctx: u32, num_predict: u32) -> Self {
        Self {
            num_ctx,
            num_predict,
            temperature: None,
            top_p: None,
            min_p: None,
            repeat_penalty: None,
            seed: None,
            stop: Vec::new(),
            format: None,
            keep_alive: Some(KEEP_ALIVE_SECONDS),
            think: None,
            effort: None,
        }
    }
}

/// A complete request to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatRequest {
    /// The model's name as the server knows it.
    pub model: String,
    /// The messages in the model's order.
    pub messages: Vec<RequestMessage>,
    /// Tool definitions in the form all servers take: `{"type": "function", "function": {…}}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
    /// The options of the answer.
    pub options: RequestOptions,
    /// The purpose.
    pub purpose: Purpose,
}

/// The server's counts. Any of them may be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub prompt_tokens: Option<u32>,
    /// The tokens of the answer, including its end token.
    pub completion_tokens: Option<u32>,
    /// Milliseconds spent on reading the prompt.
    pub prompt_ms: Option<u32>,
    /// Milliseconds spent on writing the answer.
    pub completion_ms: Option<u32>,
}

/// The reason for the end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// `num_predict` or the window was reached.
    Length,
    /// The model waits for the results of its tools.
    ToolCalls,
    /// The model was loaded or unloaded; nothing was generated.
    Load,
    /// Anything else.
    Other,
}

/// One step of an answer. A complete answer ends with exactly one `Done`, after at most one `Usage`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "type"))]
pub enum Delta {
    /// More text. Never empty.
    Text {
        /// The text.
        text: String,
    },
    /// More reasoning. Never empty.
    Thinking {
        /// The text.
        text: String,
    },
    /// A complete tool call.
    ToolCall {
        /// The server's id, or one made from the position in the answer.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments, as JSON text.
        arguments: String,
    },
    /// The server's counts.
    Usage(Usage),
    /// The answer is complete.
    Done {
        /// The reason for the end.
        reason: FinishReason,
    },
}

palimpsest_text::tagged!(Delta, "type");

impl Delta {
    /// A text delta.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// The reason for which there is no (whole) answer, one variant for each action of a caller. Text that came before an
/// error is never committed.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelError {
    /// There is no connection, or it broke. In a browser this also means that the page may not read this server.
    #[error("The model server cannot be reached ({why}).")]
    Unreachable {
        /// The transport's message.
        why: String,
    },
    /// The server refuses requests from this page's origin (Ollama: 403 without a body).
    #[error("The model server is up, but refuses requests from this page.")]
    Forbidden,
    /// A key is missing or wrong.
    #[error("The model server asks for a key, or does not accept the one given.")]
    Unauthorized,
    /// The model is not installed.
    #[error("The model \"{model}\" is not installed on this server.")]
    ModelMissing {
        /// The name in the request.
        model: String,
    },
    /// The prompt is longer than the window (B9), with both numbers if the server reports them.
    #[error("The prompt is longer than the model's window{}.", overflow_numbers(*prompt, *window))]
    Overflow {
        /// The tokens of the prompt by the server's count.
        prompt: Option<u32>,
        /// The tokens of the real window.
        window: Option<u32>,
    },
    /// The model lacks a requested feature, such as tools or thinking.
    #[error("The model does not support {what}.")]
    NotSupported {
        /// The feature.
        what: String,
    },
    /// There are too many requests, or the model is still loading.
    #[error("The model server is busy.")]
    Busy {
        /// The milliseconds until the next attempt, if the server gave them.
        retry_after_ms: Option<u32>,
    },
    /// The server considers the request wrong.
    #[error("The model server did not accept the request: {message}")]
    BadRequest {
        /// The server's words.
        message: String,
    },
    /// The server failed, before or in the middle of an answer.
    #[error("The model server failed: {message}")]
    ServerFailed {
        /// The server's words.
        message: String,
    },
    /// The answer does not come from a model server: HTML, a redirect, broken JSON.
    #[error("This does not look like a model server: {why}.")]
    BadResponse {
        /// The fault.
        why: String,
    },
    /// The answer stopped before it was complete.
    #[error("The answer broke off before it was complete.")]
    Truncated,
    /// The answer is longer than any request allowed.
    #[error("The answer was stopped: {what} is longer than {limit} bytes.")]
    TooLong {
        /// The part that is too long: a line, the answer, an error.
        what: String,
        /// The limit in bytes.
        limit: u32,
    },
    /// The server read far fewer tokens than were sent: it dropped part of the prompt silently (B9).
    #[error(
        "The model read only {reported} of about {sent} tokens; the server dropped the rest without saying so."
    )]
    PromptTruncated {
        /// The tokens that were sent, by our count.
        sent: u32,
        /// The tokens that were read, by the server's count.
        reported: u32,
    },
    /// No answer came in time.
    #[error("The model did not answer within {seconds} seconds.")]
    TimedOut {
        /// The time of waiting in seconds.
        seconds: u32,
    },
    /// Cancelled by the user or the engine.
    #[error("Cancelled.")]
    Aborted,
}

palimpsest_text::tagged!(ModelError, "kind");

fn overflow_numbers(prompt: Option<u32>, window: Option<u32>) -> String {
    match (prompt, window) {
        (Some(prompt), Some(window)) => format!(" ({prompt} of {window} tokens)"),
        _ => String::new(),
    }
}

impl ModelError {
    /// A stable code of the kind of failure.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "unreachable",
            Self::Forbidden => "forbidden",
            Self::Unauthorized => "unauthorized",
            Self::ModelMissing { .. } => "model_missing",
            Self::Overflow { .. } => "overflow",
            Self::NotSupported { .. } => "not_supported",
            Self::Busy { .. } => "busy",
            Self::BadRequest { .. } => "bad_request",
            Self::ServerFailed { .. } => "server_failed",
            Self::BadResponse { .. } => "bad_response",
            Self::Truncated => "truncated",
            Self::TooLong { .. } => "too_long",
            Self::PromptTruncated { .. } => "prompt_truncated",
            Self::TimedOut { .. } => "timed_out",
            Self::Aborted => "aborted",
        }
    }

    /// Returns `true` if the same request may succeed when sent again. After an overflow the request has to become
    /// smaller first.
    pub const fn retryable(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Busy { .. } | Self::Truncated | Self::TimedOut { .. }
        )
    }

    /// The numbers of the error, with the names of their fields. Numbers that the server did not report are left out.
    pub fn numbers(&self) -> Vec<(&'static str, u32)> {
        let known = match *self {
            Self::Overflow { prompt, window } => [("prompt", prompt), ("window", window)],
            Self::Busy { retry_after_ms } => [("retry_after_ms", retry_after_ms), ("", None)],
            Self::TooLong { limit, .. } => [("limit", Some(limit)), ("", None)],
            Self::PromptTruncated { sent, reported } => {
                [("sent", Some(sent)), ("reported", Some(reported))]
            }
            Self::TimedOut { seconds } => [("seconds", Some(seconds)), ("", None)],
            _ => return Vec::new(),
        };
        let told = |(name, number): (&'static str, Option<u32>)| Some((name, number?));
        known.into_iter().filter_map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B9, P7: an overflow reports both numbers if it knows them, and the same request is never sent again.
    #[test]
    fn an_overflow_is_not_retryable_and_names_its_numbers() {
        let known = ModelError::Overflow {
            prompt: Some(710),
            window: Some(512),
        };
        assert_eq!(
            known.to_string(),
            "The prompt is longer than the model's window (710 of 512 tokens)."
        );
        assert_eq!(
            ModelError::Overflow {
                prompt: None,
                window: None
            }
            .to_string(),
            "The prompt is longer than the model's window."
        );
        assert!(!known.retryable());
        assert!(
            ModelError::Busy {
                retry_after_ms: None
            }
            .retryable()
        );
    }

    /// The data keeps its shape in storage.
    #[test]
    fn requests_and_errors_survive_json() {
        let request = ChatRequest {
            model: "m".into(),
            messages: vec![RequestMessage::text(Role::User, "hi")],
            tools: vec![],
            options: RequestOptions::new(8192, 100),
            purpose: Purpose::Summary,
        };
        let json = serde_json::to_string(&request).unwrap();
        assert_eq!(
            json,
            r#"{"model":"m","messages":[{"role":"user","parts":[{"type":"text","text":"hi"}]}],"options":{"num_ctx":8192,"num_predict":100,"keep_alive":1800},"purpose":"summary"}"#
        );
        assert_eq!(serde_json::from_str::<ChatRequest>(&json).unwrap(), request);
        let error = ModelError::Busy {
            retry_after_ms: Some(2000),
        };
        assert_eq!(
            serde_json::from_str::<ModelError>(&serde_json::to_string(&error).unwrap()).unwrap(),
            error
        );
    }
}
