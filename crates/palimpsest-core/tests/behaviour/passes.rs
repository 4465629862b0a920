//! The deterministic passes and the ladder, from the outside.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::rc::Rc;

use palimpsest_core::budget::{Due, Occasion};
use palimpsest_core::context::{Context, Seed, Setup};
use palimpsest_core::layer::Level;
use palimpsest_core::message::{Part, Role, number_of};
use palimpsest_core::pass::{self, PassKind, dedupe, offload};
use palimpsest_core::policy::{Policy, presets};
use palimpsest_core::record::Records;
use palimpsest_core::rendition::ReducedKind;
use palimpsest_core::run::{Aim, Refusal, Run, RunOptions, RunReport, Step, SuppliedSummary};
use palimpsest_core::shares::ShareOptions;
use palimpsest_tokens::Estimator;
use serde_json::{Value, json};

use super::scene::{context, push, say};

const SEED: Seed = Seed {
    now: 1.0,
    secret: [7; 16],
};

/// A call and its result; returns the number of the result.
fn tool(context: &mut Context, name: &str, arguments: &Value, text: &str, error: bool) -> u32 {
    let id = format!("c{}", context.entries().len());
    let call = Part::ToolCall {
        id: id.clone(),
        name: name.into(),
        arguments: arguments.to_string(),
    };
    push(context, Role::Assistant, vec![call]);
    let result = Part::ToolResult {
        call: id,
        name: None,
        text: text.into(),
        error,
    };
    push(context, Role::Tool, vec![result])
}

fn shown(context: &Context, seq: u32) -> String {
    let window = context.window();
    let message = window.messages().iter().find(|m| m.seq() == Some(seq));
    message.map_or_else(String::new, |m| {
        m.parts()
            .iter()
            .map(Part::words)
            .collect::<Vec<_>>()
            .join("\n")
    })
}

fn run(context: &mut Context, options: RunOptions) -> Result<RunReport, Refusal> {
    let mut run = Run::new(context, options, SEED);
    loop {
        match run.step() {
            Step::Need(job) => {
                let text = job.extractive(context.counter().as_ref());
                run.supply(job.id, SuppliedSummary::Text(text)).unwrap();
            }
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

fn words(n: usize, seed: usize) -> String {
    const WORDS: [&str; 12] = [
        "river", "window", "method", "silver", "garden", "engine", "letter", "forest", "copper",
        "planet", "branch", "signal",
    ];
    (0..n).fold(String::new(), |t, i| {
        t + WORDS[(i * 7 + seed * 5 + i / 12) % 12] + if i % 9 == 8 { ".\n" } else { " " }
    })
}

fn rows(n: usize) -> String {
    let rows: Vec<Value> = (0..n)
        .map(|i| json!({"id": i, "name": format!("name {i}"), "city": "Rome"}))
        .collect();
    json!(rows).to_string()
}

/// Text that no rule of condensing shortens.
fn prose(tokens: usize, seed: usize) -> String {
    words(tokens, seed)
}

/// T2, T3: results and arguments before the tail are condensed; the newest exchange, failed results that fit
/// and the user's words stay; calls and results keep their places.
#[test]
fn condense_in_place() {
    let mut c = context(32_768, presets::balanced());
    say(&mut c, Role::User, "look");
    let old = tool(
        &mut c,
        "bash",
        &json!({"command": "x".repeat(4_000)}),
        &rows(300),
        false,
    );
    let failed = tool(&mut c, "bash", &json!({}), &rows(40), true);
    let new = tool(&mut c, "bash", &json!({}), &rows(300), false);
    let end = pass::recent_from(&c).max(1);
    let end = end.max((new - 1) as usize);
    let edits = pass::condense::edits(&c, end, &c.setup().policy.tool_output);
    let before = c.tokens();
    let applied = pass::apply(&mut c, PassKind::Condense, edits).unwrap();
    assert_eq!(
        applied.shed.messages, 2,
        "the call's arguments and the result"
    );
    assert_eq!(applied.shed.tokens, before - c.tokens());
    assert!(shown(&c, old).starts_with("[condensed json: 1 line, "));
    assert!(shown(&c, old - 1).len() < 600);
    serde_json::from_str::<Value>(&shown(&c, old - 1)).expect("arguments stay JSON");
    assert_eq!(shown(&c, failed), rows(40));
    assert_eq!(shown(&c, new), rows(300));
    // never twice
    let again = pass::condense::edits(&c, end, &c.setup().policy.tool_output);
    assert!(again.is_empty());
}

/// T2: with verbosity debug nothing is condensed, not even arguments.
#[test]
fn debug_keeps_everything() {
    let policy = json!({"tool_output": {"debug": true}});
    let mut c = context(32_768, Policy::from_value(&policy).unwrap());
    tool(
        &mut c,
        "bash",
        &json!({"command": "x".repeat(4_000)}),
        &rows(300),
        false,
    );
    let edits = pass::condense::edits(&c, 2, &c.setup().policy.tool_output);
    assert!(edits.is_empty());
}

/// T2: on arrival a result is condensed by the rule of its tool, which is found through the call.
#[test]
fn condensed_on_arrival() {
    let mut c = context(32_768, presets::auto_summarize());
    say(&mut c, Role::User, "look");
    tool(
        &mut c,
        "database_query",
        &json!({"q": "select"}),
        &rows(101),
        false,
    );
    let options = c.setup().policy.tool_output.clone();
    let short = pass::condense::on_arrival(&c, &options).unwrap();
    assert_eq!(short.kind, ReducedKind::Condensed);
    assert!(short.parts[0].words().contains("\n101 rows\n"), "{short:?}");
    tool(
        &mut c,
        "database_query",
        &json!({"q": "select"}),
        &rows(100),
        false,
    );
    assert_eq!(pass::condense::on_arrival(&c, &options), None);
    say(&mut c, Role::User, &rows(500));
    assert_eq!(
        pass::condense::on_arrival(&c, &options),
        None,
        "not a tool's"
    );
}

fn dedupe_of(c: &mut Context) -> Option<pass::Applied> {
    let end = c.entries().len();
    let edits = dedupe::edits(c, end, &c.setup().policy.repeats);
    pass::apply(c, PassKind::Dedupe, edits)
}

/// T3: the same output twice is shown where it is newest.
#[test]
fn exact_duplicates() {
    let mut c = context(32_768, presets::balanced());
    let text = prose(200, 1);
    let a = tool(&mut c, "bash", &json!({"command": "ls"}), &text, false);
    let b = tool(
        &mut c,
        "bash",
        &json!({"command": "ls -l"}),
        &prose(200, 2),
        false,
    );
    let d = tool(&mut c, "bash", &json!({"command": "ls"}), &text, false);
    let short = tool(&mut c, "bash", &json!({}), "ok", false);
    let short_again = tool(&mut c, "bash", &json!({}), "ok", false);
    assert_eq!(dedupe_of(&mut c).unwrap().shed.messages, 1);
    assert_eq!(
        shown(&c, a),
        format!("[the same output came again in message {}]", number_of(d))
    );
    assert_eq!(shown(&c, b), prose(200, 2));
    assert_eq!(shown(&c, d), text);
    assert_eq!(
        (shown(&c, short), shown(&c, short_again)),
        ("ok".into(), "ok".into())
    );
}

/// T3: errors are kept, even when they repeat.
#[test]
fn repeated_errors_stay() {
    let mut c = context(32_768, presets::balanced());
    tool(&mut c, "bash", &json!({}), &prose(200, 1), true);
    tool(&mut c, "bash", &json!({}), &prose(200, 1), true);
    assert_eq!(dedupe_of(&mut c), None);
}

/// T3: a file read again, or written later, makes the earlier read obsolete; what was written goes when
/// it was written or read again; another range and another file do not count.
#[test]
fn superseded_reads_and_writes() {
    let mut c = context(32_768, presets::balanced());
    let read = |path: &str| json!({ "path": path });
    let first = tool(&mut c, "read", &read("src/a.rs"), &prose(150, 1), false);
    let ranged = tool(
        &mut c,
        "read",
        &json!({"path": "src/b.rs", "offset": 1, "limit": 9}),
        &prose(150, 2),
        false,
    );
    let write = json!({"path": "./src/a.rs", "content": prose(150, 3)});
    let written = tool(&mut c, "write", &write, "ok", false);
    let other = tool(
        &mut c,
        "read",
        &json!({"path": "src/b.rs", "offset": 50, "limit": 9}),
        &prose(150, 4),
        false,
    );
    let again = tool(&mut c, "read", &read("src/a.rs"), &prose(150, 5), false);
    dedupe_of(&mut c).unwrap();
    assert_eq!(
        shown(&c, first),
        format!(
            "[outdated: src/a.rs was read again in message {}]",
            number_of(again)
        )
    );
    let arguments: Value = serde_json::from_str(&shown(&c, written - 1)).unwrap();
    assert_eq!(
        arguments,
        json!({"path": "./src/a.rs", "content": format!("[outdated: src/a.rs was read again in message {}]", number_of(again))})
    );
    assert_eq!(shown(&c, ranged), prose(150, 2));
    assert_eq!(shown(&c, other), prose(150, 4));
    assert_eq!(shown(&c, again), prose(150, 5));
}

/// O1: a result over 512 tokens and over 4 % of the window becomes a reference with hash, size, head and tail;
/// the text stays in the history, the reference finds it, and the view without the reference shows it again.
#[test]
fn offloaded_results_come_back() {
    let mut c = context(8_192, presets::offload_compact());
    let text = prose(1_500, 1);
    let large = tool(&mut c, "bash", &json!({}), &text, false);
    let small = tool(&mut c, "bash", &json!({}), &prose(300, 2), false);
    let failed = tool(&mut c, "bash", &json!({}), &text, true);
    let options = offload::OffloadOptions {
        tokens: 512,
        window_percent: 4,
        brief: false,
    };
    assert_eq!((options.floor(8_192), options.floor(131_072)), (512, 5_242));
    let edits = offload::edits(&c, c.entries().len(), options);
    let applied = pass::apply(&mut c, PassKind::Offload, edits).unwrap();
    assert_eq!(applied.shed.messages, 1);
    assert_eq!(shown(&c, small), prose(300, 2));
    assert_eq!(shown(&c, failed), text);
    let references = offload::references(&c);
    let reference = &references[0];
    assert_eq!(
        (
            references.len(),
            reference.message,
            reference.part,
            reference.bytes as usize
        ),
        (1, large, 0, text.len())
    );
    assert!(
        shown(&c, large).contains(&text[..100])
            && shown(&c, large).ends_with(&text[text.len() - 50..])
    );
    assert_eq!(offload::resolve(&c, reference), Some(text.as_str()));
    let wrong = offload::Reference {
        hash: "0".repeat(32),
        ..reference.clone()
    };
    assert_eq!(offload::resolve(&c, &wrong), None);
    // twice is once
    assert!(offload::edits(&c, c.entries().len(), options).is_empty());
    let back = offload::restore(c.view(), large).unwrap();
    c.set_view(back);
    assert_eq!(shown(&c, large), text);
    assert_eq!(offload::restore(c.view(), large), None);
}

fn busy(policy: Policy, window: u32, exchanges: usize) -> Context {
    let mut c = context(window, policy);
    for n in 0..exchanges {
        say(
            &mut c,
            Role::User,
            &format!("Step {n}: look at src/part_{n}.rs and tell me what is wrong."),
        );
        tool(
            &mut c,
            "bash",
            &json!({"command": format!("run {n}")}),
            &rows(40 + n),
            n % 7 == 3,
        );
        tool(
            &mut c,
            "bash",
            &json!({"command": "again"}),
            &prose(400, n % 5),
            false,
        );
        say(
            &mut c,
            Role::Assistant,
            &format!("In src/part_{n}.rs the limit is {n} ms."),
        );
    }
    c
}

/// O1: a brief reference is the place alone, smaller than one with head and tail; it still finds its text, is counted
/// among the references, and is read in whatever words it is given back.
#[test]
fn brief_references() {
    let mut c = context(16_384, presets::balanced());
    for n in 0..6 {
        tool(&mut c, "bash", &json!({ "n": n }), &words(200, n), false);
    }
    let options = |brief| offload::OffloadOptions {
        tokens: 20,
        window_percent: 0,
        brief,
    };
    let end = c.entries().len();
    let whole = offload::edits(&c, end, options(false));
    let brief = offload::edits(&c, end, options(true));
    assert_eq!(whole.len(), brief.len());
    assert!(
        whole
            .iter()
            .zip(&brief)
            .all(|((_, a), (_, b))| b.tokens < a.tokens)
    );
    let said: Vec<String> = brief
        .keys()
        .map(|i| c.entries()[*i].message.words())
        .collect();
    pass::apply(&mut c, PassKind::Offload, brief).unwrap();
    let references = offload::references(&c);
    assert!(references.len() > 3);
    for (reference, said) in references.iter().zip(&said) {
        assert_eq!(offload::resolve(&c, reference), Some(said.as_str()));
        assert_eq!(reference.hash, offload::content_hash(said.as_bytes()));
        let written = format!("please recall message {}", number_of(reference.message));
        let found = offload::Reference::find(&written).unwrap();
        assert_eq!(offload::resolve(&c, &found), Some(said.as_str()));
    }
    assert_eq!(offload::Reference::find("message 3"), None);
}

/// E4, B4: the ladder stops as soon as the target is reached; what it shed adds up to what was freed; the
/// prefix is broken once, at the first changed message.
#[test]
fn the_ladder_stops_when_it_is_enough() {
    let mut c = busy(presets::balanced(), 8_192, 9);
    let messages = c.entries().len() as u32;
    let tight = RunOptions {
        aim: Aim::AtMost(c.tokens() * 95 / 100),
        ..RunOptions::default()
    };
    let before = c.tokens();
    let report = run(&mut c, tight).unwrap();
    let kinds: Vec<PassKind> = report.passes.iter().map(|s| s.pass).collect();
    assert_eq!(
        kinds,
        [PassKind::Condense],
        "one step was enough: {report:?}"
    );
    assert_eq!((report.layer, report.messages), (None, 0));
    assert_eq!(report.preserved, messages);
    assert_eq!(before - report.after, report.passes[0].tokens);
    assert!(
        report.reread < report.after,
        "the first messages are not read again"
    );

    let mut c = busy(presets::balanced(), 8_192, 9);
    let before = c.tokens();
    let report = run(&mut c, RunOptions::default()).unwrap();
    let kinds: Vec<PassKind> = report.passes.iter().map(|s| s.pass).collect();
    assert!(kinds.is_sorted(), "{kinds:?}");
    assert_eq!(kinds.first(), Some(&PassKind::Condense));
    assert_eq!(
        report.passes.iter().map(|s| s.tokens).sum::<u32>(),
        before - report.after
    );
    assert!(report.after <= c.target() && c.target() < c.trigger());
    assert_eq!(
        run(&mut c, RunOptions::default()).map(|r| r.freed()),
        Err(Refusal::NothingToCompress),
        "at the target"
    );
}

/// E4: every preset brings the same busy conversation under its limit, and the same input gives the same window.
#[test]
fn every_preset_fits() {
    for (name, make) in presets::ALL {
        for window in [2_048, 8_192, 16_384] {
            let mut c = busy(make(), window, 30);
            let mut other = c.clone();
            assert!(c.is_due(), "{name} at {window}");
            let report = run(&mut c, RunOptions::default())
                .unwrap_or_else(|r| panic!("{name} at {window}: {r:?}"));
            assert!(c.check_limit().valid, "{name} at {window}: {report:?}");
            assert!(
                !c.is_due(),
                "{name} at {window}: {} of {}",
                c.tokens(),
                c.trigger()
            );
            run(&mut other, RunOptions::default()).unwrap();
            assert_eq!(c.window(), other.window(), "{name}");
        }
    }
}

/// P8: `truncate` covers the oldest without a summary, under one line that says how much; a second one adds up.
#[test]
fn truncate_leaves_a_line() {
    let policy =
        json!({"name": "truncate", "passes": [{"pass": "truncate"}, {"pass": "emergency"}]});
    let mut c = busy(Policy::from_value(&policy).unwrap(), 8_192, 30);
    let first = run(&mut c, RunOptions::default()).unwrap();
    assert_eq!(first.passes[0].pass, PassKind::Truncate);
    let slot = c.window().messages()[0].parts()[0].words().to_owned();
    let line = format!(
        "{} earlier messages ({} tokens) were left out.",
        first.messages, first.covered_tokens
    );
    assert!(slot.contains(&line), "{slot}");
    for n in 0..20 {
        say(&mut c, Role::User, &format!("And then, step {n}?"));
        say(&mut c, Role::Assistant, &prose(300, n));
    }
    let second = run(&mut c, RunOptions::default()).unwrap();
    assert_eq!(c.view().layers.len(), 1);
    let slot = c.window().messages()[0].parts()[0].words().to_owned();
    let line = format!("{} earlier messages", first.messages + second.messages);
    assert!(slot.contains(&line), "{slot}");
    assert_eq!(slot.matches("were left out").count(), 1);
}

/// C2, C3, C5: in `checkpoints` each compaction makes every layer one step shorter, 1,200 → 600 → 300 → 150 and
/// scaled below 16,384; nothing stays beside its shorter form; the oldest merge; the window fits each time.
#[test]
fn checkpoints_fade_in_steps() {
    for window in [16_384, 8_192] {
        let mut c = context(window, presets::checkpoints());
        let scale = |size: u32| size * window / 16_384;
        let mut most = 0;
        for round in 0..24 {
            while !c.is_due() {
                let n = c.entries().len();
                say(
                    &mut c,
                    Role::User,
                    &format!("Question {n} about src/part_{n}.rs?"),
                );
                say(
                    &mut c,
                    Role::Assistant,
                    &format!("Answer {n}: {}", prose(300, n)),
                );
            }
            run(&mut c, RunOptions::default()).unwrap();
            assert!(c.check_limit().valid);
            let layers = &c.view().layers;
            for (age, layer) in layers.iter().rev().enumerate() {
                let room = scale([1_200, 600, 300, 150][age.min(3)]);
                let level = [Level::Detailed, Level::Moderate, Level::Compact][age.min(2)];
                // what was short enough already is not written again
                assert!(
                    layer.level <= level || layer.tokens <= scale(600),
                    "age {age}: {:?}",
                    layer.level
                );
                assert!(
                    layer.tokens <= room,
                    "round {round}, age {age}: {} of {room}",
                    layer.tokens
                );
            }
            let ids: Vec<u32> = layers.iter().map(|l| l.id).collect();
            let replaced = layers.iter().flat_map(|l| l.replaces.clone());
            assert!(
                replaced.into_iter().all(|r| !ids.contains(&r)),
                "C3: both forms are there"
            );
            most = most.max(layers.len());
        }
        assert_eq!(most, 10);
        assert_eq!(c.view().layers.len(), 10);
    }
}

/// B3: in `checkpoints` the trigger is 80 % of the window beside the fixed part, without reserve and margin: of
/// 13,600 with a system prompt of 1,000 the conversation may reach 10,080.
#[test]
fn the_trigger_of_seed_two() {
    let setup = Setup::new(13_600, ShareOptions::default(), presets::checkpoints(), 0).unwrap();
    let counter = Rc::new(Estimator::default());
    let mut text = String::new();
    let context = loop {
        let context = Context::new(setup.clone(), Records::with_system(&text), counter.clone());
        if context.fixed() >= 1_000 {
            break context;
        }
        text.push_str("word ");
    };
    assert_eq!(context.fixed(), 1_000);
    assert_eq!(context.trigger(), 1_000 + 10_080);
    assert!(context.trigger() < context.setup().shares.limit);
}

/// B3: what the conversation may take follows every change at once: a longer system prompt, a layer, a lifted layer.
#[test]
fn available_follows_every_change() {
    let mut c = busy(presets::checkpoints(), 8_192, 30);
    let available = |c: &Context| {
        let b = c.budget();
        assert_eq!(b.available, b.limit - b.fixed);
        b.available
    };
    let before = available(&c);
    c.set_records(Records::with_system("word ".repeat(300)));
    let longer = available(&c);
    assert!(
        (280..400).contains(&(before - longer)),
        "{before} → {longer}"
    );
    let trigger = c.trigger();
    run(&mut c, RunOptions::default()).unwrap();
    let slot = longer - available(&c);
    let layer = c.view().layers[0].tokens;
    assert!(
        slot >= layer && slot < layer + 819 + 120,
        "{slot} for a layer of {layer} and the user's words"
    );
    assert!(
        c.trigger() > trigger,
        "80 % of less is nearer to the window's end"
    );
    let mut view = c.view().clone();
    view.layers.clear();
    view.quotes.clear();
    c.set_view(view);
    assert_eq!(available(&c), longer);
}

/// B4: a fill trigger fires at its number, not one below it; the bound of an estimate counts as tokens.
#[test]
fn a_fill_fires_at_its_number() {
    let mut c = context(2_048, presets::auto_summarize());
    let mut fired = None;
    for n in 0..4_000 {
        let role = if n % 2 == 0 {
            Role::User
        } else {
            Role::Assistant
        };
        say(&mut c, role, "a");
        let count = c.count();
        let reached = count.tokens + count.bound >= 1_024;
        assert_eq!(
            c.due(&Occasion::default()),
            reached.then_some(Due::Fill),
            "{count:?}"
        );
        if reached {
            fired = Some(count.tokens + count.bound);
            break;
        }
    }
    let at = fired.unwrap();
    assert!((1_024..1_040).contains(&at), "{at}");
}

/// B4: every kind of trigger, at its boundary.
#[test]
fn triggers_fire_at_their_number() {
    let policy = |triggers: Value| Policy::from_value(&json!({ "triggers": triggers })).unwrap();
    let due = |c: &Context, o: Occasion| c.due(&o);
    let none = Occasion::default();

    let mut c = context(8_192, policy(json!([{"on": "messages", "count": 3}])));
    say(&mut c, Role::User, "one");
    say(&mut c, Role::Assistant, "two");
    assert_eq!(due(&c, none), None);
    say(&mut c, Role::User, "three");
    assert_eq!(due(&c, none), Some(Due::Messages));

    let mut c = context(8_192, policy(json!([{"on": "idle", "seconds": 60}])));
    let idle = |seconds| Occasion {
        idle_seconds: seconds,
        ..Occasion::default()
    };
    assert_eq!(due(&c, idle(60)), None, "nothing to gain");
    say(&mut c, Role::User, &prose(2_300, 1));
    say(&mut c, Role::Assistant, &prose(1_200, 2));
    say(&mut c, Role::User, "next");
    assert!(c.tokens() > c.target());
    assert_eq!(due(&c, idle(59)), None);
    assert_eq!(due(&c, idle(60)), Some(Due::Idle));

    let c = context(8_192, presets::balanced());
    let overflow = Occasion {
        overflow: true,
        ..Occasion::default()
    };
    let manual = Occasion {
        manual: true,
        ..Occasion::default()
    };
    assert_eq!(
        (due(&c, overflow), due(&c, manual)),
        (Some(Due::Overflow), Some(Due::Manual))
    );

    let half = context(8_192, presets::auto_summarize());
    assert_eq!(half.trigger(), 4_096, "T1: 50 % of the window");
    let tier = context(
        8_192,
        policy(json!([{"on": "fill", "of": "window_less_tier", "at": 0.75}])),
    );
    assert_eq!(tier.trigger(), (8_192 - 500 - 164) * 3 / 4);
}

/// T1: at half of the window one pass replaces all but the latest three messages with a summary; layers that are
/// there, records and constraints stay.
#[test]
fn auto_summarize_at_half() {
    let mut c = context(8_192, presets::auto_summarize());
    say(&mut c, Role::User, "Never touch the table `ledger`.");
    while !c.is_due() {
        let n = c.entries().len();
        say(
            &mut c,
            Role::Assistant,
            &format!("Report {n}: {}", prose(120, n)),
        );
        say(&mut c, Role::User, &format!("Go on with part {n}."));
    }
    assert!(c.tokens() < 4_600);
    let report = run(&mut c, RunOptions::default()).unwrap();
    assert_eq!(report.preserved, 3);
    let window = c.window();
    let slot = &window.messages()[0];
    assert!(
        slot.parts()[0]
            .words()
            .contains("- Never touch the table `ledger`")
    );
    assert_eq!(slot.role(), Role::Assistant);
    assert!(slot.parts()[0].words().starts_with("[SUMMARY]\n"));
    let first = c.view().layers[0].clone();
    while !c.is_due() {
        let n = c.entries().len();
        say(
            &mut c,
            Role::Assistant,
            &format!("Report {n}: {}", prose(120, n)),
        );
        say(&mut c, Role::User, &format!("Go on with part {n}."));
    }
    run(&mut c, RunOptions::default()).unwrap();
    assert_eq!(
        c.view().layers.len(),
        2,
        "the first summary is not summarised again"
    );
    assert_eq!(c.view().layers[0].covers, first.covers);
}
