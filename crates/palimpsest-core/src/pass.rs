//! Passes make a window smaller, the cheapest and least lossy first. A pass edits renditions and layers of a context;
//! it never touches messages, a store or a model.
//!
//! The deterministic ones (condense, dedupe, strip, offload) are pure functions from a context to [`Edits`], shorter
//! forms of single messages. A tool result keeps its place beside its call (I3). An edit without gain is not made, and
//! nothing from `end` on changes: the newest messages, the floor (B10).

pub mod condense;
pub mod dedupe;
pub mod emergency;
pub mod fade;
pub mod offload;
pub mod strip;

use std::borrow::Cow;
use std::rc::Rc;

use palimpsest_text::sorted::SortedMap;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::data::message::{Part, Role};
pub use crate::data::policy::PassKind;
use crate::data::policy::{KeepRecent, scaled};
use crate::data::rendition::{Reduced, Rendition, verbatim_parts};
use crate::data::tool;
use palimpsest_text::retention::Facts;

/// The result of one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Shed {
    /// The pass.
    pub pass: PassKind,
    /// The number of messages that it changed; `fade` and `emergency` count layers, too.
    pub messages: u32,
    /// The tokens that it removed from the window. The sum over all passes is the total loss of the window.
    pub tokens: u32,
    /// The fate of the facts in removed or shortened text.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
}

impl Shed {
    /// Creates the result of a pass. Its facts are added when the final window is known.
    pub fn new(pass: PassKind, messages: u32, tokens: u32) -> Self {
        Self {
            pass,
            messages,
            tokens,
            facts: Facts::default(),
        }
    }
}

/// A further action besides summarising, as a sentence with a stable code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adjustment {
    /// The code.
    pub code: &'static str,
    /// The sentence.
    pub text: String,
}

impl Adjustment {
    /// Creates an adjustment from its code and sentence.
    pub fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }

    /// Splits adjustments into sentences and codes, as reports hold them.
    pub fn split(list: Vec<Self>) -> (Vec<String>, Vec<String>) {
        let codes = list.iter().map(|a| a.code.to_owned()).collect();
        (list.into_iter().map(|a| a.text).collect(), codes)
    }
}

/// Shorter forms by index of the entry.
pub type Edits = SortedMap<usize, Reduced>;

/// An edit is made if the new form has at most this share of the old form's tokens, in percent (I5).
const WORTH: u64 = 90;

/// Returns the oldest of these edits, enough to bring the window to `aim` and not far below. Messages after them stay
/// as the provider has read them.
pub(crate) fn oldest_of(context: &Context, edits: Edits, aim: u32) -> Edits {
    let mut tokens = context.tokens();
    let mut some = Edits::new();
    for (index, reduced) in edits {
        if tokens <= aim {
            break;
        }
        let old = context.shown_tokens(index);
        let then = tokens.saturating_sub(old.saturating_sub(reduced.tokens));
        // An edit that takes far more than necessary is left to the passes that cover whole messages.
        if is_worth(old, &reduced) && then >= aim - aim / 8 {
            tokens = then;
            some.insert(index, reduced);
        }
    }
    some
}

fn is_worth(old: u32, reduced: &Reduced) -> bool {
    u64::from(reduced.tokens) * 100 <= u64::from(old) * WORTH
}

/// Applies the edits, except those that gain less than a tenth. `None` if none is left.
pub fn apply(context: &mut Context, pass: PassKind, edits: Edits) -> Option<Applied> {
    let mut view = context.view.clone();
    let (mut messages, mut replaced) = (0, 0u32);
    for (index, reduced) in edits {
        let old = context.shown_tokens(index);
        if !is_worth(old, &reduced) {
            continue;
        }
        messages += 1;
        replaced = replaced.saturating_add(old);
        view.reduced
            .insert(context.entries[index].message.seq, Rc::new(reduced));
    }
    if messages == 0 {
        return None;
    }
    let before = context.tokens();
    context.set_view(view);
    Some(Applied {
        shed: Shed::new(pass, messages, before.saturating_sub(context.tokens())),
        replaced,
    })
}

/// The edits that were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// For the report.
    pub shed: Shed,
    /// The tokens of the changed messages before the change.
    pub replaced: u32,
}

/// The index of the first recent message, which the passes leave alone: by the policy's rule, and never after the
/// floor. The last user message may stand long before it, because passes only change tool blocks.
pub fn recent_from(context: &Context) -> usize {
    let end = context.entries.len();
    let floor = context.last_exchange().unwrap_or(end);
    let shares = &context.setup.shares;
    let by_tokens = |tokens: u32| {
        let mut left = tokens;
        let mut from = end;
        for &i in context.shown.iter().rev() {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(context.shown_tokens(i));
            from = i;
        }
        from
    };
    let recent = match context.setup.policy.keep_recent {
        KeepRecent::Share => by_tokens(shares.recent),
        KeepRecent::Tokens { tokens } => by_tokens(scaled(tokens, shares.window)),
        KeepRecent::Messages { messages } => {
            let at = context.shown.len().saturating_sub(messages as usize);
            context.shown.get(at).copied().unwrap_or(end)
        }
    };
    recent.min(floor)
}

/// The parts of an entry in its present form; `None` if a layer covers it.
pub(crate) fn parts_now(context: &Context, index: usize) -> Option<Cow<'_, [Part]>> {
    let message = &context.entries[index].message;
    match context.view.rendition(message.seq) {
        Rendition::Covered(_) => None,
        Rendition::Reduced(r) => Some(Cow::Borrowed(&r.parts)),
        Rendition::Verbatim => Some(Cow::Owned(verbatim_parts(message))),
    }
}

/// Returns `true` if the entry's present form has a tool block. It copies nothing.
pub(crate) fn has_tools(context: &Context, index: usize) -> bool {
    let message = &context.entries[index].message;
    let parts = match context.view.reduced.get(&message.seq) {
        Some(reduced) => &reduced.parts,
        None => &message.parts,
    };
    parts
        .iter()
        .any(|p| matches!(p, Part::ToolCall { .. } | Part::ToolResult { .. }))
}

/// A tool call in the history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// Index of its entry.
    pub(crate) entry: usize,
    /// Index of its part in the message.
    pub(crate) part: usize,
    /// The tool.
    pub(crate) name: &'a str,
    /// The arguments, as JSON text.
    pub(crate) arguments: &'a str,
}

/// The shown calls that have no result yet.
pub(crate) type OpenCalls<'a> = tool::OpenCalls<&'a str, Call<'a>>;

/// Adds the calls of an entry.
pub(crate) fn see_calls<'a>(calls: &mut OpenCalls<'a>, context: &'a Context, entry: usize) {
    let message = &context.entries[entry].message;
    if message.role != Role::Assistant {
        return;
    }
    for (p, part) in message.parts.iter().enumerate() {
        if let Part::ToolCall {
            id,
            name,
            arguments,
        } = part
        {
            let call = Call {
                entry,
                part: p,
                name,
                arguments,
            };
            calls.ask(id, call);
        }
    }
}
