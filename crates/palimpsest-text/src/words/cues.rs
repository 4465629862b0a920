//! Finds the words that show the kind of a sentence: a demand, a decision, a preference, a denial.
//!
//! It reads the phrases of all languages in one pass: it looks up the first word of a phrase and compares the rest.
//! Scripts without spaces are matched by characters.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Plain;
use super::language::Evidence;
use super::script::{fold, unspaced};
use super::terms::{hash, lower_hash};
use crate::languages::Language;
use crate::languages::cue::Cue;

struct Entry {
    rest: Vec<u64>,
    cue: Cue,
    language: Language,
}

struct WideEntry {
    phrase: &'static str,
    cue: Cue,
    language: Language,
}

struct Cues {
    words: HashMap<u64, Vec<Entry>, Plain>,
    wide: HashMap<char, Vec<WideEntry>>,
}

static CUES: LazyLock<Cues> = LazyLock::new(|| {
    let mut words: HashMap<u64, Vec<Entry>, Plain> = HashMap::default();
    let mut wide: HashMap<char, Vec<WideEntry>> = HashMap::new();
    let mut read = Vec::new();
    let tables = Language::ALL.into_iter().map(|l| (l, l.tables().cues));
    let lists = tables.flat_map(|(language, cues)| cues.iter().map(move |list| (language, *list)));
    for (language, (cue, phrases)) in lists {
        for phrase in phrases.split('|') {
            let Some(first) = phrase.chars().next() else {
                continue;
            };
            if unspaced(first) {
                wide.entry(first).or_default().push(WideEntry {
                    phrase,
                    cue,
                    language,
                });
                continue;
            }
            read.clear();
            words_of(phrase, 0, phrase.len(), &mut read);
            let Some(head) = read.first() else { continue };
            words.entry(head.hash).or_default().push(Entry {
                rest: read[1..].iter().map(|w: &Word| w.hash).collect(),
                cue,
                language,
            });
        }
    }
    Cues { words, wide }
});

/// A word of a sentence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    /// First byte.
    pub start: usize,
    /// After the last byte.
    pub end: usize,
    /// Hash of the folded form, not stemmed.
    pub hash: u64,
    /// A clause begins here: punctuation, a conjunction or the beginning stands before it.
    pub clause: bool,
}

/// A phrase in a sentence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    /// Its signal.
    pub cue: Cue,
    /// Its language.
    pub language: Language,
    /// The index of its first word (in scripts without spaces: of the word before it).
    pub word: usize,
    /// The index after its last word.
    pub after: usize,
    /// First byte.
    pub start: usize,
    /// After the last byte.
    pub end: usize,
    /// A clause begins with it.
    pub clause: bool,
}

/// A sentence in the form that the rules read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Its words of alphabetic scripts.
    pub words: Vec<Word>,
    /// The phrases, in order.
    pub hits: Vec<Hit>,
    /// It ends with a question mark.
    pub question: bool,
    quoted: Vec<(usize, usize)>,
}

impl Reading {
    /// Reads `text[start..end]`. Quoted text gives no hit.
    pub(crate) fn read(&mut self, text: &str, start: usize, end: usize) {
        self.words.clear();
        self.hits.clear();
        let body = text[start..end]
            .trim_end_matches(|c: char| c.is_whitespace() || super::script::closer(c));
        self.question = body.ends_with(['?', '？', '؟']);
        quotes(text, start, end, &mut self.quoted);
        words_of(text, start, end, &mut self.words);
        let cues = &*CUES;
        let mut quote = 0;
        for i in 0..self.words.len() {
            let word = self.words[i];
            while quote < self.quoted.len() && self.quoted[quote].1 <= word.start {
                quote += 1;
            }
            if quote < self.quoted.len() && self.quoted[quote].0 <= word.start {
                continue;
            }
            let Some(entries) = cues.words.get(&word.hash) else {
                continue;
            };
            for entry in entries {
                let after = i + 1 + entry.rest.len();
                let fits = after <= self.words.len()
                    && self.words[i + 1..after]
                        .iter()
                        .zip(&entry.rest)
                        .all(|(w, h)| w.hash == *h);
                if fits {
                    self.hits.push(Hit {
                        cue: entry.cue,
                        language: entry.language,
                        word: i,
                        after,
                        start: word.start,
                        end: self.words[after - 1].end,
                        clause: word.clause,
                    });
                }
            }
        }
        self.fillers();
        if text[start..end].chars().any(unspaced) {
            self.wide(text, start, end);
        }
    }

    /// After "please", as before it, a clause begins.
    fn fillers(&mut self) {
        for i in 0..self.hits.len() {
            let hit = self.hits[i];
            if hit.cue != Cue::Filler && hit.cue != Cue::FromNow
                || !(self.words[hit.word].clause || hit.cue == Cue::FromNow)
            {
                continue;
            }
            if let Some(next) = self.words.get_mut(hit.after) {
                next.clause = true;
            }
            for later in &mut self.hits[i..] {
                if later.word == hit.after {
                    later.clause = true;
                }
            }
        }
    }

    fn wide(&mut self, text: &str, start: usize, end: usize) {
        let cues = &*CUES;
        let mut clause_until = start;
        let mut quote = 0;
        for (i, c) in text[start..end].char_indices() {
            let at = start + i;
            if !unspaced(c) {
                if !c.is_alphanumeric() {
                    // Punctuation and spaces begin a clause.
                    if clause_until <= at {
                        clause_until = at + c.len_utf8();
                    }
                }
                continue;
            }
            while quote < self.quoted.len() && self.quoted[quote].1 <= at {
                quote += 1;
            }
            if quote < self.quoted.len() && self.quoted[quote].0 <= at {
                continue;
            }
            let Some(entries) = cues.wide.get(&c) else {
                continue;
            };
            let clause = clause_until == at;
            for entry in entries {
                if !text[at..end].starts_with(entry.phrase) {
                    continue;
                }
                let to = at + entry.phrase.len();
                if clause && matches!(entry.cue, Cue::Filler | Cue::FromNow | Cue::You) {
                    clause_until = clause_until.max(to);
                }
                self.hits.push(Hit {
                    cue: entry.cue,
                    language: entry.language,
                    word: 0,
                    after: 0,
                    start: at,
                    end: to,
                    clause,
                });
            }
        }
    }

    /// The language of its small words: for Latin scripts, and only if more than one word agrees.
    pub(crate) fn language(&self) -> Option<Language> {
        Evidence::of_words(self.words.iter().map(|w| w.hash)).sure()
    }

    /// Returns `true` if the sentence has `cue` in `language`.
    pub(crate) fn has(&self, language: Language, cue: Cue) -> bool {
        self.hits
            .iter()
            .any(|h| h.cue == cue && h.language == language)
    }
}

/// The words of alphabetic scripts in `text[start..end]`.
pub(crate) fn words_of(text: &str, start: usize, end: usize, out: &mut Vec<Word>) {
    let mut folded = String::with_capacity(24);
    let mut from = None;
    let mut clause = true;
    let bytes = text.as_bytes();
    let mut at = start;
    while at < end {
        if from.is_none() && bytes[at].is_ascii_alphanumeric() {
            let mut stop = at + 1;
            while stop < end && bytes[stop].is_ascii_alphanumeric() {
                stop += 1;
            }
            if stop == end || bytes[stop].is_ascii() && !matches!(bytes[stop], b'\'' | b'-') {
                let hash = lower_hash(&bytes[at..stop]);
                out.push(Word {
                    start: at,
                    end: stop,
                    hash,
                    clause,
                });
                clause = false;
                at = stop;
                continue;
            }
        }
        let Some(c) = text[at..end].chars().next() else {
            break;
        };
        let after = at + c.len_utf8();
        if (c.is_alphanumeric() && !unspaced(c)) || super::script::combining(c) {
            from.get_or_insert(at);
            fold(c, &mut folded);
            at = after;
            continue;
        }
        if from.is_some() && matches!(c, '\'' | '’' | '-') {
            let inner = text[after..end]
                .chars()
                .next()
                .is_some_and(|n| n.is_alphabetic() && !unspaced(n));
            if c == '-' && inner {
                folded.push('-');
                at = after;
                continue;
            }
            if c != '-' && (inner || elided(&folded)) {
                folded.push('\'');
                if elided(&folded[..folded.len() - 1]) {
                    close(&mut folded, &mut from, after, &mut clause, out);
                }
                at = after;
                continue;
            }
        }
        close(&mut folded, &mut from, at, &mut clause, out);
        clause |= matches!(
            c,
            ',' | ';'
                | ':'
                | '—'
                | '–'
                | '-'
                | '('
                | '.'
                | '!'
                | '?'
                | '¡'
                | '¿'
                | '"'
                | '…'
                | '\n'
                | '*'
        );
        at = after;
    }
    close(&mut folded, &mut from, end, &mut clause, out);
}

fn close(
    folded: &mut String,
    from: &mut Option<usize>,
    end: usize,
    clause: &mut bool,
    out: &mut Vec<Word>,
) {
    if let Some(start) = from.take() {
        out.push(Word {
            start,
            end,
            hash: hash(folded.as_bytes()),
            clause: *clause,
        });
        *clause = false;
    }
    folded.clear();
}

/// French and related languages: l', d', n', j' … are words of their own.
fn elided(folded: &str) -> bool {
    matches!(folded, "l" | "d" | "n" | "j" | "m" | "t" | "s" | "c" | "qu")
}

/// Quoted stretches and inline code of a sentence, in order.
pub(crate) fn quotes(text: &str, start: usize, end: usize, out: &mut Vec<(usize, usize)>) {
    out.clear();
    let mut open: Option<(usize, char)> = None;
    for (i, c) in text[start..end].char_indices() {
        let at = start + i;
        if let Some((from, mark)) = open {
            if c == mark || mark == '”' && matches!(c, '“' | '"') {
                out.push((from, at + c.len_utf8()));
                open = None;
            }
            continue;
        }
        let mark = match c {
            '"' => '"',
            '`' => '`',
            '“' | '„' => '”',
            '«' => '»',
            '「' => '」',
            '『' => '』',
            '‘' => '’',
            _ => continue,
        };
        open = Some((at, mark));
    }
}
