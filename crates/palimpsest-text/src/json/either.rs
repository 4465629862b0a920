//! Values that are either a number or a text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A number or a text, read as `#[serde(untagged)]` would read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NumberOrText {
    /// A whole number below 2^32.
    Number(u32),
    /// A text.
    Text(String),
}

impl<'de> Deserialize<'de> for NumberOrText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

struct Either;

impl Visitor<'_> for Either {
    type Value = NumberOrText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number below 2^32 or a text")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<NumberOrText, E> {
        let number = u32::try_from(number)
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(number), &self))?;
        Ok(NumberOrText::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<NumberOrText, E> {
        Ok(NumberOrText::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<NumberOrText, E> {
        Ok(NumberOrText::Text(text))
    }
}
