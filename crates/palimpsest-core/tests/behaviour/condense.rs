//! The condensers on real tool output and on inputs made to hurt.
//!
//! Real tool output is that of a recorded coding session, and of a small one of our own.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use palimpsest_text::condense::{
    CondenseOptions, Condensed, ToolText, condense, condense_arguments,
};
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::transcripts::{Source, Transcript};

struct Call {
    tool: String,
    text: String,
    is_error: bool,
}

/// Tool results and arguments of a coding session.
fn coding_session(source: Source) -> (Vec<Call>, Vec<String>) {
    let text = source.read(Transcript::Coding);
    let (mut results, mut arguments) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let message = &line["message"];
        let parts = message["content"].as_array().cloned().unwrap_or_default();
        if message["role"] == "toolResult" {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            results.push(Call {
                tool: message["toolName"].as_str().unwrap_or_default().to_owned(),
                text: texts.collect(),
                is_error: message["isError"] == true,
            });
        }
        for part in parts.iter().filter(|part| part["type"] == "toolCall") {
            arguments.push(part["arguments"].to_string());
        }
    }
    (results, arguments)
}

fn run(tool: &str, text: &str, is_error: bool) -> Option<Condensed> {
    let result = ToolText {
        tool,
        text,
        is_error,
        window: 16_384,
    };
    condense(result, &CondenseOptions::default(), &Estimator::default())
}

/// T2, T3: on a real coding session every shortened result is smaller, errors that fit stay whole,
/// and nothing is shortened twice. Prints tokens by kind.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_results() {
    results(Source::Recorded, "file", 5);
}

/// T2, T3: the same on a small session of our own.
#[test]
fn our_own_results() {
    results(Source::Own, "log", 1);
}

/// `shrunk` is the kind of results that becomes a fifth, of which there are at least so many.
fn results(source: Source, shrunk: &str, least: u32) {
    let (results, _) = coding_session(source);
    let counter = Estimator::default();
    let mut totals: BTreeMap<&str, (u32, u32, u32)> = BTreeMap::new();
    for call in &results {
        let before = counter.count(&call.text);
        let found = run(&call.tool, &call.text, call.is_error);
        let (kind, after) = match &found {
            Some(short) => (short.kind.name(), counter.count(&short.text)),
            None => ("unchanged", before),
        };
        let total = totals.entry(kind).or_default();
        *total = (total.0 + 1, total.1 + before, total.2 + after);
        if let Some(short) = found {
            assert!(after < before, "{}", short.text);
            assert!(before >= 200, "{}", short.text);
            assert!(
                !call.is_error || before > 16_384 * 15 / 100,
                "{}",
                short.text
            );
            assert_eq!(run(&call.tool, &short.text, call.is_error), None);
        }
    }
    for (kind, (n, before, after)) in &totals {
        eprintln!("{kind}: {n} results, {before} -> {after} tokens");
    }
    let (n, before, after) = totals.get(shrunk).copied().unwrap_or_default();
    assert!(
        n >= least && after * 5 < before,
        "long ones shrink most: {totals:?}"
    );
}

/// T3: shrunk arguments are JSON with the same keys, and long ones shrink to a fraction.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_arguments() {
    arguments(Source::Recorded);
}

/// T3: the same on a small session of our own.
#[test]
fn our_own_arguments() {
    arguments(Source::Own);
}

fn arguments(source: Source) {
    let (_, arguments) = coding_session(source);
    let keys = |text: &str| -> Vec<String> {
        let value: serde_json::Map<String, Value> = serde_json::from_str(text).unwrap();
        value.keys().cloned().collect()
    };
    let (mut before, mut after) = (0, 0);
    for text in &arguments {
        let Some(short) = condense_arguments(text) else {
            continue;
        };
        assert_eq!(keys(&short), keys(text));
        assert_eq!(condense_arguments(&short), None);
        before += text.len();
        after += short.len();
    }
    eprintln!("arguments: {before} -> {after} bytes");
    assert!(after * 4 < before, "{before} -> {after}");
}

/// I10: texts made to be slow or to break: each ends, and what comes out is smaller. A condenser
/// that is quadratic in them takes minutes here instead of a second.
#[test]
fn inputs_made_to_hurt() {
    let repeat = |text: &str| text.repeat(200_000 / text.len());
    let hurting = [
        repeat("["),
        repeat("{\"a\":"),
        format!("{{{}}}", repeat("\"a\\")),
        repeat("<"),
        format!("<html><div><p>{}", repeat("<a \"")),
        format!("<html><div><p>{}", repeat("<script>")),
        format!("a,b,c\n1,2,3\n1,2,3\n1,2,3\n{}", repeat("\"\n")),
        repeat("--- a\n+++ b\n"),
        format!("--- a\n+++ b\n@@ -1 +1 @@\n{}", repeat("--- x\n")),
        repeat("    at f (a:1)\n"),
        repeat("10:00 ERROR x\n"),
        repeat("a/b.c:1:\n"),
        repeat("aB3\n"),
        repeat("aB3dE6gH9jK2mN5paB3dE6gH9jK2mN5paB3dE6gH9jK2mN5paB3dE6gH9jK2mN5p\n"),
        repeat("1. \n"),
        repeat("\u{0}\u{1}\u{FFFD}"),
        repeat("👩\u{200D}"),
    ];
    for text in &hurting {
        for tool in ["bash", "read_file", "web_search", "sql_query", "http_get"] {
            for is_error in [false, true] {
                if let Some(short) = run(tool, text, is_error) {
                    assert!(short.text.len() < text.len());
                }
            }
        }
    }
}
