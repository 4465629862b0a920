//! Classes of small words that tell a statement from small talk: greetings and praise, pronouns, words of time.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Plain;
use super::terms::each_term;
use crate::languages::Language;

/// Greetings, thanks, praise, interjections.
pub(crate) const FILLER: u8 = 1;
/// A pronoun of the first person.
pub(crate) const FIRST: u8 = 2;
/// A pronoun of the second person.
pub(crate) const SECOND: u8 = 4;
/// A word of time.
pub(crate) const TIME: u8 = 8;
/// A contraction of small words.
pub(crate) const CONTRACTION: u8 = 16;
/// A word that announces a change.
pub(crate) const CHANGE: u8 = 32;

static LISTED: LazyLock<HashMap<u64, u8, Plain>> = LazyLock::new(|| {
    let mut table: HashMap<u64, u8, Plain> = HashMap::default();
    for language in Language::ALL {
        let worth = language.tables().worth;
        for (class, words) in [
            (FILLER, worth.filler),
            (FIRST, worth.first),
            (SECOND, worth.second),
            (TIME, worth.time),
            (CONTRACTION, worth.contractions),
            (CHANGE, worth.change),
        ] {
            for word in words.split_whitespace() {
                // The parts of a compound are not the word.
                each_term(word, |term| *table.entry(term.hash).or_insert(0) |= class);
            }
        }
    }
    table
});

/// The classes of the word with this hash, which comes from [`each_term`].
pub(crate) fn listed(term: u64) -> u8 {
    LISTED.get(&term).copied().unwrap_or(0)
}
