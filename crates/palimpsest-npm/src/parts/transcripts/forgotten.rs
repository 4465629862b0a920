use palimpsest_core::dialect::Dialect;
use palimpsest_core::forgotten::{self, Known, Labels};
use serde::Deserialize;
use serde_json::Value;
use wasm_bindgen::JsValue;

use crate::border;
use crate::failure::Failure;
use crate::lists::count::Counter;

/// The options of `forgotten`, as a caller writes them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    dialect: Option<String>,
    labels: Option<Labels>,
    before: Vec<Vec<Value>>,
}

/// What `window` forgot of `history`: a report.
pub(super) fn forgotten(
    history: &str,
    window: &str,
    options: &str,
    counter: &Counter,
) -> Result<JsValue, Failure> {
    let options: Options = border::read(options)?;
    let known = Known {
        dialect: options.dialect.as_deref().map(Dialect::named).transpose()?,
        labels: options.labels,
        before: &options.before,
    };
    let (history, window) = (border::messages(history)?, border::messages(window)?);
    let found = forgotten::forgotten(&history, &window, &known, counter.0.as_ref())?;
    border::told(&found)
}
