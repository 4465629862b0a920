//! The index over covered originals.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at the first surprise and prints what it measured"
)]

use std::collections::BTreeSet;

use palimpsest_text::recall::{Recall, Recalled, within};
use palimpsest_tokens::{Estimator, TokenCounter};
use proptest::prelude::*;
use serde_json::Value;

use crate::transcripts::{Source, Transcript};

fn index(texts: &[&str]) -> Recall {
    let mut recall = Recall::default();
    for (i, text) in texts.iter().enumerate() {
        recall.add(i as u32 * 10, text);
    }
    recall
}

fn check(texts: &[&str], query: &str, expected: u32) {
    let hits = index(texts).search(query, 5, |_| true);
    assert_eq!(
        hits.first().map(|h| h.seq),
        Some(expected * 10),
        "{query:?}: {hits:?}"
    );
}

/// R1, F 25: words in other forms and cases, with and without marks, composed or decomposed.
#[test]
fn words_are_found_in_other_forms() {
    let texts = [
        "She painted a lake at sunrise.",
        "The invoice was paid late.",
        "El café está cerrado hoy.",
    ];
    check(&texts, "What is Melanie PAINTING?", 0);
    check(&texts, "who pays invoices", 1);
    check(&texts, "cafe cerrado", 2);
    check(&texts, "cafe\u{301} esta\u{301} cerrado", 2);
    check(&["Tea.", "Zwo\u{308}lf A\u{308}pfel."], "zwölf Äpfel", 1);
    check(
        &["He went to Lyon by train.", "The soup is hot."],
        "when does he go to Lyon",
        0,
    );
}

/// R1: scripts without spaces.
#[test]
fn scripts_without_spaces_are_found() {
    let texts = [
        "我们决定使用北京的服务器。",
        "天气预报说明天会下雨。",
        "予算は三千円です。",
        "ร้านอาหารเปิดทุกวัน",
    ];
    check(&texts, "服务器在哪里", 0);
    check(&texts, "明天下雨吗", 1);
    check(&texts, "予算はいくら", 2);
    check(&texts, "ร้านอาหาร", 3);
}

/// R1: an identifier is found whole and by its parts.
#[test]
fn identifiers_are_found_whole_and_in_parts() {
    let texts = [
        "Call getUserName first.",
        "The user is asleep, the name is long.",
        "Open crates/core/src/token_tally.rs now.",
    ];
    check(&texts, "getUserName", 0);
    check(&texts, "token tally", 2);
    check(&texts, "crates/core/src/token_tally.rs", 2);
}

/// R1: only what is covered now is quoted, ties go to the newer, an answer is found by the question before it.
#[test]
fn filter_ties_and_neighbours() {
    let recall = index(&["the red kiln", "the red kiln", "the blue boat"]);
    let all: Vec<u32> = recall
        .search("red kiln", 9, |_| true)
        .iter()
        .map(|h| h.seq)
        .collect();
    assert_eq!(all, [10, 0]);
    let some: Vec<u32> = recall
        .search("red kiln", 9, |seq| seq < 10)
        .iter()
        .map(|h| h.seq)
        .collect();
    assert_eq!(some, [0]);
    assert_eq!(recall.search("", 9, |_| true), []);
    assert_eq!(recall.search("zebra", 9, |_| true), []);
    let mut talk = Recall::default();
    talk.add(1, "Which colour did you choose for the hallway?");
    talk.add(2, "Ochre, in the end!");
    talk.add(30, "The train was late again.");
    let seqs: Vec<u32> = talk
        .search("colour of the hallway", 9, |_| true)
        .iter()
        .map(|h| h.seq)
        .collect();
    assert_eq!(seqs, [1, 2]);
}

/// R1: passages are chunks of some 60 to 120 tokens at sentence borders, and hits are packed within their slot.
#[test]
fn chunks_and_slots() {
    let sentence = "The lighthouse keeper counted seventeen gulls on the western rail. ";
    let long = sentence.repeat(40);
    let mut recall = Recall::default();
    recall.add(0, &long);
    let counter = Estimator::default();
    let hits = recall.search("lighthouse gulls", 50, |_| true);
    assert!(hits.len() > 4, "{}", hits.len());
    for h in &hits {
        let text = &long[h.start as usize..h.end as usize];
        assert!(
            text.starts_with("The lighthouse") && text.ends_with("rail."),
            "{text:?}"
        );
        assert!(counter.count(text) <= 140, "{}", counter.count(text));
    }
    let cost = |h: &Recalled| counter.count(&long[h.start as usize..h.end as usize]);
    let kept = within(&hits, 200, cost);
    assert!(!kept.is_empty() && kept.iter().map(cost).sum::<u32>() <= 200);
    assert!(kept.is_sorted_by_key(|h| h.start));
    assert_eq!(within(&hits, 0, cost), []);
}

/// R1: the index forgets the oldest half rather than grow without end, and still answers.
#[test]
fn memory_is_bounded() {
    let mut recall = Recall::with_limit(4000);
    for i in 0..2000 {
        recall.add(
            i,
            &format!(
                "note {i} speaks of subject{i} and of harbour number {}",
                i * 7
            ),
        );
    }
    assert!(recall.len() < 800, "{}", recall.len());
    assert_eq!(recall.search("subject1999", 1, |_| true)[0].seq, 1999);
    assert_eq!(recall.search("subject3", 1, |_| true), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// I2, I10: any text can be added and asked for; the same additions give the same answers; ranges are valid.
    #[test]
    fn any_text_can_be_recalled(texts in proptest::collection::vec("\\PC{0,80}", 0..8), query in "\\PC{0,40}") {
        let build = || {
            let mut recall = Recall::with_limit(1024);
            for (i, text) in texts.iter().enumerate() {
                recall.add(i as u32, text);
            }
            recall
        };
        let hits = build().search(&query, 20, |_| true);
        prop_assert_eq!(&hits, &build().search(&query, 20, |_| true));
        for h in &hits {
            prop_assert!(texts[h.seq as usize].get(h.start as usize..h.end as usize).is_some());
        }
    }
}

/// R1: of the gold evidence of long chats, the share quoted within 400 and 819 tokens, beside a plain tail of 2,048.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_evidence_is_found_twice_as_often_as_in_the_tail() {
    evidence(Source::Recorded, [400, 819], 2048);
}

/// R1: the same for a small chat of our own, with a quarter of the room.
#[test]
fn evidence_of_our_own_is_found_twice_as_often_as_in_the_tail() {
    evidence(Source::Own, [100, 200], 512);
}

/// Looks for what answers the questions: in quotes of two sizes, and in the newest messages.
fn evidence(source: Source, room: [u32; 2], newest: u32) {
    let chats: Value = serde_json::from_str(&source.read(Transcript::Friends)).unwrap();
    let counter = Estimator::default();
    let (mut all, mut in_small, mut in_large, mut in_tail) = (0u32, 0u32, 0u32, 0u32);
    for chat in chats.as_array().unwrap() {
        let talk = &chat["conversation"];
        let mut ids = Vec::new();
        let mut said = Vec::new();
        for n in 1..60 {
            for turn in talk[format!("session_{n}")]
                .as_array()
                .into_iter()
                .flatten()
            {
                ids.push(turn["dia_id"].as_str().unwrap());
                said.push(format!(
                    "{}: {}",
                    turn["speaker"].as_str().unwrap(),
                    turn["text"].as_str().unwrap()
                ));
            }
        }
        let mut recall = Recall::default();
        for (i, line) in said.iter().enumerate() {
            recall.add(i as u32, line);
        }
        let mut tail = BTreeSet::new();
        let mut used = 0;
        for (i, line) in said.iter().enumerate().rev() {
            used += counter.count(line) + 5;
            if used > newest {
                break;
            }
            tail.insert(i as u32);
        }
        for asked in chat["qa"].as_array().unwrap() {
            // Category 5 asks for what was never said.
            if asked["category"] == 5 {
                continue;
            }
            let hits = recall.search(asked["question"].as_str().unwrap(), 200, |_| true);
            let cost = |h: &Recalled| {
                counter.count(&said[h.seq as usize][h.start as usize..h.end as usize]) + 4
            };
            let small: BTreeSet<u32> = within(&hits, room[0], cost).iter().map(|h| h.seq).collect();
            let large: BTreeSet<u32> = within(&hits, room[1], cost).iter().map(|h| h.seq).collect();
            for id in asked["evidence"].as_array().unwrap() {
                for id in id.as_str().unwrap().split(';') {
                    let Some(i) = ids.iter().position(|d| *d == id.trim()) else {
                        continue;
                    };
                    let i = i as u32;
                    all += 1;
                    in_small += u32::from(small.contains(&i));
                    in_large += u32::from(large.contains(&i));
                    in_tail += u32::from(tail.contains(&i));
                }
            }
        }
    }
    let percent = |n: u32| n * 100 / all;
    println!(
        "evidence of {all}: {} % in {} tokens recalled, {} % in {}; {} % in a tail of {newest}",
        percent(in_small),
        room[0],
        percent(in_large),
        room[1],
        percent(in_tail)
    );
    assert!(in_small >= in_tail * 2, "{in_small} against {in_tail}");
    assert!(percent(in_small) >= 50, "{in_small} of {all}");
}
