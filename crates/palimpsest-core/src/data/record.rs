//! Records: content that is never summarised (I4). They are rendered into the single system message.

use palimpsest_tokens::{Estimator, TokenCounter};
use serde::{Deserialize, Deserializer, Serialize};

use crate::data::goal::{Goal, GoalEdit};
use crate::data::marker::{Change, Proposal};
use crate::data::message::Seq;
use crate::data::policy::Demands;
use crate::data::prompt::{BuiltPrompt, Skill, SystemPrompt};
use crate::data::rendition::escape_fences;
use crate::error::CoreError;
use palimpsest_text::json;
use palimpsest_text::retention::{Constraint, RuleReading};
use palimpsest_text::sorted::SortedMap;
pub use palimpsest_text::standing::Level;

/// Demands as they are compared, by the numbers of their pins.
type Readings = SortedMap<u32, RuleReading>;

/// The reason for which a line is in the records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "kind"))]
pub enum PinKind {
    /// The user pinned it.
    Pin,
    /// A demand for the rest of the session, found in a user message and kept word for word.
    Constraint {
        /// The message that contains it.
        from: Seq,
        /// The certainty that it binds.
        #[serde(default, skip_serializing_if = "is_sure")]
        #[cfg_attr(feature = "typescript", ts(type = "\"likely\""))]
        level: Level,
    },
    /// A decision the user locked.
    Decision,
}

palimpsest_text::tagged!(PinKind, "kind");

/// The stored form leaves out the certain level.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the serializer passes a reference"
)]
fn is_sure(level: &Level) -> bool {
    *level == Level::Sure
}

/// A line that every window holds word for word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Pin {
    /// Its number among the session's pins. Never reused.
    pub id: u32,
    /// The reason for it.
    #[serde(flatten)]
    pub kind: PinKind,
    /// Its text.
    pub text: String,
}

impl Pin {
    /// Returns `true` for a demand that was found in a message, and `false` for a line that the user pinned.
    pub const fn is_demand(&self) -> bool {
        matches!(self.kind, PinKind::Constraint { .. })
    }
}

impl<'de> Deserialize<'de> for Pin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Rest {
            id: u32,
            text: String,
        }
        let (Rest { id, text }, kind) = json::both(deserializer)?;
        Ok(Self { id, kind, text })
    }
}

/// A change of the goal that a summariser proposed and that waits for a decision (G3). It is never part of a window.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PendingProposal {
    /// Its number in the session. Never reused.
    pub id: u32,
    /// The change, and the messages that it cites.
    #[serde(flatten)]
    pub proposal: Proposal,
}

impl<'de> Deserialize<'de> for PendingProposal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Rest {
            id: u32,
        }
        let (Rest { id }, proposal) = json::both(deserializer)?;
        Ok(Self { id, proposal })
    }
}

/// The findings of a run in the messages that it covers, besides their summary.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The user's demands, each with its message (P9).
    pub constraints: Vec<(Seq, Constraint)>,
    /// The summariser's proposed changes of the goal (G3).
    pub proposals: Vec<Proposal>,
}

/// A demand in a message of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FoundDemand {
    /// Its text.
    pub text: String,
    /// Its message: the position in the list, or the number in the session.
    pub message: Seq,
    /// The certainty that it binds.
    #[serde(default, skip_serializing_if = "is_sure")]
    #[cfg_attr(feature = "typescript", ts(type = "\"likely\""))]
    pub level: Level,
}

impl Found {
    /// The demands as a report lists them.
    pub fn demands(&self) -> Vec<FoundDemand> {
        let demands = self.constraints.iter();
        let demands = demands.map(|(message, constraint)| FoundDemand {
            text: constraint.text.trim().to_owned(),
            message: *message,
            level: constraint.level,
        });
        demands.collect()
    }
}

/// The number of open proposals that are kept. Beyond it the oldest go.
const MOST_PENDING: usize = 64;

/// The divisor of the window that gives the room for demands that are only likely.
const SHARE_OF_LIKELY: u32 = 12;
/// The least room for them, in tokens: enough for some fifteen short sentences.
const LEAST_OF_LIKELY: u32 = 256;
/// The divisor of a small window that limits the least room.
const MOST_OF_LIKELY: u32 = 5;

/// The room for demands that are only likely, in tokens.
fn room_of_likely(window: u32) -> u32 {
    (window / SHARE_OF_LIKELY).max(LEAST_OF_LIKELY.min(window / MOST_OF_LIKELY))
}

/// One revision of a session's records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Records {
    /// Grows by one with every change.
    pub revision: u32,
    /// The system prompt.
    #[serde(default)]
    pub system: String,
    /// The model's absolute rules, after the system prompt (G8).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mandates: String,
    /// Named blocks of instructions that can be on or off (G8).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    /// The model's checks before each answer, at the end of the system message (G8).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub checks: String,
    /// The open proposals of summarisers, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingProposal>,
    /// The declined proposals. They are not proposed again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declined: Vec<Change>,
    /// The last number given to a proposal.
    #[serde(default)]
    pub last_proposal: u32,
    /// The goal, if one is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
    /// Pins, constraints and locked decisions, oldest first.
    #[serde(default)]
    pub pins: Vec<Pin>,
    /// Constraints that a newer one replaced, oldest first. No window holds them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<Replaced>,
}

/// A constraint that no longer holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Replaced {
    /// The message that contains it.
    pub from: Seq,
    /// Its text.
    pub text: String,
    /// The text that replaced or withdrew it.
    pub by: String,
}

/// A demand at the head of the layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    /// The message that contains it.
    pub from: Seq,
    /// Its text.
    pub text: String,
    /// The certainty that it binds.
    pub level: Level,
}

/// The records in their form in the window, with their counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RenderedRecords {
    /// The text of the system message; empty if there is none.
    pub text: String,
    /// Tokens of the system prompt alone.
    pub system_tokens: u32,
    /// Tokens of the goal.
    pub goal_tokens: u32,
    /// Tokens of pins, constraints and decisions.
    pub pin_tokens: u32,
    /// Demands for the head of the layers, oldest first.
    pub demands: Vec<Demand>,
    /// Constraints without room. They stay in their layer's ledger and are listed here.
    pub left_out: Vec<String>,
}

impl RenderedRecords {
    /// The tokens of goal and pins: the records' share of the window.
    pub fn beside_system(&self) -> u32 {
        self.goal_tokens + self.pin_tokens
    }
}

const PINS_HEADING: &str = "Keep to these for the whole conversation:";

impl Records {
    /// Creates records that hold only a system prompt.
    pub fn with_system(system: impl Into<String>) -> Self {
        Self {
            system: system.into(),
            ..Self::default()
        }
    }

    /// Adds a line of the user.
    ///
    /// # Errors
    ///
    /// A refusal if the records would take more than half of the window (I4).
    pub fn pin(
        &mut self,
        kind: PinKind,
        text: &str,
        window: u32,
        counter: &dyn TokenCounter,
    ) -> Result<u32, CoreError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(CoreError::EmptyRecord);
        }
        if let Some(same) = self.pins.iter().find(|p| p.text == text) {
            return Ok(same.id);
        }
        let mut next = self.clone();
        let id = next.push(kind, text);
        next.check_room(window, counter)?;
        *self = next;
        Ok(id)
    }

    fn push(&mut self, kind: PinKind, text: &str) -> u32 {
        let id = self.pins.iter().map(|p| p.id + 1).max().unwrap_or(1);
        self.pins.push(Pin {
            id,
            kind,
            text: text.to_owned(),
        });
        self.revision += 1;
        id
    }

    /// Keeps a detected constraint. It is never refused: one without room is listed in [`RenderedRecords::left_out`]. A
    /// newer constraint on the same topic replaces the older one, which is then listed in [`Records::replaced`]. `read`
    /// holds the readings of the kept ones, by their numbers.
    fn constrain(&mut self, from: Seq, constraint: &Constraint, read: &mut Readings) {
        let text = constraint.text.trim();
        if text.is_empty() || self.pins.iter().any(|p| p.text == text) {
            return;
        }
        let newer = RuleReading::of(text);
        let mut replaced = std::mem::take(&mut self.replaced);
        self.pins.retain(|p| {
            let PinKind::Constraint { from, .. } = p.kind else {
                return true;
            };
            let older = read.entry(p.id).or_insert_with(|| RuleReading::of(&p.text));
            let goes = newer.supersedes(older);
            if goes {
                replaced.push(Replaced {
                    from,
                    text: p.text.clone(),
                    by: text.to_owned(),
                });
            }
            !goes
        });
        // A repeated constraint holds again.
        replaced.retain(|r| r.text != text);
        let most = replaced.len().min(MOST_PENDING);
        replaced.drain(..replaced.len() - most);
        self.replaced = replaced;
        let level = constraint.level;
        let id = self.push(PinKind::Constraint { from, level }, text);
        read.insert(id, newer);
    }

    /// Adopts the findings of a run: constraints become pinned records, and proposals wait for a decision (I8).
    pub fn adopt(&mut self, found: &Found) {
        let mut read = Readings::new();
        for (from, constraint) in &found.constraints {
            if !self.declines(constraint.text.trim()) {
                self.constrain(*from, constraint, &mut read);
            }
        }
        for proposal in &found.proposals {
            self.propose(proposal);
        }
    }

    /// Returns `true` if the user said that these words are not a demand.
    fn declines(&self, text: &str) -> bool {
        self.declined
            .iter()
            .any(|change| matches!(change, Change::Demand { text: said } if said == text))
    }

    /// Proposes to keep a demand of the last message, unless it is kept, declined or proposed already, or is only
    /// likely: too many questions annoy people.
    pub fn propose_demand(&mut self, from: Seq, constraint: &Constraint) {
        if constraint.level == Level::Likely {
            return;
        }
        let text = constraint.text.trim();
        let is_kept = self.pins.iter().any(|p| p.text == text);
        let change = Change::Demand {
            text: text.to_owned(),
        };
        let waits = self.pending.iter().any(|p| p.proposal.change == change);
        if !text.is_empty() && !is_kept && !waits && !self.declines(text) {
            let cites = vec![from];
            self.wait(&Proposal { change, cites });
        }
    }

    /// Makes a pin of a proposed demand. Returns `false` if the proposal is of another kind or does not exist.
    pub fn keep(
        &mut self,
        id: u32,
        window: u32,
        counter: &dyn TokenCounter,
    ) -> Result<bool, CoreError> {
        let waiting = self.pending.iter().find(|p| p.id == id);
        let Some(Change::Demand { text }) = waiting.map(|p| p.proposal.change.clone()) else {
            return Ok(false);
        };
        self.pin_demand(&text, window, counter)?;
        Ok(true)
    }

    /// Makes a pin of a demand that was found. Returns `false` if there is none with that number.
    ///
    /// # Errors
    ///
    /// [`CoreError::RecordsTooLarge`] if the window has no room for it.
    pub fn confirm(
        &mut self,
        id: u32,
        window: u32,
        counter: &dyn TokenCounter,
    ) -> Result<bool, CoreError> {
        let is_demand = |p: &&Pin| p.id == id && p.is_demand();
        let Some(text) = self.pins.iter().find(is_demand).map(|p| p.text.clone()) else {
            return Ok(false);
        };
        self.pin_demand(&text, window, counter)?;
        Ok(true)
    }

    /// Makes a pin of a demand to which the user consents, whether a message proposed it or a run found it.
    fn pin_demand(
        &mut self,
        text: &str,
        window: u32,
        counter: &dyn TokenCounter,
    ) -> Result<(), CoreError> {
        let mut next = self.clone();
        next.pins.retain(|p| p.text != text);
        next.pin(PinKind::Pin, text, window, counter)?;
        next.forget_proposed(text);
        next.revision = self.revision + 1;
        *self = next;
        Ok(())
    }

    /// Removes the open proposal of a demand that is decided.
    fn forget_proposed(&mut self, demand: &str) {
        let is_same = |change: &Change| matches!(change, Change::Demand { text } if text == demand);
        self.pending.retain(|p| !is_same(&p.proposal.change));
    }

    /// Keeps a proposal until the user decides. It is not kept if the goal says it already, if it was declined, or if
    /// it is waiting already.
    fn propose(&mut self, proposal: &Proposal) {
        let known = self
            .goal
            .as_ref()
            .is_some_and(|g| proposal.edit(g, 0.0).is_none());
        if known || self.declined.contains(&proposal.change) {
            return;
        }
        let waiting = self
            .pending
            .iter_mut()
            .find(|p| p.proposal.change == proposal.change);
        if let Some(same) = waiting {
            let before = same.proposal.cites.len();
            same.proposal.cites.extend(&proposal.cites);
            same.proposal.cites.sort_unstable();
            same.proposal.cites.dedup();
            self.revision += u32::from(same.proposal.cites.len() > before);
            return;
        }
        self.wait(proposal);
    }

    fn wait(&mut self, proposal: &Proposal) {
        self.last_proposal += 1;
        self.pending.push(PendingProposal {
            id: self.last_proposal,
            proposal: proposal.clone(),
        });
        if self.pending.len() > MOST_PENDING {
            // A demand is in the window before a decision, too; a change of the goal is only here.
            let demands = |p: &PendingProposal| matches!(p.proposal.change, Change::Demand { .. });
            let oldest = self.pending.iter().position(demands);
            self.pending.remove(oldest.unwrap_or(0));
        }
        self.revision += 1;
    }

    /// Removes an open proposal and returns the edit of consent: `None` if the goal says so by now.
    ///
    /// # Errors
    ///
    /// [`CoreError::NotFound`] if there is no such proposal, or no goal that it could change.
    pub fn accept(&mut self, id: u32, at: f64) -> Result<Option<GoalEdit>, CoreError> {
        let missing = CoreError::NotFound {
            what: "proposal",
            id,
        };
        let place = self.pending.iter().position(|p| p.id == id);
        let place = place.ok_or(missing)?;
        let goal = self.goal.as_ref().ok_or(CoreError::NotFound {
            what: "goal for proposal",
            id,
        })?;
        let edit = self.pending[place].proposal.edit(goal, at);
        self.pending.remove(place);
        self.revision += 1;
        Ok(edit)
    }

    /// Declines a proposal, so that it is not made again. Returns `false` if it does not exist.
    pub fn decline(&mut self, id: u32) -> bool {
        let Some(place) = self.pending.iter().position(|p| p.id == id) else {
            return false;
        };
        let gone = self.pending.remove(place);
        if let Change::Demand { text } = &gone.proposal.change {
            // A run found it meanwhile. The user's decision counts more.
            self.pins.retain(|p| !(p.is_demand() && p.text == *text));
        }
        self.remember_declined(gone.proposal.change);
        self.revision += 1;
        true
    }

    fn remember_declined(&mut self, change: Change) {
        self.declined.push(change);
        if self.declined.len() > MOST_PENDING {
            self.declined.remove(0);
        }
    }

    /// Returns the instruction parts of the system message, with their sizes and problems (G8, B2). `budget` is the
    /// tier's, in tokens. Goal and pins are counted separately.
    pub fn prompt(&self, budget: u32, counter: &dyn TokenCounter) -> BuiltPrompt {
        SystemPrompt {
            base: self.system.clone(),
            mandates: self.mandates.clone(),
            goal: String::new(),
            skills: self.skills.clone(),
            checks: self.checks.clone(),
        }
        .build(budget, counter)
    }

    /// Switches skills on or off by name patterns ([`palimpsest_text::glob`]). Returns the names that changed, sorted.
    pub fn switch_skills<P: AsRef<str>>(&mut self, patterns: &[P], on: bool) -> Vec<String> {
        let mut prompt = SystemPrompt {
            skills: std::mem::take(&mut self.skills),
            ..SystemPrompt::default()
        };
        let changed = if on {
            prompt.activate(patterns)
        } else {
            prompt.deactivate(patterns)
        };
        self.skills = prompt.skills;
        self.revision += u32::from(!changed.is_empty());
        changed
    }

    /// Removes a line. Returns `false` if it does not exist. A demand that was found counts as declined then.
    pub fn unpin(&mut self, id: u32) -> bool {
        let Some(place) = self.pins.iter().position(|p| p.id == id) else {
            return false;
        };
        let gone = self.pins.remove(place);
        if gone.is_demand() {
            self.forget_proposed(&gone.text);
            self.remember_declined(Change::Demand { text: gone.text });
        }
        self.revision += 1;
        true
    }

    /// Refuses records whose goal and pins need more than half of the window. The system prompt and detected constraints do not
    /// count, and of the goal only its description does: its lines are shown as far as there is room (F61).
    pub fn check_room(&self, window: u32, counter: &dyn TokenCounter) -> Result<(), CoreError> {
        let room = window / 2;
        let goal = self
            .goal
            .as_ref()
            .map_or(0, |goal| counter.count(&goal.head()));
        let need = goal.saturating_add(self.own_pins(counter));
        if need > room {
            Err(CoreError::RecordsTooLarge { need, room })
        } else {
            Ok(())
        }
    }

    /// Returns the tokens of the lines that the user pinned.
    fn own_pins(&self, counter: &dyn TokenCounter) -> u32 {
        let own = self.pins.iter().filter(|pin| !pin.is_demand());
        own.map(|pin| pin_tokens(&pin.text, counter)).sum()
    }

    /// Returns the text of this revision (I4, G8): system prompt, mandates, goal, the user's pins and decisions with
    /// detected constraints (newest first, within half of the window), active skills, checks. A fixed estimate decides
    /// about the room, not `counter`: another vocabulary or a calibration must not change the window (B8).
    ///
    /// If demands do not belong into the system message, they are returned separately, and the text is the same with
    /// and without them.
    pub fn render(
        &self,
        window: u32,
        place: Demands,
        counter: &dyn TokenCounter,
    ) -> RenderedRecords {
        let ruler = Estimator::default();
        let mut out = RenderedRecords::default();
        // The system prompt stays as written, to the byte, but one without visible characters counts as none.
        if !self.system.trim().is_empty() {
            out.text.clone_from(&self.system);
        }
        append_block(&mut out.text, self.mandates.trim());
        out.system_tokens = counter.count(&out.text);
        let after = self.skills_and_checks();
        if !after.is_empty() {
            // Two tokens for the blank line before.
            out.system_tokens += counter.count(&after) + 2;
        }
        let mut room = window / 2;
        if let Some(goal) = &self.goal {
            // a pin is shown whole or not at all, so the lines of the goal make room for those that the user wrote; what
            // is to be reached stands in any case
            let pinned = match self.own_pins(&ruler) {
                0 => 0,
                tokens => tokens + heading_tokens(&ruler),
            };
            let least = (ruler.count(&goal.head()) + LINE_COUNTS).min(room);
            let text = goal.render(room.saturating_sub(pinned).max(least), &ruler);
            out.goal_tokens = counter.count(&text);
            room -= ruler.count(&text).min(room);
            append_block(&mut out.text, &text);
        }
        let chosen = self.choose_pins(window, room, place, &ruler);
        if !chosen.kept.is_empty() {
            let tokens = chosen.kept.iter().map(|pin| pin_tokens(&pin.text, counter));
            out.pin_tokens = tokens.sum::<u32>() + heading_tokens(counter);
            append_block(&mut out.text, &block_of(&chosen.kept));
        }
        out.demands = chosen.demands;
        out.left_out = chosen.left_out;
        append_block(&mut out.text, &after);
        out
    }

    /// Returns what stands after the pins: the skills in use, and the checks.
    fn skills_and_checks(&self) -> String {
        let mut after = String::new();
        for skill in self.skills.iter().filter(|s| s.active) {
            if !skill.text.trim().is_empty() {
                let block = format!("Skill {}:\n{}", skill.name, skill.text.trim());
                append_block(&mut after, &block);
            }
        }
        append_block(&mut after, self.checks.trim());
        after
    }

    /// Decides which pins and demands the records have `room` for, and which demands stand at the `place` of demands.
    fn choose_pins(&self, window: u32, room: u32, place: Demands, ruler: &Estimator) -> Chosen<'_> {
        let mut chosen = Chosen::default();
        let (mut measured, mut measured_likely) = (0, 0);
        let own = self.pins.iter().filter(|p| !p.is_demand());
        let detected = self.pins.iter().rev().filter(|p| p.is_demand());
        let detected = detected.filter(|_| place != Demands::Off);
        let binds = |p: &&Pin, level: Level| matches!(p.kind, PinKind::Constraint { level: l, .. } if l == level);
        let sure = detected.clone().filter(|p| binds(p, Level::Sure));
        // The oldest come first, so that new ones do not push out present ones.
        let likely = self.pins.iter().filter(|p| binds(p, Level::Likely));
        let likely = likely.filter(|_| place != Demands::Off);
        let mut perhaps: Vec<Demand> = Vec::new();
        for pin in own.chain(sure).chain(likely) {
            let first = if chosen.kept.is_empty() {
                heading_tokens(ruler)
            } else {
                0
            };
            let size = pin_tokens(&pin.text, ruler) + first;
            let level = match pin.kind {
                PinKind::Constraint { level, .. } => level,
                _ => Level::Sure,
            };
            // Likely demands stay out of the system message and leave room for certain ones.
            let likely = level == Level::Likely;
            let fits = !pin.is_demand()
                || measured + size <= room
                    && (!likely || measured_likely + size <= room_of_likely(window));
            measured += if fits { size } else { 0 };
            measured_likely += if fits && likely { size } else { 0 };
            if let (PinKind::Constraint { from, level }, true) = (&pin.kind, fits)
                && (place == Demands::Layer || likely)
            {
                let demand = Demand {
                    from: *from,
                    text: pin.text.clone(),
                    level: *level,
                };
                if likely {
                    perhaps.push(demand);
                } else {
                    chosen.demands.push(demand);
                }
            } else if fits {
                chosen.kept.push(pin);
            } else {
                chosen.left_out.push(pin.text.clone());
            }
        }
        chosen.demands.reverse();
        chosen.demands.extend(perhaps);
        palimpsest_text::order::sort_by_key(&mut chosen.demands, |d| d.from);
        palimpsest_text::order::sort_by_key(&mut chosen.kept, |p| p.id);
        chosen
    }
}

/// The pins and demands that the records have room for.
#[derive(Default)]
struct Chosen<'a> {
    /// The lines of the system message, in the order of their numbers.
    kept: Vec<&'a Pin>,
    /// Demands that stand elsewhere, the oldest first.
    demands: Vec<Demand>,
    left_out: Vec<String>,
}

/// Returns the pins as the system message shows them.
fn block_of(pins: &[&Pin]) -> String {
    let mut block = PINS_HEADING.to_owned();
    for pin in pins {
        block.push_str("\n- ");
        // A pinned line cannot break out of its place either.
        block.push_str(&escape_fences(&pin.text));
    }
    block
}

/// The room for the numbers of a goal's lines that are not shown: seven sections, some five tokens each.
const LINE_COUNTS: u32 = 36;

/// Returns the tokens of the heading above pins, with the blank line before it.
fn heading_tokens(counter: &dyn TokenCounter) -> u32 {
    counter.count(PINS_HEADING) + 2
}

fn append_block(text: &mut String, block: &str) {
    if block.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(block);
}

fn pin_tokens(text: &str, counter: &dyn TokenCounter) -> u32 {
    counter.count(text) + 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::goal::{GoalLimits, Milestone, MilestoneState};

    /// I4: a system prompt appears as written, to the byte, and one of only spaces does not appear.
    #[test]
    fn a_system_prompt_is_not_touched() {
        let counter = Estimator::default();
        let check = |system: &str, expected: &str| {
            let records = Records::with_system(system);
            assert_eq!(
                records.render(2048, Demands::Layer, &counter).text,
                expected
            );
        };
        check("  Be brief.\t\n\n", "  Be brief.\t\n\n");
        check(" \n\t", "");
    }

    /// F61, G2: a goal of a thousand open steps is taken, and shown as far as there is room beside every pin. A description or
    /// pins that outgrow the room are refused as before.
    #[test]
    fn a_goal_of_many_steps_makes_room_for_pins() {
        let counter = Estimator::default();
        let step = |id| Milestone {
            id,
            text: format!("Empty shelf {id} of the hall"),
            state: MilestoneState::Pending,
            completed: None,
        };
        let limits = GoalLimits::default();
        let mut goal = Goal::new("Empty the hall", 0.0, limits, &counter).unwrap();
        goal.milestones = (1..=1000).map(step).collect();
        let mut records = Records {
            goal: Some(goal.clone()),
            ..Records::default()
        };
        records.check_room(1024, &counter).unwrap();
        for n in 0..10 {
            let line = format!("Shelf {n} belongs to the museum and is not touched.");
            records.pin(PinKind::Pin, &line, 1024, &counter).unwrap();
        }
        let shown = records.render(1024, Demands::Layer, &counter);
        assert!(counter.count(&shown.text) <= 512, "{}", shown.text);
        assert!(shown.text.contains("- Empty shelf 1 of the hall\n"));
        assert!(shown.text.contains("more not shown):"), "{}", shown.text);
        for pin in &records.pins {
            assert!(shown.text.contains(&pin.text));
        }
        assert_eq!(records.goal, Some(goal));
        // in a window that shrank since, the pins take all the room: what is to be reached stands there still
        let shrunk = records.render(256, Demands::Layer, &counter);
        assert!(
            shrunk
                .text
                .contains("Goal (medium priority, active): Empty the hall\nPending (99"),
            "{}",
            shrunk.text
        );
        let long = "A line of the museum's own. ".repeat(200);
        let refused = records.pin(PinKind::Pin, &long, 1024, &counter);
        assert!(matches!(refused, Err(CoreError::RecordsTooLarge { .. })));
    }

    /// I8: many demands push out the oldest demand, and no open change of the goal.
    #[test]
    fn demands_push_out_no_proposal() {
        let mut records = Records::default();
        let change = Change::NextStep {
            text: "Measure it.".into(),
        };
        records.wait(&Proposal {
            change: change.clone(),
            cites: vec![1],
        });
        for n in 0..100 {
            let text = format!("Never use more than {n} threads.");
            for found in palimpsest_text::retention::constraints(&text) {
                records.propose_demand(n, &found);
            }
        }
        assert_eq!(records.pending.len(), MOST_PENDING);
        assert_eq!(records.pending[0].proposal.change, change);
        let newest = &records.pending[MOST_PENDING - 1].proposal.change;
        assert!(matches!(newest, Change::Demand { text } if text.contains("99")));
    }

    /// I4: a record has one text per revision, byte-identical each time; the user's entry beyond half
    /// of the window is refused with sizes and changes nothing.
    #[test]
    fn records_render_once_and_refuse_what_is_too_large() {
        let counter = Estimator::default();
        let mut records = Records::with_system("Be brief.");
        records
            .pin(PinKind::Pin, "The customer is called Ada.", 2048, &counter)
            .unwrap();
        let text = records.render(2048, Demands::Layer, &counter).text;
        assert_eq!(
            text,
            "Be brief.\n\nKeep to these for the whole conversation:\n- The customer is called Ada."
        );
        assert_eq!(records.render(2048, Demands::Layer, &counter).text, text);
        let before = records.clone();
        let err = records
            .pin(PinKind::Pin, &"long ".repeat(400), 512, &counter)
            .unwrap_err();
        assert_eq!(err.code(), "records_too_large");
        assert_eq!(records, before);
    }
}
