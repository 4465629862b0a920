//! Applies the rules of a language to the cues of a sentence.
//!
//! The rules are data ([`crate::languages::rules`]). This module implements their conditions and tests once for all
//! languages.

use super::scan::Found;
use crate::languages::cue::Cue;
use crate::languages::rules::{ConstraintKind, Forms, Grammar, Row, Rule, SHARED, Test, When};
use crate::languages::{List, each};
use crate::words::Language;
use crate::words::cues::{Hit, Reading};
use crate::words::script::fold;

/// Bytes between the subject of a clause and what it does, in a script without spaces.
const SUBJECT_REACH: usize = 12;

static TELLERS: List = List::words(each!(|t| match t.grammar {
    Some(Grammar::Spaced(forms)) => forms.tellers,
    _ => "",
}));

static NEEDS: List = List::words(each!(|t| match t.grammar {
    Some(Grammar::Spaced(forms)) => forms.needs,
    _ => "",
}));

/// Numbers and dates of a sentence.
pub(super) struct Figures {
    /// The sentence names a number with its unit, or a large one.
    pub number: bool,
    /// The sentence names a number that is not part of something else.
    pub digits: bool,
    /// Its dates, in order.
    pub dates: Vec<Found>,
}

/// A sentence that is read in one language.
pub(super) struct Sentence<'a> {
    /// The text that contains it.
    pub text: &'a str,
    /// The sentence itself.
    pub body: &'a str,
    /// Its cues.
    pub reading: &'a Reading,
    /// The language in which it is read.
    pub language: Language,
    /// Its numbers and dates.
    pub figures: &'a Figures,
}

/// The empty forms of the languages without spaces.
static NO_FORMS: Forms = Forms::NONE;

impl Sentence<'_> {
    /// The kind of demand that the sentence makes. `None` if it makes none or the language has no rules.
    pub(super) fn kind(&self) -> Option<ConstraintKind> {
        let rules: &[Rule] = match self.language.tables().grammar? {
            Grammar::Spaced(_) => SHARED,
            Grammar::Unspaced(rules) => rules,
        };
        let rule = rules.iter().find(|rule| self.all(rule.when))?;
        rule.kind
    }

    fn forms(&self) -> &'static Forms {
        match self.language.tables().grammar {
            Some(Grammar::Spaced(forms)) => forms,
            _ => &NO_FORMS,
        }
    }

    fn all(&self, conditions: &[When]) -> bool {
        conditions.iter().all(|when| self.holds(when))
    }

    fn holds(&self, when: &When) -> bool {
        match *when {
            When::Has(cue) => self.own(cue).next().is_some(),
            When::Lacks(cue) => self.own(cue).next().is_none(),
            When::Phrase(cue, tests) => self.own(cue).any(|hit| self.passes_all(hit, tests)),
            When::FirstPhrase(cue, tests) => {
                let first = self.own(cue).next();
                first.is_some_and(|hit| self.passes_all(hit, tests))
            }
            When::NoPhrase(cue, tests) => !self.own(cue).any(|hit| self.passes_all(hit, tests)),
            When::Either(lists) => lists.iter().any(|list| self.all(list)),
            When::Number => self.figures.number,
            When::Digits => self.figures.number || self.figures.digits,
            When::Due => self.figures.number || !self.figures.dates.is_empty(),
            When::Ends(endings) => {
                let body = self.body.trim_end_matches(['。', '！', '!', '.', ' ']);
                endings.split('|').any(|ending| body.ends_with(ending))
            }
            When::HasOrderForm => {
                !self.forms().order_endings.is_empty()
                    && (0..self.reading.words.len()).any(|word| self.is_order(word))
            }
            When::EndsInInfinitive => {
                let last = self.word(self.reading.words.len().saturating_sub(1));
                ends_in(last, self.forms().infinitives) && last.starts_with(char::is_lowercase)
            }
            When::IsImpersonal => {
                let is_person = |hit: &Hit| {
                    let word = self.word(hit.word);
                    let mut persons = self.forms().persons.split(' ');
                    persons.any(|person| word.eq_ignore_ascii_case(person))
                };
                self.own(Cue::We).next().is_none() && !self.own(Cue::Subject).any(is_person)
            }
            When::MostWords(most) => self.reading.words.len() <= most,
            When::LeastWords(least) => self.reading.words.len() >= least,
            When::Forbids => self.any_row(self.forms().forbids),
            When::Binds => self.any_row(self.forms().binds),
        }
    }

    fn any_row(&self, rows: &[Row]) -> bool {
        let passes = |(cue, tests): &Row| self.own(*cue).any(|hit| self.passes_all(hit, tests));
        rows.iter().any(passes)
    }

    fn passes_all(&self, hit: &Hit, tests: &[Test]) -> bool {
        tests.iter().all(|test| self.passes(hit, test))
    }

    fn passes(&self, hit: &Hit, test: &Test) -> bool {
        match *test {
            Test::Is(cue) => hit.cue == cue,
            Test::OpensClause => hit.clause,
            Test::First => hit.word == 0,
            Test::NotFirst => hit.word > 0,
            Test::Sentence(when) => self.holds(when),
            Test::Either(lists) => lists.iter().any(|list| self.passes_all(hit, list)),
            Test::Frequency => {
                let mut rows = self.forms().frequency.iter();
                rows.any(|row| self.passes_all(hit, row))
            }
            Test::LongerThan(bytes) => hit.end - hit.start > bytes,
            Test::IsLongCap => hit.end - hit.start > self.forms().short_caps,
            Test::DateFollows(words) => self.figures.dates.iter().any(|date| {
                let between = |from: usize| self.text[from..date.start].split_whitespace().count();
                date.start >= hit.end && between(hit.end) <= words
            }),
            Test::DatePrecedes(bytes) => {
                let mut dates = self.figures.dates.iter();
                dates.any(|date| date.end <= hit.start && hit.start - date.end <= bytes)
            }
            _ => self.passes_words(hit, test),
        }
    }

    /// Applies the tests of the words around a phrase.
    fn passes_words(&self, hit: &Hit, test: &Test) -> bool {
        let next = || self.word(hit.after);
        let second = || self.word(hit.after + 1);
        let last = || self.word(hit.word.wrapping_sub(1));
        match *test {
            Test::HasNext => hit.after < self.reading.words.len(),
            Test::NextIs(words) => listed(next(), words),
            Test::NextIsNot(words) => !listed(next(), words),
            Test::NextEnds(endings) => ends_in(next(), endings),
            Test::NextLongerThan(bytes) => next().len() > bytes,
            Test::SecondEnds(endings) => ends_in(second(), endings),
            Test::SecondIsNot(words) => !listed(second(), words),
            Test::Within(count, words) => {
                (hit.after..hit.after + count).any(|word| listed(self.word(word), words))
            }
            Test::LastIs(words) => listed(last(), words),
            Test::LastIsFolded(words) => words.split(' ').any(|w| last().eq_ignore_ascii_case(w)),
            Test::LastIsNot(words) => !listed(last(), words),
            Test::NextIsOrder => self.is_order(hit.after),
            Test::SecondIsOrder => self.is_order(hit.after + 1),
            Test::NextIsForbidden => self.is_forbidden(hit.after),
            _ => self.passes_phrases(hit, test),
        }
    }

    /// Applies the tests of the phrases around a phrase.
    fn passes_phrases(&self, hit: &Hit, test: &Test) -> bool {
        match *test {
            Test::NotReported => {
                // "Do not enter, said the sign" is a report, too.
                !self
                    .own(Cue::Reported)
                    .any(|h| h.word < hit.word || h.clause)
            }
            Test::NoSubject => !self.has_subject_before(hit.word),
            Test::NotMine => !self
                .own(Cue::Subject)
                .any(|s| s.word == hit.after || s.word == 0 && hit.word > 0),
            Test::NoStory => !self.tells(hit),
            Test::Demanded => self.is_demanded(hit.word),
            Test::AfterOrder(reach) => {
                self.is_after_order(hit.word, reach, hit.word.saturating_sub(1))
            }
            Test::InOrder(reach) => self.is_after_order(hit.word, reach, hit.word),
            Test::OrderElsewhere => {
                let mut orders = self.own(Cue::Imperative);
                orders.any(|order| order.clause && order.word != hit.word)
                    || !self.forms().order_endings.is_empty()
                        && (0..self.reading.words.len())
                            .any(|i| self.reading.words[i].clause && self.is_order(i))
            }
            Test::AfterAddress => self.own(Cue::Should).any(|modal| {
                listed(
                    self.word(modal.word.wrapping_sub(1)),
                    self.forms().addressed,
                ) && modal.after <= hit.word
                    && hit.word - modal.after <= 8
                    && !self.has_border(modal.after, hit.word)
            }),
            Test::Then(cue) => self.own(cue).any(|h| h.word == hit.after),
            Test::NotThen(cue) => !self.own(cue).any(|h| h.word == hit.after),
            Test::After(cue) => self.own(cue).any(|h| h.after == hit.word),
            Test::NotAfter(cue) => !self.own(cue).any(|h| h.after == hit.word),
            Test::NotInnerAfter(cue) => {
                let before = self.own(cue).find(|h| h.after == hit.word);
                before.is_none_or(|h| h.clause)
            }
            Test::Before(cue) => self.own(cue).any(|h| h.word >= hit.after),
            Test::BeforeNear(cue, reach) => self
                .own(cue)
                .any(|h| h.word >= hit.after && h.word - hit.after <= reach),
            Test::Asks => {
                let word = self.word(hit.word);
                let before = self.word(hit.word.wrapping_sub(1)).to_lowercase();
                !TELLERS.has(&before) || NEEDS.all().iter().any(|n| word.starts_with(n))
            }
            _ => self.passes_unspaced(hit, test),
        }
    }

    /// Applies the tests of scripts without spaces, where a phrase has a place in bytes and no words around it.
    fn passes_unspaced(&self, hit: &Hit, test: &Test) -> bool {
        match *test {
            Test::NotIdle => !self
                .own(Cue::Idle)
                .any(|idle| idle.start <= hit.start && hit.start < idle.end),
            Test::NoReportBefore => !self.own(Cue::Reported).any(|h| h.start < hit.start),
            Test::NoSubjectBefore => !self.own(Cue::Subject).any(|s| s.end == hit.start),
            Test::NoSubjectAfter => !self.own(Cue::Subject).any(|s| s.start == hit.end),
            Test::NobodyElse => !self
                .own(Cue::Subject)
                .any(|s| s.clause && s.end <= hit.start && hit.start - s.end <= SUBJECT_REACH),
            _ => false,
        }
    }

    fn own(&self, cue: Cue) -> impl Iterator<Item = &Hit> {
        let hits = self.reading.hits.iter();
        hits.filter(move |hit| hit.cue == cue && hit.language == self.language)
    }

    fn word(&self, at: usize) -> &str {
        let word = self.reading.words.get(at);
        word.map_or("", |w| &self.text[w.start..w.end])
    }

    /// Returns `true` if another person acts: a subject stands directly before, or as far away as the language allows.
    fn has_subject_before(&self, word: usize) -> bool {
        let gap = self.forms().subject_gap;
        self.own(Cue::Subject)
            .any(|s| s.after <= word && word - s.after <= gap && !self.has_border(s.after, word))
    }

    /// Returns `true` if a clause begins at a word from `from` to `to`, both included.
    fn has_border(&self, from: usize, to: usize) -> bool {
        let to = to.min(self.reading.words.len().saturating_sub(1));
        let words = self.reading.words.get(from..=to);
        words.is_some_and(|words| words.iter().any(|word| word.clause))
    }

    /// Returns `true` if an order opens a clause at most `reach` words before `word`, and no other clause begins up to
    /// the word `to`.
    fn is_after_order(&self, word: usize, reach: usize, to: usize) -> bool {
        self.own(Cue::Imperative).any(|order| {
            order.clause
                && order.after <= word
                && word - order.after <= reach
                && !self.has_border(order.after, to)
        })
    }

    /// Returns `true` if "should" or "make sure you" stands up to four words before, addressed to the reader or about a
    /// thing.
    fn is_demanded(&self, word: usize) -> bool {
        let near = |h: &Hit| h.after <= word && word - h.after <= 4;
        self.own(Cue::Wish).any(near)
            || self.own(Cue::Should).any(|h| {
                near(h)
                    && !self.has_border(h.after, word)
                    && !self.has_subject_before(h.word)
                    && !self.own(Cue::We).any(|w| w.after == h.word)
            })
    }

    /// Returns `true` if "never" or "always" tells a story.
    fn tells(&self, hit: &Hit) -> bool {
        let next = self.word(hit.after);
        self.own(Cue::Story).any(|h| h.word == hit.after)
            || next.is_empty()
            || self
                .forms()
                .story_endings
                .iter()
                .any(|(ending, least)| next.ends_with(ending) && next.len() >= *least)
    }

    /// Returns `true` if the word has the form of an order.
    fn is_order(&self, word: usize) -> bool {
        ends_in(self.word(word), self.forms().order_endings)
            || self.own(Cue::Imperative).any(|h| h.word == word)
    }

    /// Returns `true` if a verb begins at `word`, perhaps after a pronoun, that the language lists with its denial: "no
    /// uses".
    fn is_forbidden(&self, mut word: usize) -> bool {
        word += usize::from(listed(self.word(word), self.forms().object_pronouns));
        let verb = self.word(word);
        if verb.is_empty() {
            return false;
        }
        let mut probe = format!("{} ", self.forms().denial);
        verb.chars().for_each(|c| fold(c, &mut probe));
        let mut reading = Reading::default();
        reading.read(&probe, 0, probe.len());
        reading.has(self.language, Cue::Dont)
    }
}

/// Returns `true` if `word` is one of `words`, which spaces separate.
fn listed(word: &str, words: &str) -> bool {
    !word.is_empty() && words.split(' ').any(|w| w == word)
}

/// Returns `true` if `word` ends in one of `endings`, which spaces separate.
fn ends_in(word: &str, endings: &str) -> bool {
    endings
        .split(' ')
        .any(|ending| !ending.is_empty() && word.ends_with(ending))
}
