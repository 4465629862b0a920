//! The reliability of a conversation after its model summarised parts of it.

use super::ModelSize;
use serde::{Deserialize, Serialize};

/// Measured retention under which many compactions are worth a warning.
pub const WARNING_RETENTION: f64 = 0.8;

/// The loss of reliability per compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Penalty {
    /// max(1 − 0.15 n, 0.30) (seed 2).
    #[default]
    Linear,
    /// 0.9ⁿ (seed 1).
    Geometric,
}

impl Penalty {
    /// The factor after `compactions`: 1 without any, never rising, within (0, 1].
    pub fn factor(self, compactions: u32) -> f64 {
        match self {
            Self::Linear => (1.0 - f64::from(compactions) * 0.15).max(0.30),
            // Multiplied step by step, so that every platform computes the same bits. Further on the result is 0 %.
            Self::Geometric => (0..compactions.min(256)).fold(1.0, |factor, _| factor * 0.9),
        }
    }
}

/// The expected quality of a model's summaries by its size: .95 from 70B, .85 from 30B, .70 from 13B, .50 from 7B,
/// otherwise .30 (seeds 1 and 2). A mixture of experts counts with all of its parameters.
pub fn model_factor(size: ModelSize) -> f64 {
    match size.nominal() {
        70.. => 0.95,
        30.. => 0.85,
        13.. => 0.70,
        7.. => 0.50,
        _ => 0.30,
    }
}

/// Four levels of reliability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Grade {
    /// Below 40 %.
    Critical,
    /// 40 to 59 %.
    Low,
    /// 60 to 84 %.
    Medium,
    /// 85 % and above.
    High,
}

impl Grade {
    /// The level of a share in [0, 1], by its whole percent as shown.
    pub fn of(share: f64) -> Self {
        match percent(share) {
            85.. => Self::High,
            60.. => Self::Medium,
            40.. => Self::Low,
            _ => Self::Critical,
        }
    }
}

/// The numbers behind the badge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Reliability {
    /// model factor × penalty × context confidence, in [0, 1]; `None` if the size is unknown.
    pub score: Option<f64>,
    /// The level of `score`.
    pub score_level: Option<Grade>,
    /// The badge: `score` divided by the score of the same chat without compactions, so an empty chat has 1 with any
    /// model. In [0, 1].
    pub relative: f64,
    /// `relative` in whole percent.
    pub percent: u32,
    /// The level of `relative`.
    pub level: Grade,
    /// The confidence was measured; otherwise it counts as 1.
    pub measured: bool,
    /// The model's class, shown beside the badge.
    pub class: Option<SizeClass>,
}

/// Computes the reliability of a session after `compactions`. The context confidence is its measured retention in [0,
/// 1], the share of the audited facts that survived.
pub fn reliability(
    size: Option<ModelSize>,
    compactions: u32,
    retention: Option<f64>,
    penalty: Penalty,
) -> Reliability {
    let retention = retention.filter(|r| !r.is_nan()).map(|r| r.clamp(0.0, 1.0));
    let relative = penalty.factor(compactions) * retention.unwrap_or(1.0);
    let score = size.map(|size| model_factor(size) * relative);
    Reliability {
        score,
        score_level: score.map(Grade::of),
        relative,
        percent: percent(relative),
        level: Grade::of(relative),
        measured: retention.is_some(),
        class: size.map(SizeClass::of),
    }
}

/// Classes of models by the number of compactions that they bear (seed 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum SizeClass {
    /// Below 13B.
    Small,
    /// From 13B.
    Medium,
    /// From 70B.
    Large,
}

impl SizeClass {
    /// The class of a size.
    pub fn of(size: ModelSize) -> Self {
        match size.nominal() {
            70.. => Self::Large,
            13.. => Self::Medium,
            _ => Self::Small,
        }
    }

    /// The recommended number of compactions, from and to.
    pub const fn recommended_maximum(self) -> (u32, u32) {
        match self {
            Self::Small => (2, 3),
            Self::Medium => (3, 5),
            Self::Large => (5, 7),
        }
    }

    /// The expected saving of a compaction in percent, from and to.
    pub const fn expected_compression(self) -> (u32, u32) {
        match self {
            Self::Small => (50, 70),
            Self::Medium => (60, 80),
            Self::Large => (70, 90),
        }
    }
}

/// The number of compactions from which a warning is due (seed 1). An unknown model counts as small.
pub fn warning_threshold(size: Option<ModelSize>) -> u32 {
    match size.map_or(0, ModelSize::nominal) {
        0..=3 => 3,
        4..=7 => 5,
        8..=13 => 7,
        _ => 10,
    }
}

/// The input of the decision about a warning.
#[derive(Debug, Clone, Copy)]
pub struct WarningCheck<'a> {
    /// The model's name, for the text.
    pub model: &'a str,
    /// Its size.
    pub size: Option<ModelSize>,
    /// The session's compactions.
    pub compactions: u32,
    /// Measured retention in [0, 1], if it was measured.
    pub retention: Option<f64>,
    /// The user was warned about this crossing: the result of the last check.
    pub warned: bool,
}

/// A warning that a session was compacted often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionWarning {
    /// The event, for the user.
    pub message: String,
    /// The remedies.
    pub recommendations: Vec<String>,
}

/// Returns the warning that is due now, if any, and whether the user now counts as warned about this crossing.
///
/// A warning is due once when the compactions reach [`warning_threshold`] while the retention is below
/// [`WARNING_RETENTION`] or unknown. Falling below the threshold (an undo) makes it possible again.
pub fn check_warning(check: WarningCheck<'_>) -> (Option<CompactionWarning>, bool) {
    if check.compactions < warning_threshold(check.size) {
        return (None, false);
    }
    // An unknown or impossible retention compares as false.
    let retained = check.retention.is_some_and(|r| r >= WARNING_RETENTION);
    if check.warned || retained {
        return (None, check.warned);
    }
    let model = if check.model.is_empty() {
        "the model"
    } else {
        check.model
    };
    let measured = match check.retention.filter(|r| !r.is_nan()) {
        Some(r) => format!(
            "{} % of the facts it was checked for are still there.",
            percent(r)
        ),
        None => "How much it kept was not measured.".to_owned(),
    };
    let careful = match check.size.map(SizeClass::of) {
        Some(SizeClass::Large) => "Even large models",
        Some(SizeClass::Medium) => "Models of this size",
        _ => "Small models",
    };
    let warning = CompactionWarning {
        message: format!(
            "This conversation was compacted {} times with {model}. {careful} may lose context \
             after that many. {measured}",
            check.compactions
        ),
        recommendations: [
            "Go on if the answers are still good.",
            "Start a new conversation if the model invents things or forgets what was agreed.",
            "Use a larger model for long, complex work.",
        ]
        .map(str::to_owned)
        .to_vec(),
    };
    (Some(warning), true)
}

fn percent(share: f64) -> u32 {
    // `as` saturates and turns NaN into 0
    (share.clamp(0.0, 1.0) * 100.0).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(total: f64) -> ModelSize {
        ModelSize {
            total,
            active: total,
            approximate: false,
        }
    }

    /// G6: the five model factors, at their borders.
    #[test]
    fn factors() {
        let check = |total: f64, expected: &str| {
            assert_eq!(
                format!("{:.2}", model_factor(size(total))),
                expected,
                "{total}"
            );
        };
        check(405.0, "0.95");
        check(70.0, "0.95");
        check(69.9, "0.85");
        check(30.5, "0.85");
        check(29.0, "0.70");
        check(13.0, "0.70");
        check(12.2, "0.50");
        check(7.6, "0.50");
        check(3.2, "0.30");
        check(0.0, "0.30");
    }

    /// G6: both penalties agree with the seeds' tables.
    #[test]
    fn penalties() {
        let row = |p: Penalty| [0, 1, 3, 5, 1_000_000].map(|n| format!("{:.3}", p.factor(n)));
        assert_eq!(
            row(Penalty::Linear),
            ["1.000", "0.850", "0.550", "0.300", "0.300"]
        );
        assert_eq!(
            row(Penalty::Geometric),
            ["1.000", "0.900", "0.729", "0.590", "0.000"]
        );
    }

    /// G6: model × penalty × confidence, and the badge relative to an uncompressed chat.
    #[test]
    fn score_and_badge() {
        let check = |total, n, retention, expected: (&str, Grade, u32, Grade)| {
            let r = reliability(Some(size(total)), n, retention, Penalty::Linear);
            let score = format!("{:.3}", r.score.unwrap());
            assert_eq!(
                (score.as_str(), r.score_level.unwrap(), r.percent, r.level),
                expected
            );
        };
        check(3.0, 0, None, ("0.300", Grade::Critical, 100, Grade::High));
        check(70.0, 0, Some(1.0), ("0.950", Grade::High, 100, Grade::High));
        check(
            70.0,
            1,
            Some(0.9),
            ("0.727", Grade::Medium, 77, Grade::Medium),
        );
        check(
            7.0,
            3,
            Some(0.8),
            ("0.220", Grade::Critical, 44, Grade::Low),
        );
    }

    /// G6, F 41: an unknown size has no score, but a badge.
    #[test]
    fn unknown_size() {
        let r = reliability(None, 1, None, Penalty::Geometric);
        assert_eq!(
            (r.score, r.class, r.percent, r.measured),
            (None, None, 90, false)
        );
    }

    /// G6: levels follow the percent that is shown.
    #[test]
    fn levels() {
        let check = |share, expected| assert_eq!(Grade::of(share), expected, "{share}");
        check(1.0, Grade::High);
        check(0.85, Grade::High);
        check(0.84, Grade::Medium);
        check(0.60, Grade::Medium);
        check(0.59, Grade::Low);
        check(0.40, Grade::Low);
        check(0.39, Grade::Critical);
        check(f64::NAN, Grade::Critical);
    }

    /// G7: thresholds 3 / 5 / 7 / 10 by class; a model of 3.2 billion is a 3B.
    #[test]
    fn thresholds() {
        let check = |total, expected| assert_eq!(warning_threshold(total), expected);
        check(Some(size(0.36)), 3);
        check(Some(size(3.2)), 3);
        check(Some(size(7.6)), 5);
        check(Some(size(8.0)), 7);
        check(Some(size(13.0)), 7);
        check(Some(size(14.8)), 10);
        check(None, 3);
    }

    /// G7: once per crossing, not while the retention is good, again after an undo.
    #[test]
    fn warns_once_per_crossing() {
        let mut warned = false;
        let mut step = |compactions, retention| {
            let check = WarningCheck {
                model: "llama3.2:3b",
                size: Some(size(3.2)),
                compactions,
                retention,
                warned,
            };
            let (warning, now) = check_warning(check);
            warned = now;
            warning.is_some()
        };
        assert!(!step(2, None));
        assert!(step(3, None), "unknown retention");
        assert!(!step(4, Some(0.5)), "warned already");
        assert!(!step(2, Some(0.5)), "an undo");
        assert!(!step(3, Some(0.80)), "retention is good");
        assert!(step(4, Some(0.79)), "crossed again, and retention fell");
        assert!(!step(5, Some(0.1)));
    }

    /// G7: the text names the count, the model and the recommendations.
    #[test]
    fn warning_text() {
        let check = WarningCheck {
            model: "llama3.2:3b",
            size: Some(size(3.2)),
            compactions: 3,
            retention: Some(0.62),
            warned: false,
        };
        let warning = check_warning(check).0.unwrap();
        assert_eq!(
            warning.message,
            "This conversation was compacted 3 times with llama3.2:3b. Small models may lose \
             context after that many. 62 % of the facts it was checked for are still there."
        );
        assert_eq!(warning.recommendations.len(), 3);
    }

    /// G7: recommended maxima and expected compression by class.
    #[test]
    fn recommendations() {
        let check = |total, class, maximum, saving| {
            let found = SizeClass::of(size(total));
            assert_eq!(found, class);
            assert_eq!(
                (found.recommended_maximum(), found.expected_compression()),
                (maximum, saving)
            );
        };
        check(3.0, SizeClass::Small, (2, 3), (50, 70));
        check(13.0, SizeClass::Medium, (3, 5), (60, 80));
        check(70.0, SizeClass::Large, (5, 7), (70, 90));
    }

    proptest! {
        /// G6, F 92: within [0, 1] for every input, and never rising with compactions or
        /// falling with size or retention.
        #[test]
        fn bounded_and_monotone(
            a in any::<f64>(), b in 0.0..2_000.0, n in any::<u32>(), more in any::<u32>(),
            kept in any::<f64>(), less in 0.0..=1.0, linear in any::<bool>(),
        ) {
            let penalty = if linear { Penalty::Linear } else { Penalty::Geometric };
            let of = |s: f64, n: u32, kept: f64| {
                let r = reliability(Some(size(s)), n, Some(kept), penalty);
                (r.score.unwrap(), r.relative)
            };
            for (score, relative) in [of(a, n, kept), of(b, n, less)] {
                prop_assert!((0.0..=1.0).contains(&score));
                prop_assert!((0.0..=1.0).contains(&relative));
            }
            prop_assert!(of(b, n.saturating_add(more), less).0 <= of(b, n, less).0);
            prop_assert!(of(b, n, less * 0.9).0 <= of(b, n, less).0);
            prop_assert!(of(b, n, less).0 <= of(b * 2.0, n, less).0);
        }
    }
}
