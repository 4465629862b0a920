//! What can be kept, what it is worth, and the choice among it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use palimpsest_tokens::TokenCounter;

use super::{Emphasis, Passage, Speaker};
use crate::retention::segment::{Unit, UnitKind};
use crate::retention::terms::{Term, TermKind, each_term, hash, mix};
use crate::retention::{FactClass, Finder, Found, Plain, small_word, units};

/// A unit that can be kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    /// Index of its passage.
    pub passage: usize,
    /// Where it stands in the passage.
    pub unit: Unit,
    /// Its tokens and a line feed.
    pub cost: u32,
    weight: f32,
    /// Its elements: `first..first + count` in the pool's arena.
    first: u32,
    count: u32,
}

/// All candidates with what they cover.
pub(crate) struct Pool {
    /// In the order of the conversation.
    pub candidates: Vec<Candidate>,
    /// Elements of all candidates, one after the other.
    arena: Vec<u32>,
    /// What an element is worth when it is said for the first time.
    value: Vec<f32>,
    /// Whether an element is a fact: facts are worth the same whoever says them.
    fact: Vec<bool>,
}

/// How much the user's wish for a focus raises the words it names.
const FOCUS: f32 = 5.0;

impl Pool {
    pub(crate) fn new(
        passages: &[Passage<'_>],
        emphasis: Emphasis,
        focus: Option<&str>,
        counter: &dyn TokenCounter,
    ) -> Self {
        let bytes: usize = passages.iter().map(|p| p.text.len()).sum();
        let mut pool = Self {
            candidates: Vec::with_capacity(bytes / 80 + 1),
            arena: Vec::with_capacity(bytes / 8 + 1),
            value: Vec::new(),
            fact: Vec::new(),
        };
        let mut ids: HashMap<u64, u32, Plain> =
            HashMap::with_capacity_and_hasher(bytes / 24 + 16, Plain::default());
        // Per element: in how many units, the last unit that had it, and its base worth.
        let mut seen: Vec<(u32, u32)> = Vec::new();
        let mut base: Vec<f32> = Vec::new();
        let mut found: Vec<Found> = Vec::new();
        let mut focus_terms: Vec<u64> = Vec::new();
        each_term(focus.unwrap_or_default(), |t| {
            if small_word(t.hash) == 0 {
                focus_terms.push(t.hash);
            }
        });
        focus_terms.sort_unstable();
        let first_user = passages.iter().position(|p| p.role == Speaker::User);
        for (index, passage) in passages.iter().enumerate() {
            let mut finder = Finder::new(passage.text, passage.role);
            for unit in units(passage.text, passage.role) {
                let body = &passage.text[unit.start..unit.end];
                let number = pool.candidates.len() as u32;
                let first = pool.arena.len() as u32;
                let mut hits = 0u32;
                let mut words = 0u32;
                let mut add = |key: u64, worth: f32, fact: bool, pool: &mut Self| {
                    let id = *ids.entry(key).or_insert_with(|| {
                        seen.push((0, u32::MAX));
                        base.push(worth);
                        pool.value.push(0.0);
                        pool.fact.push(fact);
                        seen.len() as u32 - 1
                    });
                    let slot = &mut seen[id as usize];
                    if slot.1 != number {
                        *slot = (slot.0 + 1, number);
                        base[id as usize] = base[id as usize].max(worth);
                        pool.arena.push(id);
                    }
                };
                each_term(body, |t| {
                    words += 1;
                    let mut worth = term_worth(&t, words);
                    if worth <= 0.0 {
                        return;
                    }
                    if focus_terms.binary_search(&t.hash).is_ok() {
                        worth *= FOCUS;
                        hits += 1;
                    }
                    add(t.hash, worth, false, &mut pool);
                });
                found.clear();
                finder.find(passage.text, &unit, &mut found);
                for fact in &found {
                    let text = &passage.text[fact.start..fact.end];
                    let key = mix(hash(text.as_bytes()) ^ (fact.class as u64 + 11).rotate_left(40));
                    let trust = if passage.role == Speaker::Tool {
                        0.6
                    } else {
                        1.0
                    };
                    add(
                        key,
                        fact_worth(fact.class, emphasis) * trust,
                        true,
                        &mut pool,
                    );
                }
                if (passage.role == Speaker::Tool || unit.kind == UnitKind::Line)
                    && let Some(worth) = alarm(body, emphasis)
                {
                    // The same error again, with another number, is the same error.
                    add(mix(template(body) ^ 0xA1A2), worth, true, &mut pool);
                }
                let count = pool.arena.len() as u32 - first;
                if count == 0 {
                    continue;
                }
                let mut weight = unit_weight(passage.role, &unit, body, emphasis);
                if Some(index) == first_user {
                    weight *= 1.3;
                } else if index * 10 >= passages.len() * 9 {
                    weight *= 1.1;
                }
                weight *= 1.0 + 0.8 * hits.min(3) as f32;
                pool.candidates.push(Candidate {
                    passage: index,
                    unit,
                    cost: counter.count(body) + 1,
                    weight,
                    first,
                    count,
                });
            }
        }
        let all = log2(pool.candidates.len() as u32 + 1);
        for (id, value) in pool.value.iter_mut().enumerate() {
            let df = seen[id].0.max(1);
            *value = if pool.fact[id] {
                base[id]
            } else {
                // Rare in this conversation, and a little more if it comes back: a topic, not a slip.
                base[id] * (all - log2(df) + 0.2).max(0.0) * (1.0 + 0.35 * log2(df))
            };
        }
        pool
    }

    /// Chooses candidates worth the most within `budget`; the best first. `extra` tells what choosing a candidate costs
    /// besides its own tokens (a label, a heading) and is told when it is taken.
    pub(crate) fn choose(
        &self,
        budget: u32,
        mut extra: impl FnMut(&Candidate, bool) -> u32,
    ) -> Vec<usize> {
        let mut covered = vec![false; self.value.len()];
        let mut heap: BinaryHeap<(u32, Reverse<u32>)> =
            BinaryHeap::with_capacity(self.candidates.len());
        for (i, c) in self.candidates.iter().enumerate() {
            let ratio = self.ratio(c, &covered, extra(c, false));
            if ratio > 0.0 {
                heap.push((ratio.to_bits(), Reverse(i as u32)));
            }
        }
        let mut chosen = Vec::new();
        let mut used = 0u32;
        // A bound on re-evaluation keeps the whole at n log n.
        let mut patience = self.candidates.len() * 16 + 64;
        while let Some((_, Reverse(i))) = heap.pop() {
            let c = &self.candidates[i as usize];
            let extra_cost = extra(c, false);
            if used + c.cost + extra_cost > budget {
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
            used += c.cost + extra(c, true);
            for &e in self.elements(c) {
                covered[e as usize] = true;
            }
            chosen.push(i as usize);
        }
        chosen
    }

    /// The candidate worth the most by itself.
    pub(crate) fn best(&self) -> Option<&Candidate> {
        let covered = vec![false; self.value.len()];
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

    fn gain(&self, c: &Candidate, covered: &[bool]) -> f32 {
        let (mut words, mut facts, mut most) = (0f32, 0f32, 0f32);
        for &e in self.elements(c) {
            if covered[e as usize] {
                continue;
            }
            if self.fact[e as usize] {
                facts += self.value[e as usize];
                most = most.max(self.value[e as usize]);
            } else {
                words += self.value[e as usize];
            }
        }
        // The first fact of a unit counts whole, further ones half: a list of names is not worth five sentences.
        words * c.weight + (facts + most) * 0.5
    }

    fn ratio(&self, c: &Candidate, covered: &[bool], extra: u32) -> f32 {
        // A few tokens on top keep very short units from winning by shortness alone.
        self.gain(c, covered) / (c.cost + extra + 3) as f32
    }
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

fn fact_worth(class: FactClass, emphasis: Emphasis) -> f32 {
    use FactClass as F;
    let base = match class {
        F::Constraint => 90.0,
        F::Decision | F::Path | F::Identifier => 60.0,
        F::Preference => 36.0,
        F::Number => 42.0,
        F::Date => 34.0,
        F::Url => 30.0,
        F::Negation => 14.0,
        F::Quoted => 12.0,
    };
    let factor = match (emphasis, class) {
        (Emphasis::Developer, F::Path | F::Identifier | F::Quoted)
        | (Emphasis::Debugger, F::Identifier | F::Path | F::Number | F::Quoted) => 1.5,
        (Emphasis::Planning, F::Decision | F::Date | F::Constraint)
        | (Emphasis::Assistant, F::Preference) => 1.4,
        (Emphasis::Planning, F::Path | F::Identifier) => 0.6,
        _ => 1.0,
    };
    base * factor
}

fn unit_weight(role: Speaker, unit: &Unit, body: &str, emphasis: Emphasis) -> f32 {
    let mut weight = match role {
        Speaker::User => 1.25,
        Speaker::Assistant => 1.0,
        Speaker::Tool => 0.4,
    };
    let code = match emphasis {
        Emphasis::Developer => 0.9,
        Emphasis::Debugger => 0.7,
        _ => 0.35,
    };
    weight *= match unit.kind {
        UnitKind::Sentence | UnitKind::Item => 1.0,
        UnitKind::Heading => 0.5,
        UnitKind::Quote => 0.8,
        UnitKind::Code => code,
        UnitKind::Line => 0.6,
    };
    if unit.opens && unit.kind == UnitKind::Sentence {
        weight *= 1.1;
    }
    if body.ends_with(['?', '？', '؟']) {
        // A model's closing question says nothing; a user's is what it was about.
        weight *= if role == Speaker::User { 0.9 } else { 0.5 };
    }
    weight
}

/// What a tool's line is worth for reporting trouble.
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

/// The line with its numbers out.
fn template(body: &str) -> u64 {
    let mut h = 0u64;
    each_term(body, |t| {
        if t.kind == TermKind::Word {
            h = mix(h ^ t.hash.rotate_left(13));
        }
    });
    h
}

/// Base-2 logarithm, straight between powers of two: the same on every machine.
pub(crate) fn log2(n: u32) -> f32 {
    let n = n.max(1);
    let e = n.ilog2();
    e as f32 + (n - (1 << e)) as f32 / (1u32 << e) as f32
}
