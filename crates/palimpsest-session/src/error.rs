//! The codes, and how a failure becomes a JavaScript `Error`.
//!
//! The engine's errors know their code and whether the same call may succeed later. The table here is what the
//! TypeScript union is made from; a test reads every error type that can reach JavaScript and looks each code up.

use js_sys::{Error, JSON, Reflect};
use palimpsest_browser::vocabulary::NoVocabulary;
use palimpsest_core::dialect::DialectError;
use palimpsest_core::error::CoreError;
use palimpsest_core::request::ModelError;
use palimpsest_core::run::Refusal;
use palimpsest_engine::ports::StoreError;
use palimpsest_engine::{EngineError, TransferError};
use serde_json::{Map, Value, json};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Every code a session's error can have, beside those of lists.
pub const CODES: &[&str] = &[
    // the session itself
    "closed",
    "invalid_options",
    "no_model",
    "busy",
    "no_session",
    "nothing_to_undo",
    "nothing_to_continue",
    "would_not_fit",
    "cannot_shrink",
    "rolled_over",
    // storage
    "session_busy",
    "superseded",
    "row_exists",
    "storage_quota",
    "storage_newer",
    "storage_unavailable",
    "storage_corrupt",
    "storage_failed",
    // settings
    "unknown_setting",
    "unknown_profile",
    "invalid_setting",
    // goals
    "goal_too_large",
    "goal_empty_text",
    "goal_unknown_item",
    "decision_locked",
    "goal_too_many_items",
    // files
    "unknown_file",
    "damaged_file",
    "newer_file",
    // models
    "unreachable",
    "forbidden",
    "unauthorized",
    "model_missing",
    "overflow",
    "not_supported",
    "bad_request",
    "server_failed",
    "bad_response",
    "truncated",
    "too_long",
    "prompt_truncated",
    "timed_out",
    "aborted",
];

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** Every code an error of a session can have, beside those of lists. */
export type SessionErrorCode =
  | "closed"
  | "invalid_options"
  | "no_model"
  | "busy"
  | "no_session"
  | "nothing_to_undo"
  | "nothing_to_continue"
  | "would_not_fit"
  | "cannot_shrink"
  | "rolled_over"
  | "session_busy"
  | "superseded"
  | "row_exists"
  | "storage_quota"
  | "storage_newer"
  | "storage_unavailable"
  | "storage_corrupt"
  | "storage_failed"
  | "unknown_setting"
  | "unknown_profile"
  | "invalid_setting"
  | "goal_too_large"
  | "goal_empty_text"
  | "goal_unknown_item"
  | "decision_locked"
  | "goal_too_many_items"
  | "unknown_file"
  | "damaged_file"
  | "newer_file"
  | "unreachable"
  | "forbidden"
  | "unauthorized"
  | "model_missing"
  | "overflow"
  | "not_supported"
  | "bad_request"
  | "server_failed"
  | "bad_response"
  | "truncated"
  | "too_long"
  | "prompt_truncated"
  | "timed_out"
  | "aborted";
"#;

/// A failure on its way to JavaScript.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    code: &'static str,
    message: String,
    retryable: bool,
    /// What goes with it: numbers under `details`, anything else beside it.
    more: Map<String, Value>,
}

impl Failure {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retryable: false,
            more: Map::new(),
        }
    }

    #[cfg(test)]
    pub(crate) const fn code(&self) -> &'static str {
        self.code
    }
}

impl From<DialectError> for Failure {
    fn from(error: DialectError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<CoreError> for Failure {
    fn from(error: CoreError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        EngineError::Refused(refusal).into()
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let mut failure = Self::new(error.code(), error.to_string());
        failure.retryable = error.is_retryable();
        let numbers = error.numbers();
        if !numbers.is_empty() {
            let named = numbers.into_iter().map(|(name, n)| (camel(name), n.into()));
            let details: Map<String, Value> = named.collect();
            failure.more.insert("details".into(), details.into());
        }
        match error {
            EngineError::WouldNotFit { choices, .. } => {
                failure.more.insert("choices".into(), json!(choices));
            }
            EngineError::RolledOver { session } => {
                failure.more.insert("session".into(), session.into());
            }
            _ => {}
        }
        failure
    }
}

impl From<TransferError> for Failure {
    fn from(error: TransferError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<NoVocabulary> for Failure {
    fn from(why: NoVocabulary) -> Self {
        match why {
            NoVocabulary::Server(error) => error.into(),
            NoVocabulary::Tokenizer(error) => error.into(),
        }
    }
}

impl From<palimpsest_tokens::Error> for Failure {
    fn from(error: palimpsest_tokens::Error) -> Self {
        Self::new(
            error.code(),
            format!("The tokenizer cannot be used: {error}. Counts stay as they were."),
        )
    }
}

/// `retry_after_ms` as JavaScript writes it.
fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut whole, part| {
        let (head, rest) = part.split_at(part.len().min(1));
        whole.push_str(&head.to_ascii_uppercase());
        whole.push_str(rest);
        whole
    })
}

impl From<Failure> for JsValue {
    fn from(failure: Failure) -> Self {
        let error = Error::new(&failure.message);
        error.set_name("PalimpsestError");
        // a fresh, extensible object: setting a field on it cannot fail
        let set = |key: &str, value: JsValue| {
            let _ = Reflect::set(&error, &key.into(), &value);
        };
        set("code", failure.code.into());
        set("retryable", failure.retryable.into());
        for (key, value) in &failure.more {
            if let Ok(value) = JSON::parse(&value.to_string()) {
                set(key, value);
            }
        }
        error.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes that a source file names in its `code()`.
    fn named(source: &str) -> Vec<&str> {
        source
            .split("fn code(")
            .skip(1)
            .flat_map(|body| {
                let body = &body[..body.find("\n    }\n").expect("it ends")];
                body.split("=> \"")
                    .skip(1)
                    .filter_map(|rest| rest.split('"').next())
            })
            .collect()
    }

    /// I10: every code of every error type that can reach JavaScript is in the table or in that of lists, once, and in
    /// the union.
    #[test]
    fn the_table_holds_every_code() {
        let lists = include_str!("../../palimpsest-wasm/src/error.rs");
        let sources = [
            include_str!("../../palimpsest-engine/src/error.rs"),
            include_str!("../../palimpsest-engine/src/ports/store.rs"),
            include_str!("../../palimpsest-engine/src/config.rs"),
            include_str!("../../palimpsest-engine/src/transfer.rs"),
            include_str!("../../palimpsest-tokens/src/error.rs"),
            include_str!("../../palimpsest-core/src/data/goal/edit.rs"),
            include_str!("../../palimpsest-core/src/data/request.rs"),
            include_str!("../../palimpsest-core/src/error.rs"),
            include_str!("../../palimpsest-core/src/data/refusal.rs"),
        ];
        for source in sources {
            let codes = named(source);
            assert!(codes.len() >= 3, "{codes:?}");
            for code in codes {
                assert!(
                    CODES.contains(&code) || lists.contains(&format!("(\"{code}\", ")),
                    "{code} is in no table"
                );
            }
        }
        let mut names = CODES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CODES.len());
        let union = format!("\n  | \"{}\"", CODES.join("\"\n  | \""));
        assert!(
            include_str!("error.rs").contains(&format!("export type SessionErrorCode ={union};\n")),
            "write the union as:{union};"
        );
    }

    /// P10, B9: what a caller can do about a failure comes with it.
    #[test]
    fn numbers_and_choices_come_along() {
        let check = |error: EngineError, code: &str, retryable: bool, more: Value| {
            let failure = Failure::from(error);
            assert_eq!(
                (
                    failure.code,
                    failure.retryable,
                    Value::Object(failure.more.clone())
                ),
                (code, retryable, more),
                "{failure:?}"
            );
        };
        check(
            EngineError::WouldNotFit {
                tokens: 900,
                limit: 800,
                choices: vec![palimpsest_engine::RoomChoice::ShowAnyway { over: 100 }],
            },
            "would_not_fit",
            false,
            json!({"details": {"tokens": 900, "limit": 800}, "choices": [{"choice": "show_anyway", "over": 100}]}),
        );
        check(
            ModelError::Overflow {
                prompt: Some(710),
                window: None,
            }
            .into(),
            "overflow",
            false,
            json!({"details": {"prompt": 710}}),
        );
        check(
            ModelError::Busy {
                retry_after_ms: Some(2000),
            }
            .into(),
            "busy",
            true,
            json!({"details": {"retryAfterMs": 2000}}),
        );
        check(
            EngineError::RolledOver {
                session: "b".into(),
            },
            "rolled_over",
            false,
            json!({"session": "b"}),
        );
        check(StoreError::Quota.into(), "storage_quota", false, json!({}));
        check(
            EngineError::Refused(Refusal::NotWorth {
                before: 900,
                after: 880,
            }),
            "not_worth",
            false,
            json!({"details": {"before": 900, "after": 880}}),
        );
    }
}
