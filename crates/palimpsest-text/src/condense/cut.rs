//! Cuts text at places that do not split a visible character.

/// Returns the longest beginning of at most `bytes` bytes that does not end inside of a visible character.
pub fn head(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut at = text.floor_char_boundary(bytes);
    while at > 0 && !is_break(text, at) {
        at = text.floor_char_boundary(at - 1);
    }
    &text[..at]
}

/// Returns the longest end of at most `bytes` bytes that does not begin inside of a visible character.
pub fn tail(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut at = text.ceil_char_boundary(text.len() - bytes);
    while at < text.len() && !is_break(text, at) {
        at = text.ceil_char_boundary(at + 1);
    }
    &text[at..]
}

/// Returns one line of at most about `bytes` bytes, with `…` at its end if it was longer.
pub(super) fn line(text: &str, bytes: usize) -> String {
    let words: Vec<&str> = head(text, bytes.saturating_mul(2))
        .split_whitespace()
        .collect();
    let joined = words.join(" ");
    if joined.len() <= bytes && text.len() <= bytes.saturating_mul(2) {
        return joined;
    }
    format!("{}…", head(&joined, bytes).trim_end())
}

/// Returns `true` if a visible character ends at `at`.
fn is_break(text: &str, at: usize) -> bool {
    let (Some(before), Some(after)) = (text[..at].chars().next_back(), text[at..].chars().next())
    else {
        return true;
    };
    let regional = |c: char| matches!(c, '\u{1F1E6}'..='\u{1F1FF}');
    if regional(before) && regional(after) {
        // Flags consist of two characters.
        let run = text[..at]
            .chars()
            .rev()
            .take_while(|&c| regional(c))
            .count();
        return run % 2 == 0;
    }
    !(before == '\u{200D}' || (before == '\r' && after == '\n') || joins_left(after))
}

/// Combining marks, joiners, variation selectors, skin tones.
const fn joins_left(c: char) -> bool {
    matches!(c,
        '\u{0300}'..='\u{036F}' | '\u{0483}'..='\u{0489}' | '\u{0591}'..='\u{05BD}'
        | '\u{0610}'..='\u{061A}' | '\u{064B}'..='\u{065F}' | '\u{0900}'..='\u{0903}'
        | '\u{093A}'..='\u{094F}' | '\u{0E31}' | '\u{0E34}'..='\u{0E3A}' | '\u{0E47}'..='\u{0E4E}'
        | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}' | '\u{200C}' | '\u{200D}'
        | '\u{20D0}'..='\u{20FF}' | '\u{3099}' | '\u{309A}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FE20}'..='\u{FE2F}' | '\u{1F3FB}'..='\u{1F3FF}' | '\u{E0020}'..='\u{E007F}')
}

/// Writes a number with commas, as in 12,345.
pub(super) fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// F 24: no cut falls inside of an emoji, a flag or an accent.
    #[test]
    fn visible_characters() {
        let check = |text: &str, bytes, h: &str, t: &str| {
            assert_eq!(
                (head(text, bytes), tail(text, bytes)),
                (h, t),
                "{text} {bytes}"
            );
        };
        check("abc", 2, "ab", "bc");
        check("a👩\u{200D}💻b", 6, "a", "b");
        check("🇩🇪🇫🇷", 12, "🇩🇪", "🇫🇷");
        check("e\u{301}e\u{301}", 4, "e\u{301}", "e\u{301}");
        check("xe\u{301}", 2, "x", "");
        check("👍🏽", 4, "", "");
        check("ab", 9, "ab", "ab");
    }

    /// T2: long lines end in an ellipsis, short ones stay.
    #[test]
    fn lines() {
        assert_eq!(line(" a  b\n c ", 20), "a b c");
        assert_eq!(line("one two three", 8), "one two…");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123), "123");
    }

    proptest! {
        /// I10: for any text and length, the result is never longer than requested.
        #[test]
        fn any(text in "\\PC{0,30}", bytes in 0usize..60) {
            prop_assert!(head(&text, bytes).len() <= bytes);
            prop_assert!(tail(&text, bytes).len() <= bytes);
            prop_assert!(text.starts_with(head(&text, bytes)));
            prop_assert!(text.ends_with(tail(&text, bytes)));
        }
    }
}
