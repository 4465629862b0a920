//! Passes: what makes a window smaller, cheapest and least lossy first. A pass edits renditions and
//! layers of a context; it never touches messages, a store or a model.
//!
//! The deterministic ones (condense, dedupe, strip, offload) are pure functions from a context to
//! [`Edits`]: shorter forms of single messages. A tool result keeps its place beside its call (I3), an
//! edit without gain is not made, and nothing from `end` on is touched: the newest messages, the floor (B10).

pub mod condense;
pub mod dedupe;
pub mod emergency;
pub mod fade;
pub mod offload;
pub mod strip;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use palimpsest_text::sorted::SortedMap;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::data::message::{Part, Role};
pub use crate::data::policy::PassKind;
use crate::data::policy::{KeepRecent, scaled};
use crate::data::rendition::{Reduced, Rendition, verbatim_parts};
use palimpsest_text::retention::Facts;

/// What one pass did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shed {
    /// Which.
    pub pass: PassKind,
    /// Messages it changed; `fade` and `emergency` count layers, too.
    pub messages: u32,
    /// Tokens the window lost by it. Those of all passes together are what the window lost.
    pub tokens: u32,
    /// What became of the facts of what it took or shortened.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
}

impl Shed {
    /// What a pass took; its facts are told when the window after all of them is there.
    pub fn new(pass: PassKind, messages: u32, tokens: u32) -> Self {
        Self {
            pass,
            messages,
            tokens,
            facts: Facts::default(),
        }
    }
}

/// Something that was done beside summarising, as a sentence and by a stable name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adjustment {
    /// The name.
    pub code: &'static str,
    /// The sentence.
    pub text: String,
}

impl Adjustment {
    /// A sentence with its name.
    pub fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }

    /// Sentences and names, as reports hold them.
    pub fn split(list: Vec<Self>) -> (Vec<String>, Vec<String>) {
        let codes = list.iter().map(|a| a.code.to_owned()).collect();
        (list.into_iter().map(|a| a.text).collect(), codes)
    }
}

/// Shorter forms by index of the entry.
pub type Edits = SortedMap<usize, Reduced>;

/// An edit is made if the new form has at most this share of the tokens of the old one, in percent (I5).
const WORTH: u64 = 90;

/// Of these edits the oldest, as many as bring the window to `aim` and not far below it: what stands behind them stays as it was read.
pub(crate) fn oldest_of(context: &Context, edits: Edits, aim: u32) -> Edits {
    let mut tokens = context.tokens();
    let mut some = Edits::new();
    for (index, reduced) in edits {
        if tokens <= aim {
            break;
        }
        let old = context.shown_tokens(index);
        let then = tokens.saturating_sub(old.saturating_sub(reduced.tokens));
        // one that takes far more than has to go stays for what covers whole messages
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

/// Shows the messages in their new forms. Edits that gain less than a tenth are left out; `None` if none is
/// left.
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

/// Edits that were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// For the report.
    pub shed: Shed,
    /// Tokens of the changed messages as they were shown before.
    pub replaced: u32,
}

/// Index of the first entry of the recent messages, which the passes leave alone: by the policy's rule,
/// and never after the floor. The last user message may stand long before: passes change tool blocks only.
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

/// The parts of an entry as they are shown now; `None` if a layer stands for it.
pub(crate) fn parts_now(context: &Context, index: usize) -> Option<Cow<'_, [Part]>> {
    let message = &context.entries[index].message;
    match context.view.rendition(message.seq) {
        Rendition::Covered(_) => None,
        Rendition::Reduced(r) => Some(Cow::Borrowed(&r.parts)),
        Rendition::Verbatim => Some(Cow::Owned(verbatim_parts(message))),
    }
}

/// Whether the entry holds a tool block as it is shown now. Looks, does not copy.
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

/// Walks the shown tool calls and says for every result which call it answers: the nearest preceding one of
/// its id that has no result yet.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls<'a> {
    open: BTreeMap<&'a str, Vec<Call<'a>>>,
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

impl<'a> OpenCalls<'a> {
    /// Takes note of a call.
    pub(crate) fn see(&mut self, context: &'a Context, entry: usize) {
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
                self.open.entry(id).or_default().push(Call {
                    entry,
                    part: p,
                    name,
                    arguments,
                });
            }
        }
    }

    /// The call that a result answers.
    pub(crate) fn answer(&mut self, id: &str) -> Option<Call<'a>> {
        self.open.get_mut(id)?.pop()
    }
}
