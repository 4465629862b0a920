//! The figures of a report are true: tokens, facts and passes equal what is counted here from the lists themselves.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, CompactOutput, CompactState, Compaction};
use palimpsest_core::context::Seed;
use palimpsest_core::dialect::{self, Dialect, Rendered};
use palimpsest_core::message::{Origin, Part, Role};
use palimpsest_core::pass::PassKind;
use palimpsest_core::policy::Policy;
use palimpsest_core::rendition::escape_fences;
use palimpsest_core::run::{Run, RunOptions, RunReport, Step, SuppliedSummary};
use palimpsest_text::retention::{Audit, Fact, Facts, Speaker, extract_from};
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

use crate::scene;

const SEED: Seed = Seed {
    now: 0.0,
    secret: [0; 16],
};

fn try_compact(
    values: &[Value],
    options: &CompactOptions,
    state: Option<CompactState>,
) -> Option<CompactOutput> {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    Compaction::start(values.to_vec(), options, state, &counter, SEED)
        .and_then(Compaction::finish_without_model)
        .ok()
}

fn compact(
    values: &[Value],
    options: &CompactOptions,
    state: Option<CompactState>,
) -> CompactOutput {
    try_compact(values, options, state).unwrap()
}

fn with_preset(window: u32, preset: &str) -> CompactOptions {
    CompactOptions {
        policy: Policy::preset(preset).unwrap(),
        ..CompactOptions::new(window)
    }
}

/// A coding agent's turns, in the shape of `OpenAI`, with marks for the policy that acts on them.
fn turns(count: usize) -> Vec<Value> {
    let mut list = vec![json!({"role": "system", "content": "Be exact."})];
    for n in 0..count {
        let call = |id: String, name: &str, arguments: Value| {
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()}}]})
        };
        list.push(json!({"role": "user", "content": format!("Look at src/part_{n}.rs. Ticket ABC-{n} of 2024-03-{:02} is about it.", n % 28 + 1)}));
        list.push(call(
            format!("c{n}"),
            "read",
            json!({"path": format!("src/part_{n}.rs")}),
        ));
        list.push(json!({"role": "tool", "tool_call_id": format!("c{n}"),
            "content": format!("pub fn part_{n}() -> u32 {{ {} }} // see lib/other_{n}.rs\n", n * 37 + 1000).repeat(9)}));
        list.push(json!({"role": "assistant", "content": format!("src/part_{n}.rs returns {}. We decided to keep part_{n} as it is.", n * 37 + 1000)}));
        if n % 10 == 9 {
            list.push(call(format!("m{n}"), "compress_to_checkpoint", json!({})));
            list.push(json!({"role": "tool", "tool_call_id": format!("m{n}"), "content": "ok"}));
        }
    }
    list
}

fn fill(out: &CompactOutput, raw: &[Value]) -> Vec<Value> {
    let own = |message: &Rendered| match message {
        Rendered::Kept(i) => raw[*i].clone(),
        Rendered::Made(value) => value.clone(),
    };
    out.messages.iter().map(own).collect()
}

/// Turns with large results, of which shorter forms are enough.
fn logs(count: usize) -> Vec<Value> {
    let mut list = Vec::new();
    for n in 0..count {
        let lines: String = (0..120).fold(String::new(), |text, i| {
            text + &format!(
                "2024-03-02 10:{:02}:{:02} INFO worker-{n}: took job {} in {} ms\n",
                i / 60,
                i % 60,
                i * 7 + n,
                i + 10
            )
        });
        list.push(json!({"role": "user", "content": format!("Read log {n}.")}));
        list.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": format!("l{n}"), "type": "function",
            "function": {"name": "read", "arguments": "{}"}}]}));
        list.push(json!({"role": "tool", "tool_call_id": format!("l{n}"), "content": lines}));
        list.push(json!({"role": "assistant", "content": "It is fine."}));
    }
    list
}

/// The lists of the conformance cases, one in each dialect and more, and a list of an agent's turns.
fn lists() -> Vec<(String, Vec<Value>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    let files = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
    let mut lists: Vec<(String, Vec<Value>)> = files
        .filter(|file| file.extension().is_some_and(|e| e == "json"))
        .map(|file| {
            let case: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            (file.file_stem().unwrap().display().to_string(), case)
        })
        .filter(|(_, case)| case["call"] == "compact")
        .map(|(name, case)| (name, case["messages"].as_array().unwrap().clone()))
        .collect();
    lists.push(("turns".into(), turns(30)));
    lists.push(("logs".into(), logs(6)));
    lists.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(lists.len() > 10);
    lists
}

/// A part of a list, as it was read.
#[derive(Debug, Clone, PartialEq)]
struct Said {
    speaker: Speaker,
    /// Of a tool block: whether it is a result, and its id.
    block: Option<(bool, String)>,
    words: String,
}

/// What stands before the summaries and around them, and is not said by anybody.
fn is_frame(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || [
            "<earlier_conversation",
            "</earlier_conversation",
            "<user_demands",
            "</user_demands",
            "[Messages ",
            "[The user's own words]",
            "Reference: what was said",
            "The user's own words from earlier.",
        ]
        .iter()
        .any(|frame| line.starts_with(frame))
        || line.ends_with("tokens) were left out.")
}

/// A line of a summary without the role it is labelled with.
fn unlabelled(line: &str) -> &str {
    ["User: ", "Assistant: ", "Tool: "]
        .iter()
        .find_map(|label| line.strip_prefix(label))
        .unwrap_or(line)
}

/// The words without the quotes that lead them: those stand for one message, and no figure counts them as kept.
fn unquoted(text: &str) -> &str {
    let own = text
        .starts_with("<recalled_quotes>")
        .then(|| text.split_once("</recalled_quotes>"));
    own.flatten()
        .map_or(text, |(_, rest)| rest.trim_start_matches('\n'))
}

/// The parts of a list. The message with the layers is read line by line.
fn said(list: &[Value]) -> Vec<Said> {
    let dialect = dialect::detect(list).unwrap_or(Dialect::OpenAi);
    let parsed = dialect::parse(list, dialect, Origin::Host).unwrap();
    let mut out = Vec::new();
    let mut add = |speaker, block: Option<(bool, &String)>, words: &str| {
        out.push(Said {
            speaker,
            // calls have no names of the caller's there
            block: block.map(|(result, id)| match dialect {
                Dialect::Ollama => (result, String::new()),
                _ => (result, id.clone()),
            }),
            words: words.to_owned(),
        });
    };
    for line in &parsed.system {
        add(Speaker::User, None, &line.text);
    }
    for message in parsed.messages.iter().map(|from| &from.message) {
        let speaker = match message.role {
            Role::Assistant => Speaker::Assistant,
            Role::Tool => Speaker::Tool,
            _ => Speaker::User,
        };
        for part in &message.parts {
            match part {
                Part::Text { text }
                    if text.contains("<earlier_conversation") || text.contains("<user_demands") =>
                {
                    for line in text.lines().filter(|line| !is_frame(line)) {
                        match line
                            .strip_prefix("User (")
                            .and_then(|l| l.split_once("): "))
                        {
                            Some((_, words)) => add(Speaker::User, None, words),
                            None => add(
                                Speaker::Assistant,
                                None,
                                // a line of a layer is no message, though it may say the same
                                &format!("{}\n", unlabelled(line.trim_start_matches("* "))),
                            ),
                        }
                    }
                }
                Part::ToolCall {
                    id,
                    name,
                    arguments,
                } => {
                    let words = format!("{name} {arguments}");
                    add(Speaker::Assistant, Some((false, id)), &words);
                }
                Part::ToolResult { call, text, .. } => add(Speaker::Tool, Some((true, call)), text),
                part if part.words().starts_with("<recalled_quotes>") => {
                    let own = unquoted(part.words());
                    if !own.is_empty() {
                        add(speaker, None, own);
                    }
                }
                part => add(speaker, None, part.words()),
            }
        }
    }
    out
}

/// The text without what passes write into it.
fn unmarked(text: &str) -> String {
    let mut out = text.to_owned();
    for mark in [
        "[condensed ",
        "[offloaded: ",
        "[recall message ",
        "[outdated: ",
        "[the same output ",
        "[shortened, ",
        "[… ",
    ] {
        while let Some(at) = out.find(mark) {
            let end = out[at..].find(']').map_or(out.len(), |e| at + e + 1);
            out.replace_range(at..end, "");
        }
    }
    while let Some(end) = out.find(" bytes not shown]") {
        let at = out[..end].rfind('[').unwrap();
        out.replace_range(at..=end + " bytes not shown".len(), "");
    }
    out
}

/// Counted here: facts of what does not stand any more as it did, of those the ones that stand, and the missing ones
/// whose message stands in a shorter form.
struct Recount {
    touched: u32,
    kept: u32,
    recallable: u32,
    missing: Vec<String>,
    /// Words that are gone without anything in their place.
    gone: Vec<String>,
}

fn recount(old: &[Value], new: &[Value]) -> Recount {
    let (old, new) = (said(old), said(new));
    // the newest stands where the same was said twice
    let mut free = new.clone();
    let mut touched: Vec<&Said> = Vec::new();
    for part in old.iter().rev() {
        match free
            .iter()
            .rposition(|n| n.block == part.block && n.words == part.words)
        {
            Some(at) => {
                free.remove(at);
            }
            None => touched.push(part),
        }
    }
    // whose shorter form stands: a tool block by its id, a text by what an excerpt left of it; the newest first
    let is_form = |part: &Said, n: &Said| {
        let named = part.block.as_ref().is_some_and(|(_, id)| !id.is_empty());
        let ends = n
            .words
            .split_once("[…")
            .and_then(|(head, rest)| Some((head.trim(), rest.split_once(']')?.1.trim())));
        let shortened = ["[shortened, not to be copied]", " bytes not shown]"];
        n.block == part.block
            && (named
                || part.block.is_some() && shortened.iter().any(|mark| n.words.contains(mark))
                || ends.is_some_and(|(head, tail)| {
                    !(head.is_empty() && tail.is_empty())
                        && part.words.starts_with(head)
                        && part.words.trim_end().ends_with(tail)
                }))
    };
    let mut touched: Vec<(&Said, bool)> = touched
        .into_iter()
        .map(|part| {
            let at = free.iter().rposition(|n| is_form(part, n));
            (part, at.map(|at| free.remove(at)).is_some())
        })
        .collect();
    touched.reverse();
    let mut facts: Vec<(Fact, bool)> = Vec::new();
    for (part, marked) in &touched {
        for fact in extract_from(&unmarked(&part.words), part.speaker) {
            let known = facts
                .iter_mut()
                .find(|(f, _)| (f.class, &f.text) == (fact.class, &fact.text));
            match known {
                Some((_, known)) => *known |= marked,
                None => facts.push((fact, *marked)),
            }
        }
    }
    let window: Vec<&str> = new.iter().map(|n| n.words.as_str()).collect();
    let window = window.join("\n");
    let audit = Audit {
        facts: facts.iter().map(|(fact, _)| fact.clone()).collect(),
    };
    let lost = audit.check(&window).missing;
    let all = facts.len();
    facts.retain(|(fact, _)| lost.contains(fact));
    let missing = facts.len();
    let recallable = facts.iter().filter(|(_, marked)| *marked).count();
    let gone = touched.iter().filter(|(_, marked)| !marked);
    Recount {
        touched: all as u32,
        kept: (all - missing) as u32,
        recallable: recallable as u32,
        missing: facts
            .into_iter()
            .filter(|(_, marked)| !marked)
            .map(|(f, _)| f.text)
            .collect(),
        gone: gone.map(|(part, _)| part.words.clone()).collect(),
    }
}

fn tokens(list: &[Value]) -> u32 {
    let counter = Estimator::default();
    let whole = dialect::count(list, None, &counter).unwrap().tokens;
    // a list of somebody's may imitate our fences, which are made harmless; here they are our own
    let dialect = dialect::detect(list).unwrap_or(Dialect::OpenAi);
    let parsed = dialect::parse(list, dialect, Origin::Host).unwrap();
    let parts = parsed.messages.iter().flat_map(|from| &from.message.parts);
    let made = parts.map(Part::words).filter(|text| {
        ["</earlier_conversation>", "</recalled_quotes>"]
            .iter()
            .any(|fence| text.contains(fence))
    });
    let more = made.map(|text| counter.count(&escape_fences(text)) - counter.count(text));
    whole - more.sum::<u32>()
}

/// Compares a report with what is counted here.
fn check(name: &str, old: &[Value], out: &CompactOutput) {
    let new = fill(out, old);
    let report = &out.report;
    let grown = Value::Array(old.to_vec())
        .to_string()
        .contains("<earlier_conversation");
    // the line after the layers is counted whether or not it stands there
    let before = report.before.tokens.abs_diff(tokens(old));
    let quoted = Value::Array(old.to_vec())
        .to_string()
        .contains("<recalled_quotes>");
    let most = if quoted {
        80
    } else if grown {
        16
    } else {
        0
    };
    assert!(before <= most, "{name}: before");
    let after = tokens(&new);
    // where a dialect joins messages of one speaker, the list has fewer of them than the window
    let joins = matches!(dialect::detect(old), Some(Dialect::Anthropic));
    // the frame of the quotes is counted as the most that it takes
    let quoted = match report.recalled.len() as u32 {
        0 => 0,
        count => 32 + count,
    };
    let most = 16 + quoted + if joins { 6 * new.len() as u32 } else { 0 };
    assert!(
        report.after.tokens + 4 >= after && report.after.tokens <= after + most,
        "{name}: after {} counted {after}",
        report.after.tokens
    );
    let freed: u32 = report.passes.iter().map(|p| p.tokens).sum();
    assert_eq!(
        freed,
        report.before.tokens + report.recalled_tokens - report.after.tokens,
        "{name}: {:?}",
        report.passes
    );
    assert_eq!(report.adjustments.len(), report.codes.len(), "{name}");
    let own = recount(old, &new);
    let facts = report.facts;
    let sum = |of: fn(&Facts) -> u32| report.passes.iter().map(|p| of(&p.facts)).sum::<u32>();
    if !report.passes.is_empty() {
        let by_pass = Facts {
            touched: sum(|f| f.touched),
            kept: sum(|f| f.kept),
            recallable: sum(|f| f.recallable),
            dropped: sum(|f| f.dropped),
        };
        assert_eq!(by_pass, facts, "{name}: the passes have all facts");
    }
    for shed in &report.passes {
        let leads_back = matches!(
            shed.pass,
            PassKind::Condense | PassKind::Offload | PassKind::Emergency | PassKind::Earlier
        );
        assert!(leads_back || shed.facts.recallable == 0, "{name}: {shed:?}");
    }
    // a line of an older layer that a quote says now stands, though not as it did: kept either way
    if !grown {
        assert_eq!(facts.touched, own.touched, "{name}");
    }
    assert_eq!(
        (facts.touched - facts.kept, facts.recallable, facts.dropped),
        (
            own.touched - own.kept,
            own.recallable,
            own.missing.len() as u32
        ),
        "{name}: {:?} {:?}",
        own.missing,
        report.dropped
    );
    assert_eq!(report.dropped.len(), own.missing.len().min(64), "{name}");
    assert!(
        report.dropped.iter().all(|d| own.missing.contains(d)),
        "{name}: {:?} {:?}",
        report.dropped,
        own.missing
    );
    if !report.lossy {
        assert_eq!(facts.dropped, 0, "{name}");
        assert!(
            own.gone.is_empty() || report.layers > 0,
            "{name}: {:?}",
            own.gone
        );
    }
}

const PRESETS: [&str; 5] = [
    "balanced",
    "checkpoints",
    "watermark",
    "offload-compact",
    "auto-summarize",
];

/// O3, P9: for every preset and dialect the figures of a report are those that are counted from the two lists: tokens,
/// what each pass took, and what became of the facts.
#[test]
fn figures_are_those_of_the_lists() {
    // calls, lossy ones, ones with marks that lead back, ones that changed the list and lost nothing
    let mut seen = (0, 0, 0, 0);
    for (name, list) in lists() {
        for preset in PRESETS {
            for window in [512, 1024, 2048, 16384] {
                let Some(out) = try_compact(&list, &with_preset(window, preset), None) else {
                    continue;
                };
                check(&format!("{name} {preset} {window}"), &list, &out);
                seen.0 += 1;
                seen.1 += u32::from(out.report.lossy);
                seen.2 += u32::from(out.report.facts.recallable > 0);
                seen.3 += u32::from(out.report.changed && !out.report.lossy);
            }
        }
    }
    assert!(
        seen.0 > 80 && seen.1 > 40 && seen.2 > 5 && seen.3 > 0,
        "{seen:?}"
    );
}

/// Whatever is taken out is told: a pass without a summary does not claim that every fact stands.
#[test]
fn what_leaves_without_a_summary_is_told() {
    for (window, preset) in [(4096, "watermark"), (600, "balanced")] {
        let list = turns(40);
        let out = compact(&list, &with_preset(window, preset), None);
        let shown: Vec<Value> = out
            .messages
            .iter()
            .map(|m| match m {
                Rendered::Kept(i) => list[*i].clone(),
                Rendered::Made(v) => v.clone(),
            })
            .collect();
        let text = Value::Array(shown).to_string();
        assert!(!text.contains("lib/other_0.rs"), "{preset}: it left");
        assert!(out.report.retention < 1.0, "{preset}: {:?}", out.report);
        assert!(!out.report.dropped.is_empty(), "{preset}");
    }
}

/// Each fact is told of the pass that took it: a tool's words of the pass for tools, the talk of the summary.
#[test]
fn facts_are_told_of_their_pass() {
    let list = turns(40);
    let taken = |preset, window| {
        let out = compact(&list, &with_preset(window, preset), None);
        out.report
            .passes
            .iter()
            .map(|p| (p.pass, p.facts))
            .collect::<Vec<_>>()
    };
    let strip = taken("watermark", 4096);
    assert!(
        strip
            .iter()
            .any(|(pass, facts)| *pass == PassKind::Strip && facts.dropped > 0),
        "{strip:?}"
    );
    let all = taken("offload-compact", 2048);
    assert!(
        all.iter()
            .any(|(pass, facts)| *pass == PassKind::Summarize && facts.kept > 0),
        "{all:?}"
    );
}

/// O3: in a growing loop, where what came back is handed back, each call tells what left since the call before, what
/// older layers lose as they fade included; and where the whole list is passed with the state, what the calls before
/// took stands among the passes.
#[test]
fn figures_of_a_growing_loop() {
    for preset in PRESETS {
        let all = turns(60);
        let options = with_preset(4096, preset);
        let (mut list, mut state) = (Vec::new(), None);
        let (mut whole, mut lossy) = (None, 0);
        for (n, turn) in all.chunks(8).enumerate() {
            list.extend(turn.iter().cloned());
            let name = format!("{preset} call {n}");
            let out = compact(&list, &options, state);
            check(&name, &list, &out);
            lossy += u32::from(out.report.lossy);
            list = fill(&out, &list);
            state = Some(out.state);

            let said = &all[..all.len().min((n + 1) * 8)];
            let out = compact(said, &options, whole);
            let freed: u32 = out.report.passes.iter().map(|p| p.tokens).sum();
            let (before, after) = (out.report.before.tokens, out.report.after.tokens);
            let added = out.report.recalled_tokens;
            assert_eq!(
                (before, freed),
                (tokens(said), before + added - after),
                "{name}"
            );
            whole = Some(out.state);
        }
        assert!(lossy > 0, "{preset}");
    }
}

/// E1, O3: an emergency has the same figures in a list and in a session's report, and they are neither 1 nor 0 where some
/// of the facts stand.
#[test]
fn an_emergency_is_told_alike_everywhere() {
    let lines: String = (0..400).fold(String::new(), |text, i| {
        text + &format!("src/file_{i}.rs: {} bytes\n", i * 13 + 7)
    });
    let call =
        json!([{"id": "c", "type": "function", "function": {"name": "list", "arguments": "{}"}}]);
    let list = [
        json!({"role": "user", "content": "List the files."}),
        json!({"role": "assistant", "content": null, "tool_calls": call}),
        json!({"role": "tool", "tool_call_id": "c", "content": lines}),
    ];
    let out = compact(&list, &CompactOptions::new(1024), None);
    check("emergency", &list, &out);
    let told = out.report;

    let mut context = scene::context(1024, Policy::default());
    let parsed = dialect::parse(&list, Dialect::OpenAi, Origin::Host).unwrap();
    for from in parsed.messages {
        context.push(Rc::new(from.message));
    }
    let (report, _) = RunReport::of_emergency(&mut context, told.limit, 0.0).unwrap();
    assert_eq!(report.facts, Some(told.facts));
    assert_eq!(report.lossy, Some(told.lossy));
    assert_eq!(
        (report.retention, report.dropped),
        (told.retention, told.dropped)
    );
    assert_eq!(
        (report.before, report.after),
        (told.before.tokens, told.after.tokens)
    );
    assert_eq!((report.passes, report.codes), (told.passes, told.codes));
    assert!(
        told.retention > 0.0 && told.retention < 1.0,
        "{}",
        told.retention
    );
    assert!(
        told.facts.recallable > 0,
        "the excerpt says that it is one: {:?}",
        told.facts
    );
}

/// G6, P9: a layer whose text an emergency takes out does not keep the retention that it had.
#[test]
fn an_emptied_layer_is_measured_anew() {
    let list = turns(40);
    let mut context = scene::context(4096, Policy::default());
    let parsed = dialect::parse(&list, Dialect::OpenAi, Origin::Host).unwrap();
    for from in parsed.messages {
        context.push(Rc::new(from.message));
    }
    let mut run = Run::new(&context, RunOptions::default(), SEED);
    let view = loop {
        match run.step() {
            Step::Need(job) => {
                let text = job.extractive(&Estimator::default());
                run.supply(job.id, SuppliedSummary::Text(text)).unwrap();
            }
            Step::Done(proposal) => break proposal.view,
            Step::Refused(refusal) => panic!("{refusal:?}"),
        }
    };
    context.set_view(view);
    let before = context.view().layers[0].retention;
    let floor = context.floor();
    let (report, _) = RunReport::of_emergency(&mut context, floor + 8, 0.0).unwrap();
    let layer = &context.view().layers[0];
    assert!(
        report.codes.iter().any(|code| code == "emptied_layers"),
        "{:?}",
        report.codes
    );
    assert_eq!(layer.tokens, 0);
    assert!(
        layer.retention < before / 4.0,
        "{} of {before}",
        layer.retention
    );
    assert_eq!(report.lossy, Some(true));
    assert!(report.retention < 1.0);
}
