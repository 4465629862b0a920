use palimpsest_core::dialect::{self, Dialect};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary;
use crate::error::Failure;

/// What the linter found.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Checked {
    report: JsValue,
    repaired: Option<String>,
}

#[wasm_bindgen]
impl Checked {
    /// `{ ok, dialect, problems }`.
    #[wasm_bindgen(getter)]
    pub fn report(&self) -> JsValue {
        self.report.clone()
    }

    /// The mended list as JSON text, with indices for messages that are the caller's own.
    #[wasm_bindgen(getter)]
    pub fn repaired(&self) -> Option<String> {
        self.repaired.clone()
    }
}

/// Checks a list of messages, in the dialect it looks like if none is given.
#[wasm_bindgen]
pub fn validate(messages: &str, dialect: Option<String>) -> Result<Checked, JsValue> {
    check(messages, dialect.as_deref()).map_err(Into::into)
}

fn check(messages: &str, dialect: Option<&str>) -> Result<Checked, Failure> {
    let values = boundary::messages(messages)?;
    let dialect = dialect.map(Dialect::named).transpose()?;
    let (validation, repaired) = dialect::validate_list(&values, dialect);
    let repaired = repaired
        .map(|list| boundary::text(&boundary::Items(&list)))
        .transpose()?;
    Ok(Checked {
        report: boundary::report(&validation)?,
        repaired,
    })
}
