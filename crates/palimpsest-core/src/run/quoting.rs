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

/// The user's words from covered messages, newest first, within `room` (P3). In the order of the conversation. Words that
/// stand in the window already are not quoted, nor is what says next to nothing by itself. What does not fit as a whole is cut to at most a quarter of the room, if it
/// is long; what is short stays whole or goes.
pub(super) fn quotes(context: &Context, room: u32) -> Vec<Quote> {
    let counter = context.counter.as_ref();
    if context.setup().policy.user_words == UserWords::Summarize || room < SMALLEST_SUMMARY {
        return Vec::new();
    }
    let most = room / 4;
    let mut said = standing(context);
    let mut left = room;
    let mut quotes: Vec<Quote> = Vec::new();
    // what was cut although nobody needs its room yet, newest first
    let mut cut: Vec<(usize, String)> = Vec::new();
    for entry in context.entries.iter().rev() {
        let message = &entry.message;
        if message.role != Role::User
            || !matches!(context.view.rendition(message.seq), Rendition::Covered(_))
        {
            continue;
        }
        let words = message.words().trim().to_owned();
        if said.contains(&words) || extractive::says_little(&words) {
            continue;
        }
        let Some(quote) = quote(message.seq, &words, most.min(left), left, counter) else {
            break;
        };
        left -= quote.tokens;
        if quote.text != words {
            cut.push((quotes.len(), words.clone()));
        }
        said.insert(words);
        quotes.push(quote);
    }
    for (at, words) in cut {
        let room = quotes[at].tokens + left;
        if let Some(longer) = quote(quotes[at].seq, &words, room, room, counter) {
            left = room - longer.tokens;
            quotes[at] = longer;
        }
    }
    quotes.reverse();
    quotes
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
