//! Keeps the findings of a text, so that one compaction reads each text once.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::constraint::{self, Constraint, Decided};
use super::scan::Found;
use super::secret::holds_secret;
use super::{Fact, Finder, Speaker, context, units};
use crate::words::segment::Unit;
use crate::words::{Plain, terms};

/// The findings of one reading of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The text as units of its speaker.
    units: Vec<Unit>,
    /// The findings in the units, one after the other.
    found: Vec<Found>,
    /// For each unit the end of its part of `found`.
    ends: Vec<usize>,
    /// The facts, each once, without those beside a secret.
    pub(super) facts: Vec<Fact>,
    /// The user's demands: the number of the unit, and the decision about it.
    demands: Vec<(usize, Decided)>,
}

impl Scan {
    /// Reads a text.
    pub fn of(text: &str, speaker: Speaker) -> Self {
        let units = units(text, speaker);
        let mut scan = Self {
            ends: Vec::with_capacity(units.len()),
            units,
            found: Vec::new(),
            facts: Vec::new(),
            demands: Vec::new(),
        };
        let mut seen: HashSet<u64, Plain> = HashSet::default();
        let mut finder = Finder::new(text, speaker);
        for unit in &scan.units {
            let first = scan.found.len();
            finder.find(text, unit, &mut scan.found);
            if let Some(decided) = finder.decided {
                scan.demands.push((scan.ends.len(), decided));
            }
            scan.ends.push(scan.found.len());
            let found = &scan.found[first..];
            if !found.is_empty() && holds_secret(&text[unit.start..unit.end]) {
                continue;
            }
            for fact in found {
                let body = text[fact.start..fact.end].trim();
                let key = terms::mix(terms::hash(body.as_bytes()) ^ (fact.class as u64 + 1));
                if !body.is_empty() && seen.insert(key) {
                    scan.facts.push(Fact {
                        class: fact.class,
                        text: body.to_owned(),
                        context: context(text, unit, fact),
                    });
                }
            }
        }
        scan
    }

    /// The facts in their order, each once.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Returns what [`super::constraints`] finds in the text, if a user wrote it.
    pub fn constraints(&self, text: &str) -> Vec<Constraint> {
        let demands = self.demands.iter();
        demands
            .filter_map(|&(n, decided)| constraint::demand(text, self.units.get(n)?, decided))
            .collect()
    }

    /// The units of the text.
    pub(crate) fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The findings in the unit with that number.
    pub(crate) fn found_in(&self, unit: usize) -> &[Found] {
        let from = unit.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.found[from..self.ends[unit]]
    }
}

/// The texts that were read. It lives as long as one compaction.
#[derive(Debug, Default)]
pub struct Known(RefCell<HashMap<u64, Vec<Text>, Plain>>);

#[derive(Debug)]
struct Text {
    speaker: Speaker,
    words: Box<str>,
    scan: Rc<Scan>,
}

impl Known {
    /// Returns the findings of a text: from an earlier reading, or from a new one.
    pub fn scan(&self, text: &str, speaker: Speaker) -> Rc<Scan> {
        let key = terms::hash(text.as_bytes());
        let is_it = |known: &&Text| known.speaker == speaker && &*known.words == text;
        if let Some(known) = self
            .0
            .borrow()
            .get(&key)
            .and_then(|all| all.iter().find(is_it))
        {
            return Rc::clone(&known.scan);
        }
        let scan = Rc::new(Scan::of(text, speaker));
        self.0.borrow_mut().entry(key).or_default().push(Text {
            speaker,
            words: text.into(),
            scan: Rc::clone(&scan),
        });
        scan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retention::{constraints, extract_from};

    /// P9: a kept reading has the same facts and demands as a new one.
    #[test]
    fn what_is_kept_is_what_would_be_found() {
        let known = Known::default();
        let texts = [
            "Never rename src/part.rs, the bank reads it. What does it return? We decided on 40 rows, not 20.",
            "Answer only in English from now on!\n\n- The password is hunter2, never log it.\n- Keep to 200 words.",
            "I never saw that film. Don't run it yet. `cargo test` takes 250ms.",
            "Schreib ab jetzt immer auf Deutsch. Ich mag keine Pilze.",
            "",
        ];
        for text in texts {
            for speaker in [Speaker::User, Speaker::Assistant, Speaker::Tool] {
                for _ in 0..2 {
                    let scan = known.scan(text, speaker);
                    assert_eq!(scan.facts(), extract_from(text, speaker));
                    assert_eq!(*scan, Scan::of(text, speaker));
                }
            }
            let scan = known.scan(text, Speaker::User);
            assert_eq!(scan.constraints(text), constraints(text), "{text}");
        }
        assert!(
            known
                .scan(texts[0], Speaker::User)
                .constraints(texts[0])
                .len()
                == 1
        );
    }
}
