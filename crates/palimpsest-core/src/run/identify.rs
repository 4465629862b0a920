//! Stage 1: what is covered, what stays (P2, P3).

use crate::context::Context;
use crate::layer::Span;
use crate::message::{Part, Role};
use crate::policy::{KeepRecent, UserWords};
use crate::rendition::Rendition;
use crate::tool::Pairing;

use super::{Aim, Refusal, Run};

/// About what the fence, the intro and the headings of the slot take.
const SLOT_FRAME: u32 = 48;
/// Below this size a summary says nothing; the range is covered without one.
pub(super) const SMALLEST_SUMMARY: u32 = 24;

/// What the run will do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// Entries that the new layer covers, oldest first.
    pub(super) covered: Vec<usize>,
    /// Their tokens as they are shown now.
    pub(super) covered_tokens: u32,
    /// Room for the new layer; 0 if there is to be no summary.
    pub(super) newest: u32,
    /// Tokens the window should come to.
    pub(super) aim: u32,
    /// Tokens it is expected to come to.
    pub(super) projected: u32,
}

impl Plan {
    /// The covered messages as spans of the history.
    pub(super) fn spans(&self, context: &Context) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut last: Option<usize> = None;
        for &i in &self.covered {
            let seq = context.entries[i].message.seq;
            match spans.last_mut() {
                Some(span) if last == i.checked_sub(1) => span.to = seq,
                _ => spans.push(Span { from: seq, to: seq }),
            }
            last = Some(i);
        }
        spans
    }
}

impl Run {
    /// Chooses the oldest whole exchanges whose covering brings the window to its aim. The last user
    /// message and the last exchange always stay (B10); a cut never parts a call from its result (I3).
    pub(super) fn identify(&mut self) -> Result<(), Refusal> {
        let context = &self.context;
        let shares = context.setup().shares;
        let (aim, limit) = match self.options.aim {
            Aim::Target => (context.target(), shares.limit),
            Aim::AtMost(most) => (most, most),
        };
        let before = context.tokens();
        let aim = if self.options.manual && before <= aim {
            // A person asks below the target: halve the conversation.
            context.fixed() + context.conversation_tokens() / 2
        } else {
            aim
        };
        let floor = context.floor();
        if floor > limit {
            return Err(Refusal::CannotFit { floor, limit });
        }

        let cuts = self.cuts();
        let sums = Prefix::of(context);
        let with = |cut| self.project(&sums, cut, true);
        let without = |cut| self.project(&sums, cut, false);
        let reaches = |size: &Size| size.projected <= aim;
        let smallest =
            |sizes: &mut dyn Iterator<Item = Size>| sizes.min_by_key(|s| (s.projected, s.cut));
        // The first cut that reaches the aim with a summary; else, where the limit is hard, the first
        // that reaches it without one; else the one that comes nearest.
        let summarized = cuts
            .iter()
            .map(|&c| with(c))
            .find(|s| s.newest > 0 && reaches(s));
        let chosen = match self.options.aim {
            Aim::Target => summarized.or_else(|| smallest(&mut cuts.iter().map(|&c| with(c)))),
            Aim::AtMost(_) => summarized
                .or_else(|| cuts.iter().map(|&c| without(c)).find(reaches))
                .or_else(|| smallest(&mut cuts.iter().map(|&c| without(c)))),
        };
        let Some(size) = chosen else {
            return Err(Refusal::NothingToCompress);
        };
        let plan = self.plan(size, aim);
        if plan.covered.is_empty() {
            return Err(Refusal::NothingToCompress);
        }
        if context.setup().policy.user_words == UserWords::Never {
            let words: u32 = plan
                .covered
                .iter()
                .filter(|&&i| context.entries[i].message.role == Role::User)
                .map(|&i| context.entries[i].tokens)
                .sum();
            if words > shares.user {
                return Err(Refusal::NothingCompressible);
            }
        }
        self.plan = Some(plan);
        Ok(())
    }

    /// Positions in `shown` before which the window may be cut, oldest first.
    fn cuts(&self) -> Vec<usize> {
        let context = &self.context;
        let shown = &context.shown;
        let role = |p: usize| context.entries[shown[p]].message.role;
        let pairing = Pairing::of(shown.iter().map(|&i| context.entries[i].message.as_ref()));
        let safe = pairing.safe_cuts(shown.len());
        // The last exchange stays; without one the last user message is the end.
        let last = |wanted: Role| (0..shown.len()).rev().find(|&p| role(p) == wanted);
        let Some(exchange) = last(Role::Assistant).or_else(|| last(Role::User)) else {
            return Vec::new();
        };
        let end = self.keep_recent(exchange);

        // A turn that is a small part of the window is kept or covered as a whole.
        let small = context.setup().shares.window * 2 / 5;
        let mut turn_is_large = vec![false; shown.len()];
        let mut start = 0;
        for p in 0..=shown.len() {
            if p == shown.len() || role(p) == Role::User {
                let tokens: u32 = (start..p)
                    .map(|q| context.shown_tokens(shown[q]))
                    .fold(0, u32::saturating_add);
                turn_is_large[start..p].fill(tokens > small);
                start = p;
            }
        }
        (1..=end)
            .filter(|&p| {
                safe[p]
                    && match role(p) {
                        Role::User => true,
                        Role::Assistant => turn_is_large[p] || p == end,
                        Role::Tool | Role::System => false,
                    }
            })
            .collect()
    }

    /// The last position before which may be cut, by the policy's rule for recent messages.
    fn keep_recent(&self, end: usize) -> usize {
        let context = &self.context;
        let shown = &context.shown;
        let wanted = match context.setup().policy.keep_recent {
            KeepRecent::Share => return end,
            KeepRecent::Messages { messages } => shown.len().saturating_sub(messages as usize),
            KeepRecent::Tokens { tokens } => {
                let mut left = tokens;
                let mut at = shown.len();
                while at > 0 && left > 0 {
                    at -= 1;
                    left = left.saturating_sub(context.shown_tokens(shown[at]));
                }
                at
            }
        };
        if matches!(self.options.aim, Aim::AtMost(_)) {
            end
        } else {
            end.min(wanted)
        }
    }

    /// What the window would come to if everything before `cut` were covered.
    fn project(&self, sums: &Prefix, cut: usize, summary: bool) -> Size {
        let context = &self.context;
        let shares = context.setup().shares;
        let kept = self.kept_user(cut).map_or(0, |i| context.shown_tokens(i));
        let covered = sums.shown[cut]
            .saturating_sub(sums.fixed[cut])
            .saturating_sub(kept);
        let tail = context.conversation_tokens().saturating_sub(covered);
        let mut newest = if summary {
            shares.newest.min(covered * 3 / 5)
        } else {
            0
        };
        if newest < SMALLEST_SUMMARY {
            newest = 0;
        }
        let slots = shares.older_slots as usize;
        let older: u32 = context
            .view()
            .layers
            .iter()
            .rev()
            .take(slots)
            .map(|l| l.tokens.min(shares.older))
            .sum();
        let words = (sums.covered_user + sums.user[cut].saturating_sub(kept)).min(shares.user);
        let words = if summary { words } else { 0 };
        let frame = if newest + older + words > 0 {
            SLOT_FRAME
        } else {
            0
        };
        Size {
            cut,
            newest,
            covered,
            projected: context.fixed_tokens() + frame + newest + older + words + tail,
        }
    }

    fn plan(&self, size: Size, aim: u32) -> Plan {
        let kept = self.kept_user(size.cut);
        let covered = self.context.shown[..size.cut]
            .iter()
            .copied()
            .filter(|i| Some(*i) != kept && !self.is_fixed(*i))
            .collect();
        Plan {
            covered,
            covered_tokens: size.covered,
            newest: size.newest,
            aim,
            projected: size.projected,
        }
    }

    /// The last user message stays even where the exchanges after it are covered (a turn larger than
    /// the window is compressed inside).
    fn kept_user(&self, cut: usize) -> Option<usize> {
        let last = self.context.last_user()?;
        self.context.shown[..cut]
            .binary_search(&last)
            .is_ok()
            .then_some(last)
    }

    /// System messages inside a conversation are the host's word: never summarised.
    fn is_fixed(&self, index: usize) -> bool {
        self.context.entries[index].message.role == Role::System
    }
}

/// What a cut would come to.
#[derive(Debug, Clone, Copy)]
struct Size {
    cut: usize,
    newest: u32,
    covered: u32,
    projected: u32,
}

/// Sums over the shown messages, so that every cut is judged in constant time.
struct Prefix {
    /// Tokens of the first n shown messages.
    shown: Vec<u32>,
    /// Tokens of the user's words among the first n shown messages.
    user: Vec<u32>,
    /// Tokens of the system messages among the first n shown messages: never covered.
    fixed: Vec<u32>,
    /// Tokens of the user's words that are covered already.
    covered_user: u32,
}

impl Prefix {
    fn of(context: &Context) -> Self {
        let mut shown = vec![0u32];
        let mut user = vec![0u32];
        let mut fixed = vec![0u32];
        let push = |sums: &mut Vec<u32>, tokens: u32| {
            let last = sums.last().copied().unwrap_or(0);
            sums.push(last.saturating_add(tokens));
        };
        for &i in &context.shown {
            let tokens = context.shown_tokens(i);
            let role = context.entries[i].message.role;
            push(&mut shown, tokens);
            push(&mut user, if role == Role::User { tokens } else { 0 });
            push(&mut fixed, if role == Role::System { tokens } else { 0 });
        }
        let covered_user = if context.view().layers.is_empty() {
            0
        } else {
            context
                .entries
                .iter()
                .filter(|e| e.message.role == Role::User)
                .filter(|e| {
                    matches!(
                        context.view().rendition(e.message.seq),
                        Rendition::Covered(_)
                    )
                })
                .map(|e| e.tokens)
                .fold(0, u32::saturating_add)
        };
        Self {
            shown,
            user,
            fixed,
            covered_user,
        }
    }
}

/// The words of a message that a summariser reads: thinking and pictures left out.
pub(super) fn words_of(parts: &[Part]) -> String {
    let mut out = String::new();
    for part in parts {
        let line = match part {
            Part::Thinking { .. } => continue,
            Part::Image { name, .. } => format!("[image: {name}]"),
            Part::ToolCall {
                name, arguments, ..
            } => format!("{name} {arguments}"),
            Part::File { name, text } => format!("[file: {name}]\n{text}"),
            Part::Text { text } | Part::ToolResult { text, .. } => text.clone(),
        };
        if line.trim().is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&line);
    }
    out
}
