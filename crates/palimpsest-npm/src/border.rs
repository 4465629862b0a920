//! How everything crosses between JavaScript and Rust.
//!
//! Everything structured crosses as JSON text: keys such as `__proto__` are only data there, fractions keep their shortest
//! form, and one reader and one writer are half the code of two. A list of messages comes back as an array that holds, for
//! each message that is the caller's own, its index: the caller gets its very object back.

use std::fmt;
use std::pin::Pin;

use js_sys::Promise;

use palimpsest_core::dialect::Rendered;
use palimpsest_core::error::CoreError;
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::future_to_promise;

use crate::failure::Failure;

/// A list of messages from its JSON text.
pub(crate) fn messages(json: &str) -> Result<Vec<Value>, Failure> {
    match palimpsest_text::json::parse(json) {
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
    serde_json::to_string(value).map_err(|error| Failure::new("bad_input", error.to_string()))
}

/// Options from their JSON text. What does not belong there is an error that names it.
pub(crate) fn options<T: DeserializeOwned>(json: &str) -> Result<T, Failure> {
    palimpsest_text::json::read(json).map_err(|error| {
        Failure::new(
            "invalid_options",
            format!("The options cannot be used: {error}."),
        )
    })
}

/// Work that JavaScript waits for. Boxed first, so that the machinery around it is there once.
pub(crate) fn promise(work: impl Future<Output = Result<String, Failure>> + 'static) -> Promise {
    let work: Pin<Box<dyn Future<Output = Result<String, Failure>>>> = Box::pin(work);
    future_to_promise(async move { Ok(JsValue::from(work.await?)) })
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
