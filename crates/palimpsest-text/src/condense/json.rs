//! Shortens JSON: a long array becomes a few items and a schema, a long string its ends.
//!
//! It reads the bytes once and builds no values: omitted parts are only skipped.

mod schema;
mod strings;

use std::fmt::Write;

use super::cut::grouped;
use schema::Fields;
use strings::{is_valid, write_string};

/// The limits on the shown part of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JsonLimits {
    /// The number of items shown from the beginning of an array.
    pub(super) head: usize,
    /// The number of items shown from its end.
    pub(super) tail: usize,
    /// The longest string that is shown whole, in bytes.
    pub(super) string: usize,
    /// Containers that are nested deeper are only counted.
    pub(super) depth: usize,
    /// Describe the omitted items of an array by their fields.
    pub(super) schema: bool,
    /// Begin a shortened string with a notice, because a model may copy the arguments of a call into its next one.
    pub(super) notice: bool,
}

impl JsonLimits {
    /// The limits for tool results in general.
    pub(super) const RESULT: Self = Self {
        head: 5,
        tail: 2,
        string: 400,
        depth: 8,
        schema: true,
        notice: false,
    };
    /// The limits for answers of an API: status and key fields.
    pub(super) const API: Self = Self {
        head: 2,
        tail: 0,
        string: 160,
        depth: 3,
        schema: true,
        notice: false,
    };
    /// The limits for the arguments of tool calls.
    pub(super) const ARGUMENTS: Self = Self {
        head: 6,
        tail: 1,
        string: 300,
        depth: 6,
        schema: false,
        notice: true,
    };
}

/// The deepest nesting that is followed, whatever the limits.
const DEEPEST: usize = 32;

/// A string under a key like `error` is shown up to this many bytes.
const ERROR_STRING: usize = 2_000;

/// The number of items with an error that are shown besides the first and the last ones.
const ERROR_ITEMS: usize = 3;

/// Omits the long parts of the text; the result is JSON (or JSON Lines). `None` if the text is not JSON.
pub(super) fn condense(text: &str, limits: JsonLimits) -> Option<String> {
    let mut scan = Scan {
        text,
        bytes: text.as_bytes(),
        at: 0,
        limits,
    };
    let mut out = String::new();
    scan.space();
    if !matches!(scan.peek(), Some(b'{' | b'[')) {
        return None;
    }
    scan.value(&mut out, 0, false)?;
    scan.space();
    if scan.at < scan.bytes.len() {
        // More than one value means JSON Lines.
        scan.at = 0;
        out.clear();
        scan.items(&mut out, 0, None)?;
    }
    Some(out)
}

/// Returns the number of items of the longest array that no other array contains. Values of JSON Lines count as items,
/// too. `None` if the text is not JSON.
pub(super) fn most_items(text: &str) -> Option<usize> {
    let mut scan = Scan {
        text,
        bytes: text.as_bytes(),
        at: 0,
        limits: JsonLimits::RESULT,
    };
    let (mut values, mut most) = (0, 0);
    scan.space();
    while scan.peek().is_some() {
        most = most.max(scan.longest(0)?);
        values += 1;
        scan.space();
    }
    let items = if values > 1 { values.max(most) } else { most };
    (values > 0).then_some(items)
}

/// Returns `true` if both ends of the text look like JSON.
pub(super) fn looks_like(text: &str) -> bool {
    let text = text.trim();
    let first = text.as_bytes().first();
    let last = text.as_bytes().last();
    let second = text.get(1..).and_then(|t| t.trim_start().bytes().next());
    match (first, last) {
        (Some(b'{'), Some(b'}')) => matches!(second, Some(b'"' | b'}')),
        (Some(b'['), Some(b']')) => second.is_some_and(|b| {
            matches!(b, b'{' | b'[' | b'"' | b']' | b'-' | b't' | b'f' | b'n') || b.is_ascii_digit()
        }),
        _ => false,
    }
}

struct Scan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    limits: JsonLimits,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        self.space();
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Writes a value in its short form.
    fn value(&mut self, out: &mut String, depth: usize, error: bool) -> Option<()> {
        self.space();
        match self.peek()? {
            b'"' => {
                let raw = self.string()?;
                let most = if error {
                    ERROR_STRING
                } else {
                    self.limits.string
                };
                write_string(out, raw, most, self.limits.notice)
            }
            b'{' | b'[' if depth >= self.limits.depth.min(DEEPEST) => {
                let start = self.at;
                self.skip()?;
                let raw = &self.text[start..self.at];
                // The content of a short one says more than its length.
                if raw.len() <= 40 && crate::json::read::<serde::de::IgnoredAny>(raw).is_ok() {
                    out.push_str(raw);
                } else {
                    _ = write!(out, "\"… {} bytes\"", grouped(raw.len()));
                }
                Some(())
            }
            b'{' => self.object(out, depth, error),
            b'[' => {
                self.at += 1;
                out.push('[');
                self.items(out, depth, Some(b']'))?;
                out.push(']');
                Some(())
            }
            _ => {
                out.push_str(self.scalar()?);
                Some(())
            }
        }
    }

    fn object(&mut self, out: &mut String, depth: usize, error: bool) -> Option<()> {
        self.at += 1;
        out.push('{');
        self.space();
        if self.peek()? == b'}' {
            self.at += 1;
            out.push('}');
            return Some(());
        }
        loop {
            self.space();
            let key = self.string()?;
            if !is_valid(key) {
                return None;
            }
            _ = write!(out, "\"{key}\":");
            self.eat(b':')?;
            self.value(out, depth + 1, error || names_error(key))?;
            self.space();
            match self.peek()? {
                b',' => out.push(','),
                b'}' => {
                    self.at += 1;
                    out.push('}');
                    return Some(());
                }
                _ => return None,
            }
            self.at += 1;
        }
    }

    /// Writes the items of an array up to `end`, or of JSON Lines up to the end of the text.
    fn items(&mut self, out: &mut String, depth: usize, end: Option<u8>) -> Option<()> {
        let separator = if end.is_some() { "," } else { "\n" };
        let mut left_out = LeftOut::default();
        let mut count = 0;
        loop {
            self.space();
            if self.peek() == end {
                // Both an array and a text may end here, but only an array has a bracket to skip.
                if end.is_some() {
                    self.at += 1;
                }
                break;
            }
            if end.is_some() && count > 0 {
                self.eat(b',')?;
                self.space();
            }
            if count < self.limits.head {
                if count > 0 {
                    out.push_str(separator);
                }
                self.value(out, depth + 1, false)?;
            } else {
                let start = self.at;
                let error = self.skip_item(&mut left_out.fields)?;
                left_out.spans.push((start, self.at));
                if error && left_out.errors.len() < ERROR_ITEMS {
                    left_out.errors.push(left_out.spans.len() - 1);
                }
            }
            count += 1;
        }
        self.write_rest(out, depth, separator, &left_out)
    }

    /// Writes the description of the omitted items, the errors among them, and the last items.
    fn write_rest(
        &mut self,
        out: &mut String,
        depth: usize,
        separator: &str,
        left_out: &LeftOut<'_>,
    ) -> Option<()> {
        let n = left_out.spans.len();
        let mut shown: Vec<usize> = left_out.errors.clone();
        // A single item takes no more room than a note about its omission.
        let tail = if n <= self.limits.tail + 1 {
            n
        } else {
            self.limits.tail
        };
        shown.extend((n - tail)..n);
        crate::order::sort(&mut shown);
        shown.dedup();
        let missing = n - shown.len();
        if missing > 0 {
            _ = write!(out, "{separator}\"… {} more items", grouped(missing));
            if self.limits.schema && missing >= 10 {
                left_out.fields.write(out, n);
            }
            out.push('"');
        }
        let end = self.at;
        for index in shown {
            out.push_str(separator);
            self.at = left_out.spans[index].0;
            self.value(out, depth + 1, false)?;
        }
        self.at = end;
        Some(())
    }

    /// Skips an item and notes its fields. Returns `true` if it contains an error.
    fn skip_item(&mut self, fields: &mut Fields<'a>) -> Option<bool> {
        if self.peek()? != b'{' {
            self.skip()?;
            return Some(false);
        }
        fields.objects += 1;
        self.at += 1;
        let mut error = false;
        let mut place = 0;
        loop {
            self.space();
            if self.peek()? == b'}' {
                self.at += 1;
                return Some(error);
            }
            let key = self.string()?;
            self.eat(b':')?;
            self.space();
            let (start, first) = (self.at, self.peek()?);
            self.skip()?;
            fields.note(key, first, place);
            place += 1;
            if names_error(key) {
                let value = &self.text[start..self.at];
                error |= !matches!(value, "null" | "false" | "\"\"" | "0" | "[]" | "{}");
            }
            self.space();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {}
                _ => return None,
            }
        }
    }

    /// Skips any value without parsing it: counts brackets without matching them.
    fn skip(&mut self) -> Option<()> {
        let mut open = 0usize;
        loop {
            self.space();
            match self.peek()? {
                b'"' => _ = self.string()?,
                b'{' | b'[' => {
                    open += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    open = open.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' if open > 0 => {
                    self.at += 1;
                    continue;
                }
                _ => _ = self.scalar()?,
            }
            if open == 0 {
                return Some(());
            }
        }
    }

    /// Skips a value and returns the number of items of its longest array that no other array contains.
    fn longest(&mut self, depth: usize) -> Option<usize> {
        self.space();
        let open = self.peek()?;
        if !matches!(open, b'{' | b'[') || depth > DEEPEST {
            self.skip()?;
            return Some(0);
        }
        self.at += 1;
        let (mut items, mut most) = (0, 0);
        loop {
            self.space();
            match self.peek()? {
                b',' => self.at += 1,
                b']' | b'}' => {
                    self.at += 1;
                    return Some(if open == b'[' { items } else { most });
                }
                _ if open == b'[' => {
                    self.skip()?;
                    items += 1;
                }
                _ => {
                    self.string()?;
                    self.eat(b':')?;
                    most = most.max(self.longest(depth + 1)?);
                }
            }
        }
    }

    /// Returns the raw content of a string.
    fn string(&mut self) -> Option<&'a str> {
        if self.peek()? != b'"' {
            return None;
        }
        let start = self.at + 1;
        let mut at = start;
        loop {
            at += self
                .bytes
                .get(at..)?
                .iter()
                .position(|&b| b == b'"' || b == b'\\')?;
            if self.bytes[at] == b'"' {
                break;
            }
            at += 2;
        }
        self.at = at + 1;
        self.text.get(start..at)
    }

    fn scalar(&mut self) -> Option<&'a str> {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.'))
        {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        let number = word
            .bytes()
            .next()
            .is_some_and(|b| b == b'-' || b.is_ascii_digit())
            && word
                .bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E'));
        (number || matches!(word, "true" | "false" | "null")).then_some(word)
    }
}

#[derive(Default)]
struct LeftOut<'a> {
    spans: Vec<(usize, usize)>,
    /// Indices into `spans`.
    errors: Vec<usize>,
    fields: Fields<'a>,
}

fn names_error(key: &str) -> bool {
    const NAMES: [&str; 7] = [
        "error",
        "errors",
        "exception",
        "traceback",
        "stderr",
        "error_message",
        "errormessage",
    ];
    // The first letter rules out most keys.
    let first = key.as_bytes().first().map(u8::to_ascii_lowercase);
    matches!(first, Some(b'e' | b't' | b's'))
        && NAMES.iter().any(|name| key.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn check(input: &Value, expected: &str) {
        let text = serde_json::to_string_pretty(input).unwrap();
        assert_eq!(
            condense(&text, JsonLimits::RESULT).as_deref(),
            Some(expected)
        );
    }

    /// T3: an array becomes its first items, a schema of the rest, and the last one.
    #[test]
    fn arrays() {
        let rows: Vec<Value> = (0..100)
            .map(|i| match i {
                40 => json!({"id": i, "name": "x", "error": "disk full"}),
                i if i % 2 == 0 => json!({"id": i, "name": null}),
                i => json!({"id": i, "name": "x"}),
            })
            .collect();
        check(
            &json!(rows),
            "[{\"id\":0,\"name\":null},{\"id\":1,\"name\":\"x\"},{\"id\":2,\"name\":null},\
             {\"id\":3,\"name\":\"x\"},{\"id\":4,\"name\":null},\
             \"… 92 more items, each with id: number, name: string|null, error: string (in 1)\",\
             {\"id\":40,\"name\":\"x\",\"error\":\"disk full\"},{\"id\":98,\"name\":null},\
             {\"id\":99,\"name\":\"x\"}]",
        );
        check(&json!([1, 2, 3, 4, 5, 6, 7, 8]), "[1,2,3,4,5,6,7,8]");
        check(
            &json!([1, 2, 3, 4, 5, 6, 7, 8, 9]),
            "[1,2,3,4,5,\"… 2 more items\",8,9]",
        );
        check(&json!([]), "[]");
        let inner: Vec<u32> = (0..20).collect();
        check(
            &json!({"total": 9, "items": inner}),
            "{\"total\":9,\"items\":[0,1,2,3,4,\"… 13 more items\",18,19]}",
        );
    }

    /// T3: JSON Lines are an array without brackets.
    #[test]
    fn lines() {
        let text: String = (0..50).fold(String::new(), |t, i| t + &format!("{{\"n\":{i}}}\n"));
        assert_eq!(
            condense(&text, JsonLimits::RESULT).unwrap(),
            "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n\
             \"… 43 more items, each with n: number\"\n{\"n\":48}\n{\"n\":49}"
        );
    }

    /// T2, T3: long strings keep both ends, below an error key much more.
    #[test]
    fn strings() {
        let long = "a".repeat(1_000);
        let (head, tail) = ("a".repeat(300), "a".repeat(100));
        check(
            &json!({"log": long, "error": long}),
            &format!("{{\"log\":\"{head}… 600 bytes …{tail}\",\"error\":\"{long}\"}}"),
        );
    }

    /// T2: an API's answer keeps status and key fields; deep containers are counted.
    #[test]
    fn api() {
        let text = json!({
            "status": 200,
            "data": {"user": {"id": 7, "profile": {"bio": "b".repeat(99)}, "tags": [1, 2]}},
        })
        .to_string();
        assert_eq!(
            condense(&text, JsonLimits::API).unwrap(),
            "{\"status\":200,\"data\":{\"user\":{\"id\":7,\"profile\":\"… 109 bytes\",\"tags\":[1,2]}}}"
        );
    }

    /// I10: text that is not JSON stays unchanged.
    #[test]
    fn invalid() {
        for text in [
            "",
            "[",
            "{\"a\"}",
            "[1,]x",
            "{\"a\":}",
            "[1 2]",
            "nonsense",
            "[\"\\x\"]",
            "{,}",
        ] {
            assert_eq!(condense(text, JsonLimits::RESULT), None, "{text}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(condense(&deep, JsonLimits::RESULT), None);
        let closed = format!("{deep}{}", "]".repeat(100_000));
        assert!(
            condense(&closed, JsonLimits::RESULT)
                .unwrap()
                .contains("bytes")
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
            "[\\n\"\\\\a😀]{0,900}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 200, 20, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
                proptest::collection::vec(("\\PC{0,4}", inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// T3: valid JSON becomes valid JSON, and a second pass changes nothing.
        #[test]
        fn stays_valid(value in any_json(), pretty in any::<bool>(), ascii in any::<bool>()) {
            let mut text = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            if ascii {
                text = text.replace('😀', "\\ud83d\\ude00");
            }
            for limits in [JsonLimits::RESULT, JsonLimits::API, JsonLimits::ARGUMENTS] {
                if !value.is_object() && !value.is_array() {
                    prop_assert_eq!(condense(&text, limits), None);
                    continue;
                }
                let once = condense(&text, limits).unwrap();
                prop_assert!(serde_json::from_str::<Value>(&once).is_ok(), "{}", once);
            }
        }

        /// I10: no text causes a panic.
        #[test]
        fn any_text(text in "[\\[\\]{}\",:\\\\ue0-9d8 \\n\\PC]{0,80}") {
            for limits in [JsonLimits::RESULT, JsonLimits::API, JsonLimits::ARGUMENTS] {
                _ = condense(&text, limits);
            }
            looks_like(&text);
        }
    }
}
