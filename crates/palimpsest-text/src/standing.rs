//! Standing instructions: a user's wishes for the rest of the conversation.
//!
//! The judgement searches a sentence for phrases of some seventy classes in seven languages. Their combination (an
//! order without an object of the moment, a wish about replies, a rule of the project …) gives a list of features, and
//! the sum of their weights gives the probability that the sentence is meant to last. The same text gives the same sum
//! on every machine.

mod features;
mod personal;
mod reader;
mod table;
#[cfg(test)]
mod tests;
mod weights;

use serde::{Deserialize, Serialize};

use crate::extractive::speaker;
use crate::words::cues::Word;
use crate::words::segment::prose;
use crate::words::{Language, detect_language};
use features::{Flag, Seen, Shape};
pub(crate) use personal::{asked, bound, reports};
use reader::{Frame, Reader};
use table::{Class, set};
use weights::{BIAS, WEIGHTS};

/// The certainty that a sentence is meant to last.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "Certainty"))]
pub enum Level {
    /// It may be an order of the moment.
    Likely,
    /// It binds.
    #[default]
    Sure,
}

/// The number of steps of the sum that are one in the logarithm of the odds.
#[cfg(test)]
const STEPS: i32 = 50;
/// The sum at which four of five sentences are meant to last.
const SURE: i32 = 69;
/// The sum at which two of five sentences are.
const LIKELY: i32 = -20;
/// A sum a little above even odds.
const EVEN: i32 = 20;
/// The sum at which one of four sentences is meant to last. It is enough if the cues of a demand agree.
const CONFIRMS: i32 = -55;
/// Below this sum cues do not count.
const DOUBTS: i32 = -160;

/// The judgement of one sentence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged {
    seen: Seen,
}

/// The content of a lasting sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gist {
    /// It forbids.
    Denies,
    /// It lifts an earlier rule.
    Lifts,
    /// It names an amount that must not be exceeded.
    Budget,
    /// It names a time at which something is due.
    Deadline,
    /// It names a beginning or a repeated occasion.
    Lasts,
    /// It orders or wishes.
    Orders,
}

impl Judged {
    /// The certainty from the sentence alone; `None` below the lowest level.
    pub(crate) fn level(&self) -> Option<Level> {
        if !shaped(&self.seen) {
            return None;
        }
        let sum = self.sum();
        if sum >= SURE {
            Some(Level::Sure)
        } else if sum >= LIKELY && !(self.seen.class(Class::Once) && sum < EVEN) {
            Some(Level::Likely)
        } else {
            None
        }
    }

    /// The certainty of a demand that its cues found. `measured` says that it names an amount or a date.
    pub(crate) fn with_cues(&self, measured: bool) -> Option<Level> {
        let sum = self.sum();
        let leads = self.seen.leads();
        let once = self.seen.class(Class::Once) && sum < LIKELY;
        if self.seen.is(Flag::Veto) || once {
            None
        } else if sum >= CONFIRMS || leads {
            Some(Level::Sure)
        } else {
            (measured || sum >= DOUBTS).then_some(Level::Likely)
        }
    }

    /// Whether it begins with words that make it last ("for the rest of this session"), or tells what replies should be.
    pub(crate) fn endures(&self) -> bool {
        let seen = &self.seen;
        let tells = set!(Past | Report | Story);
        let lasts = seen.first(set!(Duration)) && !seen.class(Class::Always);
        let orders = seen.shape(Shape::Order) || seen.any(set!(ThingMust | Auxiliary));
        let speaks = seen.first(set!(YourOutput)) && orders;
        let others = seen.any(set!(SubjectI | SubjectWe)) || seen.opening(set!(SubjectOther));
        (lasts || speaks) && !others && !seen.any(tells) && !seen.is(Flag::Veto)
    }

    fn sum(&self) -> i32 {
        sum(&self.seen, |feature| i32::from(WEIGHTS[feature]))
    }

    pub(crate) fn gist(&self) -> Gist {
        let seen = &self.seen;
        if seen.shape(Shape::Lift) {
            Gist::Lifts
        } else if seen.is(Flag::Denied) {
            Gist::Denies
        } else if seen.shape(Shape::Limit) && seen.class(Class::Budget) {
            Gist::Budget
        } else if seen.shape(Shape::Limit) {
            Gist::Deadline
        } else if seen.class(Class::Duration) || seen.class(Class::Habit) {
            Gist::Lasts
        } else {
            Gist::Orders
        }
    }
}

/// Judges one sentence after the other.
#[derive(Debug, Default)]
pub(crate) struct Instructions {
    reader: Reader,
}

impl Instructions {
    /// Judges `text[start..end]`. `None` for a language without tables.
    pub(crate) fn judge(
        &mut self,
        text: &str,
        span: (usize, usize),
        language: Language,
        (item, file): (bool, bool),
    ) -> Option<Judged> {
        let frame = Frame {
            language,
            item,
            file,
        };
        let seen = self.reader.read(text, span, frame)?;
        Some(Judged { seen })
    }
}

/// Returns `true` if a sentence of the text asks for something: a question, also one without its mark, or an order that begins
/// with its verb.
pub fn asks(text: &str) -> bool {
    let from = speaker(text).map_or(0, |name| name.len() + 1);
    let said = text.get(from..).unwrap_or(text);
    let language = detect_language(said).unwrap_or(Language::English);
    let mut reader = Reader::default();
    prose(said).iter().any(|unit| {
        let frame = Frame {
            language,
            item: false,
            file: false,
        };
        let read = reader.read(said, (unit.start, unit.end), frame);
        reader::question(&said[unit.start..unit.end]) || read.is_some() && reader.opens_a_request()
    })
}

/// The sum of the weights.
fn sum(seen: &Seen, weight: impl Fn(usize) -> i32) -> i32 {
    let mut sum = BIAS;
    seen.features(|feature| sum += weight(feature));
    sum
}

/// Returns `true` if the sentence has the form of an instruction.
fn shaped(seen: &Seen) -> bool {
    let built = seen.shape(Shape::Order) || !seen.shape(Shape::Other) && !seen.shape(Shape::Time);
    built && !seen.is(Flag::Veto)
}

/// The language in Latin script whose phrases contain most of the words; English if none has more.
pub(crate) fn closest(words: &[Word]) -> Language {
    let mut best = (0, Language::English);
    for language in Language::latin() {
        let Some(table) = table::phrases(language) else {
            continue;
        };
        let known = words
            .iter()
            .filter(|w| table.get(table::next(0, w.hash)).is_some());
        let known = known.count();
        if known > best.0 {
            best = (known, language);
        }
    }
    best.1
}
