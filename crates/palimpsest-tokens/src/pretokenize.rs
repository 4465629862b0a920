//! Cuts text into the words on which byte-pair merging works.
//!
//! Each model family cuts text before merging with a regular expression, or with several applied one after the other.
//! This module writes them out by hand: a scanner that knows the alternatives is many times faster than a
//! regular-expression engine and adds none to the download. llama.cpp, which runs behind Ollama, does not match the
//! families' own expressions to the letter; [`Rules`] chooses between the two.

use crate::blocks::Blocks;
use crate::cut::{Cut, Words};
use crate::unicode::{
    ASCII, Edition, Kinds, LETTER, LOWER, MARK, NUMBER, PUNCTUATION, SPACE, SYMBOL, UNCASED, UPPER,
    Unicode, decode,
};

/// The reading of the families' expressions that a vocabulary follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rules {
    /// The reading of llama.cpp, by which Ollama counts. It does not tell capitals from small letters beyond ASCII,
    /// does not treat `~` as a symbol in DeepSeek's expression, and knows Unicode 15.1.
    #[default]
    LlamaCpp,
    /// The families' own expressions, as Hugging Face's `tokenizers` reads them, in Unicode 16.0.
    Reference,
}

/// A text together with the tables that classify its characters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    unicode: &'static Unicode,
    edition: Edition,
    rules: Rules,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str, rules: Rules) -> Self {
        let edition = match rules {
            Rules::LlamaCpp => Edition::Fifteen,
            Rules::Reference => Edition::Sixteen,
        };
        Self {
            bytes: text.as_bytes(),
            unicode: Unicode::get(),
            edition,
            rules,
        }
    }

    /// Calls `word` with the bounds of each word of `start..end` in order, until `word` returns `false`.
    #[inline]
    pub(crate) fn cut(
        &self,
        cuts: &[Cut],
        start: usize,
        end: usize,
        word: &mut impl FnMut(usize, usize) -> bool,
    ) -> bool {
        match (Blocks::of(cuts), cuts) {
            (Some(blocks), [cut]) => self.cut_in_blocks(&blocks, cut, start, end, word),
            _ => self.cut_one_by_one(cuts, start, end, word),
        }
    }

    /// Does the work of [`Self::cut`] for an expression that leaves nothing between its matches.
    fn cut_in_blocks(
        &self,
        blocks: &Blocks,
        cut: &Cut,
        start: usize,
        end: usize,
        word: &mut impl FnMut(usize, usize) -> bool,
    ) -> bool {
        let (mut at, mut block, mut starts, mut last) = (start, start, 0_u64, None);
        // `word` is called at one place only, so that the compiler inlines it there.
        loop {
            let after = if starts != 0 {
                let next = block + starts.trailing_zeros() as usize;
                starts &= starts - 1;
                next
            } else if let Some(after) = last.take() {
                after
            } else if at >= end {
                return true;
            } else if let Some(found) = blocks.starts(self.bytes, at, end)
                && (found.bits != 0 || found.end.is_some())
            {
                (block, starts) = (at, found.bits);
                last = found.end.map(|n| block + n);
                continue;
            } else {
                // Words that no block holds: not ASCII, or too long.
                self.matches(cut, at, end).max(self.next(at, end).1)
            };
            if !word(at, after) {
                return false;
            }
            at = after;
        }
    }

    /// Does the work of [`Self::cut`] one match at a time.
    pub(crate) fn cut_one_by_one(
        &self,
        cuts: &[Cut],
        start: usize,
        end: usize,
        word: &mut impl FnMut(usize, usize) -> bool,
    ) -> bool {
        let Some((cut, rest)) = cuts.split_first() else {
            return word(start, end);
        };
        let (mut gap, mut at) = (start, start);
        while at < end {
            let after = self.matches(cut, at, end);
            if after == at {
                at = self.next(at, end).1;
                continue;
            }
            if rest.is_empty() {
                if gap < at && !word(gap, at) || !word(at, after) {
                    return false;
                }
                (gap, at) = (after, after);
                continue;
            }
            if gap < at && !self.cut_one_by_one(rest, gap, at, word)
                || !self.cut_one_by_one(rest, at, after, word)
            {
                return false;
            }
            (gap, at) = (after, after);
        }
        gap == end || self.cut_one_by_one(rest, gap, end, word)
    }

    /// Returns the end of the match of one expression that starts at `at`, or `at` if there is none.
    fn matches(&self, cut: &Cut, at: usize, end: usize) -> usize {
        match cut {
            Cut::Words(words) => self.words(words, at, end),
            Cut::Cased {
                digits,
                contractions,
            } => self.cased(*digits, *contractions, at, end),
            Cut::Gpt2 => self.gpt2(at, end),
            other => self.matches_rare(*other, at, end).unwrap_or(at),
        }
    }

    #[inline(never)]
    fn matches_rare(&self, cut: Cut, at: usize, end: usize) -> Option<usize> {
        match cut {
            Cut::Words(_) | Cut::Cased { .. } | Cut::Gpt2 => None,
            Cut::Deepseek => self.deepseek(at, end),
            Cut::Numbers(most) => match self.run_of(at, end, NUMBER, most) {
                after if after == at => None,
                after => Some(after),
            },
            Cut::ThreeDigits => {
                let three = self.bytes[at..end].get(..3)?;
                three.iter().all(u8::is_ascii_digit).then_some(at + 3)
            }
            Cut::Line => matches!(self.bytes[at], b'\r' | b'\n').then_some(at + 1),
            Cut::Lines => {
                let line = self.bytes[at] == b'\n';
                let n = self.bytes[at..end].iter().position(|b| (*b == b'\n') != line);
                Some(n.map_or(end, |n| at + n))
            }
            Cut::HanKana => self.run(at, end, |c, _| matches!(c, 0x4e00..=0x9fa5 | 0x3040..=0x30ff)),
            Cut::Asian => self.run(at, end, |c, _| matches!(c, 0x800..=0x9fa5 | 0xac00..=0xd7ff)),
            Cut::SpacedLetters => self.spaced(at, end, |_, kind| kind & LETTER != 0),
            Cut::SpacedPunctuation => self.spaced(at, end, |_, kind| kind & PUNCTUATION != 0),
            Cut::SpacedCased => self.spaced(at, end, |c, _| is_listed(c)),
            Cut::SpacedMarks => self.spaced(at, end, |c, _| {
                matches!(c, 0x21..=0x2f | 0x3a..=0x7e | 0xff01..=0xff0f | 0xff1a..=0xff5e | 0x2018..=0x201f | 0x3000..=0x3002)
            }),
            Cut::TrailingSpace => {
                let after = self.run_of(at, end, SPACE, usize::MAX);
                (after == end && after > at).then_some(end)
            }
            Cut::Marks { backtick } => self.run(at, end, |c, kind| {
                kind & PUNCTUATION != 0
                    || matches!(c, 0x24 | 0x2b | 0x3c..=0x3e | 0x5e | 0x7c | 0x7e)
                    || backtick && c == 0x60
            }),
        }
    }

    /// Returns the character at `at`, its kinds and the place after it. Returns no kinds at the end.
    #[inline]
    fn char_at(&self, at: usize, end: usize) -> (u32, Kinds, usize) {
        if at >= end {
            return (0, 0, at);
        }
        let b = self.bytes[at];
        if b < 128 {
            return (u32::from(b), ASCII[b as usize], at + 1);
        }
        let (c, after) = decode(self.bytes, at);
        (c, self.unicode.kind(c, self.edition), after)
    }

    /// Returns the kinds of the character at `at` and the place after it. Returns no kinds at the end.
    #[inline]
    fn next(&self, at: usize, end: usize) -> (Kinds, usize) {
        let (_, kind, after) = self.char_at(at, end);
        (kind, after)
    }

    /// Returns the end of the run of characters of `kinds` at `at`.
    #[inline]
    fn run_kinds(&self, mut at: usize, end: usize, kinds: Kinds) -> usize {
        loop {
            let (kind, after) = self.next(at, end);
            if kind & kinds == 0 {
                return at;
            }
            at = after;
        }
    }

    fn run_of(&self, mut at: usize, end: usize, kinds: Kinds, most: usize) -> usize {
        let mut n = 0;
        while n < most {
            let (kind, after) = self.next(at, end);
            if kind & kinds == 0 {
                break;
            }
            (at, n) = (after, n + 1);
        }
        at
    }

    fn run(&self, start: usize, end: usize, is: impl Fn(u32, Kinds) -> bool) -> Option<usize> {
        let mut at = start;
        while at < end {
            let (c, kind, after) = self.char_at(at, end);
            if !is(c, kind) {
                break;
            }
            at = after;
        }
        (at > start).then_some(at)
    }

    /// `\s?` and a run.
    fn spaced(&self, at: usize, end: usize, is: impl Fn(u32, Kinds) -> bool) -> Option<usize> {
        let (kind, after) = self.next(at, end);
        if kind == SPACE
            && let Some(end) = self.run(after, end, &is)
        {
            return Some(end);
        }
        self.run(at, end, is)
    }

    /// `[\r\n]*`
    fn line_breaks(&self, at: usize, end: usize) -> usize {
        self.bytes[at..end]
            .iter()
            .position(|b| !matches!(b, b'\r' | b'\n'))
            .map_or(end, |n| at + n)
    }

    /// `\s*[\r\n]+|\s+(?!\S)|\s+`. Without `lines`, the first alternative is left out.
    fn space(&self, start: usize, end: usize, lines: bool) -> usize {
        let (mut at, mut last, mut line) = (start, start, start);
        loop {
            let (kind, after) = self.next(at, end);
            if kind != SPACE {
                break;
            }
            if matches!(self.bytes[at], b'\r' | b'\n') {
                line = after;
            }
            (last, at) = (at, after);
        }
        if lines && line > start {
            line
        } else if at == end || last == start {
            at
        } else {
            last
        }
    }

    /// Returns the end of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` at `at`.
    fn contraction(&self, at: usize, end: usize, any_case: bool) -> Option<usize> {
        let rest = &self.bytes[at..end];
        if rest.first() != Some(&b'\'') {
            return None;
        }
        let fold = |i: usize| match rest.get(i) {
            Some(b) if any_case => b.to_ascii_lowercase(),
            Some(b) => *b,
            None => 0,
        };
        match (fold(1), fold(2)) {
            (b's' | b't' | b'm' | b'd', _) => Some(at + 2),
            (b'r' | b'v', b'e') | (b'l', b'l') => Some(at + 3),
            // Case folding by Unicode turns the long s into an s.
            _ if any_case
                && self.rules == Rules::Reference
                && rest[1..].starts_with("ſ".as_bytes()) =>
            {
                Some(at + 3)
            }
            _ => None,
        }
    }

    fn words(&self, words: &Words, at: usize, end: usize) -> usize {
        let letters = if words.marks { LETTER | MARK } else { LETTER };
        let b = self.bytes[at];
        if b == b'\''
            && words.contractions
            && let Some(after) = self.contraction(at, end, true)
        {
            return after;
        }
        let (kind, after) = self.next(at, end);
        if kind & letters != 0 {
            return self.run_kinds(after, end, letters);
        }
        if kind == NUMBER {
            return self.run_of(after, end, NUMBER, words.digits - 1);
        }
        let (second, third) = self.next(after, end);
        if second & letters != 0 && !matches!(b, b'\r' | b'\n') {
            return self.run_kinds(third, end, letters);
        }
        let marks = !(SPACE | NUMBER | letters);
        let after = if kind != SPACE {
            after
        } else if b == b' ' && second & marks != 0 {
            third
        } else {
            return self.space(at, end, true);
        };
        let after = self.run_kinds(after, end, marks);
        if words.lines {
            self.line_breaks(after, end)
        } else {
            after
        }
    }

    fn gpt2(&self, at: usize, end: usize) -> usize {
        let b = self.bytes[at];
        if b == b'\''
            && let Some(after) = self.contraction(at, end, false)
        {
            return after;
        }
        let (mut kind, mut after) = self.next(at, end);
        if b == b' ' {
            let (second, third) = self.next(after, end);
            if second & !SPACE != 0 {
                (kind, after) = (second, third);
            }
        }
        if kind & LETTER != 0 {
            self.run_kinds(after, end, LETTER)
        } else if kind == NUMBER {
            self.run_kinds(after, end, NUMBER)
        } else if kind == SPACE {
            self.space(at, end, false)
        } else {
            self.run_kinds(after, end, !(SPACE | LETTER | NUMBER))
        }
    }

    fn deepseek(&self, at: usize, end: usize) -> Option<usize> {
        let b = self.bytes[at];
        if b.is_ascii_punctuation() && at + 1 < end && self.bytes[at + 1].is_ascii_alphabetic() {
            let n = self.bytes[at + 1..end]
                .iter()
                .position(|b| !b.is_ascii_alphabetic());
            return Some(n.map_or(end, |n| at + 1 + n));
        }
        let kind_of = |at: usize| match self.next(at, end) {
            (_, after) if at < end && self.bytes[at] == b'~' && self.rules == Rules::LlamaCpp => {
                (crate::unicode::OTHER, after)
            }
            found => found,
        };
        let (kind, after) = kind_of(at);
        let (second, third) = kind_of(after);
        let (letters, marks) = (LETTER | MARK, PUNCTUATION | SYMBOL);
        if kind & letters != 0 {
            return Some(self.run_kinds(after, end, letters));
        }
        if kind & marks == 0 && !matches!(b, b'\r' | b'\n') && second & letters != 0 {
            return Some(self.run_kinds(third, end, letters));
        }
        if kind & marks != 0 || b == b' ' && second & marks != 0 {
            let mut at = if kind & marks != 0 { after } else { third };
            loop {
                let (kind, after) = kind_of(at);
                if kind & marks == 0 {
                    return Some(self.line_breaks(at, end));
                }
                at = after;
            }
        }
        (kind == SPACE).then(|| self.space(at, end, true))
    }

    /// Says for the character at `at` whether it may stand in the upper half and in the lower half of a cased word, and
    /// returns the place after it.
    #[inline]
    fn case(&self, at: usize, end: usize) -> (bool, bool, usize) {
        let (kind, after) = self.next(at, end);
        match self.rules {
            Rules::Reference => (
                kind & (UPPER | UNCASED | MARK) != 0,
                kind & (LOWER | UNCASED | MARK) != 0,
                after,
            ),
            Rules::LlamaCpp if after - at == 1 => (kind == UPPER, kind == LOWER, after),
            Rules::LlamaCpp => (kind & LETTER != 0, kind & LETTER != 0, after),
        }
    }

    /// Splits the letters of a cased word from `start`. Returns the end of the upper half, and the end of the word if
    /// at least one letter fits the lower half.
    fn halves(&self, start: usize, end: usize) -> (usize, Option<usize>) {
        let (mut at, mut both) = (start, None);
        loop {
            let (upper, lower, after) = self.case(at, end);
            if !upper {
                break;
            }
            if lower {
                both = Some(after);
            }
            at = after;
        }
        let upper = at;
        loop {
            let (_, lower, after) = self.case(at, end);
            if !lower {
                break;
            }
            at = after;
        }
        // The upper half gives the lower half the letter that it needs: the last one that fits both.
        (upper, if at > upper { Some(at) } else { both })
    }

    fn cased(&self, digits: usize, contractions: bool, at: usize, end: usize) -> usize {
        let b = self.bytes[at];
        let (kind, after) = self.next(at, end);
        if kind == NUMBER {
            return self.run_of(after, end, NUMBER, digits - 1);
        }
        let prefix = kind & LETTER == 0 && !matches!(b, b'\r' | b'\n');
        // `x?U*l+`, with and without the character before it, then `x?U+l*`.
        let (inner_upper, inner_both) = if prefix {
            self.halves(after, end)
        } else {
            (after, None)
        };
        let (upper, both) = if prefix && kind != MARK {
            (at, None)
        } else {
            self.halves(at, end)
        };
        let word = inner_both
            .or(both)
            .or((prefix && inner_upper > after).then_some(inner_upper))
            .or((upper > at).then_some(upper));
        if let Some(after) = word {
            return contractions
                .then(|| self.contraction(after, end, true))
                .flatten()
                .unwrap_or(after);
        }
        let marks = !(SPACE | LETTER | NUMBER);
        let after = if kind == SPACE {
            let (second, third) = self.next(after, end);
            if b != b' ' || second & marks == 0 {
                return self.space(at, end, true);
            }
            third
        } else {
            after
        };
        let after = self.run_kinds(after, end, marks);
        self.bytes[after..end]
            .iter()
            .position(|b| !matches!(b, b'\r' | b'\n' | b'/'))
            .map_or(end, |n| after + n)
    }
}

/// Returns `true` for the letters that DeepSeek LLM's expression lists: those with case, by an older Unicode.
fn is_listed(c: u32) -> bool {
    const LISTED: [(u32, u32); 84] = include!("cased.in");
    let after = LISTED.partition_point(|(first, _)| *first <= c);
    after > 0 && c <= LISTED[after - 1].1
}
