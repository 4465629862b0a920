//! How big the window is, what it holds, and when to act (B1–B7, B10).

use palimpsest_tokens::{Count, Source};
use serde::{Deserialize, Deserializer, Serialize};

use crate::context::Context;
use crate::data::layer::LayerId;
use crate::data::mark::Marks;
use crate::data::message::{Role, Seq};
use crate::data::policy::{Denominator, Pass, Trigger};
use crate::error::CoreError;
use crate::pass::strip::StripOptions;
use crate::watermark;

/// What a stretch of the window holds, in window order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
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
    /// The user's words quoted in the slot, with the slot's frame.
    Quoted,
    /// Recalled quotes.
    Recalled,
    /// User messages of the tail.
    User,
    /// Assistant messages of the tail.
    Assistant,
    /// Tool results of the tail.
    Tool,
    /// What is being typed.
    Draft,
}

palimpsest_text::tagged!(SegmentKind, "kind");

/// One stretch of the window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Segment {
    /// What it holds.
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
pub struct Budget {
    /// W: the window asked for, sent as `num_ctx`, the denominator of every percentage of width.
    pub window: u32,
    /// R: free for the answer.
    pub reserve: u32,
    /// m: free because counts may be off.
    pub margin: u32,
    /// L: what a sent window may hold.
    pub limit: u32,
    /// What the window holds now.
    pub used: Count,
    /// F: system, tools, records and layers.
    pub fixed: u32,
    /// L − F: what the conversation may take.
    pub available: u32,
    /// What the conversation takes.
    pub conversation: u32,
    /// What no pass may shrink (B10).
    pub floor: u32,
    /// Where the automatic compaction starts.
    pub trigger: u32,
    /// What a compaction aims at.
    pub target: u32,
    /// Tokens until the trigger; 0 at or past it.
    pub until_trigger: u32,
    /// Tokens until the limit; 0 at or past it.
    pub free: u32,
    /// Tokens past the limit.
    pub over: u32,
    /// Tokens the server has to read at the next request: all of them after a change of what stands before the last
    /// messages, else what was added since it last counted.
    pub reread: u32,
    /// What the tier's prompt budget leaves beside the system prompt (B2). Gates only seed 1's trigger.
    #[serde(default)]
    pub checkpoint_budget: u32,
    /// The stretches in window order.
    pub segments: Vec<Segment>,
    /// The watermark and its rules; `None` where there is no mark and the policy sets none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watermark: Option<MarkReport>,
}

/// Where the watermark is, and what stays before it (W4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkReport {
    /// The first message after it; `None` while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Seq>,
    /// It is not among these messages: nothing is stripped.
    pub lost: bool,
    /// The tool whose call the next mark waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// Messages that stay whole before it.
    pub anchors: u32,
    /// What stays beside text, if the policy strips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stays: Option<StripOptions>,
    /// When marks are set.
    pub marks: Marks,
}

/// Seed 1's provider validation (B6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitCheck {
    /// Whether the window may be sent.
    pub valid: bool,
    /// What it holds.
    pub tokens: u32,
    /// What it may hold.
    pub limit: u32,
    /// Tokens too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overage: Option<u32>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What a trigger may depend on beside the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occasion {
    /// Seconds since something was said.
    pub idle_seconds: u32,
    /// The provider said that the prompt is too long.
    pub overflow: bool,
    /// A person asked.
    pub manual: bool,
}

/// Which kind of trigger fired (B4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Due {
    /// The window is full to its mark.
    Fill,
    /// So many messages.
    Messages,
    /// A watermark.
    Watermark,
    /// Nothing was said for a while.
    Idle,
    /// The provider's overflow.
    Overflow,
    /// A person.
    Manual,
}

impl Context {
    /// The window's stretches in its order, neighbours of one kind joined: what a card keeps.
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

    /// Whether the window may be sent. Constant time: the sums are kept.
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

    /// System, tools, records and layers: F.
    pub fn fixed(&self) -> u32 {
        self.fixed_tokens().saturating_add(self.slot_tokens())
    }

    /// What no pass may shrink (B10): system, tools, records with the demands at the head of the layers, the last user
    /// message, and the last exchange, the latter at most a quarter of the window.
    pub fn floor(&self) -> u32 {
        let user = self.last_user().map_or(0, |i| self.shown_tokens(i));
        self.floor_with(user.min(self.message_room()))
    }

    /// The same with the whole last user message, however large it is: what a refusal names.
    pub fn must_stay(&self) -> u32 {
        self.floor_with(self.last_user().map_or(0, |i| self.shown_tokens(i)))
    }

    /// With a last user message of `user` tokens.
    fn floor_with(&self, user: u32) -> u32 {
        let (mut exchange, mut reasoning) = (0u32, 0u32);
        if let Some(from) = self.last_exchange() {
            for i in from..self.entries.len() {
                if self.entries[i].message.role != Role::User {
                    let own = self.reasoning_of(i);
                    reasoning = reasoning.saturating_add(own);
                    exchange = exchange.saturating_add(self.shown_tokens(i) - own);
                }
            }
        }
        let cap = self.setup.shares.window / 4;
        self.fixed_tokens()
            .saturating_add(self.demand_floor())
            .saturating_add(user)
            .saturating_add(exchange.min(cap))
            .saturating_add(reasoning)
    }

    /// Tokens of the slot that is left when everything before the last exchange is covered: the demands said there. Never
    /// more than what stands there now.
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

    /// The most a user message may take (B5): what is left of the limit beside system, tools, records with the demands at
    /// the head of the layers, and one excerpted exchange.
    pub fn message_room(&self) -> u32 {
        let shares = &self.setup.shares;
        shares
            .limit
            .saturating_sub(self.fixed_tokens())
            .saturating_sub(self.slot_of(&self.all_demands()))
            .saturating_sub(shares.window / 8)
    }

    /// Refuses a user message that fits no window (B5). Called before it is stored.
    pub fn check_message(&self, tokens: u32) -> Result<(), CoreError> {
        let room = self.message_room();
        if tokens > room {
            Err(CoreError::MessageTooLarge { tokens, room })
        } else {
            Ok(())
        }
    }

    /// What a compaction aims at: the window's shares with the real sizes of system prompt and
    /// tools, always below the trigger.
    pub fn target(&self) -> u32 {
        let shares = &self.setup.shares;
        let records = self.rendered.beside_system();
        let system = self.fixed_tokens().saturating_sub(records);
        // Demands are records, wherever they stand: what exceeds the records' share comes on top of it.
        let with_demands = records.saturating_add(self.demand_floor());
        let beyond = with_demands
            .saturating_sub(shares.records)
            .saturating_sub(records.saturating_sub(shares.records));
        let sum = shares.target(system).saturating_add(beyond);
        // A large system prompt leaves less than the shares add up to.
        let floor = system
            .saturating_add(shares.records.max(with_demands))
            .saturating_add(shares.layers());
        let below = shares
            .trigger(floor, self.setup.policy.fill_of_available())
            .min(self.trigger_at(floor))
            .saturating_sub(shares.recall);
        sum.min(below).max(self.floor().min(shares.limit))
    }

    /// The number of tokens at which the automatic compaction starts: the lowest of the policy's fill
    /// triggers, and at most the limit.
    pub fn trigger(&self) -> u32 {
        self.trigger_at(self.fixed())
    }

    /// As [`Self::trigger`], with `fixed` tokens of system, tools, records and layers.
    fn trigger_at(&self, fixed: u32) -> u32 {
        let shares = &self.setup.shares;
        // seed 1 makes checkpoints only where its prompt budget leaves room for them
        let cascades = !self.setup.policy.fading.sizes().is_empty();
        let gated = cascades && self.checkpoint_budget() == 0;
        let fills = self.setup.policy.triggers.iter().filter_map(|t| match t {
            Trigger::Fill {
                of: Denominator::WindowLessTier,
                ..
            } if gated => None,
            Trigger::Fill { of, at } => Some(match of {
                Denominator::Available => shares.trigger(fixed, *at),
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

    /// max(0, the tier's prompt budget − the system prompt) (B2).
    pub fn checkpoint_budget(&self) -> u32 {
        let tier = crate::data::model::Tier::of_window(self.setup.shares.window);
        let system = self.rendered.system_tokens;
        crate::data::model::checkpoint_budget(&self.setup.policy.prompt_budgets, tier, system)
    }

    /// Whether the policy asks for a compaction now. The bound of estimated counts is added: "80 %" is
    /// never reached unnoticed. Quotes that stand for one message do not count: they go with the next one.
    pub fn is_due(&self) -> bool {
        self.due(&Occasion::default()).is_some()
    }

    /// The first of the policy's triggers that fires now; what a policy does not name, the limit, always
    /// does.
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

    /// Whether a mark would settle, or tool blocks stand before the watermark.
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

    /// What stays before the watermark, if the policy strips.
    fn strip_options(&self) -> Option<StripOptions> {
        self.setup.policy.passes.iter().find_map(|p| match *p {
            Pass::Strip(options) => Some(options),
            _ => None,
        })
    }

    /// The watermark and its rules, where there are any to speak of.
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

    /// The report.
    pub fn budget(&self) -> Budget {
        self.budget_with_draft(0)
    }

    /// The report with a message of `draft` tokens that is being written.
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
            until_trigger: trigger
                .saturating_sub(used.tokens.saturating_sub(self.recalled_tokens())),
            free: shares.limit.saturating_sub(used.tokens),
            over: used.tokens.saturating_sub(shares.limit),
            checkpoint_budget: self.checkpoint_budget(),
            used,
            segments,
            watermark: self.mark_report(),
        }
    }
}

/// Makes the stretches add up to what the provider counted: each gets its share of the difference.
fn fit(segments: &mut [Segment], own: u32, counted: u32) {
    let (mut seen, mut given) = (0_u64, 0_u64);
    for segment in segments {
        seen += u64::from(segment.count.tokens);
        let upto = seen * u64::from(counted) / u64::from(own.max(1));
        segment.count.tokens = u32::try_from(upto - given).unwrap_or(u32::MAX);
        given = upto;
    }
}
