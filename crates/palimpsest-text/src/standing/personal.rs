//! The user's habits and bounds in the first person, and requests in the form of a question.
//!
//! "I never fly.", "I'm allergic to nuts." and "We don't use tabs here." order nothing, but whoever forgets them does what
//! the user cannot use. "Could you always answer in short sentences?" is an order that looks like a question. The words
//! are data ([`crate::languages::tables::Personal`]); the conditions here are the same for all languages.

use std::sync::OnceLock;

use super::Level;
use crate::languages::COUNT;
use crate::languages::tables::Personal;
use crate::words::Language;
use crate::words::cues::{Word, words_of};

/// A shorter request asks for something once, in words.
const REQUEST: usize = 3;
/// Words of a clause that are searched for a condition, and for a word of the moment.
const REACH: usize = 6;
/// A longer clause tells more than a bound, in words.
const SHORT: usize = 14;
/// A longer clause in a script without spaces, in characters.
const SHORT_UNSPACED: usize = 24;

/// The words of one language, as hashes.
struct Lists {
    leads: Phrases,
    subjects: Phrases,
    states: Phrases,
    between: Phrases,
    strict: Phrases,
    loose: Phrases,
    denials: Phrases,
    firm: Phrases,
    passing: Phrases,
    tastes: Phrases,
    conditions: Phrases,
    moment: Phrases,
    done: Phrases,
    requests: Phrases,
    lasting: Phrases,
}

impl Lists {
    fn of(table: &Personal) -> Self {
        Self {
            leads: Phrases::of(table.leads),
            subjects: Phrases::of(table.subjects),
            states: Phrases::of(table.states),
            between: Phrases::of(table.between),
            strict: Phrases::of(table.strict),
            loose: Phrases::of(table.loose),
            denials: Phrases::of(table.denials),
            firm: Phrases::of(table.firm),
            passing: Phrases::of(table.passing),
            tastes: Phrases::of(table.tastes),
            conditions: Phrases::of(table.conditions),
            moment: Phrases::of(table.moment),
            done: Phrases::of(table.done),
            requests: Phrases::of(table.requests),
            lasting: Phrases::of(table.lasting),
        }
    }
}

static LISTS: [OnceLock<Lists>; COUNT] = [const { OnceLock::new() }; COUNT];

fn lists(language: Language) -> &'static Lists {
    LISTS[language as usize].get_or_init(|| Lists::of(language.tables().personal))
}

/// Phrases as the hashes of their words.
struct Phrases(Vec<Vec<u64>>);

impl Phrases {
    fn of(list: &str) -> Self {
        let mut words = Vec::new();
        let phrases = list.split('|').map(|phrase| {
            words.clear();
            words_of(phrase, 0, phrase.len(), &mut words);
            words.iter().map(|w: &Word| w.hash).collect()
        });
        Self(phrases.filter(|p: &Vec<u64>| !p.is_empty()).collect())
    }

    /// The number of words of the longest phrase with which `words` begin; zero if there is none.
    fn begin(&self, words: &[Word]) -> usize {
        let begins = |phrase: &&Vec<u64>| {
            words.len() >= phrase.len() && phrase.iter().zip(words).all(|(h, w)| *h == w.hash)
        };
        self.0
            .iter()
            .filter(begins)
            .map(Vec::len)
            .max()
            .unwrap_or(0)
    }

    fn within(&self, words: &[Word]) -> bool {
        (0..words.len()).any(|at| self.begin(&words[at..]) > 0)
    }
}

/// How certain it is that a sentence tells a habit or a bound of the user. `words` are those of `text`.
pub(crate) fn bound(
    text: &str,
    (start, end): (usize, usize),
    words: &[Word],
    language: Language,
) -> Option<Level> {
    let table = language.tables().personal;
    if table.subjects.is_empty() {
        return None;
    }
    if language.tables().script.is_unspaced() {
        let sentence = text[start..end].trim_end_matches(|c: char| "。！!.".contains(c));
        return unspaced(sentence, language);
    }
    let lists = lists(language);
    let begins = (0..words.len()).filter(|at| words[*at].clause);
    let found = begins.filter_map(|at| {
        let rest = &words[at + 1..];
        let next = rest.iter().position(|w| w.clause);
        let clause = &words[at..next.map_or(words.len(), |next| at + 1 + next)];
        let level = clause_bound(text, clause, lists, table)?;
        // In a later clause it may be the reason of an order, or part of a story.
        let is_first = leading(words, lists) >= at;
        Some(if is_first { level } else { Level::Likely })
    });
    found.max()
}

/// The number of words before the subject.
fn leading(words: &[Word], lists: &Lists) -> usize {
    let mut at = 0;
    loop {
        match lists.leads.begin(&words[at..]) {
            0 => return at,
            lead => at += lead,
        }
    }
}

/// Whether a sentence reports something done, word by word: "Booked: confirmation 22814, breakfast not included."
pub(crate) fn reports(text: &str, start: usize, words: &[Word], language: Language) -> bool {
    if language.tables().script.is_unspaced() {
        return after(&text[start..], language.tables().personal.done).is_some();
    }
    let done = lists(language).done.begin(words);
    done > 0 && words.get(done).is_some_and(|next| next.clause)
}

fn clause_bound(text: &str, clause: &[Word], lists: &Lists, table: &Personal) -> Option<Level> {
    let clause = &clause[leading(clause, lists)..];
    let head = &clause[..clause.len().min(REACH + 2)];
    if lists.moment.within(head) {
        return None;
    }
    let short = if clause.len() <= SHORT {
        Level::Sure
    } else {
        Level::Likely
    };
    let state = lists.states.begin(clause);
    let subject = lists.subjects.begin(clause).max(state);
    let rest = &clause[subject..];
    if subject > 0 && lists.conditions.within(&rest[..rest.len().min(REACH)]) {
        return Some(short);
    }
    let mut verb = 0;
    while verb < rest.len() {
        let taste = lists.tastes.begin(&rest[verb..]);
        if subject > 0 && taste > 0 {
            return Some(Level::Likely);
        }
        let steps = [&lists.between, &lists.strict, &lists.loose, &lists.denials];
        let steps = steps.map(|list| list.begin(&rest[verb..]));
        match steps.into_iter().max() {
            Some(step) if step > 0 => verb += step,
            _ => break,
        }
    }
    let word = rest.get(verb)?;
    let word = text[word.start..word.end].to_lowercase();
    let ends = |endings: &str| {
        endings
            .split_whitespace()
            .any(|ending| word.ends_with(ending))
    };
    let tells = lists.passing.begin(&rest[verb..]) > 0 || ends(table.past_endings);
    let is_own = subject > 0 || verb > 0 && ends(table.own_endings);
    if tells || !is_own || subject > 0 && state == subject {
        return None;
    }
    let near = &rest[..rest.len().min(verb + 1 + table.denial_reach)];
    let is_firm = lists.firm.begin(&rest[verb..]) > 0;
    if lists.strict.within(near) || is_firm && lists.denials.within(near) {
        Some(short)
    } else {
        lists.loose.within(near).then_some(Level::Likely)
    }
}

/// The same for a sentence in a script without spaces.
fn unspaced(sentence: &str, language: Language) -> Option<Level> {
    let tables = language.tables();
    let table = tables.personal;
    if tables.standing.is_verb_last {
        return verb_last(sentence, table);
    }
    let mut found = None;
    for (n, clause) in sentence.split(['，', ',', '；', '。']).enumerate() {
        let mut clause = clause.trim();
        while let Some(rest) = after(clause, table.leads) {
            clause = rest;
        }
        let Some(mut rest) = after(clause, table.subjects) else {
            continue;
        };
        if holds(rest, table.moment) {
            continue;
        }
        if holds(rest, table.conditions) && rest.chars().count() <= SHORT_UNSPACED {
            // "我表哥对…过敏" is said of somebody else.
            let is_own = after(clause, table.states).is_some();
            found = found.max(Some(if is_own { Level::Sure } else { Level::Likely }));
            continue;
        }
        while let Some(next) = after(rest, table.between) {
            rest = next;
        }
        let verb = |rest: &str| after(rest, table.passing).is_none();
        let denied = after(rest, table.denials);
        let is_firm = denied.is_some_and(|rest| after(rest, table.firm).is_some());
        let level = if is_firm || after(rest, table.strict).is_some_and(verb) {
            Some(Level::Sure)
        } else if after(rest, table.tastes).is_some() || after(rest, table.loose).is_some_and(verb)
        {
            Some(Level::Likely)
        } else {
            None
        };
        let level = level.map(|level| if n == 0 { level } else { Level::Likely });
        found = found.max(level);
    }
    found
}

fn verb_last(sentence: &str, table: &Personal) -> Option<Level> {
    let mut rest = sentence.trim();
    while let Some(next) = after(rest, table.leads) {
        rest = next;
    }
    let subject = after(rest, table.subjects);
    if holds(rest, table.passing) || holds(rest, table.moment) {
        return None;
    }
    let is_short = rest.chars().count() <= SHORT_UNSPACED;
    let ends = |list: &str| {
        list.split('|')
            .any(|end| !end.is_empty() && rest.ends_with(end))
    };
    let is_strict = holds(rest, table.strict) && ends(table.denials);
    if holds(rest, table.conditions) {
        (is_short && (subject.is_some() || ends("です"))).then_some(Level::Sure)
    } else if ends(table.firm) || is_strict {
        let level = is_short && (subject.is_some() || is_strict);
        Some(if level { Level::Sure } else { Level::Likely })
    } else {
        ends(table.tastes).then_some(Level::Likely)
    }
}

/// The text after the longest phrase with which it begins.
fn after<'a>(text: &'a str, list: &str) -> Option<&'a str> {
    let phrases = list.split('|').filter(|phrase| !phrase.is_empty());
    let rests = phrases.filter_map(|phrase| text.strip_prefix(phrase));
    rests.min_by_key(|rest| rest.len())
}

fn holds(text: &str, list: &str) -> bool {
    list.split('|')
        .any(|phrase| !phrase.is_empty() && text.contains(phrase))
}

/// The order inside of a request, without its frame: "Could you always answer in short sentences?" gives "always answer in
/// short sentences". `None` if the sentence is no request, or asks for something once.
pub(crate) fn asked(
    text: &str,
    (start, end): (usize, usize),
    words: &[Word],
    language: Language,
) -> Option<String> {
    let table = language.tables().personal;
    let sentence = text[start..end].trim_end();
    let bare = sentence.trim_end_matches(['?', '？', '!', '.', '。', ' ']);
    if language.tables().script.is_unspaced() {
        let head = after(bare, table.requests);
        let mut ends = table.request_ends.iter();
        let whole = head.unwrap_or(bare);
        let found = ends.find_map(|(end, order)| Some((whole.strip_suffix(end)?, *order)));
        let order = match (head, found) {
            (_, Some((rest, order))) if head.is_some() || !order.is_empty() => {
                format!("{rest}{order}")
            }
            (Some(rest), _) => rest.to_owned(),
            _ => return None,
        };
        return holds(&order, table.lasting).then_some(order);
    }
    let lists = lists(language);
    // "For the rest of this chat, could you …": what makes it last may stand before the request.
    let clauses = (0..words.len()).filter(|at| words[*at].clause);
    let mut starts = clauses.map(|at| at + leading(&words[at..], lists));
    let at = starts.find(|at| lists.requests.begin(&words[*at..]) > 0)?;
    let rest = &words[at + lists.requests.begin(&words[at..])..];
    let holds_on = |words: &[Word]| lists.lasting.within(words);
    let before = &words[..at];
    if rest.len() < REQUEST
        || lists.moment.within(rest)
        || !holds_on(rest) && !holds_on(before)
        || at > leading(words, lists) && !holds_on(before)
    {
        return None;
    }
    let order = text.get(rest.first()?.start..start + bare.len())?;
    Some(order.to_owned())
}
