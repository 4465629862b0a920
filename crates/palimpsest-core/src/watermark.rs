//! The watermark: a boundary before which tool blocks are not shown (seed 3; W1, W2, W4).
//!
//! A mark is first *pending*: somebody asked for it. On the next build it settles, on a tool call or on
//! the end of the history, and becomes the boundary. All functions are pure; the state lies in
//! [`View::watermark`] and [`View::pending`].

use std::collections::BTreeSet;

use crate::context::{Context, View};
pub use crate::data::mark::{MarkReason, Marks, Pending};
use crate::data::message::{Message, Part, Role, Seq};
use crate::pass::strip::{self, StripOptions, Stripped};
use palimpsest_text::glob;

/// What came of the marks at a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// There was nothing to settle, or it still waits.
    Same,
    /// The boundary is now here.
    Moved {
        /// The first message that is after it.
        to: Seq,
        /// Why.
        reason: MarkReason,
    },
    /// The call never came: the mark is dropped and the old boundary stays. To be warned about.
    Dropped {
        /// The tool it waited for.
        tool: String,
    },
}

/// Asks for a mark on the next call of `tool`. Always sets one, whether or not anything was deactivated; a
/// second request before the next build lets the mark go on by one more call.
pub fn ask(view: &mut View, tool: &str, reason: MarkReason, tip: Option<Seq>) {
    let times = view
        .pending
        .as_ref()
        .filter(|p| p.tool == tool)
        .map_or(1, |p| p.times.saturating_add(1));
    let since = view.pending.as_ref().map_or(tip, |p| p.since.or(tip));
    view.pending = Some(Pending {
        tool: tool.to_owned(),
        since,
        times,
        reason,
    });
}

/// A mark that belongs to no tool call: the present end of the history is the boundary.
pub fn mark_end(view: &mut View, tip: Option<Seq>) {
    view.pending = None;
    if let Some(tip) = tip {
        view.watermark = Some(view.watermark.unwrap_or(0).max(tip.saturating_add(1)));
    }
}

/// Settles the pending mark (W2): the first call of its tool **after** the watermark becomes the watermark;
/// asked for twice, the second one. What waited to the end of the next turn is dropped. Then the marks that
/// the policy sets by itself.
pub fn settle(context: &Context, view: &mut View) -> Settled {
    if let Some(pending) = view.pending.clone() {
        let mut after = view.watermark;
        let mut left = pending.times;
        while left > 0
            && let Some(at) = call_after(context, &pending.tool, after)
        {
            // the message that holds the watermark is not looked at again
            after = Some(at);
            left -= 1;
        }
        if left < pending.times {
            let to = after.unwrap_or(0);
            view.watermark = Some(to);
            view.pending = (left > 0).then_some(Pending {
                times: left,
                ..pending.clone()
            });
            return Settled::Moved {
                to,
                reason: pending.reason,
            };
        }
        if turns_since(context, pending.since) >= 2 {
            view.pending = None;
            return Settled::Dropped { tool: pending.tool };
        }
        return Settled::Same;
    }
    match automatic(context, view) {
        Some((to, reason)) => {
            view.watermark = Some(to);
            Settled::Moved { to, reason }
        }
        None => Settled::Same,
    }
}

/// In a list of messages that nobody attended: the last call of one of the marking tools, if it is after the
/// watermark.
pub fn last_call(context: &Context, pattern: &str) -> Option<Seq> {
    let found = context
        .entries
        .iter()
        .rev()
        .map(|e| e.message.as_ref())
        .take_while(|m| context.view.watermark.is_none_or(|w| m.seq > w))
        .find(|m| marks(m, pattern))?;
    Some(found.seq)
}

/// The first message after `watermark` that calls one of the tools.
fn call_after(context: &Context, pattern: &str, watermark: Option<Seq>) -> Option<Seq> {
    let from = watermark.map_or(0, |w| {
        context.entries.partition_point(|e| e.message.seq <= w)
    });
    // a mark at the end of history is the number of the message to come: that one is after it
    let from = match watermark {
        Some(w) if is_end_mark(context, w) => {
            context.entries.partition_point(|e| e.message.seq < w)
        }
        _ => from,
    };
    context.entries[from..]
        .iter()
        .map(|e| e.message.as_ref())
        .find(|m| marks(m, pattern))
        .map(|m| m.seq)
}

/// Whether no tool call stands at the mark: it was set at the end of the history.
fn is_end_mark(context: &Context, mark: Seq) -> bool {
    match context
        .entries
        .binary_search_by_key(&mark, |e| e.message.seq)
    {
        Ok(at) => context.entries[at].message.calls().next().is_none(),
        Err(_) => true,
    }
}

/// Whether the message calls one of the tools.
pub fn marks(message: &Message, pattern: &str) -> bool {
    message.role == Role::Assistant
        && message
            .parts
            .iter()
            .any(|p| matches!(p, Part::ToolCall { name, .. } if glob::matches(pattern, name)))
}

/// User messages after `since`.
fn turns_since(context: &Context, since: Option<Seq>) -> usize {
    context
        .entries
        .iter()
        .rev()
        .take_while(|e| since.is_none_or(|s| e.message.seq > s))
        .filter(|e| e.message.role == Role::User)
        .count()
}

/// Index of the first entry at or after the boundary. `None` if there is no watermark, or if it is not on
/// this path: then nothing is stripped (W3).
pub fn boundary(context: &Context) -> Option<usize> {
    let mark = context.view.watermark?;
    let at = context.entries.partition_point(|e| e.message.seq < mark);
    let here = context
        .entries
        .get(at)
        .is_some_and(|e| e.message.seq == mark);
    let just_before = at
        .checked_sub(1)
        .is_some_and(|b| context.entries[b].message.seq + 1 == mark);
    (here || just_before).then_some(at)
}

/// Whether there is a watermark that is not on this path: to be warned about.
pub fn is_lost(context: &Context) -> bool {
    context.view.watermark.is_some() && boundary(context).is_none()
}

/// The messages before the watermark without their tool blocks (W3). The newest exchange and the last user
/// message stay, whatever the mark says (B10).
pub fn strip(context: &Context, options: &StripOptions) -> Stripped {
    let Some(mark) = boundary(context) else {
        return Stripped::default();
    };
    let floor = context.last_exchange().unwrap_or(context.entries.len());
    strip::edits(context, mark.min(floor), options, &context.view.anchors)
}

/// Keeps a message whole, whatever the mark says (W4); or no longer.
pub fn anchor(view: &mut View, message: Seq, keep: bool) {
    if keep {
        view.anchors.insert(message);
    } else {
        view.anchors.remove(&message);
    }
}

/// A mark that the policy sets by itself (W4): by length, or where a task begins.
fn automatic(context: &Context, view: &View) -> Option<(Seq, MarkReason)> {
    let marks = &context.setup.policy.marks;
    let from = view.watermark.map_or(0, |w| {
        context.entries.partition_point(|e| e.message.seq < w)
    });
    if marks.at_tasks
        && let Some(seq) = task_boundary(context, from)
    {
        return Some((seq, MarkReason::Task));
    }
    if marks.every_tokens > 0 {
        let tokens: u32 = (from..context.entries.len())
            .map(|i| context.shown_tokens(i))
            .fold(0, u32::saturating_add);
        let end = context.last_user()?;
        if tokens >= marks.every_tokens && end > from {
            return Some((context.entries[end].message.seq, MarkReason::Length));
        }
    }
    None
}

/// The newest user message after entry `from` that begins a new task.
fn task_boundary(context: &Context, from: usize) -> Option<Seq> {
    let users: Vec<usize> = (from..context.entries.len())
        .filter(|&i| context.entries[i].message.role == Role::User)
        .collect();
    users
        .windows(2)
        .rev()
        .find(|w| {
            let turn = (w[0]..w[1]).map(|i| context.entries[i].message.words());
            let before = content_words(&turn.collect::<Vec<_>>().join("\n"));
            let now = content_words(&context.entries[w[1]].message.words());
            let shared = now.iter().filter(|word| before.contains(*word)).count();
            now.len() >= FEWEST_WORDS && shared * 10 < now.len()
        })
        .map(|w| context.entries[w[1]].message.seq)
}

/// A message of fewer words begins nothing: "go on", "yes, do that".
const FEWEST_WORDS: usize = 5;

/// Words of four letters and more, in lower case.
fn content_words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|w| w.chars().count() >= 4)
        .map(str::to_lowercase)
        .collect()
}
