//! Looks up the host's features by name. Pages, workers and Node offer different ones, and in a sandboxed frame reading
//! some names throws.

use js_sys::Reflect;
use wasm_bindgen::JsValue;

/// A property of the global object, unless it is missing or forbidden.
pub(crate) fn global(name: &str) -> Option<JsValue> {
    property(&js_sys::global(), name)
}

/// A property of an object, unless it is missing or forbidden.
pub(crate) fn property(object: &JsValue, name: &str) -> Option<JsValue> {
    let value = Reflect::get(object, &JsValue::from_str(name)).ok()?;
    (!value.is_undefined() && !value.is_null()).then_some(value)
}

/// An object literal.
pub(crate) fn object<const N: usize>(properties: [(&str, JsValue); N]) -> JsValue {
    let object = js_sys::Object::new();
    for (name, value) in properties {
        // Setting a property of a fresh object cannot fail.
        let _ = Reflect::set(&object, &JsValue::from_str(name), &value);
    }
    object.into()
}

/// The name and the message of an exception, for any thrown value.
pub(crate) fn exception(thrown: &JsValue) -> (String, String) {
    let text = |name| property(thrown, name).and_then(|value| value.as_string());
    let name = text("name").unwrap_or_else(|| "Error".to_owned());
    let message = text("message")
        .or_else(|| thrown.as_string())
        .unwrap_or_default();
    (name, message)
}
