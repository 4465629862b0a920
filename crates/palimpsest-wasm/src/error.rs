//! The table of codes, and how an error becomes a JavaScript `Error`.
//!
//! A caller branches on `code`. The table is the only list of codes there is: the TypeScript union is made from it,
//! and a test reads every error type of the workspace and looks each code up.

use js_sys::{Error, Object, Reflect};
use palimpsest_core::dialect::DialectError;
use palimpsest_core::error::CoreError;
use palimpsest_core::run::Refusal;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Every code an error of the package can have, and whether the same call may succeed later.
pub const CODES: &[(&str, bool)] = &[
    // the package itself
    ("not_initialized", false),
    ("load_failed", true),
    ("engine_crashed", false),
    ("invalid_options", false),
    ("closed", false),
    // lists of messages, policies, windows
    ("bad_input", false),
    ("empty_record", false),
    ("records_too_large", false),
    ("message_too_large", false),
    ("cannot_fit", false),
    ("invalid_window", false),
    ("invalid_policy", false),
    ("unknown_policy", false),
    ("not_found", false),
    ("egress", false),
    // why a compaction changed nothing
    ("nothing_to_compress", false),
    ("nothing_compressible", false),
    ("not_worth", false),
    ("model_failed", true),
    ("cancelled", false),
    // vocabularies
    ("tokenizer_absent", false),
    ("tokenizer_unknown", false),
    ("tokenizer_too_large", false),
    ("tokenizer_malformed", false),
    ("tokenizer_incomplete", true),
    ("tokenizer_other_version", false),
    ("tokenizer_failed", false),
];

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** Every code an error of palimpsest can have. Branch on it. */
export type ErrorCode =
  | "not_initialized"
  | "load_failed"
  | "engine_crashed"
  | "invalid_options"
  | "closed"
  | "bad_input"
  | "empty_record"
  | "records_too_large"
  | "message_too_large"
  | "cannot_fit"
  | "invalid_window"
  | "invalid_policy"
  | "unknown_policy"
  | "not_found"
  | "egress"
  | "nothing_to_compress"
  | "nothing_compressible"
  | "not_worth"
  | "model_failed"
  | "cancelled"
  | "tokenizer_absent"
  | "tokenizer_unknown"
  | "tokenizer_too_large"
  | "tokenizer_malformed"
  | "tokenizer_incomplete"
  | "tokenizer_other_version"
  | "tokenizer_failed";
"#;

/// A failure on its way to JavaScript.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    code: &'static str,
    message: String,
    /// Numbers that go with it, by name.
    details: Vec<(&'static str, u32)>,
}

impl Failure {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: Vec::new(),
        }
    }

    /// Whether the same call may succeed later.
    fn retryable(&self) -> bool {
        CODES
            .iter()
            .any(|(code, retryable)| *code == self.code && *retryable)
    }
}

impl From<DialectError> for Failure {
    fn from(error: DialectError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<CoreError> for Failure {
    fn from(error: CoreError) -> Self {
        Self {
            details: error.numbers(),
            ..Self::new(error.code(), error.to_string())
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::CannotFit { floor, limit } => CoreError::CannotFit { floor, limit }.into(),
            other => Self {
                details: other.numbers(),
                ..Self::new(other.code(), "The compaction changed nothing.")
            },
        }
    }
}

impl From<palimpsest_tokens::Error> for Failure {
    fn from(error: palimpsest_tokens::Error) -> Self {
        Self::new(
            error.code(),
            format!("The tokenizer cannot be used: {error}. Count without it, which estimates."),
        )
    }
}

impl From<Failure> for JsValue {
    fn from(failure: Failure) -> Self {
        let error = Error::new(&failure.message);
        error.set_name("PalimpsestError");
        // a fresh, extensible object: setting a field on it cannot fail
        let set = |object: &JsValue, key: &str, value: JsValue| {
            let _ = Reflect::set(object, &key.into(), &value);
        };
        set(&error, "code", failure.code.into());
        set(&error, "retryable", failure.retryable().into());
        if !failure.details.is_empty() {
            let details = Object::new();
            for (name, value) in &failure.details {
                set(&details, name, (*value).into());
            }
            set(&error, "details", details.into());
        }
        error.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes that a source file names in its `code()`.
    fn named(source: &str) -> Vec<&str> {
        let from = source.find("fn code(").expect("the file has a `code()`");
        let body = &source[from..];
        let body = &body[..body.find("\n    }\n").expect("it ends")];
        body.split("=> \"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect()
    }

    /// I10: every code of every error type that can reach JavaScript is in the table, once, and in the union.
    #[test]
    fn the_table_holds_every_code() {
        let sources = [
            include_str!("../../palimpsest-core/src/error.rs"),
            include_str!("../../palimpsest-core/src/data/refusal.rs"),
            include_str!("../../palimpsest-tokens/src/error.rs"),
        ];
        for source in sources {
            let codes = named(source);
            assert!(codes.len() >= 5, "{codes:?}");
            for code in codes {
                assert!(
                    CODES.iter().any(|(c, _)| *c == code),
                    "{code} is not in the table"
                );
            }
        }
        let mut names: Vec<&str> = CODES.iter().map(|(code, _)| *code).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CODES.len());
        let names: Vec<&str> = CODES.iter().map(|(code, _)| *code).collect();
        let union = format!("\n  | \"{}\"", names.join("\"\n  | \""));
        assert!(
            include_str!("error.rs").contains(&format!("export type ErrorCode ={union};\n")),
            "write the union as:{union};"
        );
    }
}
