//! The counts of all messages of a session, with their sum.

use std::borrow::Cow;

use crate::{Count, CountRole, Source, TokenCounter};

/// A list of messages' counts whose sum is always available, also while a better counter recounts them.
///
/// When the epoch of the counter changes, the old counts stay valid as estimates, and [`Tally::recount`] replaces them
/// in slices.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    entries: Vec<Entry>,
    /// The sum of all entries, in tokens.
    tokens: u64,
    /// The sum of the entries that another counter made.
    stale: u64,
    epoch: u64,
    /// All entries before this one are current.
    next: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    tokens: u32,
    epoch: u64,
}

impl Tally {
    /// Creates an empty tally for a counter.
    pub fn new(counter: &dyn TokenCounter) -> Self {
        Self {
            epoch: counter.epoch(),
            ..Self::default()
        }
    }

    /// The number of messages.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there are no messages.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Counts a message with its template, adds it at the end, and returns its tokens.
    pub fn push(&mut self, counter: &dyn TokenCounter, role: CountRole, text: &str) -> u32 {
        self.switch(counter);
        let tokens = counter.count_message(role, text);
        self.entries.push(Entry {
            tokens,
            epoch: self.epoch,
        });
        self.tokens += u64::from(tokens);
        tokens
    }

    /// Adds a message whose count was stored with the counter's epoch.
    pub fn push_counted(&mut self, tokens: u32, epoch: u64) {
        self.entries.push(Entry { tokens, epoch });
        self.tokens += u64::from(tokens);
        if epoch != self.epoch {
            self.stale += u64::from(tokens);
            self.next = self.next.min(self.entries.len() - 1);
        }
    }

    /// Counts a message again after its text changed. Does nothing if there is none at `index`.
    pub fn replace(
        &mut self,
        index: usize,
        counter: &dyn TokenCounter,
        role: CountRole,
        text: &str,
    ) {
        self.switch(counter);
        let epoch = self.epoch;
        if let Some(entry) = self.entries.get_mut(index) {
            let new = Entry {
                tokens: counter.count_message(role, text),
                epoch,
            };
            let old = std::mem::replace(entry, new);
            self.tokens = self.tokens - u64::from(old.tokens) + u64::from(new.tokens);
            if old.epoch != epoch {
                self.stale -= u64::from(old.tokens);
            }
        }
    }

    /// Drops the messages from `len` on.
    pub fn truncate(&mut self, len: usize) {
        for entry in self.entries.drain(len.min(self.entries.len())..) {
            self.tokens -= u64::from(entry.tokens);
            if entry.epoch != self.epoch {
                self.stale -= u64::from(entry.tokens);
            }
        }
        self.next = self.next.min(self.entries.len());
    }

    /// Returns the tokens of one message and the epoch of the counter that counted it.
    pub fn get(&self, index: usize) -> Option<(u32, u64)> {
        self.entries
            .get(index)
            .map(|entry| (entry.tokens, entry.epoch))
    }

    /// Returns the sum of the tokens of the messages `from..to`.
    pub fn sum(&self, from: usize, to: usize) -> u64 {
        let to = to.min(self.entries.len());
        self.entries[from.min(to)..to]
            .iter()
            .map(|entry| u64::from(entry.tokens))
            .sum()
    }

    /// Returns the tokens of the whole prompt: all messages and the template's fixed part. Takes constant time.
    pub fn total(&self, counter: &dyn TokenCounter) -> Count {
        let tokens =
            u32::try_from(self.tokens + u64::from(counter.overhead().base)).unwrap_or(u32::MAX);
        let stale = if counter.epoch() == self.epoch {
            self.stale
        } else {
            self.tokens
        };
        let stale = u32::try_from(stale).unwrap_or(u32::MAX);
        Count {
            tokens,
            source: if stale == 0 {
                counter.source()
            } else {
                Source::Estimated
            },
            // The comparison of families shows that another vocabulary's count is off by up to a fifth.
            bound: counter.bound(tokens - stale.min(tokens)) + stale.div_ceil(5),
        }
    }

    /// Returns `true` if `counter` counted every message.
    pub fn is_current(&self, counter: &dyn TokenCounter) -> bool {
        counter.epoch() == self.epoch && self.stale == 0
    }

    /// Counts messages again that another counter counted, oldest first, until it has counted about `budget` bytes of
    /// text or none is left (`true`). `text` returns the role and text of a message, or `None` to keep its count.
    pub fn recount<'a>(
        &mut self,
        counter: &dyn TokenCounter,
        budget: usize,
        mut text: impl FnMut(usize) -> Option<(CountRole, Cow<'a, str>)>,
    ) -> bool {
        self.switch(counter);
        let mut done = 0;
        while let Some(entry) = self.entries.get_mut(self.next) {
            if entry.epoch != self.epoch {
                if done >= budget.max(1) {
                    return false;
                }
                let old = u64::from(entry.tokens);
                if let Some((role, text)) = text(self.next) {
                    entry.tokens = counter.count_message(role, &text);
                    done += text.len().max(64);
                }
                entry.epoch = self.epoch;
                self.stale -= old;
                self.tokens = self.tokens - old + u64::from(entry.tokens);
            }
            self.next += 1;
        }
        true
    }

    /// Marks the counts of any other counter as stale.
    fn switch(&mut self, counter: &dyn TokenCounter) {
        let epoch = counter.epoch();
        if epoch == self.epoch {
            return;
        }
        self.epoch = epoch;
        self.stale = self
            .entries
            .iter()
            .filter(|entry| entry.epoch != epoch)
            .map(|entry| u64::from(entry.tokens))
            .sum();
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Estimator, Family};

    const TEXTS: [&str; 4] = [
        "Hello, who are you?",
        "I am a model.",
        "",
        "fn main() { println!(\"12345\"); }",
    ];

    fn tally(counter: &Estimator) -> Tally {
        let mut tally = Tally::new(counter);
        for text in TEXTS {
            tally.push(counter, CountRole::User, text);
        }
        tally
    }

    /// B6, B8: the sum is that of the parts after messages were added, replaced and dropped.
    #[test]
    fn the_sum_is_that_of_the_parts() {
        let counter = Estimator::new(Family::Qwen);
        let mut tally = tally(&counter);
        let parts: u32 = TEXTS
            .iter()
            .map(|text| counter.count_message(CountRole::User, text))
            .sum();
        assert_eq!(
            tally.total(&counter).tokens,
            parts + counter.overhead().base
        );
        assert_eq!(tally.sum(0, 4), u64::from(parts));
        tally.replace(
            1,
            &counter,
            CountRole::Assistant,
            "Something else that is longer than before.",
        );
        tally.truncate(3);
        assert_eq!(
            u64::from(tally.total(&counter).tokens - counter.overhead().base),
            tally.sum(0, 99)
        );
        assert_eq!(tally.total(&counter).source, Source::Estimated);
    }

    /// B8: after a change of counter the old sum stays as an estimate with a wide bound, and recounting corrects it in
    /// slices.
    #[test]
    fn another_counter_goes_over_it_in_slices() {
        let (old, new) = (
            Estimator::new(Family::Llama2),
            Estimator::new(Family::Gpt4o),
        );
        let texts = TEXTS.map(|text| text.repeat(100));
        let mut tally = Tally::new(&old);
        for text in &texts {
            tally.push(&old, CountRole::User, text);
        }
        let before = tally.total(&new);
        assert!(!tally.is_current(&new));
        assert!(before.bound > before.tokens / 6);
        let mut slices = 1;
        while !tally.recount(&new, 1, |i| {
            Some((CountRole::User, texts[i].as_str().into()))
        }) {
            slices += 1;
        }
        assert_eq!(slices, 4);
        assert!(tally.is_current(&new));
        let parts: u32 = texts
            .iter()
            .map(|text| new.count_message(CountRole::User, text))
            .sum();
        assert_eq!(tally.total(&new).tokens, parts + new.overhead().base);
        assert!(tally.total(&new).bound < before.bound);
        assert_ne!(tally.total(&new).tokens, before.tokens);
    }

    /// B8: a stored count returns with its epoch, and is trusted if it is the counter's own.
    #[test]
    fn stored_counts_come_back() {
        let counter = Estimator::default();
        let mut tally = Tally::new(&counter);
        tally.push_counted(40, counter.epoch());
        assert!(tally.is_current(&counter));
        tally.push_counted(60, 7);
        assert!(!tally.is_current(&counter));
        assert!(tally.recount(&counter, 1000, |i| {
            (i == 1).then(|| (CountRole::Tool, "x".into()))
        }));
        assert_eq!(tally.get(0), Some((40, counter.epoch())));
        assert_eq!(
            tally.sum(1, 2),
            u64::from(counter.count_message(CountRole::Tool, "x"))
        );
    }
}
