//! Removes tool calls and results before a boundary and keeps text (W3). Options let some of them stay (W4).

use palimpsest_text::sorted::SortedSet;

use crate::context::Context;
use crate::data::message::Part;
use crate::data::rendition::{Reduced, ReducedKind, escape_part};
use palimpsest_text::retention;

use super::{Call, Edits, OpenCalls, see_calls};

pub use crate::data::policy::StripOptions;

/// The forms without tool blocks, and the number of removed blocks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stripped {
    /// The new forms. A message of only tool blocks is hidden.
    pub edits: Edits,
    /// The number of removed tool calls and results.
    pub blocks: u32,
}

/// A result with its call, or one of them alone.
struct Pair<'a> {
    call: Option<Call<'a>>,
    /// Entry and part.
    result: Option<(usize, usize)>,
    error: bool,
    text: &'a str,
}

/// Removes the tool blocks of the entries before `end`. A call and its result stay or go together: if one of them is at
/// or after `end`, or in a kept message, both stay (I3).
pub fn edits(
    context: &Context,
    end: usize,
    options: &StripOptions,
    anchors: &SortedSet<u32>,
) -> Stripped {
    let before = context.shown.partition_point(|i| *i < end);
    let kept_from = before.saturating_sub(options.keep as usize);
    let end = context
        .shown
        .get(kept_from)
        .copied()
        .unwrap_or(end)
        .min(end);
    if !context.shown[..kept_from]
        .iter()
        .any(|&i| super::has_tools(context, i))
    {
        return Stripped::default();
    }
    let free = |entry: usize| entry < end && !anchors.contains(&context.entries[entry].message.seq);
    let pairs = pairs(context, end);
    let best = best(&pairs, options.keep_best as usize);
    // The blocks to remove, by entry and part.
    let mut gone: Vec<(usize, usize)> = Vec::with_capacity(pairs.len() * 2);
    for (n, pair) in pairs.iter().enumerate() {
        let stays = (options.keep_errors && pair.error)
            || best.contains(&n)
            || pair.call.is_some_and(|c| !free(c.entry))
            || pair.result.is_some_and(|(entry, _)| !free(entry));
        if !stays {
            gone.extend(pair.call.map(|c| (c.entry, c.part)));
            gone.extend(pair.result);
        }
    }
    palimpsest_text::order::sort(&mut gone);
    let counter = context.counter.as_ref();
    let mut stripped = Stripped::default();
    let mut next = 0;
    for &index in &context.shown[..kept_from] {
        let message = &context.entries[index].message;
        // Both lists are in order.
        while next < gone.len() && gone[next].0 < index {
            next += 1;
        }
        let many = gone[next..].iter().take_while(|at| at.0 == index).count();
        let here = &gone[next..next + many];
        if here.is_empty() || !super::has_tools(context, index) {
            continue;
        }
        // Matched by id, because the present form may lack parts already. An id that another block keeps stays.
        let (mut going, mut staying) = (SortedSet::new(), SortedSet::new());
        for (p, part) in message.parts.iter().enumerate() {
            if let Some(id) = block_id(part) {
                if here.binary_search(&(index, p)).is_ok() {
                    going.insert(id);
                } else {
                    staying.insert(id);
                }
            }
        }
        let goes = |part: &Part| {
            block_id(part).is_some_and(|id| going.contains(id) && !staying.contains(id))
        };
        let mut blocks = 0;
        let mut stays = |part: &&Part| {
            let goes = goes(part);
            blocks += u32::from(goes);
            !goes && !part.is_empty()
        };
        // Texts that go are not copied first.
        let parts: Vec<Part> = match context.view.reduced.get(&message.seq) {
            Some(now) => now.parts.iter().filter(&mut stays).cloned().collect(),
            None => message
                .parts
                .iter()
                .filter(&mut stays)
                .map(escape_part)
                .collect(),
        };
        if blocks > 0 {
            stripped.blocks += blocks;
            let reduced = Reduced::new(ReducedKind::Stripped, message.role, parts, counter);
            stripped.edits.insert(index, reduced);
        }
    }
    stripped
}

/// The id of a tool block.
fn block_id(part: &Part) -> Option<&str> {
    match part {
        Part::ToolCall { id, .. } => Some(id),
        Part::ToolResult { call, .. } => Some(call),
        _ => None,
    }
}

/// Returns every call and result of which at least one is before `end`. The search includes later results, because such
/// a result keeps its call.
fn pairs(context: &Context, end: usize) -> Vec<Pair<'_>> {
    let mut calls = OpenCalls::default();
    let mut pairs = Vec::new();
    let mut open: SortedSet<(usize, usize)> = SortedSet::new();
    for &index in &context.shown {
        let message = &context.entries[index].message;
        if index >= end && open.is_empty() {
            break;
        }
        for (p, part) in message.parts.iter().enumerate() {
            if let Part::ToolResult {
                call, text, error, ..
            } = part
            {
                let asked = calls.answer(call);
                if let Some(asked) = asked {
                    open.remove(&(asked.entry, asked.part));
                }
                if index < end || asked.is_some_and(|c| c.entry < end) {
                    pairs.push(Pair {
                        call: asked,
                        result: Some((index, p)),
                        error: *error,
                        text,
                    });
                }
            }
        }
        if index < end {
            see_calls(&mut calls, context, index);
            let parts = message.parts.iter().enumerate();
            open.extend(
                parts
                    .filter(|(_, part)| matches!(part, Part::ToolCall { .. }))
                    .map(|(p, _)| (index, p)),
            );
        }
    }
    // Calls that never got a result.
    for (entry, part) in open {
        if let Part::ToolCall {
            name, arguments, ..
        } = &context.entries[entry].message.parts[part]
        {
            pairs.push(Pair {
                call: Some(Call {
                    entry,
                    part,
                    name,
                    arguments,
                }),
                result: None,
                error: false,
                text: "",
            });
        }
    }
    pairs
}

/// Returns the pairs whose results have the most facts, at least one each.
fn best(pairs: &[Pair<'_>], most: usize) -> SortedSet<usize> {
    if most == 0 {
        return SortedSet::new();
    }
    let mut scored: Vec<(usize, usize)> = pairs
        .iter()
        .enumerate()
        .map(|(n, pair)| (retention::extract(pair.text).len(), n))
        .filter(|(score, _)| *score > 0)
        .collect();
    palimpsest_text::order::sort_by_key(&mut scored, |&(score, n)| (std::cmp::Reverse(score), n));
    scored.into_iter().take(most).map(|(_, n)| n).collect()
}
