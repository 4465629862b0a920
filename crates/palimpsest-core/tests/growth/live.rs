//! What a step of a conversation costs that is held open, at two lengths of its history. Times are compared with each other, never
//! with a clock's absolute.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, measures on the host and prints what it measured"
)]

use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, Live};
use palimpsest_core::context::Seed;
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

use super::passes::time;

const SEED: Seed = Seed {
    now: 0.0,
    secret: [0; 16],
};

/// Steps that are measured: more than there are between two compactions.
const STEPS: usize = 120;

/// A message with values, as a plain statement or as one that changes an earlier value.
fn message(n: usize, announces_a_change: bool) -> Value {
    let role = if n.is_multiple_of(2) {
        "user"
    } else {
        "assistant"
    };
    let now = if announces_a_change { " now" } else { "" };
    let text = format!(
        "The order A-{n}{now} goes to Mara on May {}, and the archive keeps notes/{n}.md for {} euros.",
        n % 28 + 1,
        n * 7 % 900
    );
    json!({"role": role, "content": text})
}

/// Seconds of a step after so many messages, on the mean of many, the best of several rounds.
fn step_after(messages: usize, changes: bool) -> f64 {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let mut live = Live::new(CompactOptions::new(4_096), &counter).unwrap();
    live.push((0..messages).map(|n| message(n, changes)).collect())
        .unwrap();
    assert!(live.fit(SEED).unwrap().report.changed);
    let mut next = messages;
    let mut round = || {
        time(1, || {
            for _ in 0..STEPS {
                live.push(vec![message(next, changes)]).unwrap();
                live.fit(SEED).unwrap();
                next += 1;
            }
        }) / STEPS as f64
    };
    (0..4).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// Ten times the history, and a step costs less than `most` times as much: what is new and what is shown is looked at, and the
/// index over what is covered is searched. A machine with other work to do gets three attempts.
fn check_growth(changes: bool, most: f64) {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let (short, long) = (step_after(1_000, changes), step_after(10_000, changes));
        best = best.min(long / short);
        println!(
            "a step after 1,000 messages {:.2} ms, after 10,000 {:.2} ms: {:.2} times",
            short * 1e3,
            long * 1e3,
            long / short
        );
        if best <= most {
            return;
        }
    }
    panic!("a step costs {best:.2} times as much, the most is {most}");
}

#[test]
fn a_step_does_not_grow_with_the_history() {
    check_growth(false, 1.5);
}

/// The worst case: each message changes a value, so that a change of each quoted passage is searched for among all newer ones.
#[test]
fn a_step_among_changes_does_not_grow() {
    check_growth(true, 1.5);
}
