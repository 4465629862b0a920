//! A reader of JSON text for serde: strict, with the limits and the errors of `serde_json`.
//!
//! What differs from `serde_json` is what the compiler makes of it: whatever does not depend on the type that is read is a
//! plain function here, structs are read from objects only, and keys are not looked at as anything but text.

use std::borrow::Cow;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected,
    IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Error;

type Result<T> = std::result::Result<T, Error>;

/// As in `serde_json`: values within values.
const DEEPEST: u8 = 127;

/// Reads a whole text. Errors name their place if `placed`.
pub(super) fn whole<T: DeserializeOwned>(text: &str, placed: bool) -> Result<T> {
    let mut reader = Reader {
        text,
        at: 0,
        deep: 0,
    };
    match T::deserialize(&mut reader) {
        Ok(value) => {
            reader.end()?;
            Ok(value)
        }
        Err(error) if placed => Err(reader.placed(error)),
        Err(error) => Err(error),
    }
}

struct Reader<'de> {
    text: &'de str,
    /// The next byte.
    at: usize,
    /// How many lists and objects it is in.
    deep: u8,
}

enum Number {
    Whole(u64),
    Negative(i64),
    Real(f64),
}

impl<'de> Reader<'de> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other,
            }
        }
    }

    fn fault(&self, what: &str) -> Error {
        self.at_byte(what, (self.at + 1).min(self.text.len()))
    }

    fn at_byte(&self, what: &str, at: usize) -> Error {
        let before = &self.text.as_bytes()[..at];
        let line = before.split(|b| *b == b'\n').count();
        let start = before
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |newline| newline + 1);
        // serde_json takes the place out of the words
        Error::custom(format!("{what} at line {line} column {}", at - start))
    }

    fn placed(&self, error: Error) -> Error {
        if error.line() == 0 {
            self.at_byte(&error.to_string(), self.at)
        } else {
            error
        }
    }

    fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.fault("trailing characters")),
        }
    }

    fn word(&mut self, word: &str) -> Result<()> {
        for expected in word.bytes() {
            match self.byte() {
                Some(byte) if byte == expected => self.at += 1,
                Some(_) => return Err(self.fault("expected ident")),
                None => return Err(self.fault("EOF while parsing a value")),
            }
        }
        Ok(())
    }

    /// Goes into a list or an object.
    fn open(&mut self) -> Result<()> {
        if self.deep == DEEPEST {
            return Err(self.fault("recursion limit exceeded"));
        }
        self.deep += 1;
        self.at += 1;
        Ok(())
    }

    /// Goes out of one.
    fn close(&mut self, end: u8) -> Result<()> {
        self.deep -= 1;
        match self.peek() {
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(())
            }
            None => Err(self.fault(unfinished(end))),
            Some(_) => Err(self.fault("trailing characters")),
        }
    }

    /// Whether another item or entry comes before `end`; then it is next.
    fn more(&mut self, first: &mut bool, end: u8) -> Result<bool> {
        let was_first = std::mem::take(first);
        match self.peek() {
            Some(byte) if byte == end => return Ok(false),
            Some(b',') if !was_first => self.at += 1,
            None => return Err(self.fault(unfinished(end))),
            Some(_) if was_first => {}
            Some(_) if end == b']' => return Err(self.fault("expected `,` or `]`")),
            Some(_) => return Err(self.fault("expected `,` or `}`")),
        }
        match self.peek() {
            Some(byte) if byte == end => Err(self.fault("trailing comma")),
            Some(b'"') => Ok(true),
            Some(_) if end == b'}' => Err(self.fault("key must be a string")),
            Some(_) => Ok(true),
            None => Err(self.fault("EOF while parsing a value")),
        }
    }

    fn colon(&mut self) -> Result<()> {
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.fault("expected `:`")),
            None => Err(self.fault(unfinished(b'}'))),
        }
    }

    /// The string whose quotation mark is next.
    fn string(&mut self) -> Result<Cow<'de, str>> {
        self.at += 1;
        let mut whole = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(length) = rest
                .bytes()
                .position(|b| b == b'"' || b == b'\\' || b < 0x20)
            else {
                self.at = self.text.len();
                return Err(self.fault("EOF while parsing a string"));
            };
            let (plain, stop) = (&rest[..length], rest.as_bytes()[length]);
            self.at += length;
            match stop {
                b'"' => {
                    self.at += 1;
                    if whole.is_empty() {
                        return Ok(Cow::Borrowed(plain));
                    }
                    whole.push_str(plain);
                    return Ok(Cow::Owned(whole));
                }
                b'\\' => {
                    self.at += 1;
                    whole.push_str(plain);
                    whole.push(self.escaped()?);
                }
                _ => {
                    return Err(self.fault(
                        "control character (\\u0000-\\u001F) found while parsing a string",
                    ));
                }
            }
        }
    }

    /// The character that is written after a backslash.
    fn escaped(&mut self) -> Result<char> {
        let Some(byte) = self.byte() else {
            return Err(self.fault("EOF while parsing a string"));
        };
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.at_byte("invalid escape", self.at)),
        })
    }

    fn unicode(&mut self) -> Result<char> {
        let first = self.hex()?;
        let code = match first {
            0xD800..0xDC00 => {
                for expected in [b'\\', b'u'] {
                    match self.byte() {
                        Some(byte) if byte == expected => self.at += 1,
                        Some(_) => return Err(self.fault("unexpected end of hex escape")),
                        None => return Err(self.fault("EOF while parsing a string")),
                    }
                }
                let second = self.hex()?;
                if !(0xDC00..0xE000).contains(&second) {
                    return Err(self.at_byte("lone leading surrogate in hex escape", self.at));
                }
                0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            }
            other => other,
        };
        char::from_u32(code)
            .ok_or_else(|| self.at_byte("lone leading surrogate in hex escape", self.at))
    }

    fn hex(&mut self) -> Result<u32> {
        let Some(digits) = self.text.as_bytes().get(self.at..self.at + 4) else {
            self.at = self.text.len();
            return Err(self.fault("EOF while parsing a string"));
        };
        self.at += 4;
        digits.iter().try_fold(0, |code, digit| {
            let digit = char::from(*digit).to_digit(16);
            digit
                .map(|digit| code * 16 + digit)
                .ok_or_else(|| self.at_byte("invalid escape", self.at))
        })
    }

    /// The number whose sign or first digit is next.
    fn number(&mut self) -> Result<Number> {
        let start = self.at;
        let negative = self.byte() == Some(b'-');
        self.at += usize::from(negative);
        match self.byte() {
            Some(b'0') => {
                self.at += 1;
                if self.byte().is_some_and(|b| b.is_ascii_digit()) {
                    return Err(self.fault("invalid number"));
                }
            }
            _ => self.digits()?,
        }
        let whole = self.at;
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        if whole == self.at {
            if !negative && let Ok(number) = text.parse() {
                return Ok(Number::Whole(number));
            }
            // `-0` is a number that only a float can be
            if negative
                && let Ok(number) = text.parse::<i64>()
                && number != 0
            {
                return Ok(Number::Negative(number));
            }
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Number::Real(number)),
            _ => Err(self.at_byte("number out of range", self.at)),
        }
    }

    fn digits(&mut self) -> Result<()> {
        match self.byte() {
            Some(b'0'..=b'9') => {}
            Some(_) => return Err(self.fault("invalid number")),
            None => return Err(self.fault("EOF while parsing a value")),
        }
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        Ok(())
    }

    /// Passes over a value.
    fn skip(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'n') => self.word("null"),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'"') => self.string().map(drop),
            Some(b'-' | b'0'..=b'9') => self.number().map(drop),
            Some(open @ (b'[' | b'{')) => {
                // both end two after they open
                let end = open + 2;
                self.open()?;
                let mut first = true;
                while self.more(&mut first, end)? {
                    if end == b'}' {
                        self.string()?;
                        self.colon()?;
                    }
                    self.skip()?;
                }
                self.close(end)
            }
            Some(_) => Err(self.fault("expected value")),
            None => Err(self.fault("EOF while parsing a value")),
        }
    }

    /// What is next is not what was expected.
    fn unexpected(&mut self, expected: &dyn Expected) -> Error {
        let found = match self.peek() {
            Some(b'n') => self.word("null").map(|()| Unexpected::Unit),
            Some(b't') => self.word("true").map(|()| Unexpected::Bool(true)),
            Some(b'f') => self.word("false").map(|()| Unexpected::Bool(false)),
            Some(b'"') => match self.string() {
                Ok(text) => {
                    return self.placed(Error::invalid_type(Unexpected::Str(&text), expected));
                }
                Err(error) => Err(error),
            },
            Some(b'[') => Ok(Unexpected::Seq),
            Some(b'{') => Ok(Unexpected::Map),
            Some(b'-' | b'0'..=b'9') => self.number().map(|number| match number {
                Number::Whole(number) => Unexpected::Unsigned(number),
                Number::Negative(number) => Unexpected::Signed(number),
                Number::Real(number) => Unexpected::Float(number),
            }),
            Some(_) => Err(self.fault("expected value")),
            None => Err(self.fault("EOF while parsing a value")),
        };
        match found {
            Ok(found) => Error::invalid_type(found, expected),
            Err(error) => error,
        }
    }

    /// The string that comes next, if one does.
    fn some_string(&mut self, expected: &dyn Expected) -> Result<Cow<'de, str>> {
        match self.peek() {
            Some(b'"') => self.string(),
            _ => Err(self.unexpected(expected)),
        }
    }

    /// Goes into the list or object that comes next, if one does.
    fn go_in(&mut self, open: u8, expected: &dyn Expected) -> Result<()> {
        match self.peek() {
            Some(byte) if byte == open => self.open(),
            _ => Err(self.unexpected(expected)),
        }
    }

    /// Goes to the name of a variant; whether it stands alone.
    fn go_to_variant(&mut self) -> Result<bool> {
        match self.peek() {
            Some(b'"') => Ok(true),
            Some(b'{') => {
                self.open()?;
                if self.more(&mut true, b'}')? {
                    Ok(false)
                } else {
                    Err(self.fault("expected value"))
                }
            }
            Some(_) => Err(self.fault("expected value")),
            None => Err(self.fault("EOF while parsing a value")),
        }
    }
}

const fn unfinished(end: u8) -> &'static str {
    if end == b']' {
        "EOF while parsing a list"
    } else {
        "EOF while parsing an object"
    }
}

/// Numbers of every kind are read alike: the visitor says what fits.
macro_rules! numbers {
    ($($name:ident)*) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.deserialize_i8(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek() {
            Some(b'n') => {
                self.word("null")?;
                visitor.visit_unit()
            }
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'"') => self.deserialize_string(visitor),
            Some(b'[') => self.deserialize_seq(visitor),
            Some(b'{') => self.deserialize_map(visitor),
            _ => self.deserialize_i8(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek() {
            Some(b't') => {
                self.word("true")?;
                visitor.visit_bool(true)
            }
            Some(b'f') => {
                self.word("false")?;
                visitor.visit_bool(false)
            }
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek() {
            Some(b'-' | b'0'..=b'9') => match self.number()? {
                Number::Whole(number) => visitor.visit_u64(number),
                Number::Negative(number) => visitor.visit_i64(number),
                Number::Real(number) => visitor.visit_f64(number),
            },
            _ => Err(self.unexpected(&visitor)),
        }
    }

    numbers! {
        deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let text = self.some_string(&visitor)?;
        visitor.visit_str(&text)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let text = self.some_string(&visitor)?;
        visitor.visit_string(text.into_owned())
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_any(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.peek() == Some(b'n') {
            self.word("null")?;
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.peek() == Some(b'n') {
            self.word("null")?;
            visitor.visit_unit()
        } else {
            Err(self.unexpected(&visitor))
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.go_in(b'[', &visitor)?;
        let value = visitor.visit_seq(Inside {
            reader: self,
            first: true,
        })?;
        self.close(b']')?;
        Ok(value)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.go_in(b'{', &visitor)?;
        let value = visitor.visit_map(Inside {
            reader: self,
            first: true,
        })?;
        self.close(b'}')?;
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let alone = self.go_to_variant()?;
        let value = visitor.visit_enum(Variant {
            reader: self,
            alone,
        })?;
        if !alone {
            self.close(b'}')?;
        }
        Ok(value)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.skip()?;
        visitor.visit_unit()
    }
}

/// Inside a list or an object.
struct Inside<'a, 'de> {
    reader: &'a mut Reader<'de>,
    first: bool,
}

impl<'de> SeqAccess<'de> for Inside<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.reader.more(&mut self.first, b']')? {
            seed.deserialize(&mut *self.reader).map(Some)
        } else {
            Ok(None)
        }
    }
}

impl<'de> MapAccess<'de> for Inside<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if self.reader.more(&mut self.first, b'}')? {
            seed.deserialize(Key(self.reader.string()?)).map(Some)
        } else {
            Ok(None)
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        self.reader.colon()?;
        seed.deserialize(&mut *self.reader)
    }
}

/// A key of an object: a text, or a number in quotation marks.
struct Key<'de>(Cow<'de, str>);

macro_rules! number_keys {
    ($($name:ident)*) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.0.parse::<u64>() {
                Ok(number) => visitor.visit_u64(number),
                Err(_) => match self.0.parse::<i64>() {
                    Ok(number) => visitor.visit_i64(number),
                    Err(_) => Err(Error::invalid_type(Unexpected::Str(&self.0), &visitor)),
                },
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_str(&self.0)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_string(self.0.into_owned())
    }

    number_keys! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let name: &str = &self.0;
        visitor.visit_enum(name.into_deserializer())
    }

    forward_to_deserialize_any! {
        bool f32 f64 char str bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// At the name of a variant.
struct Variant<'a, 'de> {
    reader: &'a mut Reader<'de>,
    /// Only a name, without an object around it.
    alone: bool,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        let variant = seed.deserialize(Key(self.reader.string()?))?;
        if !self.alone {
            self.reader.colon()?;
        }
        Ok((variant, self))
    }
}

impl Variant<'_, '_> {
    /// Only if something stands beside the name.
    fn filled(&self, expected: &dyn Expected) -> Result<()> {
        if self.alone {
            Err(Error::invalid_type(Unexpected::UnitVariant, expected))
        } else {
            Ok(())
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        if self.alone {
            return Ok(());
        }
        match self.reader.peek() {
            Some(b'n') => self.reader.word("null"),
            _ => Err(self.reader.unexpected(&"unit")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        self.filled(&"newtype variant")?;
        seed.deserialize(self.reader)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value> {
        self.filled(&"tuple variant")?;
        self.reader.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.filled(&"struct variant")?;
        self.reader.deserialize_map(visitor)
    }
}
