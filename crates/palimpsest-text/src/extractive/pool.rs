//! The units that a summary can keep: collected, weighed, and the best of them chosen.

mod collector;
mod trouble;
mod weights;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use palimpsest_tokens::TokenCounter;

use super::turns::Turns;
use super::updates::Updates;
use super::{Options, Passage};
use crate::retention::FactClass;
use crate::words::segment::Unit;

use collector::{Collector, Seen};

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

/// The worth of a repeated term, relative to the first time.
const AGAIN: [f32; 4] = [1.0, 0.35, 0.1, 0.0];

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
    /// Collects the units of the passages, whose turns were read already.
    pub(crate) fn new(
        passages: &[Passage<'_>],
        turns: &Turns,
        options: &Options<'_>,
        wanted: Wanted,
        counter: &dyn TokenCounter,
    ) -> Self {
        let mut collector = Collector::new(passages, turns, options, wanted, counter);
        for (index, passage) in passages.iter().enumerate() {
            collector.read(index, passage);
        }
        collector.finish(passages.len())
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

    /// Makes the candidates of passages from `passage` on worth `times` as much.
    pub(crate) fn favour(&mut self, passage: usize, times: f32) {
        for candidate in &mut self.candidates {
            if candidate.passage >= passage {
                candidate.weight *= times;
            }
        }
    }

    /// Returns the newest candidate that changes this one.
    pub(crate) fn change_of(&self, candidate: u32) -> Option<u32> {
        let at = self
            .changed
            .binary_search_by_key(&candidate, |(earlier, _)| *earlier);
        at.ok().map(|at| self.changed[at].1)
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
