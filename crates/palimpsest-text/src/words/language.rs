//! Detects the language of a text: by script, then by its smallest words.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Plain;
use super::script::{fold, kana, unspaced};
use super::terms::hash;
pub use crate::languages::Language;
use crate::languages::tables::Script;
use crate::languages::{COUNT, List, each};

struct SmallWords {
    /// Bit per language.
    table: HashMap<u64, u32, Plain>,
}

static WORDS: LazyLock<SmallWords> = LazyLock::new(|| {
    let mut table: HashMap<u64, u32, Plain> = HashMap::default();
    let mut folded = String::new();
    for language in Language::ALL {
        let words = language.tables().small_words.split(' ');
        for word in words.filter(|word| !word.is_empty()) {
            folded.clear();
            for c in word.chars() {
                fold(c, &mut folded);
            }
            *table.entry(hash(folded.as_bytes())).or_insert(0) |= 1 << language as u32;
        }
    }
    SmallWords { table }
});

/// The languages, as bits, that have the folded word with this hash among their smallest words.
pub fn small_word(word_hash: u64) -> u32 {
    WORDS.table.get(&word_hash).copied().unwrap_or(0)
}

/// Evidence for each language, in the order of the enum.
#[derive(Debug, Clone)]
pub(crate) struct Evidence {
    votes: [f32; COUNT],
    /// The number of letters, with those of unspaced scripts counted twice.
    pub letters: u32,
    /// The number of words of alphabetic scripts.
    pub words: u32,
}

/// Letters that speak for a language, in order, with their weight.
static LETTERS: LazyLock<Vec<(char, Language, f32)>> = LazyLock::new(|| {
    let mut all: Vec<(char, Language, f32)> = Vec::new();
    for language in Language::ALL {
        for (letters, weight) in language.tables().letters {
            all.extend(letters.chars().map(|c| (c, language, *weight)));
        }
    }
    crate::order::sort_by_key(&mut all, |(c, ..)| *c);
    all
});

/// Ranges of letters that one language has for itself.
static RANGES: LazyLock<Vec<(u32, u32, Language)>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for language in Language::ALL {
        if let Script::Own(ranges) = language.tables().script {
            all.extend(ranges.iter().map(|(from, to)| (*from, *to, language)));
        }
    }
    all
});

/// Small letters that only one language of a script has.
static OWN_LETTERS: List = List::words(each!(own_letters));

/// The evidence that each letter of a language with its own script adds.
const OWN_SCRIPT: f32 = 0.25;
/// The evidence of each Chinese character and each kana.
const UNSPACED: f32 = 0.5;
/// The evidence of each Cyrillic letter.
const CYRILLIC: f32 = 0.15;

/// Adds one vote, shared among the languages of `bits`.
fn vote(votes: &mut [f32; COUNT], mut bits: u32) {
    let weight = 1.0 / bits.count_ones().max(1) as f32;
    while bits != 0 {
        votes[bits.trailing_zeros() as usize] += weight;
        bits &= bits - 1;
    }
}

/// Reads a text letter by letter.
struct Poll {
    votes: [f32; COUNT],
    /// The word that is being read, folded.
    word: String,
    is_cyrillic: bool,
    words: u32,
    letters: u32,
    han: u32,
    kanas: u32,
    cyrillic: u32,
    /// Cyrillic letters that Russian does not have.
    foreign: u32,
}

impl Poll {
    fn see(&mut self, c: char) {
        if c.is_ascii_alphabetic() {
            self.word.push(c.to_ascii_lowercase());
            self.letters += 1;
            return;
        }
        if matches!(c, '\'' | '’') && !self.word.is_empty() {
            self.word.push('\'');
            return;
        }
        let code = c as u32;
        if (0xC0..0x530).contains(&code) && c.is_alphabetic() {
            self.letter(c);
            return;
        }
        self.end_word();
        if c.is_ascii() {
            return;
        }
        if code < 0x370 || !c.is_alphabetic() {
            self.weigh(c);
            return;
        }
        self.letters += 1;
        if self.weigh(c) {
            return;
        }
        let own = RANGES
            .iter()
            .find(|(from, to, _)| (*from..=*to).contains(&code));
        if let Some((.., language)) = own {
            self.votes[*language as usize] += OWN_SCRIPT;
        } else if kana(c) {
            self.kanas += 1;
            self.letters += 1;
        } else if unspaced(c) {
            self.han += 1;
            self.letters += 1;
        }
    }

    /// A Latin letter with a mark, or a Greek or Cyrillic one.
    fn letter(&mut self, c: char) {
        self.letters += 1;
        if c as u32 >= 0x400 {
            self.cyrillic += 1;
            self.is_cyrillic = true;
            if !('А'..='я').contains(&c) {
                let small = c.to_lowercase();
                let is_own = |own: &&str| small.clone().any(|c| own.contains(c));
                self.foreign += u32::from(OWN_LETTERS.all().iter().any(is_own));
            }
        }
        fold(c, &mut self.word);
        self.weigh(c);
    }

    /// Adds the weight of a letter. Returns `true` if it counts for a language.
    fn weigh(&mut self, c: char) -> bool {
        let Ok(at) = LETTERS.binary_search_by_key(&c, |(letter, ..)| *letter) else {
            return false;
        };
        let (_, language, weight) = LETTERS[at];
        self.votes[language as usize] += weight;
        true
    }

    fn end_word(&mut self) {
        while self.word.ends_with('\'') {
            self.word.pop();
        }
        if !self.word.is_empty() {
            self.words += 1;
            let mut bits = small_word(hash(self.word.as_bytes()));
            if self.is_cyrillic {
                bits &= of_script(Script::Cyrillic);
            }
            vote(&mut self.votes, bits);
            self.word.clear();
        }
        self.is_cyrillic = false;
    }

    /// Adds the evidence of scripts that several languages share.
    fn weigh_scripts(&mut self) {
        // At least a third of a Japanese text is kana; a Chinese one has hardly any.
        let is_japanese = self.kanas * 8 >= self.han.max(1) && self.kanas > 0;
        let language = if is_japanese {
            Language::Japanese
        } else {
            Language::Chinese
        };
        self.votes[language as usize] += (self.han + self.kanas) as f32 * UNSPACED;
        if self.cyrillic > 0 {
            let language = if self.foreign * 25 >= self.cyrillic {
                Language::Ukrainian
            } else {
                Language::Russian
            };
            self.votes[language as usize] += self.cyrillic as f32 * CYRILLIC;
        }
    }
}

/// The languages (bits) of a script.
fn of_script(script: Script) -> u32 {
    let languages = Language::ALL.into_iter();
    languages
        .filter(|l| l.tables().script == script)
        .fold(0, |bits, l| bits | 1 << l as u32)
}

impl Evidence {
    /// Reads `text`: scripts by their letters, Latin and Cyrillic by small words. The caller leaves out fenced code and
    /// machine text.
    pub(crate) fn of(text: &str) -> Self {
        let mut read = Poll {
            votes: [0.0; COUNT],
            word: String::with_capacity(24),
            is_cyrillic: false,
            words: 0,
            letters: 0,
            han: 0,
            kanas: 0,
            cyrillic: 0,
            foreign: 0,
        };
        text.chars().for_each(|c| read.see(c));
        read.end_word();
        read.weigh_scripts();
        Self {
            votes: read.votes,
            letters: read.letters,
            words: read.words,
        }
    }

    /// Reads words that are folded and hashed already.
    pub(crate) fn of_words(hashes: impl Iterator<Item = u64>) -> Self {
        let mut votes = [0f32; COUNT];
        let mut words = 0;
        for h in hashes {
            words += 1;
            vote(&mut votes, small_word(h));
        }
        Self {
            votes,
            letters: words * 4,
            words,
        }
    }

    /// The strongest language, if it is clearly ahead.
    pub(crate) fn best(&self) -> Option<Language> {
        let mut best = (0usize, 0f32);
        let mut second = 0f32;
        for (i, &v) in self.votes.iter().enumerate() {
            if v > best.1 {
                second = best.1;
                best = (i, v);
            } else if v > second {
                second = v;
            }
        }
        let floor = if self.words < 6 {
            0.9
        } else {
            (self.words as f32 * 0.06).max(1.0)
        };
        (best.1 >= floor && best.1 >= second * 1.25 && self.letters >= 2)
            .then(|| Language::ALL[best.0])
    }

    /// The best language, if more than one shared small word supports it.
    pub(crate) fn sure(&self) -> Option<Language> {
        self.best().filter(|l| self.votes[*l as usize] >= 1.6)
    }

    /// The share of the votes for `language`, 0 to 1.
    pub(crate) fn share(&self, language: Language) -> f32 {
        let sum: f32 = self.votes.iter().sum();
        if sum <= 0.0 {
            0.0
        } else {
            self.votes[language as usize] / sum
        }
    }
}

/// The language of `text`, or `None` if it is too short, mixed or unknown. Fenced code does not count.
pub fn detect_language(text: &str) -> Option<Language> {
    Evidence::of(&without_code(text)).best()
}

/// `text` without fenced code blocks and machine lines.
pub(crate) fn without_code(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(64 * 1024));
    let mut fenced = false;
    for line in text.lines() {
        let body = line.trim();
        if body.starts_with("```") || body.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        if fenced || super::segment::machine_line(body) {
            continue;
        }
        out.push_str(line);
        out.push('\n');
        // This is enough to be sure, and a long history must not cost more.
        if out.len() > 48 * 1024 {
            break;
        }
    }
    out
}
