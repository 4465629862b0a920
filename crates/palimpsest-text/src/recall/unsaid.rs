//! Finds sentences of earlier messages with words that nothing in sight says.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::sorted::SortedMap;
use crate::words::segment::{UnitKind, prose};
use crate::words::terms::{TermKind, each_term};
use crate::words::worth::{LITTLE, worth};
use crate::words::{Plain, small_word};

use super::{Recalled, estimate, log2};

/// The least number of content words of a sentence.
const LEAST_WORDS: usize = 2;
/// The bytes of the longest sentence: a longer one is a paste, not a statement.
const LONGEST: usize = 600;
/// Tokens on top of a sentence, so that very short ones do not win by shortness alone: its number among them.
const FRAME: u32 = 5;

/// A sentence, with its content words.
#[derive(Debug)]
struct Sentence {
    terms: Rc<[u64]>,
    /// `None` if it says too little to be chosen.
    chosen: Option<Chosen>,
}

/// The place, length and worth of a sentence that can be chosen.
#[derive(Debug, Clone, Copy)]
struct Chosen {
    start: u32,
    end: u32,
    tokens: u32,
    worth: f32,
}

/// Finds sentences with words that nothing in sight says. Each message is read once, while it is among those that are asked for.
#[derive(Debug, Default)]
pub struct Unsaid {
    read: SortedMap<u32, Rc<[Sentence]>>,
}

impl Unsaid {
    /// Returns at most `most` sentences of `texts` (each with its message), the one with the most news for its length first. News
    /// are content words that neither `sight` nor a sentence before it says; the fewer sentences say a word, the more it counts.
    /// Questions and sentences of little [`worth`] are left out. The text of a message is the same at every call.
    pub fn find<'a>(
        &mut self,
        texts: impl IntoIterator<Item = (u32, &'a str)>,
        sight: impl IntoIterator<Item = &'a str>,
        most: usize,
    ) -> Vec<Recalled> {
        let mut said: HashSet<u64, Plain> = HashSet::default();
        for text in sight {
            each_term(text, |term| {
                said.insert(term.hash);
            });
        }
        let mut spread: HashMap<u64, u32, Plain> = HashMap::default();
        let mut open: Vec<(u32, Rc<[u64]>, Chosen)> = Vec::new();
        let before = std::mem::take(&mut self.read);
        for (seq, text) in texts {
            let known = match before.get(&seq) {
                Some(known) => Rc::clone(known),
                None => sentences(text),
            };
            for sentence in known.iter() {
                for term in sentence.terms.iter() {
                    *spread.entry(*term).or_default() += 1;
                }
                open.extend(
                    sentence
                        .chosen
                        .map(|c| (seq, Rc::clone(&sentence.terms), c)),
                );
            }
            self.read.insert(seq, known);
        }
        let all = open.len() as f32;
        let news = |terms: &[u64], chosen: &Chosen, said: &HashSet<u64, Plain>| {
            let new = terms.iter().filter(|t| !said.contains(*t));
            let sum: f32 = new.map(|t| log2(all / spread[t].max(1) as f32) + 0.2).sum();
            sum * chosen.worth / (chosen.tokens + FRAME) as f32
        };
        // News only become fewer, so that an earlier score is a bound.
        let bounds = open.iter().map(|(_, terms, c)| news(terms, c, &said));
        let mut bounds: Vec<f32> = bounds.collect();
        let mut found = Vec::new();
        while found.len() < most {
            // Of two with the same news the newer one counts.
            let best = bounds.iter().copied().enumerate();
            let best = best.max_by(|(_, a), (_, b)| a.total_cmp(b));
            let Some((at, bound)) = best.filter(|(_, bound)| *bound > 0.0) else {
                break;
            };
            let (seq, terms, chosen) = &open[at];
            let score = news(terms, chosen, &said);
            if score < bound {
                bounds[at] = score;
                continue;
            }
            bounds[at] = 0.0;
            said.extend(terms.iter().copied());
            found.push(Recalled {
                seq: *seq,
                start: chosen.start,
                end: chosen.end,
                score,
                share: 0.0,
            });
        }
        found
    }
}

/// Returns `true` if no sentence of the text says anything that one may be asked about.
pub fn says_little(text: &str) -> bool {
    prose(text)
        .iter()
        .all(|unit| worth(&text[unit.start..unit.end]) < LITTLE)
}

/// Reads the sentences of a message, without code and pastes.
fn sentences(text: &str) -> Rc<[Sentence]> {
    let units = prose(text);
    let said = units.iter().filter(|unit| unit.kind != UnitKind::Code);
    said.filter_map(|unit| sentence(text, unit.start, unit.end))
        .collect()
}

fn sentence(text: &str, start: usize, end: usize) -> Option<Sentence> {
    let body = &text[start..end];
    if body.len() > LONGEST {
        return None;
    }
    let mut terms: Vec<u64> = Vec::new();
    let mut words = 0;
    each_term(body, |term| {
        if small_word(term.hash) != 0 || terms.contains(&term.hash) {
            return;
        }
        // Of scripts without spaces two pairs of characters make a word.
        words += if term.kind == TermKind::Pair { 1 } else { 2 };
        terms.push(term.hash);
    });
    let worth = worth(body);
    let is_question = body.trim_end().ends_with(['?', '？', '؟']);
    let says_enough = words >= 2 * LEAST_WORDS && worth >= LITTLE && !is_question;
    Some(Sentence {
        terms: terms.into(),
        chosen: says_enough.then(|| Chosen {
            start: start as u32,
            end: end as u32,
            tokens: estimate(body),
            worth,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::Unsaid;

    fn check(texts: &[&str], sight: &str, most: usize, expected: &[&str]) {
        let numbered = texts.iter().enumerate().map(|(n, text)| (n as u32, *text));
        let found = Unsaid::default().find(numbered, [sight], most);
        let got: Vec<&str> = found
            .iter()
            .map(|one| &texts[one.seq as usize][one.start as usize..one.end as usize])
            .collect();
        assert_eq!(got, expected);
    }

    /// R1: what nothing in sight says comes first, each thing once; small talk and questions never.
    #[test]
    fn news_come_first() {
        let texts = [
            "Wow, that's so great! The spare key hangs behind the blue lantern.",
            "Do you like my garden? My garden is full of roses.",
            "My garden is full of roses this year. Ines paid 450 euros for the gate.",
        ];
        check(
            &texts,
            "We spoke about roses in the garden.",
            2,
            &[
                "Ines paid 450 euros for the gate.",
                "The spare key hangs behind the blue lantern.",
            ],
        );
        check(&texts, &texts.join(" "), 9, &[]);
        check(&["Haha, thanks! Sounds good."], "", 9, &[]);
        check(&[], "", 9, &[]);
    }
}
