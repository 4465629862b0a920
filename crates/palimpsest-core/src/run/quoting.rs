//! The user's own words of covered messages, which stand in the slot (P3).

use palimpsest_tokens::TokenCounter;

use crate::context::shrink::standing;
use crate::context::slot::quote_line;
use crate::context::{Context, Quote};
use crate::data::message::{Role, Seq};
use crate::data::policy::UserWords;
use crate::data::rendition::Rendition;
use palimpsest_text::extractive;

use super::cover::SMALLEST_SUMMARY;

/// The share of its worth that the oldest message loses against the newest, 0 to 1.
const AGE: f32 = 0.3;

/// The newest covered messages of the user's that are looked through for those that say the most.
const MOST_OWN: usize = 512;

/// The user's covered words that could be quoted: the best first.
pub(super) struct OwnWords {
    /// No tools are used. Then a message that has no room makes way for the next one.
    is_talk: bool,
    /// Each message with its words.
    words: Vec<(Seq, String)>,
}

impl OwnWords {
    /// Collects them. In a talk, the messages that say the most come first, and of two that say as much the newer one. With
    /// tools, the newest come first. A message that says next to nothing by itself is left out.
    pub(super) fn of(context: &Context) -> Self {
        let is_talk = !context.has_tools();
        let all = context.entries.len().max(1) as f32;
        let mut found: Vec<(f32, Seq, String)> = Vec::new();
        let newest = context.entries.iter().enumerate().rev();
        let covered = newest.filter(|(_, entry)| {
            let message = &entry.message;
            message.role == Role::User
                && matches!(context.view.rendition(message.seq), Rendition::Covered(_))
        });
        for (n, entry) in covered.take(MOST_OWN) {
            let words = entry.message.words().trim().to_owned();
            let worth = extractive::worth(&words);
            if worth < extractive::LITTLE {
                continue;
            }
            let age = 1.0 - n as f32 / all;
            found.push((worth * (1.0 - AGE * age), entry.message.seq, words));
        }
        if is_talk {
            palimpsest_text::order::sort_by(&mut found, |a, b| {
                b.0.total_cmp(&a.0).then(b.1.cmp(&a.1))
            });
        }
        let words = found.into_iter().map(|(_, seq, words)| (seq, words));
        Self {
            is_talk,
            words: words.collect(),
        }
    }

    /// As many of them as have `room`, in the order of the conversation (P3). Words that stand in the window already are not
    /// quoted. What does not fit as a whole is cut to at most a quarter of the room, if it is long; what is short stays whole
    /// or goes.
    pub(super) fn quotes(&self, context: &Context, room: u32) -> Vec<Quote> {
        let counter = context.counter.as_ref();
        if context.setup().policy.user_words == UserWords::Summarize || room < SMALLEST_SUMMARY {
            return Vec::new();
        }
        let most = room / 4;
        let mut said = standing(context);
        let mut left = room;
        let mut quotes: Vec<Quote> = Vec::new();
        // what was cut although nobody needs its room yet, the best first
        let mut cut: Vec<(usize, &str)> = Vec::new();
        for (seq, words) in &self.words {
            if said.contains(words) {
                continue;
            }
            let Some(quote) = quote(*seq, words, most.min(left), left, counter) else {
                if self.is_talk {
                    continue;
                }
                break;
            };
            left -= quote.tokens;
            if quote.text != *words {
                cut.push((quotes.len(), words));
            }
            said.insert(words.clone());
            quotes.push(quote);
        }
        for (at, words) in cut {
            let room = quotes[at].tokens + left;
            if let Some(longer) = quote(quotes[at].seq, words, room, room, counter) {
                left = room - longer.tokens;
                quotes[at] = longer;
            }
        }
        palimpsest_text::order::sort_by_key(&mut quotes, |q| q.seq);
        quotes
    }
}

/// The fewest tokens of a message that is ever cut: of a shorter one a cut leaves less than its mark costs.
const SMALLEST_CUT: u32 = 60;

/// One quoted message: whole if it is within `whole_room` and short, or within `room`; else excerpted to `room`. `None` if
/// it is short and does not fit, or if not even an excerpt fits.
fn quote(
    seq: Seq,
    words: &str,
    room: u32,
    whole_room: u32,
    counter: &dyn TokenCounter,
) -> Option<Quote> {
    let whole = words.trim();
    let cost = |text: &str| counter.count(&quote_line(seq, text)) + 1;
    let mut text = whole.to_owned();
    let mut tokens = cost(whole);
    if counter.count(whole) < SMALLEST_CUT {
        return (tokens <= whole_room).then_some(Quote { seq, text, tokens });
    }
    let frame = counter.count(&quote_line(seq, "")) + 1;
    let mut own = room.checked_sub(frame).filter(|r| *r >= 12)?;
    // the line as a whole may count more than its pieces
    while tokens > room {
        text = extractive::excerpt(whole, own, counter);
        tokens = cost(&text);
        own = own
            .checked_sub(tokens.saturating_sub(room).max(1))
            .filter(|r| *r >= 12)?;
    }
    Some(Quote { seq, text, tokens })
}
