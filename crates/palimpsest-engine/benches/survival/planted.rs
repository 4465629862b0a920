//! What is left of sentences that were planted in made conversations, after five rounds of compaction to a share of the
//! conversation's tokens.

use std::collections::BTreeMap;

use palimpsest_core::shares::{ShareOptions, Shares};
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

use crate::contender::Who;
use crate::peers::Kind;

#[allow(dead_code, reason = "the tests of the summariser use all of it")]
#[path = "../../../palimpsest-core/tests/behaviour/canary/corpus.rs"]
mod corpus;

use corpus::{Class, Conversation, Message, Who as Speaker, conversation};

const ROUNDS: usize = 5;
const CONVERSATIONS: u64 = 16;

fn value(message: &Message) -> Value {
    let role = match message.who {
        Speaker::User => "user",
        Speaker::Assistant | Speaker::Tool => "assistant",
    };
    json!({"role": role, "content": message.text})
}

/// Returns the smallest window that holds `room` tokens beside the answer and the margin.
fn window_with(room: u32) -> u32 {
    let limit = |window| Shares::of(window, ShareOptions::default()).map_or(0, |s| s.limit);
    (64..=1_000_000)
        .find(|&window| limit(window) >= room)
        .unwrap()
}

/// Kept and planted sentences of each class.
type Tally = BTreeMap<Class, (u32, u32)>;

fn play(talk: &Conversation, who: Who, percent: u32, tally: &mut Tally) {
    let counter = Estimator::default();
    let total: u32 = talk.messages.iter().map(|m| counter.count(&m.text)).sum();
    let mut contender = who.start("", window_with(total * percent / 100));
    for round in talk.messages.chunks(talk.messages.len().div_ceil(ROUNDS)) {
        for message in round {
            contender.push(&value(message));
        }
        contender.tend();
    }
    let shown = contender.now();
    for planted in &talk.canaries {
        let (kept, all) = tally.entry(planted.class).or_default();
        *kept += u32::from(shown.text.contains(&planted.needle));
        *all += 1;
    }
}

/// Prints a row for each method, and in brackets the classes.
pub(crate) fn print() {
    let rows = [
        Who::List("balanced"),
        Who::Session,
        Who::Peer(Kind::Tail),
        Who::Peer(Kind::TextRank),
        Who::Peer(Kind::TfIdf),
    ];
    for turns in [36, 150] {
        println!(
            "\n{turns} turns: planted sentences in a window of 10, 20 and 30 % of the tokens, %"
        );
        let talks = (0..CONVERSATIONS).map(|seed| conversation(seed + 500, turns));
        let talks: Vec<Conversation> = talks.collect();
        for who in rows {
            print!("{:20}", who.name().replace('*', ""));
            for percent in [10, 20, 30] {
                let mut tally = Tally::new();
                for talk in &talks {
                    play(talk, who, percent, &mut tally);
                }
                let (kept, all) = tally.values().fold((0, 0), |s, t| (s.0 + t.0, s.1 + t.1));
                let classes = tally.iter().map(|(class, (kept, all))| {
                    format!("{class:?} {}", kept * 100 / all).to_lowercase()
                });
                let classes: Vec<String> = classes.collect();
                print!(" | {} ({})", kept * 100 / all, classes.join(", "));
            }
            println!();
        }
    }
}
