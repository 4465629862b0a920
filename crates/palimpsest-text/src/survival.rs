//! What of a conversation's texts still stands in another text: the measures of the benches, of the package's `forgotten`, and
//! of everything that is built on it.
//!
//! Nothing here judges whether a model would find what stands. A value counts where it stands word for word.

use std::collections::HashSet;

use crate::extractive::replacements;
use crate::retention::{Audit, Collector, Fact, Speaker};
use crate::words::Plain;
use crate::words::script::unspaced;
use crate::words::terms::{each_term, hash, mix};

/// A text of the conversation and who said it.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Who said it.
    pub speaker: Speaker,
    /// The position of its message in the caller's list.
    pub message: u32,
    /// The words.
    pub text: &'a str,
}

/// A fact of the conversation, and whether it still stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The fact, as it was said first.
    pub fact: Fact,
    /// Who said it first.
    pub speaker: Speaker,
    /// The message that said it first.
    pub message: u32,
    /// Whether the window holds it.
    pub stands: bool,
}

/// A sentence that still stands although a later one replaced its value, and that later one, which stands nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// The sentence that stands.
    pub old: String,
    /// The message that said it.
    pub message: u32,
    /// The sentence that replaced it.
    pub new: String,
    /// The message that said that.
    pub by: u32,
}

/// Letters in lower case, white space as one space.
pub fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Whether the words stand in the text, and not as a part of longer words. Both are [`plain`].
pub fn stands(text: &str, words: &str) -> bool {
    let joins = |a: Option<char>, b: Option<char>| {
        let letter = |c: char| c.is_alphanumeric() && !unspaced(c);
        a.is_some_and(letter) && b.is_some_and(letter)
    };
    !words.is_empty()
        && text.match_indices(words).any(|(at, _)| {
            let after = &text[at + words.len()..];
            !joins(text[..at].chars().next_back(), words.chars().next())
                && !joins(words.chars().next_back(), after.chars().next())
        })
}

/// The facts of the sources, each once, in the order in which they were said, and whether `window` holds them.
pub fn facts(sources: &[Source<'_>], window: &str) -> Vec<Held> {
    let mut collector = Collector::default();
    let mut from = Vec::new();
    for source in sources {
        collector.add(source.speaker, source.text);
        from.resize(
            collector.audit.facts.len(),
            (source.speaker, source.message),
        );
    }
    let audit: Audit = collector.audit;
    let checked = audit.check(window);
    let mut missing = checked.missing.iter().peekable();
    let mut held = Vec::with_capacity(audit.facts.len());
    for (fact, (speaker, message)) in audit.facts.iter().zip(from) {
        let is_missing = missing.next_if(|m| *m == fact).is_some();
        held.push(Held {
            fact: fact.clone(),
            speaker,
            message,
            stands: !is_missing,
        });
    }
    held
}

/// The sentences that people and models said which stand in `window` although a later sentence replaced their value and does
/// not stand there. Tool output is not read: it reports states, and says nothing of what is still valid.
pub fn stale(held: &[Held], window: &str) -> Vec<Stale> {
    let said: Vec<&Held> = held.iter().filter(|h| h.speaker != Speaker::Tool).collect();
    let facts: Vec<&Fact> = said.iter().map(|h| &h.fact).collect();
    let window = plain(window);
    let mut found = Vec::new();
    for (old, new) in replacements(&facts) {
        let (old, new) = (said[old], said[new]);
        let stands_whole = |held: &Held| stands(&window, &plain(&held.fact.context));
        // the new value may stand in other words than it was said with
        if stands_whole(old) && !stands_whole(new) && !new.stands {
            found.push(Stale {
                old: old.fact.context.clone(),
                message: old.message,
                new: new.fact.context.clone(),
                by: new.message,
            });
        }
    }
    found
}

/// The words of a window, for asking how much of a text stands in it.
#[derive(Debug, Default)]
pub struct Shown {
    /// Hashes of whole texts.
    whole: HashSet<u64, Plain>,
    /// Hashes of runs of [`RUN`] terms.
    runs: HashSet<u64, Plain>,
}

/// Terms of a run. Shorter runs stand in many texts by chance.
const RUN: usize = 4;

impl Shown {
    /// Reads the texts of a window.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut shown = Self::default();
        for text in texts {
            shown.whole.insert(hash(text.trim().as_bytes()));
            each_run(text, |run| {
                shown.runs.insert(run);
            });
        }
        shown
    }

    /// The share of a text that stands in the window, 0 to 1: 1 if the window has a text that is the same, else the share of
    /// its runs of four words.
    pub fn share(&self, text: &str) -> f32 {
        if self.whole.contains(&hash(text.trim().as_bytes())) {
            return 1.0;
        }
        let (mut all, mut here) = (0_u32, 0_u32);
        each_run(text, |run| {
            all += 1;
            here += u32::from(self.runs.contains(&run));
        });
        if all == 0 {
            0.0
        } else {
            here as f32 / all as f32
        }
    }
}

fn each_run(text: &str, mut f: impl FnMut(u64)) {
    let mut last = [0_u64; RUN];
    let mut seen = 0;
    each_term(text, |term| {
        last.rotate_left(1);
        last[RUN - 1] = term.hash;
        seen += 1;
        if seen >= RUN {
            f(last.iter().fold(0, |all, term| mix(all ^ term)));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> [Source<'_>; 1] {
        [Source {
            speaker: Speaker::User,
            message: 3,
            text,
        }]
    }

    #[test]
    fn a_value_does_not_stand_within_a_longer_one() {
        for (text, words, expected) in [
            ("it was eight, they say", "eight", true),
            ("the weight", "eight", false),
            ("room 204 and 2045", "204", true),
            ("2045", "204", false),
            ("参加34人です", "34人", true),
            ("", "a", false),
            ("a", "", false),
        ] {
            assert_eq!(stands(text, words), expected, "{words:?} in {text:?}");
        }
    }

    #[test]
    fn a_fact_is_found_where_it_stands_and_missed_where_it_does_not() {
        let sources = said("The booking is KF-83920 and the file is src/main.rs.");
        let held = facts(&sources, "We look at src/main.rs now.");
        let stand: Vec<(&str, bool)> = held
            .iter()
            .map(|h| (h.fact.text.as_str(), h.stands))
            .collect();
        assert!(stand.contains(&("src/main.rs", true)), "{stand:?}");
        assert!(stand.contains(&("KF-83920", false)), "{stand:?}");
        assert!(held.iter().all(|h| h.message == 3));
    }

    #[test]
    fn a_replaced_value_is_stale_only_without_its_successor() {
        let old = "The hotel in Porto costs 120 euros a night.";
        let new = "The hotel in Porto now costs 145 euros a night instead.";
        let sources: Vec<Source<'_>> = (0..)
            .zip([old, new])
            .map(|(message, text)| Source {
                speaker: Speaker::User,
                message,
                text,
            })
            .collect();
        let of = |window: &str| stale(&facts(&sources, window), window).len();
        assert_eq!(of(old), 1, "only the old one stands");
        assert_eq!(of(&format!("{old}\n{new}")), 0);
        assert_eq!(of(new), 0);
        assert_eq!(of("Nothing of it."), 0);
        assert_eq!(of(&format!("{old} Now 145 euros.")), 0, "in other words");
    }

    #[test]
    fn the_share_of_a_text_that_stands() {
        let shown = Shown::of(["The train leaves at nine from platform six.", "ok"]);
        assert!((shown.share("ok") - 1.0).abs() < f32::EPSILON);
        assert!((shown.share("yes")).abs() < f32::EPSILON);
        let half = shown
            .share("The train leaves at nine from platform six. Bring the blue bag and a hat.");
        assert!(half > 0.2 && half < 0.8, "{half}");
        assert!((shown.share("Nobody has said any of these words.")).abs() < f32::EPSILON);
    }
}
