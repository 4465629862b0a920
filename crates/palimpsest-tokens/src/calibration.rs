//! Learning from what the server counted.
//!
//! Every reply says how many tokens its prompt had. That number is compared with what was expected and used three
//! ways: to scale the estimate's groups of features, the cost of a message and of a prompt (a Kalman filter over nine
//! unknowns); with an exact vocabulary, to find the whole numbers a template adds for each role; and to notice that an
//! expectation cannot be right. The last real count is the anchor: only what was added since is expected, not known.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::{
    Count, CountRole, Estimator, Family, Overhead, Source, TokenCounter as _, Trust, Vocabulary,
    estimator::{Scales, UNIT},
    features::GROUPS,
};

/// What a prompt is made of, as far as counting cares. Built by [`Calibration::weigh`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Weight {
    /// Messages by role: system, user, assistant, tool.
    messages: [u32; 4],
    /// Tokens of the texts by the vocabulary, if there is one.
    exact: Option<u32>,
    /// The same where neighbouring messages of one role (not tool) are joined by a blank line, as some templates do:
    /// messages and tokens.
    joined: ([u32; 4], u32),
    /// The estimate of the texts by group of features.
    groups: [f32; GROUPS],
    /// Parts whose form in the prompt only the template knows: tool calls, tool definitions, images.
    #[serde(default)]
    loose: u32,
}

/// Weighs a prompt, text by text, so that whoever drives it can let others run in between. [`Calibration::weigher`]
/// makes one.
#[derive(Debug)]
pub struct Weigher {
    estimator: Estimator,
    vocabulary: Option<Rc<Vocabulary>>,
    weight: Weight,
    /// Neighbouring messages of one role, joined.
    run: Option<(CountRole, String)>,
}

impl Weigher {
    /// The next message of the prompt.
    pub fn message(&mut self, role: CountRole, text: &str) {
        let weight = &mut self.weight;
        weight.messages[role as usize] += 1;
        for (sum, tokens) in weight.groups.iter_mut().zip(self.estimator.groups(text)) {
            *sum += tokens;
        }
        let Some(vocabulary) = &self.vocabulary else {
            return;
        };
        let tokens = vocabulary.count_body(text);
        weight.exact = weight.exact.map(|n| n.saturating_add(tokens));
        match &mut self.run {
            Some((last, joined)) if *last == role && role != CountRole::Tool => {
                joined.push_str("\n\n");
                joined.push_str(text);
            }
            _ => {
                if let Some((role, text)) = self.run.replace((role, text.to_owned())) {
                    weight.joined.0[role as usize] += 1;
                    weight.joined.1 += vocabulary.count_body(&text);
                }
            }
        }
    }

    /// What else is in the prompt, in a form that only the template knows: a tool call, a tool's definition. Empty for an
    /// image.
    pub fn loose(&mut self, text: &str) {
        let weight = &mut self.weight;
        weight.loose += 1;
        for (sum, tokens) in weight.groups.iter_mut().zip(self.estimator.groups(text)) {
            *sum += tokens;
        }
        if let Some(vocabulary) = &self.vocabulary {
            let tokens = vocabulary.count(text);
            weight.exact = weight.exact.map(|n| n.saturating_add(tokens));
            weight.joined.1 = weight.joined.1.saturating_add(tokens);
        }
    }

    /// The weight of all that was given.
    pub fn finish(mut self) -> Weight {
        if let (Some(vocabulary), Some((role, text))) = (&self.vocabulary, self.run.take()) {
            self.weight.joined.0[role as usize] += 1;
            self.weight.joined.1 += vocabulary.count_body(&text);
        }
        self.weight
    }
}

impl Weight {
    /// Messages in the prompt.
    pub fn messages(&self) -> u32 {
        self.messages.iter().sum()
    }

    /// Whether there is something in it whose form only the template knows.
    pub const fn is_loose(&self) -> bool {
        self.loose > 0
    }

    /// Whether this may be `other` with messages added.
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

/// What the server said about a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reported {
    /// `prompt_eval_count`, or `usage.prompt_tokens`. Absent and 0 are the same: not said.
    pub prompt_tokens: Option<u32>,
    /// The window the model ran with, in tokens; 0 if unknown.
    pub window: u32,
}

/// What a report was good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As expected, or learned from. The difference is that from what was expected before.
    Learned {
        /// Counted by the server minus expected.
        difference: i32,
    },
    /// Not used.
    Ignored(Ignored),
    /// Far fewer tokens than were sent: the server cut the prompt. Nothing made from it is to be trusted.
    Truncated {
        /// What was sent, in tokens, at least.
        sent: u32,
        /// What the server counted.
        counted: u32,
    },
}

/// Why a report was not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// The server did not say.
    Absent,
    /// It counted only what was not in its cache, as old servers do.
    Cached,
    /// Within 5 % of the window: perhaps cut.
    AtTheLimit,
    /// Far more than was sent: images, tools or a system prompt of the template's own.
    Implausible,
}

/// Unknowns: a scale for each group of features, tokens a message, tokens a prompt.
const N: usize = GROUPS + 2;

/// What is known about one model's counts. Serde stores it by the model's digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Calibration {
    family: Family,
    mean: [f64; N],
    covariance: [[f64; N]; N],
    /// What was sent when the last count came, and the count.
    anchor: Option<(Weight, u32)>,
    /// Estimated tokens seen by group, to know what the model is used for.
    seen: [f64; GROUPS],
    learned: u32,
    equations: Vec<Equation>,
    overhead: Overhead,
    joins: bool,
    /// Counts in a row that were expected to the token.
    agreed: u32,
    /// Counts that no whole numbers explained, less those that were expected.
    disagreed: u32,
    /// Whether the last count was expected to the token.
    foretold: bool,
}

/// Messages by role and what the prompt had besides their texts: as separate messages, and joined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Equation {
    separate: ([u32; 4], i64),
    joined: ([u32; 4], i64),
}

/// Equations that are kept.
const KEPT: usize = 8;
/// A role's cost in tokens is looked for below this.
const MOST: u32 = 20;
/// Tokens a template may put around a tool call or a definition.
const LOOSE: u32 = 24;
/// Live counts in a row that prove or refute a vocabulary.
const IN_A_ROW: u32 = 3;

impl Calibration {
    /// Nothing known but the family.
    pub fn new(family: Family) -> Self {
        // Words, numbers, punctuation, white space, wide scripts, other scripts, symbols: how far families lie apart, and
        // models within a family.
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

    /// The family it started from.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Reports that were learned from.
    pub fn learned(&self) -> u32 {
        self.learned
    }

    /// Weighs a prompt. With a vocabulary its texts are counted, and estimated in any case.
    pub fn weigher(&self, vocabulary: Option<Rc<Vocabulary>>) -> Weigher {
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

    /// What the messages of a prompt, in order, weigh.
    pub fn weigh<'a>(
        &self,
        vocabulary: Option<&Rc<Vocabulary>>,
        messages: impl IntoIterator<Item = (CountRole, &'a str)>,
    ) -> Weight {
        let mut weigher = self.weigher(vocabulary.cloned());
        for (role, text) in messages {
            weigher.message(role, text);
        }
        weigher.finish()
    }

    /// How many tokens a prompt has, and how many more it may have with 95 % confidence.
    ///
    /// The last real count is taken as it is, if the prompt goes on from there.
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
                // Until the template is known, its cost is a guess; and what only it knows always is.
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
        // A server may also have a smaller window than it was asked for: then far too few is all there is to see.
        if missing > (expected.tokens / 10).max(32) || full && missing > 2 {
            // Only the part that was not cached: about what was added since the last count.
            if let Some((before, tokens)) = &self.anchor
                && weight.extends(before)
            {
                let added = expected.tokens.saturating_sub(*tokens);
                if counted <= added + added / 4 + 16 {
                    return Verdict::Ignored(Ignored::Cached);
                }
            }
            // With room to spare a server has no reason to cut: then it may be the vocabulary that is wrong.
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
        // Also beside a vocabulary: the estimate is needed should it be refuted.
        self.filter(weight, counted);
        self.anchor = Some((*weight, counted));
        self.learned = self.learned.saturating_add(1);
        Verdict::Learned { difference }
    }

    /// Forgets the last real count, because what is sent no longer goes on from it: after a compaction, an edit.
    pub fn lift_anchor(&mut self) {
        self.anchor = None;
    }

    /// What a template adds for each role.
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

    /// An estimator with what was learned. Its epoch changes only when a scale has moved by a thirty-second.
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
        // A sixty-fourth for the rounding of the scales.
        let drift = 1.645 * self.variance(&h).sqrt() + 1.0 / 64.0;
        estimator.with_drift((drift * 1024.0).ceil() as u32)
    }

    /// Whether live counts contradict the vocabulary: then [`Self::estimator`] counts better.
    pub fn is_refuted(&self) -> bool {
        self.disagreed >= IN_A_ROW
    }

    /// Tells a vocabulary what the template adds, and whether live counts agree with it.
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

    /// With an exact vocabulary: texts and template.
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
        // If no whole numbers explain all that was counted, the newest counts are explained for the time being: the
        // template may have changed.
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

    /// One step of the Kalman filter, on what was added since the last count where that is known.
    fn filter(&mut self, weight: &Weight, counted: u32) {
        let before = self.anchor.filter(|(before, _)| weight.extends(before));
        let h = row(weight, before.map(|(weight, _)| weight).as_ref());
        let measured = f64::from(counted) - before.map_or(0.0, |(_, tokens)| f64::from(tokens));
        for (seen, tokens) in self.seen.iter_mut().zip(h) {
            *seen = *seen * 0.9 + tokens.max(0.0);
        }
        // What is talked about changes: old knowledge fades a little each turn.
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

/// How far off a prompt or an addition of `tokens` is by chance, squared: 2 % of it, and as texts of its length stray
/// from their kind (0.7 √n; the fit found 0.6).
fn noise(tokens: f64) -> f64 {
    let n = tokens.max(0.0);
    0.02 * n * 0.02 * n + 0.5 * n + 2.0
}

fn dot(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The unknowns' shares in a prompt, or in what was added to the one before.
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

/// Whole numbers that satisfy all equations, as close as possible to what was believed.
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

/// What is stored.
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
