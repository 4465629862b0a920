//! The cost of one call on a list that is new to it, at two lengths. Times are compared with each other, never with a clock's
//! absolute.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, measures on the host and prints what it measured"
)]

use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, Compaction};
use palimpsest_core::context::Seed;
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

use super::passes::time;

const SEED: Seed = Seed {
    now: 0.0,
    secret: [0; 16],
};

/// Numbers that only depend on those before them.
struct Dice(u32);

impl Dice {
    fn roll(&mut self, sides: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(self.0) * u64::from(sides)) >> 32) as u32
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.roll(words.len() as u32) as usize]
    }
}

/// A chat of so many messages, about 57 tokens each.
fn chat(count: usize) -> Vec<Value> {
    let mut dice = Dice(1);
    let mut sentence = || {
        let topic = dice.pick(&[
            "the garden",
            "the ferry",
            "the invoice",
            "the bridge",
            "the archive",
        ]);
        let verb = dice.pick(&["move", "check", "paint", "cancel", "measure", "repair"]);
        let name = dice.pick(&["Mara", "Jonas", "Ines", "Tomas", "Lena", "Pavel"]);
        let end = dice.pick(&[
            "before the end of the month",
            "because the old one leaks",
            "since nobody else has the key",
        ]);
        let number = dice.roll(900);
        match dice.roll(6) {
            0 => format!("{name} wants to {verb} {topic} {end}."),
            1 => format!(
                "We agreed on {number} euros for {topic}, and {name} pays it on May {}.",
                number % 28 + 1
            ),
            2 => format!("Could you {verb} {topic} and tell {name} about it?"),
            3 => format!(
                "The file is notes/{verb}_{number}.md, and the order has the number A-{}.",
                1_000 + number
            ),
            4 => format!("I think that {topic} is fine as it is {end}."),
            _ => format!(
                "Yes, {name} said that {topic} takes {} days to {verb}.",
                number % 9 + 2
            ),
        }
    };
    let message = |n: usize| {
        let text: Vec<String> = (0..2 + n % 3).map(|_| sentence()).collect();
        let role = if n.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        json!({"role": role, "content": text.join(" ")})
    };
    (0..count).map(message).collect()
}

/// A chat in which every message makes a demand of its own, all of them on one topic.
fn demands(count: usize) -> Vec<Value> {
    let message = |n: usize| {
        let role = if n.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        let text = format!(
            "Message {n}: parcel {} goes to gate {}, never to the neighbour.",
            1_000 + n,
            n % 9
        );
        json!({"role": role, "content": text})
    };
    (0..count).map(message).collect()
}

/// Seconds of one call on a list, the least of some.
fn call_on(list: &[Value], calls: u32) -> f64 {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let options = CompactOptions::new(8_192);
    let call = || {
        let done = Compaction::start(list.to_vec(), &options, None, &counter, SEED)
            .and_then(Compaction::finish_without_model)
            .unwrap();
        assert!(done.report.changed);
    };
    (0..calls)
        .map(|_| time(1, call))
        .fold(f64::INFINITY, f64::min)
}

/// T3: ten times the messages take at most fifteen times the time.
#[test]
fn a_cold_call_grows_with_the_list() {
    let (short, long) = (call_on(&chat(1_000), 4), call_on(&chat(10_000), 2));
    println!(
        "a cold call: 1,000 messages {:.1} ms, 10,000 messages {:.0} ms, {:.1} times",
        short * 1e3,
        long * 1e3,
        long / short
    );
    assert!(long <= 15.0 * short, "{}", long / short);
}

/// T3: a list of demands, of which each is compared with those before it, costs at most ten times what a chat of its length
/// does.
#[test]
fn a_list_of_demands_costs_what_a_chat_does() {
    let (short, long) = (call_on(&demands(500), 4), call_on(&demands(2_000), 2));
    let chat = call_on(&chat(2_000), 2);
    println!(
        "a list of demands: 500 messages {:.1} ms, 2,000 messages {:.0} ms, {:.1} times; a chat of 2,000 {:.0} ms",
        short * 1e3,
        long * 1e3,
        long / short,
        chat * 1e3
    );
    assert!(long <= 10.0 * chat, "{}", long / chat);
}
