//! Learns from the token counts that the server reports.
//!
//! Every reply reports the number of tokens of its prompt. This module compares that number with the expected one and
//! uses the difference in three ways:
//! - It scales the estimate's groups of features and the cost of a message and of a prompt (a Kalman filter over nine
//!   unknowns).
//! - With an exact vocabulary it finds the whole numbers of tokens that a template adds for each role.
//! - It notices that an expectation cannot be right.
//!
//! The last reported count is the anchor: only the part of a prompt that was added since is estimated.

use std::fmt;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::{
    Count, CountRole, Estimator, Family, Overhead, Source, TokenCounter, Trust, Vocabulary,
    estimator::{Scales, UNIT},
    features::GROUPS,
};

/// A prompt, reduced to the properties that counting needs. [`Calibration::weigh`] builds it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Weight {
    /// The number of messages by role: system, user, assistant, tool.
    messages: [u32; 4],
    /// The tokens of the texts by the vocabulary, if there is one.
    exact: Option<u32>,
    /// Messages and tokens when neighbouring messages of one role (except tools) are joined by a blank line, as some
    /// templates do.
    joined: ([u32; 4], u32),
    /// The estimated tokens of the texts by group of features.
    groups: [f32; GROUPS],
    /// The number of parts whose form in the prompt only the template knows: tool calls, tool definitions, images.
    #[serde(default)]
    loose: u32,
    /// The tokens of these parts, as JSON.
    #[serde(skip)]
    loose_tokens: u32,
}

/// Weighs a prompt text by text, so that the caller can let other work run in between. [`Calibration::weigher`] makes
/// one.
pub struct Weigher {
    estimator: Estimator,
    /// As a trait object, so that code which only estimates does not bring a vocabulary's code along.
    vocabulary: Option<Rc<dyn TokenCounter>>,
    weight: Weight,
    /// Neighbouring messages of one role, joined so far.
    run: Option<(CountRole, String)>,
}

impl fmt::Debug for Weigher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Weigher")
            .field("weight", &self.weight)
            .finish_non_exhaustive()
    }
}

/// Tokens of a message's text, without what the template adds to the message.
fn body(vocabulary: &dyn TokenCounter, role: CountRole, text: &str) -> u32 {
    vocabulary
        .count_message(role, text)
        .saturating_sub(vocabulary.overhead().of(role))
}

impl Weigher {
    /// Adds the next message of the prompt.
    pub fn message(&mut self, role: CountRole, text: &str) {
        let weight = &mut self.weight;
        weight.messages[role as usize] += 1;
        for (sum, tokens) in weight.groups.iter_mut().zip(self.estimator.groups(text)) {
            *sum += tokens;
        }
        let Some(vocabulary) = self.vocabulary.as_deref() else {
            return;
        };
        let tokens = body(vocabulary, role, text);
        weight.exact = weight.exact.map(|n| n.saturating_add(tokens));
        match &mut self.run {
            Some((last, joined)) if *last == role && role != CountRole::Tool => {
                joined.push_str("\n\n");
                joined.push_str(text);
            }
            _ => {
                if let Some((role, text)) = self.run.replace((role, text.to_owned())) {
                    weight.joined.0[role as usize] += 1;
                    weight.joined.1 += body(vocabulary, role, &text);
                }
            }
        }
    }

    /// Adds a part whose form in the prompt only the template knows: a tool call or a tool's definition. Pass an empty
    /// text for an image.
    pub fn loose(&mut self, text: &str) {
        let weight = &mut self.weight;
        weight.loose += 1;
        let mut estimated = 0.0;
        for (sum, group) in weight.groups.iter_mut().zip(self.estimator.groups(text)) {
            *sum += group;
            estimated += group;
        }
        let mut tokens = estimated as u32;
        if let Some(vocabulary) = &self.vocabulary {
            tokens = vocabulary.count(text);
            weight.exact = weight.exact.map(|n| n.saturating_add(tokens));
            weight.joined.1 = weight.joined.1.saturating_add(tokens);
        }
        weight.loose_tokens = weight.loose_tokens.saturating_add(tokens);
    }

    /// Returns the weight of everything that was added.
    pub fn finish(mut self) -> Weight {
        let run = self.run.take();
        if let (Some(vocabulary), Some((role, text))) = (self.vocabulary.as_deref(), run) {
            self.weight.joined.0[role as usize] += 1;
            self.weight.joined.1 += body(vocabulary, role, &text);
        }
        self.weight
    }
}

impl Weight {
    /// The number of messages in the prompt.
    pub fn messages(&self) -> u32 {
        self.messages.iter().sum()
    }

    /// Returns `true` if the prompt has parts whose form only the template knows.
    pub const fn is_loose(&self) -> bool {
        self.loose > 0
    }

    /// The tokens of those parts. A template may write them shorter, or leave them out.
    pub const fn loose_tokens(&self) -> u32 {
        self.loose_tokens
    }

    /// Returns `true` if this prompt may be `other` with messages added.
    fn extends(&self, other: &Self) -> bool {
        self.messages
            .iter()
            .zip(other.messages)
            .all(|(a, b)| *a >= b)
            && self
                .groups
                .iter()
                .zip(other.groups)
                .all(|(a, b)| *a >= b - 0.5)
            && self.exact >= other.exact
    }
}

/// The server's report about a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reported {
    /// `prompt_eval_count`, or `usage.prompt_tokens`. `None` and 0 both mean that the server did not say.
    pub prompt_tokens: Option<u32>,
    /// The window that the model ran with, in tokens; 0 if unknown.
    pub window: u32,
}

/// The result of comparing a report with the expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The report was as expected, or the calibration learned from it.
    Learned {
        /// The server's count minus the count that was expected before, in tokens.
        difference: i32,
    },
    /// The calibration did not use the report.
    Ignored(Ignored),
    /// The server counted far fewer tokens than were sent, so it cut the prompt. Nothing that the model made from it
    /// can be trusted.
    Truncated {
        /// The smallest number of tokens that were sent.
        sent: u32,
        /// The number of tokens that the server counted.
        counted: u32,
    },
}

/// The reason for which the calibration did not use a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// The server reported no count.
    Absent,
    /// The server counted only the tokens that were not in its cache, as old servers do.
    Cached,
    /// The count lies within 5 % of the window, so the server may have cut the prompt.
    AtTheLimit,
    /// The server counted far more than was sent: images, tools, or a system prompt of the template's own.
    Implausible,
}

/// The number of unknowns: a scale for each group of features, tokens per message, tokens per prompt.
const N: usize = GROUPS + 2;

/// The knowledge about one model's counts. It is stored through serde under the model's digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Calibration {
    family: Family,
    mean: [f64; N],
    covariance: [[f64; N]; N],
    /// The prompt of the last reported count, and that count.
    anchor: Option<(Weight, u32)>,
    /// Estimated tokens seen so far by group. They show what kind of text the model is used for.
    seen: [f64; GROUPS],
    learned: u32,
    equations: Vec<Equation>,
    overhead: Overhead,
    joins: bool,
    /// The number of consecutive counts that were expected to the token.
    agreed: u32,
    /// The number of counts that no whole numbers explained, less those that were expected.
    disagreed: u32,
    /// The last count was expected to the token.
    foretold: bool,
}

/// Messages by role, and the tokens of the prompt besides their texts: with messages kept separate, and with them
/// joined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Equation {
    separate: ([u32; 4], i64),
    joined: ([u32; 4], i64),
}

/// The number of equations that are kept.
const KEPT: usize = 8;
/// The search for a role's cost stays below this many tokens.
const MOST: u32 = 20;
/// The largest number of tokens that a template may put around a tool call or a definition.
const LOOSE: u32 = 24;
/// This many consecutive live counts prove or refute a vocabulary.
const IN_A_ROW: u32 = 3;

impl Calibration {
    /// Starts with no knowledge besides the family.
    pub fn new(family: Family) -> Self {
        // For words, numbers, punctuation, white space, wide scripts, other scripts and symbols: how far families lie
        // apart, and how far models within one family do.
        let scales: [f64; GROUPS] = match family {
            Family::Generic => [0.25, 0.5, 0.25, 0.4, 0.8, 0.8, 0.8],
            _ => [0.1, 0.15, 0.15, 0.2, 0.2, 0.2, 0.3],
        };
        let overhead = Overhead::default();
        let mut mean = [1.0; N];
        let mut covariance = [[0.0; N]; N];
        for (i, scale) in scales.iter().enumerate() {
            covariance[i][i] = scale * scale;
        }
        (mean[GROUPS], covariance[GROUPS][GROUPS]) = (5.0, 9.0);
        (mean[GROUPS + 1], covariance[GROUPS + 1][GROUPS + 1]) = (f64::from(overhead.base), 100.0);
        Self {
            family,
            mean,
            covariance,
            anchor: None,
            seen: [0.0; GROUPS],
            learned: 0,
            equations: Vec::new(),
            overhead,
            joins: false,
            agreed: 0,
            disagreed: 0,
            foretold: false,
        }
    }

    /// The family with which this calibration started.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The number of reports from which this calibration learned.
    pub fn learned(&self) -> u32 {
        self.learned
    }

    /// Returns a weigher for one prompt. It always estimates the texts, and with a vocabulary it also counts them.
    pub fn weigher(&self, vocabulary: Option<Rc<dyn TokenCounter>>) -> Weigher {
        Weigher {
            estimator: Estimator::new(self.family),
            weight: Weight {
                exact: vocabulary.as_ref().map(|_| 0),
                ..Weight::default()
            },
            vocabulary,
            run: None,
        }
    }

    /// Weighs the messages of a prompt, given in order.
    pub fn weigh<'a>(
        &self,
        vocabulary: Option<&Rc<Vocabulary>>,
        messages: impl IntoIterator<Item = (CountRole, &'a str)>,
    ) -> Weight {
        let vocabulary = vocabulary.cloned().map(|vocabulary| vocabulary as _);
        let mut weigher = self.weigher(vocabulary);
        for (role, text) in messages {
            weigher.message(role, text);
        }
        weigher.finish()
    }

    /// Predicts the tokens of a prompt, with a bound that holds with 95 % confidence.
    ///
    /// If the prompt continues the one of the last reported count, that count is used as it is.
    pub fn predict(&self, weight: &Weight) -> Count {
        let anchor = self.anchor.filter(|(before, _)| {
            weight.extends(before) && before.exact.is_some() == weight.exact.is_some()
        });
        if let Some((before, tokens)) = anchor
            && before == *weight
        {
            return Count {
                tokens,
                source: Source::Measured,
                bound: 0,
            };
        }
        if weight.exact.is_some() {
            let tokens = match anchor {
                Some((before, tokens)) => {
                    i64::from(tokens) + self.expected(weight) - self.expected(&before)
                }
                None => self.expected(weight),
            };
            let tokens = u32::try_from(tokens.max(0)).unwrap_or(u32::MAX);
            return match self.trust_of(Trust::Proven) {
                Trust::Refuted => Count {
                    tokens,
                    source: Source::Estimated,
                    bound: tokens.div_ceil(20),
                },
                // The cost of the template is a guess until it is known; the form of loose parts always is one.
                _ if self.equations.is_empty() || weight.loose > 0 => Count {
                    tokens,
                    source: Source::Estimated,
                    bound: 3 * weight.messages() + 8 + LOOSE * weight.loose,
                },
                _ => Count {
                    tokens,
                    source: Source::Exact,
                    bound: 0,
                },
            };
        }
        let h = row(weight, anchor.map(|(before, _)| before).as_ref());
        let known = anchor.map_or(0.0, |(_, tokens)| f64::from(tokens));
        let added = dot(&h, &self.mean);
        let variance = self.variance(&h) + noise(added);
        let tokens = (known + added).max(0.0).round() as u32;
        // 95 % of a normal distribution lie below 1.645 standard deviations.
        Count {
            tokens,
            source: Source::Estimated,
            bound: (1.645 * variance.sqrt()).ceil() as u32,
        }
    }

    /// Learns from a report about a prompt that was sent.
    pub fn observe(&mut self, weight: &Weight, reported: Reported) -> Verdict {
        let Some(counted) = reported.prompt_tokens.filter(|n| *n > 0) else {
            return Verdict::Ignored(Ignored::Absent);
        };
        let expected = self.predict(weight);
        let difference = counted
            .cast_signed()
            .wrapping_sub(expected.tokens.cast_signed());
        let missing = expected
            .tokens
            .saturating_sub(expected.bound)
            .saturating_sub(counted);
        let full = reported.window > 0
            && expected.tokens.saturating_add(expected.bound) >= reported.window;
        // A server may have a smaller window than the client asked for. The only sign of it is a count that is far too
        // low.
        if missing > (expected.tokens / 10).max(32) || full && missing > 2 {
            // The server may have counted only the part that was not in its cache: about what was added since the last
            // count.
            if let Some((before, tokens)) = &self.anchor
                && weight.extends(before)
            {
                let added = expected.tokens.saturating_sub(*tokens);
                if counted <= added + added / 4 + 16 {
                    return Verdict::Ignored(Ignored::Cached);
                }
            }
            // A server with room to spare has no reason to cut the prompt, so the vocabulary may be wrong.
            if !full {
                self.disagree(weight);
            }
            return Verdict::Truncated {
                sent: expected.tokens,
                counted,
            };
        }
        if reported.window > 0 && u64::from(counted) * 20 >= u64::from(reported.window) * 19 {
            return Verdict::Ignored(Ignored::AtTheLimit);
        }
        if counted > expected.tokens + expected.tokens / 2 + 200 + 2 * expected.bound {
            self.disagree(weight);
            return Verdict::Ignored(Ignored::Implausible);
        }
        if weight.exact.is_some() && weight.loose == 0 {
            self.solve(weight, counted, difference);
        }
        // The estimate learns beside a vocabulary, too, because it takes over if the vocabulary is refuted.
        self.filter(weight, counted);
        self.anchor = Some((*weight, counted));
        self.learned = self.learned.saturating_add(1);
        Verdict::Learned { difference }
    }

    /// Forgets the last reported count. Call it when the next prompt does not continue the last one: after a compaction
    /// or an edit.
    pub fn lift_anchor(&mut self) {
        self.anchor = None;
    }

    /// The tokens that the template adds for each role.
    pub fn overhead(&self) -> Overhead {
        if !self.equations.is_empty() && !self.is_refuted() {
            return self.overhead;
        }
        if self.learned == 0 {
            return Overhead::default();
        }
        let each = self.mean[GROUPS].round().max(0.0) as u32;
        let base = self.mean[GROUPS + 1].round().max(0.0) as u32;
        Overhead {
            base,
            system: each,
            user: each,
            assistant: each,
            tool: each,
        }
    }

    /// Returns an estimator with the learned scales. Its epoch changes only when a scale has moved by a thirty-second.
    pub fn estimator(&self) -> Estimator {
        let mut scales: Scales = [UNIT; GROUPS];
        for (scale, mean) in scales.iter_mut().zip(self.mean) {
            *scale = ((mean * 32.0).round().clamp(8.0, 96.0) as u16) * (UNIT / 32);
        }
        let estimator = Estimator::scaled(self.family, scales).with_overhead(self.overhead());
        let total: f64 = self.seen.iter().sum();
        if self.learned < 2 || total < 1.0 {
            return estimator;
        }
        let mut h = [0.0; N];
        for (h, seen) in h.iter_mut().zip(self.seen) {
            *h = seen / total;
        }
        // One sixty-fourth covers the rounding of the scales.
        let drift = 1.645 * self.variance(&h).sqrt() + 1.0 / 64.0;
        estimator.with_drift((drift * 1024.0).ceil() as u32)
    }

    /// Returns `true` if live counts contradict the vocabulary. [`Self::estimator`] counts better then.
    pub fn is_refuted(&self) -> bool {
        self.disagreed >= IN_A_ROW
    }

    /// Tells a vocabulary what the template adds and whether live counts agree with it.
    pub fn apply(&self, vocabulary: &Vocabulary) {
        if self.foretold {
            vocabulary.set_overhead(self.overhead);
        } else if !self.equations.is_empty() {
            vocabulary.suppose_overhead(self.overhead);
        }
        vocabulary.set_trust(self.trust_of(vocabulary.trust()));
    }

    fn trust_of(&self, before: Trust) -> Trust {
        if self.is_refuted() {
            Trust::Refuted
        } else if self.agreed >= IN_A_ROW && self.disagreed == 0 {
            Trust::Proven
        } else {
            before
        }
    }

    fn disagree(&mut self, weight: &Weight) {
        if weight.exact.is_some() && weight.loose == 0 {
            self.disagreed = self.disagreed.saturating_add(1);
            self.agreed = 0;
            self.foretold = false;
        }
    }

    /// The expected tokens with an exact vocabulary: texts and template.
    fn expected(&self, weight: &Weight) -> i64 {
        let (messages, text) = if self.joins {
            weight.joined
        } else {
            (weight.messages, weight.exact.unwrap_or(0))
        };
        i64::from(text) + total(&self.overhead, &messages)
    }

    /// Finds whole numbers of tokens for each role that explain the last counts.
    fn solve(&mut self, weight: &Weight, counted: u32, difference: i32) {
        let rest = |text: u32| i64::from(counted) - i64::from(text);
        self.equations.push(Equation {
            separate: (weight.messages, rest(weight.exact.unwrap_or(0))),
            joined: (weight.joined.0, rest(weight.joined.1)),
        });
        if self.equations.len() > KEPT {
            self.equations.remove(0);
        }
        self.foretold = difference == 0;
        if difference == 0 && self.equations.len() > 1 {
            self.agreed = self.agreed.saturating_add(1);
            self.disagreed = self.disagreed.saturating_sub(1);
            return;
        }
        self.agreed = 0;
        // If no whole numbers explain all counts, the template may have changed, so only the newest counts are
        // explained for now.
        for kept in [KEPT, 2, 1] {
            let from = self.equations.len().saturating_sub(kept);
            for joins in [self.joins, !self.joins] {
                let equations: Vec<_> = self.equations[from..]
                    .iter()
                    .map(|e| if joins { e.joined } else { e.separate })
                    .collect();
                if let Some(overhead) = whole_numbers(&equations, &self.overhead) {
                    (self.overhead, self.joins) = (overhead, joins);
                    self.disagreed += u32::from(from > 0);
                    self.equations.drain(..from);
                    return;
                }
            }
        }
        self.disagreed += 1;
    }

    /// Does one step of the Kalman filter on the part that was added since the last count, or on the whole prompt if
    /// that count is unknown.
    fn filter(&mut self, weight: &Weight, counted: u32) {
        let before = self.anchor.filter(|(before, _)| weight.extends(before));
        let h = row(weight, before.map(|(weight, _)| weight).as_ref());
        let measured = f64::from(counted) - before.map_or(0.0, |(_, tokens)| f64::from(tokens));
        for (seen, tokens) in self.seen.iter_mut().zip(h) {
            *seen = *seen * 0.9 + tokens.max(0.0);
        }
        // The topics of a conversation change, so old knowledge fades a little each turn.
        for i in 0..GROUPS {
            self.covariance[i][i] += 4e-4;
        }
        let expected = dot(&h, &self.mean);
        let mut gain = [0.0; N];
        for (gain, row) in gain.iter_mut().zip(&self.covariance) {
            *gain = dot(row, &h);
        }
        let total = dot(&gain, &h) + noise(expected.max(measured));
        let surprise = measured - expected;
        for (mean, gain) in self.mean.iter_mut().zip(&gain) {
            *mean += gain / total * surprise;
        }
        for (row, a) in self.covariance.iter_mut().zip(&gain) {
            for (covariance, b) in row.iter_mut().zip(&gain) {
                *covariance -= a * b / total;
            }
        }
        for i in 0..N {
            self.mean[i] = if i < GROUPS {
                self.mean[i].clamp(0.25, 3.0)
            } else {
                self.mean[i].clamp(0.0, 4000.0)
            };
            self.covariance[i][i] = self.covariance[i][i].max(1e-6);
        }
    }

    fn variance(&self, h: &[f64; N]) -> f64 {
        self.covariance
            .iter()
            .zip(h)
            .map(|(row, h_i)| h_i * dot(row, h))
            .sum::<f64>()
            .max(0.0)
    }
}

/// The squared random error of a prompt or an addition of `tokens`: 2 % of it, plus the spread of single texts around
/// their kind (0.7 √n; the fit found 0.6).
fn noise(tokens: f64) -> f64 {
    let n = tokens.max(0.0);
    0.02 * n * 0.02 * n + 0.5 * n + 2.0
}

fn dot(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The share of each unknown in a prompt, or in the part that was added to `before`.
fn row(weight: &Weight, before: Option<&Weight>) -> [f64; N] {
    let mut h = [0.0; N];
    for (h, tokens) in h.iter_mut().zip(weight.groups) {
        *h = f64::from(tokens);
    }
    h[GROUPS] = f64::from(weight.messages());
    h[GROUPS + 1] = 1.0;
    if let Some(before) = before {
        for (h, before) in h.iter_mut().zip(row(before, None)) {
            *h -= before;
        }
    }
    h
}

fn total(overhead: &Overhead, messages: &[u32; 4]) -> i64 {
    let [system, user, assistant, tool] = messages.map(i64::from);
    i64::from(overhead.base)
        + system * i64::from(overhead.system)
        + user * i64::from(overhead.user)
        + assistant * i64::from(overhead.assistant)
        + tool * i64::from(overhead.tool)
}

/// Returns whole numbers that satisfy all equations and lie as close as possible to `believed`.
fn whole_numbers(equations: &[([u32; 4], i64)], believed: &Overhead) -> Option<Overhead> {
    if equations
        .iter()
        .all(|(messages, rest)| total(believed, messages) == *rest)
    {
        return Some(*believed);
    }
    let first = equations.first()?;
    let used = |role: usize| equations.iter().any(|(messages, _)| messages[role] > 0);
    let now = [
        believed.system,
        believed.user,
        believed.assistant,
        believed.tool,
    ];
    let range = |role: usize| {
        if used(role) {
            0..MOST
        } else {
            now[role]..now[role] + 1
        }
    };
    let mut best: Option<(u32, Overhead)> = None;
    for system in range(0) {
        for user in range(1) {
            for assistant in range(2) {
                for tool in range(3) {
                    let mut found = Overhead {
                        base: 0,
                        system,
                        user,
                        assistant,
                        tool,
                    };
                    let Ok(base) = u32::try_from(first.1 - total(&found, &first.0)) else {
                        continue;
                    };
                    found.base = base;
                    let far: u32 = [system, user, assistant, tool]
                        .iter()
                        .zip(now)
                        .map(|(a, b)| a.abs_diff(b))
                        .sum();
                    let far = far + base.abs_diff(believed.base) / 2;
                    if best.as_ref().is_some_and(|(best, _)| *best <= far) {
                        continue;
                    }
                    if equations
                        .iter()
                        .all(|(messages, rest)| total(&found, messages) == *rest)
                    {
                        best = Some((far, found));
                    }
                }
            }
        }
    }
    best.map(|(_, found)| found)
}

/// The stored form.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Stored {
    family: Family,
    mean: [f64; N],
    covariance: [[f64; N]; N],
    anchor: Option<(Weight, u32)>,
    seen: [f64; GROUPS],
    learned: u32,
    equations: Vec<Equation>,
    overhead: Overhead,
    joins: bool,
    agreed: u32,
    disagreed: u32,
    #[serde(default)]
    foretold: bool,
}

impl From<Calibration> for Stored {
    fn from(c: Calibration) -> Self {
        let Calibration {
            family,
            mean,
            covariance,
            anchor,
            seen,
            learned,
            equations,
            overhead,
            joins,
            agreed,
            disagreed,
            foretold,
        } = c;
        Self {
            family,
            mean,
            covariance,
            anchor,
            seen,
            learned,
            equations,
            overhead,
            joins,
            agreed,
            disagreed,
            foretold,
        }
    }
}

impl TryFrom<Stored> for Calibration {
    type Error = &'static str;

    fn try_from(s: Stored) -> Result<Self, Self::Error> {
        let numbers = s
            .mean
            .iter()
            .chain(s.covariance.iter().flatten())
            .chain(&s.seen);
        if !numbers.into_iter().all(|n| n.is_finite() && n.abs() < 1e9) || s.equations.len() > KEPT
        {
            return Err("calibration out of range");
        }
        if s.anchor
            .is_some_and(|(weight, _)| !weight.groups.iter().all(|n| n.is_finite()))
        {
            return Err("calibration out of range");
        }
        let Stored {
            family,
            mean,
            covariance,
            anchor,
            seen,
            learned,
            equations,
            overhead,
            joins,
            agreed,
            disagreed,
            foretold,
        } = s;
        Ok(Self {
            family,
            mean,
            covariance,
            anchor,
            seen,
            learned,
            equations,
            overhead,
            joins,
            agreed,
            disagreed,
            foretold,
        })
    }
}
