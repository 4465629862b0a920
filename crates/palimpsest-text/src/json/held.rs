//! Reads types from a [`Value`].
//!
//! Every type brings code of its own for the reader that reads it. `serde_json`'s readers look for white space, commas and
//! places of errors wherever a value begins, and that code stands in every type again. This reader only looks at what is
//! there already, so the code of a type is small. It takes texts out of the value and does not copy them.
//!
//! A struct is read from an object, and not from a list of its fields: this project writes no such lists, and a list in
//! place of an object is a mistake.

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Map, Value};

/// A value from which something is read. Nothing of it is used again.
pub(super) struct Held<'a>(pub(super) &'a mut Value);

/// Returns the error for a value that is not what the visitor expects.
#[inline(never)]
fn wrong(value: &Value, expected: &dyn Expected) -> Error {
    let found = match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => Unexpected::Unsigned(whole),
            (None, Some(whole)) => Unexpected::Signed(whole),
            (None, None) => Unexpected::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    Error::invalid_type(found, expected)
}

macro_rules! numbers {
    ($($name:ident)*) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0 {
                Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                    (Some(whole), _) => visitor.visit_u64(whole),
                    (None, Some(whole)) => visitor.visit_i64(whole),
                    (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
                },
                other => Err(wrong(other, &visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Held<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(_) => self.deserialize_f64(visitor),
            Value::String(_) => self.deserialize_string(visitor),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(_) => self.deserialize_map(visitor),
        }
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Bool(value) => visitor.visit_bool(*value),
            other => Err(wrong(other, &visitor)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(text) => visitor.visit_str(text),
            other => Err(wrong(other, &visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(text) => visitor.visit_string(std::mem::take(text)),
            other => Err(wrong(other, &visitor)),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            other => Err(wrong(other, &visitor)),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => visitor.visit_seq(Items(items.iter_mut())),
            other => Err(wrong(other, &visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) if items.len() != length => {
                Err(Error::invalid_length(items.len(), &visitor))
            }
            _ => self.deserialize_seq(visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Object(fields) => visitor.visit_map(Fields::new(fields)),
            other => Err(wrong(other, &visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(variant(self.0)?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { char bytes byte_buf }
}

/// The values of a list.
struct Items<'a>(std::slice::IterMut<'a, Value>);

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        match self.0.next() {
            Some(value) => seed.deserialize(Held(value)).map(Some),
            None => Ok(None),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The fields of an object.
struct Fields<'a> {
    left: serde_json::map::IterMut<'a>,
    value: Option<&'a mut Value>,
}

impl<'a> Fields<'a> {
    fn new(fields: &'a mut Map<String, Value>) -> Self {
        Self {
            left: fields.iter_mut(),
            value: None,
        }
    }

    #[inline(never)]
    fn key(&mut self) -> Option<&'a str> {
        let (key, value) = self.left.next()?;
        self.value = Some(value);
        Some(key)
    }

    #[inline(never)]
    fn value(&mut self) -> Result<Held<'a>, Error> {
        let value = self.value.take();
        value
            .map(Held)
            .ok_or_else(|| Error::custom("no field has begun"))
    }
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        match self.key() {
            Some(key) => seed.deserialize(Key(key)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.value()?)
    }
}

/// The key of a field: a text, or a number in a text.
struct Key<'a>(&'a str);

impl Key<'_> {
    #[inline(never)]
    fn number(&self) -> Value {
        self.0.parse::<u64>().map_or_else(
            |_| {
                self.0
                    .parse::<i64>()
                    .map_or(Value::from(self.0), Value::from)
            },
            Value::from,
        )
    }
}

macro_rules! number_keys {
    ($($name:ident)*) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            Held(&mut self.number()).$name(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.0)
    }

    number_keys! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(Variant {
            name: self.0,
            inside: None,
        })
    }

    forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

/// A variant of an enum: its name, and what is inside it.
struct Variant<'a> {
    name: &'a str,
    inside: Option<&'a mut Value>,
}

/// Returns the variant that a value stands for: its name alone, or an object with the name as its only field.
#[inline(never)]
fn variant(value: &mut Value) -> Result<Variant<'_>, Error> {
    match value {
        Value::String(name) => Ok(Variant { name, inside: None }),
        Value::Object(fields) => {
            let alone = fields.len() == 1;
            let only = fields.iter_mut().next().filter(|_| alone);
            let (name, inside) = only.ok_or_else(|| {
                Error::invalid_value(Unexpected::Map, &"an object with a single field")
            })?;
            Ok(Variant {
                name,
                inside: Some(inside),
            })
        }
        other => Err(wrong(other, &"a text or an object")),
    }
}

impl<'a> Variant<'a> {
    #[inline(never)]
    fn content(self, expected: &dyn Expected) -> Result<Held<'a>, Error> {
        let inside = self.inside.map(Held);
        inside.ok_or_else(|| Error::invalid_type(Unexpected::UnitVariant, expected))
    }
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        Ok((seed.deserialize(Key(self.name))?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.inside {
            None | Some(Value::Null) => Ok(()),
            Some(other) => Err(wrong(other, &"unit")),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.content(&"newtype variant")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        self.content(&visitor)?.deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.content(&visitor)?.deserialize_map(visitor)
    }
}
