//! Shortens tool output and tool-call arguments (T2, T3). The rules are data: [`CondenseOptions`].

use crate::context::{Context, Lookup};
use crate::data::message::{Part, Role, number_of};
use crate::data::rendition::{Reduced, ReducedKind, Rendition, escape_fences, verbatim_parts};
use palimpsest_text::condense::{self, CondenseOptions, ToolText};

use super::{Edits, OpenCalls, see_calls};

/// Returns shorter forms of the messages before entry `end`. It only takes verbatim messages, so nothing is condensed
/// twice.
pub fn edits(context: &Context, end: usize, options: &CondenseOptions) -> Edits {
    let mut calls = OpenCalls::default();
    let mut edits = Edits::new();
    for &index in context.shown.iter().take_while(|i| **i < end) {
        see_calls(&mut calls, context, index);
        if let Some(reduced) = shorter(context, index, options, &mut calls) {
            edits.insert(index, reduced);
        }
    }
    edits
}

/// Returns the shorter form of the last entry on its arrival (T2); `None` if it stays.
pub fn on_arrival(context: &Context, options: &CondenseOptions) -> Option<Reduced> {
    let last = context.entries.len().checked_sub(1)?;
    let mut calls = OpenCalls::default();
    // A result answers a call of its own turn.
    let turn = context.last_user().map_or(0, |u| u.min(last));
    for index in turn..last {
        see_calls(&mut calls, context, index);
        for call in context.entries[index].message.results() {
            calls.answer(call);
        }
    }
    let reduced = shorter(context, last, options, &mut calls)?;
    (reduced.tokens < context.shown_tokens(last)).then_some(reduced)
}

/// Adds the message's number to the first line of the condensed text, if a tool can find the whole text by it.
fn with_place(text: &str, context: &Context, index: usize) -> String {
    match text.split_once(']') {
        Some((mark, body)) if context.setup.lookup == Lookup::Tool => {
            let number = number_of(context.entries[index].message.seq);
            format!("{mark}; recall message {number}]{body}")
        }
        _ => text.to_owned(),
    }
}

fn shorter(
    context: &Context,
    index: usize,
    options: &CondenseOptions,
    calls: &mut OpenCalls<'_>,
) -> Option<Reduced> {
    let message = &context.entries[index].message;
    let plain = context.view.rendition(message.seq) == Rendition::Verbatim;
    let counter = context.counter.as_ref();
    let window = context.setup.shares.window;
    if !super::has_tools(context, index) {
        return None;
    }
    let mut changed = false;
    let mut short = |part: &Part| match part {
        Part::ToolResult {
            call,
            name,
            text,
            error,
        } => {
            let asked = calls.answer(call);
            let tool = name.as_deref().or(asked.map(|c| c.name)).unwrap_or("");
            let result = ToolText {
                tool,
                text,
                is_error: *error,
                window,
            };
            let condensed = plain.then(|| condense::condense(result, options, counter))??;
            changed = true;
            Some(Part::ToolResult {
                call: call.clone(),
                name: name.clone(),
                text: with_place(&escape_fences(&condensed.text), context, index),
                error: *error,
            })
        }
        Part::ToolCall {
            id,
            name,
            arguments,
        } if plain && message.role == Role::Assistant && !options.debug => {
            let arguments = condense::condense_arguments(arguments)?;
            changed = true;
            Some(Part::ToolCall {
                id: id.clone(),
                name: name.clone(),
                arguments,
            })
        }
        _ => None,
    };
    let forms: Vec<Option<Part>> = message
        .parts
        .iter()
        .filter(|p| !p.is_empty())
        .map(&mut short)
        .collect();
    if !changed {
        return None;
    }
    let parts = verbatim_parts(message)
        .into_iter()
        .zip(forms)
        .map(|(was, short)| short.unwrap_or(was))
        .collect();
    Some(Reduced::new(
        ReducedKind::Condensed,
        message.role,
        parts,
        counter,
    ))
}
