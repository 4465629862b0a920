use palimpsest_core::dialect::{self, Dialect, Problem};
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border::{self, Items};
use crate::failure::Failure;

#[derive(Serialize)]
struct Checked<'a> {
    ok: bool,
    dialect: Dialect,
    problems: &'a [Problem],
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<Items<'a>>,
}

/// Checks a list of messages, in the dialect it looks like if none is given: JSON text of `{ ok, dialect, problems,
/// repaired? }`, where `repaired` holds indices for messages that are the caller's own.
#[wasm_bindgen(unchecked_return_type = "Border.Text<Border.Checked>")]
pub fn validate(messages: &str, dialect: Option<String>) -> Result<String, Failure> {
    check(messages, dialect.as_deref())
}

fn check(messages: &str, dialect: Option<&str>) -> Result<String, Failure> {
    let values = border::messages(messages)?;
    let dialect = dialect.map(Dialect::named).transpose()?;
    let (validation, repaired) = dialect::validate_list(&values, dialect);
    border::text(&Checked {
        ok: validation.ok,
        dialect: validation.dialect,
        problems: &validation.problems,
        repaired: repaired.as_deref().map(Items),
    })
}
