//! The worth of elements and the weights of units.

use super::{Element, Exact, Pool, Seen};
use crate::extractive::{Emphasis, Passage, Speaker};
use crate::retention::FactClass;
use crate::words::segment::{Unit, UnitKind};
use crate::words::terms::{Term, TermKind};
use crate::words::worth::{Features, probability};
use crate::words::{log2, small_word};

/// The worth of an exact value of a kind that hardly appears.
const EXACT: f32 = 60.0;

/// The least weight of a unit that is kept for its own sake. A statement of two meaningful words lies just above it.
const LEAST: f32 = -0.5;

/// The number of turns in a block. A term's occurrences in one block count as one place.
pub(super) const BLOCK: usize = 8;

impl Pool {
    /// Computes the values of the elements and the weights of the units, when all of them are known.
    pub(super) fn weigh(
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

/// Returns the worth of a term that is the `position`-th of its unit.
pub(super) fn term_worth(term: &Term, position: u32) -> f32 {
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
pub(super) fn fact_worth(class: FactClass, emphasis: Emphasis, is_tool: bool) -> f32 {
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

/// Returns the weight of a unit of its kind, before its words are looked at.
pub(super) fn unit_weight(unit: &Unit, body: &str, emphasis: Emphasis) -> f32 {
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
pub(super) fn terseness(passages: &[Passage<'_>]) -> f32 {
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
