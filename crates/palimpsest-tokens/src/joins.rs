//! Where text may be cut without changing what merging makes of it.
//!
//! Every symbol that merging makes is a token. So if no token of the vocabulary contains the last character of one piece
//! followed by the first of the next, nothing ever merges over that place, and the pieces can be merged, cached and
//! counted one by one. That keeps pieces short in languages without spaces and in vocabularies without words.

use crate::unicode::decode;

/// Neighbouring characters that some token contains, and a few more: what is not in here is a safe place to cut.
#[derive(Debug, Clone)]
pub(crate) struct Joins {
    /// ASCII before ASCII, exactly: a bit for each pair.
    ascii: Vec<u64>,
    /// Other neighbours, hashed into a set of bits. A collision only loses a cut.
    bits: Vec<u64>,
    /// Bytes on the two sides of a place at which a token holds only part of a character.
    partial: Vec<u64>,
}

/// Bits in the hashed set: 256 KiB.
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
        // The whole character that ended just before, if it was whole.
        let mut last = None;
        let mut at = 0;
        while at < token.len() {
            let (c, after) = whole(token, at);
            if at > 0 {
                match (last, c) {
                    (Some(a), Some(b)) => self.add_pair(a, b),
                    // Between two bytes of one character there is no place to cut.
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

    /// Whether some token may contain `a` and `b` next to each other, the bytes at the place being `before` and `after`.
    #[inline]
    fn joined(&self, a: u32, b: u32, before: u8, after: u8) -> bool {
        if a < 128 && b < 128 {
            return self.ascii[(a << 1 | b >> 6) as usize & 255] >> (b & 63) & 1 != 0;
        }
        let (slot, pair) = (slot(a, b), usize::from(before) << 8 | usize::from(after));
        self.bits[slot / 64] >> (slot % 64) & 1 != 0
            || self.partial[pair / 64] >> (pair % 64) & 1 != 0
    }

    /// The end of the piece of valid UTF-8 that starts at `start` and ends by `end`.
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

/// The whole character at `at`, or `None` and the place after one byte of part of one.
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

    /// B8: text is cut only where no token reaches over.
    #[test]
    fn cuts_where_no_token_reaches_over() {
        check(&[b"ab", b"bc"], "abcabd", &["abc", "ab", "d"]);
        check(
            &["上下".as_bytes(), "文".as_bytes()],
            "上下文上",
            &["上下", "文", "上"],
        );
        // a token that ends within a character may reach over any place its bytes stand at
        check(
            &["下\u{6587}".as_bytes().get(..5).unwrap()],
            "下文x",
            &["下文", "x"],
        );
        check(&[&[0x8b, b'x']], "下x下", &["下x", "下"]);
    }
}
