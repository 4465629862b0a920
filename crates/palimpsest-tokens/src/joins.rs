//! Finds places at which text may be cut without changing the result of merging.
//!
//! Every symbol that merging makes is a token. If no token of the vocabulary contains the last character of one piece
//! followed by the first of the next, nothing ever merges over that place, and the pieces can be merged, cached and
//! counted one by one. Pieces stay short that way in languages without spaces and in vocabularies without words.

use crate::unicode::decode;

/// Neighbouring characters that some token contains, and a few more. Any other pair of neighbours is a safe place to
/// cut.
#[derive(Debug, Clone)]
pub(crate) struct Joins {
    /// ASCII before ASCII: one exact bit for each pair.
    ascii: Vec<u64>,
    /// All other neighbours, hashed into a set of bits. A collision only costs a possible cut.
    bits: Vec<u64>,
    /// The bytes on the two sides of a place at which a token holds only part of a character.
    partial: Vec<u64>,
}

/// The hashed set has two to the power of this many bits: 256 KiB.
const BITS: u32 = 21;

impl Default for Joins {
    fn default() -> Self {
        Self {
            ascii: vec![0; 256],
            bits: vec![0; 1 << (BITS - 6)],
            partial: vec![0; 1 << 10],
        }
    }
}

#[inline]
fn slot(a: u32, b: u32) -> usize {
    let key = u64::from(a) << 32 | u64::from(b);
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)) as usize
}

impl Joins {
    /// Adds the places inside one token.
    pub(crate) fn add(&mut self, token: &[u8]) {
        if token.is_ascii() {
            for pair in token.windows(2) {
                self.add_ascii(pair[0].into(), pair[1].into());
            }
            return;
        }
        if std::str::from_utf8(token).is_ok() {
            let (mut a, mut at) = char_at(token, 0);
            while at < token.len() {
                let (b, after) = char_at(token, at);
                self.add_pair(a, b);
                (a, at) = (b, after);
            }
            return;
        }
        // The character that ended just before this place, if it was whole.
        let mut last = None;
        let mut at = 0;
        while at < token.len() {
            let (c, after) = whole(token, at);
            if at > 0 {
                match (last, c) {
                    (Some(a), Some(b)) => self.add_pair(a, b),
                    // The text is never cut between two bytes of one character.
                    _ if token[at] & 0xc0 == 0x80 => {}
                    _ => {
                        let pair = usize::from(token[at - 1]) << 8 | usize::from(token[at]);
                        self.partial[pair / 64] |= 1 << (pair % 64);
                    }
                }
            }
            (last, at) = (c, after);
        }
    }

    fn add_ascii(&mut self, a: u32, b: u32) {
        self.ascii[(a << 1 | b >> 6) as usize & 255] |= 1 << (b & 63);
    }

    fn add_pair(&mut self, a: u32, b: u32) {
        if a < 128 && b < 128 {
            self.add_ascii(a, b);
        } else {
            let slot = slot(a, b);
            self.bits[slot / 64] |= 1 << (slot % 64);
        }
    }

    /// Returns `true` if some token may contain `a` and `b` next to each other. `before` and `after` are the bytes on
    /// the two sides of the place.
    #[inline]
    fn joined(&self, a: u32, b: u32, before: u8, after: u8) -> bool {
        if a < 128 && b < 128 {
            return self.ascii[(a << 1 | b >> 6) as usize & 255] >> (b & 63) & 1 != 0;
        }
        let (slot, pair) = (slot(a, b), usize::from(before) << 8 | usize::from(after));
        self.bits[slot / 64] >> (slot % 64) & 1 != 0
            || self.partial[pair / 64] >> (pair % 64) & 1 != 0
    }

    /// Returns the end of the piece of valid UTF-8 that starts at `start` and ends by `end`.
    #[inline]
    pub(crate) fn piece(&self, bytes: &[u8], start: usize, end: usize) -> usize {
        let (mut a, mut at) = char_at(bytes, start);
        while at < end {
            let (b, after) = char_at(bytes, at);
            if !self.joined(a, b, bytes[at - 1], bytes[at]) {
                return at;
            }
            (a, at) = (b, after);
        }
        end
    }

    pub(crate) fn memory(&self) -> usize {
        self.ascii.len() * 8 + self.bits.len() * 8 + self.partial.len() * 8
    }
}

#[inline]
fn char_at(bytes: &[u8], at: usize) -> (u32, usize) {
    let b = bytes[at];
    if b < 128 {
        (u32::from(b), at + 1)
    } else {
        decode(bytes, at)
    }
}

/// Returns the whole character at `at` and the place after it. If only part of one stands there, returns `None` and the
/// place after one byte.
fn whole(token: &[u8], at: usize) -> (Option<u32>, usize) {
    let n = match token[at] {
        0..0x80 => 1,
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return (None, at + 1),
    };
    match token.get(at..at + n).map(std::str::from_utf8) {
        Some(Ok(text)) => (text.chars().next().map(u32::from), at + n),
        _ => (None, at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tokens: &[&[u8]], text: &str, expected: &[&str]) {
        let mut joins = Joins::default();
        for token in tokens {
            joins.add(token);
        }
        let (mut at, mut pieces) = (0, Vec::new());
        while at < text.len() {
            let end = joins.piece(text.as_bytes(), at, text.len());
            pieces.push(&text[at..end]);
            at = end;
        }
        assert_eq!(pieces, expected);
    }

    /// B8: text is cut only at places that no token spans.
    #[test]
    fn cuts_where_no_token_reaches_over() {
        check(&[b"ab", b"bc"], "abcabd", &["abc", "ab", "d"]);
        check(
            &["上下".as_bytes(), "文".as_bytes()],
            "上下文上",
            &["上下", "文", "上"],
        );
        // A token that ends within a character may span any place at which its bytes stand.
        check(
            &["下\u{6587}".as_bytes().get(..5).unwrap()],
            "下文x",
            &["下文", "x"],
        );
        check(&[&[0x8b, b'x']], "下x下", &["下x", "下"]);
    }
}
