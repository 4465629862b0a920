//! How everything crosses between JavaScript and Rust.
//!
//! Options, reports and other small values cross as JavaScript values, by `serde-wasm-bindgen`. Between them and our types
//! stands a [`Value`], so that no type needs code for two formats. Names of ours are written as each side writes them.
//!
//! Messages cross as JSON text, and so does whatever else holds names of the caller's own: keys such as `__proto__` are only
//! data there, and one text of a long list is read faster than its values one by one. A list of messages comes back as an
//! array that holds, for each message that is the caller's own, its index: the caller gets its very object back.

use std::fmt;
use std::pin::Pin;

use js_sys::Promise;

use palimpsest_core::dialect::Rendered;
use palimpsest_core::error::CoreError;
use palimpsest_text::json::{self, ToJson as _};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Number, Value};
use serde_wasm_bindgen::{Error, Serializer as ToJs, preserve};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::future_to_promise;

use crate::failure::Failure;

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

/// Writes the names of fields as JavaScript does.
fn rename(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(rename),
        Value::Object(fields) => {
            fields.values_mut().for_each(rename);
            if fields.keys().any(|name| name.contains('_')) {
                let all = std::mem::take(fields).into_iter();
                *fields = all.map(|(name, value)| (camel(&name), value)).collect();
            }
        }
        _ => {}
    }
}

/// `retry_after_ms` as JavaScript writes it.
pub(crate) fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut whole, part| {
        let (head, rest) = part.split_at(part.len().min(1));
        whole.push_str(&head.to_ascii_uppercase());
        whole.push_str(rest);
        whole
    })
}

/// Options of a caller's. What does not belong there is an error that names it.
pub(crate) fn options<T: DeserializeOwned>(given: JsValue) -> Result<T, Failure> {
    let value = Given { depth: 0 }.deserialize(serde_wasm_bindgen::Deserializer::from(given));
    value.map_err(unusable).and_then(taken)
}

/// Options that hold messages, from their JSON text.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    json::read(text).map_err(unusable)
}

/// Options from a value that is read already.
pub(crate) fn taken<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    json::take(value).map_err(unusable)
}

fn unusable(error: impl fmt::Display) -> Failure {
    // an error of the other side begins with its class
    let error = error.to_string();
    let why = error.trim_start_matches("Error: ");
    Failure::new(
        "invalid_options",
        format!("The options cannot be used: {why}."),
    )
}

/// The most objects and lists of options that may stand inside of each other. An object that holds itself ends here.
const DEEPEST: u32 = 64;

/// Reads a value of the caller's. A field that is `undefined` is none.
struct Given {
    depth: u32,
}

impl Given {
    fn inner<E: serde::de::Error>(&self) -> Result<Inner, E> {
        if self.depth == DEEPEST {
            return Err(E::custom("they hold themselves, or lie too deep"));
        }
        Ok(Inner {
            depth: self.depth + 1,
        })
    }
}

impl<'de> DeserializeSeed<'de> for Given {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Given {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true, false, null, a list or a plain object")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    /// JSON has no word for a number that is not finite, so an error names it as a text.
    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        let finite = Number::from_f64(number).map(Value::Number);
        Ok(finite.unwrap_or_else(|| written(number).into()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_byte_buf<E: serde::de::Error>(self, bytes: Vec<u8>) -> Result<Value, E> {
        Err(E::invalid_type(Unexpected::Bytes(&bytes), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(self.inner()?)? {
            items.push(item.unwrap_or_default());
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = object.next_key()? {
            if let Some(value) = object.next_value_seed(self.inner()?)? {
                fields.insert(name, value);
            }
        }
        Ok(Value::Object(fields))
    }
}

/// Reads what a list or an object holds: `None` for `undefined`.
struct Inner {
    depth: u32,
}

impl<'de> DeserializeSeed<'de> for Inner {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Value>, D::Error> {
        let given: JsValue = preserve::deserialize(deserializer)?;
        if given.is_undefined() {
            return Ok(None);
        }
        let read =
            Given { depth: self.depth }.deserialize(serde_wasm_bindgen::Deserializer::from(given));
        read.map(Some)
            .map_err(|error: Error| D::Error::custom(error))
    }
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
