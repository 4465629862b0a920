//! Packs missing facts into lines.

use std::collections::HashMap;

use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};

use super::index::{Index, each_word};
use super::{Emphasis, Fact, FactClass};
use crate::words::Plain;
use crate::words::script::unspaced;
use crate::words::terms::mix;
use crate::words::worth::worth;

/// The lines of a ledger, and the facts in and outside of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The lines to carry verbatim. Joined with line feeds they have at most the requested tokens.
    pub lines: Vec<String>,
    /// Facts the lines hold.
    pub kept: Vec<Fact>,
    /// The facts for which there was no room, in ledger order.
    pub dropped: Vec<Fact>,
}

/// Packs missing facts into at most `max_tokens` tokens, in the order of `emphasis` (P9, P6). Within a class, rare
/// content comes first, because lines that are all alike say little. Constraints come before all; the other classes take
/// turns, so that a hundred denials do not push out the only number.
///
/// Sentences, paths and addresses go in whole. A number, date, identifier or quote goes in with its short sentence or a
/// few words around it, so that it keeps its meaning.
pub fn ledger(
    missing: &[Fact],
    emphasis: Emphasis,
    max_tokens: u32,
    counter: &dyn TokenCounter,
) -> Ledger {
    let mut out = Ledger::default();
    if missing.is_empty() {
        return out;
    }
    let rare = rarity(missing);
    let mut order: Vec<usize> = (0..missing.len()).collect();
    crate::order::sort_by_key(&mut order, |&i| {
        (
            emphasis.rank(missing[i].class),
            std::cmp::Reverse(rare[i]),
            i,
        )
    });
    let mut packing = Packing {
        counter,
        most: max_tokens,
        used: 0,
        held: Index::default(),
        scratch: Vec::new(),
        lines: Vec::new(),
    };
    let (demands, others) =
        order.split_at(order.partition_point(|&i| missing[i].class == FactClass::Constraint));
    let mut left_out = Vec::new();
    packing.take_turns(missing, &mut [demands], &mut left_out);
    let mut classes: Vec<&[usize]> = others
        .chunk_by(|a, b| missing[*a].class == missing[*b].class)
        .collect();
    packing.take_turns(missing, &mut classes, &mut left_out);
    // A fact without a line of its own may stand in one that came later.
    left_out.retain(|&i| !packing.held.holds(&missing[i], &mut packing.scratch));
    left_out.sort_unstable();
    // Each class stays in the order of the conversation.
    crate::order::sort_by_key(&mut packing.lines, |(i, _)| {
        (emphasis.rank(missing[*i].class), *i)
    });
    let Packing {
        lines, mut scratch, ..
    } = packing;
    out.lines = lines.into_iter().map(|(_, line)| line).collect();
    for (i, fact) in missing.iter().enumerate() {
        if left_out.binary_search(&i).is_ok() {
            out.dropped.push(fact.clone());
        } else {
            out.kept.push(fact.clone());
        }
    }
    // The tokens of joined lines may differ from the sum by a few, and the limit applies to the joined text.
    while !out.lines.is_empty() && counter.count(&out.lines.join("\n")) > max_tokens {
        out.lines.pop();
        let rest = Index::of(&out.lines.join("\n"));
        let (kept, lost): (Vec<_>, Vec<_>) = std::mem::take(&mut out.kept)
            .into_iter()
            .partition(|f| rest.holds(f, &mut scratch));
        out.kept = kept;
        out.dropped.extend(lost);
    }
    crate::order::sort_by_key(&mut out.dropped, |f| emphasis.rank(f.class));
    out
}

/// Lines that are being chosen.
struct Packing<'a> {
    counter: &'a dyn TokenCounter,
    most: u32,
    used: u32,
    held: Index,
    scratch: Vec<u64>,
    /// The lines, each with the number of its fact.
    lines: Vec<(usize, String)>,
}

/// The number of lines of one class that may find no room before the rest of the class is left out without a try.
const MISSES: u32 = 24;

impl Packing<'_> {
    /// Takes a line of each class, then another of each, until no class has one that fits. `left_out` gets the facts
    /// without room.
    fn take_turns(&mut self, facts: &[Fact], classes: &mut [&[usize]], left_out: &mut Vec<usize>) {
        let mut misses = vec![0u32; classes.len()];
        while classes.iter().any(|members| !members.is_empty()) {
            for (members, misses) in classes.iter_mut().zip(&mut misses) {
                while let Some((&first, rest)) = members.split_first() {
                    *members = rest;
                    if self.held.holds(&facts[first], &mut self.scratch) {
                        continue;
                    }
                    if *misses <= MISSES && self.takes(facts, first) {
                        break;
                    }
                    *misses += 1;
                    left_out.push(first);
                }
            }
        }
    }

    /// Adds the line of a fact if it fits, and returns `true` if it does.
    fn takes(&mut self, facts: &[Fact], fact: usize) -> bool {
        let mark = u32::from(!self.lines.is_empty());
        let left = self.most.saturating_sub(self.used + mark);
        let fitting = line_for(&facts[fact]).and_then(|line| {
            let tokens = self.counter.count_until(&line, left)?;
            Some((line, tokens))
        });
        let Some((line, tokens)) = fitting else {
            return false;
        };
        self.used += tokens + mark;
        self.held.add(&line);
        self.lines.push((fact, line));
        true
    }
}

/// The rarity of each fact's words among the facts of its class: the mean, over its three rarest words, of the number
/// of facts per fact with the word, as a power of two.
fn rarity(facts: &[Fact]) -> Vec<u32> {
    let key = |class: FactClass, word: u64| mix(word ^ (class as u64 + 1));
    let mut all: HashMap<u64, u32, Plain> = HashMap::default();
    let words: Vec<Vec<u64>> = facts
        .iter()
        .map(|fact| {
            let mut words = Vec::new();
            each_word(&fact.text, |w| words.push(key(fact.class, w)));
            words.sort_unstable();
            words.dedup();
            for word in &words {
                *all.entry(*word).or_default() += 1;
            }
            words
        })
        .collect();
    let mut sizes = [0u32; FactClass::ALL.len()];
    for fact in facts {
        sizes[fact.class as usize] += 1;
    }
    facts
        .iter()
        .zip(&words)
        .map(|(fact, words)| {
            let of = sizes[fact.class as usize];
            let said = |w: &u64| all.get(w).copied().unwrap_or(1).max(1);
            let mut rare: Vec<usize> = words
                .iter()
                .map(|w| (of / said(w)).max(1).ilog2() as usize)
                .collect();
            rare.sort_unstable();
            let rarest = rare.iter().rev().take(3);
            (rarest.clone().sum::<usize>() * 4 / rarest.len().max(1)) as u32
        })
        .collect()
}

/// The fewest words of a clause.
const CLAUSE: usize = 3;

/// A clause less likely than this to say something is not carried. Statements of likes have few words.
const TELLING: f32 = 0.4;
const TELLING_LIKES: f32 = 0.2;

/// Returns the line that carries a fact: its sentence or clause, or the value after its key. A path or an address needs
/// no context. Returns `None` if the line would be a meaningless fragment.
fn line_for(fact: &Fact) -> Option<String> {
    let text = bare(&fact.text);
    match fact.class {
        FactClass::Constraint | FactClass::Decision => return Some(text),
        FactClass::Path | FactClass::Url => {
            let is_place = text.chars().filter(|c| c.is_alphanumeric()).count() >= 4;
            return is_place.then_some(text);
        }
        _ => {}
    }
    let context = bare(&fact.context);
    if !fact.class.sentence()
        && (crate::words::segment::machine_line(context.trim()) || words_of(&context) < CLAUSE)
    {
        return keyed(&context, &text);
    }
    let line = clause(fact, &context, text);
    let least = match fact.class {
        // A name or a number that somebody gave to a thing cannot be guessed, however little its sentence says.
        FactClass::Identifier => 0.0,
        FactClass::Preference => TELLING_LIKES,
        _ => TELLING,
    };
    (words_of(&line) >= CLAUSE && worth(&line) >= least).then_some(line)
}

/// The number of words of a line. In scripts without spaces two characters count as one word.
pub(super) fn words_of(line: &str) -> usize {
    let wide = line.chars().filter(|c| unspaced(*c)).count();
    let words = line
        .split_whitespace()
        .filter(|w| w.contains(char::is_alphanumeric));
    words.count() + wide / 2
}

/// The value after its key: `port: 8081`, `"port": 8081`, `port = 8081`.
fn keyed(context: &str, value: &str) -> Option<String> {
    let at = context.find(value)?;
    let is_mark = |c: char| matches!(c, '"' | '\'' | '`' | '[' | '{' | '(') || c.is_whitespace();
    let before = context[..at].trim_end_matches(is_mark);
    let before = before
        .strip_suffix([':', '=', '：'])?
        .trim_end_matches(is_mark);
    let from = before
        .rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')))
        .map_or(0, |i| {
            i + before[i..].chars().next().map_or(1, char::len_utf8)
        });
    let key = &before[from..];
    key.contains(char::is_alphabetic)
        .then(|| format!("{key} {value}"))
}

fn clause(fact: &Fact, context: &str, text: String) -> String {
    if fact.class.sentence() {
        return text;
    }
    if context.chars().count() <= 140 {
        return if context.is_empty() {
            text
        } else {
            context.to_owned()
        };
    }
    // A few words on both sides.
    let Some(at) = context.find(&text) else {
        return text;
    };
    let from = words_back(&context[..at], 6);
    let after = at + text.len();
    let to = after + words_on(&context[after..], 5);
    let mut line = String::new();
    if from > 0 {
        line.push('…');
    }
    line.push_str(context[from..to].trim());
    if to < context.len() {
        line.push('…');
    }
    line
}

fn words_back(text: &str, words: usize) -> usize {
    let mut seen = 0;
    for (i, c) in text.char_indices().rev() {
        if c.is_whitespace() || unspaced(c) {
            seen += 1;
            if seen > words {
                return i + c.len_utf8();
            }
        }
    }
    0
}

fn words_on(text: &str, words: usize) -> usize {
    let mut seen = 0;
    for (i, c) in text.char_indices() {
        if c.is_whitespace() || unspaced(c) {
            seen += 1;
            if seen > words {
                return i;
            }
        }
    }
    text.len()
}

/// One line, single spaces, without list marks.
fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let body = text.trim();
    let body = if crate::words::segment::list_item(body) {
        body.trim_start_matches(|c: char| {
            matches!(c, '-' | '*' | '+' | '•' | '.' | ')' | ' ') || c.is_ascii_digit()
        })
    } else {
        body
    };
    let body = if body.is_empty() { text.trim() } else { body };
    let mut space = false;
    for c in body.chars() {
        if c.is_whitespace() {
            space = true;
            continue;
        }
        if space && !out.is_empty() {
            out.push(' ');
        }
        space = false;
        out.push(c);
    }
    out
}
