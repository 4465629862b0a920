//! Reads JSON from a server that may be hostile: with bounded depth and some tolerance.

use palimpsest_core::request::ModelError;
use serde_json::Value;

/// Answers of model servers are never deeper than this.
const MAX_DEPTH: usize = 64;

/// Reads one JSON object. Bytes that are not UTF-8 and halves of surrogate pairs become U+FFFD, because models write
/// broken characters when they are cut off in the middle of one.
pub(crate) fn object(bytes: &[u8]) -> Result<Value, ModelError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if let Some(why) = not_json(bytes) {
        return Err(bad(why));
    }
    if depth(bytes) > MAX_DEPTH {
        return Err(bad("its JSON is nested too deeply"));
    }
    let text = String::from_utf8_lossy(bytes);
    let value: Value = palimpsest_text::json::parse(&text)
        .or_else(|error| {
            mend_surrogates(&text)
                .ok_or(error)
                .and_then(|t| palimpsest_text::json::parse(&t))
        })
        .map_err(|_| bad("its JSON is broken"))?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(bad("it is JSON of another kind"))
    }
}

/// The error for an answer that does not come from a model server.
pub(crate) fn bad(why: &str) -> ModelError {
    ModelError::BadResponse { why: why.into() }
}

/// A description of text that is obviously not JSON.
fn not_json(bytes: &[u8]) -> Option<&'static str> {
    match bytes.iter().find(|b| !b.is_ascii_whitespace()) {
        None => Some("it is empty"),
        Some(b'<') => Some("it is an HTML page"),
        Some(b'{' | b'[' | b'"' | b'n' | b't' | b'f' | b'-' | b'0'..=b'9') => None,
        Some(_) => Some("it is not JSON"),
    }
}

/// The deepest nesting of brackets outside strings.
fn depth(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for &byte in bytes {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Replaces each `\uD8xx` without its other half by `\uFFFD`. Returns `None` if there is none.
fn mend_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let unit = |at: usize| {
        let hex = bytes.get(at..at + 6).filter(|s| s.starts_with(b"\\u"))?;
        u16::from_str_radix(std::str::from_utf8(&hex[2..]).ok()?, 16).ok()
    };
    let mut out = String::with_capacity(text.len());
    let (mut from, mut at, mut mended) = (0, 0, false);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => at += 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push_str(&text[from..at]);
                out.push_str("\\uFFFD");
                at += 6;
                from = at;
                mended = true;
            }
            (Some(_), _) => at += 6,
            // Another escape: skip the sign after the backslash, which may be a backslash itself.
            (None, _) => at += 2,
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
    mended.then_some(out)
}

/// Reads a count: a whole number above zero that fits. Any other value counts as absent; servers leave out counts of
/// zero.
pub(crate) fn count(value: &Value) -> Option<u32> {
    value
        .as_u64()
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| *n > 0)
}

/// Returns text, or empty text for `null` and an absent value. Any other value is an error.
pub(crate) fn text(value: &Value) -> Result<&str, ModelError> {
    match value {
        Value::Null => Ok(""),
        Value::String(text) => Ok(text),
        _ => Err(bad("its content is not text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F 73, 75, 78: some faults are corrected and others are refused.
    #[test]
    fn objects() {
        let content =
            |bytes: &[u8]| object(bytes).map(|v| v["a"].as_str().unwrap_or("?").to_owned());
        assert_eq!(content(br#"{"a":"b"}"#).unwrap(), "b");
        assert_eq!(
            content(b"{\"a\":\"x\xff\xc3y\"}").unwrap(),
            "x\u{fffd}\u{fffd}y"
        );
        assert_eq!(content(br#"{"a":"\ud83d\ude00"}"#).unwrap(), "😀");
        assert_eq!(content(br#"{"a":"\ud83d!"}"#).unwrap(), "\u{fffd}!");
        assert_eq!(
            content(br#"{"a":"\ude00\ud83d"}"#).unwrap(),
            "\u{fffd}\u{fffd}"
        );
        // A backslash before the `\u`: this is not an escape of a surrogate.
        assert_eq!(
            content(br#"{"a":"\\ud83d","b":"\ud83d"}"#).unwrap(),
            "\\ud83d"
        );
        assert_eq!(
            content("{\"a\":\"é\\ud83dé\\u\"}".as_bytes()).unwrap_err(),
            bad("its JSON is broken")
        );
        let refused = |bytes: &[u8], why| assert_eq!(object(bytes).unwrap_err(), bad(why));
        refused(b"<!doctype html>", "it is an HTML page");
        refused(b"  \t", "it is empty");
        refused(b"[1]", "it is JSON of another kind");
        refused(b"null", "it is JSON of another kind");
        refused(b"hello", "it is not JSON");
        refused(br#"{"a":NaN}"#, "its JSON is broken");
    }

    /// JSON of depth 64 is read and of depth 65 is refused; brackets in strings do not count.
    #[test]
    fn depth_is_bounded() {
        let nested = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n));
        assert!(object(nested(63).as_bytes()).is_ok());
        assert_eq!(
            object(nested(64).as_bytes()).unwrap_err(),
            bad("its JSON is nested too deeply")
        );
        assert_eq!(
            object(nested(1_000_000).as_bytes()).unwrap_err(),
            bad("its JSON is nested too deeply")
        );
        let quoted = format!("{{\"a\":\"\\\"{}\"}}", "[".repeat(100));
        assert!(object(quoted.as_bytes()).is_ok());
    }

    /// A count that is not a number is absent, never wrong.
    #[test]
    fn counts() {
        let check = |json: &str, expected| {
            assert_eq!(count(&serde_json::from_str(json).unwrap()), expected);
        };
        check("16", Some(16));
        check("0", None);
        check("-5", None);
        check("1e300", None);
        check("1.5", None);
        check("18446744073709551616", None);
        check("4294967296", None);
        check("\"16\"", None);
        check("null", None);
    }
}
