//! Real transcripts, message by message, at three windows: never over the limit, never a split pair. Run with
//! `--nocapture` for the figures.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test stops at the first surprise and prints what it measured"
)]

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::transcripts::{Source, Transcript};

use palimpsest_core::context::{Context, Seed, Setup};
use palimpsest_core::message::{Message, Origin, Part, Role};
use palimpsest_core::pass::emergency;
use palimpsest_core::record::Records;
use palimpsest_core::run::{Run, RunOptions, Step};
use palimpsest_core::window::WindowMessage;
use palimpsest_tokens::Estimator;
use serde_json::Value;

const SEED: Seed = Seed {
    now: 5.0,
    secret: [3; 16],
};

type Said = (Role, Vec<Part>);

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|p| p["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

/// The coding session: one JSON object a line.
fn coding(source: Source) -> Vec<Said> {
    let mut out = Vec::new();
    for line in source.read(Transcript::Coding).lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        let message = &value["message"];
        let mut parts = Vec::new();
        let text = text_of(&message["content"]);
        let role = match message["role"].as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("toolResult") => {
                let part = Part::ToolResult {
                    call: message["toolCallId"].as_str().unwrap_or_default().into(),
                    name: message["toolName"].as_str().map(str::to_owned),
                    text,
                    error: message["isError"].as_bool().unwrap_or(false),
                };
                out.push((Role::Tool, vec![part]));
                continue;
            }
            _ => continue,
        };
        if !text.is_empty() {
            parts.push(Part::text(text));
        }
        for part in message["content"].as_array().into_iter().flatten() {
            if part["type"] == "toolCall" {
                parts.push(Part::ToolCall {
                    id: part["id"].as_str().unwrap_or_default().into(),
                    name: part["name"].as_str().unwrap_or_default().into(),
                    arguments: part["arguments"].to_string(),
                });
            }
        }
        out.push((role, parts));
    }
    out
}

/// Messages as `OpenAI` writes them.
fn openai(list: &Value) -> Vec<Said> {
    let mut out = Vec::new();
    for message in list.as_array().into_iter().flatten() {
        let text = text_of(&message["content"]);
        match message["role"].as_str() {
            Some("user") => out.push((Role::User, vec![Part::text(text)])),
            Some("tool") => {
                let call = message["tool_call_id"]
                    .as_str()
                    .or_else(|| message["tool_call_ids"][0].as_str());
                let part = Part::ToolResult {
                    call: call.unwrap_or_default().into(),
                    name: None,
                    text,
                    error: false,
                };
                out.push((Role::Tool, vec![part]));
            }
            Some("assistant") => {
                let mut parts = Vec::new();
                if !text.is_empty() {
                    parts.push(Part::text(text));
                }
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    parts.push(Part::ToolCall {
                        id: call["id"].as_str().unwrap_or_default().into(),
                        name: call["function"]["name"].as_str().unwrap_or_default().into(),
                        arguments: call["function"]["arguments"].to_string(),
                    });
                }
                out.push((Role::Assistant, parts));
            }
            _ => {}
        }
    }
    out
}

fn check_pairs(context: &Context, at: usize) {
    let window = context.window();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    let mut last = Role::System;
    for message in window.messages() {
        if message.role() != Role::Tool {
            assert!(open.values().all(|n| *n == 0), "a split pair at {at}");
            assert!(
                message.role() != Role::User || last != Role::User,
                "two user messages in a row at {at}"
            );
        }
        last = message.role();
        for part in message.parts() {
            match part {
                Part::ToolCall { id, .. } => *open.entry(id).or_default() += 1,
                Part::ToolResult { call, .. } => {
                    let n = open
                        .get_mut(call.as_str())
                        .unwrap_or_else(|| panic!("an orphan at {at}"));
                    *n = n
                        .checked_sub(1)
                        .unwrap_or_else(|| panic!("a second result at {at}"));
                }
                _ => {}
            }
        }
    }
    assert!(open.values().all(|n| *n == 0), "a split pair at {at}");
}

#[derive(Default)]
struct Figures {
    messages: u32,
    refused: u32,
    compactions: u32,
    emergencies: u32,
    fullest: u32,
    layers: u32,
    layer_tokens: u32,
    retention: f64,
}

fn compact(context: &mut Context, figures: &mut Figures) {
    let mut run = Run::new(context, RunOptions::default(), SEED);
    if let Step::Done(proposal) = run.step() {
        if let Some(records) = proposal.records {
            context.set_records(records);
        }
        context.set_view(proposal.view);
        figures.compactions += 1;
        figures.retention += f64::from(proposal.report.retention);
    }
}

fn replay(said: &[Said], window: u32) -> Figures {
    let mut context = Context::new(
        Setup::balanced(window).unwrap(),
        Records::with_system("You are a careful assistant."),
        Rc::new(Estimator::default()),
    );
    let mut figures = Figures::default();
    let mut seq = 0;
    for (at, (role, parts)) in said.iter().enumerate() {
        let tokens = context.tokens_of(*role, parts);
        if *role == Role::User && context.check_message(tokens).is_err() {
            figures.refused += 1;
            continue;
        }
        context.push(Rc::new(Message {
            seq,
            parent: None,
            role: *role,
            origin: Origin::Host,
            parts: parts.clone(),
            at: 0.0,
            ended: None,
        }));
        seq += 1;
        figures.messages += 1;
        if context.is_due() {
            compact(&mut context, &mut figures);
        }
        let limit = context.setup().shares.limit;
        if context.tokens() > limit {
            emergency::shrink(&mut context, limit, 9.0)
                .unwrap_or_else(|why| panic!("message {at} at {window}: {why:?}"));
            figures.emergencies += 1;
        }
        assert!(context.tokens() <= limit, "over the limit at {at}");
        figures.fullest = figures.fullest.max(context.tokens() * 100 / limit);
        check_pairs(&context, at);
        assert_eq!(context.window().tokens(), context.tokens());
    }
    figures.layers = context.view().layers.len() as u32;
    figures.layer_tokens = context.view().layers.iter().map(|l| l.tokens).sum();
    let covered = context.window();
    let parts = covered.messages().iter().flat_map(WindowMessage::parts);
    assert!(parts.count() > 0);
    figures
}

/// I3, B4, C5: real coding, bug-fixing and service conversations replayed message by message at 4,096, 8,192 and 16,384
/// tokens: the window is never over its limit and never splits a call from its result.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_transcripts_stay_within_the_limit() {
    let fix: Value = serde_json::from_str(&Source::Recorded.file("swe-agent.traj")).unwrap();
    let mut transcripts = transcripts(Source::Recorded);
    transcripts.push(("bug fixing".into(), openai(&fix["history"])));
    stay_within_the_limit(&transcripts, &[4_096, 8_192, 16_384]);
}

/// I3, B4, C5: the same for small transcripts of our own, in a smaller window, too.
#[test]
fn our_own_transcripts_stay_within_the_limit() {
    stay_within_the_limit(&transcripts(Source::Own), &[2_048, 4_096, 8_192, 16_384]);
}

fn transcripts(source: Source) -> Vec<(String, Vec<Said>)> {
    let talks: Value = serde_json::from_str(&source.read(Transcript::Service)).unwrap();
    let talks = talks.as_array().into_iter().flatten().take(25);
    vec![
        ("coding session".into(), coding(source)),
        (
            "talks with a desk in one".into(),
            talks.flat_map(|talk| openai(&talk["traj"])).collect(),
        ),
    ]
}

fn stay_within_the_limit(transcripts: &[(String, Vec<Said>)], windows: &[u32]) {
    println!(
        "\n{:26}{:>7}{:>9}{:>9}{:>12}{:>12}{:>9}{:>8}{:>14}{:>11}",
        "",
        "window",
        "messages",
        "refused",
        "compactions",
        "emergencies",
        "fullest",
        "layers",
        "tokens/layer",
        "retention"
    );
    for (name, said) in transcripts {
        assert!(!said.is_empty(), "{name}");
        for &window in windows {
            let f = replay(said, window);
            println!(
                "{name:26}{window:>7}{:>9}{:>9}{:>12}{:>12}{:>8}%{:>8}{:>14}{:>11.2}",
                f.messages,
                f.refused,
                f.compactions,
                f.emergencies,
                f.fullest,
                f.layers,
                f.layer_tokens / f.layers.max(1),
                f.retention / f64::from(f.compactions.max(1))
            );
        }
    }
}
