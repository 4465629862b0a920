//! What is left of sentences that were planted in made conversations, after five rounds of compaction to a share of the
//! conversation's tokens.

use std::collections::BTreeMap;

use palimpsest_core::shares::{ShareOptions, Shares};
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

use crate::contender::{Shown, Who};
use crate::corpus::{Talk, chats, is_recorded, joined, recorded_friends, said};
use crate::peers::Kind;

#[allow(dead_code, reason = "the tests of the summariser use all of it")]
#[path = "../../../palimpsest-core/tests/behaviour/canary/corpus.rs"]
mod planting;

use planting::{Class, Conversation, Message, Who as Speaker, conversation, with_canaries};

const ROUNDS: usize = 5;
const CONVERSATIONS: u64 = 16;
/// Those from 500 on were looked at while the summariser was written.
const FIRST_SEED: u64 = 900;

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

/// The moment at which a window is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Right after the last round, when the model has spoken.
    Rest,
    /// With the user's next message, which asks nothing: the window as it is sent.
    Next,
}

/// The user's next message.
const NEXT: &str = "Thank you.";

/// Kept and planted sentences of each class.
type Tally = BTreeMap<Class, (u32, u32)>;

fn play(talk: &Conversation, (who, moment): (Who, Moment), percent: u32, tally: &mut Tally) {
    let counter = Estimator::default();
    let total: u32 = talk.messages.iter().map(|m| counter.count(&m.text)).sum();
    let mut contender = who.start("", window_with(total * percent / 100));
    for round in talk.messages.chunks(talk.messages.len().div_ceil(ROUNDS)) {
        for message in round {
            contender.push(&value(message));
        }
        contender.tend();
    }
    let shown = match moment {
        Moment::Rest => contender.now(),
        Moment::Next => contender.ask(NEXT),
    };
    let wanted = shown_row((who, moment), percent);
    if std::env::var("PALIMPSEST_PLANTED_SHOW").is_ok_and(|row| row == wanted) {
        print_window(talk, &shown, total * percent / 100);
    }
    for planted in &talk.canaries {
        let (kept, all) = tally.entry(planted.class).or_default();
        *kept += u32::from(shown.text.contains(&planted.needle));
        *all += 1;
    }
}

/// The name of a row and a share, for `PALIMPSEST_PLANTED_SHOW`: `20 list, balanced`, `30 session, next`.
fn shown_row(row: (Who, Moment), percent: u32) -> String {
    format!("{percent} {}", name_of(row))
}

fn name_of((who, moment): (Who, Moment)) -> String {
    let name = who.name().replace('*', "");
    match moment {
        Moment::Rest => name,
        Moment::Next => format!("{name}, next"),
    }
}

/// Prints a window, and the planted sentences that it lost.
fn print_window(talk: &Conversation, shown: &Shown, most: u32) {
    println!("\n==== {} of {most} tokens\n{}", shown.tokens, shown.text);
    for planted in talk
        .canaries
        .iter()
        .filter(|planted| !shown.text.contains(&planted.needle))
    {
        println!("-- {:?} {}", planted.class, planted.needle);
    }
}

/// The same sentences, planted into messages that people wrote.
fn planted_in(talk: &Talk, first: usize, seed: u64) -> Conversation {
    let message = |value: &Value| Message {
        who: match value["role"].as_str() {
            Some("user") => Speaker::User,
            _ => Speaker::Assistant,
        },
        text: said(value),
    };
    with_canaries(
        talk.messages
            .iter()
            .skip(first)
            .take(STRETCH)
            .map(message)
            .collect(),
        seed,
    )
}

/// Messages of a chat that sentences are planted into.
const STRETCH: usize = 240;

fn stretches(talks: &[Talk]) -> Vec<Conversation> {
    let starts: Vec<(&Talk, usize)> = talks
        .iter()
        .flat_map(|talk| (0..talk.messages.len() / STRETCH).map(move |n| (talk, n * STRETCH)))
        .collect();
    (FIRST_SEED..)
        .zip(starts.iter().cycle())
        .take(CONVERSATIONS as usize)
        .map(|(seed, (talk, first))| planted_in(talk, *first, seed))
        .collect()
}

/// Prints a row for each method, and in brackets the classes.
pub(crate) fn print() {
    for turns in [36, 150] {
        let talks = (0..CONVERSATIONS).map(|seed| conversation(seed + FIRST_SEED, turns));
        rows(&format!("{turns} turns"), &talks.collect::<Vec<_>>());
    }
    rows(
        "240 messages of our own chats",
        &stretches(&[joined("chats", &chats())]),
    );
    if is_recorded() {
        rows(
            "240 messages of recorded chats",
            &stretches(&recorded_friends()),
        );
    }
}

fn rows(of: &str, talks: &[Conversation]) {
    let rows = [
        (Who::List("balanced"), Moment::Rest),
        (Who::List("balanced"), Moment::Next),
        (Who::Session, Moment::Rest),
        (Who::Session, Moment::Next),
        (Who::Peer(Kind::Tail), Moment::Next),
        (Who::Peer(Kind::TextRank), Moment::Next),
        (Who::Peer(Kind::TfIdf), Moment::Next),
    ];
    println!("\n{of}: planted sentences in a window of 10, 20 and 30 % of the tokens, %");
    for row in rows {
        print!("{:22}", name_of(row));
        for percent in [10, 20, 30] {
            let mut tally = Tally::new();
            for talk in talks {
                play(talk, row, percent, &mut tally);
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
