//! Checks if a window still holds every fact of its source.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::wanted::Wanted;
use super::{Fact, Known, Speaker, extract_from};
use crate::words::Plain;
use crate::words::terms::{hash, mix};

/// The facts of a source, to search in a window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// Every fact once, in the order of the source.
    pub facts: Vec<Fact>,
}

/// The fate of the facts in removed or shortened text. Each fact counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
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
