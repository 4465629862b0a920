//! Recognises the output of very small models that is not a summary: marks or sentences of the request, repeated lines,
//! counted numbers, the source's JSON, invented stories.

use std::collections::HashSet;

use super::{Attempt, label, share_in, shingles};
use crate::fence::imitates_fence;
use crate::words::segment::{UnitKind, prose};
use crate::words::terms::{TermKind, each_term};
use crate::words::{Evidence, without_code};
use crate::words::{Plain, small_word};

/// The number of terms by which a sentence differs from ordinary words.
const TELLING: usize = 4;
/// The number of lines that are compared with each other.
const MOST_LINES: usize = 400;
/// This many numbers in a row, each one more than the last, are a count and not a list.
const COUNT: u32 = 8;
/// With fewer names and numbers, the check for invention says nothing.
const FEW_NAMES: usize = 3;
/// With fewer content words, the check for invention says nothing.
const FEW_WORDS: usize = 10;

/// Returns `true` if a mark of the request stands in the text: a fence, a harmless copy of one, or a part.
pub(super) fn leaked(text: &str) -> bool {
    let bracket = |rest: &str| {
        let inner = rest.trim_start_matches('[');
        rest.len() - inner.len() >= 2 && begins_with_pal(inner)
    };
    let fence = text
        .match_indices(|c: char| !c.is_alphanumeric() && !c.is_whitespace())
        .any(|(at, _)| imitates_fence(&text[at..]) || bracket(&text[at..]));
    fence
        || text.match_indices("pal:").any(|(at, mark)| {
            let rest = &text[at + mark.len()..];
            let digits = rest.chars().take_while(char::is_ascii_hexdigit).count();
            digits >= 8 && rest[digits..].starts_with(':')
        })
}

fn begins_with_pal(text: &str) -> bool {
    let text = text.trim_start();
    text.get(..4)
        .is_some_and(|begin| begin.eq_ignore_ascii_case("pal:"))
}

/// Returns `true` if the summary repeats a sentence of the instructions that is not in the source.
pub(super) fn repeats_instructions(summary: &str, source: &str, draft: &Attempt<'_>) -> bool {
    if draft.prompt.is_empty() {
        return false;
    }
    let (mut prompt, mut said) = (None, None);
    prose(summary)
        .iter()
        .filter(|unit| unit.kind != UnitKind::Heading)
        .any(|unit| {
            let text = &summary[unit.start..unit.end];
            let mut terms = 0;
            each_term(text, |_| terms += 1);
            if terms < TELLING {
                return false;
            }
            let size = terms.min(5);
            let own = shingles(text, size);
            let (prompt, said) = if size == 5 {
                let prompt = prompt.get_or_insert_with(|| shingles(draft.prompt, 5));
                let said = said.get_or_insert_with(|| shingles(source, 5));
                (share_in(&own, prompt), share_in(&own, said))
            } else {
                let prompt = shingles(draft.prompt, size);
                (
                    share_in(&own, &prompt),
                    share_in(&own, &shingles(source, size)),
                )
            };
            prompt >= 0.8 && said < 0.5
        })
}

/// Returns `true` if the answer is data and not words: one JSON value, or one on each line, like the messages in the
/// request.
pub(super) fn is_json(text: &str) -> bool {
    let inner = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("```"))
        .collect::<Vec<_>>()
        .join("\n");
    let is_value = |text: &str| {
        let text = text.trim().trim_start_matches("- ");
        text.starts_with(['{', '[']) && crate::json::parse(text).is_ok()
    };
    let mut lines = inner
        .lines()
        .filter(|line| !line.trim().is_empty())
        .peekable();
    is_value(&inner) || lines.peek().is_some() && lines.all(is_value)
}

/// Returns `true` if the same or nearly the same lines repeat, even short ones.
pub(super) fn repeats_lines(text: &str) -> bool {
    let mut seen: Vec<(Vec<u64>, Vec<u64>)> = Vec::new();
    let (mut lines, mut repeated) = (0usize, 0usize);
    for line in text.lines().filter(|line| !label(line)).take(MOST_LINES) {
        let (mut words, mut numbers) = (Vec::new(), Vec::new());
        each_term(line, |term| match term.kind {
            TermKind::Number => numbers.push(term.hash),
            TermKind::Word | TermKind::Pair | TermKind::Whole => words.push(term.hash),
        });
        if words.is_empty() && numbers.is_empty() {
            continue;
        }
        words.sort_unstable();
        words.dedup();
        lines += 1;
        if seen.iter().any(|(w, n)| *n == numbers && nearly(w, &words)) {
            repeated += 1;
        } else {
            seen.push((words, numbers));
        }
    }
    repeated >= 3 && repeated * 10 >= lines * 3
}

/// Returns `true` if two sorted sets have at least 85 % in common.
fn nearly(a: &[u64], b: &[u64]) -> bool {
    if a == b {
        return true;
    }
    let both = a
        .iter()
        .filter(|term| b.binary_search(term).is_ok())
        .count();
    let either = a.len() + b.len() - both;
    both * 100 >= either * 85
}

/// Returns `true` if the text counts: lines of numbers alone, or numbers that increase by one with no word between
/// them.
pub(super) fn counts_on(text: &str) -> bool {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let bare = |line: &&&str| {
        line.chars().any(|c| c.is_ascii_digit()) && !line.chars().any(char::is_alphabetic)
    };
    let numbers = lines.iter().filter(bare).count();
    if numbers >= 5 && numbers * 5 >= lines.len() * 2 {
        return true;
    }
    let (mut run, mut before): (u32, Option<u64>) = (1, None);
    let words = text.split(|c: char| !c.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        let number = word.parse().ok();
        run = match (before, number) {
            (Some(before), Some(number)) if before + 1 == number => run + 1,
            _ => 1,
        };
        if run >= COUNT {
            return true;
        }
        before = number.filter(|number| *number < u64::MAX);
    }
    false
}

/// Returns `true` if the summary is about something else: most of its names and numbers, or nearly all of its words,
/// are not in the source.
pub(super) fn invented(summary: &str, source: &str) -> bool {
    let mut known: HashSet<u64, Plain> = HashSet::default();
    each_term(source, |term| {
        known.insert(term.hash);
    });
    let language = Evidence::of(&without_code(summary)).best();
    // In a language with capital nouns, a capital does not show a name.
    let capitals = !language.is_some_and(|l| l.tables().has_capital_nouns);
    let (mut names, mut words) = (Vec::new(), Vec::new());
    for unit in prose(summary) {
        if unit.kind == UnitKind::Heading {
            continue;
        }
        let mut first = true;
        each_term(&summary[unit.start..unit.end], |term| {
            match term.kind {
                TermKind::Number => names.push(term.hash),
                TermKind::Word if term.capital && capitals && !first => names.push(term.hash),
                TermKind::Word if small_word(term.hash) == 0 => words.push(term.hash),
                TermKind::Word | TermKind::Pair | TermKind::Whole => {}
            }
            first = false;
        });
    }
    let strange = |terms: &mut Vec<u64>| {
        terms.sort_unstable();
        terms.dedup();
        terms.iter().filter(|term| !known.contains(term)).count()
    };
    let odd = strange(&mut names);
    if names.len() >= FEW_NAMES && odd * 10 >= names.len() * 7 {
        return true;
    }
    let other = strange(&mut words);
    words.len() >= FEW_WORDS && other * 100 >= words.len() * 85
}
