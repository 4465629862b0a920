//! Strings of JSON as they stand in the text, with their escapes.

use std::fmt::Write;

use super::super::cut::{self, grouped};

/// Returns `true` if the raw content of a string is valid JSON.
pub(super) fn is_valid(raw: &str) -> bool {
    let bytes = raw.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            0..0x20 => return false,
            b'\\' => match unit(bytes, at) {
                Some(length) => at += length,
                None => return false,
            },
            _ => at += 1,
        }
    }
    true
}

/// Returns the length of the escape at `at`. A pair of surrogates counts as one escape.
fn unit(bytes: &[u8], at: usize) -> Option<usize> {
    let hex = |from: usize| {
        let digits = bytes.get(from..from + 4)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => {
            let high = hex(at + 2)?;
            let paired = (0xD800..0xDC00).contains(&high)
                && bytes.get(at + 6..at + 8) == Some(b"\\u")
                && hex(at + 8).is_some_and(|low| (0xDC00..0xE000).contains(&low));
            Some(if paired { 12 } else { 6 })
        }
        _ => None,
    }
}

/// The beginning of a shortened string of a call.
const NOTICE: &str = "[shortened, not to be copied] ";

/// Writes a string of at most about `most` bytes: its beginning, the size of the gap, and its end.
pub(super) fn write_string(out: &mut String, raw: &str, most: usize, notice: bool) -> Option<()> {
    if !is_valid(raw) {
        return None;
    }
    // The mark itself takes about thirty bytes.
    if raw.len() <= most + 40 {
        _ = write!(out, "\"{raw}\"");
        return Some(());
    }
    let first = escape_boundary(raw, cut::head(raw, most * 3 / 4).len());
    let from = raw.len() - cut::tail(raw, most / 4).len();
    let last = next_boundary(raw, from);
    _ = write!(
        out,
        "\"{}{}… {} bytes …{}\"",
        if notice { NOTICE } else { "" },
        &raw[..first],
        grouped(last - first),
        &raw[last..]
    );
    Some(())
}

/// Returns the last place up to `most` that is not inside of an escape.
fn escape_boundary(raw: &str, most: usize) -> usize {
    let (mut at, mut next) = (0, 0);
    while next <= most {
        at = next;
        next += step(raw.as_bytes(), at);
    }
    raw.floor_char_boundary(at)
}

/// Returns the first place from `least` on that is not inside of an escape.
fn next_boundary(raw: &str, least: usize) -> usize {
    let mut at = 0;
    while at < least {
        at += step(raw.as_bytes(), at);
    }
    raw.ceil_char_boundary(at)
}

fn step(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'\\') => unit(bytes, at).unwrap_or(1),
        _ => 1,
    }
}
