//! Converts keys of rows to the form of IndexedDB: arrays of numbers and texts.

use js_sys::Array;
use palimpsest_engine::ports::{Key, KeyPart};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::IdbKeyRange;

/// A key for IndexedDB.
pub(super) fn to_js(key: &[KeyPart]) -> JsValue {
    let parts = Array::new();
    for part in key {
        parts.push(&match part {
            KeyPart::Number(n) => JsValue::from(*n),
            KeyPart::Text(text) => JsValue::from_str(text),
        });
    }
    parts.into()
}

/// Converts a key from IndexedDB. `None` if this program did not make it.
pub(super) fn from_js(key: &JsValue) -> Option<Key> {
    let parts = key.dyn_ref::<Array>()?;
    parts.iter().map(|part| part_from_js(&part)).collect()
}

fn part_from_js(part: &JsValue) -> Option<KeyPart> {
    if let Some(text) = part.as_string() {
        return Some(KeyPart::Text(text));
    }
    let number = part.as_f64()?;
    let whole = number as u32;
    (f64::from(whole).to_bits() == number.to_bits()).then_some(KeyPart::Number(whole))
}

/// The range of keys from `first` to before `end`. The caller has checked that it is not empty, because IndexedDB
/// throws for an empty range.
pub(super) fn range(first: &Key, end: Option<&Key>) -> Result<IdbKeyRange, JsValue> {
    match end {
        Some(end) => IdbKeyRange::bound_with_lower_open_and_upper_open(
            &to_js(first),
            &to_js(end),
            false,
            true,
        ),
        None => IdbKeyRange::lower_bound(&to_js(first)),
    }
}
