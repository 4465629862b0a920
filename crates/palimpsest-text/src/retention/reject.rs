//! The reasons to send a summary back (P8).

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::languages::{List, each};
use crate::words::script::{closer, full_stop, soft_stop};
use crate::words::segment::{UnitKind, prose};
use crate::words::terms::{TermKind, each_term, hash, mix};
use crate::words::{Evidence, Language, without_code};
use crate::words::{Plain, small_word};

mod garbage;

use super::ledger::words_of;
use garbage::{counts_on, invented, is_json, leaked, repeats_instructions, repeats_lines};

static OPENINGS: List = List::phrases(each!(refusal.openings));
static DECLINED: List = List::phrases(each!(refusal.declined));
static NOTHING: List = List::phrases(each!(refusal.nothing));
static PLACEHOLDERS: List = List::phrases(each!(refusal.placeholders));
static OPEN_ENDS: List = List::words(each!(open_ends));

/// The reason to refuse a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum Rejection {
    /// It holds only white space, marks or a placeholder, or a word or two for a long source.
    Empty,
    /// The model declines.
    Refusal,
    /// It repeats the request or the first message, or holds headings without content.
    Echo,
    /// It repeats itself again and again.
    Repetitive,
    /// It contains marks of the request.
    Leaked,
    /// It is about something that is not in the source.
    Invented,
    /// It ends in the middle.
    CutOff,
    /// It is not in a language of the source.
    WrongLanguage {
        /// The language of the source.
        expected: Language,
        /// The language of the summary.
        found: Language,
    },
    /// It has at least as many tokens as the source.
    NotSmaller {
        /// The tokens of the summary.
        tokens: u32,
        /// The tokens of the source.
        source: u32,
    },
}

crate::tagged!(Rejection, "reason");

/// The facts about a summary besides its text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attempt<'a> {
    /// The summariser's instructions, without the source. A summary that repeats them is an echo.
    pub prompt: &'a str,
    /// The first message of the source. A summary that repeats it and nothing else is an echo.
    pub first_message: &'a str,
    /// The tokens of the source; 0 if unknown.
    pub source_tokens: u32,
    /// The tokens of the summary; 0 if unknown.
    pub summary_tokens: u32,
}

/// A source of so many tokens has more to say than fits into [`FEWEST_WORDS`].
const LONG_SOURCE: u32 = 200;
/// The fewest words of a summary of a long source: "Gladly." is an answer and no summary.
const FEWEST_WORDS: usize = 4;

/// Returns the first reason for which `summary` must not stand for `source`, or `None`.
pub fn reject(summary: &str, source: &str, draft: &Attempt<'_>) -> Option<Rejection> {
    let body = without_thoughts(summary);
    if empty(&body) {
        return Some(Rejection::Empty);
    }
    if refusal(&body) {
        return Some(Rejection::Refusal);
    }
    if leaked(&body) {
        return Some(Rejection::Leaked);
    }
    if echo(&body, source, draft) || repeats_instructions(&body, source, draft) || is_json(&body) {
        return Some(Rejection::Echo);
    }
    if repetitive(&body) || repeats_lines(&body) || counts_on(&body) {
        return Some(Rejection::Repetitive);
    }
    if cut_off(&body) {
        return Some(Rejection::CutOff);
    }
    if let Some((expected, found)) = wrong_language(&body, source) {
        return Some(Rejection::WrongLanguage { expected, found });
    }
    if invented(&body, source) {
        return Some(Rejection::Invented);
    }
    if draft.source_tokens >= LONG_SOURCE && words_of(&body) < FEWEST_WORDS {
        return Some(Rejection::Empty);
    }
    if draft.source_tokens > 0 && draft.summary_tokens >= draft.source_tokens {
        return Some(Rejection::NotSmaller {
            tokens: draft.summary_tokens,
            source: draft.source_tokens,
        });
    }
    None
}

fn without_thoughts(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("<think>") {
        out.push_str(&rest[..at]);
        match rest[at..].find("</think>") {
            Some(end) => rest = &rest[at + end + 8..],
            None => return out,
        }
    }
    out.push_str(rest);
    out
}

fn empty(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
    if letters < 3 {
        return true;
    }
    if letters > 40 {
        return false;
    }
    let plain: String = text
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == ' ')
        .collect::<String>()
        .trim()
        .to_lowercase();
    PLACEHOLDERS.has(&plain)
}

fn refusal(text: &str) -> bool {
    // A refusal has an opening in the first person and names the declined task near the beginning.
    let mut head: String = text
        .trim_start_matches(|c: char| !c.is_alphanumeric())
        .chars()
        .take(220)
        .collect();
    head = head.to_lowercase().replace('’', "'");
    // "The user says: I can't …" is a report; a refusal opens with the words themselves.
    let opens = OPENINGS.all().iter().any(|o| head.starts_with(o));
    let long = text.chars().count() > 900;
    opens && !long && DECLINED.all().iter().any(|d| head.contains(d))
}

/// Returns the hashes of all runs of `size` terms.
fn shingles(text: &str, size: usize) -> Vec<u64> {
    let mut terms = Vec::new();
    each_term(text, |t| terms.push(t.hash));
    let size = size.min(terms.len().max(1));
    terms
        .windows(size)
        .map(|w| w.iter().fold(0, |h, t| mix(h ^ t.rotate_left(9))))
        .collect()
}

fn share_in(part: &[u64], whole: &[u64]) -> f32 {
    if part.is_empty() {
        return 0.0;
    }
    let set: HashSet<u64, Plain> = whole.iter().copied().collect();
    part.iter().filter(|h| set.contains(h)).count() as f32 / part.len() as f32
}

fn echo(summary: &str, source: &str, draft: &Attempt<'_>) -> bool {
    let content: String = prose(summary)
        .iter()
        .filter(|u| u.kind != UnitKind::Heading && !label(&summary[u.start..u.end]))
        .map(|u| &summary[u.start..u.end])
        .collect::<Vec<_>>()
        .join("\n");
    if content.chars().filter(|c| c.is_alphanumeric()).count() < 3 {
        return true;
    }
    let own = shingles(&content, 5);
    if !draft.prompt.is_empty() && own.len() >= 4 {
        let prompt = shingles(draft.prompt, 5);
        if share_in(&own, &prompt) >= 0.6 && share_in(&own, &shingles(source, 5)) < 0.5 {
            return true;
        }
    }
    let first = draft.first_message.trim();
    if !first.is_empty() && source.len() > first.len() * 2 {
        // The text is too short for shingles and contains nothing else.
        if content.trim() == first {
            return true;
        }
        let first = shingles(first, 5);
        if first.len() >= 4 && share_in(&own, &first) >= 0.9 && share_in(&first, &own) >= 0.6 {
            return true;
        }
    }
    false
}

/// "**Goal:**", "Next steps: none", "- N/A": a heading in another form.
fn label(line: &str) -> bool {
    let plain = line.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '*' | '_' | '-' | '#' | '•' | '.')
    });
    let (head, tail) = plain.split_once([':', '：']).unwrap_or(("", plain));
    let tail = tail.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '.'));
    let is_nothing = matches!(tail, "" | "-" | "[]" | "…" | "...");
    (is_nothing || NOTHING.has(&tail.to_lowercase())) && head.split_whitespace().count() <= 6
}

fn repetitive(text: &str) -> bool {
    let mut seen: HashMap<u64, (u32, u32), Plain> = HashMap::default();
    let (mut repeated, mut all) = (0u32, 0u32);
    let mut worst = 0;
    for unit in prose(text) {
        let mut h = 0u64;
        let mut terms = 0u32;
        each_term(&text[unit.start..unit.end], |t| {
            h = mix(h ^ t.hash.rotate_left(11));
            terms += 1;
        });
        if terms < 3 {
            continue;
        }
        all += terms;
        let entry = seen.entry(h).or_insert((0, terms));
        entry.0 += 1;
        if entry.0 > 1 {
            repeated += terms;
            worst = worst.max(entry.0);
        }
    }
    if worst >= 3 && repeated * 10 >= all * 3 {
        return true;
    }
    if goes_round(text) {
        return true;
    }
    // A loop without sentence ends has few different runs of four words among many.
    let grams = shingles(text, 4);
    if grams.len() < 60 {
        return false;
    }
    let different: HashSet<u64, Plain> = grams.iter().copied().collect();
    different.len() * 2 < grams.len()
}

/// The longest run of words of which a loop within a line consists.
const LONGEST_ROUND: usize = 12;

/// Returns `true` for a loop like "the hotel and the hotel and the hotel and …": the same words follow themselves
/// within one line, at least four times and over at least sixteen words. Numbers alone are not a loop, because tables
/// and dumps repeat them.
fn goes_round(text: &str) -> bool {
    let mut terms: Vec<u64> = Vec::new();
    text.lines().any(|line| {
        terms.clear();
        each_term(line, |t| {
            if t.kind != TermKind::Number {
                terms.push(t.hash);
            }
        });
        (1..=LONGEST_ROUND).any(|length| {
            let enough = 16.max(length * 4) - length;
            let mut same = 0;
            terms.iter().zip(terms.iter().skip(length)).any(|(a, b)| {
                same = if a == b { same + 1 } else { 0 };
                same >= enough
            })
        })
    })
}

fn cut_off(text: &str) -> bool {
    let body = text.trim_end();
    let fences = body
        .lines()
        .filter(|l| l.trim_start().starts_with("```"))
        .count();
    if fences % 2 == 1 {
        return true;
    }
    let last_line = body.lines().next_back().unwrap_or("").trim();
    let Some(last) = body.chars().next_back() else {
        return false;
    };
    if full_stop(last) || soft_stop(last) || closer(last) && !matches!(last, '*' | '_') {
        return false;
    }
    if matches!(
        last,
        ',' | '，' | '、' | '(' | '（' | '[' | '{' | '/' | '=' | '“' | '„' | '«' | '「'
    ) {
        return true;
    }
    // A heading or a colon with nothing after it.
    if last_line.starts_with('#')
        || matches!(last, ':' | '：')
        || matches!(last_line, "-" | "*" | "•" | "+")
    {
        return true;
    }
    // "… because of the": no sentence ends with a small word, in any known language.
    let tail = last_line
        .rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’')))
        .next()
        .unwrap_or("");
    if tail.is_empty() || last_line.split_whitespace().count() < 4 {
        return false;
    }
    let mut folded = String::new();
    tail.chars()
        .for_each(|c| crate::words::script::fold(c, &mut folded));
    small_word(hash(folded.as_bytes())) != 0 && OPEN_ENDS.has(&folded)
}

fn wrong_language(summary: &str, source: &str) -> Option<(Language, Language)> {
    let own = Evidence::of(&without_code(summary));
    let theirs = Evidence::of(&without_code(source));
    let found = own.best()?;
    let expected = theirs.best()?;
    // A few words prove nothing, and a source in two languages may be summarised in either.
    if found == expected || own.letters < 40 || theirs.letters < 40 || theirs.share(found) >= 0.15 {
        return None;
    }
    Some((expected, found))
}
