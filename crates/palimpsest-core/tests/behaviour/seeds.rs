//! The tables of seeds 3 and 4 (edge cases, error handling, boundaries), one row one test, and the faults that
//! were found in the seeds' own code.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::rc::Rc;

use palimpsest_core::budget::{Due, Occasion};
use palimpsest_core::compact::{CompactOptions, Compaction};
use palimpsest_core::context::{Context, Seed, Setup};
use palimpsest_core::dialect::Rendered;
use palimpsest_core::message::{Message, Part, Role};
use palimpsest_core::pass::offload;
use palimpsest_core::policy::{Policy, presets};
use palimpsest_core::run::{Refusal, Run, RunOptions, RunReport, Step, SuppliedSummary};
use palimpsest_core::shares::ShareOptions;
use palimpsest_core::watermark::{self, MarkReason, Settled};
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

use super::scene::{context, push, say};

const SEED: Seed = Seed {
    now: 1.0,
    secret: [7; 16],
};
const DEACTIVATE: &str = "deactivate_skills";

/// An assistant message with text and a call, and its result. Returns the number of the call's message.
fn tool(context: &mut Context, name: &str, id: &str, result: &str, error: bool) -> u32 {
    let call = Part::ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: "{}".into(),
    };
    let parts = vec![Part::text(format!("I call {name}.")), call];
    let at = push(context, Role::Assistant, parts);
    let result = Part::ToolResult {
        call: id.into(),
        name: None,
        text: result.into(),
        error,
    };
    push(context, Role::Tool, vec![result]);
    at
}

fn ask(context: &mut Context, tool: &str) {
    let mut view = context.view().clone();
    let tip = context.entries().last().map(|e| e.message.seq);
    watermark::ask(&mut view, tool, MarkReason::Deactivated, tip);
    context.set_view(view);
}

/// The next build.
fn build(context: &mut Context) -> Result<RunReport, Refusal> {
    let options = RunOptions::default();
    drive(context, options, &mut |job| {
        SuppliedSummary::Text(job.extractive(&Estimator::default()))
    })
}

fn drive(
    context: &mut Context,
    options: RunOptions,
    answer: &mut dyn FnMut(&palimpsest_core::run::SummaryJob) -> SuppliedSummary,
) -> Result<RunReport, Refusal> {
    let mut run = Run::new(context, options, SEED);
    loop {
        match run.step() {
            Step::Need(job) => run.supply(job.id, answer(&job)).unwrap(),
            Step::Done(p) => {
                if let Some(records) = p.records {
                    context.set_records(records);
                }
                context.set_view(p.view);
                return Ok(p.report);
            }
            Step::Refused(refusal) => return Err(refusal),
        }
    }
}

/// What is shown, a line a message: role and words.
fn shown(context: &Context) -> Vec<String> {
    let line = |m: &palimpsest_core::window::WindowMessage| {
        let words: Vec<&str> = m.parts().iter().map(Part::words).collect();
        format!("{:?}: {}", m.role(), words.join(" | "))
    };
    context.window().messages().iter().map(line).collect()
}

// ---- Seed 3: the flow of its example

/// W1, W2, W3: the seed's own example, message by message: tool blocks before the call go, the call and what
/// follows stay as they are.
#[test]
fn seed_3_the_example() {
    let mut c = context(32_768, presets::watermark());
    say(&mut c, Role::User, "Explore.");
    tool(&mut c, "grep", "t1", "many hits", false);
    say(
        &mut c,
        Role::User,
        "Can you deactivate refactoring/* skills?",
    );
    let mark = tool(
        &mut c,
        DEACTIVATE,
        "toolu_abc123xyz",
        "{\"unloaded\":[]}",
        false,
    );
    ask(&mut c, DEACTIVATE);
    say(&mut c, Role::Assistant, "Deactivated 3 skills.");
    say(&mut c, Role::User, "Now help me with feature X");
    assert_eq!(c.due(&Occasion::default()), Some(Due::Watermark));
    build(&mut c).unwrap();
    assert_eq!(c.view().watermark, Some(mark));
    assert_eq!(c.view().pending, None);
    assert_eq!(
        shown(&c),
        [
            "User: Explore.",
            "Assistant: I call grep.",
            "User: Can you deactivate refactoring/* skills?",
            "Assistant: I call deactivate_skills. | {}",
            "Tool: {\"unloaded\":[]}",
            "Assistant: Deactivated 3 skills.",
            "User: Now help me with feature X",
        ]
    );
    assert_eq!(c.due(&Occasion::default()), None, "once");
}

/// W3: a message of nothing but tool blocks is not shown any more; user messages that come to stand side by side
/// become one (I3).
#[test]
fn seed_3_emptied_messages_go() {
    let mut c = context(32_768, presets::watermark());
    say(&mut c, Role::User, "one");
    let call = Part::ToolCall {
        id: "a".into(),
        name: "ls".into(),
        arguments: "{}".into(),
    };
    push(
        &mut c,
        Role::Assistant,
        vec![Part::Thinking { text: "hm".into() }, call],
    );
    let result = Part::ToolResult {
        call: "a".into(),
        name: None,
        text: "x".into(),
        error: false,
    };
    push(&mut c, Role::Tool, vec![result]);
    say(&mut c, Role::User, "two");
    say(&mut c, Role::Assistant, "done");
    let mut view = c.view().clone();
    watermark::mark_end(&mut view, Some(4));
    c.set_view(view);
    build(&mut c).unwrap();
    assert_eq!(shown(&c), ["User: one | two", "Assistant: done"]);
}

// ---- Seed 3: edge cases and robustness

/// W3: edge case 1, watermark not found: nothing is stripped, and it is said.
#[test]
fn seed_3_watermark_not_found() {
    let mut c = context(32_768, presets::watermark());
    say(&mut c, Role::User, "hi");
    tool(&mut c, "grep", "t1", "hits", false);
    say(&mut c, Role::User, "go on");
    let mut view = c.view().clone();
    view.watermark = Some(99);
    c.set_view(view);
    let before = c.window();
    assert!(watermark::is_lost(&c));
    assert_eq!(watermark::boundary(&c), None);
    assert_eq!(c.due(&Occasion::default()), None);
    assert_eq!(build(&mut c), Err(Refusal::NothingToCompress));
    assert_eq!(c.window(), before);
}

/// W2: edge case 2, checkpoint tool not found: the old boundary stays; the mark waits to the end of the next turn,
/// then is dropped with a warning.
#[test]
fn seed_3_checkpoint_tool_not_found() {
    let mut c = context(32_768, presets::watermark());
    say(&mut c, Role::User, "one");
    ask(&mut c, DEACTIVATE);
    let settle = |c: &Context| watermark::settle(c, &mut c.view().clone());
    say(&mut c, Role::Assistant, "answer");
    say(&mut c, Role::User, "two");
    say(&mut c, Role::Assistant, "answer");
    assert_eq!(settle(&c), Settled::Same, "the next turn is not over");
    assert!(c.view().pending.is_some());
    say(&mut c, Role::User, "three");
    assert_eq!(
        settle(&c),
        Settled::Dropped {
            tool: DEACTIVATE.into()
        }
    );
    let report = build(&mut c).unwrap();
    assert_eq!(
        report.adjustments,
        ["the mark asked for by `deactivate_skills` was dropped: no such call came"]
    );
    assert_eq!((c.view().pending.clone(), c.view().watermark), (None, None));
}

/// W2: a call that comes late still settles the mark that waits for it.
#[test]
fn seed_3_a_late_call_settles() {
    let mut c = context(32_768, presets::watermark());
    say(&mut c, Role::User, "one");
    ask(&mut c, DEACTIVATE);
    say(&mut c, Role::Assistant, "answer");
    say(&mut c, Role::User, "two");
    let at = tool(&mut c, DEACTIVATE, "d", "ok", false);
    build(&mut c).unwrap();
    assert_eq!(c.view().watermark, Some(at));
}

/// W2: edge case 3, several deactivations, and fault 3 of the seed's code, which found the same call again: the
/// watermark goes on to the newest.
#[test]
fn seed_3_the_watermark_advances() {
    let mut c = context(32_768, presets::watermark());
    say(&mut c, Role::User, "one");
    let first = tool(&mut c, DEACTIVATE, "toolu_111", "ok", false);
    ask(&mut c, DEACTIVATE);
    say(&mut c, Role::User, "two");
    build(&mut c).unwrap();
    assert_eq!(c.view().watermark, Some(first));
    tool(&mut c, "grep", "g", "hits", false);
    let second = tool(&mut c, DEACTIVATE, "toolu_222", "ok", false);
    ask(&mut c, DEACTIVATE);
    say(&mut c, Role::User, "three");
    build(&mut c).unwrap();
    assert_eq!(c.view().watermark, Some(second), "not the same call again");
    // two in one turn: the newest of them
    let third = tool(&mut c, DEACTIVATE, "toolu_333", "ok", false);
    ask(&mut c, DEACTIVATE);
    let fourth = tool(&mut c, DEACTIVATE, "toolu_444", "ok", false);
    ask(&mut c, DEACTIVATE);
    say(&mut c, Role::User, "four");
    build(&mut c).unwrap();
    assert!(third < fourth);
    assert_eq!(c.view().watermark, Some(fourth));
}

/// W2: edge case 4, no watermark yet: the search begins at the start of the conversation.
#[test]
fn seed_3_empty_watermark() {
    let mut c = context(32_768, presets::watermark());
    let at = tool(&mut c, DEACTIVATE, "d", "ok", false);
    say(&mut c, Role::User, "next");
    ask(&mut c, DEACTIVATE);
    let mut view = c.view().clone();
    assert_eq!(
        watermark::settle(&c, &mut view),
        Settled::Moved {
            to: at,
            reason: MarkReason::Deactivated
        }
    );
}

/// W2: a deactivation that is no tool call marks the present end of the history; the newest exchange stays whole
/// until another one follows (B10).
#[test]
fn seed_3_marks_without_a_call() {
    let mut c = context(32_768, presets::watermark());
    say(&mut c, Role::User, "one");
    tool(&mut c, "grep", "g1", "hits", false);
    tool(&mut c, "grep", "g2", "hits", false);
    let mut view = c.view().clone();
    watermark::mark_end(&mut view, Some(4));
    c.set_view(view);
    build(&mut c).unwrap();
    let text = shown(&c).join("\n");
    assert_eq!(text.matches("hits").count(), 1, "{text}");
    say(&mut c, Role::User, "two");
    say(&mut c, Role::Assistant, "fine");
    build(&mut c).unwrap();
    assert!(!shown(&c).join("\n").contains("hits"));
}

/// W3: fault 3 of the seed's code, which fails on content that is a string: strings and blocks are both read, in the
/// list a caller gives.
#[test]
fn seed_3_string_and_block_content() {
    let list = vec![
        json!({"role": "user", "content": "look"}),
        json!({"role": "assistant", "content": [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "t1", "name": "grep", "input": {}}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "many hits"}]}),
        json!({"role": "assistant", "content": "Found it."}),
        json!({"role": "user", "content": "Now something else"}),
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t2", "name": "mcp__nisaba__deactivate_augments", "input": {}}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "ok"}]}),
        json!({"role": "assistant", "content": "Done."}),
        json!({"role": "user", "content": "Go"}),
    ];
    let options = CompactOptions {
        policy: presets::watermark(),
        ..CompactOptions::new(32_768)
    };
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let output = Compaction::start(list.clone(), &options, None, &counter, SEED)
        .unwrap()
        .finish_without_model()
        .unwrap();
    let values: Vec<Value> = output
        .messages
        .into_iter()
        .map(|m| match m {
            Rendered::Kept(i) => list[i].clone(),
            Rendered::Made(value) => value,
        })
        .collect();
    let text = serde_json::to_string(&values).unwrap();
    assert!(
        !text.contains("many hits") && !text.contains("\"t1\""),
        "{text}"
    );
    assert!(text.contains("I look.") && text.contains("Found it.") && text.contains("\"t2\""));
    // given back with its state it comes out the same
    let again = Compaction::start(list, &options, Some(output.state), &counter, SEED)
        .unwrap()
        .finish_without_model()
        .unwrap();
    assert!(again.report.after.tokens < again.report.before.tokens);
}

/// W4: keep N messages before the mark, keep errors, keep the results that say the most, keep anchors.
#[test]
fn seed_3_what_may_stay() {
    let check = |strip: Value, anchor: Option<u32>, expected: &[&str]| {
        let policy = json!({"base": "watermark", "passes": [strip, {"pass": "emergency"}]});
        let mut c = context(32_768, Policy::from_value(&policy).unwrap());
        say(&mut c, Role::User, "one");
        tool(&mut c, "grep", "a", "plain", false); // 1, 2
        tool(&mut c, "grep", "b", "failed", true); // 3, 4
        tool(
            &mut c,
            "grep",
            "c",
            "rich: src/a.rs:12 took 35 ms on 2024-05-06",
            false,
        ); // 5, 6
        tool(&mut c, "grep", "d", "late", false); // 7, 8
        let mark = tool(&mut c, DEACTIVATE, "m", "ok", false);
        say(&mut c, Role::User, "two");
        let mut view = c.view().clone();
        view.watermark = Some(mark);
        if let Some(seq) = anchor {
            watermark::anchor(&mut view, seq);
        }
        c.set_view(view);
        build(&mut c).unwrap();
        let text = shown(&c).join("\n");
        for word in ["plain", "failed", "rich", "late"] {
            assert_eq!(
                text.contains(word),
                expected.contains(&word),
                "{strip} {anchor:?}: {text}"
            );
        }
        assert!(text.contains("Tool: ok"));
        assert_eq!(
            c.due(&Occasion::default()),
            None,
            "what stays is not due again: {strip}"
        );
    };
    check(json!({"pass": "strip"}), None, &[]);
    check(json!({"pass": "strip", "keep": 2}), None, &["late"]);
    // a boundary inside a pair keeps the pair
    check(json!({"pass": "strip", "keep": 1}), None, &["late"]);
    check(
        json!({"pass": "strip", "keep_errors": true}),
        None,
        &["failed"],
    );
    check(json!({"pass": "strip", "keep_best": 1}), None, &["rich"]);
    check(json!({"pass": "strip"}), Some(2), &["plain"]);
    check(json!({"pass": "strip"}), Some(1), &["plain"]);
}

/// W4: marks at length thresholds and where a task begins.
#[test]
fn seed_3_marks_by_themselves() {
    let talk = |marks: Value| {
        let policy = json!({"base": "watermark", "marks": marks});
        let mut c = context(32_768, Policy::from_value(&policy).unwrap());
        say(
            &mut c,
            Role::User,
            "Please explore the invoice export for currency mistakes.",
        );
        tool(&mut c, "grep", "a", &"currency ".repeat(200), false);
        say(
            &mut c,
            Role::Assistant,
            "The export multiplies currency amounts twice.",
        );
        let new = say(
            &mut c,
            Role::User,
            "Write release notes about dark themes, keyboard shortcuts, faster startup.",
        );
        (c, new)
    };
    let settled = |c: &Context| watermark::settle(c, &mut c.view().clone());
    let (c, _) = talk(json!({}));
    assert_eq!(settled(&c), Settled::Same);
    let (c, new) = talk(json!({"atTasks": true}));
    let begun = Settled::Moved {
        to: new,
        reason: MarkReason::Task,
    };
    assert_eq!(settled(&c), begun);
    let (mut c, new) = talk(json!({"everyTokens": 150}));
    let length = Settled::Moved {
        to: new,
        reason: MarkReason::Length,
    };
    assert_eq!(settled(&c), length);
    build(&mut c).unwrap();
    assert_eq!(
        settled(&c),
        Settled::Same,
        "not again before so much was said"
    );
    let (c, _) = talk(json!({"everyTokens": 5_000}));
    assert_eq!(settled(&c), Settled::Same);
}

/// W4: the budget report says where the watermark is, what it waits for, what stays before it and when marks are set.
#[test]
fn seed_3_marks_in_the_report() {
    let mut c = context(32_768, presets::watermark());
    let first = c.budget().watermark.unwrap();
    assert_eq!(
        (first.boundary, first.lost, first.anchors),
        (None, false, 0)
    );
    assert_eq!(first.stays.map(|s| s.keep_errors), Some(false));
    for n in 0..4 {
        tool(&mut c, "read", &format!("c{n}"), "fine", false);
    }
    let mut view = c.view().clone();
    watermark::ask(
        &mut view,
        "compress_to_checkpoint",
        MarkReason::Asked,
        Some(3),
    );
    watermark::anchor(&mut view, 2);
    view.watermark = Some(4);
    c.set_view(view);
    let report = c.budget().watermark.unwrap();
    assert_eq!((report.boundary, report.anchors), (Some(4), 1));
    assert_eq!(report.waits_for.as_deref(), Some("compress_to_checkpoint"));
    let mut view = c.view().clone();
    view.watermark = Some(900);
    c.set_view(view);
    assert!(c.budget().watermark.unwrap().lost);
    let plain = context(32_768, presets::checkpoints());
    assert_eq!(plain.budget().watermark, None, "nothing to speak of");
    let policy = Policy::from_text(
        r#"{"base":"balanced","name":"mine","marks":{"everyTokens":500,"atTasks":true}}"#,
    )
    .unwrap();
    let setup = Setup::new(8_192, ShareOptions::default(), policy, 0).unwrap();
    let mut c = context(8_192, presets::balanced());
    c.set_setup(setup);
    let marks = c.budget().watermark.unwrap().marks;
    assert_eq!((marks.every_tokens, marks.at_tasks), (500, true));
}

/// W5: a hundred messages, tool blocks in half of them: the savings the seed describes, text untouched.
#[test]
fn seed_3_savings() {
    let mut c = context(131_072, presets::watermark());
    for n in 0..25 {
        say(
            &mut c,
            Role::User,
            &format!("Question {n}? {}", "word ".repeat(120)),
        );
        tool(
            &mut c,
            "grep",
            &format!("t{n}"),
            &"result ".repeat(120),
            false,
        );
        say(
            &mut c,
            Role::Assistant,
            &format!("Answer {n}. {}", "word ".repeat(120)),
        );
    }
    let before = c.tokens();
    let mut view = c.view().clone();
    view.watermark = Some(80);
    c.set_view(view);
    let report = build(&mut c).unwrap();
    let saved = (before - report.after) * 100 / before;
    assert!((20..60).contains(&saved), "{saved} %");
    let text = shown(&c).join("\n");
    assert!((0..25).all(
        |n| text.contains(&format!("Question {n}?")) && text.contains(&format!("Answer {n}."))
    ));
    // a run of 120 words holds 60 pairs of them
    assert_eq!(
        text.matches("result result").count(),
        text.matches("Tool: ").count() * 60,
        "whole or gone"
    );
}

// ---- Seed 4: error handling

fn coding(exchanges: usize, window: u32) -> Context {
    let mut c = context(window, presets::offload_compact());
    for n in 0..exchanges {
        say(&mut c, Role::User, &format!("Please do step {n}."));
        let text: String = (0..60).fold(String::new(), |t, i| {
            t + &format!("line {i} of step {n} in src/part_{n}.rs says value_{i}\n")
        });
        tool(&mut c, "bash", &format!("c{n}"), &text, false);
        say(
            &mut c,
            Role::Assistant,
            &format!("Step {n} is done: src/part_{n}.rs has the limit {n} ms."),
        );
    }
    c
}

/// Nothing to offload: only a summary helps.
fn talk(window: u32) -> Context {
    let mut c = context(window, presets::offload_compact());
    while !c.is_due() {
        let n = c.entries().len();
        say(
            &mut c,
            Role::User,
            &format!("Question {n}: {}", "word ".repeat(100)),
        );
        say(
            &mut c,
            Role::Assistant,
            &format!("Answer {n}: {}", "word ".repeat(100)),
        );
    }
    c
}

fn with_model() -> RunOptions {
    RunOptions {
        model: Some("m".into()),
        ..RunOptions::default()
    }
}

/// O3: error row 1, the model fails after every attempt: failure, the state unchanged.
#[test]
fn seed_4_model_exhausted() {
    let mut c = talk(16_384);
    let before = (c.view().clone(), c.window());
    let result = drive(&mut c, with_model(), &mut |_| {
        SuppliedSummary::Failed("unreachable".into())
    });
    assert_eq!(result, Err(Refusal::ModelFailed));
    assert_eq!((c.view().clone(), c.window()), before);
}

/// O3, O1: error row 2, a content that cannot be read: the summariser gets a placeholder that names it. A history in which
/// another program left references keeps them as they are: no pass shortens or offloads one again.
#[test]
fn seed_4_unreadable_content() {
    let mut c = talk(8_192);
    // an earlier program of the kind left its result in a file
    let mut old = context(8_192, presets::offload_compact());
    say(&mut old, Role::User, "first");
    tool(
        &mut old,
        "bash",
        "f",
        "Tool result is at: offloaded/abc.txt",
        false,
    );
    for e in c.entries() {
        let seq = old.entries().len() as u32;
        old.push(Rc::new(Message {
            seq,
            ..(*e.message).clone()
        }));
    }
    c = old;
    assert_eq!(
        offload::foreign_path("Tool result is at: offloaded/abc.txt"),
        Some("offloaded/abc.txt")
    );
    let options = offload::OffloadOptions {
        tokens: 0,
        window_percent: 0,
        brief: false,
    };
    assert!(
        !offload::edits(&c, 3, options).contains_key(&2),
        "a reference already"
    );
    let mut sources = Vec::new();
    drive(&mut c, with_model(), &mut |job| {
        sources.push(job.source());
        SuppliedSummary::Text(job.extractive(&Estimator::default()))
    })
    .unwrap();
    let all = sources.join("\n");
    assert!(
        all.contains("[Content unavailable: offloaded/abc.txt]"),
        "{all}"
    );
    assert!(!all.contains("Tool result is at:"));
}

/// O3, O4: error row 3 and fault 1: nothing is ever deleted by a compaction, so nothing can dangle: a reference that
/// is still shown resolves, one that left is listed as released and resolves too.
#[test]
fn seed_4_no_reference_dangles() {
    let mut c = coding(40, 16_384);
    let first = build(&mut c).unwrap();
    let referenced = offload::references(&c);
    assert!(!referenced.is_empty(), "{first:?}");
    while !c.is_due() {
        let n = c.entries().len();
        say(
            &mut c,
            Role::User,
            &format!("More {n}. {}", "word ".repeat(200)),
        );
        say(
            &mut c,
            Role::Assistant,
            &format!("Yes {n}. {}", "word ".repeat(200)),
        );
    }
    let second = build(&mut c).unwrap();
    assert!(!second.released.is_empty());
    for reference in offload::references(&c).iter().chain(&second.released) {
        assert!(offload::resolve(&c, reference).is_some_and(|t| t.contains("line 59 of step")));
    }
}

/// O2: error row 5, no model for compaction is configured: the deterministic summary, not a failure.
#[test]
fn seed_4_no_summary_model() {
    let mut c = talk(16_384);
    let report = drive(&mut c, RunOptions::default(), &mut |_| {
        panic!("nobody is asked")
    })
    .unwrap();
    assert!(report.after < report.before);
}

// ---- Seed 4: boundaries

/// O3: boundary row 1, at most five messages: success, nothing freed.
#[test]
fn seed_4_five_messages_or_fewer() {
    for n in 1..=5 {
        let mut c = context(16_384, presets::offload_compact());
        for i in 0..n {
            let role = if i % 2 == 0 {
                Role::User
            } else {
                Role::Assistant
            };
            say(&mut c, role, &"word ".repeat(100));
        }
        let manual = RunOptions {
            manual: true,
            ..RunOptions::default()
        };
        let refusal = drive(&mut c, manual, &mut |_| panic!("no model")).unwrap_err();
        assert_eq!(refusal, Refusal::NothingToCompress, "{n}");
        assert_eq!(c.shown_count(), n);
    }
}

/// O2: boundary row 2, no offloaded content: summarised all the same.
#[test]
fn seed_4_nothing_offloaded() {
    let mut c = context(16_384, presets::offload_compact());
    for n in 0..60 {
        say(
            &mut c,
            Role::User,
            &format!("Question {n}: {}", "word ".repeat(100)),
        );
        say(
            &mut c,
            Role::Assistant,
            &format!("Answer {n}: {}", "word ".repeat(100)),
        );
    }
    let report = build(&mut c).unwrap();
    assert!(report.layer.is_some() && report.released.is_empty());
    assert!(
        report
            .passes
            .iter()
            .all(|s| s.pass != palimpsest_core::pass::PassKind::Offload)
    );
}

/// O2: boundary row 3, kept messages with offloaded content keep their references; what is summarised is restored
/// for the summariser.
#[test]
fn seed_4_kept_messages_keep_references() {
    let mut c = coding(40, 16_384);
    build(&mut c).unwrap();
    let shown_before = offload::references(&c);
    // the last exchanges are referenced: drop the protection by talking on
    while !c.is_due() {
        let n = c.entries().len();
        say(
            &mut c,
            Role::User,
            &format!("More {n}. {}", "word ".repeat(200)),
        );
        say(
            &mut c,
            Role::Assistant,
            &format!("Yes {n}. {}", "word ".repeat(200)),
        );
    }
    let mut sources = Vec::new();
    let report = drive(&mut c, with_model(), &mut |job| {
        sources.push(job.source());
        SuppliedSummary::Text(job.extractive(&Estimator::default()))
    })
    .unwrap();
    let kept = offload::references(&c);
    assert!(kept.iter().all(|r| shown_before.contains(r)));
    let all = sources.join("\n");
    assert!(!all.contains("[offloaded:"), "restored for the summariser");
    assert_eq!(report.preserved as usize, c.shown_count() as usize);
}

/// O3: boundary row 4, an empty history: nothing to compress, which is no failure of its own.
#[test]
fn seed_4_empty_history() {
    let mut c = context(16_384, presets::offload_compact());
    let refusal = build(&mut c).unwrap_err();
    assert_eq!(refusal, Refusal::NothingToCompress);
}

/// O3: boundary row 5, a summary over its target is accepted if it helps.
#[test]
fn seed_4_summary_over_target() {
    let mut c = coding(60, 8_192);
    let mut target = 0;
    let report = drive(&mut c, with_model(), &mut |job| {
        target += job.target_tokens;
        let long = job.target_tokens + job.target_tokens / 4;
        let facts: String = (0..60).fold(String::new(), |t, i| {
            t + &format!("Step {i} changed src/part_{i}.rs to a limit of {i} ms.\n")
        });
        let mut text = String::new();
        for line in facts.lines() {
            if Estimator::default().count(&text) < long {
                text.push_str(line);
                text.push('\n');
            }
        }
        SuppliedSummary::Text(text)
    })
    .unwrap();
    assert!(target > 0 && report.after < report.before);
    assert!(c.check_limit().valid);
}

// ---- Seed 4: the two thresholds

/// O2, B4: when offloading freed enough nothing is summarised; when it freed less than min(15,000, 20 % of the window)
/// and the trigger is still reached, everything but the last five messages is, to at most min(8,000, 25 %).
#[test]
fn seed_4_two_thresholds() {
    let mut c = coding(40, 16_384);
    let report = build(&mut c).unwrap();
    let freed: u32 = report.passes.iter().map(|s| s.tokens).sum();
    assert!(freed >= 16_384 / 5, "{report:?}");
    assert_eq!(
        (report.layer, report.passes.len()),
        (None, 1),
        "offloading was enough"
    );

    let mut c = context(16_384, presets::offload_compact());
    for n in 0..60 {
        say(
            &mut c,
            Role::User,
            &format!("Question {n}: {}", "word ".repeat(100)),
        );
        say(
            &mut c,
            Role::Assistant,
            &format!("Answer {n}: {}", "word ".repeat(100)),
        );
    }
    let report = build(&mut c).unwrap();
    assert_eq!(report.preserved, 5);
    let layer = &c.view().layers[0];
    assert!(layer.tokens <= 4_096, "{}", layer.tokens);
    let window = c.window();
    let slot = window
        .messages()
        .iter()
        .find(|m| m.parts()[0].words().starts_with("[Compressed History]\n"));
    assert_eq!(
        slot.map(palimpsest_core::window::WindowMessage::role),
        Some(Role::User)
    );
}

/// O2: the one summary is rewritten each time, and knows what the one before it said.
#[test]
fn seed_4_one_summary() {
    let mut c = context(16_384, presets::offload_compact());
    let mut sources = Vec::new();
    for round in 0..4 {
        while !c.is_due() {
            let n = c.entries().len();
            say(
                &mut c,
                Role::User,
                &format!("Question {n}: {}", "word ".repeat(150)),
            );
            say(
                &mut c,
                Role::Assistant,
                &format!("Answer {n}: {}", "word ".repeat(150)),
            );
        }
        drive(&mut c, with_model(), &mut |job| {
            sources.push(job.source());
            SuppliedSummary::Text(format!(
                "Round {round}: they went on with many questions about nothing in particular."
            ))
        })
        .unwrap();
        assert_eq!(c.view().layers.len(), 1);
        let last = sources.last().unwrap();
        let text = sources.join("\n");
        assert_eq!(
            round > 0,
            text.contains(&format!("Round {}:", round.max(1) - 1)),
            "{last}"
        );
    }
    let covered = c.view().layers[0].messages;
    assert_eq!(covered + c.shown_count(), c.entries().len() as u32);
}

/// O5: the figures that `/compact` tells.
#[test]
fn seed_4_the_figures() {
    let mut c = coding(40, 16_384);
    let report = build(&mut c).unwrap();
    assert_eq!(report.freed(), report.before - report.after);
    assert_eq!((report.released.len(), report.after), (0, c.tokens()));
    assert_eq!(report.preserved, c.shown_count());
}

// ---- Faults of the seeds

/// I3: fault 10, splitting at "the last five" cuts between a call and its result: the boundary moves to keep the pair.
#[test]
fn fault_10_pairs_stay_whole() {
    for tail in 1..8 {
        let mut c = context(8_192, presets::offload_compact());
        for n in 0..40 {
            say(
                &mut c,
                Role::User,
                &format!("Question {n}: {}", "word ".repeat(100)),
            );
            say(
                &mut c,
                Role::Assistant,
                &format!("Answer {n}: {}", "word ".repeat(100)),
            );
        }
        for n in 0..tail {
            tool(&mut c, "ls", &format!("t{n}"), "a b c", false);
        }
        build(&mut c).unwrap();
        let window = c.window();
        let calls: Vec<&str> = window
            .messages()
            .iter()
            .flat_map(palimpsest_core::window::WindowMessage::parts)
            .filter_map(|p| match p {
                Part::ToolCall { id, .. } => Some(id.as_str()),
                _ => None,
            })
            .collect();
        let results: Vec<&str> = window
            .messages()
            .iter()
            .flat_map(palimpsest_core::window::WindowMessage::parts)
            .filter_map(|p| match p {
                Part::ToolResult { call, text, .. } => {
                    assert_eq!(text, "a b c", "no stand-in was needed");
                    Some(call.as_str())
                }
                _ => None,
            })
            .collect();
        assert_eq!(calls, results);
    }
}

/// B4: fault 6, the trigger of seed 1 at small windows: 2,048 gave 36 tokens, 1,024 and 0 a negative number. Here it
/// scales, and what cannot be is refused.
#[test]
fn fault_6_triggers_of_small_windows() {
    let tier = json!({"triggers": [{"on": "fill", "of": "window_less_tier", "at": 0.75}]});
    for window in [64, 256, 1_024, 2_048, 4_096] {
        let c = context(window, Policy::from_value(&tier).unwrap());
        assert!(c.trigger() <= c.setup().shares.limit);
        assert!(
            window < 1_024 || c.trigger() > window / 2,
            "{window}: {}",
            c.trigger()
        );
    }
    assert_eq!(
        Setup::new(0, ShareOptions::default(), presets::balanced(), 0)
            .unwrap_err()
            .code(),
        "invalid_window"
    );
}

/// B4: fault 7, the seeds' contradicting triggers and roles, settled as data with their denominators.
#[test]
fn fault_7_contradictions_are_data() {
    use palimpsest_core::policy::SlotRole;
    let at = |policy: Policy| context(16_384, policy).trigger();
    assert_eq!(at(presets::auto_summarize()), 8_192);
    assert_eq!(at(presets::watermark()), 15_032);
    assert_eq!(at(presets::checkpoints()), 13_108);
    assert_eq!(at(presets::balanced()), 13_529);
    assert_eq!(presets::checkpoints().slot_role, SlotRole::Assistant);
    assert_eq!(presets::offload_compact().slot_role, SlotRole::User);
}
