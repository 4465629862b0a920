//! The phrases of the judgement, by language and class.
//!
//! The readable lists are in `languages/phrases/`. A test turns them into the compiled form in `languages/tables/`:
//! every phrase once, with the others of the same classes. Modules are sent compressed: a form that is shorter by
//! itself, with codes for common runs of letters, compressed worse and took more bytes.

use std::sync::OnceLock;

use crate::languages::COUNT;
use crate::words::Language;
use crate::words::cues::{Word, words_of};
use crate::words::terms::{hash, mix};

/// A set of classes, one bit each.
pub(super) type Set = u128;

macro_rules! classes {
    ($($name:ident)*) => {
        /// The meaning of a phrase for its sentence.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(dead_code)] // each is a bit that the tables set
        pub(super) enum Class { $($name,)* }

        /// The names in the readable lists, in the order of the bits.
        #[cfg(test)]
        pub(super) const NAMES: &[&str] = &[$(stringify!($name),)*];
    };
}

classes! {
    Manner Task Action Create Filler Frame Duration Scope Every Any All No Always Never Only Dont Avoid Habit If Output
    YourOutput Style Tongue Limit Budget Deadline AskMe Private YouMust ThingMust Preference Polite Diet WeRule Project
    Withdraw Permit Change RuleWord SubjectI SubjectOther SubjectWe Past Report Story Idle Deictic Definite Indefinite
    Once Wh YesNo Preposition Contrast Like PerReply Everything NotBefore Auxiliary Conjunction To Sure Negation
    AfterNegation BeforeObject ToMe Particle Your DefinitePlural Determiner Article Pronoun This You I Done We Speak
}

impl Class {
    pub(super) const fn bit(self) -> Set {
        1 << self as u32
    }
}

/// The bits of several classes.
macro_rules! set {
    ($($name:ident)|+) => { $($crate::standing::table::Class::$name.bit())|+ };
}
pub(super) use set;

/// The phrases of one language by the hash of their words, with every beginning of a phrase.
pub(super) struct Phrases {
    sorted: Vec<(u64, Set)>,
    longest: usize,
}

/// Returns the hash of a phrase that continues with one more word or character.
pub(super) fn next(phrase: u64, word: u64) -> u64 {
    mix(phrase.rotate_left(7) ^ word)
}

/// The hash of a character in a script without spaces.
pub(super) fn letter(c: char) -> u64 {
    mix(u64::from(c as u32) + 1)
}

impl Phrases {
    /// Returns the classes of the phrase with this hash. They are zero if it is only the beginning of a phrase, and
    /// `None` if it is neither.
    pub(super) fn get(&self, phrase: u64) -> Option<Set> {
        let at = self.sorted.binary_search_by_key(&phrase, |p| p.0).ok()?;
        Some(self.sorted[at].1)
    }

    /// The number of words, or of characters, of the longest phrase.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    fn of(packed: &str, language: Language) -> Self {
        let wide = wide(language);
        let mut all: Vec<(u64, Set)> = Vec::new();
        let mut longest = 0;
        let mut words: Vec<Word> = Vec::new();
        let mut hashes: Vec<u64> = Vec::new();
        unpack(packed, |set, phrase| {
            hashes.clear();
            if wide {
                hashes.extend(phrase.chars().map(letter));
            } else {
                words.clear();
                words_of(phrase, 0, phrase.len(), &mut words);
                hashes.extend(words.iter().map(|w| w.hash));
            }
            longest = longest.max(hashes.len());
            let mut so_far = 0;
            for (i, word) in hashes.iter().enumerate() {
                so_far = next(so_far, *word);
                let last = i + 1 == hashes.len();
                all.push((so_far, if last { set } else { 0 }));
            }
        });
        all.sort_unstable();
        let mut sorted: Vec<(u64, Set)> = Vec::with_capacity(all.len());
        for (phrase, set) in all {
            match sorted.last_mut() {
                Some(last) if last.0 == phrase => last.1 |= set,
                _ => sorted.push((phrase, set)),
            }
        }
        Self { sorted, longest }
    }
}

/// Returns `true` if the language has no spaces between words.
pub(super) fn wide(language: Language) -> bool {
    language.tables().script.is_unspaced()
}

/// Calls `each` with the classes and the folded words of every phrase.
///
/// Each line is a group: one character for each of its classes, then the phrases, all apart by `|`.
fn unpack(packed: &str, mut each: impl FnMut(Set, &str)) {
    for line in packed.lines() {
        let mut parts = line.split('|');
        let classes = parts.next().unwrap_or_default().bytes();
        let set = classes.fold(0, |set: Set, b| set | 1 << b.wrapping_sub(FIRST_CLASS));
        parts.for_each(|phrase| each(set, phrase));
    }
}

/// The sign of the first class; the others follow it in ASCII.
const FIRST_CLASS: u8 = b'!';

/// The phrases of every language, unpacked when a sentence of the language is first read.
static PHRASES: [OnceLock<Phrases>; COUNT] = [const { OnceLock::new() }; COUNT];

/// The phrases of a language, or `None` if the judgement does not read it.
pub(super) fn phrases(language: Language) -> Option<&'static Phrases> {
    let packed = language.tables().standing.phrases;
    (!packed.is_empty())
        .then(|| PHRASES[language as usize].get_or_init(|| Phrases::of(packed, language)))
}

/// The hash in place of a quotation.
pub(super) fn blank() -> u64 {
    hash(&[])
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::PathBuf;

    use super::*;
    use crate::words::script::fold;

    fn folder() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/languages")
    }

    fn pack(readable: &str) -> String {
        let mut phrases: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for line in readable.lines() {
            let (class, list) = line.split_once(": ").unwrap();
            let bit = NAMES.iter().position(|n| *n == class).unwrap();
            for phrase in list.split('|') {
                let mut folded = String::new();
                phrase.chars().for_each(|c| fold(c, &mut folded));
                phrases.entry(folded).or_default().insert(bit);
            }
        }
        let mut groups: BTreeMap<BTreeSet<usize>, Vec<String>> = BTreeMap::new();
        for (phrase, classes) in phrases {
            groups.entry(classes).or_default().push(phrase);
        }
        let mut out = String::new();
        for (classes, phrases) in groups {
            let letters = classes.iter().map(|class| {
                let letter = char::from(FIRST_CLASS + u8::try_from(*class).unwrap());
                assert!(letter.is_ascii_graphic() && letter != '|');
                letter
            });
            out.extend(letters);
            for phrase in phrases {
                out.push('|');
                out += &phrase;
            }
            out.push('\n');
        }
        out
    }

    /// The tables agree with the readable lists and keep to their limit in bytes.
    #[test]
    fn tables_are_the_lists_packed() {
        let mut size = 0;
        for code in ["en", "de", "es", "fr", "ru", "zh", "ja"] {
            let readable =
                std::fs::read_to_string(folder().join(format!("phrases/{code}.txt"))).unwrap();
            let place = folder().join(format!("tables/{code}.txt"));
            if std::env::var_os("PALIMPSEST_BLESS").is_some() {
                std::fs::write(&place, pack(&readable)).unwrap();
            }
            let packed = std::fs::read_to_string(&place).unwrap();
            size += packed.len();
            println!("{code}: {} bytes", packed.len());
            let mut sets: BTreeMap<String, Set> = BTreeMap::new();
            unpack(&packed, |set, phrase| {
                *sets.entry(phrase.to_owned()).or_default() |= set;
            });
            let mut listed: BTreeMap<String, Set> = BTreeMap::new();
            for line in readable.lines() {
                let (class, list) = line.split_once(": ").unwrap();
                let bit = NAMES.iter().position(|n| *n == class).unwrap();
                for phrase in list.split('|') {
                    let mut folded = String::new();
                    phrase.chars().for_each(|c| fold(c, &mut folded));
                    *listed.entry(folded).or_default() |= 1 << bit;
                }
            }
            assert!(sets == listed, "{code}: PALIMPSEST_BLESS=1 writes it anew");
        }
        assert!(size <= 75_000, "{size} bytes");
    }
}
