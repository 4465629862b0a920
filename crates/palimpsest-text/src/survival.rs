//! Measures the part of a conversation's texts that another text still holds. The benches, the package's `forgotten`
//! and everything built on it use these measures.
//!
//! They do not judge if a model would find the content. A value counts if it is present word for word.

use std::collections::HashSet;

use crate::extractive::replacements;
use crate::retention::{Audit, Collector, Fact, Speaker};
use crate::words::Plain;
use crate::words::script::unspaced;
use crate::words::terms::{each_term, hash, mix};

/// A text of the conversation and its speaker.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The speaker.
    pub speaker: Speaker,
    /// The position of its message in the caller's list.
    pub message: u32,
    /// The words.
    pub text: &'a str,
}

/// A fact of the conversation, and whether it is still present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The fact in its first wording.
    pub fact: Fact,
    /// The first speaker.
    pub speaker: Speaker,
    /// The message that said it first.
    pub message: u32,
    /// The window holds it.
    pub stands: bool,
}

/// A sentence that is still present although a later one replaced its value, and the later one, which is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// The sentence that is present.
    pub old: String,
    /// The message of that sentence.
    pub message: u32,
    /// The sentence that replaced it.
    pub new: String,
    /// The message of that one.
    pub by: u32,
}

/// Returns the text in lower case with single spaces.
pub fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Returns `true` if the words appear in the text, and not as a part of longer words. Both must be [`plain`].
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

/// Returns the facts of the sources, each once, in the order of the conversation, and whether `window` holds them.
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

/// Returns the sentences of people and models that are in `window` although a later sentence replaced their value and
/// is missing. Tool output is ignored, because it reports states and does not say what is still valid.
pub fn stale(held: &[Held], window: &str) -> Vec<Stale> {
    let said: Vec<&Held> = held.iter().filter(|h| h.speaker != Speaker::Tool).collect();
    let facts: Vec<&Fact> = said.iter().map(|h| &h.fact).collect();
    let window = plain(window);
    let mut found = Vec::new();
    for (old, new) in replacements(&facts) {
        let (old, new) = (said[old], said[new]);
        let stands_whole = |held: &Held| stands(&window, &plain(&held.fact.context));
        // The window may hold the new value in other words.
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

/// The words of a window, to measure the share of a text in it.
#[derive(Debug, Default)]
pub struct Shown {
    /// Hashes of whole texts.
    whole: HashSet<u64, Plain>,
    /// Hashes of runs of [`RUN`] terms.
    runs: HashSet<u64, Plain>,
}

/// The number of terms in a run. Shorter runs appear in many texts by chance.
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

    /// Returns the share of a text in the window, 0 to 1: 1 if the window has an equal text, otherwise the share of its
    /// runs of four words.
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
