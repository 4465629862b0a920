//! Looks for facts in a text that is read once.

use std::collections::HashMap;

use super::index::{END, MINUS, each_run, each_word, gram};
use super::{Fact, FactClass};
use crate::words::Plain;
use crate::words::terms::{hash, mix};

/// Facts to search in a text. The text is read once, and no index of it is kept.
pub(super) struct Wanted {
    /// The words of all facts, and the start of each fact's words.
    words: Vec<u64>,
    from: Vec<usize>,
    /// The hash of up to four first words, and the last fact that begins with them; `next` chains the others.
    first: HashMap<u64, u32, Plain>,
    next: Vec<u32>,
    /// The whole runs of which facts consist, and whether each was seen.
    runs: HashMap<u64, bool, Plain>,
    /// For a fact that counts only whole: its runs, with and without a position.
    whole: Vec<Option<Vec<(u64, u64)>>>,
    /// Says for each fact if it is a number.
    numbers: Vec<bool>,
    found: Vec<bool>,
}

impl Wanted {
    pub(super) fn of(facts: &[Fact]) -> Self {
        let mut wanted = Self {
            words: Vec::new(),
            from: vec![0],
            first: HashMap::default(),
            next: Vec::new(),
            runs: HashMap::default(),
            whole: Vec::new(),
            numbers: Vec::new(),
            found: Vec::new(),
        };
        for fact in facts {
            wanted.add(fact);
        }
        wanted
    }

    fn add(&mut self, fact: &Fact) {
        let n = self.found.len() as u32;
        let mut next = END;
        let mut is_empty = false;
        let whole = matches!(
            fact.class,
            FactClass::Path | FactClass::Url | FactClass::Identifier
        );
        let whole = whole.then(|| {
            let mut runs = Vec::new();
            each_run(&fact.text, |run| {
                let plain = super::scan::without_position(run);
                runs.push((hash(run.as_bytes()), hash(plain.as_bytes())));
            });
            for (run, plain) in &runs {
                self.runs.insert(*run, false);
                self.runs.insert(*plain, false);
            }
            runs
        });
        if whole.is_none() {
            let begin = self.words.len();
            each_word(&fact.text, |word| self.words.push(word));
            let words = &self.words[begin..];
            is_empty = words.is_empty();
            if !is_empty {
                let key = gram(words, words.len().min(4));
                next = self.first.insert(key, n).unwrap_or(END);
            }
        }
        self.from.push(self.words.len());
        self.next.push(next);
        self.whole.push(whole);
        self.numbers.push(fact.class == FactClass::Number);
        self.found.push(is_empty);
    }

    pub(super) fn look_in(&mut self, text: &str) {
        if !self.first.is_empty() {
            let mut words = Vec::new();
            each_word(text, |word| words.push(word));
            for i in 0..words.len() {
                self.look_at(&words, i);
            }
        }
        if !self.runs.is_empty() {
            each_run(text, |run| {
                let plain = super::scan::without_position(run);
                for run in [run, plain] {
                    if let Some(seen) = self.runs.get_mut(&hash(run.as_bytes())) {
                        *seen = true;
                    }
                }
            });
        }
    }

    fn look_at(&mut self, words: &[u64], i: usize) {
        let here = &words[i..];
        let mut h = 0u64;
        for (k, word) in here.iter().take(4).enumerate() {
            h = mix(h ^ word.rotate_left(k as u32 * 7 + 1));
            let mut at = self.first.get(&(h ^ k as u64)).copied().unwrap_or(END);
            while at != END {
                let n = at as usize;
                let fact = &self.words[self.from[n]..self.from[n + 1]];
                // 5 °C is not −5 °C.
                let signed = self.numbers[n] && i > 0 && words[i - 1] == MINUS && here[0] != MINUS;
                self.found[n] |= !signed && here.starts_with(fact);
                at = self.next[n];
            }
        }
    }

    pub(super) fn has(&self, n: usize) -> bool {
        let seen = |run: &u64| self.runs.get(run).copied().unwrap_or_default();
        match &self.whole[n] {
            Some(runs) => {
                !runs.is_empty() && runs.iter().all(|(run, plain)| seen(run) || seen(plain))
            }
            None => self.found[n],
        }
    }
}
