//! Guards the content that a compaction must not lose:
//! - facts, found by shape and by grammar, searched in the new window, and carried in a ledger if they are missing
//!   (P9);
//! - the user's demands (records of kind constraint);
//! - the reasons for which a summary is sent back (P8).
//!
//! Everything here is a pure function of text: no model, no regular expressions, one pass each.

mod audit;
pub(crate) mod constraint;
mod grammar;
mod grounding;
mod index;
mod known;
mod ledger;
mod pasted;
mod quantity;
mod reject;
mod scan;
mod secret;
mod supersede;
mod wanted;

use serde::{Deserialize, Serialize};

pub use audit::{Audit, Checked, Collector, Facts};
pub use constraint::{Constraint, ConstraintKind, constraints};
pub use grounding::grounded;
pub use known::{Known, Scan};
pub use ledger::{Ledger, ledger};
pub use reject::{Attempt, Rejection, reject};
pub(crate) use scan::{Found, Scanner};
pub use supersede::{RuleReading, supersedes};

use crate::languages::cue::Cue;
use crate::languages::tables::Script;
use crate::standing::Level;
use crate::words::Language;
use crate::words::segment::{self, Unit, UnitKind};
use constraint::{Decided, Judge};
use scan::Writer;

/// The author of a text. It decides which facts are searched, and what a text may become (I8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Speaker {
    /// The user: the only one whose sentences can be constraints.
    User,
    /// The model.
    Assistant,
    /// A tool. Its text is read line by line, never as sentences.
    Tool,
}

/// The classes of facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum FactClass {
    /// A sentence that demands something lasting of the assistant.
    Constraint,
    /// A sentence that denies or forbids.
    Negation,
    /// A sentence that settles something.
    Decision,
    /// A file or folder.
    Path,
    /// A web address.
    Url,
    /// A name that must be copied exactly: a hash, a ticket, a function, a version, a mail address.
    Identifier,
    /// A number, with its unit if it has one.
    Number,
    /// A date, a time, a weekday.
    Date,
    /// Quoted text, a command in backticks.
    Quoted,
    /// A sentence about a person's likes, food or wishes.
    Preference,
}

impl FactClass {
    /// All classes in ledger order (P9).
    pub const ALL: [Self; 10] = [
        Self::Constraint,
        Self::Negation,
        Self::Decision,
        Self::Path,
        Self::Url,
        Self::Identifier,
        Self::Number,
        Self::Date,
        Self::Quoted,
        Self::Preference,
    ];

    /// Returns `true` if the fact is a whole sentence.
    pub const fn sentence(self) -> bool {
        matches!(
            self,
            Self::Constraint | Self::Negation | Self::Decision | Self::Preference
        )
    }
}

/// A fact of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fact {
    /// The class.
    pub class: FactClass,
    /// Its own words, verbatim.
    pub text: String,
    /// The sentence, item or line that contains it, verbatim.
    pub context: String,
}

/// The priorities of a mode of work (P6): the order of the ledger and the weights of the extractive summariser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Emphasis {
    /// The order of P9.
    #[default]
    Assistant,
    /// Code: paths and identifiers before denials.
    Developer,
    /// Goals: decisions and dates first.
    Planning,
    /// Errors: identifiers, paths, quoted messages and numbers early.
    Debugger,
}

impl Emphasis {
    /// The place of `class` in the ledger, 0 first. Constraints always come first, decisions never after the third.
    pub const fn rank(self, class: FactClass) -> u8 {
        use FactClass as F;
        match self {
            Self::Assistant => match class {
                F::Constraint => 0,
                F::Negation => 1,
                F::Decision => 2,
                F::Path | F::Url | F::Identifier => 3,
                F::Number => 4,
                F::Date => 5,
                F::Preference => 6,
                F::Quoted => 7,
            },
            Self::Developer => match class {
                F::Constraint => 0,
                F::Decision => 1,
                F::Path | F::Url | F::Identifier => 2,
                F::Negation => 3,
                F::Number => 4,
                F::Quoted => 5,
                F::Date => 6,
                F::Preference => 7,
            },
            Self::Planning => match class {
                F::Constraint => 0,
                F::Decision => 1,
                F::Date => 2,
                F::Negation => 3,
                F::Number => 4,
                F::Preference => 5,
                F::Path | F::Url | F::Identifier => 6,
                F::Quoted => 7,
            },
            Self::Debugger => match class {
                F::Constraint => 0,
                F::Decision => 1,
                F::Path | F::Url | F::Identifier => 2,
                F::Quoted => 3,
                F::Number => 4,
                F::Negation => 5,
                F::Date => 6,
                F::Preference => 7,
            },
        }
    }
}

/// Returns the facts of a person's text, in order, each once.
pub fn extract(text: &str) -> Vec<Fact> {
    extract_from(text, Speaker::User)
}

/// Returns the facts of a text by its speaker: constraints only from the user, sentences never from a tool.
pub fn extract_from(text: &str, speaker: Speaker) -> Vec<Fact> {
    Scan::of(text, speaker).facts
}

/// Cuts a text into the units of its speaker.
pub(crate) fn units(text: &str, speaker: Speaker) -> Vec<Unit> {
    if speaker == Speaker::Tool {
        segment::lines(text)
    } else {
        segment::prose(text)
    }
}

/// Finds the facts of one message, unit by unit.
pub(crate) struct Finder {
    speaker: Speaker,
    scanner: Scanner,
    judge: Judge,
    /// The decision about the last unit.
    decided: Option<Decided>,
}

impl Finder {
    pub(crate) fn new(text: &str, speaker: Speaker) -> Self {
        let judge = Judge::new(if speaker == Speaker::Tool { "" } else { text });
        Self {
            speaker,
            scanner: Scanner::default(),
            judge,
            decided: None,
        }
    }

    /// Adds the facts of `unit` to `out`: first those by shape, then the class of the whole sentence.
    pub(crate) fn find(&mut self, text: &str, unit: &Unit, out: &mut Vec<Found>) {
        self.decided = None;
        let writer = match self.speaker {
            Speaker::Tool => Writer::Machine,
            Speaker::User | Speaker::Assistant => Writer::Person,
        };
        self.scanner.scan(text, unit, writer, out);
        if self.speaker == Speaker::Tool
            || !matches!(unit.kind, UnitKind::Sentence | UnitKind::Item)
            || unit.end - unit.start > 800
        {
            return;
        }
        self.judge.reading.read(text, unit.start, unit.end);
        // An instruction may have no cue at all.
        if self.judge.reading.hits.is_empty() && self.speaker != Speaker::User {
            return;
        }
        if let Some(class) = self.sentence(text, unit) {
            out.push(Found {
                class,
                start: unit.start,
                end: unit.end,
            });
        }
    }

    fn sentence(&mut self, text: &str, unit: &Unit) -> Option<FactClass> {
        if self.speaker == Speaker::User {
            self.decided = self.judge.decide(text, unit);
        }
        // A sentence that only may be an instruction is an ordinary fact.
        if self.decided.is_some_and(|d| d.level == Level::Sure) {
            return Some(FactClass::Constraint);
        }
        if self.judge.reading.question {
            return None;
        }
        let telling = [Cue::Decision, Cue::Preference, Cue::Negation];
        if !self
            .judge
            .reading
            .hits
            .iter()
            .any(|h| telling.contains(&h.cue))
        {
            return None;
        }
        let language = self.judge.language(text);
        let reading = &self.judge.reading;
        let fits =
            |l: Language| language.is_none_or(|m| m == l) || l.tables().script != Script::Latin;
        let has = |cue: Cue| {
            reading
                .hits
                .iter()
                .any(|h| h.cue == cue && fits(h.language))
        };
        if has(Cue::Decision) {
            return Some(FactClass::Decision);
        }
        if has(Cue::Preference) {
            return Some(FactClass::Preference);
        }
        // A denial counts if it has something to deny: four words or eight characters.
        let size = unit.end - unit.start;
        let idle = has(Cue::Idle) && !has(Cue::MustNot) && !has(Cue::Never);
        if has(Cue::Negation) && !idle && (reading.words.len() >= 4 || size >= 24) {
            return Some(FactClass::Negation);
        }
        None
    }
}

/// The sentence around a fact; in a long unit only the nearby text.
fn context(text: &str, unit: &Unit, fact: &Found) -> String {
    const NEAR: usize = 120;
    if unit.end - unit.start <= 2 * NEAR + (fact.end - fact.start) || fact.class.sentence() {
        return text[unit.start..unit.end].to_owned();
    }
    let mut from = fact.start.saturating_sub(NEAR).max(unit.start);
    while !text.is_char_boundary(from)
        || from > unit.start && !text[from..].starts_with(char::is_whitespace) && from < fact.start
    {
        from += 1;
    }
    let mut to = (fact.end + NEAR).min(unit.end);
    while !text.is_char_boundary(to)
        || to < unit.end && to > fact.end && !text[..to].ends_with(char::is_whitespace)
    {
        to -= 1;
    }
    text[from.min(fact.start)..to.max(fact.end)]
        .trim()
        .to_owned()
}
