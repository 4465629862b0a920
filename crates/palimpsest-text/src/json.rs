//! Reads JSON that is stored or sent.
//!
//! `serde_json` does the reading. Every type brings code for each kind of reader with which it is read, and serde's
//! derived code brings two more kinds wherever an enum has its tag inside or a struct is flattened into another. This
//! module therefore reads everything from text:
//!
//! - [`read`] reads a type from text. [`read_value`] reads it from a [`Value`], and [`value_of`] makes one; both go
//!   through text.
//! - `tagged!` gives an enum a tag among its fields, as `#[serde(tag = …)]` does.
//! - [`both`] reads two types from the fields of one object, as `#[serde(flatten)]` does.
//!
//! The JSON is the same to the byte as with serde's own attributes.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Error, Value};

mod either;
mod objects;
pub mod tagged;

pub use either::NumberOrText;
use objects::Objects;

/// Reads a value from JSON text.
///
/// # Errors
///
/// Those of `serde_json`, with line and column.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Objects(&mut reader))?;
    reader.end()?;
    Ok(value)
}

/// Reads a typed value from a [`Value`].
///
/// # Errors
///
/// Those of `serde_json`, without a place.
pub fn read_value<T: DeserializeOwned>(value: &Value) -> Result<T, Error> {
    read(&value.to_string()).map_err(unplaced)
}

/// Returns a value as JSON.
pub fn value_of<T: Serialize>(value: &T) -> Result<Value, Error> {
    read(&serde_json::to_string(value)?)
}

/// Reads two types from the fields of one object. Each must ignore the fields of the other.
pub fn both<'de, D, A, B>(deserializer: D) -> Result<(A, B), D::Error>
where
    D: Deserializer<'de>,
    A: DeserializeOwned,
    B: DeserializeOwned,
{
    let text = Value::deserialize(deserializer)?.to_string();
    let one = read(&text).map_err(|e| D::Error::custom(unplaced(e)))?;
    let other = read(&text).map_err(|e| D::Error::custom(unplaced(e)))?;
    Ok((one, other))
}

/// Removes the place of an error, because the text was only made for reading.
fn unplaced(error: Error) -> Error {
    let place = format!(" at line {} column {}", error.line(), error.column());
    match error.to_string().strip_suffix(&place) {
        Some(words) => Error::custom(words),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Counted {
        n: u8,
        #[serde(default)]
        names: BTreeMap<u32, f32>,
    }

    /// An error in a text names its place; an error in a value has none.
    #[test]
    fn only_texts_have_places() {
        let words = |read: Result<Counted, Error>| read.map_err(|e| e.to_string());
        for (text, why, place) in [
            (
                "{\n \"n\": 300}",
                "invalid value: integer `300`, expected u8",
                " at line 2 column 9",
            ),
            ("{}", "missing field `n`", " at line 1 column 2"),
            (
                r#"{"n":" at line 1 column 2"}"#,
                "invalid type: string \" at line 1 column 2\", expected u8",
                " at line 1 column 26",
            ),
        ] {
            let value: Value = read(text).unwrap();
            assert_eq!(words(read(text)), Err(format!("{why}{place}")));
            assert_eq!(words(read_value(&value)), Err(why.to_owned()));
        }
        assert_eq!(
            read::<Value>("[1,").unwrap_err().to_string(),
            "EOF while parsing a value at line 1 column 3"
        );
    }

    /// A list of fields is not read as a struct, at any depth.
    #[test]
    fn structs_are_objects() {
        let list: Value = read("[3,{}]").unwrap();
        let why = "invalid type: sequence, expected struct Counted";
        let words = |e: Error| unplaced(e).to_string();
        assert_eq!(read::<Counted>("[3,{}]").map_err(words), Err(why.into()));
        assert_eq!(read_value::<Counted>(&list).map_err(words), Err(why.into()));
        for inside in ["[[3,{}]]", r#"[{"n":3},[3,{}]]"#] {
            let found = read::<Vec<Option<Counted>>>(inside).map_err(words);
            assert_eq!(found, Err(why.into()), "{inside}");
        }
        let keyed = read::<BTreeMap<String, Counted>>(r#"{"a":[3,{}]}"#);
        assert_eq!(keyed.map_err(words), Err(why.into()));
    }

    /// Keys of maps may be numbers, in a text and in a value.
    #[test]
    fn numbers_are_keys() {
        let counted = Counted {
            n: 3,
            names: [(7, 0.5), (4_294_967_295, 1.0)].into(),
        };
        let value = value_of(&counted).unwrap();
        assert_eq!(
            value.to_string(),
            r#"{"n":3,"names":{"7":0.5,"4294967295":1.0}}"#
        );
        assert_eq!(read_value::<Counted>(&value).unwrap(), counted);
        assert_eq!(read::<Counted>(&value.to_string()).unwrap(), counted);
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

    /// An enum with its tag inside is written to the byte like with serde's own attribute, and read with its fields in
    /// any order, from a text and from a value.
    #[test]
    fn tags_are_as_ever() {
        let check = |text: &str| {
            let words = |e: Error| unplaced(e).to_string();
            let theirs = read::<Theirs>(text)
                .and_then(|t| serde_json::to_string(&t))
                .map_err(words);
            let value: Value = read(text).unwrap();
            for found in [read::<Ours>(text), serde_json::from_value::<Ours>(value)] {
                let found = found.and_then(|t| serde_json::to_string(&t));
                assert_eq!(found.map_err(words), theirs, "{text}");
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
        /// Strings are read back whole, and numbers as the nearest float.
        #[test]
        fn what_is_written_is_read(text in any::<String>(), number in any::<f64>(), whole in any::<i64>()) {
            let value = serde_json::json!([text, number, whole, { text.clone(): text.clone() }]);
            prop_assert_eq!(&read::<Value>(&value.to_string()).unwrap(), &value);
            prop_assert_eq!(&read_value::<Value>(&value).unwrap(), &value);
            prop_assert_eq!(&value_of(&value).unwrap(), &value);
        }
    }
}
