//! Classifies characters by Unicode category.
//!
//! `fit/unicode.py` generates the tables: Unicode 16.0, as Hugging Face's regular expressions know it, and 15.1, as
//! llama.cpp knows it.

use std::sync::OnceLock;

/// A set of kinds of characters, one bit each.
pub(crate) type Kinds = u16;

/// Unassigned, control, format and private characters that are not white space.
pub(crate) const OTHER: Kinds = 1;
/// Capitals and title case (Lu, Lt).
pub(crate) const UPPER: Kinds = 1 << 1;
/// Small letters (Ll).
pub(crate) const LOWER: Kinds = 1 << 2;
/// Letters without case (Lm, Lo).
pub(crate) const UNCASED: Kinds = 1 << 3;
/// Combining marks (M).
pub(crate) const MARK: Kinds = 1 << 4;
/// Numbers (N).
pub(crate) const NUMBER: Kinds = 1 << 5;
/// Punctuation (P).
pub(crate) const PUNCTUATION: Kinds = 1 << 6;
/// Symbols (S).
pub(crate) const SYMBOL: Kinds = 1 << 7;
/// White space.
pub(crate) const SPACE: Kinds = 1 << 8;
/// All letters (L).
pub(crate) const LETTER: Kinds = UPPER | LOWER | UNCASED;

/// The flat table holds the characters below this one.
const FLAT: usize = 0x2_0000;

/// The kinds of all characters, under two versions of Unicode.
#[derive(Debug)]
pub(crate) struct Unicode {
    /// The class in 16.0 in the low half of the byte, in 15.1 in the high half.
    flat: Vec<u8>,
    /// The characters above the table: the first character of each run and its classes.
    runs: Vec<(u32, u8)>,
}

/// The version of Unicode to look in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Edition {
    Sixteen = 0,
    Fifteen = 4,
}

impl Unicode {
    /// Returns the tables. The first call expands them (128 KiB).
    pub(crate) fn get() -> &'static Self {
        static TABLES: OnceLock<Unicode> = OnceLock::new();
        TABLES.get_or_init(|| expand(include_bytes!("unicode.bin")))
    }

    /// Returns the kind of one character.
    #[inline]
    pub(crate) fn kind(&self, c: u32, edition: Edition) -> Kinds {
        let classes = match self.flat.get(c as usize) {
            Some(classes) => *classes,
            None => self.high(c),
        };
        1 << ((classes >> (edition as u8)) & 15)
    }

    #[cold]
    fn high(&self, c: u32) -> u8 {
        let after = self.runs.partition_point(|(first, _)| *first <= c);
        after.checked_sub(1).map_or(0, |i| self.runs[i].1)
    }
}

fn expand(mut data: &[u8]) -> Unicode {
    let mut flat = vec![0_u8; FLAT];
    let mut runs: Vec<(u32, u8)> = Vec::new();
    let mut next = || {
        let (mut run, mut shift) = (0_u32, 0);
        while let Some((b, rest)) = data.split_first() {
            data = rest;
            run |= u32::from(b & 127) << shift;
            shift += 7;
            if *b < 128 {
                break;
            }
        }
        ((run >> 4) as usize, (run & 15) as u8)
    };
    let mut at = 0;
    while at < 0x11_0000 {
        let (n, class) = next();
        if n == 0 {
            break;
        }
        flat[at.min(FLAT)..(at + n).min(FLAT)].fill(class | class << 4);
        if at + n > FLAT {
            runs.push((at.max(FLAT) as u32, class | class << 4));
        }
        at += n;
    }
    at = 0;
    while at < 0x11_0000 {
        let (n, class) = next();
        if n == 0 {
            break;
        }
        if class != 15 {
            for classes in &mut flat[at.min(FLAT)..(at + n).min(FLAT)] {
                *classes = *classes & 15 | class << 4;
            }
            // No character above the flat table was assigned between the two versions; a test asserts it.
        }
        at += n;
    }
    Unicode { flat, runs }
}

/// The kinds of the characters below 128. They are the same in both versions.
pub(crate) const ASCII: [Kinds; 128] = {
    let mut table = [OTHER; 128];
    let mut b = 0_usize;
    while b < 128 {
        table[b] = match b as u8 {
            b'A'..=b'Z' => UPPER,
            b'a'..=b'z' => LOWER,
            b'0'..=b'9' => NUMBER,
            b' ' | 9..=13 => SPACE,
            b'$' | b'+' | b'<' | b'=' | b'>' | b'^' | b'`' | b'|' | b'~' => SYMBOL,
            33..=126 => PUNCTUATION,
            _ => OTHER,
        };
        b += 1;
    }
    table
};

/// Decodes the character at `at` of valid UTF-8, which must not be ASCII. Returns its code and the place after it.
#[inline]
pub(crate) fn decode(bytes: &[u8], at: usize) -> (u32, usize) {
    let b = |i: usize| bytes.get(at + i).map_or(0, |b| u32::from(*b & 0x3f));
    let lead = u32::from(bytes[at]);
    if lead < 0xe0 {
        ((lead & 0x1f) << 6 | b(1), at + 2)
    } else if lead < 0xf0 {
        ((lead & 0x0f) << 12 | b(1) << 6 | b(2), at + 3)
    } else {
        ((lead & 0x07) << 18 | b(1) << 12 | b(2) << 6 | b(3), at + 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(c: char, expected: Kinds) {
        assert_eq!(
            Unicode::get().kind(c as u32, Edition::Sixteen),
            expected,
            "{c:?}"
        );
        assert_eq!(
            Unicode::get().kind(c as u32, Edition::Fifteen),
            expected,
            "{c:?}"
        );
    }

    /// B8: the kinds agree with the standard library where both know the property.
    #[test]
    fn kinds_agree_with_the_standard_library() {
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let kind = Unicode::get().kind(c as u32, Edition::Sixteen);
            assert_eq!(kind == SPACE, c.is_whitespace(), "{c:?}");
            if kind & UPPER != 0 && !('\u{1c4}'..='\u{1fff}').contains(&c) {
                assert!(c.is_uppercase(), "{c:?}");
            }
            if kind == NUMBER {
                assert!(c.is_numeric(), "{c:?}");
            }
            if kind & LETTER != 0 {
                assert!(c.is_alphabetic(), "{c:?}");
            }
            if c.is_ascii() {
                assert_eq!(kind, ASCII[c as usize], "{c:?}");
            }
        }
    }

    /// B8: one sample of every kind, in both versions.
    #[test]
    fn a_sample_of_every_kind() {
        check('Ж', UPPER);
        check('ж', LOWER);
        check('中', UNCASED);
        check('\u{2a700}', UNCASED);
        check('\u{301}', MARK);
        check('½', NUMBER);
        check('、', PUNCTUATION);
        check('€', SYMBOL);
        check('\u{3000}', SPACE);
        check('\u{e000}', OTHER);
        check('\u{e0100}', MARK);
    }

    /// B8: Garay came with Unicode 16.0, and no character above the flat table did.
    #[test]
    fn the_versions_differ() {
        assert_eq!(Unicode::get().kind(0x1_0d50, Edition::Sixteen), UPPER);
        assert_eq!(Unicode::get().kind(0x1_0d50, Edition::Fifteen), OTHER);
        let data = include_bytes!("unicode.bin");
        let (mut at, mut pass, mut run, mut shift) = (0_usize, 0, 0_usize, 0);
        for b in data {
            run |= usize::from(b & 127) << shift;
            shift += 7;
            if *b < 128 {
                at += run >> 4;
                assert!(pass == 0 || at <= FLAT || run & 15 == 15, "{at:x}");
                if at == 0x11_0000 {
                    (at, pass) = (0, pass + 1);
                }
                (run, shift) = (0, 0);
            }
        }
        assert_eq!(pass, 2);
    }

    /// B8: decoding gives every character back.
    #[test]
    fn decodes_every_character() {
        for c in (0x80..=0x10_ffff).filter_map(char::from_u32) {
            let mut buffer = [0; 4];
            let bytes = c.encode_utf8(&mut buffer).as_bytes();
            assert_eq!(decode(bytes, 0), (c as u32, bytes.len()));
        }
    }
}
