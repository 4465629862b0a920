//! A text as sequences of words and as whole runs, as the audit compares them.

use std::collections::{HashMap, HashSet};

use super::{Fact, FactClass};
use crate::words::Plain;
use crate::words::script::{combining, fold, unspaced};
use crate::words::terms::{hash, mix};

/// The hash of the first `n` words.
pub(super) fn gram(words: &[u64], n: usize) -> u64 {
    let mut h = 0u64;
    for (k, word) in words[..n].iter().enumerate() {
        h = mix(h ^ word.rotate_left(k as u32 * 7 + 1));
    }
    h ^ (n as u64 - 1)
}

/// A window as sequences of words and as a set of whole runs.
#[derive(Default)]
pub(super) struct Index {
    /// Hashes of the words, in order.
    words: Vec<u64>,
    /// The hash of up to four words at a position, and the first such position; `next` chains the rest.
    grams: HashMap<u64, u32, Plain>,
    next: Vec<[u32; 4]>,
    runs: HashSet<u64, Plain>,
}

pub(super) const END: u32 = u32::MAX;

/// The word that separates two texts of one index.
const BORDER: u64 = 0x626F_7264_6572_2121;

impl Index {
    pub(super) fn of(text: &str) -> Self {
        let mut index = Self::default();
        index.add(text);
        index
    }

    /// Adds another text. No sequence reaches across the border.
    pub(super) fn add(&mut self, text: &str) {
        if !self.words.is_empty() {
            self.words.push(BORDER);
            self.next.push([END; 4]);
        }
        let base = self.words.len();
        each_word(text, |h| self.words.push(h));
        let words = &self.words;
        self.next.resize(words.len(), [END; 4]);
        self.grams.reserve((words.len() - base) * 4);
        for i in (base..words.len()).rev() {
            let mut h = 0u64;
            for k in 0..4.min(words.len() - i) {
                h = mix(h ^ words[i + k].rotate_left(k as u32 * 7 + 1));
                if let Some(before) = self.grams.insert(h ^ k as u64, i as u32) {
                    self.next[i][k] = before;
                }
            }
        }
        each_run(text, |run| {
            self.runs.insert(hash(run.as_bytes()));
            let plain = super::scan::without_position(run);
            if plain.len() < run.len() {
                self.runs.insert(hash(plain.as_bytes()));
            }
        });
    }

    pub(super) fn holds(&self, fact: &Fact, scratch: &mut Vec<u64>) -> bool {
        if matches!(
            fact.class,
            FactClass::Path | FactClass::Url | FactClass::Identifier
        ) {
            let mut all = true;
            let mut any = false;
            each_run(&fact.text, |run| {
                any = true;
                all &= self
                    .runs
                    .contains(&hash(super::scan::without_position(run).as_bytes()))
                    || self.runs.contains(&hash(run.as_bytes()));
            });
            return all && any;
        }
        scratch.clear();
        each_word(&fact.text, |h| scratch.push(h));
        self.sequence(scratch, fact.class == FactClass::Number)
    }

    fn sequence(&self, words: &[u64], number: bool) -> bool {
        let n = words.len().min(4);
        if n == 0 {
            return true;
        }
        let mut at = self.grams.get(&gram(words, n)).copied().unwrap_or(END);
        let mut tries = 0;
        while at != END {
            let i = at as usize;
            let fits = self
                .words
                .get(i..i + words.len())
                .is_some_and(|w| w == words);
            // 5 °C is not −5 °C.
            let signed = number && i > 0 && self.words[i - 1] == MINUS && words[0] != MINUS;
            if fits && !signed {
                return true;
            }
            tries += 1;
            if tries > 4096 {
                return false;
            }
            at = self.next[i][n - 1];
        }
        false
    }
}

/// The hash that stands for a minus sign before a number.
pub(super) const MINUS: u64 = 0x6D69_6E75_7321;

/// Calls `f` with the words as the audit compares them: folded, digits separate from letters, signs and currency kept.
pub(super) fn each_word(text: &str, mut f: impl FnMut(u64)) {
    let mut buffer = String::with_capacity(32);
    let mut digits = false;
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if unspaced(c) {
            flush(&mut buffer, &mut f);
            f(mix(u64::from(c as u32)));
            before = c;
            continue;
        }
        if c.is_alphanumeric() {
            let digit = c.is_ascii_digit();
            if !buffer.is_empty() && digit != digits {
                flush(&mut buffer, &mut f);
            }
            digits = digit;
            fold(c, &mut buffer);
            before = c;
            continue;
        }
        if combining(c) {
            continue;
        }
        let next = chars.peek().copied().unwrap_or(' ');
        if digits
            && !buffer.is_empty()
            && matches!(c, '.' | ',' | ':' | '\'' | '’')
            && next.is_ascii_digit()
        {
            // 1'200 is 1200; 1.5 is not 15.
            if !matches!(c, '\'' | '’') {
                buffer.push(c);
            }
            before = c;
            continue;
        }
        flush(&mut buffer, &mut f);
        match c {
            '-' | '−'
                if next.is_ascii_digit()
                    && (before.is_whitespace() || matches!(before, '(' | '[' | ':' | '=')) =>
            {
                f(MINUS);
            }
            '%' | '‰' | '°' | '€' | '$' | '£' | '¥' | '₽' | '₹' => {
                f(mix(u64::from(c as u32)));
            }
            _ => {}
        }
        before = c;
    }
    flush(&mut buffer, &mut f);
}

fn flush(buffer: &mut String, f: &mut impl FnMut(u64)) {
    if !buffer.is_empty() {
        f(hash(buffer.as_bytes()));
        buffer.clear();
    }
}

/// Calls `f` with runs that have no spaces, brackets, quotes or Markdown marks, as written. A path or an identifier
/// must equal one of them. A run with escapes of JSON is also given in the pieces between them: in the arguments of a
/// call, `theme\n#` holds the name `theme`.
pub(super) fn each_run(text: &str, mut f: impl FnMut(&str)) {
    let mut start = None;
    let cut = |c: char| {
        c.is_whitespace()
            || unspaced(c)
            || matches!(
                c,
                '(' | ')'
                    | '['
                    | ']'
                    | '{'
                    | '}'
                    | '<'
                    | '>'
                    | '"'
                    | '“'
                    | '”'
                    | '„'
                    | '«'
                    | '»'
                    | '‹'
                    | '›'
                    | '「'
                    | '」'
                    | '『'
                    | '』'
                    | '（'
                    | '）'
                    | '【'
                    | '】'
                    | '《'
                    | '》'
                    | '、'
                    | '，'
                    | '。'
                    | '；'
                    | '：'
                    | '！'
                    | '？'
                    | '|'
                    | '*'
                    | ';'
                    | ','
                    | '='
                    | '`'
                    | '→'
            )
    };
    let mut emit = |run: &str| {
        let run = run.trim_end_matches(|c: char| {
            matches!(
                c,
                '.' | ':' | '!' | '?' | '…' | '\'' | '’' | '-' | '–' | '—' | '\\'
            )
        });
        let run = run.trim_start_matches(|c: char| {
            matches!(c, '\'' | '’' | '…' | '–' | '—' | '!' | '?' | ':')
        });
        let run = if run.len() > 2
            && run.starts_with('_')
            && run.ends_with('_')
            && !run.starts_with("__")
        {
            &run[1..run.len() - 1]
        } else {
            run
        };
        if !run.is_empty() {
            f(run);
        }
    };
    let mut emit_with_pieces = |run: &str| {
        emit(run);
        let mut pieces = super::scan::between_escapes(run);
        if let Some(first) = pieces.next()
            && first.len() < run.len()
        {
            emit(first);
            pieces.for_each(&mut emit);
        }
    };
    for (i, c) in text.char_indices() {
        if cut(c) {
            if let Some(s) = start.take() {
                emit_with_pieces(&text[s..i]);
            }
        } else {
            start.get_or_insert(i);
        }
    }
    if let Some(s) = start {
        emit_with_pieces(&text[s..]);
    }
}
