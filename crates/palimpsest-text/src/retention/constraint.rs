//! Finds the user's demands for the rest of the session.
//!
//! Precision goes before recall: a sentence counts only if its grammar demands something lasting. Stories ("I never saw
//! that film"), questions, quoted words, code, reports of others' words and single orders ("don't run it yet") do not
//! count, nor does text that the user pasted ([`super::pasted`]). The module reads English, Chinese, German, Spanish,
//! French, Japanese and Russian, and finds nothing in other languages.

use serde::{Deserialize, Serialize};

use super::FactClass;
use super::grammar::{Figures, Sentence};
use super::pasted::Pasted;
use super::scan::{Found, Scanner, Writer};
use super::secret::holds_secret;
use crate::languages::cue::Cue;
pub use crate::languages::rules::ConstraintKind;
use crate::languages::tables::Script;
use crate::languages::{List, each};
use crate::standing::{Gist, Instructions, Level, asked, bound, closest, reports};
use crate::words::cues::Reading;
use crate::words::script::{kana, unspaced};
use crate::words::segment::{Unit, UnitKind, prose};
use crate::words::{Evidence, Language, without_code};

static ERRORS: List = List::words(each!(errors));

/// A demand, word for word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraint {
    /// The sentence or list item, verbatim.
    pub text: String,
    /// Its place in the message, in bytes.
    pub span: (u32, u32),
    /// Its language.
    pub language: Language,
    /// Its kind.
    pub kind: ConstraintKind,
    /// The certainty that it binds.
    #[serde(default)]
    pub level: Level,
}

/// The language of a sentence with at most so many words may be taken for another.
const SHORT: usize = 10;
/// Longer "sentences" are pasted material.
const LONGEST: usize = 600;

/// Returns the demands in a **user's** message. Never call it with text from a tool, a model or an import (I8).
pub fn constraints(text: &str) -> Vec<Constraint> {
    let mut judge = Judge::new(text);
    let units = prose(text).into_iter();
    units
        .filter_map(|unit| {
            let decided = judge.judge(text, &unit)?;
            demand(text, &unit, decided)
        })
        .collect()
}

/// Returns the demand of a sentence, unless a secret stands beside it.
pub(super) fn demand(text: &str, unit: &Unit, decided: Decided) -> Option<Constraint> {
    let words = &text[unit.start..unit.end];
    (!holds_secret(words)).then(|| Constraint {
        text: words.to_owned(),
        span: (unit.start as u32, unit.end as u32),
        language: decided.language,
        kind: decided.kind,
        level: decided.level,
    })
}

/// The language of a whole message, detected on first use.
#[derive(Debug, Clone, Copy)]
enum Message {
    Unread,
    Read(Option<Language>),
}

impl Message {
    fn language(&mut self, text: &str) -> Option<Language> {
        match *self {
            Self::Read(language) => language,
            Self::Unread => {
                let language = message_language(text);
                *self = Self::Read(language);
                language
            }
        }
    }
}

/// Reads sentence after sentence of one message.
pub(crate) struct Judge {
    pub reading: Reading,
    scanner: Scanner,
    facts: Vec<Found>,
    message: Message,
    instructions: Instructions,
    /// The quoted and pasted parts of the message, found when the first demand is found.
    pasted: Option<Pasted>,
}

impl Judge {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            reading: Reading::default(),
            scanner: Scanner::default(),
            facts: Vec::new(),
            // A text of a few words is judged by itself.
            message: if text.len() <= 24 {
                Message::Read(None)
            } else {
                Message::Unread
            },
            instructions: Instructions::default(),
            pasted: None,
        }
    }

    /// The language of the sentence in `reading`, otherwise of the whole message, if one is clear.
    pub(crate) fn language(&mut self, text: &str) -> Option<Language> {
        self.reading
            .language()
            .or_else(|| self.message.language(text))
    }

    pub(crate) fn judge(&mut self, text: &str, unit: &Unit) -> Option<Decided> {
        if !matches!(unit.kind, UnitKind::Sentence | UnitKind::Item)
            || unit.end - unit.start > LONGEST
        {
            return None;
        }
        self.reading.read(text, unit.start, unit.end);
        self.decide(text, unit)
    }

    /// Judges the sentence that `reading` already holds.
    pub(crate) fn decide(&mut self, text: &str, unit: &Unit) -> Option<Decided> {
        let sentence = &text[unit.start..unit.end];
        if unit.end - unit.start > LONGEST || message_of_a_machine(sentence) {
            return None;
        }
        let by_cues = if self.reading.question {
            None
        } else {
            self.by_cues(text, unit)
        };
        let language = match by_cues {
            Some((_, language)) => Some(language),
            None => self.read_in(text, sentence),
        };
        let asked = language.and_then(|l| self.asked(text, unit, l));
        let (kind, level) = match asked {
            Some(asked) => asked,
            None if self.reading.question => return None,
            None => self.told(text, unit, by_cues.map(|c| c.0), language)?,
        };
        let pasted = self.pasted.get_or_insert_with(|| Pasted::of(text));
        if pasted.holds(unit.start, unit.end)
            || by_cues.is_none() && pasted.follows(text, unit.start, unit.end)
        {
            return None;
        }
        Some(Decided {
            kind,
            language: language.unwrap_or(Language::English),
            level,
        })
    }

    /// Judges a sentence that is no question, by its cues, by all of its phrases, and as a habit of the user's.
    fn told(
        &mut self,
        text: &str,
        unit: &Unit,
        by_cues: Option<ConstraintKind>,
        language: Option<Language>,
    ) -> Option<(ConstraintKind, Level)> {
        let span = (unit.start, unit.end);
        let words = &self.reading.words;
        if language.is_some_and(|l| reports(text, unit.start, words, l)) {
            return None;
        }
        let frame = (
            unit.kind == UnitKind::Item,
            names_file(&text[unit.start..unit.end]),
        );
        let judged = language.and_then(|l| self.instructions.judge(text, span, l, frame));
        let ordered = match (by_cues, judged) {
            (Some(kind), Some(judged)) => {
                let measured = matches!(kind, ConstraintKind::Budget | ConstraintKind::Deadline);
                judged.with_cues(measured).map(|level| (kind, level))
            }
            (None, Some(judged)) => judged.level().map(|level| (kind_of(judged.gist()), level)),
            _ => None,
        };
        if ordered.is_some_and(|(_, level)| level == Level::Sure) {
            return ordered;
        }
        let bound = self.bound(text, span, language);
        let endures = || {
            let reads = language.is_some_and(|l| !l.tables().standing.is_verb_last);
            (reads && judged?.endures()).then_some(Level::Likely)
        };
        let bound = bound.or_else(endures);
        match (ordered, bound) {
            (Some((kind, level)), bound) => Some((kind, bound.map_or(level, |b| b.max(level)))),
            (None, bound) => bound.map(|level| (ConstraintKind::Standing, level)),
        }
    }

    /// Judges a habit or a bound of the user's. A short sentence in Latin script may be in any language.
    fn bound(&self, text: &str, span: (usize, usize), read: Option<Language>) -> Option<Level> {
        let words = &self.reading.words;
        let is_latin = read.is_none_or(|l| l.tables().script == Script::Latin);
        let is_open = is_latin && words.len() <= SHORT && self.reading.language() != read;
        let others = Language::latin().filter(|l| is_open && Some(*l) != read);
        let all = read.into_iter().chain(others);
        all.filter_map(|l| bound(text, span, words, l)).max()
    }

    /// Judges the order in a request that looks like a question: "Could you always …?"
    fn asked(
        &mut self,
        text: &str,
        unit: &Unit,
        language: Language,
    ) -> Option<(ConstraintKind, Level)> {
        let words = &self.reading.words;
        let order = asked(text, (unit.start, unit.end), words, language)?;
        let inner = Unit {
            start: 0,
            end: order.len(),
            kind: unit.kind,
            opens: true,
        };
        let decided = Judge::new(&order).judge(&order, &inner);
        let lasts = decided.map(|d| (d.kind, d.level));
        Some(lasts.unwrap_or((ConstraintKind::Standing, Level::Likely)))
    }

    /// Returns the judgement of a sentence, and whether its cues make a demand. Returns `None` inside of pasted text.
    #[cfg(test)]
    pub(crate) fn weigh(
        &mut self,
        text: &str,
        unit: &Unit,
    ) -> Option<(crate::standing::Judged, bool)> {
        if !matches!(unit.kind, UnitKind::Sentence | UnitKind::Item)
            || Pasted::of(text).holds(unit.start, unit.end)
        {
            return None;
        }
        self.reading.read(text, unit.start, unit.end);
        let sentence = &text[unit.start..unit.end];
        let by_cues = self.by_cues(text, unit);
        let language = by_cues
            .map(|c| c.1)
            .or_else(|| self.read_in(text, sentence))?;
        let item = (unit.kind == UnitKind::Item, names_file(sentence));
        let span = (unit.start, unit.end);
        let judged = self.instructions.judge(text, span, language, item)?;
        Some((judged, by_cues.is_some()))
    }

    /// Returns `true` if the sentence ends an earlier rule.
    pub(super) fn lifts(&mut self, text: &str, unit: &Unit) -> bool {
        self.reading.read(text, unit.start, unit.end);
        let language = self.read_in(text, &text[unit.start..unit.end]);
        let span = (unit.start, unit.end);
        let judged = language.and_then(|l| self.instructions.judge(text, span, l, (false, false)));
        judged.is_some_and(|j| j.gist() == Gist::Lifts)
    }

    /// The kind of demand that the cues of the sentence make, and their language.
    fn by_cues(&mut self, text: &str, unit: &Unit) -> Option<(ConstraintKind, Language)> {
        if !self.reading.hits.iter().any(|h| directive(h.cue)) {
            return None;
        }
        let sentence = &text[unit.start..unit.end];
        self.facts.clear();
        self.scanner
            .scan(text, unit, Writer::Person, &mut self.facts);
        let figures = Figures {
            number: self.facts.iter().any(|f| f.class == FactClass::Number),
            digits: bare_number(text, unit, &self.facts),
            dates: self
                .facts
                .iter()
                .filter(|f| f.class == FactClass::Date)
                .copied()
                .collect(),
        };
        let candidates = candidates(sentence, &self.reading, || self.message.language(text));
        candidates.into_iter().find_map(|language| {
            let sentence = Sentence {
                text,
                body: sentence,
                reading: &self.reading,
                language,
                figures: &figures,
            };
            Some((sentence.kind()?, language))
        })
    }

    /// The language in which a sentence without cues is read.
    fn read_in(&mut self, text: &str, sentence: &str) -> Option<Language> {
        let candidates = candidates(sentence, &self.reading, || self.message.language(text));
        let is_latin = !sentence.contains(|c| unspaced(c) || is_cyrillic(c));
        if candidates.len() != 1 && is_latin {
            return match self.reading.language().or(self.message.language(text)) {
                Some(_) => None,
                None => Some(closest(&self.reading.words)),
            };
        }
        candidates.into_iter().next()
    }
}

/// The decision about a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decided {
    pub kind: ConstraintKind,
    pub language: Language,
    pub level: Level,
}

fn kind_of(gist: Gist) -> ConstraintKind {
    match gist {
        Gist::Denies => ConstraintKind::Prohibition,
        Gist::Lifts => ConstraintKind::Permission,
        Gist::Budget => ConstraintKind::Budget,
        Gist::Deadline => ConstraintKind::Deadline,
        Gist::Lasts => ConstraintKind::Standing,
        Gist::Orders => ConstraintKind::Obligation,
    }
}

/// Returns `true` if the sentence names a file: "src/lib.rs", "main.py", "run_all()".
fn names_file(sentence: &str) -> bool {
    sentence.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '(');
        let inner = |mark: char| {
            word.split_once(mark).is_some_and(|(before, after)| {
                before.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphabetic)
            })
        };
        let ending = word.rsplit('.').next().unwrap_or("");
        let dotted = inner('.') && (2..=4).contains(&ending.len()) && ending.is_ascii();
        dotted || inner('/') || word.contains('_') && word.contains('(')
    })
}

/// The language by the beginning of the message, which is enough to be sure.
fn message_language(text: &str) -> Option<Language> {
    let mut end = text.len().min(2048);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Evidence::of(&without_code(&text[..end])).sure()
}

/// "error: …", "Warning: …".
fn message_of_a_machine(sentence: &str) -> bool {
    let Some((head, _)) = sentence.split_once([':', '：']) else {
        return false;
    };
    let head = head.trim().to_lowercase();
    let head = head.rsplit(' ').next().unwrap_or("");
    ERRORS.all().iter().any(|w| head.ends_with(w))
}

/// Returns `true` for digits outside of a date, path or name: "100 Wörter", whose noun no table knows.
fn bare_number(text: &str, unit: &Unit, facts: &[Found]) -> bool {
    let body = &text[unit.start..unit.end];
    let from = if crate::words::segment::list_item(body) {
        body.find(' ').unwrap_or(0)
    } else {
        0
    };
    body[from..].char_indices().any(|(i, c)| {
        let at = unit.start + from + i;
        c.is_ascii_digit()
            && !facts
                .iter()
                .any(|f| !f.class.sentence() && f.start <= at && at < f.end)
    })
}

fn directive(cue: Cue) -> bool {
    matches!(
        cue,
        Cue::Never
            | Cue::Always
            | Cue::Dont
            | Cue::MustNot
            | Cue::Must
            | Cue::FromNow
            | Cue::Only
            | Cue::Avoid
            | Cue::Stop
            | Cue::Answer
            | Cue::Every
            | Cue::Ensure
            | Cue::Budget
            | Cue::Cap
            | Cue::Under
            | Cue::Deadline
            | Cue::By
            | Cue::Permission
    )
}

/// The languages in which the sentence may be judged, the most likely first.
fn candidates(
    sentence: &str,
    reading: &Reading,
    message: impl FnOnce() -> Option<Language>,
) -> Vec<Language> {
    if let Some(script) = script(sentence) {
        let of_script = |l: &Language| l.tables().script == script;
        // A letter that only one language of the script has.
        let owner = Language::ALL.into_iter().filter(of_script).find(|l| {
            let own = l.tables().own_letters;
            sentence.contains(|c| own.contains(c))
        });
        return Language::read()
            .filter(|l| of_script(l) && owner.is_none_or(|owner| owner == *l))
            .collect();
    }
    match reading.language().or_else(message) {
        Some(own) => Language::latin().filter(|l| *l == own).collect(),
        None => Language::latin()
            .filter(|l| {
                let mut hits = reading.hits.iter();
                hits.any(|h| h.language == *l && directive(h.cue))
            })
            .collect(),
    }
}

/// The script that settles the language of a sentence; `None` if many languages share it.
fn script(sentence: &str) -> Option<Script> {
    if sentence.is_ascii() {
        return None;
    }
    let wide = sentence.chars().filter(|&c| unspaced(c)).count();
    let latin = sentence.bytes().filter(u8::is_ascii_alphabetic).count();
    if wide > 0 && wide * 3 >= latin {
        let has_kana = sentence.chars().any(kana);
        return Some(if has_kana { Script::Kana } else { Script::Han });
    }
    sentence.contains(is_cyrillic).then_some(Script::Cyrillic)
}

fn is_cyrillic(c: char) -> bool {
    ('а'..='я').contains(&c)
}
