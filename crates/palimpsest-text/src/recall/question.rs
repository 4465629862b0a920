//! Reads a question: its terms with their weights, and the speaker whom it names.

use crate::words::script::{fold, unspaced};
use crate::words::small_word;
use crate::words::terms::{TermKind, each_term, hash, mix};

/// The letters of a beginning, which words of one family share ("mentored", "mentorship").
const BEGINNING: usize = 4;
/// The weight of a common beginning against that of a common word.
const BEGINNING_WEIGHT: f32 = 0.2;
/// Keeps beginnings apart from whole words.
const SALT: u64 = 0x51;

/// The terms of a question.
#[derive(Debug, Default)]
pub(super) struct Question {
    /// Each term once, with its weight.
    pub(super) terms: Vec<(u64, f32)>,
    /// The speaker whose words are asked for.
    pub(super) speaker: Option<u64>,
}

impl Question {
    /// Reads `text`. `is_speaker` tells whether a term is a name under which somebody speaks. A name says whose words are
    /// asked for, so it is no word to look for; where several speakers are named, nobody's words come first.
    pub(super) fn of(text: &str, is_speaker: impl Fn(u64) -> bool) -> Self {
        let mut words: Vec<(u64, f32)> = Vec::new();
        let mut small: Vec<(u64, f32)> = Vec::new();
        let mut named: Vec<(u64, f32)> = Vec::new();
        each_term(text, |t| {
            let weight = match t.kind {
                TermKind::Whole => 1.5,
                TermKind::Pair => 0.6,
                TermKind::Word | TermKind::Number => 1.0,
            };
            let list = if is_speaker(t.hash) {
                &mut named
            } else if small_word(t.hash) == 0 {
                &mut words
            } else {
                &mut small
            };
            if !list.iter().any(|a| a.0 == t.hash) {
                list.push((t.hash, weight));
            }
        });
        let speaker = match named[..] {
            [(one, _)] => Some(one),
            _ => None,
        };
        let mut terms = [words, named, small]
            .into_iter()
            .find(|list| !list.is_empty())
            .unwrap_or_default();
        each_beginning(text, |hash| {
            if !terms.iter().any(|a| a.0 == hash) {
                terms.push((hash, BEGINNING_WEIGHT));
            }
        });
        Self { terms, speaker }
    }
}

/// Calls `f` with the beginning of every longer word of a script with spaces, small words left out.
pub(super) fn each_beginning(text: &str, mut f: impl FnMut(u64)) {
    let mut word = String::new();
    for run in text.split(|c: char| !c.is_alphanumeric() || unspaced(c)) {
        // what has a digit is a name or a number: one that begins alike is another
        if run.len() <= BEGINNING || !run.chars().all(char::is_alphabetic) {
            continue;
        }
        word.clear();
        run.chars().for_each(|c| fold(c, &mut word));
        let Some((end, _)) = word.char_indices().nth(BEGINNING) else {
            continue;
        };
        if small_word(hash(word.as_bytes())) == 0 {
            f(mix(hash(&word.as_bytes()[..end]) ^ SALT));
        }
    }
}

/// Returns the first term of the name before the words of a message ("Ann Lee: …").
pub(super) fn speaker(text: &str) -> Option<u64> {
    let name = crate::extractive::speaker(text)?;
    let mut first = None;
    each_term(name, |term| {
        first.get_or_insert(term.hash);
    });
    first
}
