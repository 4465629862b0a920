//! How likely a unit says something one may be asked about: a weighted sum of cheap features, as a ramp from 0 to 1.

use super::log2;
use super::small_word;
use super::terms::{Term, TermKind, each_term};
use super::vocabulary::{CHANGE, CONTRACTION, FILLER, FIRST, SECOND, TIME, listed};

/// What is seen of one unit while its terms go by.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Features {
    /// Distinct content terms; of pairs of characters two make a word.
    words: u16,
    pairs: u16,
    /// Content terms said for the first time.
    pub new: u16,
    /// Content terms that somebody else takes up.
    pub taken_up: u16,
    names: u16,
    filler: u16,
    all: u16,
    /// Mean of how far content terms come in bursts, 0 to 1.
    pub burst: f32,
    classes: u8,
    has_number: bool,
    /// The kinds of exact values that it says, as bits.
    pub exact: u8,
    /// A machine wrote it: it has no features of speech.
    pub is_machine: bool,
    /// It demands or decides, or is what the user asked to be kept.
    pub settles: bool,
}

/// Whether a term says something by itself.
pub(crate) fn is_content(term: &Term, people: &[u64]) -> bool {
    small_word(term.hash) == 0
        && listed(term.hash) & (FILLER | FIRST | SECOND | CONTRACTION) == 0
        && people.binary_search(&term.hash).is_err()
}

impl Features {
    /// Counts a term; `is_new_here` where the unit has not said it yet.
    pub(crate) fn see(&mut self, term: &Term, content: bool, is_new_here: bool) {
        self.all = self.all.saturating_add(1);
        self.has_number |= term.kind == TermKind::Number;
        let classes = listed(term.hash);
        self.classes |= classes;
        self.filler += u16::from(classes & FILLER != 0);
        if !content || !is_new_here {
            return;
        }
        if term.kind == TermKind::Pair {
            self.pairs = self.pairs.saturating_add(1);
        } else {
            self.words = self.words.saturating_add(1);
        }
        // a capital at the start of a sentence is no name
        self.names += u16::from(term.capital && self.all > 1);
    }

    /// Whether a word of it announces that something is another than before.
    pub(crate) const fn announces_a_change(&self) -> bool {
        self.classes & CHANGE != 0
    }

    /// The weighted sum. Far below 0 the unit is never kept for its own sake.
    pub(crate) fn sum(&self, capitals_are_names: bool) -> f32 {
        let of = |n: u16, most: u16| f32::from(n.min(most)) / f32::from(most);
        let is = |b: bool| f32::from(u8::from(b));
        let content = self.words + self.pairs.div_ceil(2);
        let halves = if self.pairs > 0 { 2 } else { 1 };
        let long = self.all.max(3) / halves;
        let mut z = -2.0 + 0.75 * log2(u32::from(content) + 1);
        z += 0.75 * of(self.new / halves, 3);
        z += 0.75 * self.burst;
        z += 0.5 * of(self.taken_up / halves, 3);
        if capitals_are_names {
            z += of(self.names, 2);
        }
        z += 0.75 * is(self.has_number);
        z += 1.5 * is(self.classes & TIME != 0);
        z += 0.5 * is(self.classes & FIRST != 0);
        z -= 0.75 * is(self.classes & SECOND != 0);
        z - 2.0 * f32::from(self.filler / halves) / f32::from(long.max(3))
    }
}

/// The ramp.
pub(crate) fn probability(sum: f32) -> f32 {
    ((sum + 2.0) / 5.0).clamp(0.02, 1.0)
}

/// Whether a word of a text announces that something is another than before.
pub fn announces_a_change(text: &str) -> bool {
    let mut does = false;
    each_term(text, |term| does |= listed(term.hash) & CHANGE != 0);
    does
}

/// The [`worth`] below which a text says next to nothing.
pub const LITTLE: f32 = 0.3;

/// How likely it is, from 0 to 1, that a text says something one may be asked about, where nothing else of the conversation is known.
pub fn worth(text: &str) -> f32 {
    let mut features = Features::default();
    let mut seen: Vec<u64> = Vec::new();
    each_term(text, |term| {
        let content = is_content(&term, &[]);
        let is_new = !seen.contains(&term.hash);
        if is_new && seen.len() < 64 {
            seen.push(term.hash);
        }
        features.see(&term, content, is_new);
        features.new += u16::from(content && is_new);
    });
    probability(features.sum(true))
}

#[cfg(test)]
mod tests {
    use super::worth;

    /// Statements are worth more than small talk, in every language.
    #[test]
    fn small_talk_is_worth_less() {
        for (talk, statement) in [
            (
                "Wow, that sounds great!",
                "I adopted a grey cat from the shelter last Friday.",
            ),
            (
                "Sounds like fun! Long time no talk!",
                "The server listens on port 8081.",
            ),
            (
                "Danke, das klingt super!",
                "Am Freitag ziehe ich nach Hamburg um.",
            ),
            (
                "¡Gracias, genial!",
                "Ayer compré dos billetes para Sevilla.",
            ),
            ("Merci, super !", "J'ai perdu mon emploi de banquier hier."),
            (
                "Grazie, perfetto!",
                "Ieri ho comprato due biglietti per Roma.",
            ),
            (
                "Obrigado, legal!",
                "Ontem comprei dois bilhetes para Lisboa.",
            ),
            (
                "ありがとう、すごい！",
                "昨日、東京駅で新しい傘を買いました。",
            ),
            ("谢谢，太好了！", "昨天我在北京买了两张火车票。"),
        ] {
            assert!(
                worth(talk) + 0.2 < worth(statement),
                "{talk}: {} {}",
                worth(talk),
                worth(statement)
            );
        }
    }
}
