//! Finds special tokens in the text before it is cut: `<|im_end|>`, and tokens that a vocabulary's author defined.

use std::cmp::Reverse;

use crate::{
    pretokenize::Rules,
    words::{Arena, Index},
};

/// The special tokens that are read as tokens when they stand in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Specials {
    /// All of them. A server reads a rendered prompt this way, messages included.
    #[default]
    All,
    /// Only those that the author defined. Control tokens are plain text.
    Defined,
}

/// The kind of a special token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    /// Defined by the vocabulary's author, and found in any text.
    Defined = 0,
    /// A control token, found only where control tokens are read.
    Control = 1,
    /// A plain token by its type, but llama.cpp knows its text and makes it a control token.
    Assumed = 2,
}

/// The special tokens of a vocabulary.
#[derive(Debug, Clone, Default)]
pub(crate) struct Finder {
    texts: Arena,
    index: Index,
    /// The token of each text, and its kind.
    tokens: Vec<(u32, Special)>,
    /// The shapes of the texts that start with each byte, longest first.
    shapes: Vec<Vec<Shape>>,
    /// The pairs of bytes with which some text starts, one bit each.
    pairs: Vec<u64>,
    /// The bytes that are a text by themselves, or start one.
    starts: Vec<bool>,
    /// The same bytes as a list, if it is short. The search then looks at eight bytes at a time.
    few: Vec<u8>,
}

/// Texts of one length with the same first two bytes. A test of the last byte avoids most look-ups.
#[derive(Debug, Clone)]
struct Shape {
    len: u32,
    /// The second byte, or `None` for a text of one byte.
    second: Option<u8>,
    /// The last bytes of these texts, one bit each.
    lasts: [u64; 4],
}

impl Shape {
    #[inline]
    fn fits(&self, rest: &[u8]) -> bool {
        let Some(last) = rest.get(self.len as usize - 1) else {
            return false;
        };
        (self.second.is_none() || rest.get(1).copied() == self.second)
            && self.lasts[usize::from(last / 64)] >> (last % 64) & 1 != 0
    }
}

/// The search for first bytes takes eight bytes at a time if there are at most this many of them.
const FEW: usize = 4;

/// Sets the high bit of each byte of `x` that equals `b`.
const fn is(x: u64, b: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let other = x ^ (b as u64 * 0x0101_0101_0101_0101);
    !(((other & LOW) + LOW) | other | LOW)
}

impl Finder {
    /// Builds a finder from the tokens in the order of their ids: text, id, kind.
    pub(crate) fn new<'a>(tokens: impl Iterator<Item = (&'a [u8], u32, Special)>) -> Self {
        let mut finder = Self {
            shapes: vec![Vec::new(); 256],
            pairs: vec![0; 1 << 10],
            starts: vec![false; 256],
            ..Self::default()
        };
        for (text, id, special) in tokens {
            let Some(first) = text.first() else { continue };
            finder.texts.push(text);
            finder.tokens.push((id, special));
            finder.starts[*first as usize] = true;
            let shapes = &mut finder.shapes[*first as usize];
            let (len, second) = (text.len() as u32, text.get(1).copied());
            let place = |shape: &Shape| (Reverse(shape.len), shape.second);
            let at = match shapes.binary_search_by_key(&(Reverse(len), second), place) {
                Ok(at) => at,
                Err(at) => {
                    let lasts = [0; 4];
                    shapes.insert(at, Shape { len, second, lasts });
                    at
                }
            };
            let last = text.last().copied().unwrap_or(0);
            shapes[at].lasts[usize::from(last / 64)] |= 1 << (last % 64);
            let seconds = match text.get(1) {
                Some(second) => *second as usize..*second as usize + 1,
                None => 0..256,
            };
            for second in seconds {
                let pair = usize::from(*first) << 8 | second;
                finder.pairs[pair / 64] |= 1 << (pair % 64);
            }
        }
        finder.few = (0..=255)
            .filter(|b| finder.starts[usize::from(*b)])
            .collect();
        if finder.few.len() > FEW {
            finder.few = Vec::new();
        }
        finder.index = Index::with_capacity(finder.texts.len());
        for i in 0..finder.texts.len() {
            finder.index.insert(&finder.texts, i as u32);
        }
        finder
    }

    pub(crate) fn memory(&self) -> usize {
        self.texts.memory() + self.index.memory() + self.tokens.capacity() * 8
    }

    /// Returns the number and length of each special text at `at`, longest first.
    fn all_at<'a>(
        &'a self,
        bytes: &'a [u8],
        at: usize,
        which: Specials,
        rules: Rules,
    ) -> impl Iterator<Item = (u32, usize)> + 'a {
        let rest = &bytes[at..];
        let shapes: &[Shape] = rest
            .first()
            .map_or(&[], |first| &self.shapes[*first as usize]);
        shapes.iter().filter_map(move |shape| {
            let n = shape.len as usize;
            if !shape.fits(rest) {
                return None;
            }
            let found = self.index.get(&self.texts, rest.get(..n)?)?;
            let wanted = match self.tokens[found as usize].1 {
                Special::Defined => true,
                Special::Control => which == Specials::All,
                Special::Assumed => which == Specials::All && rules == Rules::LlamaCpp,
            };
            wanted.then_some((found, n))
        })
    }

    /// Returns the next place from `at` on at which a special text may start.
    #[inline]
    fn candidate(&self, bytes: &[u8], mut at: usize) -> Option<usize> {
        if !self.few.is_empty() {
            while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
                let x = u64::from_le_bytes(*eight);
                let mut found = self.few.iter().fold(0, |found, b| found | is(x, *b));
                while found != 0 {
                    let place = at + (found.trailing_zeros() / 8) as usize;
                    if self.may_start(bytes, place) {
                        return Some(place);
                    }
                    found &= found - 1;
                }
                at += 8;
            }
        }
        loop {
            at += bytes
                .get(at..)?
                .iter()
                .position(|b| self.starts[*b as usize])?;
            if self.may_start(bytes, at) {
                return Some(at);
            }
            at += 1;
        }
    }

    /// Returns `true` if a special text may start with the two bytes at `at`.
    #[inline]
    fn may_start(&self, bytes: &[u8], at: usize) -> bool {
        let Some(second) = bytes.get(at + 1) else {
            // The last byte of a text may be a special text by itself.
            return true;
        };
        let pair = usize::from(bytes[at]) << 8 | usize::from(*second);
        self.pairs[pair / 64] >> (pair % 64) & 1 != 0
    }

    /// Calls `piece` with the parts of a text in order, and with the token of each part that is one, until `piece`
    /// returns `false`.
    pub(crate) fn split(
        &self,
        bytes: &[u8],
        which: Specials,
        rules: Rules,
        piece: &mut impl FnMut(usize, usize, Option<u32>) -> bool,
    ) -> bool {
        if self.tokens.is_empty() {
            return bytes.is_empty() || piece(0, bytes.len(), None);
        }
        let (mut done, mut at) = (0, 0);
        while let Some(found) = self.candidate(bytes, at) {
            let Some((first, n)) = self.all_at(bytes, found, which, rules).next() else {
                at = found + 1;
                continue;
            };
            if done < found && !piece(done, found, None) {
                return false;
            }
            // If special texts overlap, llama.cpp takes the longest first wherever it stands, and other programs the
            // leftmost.
            let cluster = match rules {
                Rules::LlamaCpp => self.cluster(bytes, found, n, which),
                Rules::Reference => None,
            };
            match cluster {
                None => {
                    if !piece(found, found + n, Some(self.tokens[first as usize].0)) {
                        return false;
                    }
                    at = found + n;
                }
                Some((end, special)) => {
                    for (start, end, token) in self.longest_first(bytes, found, end, special) {
                        if !piece(start, end, token) {
                            return false;
                        }
                    }
                    at = end;
                }
            }
            done = at;
        }
        done == bytes.len() || piece(done, bytes.len(), None)
    }

    /// If other special texts overlap the one of `n` bytes at `start`, returns the end of the last and all of them.
    fn cluster(
        &self,
        bytes: &[u8],
        start: usize,
        n: usize,
        which: Specials,
    ) -> Option<(usize, Vec<u32>)> {
        let mut end = start + n;
        let mut at = start + 1;
        let mut special: Vec<u32> = Vec::new();
        // The longest goes first, and of equal lengths the first token.
        let place = |i: u32| {
            let length = self.texts.get(i as usize).len();
            (Reverse(length), self.tokens[i as usize].0)
        };
        let mut add = |found: u32| {
            if let Err(i) = special.binary_search_by_key(&place(found), |i| place(*i)) {
                special.insert(i, found);
            }
        };
        while at < end {
            for (found, n) in self.all_at(bytes, at, which, Rules::LlamaCpp) {
                if end < at + n {
                    end = at + n;
                    add(found);
                }
            }
            at += 1;
        }
        if end == start + n {
            return None;
        }
        for at in start..end {
            for (found, n) in self.all_at(bytes, at, which, Rules::LlamaCpp) {
                if at + n <= end {
                    add(found);
                }
            }
        }
        Some((end, special))
    }

    /// Cuts `start..end` at the occurrences of each special text in turn, from left to right.
    fn longest_first(
        &self,
        bytes: &[u8],
        start: usize,
        end: usize,
        special: Vec<u32>,
    ) -> Vec<(usize, usize, Option<u32>)> {
        let mut parts = vec![(start, end, None)];
        for i in special {
            let text = self.texts.get(i as usize);
            let token = self.tokens[i as usize].0;
            let mut cut = Vec::with_capacity(parts.len());
            for (start, end, known) in parts {
                if known.is_some() {
                    cut.push((start, end, known));
                    continue;
                }
                let (mut rest, mut at) = (start, start);
                while at + text.len() <= end {
                    if &bytes[at..at + text.len()] == text {
                        if rest < at {
                            cut.push((rest, at, None));
                        }
                        at += text.len();
                        cut.push((at - text.len(), at, Some(token)));
                        rest = at;
                    } else {
                        at += 1;
                    }
                }
                if rest < end {
                    cut.push((rest, end, None));
                }
            }
            parts = cut;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        tokens: &[(&str, bool)],
        which: Specials,
        rules: Rules,
        text: &str,
        expected: &[&str],
    ) {
        let finder = Finder::new(tokens.iter().enumerate().map(|(id, (text, control))| {
            (
                text.as_bytes(),
                id as u32,
                if *control {
                    Special::Control
                } else {
                    Special::Defined
                },
            )
        }));
        let mut parts = Vec::new();
        finder.split(text.as_bytes(), which, rules, &mut |start, end, token| {
            if let Some(token) = token {
                assert_eq!(&text[start..end], tokens[token as usize].0);
                parts.push(format!("[{}]", &text[start..end]));
            } else {
                parts.push(text[start..end].to_owned());
            }
            true
        });
        assert_eq!(parts, expected, "{text:?}");
    }

    /// B8: special texts are found at every place, the longest at each.
    #[test]
    fn finds_special_texts() {
        let tokens = [
            ("<s>", true),
            ("<sep>", true),
            ("\n", false),
            ("\n\n", false),
        ];
        let check =
            |which, text, expected: &[&str]| check(&tokens, which, Rules::LlamaCpp, text, expected);
        check(
            Specials::All,
            "a<s>b<sep><s><se",
            &["a", "[<s>]", "b", "[<sep>]", "[<s>]", "<se"],
        );
        check(Specials::Defined, "a<s>b\n", &["a<s>b", "[\n]"]);
        check(Specials::All, "\n\n\nx", &["[\n\n]", "[\n]", "x"]);
        check(Specials::All, "", &[]);
    }

    /// B8: overlapping special texts follow llama.cpp's order, or the leftmost goes first.
    #[test]
    fn overlaps() {
        let tokens = [("ab", false), ("bcd", false), ("aa", false)];
        check(
            &tokens,
            Specials::All,
            Rules::LlamaCpp,
            "xabcdy",
            &["x", "a", "[bcd]", "y"],
        );
        check(
            &tokens,
            Specials::All,
            Rules::Reference,
            "xabcdy",
            &["x", "[ab]", "cdy"],
        );
        check(
            &tokens,
            Specials::All,
            Rules::LlamaCpp,
            "aaab",
            &["[aa]", "[ab]"],
        );
        check(
            &tokens,
            Specials::All,
            Rules::LlamaCpp,
            "aab",
            &["a", "[ab]"],
        );
        check(
            &tokens,
            Specials::All,
            Rules::Reference,
            "aab",
            &["[aa]", "b"],
        );
    }
}
