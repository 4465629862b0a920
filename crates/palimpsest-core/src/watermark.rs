//! The watermark: a boundary before which tool blocks are hidden (seed 3; W1, W2, W4).
//!
//! A request first makes a *pending* mark. On the next build it settles on a tool call or on the end of the history and
//! becomes the boundary. All functions are pure; the state is in [`View::watermark`] and [`View::pending`].

use crate::context::{Context, View};
pub use crate::data::mark::{MarkReason, Marks, Pending};
use crate::data::message::{Message, Part, Role, Seq};
use crate::pass::strip::{self, StripOptions, Stripped};
use palimpsest_text::glob;
use palimpsest_text::sorted::SortedSet;

/// The result of settling marks at a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Nothing had to settle, or the mark still waits.
    Same,
    /// The boundary has moved.
    Moved {
        /// The first message after it.
        to: Seq,
        /// The reason.
        reason: MarkReason,
    },
    /// The call never came, so the mark is dropped and the old boundary stays. The caller should warn.
    Dropped {
        /// The tool whose call it waited for.
        tool: String,
    },
}

/// Asks for a mark on the next call of `tool`. It always sets one, even if nothing was deactivated. A second request
/// before the next build makes the mark wait for one more call.
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

/// Sets the boundary at the present end of the history, without a tool call.
pub fn mark_end(view: &mut View, tip: Option<Seq>) {
    view.pending = None;
    if let Some(tip) = tip {
        view.watermark = Some(view.watermark.unwrap_or(0).max(tip.saturating_add(1)));
    }
}

/// Settles the pending mark (W2): the first call of its tool **after** the watermark becomes the watermark, or the
/// second one after two requests. A mark that waited until the end of the next turn is dropped. Then the policy's
/// automatic marks are set.
pub fn settle(context: &Context, view: &mut View) -> Settled {
    if let Some(pending) = view.pending.clone() {
        let mut after = view.watermark;
        let mut left = pending.times;
        while left > 0
            && let Some(at) = call_after(context, &pending.tool, after)
        {
            // The search continues after the message with the watermark.
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

/// Returns the last call of a marking tool after the watermark.
pub fn last_call(context: &Context, pattern: &str, watermark: Option<Seq>) -> Option<Seq> {
    let mut later = after(context, watermark).rev();
    Some(later.find(|m| marks(m, pattern))?.seq)
}

/// The first message after `watermark` that calls one of the tools.
fn call_after(context: &Context, pattern: &str, watermark: Option<Seq>) -> Option<Seq> {
    let mut later = after(context, watermark);
    Some(later.find(|m| marks(m, pattern))?.seq)
}

/// The messages after a watermark.
fn after(context: &Context, watermark: Option<Seq>) -> impl DoubleEndedIterator<Item = &Message> {
    let from = watermark.map_or(0, |w| {
        // A mark at the end of the history has the number of the next message, so that message is after it.
        let is_end = is_end_mark(context, w);
        let before = |seq: Seq| if is_end { seq < w } else { seq <= w };
        context.entries.partition_point(|e| before(e.message.seq))
    });
    context.entries[from..].iter().map(|e| e.message.as_ref())
}

/// Returns `true` if the mark was set at the end of the history and not at a tool call.
fn is_end_mark(context: &Context, mark: Seq) -> bool {
    match context
        .entries
        .binary_search_by_key(&mark, |e| e.message.seq)
    {
        Ok(at) => context.entries[at].message.calls().next().is_none(),
        Err(_) => true,
    }
}

/// Returns `true` if the message calls one of the tools.
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

/// The index of the first entry at or after the boundary. `None` without a watermark, or if it is not on this path:
/// then nothing is stripped (W3).
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

/// Returns `true` if the watermark is not on this path. The caller should warn.
pub fn is_lost(context: &Context) -> bool {
    context.view.watermark.is_some() && boundary(context).is_none()
}

/// Returns the messages before the watermark without their tool blocks (W3). The newest exchange and the last user
/// message stay in any case (B10).
pub fn strip(context: &Context, options: &StripOptions) -> Stripped {
    let Some(mark) = boundary(context) else {
        return Stripped::default();
    };
    let floor = context.last_exchange().unwrap_or(context.entries.len());
    strip::edits(context, mark.min(floor), options, &context.view.anchors)
}

/// Keeps a message whole before any mark (W4).
pub fn anchor(view: &mut View, message: Seq) {
    view.anchors.insert(message);
}

/// Stops keeping a message whole.
pub fn release(view: &mut View, message: Seq) {
    view.anchors.remove(&message);
}

/// The policy's automatic mark (W4): at the last call of a marking tool, by length, or where a task begins.
fn automatic(context: &Context, view: &View) -> Option<(Seq, MarkReason)> {
    let policy = &context.setup.policy;
    let marks = &policy.marks;
    if policy.acts_on_marks()
        && let Some(seq) = last_call(context, &marks.tools, view.watermark)
    {
        return Some((seq, MarkReason::Asked));
    }
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

/// A message with fewer words does not begin a task: "go on", "yes, do that".
const FEWEST_WORDS: usize = 5;

/// Words of four letters and more, in lower case.
fn content_words(text: &str) -> SortedSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|w| w.chars().count() >= 4)
        .map(str::to_lowercase)
        .collect()
}
