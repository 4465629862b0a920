//! Standing instructions: what a user wants kept to for the rest of the conversation.
//!
//! A sentence is read for phrases of some seventy classes in seven languages. What they say together (an order without an
//! object of this moment, a wish about replies, a rule of the project …) is a list of features, and the sum of their
//! weights says how likely it is that the sentence is meant to last. The same text gives the same sum everywhere.

mod features;
mod reader;
mod table;
#[cfg(test)]
mod tests;
mod weights;

use serde::{Deserialize, Serialize};

use crate::words::Language;
use crate::words::cues::Word;
use features::{Flag, Seen, Shape};
use reader::{Frame, Reader};
use table::Class;
use weights::{BIAS, WEIGHTS};

/// How certain it is that a sentence is meant to last.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It may be an order of the moment.
    Likely,
    /// It binds.
    #[default]
    Sure,
}

/// Steps of the sum that are one in the logarithm of the odds.
#[cfg(test)]
const STEPS: i32 = 50;
/// The sum at which four of five sentences are meant to last.
const SURE: i32 = 69;
/// The sum at which two of five are.
const LIKELY: i32 = -20;
/// The sum at which it is as likely as not, and a little more.
const EVEN: i32 = 20;
/// The sum at which one of four is: enough where the cues of a demand speak for it too.
const CONFIRMS: i32 = -55;
/// The sum below which cues speak for nothing.
const DOUBTS: i32 = -160;

/// What the judgement says of one sentence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged {
    seen: Seen,
}

/// What a lasting sentence is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gist {
    /// It forbids.
    Denies,
    /// It lifts an earlier rule.
    Lifts,
    /// It names a sum that must not be passed.
    Budget,
    /// It names a time by which something is due.
    Deadline,
    /// It says since when, or each time when.
    Lasts,
    /// It orders or wishes.
    Orders,
}

impl Judged {
    /// How certain the sentence alone makes it; `None` below that.
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

    /// How certain it is of a demand that its cues found; `measured` if it names a sum or a date.
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

/// Judges sentence after sentence.
#[derive(Debug, Default)]
pub(crate) struct Instructions {
    reader: Reader,
}

impl Instructions {
    /// Judges `text[start..end]`. `None` in a language that is not read.
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

/// The sum of the weights.
fn sum(seen: &Seen, weight: impl Fn(usize) -> i32) -> i32 {
    let mut sum = BIAS;
    seen.features(|feature| sum += weight(feature));
    sum
}

/// Whether it is built like an instruction at all.
fn shaped(seen: &Seen) -> bool {
    let built = seen.shape(Shape::Order) || !seen.shape(Shape::Other) && !seen.shape(Shape::Time);
    built && !seen.is(Flag::Veto)
}

/// The language of Latin letters whose phrases hold most of the words; English if none has more.
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
