//! Shows the beginning and the end of a text that is too long.

use palimpsest_tokens::TokenCounter;
use unicode_segmentation::GraphemeCursor;

use crate::words::script::{full_stop, unspaced};

/// The mark that stands for a text of which nothing fits.
pub const CUT: &str = "[…]";

/// Returns the head and the tail of `text`, and between them a line with the number of omitted tokens; at most
/// `max_tokens` tokens in all. It cuts at line ends, sentence ends or spaces if possible, and never inside of a
/// grapheme.
///
/// A text that fits comes back unchanged. Under about 12 tokens there may be room for the mark or the head only.
pub fn excerpt(text: &str, max_tokens: u32, counter: &dyn TokenCounter) -> String {
    if counter.count_until(text, max_tokens).is_some() {
        return text.to_owned();
    }
    if max_tokens == 0 {
        return String::new();
    }
    let all = counter.count(text);
    let mark_cost = counter.count(&mark(all)) + 2;
    let mut room = max_tokens.saturating_sub(mark_cost);
    // Counts of pieces do not add up exactly, so the loop shrinks them until the whole fits.
    while room > 0 {
        let head = head(text, room - room * 2 / 5, counter);
        let tail = tail(
            text,
            head,
            room.saturating_sub(if head == 0 {
                0
            } else {
                counter.count(&text[..head])
            }),
            counter,
        );
        if head == 0 && tail == text.len() {
            break;
        }
        let out = join(text, head, tail, counter);
        if counter.count_until(&out, max_tokens).is_some() {
            return out;
        }
        room -= 1 + room / 16;
    }
    let lone = mark(all);
    if counter.count_until(&lone, max_tokens).is_some() {
        return lone;
    }
    if counter.count_until(CUT, max_tokens).is_some() {
        CUT.to_owned()
    } else {
        String::new()
    }
}

fn mark(tokens: u32) -> String {
    format!("[… {tokens} tokens left out …]")
}

fn join(text: &str, head: usize, tail: usize, counter: &dyn TokenCounter) -> String {
    let left = text[..head].trim_end();
    let right = text[tail..].trim_start();
    let gone = counter.count(text[left.len()..text.len() - right.len()].trim());
    let mut out = String::with_capacity(left.len() + right.len() + 32);
    out.push_str(left);
    if !left.is_empty() {
        out.push('\n');
    }
    out.push_str(&mark(gone));
    if !right.is_empty() {
        out.push('\n');
    }
    out.push_str(right);
    out
}

/// Returns the end of the longest good beginning within `budget` tokens.
fn head(text: &str, budget: u32, counter: &dyn TokenCounter) -> usize {
    let reach = longest(text.len(), budget, |n| {
        fits(text, floor(text, n), true, budget, counter)
    });
    let hard = grapheme_floor(text, floor(text, reach));
    soften_back(text, hard)
}

/// Returns the start of the longest good end after `head` within `budget` tokens.
fn tail(text: &str, head: usize, budget: u32, counter: &dyn TokenCounter) -> usize {
    let reach = longest(text.len() - head, budget, |n| {
        fits(text, ceil(text, text.len() - n), false, budget, counter)
    });
    let hard = grapheme_ceil(text, ceil(text, text.len() - reach));
    soften_on(text, hard)
}

fn fits(text: &str, at: usize, front: bool, budget: u32, counter: &dyn TokenCounter) -> bool {
    counter
        .count_until(if front { &text[..at] } else { &text[at..] }, budget)
        .is_some()
}

/// Returns the largest `n ≤ limit` for which `ok` holds, found by doubling and halving.
fn longest(limit: usize, budget: u32, ok: impl Fn(usize) -> bool) -> usize {
    if budget == 0 || limit == 0 {
        return 0;
    }
    let mut low = 0;
    let mut high = (budget as usize * 4).clamp(1, limit);
    while ok(high) {
        low = high;
        if high == limit {
            return limit;
        }
        high = (high * 2).min(limit);
    }
    while high - low > 1 {
        let mid = low + (high - low) / 2;
        if ok(mid) {
            low = mid;
        } else {
            high = mid;
        }
    }
    low
}

fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while at < text.len() && !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Returns the nearest grapheme border at or before `at`.
fn grapheme_floor(text: &str, at: usize) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return at;
    }
    cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

/// Returns the nearest grapheme border at or after `at`.
fn grapheme_ceil(text: &str, at: usize) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return at;
    }
    cursor
        .next_boundary(text, 0)
        .ok()
        .flatten()
        .unwrap_or(text.len())
}

/// Longer words and paths may be cut.
const LONGEST_WORD: usize = 200;

/// Moves a cut back: to a line end in the last quarter, otherwise to a sentence end in the last third, otherwise to a
/// space or between unspaced characters within the longest word, otherwise not at all.
fn soften_back(text: &str, at: usize) -> usize {
    if at == 0 || at == text.len() {
        return at;
    }
    let line = floor(text, at - at / 4);
    if let Some(p) = text[line..at].rfind('\n') {
        return line + p + 1;
    }
    let sentence = floor(text, at - at / 3);
    let mut best = None;
    let mut before = '\0';
    for (i, c) in text[sentence..at].char_indices() {
        if full_stop(c) {
            best = Some(sentence + i + c.len_utf8());
        } else if c.is_whitespace() && matches!(before, '.' | '!' | '?' | '…') {
            best = Some(sentence + i);
        }
        before = c;
    }
    if let Some(p) = best {
        return p;
    }
    if whole_word(text, at) {
        return at;
    }
    let least = floor(text, at.saturating_sub(LONGEST_WORD));
    let mut spot = None;
    for (i, c) in text[least..at].char_indices() {
        if c.is_whitespace() && least + i > 0 || unspaced(c) {
            spot = Some(least + i);
        }
    }
    spot.map_or(at, |p| grapheme_floor(text, p))
}

/// Moves a cut forward: to a line start, a sentence start or a word start, within the same shares.
fn soften_on(text: &str, at: usize) -> usize {
    let len = text.len() - at;
    if at == 0 || len == 0 {
        return at;
    }
    if text[..at].ends_with('\n') {
        return at;
    }
    let line = floor(text, at + len / 4);
    if let Some(p) = text[at..line.max(at)].find('\n') {
        return at + p + 1;
    }
    let sentence = floor(text, at + len / 3).max(at);
    let mut before = '\0';
    for (i, c) in text[at..sentence].char_indices() {
        if full_stop(before) || c.is_whitespace() && matches!(before, '.' | '!' | '?' | '…') {
            return at + i;
        }
        before = c;
    }
    if whole_word(text, at) {
        return at;
    }
    let most = floor(text, at + len.min(LONGEST_WORD)).max(at);
    for (i, c) in text[at..most].char_indices() {
        if c.is_whitespace() || unspaced(c) {
            return grapheme_ceil(text, at + i);
        }
    }
    at
}

/// Returns `true` if a cut at `at` splits no word.
fn whole_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at..].chars().next();
    match (before, after) {
        (Some(b), Some(a)) => b.is_whitespace() || a.is_whitespace() || unspaced(b) && unspaced(a),
        _ => true,
    }
}
