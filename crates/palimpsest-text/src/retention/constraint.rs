//! What a user demands for the rest of the session.
//!
//! Precision before recall: a sentence counts only if its grammar demands something lasting.
//! Stories ("I never saw that film"), questions, quoted words, code, reports of what others said
//! and one-off orders ("don't run it yet") do not, nor does what the user pasted ([`super::pasted`]). English, Chinese, German, Spanish, French,
//! Japanese and Russian are read; in other languages nothing is found.

use serde::{Deserialize, Serialize};

use super::FactClass;
use super::pasted::Pasted;
use super::scan::{Found, Scanner};
use super::secret::holds_secret;
use crate::standing::{Gist, Instructions, Level, closest};
use crate::words::cues::{Cue, Hit, Reading};
use crate::words::script::{fold, kana, unspaced};
use crate::words::segment::{Unit, UnitKind, prose};
use crate::words::small_word;
use crate::words::terms::{TermKind, each_term, hash};
use crate::words::{Evidence, Language, without_code};

/// What kind of demand it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConstraintKind {
    /// Something must not happen: "never …", "do not …".
    Prohibition,
    /// Something must always happen: "always …", "answer only in …".
    Obligation,
    /// A rule with a beginning: "from now on …", "whenever …".
    Standing,
    /// A cap on money, length or amount.
    Budget,
    /// A date by which something is due.
    Deadline,
    /// An earlier rule is lifted: "you may use tabs now".
    Permission,
}

/// A demand, word for word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraint {
    /// The sentence or list item, verbatim.
    pub text: String,
    /// Where it stands in the message, in bytes.
    pub span: (u32, u32),
    /// Its language.
    pub language: Language,
    /// Its kind.
    pub kind: ConstraintKind,
    /// How certain it is that it binds.
    #[serde(default)]
    pub level: Level,
}

/// Longer "sentences" are pasted material.
const LONGEST: usize = 600;

/// The demands in a **user's** message. Never call it with text from a tool, a model or an import (I8).
pub fn constraints(text: &str) -> Vec<Constraint> {
    let mut out = Vec::new();
    let mut judge = Judge::new(text);
    for unit in prose(text) {
        let Some(Decided {
            kind,
            language,
            level,
        }) = judge.judge(text, &unit)
        else {
            continue;
        };
        if holds_secret(&text[unit.start..unit.end]) {
            continue;
        }
        out.push(Constraint {
            text: text[unit.start..unit.end].to_owned(),
            span: (unit.start as u32, unit.end as u32),
            language,
            kind,
            level,
        });
    }
    out
}

/// The language of a whole message, found out when it is first needed.
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
    /// What the message quotes and pastes, found when the first demand is.
    pasted: Option<Pasted>,
}

impl Judge {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            reading: Reading::default(),
            scanner: Scanner::default(),
            facts: Vec::new(),
            // A few words are judged by themselves.
            message: if text.len() <= 24 {
                Message::Read(None)
            } else {
                Message::Unread
            },
            instructions: Instructions::default(),
            pasted: None,
        }
    }

    /// The language of the sentence that `reading` holds, else of the whole message, if one is clear.
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

    /// As [`Self::judge`], for a sentence that `reading` already holds.
    pub(crate) fn decide(&mut self, text: &str, unit: &Unit) -> Option<Decided> {
        if self.reading.question || unit.end - unit.start > LONGEST {
            return None;
        }
        let sentence = &text[unit.start..unit.end];
        if message_of_a_machine(sentence) {
            return None;
        }
        let by_cues = self.by_cues(text, unit);
        let language = match by_cues {
            Some((_, language)) => Some(language),
            None => self.read_in(text, sentence),
        };
        let item = unit.kind == UnitKind::Item;
        let judged = language.and_then(|l| {
            let span = (unit.start, unit.end);
            self.instructions
                .judge(text, span, l, (item, names_file(sentence)))
        });
        let (kind, level) = match (by_cues, judged) {
            (Some((kind, _)), Some(judged)) => {
                let measured = matches!(kind, ConstraintKind::Budget | ConstraintKind::Deadline);
                (kind, judged.with_cues(measured)?)
            }
            (None, Some(judged)) => (kind_of(judged.gist()), judged.level()?),
            _ => return None,
        };
        let pasted = self.pasted.get_or_insert_with(|| Pasted::of(text));
        if pasted.holds(unit.start, unit.end)
            || by_cues.is_none() && pasted.follows(text, unit.start, unit.end)
        {
            return None;
        }
        Some(Decided {
            kind,
            language: language?,
            level,
        })
    }

    /// What the judgement says of a sentence, and whether the cues make a demand of it; `None` where others' words stand.
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

    /// Whether the sentence ends an earlier rule.
    fn lifts(&mut self, text: &str, unit: &Unit) -> bool {
        self.reading.read(text, unit.start, unit.end);
        let language = self.read_in(text, &text[unit.start..unit.end]);
        let span = (unit.start, unit.end);
        let judged = language.and_then(|l| self.instructions.judge(text, span, l, (false, false)));
        judged.is_some_and(|j| j.gist() == Gist::Lifts)
    }

    /// The kind of demand that the cues in the sentence make, and the language they are in.
    fn by_cues(&mut self, text: &str, unit: &Unit) -> Option<(ConstraintKind, Language)> {
        if !self.reading.hits.iter().any(|h| directive(h.cue)) {
            return None;
        }
        let sentence = &text[unit.start..unit.end];
        self.facts.clear();
        self.scanner.scan(text, unit, false, &mut self.facts);
        let facts = Facts {
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
        candidates.into_iter().flatten().find_map(|language| {
            let kind = match language {
                Language::Chinese => chinese(&self.reading, &facts),
                Language::Japanese => japanese(sentence, &self.reading, &facts),
                _ => Rules {
                    text,
                    reading: &self.reading,
                    language,
                    facts: &facts,
                }
                .kind(),
            };
            Some((kind?, language))
        })
    }

    /// The language in which a sentence without cues is read.
    fn read_in(&mut self, text: &str, sentence: &str) -> Option<Language> {
        let candidates = candidates(sentence, &self.reading, || self.message.language(text));
        let several = candidates.iter().flatten().count() != 1;
        if several
            && !sentence
                .chars()
                .any(|c| unspaced(c) || ('а'..='я').contains(&c))
        {
            return match self.reading.language().or(self.message.language(text)) {
                Some(_) => None,
                None => Some(closest(&self.reading.words)),
            };
        }
        candidates.into_iter().flatten().next()
    }
}

/// What was decided about a sentence.
#[derive(Debug, Clone, Copy)]
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

/// Whether the sentence names a file: "src/lib.rs", "main.py", "run_all()".
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

struct Facts {
    /// A number with its unit, or a large one.
    number: bool,
    /// Any number that is no part of something else.
    digits: bool,
    dates: Vec<Found>,
}

impl Facts {
    fn due(&self) -> bool {
        self.number || !self.dates.is_empty()
    }
}

/// By the beginning of the message: enough to be sure.
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
    [
        "error",
        "warning",
        "fatal",
        "exception",
        "fehler",
        "warnung",
        "erreur",
        "ошибка",
        "错误",
        "エラー",
    ]
    .iter()
    .any(|w| head.ends_with(w))
}

/// Digits that are no part of a date, path or name: "100 Wörter", whose noun no table knows.
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

/// The languages in which the sentence may be judged, the likeliest first.
fn candidates(
    sentence: &str,
    reading: &Reading,
    message: impl FnOnce() -> Option<Language>,
) -> [Option<Language>; 4] {
    let none = [None; 4];
    if sentence.chars().any(unspaced) {
        let wide = sentence.chars().filter(|&c| unspaced(c)).count();
        let latin = sentence.chars().filter(char::is_ascii_alphabetic).count();
        if wide * 3 >= latin {
            let kanas = sentence.chars().filter(|&c| kana(c)).count();
            let language = if kanas > 0 {
                Language::Japanese
            } else {
                Language::Chinese
            };
            return [Some(language), None, None, None];
        }
    }
    if sentence.chars().any(|c| ('а'..='я').contains(&c)) {
        let ukrainian = sentence.chars().any(|c| matches!(c, 'і' | 'ї' | 'є' | 'ґ'));
        return if ukrainian {
            none
        } else {
            [Some(Language::Russian), None, None, None]
        };
    }
    let latin = [
        Language::English,
        Language::German,
        Language::Spanish,
        Language::French,
    ];
    if let Some(own) = reading.language() {
        return if latin.contains(&own) {
            [Some(own), None, None, None]
        } else {
            none
        };
    }
    if let Some(message) = message() {
        return if latin.contains(&message) {
            [Some(message), None, None, None]
        } else {
            none
        };
    }
    latin.map(|l| {
        reading
            .hits
            .iter()
            .any(|h| h.language == l && directive(h.cue))
            .then_some(l)
    })
}

/// The rules for scripts with spaces.
struct Rules<'a> {
    text: &'a str,
    reading: &'a Reading,
    language: Language,
    facts: &'a Facts,
}

impl Rules<'_> {
    fn kind(&self) -> Option<ConstraintKind> {
        let past = self.has(Cue::Past);
        let once = self.has(Cue::OneShot);
        if self.deadline(past) {
            return Some(ConstraintKind::Deadline);
        }
        if self.budget(past) {
            return Some(ConstraintKind::Budget);
        }
        let from_now = self.has(Cue::FromNow);
        if (!once || from_now) && self.prohibition() {
            return Some(ConstraintKind::Prohibition);
        }
        if from_now && self.standing() {
            return Some(ConstraintKind::Standing);
        }
        if !once && self.every() {
            return Some(ConstraintKind::Standing);
        }
        if !once && self.obligation() {
            return Some(ConstraintKind::Obligation);
        }
        if self.has(Cue::Permission) && self.has(Cue::Change) && !self.reported(usize::MAX) {
            return Some(ConstraintKind::Permission);
        }
        None
    }

    fn own(&self, cue: Cue) -> impl Iterator<Item = &Hit> {
        self.reading
            .hits
            .iter()
            .filter(move |h| h.cue == cue && h.language == self.language)
    }

    fn has(&self, cue: Cue) -> bool {
        self.own(cue).next().is_some()
    }

    fn word(&self, i: usize) -> &str {
        self.reading
            .words
            .get(i)
            .map_or("", |w| &self.text[w.start..w.end])
    }

    fn follows(&self, hit: &Hit, cue: Cue) -> bool {
        self.own(cue).any(|h| h.word == hit.after)
    }

    /// Somebody reports it: "the docs say you must not …".
    fn reported(&self, before: usize) -> bool {
        // "Do not enter, said the sign" is one too.
        self.own(Cue::Reported).any(|h| h.word < before || h.clause)
    }

    /// Somebody else's doing: a pronoun right before (in English also with one word between).
    fn subject_before(&self, word: usize) -> bool {
        let gap = usize::from(self.language == Language::English);
        self.own(Cue::Subject)
            .any(|h| h.after <= word && word - h.after <= gap && !self.border(h.after, word))
    }

    /// Whether a clause begins after `from`, up to and including `to`.
    fn border(&self, from: usize, to: usize) -> bool {
        self.reading
            .words
            .get(from..=to.min(self.reading.words.len().saturating_sub(1)))
            .is_some_and(|w| w.iter().any(|w| w.clause))
    }

    /// An imperative that opens the clause in which `word` stands.
    fn imperative_before(&self, word: usize, reach: usize) -> bool {
        self.own(Cue::Imperative).any(|h| {
            h.clause
                && h.after <= word
                && word - h.after <= reach
                && !self.border(h.after, word.saturating_sub(1))
        })
    }

    fn imperative(&self) -> bool {
        self.own(Cue::Imperative).any(|h| h.clause)
    }

    /// "should", "make sure you" up to four words before, said to you or about a thing.
    fn demanded_before(&self, word: usize) -> bool {
        self.own(Cue::Wish)
            .any(|h| h.after <= word && word - h.after <= 4)
            || self.own(Cue::Should).any(|h| {
                h.after <= word
                    && word - h.after <= 4
                    && !self.border(h.after, word)
                    && !self.subject_before(h.word)
                    && !self.own(Cue::We).any(|w| w.after == h.word)
            })
    }

    fn story(&self, hit: &Hit) -> bool {
        if self.follows(hit, Cue::Story) {
            return true;
        }
        let next = self.word(hit.after);
        next.is_empty()
            || self.language == Language::English
                && (next.ends_with("ed") || next.ends_with("ing") && next.len() > 5)
    }

    fn russian_imperative(&self, word: usize) -> bool {
        let w = self.word(word);
        ["ай", "яй", "уй", "юй", "йте", "ите", "ьте"]
            .iter()
            .any(|e| w.ends_with(e))
            || self.own(Cue::Imperative).any(|h| h.word == word)
    }

    /// A German pronoun that makes a sentence a report: articles do not.
    fn somebody(&self) -> bool {
        self.own(Cue::We).next().is_some()
            || self.own(Cue::Subject).any(|s| {
                ["ich", "er", "es", "man"]
                    .iter()
                    .any(|p| self.word(s.word).eq_ignore_ascii_case(p))
            })
    }

    fn infinitive_last(&self) -> bool {
        let last = self.word(self.reading.words.len().saturating_sub(1));
        (last.ends_with("en") || last.ends_with("ern") || last.ends_with("eln"))
            && last.starts_with(char::is_lowercase)
    }

    /// Whether a "never" or "always" at `hit` demands.
    fn frequency(&self, hit: &Hit) -> bool {
        if self.reported(hit.word) {
            return false;
        }
        if self.demanded_before(hit.word) && !self.story(hit) || self.imperative_before(hit.word, 6)
        {
            return true;
        }
        // "In this project we never use var."
        let our_way = self.own(Cue::We).any(|w| w.after == hit.word) && self.has(Cue::Scope);
        if our_way && !self.story(hit) && !self.has(Cue::Past) {
            return true;
        }
        if self.subject_before(hit.word) {
            return false;
        }
        // "Use tabs and never spaces."
        let joined = hit.word > 0
            && self.own(Cue::Filler).any(|f| f.after == hit.word)
            && (self.imperative() || self.own(Cue::Dont).any(|d| d.clause));
        if joined && !self.story(hit) && !self.has(Cue::Past) {
            return true;
        }
        if !hit.clause {
            return false;
        }
        let next = self.word(hit.after);
        match self.language {
            Language::English => {
                !self.story(hit)
                    && !self.follows(hit, Cue::Subject)
                    && !self.follows(hit, Cue::You)
                    && !self.follows(hit, Cue::We)
            }
            Language::German => self.infinitive_last() && !self.somebody() && !self.has(Cue::Past),
            Language::French => {
                ["er", "re", "ir"].iter().any(|e| next.ends_with(e)) && next.len() > 3
                    || matches!(next, "de" | "d'" | "d’")
            }
            Language::Spanish => {
                !self.follows(hit, Cue::Story)
                    && (["ar", "er", "ir"].iter().any(|e| next.ends_with(e)) && next.len() > 3
                        || hit.cue == Cue::Always && self.follows(hit, Cue::Imperative)
                        || self.spanish_order(hit.after))
            }
            Language::Russian => {
                let at = hit.after + usize::from(next == "не");
                self.russian_imperative(at)
            }
            _ => false,
        }
    }

    /// "Nunca uses …", "Nunca me llames …": the verbs of the "no uses …" table.
    fn spanish_order(&self, word: usize) -> bool {
        let mut at = word;
        if matches!(
            self.word(at),
            "me" | "lo" | "la" | "le" | "los" | "las" | "te"
        ) {
            at += 1;
        }
        let verb = self.word(at);
        if verb.is_empty() {
            return false;
        }
        let mut probe = String::from("no ");
        verb.chars().for_each(|c| fold(c, &mut probe));
        let mut reading = Reading::default();
        reading.read(&probe, 0, probe.len());
        reading.has(Language::Spanish, Cue::Dont)
    }

    fn prohibition(&self) -> bool {
        if self.own(Cue::Never).any(|h| self.frequency(h)) {
            return true;
        }
        if self.own(Cue::Dont).any(|h| self.dont(h)) {
            return true;
        }
        if self.own(Cue::MustNot).any(|h| self.must_not(h)) {
            return true;
        }
        if self
            .own(Cue::Avoid)
            .any(|h| h.clause && !self.reported(h.word) && self.reading.words.len() > h.after)
        {
            return true;
        }
        self.language == Language::English
            && self.own(Cue::Stop).any(|h| {
                let next = self.word(h.after);
                h.clause
                    && next.ends_with("ing")
                    && !matches!(next, "being" | "anything" | "everything" | "worrying")
            })
    }

    /// "Du darfst die Datei nicht …", "Sie sollen keine …".
    fn modal_before(&self, word: usize) -> bool {
        self.own(Cue::Should).any(|m| {
            let who = self.word(m.word.wrapping_sub(1));
            let you = who.eq_ignore_ascii_case("du") || who == "Sie" || who == "ihr";
            you && m.after <= word && word - m.after <= 8 && !self.border(m.after, word)
        })
    }

    fn dont(&self, hit: &Hit) -> bool {
        if self.reported(hit.word) || self.follows(hit, Cue::Idle) {
            return false;
        }
        if self.language == Language::German
            && (self.imperative_before(hit.word, 10) || self.modal_before(hit.word))
        {
            return true;
        }
        if self.subject_before(hit.word) {
            return false;
        }
        match self.language {
            Language::English => {
                hit.clause
                    && !self.word(hit.after).is_empty()
                    && !self.follows(hit, Cue::Subject)
                    && !self.own(Cue::Question).any(|q| q.word == 0)
            }
            Language::French => {
                let denied = (hit.after..hit.after + 5).any(|i| {
                    matches!(
                        self.word(i),
                        "pas" | "jamais" | "plus" | "rien" | "aucun" | "aucune" | "que"
                    )
                });
                hit.clause
                    && denied
                    && !self.own(Cue::Subject).any(|s| {
                        s.word < hit.word
                            && !self.border(s.after, hit.word.saturating_sub(1))
                            && s.clause
                            && !hit.clause
                    })
            }
            Language::Russian => {
                (hit.clause || self.own(Cue::Filler).any(|f| f.after == hit.word))
                    && self.russian_imperative(hit.after)
            }
            Language::Spanish => {
                hit.after < self.reading.words.len()
                    && !matches!(self.word(hit.word.wrapping_sub(1)), "que" | "si")
            }
            Language::German => {
                let asked = hit.word > 0 && self.word(hit.word - 1).eq_ignore_ascii_case("bitte");
                let order = hit.clause
                    && self.infinitive_last()
                    && self.reading.words.len() <= 14
                    && !self.somebody()
                    && !self.has(Cue::Past);
                (asked || order) && !self.has(Cue::Past) && self.reading.words.len() > hit.after
            }
            _ => false,
        }
    }

    fn must_not(&self, hit: &Hit) -> bool {
        if self.reported(hit.word)
            || self.subject_before(hit.word)
                && !(self.facts.number && self.word(hit.word.wrapping_sub(1)) == "it")
        {
            return false;
        }
        if self.language == Language::English {
            let next = self.word(hit.after);
            if next == "have" {
                return false;
            }
            if next == "be" {
                let then = self.word(hit.after + 1);
                return ["ed", "en", "wn", "nt", "ut"]
                    .iter()
                    .any(|e| then.ends_with(e))
                    || self.facts.number;
            }
        }
        // "Das ist verboten" without saying what is no rule.
        self.reading.words.len() >= 4
    }

    fn standing(&self) -> bool {
        let Some(hit) = self.own(Cue::FromNow).next() else {
            return false;
        };
        if self.reported(hit.word) {
            return false;
        }
        let me = self
            .own(Cue::Subject)
            .any(|s| s.word == hit.after || s.word == 0 && hit.word > 0);
        let order = self.imperative()
            || self.russian()
            || self.has(Cue::You)
            || self.has(Cue::We)
            || self.has(Cue::Answer);
        let rule = self.has(Cue::Never)
            || self.has(Cue::Always)
            || self.has(Cue::Must)
            || self.has(Cue::Only)
            || self.has(Cue::Should);
        order && (!me || self.imperative()) || rule && !me
    }

    fn russian(&self) -> bool {
        self.language == Language::Russian
            && (0..self.reading.words.len()).any(|i| self.russian_imperative(i))
    }

    fn every(&self) -> bool {
        self.own(Cue::Every).any(|h| {
            let later = self
                .own(Cue::Imperative)
                .any(|i| i.clause && i.word != h.word)
                || self.language == Language::Russian
                    && (0..self.reading.words.len())
                        .any(|i| self.reading.words[i].clause && self.russian_imperative(i));
            !self.reported(h.word) && later && (h.clause || self.imperative_before(h.word, 12))
        })
    }

    fn obligation(&self) -> bool {
        if self.own(Cue::Always).any(|h| self.frequency(h)) {
            return true;
        }
        if self.own(Cue::Only).any(|h| self.only(h)) {
            return true;
        }
        let spoken = self.own(Cue::Answer).any(|a| {
            a.clause
                && self
                    .own(Cue::Tongue)
                    .any(|t| t.word >= a.after && t.word - a.after <= 5)
        });
        if spoken && !self.reported(usize::MAX) {
            return true;
        }
        if self
            .own(Cue::Ensure)
            .any(|e| e.clause && self.own(Cue::All).any(|a| a.word >= e.after))
        {
            return true;
        }
        self.language == Language::English && self.own(Cue::Must).any(|h| self.must(h))
    }

    fn only(&self, hit: &Hit) -> bool {
        if self.reported(hit.word) {
            return false;
        }
        let leads =
            hit.clause && self.follows(hit, Cue::Imperative) && !self.subject_before(hit.word);
        leads
            || self.own(Cue::Imperative).any(|i| {
                i.clause
                    && i.after <= hit.word
                    && hit.word - i.after <= 2
                    && !self.border(i.after, hit.word)
            })
    }

    fn must(&self, hit: &Hit) -> bool {
        if self.reported(hit.word) || self.subject_before(hit.word) || hit.word == 0 {
            return false;
        }
        // "something you must see" recommends.
        let you = self.own(Cue::You).find(|y| y.after == hit.word);
        if you.is_some_and(|y| !y.clause) {
            return false;
        }
        let next = self.word(hit.after);
        let then = self.word(hit.after + 1);
        match next {
            "" | "have" | "not" | "never" | "feel" | "know" | "say" | "admit" | "seem"
            | "think" | "understand" | "see" => false,
            "be" => {
                you.is_none()
                    && (self.facts.number
                        || ["ed", "en", "nt", "ut"].iter().any(|e| then.ends_with(e))
                            && then != "been")
            }
            _ => true,
        }
    }

    fn budget(&self, past: bool) -> bool {
        if !(self.facts.number || self.facts.digits) || past || self.reported(usize::MAX) {
            return false;
        }
        if self.has(Cue::Budget) && self.facts.number {
            return true;
        }
        let asked = self.imperative()
            || self.has(Cue::Must)
            || self.has(Cue::Should)
            || self.has(Cue::Spend)
            || self.own(Cue::Dont).any(|d| d.clause);
        // A "to 5 pm" in Russian reads as a cap and as a date.
        let cap = self
            .own(Cue::Cap)
            .any(|h| (asked || h.clause && h.end - h.start > 6) && !self.subject_before(h.word));
        cap && !(self.language == Language::Russian
            && self.own(Cue::Cap).all(|h| h.end - h.start <= 4))
            || self.has(Cue::Under) && (self.imperative_under() || self.has(Cue::Must))
    }

    fn imperative_under(&self) -> bool {
        self.own(Cue::Under)
            .any(|u| self.imperative_before(u.word, 8))
    }

    fn deadline(&self, past: bool) -> bool {
        if past || self.reported(usize::MAX) {
            return false;
        }
        if self.has(Cue::Deadline) && self.facts.due() {
            return true;
        }
        // "I need this by Friday" asks; "I must work until Friday" tells.
        let asks = |h: &Hit| {
            let word = self.word(h.word);
            let before = self.word(h.word.wrapping_sub(1)).to_lowercase();
            let told = [
                "i", "he", "she", "they", "ich", "er", "je", "j'", "il", "elle", "yo", "я", "он",
                "она",
            ]
            .contains(&before.as_str());
            !told
                || ["need", "want", "brauch", "necesit", "besoin"]
                    .iter()
                    .any(|n| word.starts_with(n))
        };
        self.own(Cue::Need).any(asks)
            && self.own(Cue::By).any(|h| {
                self.facts.dates.iter().any(|d| {
                    d.start >= h.end && self.text[h.end..d.start].split_whitespace().count() <= 3
                })
            })
    }
}

fn any(reading: &Reading, language: Language, cue: Cue) -> impl Iterator<Item = &Hit> {
    reading
        .hits
        .iter()
        .filter(move |h| h.cue == cue && h.language == language)
}

fn chinese(r: &Reading, facts: &Facts) -> Option<ConstraintKind> {
    let zh = Language::Chinese;
    let has = |cue| r.has(zh, cue);
    let idle = |h: &Hit| any(r, zh, Cue::Idle).any(|i| i.start <= h.start && h.start < i.end);
    let reported = |h: &Hit| any(r, zh, Cue::Reported).any(|i| i.start < h.start);
    let subject = |h: &Hit| any(r, zh, Cue::Subject).any(|s| s.end == h.start);
    let nobody_else = |h: &Hit| {
        !any(r, zh, Cue::Subject).any(|s| s.clause && s.end <= h.start && h.start - s.end <= 12)
    };
    if has(Cue::Question) {
        return None;
    }
    if has(Cue::Deadline) && facts.due()
        || has(Cue::Need)
            && any(r, zh, Cue::By).any(|b| {
                facts
                    .dates
                    .iter()
                    .any(|d| d.end <= b.start && b.start - d.end <= 6)
            })
    {
        return Some(ConstraintKind::Deadline);
    }
    let asked = has(Cue::Imperative)
        || has(Cue::Must)
        || has(Cue::Need)
        || has(Cue::Dont)
        || has(Cue::MustNot);
    if facts.number && (has(Cue::Budget) || asked && any(r, zh, Cue::Cap).any(|h| !reported(h))) {
        return Some(ConstraintKind::Budget);
    }
    if !has(Cue::OneShot) {
        let forbids = any(r, zh, Cue::MustNot)
            .any(|h| !idle(h) && !subject(h) && !reported(h) && nobody_else(h))
            || any(r, zh, Cue::Dont).any(|h| h.clause && !idle(h) && !reported(h))
            || any(r, zh, Cue::Avoid).any(|h| h.clause && !reported(h));
        if forbids {
            return Some(ConstraintKind::Prohibition);
        }
    }
    let order = has(Cue::Imperative) || has(Cue::You) || has(Cue::Must) || has(Cue::Only);
    let from_now = any(r, zh, Cue::FromNow).any(|h| {
        h.clause
            && order
            && !reported(h)
            && !any(r, zh, Cue::Subject).any(|s| s.start == h.end && !s_is_we(r, s))
    });
    if from_now
        || any(r, zh, Cue::Every).any(|h| {
            h.clause
                && (has(Cue::Imperative) || has(Cue::Must))
                && has(Cue::Need)
                && nobody_else(h)
                && !any(r, zh, Cue::Subject).any(|s| s.start == h.end)
        })
    {
        return Some(ConstraintKind::Standing);
    }
    if has(Cue::OneShot) {
        return None;
    }
    let polite = any(r, zh, Cue::Filler).any(|f| f.clause) || has(Cue::You);
    let binds = any(r, zh, Cue::Must)
        .any(|h| !subject(h) && !reported(h) && nobody_else(h) && !idle(h))
        || any(r, zh, Cue::Only).any(|h| h.clause && !reported(h))
        || any(r, zh, Cue::Always)
            .any(|h| (h.clause && polite) && !subject(h) && !idle(h) && !reported(h));
    if binds {
        return Some(ConstraintKind::Obligation);
    }
    if any(r, zh, Cue::Imperative).any(|h| h.clause && !reported(h))
        && has(Cue::Tongue)
        && has(Cue::Answer)
    {
        return Some(ConstraintKind::Obligation);
    }
    (has(Cue::Permission) && has(Cue::Change) && has(Cue::You))
        .then_some(ConstraintKind::Permission)
}

/// 我们 begins with 我: the longer one counts.
fn s_is_we(r: &Reading, subject: &Hit) -> bool {
    any(r, Language::Chinese, Cue::Subject).any(|h| h.start == subject.start && h.end > subject.end)
}

fn japanese(sentence: &str, r: &Reading, facts: &Facts) -> Option<ConstraintKind> {
    let ja = Language::Japanese;
    let has = |cue| r.has(ja, cue);
    let last = r
        .hits
        .iter()
        .filter(|h| h.language == ja)
        .map(|h| h.end)
        .max()
        .unwrap_or(0);
    let body = sentence.trim_end_matches(['。', '！', '!', '.', ' ']);
    let past = ["ました", "でした", "だった", "なかった", "していた", "った"]
        .iter()
        .any(|p| body.ends_with(p));
    if has(Cue::Question) || past || has(Cue::Reported) || has(Cue::Idle) || last == 0 {
        return None;
    }
    if has(Cue::Deadline) && facts.due()
        || has(Cue::Need)
            && any(r, ja, Cue::By).any(|b| {
                facts
                    .dates
                    .iter()
                    .any(|d| d.end <= b.start && b.start - d.end <= 15)
            })
    {
        return Some(ConstraintKind::Deadline);
    }
    let asked = has(Cue::Imperative);
    if facts.number && (has(Cue::Budget) || has(Cue::Cap) && asked) {
        return Some(ConstraintKind::Budget);
    }
    let other = has(Cue::Subject);
    if has(Cue::MustNot) && !has(Cue::OneShot) && !other || has(Cue::Avoid) && asked && !other {
        return Some(ConstraintKind::Prohibition);
    }
    if asked && !other && (has(Cue::FromNow) || has(Cue::Every)) {
        return Some(ConstraintKind::Standing);
    }
    if asked
        && !other
        && !has(Cue::OneShot)
        && (has(Cue::Must)
            || has(Cue::Always)
            || has(Cue::Only)
            || has(Cue::Answer) && has(Cue::Tongue))
    {
        return Some(ConstraintKind::Obligation);
    }
    (has(Cue::Permission) && has(Cue::Change)).then_some(ConstraintKind::Permission)
}

/// Whether the newer rule replaces the older one: the same topic with the opposite demand or another value.
/// Two rules that can both be kept never replace each other.
pub fn supersedes(new: &str, old: &str) -> bool {
    let (a, b) = (Rule::of(new), Rule::of(old));
    if a.topic.is_empty() && a.slots.is_empty() && a.values.is_empty() {
        return false;
    }
    if a.text == b.text {
        return true;
    }
    let same_kind = match (a.kind, b.kind) {
        (Some(x), Some(y)) => {
            x == y && matches!(x, ConstraintKind::Budget | ConstraintKind::Deadline)
        }
        _ => false,
    };
    let shared = a.topic.iter().filter(|t| b.topic.contains(t)).count();
    let least = a.topic.len().min(b.topic.len());
    let near = least > 0 && shared * 2 >= least && shared >= 1;
    if same_kind {
        // Two budgets of different things stand side by side: "flights 300 €", "hotel 500 €".
        let other_things = shared == 0 && !a.topic.is_empty() && !b.topic.is_empty();
        return (a.values != b.values || a.slots != b.slots) && !other_things;
    }
    // "Forget the rule about emojis", "you can use digits again": what both speak of holds no more.
    if a.lifts && !b.lifts {
        let chosen = |x: &Slot| b.slots.iter().any(|y| x.of == y.of && x.choice == y.choice);
        let valued = |v: &u64| b.values.contains(v);
        let holds = if new.contains(unspaced) {
            shares_run(new, old)
        } else {
            shared > 0
        };
        if holds || a.slots.iter().any(chosen) || a.values.iter().any(valued) {
            return true;
        }
    }
    // The same slot filled otherwise: German → English, tabs → spaces, npm → pnpm.
    let about_the_same = near || shared > 0 || a.topic.is_empty() || b.topic.is_empty();
    let clash = a.slots.iter().any(|x| {
        b.slots.iter().any(|y| {
            // Two choices exclude each other; so do a choice and its own denial.
            x.of == y.of
                && !(x.denied && y.denied)
                && ((x.denied == y.denied) != (x.choice == y.choice))
        })
    });
    if clash && about_the_same {
        return true;
    }
    if !near {
        return false;
    }
    if a.denies != b.denies {
        // "Never push to main" and "You may push to main now".
        return shared * 3 >= a.topic.len().max(b.topic.len()).min(6) * 2 || shared == least;
    }
    !a.values.is_empty() && !b.values.is_empty() && a.values != b.values && shared * 3 >= least * 2
}

/// Whether both hold the same content word, in a script without spaces: two characters in Japanese, where grammar has an
/// alphabet of its own, three in Chinese.
fn shares_run(new: &str, old: &str) -> bool {
    let hiragana = |c: char| ('ぁ'..='ゟ').contains(&c);
    let size = if new.contains(hiragana) { 2 } else { 3 };
    let content: Vec<char> = new.chars().collect();
    content.windows(size).any(|run| {
        let run_of_content = run.iter().all(|c| unspaced(*c) && !hiragana(*c));
        run_of_content && old.contains(run.iter().collect::<String>().as_str())
    })
}

/// A choice that a rule makes or forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    of: usize,
    choice: usize,
    denied: bool,
}

struct Rule {
    text: String,
    topic: Vec<u64>,
    values: Vec<u64>,
    slots: Vec<Slot>,
    denies: bool,
    /// It ends an earlier rule.
    lifts: bool,
    kind: Option<ConstraintKind>,
}

/// Choices that exclude each other, by slot.
const SLOTS: [&[&str]; 14] = [
    &[
        "english englisch inglés anglais английском по-английски 英语 英文 英語",
        "german deutsch alemán allemand немецком по-немецки 德语 ドイツ語",
        "french französisch francés français французском по-французски 法语 フランス語",
        "spanish spanisch español espagnol испанском по-испански 西班牙语 スペイン語",
        "russian russisch ruso russe русском по-русски 俄语 ロシア語",
        "chinese chinesisch chino chinois китайском 中文 汉语 中国語",
        "japanese japanisch japonés japonais японском 日语 日文 日本語",
        "italian italienisch italiano italien",
        "portuguese portugiesisch portugués portugais",
        "dutch polish korean turkish arabic",
    ],
    &[
        "tabs tab tabulator tabulatoren",
        "spaces space leerzeichen espacios espaces пробелы 空格 スペース",
    ],
    &["json", "yaml", "xml", "csv", "markdown", "toml"],
    &["npm", "yarn", "pnpm", "bun"],
    &["metric metrisch", "imperial"],
    &[
        "formal siezen sie usted vous 敬语 敬語",
        "informal duzen du tú",
    ],
    &["british", "american"],
    &["light hell", "dark dunkel"],
    &[
        "short brief concise kurz corto court короткие 简短",
        "long detailed ausführlich largo détaillé подробные 详细",
    ],
    &["celsius", "fahrenheit"],
    &["single", "double"],
    &[
        "python",
        "javascript",
        "typescript",
        "rust",
        "java",
        "golang",
    ],
    &["mysql", "postgres postgresql", "sqlite", "mongodb"],
    &[
        "monday montag lunes lundi",
        "tuesday dienstag martes mardi",
        "wednesday mittwoch",
        "thursday donnerstag jueves jeudi",
        "friday freitag viernes vendredi",
        "saturday samstag",
        "sunday sonntag",
    ],
];

impl Rule {
    fn of(text: &str) -> Self {
        let mut judge = Judge::new(text);
        let units = prose(text);
        let lifts_rule = units.iter().any(|u| judge.lifts(text, u));
        let kind = units
            .iter()
            .find_map(|u| judge.judge(text, u))
            .map(|k| k.kind);
        let mut reading = Reading::default();
        reading.read(text, 0, text.len());
        let lifts = reading.hits.iter().any(|h| h.cue == Cue::Permission)
            && !reading.hits.iter().any(|h| h.cue == Cue::MustNot);
        let cue_denies = reading.hits.iter().any(|h| {
            matches!(
                h.cue,
                Cue::Never | Cue::Dont | Cue::MustNot | Cue::Avoid | Cue::Stop
            )
        });
        let denies = match kind {
            Some(ConstraintKind::Prohibition) => true,
            Some(ConstraintKind::Permission) => false,
            _ => cue_denies && !lifts,
        };
        // "use tabs, not spaces": what stands after the denial is the opposite choice and names no value.
        let (mut values, mut slots, mut topic) = (Vec::new(), Vec::new(), Vec::new());
        let lower = {
            let mut out = String::with_capacity(text.len());
            text.chars().for_each(|c| fold(c, &mut out));
            out
        };
        let mut chosen: Vec<String> = Vec::new();
        for (slot, choices) in SLOTS.iter().enumerate() {
            for (choice, words) in choices.iter().enumerate() {
                for word in words.split(' ') {
                    let mut folded = String::new();
                    word.chars().for_each(|c| fold(c, &mut folded));
                    let Some(at) = find_word(&lower, &folded) else {
                        continue;
                    };
                    let found = Slot {
                        of: slot,
                        choice,
                        denied: denied_before(&lower[..at]),
                    };
                    if !slots.contains(&found) {
                        slots.push(found);
                    }
                    chosen.push(folded);
                }
            }
        }
        let mut skip = Vec::new();
        for word in &chosen {
            each_term(word, |t| skip.push(t.hash));
        }
        let cue_spans: Vec<(usize, usize)> = reading
            .hits
            .iter()
            .filter(|h| h.cue != Cue::Imperative && h.cue != Cue::Answer && h.cue != Cue::Need)
            .map(|h| (h.start, h.end))
            .collect();
        let mut scanner = Scanner::default();
        let mut found = Vec::new();
        for unit in &units {
            scanner.scan(text, unit, false, &mut found);
        }
        for fact in found
            .iter()
            .filter(|f| matches!(f.class, FactClass::Number | FactClass::Date))
        {
            let mut folded = String::new();
            text[fact.start..fact.end]
                .chars()
                .filter(|c| !c.is_whitespace())
                .for_each(|c| fold(c, &mut folded));
            values.push(hash(folded.as_bytes()));
        }
        values.sort_unstable();
        let outside = |start: usize, end: usize| {
            !cue_spans.iter().any(|s| s.0 <= start && end <= s.1)
                && !found.iter().any(|f| {
                    matches!(f.class, FactClass::Number | FactClass::Date)
                        && f.start <= start
                        && end <= f.end
                })
        };
        let words = content_words(text);
        for (start, end) in words {
            if !outside(start, end) {
                continue;
            }
            each_term(&text[start..end], |t| {
                if t.kind != TermKind::Number
                    && small_word(t.hash) == 0
                    && !skip.contains(&t.hash)
                    && !topic.contains(&t.hash)
                {
                    topic.push(t.hash);
                }
            });
        }
        Self {
            text: lower.split_whitespace().collect::<Vec<_>>().join(" "),
            lifts: lifts_rule,
            topic,
            values,
            slots,
            denies,
            kind,
        }
    }
}

/// Words that carry the topic, as byte ranges: not small words, not the frame of a rule.
fn content_words(text: &str) -> Vec<(usize, usize)> {
    #[rustfmt::skip]
    const FRAME: [&str; 50] = [
        "please", "now", "actually", "instead", "really", "okay", "make", "sure", "keep", "use",
        "used", "using", "want", "need", "may", "can", "allowed", "rule", "changed", "change",
        "mind", "moved", "new", "still", "total", "whole", "bitte", "jetzt", "doch", "verwende",
        "nutze", "benutze", "ahora", "usa", "maintenant", "utilise", "теперь", "используй",
        "пожалуйста", "over", "per", "any", "again", "after", "under", "max", "maximum", "most",
        "more", "than",
    ];
    let mut out = Vec::new();
    let mut start = None;
    let mut folded = String::new();
    let mut close = |start: &mut Option<usize>, end: usize, folded: &mut String| {
        if let Some(s) = start.take()
            && small_word(hash(folded.as_bytes())) == 0
            && !FRAME.contains(&folded.as_str())
        {
            out.push((s, end));
        }
        folded.clear();
    };
    for (i, c) in text.char_indices() {
        if c.is_alphanumeric()
            || matches!(c, '_' | '\'' | '’')
            || crate::words::script::combining(c)
        {
            start.get_or_insert(i);
            fold(if c == '’' { '\'' } else { c }, &mut folded);
        } else {
            close(&mut start, i, &mut folded);
        }
    }
    close(&mut start, text.len(), &mut folded);
    out
}

fn find_word(text: &str, word: &str) -> Option<usize> {
    let wide = word.chars().any(unspaced);
    let mut from = 0;
    while let Some(at) = text[from..].find(word).map(|p| p + from) {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        if wide
            || !before.is_some_and(char::is_alphanumeric)
                && !after.is_some_and(char::is_alphanumeric)
        {
            return Some(at);
        }
        from = at + word.len().max(1);
        if from >= text.len() {
            break;
        }
    }
    None
}

/// Whether the clause denies before it comes to the word: "never spaces", "instead of npm".
fn denied_before(before: &str) -> bool {
    #[rustfmt::skip]
    const DENIALS: [&str; 26] = [
        "not", "never", "don't", "no", "instead", "rather", "without", "stop", "avoid", "nie",
        "niemals", "nicht", "kein", "keine", "keinen", "statt", "nunca", "jamas", "evita", "jamais",
        "pas", "lieu", "ne", "не", "никогда", "вместо",
    ];
    let clause = before
        .rsplit([',', ';', '.', ':', '，', '。', '；', '、'])
        .next()
        .unwrap_or(before);
    let words = clause.rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’')));
    let near: Vec<&str> = words.filter(|w| !w.is_empty()).take(4).collect();
    near.iter().any(|w| DENIALS.contains(w))
        || ["不要", "别", "不用", "而不是", "禁止", "ではなく"]
            .iter()
            .any(|d| clause.contains(d))
}
