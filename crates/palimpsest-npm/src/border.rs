//! How everything crosses between JavaScript and Rust.
//!
//! Options, reports and other small values cross as JavaScript values. Between them and our types stands a [`Value`], so
//! that no type needs code for two formats. `serde-wasm-bindgen` makes the values that go out, with names as JavaScript
//! writes them. Options are read here, because a field that is `undefined` has to be none, and an object that holds itself an
//! error: `serde-wasm-bindgen` takes the one for `null` and never ends with the other.
//!
//! Messages cross as JSON text, and so does whatever else holds names of the caller's own: keys such as `__proto__` are only
//! data there. A list of messages comes back as an array that holds, for each message that is the caller's own, its index: the
//! caller gets its very object back.

use std::fmt;
use std::pin::Pin;

use js_sys::{Array, Object, Promise};

use palimpsest_core::dialect::Rendered;
use palimpsest_core::error::CoreError;
use palimpsest_text::json::{self, ToJson as _};
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Number, Value};
use serde_wasm_bindgen::Serializer as ToJs;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::future_to_promise;

use crate::failure::Failure;
use crate::names::rename;

/// A list of messages from its JSON text.
pub(crate) fn messages(json: &str) -> Result<Vec<Value>, Failure> {
    match json::parse(json) {
        Ok(Value::Array(values)) => Ok(values),
        Ok(_) => Err(Failure::new("bad_input", "Expected an array of messages.")),
        Err(error) => Err(Failure::new(
            "bad_input",
            format!("The messages are not JSON that can be read: {error}."),
        )),
    }
}

/// A list of messages for the caller: an index where a message is the caller's own, else the message.
#[derive(Debug)]
pub(crate) struct Items<'a>(pub(crate) &'a [Rendered]);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Item<'a>(&'a Rendered);
        impl Serialize for Item<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    Rendered::Kept(index) => index.serialize(serializer),
                    Rendered::Made(value) => value.serialize(serializer),
                }
            }
        }
        serializer.collect_seq(self.0.iter().map(Item))
    }
}

/// JSON text of something of ours.
pub(crate) fn text(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(unwritable)
}

/// JSON text of something of ours, with the names of its fields as JavaScript writes them.
pub(crate) fn named(value: &impl Serialize) -> Result<String, Failure> {
    let mut value = json::value_of(value).map_err(unwritable)?;
    rename(&mut value);
    Ok(value.to_json())
}

/// Something of ours as a JavaScript value. Every name in it is ours: `due_at` there is `dueAt`.
pub(crate) fn told(value: &impl Serialize) -> Result<JsValue, Failure> {
    let mut value = json::value_of(value).map_err(unwritable)?;
    rename(&mut value);
    crossed(&value)
}

/// A value as JavaScript has it, with the names that it has.
pub(crate) fn crossed(value: &Value) -> Result<JsValue, Failure> {
    let crossed = value.serialize(&ToJs::json_compatible());
    crossed.map_err(unwritable)
}

fn unwritable(error: impl fmt::Display) -> Failure {
    Failure::new("bad_input", error.to_string())
}

/// Options of a caller's. What does not belong there is an error that names it.
pub(crate) fn options<T: DeserializeOwned>(given: JsValue) -> Result<T, Failure> {
    taken(value(&given, 0).map_err(unusable)?)
}

/// Options that hold messages, from their JSON text.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    json::read(text).map_err(unusable)
}

/// Options from a value that is read already.
pub(crate) fn taken<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    json::take(value).map_err(unusable)
}

fn unusable(why: impl fmt::Display) -> Failure {
    Failure::new(
        "invalid_options",
        format!("The options cannot be used: {why}."),
    )
}

/// The most objects and lists of options that may stand inside of each other. An object that holds itself ends here.
const DEEPEST: u32 = 64;

/// Reads a value of the caller's. A field that is `undefined` is none.
fn value(given: &JsValue, depth: u32) -> Result<Value, &'static str> {
    if given.is_null() || given.is_undefined() {
        return Ok(Value::Null);
    }
    if let Some(is) = given.as_bool() {
        return Ok(Value::Bool(is));
    }
    if let Some(number) = given.as_f64() {
        return Ok(numeric(number));
    }
    if let Some(text) = given.as_string() {
        return Ok(Value::String(text));
    }
    if !given.is_object() || given.is_function() {
        return Err("a function, a symbol or a BigInt is no value for them");
    }
    if depth == DEEPEST {
        return Err("they hold themselves, or lie too deep");
    }
    if let Some(list) = given.dyn_ref::<Array>() {
        let items = list.iter().map(|item| value(&item, depth + 1));
        return items.collect::<Result<_, _>>().map(Value::Array);
    }
    let mut fields = Map::new();
    for entry in Object::entries(given.unchecked_ref()) {
        let entry: Array = entry.unchecked_into();
        let (name, inner) = (entry.get(0), entry.get(1));
        if !inner.is_undefined() {
            let name = name.as_string().unwrap_or_default();
            fields.insert(name, value(&inner, depth + 1)?);
        }
    }
    Ok(Value::Object(fields))
}

/// A number as JSON has it. It has no word for one that is not finite, which an error names as a text.
fn numeric(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        return Value::from(number as i64);
    }
    let finite = Number::from_f64(number).map(Value::Number);
    finite.unwrap_or_else(|| written(number).into())
}

/// Work that JavaScript waits for. Boxed first, so that the machinery around it is there once.
pub(crate) fn promise(work: impl Future<Output = Result<JsValue, Failure>> + 'static) -> Promise {
    let work: Pin<Box<dyn Future<Output = Result<JsValue, Failure>>>> = Box::pin(work);
    future_to_promise(async move { Ok(work.await?) })
}

/// A number of tokens that a caller gave, whatever it is: anything but a whole number above 0 is a typed error (F 33,
/// F 34), never silently something else.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tokens {
    Number(f64),
    Other(String),
}

impl Tokens {
    /// Tokens to keep free: 0 keeps none free.
    pub(crate) fn reserve(self) -> Result<u32, Failure> {
        let (given, why) = match self {
            Self::Number(n) if n.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&n) => {
                return Ok(n as u32);
            }
            Self::Number(n) => (written(n), "whole number of tokens, 0 or more"),
            Self::Other(what) => (what, "number of tokens"),
        };
        Err(Failure::new(
            "invalid_options",
            format!("A reserve of {given} is not possible: it must be a {why}."),
        ))
    }

    pub(crate) fn get(self) -> Result<u32, CoreError> {
        let (window, why) = match self {
            Self::Number(n) if n.fract() == 0.0 && n > 0.0 && n <= f64::from(u32::MAX) => {
                return Ok(n as u32);
            }
            Self::Number(n) => (written(n), "it must be a whole number above 0"),
            Self::Other(what) => (what, "it must be a number"),
        };
        Err(CoreError::InvalidWindow { window, why })
    }
}

/// A number as JavaScript writes it.
fn written(n: f64) -> String {
    if !n.is_finite() {
        return if n.is_nan() { "NaN" } else { "Infinity" }.to_owned();
    }
    palimpsest_text::number::shortest(n)
}

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Tokens;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of tokens")
            }
            fn visit_f64<E>(self, n: f64) -> Result<Tokens, E> {
                Ok(Tokens::Number(n))
            }
            fn visit_i64<E>(self, n: i64) -> Result<Tokens, E> {
                Ok(Tokens::Number(n as f64))
            }
            fn visit_u64<E>(self, n: u64) -> Result<Tokens, E> {
                Ok(Tokens::Number(n as f64))
            }
            fn visit_str<E>(self, text: &str) -> Result<Tokens, E> {
                Ok(Tokens::Other(format!("\"{text}\"")))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Tokens, E> {
                Ok(Tokens::Other(value.to_string()))
            }
            fn visit_unit<E>(self) -> Result<Tokens, E> {
                Ok(Tokens::Other("nothing".into()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F 33–35: limits of 0, below 0, NaN, infinite, broken, as text, beyond 32 bits.
    #[test]
    fn odd_limits_are_refused() {
        let check = |json: &str, expected: Result<u32, &str>| {
            let tokens: Tokens = serde_json::from_str(json).unwrap();
            let got = tokens.get().map_err(|e| e.to_string());
            assert_eq!(
                got.as_ref().map_err(String::as_str),
                expected.as_ref().map_err(|e| *e),
                "{json}"
            );
        };
        check("8192", Ok(8192));
        check("8192.0", Ok(8192));
        check(
            "0",
            Err("A window of 0 tokens is not possible: it must be a whole number above 0."),
        );
        check(
            "-1",
            Err("A window of -1 tokens is not possible: it must be a whole number above 0."),
        );
        check(
            "1.5",
            Err("A window of 1.5 tokens is not possible: it must be a whole number above 0."),
        );
        check(
            "4294967296",
            Err(
                "A window of 4294967296 tokens is not possible: it must be a whole number above 0.",
            ),
        );
        check(
            "\"8192\"",
            Err("A window of \"8192\" tokens is not possible: it must be a number."),
        );
        let reserve = |json: &str| {
            let tokens: Tokens = serde_json::from_str(json).unwrap();
            tokens.reserve()
        };
        assert_eq!(reserve("0"), Ok(0));
        assert_eq!(reserve("512"), Ok(512));
        for bad in ["-1", "0.5", "\"512\"", "true", "4294967296"] {
            assert!(reserve(bad).is_err(), "{bad}");
        }
        for n in [f64::NAN, f64::INFINITY] {
            assert_eq!(
                Tokens::Number(n).get().unwrap_err().code(),
                "invalid_window"
            );
        }
    }
}
