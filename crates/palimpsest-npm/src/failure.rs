//! An error on its way to JavaScript: every error type of the workspace becomes a [`Failure`], and that becomes an `Error`
//! with a `code`.

use js_sys::{Error, JSON, Object, Reflect};
use palimpsest_core::dialect::DialectError;
use palimpsest_core::error::CoreError;
use palimpsest_core::run::Refusal;
use wasm_bindgen::JsValue;

use crate::codes::CODES;
use crate::names::camel;

/// A failure on its way to JavaScript.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    code: &'static str,
    message: String,
    retryable: bool,
    /// Numbers that go with it, by name.
    details: Vec<(&'static str, u32)>,
    /// What else goes with it, by name, as JSON text.
    beside: Vec<(&'static str, String)>,
}

impl Failure {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retryable: CODES.iter().any(|(known, again)| *known == code && *again),
            details: Vec::new(),
            beside: Vec::new(),
        }
    }

    /// Says whether the same call may succeed later, where the error knows better than the table.
    pub(crate) fn retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// Adds numbers.
    pub(crate) fn with_details(mut self, details: Vec<(&'static str, u32)>) -> Self {
        self.details = details;
        self
    }

    /// Adds something else by its JSON text.
    pub(crate) fn beside(mut self, name: &'static str, json: String) -> Self {
        self.beside.push((name, json));
        self
    }

    #[cfg(test)]
    pub(crate) const fn code(&self) -> &'static str {
        self.code
    }

    /// Everything but the sentence, as JSON would say it.
    #[cfg(test)]
    pub(crate) fn outline(&self) -> serde_json::Value {
        let details: serde_json::Map<String, serde_json::Value> = self
            .details
            .iter()
            .map(|(name, n)| (camel(name), (*n).into()))
            .collect();
        let mut outline = serde_json::json!({"code": self.code, "retryable": self.retryable});
        if !details.is_empty() {
            outline["details"] = details.into();
        }
        for (name, json) in &self.beside {
            outline[*name] = palimpsest_text::json::parse(json).expect("it is JSON");
        }
        outline
    }
}

impl From<CoreError> for Failure {
    fn from(error: CoreError) -> Self {
        Self::new(error.code(), error.to_string()).with_details(error.numbers())
    }
}

impl From<DialectError> for Failure {
    fn from(error: DialectError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::CannotFit { floor, limit } => CoreError::CannotFit { floor, limit }.into(),
            other => Self::new(other.code(), "The compaction changed nothing.")
                .with_details(other.numbers()),
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
        set(&error, "retryable", failure.retryable.into());
        if !failure.details.is_empty() {
            let details = Object::new();
            for (name, value) in &failure.details {
                set(&details, &camel(name), (*value).into());
            }
            set(&error, "details", details.into());
        }
        for (name, json) in &failure.beside {
            if let Ok(value) = JSON::parse(json) {
                set(&error, name, value);
            }
        }
        error.into()
    }
}
