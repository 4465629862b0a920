//! Reads JSON that is stored or sent.
//!
//! A text is read into a [`Value`], and one reader of our own takes types out of values. Every type brings code
//! for each kind of reader with which it is read, and serde's derived code brings two more kinds wherever an enum has its
//! tag inside or a struct is flattened into another. So there is one reader for everything, and it is small:
//!
//! - [`parse`] reads a [`Value`] from text.
//! - [`read`] reads a type from text, [`take`] takes it out of a [`Value`], and [`read_value`] leaves the value whole.
//!   [`value_of`] makes a value, and [`ToJson`] writes one.
//! - `tagged!` gives an enum a tag among its fields, as `#[serde(tag = …)]` does.
//! - [`both`] reads two types from the fields of one object, as `#[serde(flatten)]` does.
//!
//! The JSON is the same to the byte as with serde's own attributes. A field that stands twice counts as it stands last, as
//! in every browser.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Error, Value};

mod either;
mod float;
mod held;
mod reader;
pub mod tagged;

pub use either::NumberOrText;
use held::Held;

/// Reads JSON text. Every number is the nearest float, or a whole number if it is one.
///
/// # Errors
///
/// What is not JSON, or holds more than 127 lists and objects inside of each other, with line and column.
pub fn parse(text: &str) -> Result<Value, Error> {
    reader::value(text)
}

/// Reads a type from JSON text.
///
/// # Errors
///
/// Those of [`parse`] for what is not JSON, and those of [`take`] for what has another shape.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    take(parse(text)?)
}

/// Takes a typed value out of a [`Value`].
///
/// # Errors
///
/// Those of `serde_json`, without a place.
pub fn take<T: DeserializeOwned>(mut value: Value) -> Result<T, Error> {
    T::deserialize(Held(&mut value))
}

/// Reads a typed value from a [`Value`] that is needed afterwards.
///
/// # Errors
///
/// Those of [`take`].
pub fn read_value<T: DeserializeOwned>(value: &Value) -> Result<T, Error> {
    take(value.clone())
}

/// Writes a value as JSON text. `to_string` of a [`Value`] writes the same, with code for a readable form beside it that nobody
/// needs.
pub trait ToJson {
    /// Returns the text, on one line.
    fn to_json(&self) -> String;
}

impl ToJson for Value {
    fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns a value as JSON.
pub fn value_of<T: Serialize>(value: &T) -> Result<Value, Error> {
    parse(&serde_json::to_string(value)?)
}

/// Reads two types from the fields of one object. Each must ignore the fields of the other.
pub fn both<'de, D, A, B>(deserializer: D) -> Result<(A, B), D::Error>
where
    D: Deserializer<'de>,
    A: DeserializeOwned,
    B: DeserializeOwned,
{
    let value = Value::deserialize(deserializer)?;
    let one = read_value(&value).map_err(D::Error::custom)?;
    let other = take(value).map_err(D::Error::custom)?;
    Ok((one, other))
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

    /// An error names its place where the text is no JSON, and what is wrong where it has another shape.
    #[test]
    fn errors_say_what_is_wrong() {
        let check = |text: &str, expected: &str| {
            let read = read::<Counted>(text).map_err(|e| e.to_string());
            assert_eq!(read, Err(expected.to_owned()), "{text}");
        };
        check(
            "{\n \"n\": 300}",
            "invalid value: integer `300`, expected u8",
        );
        check("{}", "missing field `n`");
        check(r#"{"n":null}"#, "invalid type: null, expected u8");
        check(r#"{"n":"x"}"#, "invalid type: string \"x\", expected u8");
        check(r#"{"n":-1}"#, "invalid value: integer `-1`, expected u8");
        check(
            r#"{"n":1.5}"#,
            "invalid type: floating point `1.5`, expected u8",
        );
        check(
            r#"{"n":1,"names":[]}"#,
            "invalid type: sequence, expected a map",
        );
        check("[1,", "EOF while parsing a value at line 1 column 3");
        check("{}}", "trailing characters at line 1 column 3");
    }

    /// The same values come out of a text as with `serde_json`'s own reader: names of variants, what they hold, and lists of
    /// a length that is known.
    #[test]
    fn shapes_are_as_ever() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        enum Shape {
            Bare,
            One(Option<Box<Counted>>),
            Two(u8, String),
            Named { at: (i64, f32), last: Option<()> },
        }
        let check = |text: &str| {
            let words = |read: Result<Vec<Shape>, Error>| read.map_err(|_| ());
            let theirs = words(serde_json::from_str(text));
            assert_eq!(words(read(text)), theirs, "{text}");
        };
        check(r#"["Bare",{"Bare":null},{"One":null},{"One":{"n":1,"other":[]}}]"#);
        check(r#"[{"Two":[1,"x"]},{"Named":{"last":null,"at":[-3,0.1]}}]"#);
        check(r#"[{"Two":[1]}]"#);
        check(r#"[{"Two":[1,"x",2]}]"#);
        check(r#"["Two"]"#);
        check(r#"["Other"]"#);
        check("[{}]");
        check(r#"[{"Bare":1}]"#);
        check(r#"[{"Bare":null,"One":null}]"#);
        check("[7]");
        check("{}");
    }

    /// A list of fields is not read as a struct, at any depth.
    #[test]
    fn structs_are_objects() {
        let list = parse("[3,{}]").unwrap();
        let why = "invalid type: sequence, expected struct Counted";
        let words = |e: Error| e.to_string();
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
            let words = |e: Error| e.to_string();
            let theirs = read::<Theirs>(text)
                .and_then(|t| serde_json::to_string(&t))
                .map_err(words);
            let value = parse(text).unwrap();
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
            prop_assert_eq!(&parse(&value.to_string()).unwrap(), &value);
            prop_assert_eq!(&read::<Value>(&value.to_string()).unwrap(), &value);
            prop_assert_eq!(&read_value::<Value>(&value).unwrap(), &value);
            prop_assert_eq!(&value_of(&value).unwrap(), &value);
        }
    }
}
