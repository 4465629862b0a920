//! Finds statements of a summary that its source does not support.

use std::collections::HashSet;

use super::{Audit, FactClass, Speaker};
use crate::words::segment::{UnitKind, prose};
use crate::words::terms::{TermKind, each_term};
use crate::words::{Evidence, Plain, without_code};

/// The names of roles, which a summary may use even if the source does not.
const ROLES: [&str; 6] = ["User", "Assistant", "Tool", "System", "Agent", "Summary"];

/// Removes the statements that name a path, an address, an identifier, a number or a person that the source lacks.
/// Returns the remaining summary and the number of removed statements. Numbers of one digit stay, because they may be
/// counts, and dates stay, because they may be computed.
pub fn grounded(summary: &str, source: &str) -> (String, u32) {
    let mut known: HashSet<u64, Plain> = HashSet::default();
    each_term(source, |term| {
        known.insert(term.hash);
    });
    let lower = source.to_lowercase();
    let facts = Audit::new([(Speaker::Assistant, summary)]).check(source);
    let strange: Vec<&str> = facts
        .missing
        .iter()
        .filter(|fact| match fact.class {
            FactClass::Path | FactClass::Url | FactClass::Identifier => {
                !lower.contains(&fact.text.to_lowercase())
            }
            FactClass::Number => {
                let digits = fact.text.chars().filter(char::is_ascii_digit).count();
                digits > 1 && lacks(&fact.text, &known, |kind| kind == TermKind::Number)
            }
            _ => false,
        })
        .map(|fact| fact.text.as_str())
        .collect();
    // In a language with capital nouns, a capital does not show a name.
    let has_names = !Evidence::of(&without_code(summary))
        .best()
        .is_some_and(|l| l.tables().has_capital_nouns);
    let mut out = String::with_capacity(summary.len());
    let (mut at, mut struck) = (0, 0);
    for unit in prose(summary) {
        let text = &summary[unit.start..unit.end];
        let is_statement = matches!(unit.kind, UnitKind::Sentence | UnitKind::Item);
        let is_strange = strange.iter().any(|fact| text.contains(fact));
        if !is_statement || !(is_strange || has_names && names_strangers(text, &known)) {
            continue;
        }
        out.push_str(&summary[at..unit.start]);
        at = unit.end;
        struck += 1;
        // If only the mark of a list is left of a line, the line goes.
        let line = out.rfind('\n').map_or(0, |n| n + 1);
        let ends = summary[at..].lines().next().is_none_or(str::is_empty);
        if ends && !out[line..].contains(char::is_alphabetic) {
            out.truncate(line);
            at += usize::from(summary[at..].starts_with('\n'));
        } else {
            let gap = summary[at..].len() - summary[at..].trim_start_matches(' ').len();
            at += gap;
        }
    }
    out.push_str(&summary[at..]);
    (out.trim().to_owned(), struck)
}

/// Returns `true` if a relevant term of the text is unknown.
fn lacks(text: &str, known: &HashSet<u64, Plain>, counts: impl Fn(TermKind) -> bool) -> bool {
    let mut lacks = false;
    each_term(text, |term| {
        lacks |= counts(term.kind) && !known.contains(&term.hash);
    });
    lacks
}

/// Returns `true` if a statement names an unknown person or thing: a word with a capital letter inside of it.
fn names_strangers(text: &str, known: &HashSet<u64, Plain>) -> bool {
    let mut opens = true;
    let (mut words, mut capitals, mut strangers) = (0, 0, 0);
    for raw in text.split_whitespace() {
        let word = raw.trim_matches(|c: char| !c.is_alphanumeric());
        let mut letters = word.chars();
        let is_capital = letters.next().is_some_and(char::is_uppercase);
        let is_name = is_capital && letters.clone().count() >= 2 && letters.all(char::is_lowercase);
        words += u32::from(!word.is_empty() && !opens);
        capitals += u32::from(is_capital && !opens);
        if is_name && !opens && !ROLES.contains(&word) {
            strangers += u32::from(lacks(word, known, |kind| kind == TermKind::Word));
        }
        opens = word.is_empty() && opens
            || raw.ends_with([':', '.', '!', '?', '-', '–', '—', '*', '"', '“', '(']);
    }
    // A title in capital letters names nobody.
    strangers > 0 && capitals * 10 <= words * 7
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "Please ask Anna Berger in Lisbon about invoice INV-2041.\n\
        I read src/billing/tax.rs: the rate is 19 % since 2021, and the total of 1,240.50 EUR is right.\n\
        The tests of the gate passed three times, also on Thursday.";

    #[test]
    fn statements_without_ground_are_struck_out() {
        let check = |summary: &str, expected: &str, struck: u32| {
            let (text, count) = grounded(summary, SOURCE);
            assert_eq!((text.as_str(), count), (expected, struck), "{summary}");
        };
        check(
            "The user asks Anna Berger about INV-2041. She works for Peter Novak.",
            "The user asks Anna Berger about INV-2041.",
            1,
        );
        check(
            "- The rate is 19 %.\n- They paid 7,300 EUR on the spot.\n- The total is 1,240.50 EUR.",
            "- The rate is 19 %.\n- The total is 1,240.50 EUR.",
            1,
        );
        check(
            "They read src/billing/tax.rs and deleted src/billing/old.rs. The tests passed.",
            "The tests passed.",
            1,
        );
        check("Ticket INV-9999 is open.", "", 1);
        // Statements that follow from the source without standing in it, and the usual form of summaries.
        for fine in [
            "The tests passed 3 times. The User and the Assistant agreed.",
            "## Key Decisions\n\nKeep the rate of 19 %.",
            "Decisions: The Rate Stays As It Is. They were content.",
            "**Open:** Ask Anna in Lisbon.",
            "",
        ] {
            check(fine, fine, 0);
        }
        // German writes every noun with a capital letter
        check(
            "Die Tests des Tores sind erfolgreich, und der Steuersatz ist nicht falsch. Die Rechnung ist offen.",
            "Die Tests des Tores sind erfolgreich, und der Steuersatz ist nicht falsch. Die Rechnung ist offen.",
            0,
        );
    }

    #[test]
    fn what_is_quoted_from_the_source_stays() {
        for text in [
            SOURCE,
            &SOURCE.replace('\n', "\n\n"),
            &SOURCE.replace(". ", ".\n- "),
        ] {
            assert_eq!(grounded(text, SOURCE), (text.trim().to_owned(), 0));
        }
    }
}
