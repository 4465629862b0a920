//! Makes the window fit by all means (E1): strip, fade to essentials, excerpt, cover. It is deterministic and asks no
//! model. Each step is taken only if the one before was not enough.

use palimpsest_text::json::ToJson as _;
use std::rc::Rc;

use crate::context::Context;
use crate::data::layer::{Layer, Level, Span};
use crate::data::message::{Part, Role, Seq};
use crate::data::policy::Demands;
use crate::data::record::Found;
use crate::data::refusal::Refusal;
use crate::data::rendition::{Reduced, ReducedKind, Rendition, verbatim_parts};
use crate::data::tool::Pairing;
use palimpsest_text::extractive;
use palimpsest_text::retention::{self, Constraint, Speaker};
use palimpsest_text::standing;

use super::{Adjustment, Edits};

/// One measure. Its arguments are the context, the limit in tokens, and the time.
type Measure = fn(&mut Context, u32, f64);

/// The measure that shortens the last exchange.
const EXCERPTED: (&str, &str) = (
    "excerpted_last_exchange",
    "shortened the last exchange to an excerpt",
);

/// That the last exchange was shortened.
pub fn last_exchange_excerpted() -> Adjustment {
    Adjustment::new(EXCERPTED.0, EXCERPTED.1)
}

/// Demands are looked for at most so many times: what makes room for those that were found may hold others.
const ROUNDS: usize = 4;

/// The effects of an emergency.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Helped {
    /// The measures that were taken.
    pub adjustments: Vec<Adjustment>,
    /// The user's demands in messages that no longer stand word for word. The context's records hold them.
    pub found: Found,
}

/// Shrinks the context as [`shrink`] does. Its records then hold the demands of the user's messages that left the window
/// or are shortened in it (P9). If the limit leaves no room for all of them, those that are only likely go first.
pub fn shrink_with_demands(context: &mut Context, limit: u32, now: f64) -> Result<Helped, Refusal> {
    let before = context.clone();
    let mut adjustments = shrink(context, limit, now)?;
    let mut found = Found::default();
    for level in [standing::Level::Likely, standing::Level::Sure] {
        for _ in 0..ROUNDS {
            let mut wanted = found.clone();
            let lost = demands_of(&before, context).into_iter();
            let more =
                lost.filter(|lost| lost.1.level >= level && !found.constraints.contains(lost));
            wanted.constraints.extend(more);
            if wanted == found {
                return Ok(Helped { adjustments, found });
            }
            palimpsest_text::order::sort_by_key(&mut wanted.constraints, |(seq, _)| *seq);
            let mut records = before.records().clone();
            records.adopt(&wanted);
            let mut smaller = before.clone();
            smaller.set_records(records);
            let Ok(done) = shrink(&mut smaller, limit, now) else {
                break;
            };
            *context = smaller;
            adjustments = done;
            found = wanted;
        }
    }
    Ok(Helped { adjustments, found })
}

/// The demands in the user's messages that stood word for word before and do not now.
pub fn demands_of(before: &Context, after: &Context) -> Vec<(Seq, Constraint)> {
    if before.setup().policy.demands == Demands::Off {
        return Vec::new();
    }
    let is_whole =
        |context: &Context, seq: Seq| matches!(context.view().rendition(seq), Rendition::Verbatim);
    let shown = before.shown.iter().map(|&i| &before.entries[i].message);
    let lost = shown
        .filter(|m| m.role == Role::User && is_whole(before, m.seq) && !is_whole(after, m.seq));
    let demands = lost.flat_map(|message| {
        let words = message.own_words().unwrap_or_default();
        let found = retention::constraints(&words).into_iter();
        found.map(|constraint| (message.seq, constraint))
    });
    demands.collect()
}

/// Shrinks the context until its window has at most `limit` tokens. Returns the measures that it took.
pub fn shrink(context: &mut Context, limit: u32, now: f64) -> Result<Vec<Adjustment>, Refusal> {
    let steps: [(&str, &str, Measure); 9] = [
        (EXCERPTED.0, EXCERPTED.1, excerpt_too_large),
        (
            "stripped_tool_output",
            "stripped tool output before the last exchange",
            strip,
        ),
        ("reduced_layers", "reduced layers to essentials", fade),
        (
            "excerpted_messages",
            "shortened the largest messages to excerpts",
            excerpt,
        ),
        (
            "covered_messages",
            "covered older messages with what fits of them",
            cover,
        ),
        (EXCERPTED.0, EXCERPTED.1, excerpt_beside_layers),
        ("layers_to_lines", "reduced each layer to a line", to_a_line),
        (EXCERPTED.0, EXCERPTED.1, excerpt_last_exchange),
        (
            "emptied_layers",
            "took the layers out of the window",
            drop_slot,
        ),
    ];
    let mut done = Vec::new();
    for (code, what, step) in steps {
        let before = context.tokens();
        if before <= limit {
            break;
        }
        let saved = context.clone();
        step(context, limit, now);
        if context.tokens() < before {
            if !done.iter().any(|known: &Adjustment| known.code == code) {
                done.push(Adjustment::new(code, what));
            }
        } else {
            *context = saved;
        }
    }
    if context.tokens() > limit {
        // Every measure was taken, so the rest is the content that must stay.
        return Err(Refusal::CannotFit {
            floor: context.tokens(),
            limit,
        });
    }
    Ok(done)
}

/// The index of the first entry that must stay: the last exchange. The last user message also stays, at any place.
fn first_kept(context: &Context) -> usize {
    let last = context.entries.len();
    context
        .last_exchange()
        .or(context.last_user())
        .unwrap_or(last)
}

/// The tokens that stay of old tool output, or of a call's arguments, when they have to make room.
const STRIPPED: u32 = 24;

/// Cuts tool output and arguments to their beginnings and ends, the oldest first, until the window fits. The last one that is
/// cut loses no more than it has to.
fn strip(context: &mut Context, limit: u32, _: f64) {
    let end = first_kept(context);
    let counter = context.counter.as_ref();
    let mut view = context.view.clone();
    let mut tokens = context.tokens();
    let is_block = |part: &&mut Part| {
        matches!(part, Part::ToolCall { .. } | Part::ToolResult { .. })
            && part.tokens(counter) > 2 * STRIPPED
    };
    for &i in context.shown.iter().filter(|i| **i < end) {
        if tokens <= limit {
            break;
        }
        let message = &context.entries[i].message;
        let mut parts = parts_now(context, i);
        let blocks: Vec<&mut Part> = parts.iter_mut().filter(is_block).collect();
        if blocks.is_empty() {
            continue;
        }
        let sizes = blocks.iter().map(|part| part.tokens(counter));
        let room = sizes.sum::<u32>().saturating_sub(tokens - limit);
        let least = STRIPPED * blocks.len() as u32;
        cut_longest(blocks, room.max(least), counter);
        let reduced = Reduced::new(ReducedKind::Excerpt, message.role, parts, counter);
        tokens = tokens.saturating_sub(context.shown_tokens(i).saturating_sub(reduced.tokens));
        view.reduced.insert(message.seq, Rc::new(reduced));
    }
    context.set_view(view);
}

/// The parts of a message in its present form.
fn parts_now(context: &Context, index: usize) -> Vec<Part> {
    let message = &context.entries[index].message;
    match context.view.rendition(message.seq) {
        Rendition::Reduced(r) => r.parts.clone(),
        _ => verbatim_parts(message),
    }
}

fn fade(context: &mut Context, _: u32, now: f64) {
    let room = (context.setup.shares.older / 2).max(12);
    super::fade::to_essentials(context, room, now);
}

/// Shortens the largest messages one after the other, but not the last user message, which is the floor.
fn excerpt(context: &mut Context, limit: u32, _: f64) {
    let room = (limit / 12).max(24);
    let end = first_kept(context);
    let mut largest: Vec<(u32, usize)> = context
        .shown
        .iter()
        .filter(|i| **i < end && Some(**i) != context.last_user())
        .map(|&i| (context.shown_tokens(i), i))
        .filter(|(tokens, _)| *tokens > room)
        .collect();
    palimpsest_text::order::sort_by_key(&mut largest, |&(tokens, i)| {
        (std::cmp::Reverse(tokens), i)
    });
    let mut view = context.view.clone();
    let mut over = i64::from(context.tokens()) - i64::from(limit);
    for (tokens, i) in largest {
        if over <= 0 {
            break;
        }
        // the last one loses no more than it has to
        let own = room.max(tokens.saturating_sub(over as u32));
        let reduced = shorter(context, i, own);
        over -= i64::from(tokens.saturating_sub(reduced.tokens));
        view.reduced
            .insert(context.entries[i].message.seq, Rc::new(reduced));
    }
    context.set_view(view);
}

/// Returns a message as head and tail within about `room` tokens. `None` if it is not on the path.
pub fn excerpt_of(context: &Context, seq: Seq, room: u32) -> Option<Reduced> {
    let index = context
        .entries
        .binary_search_by_key(&seq, |e| e.message.seq)
        .ok()?;
    Some(shorter(context, index, room))
}

/// Returns the message with its longest texts cut to head and tail, within about `room` tokens.
fn shorter(context: &Context, index: usize, room: u32) -> Reduced {
    let counter = context.counter.as_ref();
    let role = context.entries[index].message.role;
    let mut parts = parts_now(context, index);
    cut_longest(parts.iter_mut().collect(), room, counter);
    Reduced::new(ReducedKind::Excerpt, role, parts, counter)
}

/// The tokens that a part keeps at least.
const LEAST_PART: u32 = 16;

/// Shortens the longest of these parts until all have about `room` tokens. What is short stays whole: a path in the answer
/// of a tool is not cut because a file beside it is long.
fn cut_longest(parts: Vec<&mut Part>, room: u32, counter: &dyn palimpsest_tokens::TokenCounter) {
    let size = |part: &Part| part.tokens(counter);
    let mut parts: Vec<(u32, &mut Part)> = parts.into_iter().map(|p| (size(p), p)).collect();
    // the values of a call's arguments are named or left out, so they need far less than their share
    let share = level(&parts, room);
    for (tokens, part) in &mut parts {
        if *tokens > share && matches!(part, Part::ToolCall { .. }) {
            **part = shorter_part(part.clone(), share, counter);
            *tokens = size(part);
        }
    }
    let share = level(&parts, room);
    for (tokens, part) in parts {
        if tokens > share && !matches!(part, Part::ToolCall { .. }) {
            *part = shorter_part(part.clone(), share, counter);
        }
    }
}

/// The tokens that each part may have, so that all have `room` together.
fn level(parts: &[(u32, &mut Part)], room: u32) -> u32 {
    let mut sizes: Vec<u32> = parts.iter().map(|(tokens, _)| *tokens).collect();
    palimpsest_text::order::sort_by_key(&mut sizes, |tokens| *tokens);
    let mut left = room;
    for (n, tokens) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - n) as u32;
        if *tokens > share {
            return share.max(LEAST_PART);
        }
        left -= tokens;
    }
    u32::MAX
}

fn shorter_part(part: Part, room: u32, counter: &dyn palimpsest_tokens::TokenCounter) -> Part {
    let cut = |text: &str| extractive::excerpt(text, room, counter);
    match part {
        Part::Text { text } => Part::Text { text: cut(&text) },
        Part::ToolResult {
            call,
            name,
            text,
            error,
        } => Part::ToolResult {
            call,
            name,
            text: cut(&text),
            error,
        },
        Part::File { name, text } => Part::File {
            name,
            text: cut(&text),
        },
        Part::ToolCall {
            id,
            name,
            arguments,
        } => {
            let arguments = shorter_arguments(&arguments, room, counter);
            Part::ToolCall {
                id,
                name,
                arguments,
            }
        }
        Part::Image {
            name, media_type, ..
        } => Part::text(format!("[image: {name}, {media_type}]")),
        Part::Thinking { text } => Part::Thinking { text },
    }
}

/// A value of a call's arguments that is no longer than this, in bytes, always stays.
const SHORT_VALUE: usize = 48;
/// A longer one than this never does: what is long is the text of a file or an edit.
const LONG_VALUE: usize = 400;

/// Returns the arguments with their short values, and with sizes in place of the others, so that a model cannot copy a
/// shortened value into its next call. The shortest of the others stay as far as there is room. If even the shortest have
/// none, only the size of all stays.
fn shorter_arguments(
    arguments: &str,
    room: u32,
    counter: &dyn palimpsest_tokens::TokenCounter,
) -> String {
    use serde_json::Value;
    let gone = |bytes: usize| Value::String(format!("[{bytes} bytes not shown]"));
    let bytes_of = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_json().len(), str::len)
    };
    if let Ok(Value::Object(whole)) = palimpsest_text::json::parse(arguments) {
        let with = |most: usize| {
            let mut object = whole.clone();
            for (_, value) in &mut object {
                let bytes = bytes_of(value);
                if bytes > most {
                    *value = gone(bytes);
                }
            }
            Value::Object(object).to_json()
        };
        let mut bounds: Vec<usize> = whole.values().map(bytes_of).collect();
        bounds.retain(|bytes| (SHORT_VALUE + 1..=LONG_VALUE).contains(bytes));
        palimpsest_text::order::sort_by_key(&mut bounds, |bytes| std::cmp::Reverse(*bytes));
        for most in bounds {
            let short = with(most);
            if counter.count(&short) <= room {
                return short;
            }
        }
        let short = with(SHORT_VALUE);
        if counter.count(&short) <= room.saturating_mul(2) {
            return short;
        }
    }
    serde_json::json!({ "arguments": gone(arguments.len()) }).to_json()
}

/// The tokens that a layer keeps if hardly anything fits.
const LINE: u32 = 12;
/// The least room for which a summary is tried.
const LEAST_SUMMARY: u32 = 2 * LINE;

/// The tokens of the layers' frame with the smallest summary.
const LEAST_SLOT: u32 = 112;

fn to_a_line(context: &mut Context, _: u32, now: f64) {
    let mut view = context.view.clone();
    view.quotes.clear();
    context.set_view(view);
    super::fade::to_essentials(context, LINE, now);
}

/// The deterministic summary of these messages within `room` tokens.
fn summary_of(context: &Context, covered: &[usize], room: u32) -> String {
    let words: Vec<(Seq, Role, String)> = covered
        .iter()
        .map(|&i| &context.entries[i].message)
        .map(|message| (message.seq, message.role, message.words()))
        .filter(|(_, _, words)| !words.trim().is_empty())
        .collect();
    let passages: Vec<extractive::Passage<'_>> = words
        .iter()
        .map(|(seq, role, text)| {
            let role = Speaker::from(*role);
            extractive::Passage::new(*seq, role, text)
        })
        .collect();
    let options = extractive::Options {
        target_tokens: room,
        ..extractive::Options::default()
    };
    extractive::summarize(&passages, &options, context.counter.as_ref()).text
}

/// Gives the newest layer the largest summary for which the window has room; none if not even a line fits.
fn fill_newest(context: &mut Context, covered: &[usize], limit: u32) {
    let bare = context.view.clone();
    let mut room = limit
        .saturating_sub(context.tokens())
        .min(context.setup.shares.older.max(2 * LEAST_SUMMARY))
        .min(context.setup.longest_layer.unwrap_or(u32::MAX));
    while room >= LEAST_SUMMARY {
        let summary = summary_of(context, covered, room);
        if summary.trim().is_empty() {
            return;
        }
        let mut view = bare.clone();
        if let Some(layer) = view.layers.pop() {
            let mut layer = (*layer).clone();
            layer.summary = summary;
            layer.recount(context.counter.as_ref());
            let is_long = (context.setup.longest_layer).is_some_and(|most| layer.tokens > most);
            view.layers.push(Rc::new(layer));
            if is_long {
                room /= 2;
                continue;
            }
        }
        context.set_view(view);
        if context.tokens() <= limit {
            return;
        }
        context.set_view(bare.clone());
        room /= 2;
    }
}

/// The largest number of attempts at covering. Each covers more messages, because the demands of those that left need room, too.
const COVERINGS: usize = 4;

/// Covers the oldest messages until the window fits, with the largest summary for which there is then room.
fn cover(context: &mut Context, limit: u32, now: f64) {
    let was = context.view.clone();
    let mut aim = limit;
    for _ in 0..COVERINGS {
        context.set_view(was.clone());
        cover_to(context, aim, limit, now);
        let over = context.tokens().saturating_sub(limit);
        if over == 0 {
            return;
        }
        aim = aim.saturating_sub(over);
    }
}

/// Covers the oldest messages until the window has about `aim` tokens. The summary may fill it up to `limit`.
fn cover_to(context: &mut Context, aim: u32, limit: u32, now: f64) {
    let end = first_kept(context);
    let pairing = Pairing::of(
        context
            .shown
            .iter()
            .map(|&i| context.entries[i].message.as_ref()),
    );
    let safe = pairing.safe_cuts(context.shown.len());
    // At least a few words in their frame, so that no message leaves without a line.
    let words = (limit / 4).min(LEAST_SLOT);
    let roomy = context.setup.shares.older.min(limit / 16).max(words);
    let mut over = i64::from(context.tokens()) - i64::from(aim.saturating_sub(roomy));
    let mut cut = 0;
    // A question leaves together with its reply.
    let parts_a_turn = |p: usize| {
        let asked = p.checked_sub(1).map(|before| context.shown[before]);
        asked.is_some_and(|i| {
            Some(i) != context.last_user() && context.entries[i].message.role == Role::User
        })
    };
    for (p, &i) in context.shown.iter().enumerate() {
        if p > 0 && safe[p] && (!parts_a_turn(p) || i >= end) {
            cut = p;
            if over <= 0 {
                break;
            }
        }
        if i >= end {
            break;
        }
        let stays =
            Some(i) == context.last_user() || context.entries[i].message.role == Role::System;
        if !stays {
            over -= i64::from(context.shown_tokens(i));
        }
    }
    let mut covered: Vec<usize> = context.shown[..cut].to_vec();
    covered.retain(|&i| {
        Some(i) != context.last_user() && context.entries[i].message.role != Role::System
    });
    if covered.is_empty() {
        return;
    }
    let mut spans: Vec<Span> = Vec::new();
    let mut before: Option<usize> = None;
    for &i in &covered {
        let seq = context.entries[i].message.seq;
        match spans.last_mut() {
            Some(span) if before == i.checked_sub(1) => span.to = seq,
            _ => spans.push(Span { from: seq, to: seq }),
        }
        before = Some(i);
    }
    let mut view = context.view.clone();
    let tokens = covered.iter().map(|&i| context.shown_tokens(i)).sum();
    view.layers.push(Rc::new(Layer {
        original_tokens: tokens,
        messages: covered.len() as u32,
        number: view.compactions,
        ..Layer::new(view.next_layer, Level::Compact, spans, now)
    }));
    view.next_layer += 1;
    context.set_view(view);
    fill_newest(context, &covered, limit);
}

fn drop_slot(context: &mut Context, _: u32, _: f64) {
    let mut view = context.view.clone();
    view.quotes.clear();
    for layer in &mut view.layers {
        *layer = Rc::new(Layer {
            summary: String::new(),
            ledger: Vec::new(),
            tokens: 0,
            ..(**layer).clone()
        });
    }
    context.set_view(view);
}

/// The last exchange without the user's messages.
fn last_members(context: &Context) -> Vec<usize> {
    let from = context.last_exchange().unwrap_or(context.entries.len());
    (from..context.entries.len())
        .filter(|&i| context.entries[i].message.role != Role::User)
        .collect()
}

/// The tokens of a message of the last exchange that can be cut. The reasoning of a running loop cannot, because it is
/// signed.
fn text_tokens(context: &Context, index: usize) -> u32 {
    context.shown_tokens(index) - context.reasoning_of(index)
}

/// The last exchange in about `room` tokens.
fn last_exchange_in(context: &Context, room: u32) -> Edits {
    let counter = context.counter.as_ref();
    let members = last_members(context);
    let mut texts: Vec<Vec<Part>> = members.iter().map(|&i| parts_now(context, i)).collect();
    let frames: u32 = members
        .iter()
        .zip(&texts)
        .map(|(&i, parts)| {
            let inside: u32 = parts.iter().map(|part| part.tokens(counter)).sum();
            text_tokens(context, i).saturating_sub(inside)
        })
        .sum();
    let parts = texts.iter_mut().flatten();
    cut_longest(parts.collect(), room.saturating_sub(frames), counter);
    let mut edits = Edits::new();
    for (&i, parts) in members.iter().zip(texts) {
        let role = context.entries[i].message.role;
        let reduced = Reduced::new(ReducedKind::Excerpt, role, parts, counter);
        if reduced.tokens < text_tokens(context, i) {
            edits.insert(i, reduced);
        }
    }
    edits
}

/// The least share of the limit that a last exchange gets while older content stands beside it.
const fn fair(limit: u32) -> u32 {
    limit / 2
}

/// Shorter forms of the last exchange, if no window could hold the whole of it. Then the layers and the messages before need
/// not leave for it.
pub fn too_large(context: &Context, limit: u32) -> Edits {
    let (exchange, _) = context.exchange_tokens();
    let others = context.tokens().saturating_sub(exchange);
    let least = context.least_beside_exchange();
    if least.saturating_add(exchange) <= limit {
        return Edits::new();
    }
    let room = limit.saturating_sub(others).max(fair(limit));
    last_exchange_in(context, room.min(limit.saturating_sub(least)))
}

fn excerpt_too_large(context: &mut Context, limit: u32, _: f64) {
    let edits = too_large(context, limit);
    take(context, edits);
}

fn take(context: &mut Context, edits: Edits) {
    let mut view = context.view.clone();
    for (i, reduced) in edits {
        let seq = context.entries[i].message.seq;
        view.reduced.insert(seq, Rc::new(reduced));
    }
    context.set_view(view);
}

/// The most cuts of the last exchange. The tokens of joined texts are not exactly the sum of theirs, so one may not be enough.
const CUTS: usize = 4;

fn excerpt_last_exchange(context: &mut Context, limit: u32, _: f64) {
    let mut most = (limit - limit / 8).max(32);
    for _ in 0..CUTS {
        let (exchange, _) = context.exchange_tokens();
        let others = context.tokens().saturating_sub(exchange);
        let edits = last_exchange_in(context, limit.saturating_sub(others).min(most));
        take(context, edits);
        let over = context.tokens().saturating_sub(limit);
        if over == 0 {
            break;
        }
        most = most.saturating_sub(over);
    }
}

/// The same while the older layers stand, if enough of the exchange can stay.
fn excerpt_beside_layers(context: &mut Context, limit: u32, now: f64) {
    let (exchange, _) = context.exchange_tokens();
    let others = context.tokens().saturating_sub(exchange);
    if limit.saturating_sub(others) >= fair(limit) {
        excerpt_last_exchange(context, limit, now);
    }
}
