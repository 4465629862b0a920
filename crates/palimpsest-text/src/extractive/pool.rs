//! Collects the units that a summary can keep, weighs them, and chooses among them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use palimpsest_tokens::TokenCounter;

use super::turns::Turns;
use super::updates::Updates;
use super::{Emphasis, Options, Passage, Speaker};
use crate::retention::{FactClass, Finder, Found};
use crate::words::segment::{Unit, UnitKind, lines, prose};
use crate::words::terms::{Term, TermKind, each_term, hash, mix};
use crate::words::worth::{Features, is_content, probability};
use crate::words::{Plain, log2, small_word};

/// A unit that can be kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    /// Index of its passage.
    pub passage: usize,
    /// The unit's place in the passage.
    pub unit: Unit,
    /// Its tokens and a line feed.
    pub cost: u32,
    weight: f32,
    /// Its elements: `first..first + count` in the pool's arena.
    first: u32,
    count: u32,
}

/// All candidates, with the elements that they contain.
pub(crate) struct Pool {
    /// In the order of the conversation.
    pub candidates: Vec<Candidate>,
    /// Elements of all candidates, one after the other.
    arena: Vec<u32>,
    /// The worth of an element when it appears for the first time.
    value: Vec<f32>,
    /// The kind of each element.
    kind: Vec<Element>,
    /// Candidates that a later one changes, with the newest such change. A changed candidate is kept only together with
    /// its change.
    changed: Vec<(u32, u32)>,
}

/// The kind of an element, from which its worth follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    /// A word.
    Word,
    /// A fact with a worth of its own.
    Fact,
    /// An exact value in a text of people or models, which is worth the more the fewer of its kind were said.
    Exact(Exact),
}

/// The kinds of exact values: nobody who has not seen such a value can guess it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exact {
    /// A file, an address, an identifier.
    Name,
    /// A number.
    Amount,
    /// A date with digits.
    Day,
}

impl Exact {
    const ALL: [Self; 3] = [Self::Name, Self::Amount, Self::Day];

    fn of(class: FactClass, text: &str) -> Option<Self> {
        match class {
            FactClass::Path | FactClass::Url | FactClass::Identifier => Some(Self::Name),
            FactClass::Number => Some(Self::Amount),
            FactClass::Date if text.contains(|c: char| c.is_ascii_digit()) => Some(Self::Day),
            _ => None,
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The worth of an exact value of a kind that hardly appears.
const EXACT: f32 = 60.0;

/// The factor by which the user's focus raises the words that it names.
const FOCUS: f32 = 5.0;

/// The least weight of a unit that is kept for its own sake. A statement of two meaningful words lies just above it.
const LEAST: f32 = -0.5;

/// The worth of a repeated term, relative to the first time.
const AGAIN: [f32; 4] = [1.0, 0.35, 0.1, 0.0];

/// The number of turns in a block. A term's occurrences in one block count as one place.
const BLOCK: usize = 8;

/// The largest number of lines of one result that report trouble. Further lines are much the same.
const ALARMS: u32 = 3;

/// The number of turns within which another speaker may take up a term.
const UPTAKE: usize = 3;

/// The statistics of an element while the units go by.
#[derive(Debug, Clone, Copy)]
struct Seen {
    units: u32,
    last_unit: u32,
    occurrences: u32,
    blocks: u32,
    last_block: u32,
    base: f32,
    content: bool,
}

/// The units among which to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All units, also those that say nothing, because there is nothing else.
    All,
    /// The units that say something.
    Telling,
    /// The same, but of tool results only the lines that report trouble, because their values are kept separately.
    TellingBesideValues,
}

impl Pool {
    pub(crate) fn new(
        passages: &[Passage<'_>],
        turns: &Turns,
        options: &Options<'_>,
        wanted: Wanted,
        counter: &dyn TokenCounter,
    ) -> Self {
        let (emphasis, focus) = (options.emphasis, options.focus);
        let bytes: usize = passages.iter().map(|p| p.text.len()).sum();
        let mut pool = Self {
            candidates: Vec::with_capacity(bytes / 80 + 1),
            arena: Vec::with_capacity(bytes / 8 + 1),
            value: Vec::new(),
            kind: Vec::new(),
            changed: Vec::new(),
        };
        let mut updates = Updates::default();
        let mut ids: HashMap<u64, u32, Plain> =
            HashMap::with_capacity_and_hasher(bytes / 24 + 16, Plain::default());
        let mut seen: Vec<Seen> = Vec::new();
        let mut features: Vec<Features> = Vec::with_capacity(bytes / 80 + 1);
        let mut found: Vec<Found> = Vec::new();
        let mut focus_terms: Vec<u64> = Vec::new();
        each_term(focus.unwrap_or_default(), |t| {
            if small_word(t.hash) == 0 {
                focus_terms.push(t.hash);
            }
        });
        focus_terms.sort_unstable();
        let with_tools = passages
            .iter()
            .any(|p| p.role == Speaker::Tool || p.calls.is_some());
        let terse = terseness(passages);
        // German writes every noun with a capital.
        let capitals_are_names = !turns.language.is_some_and(|l| l.tables().has_capital_nouns);
        for (index, passage) in passages.iter().enumerate() {
            let turn = &turns.turns[index];
            let text = &passage.text[turn.from..];
            let shift = turn.from;
            let calls = passage
                .calls
                .map_or(text.len(), |at| at.saturating_sub(shift));
            let mut finder = Finder::new(text, passage.role);
            let is_tool = passage.role == Speaker::Tool;
            // The facts of the whole text can be used if its units are the same.
            let scan = options
                .known
                .filter(|_| shift == 0 && calls == text.len())
                .map(|known| known.scan(text, passage.role));
            let mut read = Vec::new();
            let own =
                if let Some(scan) = &scan {
                    scan.units()
                } else {
                    read.extend(if is_tool {
                        lines(text)
                    } else {
                        prose(&text[..calls])
                    });
                    read.extend(lines(&text[calls..]).into_iter().filter(|_| !is_tool).map(
                        |unit| Unit {
                            start: unit.start + calls,
                            end: unit.end + calls,
                            ..unit
                        },
                    ));
                    &read
                };
            let voice = match passage.role {
                Speaker::User if with_tools => 1.8,
                Speaker::User => terse,
                Speaker::Assistant if passage.calls.is_some() => 0.35,
                _ => 1.0,
            };
            let mut alarms = 0;
            for (place, unit) in own.iter().enumerate() {
                let body = &text[unit.start..unit.end];
                let is_machine = is_tool || unit.kind == UnitKind::Line;
                let mut alarm = is_machine.then(|| alarm(body, emphasis)).flatten();
                if wanted == Wanted::TellingBesideValues && (alarms >= ALARMS || is_code(body)) {
                    alarm = None;
                }
                alarms += u32::from(alarm.is_some());
                if wanted == Wanted::TellingBesideValues
                    && (is_tool || unit.start >= calls)
                    && alarm.is_none()
                {
                    continue;
                }
                let number = pool.candidates.len() as u32;
                let first = pool.arena.len() as u32;
                let mut hits = 0u32;
                let mut words = 0u32;
                let mut own = Features::default();
                let mut add =
                    |key: u64, worth: f32, kind: Element, content: bool, pool: &mut Self| {
                        let known = seen.len() as u32;
                        let id = *ids.entry(key).or_insert_with(|| {
                            seen.push(Seen {
                                units: 0,
                                last_unit: u32::MAX,
                                occurrences: 0,
                                blocks: 0,
                                last_block: u32::MAX,
                                base: worth,
                                content,
                            });
                            pool.value.push(0.0);
                            pool.kind.push(kind);
                            known
                        });
                        let slot = &mut seen[id as usize];
                        slot.occurrences += 1;
                        let block = (index / BLOCK) as u32;
                        if slot.last_block != block {
                            slot.last_block = block;
                            slot.blocks += 1;
                        }
                        let is_new_here = slot.last_unit != number;
                        if is_new_here {
                            let last = std::mem::replace(&mut slot.last_unit, number) as usize;
                            if content && let Some(before) = pool.candidates.get(last) {
                                let near =
                                    index - before.passage <= UPTAKE && index > before.passage;
                                if near && turns.turns[before.passage].speaker != turn.speaker {
                                    features[last].taken_up += 1;
                                }
                            }
                            slot.units += 1;
                            slot.base = slot.base.max(worth);
                            pool.arena.push(id);
                        }
                        (is_new_here, id == known)
                    };
                each_term(body, |t| {
                    words += 1;
                    let content = is_content(&t, &turns.people);
                    let mut worth = term_worth(&t, words);
                    if worth <= 0.0 {
                        own.see(&t, false, false);
                        return;
                    }
                    if focus_terms.binary_search(&t.hash).is_ok() {
                        worth *= FOCUS;
                        hits += 1;
                    }
                    let (is_new_here, is_first) =
                        add(t.hash, worth, Element::Word, content, &mut pool);
                    own.see(&t, content, is_new_here);
                    own.new += u16::from(content && is_first);
                });
                let found = if let Some(scan) = &scan {
                    scan.found_in(place)
                } else {
                    found.clear();
                    finder.find(text, unit, &mut found);
                    &found
                };
                let mut settles = false;
                for fact in found {
                    settles |= matches!(fact.class, FactClass::Constraint | FactClass::Decision);
                    let worth = fact_worth(fact.class, emphasis, is_tool);
                    if !is_machine {
                        updates.see(number, fact.class, &text[fact.start..fact.end]);
                    }
                    let text = &text[fact.start..fact.end];
                    let kind = Exact::of(fact.class, text)
                        .filter(|_| !is_machine)
                        .map_or(Element::Fact, Element::Exact);
                    if let Element::Exact(kind) = kind {
                        own.exact |= kind.bit();
                    }
                    if worth > 0.0 || kind != Element::Fact {
                        let key = hash(text.as_bytes()) ^ (fact.class as u64 + 11).rotate_left(40);
                        add(mix(key), worth, kind, false, &mut pool);
                    }
                }
                if let Some(worth) = alarm {
                    // The same error with another number is the same error.
                    add(
                        mix(template(body) ^ 0xA1A2),
                        worth,
                        Element::Fact,
                        false,
                        &mut pool,
                    );
                }
                let count = pool.arena.len() as u32 - first;
                if count == 0 {
                    continue;
                }
                let mut weight = unit_weight(unit, body, emphasis) * voice;
                weight *= 1.0 + 0.8 * hits.min(3) as f32;
                own.is_machine = is_tool || matches!(unit.kind, UnitKind::Code | UnitKind::Line);
                if !is_machine && own.announces_a_change() {
                    updates.announce(number);
                }
                own.settles = settles || hits > 0 || updates.tells(number);
                features.push(own);
                pool.candidates.push(Candidate {
                    passage: index,
                    unit: Unit {
                        start: unit.start + shift,
                        end: unit.end + shift,
                        ..*unit
                    },
                    cost: counter.count(body) + 1,
                    weight,
                    first,
                    count,
                });
            }
        }
        pool.weigh(
            &seen,
            &mut features,
            passages.len(),
            capitals_are_names,
            wanted == Wanted::All,
        );
        pool.pair(&updates, &seen);
        pool
    }

    /// Finds the changed statements, and gives each change at least the weight of the statement that it changes.
    fn pair(&mut self, updates: &Updates, seen: &[Seen]) {
        let most = (self.candidates.len() / 20).clamp(3, 40) as u32;
        let rare = |unit: u32| -> Vec<u32> {
            let elements = self.elements(&self.candidates[unit as usize]).iter();
            let rare = |e: &&u32| {
                let of = &seen[**e as usize];
                of.content && (2..=most).contains(&of.units)
            };
            elements.filter(rare).copied().collect()
        };
        self.changed = updates.pairs(rare);
        for &(earlier, later) in &self.changed {
            let weight = self.candidates[earlier as usize].weight;
            let change = &mut self.candidates[later as usize];
            change.weight = change.weight.max(weight);
        }
    }

    /// Returns the newest candidate that changes this one.
    fn change_of(&self, candidate: u32) -> Option<u32> {
        let at = self
            .changed
            .binary_search_by_key(&candidate, |(earlier, _)| *earlier);
        at.ok().map(|at| self.changed[at].1)
    }

    /// Computes the values of the elements and the weights of the units, when all of them are known.
    fn weigh(
        &mut self,
        seen: &[Seen],
        features: &mut [Features],
        passages: usize,
        capitals_are_names: bool,
        all: bool,
    ) {
        let units = log2(self.candidates.len() as u32 + 1);
        let blocks = passages.div_ceil(BLOCK).max(1) as u32;
        let scarce = scarcity(features, units);
        let mut burst: Vec<f32> = Vec::with_capacity(seen.len());
        for (id, of) in seen.iter().enumerate() {
            let df = of.units.max(1);
            self.value[id] = match self.kind[id] {
                Element::Fact => of.base,
                Element::Exact(kind) => of.base.max(EXACT * scarce[kind as usize]),
                // A term that is rare in this conversation counts, and a little more if it returns: then it is a topic,
                // not a slip.
                Element::Word => {
                    of.base * (units - log2(df) + 0.2).max(0.0) * (1.0 + 0.35 * log2(df))
                }
            };
            burst.push(bursts(of.occurrences, of.blocks, blocks));
        }
        for (candidate, own) in self.candidates.iter_mut().zip(features) {
            if own.is_machine {
                continue;
            }
            let from = candidate.first as usize;
            let elements = &self.arena[from..from + candidate.count as usize];
            let content = elements.iter().filter(|e| seen[**e as usize].content);
            let (mut sum, mut n) = (0f32, 0u32);
            for &e in content {
                sum += burst[e as usize];
                n += 1;
            }
            own.burst = (sum / n.max(1) as f32 / 2.0).min(1.0);
            let z = own.sum(capitals_are_names);
            let p = probability(if own.settles { z.max(0.0) } else { z });
            let exact = Exact::ALL
                .iter()
                .filter(|kind| own.exact & kind.bit() != 0)
                .fold(0f32, |most, kind| most.max(scarce[*kind as usize]));
            candidate.weight *= if z < LEAST && !own.settles && !all && exact == 0.0 {
                0.0
            } else {
                (p * p).max(exact)
            };
        }
    }

    /// Chooses the candidates of the highest worth within `budget` tokens, the best first. `extra` returns the tokens
    /// that a candidate costs besides its own (a label, a heading); its second argument says that the candidate is now
    /// taken.
    pub(crate) fn choose(
        &self,
        budget: u32,
        mut extra: impl FnMut(&Candidate, bool) -> u32,
    ) -> Vec<usize> {
        let mut covered = vec![0u8; self.value.len()];
        let mut heap: BinaryHeap<(u32, Reverse<u32>)> =
            BinaryHeap::with_capacity(self.candidates.len());
        for (i, c) in self.candidates.iter().enumerate() {
            let ratio = self.ratio(c, &covered, extra(c, false));
            if ratio > 0.0 {
                heap.push((ratio.to_bits(), Reverse(i as u32)));
            }
        }
        let mut chosen = Vec::new();
        let mut taken = vec![false; self.candidates.len()];
        let mut used = 0u32;
        // A limit on re-evaluations keeps the whole at n log n.
        let mut patience = self.candidates.len() * 16 + 64;
        while let Some((_, Reverse(i))) = heap.pop() {
            if taken[i as usize] {
                continue;
            }
            let c = &self.candidates[i as usize];
            let extra_cost = extra(c, false);
            let change = self.change_of(i).filter(|later| !taken[*later as usize]);
            let with = change.map_or(0, |later| {
                let change = &self.candidates[later as usize];
                change.cost + extra(change, false)
            });
            if used + c.cost + extra_cost + with > budget {
                continue;
            }
            let ratio = self.ratio(c, &covered, extra_cost);
            if ratio <= 0.0 {
                continue;
            }
            if let Some(&(next, Reverse(j))) = heap.peek()
                && (ratio.to_bits(), Reverse(i)) < (next, Reverse(j))
                && patience > 0
            {
                patience -= 1;
                heap.push((ratio.to_bits(), Reverse(i)));
                continue;
            }
            // The change comes first, so that it outlives the statement that it changes.
            for i in change.into_iter().chain([i]) {
                let c = &self.candidates[i as usize];
                used += c.cost + extra(c, true);
                for &e in self.elements(c) {
                    let times = &mut covered[e as usize];
                    *times = (*times + 1).min(3);
                }
                taken[i as usize] = true;
                chosen.push(i as usize);
            }
        }
        chosen
    }

    /// The candidate worth the most by itself.
    pub(crate) fn best(&self) -> Option<&Candidate> {
        let covered = vec![0u8; self.value.len()];
        let mut best: Option<(&Candidate, f32)> = None;
        for c in &self.candidates {
            let gain = self.gain(c, &covered);
            if best.is_none_or(|b| gain > b.1) {
                best = Some((c, gain));
            }
        }
        best.map(|b| b.0)
    }

    fn elements(&self, c: &Candidate) -> &[u32] {
        &self.arena[c.first as usize..(c.first + c.count) as usize]
    }

    fn gain(&self, c: &Candidate, covered: &[u8]) -> f32 {
        let (mut words, mut facts, mut most) = (0f32, 0f32, 0f32);
        for &e in self.elements(c) {
            let times = covered[e as usize];
            let value = self.value[e as usize];
            if self.kind[e as usize] == Element::Word {
                words += value * AGAIN[times as usize];
            } else if times == 0 {
                facts += value;
                most = most.max(value);
            }
        }
        // The first fact of a unit counts whole, further ones half: a list of names is not worth five sentences.
        (words + (facts + most) * 0.5) * c.weight
    }

    fn ratio(&self, c: &Candidate, covered: &[u8], extra: u32) -> f32 {
        // A few tokens on top prevent that very short units win by shortness alone.
        self.gain(c, covered) / (c.cost + extra + 3) as f32
    }
}

/// Returns how scarce each kind of exact values is, 0 to 1: 0 if a quarter of the units hold one, 1 if one in 32 does.
/// `units` is the logarithm of their number.
fn scarcity(features: &[Features], units: f32) -> [f32; 3] {
    Exact::ALL.map(|kind| {
        let with = features.iter().filter(|own| own.exact & kind.bit() != 0);
        let with = log2(with.count() as u32 + 1);
        ((units - with - 2.0) / 3.0).clamp(0.0, 1.0)
    })
}

/// Returns how strongly a term comes in bursts, 0 to 3: how much fewer blocks contain it than a random spread would
/// give.
fn bursts(occurrences: u32, blocks: u32, all: u32) -> f32 {
    const ONE: u32 = 1 << 16;
    // 2 to the power of −1.4427·n/D, linear between powers of two.
    #[allow(
        clippy::approx_constant,
        reason = "the powers are straight between powers of two anyway"
    )]
    let power = 1.4427 * occurrences as f32 / all as f32;
    let whole = (power as u32).min(15);
    let part = (power - whole as f32).min(1.0);
    let none = (1.0 - part / 2.0) / (1u32 << whole) as f32;
    let chance = log2(((1.0 - none) * ONE as f32) as u32) - 16.0;
    let seen = log2(blocks) - log2(all);
    (chance - seen).clamp(0.0, 3.0)
}

fn term_worth(term: &Term, position: u32) -> f32 {
    if small_word(term.hash) != 0 {
        return 0.0;
    }
    let base = match term.kind {
        TermKind::Word => 1.0,
        TermKind::Whole => 0.6,
        TermKind::Number => 0.7,
        TermKind::Pair => 0.4,
    };
    // A capital inside a sentence is a name in most languages.
    if term.capital && position > 1 {
        base * 1.3
    } else {
        base
    }
}

/// Returns the worth that a fact adds to the words around it. In texts of people and models likes and denials have the
/// worth of their words, and numbers and dates that of [`Exact`] values where those are few.
fn fact_worth(class: FactClass, emphasis: Emphasis, is_tool: bool) -> f32 {
    use FactClass as F;
    let base = match class {
        F::Constraint => 90.0,
        F::Decision | F::Path | F::Identifier => 60.0,
        F::Url => 30.0,
        F::Number if is_tool => 42.0,
        F::Date if is_tool => 34.0,
        F::Quoted if is_tool => 12.0,
        F::Number | F::Date | F::Quoted | F::Preference | F::Negation => 0.0,
    };
    let factor = match (emphasis, class) {
        (Emphasis::Developer, F::Path | F::Identifier | F::Quoted)
        | (Emphasis::Debugger, F::Identifier | F::Path | F::Number | F::Quoted) => 1.5,
        (Emphasis::Planning, F::Decision | F::Date | F::Constraint) => 1.4,
        (Emphasis::Planning, F::Path | F::Identifier) => 0.6,
        _ => 1.0,
    };
    base * factor * if is_tool { 0.6 } else { 1.0 }
}

fn unit_weight(unit: &Unit, body: &str, emphasis: Emphasis) -> f32 {
    let code = match emphasis {
        Emphasis::Developer => 0.9,
        Emphasis::Debugger => 0.7,
        _ => 0.35,
    };
    let weight = match unit.kind {
        UnitKind::Sentence | UnitKind::Item => 1.0,
        UnitKind::Heading => 0.5,
        UnitKind::Quote => 0.8,
        // Text of machines has no features of speech.
        UnitKind::Code => code * 0.4,
        UnitKind::Line => 0.25,
    };
    // A question asks for facts and seldom holds one; the closing question of a model says nothing.
    if body.ends_with(['?', '？', '؟']) {
        weight * 0.5
    } else {
        weight
    }
}

/// Returns how many times as long a message of the assistant is as one of the user, 1 to 3. Where the assistant explains
/// at length what the user asked briefly, the facts are in the user's words.
fn terseness(passages: &[Passage<'_>]) -> f32 {
    let mean = |role: Speaker| {
        let (mut bytes, mut messages) = (0usize, 0usize);
        for passage in passages.iter().filter(|p| p.role == role) {
            bytes += passage.text.len();
            messages += 1;
        }
        bytes as f32 / messages.max(1) as f32
    };
    (mean(Speaker::Assistant) / mean(Speaker::User).max(1.0)).clamp(1.0, 3.0)
}

/// Returns the worth of a tool's line that reports trouble.
fn alarm(body: &str, emphasis: Emphasis) -> Option<f32> {
    #[rustfmt::skip]
    const WORDS: [&str; 22] = [
        "error", "fail", "fatal", "panic", "exception", "traceback", "denied", "refused",
        "not found", "undefined", "cannot", "timed out", "timeout", "warning", "assert", "abort",
        "segfault", "unreachable", "invalid", "missing", "conflict", "killed",
    ];
    let head: String = body
        .chars()
        .take(200)
        .flat_map(char::to_lowercase)
        .collect();
    // "0 errors", "no error" are good news.
    let bad = WORDS.iter().find(|w| head.contains(**w))?;
    if [
        "0 error",
        "no error",
        "0 fail",
        "0 warning",
        "without error",
        "errors: 0",
        "failed: 0",
        "\"error\":null",
        "\"error\": null",
    ]
    .iter()
    .any(|g| head.contains(g))
    {
        return None;
    }
    let worth = if *bad == "warning" { 20.0 } else { 45.0 };
    Some(if emphasis == Emphasis::Debugger {
        worth * 2.0
    } else {
        worth
    })
}

/// Returns `true` if a line of a result is source code, which mentions trouble without reporting it.
fn is_code(body: &str) -> bool {
    let body = body.trim();
    body.ends_with([';', '{', '}', '(', ',', '=', '[', '>'])
        || [
            "//", "/*", "* ", "# ", "- ", "case ", "if ", "throw ", "import ", "export ",
            "return ", "def ", "fn ",
        ]
        .iter()
        .any(|start| body.starts_with(start))
}

/// Returns the hash of the line without its numbers.
fn template(body: &str) -> u64 {
    let mut h = 0u64;
    each_term(body, |t| {
        if t.kind == TermKind::Word {
            h = mix(h ^ t.hash.rotate_left(13));
        }
    });
    h
}
