//! Reads JSON text into a [`Value`].
//!
//! `serde_json` can do it, too. With the feature that every float needs to be read as the number that was written, its code
//! and the tables that go with it weigh several kilobytes of each module that a page loads. This reader has no tables.

use serde::de::Error as _;
use serde_json::{Error, Map, Number, Value};

use super::float;

/// The most lists and objects that may stand inside of each other: a deeper text would use up the stack.
const DEEPEST: u32 = 127;

/// Reads one value and the end of the text.
pub(super) fn value(text: &str) -> Result<Value, Error> {
    let mut reader = Reader { text, at: 0 };
    let read = reader.value(0).and_then(|value| {
        reader.space();
        if reader.at < text.len() {
            return Err("trailing characters");
        }
        Ok(value)
    });
    read.map_err(|what| reader.error(what))
}

/// A fault at the place where the reader stands.
type Wrong = &'static str;

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    /// Returns the error with its place. Lines and columns count from 1, columns in bytes.
    #[inline(never)]
    fn error(&self, what: Wrong) -> Error {
        let bytes = self.text.as_bytes();
        let end = (self.at + 1).min(bytes.len());
        let before = &bytes[..end.saturating_sub(1)];
        let line = before.split(|byte| *byte == b'\n').count();
        let begin = before.iter().rposition(|byte| *byte == b'\n');
        let column = end - begin.map_or(0, |newline| newline + 1);
        Error::custom(format_args!("{what} at line {line} column {column}"))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Goes past this byte if it stands here.
    fn skip(&mut self, byte: u8) -> bool {
        let is_here = self.peek() == Some(byte);
        self.at += usize::from(is_here);
        is_here
    }

    fn value(&mut self, depth: u32) -> Result<Value, Wrong> {
        self.space();
        match self.peek() {
            None => Err("EOF while parsing a value"),
            Some(b'n') => self.word("null", Value::Null),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            Some(b'[' | b'{') if depth == DEEPEST => Err("recursion limit exceeded"),
            Some(b'[') => self.list(depth + 1),
            Some(b'{') => self.object(depth + 1),
            Some(_) => Err("expected value"),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Wrong> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(value);
        }
        Err("expected value")
    }

    fn list(&mut self, depth: u32) -> Result<Value, Wrong> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.skip(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                None => return Err("EOF while parsing a list"),
                Some(_) => return Err("expected `,` or `]`"),
            }
        }
        self.at += 1;
        Ok(Value::Array(items))
    }

    fn object(&mut self, depth: u32) -> Result<Value, Wrong> {
        self.at += 1;
        let mut fields = Map::new();
        self.space();
        if self.skip(b'}') {
            return Ok(Value::Object(fields));
        }
        loop {
            self.space();
            match self.peek() {
                Some(b'"') => {}
                None => return Err("EOF while parsing an object"),
                Some(_) => return Err("key must be a string"),
            }
            let key = self.string()?;
            self.space();
            if !self.skip(b':') {
                return Err(match self.peek() {
                    None => "EOF while parsing an object",
                    Some(_) => "expected `:`",
                });
            }
            let value = self.value(depth)?;
            fields.insert(key, value);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                None => return Err("EOF while parsing an object"),
                Some(_) => return Err("expected `,` or `}`"),
            }
        }
        self.at += 1;
        Ok(Value::Object(fields))
    }

    fn string(&mut self) -> Result<String, Wrong> {
        const END: Wrong = "EOF while parsing a string";
        self.at += 1;
        let mut read = String::new();
        loop {
            let plain = self.plain();
            // One allocation of the right size serves a text without escapes, which most are.
            read.push_str(plain);
            match self.peek() {
                None => return Err(END),
                Some(b'"') => break,
                Some(b'\\') => {}
                Some(_) => {
                    return Err("control character (\\u0000-\\u001F) found while parsing a string");
                }
            }
            self.at += 1;
            read.push(match self.peek() {
                None => return Err(END),
                Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
                Some(b'b') => '\u{8}',
                Some(b'f') => '\u{c}',
                Some(b'n') => '\n',
                Some(b'r') => '\r',
                Some(b't') => '\t',
                Some(b'u') => self.escaped()?,
                Some(_) => return Err("invalid escape"),
            });
            self.at += 1;
        }
        self.at += 1;
        Ok(read)
    }

    /// Goes to the next byte that is not plain text, and returns the text before it.
    fn plain(&mut self) -> &str {
        let rest = &self.text[self.at..];
        let is_end = |byte: u8| byte == b'"' || byte == b'\\' || byte < 0x20;
        let length = rest.bytes().position(is_end).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Reads what follows a `u`: one escape, or two that are one character. Stops at the last digit.
    fn escaped(&mut self) -> Result<char, Wrong> {
        const LONE: Wrong = "lone surrogate in hex escape";
        let first = self.hex()?;
        let code = match first {
            0xd800..=0xdbff => {
                if !self.text[self.at + 1..].starts_with("\\u") {
                    return Err(LONE);
                }
                self.at += 2;
                let second = self.hex()?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(LONE);
                }
                0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            code => code,
        };
        char::from_u32(code).ok_or(LONE)
    }

    /// Reads four digits after the `u` where the reader stands, and stops at the last one.
    fn hex(&mut self) -> Result<u32, Wrong> {
        let mut code = 0;
        for _ in 0..4 {
            self.at += 1;
            let digit = self.peek().map(|byte| char::from(byte).to_digit(16));
            code = code * 16
                + digit
                    .ok_or("EOF while parsing a string")?
                    .ok_or("invalid escape")?;
        }
        Ok(code)
    }

    fn number(&mut self) -> Result<Number, Wrong> {
        let begin = self.at;
        let is_negative = self.skip(b'-');
        let first = self.at;
        let whole = self.digits()?;
        if whole > 1 && self.text.as_bytes()[first] == b'0' {
            self.at = first + 1;
            return Err("invalid number");
        }
        let mut has_fraction = false;
        if self.skip(b'.') {
            has_fraction = true;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            has_fraction = true;
            self.at += 1;
            if !self.skip(b'-') {
                self.skip(b'+');
            }
            self.digits()?;
        }
        let text = &self.text[begin..self.at];
        if !has_fraction && text != "-0" {
            let whole = if is_negative {
                text.parse::<i64>().map(Number::from)
            } else {
                text.parse::<u64>().map(Number::from)
            };
            if let Ok(whole) = whole {
                return Ok(whole);
            }
        }
        Number::from_f64(float::read(text)).ok_or("number out of range")
    }

    /// Goes past at least one digit, and returns how many there were.
    fn digits(&mut self) -> Result<usize, Wrong> {
        let begin = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        match self.peek() {
            _ if self.at > begin => Ok(self.at - begin),
            None => Err("EOF while parsing a value"),
            Some(_) => Err("invalid number"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What serde_json reads, this reader reads the same; and it refuses what that refuses.
    fn same(text: &str) -> Result<(), TestCaseError> {
        let words = |read: Result<Value, Error>| read.map(|value| value.to_string()).map_err(drop);
        prop_assert_eq!(
            words(value(text)),
            words(serde_json::from_str(text)),
            "{}",
            text
        );
        Ok(())
    }

    #[test]
    fn as_serde_json_does() {
        let texts = [
            "null",
            " true ",
            "false",
            "nul",
            "truest",
            "[]",
            "{}",
            "[1,2]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\":1,\"a\":2,\"b\":3}",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "{\"a\":1,}",
            "{",
            "[",
            "\"",
            "\"\\",
            "\"\\u",
            "\"\\u12",
            "\"\\u12g4\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"\\ud83d\\n\"",
            "\"\\ude00\"",
            "\"\\ud83d\\u0041\"",
            "\"\\q\"",
            "\"a\nb\"",
            "\"\\/\\b\\f\\n\\r\\t\"",
            "0",
            "-0",
            "-0.0",
            "00",
            "01",
            "-",
            "-a",
            "1.",
            "1.e1",
            ".5",
            "1e",
            "1e+",
            "1e+5",
            "1E-5",
            "+1",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775808",
            "-9223372036854775809",
            "1e400",
            "-1e400",
            "1e-400",
            "\u{feff}1",
            "1 x",
            "\"ä\u{7f}\u{2028}\"",
            "",
            " ",
            "\u{a0}1",
        ];
        for text in texts {
            same(text).unwrap();
        }
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        same(&nested(127)).unwrap();
        same(&nested(128)).unwrap();
        assert!(value(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn errors_have_places() {
        let check = |text: &str, expected: &str| {
            assert_eq!(value(text).unwrap_err().to_string(), expected, "{text}");
        };
        check("", "EOF while parsing a value at line 1 column 0");
        check("{\n  \"a\": x\n}", "expected value at line 2 column 8");
        check("[1,\n2", "EOF while parsing a list at line 2 column 1");
        check("[1 2]", "expected `,` or `]` at line 1 column 4");
        check("{\"a\" 1}", "expected `:` at line 1 column 6");
        check(
            "\"\\ud83d.\"",
            "lone surrogate in hex escape at line 1 column 7",
        );
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(written in values(), is_readable in any::<bool>()) {
            let text = if is_readable { serde_json::to_string_pretty(&written) } else { serde_json::to_string(&written) };
            prop_assert_eq!(value(&text.unwrap()).unwrap(), written);
        }

        #[test]
        fn broken_texts_are_refused_alike(written in values(), at in any::<prop::sample::Index>(), put in "[\\[\\]{}:,\"\\\\0-9.eE+nu -]{0,3}") {
            let mut text = written.to_string();
            let from = at.index(text.len());
            let from = (0..=from).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            let to = (from + 1..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap();
            text.replace_range(from..to, &put);
            same(&text)?;
        }
    }
}
