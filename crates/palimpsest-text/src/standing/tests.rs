//! Trains the weights on labelled sentences, by logistic regression. It runs by hand, where the sentences are
//! available.

use std::fmt::Write;
use std::path::PathBuf;

use serde::Deserialize;

use super::features::{FEATURES, Seen};
use super::weights::{BIAS, WEIGHTS};
use super::{LIKELY, STEPS, SURE, shaped};
use crate::retention::constraint::Judge;
use crate::words::segment::prose;

#[derive(Deserialize)]
struct Line {
    text: String,
    label: String,
    lang: String,
    part: String,
    #[serde(default)]
    quotes: Vec<String>,
}

/// A sentence with its label.
struct Row {
    seen: Seen,
    features: Vec<usize>,
    standing: bool,
    /// Its cues made a demand.
    by_cues: bool,
    language: String,
    fold: usize,
    text: String,
}

impl Row {
    fn of(
        (judged, by_cues): (super::Judged, bool),
        standing: bool,
        language: &str,
        fold: usize,
        text: &str,
    ) -> Self {
        let mut features = Vec::new();
        judged.seen.features(|f| features.push(f));
        Self {
            seen: judged.seen,
            features,
            standing,
            by_cues,
            language: language.to_owned(),
            fold,
            text: text.to_owned(),
        }
    }
}

const FOLDS: usize = 5;

#[path = "../../tests/turns/mod.rs"]
mod turns;

/// Returns sentences from a part of the recorded conversations with hardly any instruction. Possible instructions are
/// left out.
fn ordinary() -> Vec<Row> {
    const MAYBE: [&str; 16] = [
        "$",
        "prefer",
        "only",
        " card",
        "refund",
        "within",
        "limit",
        "budget",
        "insurance",
        "transfer",
        "aisle",
        "don't want",
        "do not want",
        " must ",
        "always",
        "never",
    ];
    let mut rows = Vec::new();
    for (kind, number, text) in turns::user_turns() {
        if !turns::fitted(kind, number) {
            continue;
        }
        let mut judge = Judge::new(&text);
        for unit in prose(&text) {
            let words = &text[unit.start..unit.end];
            if MAYBE.iter().any(|m| words.to_lowercase().contains(m)) {
                continue;
            }
            rows.extend(
                judge
                    .weigh(&text, &unit)
                    .map(|j| Row::of(j, false, "real", number % FOLDS, words)),
            );
        }
    }
    rows
}

/// Returns the sentences of the parts as rows. Masked sentences have no row; the number of standing ones among them
/// comes second.
fn rows(parts: &[&str]) -> (Vec<Row>, usize) {
    let mut rows = Vec::new();
    let mut masked = 0;
    for line in turns::read("standing-instructions.jsonl").lines() {
        let line: Line = serde_json::from_str(line).unwrap();
        if !parts.contains(&line.part.as_str()) {
            continue;
        }
        let fold = line.text.bytes().fold(7_usize, |h, b| {
            h.wrapping_mul(31).wrapping_add(usize::from(b))
        }) / 8
            % FOLDS;
        let mut judge = Judge::new(&line.text);
        let standing = line.label == "standing";
        for unit in prose(&line.text) {
            let words = &line.text[unit.start..unit.end];
            let standing = standing
                && (line.quotes.is_empty()
                    || line
                        .quotes
                        .iter()
                        .any(|q| q.contains(words.trim()) || words.contains(q.trim())));
            let Some(judged) = judge.weigh(&line.text, &unit) else {
                masked += usize::from(standing);
                continue;
            };
            rows.push(Row::of(judged, standing, &line.lang, fold, words));
        }
    }
    (rows, masked)
}

/// Returns the sentences of a test of demands.
fn agreed() -> Vec<Row> {
    let list = include_str!("../../../palimpsest-core/tests/behaviour/retention/constraints.txt");
    let mut rows = Vec::new();
    for line in list.lines() {
        let (sign, text) = line.split_at(1);
        if sign == "~" {
            continue;
        }
        let mut judge = Judge::new(text.trim());
        for unit in prose(text.trim()) {
            let words = &text.trim()[unit.start..unit.end];
            let judged = judge.weigh(text.trim(), &unit);
            rows.extend(judged.map(|j| Row::of(j, sign == "+", "agreed", 0, words)));
        }
    }
    rows
}

/// Trains weights by full-batch gradient descent with steps that shrink with the movement of a weight (Adagrad).
fn train(rows: &[&Row]) -> (Vec<f64>, f64) {
    const PULL: f64 = 2.0;
    const RATE: f64 = 0.5;
    const TURNS: usize = 300;
    let mut often = vec![0; FEATURES];
    for row in rows {
        row.features.iter().for_each(|f| often[*f] += 1);
    }
    let mut weights = vec![0.0_f64; FEATURES];
    let mut moved = vec![1e-8_f64; FEATURES];
    let (mut bias, mut bias_moved) = (0.0_f64, 1e-8_f64);
    for _ in 0..TURNS {
        let mut slope = vec![0.0_f64; FEATURES];
        let mut bias_slope = 0.0;
        for row in rows {
            let z: f64 = bias + row.features.iter().map(|f| weights[*f]).sum::<f64>();
            let error = 1.0 / (1.0 + (-z).exp()) - f64::from(u8::from(row.standing));
            bias_slope += error;
            row.features.iter().for_each(|f| slope[*f] += error);
        }
        bias_moved += bias_slope * bias_slope;
        bias -= RATE * bias_slope / bias_moved.sqrt();
        for f in (0..FEATURES).filter(|f| often[*f] >= 3) {
            let d = slope[f] + PULL * weights[f];
            moved[f] += d * d;
            weights[f] -= RATE * d / moved[f].sqrt();
        }
    }
    (weights, bias)
}

fn rounded(weights: &[f64], bias: f64) -> (Vec<i8>, i32) {
    let step = |w: f64| (w * f64::from(STEPS)).round();
    (
        weights
            .iter()
            .map(|w| step(*w).clamp(-127.0, 127.0) as i8)
            .collect(),
        step(bias) as i32,
    )
}

fn sum_with(row: &Row, weights: &[i8], bias: i32) -> i32 {
    if !shaped(&row.seen) {
        return -4 * STEPS;
    }
    bias + row
        .features
        .iter()
        .map(|f| i32::from(weights[*f]))
        .sum::<i32>()
}

/// Recall and precision at a threshold, in per mille, for English and for the others.
fn report(name: &str, rows: &[(&Row, i32)], masked: usize) {
    for english in [true, false] {
        let some: Vec<_> = rows
            .iter()
            .filter(|(r, _)| (r.language == "en") == english)
            .collect();
        let all = some.iter().filter(|(r, _)| r.standing).count();
        for at in [LIKELY, 0, 20, 55, SURE] {
            let found = some.iter().filter(|(r, z)| r.standing && *z >= at).count();
            let wrong = some.iter().filter(|(r, z)| !r.standing && *z >= at).count();
            println!(
                "{name} {} at {at}: recall {:.1} of {all}, precision {:.1} ({wrong} wrong), masked {masked}",
                if english { "en" } else { "others" },
                100.0 * found as f64 / all as f64,
                100.0 * found as f64 / (found + wrong) as f64,
            );
        }
    }
}

/// The weights agree with those of training on the labelled sentences. `PALIMPSEST_BLESS=1` writes them anew.
#[test]
#[ignore = "needs ../shared/data"]
fn weights_are_those_that_training_gives() {
    let (rows, masked) = rows(&["tune", "blind"]);
    let mut ordinary = ordinary();
    ordinary.extend(agreed());
    println!("{} sentences, {} ordinary ones", rows.len(), ordinary.len());
    let mut judged = Vec::new();
    for fold in 0..FOLDS {
        let others: Vec<&Row> = rows
            .iter()
            .filter(|r| r.fold != fold)
            .chain(&ordinary)
            .collect();
        let (weights, bias) = train(&others);
        let (weights, bias) = rounded(&weights, bias);
        judged.extend(
            rows.iter()
                .filter(|r| r.fold == fold)
                .map(|r| (r, sum_with(r, &weights, bias))),
        );
    }
    report("cross-validated", &judged, masked);
    if std::env::var_os("PALIMPSEST_ERRORS").is_some() {
        for (row, z) in judged.iter().filter(|(r, z)| r.standing != (*z >= 20)) {
            println!("{z} {} {} {}", row.standing, row.by_cues, row.text);
        }
    }
    let all: Vec<&Row> = rows.iter().chain(&ordinary).collect();
    let (weights, bias) = train(&all);
    let (weights, bias) = rounded(&weights, bias);
    if std::env::var_os("PALIMPSEST_BLESS").is_some() {
        let mut out = String::from(
            "//! The weights of the features, in steps of a fiftieth. Written by the test `weights_are_those_that_training_gives`.\n\nuse super::features::FEATURES;\n\n",
        );
        writeln!(out, "pub(super) const BIAS: i32 = {bias};\n").unwrap();
        out.push_str("#[rustfmt::skip]\npub(super) const WEIGHTS: [i8; FEATURES] = [\n");
        for line in weights.chunks(32) {
            let line: Vec<String> = line.iter().map(i8::to_string).collect();
            writeln!(out, "    {},", line.join(", ")).unwrap();
        }
        out.push_str("];\n");
        let place = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/standing/weights.rs");
        std::fs::write(place, out).unwrap();
        return;
    }
    assert_eq!(bias, BIAS);
    assert_eq!(weights, WEIGHTS);
}

/// Whoever asks or orders gets an answer; what only tells something, thanks or agrees is talk.
#[test]
fn asking_is_told_from_telling() {
    let check = |text: &str, expected: bool| assert_eq!(super::asks(text), expected, "{text}");
    for text in [
        "Where does the spare key hang?",
        "what colour is the boat",
        "Ines: Can you find the bill",
        "Thanks! Show me the list again.",
        "Wo hängt der Schlüssel?",
        "¿Dónde está la llave?",
        "鍵はどこですか。",
        "钥匙在哪里吗",
        "Где висит ключ?",
    ] {
        check(text, true);
    }
    for text in [
        "Yeah, a mentor can do wonders.",
        "Jon: Thanks, that really helps!",
        "We moved to Lisbon last year.",
        "Danke, das klingt gut.",
        "ありがとう、助かりました。",
        "",
    ] {
        check(text, false);
    }
}
