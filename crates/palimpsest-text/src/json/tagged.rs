//! Reads and writes enums whose variants a field of the object tells apart.
//!
//! serde's derived code for `#[serde(tag = …)]` first reads the whole object into a buffer and then each variant from
//! it, which doubles the code for every type inside. This module reads the tag, and then the variant from the rest,
//! with the one reader that reads everything. If the tag is not the first field, it makes the object anew with the tag in
//! front.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IgnoredAny,
    IntoDeserializer, MapAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde::ser::{
    Error as _, Impossible, SerializeMap, SerializeStruct, SerializeStructVariant, Serializer,
};
use serde_json::Value;

/// Makes this field the tag of an enum that derives `Serialize` and `Deserialize` with `#[serde(remote = "Self")]`.
#[macro_export]
macro_rules! tagged {
    ($type:ty, $tag:literal) => {
        impl $crate::json::tagged::Choice for $type {
            const TAG: &'static str = $tag;

            fn choose<'de, D: serde::Deserializer<'de>>(variant: D) -> Result<Self, D::Error> {
                Self::deserialize(variant)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::json::tagged::read(deserializer)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, $crate::json::tagged::Tagging::new($tag, serializer))
            }
        }
    };
}

/// An enum to which `tagged!` was applied.
pub trait Choice: DeserializeOwned {
    /// The name of the field.
    const TAG: &'static str;

    /// Reads it with the derived code, from a variant with its name.
    fn choose<'de, D: Deserializer<'de>>(variant: D) -> Result<Self, D::Error>;
}

/// Reads such an enum from an object.
pub fn read<'de, T: Choice, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(Object(PhantomData))
}

struct Object<T>(PhantomData<T>);

impl<'de, T: Choice> Visitor<'de> for Object<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}`", T::TAG)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut rest: A) -> Result<T, A::Error> {
        match begin(T::TAG, &mut rest)? {
            Begun::Tag(tag) => T::choose(Variant { tag, rest }),
            Begun::Whole(object) => super::take(object).map_err(A::Error::custom),
        }
    }
}

enum Begun {
    /// The tag is the first field.
    Tag(String),
    /// The whole object, with the tag first.
    Whole(Value),
}

fn begin<'de, A: MapAccess<'de>>(tag: &'static str, fields: &mut A) -> Result<Begun, A::Error> {
    let mut before: Vec<(String, Value)> = Vec::new();
    let mut found = None;
    while let Some(key) = fields.next_key::<String>()? {
        if found.is_none() && key == tag {
            let name: String = fields.next_value()?;
            if before.is_empty() {
                return Ok(Begun::Tag(name));
            }
            found = Some(name);
        } else {
            before.push((key, fields.next_value()?));
        }
    }
    let name = found.ok_or_else(|| A::Error::missing_field(tag))?;
    let front = (tag.to_owned(), Value::from(name));
    Ok(Begun::Whole(std::iter::once(front).chain(before).collect()))
}

/// A variant whose name is read and whose fields are not.
struct Variant<A> {
    tag: String,
    rest: A,
}

impl<'de, A: MapAccess<'de>> Deserializer<'de> for Variant<A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for Variant<A> {
    type Error = A::Error;
    type Variant = Fields<A>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Fields<A>), A::Error> {
        let variant = seed.deserialize(self.tag.as_str().into_deserializer())?;
        Ok((variant, Fields(self.rest)))
    }
}

struct Fields<A>(A);

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for Fields<A> {
    type Error = A::Error;

    fn unit_variant(mut self) -> Result<(), A::Error> {
        while self.0.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        seed.deserialize(MapAccessDeserializer::new(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, A::Error> {
        Err(A::Error::custom(UNTAGGED))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }
}

const UNTAGGED: &str = "what is no object has no place for a tag";

/// Writes the derived form of an enum (a name and the content beside it) as one object with the name under the tag. The
/// same type writes the content of a variant that holds one struct; `variant` then has the variant's name.
pub struct Tagging<S> {
    tag: &'static str,
    variant: &'static str,
    to: S,
}

impl<S: Serializer> Tagging<S> {
    /// Creates a writer before the variant is known.
    pub fn new(tag: &'static str, to: S) -> Self {
        Self {
            tag,
            variant: "",
            to,
        }
    }

    fn begin(
        self,
        name: &'static str,
        variant: &'static str,
        fields: usize,
    ) -> Result<Variants<S::SerializeStruct>, S::Error> {
        let mut to = self.to.serialize_struct(name, fields + 1)?;
        to.serialize_field(self.tag, variant)?;
        Ok(Variants(to))
    }
}

/// Writes the struct of a variant.
pub struct Variants<S>(S);

impl<S: SerializeStruct> SerializeStructVariant for Variants<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), S::Error> {
        self.0.serialize_field(key, value)
    }

    fn skip_field(&mut self, key: &'static str) -> Result<(), S::Error> {
        self.0.skip_field(key)
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}

macro_rules! no_object {
    ($($name:ident($($type:ty),*) -> $ok:ty;)*) => {$(
        fn $name(self $(, _: $type)*) -> Result<$ok, S::Error> {
            Err(S::Error::custom(UNTAGGED))
        }
    )*};
}

impl<S: Serializer> Serializer for Tagging<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Impossible<S::Ok, S::Error>;
    type SerializeTuple = Impossible<S::Ok, S::Error>;
    type SerializeTupleStruct = Impossible<S::Ok, S::Error>;
    type SerializeTupleVariant = Impossible<S::Ok, S::Error>;
    type SerializeMap = S::SerializeMap;
    type SerializeStruct = S::SerializeStruct;
    type SerializeStructVariant = Variants<S::SerializeStruct>;

    fn serialize_unit_variant(
        self,
        name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.begin(name, variant, 0)?.end()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        value.serialize(Self { variant, ..self })
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _index: u32,
        variant: &'static str,
        fields: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.begin(name, variant, fields)
    }

    fn serialize_struct(
        self,
        name: &'static str,
        fields: usize,
    ) -> Result<S::SerializeStruct, S::Error> {
        let variant = self.variant;
        Ok(self.begin(name, variant, fields)?.0)
    }

    fn serialize_map(self, fields: Option<usize>) -> Result<S::SerializeMap, S::Error> {
        let mut to = self.to.serialize_map(fields.map(|n| n + 1))?;
        to.serialize_entry(self.tag, self.variant)?;
        Ok(to)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _value: &T) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom(UNTAGGED))
    }

    no_object! {
        serialize_bool(bool) -> S::Ok;
        serialize_i8(i8) -> S::Ok;
        serialize_i16(i16) -> S::Ok;
        serialize_i32(i32) -> S::Ok;
        serialize_i64(i64) -> S::Ok;
        serialize_u8(u8) -> S::Ok;
        serialize_u16(u16) -> S::Ok;
        serialize_u32(u32) -> S::Ok;
        serialize_u64(u64) -> S::Ok;
        serialize_f32(f32) -> S::Ok;
        serialize_f64(f64) -> S::Ok;
        serialize_char(char) -> S::Ok;
        serialize_str(&str) -> S::Ok;
        serialize_bytes(&[u8]) -> S::Ok;
        serialize_none() -> S::Ok;
        serialize_unit() -> S::Ok;
        serialize_unit_struct(&'static str) -> S::Ok;
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
    }
}
