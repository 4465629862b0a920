//! What a layer without a model keeps of recorded conversations: answers of questions, values that are needed later, and how
//! much of it is small talk. Run with `--include-ignored --nocapture` for the figures.
#![allow(
    clippy::format_push_string,
    clippy::similar_names,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at the first surprise, and prints what it measured"
)]

use std::collections::{BTreeMap, BTreeSet};

use palimpsest_text::extractive::{Day, Options, Passage, Speaker, summarize};
use palimpsest_text::words::segment::prose;
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::Value;

fn data(file: &str) -> Value {
    let path = format!("{}/../../../shared/data/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Words that say nothing by themselves, and words that only greet or praise: a list of the test's own.
const EMPTY: &str = "a about again all also am amazing an and any are as at awesome be been but by bye can come could did do \
    does doing don't done for from get glad go going good got great had has have hear hello here hey hi how i i'd i'll i'm \
    i've if in is it it's its just know like lol long look looking love me more much my nice no not now of oh ok on one or \
    our out proud really right see so some sounds still super sure take talk thank thanks that that's the them then there \
    they things think this time to too up us very want was way we well were what what's when where which who why will with \
    wish wow would yeah yep yes you you'll you're you've your";

fn words(text: &str) -> Vec<String> {
    let word = |w: &str| w.trim_matches('\'').to_lowercase().replace('’', "'");
    let split = text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’');
    split.map(word).filter(|w| !w.is_empty()).collect()
}

fn telling(text: &str) -> BTreeSet<String> {
    let empty: BTreeSet<&str> = EMPTY.split_whitespace().collect();
    let all = words(text).into_iter();
    all.filter(|w| !empty.contains(w.as_str())).collect()
}

#[derive(Debug, Default)]
struct Sum {
    hits: u32,
    all: u32,
}

impl Sum {
    fn add(&mut self, hits: usize, all: usize) {
        self.hits += hits as u32;
        self.all += all as u32;
    }

    fn percent(&self) -> f64 {
        f64::from(self.hits) * 100.0 / f64::from(self.all.max(1))
    }
}

/// A chat of two people, dated in the heads of its messages.
struct Chat {
    turns: Vec<(Speaker, String, String)>,
    questions: Vec<(String, Vec<usize>)>,
}

fn chat(from: &Value) -> Chat {
    let talk = &from["conversation"];
    let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
    let mut turns = Vec::new();
    for n in 1..60 {
        let time = talk[format!("session_{n}_date_time")].as_str();
        for turn in talk[format!("session_{n}")]
            .as_array()
            .into_iter()
            .flatten()
        {
            let role = if turn["speaker"] == talk["speaker_a"] {
                Speaker::User
            } else {
                Speaker::Assistant
            };
            let said = turn["text"].as_str().unwrap_or_default().to_owned();
            let name = turn["speaker"].as_str().unwrap();
            ids.insert(turn["dia_id"].as_str().unwrap(), turns.len());
            turns.push((role, format!("{name} ({}): {said}", time.unwrap()), said));
        }
    }
    let asked = from["qa"].as_array().unwrap().iter();
    let questions = asked.filter(|qa| qa["category"] != 5).filter_map(|qa| {
        let evidence = qa["evidence"].as_array()?.iter();
        let evidence = evidence.flat_map(|e| e.as_str().unwrap_or_default().split([';', ' ']));
        let evidence = evidence.map(str::trim).filter(|e| !e.is_empty());
        let gold: Option<Vec<usize>> = evidence.map(|e| ids.get(e).copied()).collect();
        let answer = match &qa["answer"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some((answer, gold.filter(|g| !g.is_empty())?))
    });
    Chat {
        questions: questions.collect(),
        turns,
    }
}

/// P8: of long chats a layer keeps statements: at a tenth of the words at least 15 % of the turns that answer a question
/// are named by half of their telling words on one line, and small talk is under a tenth.
#[test]
#[ignore = "needs ../shared/data"]
fn layers_of_chats_hold_statements() {
    let counter = Estimator::default();
    for share in [10, 20, 30] {
        let (mut evidence, mut answers, mut filler) =
            (Sum::default(), Sum::default(), Sum::default());
        for (n, chat) in data("locomo-dev.json")
            .as_array()
            .unwrap()
            .iter()
            .map(chat)
            .enumerate()
        {
            let plain: u32 = chat.turns.iter().map(|t| counter.count(&t.2)).sum();
            let passages: Vec<Passage<'_>> = (chat.turns.iter().zip(0..))
                .map(|((role, text, _), id)| Passage::new(id, *role, text))
                .collect();
            let options = Options {
                target_tokens: plain * share / 100,
                ..Options::default()
            };
            let layer = summarize(&passages, &options, &counter).text;
            if share == 10 && std::env::var_os("PALIMPSEST_SHOW").is_some() {
                println!(
                    "--- chat {n}\n{}",
                    layer.chars().take(6_000).collect::<String>()
                );
            }
            let mut heading = String::new();
            let mut lines: Vec<(BTreeSet<String>, BTreeSet<String>)> = Vec::new();
            for line in layer.lines() {
                if line.starts_with('[') && line.ends_with(']') {
                    line.clone_into(&mut heading);
                    continue;
                }
                let near = words(&format!("{heading} {line}"));
                lines.push((telling(line), near.into_iter().collect()));
                for unit in prose(line) {
                    let text = &line[unit.start..unit.end];
                    let tokens = counter.count(text) as usize;
                    filler.add(if telling(text).len() < 3 { tokens } else { 0 }, tokens);
                }
            }
            for (answer, gold) in &chat.questions {
                let wanted: BTreeSet<String> = words(answer).into_iter().collect();
                let mut near: BTreeSet<&String> = BTreeSet::new();
                for &turn in gold {
                    let own = telling(&chat.turns[turn].2);
                    let of = |line: &BTreeSet<String>| own.intersection(line).count();
                    let best = lines.iter().max_by_key(|(line, _)| of(line));
                    let named = best.map_or(0, |(line, _)| of(line));
                    evidence.add(usize::from(named * 2 >= own.len().max(1)), 1);
                    if let Some((_, words)) = best.filter(|_| named * 3 >= own.len()) {
                        near.extend(words);
                    }
                }
                answers.add(usize::from(wanted.iter().all(|w| near.contains(w))), 1);
            }
        }
        println!(
            "chats, {share} %: evidence {:.1}, whole answers {:.1}, small talk {:.1} %",
            evidence.percent(),
            answers.percent(),
            filler.percent()
        );
        assert!(filler.percent() < 10.0, "{share}: {filler:?}");
        assert!(evidence.percent() > 15.0, "{share}: {evidence:?}");
    }
}

/// What a customer-service agent's calls need later, by the share of the transcript that the layer has.
#[test]
#[ignore = "needs ../shared/data"]
fn layers_of_transcripts_hold_values() {
    let counter = Estimator::default();
    for share in [10, 20, 30] {
        let mut kept = Sum::default();
        for (n, case) in data("tau-airline-dev.json")
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
        {
            let turns: Vec<(Speaker, String, usize)> = case["traj"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(turn)
                .collect();
            // each call that changes something, with the part of the transcript before it that is 700 tokens back
            for at in 1..turns.len() {
                let (Speaker::Assistant, text, calls) = &turns[at] else {
                    continue;
                };
                let arguments = &text[*calls..];
                let mut left = 700;
                let mut end = at;
                while end > 0 && left > 0 {
                    end -= 1;
                    left = counter.count(&turns[end].1).min(left).abs_diff(left);
                }
                let covered: u32 = turns[..end].iter().map(|t| counter.count(&t.1)).sum();
                let before: String = turns[..end].iter().map(|t| t.1.as_str()).collect();
                let tail: String = turns[end..at].iter().map(|t| t.1.as_str()).collect();
                let wanted: BTreeSet<&str> = values(arguments)
                    .filter(|v| before.contains(v) && !tail.contains(v))
                    .collect();
                if wanted.is_empty() || covered < 400 {
                    continue;
                }
                let passages: Vec<Passage<'_>> = (turns[..end].iter().zip(0..))
                    .map(|((role, text, calls), id)| Passage {
                        calls: (*calls < text.len()).then_some(*calls),
                        day: None::<Day>,
                        ..Passage::new(id, *role, text)
                    })
                    .collect();
                let options = Options {
                    target_tokens: covered * share / 100,
                    ..Options::default()
                };
                let layer = summarize(&passages, &options, &counter).text;
                if share == 10 && n < 4 && std::env::var_os("PALIMPSEST_SHOW").is_some() {
                    println!("--- case {n}, wanted {wanted:?}\n{layer}");
                }
                kept.add(
                    wanted.iter().filter(|v| layer.contains(**v)).count(),
                    wanted.len(),
                );
            }
        }
        println!(
            "transcripts, {share} %: {:.1} % of {} values",
            kept.percent(),
            kept.all
        );
        assert!(kept.percent() > 50.0, "{share}: {kept:?}");
    }
}

fn turn(message: &Value) -> Option<(Speaker, String, usize)> {
    let mut text = message["content"].as_str().unwrap_or_default().to_owned();
    let role = match message["role"].as_str()? {
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        "tool" => Speaker::Tool,
        _ => return None,
    };
    let prose = text.len();
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        let (name, arguments) = (function["name"].as_str()?, function["arguments"].as_str()?);
        text.push_str(&format!("\n{name} {arguments}"));
    }
    Some((role, text, prose))
}

/// Words of JSON that are copied exactly: those with a digit, of four letters or more.
fn values(json: &str) -> impl Iterator<Item = &str> {
    let all = json.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '@' | '.')));
    all.filter(|w| w.len() >= 4 && w.contains(|c: char| c.is_ascii_digit()))
}

/// One message of the recorded coding session.
fn step(line: &str) -> Option<(Speaker, String, usize)> {
    let line: Value = serde_json::from_str(line).ok()?;
    let message = &line["message"];
    let role = match message["role"].as_str()? {
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        "toolResult" => Speaker::Tool,
        _ => return None,
    };
    let (mut text, mut calls) = (String::new(), String::new());
    for part in message["content"].as_array().into_iter().flatten() {
        if let Some(words) = part["text"].as_str() {
            text.push_str(words);
        }
        if let Some(name) = part["name"].as_str() {
            calls.push_str(&format!("\n{name} {}", part["arguments"]));
        }
    }
    let prose = text.len();
    Some((role, text + &calls, prose))
}

/// The paths that a coding agent's calls need later are in a layer of a tenth.
#[test]
#[ignore = "needs ../shared/data"]
fn layers_of_code_hold_paths() {
    let counter = Estimator::default();
    let path = format!(
        "{}/../../../shared/data/coding-session.jsonl",
        env!("CARGO_MANIFEST_DIR")
    );
    let turns: Vec<_> = std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .filter_map(step)
        .collect();
    let mut kept = Sum::default();
    for start in (0..turns.len() - 80).step_by(60) {
        let covered = &turns[start..start + 50];
        let before: String = covered.iter().map(|t| t.1.as_str()).collect();
        let later: String = turns[start + 60..start + 80]
            .iter()
            .map(|t| &t.1[t.2..])
            .collect();
        let tail: String = turns[start + 50..start + 60]
            .iter()
            .map(|t| t.1.as_str())
            .collect();
        let paths =
            later.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '.')));
        let wanted: BTreeSet<&str> = paths
            .filter(|p| p.contains('/') && p.len() > 6 && before.contains(p) && !tail.contains(p))
            .collect();
        let passages: Vec<Passage<'_>> = (covered.iter().zip(0..))
            .map(|((role, text, calls), id)| Passage {
                calls: (*calls < text.len()).then_some(*calls),
                ..Passage::new(id, *role, text)
            })
            .collect();
        let options = Options {
            target_tokens: (counter.count(&before) / 10).min(1_200),
            ..Options::default()
        };
        let layer = summarize(&passages, &options, &counter).text;
        if start % 180 == 0 && std::env::var_os("PALIMPSEST_SHOW").is_some() {
            println!(
                "--- from {start}, {} tokens\n{layer}",
                options.target_tokens
            );
        }
        kept.add(
            wanted.iter().filter(|p| layer.contains(**p)).count(),
            wanted.len(),
        );
    }
    println!("code, 10 %: {:.1} % of {} paths", kept.percent(), kept.all);
    assert!(kept.percent() > 40.0, "{kept:?}");
}
