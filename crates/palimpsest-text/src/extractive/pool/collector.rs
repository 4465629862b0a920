//! Reads passages into a pool, unit by unit.

use std::collections::HashMap;

use palimpsest_tokens::TokenCounter;

use super::trouble::{alarm, is_code, template};
use super::weights::{BLOCK, fact_worth, term_worth, terseness, unit_weight};
use super::{Candidate, Element, Exact, Pool, Wanted};
use crate::extractive::turns::Turns;
use crate::extractive::updates::Updates;
use crate::extractive::{Options, Passage, Speaker};
use crate::retention::{FactClass, Finder, Found};
use crate::words::segment::{Unit, UnitKind, lines, prose};
use crate::words::terms::{each_term, hash, mix};
use crate::words::worth::{Features, is_content};
use crate::words::{Plain, small_word};

/// The factor by which the user's focus raises the words that it names.
const FOCUS: f32 = 5.0;

/// The largest number of lines of one result that report trouble. Further lines are much the same.
const ALARMS: u32 = 3;

/// The number of turns within which another speaker may take up a term.
const UPTAKE: usize = 3;

/// The statistics of an element while the units go by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) units: u32,
    last_unit: u32,
    pub(super) occurrences: u32,
    pub(super) blocks: u32,
    last_block: u32,
    pub(super) base: f32,
    pub(super) content: bool,
}

/// The pool while passages are read.
pub(super) struct Collector<'a> {
    pool: Pool,
    /// The number of each element, by its key.
    ids: HashMap<u64, u32, Plain>,
    /// The statistics of each element.
    seen: Vec<Seen>,
    /// The features of each candidate.
    features: Vec<Features>,
    updates: Updates,
    turns: &'a Turns,
    options: &'a Options<'a>,
    wanted: Wanted,
    counter: &'a dyn TokenCounter,
    /// The words of the person's focus, sorted.
    focus: Vec<u64>,
    /// Tools are called or answer.
    has_tools: bool,
    /// The factor of the user's words where there are no tools.
    terse: f32,
}

/// A passage that is being read.
struct Source<'p> {
    index: usize,
    passage: &'p Passage<'p>,
    /// The text after the head of the message.
    text: &'p str,
    /// The place where that text begins in the passage.
    shift: usize,
    /// The place in the text where calls begin.
    calls: usize,
    /// The factor of whoever speaks.
    voice: f32,
}

/// The news about an element that was added to a unit.
struct Added {
    /// The unit did not have it yet.
    is_new_here: bool,
    /// No unit had it yet.
    is_first: bool,
}

impl Source<'_> {
    fn is_tool(&self) -> bool {
        self.passage.role == Speaker::Tool
    }

    /// The words of machines, which no features of speech are looked for in.
    fn is_machine(&self, unit: &Unit) -> bool {
        self.is_tool() || unit.kind == UnitKind::Line
    }

    /// Divides the text: results and calls by lines, everything else by sentences.
    fn units(&self) -> Vec<Unit> {
        if self.is_tool() {
            return lines(self.text);
        }
        let mut units = prose(&self.text[..self.calls]);
        units.extend(
            lines(&self.text[self.calls..])
                .into_iter()
                .map(|unit| Unit {
                    start: unit.start + self.calls,
                    end: unit.end + self.calls,
                    ..unit
                }),
        );
        units
    }
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        passages: &[Passage<'_>],
        turns: &'a Turns,
        options: &'a Options<'a>,
        wanted: Wanted,
        counter: &'a dyn TokenCounter,
    ) -> Self {
        let bytes: usize = passages.iter().map(|p| p.text.len()).sum();
        let mut focus = Vec::new();
        each_term(options.focus.unwrap_or_default(), |t| {
            if small_word(t.hash) == 0 {
                focus.push(t.hash);
            }
        });
        focus.sort_unstable();
        Self {
            pool: Pool {
                candidates: Vec::with_capacity(bytes / 80 + 1),
                arena: Vec::with_capacity(bytes / 8 + 1),
                value: Vec::new(),
                kind: Vec::new(),
                changed: Vec::new(),
            },
            ids: HashMap::with_capacity_and_hasher(bytes / 24 + 16, Plain::default()),
            seen: Vec::new(),
            features: Vec::with_capacity(bytes / 80 + 1),
            updates: Updates::default(),
            turns,
            options,
            wanted,
            counter,
            focus,
            has_tools: passages
                .iter()
                .any(|p| p.role == Speaker::Tool || p.calls.is_some()),
            terse: terseness(passages),
        }
    }

    /// Reads a passage. Passages are read in their order.
    pub(super) fn read(&mut self, index: usize, passage: &Passage<'_>) {
        let shift = self.turns.turns[index].from;
        let text = &passage.text[shift..];
        let calls = passage
            .calls
            .map_or(text.len(), |at| at.saturating_sub(shift));
        let source = Source {
            index,
            passage,
            text,
            shift,
            calls,
            voice: self.voice(passage),
        };
        // What is known of the whole text can be used if its units are the same.
        let scan = self
            .options
            .known
            .filter(|_| shift == 0 && calls == text.len())
            .map(|known| known.scan(text, passage.role));
        let mut finder = Finder::new(text, passage.role);
        let mut found = Vec::new();
        let own;
        let units = if let Some(scan) = &scan {
            scan.units()
        } else {
            own = source.units();
            &own
        };
        let mut alarms = 0;
        for (place, unit) in units.iter().enumerate() {
            let alarm = self.alarm(&source, unit, alarms);
            alarms += u32::from(alarm.is_some());
            let is_value = source.is_tool() || unit.start >= calls;
            if self.wanted == Wanted::TellingBesideValues && is_value && alarm.is_none() {
                continue;
            }
            let found = if let Some(scan) = &scan {
                scan.found_in(place)
            } else {
                found.clear();
                finder.find(text, unit, &mut found);
                &found
            };
            self.unit(&source, unit, found, alarm);
        }
    }

    /// Returns the factor of whoever speaks.
    fn voice(&self, passage: &Passage<'_>) -> f32 {
        match passage.role {
            Speaker::User if self.has_tools => 1.8,
            Speaker::User => self.terse,
            Speaker::Assistant if passage.calls.is_some() => 0.35,
            _ => 1.0,
        }
    }

    /// Returns the worth of a unit that reports trouble, if it does. `before` is the number of units of its passage that did.
    fn alarm(&self, source: &Source<'_>, unit: &Unit, before: u32) -> Option<f32> {
        let body = &source.text[unit.start..unit.end];
        let is_enough =
            self.wanted == Wanted::TellingBesideValues && (before >= ALARMS || is_code(body));
        if is_enough || !source.is_machine(unit) {
            return None;
        }
        alarm(body, self.options.emphasis)
    }

    /// Adds a unit with its terms and facts. One without any is left out.
    fn unit(&mut self, source: &Source<'_>, unit: &Unit, found: &[Found], alarm: Option<f32>) {
        let body = &source.text[unit.start..unit.end];
        let number = self.pool.candidates.len() as u32;
        let first = self.pool.arena.len() as u32;
        let is_machine = source.is_machine(unit);
        let mut features = Features::default();
        let hits = self.terms(source, body, &mut features);
        let settles = self.facts(source, is_machine, found, &mut features);
        if let Some(worth) = alarm {
            // The same error with another number is the same error.
            let key = mix(template(body) ^ 0xA1A2);
            self.add(source, key, worth, Element::Fact, false);
        }
        let count = self.pool.arena.len() as u32 - first;
        if count == 0 {
            return;
        }
        features.is_machine =
            source.is_tool() || matches!(unit.kind, UnitKind::Code | UnitKind::Line);
        if !is_machine && features.announces_a_change() {
            self.updates.announce(number);
        }
        features.settles = settles || hits > 0 || self.updates.tells(number);
        self.features.push(features);
        let weight = unit_weight(unit, body, self.options.emphasis) * source.voice;
        self.pool.candidates.push(Candidate {
            passage: source.index,
            unit: Unit {
                start: unit.start + source.shift,
                end: unit.end + source.shift,
                ..*unit
            },
            cost: self.counter.count(body) + 1,
            weight: weight * (1.0 + 0.8 * hits.min(3) as f32),
            first,
            count,
        });
    }

    /// Adds the terms of a unit. Returns how many of them the person's focus names.
    fn terms(&mut self, source: &Source<'_>, body: &str, features: &mut Features) -> u32 {
        let turns = self.turns;
        let (mut words, mut hits) = (0, 0);
        each_term(body, |t| {
            words += 1;
            let content = is_content(&t, &turns.people);
            let mut worth = term_worth(&t, words);
            if worth <= 0.0 {
                features.see(&t, false, false);
                return;
            }
            if self.focus.binary_search(&t.hash).is_ok() {
                worth *= FOCUS;
                hits += 1;
            }
            let added = self.add(source, t.hash, worth, Element::Word, content);
            features.see(&t, content, added.is_new_here);
            features.new += u16::from(content && added.is_first);
        });
        hits
    }

    /// Adds the facts of a unit. Returns `true` if one of them settles something.
    fn facts(
        &mut self,
        source: &Source<'_>,
        is_machine: bool,
        found: &[Found],
        features: &mut Features,
    ) -> bool {
        let number = self.pool.candidates.len() as u32;
        let mut settles = false;
        for fact in found {
            settles |= matches!(fact.class, FactClass::Constraint | FactClass::Decision);
            let text = &source.text[fact.start..fact.end];
            if !is_machine {
                self.updates.see(number, fact.class, text);
            }
            let kind = Exact::of(fact.class, text)
                .filter(|_| !is_machine)
                .map_or(Element::Fact, Element::Exact);
            if let Element::Exact(kind) = kind {
                features.exact |= kind.bit();
            }
            let worth = fact_worth(fact.class, self.options.emphasis, source.is_tool());
            if worth > 0.0 || kind != Element::Fact {
                let key = hash(text.as_bytes()) ^ (fact.class as u64 + 11).rotate_left(40);
                self.add(source, mix(key), worth, kind, false);
            }
        }
        settles
    }

    /// Adds an element to the unit that is being read.
    fn add(
        &mut self,
        source: &Source<'_>,
        key: u64,
        worth: f32,
        kind: Element,
        content: bool,
    ) -> Added {
        let number = self.pool.candidates.len() as u32;
        let known = self.seen.len() as u32;
        let id = *self.ids.entry(key).or_insert_with(|| {
            self.seen.push(Seen {
                units: 0,
                last_unit: u32::MAX,
                occurrences: 0,
                blocks: 0,
                last_block: u32::MAX,
                base: worth,
                content,
            });
            self.pool.value.push(0.0);
            self.pool.kind.push(kind);
            known
        });
        let seen = &mut self.seen[id as usize];
        seen.occurrences += 1;
        let block = (source.index / BLOCK) as u32;
        if seen.last_block != block {
            seen.last_block = block;
            seen.blocks += 1;
        }
        let is_new_here = seen.last_unit != number;
        if is_new_here {
            let last = std::mem::replace(&mut seen.last_unit, number) as usize;
            seen.units += 1;
            seen.base = seen.base.max(worth);
            self.pool.arena.push(id);
            if content {
                self.take_up(source.index, last);
            }
        }
        Added {
            is_new_here,
            is_first: id == known,
        }
    }

    /// Notes that a word of the unit `last` returns, if another speaker says it soon after.
    fn take_up(&mut self, index: usize, last: usize) {
        let Some(before) = self.pool.candidates.get(last) else {
            return;
        };
        let turns = &self.turns.turns;
        let is_near = index > before.passage && index - before.passage <= UPTAKE;
        if is_near && turns[before.passage].speaker != turns[index].speaker {
            self.features[last].taken_up += 1;
        }
    }

    /// Weighs what was read.
    pub(super) fn finish(mut self, passages: usize) -> Pool {
        // German writes every noun with a capital.
        let language = self.turns.language;
        let capitals_are_names = !language.is_some_and(|l| l.tables().has_capital_nouns);
        self.pool.weigh(
            &self.seen,
            &mut self.features,
            passages,
            capitals_are_names,
            self.wanted == Wanted::All,
        );
        self.pool.pair(&self.updates, &self.seen);
        self.pool
    }
}
