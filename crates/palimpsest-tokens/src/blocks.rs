//! Finds words of ASCII sixty-four bytes at a time.
//!
//! Each kind of byte has a set of 64 bits, and shifts and carries over these sets find the starts of words. The code
//! takes no decision per character, which a processor would guess wrong at the end of nearly every word. The rules are
//! those of [`crate::pretokenize`] and were derived from its expressions; a test compares the two.
//!
//! No expression looks back, so any start of a word can be the start of a block. The text after a block decides about
//! its last word and about white space at its end, so the next block handles those.

use crate::cut::{Cut, Words};

/// One of the expressions that cut a text in a single pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blocks {
    shape: Shape,
    /// The largest number of digits in a word.
    digits: usize,
    contractions: bool,
    /// Punctuation takes the line breaks after it along.
    lines: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Words,
    Cased,
    Gpt2,
}

/// The starts of words in the first bytes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Starts {
    /// One bit for each byte except the first, which always starts a word.
    pub(crate) bits: u64,
    /// The length of the text, if it ends in this block. All words are known then, including the last.
    pub(crate) end: Option<usize>,
}

/// The number of bytes in a block.
const BLOCK: usize = 64;

#[cfg(not(target_family = "wasm"))]
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Sets the high bit of each byte (below 128) that is at least `least`.
#[cfg(not(target_family = "wasm"))]
const fn at_least(x: u64, least: u8) -> u64 {
    x + (0x80 - least as u64) * ONES
}

/// Sets the high bit of each byte (below 128) that equals `b`.
#[cfg(not(target_family = "wasm"))]
const fn is(x: u64, b: u8) -> u64 {
    HIGH - (x ^ (b as u64 * ONES))
}

/// Gathers the high bits of eight bytes side by side.
#[cfg(not(target_family = "wasm"))]
const fn gather(x: u64) -> u64 {
    (x & HIGH).wrapping_mul(0x0002_0408_1020_4081) >> 56
}

/// The bytes of a block as sets of bits, one set for each kind.
#[derive(Debug, Clone, Copy, Default)]
struct Sets {
    letters: u64,
    capitals: u64,
    digits: u64,
    spaces: u64,
    /// Line breaks.
    breaks: u64,
    /// White space that is neither a space nor a line break.
    blanks: u64,
    apostrophes: u64,
    slashes: u64,
    /// Bytes that are not ASCII.
    wide: u64,
}

impl Sets {
    #[cfg(not(target_family = "wasm"))]
    #[inline]
    fn of(block: &[u8; BLOCK], cased: bool) -> Self {
        let mut sets = Self::default();
        let (eights, _) = block.as_chunks::<8>();
        for (i, eight) in eights.iter().enumerate() {
            let x = u64::from_le_bytes(*eight);
            sets.wide |= gather(x) << (8 * i);
            let x = x & !HIGH;
            let small = x | (0x20 * ONES);
            let letters = at_least(small, b'a') & !at_least(small, b'z' + 1);
            let digits = at_least(x, b'0') & !at_least(x, b'9' + 1);
            let control = at_least(x, 9) & !at_least(x, 14);
            let breaks = is(x, b'\n') | is(x, b'\r');
            sets.letters |= gather(letters) << (8 * i);
            sets.digits |= gather(digits) << (8 * i);
            sets.spaces |= gather(is(x, b' ')) << (8 * i);
            sets.breaks |= gather(breaks) << (8 * i);
            sets.blanks |= gather(control & !breaks) << (8 * i);
            sets.apostrophes |= gather(is(x, b'\'')) << (8 * i);
            if cased {
                sets.capitals |= gather(letters & !(x << 2)) << (8 * i);
                sets.slashes |= gather(is(x, b'/')) << (8 * i);
            }
        }
        sets
    }

    /// The same as the portable version, written with the wasm vectors that current engines have. The compiler does not
    /// vectorise the portable version by itself.
    #[cfg(target_family = "wasm")]
    #[target_feature(enable = "simd128")]
    fn of(block: &[u8; BLOCK], cased: bool) -> Self {
        use core::arch::wasm32::{
            u8x16_bitmask as gather, u8x16_eq, u8x16_lt, u8x16_shl, u8x16_splat, u8x16_sub, u64x2,
            v128_andnot, v128_or,
        };
        let is = |x, b| u8x16_eq(x, u8x16_splat(b));
        let from = |x, first, n| u8x16_lt(u8x16_sub(x, u8x16_splat(first)), u8x16_splat(n));
        let mut sets = Self::default();
        let (eights, _) = block.as_chunks::<8>();
        let (pairs, _) = eights.as_chunks::<2>();
        for (i, [low, high]) in pairs.iter().enumerate() {
            let x = u64x2(u64::from_le_bytes(*low), u64::from_le_bytes(*high));
            let letters = u64::from(gather(from(v128_or(x, u8x16_splat(0x20)), b'a', 26)));
            let breaks = v128_or(is(x, b'\n'), is(x, b'\r'));
            let at = 16 * i;
            sets.wide |= u64::from(gather(x)) << at;
            sets.letters |= letters << at;
            sets.digits |= u64::from(gather(from(x, b'0', 10))) << at;
            sets.spaces |= u64::from(gather(is(x, b' '))) << at;
            sets.breaks |= u64::from(gather(breaks)) << at;
            sets.blanks |= u64::from(gather(v128_andnot(from(x, 9, 5), breaks))) << at;
            sets.apostrophes |= u64::from(gather(is(x, b'\''))) << at;
            if cased {
                sets.capitals |= (letters & !u64::from(gather(u8x16_shl(x, 2)))) << at;
                sets.slashes |= u64::from(gather(is(x, b'/'))) << at;
            }
        }
        sets
    }
}

impl Blocks {
    /// Returns the rules for one expression that applies alone, or `None` if this module does not know it.
    pub(crate) fn of(cuts: &[Cut]) -> Option<Self> {
        match cuts {
            [
                Cut::Words(Words {
                    digits,
                    contractions,
                    lines,
                    marks: _,
                }),
            ] => Some(Self {
                shape: Shape::Words,
                digits: *digits,
                contractions: *contractions,
                lines: *lines,
            }),
            [
                Cut::Cased {
                    digits,
                    contractions,
                },
            ] => Some(Self {
                shape: Shape::Cased,
                digits: *digits,
                contractions: *contractions,
                lines: true,
            }),
            [Cut::Gpt2] => Some(Self {
                shape: Shape::Gpt2,
                digits: usize::MAX,
                contractions: true,
                lines: false,
            }),
            _ => None,
        }
    }

    /// Returns the starts of words in the bytes from `at` on. A word must start at `at`. `None` if the text there is
    /// mostly not ASCII.
    #[inline]
    pub(crate) fn starts(&self, bytes: &[u8], at: usize, end: usize) -> Option<Starts> {
        let rest = bytes.get(at..end)?;
        if let Some(block) = rest.first_chunk::<BLOCK>() {
            return self.starts_in(block, BLOCK, rest.len() == BLOCK);
        }
        let mut block = [0; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        self.starts_in(&block, rest.len(), true)
    }

    /// Does the work of [`Self::starts`] for the first `n` bytes of a block; `ends` says that the text ends with them.
    #[inline]
    fn starts_in(&self, block: &[u8; BLOCK], n: usize, ends: bool) -> Option<Starts> {
        let (eights, _) = block.as_chunks::<8>();
        if u64::from_le_bytes(eights[0]) & HIGH != 0 {
            return None;
        }
        let sets = Sets::of(block, self.shape == Shape::Cased);
        let ascii = sets.wide.trailing_zeros() as usize;
        let (n, ends) = if ascii < n { (ascii, false) } else { (n, ends) };
        let within = u64::MAX >> (BLOCK - n);
        let text = Apostrophes {
            block,
            n,
            ends,
            letters: sets.letters & within,
            any_case: self.shape != Shape::Gpt2,
        };
        let mut starts = match self.shape {
            Shape::Gpt2 => gpt2(&sets, within, &text),
            Shape::Words | Shape::Cased => self.words(&sets, within, &text),
        } & within
            & !1;
        if !ends {
            // If white space ends the block, only the start of that white space is certain.
            let white = (sets.spaces | sets.breaks | sets.blanks) & within;
            let solid = BLOCK - (within & !white).leading_zeros() as usize;
            if solid < n {
                starts &= u64::MAX >> (BLOCK - 1 - solid);
            }
        }
        Some(Starts {
            bits: starts,
            end: ends.then_some(n),
        })
    }

    /// The expressions of Llama 3 and GPT-4o.
    #[inline]
    fn words(&self, sets: &Sets, within: u64, text: &Apostrophes<'_>) -> u64 {
        let Sets {
            letters,
            digits,
            breaks,
            spaces,
            ..
        } = *sets;
        let blank = (spaces | sets.blanks) & within;
        let breaks = breaks & within;
        let marks = within & !(letters | digits | blank | breaks);
        // Line breaks directly after punctuation belong to it, and so do slashes after those line breaks.
        let mut taken = 0;
        if self.lines {
            let first = breaks & (marks << 1);
            taken = breaks & !breaks.wrapping_add(first);
            let slashes = sets.slashes & within;
            if taken << 1 & slashes != 0 {
                let (mut run, mut along) = (breaks | slashes, first);
                for shift in [1, 2, 4, 8, 16, 32] {
                    along |= run & (along << shift);
                    run &= run << shift;
                }
                taken = along;
            }
        }
        let marks = marks & !taken;
        // A run of marks starts a word, unless the word already starts with the space before it.
        let mark_starts = marks & !(marks << 1) & !(spaces << 1);
        // Letters take along a single mark or a blank before them.
        let prefixes = blank | mark_starts;
        let letter_starts = letters & !(letters << 1) & !(prefixes << 1);
        let blank_starts = blank & !(blank << 1);
        let free = breaks & !taken;
        // After line breaks, blanks form a word of their own if no line break follows.
        let after_break = blank_starts & (free << 1);
        let mut starts = mark_starts
            | letter_starts
            | self.digits(digits & within)
            // The last blank before a character that is not white space.
            | blank & !(blank >> 1) & !(breaks >> 1) & (within >> 1)
            | blank_starts & !after_break
            | free & !(free << 1) & !(blank << 1);
        if after_break != 0 {
            let after = blank.wrapping_add(after_break) & !blank;
            starts |= after_break;
            if after & breaks != 0 {
                let mut left = after_break;
                while left != 0 {
                    let at = left.trailing_zeros();
                    let run = (!(blank >> at)).trailing_zeros();
                    if at + run < u64::BITS && breaks >> (at + run) & 1 != 0 {
                        starts &= !(1 << at);
                    }
                    left &= left - 1;
                }
            }
        }
        if self.shape == Shape::Cased {
            let capitals = sets.capitals & within;
            starts |= capitals & ((letters & !capitals) << 1);
        }
        let apostrophes = sets.apostrophes & within;
        if self.contractions && apostrophes != 0 {
            starts = if self.shape == Shape::Cased {
                text.suffixes(starts, apostrophes)
            } else {
                text.words(starts, apostrophes & (starts | 1))
            };
        }
        starts
    }

    /// The starts of words of digits.
    #[inline]
    fn digits(&self, digits: u64) -> u64 {
        if self.digits == 1 {
            return digits;
        }
        let mut starts = digits & !(digits << 1);
        if self.digits < BLOCK {
            let mut run = digits;
            for shift in 1..=self.digits {
                run &= digits << shift;
            }
            let mut next = (starts << self.digits) & run;
            while next != 0 {
                starts |= next;
                next = (next << self.digits) & run;
            }
        }
        starts
    }
}

/// GPT-2's expression.
#[inline]
fn gpt2(sets: &Sets, within: u64, text: &Apostrophes<'_>) -> u64 {
    let Sets {
        letters,
        digits,
        spaces,
        ..
    } = *sets;
    let white = (spaces | sets.breaks | sets.blanks) & within;
    let marks = within & !(letters | digits | white);
    let runs = letters & !(letters << 1) | digits & !(digits << 1) | marks & !(marks << 1);
    let starts =
        runs & !(spaces << 1) | white & !(white << 1) | white & !(white >> 1) & (within >> 1);
    let apostrophes = sets.apostrophes & (starts | 1) & within;
    text.words(starts, apostrophes)
}

/// A block in which the code looks for contractions.
#[derive(Debug, Clone, Copy)]
struct Apostrophes<'a> {
    block: &'a [u8; BLOCK],
    /// The number of bytes of the block that count, and whether the text ends with them.
    n: usize,
    ends: bool,
    letters: u64,
    any_case: bool,
}

impl Apostrophes<'_> {
    /// Returns the length in bytes of the contraction that starts with the apostrophe at `at`, or 0. `None` if the text
    /// after the block decides.
    #[inline]
    fn contraction(&self, at: usize) -> Option<usize> {
        let fold = |i: usize| {
            if i >= self.n {
                self.ends.then_some(0)
            } else if self.letters >> i & 1 == 0 {
                Some(0)
            } else if self.any_case {
                Some(self.block[i] | 0x20)
            } else {
                Some(self.block[i])
            }
        };
        match fold(at + 1)? {
            b's' | b't' | b'm' | b'd' => Some(2),
            b'r' | b'v' => fold(at + 2).map(|b| if b == b'e' { 3 } else { 0 }),
            b'l' => fold(at + 2).map(|b| if b == b'l' { 3 } else { 0 }),
            _ => Some(0),
        }
    }

    /// Makes `'s` and the like words of their own where a word starts.
    #[inline]
    fn words(&self, mut starts: u64, mut left: u64) -> u64 {
        left &= self.letters >> 1;
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            match self.contraction(at) {
                Some(0) => {}
                Some(n) => {
                    starts &= !(2 << at);
                    if at + n < BLOCK {
                        starts |= self.letters & 1 << (at + n);
                    }
                }
                None => return starts & u64::MAX >> (BLOCK - 1 - at),
            }
        }
        starts
    }

    /// Joins `'s` and the like to the letters before them.
    #[inline]
    fn suffixes(&self, mut starts: u64, mut left: u64) -> u64 {
        left &= self.letters << 1;
        let mut last = usize::MAX;
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            // A new word starts after a contraction.
            if at == last {
                continue;
            }
            match self.contraction(at) {
                Some(0) => {}
                Some(n) => {
                    starts &= !(((1 << n) - 1) << at);
                    last = at + n;
                    if last < BLOCK {
                        starts |= self.letters & 1 << last;
                    }
                }
                None => return starts & ((1 << at) - 1),
            }
        }
        starts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretokenize::{Rules, Scanner};
    // On wasm the code uses other instructions.
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const CUTS: [&[Cut]; 7] = [
        &[Cut::Words(Words::LLAMA3)],
        &[Cut::Words(Words::QWEN2)],
        &[Cut::Words(Words {
            marks: true,
            ..Words::QWEN2
        })],
        &[Cut::Words(Words {
            contractions: false,
            lines: false,
            ..Words::LLAMA3
        })],
        &[Cut::Cased {
            digits: 3,
            contractions: true,
        }],
        &[Cut::Cased {
            digits: 1,
            contractions: false,
        }],
        &[Cut::Gpt2],
    ];

    /// Compares the words that blocks find with those of the expressions.
    fn check(text: &str) {
        for cuts in CUTS {
            for rules in [Rules::LlamaCpp, Rules::Reference] {
                let scanner = Scanner::new(text, rules);
                let (mut fast, mut slow) = (Vec::new(), Vec::new());
                scanner.cut(cuts, 0, text.len(), &mut |start, end| {
                    fast.push(&text[start..end]);
                    true
                });
                scanner.cut_one_by_one(cuts, 0, text.len(), &mut |start, end| {
                    slow.push(&text[start..end]);
                    true
                });
                assert_eq!(fast, slow, "{cuts:?} {rules:?} {text:?}");
            }
        }
    }

    /// B8: blocks find the same words as the expressions, whichever parts stand next to each other.
    #[test]
    fn blocks_agree_with_the_expressions() {
        let parts = [
            "a", "B", "s", "l", "re", "LL", "word", "Word", "1", "23", "4567", " ", "  ", "\t",
            "\n", "\r\n", "\n\n", "'", "'s", "'ve", "/", "//", ".", "({", "\"", "_", "\u{1}",
            "\u{b}", "é", "中", "\u{a0}", "\u{301}", "ſ", "３",
        ];
        let mut seed = 7_u64;
        let mut next = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % n
        };
        for round in 0..60_000 {
            let mut text = String::new();
            // The texts are mostly ASCII, so that blocks are full, and have few parts, so that rare neighbours meet.
            let few: Vec<usize> = (0..2 + next(6))
                .map(|_| {
                    next(if round % 4 == 0 {
                        parts.len()
                    } else {
                        parts.len() - 6
                    })
                })
                .collect();
            for _ in 0..=next(70) {
                text.push_str(parts[few[next(few.len())]]);
            }
            check(&text);
        }
    }

    /// B8: a word may end at any place of a block, including its edge.
    #[test]
    fn the_edge_of_a_block_moves_no_word() {
        for edge in [
            "don't x",
            "we'll",
            "it'S",
            "a'ře",
            "x;\n\n  y",
            "\n   \n  z",
            "   \u{3000}x",
            "12345678",
            "ABcDe",
            ");\n// x",
            ";\n/\n!y",
            "(é",
            " é",
            "\t(",
            " (",
            "'sx",
            "  1",
        ] {
            for before in 50..70 {
                check(&format!("{}{edge}", "x ".repeat(40).get(..before).unwrap()));
                check(&format!("{}{edge} and more", "y".repeat(before)));
                check(&format!("{}{edge}", " ".repeat(before)));
            }
        }
    }
}
