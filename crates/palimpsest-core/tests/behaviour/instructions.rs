//! Standing instructions: they outlive every compaction, whatever the framing, until they are replaced or withdrawn.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, CompactOutput, Compaction};
use palimpsest_core::context::Seed;
use palimpsest_core::dialect::Rendered;
use palimpsest_core::policy::Demands;
use palimpsest_core::record::{Found, Level, Records};
use palimpsest_text::retention::constraints;
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

/// In fifteen framings.
const INSTRUCTIONS: [&str; 15] = [
    "For the rest of this session, leave the lockfile as it is.",
    "From here on, sign each message with your initials.",
    "Answer in short sentences.",
    "Never run a migration without asking me.",
    "Always put the unit behind a number.",
    "Whenever you quote a source, name the page.",
    "I'd like you to call me Commander.",
    "We use four spaces in this project.",
    "No exclamation marks, please.",
    "Every reply must end with a question.",
    "You must not mention the merger.",
    "Until further notice, skip the summaries.",
    "Before you install anything, ask me.",
    "If you are unsure, say so instead of guessing.",
    "Treat everything I tell you about Dana as confidential.",
];

fn shown(out: &CompactOutput, raw: &[Value]) -> String {
    let text = |m: &Rendered| match m {
        Rendered::Kept(i) => raw[*i]["content"].as_str().unwrap_or("").to_owned(),
        Rendered::Made(v) => v["content"].as_str().unwrap_or("").to_owned(),
    };
    let all: Vec<String> = out.messages.iter().map(text).collect();
    all.join("\n")
}

/// P9: of fifteen instructions in fifteen framings, fourteen at least stand word for word in the window after each of twenty
/// compactions of a growing list.
#[test]
fn outlive_twenty_compactions() {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let seed = Seed {
        now: 0.0,
        secret: [7; 16],
    };
    for window in [4096, 8192] {
        let mut list = vec![json!({"role": "system", "content": "You help in a warehouse."})];
        let mut state = None;
        let mut said: Vec<&str> = Vec::new();
        for round in 0..20_usize {
            if let Some(rule) = INSTRUCTIONS.get(round) {
                list.push(json!({"role": "user", "content": format!("Good to know. {rule}")}));
                list.push(json!({"role": "assistant", "content": "Understood."}));
                said.push(rule);
            }
            for n in 0..24 {
                let series = round * 24 + n;
                list.push(json!({"role": "user", "content": format!("How many parcels of series {series} are in hall {}?", series * 7)}));
                list.push(json!({"role": "assistant", "content": format!("There are {} parcels of series {series} in that hall, and they leave at nine. ", series * 31).repeat(window as usize / 1200)}));
            }
            let options = CompactOptions::new(window);
            let out = Compaction::start(list.clone(), &options, state.take(), &counter, seed)
                .and_then(Compaction::finish_without_model)
                .unwrap();
            let text = shown(&out, &list);
            let gone: Vec<&&str> = said.iter().filter(|rule| !text.contains(**rule)).collect();
            assert!(
                gone.len() * 15 <= said.len(),
                "{window} {round}: {gone:?} of {}",
                said.len()
            );
            state = Some(out.state);
        }
    }
}

fn records(said: &[&str]) -> Records {
    let mut records = Records::default();
    for (message, text) in said.iter().enumerate() {
        let found = constraints(text).into_iter();
        records.adopt(&Found {
            constraints: found.map(|c| (message as u32, c)).collect(),
            proposals: Vec::new(),
        });
    }
    records
}

/// P9: what is certain leads the layers, what is likely stands with them; neither is in the system message by itself.
#[test]
fn levels_have_their_places() {
    fn check(text: &str, expected: Level) {
        let records = records(&[text]);
        let rendered = records.render(8192, Demands::Layer, &Estimator::default());
        let demands: Vec<_> = rendered
            .demands
            .iter()
            .map(|d| (d.text.as_str(), d.level))
            .collect();
        assert_eq!(demands, [(text, expected)]);
        assert_eq!(rendered.text, "");
    }
    check("Never push to main.", Level::Sure);
    check("Secrets must never be written to the log.", Level::Likely);
}

/// P9: what only may be an instruction takes a sixteenth of the window at most, the oldest first, and pushes out nothing
/// that is certain.
#[test]
fn likely_ones_take_little_room() {
    let mut said: Vec<String> = vec!["Never push to main.".to_owned()];
    for kind in ('a'..='z').chain('α'..='ω') {
        said.push(format!(
            "Secrets of kind {kind} must never be written to the log."
        ));
    }
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let records = records(&said);
    assert!(records.pins.len() > 40, "{}", records.pins.len());
    let counter = Estimator::default();
    let rendered = records.render(4096, Demands::Layer, &counter);
    let sure: Vec<_> = rendered
        .demands
        .iter()
        .filter(|d| d.level == Level::Sure)
        .collect();
    assert_eq!(sure.len(), 1);
    let likely = rendered.demands.iter().filter(|d| d.level == Level::Likely);
    let tokens: u32 = likely.clone().map(|d| counter.count(&d.text)).sum();
    assert!(tokens > 100 && tokens <= 4096 / 16, "{tokens}");
    assert!(likely.clone().any(|d| d.text.contains("kind a ")));
    assert!(!likely.clone().any(|d| d.text.contains("kind ω")));
    assert!(!rendered.left_out.is_empty());
}

/// P9, 16.5: however small the window, a list is refused only if its system prompt and its last exchange alone do not fit. Demands
/// yield before that, the report says so, and a larger window shows them again.
#[test]
fn demands_yield_to_the_last_message() {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let seed = Seed {
        now: 0.0,
        secret: [7; 16],
    };
    let ends = [
        json!({"role": "system", "content": "You help in a warehouse."}),
        json!({"role": "assistant", "content": "It is hall nine."}),
        json!({"role": "user", "content": "Which hall is it today?"}),
    ];
    let mut list = vec![ends[0].clone()];
    for rule in INSTRUCTIONS {
        list.push(json!({"role": "user", "content": rule}));
        list.push(json!({"role": "assistant", "content": "Understood, I will keep to that."}));
    }
    list.extend(ends[1..].to_vec());
    let compacted = |list: &[Value], window, state| {
        let mut options = CompactOptions::new(window);
        options.pins = vec!["The door code is 4711.".to_owned()];
        Compaction::start(list.to_vec(), &options, state, &counter, seed)
            .and_then(Compaction::finish_without_model)
    };
    let mut alone = 0;
    let mut yielded = 0;
    for window in (64..=400).step_by(4) {
        let bare = Compaction::start(
            ends.to_vec(),
            &CompactOptions::new(window),
            None,
            &counter,
            seed,
        )
        .and_then(Compaction::finish_without_model);
        let out = compacted(&list, window, None);
        assert_eq!(out.is_ok(), bare.is_ok(), "window {window}: {out:?}");
        let Ok(out) = out else {
            alone = window;
            continue;
        };
        let text = shown(&out, &list);
        assert!(text.contains("Which hall is it today?"), "{window}: {text}");
        if out
            .report
            .codes
            .iter()
            .any(|code| code == "left_out_records")
        {
            yielded += 1;
            assert!(
                out.report
                    .adjustments
                    .iter()
                    .any(|a| a.starts_with("left "))
            );
        }
        // what made room in this call is there again in a larger window
        let again = compacted(&list, 4_096, Some(out.state)).unwrap();
        let text = shown(&again, &list);
        let missing: Vec<&&str> = INSTRUCTIONS
            .iter()
            .filter(|i| !text.contains(**i))
            .collect();
        assert!(missing.is_empty(), "{window}: {missing:?}");
    }
    assert!(alone < 100 && yielded > 0, "{alone}, {yielded}");
}

/// 16.5: forty rules that are all found in one run, and a limit far below the window's, do not refuse the list.
#[test]
fn many_rules_at_once_do_not_refuse_a_list() {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let seed = Seed {
        now: 0.0,
        secret: [7; 16],
    };
    let things = [
        "lamp", "river", "piano", "candle", "bridge", "sailor", "walnut", "pencil",
    ];
    let rule = |n: usize| {
        let (a, b) = (things[n % 8], things[n / 8]);
        format!(
            "From now on, never mention a {a} beside a {b} in any of your answers to me, whatever I ask."
        )
    };
    let mut list = Vec::new();
    for n in 0..40 {
        list.push(json!({"role": "user", "content": rule(n)}));
        list.push(json!({"role": "assistant", "content": "Understood, I will keep to that."}));
    }
    list.push(json!({"role": "user", "content": "Tell me a story."}));
    let mut options = CompactOptions::new(4_096);
    options.max_tokens = Some(900);
    let out = Compaction::start(list.clone(), &options, None, &counter, seed)
        .and_then(Compaction::finish_without_model)
        .unwrap();
    assert!(out.report.after.tokens <= 900);
    let text = shown(&out, &list);
    assert!(text.contains("Tell me a story."));
    assert!(out.report.codes.iter().any(|c| c == "left_out_records"));
    let kept = |rule: &String| out.report.demands.iter().any(|d| d.text == *rule);
    let missing: Vec<String> = (0..40)
        .map(rule)
        .filter(|rule| !kept(rule) && !text.contains(rule))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// P9: a newer instruction takes the place of an older one on the same matter, a withdrawal ends it; the older one is listed
/// as replaced. Instructions on other matters stay.
#[test]
fn newer_ones_replace_older_ones() {
    fn check(said: &[&str], holds: &[&str], replaced: &[&str]) {
        let records = records(said);
        let texts: Vec<&str> = records.pins.iter().map(|p| p.text.as_str()).collect();
        assert_eq!(texts, holds);
        let old: Vec<&str> = records.replaced.iter().map(|r| r.text.as_str()).collect();
        assert_eq!(old, replaced);
        assert!(
            records
                .replaced
                .iter()
                .all(|r| r.by == *said.last().unwrap())
        );
    }
    check(
        &["Always answer in English.", "From now on answer in German."],
        &["From now on answer in German."],
        &["Always answer in English."],
    );
    check(
        &["Never use emojis.", "You can use emojis again."],
        &["You can use emojis again."],
        &["Never use emojis."],
    );
    check(
        &["Never use emojis.", "Always answer in English."],
        &["Never use emojis.", "Always answer in English."],
        &[],
    );
    check(
        &[
            "Always answer in at most 3 sentences.",
            "From now on answer in at most 5 sentences.",
        ],
        &["From now on answer in at most 5 sentences."],
        &["Always answer in at most 3 sentences."],
    );
    // another number is no other value of a prohibition, nor of a rule for another thing
    let ports = [
        "Never open port 22 on the gateway.",
        "Never open port 80 on the gateway.",
    ];
    check(&ports, &ports, &[]);
    // reports with a prohibition in each follow each other
    check(
        &[
            "Parcel 12 weighs 3 kg and goes to gate 4, never to the neighbour.",
            "Parcel 13 weighs 5 kg and goes to gate 6, never to the neighbour.",
        ],
        &["Parcel 13 weighs 5 kg and goes to gate 6, never to the neighbour."],
        &["Parcel 12 weighs 3 kg and goes to gate 4, never to the neighbour."],
    );
    let pens = [
        "From now on, always use the red pen number 3 for titles.",
        "From now on, always use the blue pen number 7 for titles.",
    ];
    check(&pens, &pens, &[]);
}

/// P9: what was replaced and is said anew holds again.
#[test]
fn what_is_said_anew_holds_again() {
    let said = [
        "Always answer in English.",
        "From now on answer in German.",
        "Always answer in English.",
    ];
    let records = records(&said);
    assert_eq!(records.pins.len(), 1);
    assert_eq!(records.pins[0].text, said[0]);
    assert_eq!(records.replaced.len(), 1);
    assert_eq!(records.replaced[0].text, said[1]);
    let json = serde_json::to_string(&records).unwrap();
    assert_eq!(serde_json::from_str::<Records>(&json).unwrap(), records);
}
