//! Replaces encoded data inside of text: base64, hexadecimal, data addresses. Nobody reads it.

use super::cut::grouped;
use std::fmt::Write;

/// A run of encoded characters of at least this many bytes counts as data.
const LONG: usize = 512;

/// The number of characters of a run that are shown.
const SHOWN: usize = 24;

/// Replaces the long encoded runs of a text by their beginning and length. `None` if there are none.
pub(super) fn condense(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    for (start, end) in runs(text.as_bytes()) {
        out.push_str(&text[done..start]);
        _ = write!(
            out,
            "{}[{} characters of encoded data]",
            &text[start..start + SHOWN],
            grouped(end - start)
        );
        done = end;
    }
    if done == 0 {
        return None;
    }
    out.push_str(&text[done..]);
    Some(out)
}

/// The bytes that can be part of encoded data.
const ENCODED: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 128 {
        let byte = b as u8;
        table[b] = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-');
        b += 1;
    }
    table
};

/// Encoders wrap data at 64 or 76 characters; shorter lines are words.
const WRAP: usize = 60;

/// Finds runs of encoded characters, including the line breaks of wrapped data. They are ASCII, so every border is a
/// character's.
///
/// A run of at least [`LONG`] bytes contains a multiple of `LONG / 2`, so the search only looks at those places.
fn runs(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut done = 0;
    let mut probe = 0;
    while probe < bytes.len() {
        if ENCODED[usize::from(bytes[probe])] || is_break(bytes[probe]) {
            let start = run_start(bytes, done, probe);
            let end = run_end(bytes, start);
            if end >= start + LONG && is_data(&bytes[start..end]) {
                runs.push((start, end));
            }
            done = done.max(end);
            probe = probe.max(end);
        }
        probe += LONG / 2;
    }
    runs
}

const fn is_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Goes back from `at` over encoded characters, and over line breaks after long lines.
fn run_start(bytes: &[u8], least: usize, at: usize) -> usize {
    let line_start = |mut at: usize| {
        while at > least && ENCODED[usize::from(bytes[at - 1])] {
            at -= 1;
        }
        at
    };
    let mut start = line_start(at);
    loop {
        let mut end = start;
        while end > least && is_break(bytes[end - 1]) {
            end -= 1;
        }
        let before = line_start(end);
        if end == start || end - before < WRAP {
            return start;
        }
        start = before;
    }
}

/// Returns the end of the run that begins at `start`.
fn run_end(bytes: &[u8], start: usize) -> usize {
    let mut end = start;
    let mut at = start;
    loop {
        let line = at;
        while at < bytes.len() && ENCODED[usize::from(bytes[at])] {
            at += 1;
        }
        let (words, length) = (at, at - line);
        // A short last line counts as data only with padding: it may be the next word.
        if line == start || length >= WRAP || bytes[line..at].ends_with(b"=") {
            end = words;
        }
        while at < bytes.len() && is_break(bytes[at]) {
            at += 1;
        }
        if at == words || length < WRAP {
            return end;
        }
    }
}

/// Data has digits and both cases, or is hexadecimal; a line of dashes is neither.
fn is_data(run: &[u8]) -> bool {
    let some = |test: fn(&u8) -> bool| run.iter().filter(|b| test(b)).count() * 50 > run.len();
    let hexadecimal = run
        .iter()
        .all(|b| b.is_ascii_hexdigit() || b.is_ascii_whitespace());
    some(u8::is_ascii_digit)
        && (hexadecimal || (some(u8::is_ascii_uppercase) && some(u8::is_ascii_lowercase)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F 28: an image in text becomes a mark, and the text around it stays.
    #[test]
    fn image() {
        let data = "iVBORw0KGgo4AAAANSUhEUgAA".repeat(400);
        let text = format!("before <img src=\"data:image/png;base64,{data}\"> after");
        assert_eq!(
            condense(&text).unwrap(),
            "before <img src=\"data:image/png;base64,iVBORw0KGgo4AAAANSUhEUgA[10,000 characters of encoded data]\"> after"
        );
    }

    /// F 28: wrapped lines are one run, hexadecimal counts.
    #[test]
    fn wrapped_and_hex() {
        let wrapped = ("aB3dE6gH9jK2mN5p".repeat(4) + "\n").repeat(20);
        let short = condense(&format!("cert:\n{wrapped}end.")).unwrap();
        assert_eq!(
            short,
            "cert:\naB3dE6gH9jK2mN5paB3dE6gH[1,299 characters of encoded data]\nend."
        );
        assert!(
            condense(&"00ff7a".repeat(200))
                .unwrap()
                .starts_with("00ff7a00ff7a")
        );
    }

    /// F 28: words, paths, dashes and short hashes stay.
    #[test]
    fn unchanged() {
        for text in [
            "-".repeat(900),
            "word ".repeat(300),
            "a/b/c/".repeat(200),
            "0123abcd".repeat(20),
        ] {
            assert_eq!(condense(&text), None);
        }
    }
}
