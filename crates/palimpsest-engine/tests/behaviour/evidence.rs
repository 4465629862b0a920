//! How much of the evidence for questions about very long chats is in the window when the question is asked, with and
//! without the recall slot. Run with `--nocapture` for the figures.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at the first surprise and prints what it measured"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::{Part, Role, Seq};
use palimpsest_engine::ports::Signal;
use palimpsest_engine::session::{CompactOptions, NewMessage};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Config, Engine, MemoryStore, NewSession, Session};
use palimpsest_tokens::Estimator;
use serde_json::Value;

/// Questions asked of each chat.
const QUESTIONS: usize = 60;

/// The messages whose words the model would see: verbatim, quoted in the slot, or recalled.
fn seen(session: &Session) -> (BTreeSet<Seq>, BTreeSet<Seq>) {
    let context = session.context();
    let view = context.view();
    let shown = context
        .entries()
        .iter()
        .map(|e| e.message.seq)
        .filter(|seq| !view.layers.iter().any(|l| l.covers(*seq)))
        .chain(view.quotes.iter().map(|q| q.seq))
        .collect();
    let recalled = view
        .recalled
        .iter()
        .flat_map(|r| r.quotes.iter().map(|q| q.seq))
        .collect();
    (shown, recalled)
}

async fn ask(chat: &Value, window: u32) -> (u32, u32, u32, u32) {
    let engine = Engine::start(
        Rc::new(MemoryStore::new()),
        world(),
        Rc::new(Estimator::default()),
    )
    .await
    .unwrap();
    let config = Config {
        recall: Some(true),
        ..Config::default()
    };
    let s = engine
        .create(NewSession {
            window,
            config,
            ..NewSession::default()
        })
        .await
        .unwrap();
    let talk = &chat["conversation"];
    let mut by_id: BTreeMap<String, Seq> = BTreeMap::new();
    for n in 1..60 {
        for turn in talk[format!("session_{n}")]
            .as_array()
            .into_iter()
            .flatten()
        {
            let text = format!(
                "{} ({}): {}",
                turn["speaker"].as_str().unwrap(),
                talk[format!("session_{n}_date_time")]
                    .as_str()
                    .unwrap_or(""),
                turn["text"].as_str().unwrap_or_default()
            );
            let user = turn["speaker"] == talk["speaker_a"];
            let message = if user {
                NewMessage::user(text)
            } else {
                NewMessage::assistant(vec![Part::text(text)])
            };
            let seq = s.append(message).await.unwrap();
            by_id.insert(turn["dia_id"].as_str().unwrap().to_owned(), seq);
            if !user {
                s.tend(CompactOptions::default(), Signal::never())
                    .await
                    .unwrap();
            }
        }
    }
    // the quotes of the last question go with the next message, and the reply came beside them
    let stays = s.budget().used.tokens - s.context().recalled_tokens();
    assert!(stays <= s.budget().limit);
    let (mut asked, mut plain, mut with, mut tokens) = (0, 0, 0, 0);
    let all = chat["qa"].as_array().unwrap();
    let step = (all.len() / QUESTIONS).max(1);
    for qa in all.iter().step_by(step) {
        let gold: Vec<Seq> = qa["evidence"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|e| by_id.get(e.as_str()?).copied())
            .collect();
        if gold.is_empty() {
            continue;
        }
        let question = qa["question"].as_str().unwrap();
        let seq = s.append(NewMessage::user(question)).await.unwrap();
        let (shown, recalled) = seen(&s);
        asked += gold.len() as u32;
        plain += gold.iter().filter(|g| shown.contains(g)).count() as u32;
        with += gold
            .iter()
            .filter(|g| shown.contains(g) || recalled.contains(g))
            .count() as u32;
        tokens = tokens.max(s.context().view().recalled.as_ref().map_or(0, |r| r.tokens));
        let limit = s.context().setup().shares.limit;
        assert!(tokens <= limit / 4, "R1: a quarter of the limit");
        assert!(s.context().check_limit().valid, "R1: of what is free");
        let last = s.history(None, 1);
        assert_eq!(last[0].message.role, Role::User);
        s.rewind_before(seq).await.unwrap();
    }
    (asked, plain, with, tokens)
}

/// R1: gold evidence of real questions in the window at 4,096 and 8,192 tokens: the recall slot at least doubles it at the
/// small window, and never takes more than its share.
#[test]
#[ignore = "needs ../shared/data"]
fn recall_brings_recorded_evidence_back() {
    brings_evidence_back("../../../shared/data/locomo-dev.json", [4_096, 8_192]);
}

/// R1: the same for a small chat of our own.
#[test]
fn recall_brings_evidence_of_our_own_back() {
    brings_evidence_back("../../tests/fixtures/friends.json", [1_024, 2_048]);
}

/// The recall slot at least doubles what is there at the smaller window, and takes nothing away at the larger.
fn brings_evidence_back(file: &str, windows: [u32; 2]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    let chats: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    println!(
        "\n{:>7}{:>10}{:>16}{:>14}{:>13}",
        "window", "evidence", "without recall", "with recall", "slot tokens"
    );
    for window in windows {
        let mut sum = (0, 0, 0, 0);
        for chat in chats.as_array().unwrap() {
            let (asked, plain, with, tokens) = block_on(ask(chat, window));
            sum = (
                sum.0 + asked,
                sum.1 + plain,
                sum.2 + with,
                sum.3.max(tokens),
            );
        }
        println!(
            "{window:>7}{:>10}{:>15}%{:>13}%{:>13}",
            sum.0,
            sum.1 * 100 / sum.0,
            sum.2 * 100 / sum.0,
            sum.3
        );
        assert!(
            sum.2 >= sum.1 * if window == windows[0] { 2 } else { 1 },
            "{window}: {sum:?}"
        );
    }
}
