//! Reasoning that is sent is counted, and what comes back fits with it.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, CompactOutput, Compaction};
use palimpsest_core::context::Seed;
use palimpsest_core::dialect::{Dialect, Rendered, count};
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

fn tokens(list: &[Value], dialect: Dialect) -> u32 {
    count(list, Some(dialect), &Estimator::default())
        .unwrap()
        .tokens
}

fn words(n: usize) -> String {
    format!("The parcel {n} weighs more than its label says, so that it has to be weighed again. ")
        .repeat(4)
}

/// An assistant's message with reasoning, and the same without.
fn pair(dialect: Dialect, field: &str, why: &str) -> (Value, Value) {
    match dialect {
        Dialect::OpenAi | Dialect::Ollama => {
            let reasoning = match field {
                "reasoning_details" => json!([{"type": "reasoning.text", "text": why}]),
                _ => json!(why),
            };
            let plain = json!({"role": "assistant", "content": "Yes."});
            let mut thought = plain.clone();
            thought[field] = reasoning;
            (thought, plain)
        }
        Dialect::Anthropic => (
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": why, "signature": "c2ln"}, {"type": "text", "text": "Yes."}]}),
            json!({"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}),
        ),
        Dialect::AiSdkModel => (
            json!({"role": "assistant", "content": [{"type": "reasoning", "text": why}, {"type": "text", "text": "Yes."}]}),
            json!({"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}),
        ),
        Dialect::AiSdkUi => (
            json!({"id": "a", "role": "assistant", "parts": [{"type": "reasoning", "text": why}, {"type": "text", "text": "Yes."}]}),
            json!({"id": "a", "role": "assistant", "parts": [{"type": "text", "text": "Yes."}]}),
        ),
        Dialect::Gemini => (
            json!({"role": "model", "parts": [{"text": why, "thought": true}, {"text": "Yes."}]}),
            json!({"role": "model", "parts": [{"text": "Yes."}]}),
        ),
        Dialect::Bedrock => (
            json!({"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": why, "signature": "c2ln"}}}, {"text": "Yes."}]}),
            json!({"role": "assistant", "content": [{"text": "Yes."}]}),
        ),
        Dialect::Responses => panic!("reasoning is an item of its own there"),
    }
}

fn user(dialect: Dialect, text: &str) -> Value {
    match dialect {
        Dialect::AiSdkUi => {
            json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": text}]})
        }
        Dialect::Gemini => json!({"role": "user", "parts": [{"text": text}]}),
        Dialect::Bedrock => json!({"role": "user", "content": [{"text": text}]}),
        _ => json!({"role": "user", "content": text}),
    }
}

/// B7: reasoning counts what its words count, in every dialect and field; what a provider drops itself counts nothing.
#[test]
fn reasoning_that_is_sent_counts() {
    let why = words(3);
    let own = Estimator::default().count(&why);
    for (dialect, field) in [
        (Dialect::OpenAi, "reasoning_content"),
        (Dialect::OpenAi, "reasoning"),
        (Dialect::OpenAi, "reasoning_details"),
        (Dialect::Ollama, "thinking"),
        (Dialect::Anthropic, "thinking"),
        (Dialect::AiSdkModel, "reasoning"),
        (Dialect::AiSdkUi, "reasoning"),
        (Dialect::Gemini, "thought"),
        (Dialect::Bedrock, "reasoningContent"),
    ] {
        let (thought, plain) = pair(dialect, field, &why);
        let ask = user(dialect, "Really?");
        let more = |message: &Value, rest: &[Value]| {
            let mut list = vec![ask.clone(), message.clone()];
            list.extend_from_slice(rest);
            tokens(&list, dialect)
        };
        let name = format!("{} {field}", dialect.name());
        let added = more(&thought, &[]) - more(&plain, &[]);
        assert!((own..own + 8).contains(&added), "{name}: {added} of {own}");
        let rest = [ask.clone()];
        let later = more(&thought, &rest) - more(&plain, &rest);
        let expected = if dialect == Dialect::Anthropic {
            0
        } else {
            added
        };
        assert_eq!(later, expected, "{name}, in an earlier turn");
    }
}

/// B7: the same words in two fields are one reasoning; encrypted reasoning counts a quarter of its bytes.
#[test]
fn reasoning_counts_once_and_encrypted_by_its_size() {
    let ask = user(Dialect::OpenAi, "Really?");
    let plain = json!({"role": "assistant", "content": "Yes."});
    let with = |fields: Value| {
        let mut message = plain.clone();
        for (name, value) in fields.as_object().unwrap() {
            message[name] = value.clone();
        }
        tokens(&[ask.clone(), message], Dialect::OpenAi)
    };
    let why = words(1);
    let once = with(json!({"reasoning": why}));
    let details = json!([{"type": "reasoning.text", "text": why, "signature": "c2ln"}]);
    assert_eq!(
        once,
        with(json!({"reasoning": why, "reasoning_details": details}))
    );
    assert_eq!(
        once,
        with(json!({"reasoning": why, "reasoning_content": why}))
    );
    let hidden = json!([{"type": "reasoning.encrypted", "data": "A".repeat(4_000)}]);
    let more = with(json!({"reasoning_details": hidden})) - with(json!({}));
    assert!((1_000..1_010).contains(&more), "{more}");
    let redacted = json!({"role": "assistant", "content": [{"type": "redacted_thinking", "data": "A".repeat(4_000)}]});
    assert!(tokens(&[ask.clone(), redacted], Dialect::Anthropic) > 1_000);
    // an item of its own counts with the item after it
    let said = json!({"role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]});
    let items = |item: Value| {
        let with = tokens(&[ask.clone(), item, said.clone()], Dialect::Responses);
        with - tokens(&[ask.clone(), said.clone()], Dialect::Responses)
    };
    let read =
        items(json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": why}]}));
    assert_eq!(read, once - with(json!({})));
    let hidden =
        items(json!({"type": "reasoning", "summary": [], "encrypted_content": "A".repeat(4_000)}));
    assert!((1_000..1_010).contains(&hidden), "{hidden}");
}

fn compact(list: &[Value], dialect: Dialect, window: u32) -> CompactOutput {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let options = CompactOptions {
        dialect: Some(dialect),
        ..CompactOptions::new(window)
    };
    let seed = Seed {
        now: 0.0,
        secret: [0; 16],
    };
    Compaction::start(list.to_vec(), &options, None, &counter, seed)
        .unwrap()
        .finish_without_model()
        .unwrap()
}

fn fill(out: &CompactOutput, raw: &[Value]) -> Vec<Value> {
    let own = |message: &Rendered| match message {
        Rendered::Kept(i) => raw[*i].clone(),
        Rendered::Made(value) => value.clone(),
    };
    out.messages.iter().map(own).collect()
}

/// B1: a list that is too long only with the reasoning of its finished turns loses that, and no word of what was said.
#[test]
fn reasoning_of_finished_turns_goes_first() {
    for (dialect, field) in [
        (Dialect::OpenAi, "reasoning_content"),
        (Dialect::OpenAi, "reasoning_details"),
        (Dialect::Ollama, "thinking"),
        (Dialect::AiSdkModel, "reasoning"),
        (Dialect::AiSdkUi, "reasoning"),
    ] {
        let mut list = Vec::new();
        for n in 0..20 {
            list.push(user(dialect, &format!("Is parcel {n} heavy?")));
            list.push(pair(dialect, field, &words(n).repeat(2)).0);
        }
        list.push(user(dialect, "And now?"));
        let name = format!("{} {field}", dialect.name());
        assert!(tokens(&list, dialect) > 2_048, "{name}");
        let out = compact(&list, dialect, 2_048);
        let short = fill(&out, &list);
        assert!(out.report.changed, "{name}");
        assert_eq!(out.report.layers, 0, "{name}");
        assert_eq!(short.len(), list.len(), "{name}");
        assert!(
            !Value::Array(short.clone()).to_string().contains("weighs"),
            "{name}"
        );
        assert_eq!(short.last(), list.last(), "{name}");
        assert!(tokens(&short, dialect) <= out.report.limit, "{name}");
        let told = "left out the reasoning of finished turns";
        assert!(out.report.adjustments.iter().any(|a| a == told), "{name}");
    }
}

/// B1, I3: in a loop of tool calls that still runs, reasoning is counted, and what stands of it stands as it was, with its
/// signature, before the same call.
#[test]
fn a_running_loop_keeps_its_signatures() {
    let mut list = vec![user(Dialect::Anthropic, "Weigh all parcels again.")];
    for n in 0..40 {
        list.push(json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": words(n), "signature": format!("c2ln{n}")},
            {"type": "tool_use", "id": format!("c{n}"), "name": "weigh", "input": {"parcel": n}},
        ]}));
        list.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("c{n}"), "content": format!("parcel {n}: {n} kg. ").repeat(20)}]}));
    }
    for window in [2_048, 4_096, 8_192] {
        let out = compact(&list, Dialect::Anthropic, window);
        let short = fill(&out, &list);
        let limit = out.report.limit;
        assert!(out.report.after.tokens <= limit);
        assert!(tokens(&short, Dialect::Anthropic) <= limit, "{window}");
        let mut thoughts = 0;
        for message in &short {
            let Some(blocks) = message["content"].as_array() else {
                continue;
            };
            for (at, block) in blocks.iter().enumerate() {
                if block["type"] == "thinking" {
                    thoughts += 1;
                    let own = list.iter().find(|m| m["content"][0] == *block).unwrap();
                    assert_eq!(blocks[at + 1]["id"], own["content"][1]["id"]);
                }
            }
        }
        assert!(thoughts > 0, "{window}");
        let newest = &list[list.len() - 2];
        assert!(short.contains(newest), "{window}");
    }
}
