//! What a new layer covers (P2, P3): every place where the window may be cut is judged, and one is taken.

use crate::context::Context;
use crate::context::slot;
use crate::data::layer::{Author, Span};
use crate::data::message::{Role, Seq};
use crate::data::policy::{Cover, Fading, KeepRecent, UserWords, scaled};
use crate::data::tool::Pairing;

use super::{Aim, Refusal, RunOptions};

/// About what the fence, the intro and the headings of the slot take.
pub(super) const SLOT_FRAME: u32 = 48;
/// Below this size a summary says nothing; the range is covered without one.
pub(super) const SMALLEST_SUMMARY: u32 = 24;

/// About what the line takes that stands for messages left out without a summary.
const NOTE_TOKENS: u32 = 24;

/// The least share of the aim, in tenths, that stays with the newest messages of a talk.
const TAIL_TENTHS: u32 = 3;

/// The largest share of a list's limit, in tenths, that its only layer is planned with.
const ONE_LAYER_TENTHS: u32 = 3;

/// A turn of so many replies is a loop of tool calls, which may be cut between any two of its steps.
const LOOP_STEPS: usize = 4;

/// What stands for the covered messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A summary.
    Summary,
    /// A line that says how much was left out.
    Note,
    /// Nothing.
    Bare,
}

/// What the run will do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// Entries that the new layer covers, oldest first.
    pub(super) covered: Vec<usize>,
    /// What stands for them.
    pub(super) form: Form,
    /// Their tokens as they are shown now.
    pub(super) covered_tokens: u32,
    /// Room for the new layer; 0 if there is to be no summary.
    pub(super) newest: u32,
    /// Tokens the window should come to.
    pub(super) aim: u32,
    /// Tokens it is expected to come to.
    pub(super) projected: u32,
    /// The least tokens that all layers have together, if they share the room of the new one.
    pub(super) shared: Option<u32>,
}

impl Plan {
    /// Nothing is covered: the passes do it, or nothing can be covered.
    pub(super) const fn bare(aim: u32, projected: u32) -> Self {
        Self {
            covered: Vec::new(),
            form: Form::Bare,
            covered_tokens: 0,
            newest: 0,
            aim,
            projected,
            shared: None,
        }
    }

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

/// Chooses the oldest whole exchanges whose covering brings the window to `goal` tokens. The last user message and the last
/// exchange always stay (B10); a cut never parts a call from its result (I3).
pub(super) fn cover(
    context: &Context,
    options: &RunOptions,
    form: Form,
    goal: u32,
) -> Result<Plan, Refusal> {
    let cutting = Cutting {
        context,
        aim: options.aim,
        may_share: options.shared.is_some(),
        writer: if options.model.is_some() {
            Writer::Model
        } else {
            Writer::Deterministic
        },
    };
    cutting.plan(form, goal)
}

/// A window that is to be cut.
struct Cutting<'a> {
    context: &'a Context,
    aim: Aim,
    may_share: bool,
    writer: Writer,
}

/// The author of the summaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Model,
    Deterministic,
}

impl Cutting<'_> {
    /// Chooses what a new layer covers, so that the window comes to `goal` tokens.
    fn plan(&self, form: Form, goal: u32) -> Result<Plan, Refusal> {
        let context = self.context;
        let shares = context.setup().shares;
        let policy = &context.setup().policy;
        let (mut cuts, wanted) = self.cuts();
        let sums = Prefix::of(context);
        // what the policy names as recent stays where the rest can make room
        if let Some(most) = self.aim.hard() {
            let before: Vec<usize> = cuts.iter().copied().filter(|c| *c <= wanted).collect();
            let fits =
                |cut: &usize| self.project(&sums, *cut, form, Layers::Tight).projected <= most;
            if before.iter().any(fits) {
                cuts = before;
            }
        }
        let roomy = match self.aim.hard() {
            None => Layers::Roomy,
            Some(_) => Layers::Tight,
        };
        let with = |cut| self.project(&sums, cut, form, roomy);
        let tight = |cut| self.project(&sums, cut, form, Layers::Tight);
        let without = |cut| self.project(&sums, cut, Form::Bare, Layers::Tight);
        let noted = |cut| self.project(&sums, cut, Form::Note, Layers::Tight);
        let reaches = |size: &Size| size.projected <= goal;
        let smallest =
            |sizes: &mut dyn Iterator<Item = Size>| sizes.min_by_key(|s| (s.projected, s.cut));
        // Everything before the recent messages, where the policy says so. Where a list has a limit, that must not leave
        // less than half of it: then the first cut that reaches the aim is taken.
        let all = (policy.cover == Cover::All)
            .then(|| cuts.iter().rev().find(|&&c| c <= wanted).map(|&c| with(c)))
            .flatten()
            .filter(|s| {
                s.newest > 0
                    && self
                        .aim
                        .hard()
                        .is_none_or(|most| reaches(s) && s.projected >= most / 2)
            });
        // The first cut that reaches the aim with a summary; else, where the limit is hard, the first
        // that reaches it without one; else the one that comes nearest.
        let summary = |size_of: &dyn Fn(usize) -> Size, most: u32| {
            let sizes = cuts.iter().map(|&c| size_of(c));
            sizes
                .into_iter()
                .find(|s| s.newest > 0 && s.projected <= most)
        };
        let first = |form: &dyn Fn(usize) -> Size, most: u32| {
            let sizes = cuts.iter().map(|&c| form(c));
            sizes.into_iter().find(|s| s.projected <= most)
        };
        // past the aim, the cut that comes nearest to it
        let nearest = |most: u32| {
            let sizes = cuts.iter().map(|&c| tight(c));
            sizes
                .filter(|s| s.newest > 0 && s.projected <= most)
                .min_by_key(|s| (s.projected, s.cut))
        };
        // Where people talk, more is covered than has to be while enough of the newest messages stays: its room says more in
        // layers. A model's summary does not get longer for it.
        let floor = shares.recent.max(goal / 10 * TAIL_TENTHS);
        let is_talk = self.writer == Writer::Deterministic && !context.has_tools();
        let conversation = context.conversation_tokens();
        let farther = |first: Size| {
            let leaves = |cut: &&usize| {
                **cut <= wanted && conversation.saturating_sub(sums.shown[**cut]) >= floor
            };
            let far = cuts.iter().rev().find(leaves);
            let far = far.filter(|cut| is_talk && **cut > first.cut);
            let size = far.map(|cut| with(*cut));
            size.filter(|s| s.newest > 0 && s.projected <= goal)
                .unwrap_or(first)
        };
        let summarized = all
            .or_else(|| summary(&with, goal).map(farther))
            .or_else(|| summary(&tight, goal).map(farther));
        let chosen = match self.aim {
            Aim::Target => summarized.or_else(|| smallest(&mut cuts.iter().map(|&c| tight(c)))),
            // Nothing leaves without a summary while there is room for one, nor without a line.
            Aim::AtMost(most) | Aim::Below { most, .. } => summarized
                .or_else(|| nearest(most))
                .or_else(|| first(&noted, most))
                .or_else(|| first(&without, most))
                .or_else(|| smallest(&mut cuts.iter().map(|&c| without(c)))),
        };
        let Some(size) = chosen else {
            return Err(Refusal::NothingToCompress);
        };
        let plan = self.plan_of(size, goal);
        if plan.covered.is_empty() {
            return Err(Refusal::NothingToCompress);
        }
        if policy.user_words == UserWords::Never {
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
        Ok(plan)
    }

    /// Positions in `shown` before which the window may be cut, oldest first; and where the policy would have
    /// the recent messages begin, which a hard limit may go beyond.
    fn cuts(&self) -> (Vec<usize>, usize) {
        let context = self.context;
        let shown = &context.shown;
        let role = |p: usize| context.entries[shown[p]].message.role;
        let pairing = Pairing::of(shown.iter().map(|&i| context.entries[i].message.as_ref()));
        let safe = pairing.safe_cuts(shown.len());
        // The last exchange stays; without one the last user message is the end.
        let last = |wanted: Role| (0..shown.len()).rev().find(|&p| role(p) == wanted);
        let Some(exchange) = last(Role::Assistant).or_else(|| last(Role::User)) else {
            return (Vec::new(), 0);
        };
        let wanted = self.keep_recent(exchange);
        let end = if self.aim.hard().is_some() {
            exchange
        } else {
            wanted
        };

        // A turn that is a small part of the window is kept or covered as a whole, unless it is a loop of tool calls.
        let small = context.setup().shares.window * 2 / 5;
        let mut turn_is_large = vec![false; shown.len()];
        let mut start = 0;
        for p in 0..=shown.len() {
            if p == shown.len() || role(p) == Role::User {
                let tokens: u32 = (start..p)
                    .map(|q| context.shown_tokens(shown[q]))
                    .fold(0, u32::saturating_add);
                let steps = (start..p).filter(|&q| role(q) == Role::Assistant).count();
                turn_is_large[start..p].fill(tokens > small || steps >= LOOP_STEPS);
                start = p;
            }
        }
        let cuts = (1..=end)
            .filter(|&p| {
                safe[p]
                    && match role(p) {
                        Role::User => true,
                        // where the seeds keep a number of messages, every safe place will do
                        Role::Assistant => turn_is_large[p] || p == end || self.counts_messages(),
                        Role::Tool | Role::System => false,
                    }
            })
            .collect();
        (cuts, wanted)
    }

    fn counts_messages(&self) -> bool {
        let policy = &self.context.setup().policy;
        policy.cover == Cover::All && policy.keep_recent != KeepRecent::Share
    }

    /// The last position before which may be cut, by the policy's rule for recent messages.
    fn keep_recent(&self, end: usize) -> usize {
        let context = self.context;
        let shown = &context.shown;
        let wanted = match context.setup().policy.keep_recent {
            KeepRecent::Share => return end,
            KeepRecent::Messages { messages } => shown.len().saturating_sub(messages as usize),
            KeepRecent::Tokens { tokens } => {
                let mut left = scaled(tokens, context.setup().shares.window);
                let mut at = shown.len();
                while at > 0 && left > 0 {
                    at -= 1;
                    left = left.saturating_sub(context.shown_tokens(shown[at]));
                }
                at
            }
        };
        end.min(wanted)
    }

    /// The size of the window if everything before `cut` were covered, with layers of that size if they share one room.
    fn project(&self, sums: &Prefix, cut: usize, form: Form, size: Layers) -> Size {
        let context = self.context;
        let shares = context.setup().shares;
        let kept = self.kept_user(cut).map_or(0, |i| context.shown_tokens(i));
        let covered = sums.shown[cut]
            .saturating_sub(sums.fixed[cut])
            .saturating_sub(kept);
        let tail = context.conversation_tokens().saturating_sub(covered);
        let policy = &context.setup().policy;
        let setup = context.setup();
        let mut most = setup.layer_room(0).unwrap_or(shares.newest);
        if setup.has_one_layer
            && let Some(limit) = self.aim.hard()
        {
            most = most.min(limit / 10 * ONE_LAYER_TENTHS);
        }
        // What the only layer says already needs its room again.
        let said: u32 = context.view().layers.iter().map(|l| l.tokens).sum();
        let rewritten = if setup.has_one_layer { said } else { 0 };
        let mut newest = match form {
            Form::Summary => {
                Some(most.min(rewritten + covered * 3 / 5)).filter(|n| *n >= SMALLEST_SUMMARY)
            }
            Form::Note => Some(NOTE_TOKENS),
            Form::Bare => None,
        }
        .unwrap_or(0);
        let layers = context.view().layers.iter().rev();
        let mut older: u32 = match &policy.fading {
            // rewritten with what is covered now
            _ if setup.has_one_layer && form == Form::Summary => 0,
            Fading::Notes => layers
                .take(shares.older_slots as usize)
                .map(|l| l.tokens.min(shares.older))
                .sum(),
            _ => layers
                .enumerate()
                .map(|(age, l)| l.tokens.min(setup.layer_room(age + 1).unwrap_or(l.tokens)))
                .sum(),
        };
        let mut least = None;
        if newest > 0 && form == Form::Summary && self.shares_room() {
            newest += older;
            older = 0;
            least = Some(newest);
            if size == Layers::Roomy {
                newest = newest.max(shares.layers().min(said + covered * 3 / 5));
            }
        }
        let words = (sums.covered_user + sums.user[cut].saturating_sub(kept)).min(shares.user);
        let keeps = form != Form::Bare && policy.user_words != UserWords::Summarize;
        let words = if keeps { words } else { 0 };
        let demands = sums.demands[cut];
        let frame = if newest + older + words + demands > 0 {
            SLOT_FRAME
        } else {
            0
        };
        Size {
            cut,
            form: if newest == 0 { Form::Bare } else { form },
            newest,
            shared: least,
            covered,
            projected: context.fixed_tokens() + frame + demands + newest + older + words + tail,
        }
    }

    fn plan_of(&self, size: Size, aim: u32) -> Plan {
        let kept = self.kept_user(size.cut);
        let covered = self.context.shown[..size.cut]
            .iter()
            .copied()
            .filter(|i| Some(*i) != kept && !self.is_fixed(*i))
            .collect();
        Plan {
            covered,
            form: size.form,
            covered_tokens: size.covered,
            newest: size.newest,
            aim,
            projected: size.projected,
            shared: size.shared,
        }
    }

    /// In small windows the layers share one room, where no model writes them.
    fn shares_room(&self) -> bool {
        let setup = self.context.setup();
        let layers = &self.context.view().layers;
        self.may_share
            && setup.policy.fading == Fading::Notes
            && setup.shares.is_small()
            && !setup.has_one_layer
            && setup.longest_layer.is_none()
            && self.writer == Writer::Deterministic
            && layers.iter().all(|l| l.author == Author::Extractive)
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

/// The room of layers that share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layers {
    /// The sum of what each would have.
    Tight,
    /// The room of as many layers as a window has at most.
    Roomy,
}

/// What a cut would come to.
#[derive(Debug, Clone, Copy)]
struct Size {
    cut: usize,
    form: Form,
    newest: u32,
    shared: Option<u32>,
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
    /// Tokens of the demands at the head of the layers when the first n shown messages are covered.
    demands: Vec<u32>,
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
        let mut demands: Vec<u32> = Vec::with_capacity(shown.len());
        let all = context.demands_without(Seq::MAX);
        // those that a message in the window says still; the others stand in the slot already
        let mut said: Vec<Seq> = all.iter().map(|d| d.from).collect();
        for demand in context.demands() {
            if let Some(place) = said.iter().position(|from| *from == demand.from) {
                said.swap_remove(place);
            }
        }
        let mut covered = None;
        for n in 0..shown.len() {
            let next = context.shown.get(n);
            let first = next.map_or(Seq::MAX, |&i| context.entries[i].message.seq);
            let now = said.iter().filter(|from| **from < first).count();
            let tokens = match demands.last() {
                Some(last) if covered == Some(now) => *last,
                _ => {
                    slot::demands_take(&context.demands_without(first), context.counter().as_ref())
                }
            };
            covered = Some(now);
            demands.push(tokens);
        }
        Self {
            shown,
            user,
            fixed,
            demands,
            covered_user: context.covered_user_tokens(),
        }
    }
}
