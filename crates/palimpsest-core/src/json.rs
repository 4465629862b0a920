//! How what is stored and wired is read from JSON.
//!
//! Every type that is read brings code for each kind of reader it is read with, and serde's derived code brings two more
//! kinds wherever an enum has its tag inside or a struct is flattened into another. Here is one reader, and what keeps to it:
//!
//! - [`read`] reads a type from text, [`read_value`] from a [`Value`] and [`value_of`] makes one, both by way of text;
//! - `tagged!` gives an enum a tag among its fields, as `#[serde(tag = …)]` does;
//! - [`both`] reads two types from the fields of one object, as `#[serde(flatten)]` does.
//!
//! What is read and written is the same to the byte as with serde's own attributes, whichever reader is used.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Error, Value};

mod either;
mod reader;
pub mod tagged;

pub use either::NumberOrText;

/// Reads a value from JSON text. The errors are those of `serde_json`, with line and column.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    reader::whole(text, true)
}

/// Reads a value from one that was read already. Errors have no place.
pub fn read_value<T: DeserializeOwned>(value: &Value) -> Result<T, Error> {
    reader::whole(&value.to_string(), false)
}

/// What a value looks like as JSON.
pub fn value_of<T: Serialize>(value: &T) -> Result<Value, Error> {
    read(&serde_json::to_string(value)?)
}

/// Reads two types from the fields of one object. Each must ignore what is the other's.
pub fn both<'de, D, A, B>(deserializer: D) -> Result<(A, B), D::Error>
where
    D: Deserializer<'de>,
    A: DeserializeOwned,
    B: DeserializeOwned,
{
    let text = Value::deserialize(deserializer)?.to_string();
    let one = reader::whole(&text, false).map_err(D::Error::custom)?;
    let other = reader::whole(&text, false).map_err(D::Error::custom)?;
    Ok((one, other))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// What `serde_json` reads from a text, and how it refuses it.
    fn usual<T: DeserializeOwned>(text: &str) -> Result<T, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    fn ours<T: DeserializeOwned>(text: &str) -> Result<T, String> {
        read(text).map_err(|error| error.to_string())
    }

    /// Texts that are JSON are read as `serde_json` reads them, and others refused with the same words at the same
    /// place.
    #[test]
    fn values_are_read_as_ever() {
        let mut other = Vec::new();
        let mut check = |text: &str| {
            let (ours, usual) = (ours::<Value>(text), usual::<Value>(text));
            if ours != usual {
                other.push((text.to_owned(), ours, usual));
            }
        };
        let texts = [
            " {\"a\": [1, -2, 3.5, true, false, null, \"x\"]} ",
            "[0, -0, 18446744073709551615, 18446744073709551616, -9223372036854775808, 1e3, 2E-2, 1e999]",
            r#""\u00e4\n\t\"\\\/\b\f\r \ud83d\ude00 ü""#,
            "",
            "  ",
            "nul",
            "nulx",
            "tru",
            "01",
            "-",
            "1.",
            "1e",
            "1e+",
            ".5",
            "[1,]",
            "[1 2]",
            "[1",
            "[",
            "[,1]",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{a:1}",
            "{1:1}",
            "{\"a\":1 \"b\":2}",
            "1 2",
            "{} x",
            "]",
            "\"a",
            "\"a\nb\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\ud83d\"",
            "\"\\ud83dx\"",
            "\"\\ud83d\\u0041\"",
            "\"\\ude00\"",
            "{\n  \"a\": 1,\n  b\n}",
        ];
        texts.into_iter().for_each(&mut check);
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        check(&nested(127));
        check(&nested(128));
        assert_eq!(other, []);
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        n: u8,
        #[serde(default)]
        text: Option<String>,
        by: Kind,
        #[serde(default)]
        names: BTreeMap<u32, f32>,
        #[serde(default)]
        pair: (i8, char),
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Plain,
        One(u8),
        Named { x: bool },
    }

    /// Types are read as `serde_json` reads them, and the words of a refusal are the same.
    #[test]
    fn types_are_read_as_ever() {
        let check = |text: &str| {
            let words = |read: Result<Strict, String>| {
                read.map_err(|e| e.split(" at line").next().unwrap_or_default().to_owned())
            };
            assert_eq!(
                words(ours::<Strict>(text)),
                words(usual::<Strict>(text)),
                "{text}"
            );
        };
        check(r#"{"n":3,"by":"plain","names":{"7":0.5},"pair":[-1,"ß"],"text":"a\u0062"}"#);
        check(r#"{"n":3,"by":{"one":4},"text":null}"#);
        check(r#"{"n":3,"by":{"named":{"x":true}}}"#);
        check(r#"{"n":3,"by":{"plain":null}}"#);
        check(r#"{"n":300,"by":"plain"}"#);
        check(r#"{"n":-1,"by":"plain"}"#);
        check(r#"{"n":1.5,"by":"plain"}"#);
        check(r#"{"n":"1","by":"plain"}"#);
        check(r#"{"n":null,"by":"plain"}"#);
        check(r#"{"n":[1],"by":"plain"}"#);
        check(r#"{"n":1,"by":"other"}"#);
        check(r#"{"n":1,"by":"one"}"#);
        check(r#"{"n":1,"by":"plain","other":1}"#);
        check(r#"{"n":1,"n":2,"by":"plain"}"#);
        check(r#"{"n":1}"#);
        check(r#"{"n":1,"by":"plain","text":5}"#);
        check(r#"{"n":1,"by":"plain","text":true}"#);
        check(r#"{"n":1,"by":"plain","pair":[1,"x",2]}"#);
        check(r#"{"n":1,"by":"plain","pair":[1]}"#);
        check("7");
        check("\"x\"");
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
    enum Theirs {
        Alone,
        Text {
            text: String,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            more: Option<u32>,
        },
        Whole(Inner),
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(remote = "Self", rename_all = "snake_case", deny_unknown_fields)]
    enum Ours {
        Alone,
        Text {
            text: String,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            more: Option<u32>,
        },
        Whole(Inner),
    }

    crate::tagged!(Ours, "type");

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Inner {
        a: f64,
        b: Vec<String>,
    }

    /// An enum with its tag inside is written to the byte as serde's own attribute writes it, and read from any order
    /// of its fields, by this reader and by others.
    #[test]
    fn tags_are_as_ever() {
        let check = |text: &str| {
            let theirs: Result<Theirs, String> = usual(text);
            let written = |e: Result<String, _>| e.map_err(|e: Error| e.to_string());
            let again = theirs
                .clone()
                .and_then(|t| written(serde_json::to_string(&t)));
            for found in [ours::<Ours>(text), usual::<Ours>(text)] {
                let words = |e: &String| e.split(" at line").next().unwrap_or_default().to_owned();
                let found = found.and_then(|t| written(serde_json::to_string(&t)));
                assert_eq!(
                    found.as_ref().map_err(words),
                    again.as_ref().map_err(words),
                    "{text}"
                );
            }
        };
        check(r#"{"type":"alone"}"#);
        check(r#"{"type":"alone","left":[1]}"#);
        check(r#"{"left":{},"type":"alone"}"#);
        check(r#"{"type":"text","text":"a\"b"}"#);
        check(r#"{"type":"text","text":"a","more":7}"#);
        check(r#"{"more":7,"text":"a","type":"text"}"#);
        check(r#"{"type":"text","text":"a","other":7}"#);
        check(r#"{"other":1,"type":"text","text":"a"}"#);
        check(r#"{"type":"text"}"#);
        check(r#"{"type":"whole","a":0.1,"b":["x"]}"#);
        check(r#"{"b":["x"],"type":"whole","a":2}"#);
        check(r#"{"type":"else"}"#);
        check(r#"{"text":"a"}"#);
    }

    proptest! {
        /// Whatever the text, what is read and what is refused is the same; so is what is written and read again.
        #[test]
        fn any_text_is_read_as_ever(text in "[\\[\\]{}\",:0-9eE.+\\-nulltrfasu\\\\ ]{0,12}") {
            prop_assert_eq!(read::<Value>(&text).is_ok(), serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
        }

        /// Strings come back whole, and numbers as the nearest that a float can be.
        #[test]
        fn what_is_written_is_read(text in any::<String>(), number in any::<f64>(), whole in any::<i64>()) {
            let value = serde_json::json!([text, number, whole, { text.clone(): text.clone() }]);
            prop_assert_eq!(&read::<Value>(&value.to_string()).unwrap(), &value);
            prop_assert_eq!(&read_value::<Value>(&value).unwrap(), &value);
            prop_assert_eq!(&value_of(&value).unwrap(), &value);
        }
    }
}
