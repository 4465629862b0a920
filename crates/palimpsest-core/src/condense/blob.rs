//! Encoded data inside text: base64, hexadecimal, data addresses. Nobody reads it.

use super::cut::grouped;
use std::fmt::Write;

/// A run of encoded characters at least this long is data, in bytes.
const LONG: usize = 512;

/// Characters of a run that are shown.
const SHOWN: usize = 24;

/// The text with its long encoded runs replaced by their beginning and length. `None` without any.
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

/// Runs of base64 characters, line breaks of wrapped data included. ASCII, so every border is a
/// character's.
fn runs(bytes: &[u8]) -> Vec<(usize, usize)> {
    let encoded =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-');
    let mut runs = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !encoded(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        let mut line = at;
        while at < bytes.len() {
            if encoded(bytes[at]) {
                at += 1;
            } else if matches!(bytes[at], b'\n' | b'\r') && at - line >= 60 {
                // data is wrapped at 64 or 76; words are not
                at += 1;
                while matches!(bytes.get(at), Some(b'\n' | b'\r')) {
                    at += 1;
                }
                line = at;
            } else {
                break;
            }
        }
        // a short last line is data only where it is padded: it may be the next word
        let last = &bytes[line..at];
        let short = line > start && last.len() < 60 && !last.ends_with(b"=");
        let end = if short { line } else { at };
        let breaks = bytes[start..end].iter().rev();
        let end = end - breaks.take_while(|b| matches!(b, b'\n' | b'\r')).count();
        if end - start >= LONG && is_data(&bytes[start..end]) {
            runs.push((start, end));
        }
    }
    runs
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

    /// F 28: an image in text becomes a mark, what is around it stays.
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
