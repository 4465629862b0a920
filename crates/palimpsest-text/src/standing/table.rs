//! The phrases that the judgement stands on, by language and class.
//!
//! The readable lists lie in `phrases/`. What is compiled in is their packed form in `tables/`, which a test makes of
//! them: phrases of the same classes stand together in order, and of each only what differs from the one before.

use std::sync::LazyLock;

use crate::words::Language;
use crate::words::cues::{Word, words_of};
use crate::words::terms::{hash, mix};

/// A set of classes, one bit each.
pub(super) type Set = u128;

macro_rules! classes {
    ($($name:ident)*) => {
        /// What a phrase says about the sentence it stands in.
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

/// The hash of a phrase that goes on with one more word, or with one more character.
pub(super) fn next(phrase: u64, word: u64) -> u64 {
    mix(phrase.rotate_left(7) ^ word)
}

/// The hash of a character in a script without spaces.
pub(super) fn letter(c: char) -> u64 {
    mix(u64::from(c as u32) + 1)
}

impl Phrases {
    /// The classes of the phrase with this hash: zero if it is only the beginning of one, `None` if it is neither.
    pub(super) fn get(&self, phrase: u64) -> Option<Set> {
        let at = self.sorted.binary_search_by_key(&phrase, |p| p.0).ok()?;
        Some(self.sorted[at].1)
    }

    /// Words, or characters, of the longest phrase.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    fn of(packed: &str, language: Language) -> Self {
        let wide = wide(language);
        let mut all: Vec<(u64, Set)> = Vec::new();
        let mut longest = 0;
        let mut words: Vec<Word> = Vec::new();
        let mut hashes: Vec<u64> = Vec::new();
        unpack(packed, language, |set, phrase| {
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

/// Whether the language is written without spaces.
pub(super) fn wide(language: Language) -> bool {
    matches!(language, Language::Chinese | Language::Japanese)
}

/// Writes what `c` stands for: a run of the first line, whose characters may stand for runs before it, or itself.
fn expand(c: char, runs: &[(char, &str)], out: &mut String) {
    match runs.iter().position(|run| run.0 == c) {
        Some(at) => runs[at].1.chars().for_each(|c| expand(c, &runs[..at], out)),
        None => out.push(c),
    }
}

/// Calls `each` with the classes and the folded words of every phrase.
///
/// The first line lists runs of characters that one character stands for, apart by tabs. Each line after it is a group: two
/// letters for each of its classes, a space, the phrases. A phrase begins with a capital that says how many characters it
/// shares with the one before. In the Russian table the letters from `_` to `~` stand for Cyrillic ones, and `%` comes
/// before a letter that stands for itself.
fn unpack(packed: &str, language: Language, mut each: impl FnMut(Set, &str)) {
    let mut phrase = String::new();
    let (runs, packed) = packed.split_once('\n').unwrap_or_default();
    let runs = runs.split('\t').filter_map(|run| {
        let code = run.chars().next()?;
        Some((code, &run[code.len_utf8()..]))
    });
    let runs: Vec<(char, &str)> = runs.collect();
    let mut line = String::new();
    for packed in packed.lines() {
        line.clear();
        packed.chars().for_each(|c| expand(c, &runs, &mut line));
        let Some((head, phrases)) = line.split_once(' ') else {
            continue;
        };
        let letter = |b: u8| u32::from(b.wrapping_sub(b'a'));
        let classes = head.as_bytes().chunks_exact(2);
        let set = classes.fold(0, |set: Set, two| {
            set | 1 << (letter(two[0]) * 26 + letter(two[1]))
        });
        phrase.clear();
        let mut literal = false;
        let mut first = true;
        for c in phrases.chars() {
            if c.is_ascii_uppercase() {
                if !first {
                    each(set, &phrase);
                }
                first = false;
                let shared = usize::from(c as u8 - b'A');
                let keep = phrase.char_indices().nth(shared);
                phrase.truncate(keep.map_or(phrase.len(), |(at, _)| at));
            } else if language == Language::Russian && c == '%' && !literal {
                literal = true;
            } else if language == Language::Russian && ('_'..='~').contains(&c) && !literal {
                let place = u32::from(c) - u32::from('_') + u32::from('а');
                phrase.extend(char::from_u32(place));
            } else {
                literal = false;
                phrase.push(c);
            }
        }
        if !first {
            each(set, &phrase);
        }
    }
}

macro_rules! tables {
    ($($name:ident $language:ident $file:literal)*) => {
        $(static $name: LazyLock<Phrases> =
            LazyLock::new(|| Phrases::of(include_str!($file), Language::$language));)*

        /// The phrases of a language that the judgement reads.
        pub(super) fn phrases(language: Language) -> Option<&'static Phrases> {
            match language {
                $(Language::$language => Some(&$name),)*
                _ => None,
            }
        }
    };
}

tables! {
    ENGLISH English "tables/en.txt"
    GERMAN German "tables/de.txt"
    SPANISH Spanish "tables/es.txt"
    FRENCH French "tables/fr.txt"
    RUSSIAN Russian "tables/ru.txt"
    CHINESE Chinese "tables/zh.txt"
    JAPANESE Japanese "tables/ja.txt"
}

/// The hash of nothing, where a quotation stands.
pub(super) fn blank() -> u64 {
    hash(&[])
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};
    use std::fmt::Write;
    use std::path::PathBuf;

    use super::*;
    use crate::words::script::fold;

    /// Groups of fewer phrases are split into groups that are there anyway.
    const SMALLEST_GROUP: usize = 6;

    fn folder() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/standing")
    }

    fn pack(readable: &str, language: Language) -> String {
        let mut phrases: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for line in readable.lines() {
            let (class, list) = line.split_once(": ").unwrap();
            let bit = NAMES.iter().position(|n| *n == class).unwrap();
            for phrase in list.split('|') {
                let mut folded = String::new();
                phrase.chars().for_each(|c| fold(c, &mut folded));
                let classes = phrases.entry(folded).or_default();
                if !classes.contains(&bit) {
                    classes.push(bit);
                    classes.sort_unstable();
                }
            }
        }
        let mut groups: BTreeMap<Vec<usize>, Vec<String>> = BTreeMap::new();
        for (phrase, classes) in &phrases {
            let group = groups.entry(classes.clone()).or_default();
            group.push(phrase.clone());
        }
        let is_small = |classes: &Vec<usize>, phrases: &Vec<String>| {
            phrases.len() < SMALLEST_GROUP && classes.len() > 1
        };
        let small: Vec<_> = groups
            .iter()
            .filter(|(c, p)| is_small(c, p))
            .map(|(c, p)| (c.clone(), p.clone()))
            .collect();
        groups.retain(|c, p| !is_small(c, p));
        for (classes, phrases) in small {
            let mut rest = classes;
            let mut others: Vec<Vec<usize>> = groups.keys().cloned().collect();
            others.sort_by_key(|o| std::cmp::Reverse(o.len()));
            for other in others {
                if other.iter().all(|c| rest.contains(c)) {
                    rest.retain(|c| !other.contains(c));
                    groups.get_mut(&other).unwrap().extend(phrases.clone());
                }
            }
            for class in rest {
                groups
                    .entry(vec![class])
                    .or_default()
                    .extend(phrases.clone());
            }
        }
        let mut out = String::new();
        for (classes, mut phrases) in groups {
            for class in classes {
                let class = u8::try_from(class).unwrap();
                out.push(char::from(b'a' + class / 26));
                out.push(char::from(b'a' + class % 26));
            }
            out.push(' ');
            phrases.sort();
            let mut before = String::new();
            for phrase in phrases {
                let shared = before
                    .chars()
                    .zip(phrase.chars())
                    .take_while(|(a, b)| a == b);
                let shared = shared.count().min(25);
                out.push(char::from(b'A' + u8::try_from(shared).unwrap()));
                for c in phrase.chars().skip(shared) {
                    if language == Language::Russian && ('а'..='я').contains(&c) {
                        let place = u8::try_from(c as u32 - 'а' as u32).unwrap();
                        out.push(char::from(b'_' + place));
                    } else if language == Language::Russian && ('_'..='~').contains(&c) {
                        write!(out, "%{c}").unwrap();
                    } else {
                        out.push(c);
                    }
                }
                before = phrase;
            }
            out.push('\n');
        }
        shorten(out)
    }

    /// Puts one character for runs that come often, the one that saves most first.
    fn shorten(mut text: String) -> String {
        const LONGEST_RUN: usize = 10;
        let free = ('!'..='~').chain('\u{a1}'..='\u{24f}');
        let codes: Vec<char> = free
            .filter(|c| *c != '\u{ad}' && !text.contains(*c))
            .collect();
        let mut runs = Vec::new();
        for code in codes {
            let mut counts: HashMap<&str, usize> = HashMap::new();
            for (from, _) in text.char_indices() {
                let ends = text[from..]
                    .char_indices()
                    .map(|(at, c)| (at + c.len_utf8(), c));
                let ends = ends.take_while(|(_, c)| *c != '\n').take(LONGEST_RUN);
                for (end, _) in ends.skip(1) {
                    *counts.entry(&text[from..from + end]).or_default() += 1;
                }
            }
            let saves = |run: &str, count: usize| {
                let own = code.len_utf8();
                (count * run.len()).saturating_sub(count * own + own + run.len() + 1)
            };
            let best = counts
                .iter()
                .max_by_key(|(run, count)| (saves(run, **count), **run));
            let Some((run, count)) = best.filter(|(run, count)| saves(run, **count) >= 4) else {
                break;
            };
            let (run, _) = ((*run).to_owned(), count);
            text = text.replace(&run, &code.to_string());
            runs.push(format!("{code}{run}"));
        }
        format!("{}\n{text}", runs.join("\t"))
    }

    /// The tables hold what the readable lists say, and no more bytes than agreed.
    #[test]
    fn tables_are_the_lists_packed() {
        let mut size = 0;
        for (code, language) in [
            ("en", Language::English),
            ("de", Language::German),
            ("es", Language::Spanish),
            ("fr", Language::French),
            ("ru", Language::Russian),
            ("zh", Language::Chinese),
            ("ja", Language::Japanese),
        ] {
            let readable =
                std::fs::read_to_string(folder().join(format!("phrases/{code}.txt"))).unwrap();
            let place = folder().join(format!("tables/{code}.txt"));
            if std::env::var_os("PALIMPSEST_BLESS").is_some() {
                std::fs::write(&place, pack(&readable, language)).unwrap();
            }
            let packed = std::fs::read_to_string(&place).unwrap();
            size += packed.len();
            println!("{code}: {} bytes", packed.len());
            let mut sets: BTreeMap<String, Set> = BTreeMap::new();
            unpack(&packed, language, |set, phrase| {
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
        assert!(size <= 45_000, "{size} bytes");
    }
}
