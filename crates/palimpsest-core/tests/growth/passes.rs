//! The deterministic passes at size, and on bad input. Times are compared with each other, never with a clock's
//! absolute: ten times the messages in at most twenty times the time, where squares would take a hundred.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, measures on the host and prints what it measured"
)]

use std::rc::Rc;
use std::time::Instant;

use palimpsest_core::context::{Context, Seed, Setup};
use palimpsest_core::message::{Message, Origin, Part, Role};
use palimpsest_core::pass::offload::OffloadOptions;
use palimpsest_core::pass::strip::{self, StripOptions};
use palimpsest_core::pass::{self, Edits, PassKind, recent_from};
use palimpsest_core::policy::presets;
use palimpsest_core::record::Records;
use palimpsest_core::run::{Aim, Run, RunOptions, Step};
use palimpsest_core::shares::ShareOptions;
use palimpsest_core::sorted::SortedSet;
use palimpsest_core::watermark;
use palimpsest_tokens::Estimator;

fn context(window: u32) -> Context {
    let setup = Setup::new(window, ShareOptions::default(), presets::balanced(), 0).unwrap();
    Context::new(setup, Records::default(), Rc::new(Estimator::default()))
}

fn push(context: &mut Context, role: Role, parts: Vec<Part>) {
    let seq = context.entries().len() as u32;
    let origin = if role == Role::Tool {
        Origin::Tool
    } else {
        Origin::Host
    };
    context.push(Rc::new(Message {
        parts,
        origin,
        ..Message::text(seq, role, "")
    }));
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    }
}

fn result(id: &str, text: &str) -> Part {
    Part::ToolResult {
        call: id.into(),
        name: None,
        text: text.into(),
        error: false,
    }
}

/// A conversation of that many messages: reads, writes and commands, with ids used again and again.
fn talk(messages: usize) -> Context {
    let mut c = context(131_072);
    let mut n = 0;
    while c.entries().len() < messages {
        let id = format!("call_{}", n % 5);
        let path = format!("src/part_{}.rs", n % 10);
        push(
            &mut c,
            Role::User,
            vec![Part::text(format!("Look at {path}, please."))],
        );
        let arguments = format!("{{\"path\":\"{path}\"}}");
        push(
            &mut c,
            Role::Assistant,
            vec![Part::text("I look."), call(&id, "read", &arguments)],
        );
        let text: String = (0..20).fold(String::new(), |t, i| {
            t + &format!("let value_{i} = compute({n}, {i});\n")
        });
        push(&mut c, Role::Tool, vec![result(&id, &text)]);
        push(
            &mut c,
            Role::Assistant,
            vec![Part::text(format!("{path} computes twenty values."))],
        );
        n += 1;
    }
    c
}

type OnePass = (&'static str, PassKind, fn(&Context) -> Edits);

const PASSES: [OnePass; 4] = [
    ("condense", PassKind::Condense, |c| {
        pass::condense::edits(c, recent_from(c), &c.setup().policy.tool_output)
    }),
    ("dedupe", PassKind::Dedupe, |c| {
        pass::dedupe::edits(c, recent_from(c), &c.setup().policy.repeats)
    }),
    ("strip", PassKind::Strip, |c| {
        strip::edits(
            c,
            recent_from(c),
            &StripOptions::default(),
            &SortedSet::new(),
        )
        .edits
    }),
    ("offload", PassKind::Offload, |c| {
        let options = OffloadOptions {
            tokens: 100,
            window_percent: 0,
            brief: false,
        };
        pass::offload::edits(c, recent_from(c), options)
    }),
];

/// Seconds of one run on the average of some, as this thread's own clock counts them where there is one: other
/// programs on the machine do not count.
pub(crate) fn time(runs: u32, mut run: impl FnMut()) -> f64 {
    run(); // the first one warms up
    let (start, wall) = (own_seconds(), Instant::now());
    for _ in 0..runs {
        run();
    }
    let wall = wall.elapsed().as_secs_f64();
    let own = own_seconds().zip(start).map(|(now, then)| now - then);
    own.filter(|s| *s > 0.0).unwrap_or(wall) / f64::from(runs)
}

/// Seconds this thread has run so far; Linux tells.
fn own_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = stat.split(' ').next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// W5, T3: ten times the messages take at most twenty times the time in every deterministic pass, where squares would take a
/// hundred, and the watermark over a hundred messages takes a small part of what counting them takes once. One conversation of 10,000 messages is
/// measured beside ten of 1,000, so that both lie in the same memory: what that takes more for where it is far is nobody's
/// growth.
#[test]
fn passes_grow_with_the_conversation() {
    let short: Vec<Context> = (0..10).map(|_| talk(1_000)).collect();
    let long = [talk(10_000)];
    println!("\nms per pass     10 × 1,000     10,000 messages");
    for (name, kind, edits) in PASSES {
        let over = |contexts: &[Context]| {
            time(10, || {
                for c in contexts {
                    assert!(!edits(c).is_empty() || kind == PassKind::Condense);
                }
            })
        };
        // a machine is busy now and then, which only ever adds: the least of each, of up to ten
        let ratio = |(short, long): (f64, f64)| 10.0 * long / short;
        let mut best = (over(&short), over(&long));
        for _ in 0..9 {
            if ratio(best) > 20.0 {
                best = (best.0.min(over(&short)), best.1.min(over(&long)));
            }
        }
        println!("{name:<10}{:>15.3}{:>11.3}", best.0 * 1e3, best.1 * 1e3);
        let ratio = ratio(best);
        assert!(
            ratio <= 20.0,
            "{name}: 10,000 messages take {ratio:.1} times what 1,000 take"
        );
    }
    // the watermark, against making the same context
    let small = talk(100);
    let strip = time(400, || drop(PASSES[2].2(&small)));
    let made = time(30, || drop(talk(100)));
    println!(
        "watermark over 100 messages: {:.3} ms; making them: {:.3} ms",
        strip * 1e3,
        made * 1e3
    );
    assert!(strip < made, "stripping costs less than counting once");
}

/// I10, I3: ten thousand tool calls in one turn, with ids missing, reused, unanswered and answered twice: every pass
/// ends, and the window stays whole.
#[test]
fn ten_thousand_calls() {
    let mut c = context(131_072);
    push(&mut c, Role::User, vec![Part::text("go")]);
    for n in 0..1_000 {
        let calls: Vec<Part> = (0..10)
            .map(|i| call(&format!("id{}", (n + i) % 7), "ls", "{\"path\":\"x\"}"))
            .collect();
        push(&mut c, Role::Assistant, calls);
        for i in 0..10 {
            let id = match i {
                3 => "nobody".to_owned(),
                4 => String::new(),
                _ => format!("id{}", (n + i) % 7),
            };
            push(
                &mut c,
                Role::Tool,
                vec![result(&id, &format!("file_{n}_{i} and the rest of it"))],
            );
        }
    }
    for (name, kind, edits) in PASSES {
        let mut c = c.clone();
        let found = edits(&c);
        pass::apply(&mut c, kind, found);
        whole(&c, name);
    }
}

/// Calls and results stand together, no message is empty, the kept sum is the sum.
fn whole(c: &Context, name: &str) {
    let window = c.window();
    assert_eq!(window.tokens(), c.tokens(), "{name}");
    let mut open: Vec<&str> = Vec::new();
    for message in window.messages() {
        assert!(!message.parts().is_empty(), "{name}");
        if message.role() != Role::Tool {
            assert!(open.is_empty(), "{name}: calls without results");
        }
        for part in message.parts() {
            match part {
                Part::ToolCall { id, .. } => open.push(id),
                Part::ToolResult { call, .. } => {
                    let at = open.iter().position(|id| id == call);
                    open.remove(at.unwrap_or_else(|| panic!("{name}: a result without its call")));
                }
                _ => {}
            }
        }
    }
}

/// I10, T3: ten megabytes of JSON, invalid JSON, binary in text, arguments that are no JSON: every pass ends, what it
/// makes is smaller, arguments that were JSON stay JSON.
#[test]
fn bad_input() {
    let rows: Vec<String> = (0..100_000)
        .map(|i| format!("{{\"id\":{i},\"name\":\"name number {i}\",\"tags\":[\"a\",\"b\"],\"city\":\"Rome\"}}"))
        .collect();
    let json = format!("[{}]", rows.join(","));
    let mut padded = json.clone();
    while padded.len() < 10_000_000 {
        padded.push(' ');
    }
    assert!(padded.len() >= 10_000_000);
    let invalid = json[..json.len() / 50].to_owned();
    let binary: String = (0..60_000u32)
        .map(|i| char::from_u32(i * 7 % 0xD7FF).unwrap_or('x'))
        .collect();
    for (name, text) in [
        ("10 MB of JSON", &padded),
        ("invalid JSON", &invalid),
        ("binary", &binary),
    ] {
        for arguments in ["{\"path\":\"a\"}", "{\"path\":", "\u{0}\u{1}", ""] {
            let mut c = context(131_072);
            push(&mut c, Role::User, vec![Part::text("go")]);
            push(&mut c, Role::Assistant, vec![call("a", "read", arguments)]);
            push(&mut c, Role::Tool, vec![result("a", text)]);
            push(&mut c, Role::Assistant, vec![call("a", "read", arguments)]);
            push(&mut c, Role::Tool, vec![result("a", text)]);
            push(&mut c, Role::Assistant, vec![Part::text("done")]);
            push(&mut c, Role::User, vec![Part::text("next")]);
            let before = c.tokens();
            for (pass, kind, _) in PASSES {
                let end = 5;
                let found = match kind {
                    PassKind::Condense => {
                        pass::condense::edits(&c, end, &c.setup().policy.tool_output)
                    }
                    PassKind::Dedupe => pass::dedupe::edits(&c, end, &c.setup().policy.repeats),
                    PassKind::Strip => {
                        strip::edits(&c, 0, &StripOptions::default(), &SortedSet::new()).edits
                    }
                    _ => pass::offload::edits(
                        &c,
                        end,
                        OffloadOptions {
                            tokens: 512,
                            window_percent: 4,
                            brief: false,
                        },
                    ),
                };
                pass::apply(&mut c, kind, found);
                whole(&c, pass);
            }
            assert!(
                c.tokens() < before / 2,
                "{name}: {} of {before}",
                c.tokens()
            );
            if name.len() < 13 {
                continue;
            }
            break; // ten megabytes once
        }
    }
}

/// P1: planning a compaction of ten thousand messages costs a small multiple of making the context.
#[test]
fn a_run_over_ten_thousand_messages() {
    let c = talk(10_000);
    let seed = Seed {
        now: 0.0,
        secret: [0; 16],
    };
    let options = RunOptions {
        aim: Aim::AtMost(c.tokens() * 3 / 4),
        ..RunOptions::default()
    };
    let start = Instant::now();
    let step = Run::new(&c, options, seed).step();
    let run = start.elapsed();
    let Step::Done(done) = step else {
        panic!("{step:?}")
    };
    assert!(done.report.after <= c.tokens() * 3 / 4);
    println!(
        "\na run over 10,000 messages: {} ms, {:?}",
        run.as_millis(),
        done.report.passes
    );
    let making = time(1, || drop(talk(10_000)));
    for (name, options) in [
        ("to its target", RunOptions::default()),
        (
            "halved by hand",
            RunOptions {
                manual: true,
                aim: Aim::AtMost(c.tokens() / 2),
                ..RunOptions::default()
            },
        ),
    ] {
        let seconds = time(1, || {
            let step = Run::new(&c, options.clone(), seed).step();
            assert!(matches!(step, Step::Done(_)), "{step:?}");
        });
        println!(
            "a run over 10,000 messages {name}: {:.0} ms; making them: {:.0} ms",
            seconds * 1e3,
            making * 1e3
        );
    }
    // as it is in a session: all but the last thousand messages are covered
    let mut covered = c.clone();
    let mut view = covered.view().clone();
    let layer = serde_json::json!({"id": 1, "level": 3, "covers": [{"from": 0, "to": 8_999}], "summary": "Files were read.",
        "ledger": [], "tokens": 9, "original_tokens": 1_000_000, "messages": 9_000, "notes": [], "rank": 0, "number": 1,
        "created": 0.0, "compressed_at": 0.0, "replaces": [], "author": {"by": "extractive"}, "retention": 1.0, "dropped": []});
    view.layers
        .push(Rc::new(serde_json::from_value(layer).unwrap()));
    view.next_layer = 2;
    covered.set_view(view);
    assert_eq!(covered.shown_count(), 1_000);
    let run = || {
        time(5, || {
            let options = RunOptions {
                manual: true,
                ..RunOptions::default()
            };
            let step = Run::new(&covered, options, seed).step();
            assert!(matches!(step, Step::Done(_)), "{step:?}");
        })
    };
    let run = run().min(run()).min(run());
    println!(
        "a run in a session of 10,000 messages that shows 1,000: {:.1} ms; making them: {:.0} ms",
        run * 1e3,
        making * 1e3
    );
    // measured: one and a half
    assert!(run < making * 5.0, "{run} s against {making} s");
    let mut marked = c.clone();
    let mut view = marked.view().clone();
    watermark::mark_end(&mut view, Some(9_999));
    marked.set_view(view);
    assert!(watermark::strip(&marked, &StripOptions::default()).blocks > 4_000);
}

/// T3: condensing four megabytes of JSON or of a log takes at most eight times as long as counting them once, and what
/// comes out is a few kilobytes.
#[test]
fn condensing_megabytes() {
    use palimpsest_text::condense::{CondenseOptions, ToolText, condense};
    use palimpsest_tokens::TokenCounter;
    let json = (0..36_000).fold("[".to_owned(), |t, i| {
        let comma = if i > 0 { "," } else { "" };
        t + &format!("{comma}{{\"id\":{i},\"name\":\"name {i}\",\"city\":\"Rome\",\"tags\":[\"a\",\"b\"],\"at\":\"2026-01-02T10:00:00Z\",\"ok\":true}}")
    }) + "]";
    let log = (0..60_000).fold(String::new(), |t, i| {
        let level = if i % 97 == 0 { "WARN" } else { "INFO" };
        t + &format!(
            "2026-01-02T10:{:02}:{:02} {level} request {i} to /api/items/{} took {} ms\n",
            i / 60 % 60,
            i % 60,
            i % 50,
            i * 7 % 90
        )
    });
    let counter = Estimator::default();
    for (name, text) in [("JSON", &json), ("a log", &log)] {
        let result = ToolText {
            tool: "bash",
            text,
            is_error: false,
            window: 8_192,
        };
        let short = condense(result, &CondenseOptions::default(), &counter).unwrap();
        assert!(short.text.len() < 4_096, "{name}: {}", short.text.len());
        let condensing = time(3, || {
            drop(condense(result, &CondenseOptions::default(), &counter));
        });
        let counting = time(3, || assert!(counter.count(text) > 1_000_000));
        let rate = |seconds: f64| text.len() as f64 / 1e6 / seconds;
        println!(
            "{name}: {:.0} MB/s condensed, {:.0} MB/s counted",
            rate(condensing),
            rate(counting)
        );
        assert!(
            condensing < counting * 8.0,
            "{name}: {condensing} s, {counting} s"
        );
    }
}
