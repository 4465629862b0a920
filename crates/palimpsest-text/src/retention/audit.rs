//! Checks if a window still holds every fact of its source, and packs the missing ones into a ledger.

use std::collections::{HashMap, HashSet};

use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};

use crate::words::Plain;
use crate::words::worth::worth;

use super::{Emphasis, Fact, FactClass, Known, Speaker, extract_from};
use crate::words::script::{combining, fold, unspaced};
use crate::words::terms::{hash, mix};

/// The facts of a source, to search in a window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// Every fact once, in the order of the source.
    pub facts: Vec<Fact>,
}

/// The fate of the facts in removed or shortened text. Each fact counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The facts of all text that the window no longer holds unchanged.
    pub touched: u32,
    /// The ones among them that the window still holds.
    pub kept: u32,
    /// The ones that it does not hold, but whose message still stands in its place in a shorter form that says so.
    pub recallable: u32,
    /// The rest: nothing in the window leads back to them.
    pub dropped: u32,
}

impl Facts {
    /// Returns `true` if no fact was touched.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// kept ÷ touched, 0 to 1; 1 if nothing was touched.
    pub fn retention(self) -> f32 {
        if self.touched == 0 {
            1.0
        } else {
            self.kept as f32 / self.touched as f32
        }
    }
}

/// Collects facts, each once.
#[derive(Debug, Default)]
pub struct Collector {
    /// The facts so far.
    pub audit: Audit,
    seen: HashSet<u64, Plain>,
}

impl Collector {
    /// Adds the facts of a text that are new.
    pub fn add(&mut self, speaker: Speaker, text: &str) {
        for fact in extract_from(text, speaker) {
            if self.is_new(&fact) {
                self.audit.facts.push(fact);
            }
        }
    }

    /// Adds the facts of a text, with an earlier reading if there is one.
    pub fn add_known(&mut self, known: &Known, speaker: Speaker, text: &str) {
        for fact in known.scan(text, speaker).facts() {
            if self.is_new(fact) {
                self.audit.facts.push(fact.clone());
            }
        }
    }

    fn is_new(&mut self, fact: &Fact) -> bool {
        let key = mix(hash(fact.text.as_bytes()) ^ (fact.class as u64 + 1));
        self.seen.insert(key)
    }
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Facts of the source that the window still holds.
    pub found: u32,
    /// The facts that it does not hold, in the order of the source.
    pub missing: Vec<Fact>,
}

impl Checked {
    /// found ÷ source, 0 to 1; 1 for a source without facts.
    pub fn retention(&self) -> f32 {
        let all = self.found as usize + self.missing.len();
        if all == 0 {
            1.0
        } else {
            self.found as f32 / all as f32
        }
    }
}

impl Audit {
    /// Collects the facts of the covered texts.
    pub fn new<'a>(sources: impl IntoIterator<Item = (Speaker, &'a str)>) -> Self {
        let mut collector = Collector::default();
        for (speaker, text) in sources {
            collector.add(speaker, text);
        }
        collector.audit
    }

    /// Collects the facts of the covered texts, with earlier readings if there are any.
    pub fn of_known<'a>(
        known: &Known,
        sources: impl IntoIterator<Item = (Speaker, &'a str)>,
    ) -> Self {
        let mut collector = Collector::default();
        for (speaker, text) in sources {
            collector.add_known(known, speaker, text);
        }
        collector.audit
    }

    /// Searches every fact in `window`. White space, the case of words, Markdown marks and the space between number and
    /// unit do not matter. A path, address or identifier counts only if it appears whole and exactly as written.
    pub fn check(&self, window: &str) -> Checked {
        let mut wanted = Wanted::of(&self.facts);
        wanted.look_in(window);
        let mut checked = Checked::default();
        for (n, fact) in self.facts.iter().enumerate() {
            if wanted.has(n) {
                checked.found += 1;
            } else {
                checked.missing.push(fact.clone());
            }
        }
        checked
    }
}

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

/// Facts to search in a text. The text is read once, and no index of it is kept.
struct Wanted {
    /// The words of all facts, and the start of each fact's words.
    words: Vec<u64>,
    from: Vec<usize>,
    /// The hash of up to four first words, and the last fact that begins with them; `next` chains the others.
    first: HashMap<u64, u32, Plain>,
    next: Vec<u32>,
    /// The whole runs of which facts consist, and whether each was seen.
    runs: HashMap<u64, bool, Plain>,
    /// For a fact that counts only whole: its runs, with and without a position.
    whole: Vec<Option<Vec<(u64, u64)>>>,
    /// Says for each fact if it is a number.
    numbers: Vec<bool>,
    found: Vec<bool>,
}

impl Wanted {
    fn of(facts: &[Fact]) -> Self {
        let mut wanted = Self {
            words: Vec::new(),
            from: vec![0],
            first: HashMap::default(),
            next: Vec::new(),
            runs: HashMap::default(),
            whole: Vec::new(),
            numbers: Vec::new(),
            found: Vec::new(),
        };
        for fact in facts {
            wanted.add(fact);
        }
        wanted
    }

    fn add(&mut self, fact: &Fact) {
        let n = self.found.len() as u32;
        let mut next = END;
        let mut is_empty = false;
        let whole = matches!(
            fact.class,
            FactClass::Path | FactClass::Url | FactClass::Identifier
        );
        let whole = whole.then(|| {
            let mut runs = Vec::new();
            each_run(&fact.text, |run| {
                let plain = super::scan::without_position(run);
                runs.push((hash(run.as_bytes()), hash(plain.as_bytes())));
            });
            for (run, plain) in &runs {
                self.runs.insert(*run, false);
                self.runs.insert(*plain, false);
            }
            runs
        });
        if whole.is_none() {
            let begin = self.words.len();
            each_word(&fact.text, |word| self.words.push(word));
            let words = &self.words[begin..];
            is_empty = words.is_empty();
            if !is_empty {
                let key = gram(words, words.len().min(4));
                next = self.first.insert(key, n).unwrap_or(END);
            }
        }
        self.from.push(self.words.len());
        self.next.push(next);
        self.whole.push(whole);
        self.numbers.push(fact.class == FactClass::Number);
        self.found.push(is_empty);
    }

    fn look_in(&mut self, text: &str) {
        if !self.first.is_empty() {
            let mut words = Vec::new();
            each_word(text, |word| words.push(word));
            for i in 0..words.len() {
                self.look_at(&words, i);
            }
        }
        if !self.runs.is_empty() {
            each_run(text, |run| {
                let plain = super::scan::without_position(run);
                for run in [run, plain] {
                    if let Some(seen) = self.runs.get_mut(&hash(run.as_bytes())) {
                        *seen = true;
                    }
                }
            });
        }
    }

    fn look_at(&mut self, words: &[u64], i: usize) {
        let here = &words[i..];
        let mut h = 0u64;
        for (k, word) in here.iter().take(4).enumerate() {
            h = mix(h ^ word.rotate_left(k as u32 * 7 + 1));
            let mut at = self.first.get(&(h ^ k as u64)).copied().unwrap_or(END);
            while at != END {
                let n = at as usize;
                let fact = &self.words[self.from[n]..self.from[n + 1]];
                // 5 °C is not −5 °C.
                let signed = self.numbers[n] && i > 0 && words[i - 1] == MINUS && here[0] != MINUS;
                self.found[n] |= !signed && here.starts_with(fact);
                at = self.next[n];
            }
        }
    }

    fn has(&self, n: usize) -> bool {
        let seen = |run: &u64| self.runs.get(run).copied().unwrap_or_default();
        match &self.whole[n] {
            Some(runs) => {
                !runs.is_empty() && runs.iter().all(|(run, plain)| seen(run) || seen(plain))
            }
            None => self.found[n],
        }
    }
}

/// The hash of the first `n` words.
fn gram(words: &[u64], n: usize) -> u64 {
    let mut h = 0u64;
    for (k, word) in words[..n].iter().enumerate() {
        h = mix(h ^ word.rotate_left(k as u32 * 7 + 1));
    }
    h ^ (n as u64 - 1)
}

/// A window as sequences of words and as a set of whole runs.
#[derive(Default)]
struct Index {
    /// Hashes of the words, in order.
    words: Vec<u64>,
    /// The hash of up to four words at a position, and the first such position; `next` chains the rest.
    grams: HashMap<u64, u32, Plain>,
    next: Vec<[u32; 4]>,
    runs: HashSet<u64, Plain>,
}

const END: u32 = u32::MAX;

/// The word that separates two texts of one index.
const BORDER: u64 = 0x626F_7264_6572_2121;

impl Index {
    fn of(text: &str) -> Self {
        let mut index = Self::default();
        index.add(text);
        index
    }

    /// Adds another text. No sequence reaches across the border.
    fn add(&mut self, text: &str) {
        if !self.words.is_empty() {
            self.words.push(BORDER);
            self.next.push([END; 4]);
        }
        let base = self.words.len();
        each_word(text, |h| self.words.push(h));
        let words = &self.words;
        self.next.resize(words.len(), [END; 4]);
        self.grams.reserve((words.len() - base) * 4);
        for i in (base..words.len()).rev() {
            let mut h = 0u64;
            for k in 0..4.min(words.len() - i) {
                h = mix(h ^ words[i + k].rotate_left(k as u32 * 7 + 1));
                if let Some(before) = self.grams.insert(h ^ k as u64, i as u32) {
                    self.next[i][k] = before;
                }
            }
        }
        each_run(text, |run| {
            self.runs.insert(hash(run.as_bytes()));
            let plain = super::scan::without_position(run);
            if plain.len() < run.len() {
                self.runs.insert(hash(plain.as_bytes()));
            }
        });
    }

    fn holds(&self, fact: &Fact, scratch: &mut Vec<u64>) -> bool {
        if matches!(
            fact.class,
            FactClass::Path | FactClass::Url | FactClass::Identifier
        ) {
            let mut all = true;
            let mut any = false;
            each_run(&fact.text, |run| {
                any = true;
                all &= self
                    .runs
                    .contains(&hash(super::scan::without_position(run).as_bytes()))
                    || self.runs.contains(&hash(run.as_bytes()));
            });
            return all && any;
        }
        scratch.clear();
        each_word(&fact.text, |h| scratch.push(h));
        self.sequence(scratch, fact.class == FactClass::Number)
    }

    fn sequence(&self, words: &[u64], number: bool) -> bool {
        let n = words.len().min(4);
        if n == 0 {
            return true;
        }
        let mut at = self.grams.get(&gram(words, n)).copied().unwrap_or(END);
        let mut tries = 0;
        while at != END {
            let i = at as usize;
            let fits = self
                .words
                .get(i..i + words.len())
                .is_some_and(|w| w == words);
            // 5 °C is not −5 °C.
            let signed = number && i > 0 && self.words[i - 1] == MINUS && words[0] != MINUS;
            if fits && !signed {
                return true;
            }
            tries += 1;
            if tries > 4096 {
                return false;
            }
            at = self.next[i][n - 1];
        }
        false
    }
}

/// The hash that stands for a minus sign before a number.
const MINUS: u64 = 0x6D69_6E75_7321;

/// Calls `f` with the words as the audit compares them: folded, digits separate from letters, signs and currency kept.
fn each_word(text: &str, mut f: impl FnMut(u64)) {
    let mut buffer = String::with_capacity(32);
    let mut digits = false;
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if unspaced(c) {
            flush(&mut buffer, &mut f);
            f(mix(u64::from(c as u32)));
            before = c;
            continue;
        }
        if c.is_alphanumeric() {
            let digit = c.is_ascii_digit();
            if !buffer.is_empty() && digit != digits {
                flush(&mut buffer, &mut f);
            }
            digits = digit;
            fold(c, &mut buffer);
            before = c;
            continue;
        }
        if combining(c) {
            continue;
        }
        let next = chars.peek().copied().unwrap_or(' ');
        if digits
            && !buffer.is_empty()
            && matches!(c, '.' | ',' | ':' | '\'' | '’')
            && next.is_ascii_digit()
        {
            // 1'200 is 1200; 1.5 is not 15.
            if !matches!(c, '\'' | '’') {
                buffer.push(c);
            }
            before = c;
            continue;
        }
        flush(&mut buffer, &mut f);
        match c {
            '-' | '−'
                if next.is_ascii_digit()
                    && (before.is_whitespace() || matches!(before, '(' | '[' | ':' | '=')) =>
            {
                f(MINUS);
            }
            '%' | '‰' | '°' | '€' | '$' | '£' | '¥' | '₽' | '₹' => {
                f(mix(u64::from(c as u32)));
            }
            _ => {}
        }
        before = c;
    }
    flush(&mut buffer, &mut f);
}

fn flush(buffer: &mut String, f: &mut impl FnMut(u64)) {
    if !buffer.is_empty() {
        f(hash(buffer.as_bytes()));
        buffer.clear();
    }
}

/// Calls `f` with runs that have no spaces, brackets, quotes or Markdown marks, as written. A path or an identifier
/// must equal one of them. A run with escapes of JSON is also given in the pieces between them: in the arguments of a
/// call, `theme\n#` holds the name `theme`.
fn each_run(text: &str, mut f: impl FnMut(&str)) {
    let mut start = None;
    let cut = |c: char| {
        c.is_whitespace()
            || unspaced(c)
            || matches!(
                c,
                '(' | ')'
                    | '['
                    | ']'
                    | '{'
                    | '}'
                    | '<'
                    | '>'
                    | '"'
                    | '“'
                    | '”'
                    | '„'
                    | '«'
                    | '»'
                    | '‹'
                    | '›'
                    | '「'
                    | '」'
                    | '『'
                    | '』'
                    | '（'
                    | '）'
                    | '【'
                    | '】'
                    | '《'
                    | '》'
                    | '、'
                    | '，'
                    | '。'
                    | '；'
                    | '：'
                    | '！'
                    | '？'
                    | '|'
                    | '*'
                    | ';'
                    | ','
                    | '='
                    | '`'
                    | '→'
            )
    };
    let mut emit = |run: &str| {
        let run = run.trim_end_matches(|c: char| {
            matches!(
                c,
                '.' | ':' | '!' | '?' | '…' | '\'' | '’' | '-' | '–' | '—' | '\\'
            )
        });
        let run = run.trim_start_matches(|c: char| {
            matches!(c, '\'' | '’' | '…' | '–' | '—' | '!' | '?' | ':')
        });
        let run = if run.len() > 2
            && run.starts_with('_')
            && run.ends_with('_')
            && !run.starts_with("__")
        {
            &run[1..run.len() - 1]
        } else {
            run
        };
        if !run.is_empty() {
            f(run);
        }
    };
    let mut emit_with_pieces = |run: &str| {
        emit(run);
        let mut pieces = super::scan::between_escapes(run);
        if let Some(first) = pieces.next()
            && first.len() < run.len()
        {
            emit(first);
            pieces.for_each(&mut emit);
        }
    };
    for (i, c) in text.char_indices() {
        if cut(c) {
            if let Some(s) = start.take() {
                emit_with_pieces(&text[s..i]);
            }
        } else {
            start.get_or_insert(i);
        }
    }
    if let Some(s) = start {
        emit_with_pieces(&text[s..]);
    }
}
