//! The budget: the size and content of the window, and the moment to act (B1–B7, B10).

use palimpsest_tokens::{Count, Source};
use serde::{Deserialize, Deserializer, Serialize};

use crate::context::Context;
use crate::data::layer::LayerId;
use crate::data::mark::Marks;
use crate::data::message::{Role, Seq};
use crate::data::policy::{Cover, Denominator, Pass, Trigger};
use crate::error::CoreError;
use crate::headroom;
use crate::pass::strip::StripOptions;
use crate::watermark;

/// The content of a stretch of the window, in window order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "kind"))]
pub enum SegmentKind {
    /// System prompt and chat template.
    System,
    /// Tool definitions.
    Tools,
    /// The goal.
    Goal,
    /// Pins, constraints and locked decisions.
    Pins,
    /// One layer.
    Layer {
        /// Its number.
        id: LayerId,
    },
    /// The user's words that are quoted in the slot, with the slot's frame.
    Quoted,
    /// Recalled quotes.
    Recalled,
    /// User messages of the tail.
    User,
    /// Assistant messages of the tail.
    Assistant,
    /// Tool results of the tail.
    Tool,
    /// The message that the user is typing.
    Draft,
}

palimpsest_text::tagged!(SegmentKind, "kind");

/// One stretch of the window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Segment {
    /// Its content.
    #[serde(flatten)]
    pub kind: SegmentKind,
    /// Its size.
    pub count: Count,
}

impl<'de> Deserialize<'de> for Segment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Rest {
            count: Count,
        }
        let (Rest { count }, kind) = palimpsest_text::json::both(deserializer)?;
        Ok(Self { kind, count })
    }
}

/// The budget report (B7). All numbers are tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Budget {
    /// W: the requested window, sent as `num_ctx`. It is the base of every percentage.
    pub window: u32,
    /// R: the room for the answer.
    pub reserve: u32,
    /// m: the room for errors of counting.
    pub margin: u32,
    /// L: the most that a sent window may hold.
    pub limit: u32,
    /// The tokens of the present window.
    pub used: Count,
    /// F: system, tools, records and layers.
    pub fixed: u32,
    /// L − F: the room for the conversation.
    pub available: u32,
    /// The tokens of the conversation.
    pub conversation: u32,
    /// The tokens that no pass may remove (B10).
    pub floor: u32,
    /// The tokens at which the automatic compaction starts.
    pub trigger: u32,
    /// The goal of a compaction.
    pub target: u32,
    /// The tokens until the trigger fires, which adds the bound of estimates; 0 if it does now.
    pub until_trigger: u32,
    /// The tokens until the limit; 0 at or past it.
    pub free: u32,
    /// The tokens past the limit.
    pub over: u32,
    /// The tokens that the server has to read at the next request. After a change in front of the last messages these
    /// are all tokens, otherwise those added since its last count.
    pub reread: u32,
    /// The rest of the tier's prompt budget beside the system prompt (B2). Only seed 1's trigger uses it.
    #[serde(default)]
    pub checkpoint_budget: u32,
    /// The stretches in window order.
    pub segments: Vec<Segment>,
    /// The watermark and its rules. `None` if there is no mark and the policy sets none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watermark: Option<MarkReport>,
}

/// The place of the watermark, and the content that stays before it (W4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MarkReport {
    /// The first message after it. `None` if there is none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Seq>,
    /// The watermark is not among these messages, so nothing is stripped.
    pub lost: bool,
    /// The tool whose call the next mark waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// The number of messages that stay whole before it.
    pub anchors: u32,
    /// The content that stays besides text, if the policy strips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stays: Option<StripOptions>,
    /// The rules by which marks are set.
    pub marks: Marks,
}

/// Seed 1's provider validation (B6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitCheck {
    /// The window may be sent.
    pub valid: bool,
    /// The tokens of the window.
    pub tokens: u32,
    /// The limit in tokens.
    pub limit: u32,
    /// The tokens past the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overage: Option<u32>,
    /// The remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The circumstances that a trigger may depend on, besides the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occasion {
    /// Seconds since the last message.
    pub idle_seconds: u32,
    /// The provider reported that the prompt is too long.
    pub overflow: bool,
    /// A person asked for it.
    pub manual: bool,
}

/// The kind of trigger that fired (B4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Due {
    /// The window reached its fill mark.
    Fill,
    /// The number of messages.
    Messages,
    /// A watermark.
    Watermark,
    /// The time without a message.
    Idle,
    /// The provider's overflow.
    Overflow,
    /// A person.
    Manual,
}

impl Context {
    /// Returns the window's stretches in order, with neighbours of one kind joined, for a card.
    pub fn stretches(&self) -> Vec<Segment> {
        let mut all: Vec<Segment> = Vec::new();
        for segment in self.budget().segments {
            match all.last_mut() {
                Some(last) if last.kind == segment.kind => {
                    last.count.tokens = last.count.tokens.saturating_add(segment.count.tokens);
                    last.count.bound = last.count.bound.saturating_add(segment.count.bound);
                }
                _ => all.push(segment),
            }
        }
        all
    }

    /// Checks if the window may be sent. Without a provider's count it takes constant time, because the sums are kept.
    pub fn check_limit(&self) -> LimitCheck {
        let (tokens, limit) = (self.count().tokens, self.setup.shares.limit);
        let overage = tokens.checked_sub(limit).filter(|over| *over > 0);
        LimitCheck {
            valid: overage.is_none(),
            tokens,
            limit,
            overage,
            message: overage.map(|over| {
                format!("The window holds {tokens} tokens, {over} more than its limit of {limit}. Compact it, or choose a larger window.")
            }),
        }
    }

    /// F: the tokens of system, tools, records and layers.
    pub fn fixed(&self) -> u32 {
        self.fixed_tokens().saturating_add(self.slot_tokens())
    }

    /// The tokens that no pass may remove (B10): system, tools, records with the demands at the head of the layers, the
    /// last user message, and the last exchange, which counts at most a quarter of the window.
    pub fn floor(&self) -> u32 {
        let user = self.last_user().map_or(0, |i| self.shown_tokens(i));
        self.floor_with(user.min(self.message_room()))
    }

    /// The same with the whole last user message, however large it is. Refusals name this number.
    pub fn must_stay(&self) -> u32 {
        self.floor_with(self.last_user().map_or(0, |i| self.shown_tokens(i)))
    }

    /// The tokens that stand beside the text of the last exchange in any window: the floor without it.
    pub(crate) fn least_beside_exchange(&self) -> u32 {
        let user = self.last_user().map_or(0, |i| self.shown_tokens(i));
        let (_, reasoning) = self.exchange_tokens();
        self.fixed_tokens()
            .saturating_add(self.demand_floor())
            .saturating_add(user)
            .saturating_add(reasoning)
    }

    /// The tokens of the last exchange without the user's messages: of its text, and of its reasoning, which nothing cuts.
    pub(crate) fn exchange_tokens(&self) -> (u32, u32) {
        let (mut text, mut reasoning) = (0u32, 0u32);
        let from = self.last_exchange().unwrap_or(self.entries.len());
        for i in from..self.entries.len() {
            if self.entries[i].message.role != Role::User {
                let own = self.reasoning_of(i);
                reasoning = reasoning.saturating_add(own);
                text = text.saturating_add(self.shown_tokens(i) - own);
            }
        }
        (text, reasoning)
    }

    /// The floor with a last user message of `user` tokens.
    fn floor_with(&self, user: u32) -> u32 {
        let (exchange, reasoning) = self.exchange_tokens();
        let cap = self.setup.shares.window / 4;
        self.fixed_tokens()
            .saturating_add(self.demand_floor())
            .saturating_add(user)
            .saturating_add(exchange.min(cap))
            .saturating_add(reasoning)
    }

    /// The tokens of the slot after everything before the last exchange is covered: the demands in the covered
    /// messages. Never more than the present slot.
    fn demand_floor(&self) -> u32 {
        if self.rendered.demands.is_empty() {
            return 0;
        }
        let (exchange, user) = (self.last_exchange(), self.last_user());
        let kept = exchange.into_iter().chain(user).min();
        let kept = kept.unwrap_or(self.entries.len());
        let first = self.entries.get(kept).map_or(Seq::MAX, |e| e.message.seq);
        let after = (kept..self.entries.len())
            .map(|i| self.shown_tokens(i))
            .fold(0, u32::saturating_add);
        let now = self
            .slot_tokens()
            .saturating_add(self.conversation_tokens().saturating_sub(after));
        self.slot_of(&self.demands_without(first)).min(now)
    }

    /// The largest user message (B5): the rest of the limit beside system, tools, records with the demands at the head
    /// of the layers, and one excerpted exchange.
    pub fn message_room(&self) -> u32 {
        let shares = &self.setup.shares;
        shares
            .limit
            .saturating_sub(self.fixed_tokens())
            .saturating_sub(self.slot_of(&self.all_demands()))
            .saturating_sub(shares.window / 8)
    }

    /// Refuses a user message that fits no window (B5). Call it before storing the message.
    ///
    /// # Errors
    ///
    /// [`CoreError`] with the room and the size.
    pub fn check_message(&self, tokens: u32) -> Result<(), CoreError> {
        let room = self.message_room();
        if tokens > room {
            Err(CoreError::MessageTooLarge { tokens, room })
        } else {
            Ok(())
        }
    }

    /// The goal of a compaction in tokens: the window's shares with the real sizes of system prompt and tools, always
    /// below the trigger.
    pub fn target(&self) -> u32 {
        let shares = &self.setup.shares;
        let records = self.rendered.beside_system();
        let system = self.fixed_tokens().saturating_sub(records);
        // Demands are records at every place. The part beyond the records' share is added to the target.
        let with_demands = records.saturating_add(self.demand_floor());
        let beyond = with_demands
            .saturating_sub(shares.records)
            .saturating_sub(records.saturating_sub(shares.records));
        let sum = shares.target(system).saturating_add(beyond);
        // A large system prompt leaves less than the sum of the shares.
        let floor = system
            .saturating_add(shares.records.max(with_demands))
            .saturating_add(shares.layers());
        let below = shares
            .trigger(floor, self.setup.policy.fill_of_available())
            .min(self.trigger_at(floor))
            .saturating_sub(shares.recall);
        // Where the policy fills what is available, more stays if there is still room for many requests.
        let policy = &self.setup.policy;
        let fills = policy.triggers.iter().any(|t| {
            matches!(
                t,
                Trigger::Fill {
                    of: Denominator::Available,
                    ..
                }
            )
        });
        let steady = headroom::goal(self, below).filter(|_| fills && policy.cover == Cover::Needed);
        let goal = sum.max(steady.unwrap_or(0)).min(below);
        goal.max(self.floor().min(shares.limit))
    }

    /// The number of tokens at which the automatic compaction starts: the lowest of the policy's fill
    /// triggers, and at most the limit.
    pub fn trigger(&self) -> u32 {
        self.trigger_at(self.fixed())
    }

    /// The trigger with `fixed` tokens of system, tools, records and layers.
    fn trigger_at(&self, fixed: u32) -> u32 {
        let shares = &self.setup.shares;
        // Seed 1 makes checkpoints only if its prompt budget leaves room for them.
        let cascades = !self.setup.policy.fading.sizes().is_empty();
        let gated = cascades && self.checkpoint_budget() == 0;
        let fills = self.setup.policy.triggers.iter().filter_map(|t| match t {
            Trigger::Fill {
                of: Denominator::WindowLessTier,
                ..
            } if gated => None,
            Trigger::Fill { of, at } => Some(match of {
                Denominator::Available => shares
                    .trigger(fixed, *at)
                    .min(shares.limit.saturating_sub(self.kept_for_quotes())),
                Denominator::WindowLessFixed => {
                    let room = shares.window.saturating_sub(fixed);
                    fixed.saturating_add((f64::from(room) * f64::from(*at)).floor() as u32)
                }
                Denominator::Window => (f64::from(shares.window) * f64::from(*at)) as u32,
                Denominator::WindowLessTier => {
                    let tier = crate::data::model::Tier::of_window(shares.window);
                    let tier = self.setup.policy.prompt_budgets.of(tier);
                    let room = shares
                        .window
                        .saturating_sub(tier)
                        .saturating_sub(shares.margin);
                    (f64::from(room) * f64::from(*at)) as u32
                }
            }),
            _ => None,
        });
        fills.min().unwrap_or(shares.limit).min(shares.limit)
    }

    /// Room that stays free below the limit, so that a question finds quotes.
    fn kept_for_quotes(&self) -> u32 {
        if self.setup.policy.recall {
            self.setup.shares.recall * 3 / 2
        } else {
            0
        }
    }

    /// max(0, the tier's prompt budget − the system prompt) in tokens (B2).
    pub fn checkpoint_budget(&self) -> u32 {
        let tier = crate::data::model::Tier::of_window(self.setup.shares.window);
        let system = self.rendered.system_tokens;
        crate::data::model::checkpoint_budget(&self.setup.policy.prompt_budgets, tier, system)
    }

    /// Returns `true` if the policy asks for a compaction now. The bound of estimated counts is added, so "80 %" is
    /// never reached unnoticed. Quotes for one message do not count, because they leave with the next one.
    pub fn is_due(&self) -> bool {
        self.due(&Occasion::default()).is_some()
    }

    /// Returns the first of the policy's triggers that fires now. The limit always counts as a trigger.
    pub fn due(&self, occasion: &Occasion) -> Option<Due> {
        let count = self.count();
        let lasting = count.tokens.saturating_sub(self.recalled_tokens());
        let tokens = lasting.saturating_add(count.bound);
        if tokens >= self.trigger() {
            return Some(Due::Fill);
        }
        self.setup.policy.triggers.iter().find_map(|t| match t {
            Trigger::Messages { count } => {
                (self.shown.len() as u32 >= *count).then_some(Due::Messages)
            }
            Trigger::Watermark => self.is_strippable().then_some(Due::Watermark),
            Trigger::Idle { seconds } => (occasion.idle_seconds >= *seconds
                && self.tokens().saturating_sub(self.recalled_tokens()) > self.target())
            .then_some(Due::Idle),
            Trigger::Overflow => occasion.overflow.then_some(Due::Overflow),
            Trigger::Manual => occasion.manual.then_some(Due::Manual),
            Trigger::Fill { .. } => None,
        })
    }

    /// The tokens until [`Self::due`] answers [`Due::Fill`], with the bound of what is there and of what comes.
    fn until_trigger(&self, used: Count, trigger: u32) -> u32 {
        let lasting = used.tokens.saturating_sub(self.recalled_tokens());
        let now = lasting.saturating_add(used.bound);
        let fires = |more: u32| {
            let then = now.saturating_add(more);
            then.saturating_add(self.counter.bound(more)) >= trigger
        };
        let (mut least, mut most) = (0, trigger.saturating_sub(now));
        while least < most {
            let middle = least + (most - least) / 2;
            if fires(middle) {
                most = middle;
            } else {
                least = middle + 1;
            }
        }
        most
    }

    /// Returns `true` if a mark would settle, or if tool blocks stand before the watermark.
    fn is_strippable(&self) -> bool {
        let mut view = self.view.clone();
        if watermark::settle(self, &mut view) != watermark::Settled::Same {
            return true;
        }
        if watermark::boundary(self).is_none() {
            return false;
        }
        self.strip_options()
            .is_some_and(|o| !watermark::strip(self, &o).edits.is_empty())
    }

    /// The content that stays before the watermark, if the policy strips.
    fn strip_options(&self) -> Option<StripOptions> {
        self.setup.policy.passes.iter().find_map(|p| match *p {
            Pass::Strip(options) => Some(options),
            _ => None,
        })
    }

    /// The watermark and its rules, if there are any.
    fn mark_report(&self) -> Option<MarkReport> {
        let view = &self.view;
        let policy = &self.setup.policy;
        let sets = policy.acts_on_marks() || policy.marks.every_tokens > 0 || policy.marks.at_tasks;
        let none = view.watermark.is_none() && view.pending.is_none() && view.anchors.is_empty();
        (sets || !none).then(|| MarkReport {
            boundary: view.watermark,
            lost: watermark::is_lost(self),
            waits_for: view.pending.as_ref().map(|p| p.tool.clone()),
            anchors: view.anchors.len() as u32,
            stays: self.strip_options(),
            marks: policy.marks.clone(),
        })
    }

    /// Returns the report.
    pub fn budget(&self) -> Budget {
        self.budget_with_draft(0)
    }

    /// Returns the report with a message of `draft` tokens that the user is writing.
    pub fn budget_with_draft(&self, draft: u32) -> Budget {
        let shares = &self.setup.shares;
        let mut used = self.count();
        let settled = self.is_settled() && self.counter.source() == Source::Exact;
        let source = if settled && used.source != Source::Estimated {
            Source::Exact
        } else {
            Source::Estimated
        };
        let count = |tokens: u32| Count {
            tokens,
            source,
            bound: if source == Source::Exact {
                0
            } else {
                self.counter.bound(tokens)
            },
        };
        let mut segments = Vec::new();
        let mut add = |kind, tokens: u32| {
            if tokens > 0 {
                segments.push(Segment {
                    kind,
                    count: count(tokens),
                });
            }
        };
        let r = &self.rendered;
        add(
            SegmentKind::System,
            self.fixed_tokens()
                .saturating_sub(r.beside_system())
                .saturating_sub(self.setup.tools),
        );
        add(SegmentKind::Tools, self.setup.tools);
        add(SegmentKind::Goal, r.goal_tokens);
        let demands = self.slot.as_ref().map_or(0, |s| s.demands);
        add(SegmentKind::Pins, r.pin_tokens.saturating_add(demands));
        if let Some(slot) = &self.slot {
            let mut left = slot.tokens.saturating_sub(demands);
            for (id, tokens) in &slot.layers {
                let tokens = (*tokens).min(left);
                add(SegmentKind::Layer { id: *id }, tokens);
                left -= tokens;
            }
            add(SegmentKind::Quoted, left);
        }
        add(
            SegmentKind::Recalled,
            self.recalled_now().map_or(0, |r| r.tokens),
        );
        add(SegmentKind::User, self.sums.user + self.sums.system);
        add(SegmentKind::Assistant, self.sums.assistant);
        let spoken = self.sums.user + self.sums.system + self.sums.assistant;
        let recalled = self.recalled_now().map_or(0, |r| r.tokens);
        add(
            SegmentKind::Tool,
            self.conversation_tokens()
                .saturating_sub(spoken)
                .saturating_sub(recalled),
        );
        let own = self.tokens();
        if used.tokens != own {
            fit(&mut segments, own, used.tokens);
        }
        if draft > 0 {
            segments.push(Segment {
                kind: SegmentKind::Draft,
                count: count(draft),
            });
            used.tokens = used.tokens.saturating_add(draft);
            used.source = used.source.max(count(draft).source);
            used.bound = used.bound.saturating_add(count(draft).bound);
        }
        let trigger = self.trigger();
        Budget {
            window: shares.window,
            reserve: shares.reserve,
            margin: shares.margin,
            limit: shares.limit,
            fixed: self.fixed(),
            available: shares.limit.saturating_sub(self.fixed()),
            conversation: used.tokens.saturating_sub(self.fixed()),
            reread: used.tokens.saturating_sub(self.already_read()),
            floor: self.floor(),
            trigger,
            target: self.target(),
            until_trigger: self.until_trigger(used, trigger),
            free: shares.limit.saturating_sub(used.tokens),
            over: used.tokens.saturating_sub(shares.limit),
            checkpoint_budget: self.checkpoint_budget(),
            used,
            segments,
            watermark: self.mark_report(),
        }
    }
}

/// Scales the stretches so that they add up to the provider's count. Each gets its share of the difference.
fn fit(segments: &mut [Segment], own: u32, counted: u32) {
    let (mut seen, mut given) = (0_u64, 0_u64);
    for segment in segments {
        seen += u64::from(segment.count.tokens);
        let upto = seen * u64::from(counted) / u64::from(own.max(1));
        segment.count.tokens = u32::try_from(upto - given).unwrap_or(u32::MAX);
        given = upto;
    }
}
