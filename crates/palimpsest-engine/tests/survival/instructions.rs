//! Standing instructions of our own in many framings: how many stand word for word in the window after compactions.

use palimpsest_core::policy::presets;
use serde_json::json;

use crate::contender::Who;
use crate::corpus::{Talk, chats, joined};
use crate::measure::{Ruled, Share, after_compactions, rules};

/// Groups of fifteen. Nothing in them was taken from a collection of others, and none was used to fit a weight.
const TEXT: &str = include_str!("instructions.txt");

/// What may stand before an order.
const FRAMES: [&str; 4] = [
    "",
    "For the rest of this session, ",
    "From now on, ",
    "Please ",
];

/// The instructions of each group, with the group's name.
fn groups() -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for line in TEXT.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(name) => groups.push((name.into(), Vec::new())),
            None => groups.last_mut().unwrap().1.push(line.into()),
        }
    }
    groups
}

/// The orders with a frame before each.
fn framed(orders: &[String], frame: &str) -> Vec<String> {
    let lower = |order: &String| {
        let mut letters = order.chars();
        let first = letters.next().unwrap().to_lowercase();
        format!("{frame}{first}{}", letters.as_str())
    };
    match frame {
        "" => orders.to_vec(),
        _ => orders.iter().map(lower).collect(),
    }
}

/// Every group, the orders once with each frame.
pub(crate) fn framings() -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    for (name, orders) in groups() {
        if name != "orders" {
            all.push((name, orders));
            continue;
        }
        for frame in FRAMES {
            let name = format!("{name}, {:?}", frame.trim_end_matches([' ', ',']));
            all.push((name, framed(&orders, frame)));
        }
    }
    all
}

/// A long conversation that begins with the instructions, each in a message of its own.
pub(crate) fn begin(instructions: &[String], rounds: usize) -> Ruled {
    let talks: Vec<Talk> = (0..rounds).flat_map(|_| chats()).collect();
    let mut talk = joined("chats", &talks);
    let first = instructions.iter().flat_map(|words| {
        [
            json!({"role": "user", "content": words}),
            json!({"role": "assistant", "content": "OK."}),
        ]
    });
    talk.messages = first.chain(talk.messages).collect();
    Ruled {
        talk,
        rules: instructions.to_vec(),
        said: instructions.len() * 2,
    }
}

/// How many stand after so many compactions, one share for each count.
fn stand(ruled: &Ruled, at: &[usize], who: Who, window: u32) -> Vec<Share> {
    rules(&ruled.talk, at, &ruled.rules, who, window)
}

/// Nearly all stand after many compactions, in every framing and language, as a list and as a session.
#[test]
fn instructions_stand_after_many_compactions() {
    let window = 2_048;
    for (name, instructions) in framings() {
        assert_eq!(instructions.len(), 15, "{name}");
        let ruled = begin(&instructions, 1);
        let at = after_compactions(&ruled.talk, ruled.said, window, &[1, 5]);
        assert_eq!(at.len(), 2);
        for who in [Who::List("balanced"), Who::Session] {
            let found = stand(&ruled, &at, who, window);
            for share in &found {
                println!("{name}, {}: {} of 15", who.name(), share.hits);
            }
            assert!(
                found.iter().all(|share| share.hits >= 14.0),
                "{name}: {found:?}"
            );
        }
    }
}

/// The same with every preset, and in small windows.
#[test]
fn instructions_stand_with_every_preset() {
    let all = groups();
    let mixed: Vec<String> = (0..15).map(|n| all[n % 4].1[n].clone()).collect();
    for window in [1_024, 2_048, 4_096] {
        let ruled = begin(&mixed, 1);
        let at = after_compactions(&ruled.talk, ruled.said, window, &[1, 3]);
        for (name, _) in presets::ALL {
            let found = stand(&ruled, &at, Who::List(name), window);
            for share in &found {
                println!("{name}, {window}: {} of 15", share.hits);
            }
            // In the smallest window those that are only likely yield to the rest of it.
            let least = if window == 1_024 { 12.0 } else { 14.0 };
            assert!(
                found.iter().all(|share| share.hits >= least),
                "{name} at {window}: {found:?}"
            );
        }
    }
}

/// `cargo test -p palimpsest-engine --test survival table_of_instructions -- --ignored --nocapture`: all windows, presets and framings.
#[test]
#[ignore = "prints a table for minutes; the gates above hold a part of it"]
fn table_of_instructions() {
    let counts = [1, 5, 20];
    for window in [1_024, 2_048, 4_096, 8_192] {
        for (name, instructions) in framings() {
            let ruled = begin(&instructions, if window > 4_096 { 8 } else { 3 });
            let at = after_compactions(&ruled.talk, ruled.said, window, &counts);
            let lists = presets::ALL.iter().map(|(preset, _)| Who::List(preset));
            for who in lists.chain([Who::Session]) {
                let hits: Vec<String> = stand(&ruled, &at, who, window)
                    .iter()
                    .map(|share| share.hits.to_string())
                    .collect();
                println!("{window} {name} {}: {}", who.name(), hits.join(" "));
            }
        }
    }
}
