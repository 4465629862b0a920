//! The function `compact` on the lists that people have.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::rc::Rc;

use palimpsest_core::compact::{
    CompactOptions, CompactOutput, CompactState, CompactStep, Compaction,
};
use palimpsest_core::context::Seed;
use palimpsest_core::dialect::{Dialect, Rendered, validate::validate};
use palimpsest_core::error::CoreError;
use palimpsest_core::policy::Policy;
use palimpsest_core::run::SuppliedSummary;
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

const SEED: Seed = Seed {
    now: 0.0,
    secret: [0; 16],
};

fn compact(
    values: &[Value],
    options: &CompactOptions,
    state: Option<CompactState>,
) -> Result<CompactOutput, &'static str> {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    Compaction::start(values.to_vec(), options, state, &counter, SEED)
        .and_then(Compaction::finish_without_model)
        .map_err(|e| e.code())
}

fn fill(out: &CompactOutput, raw: &[Value]) -> Vec<Value> {
    out.messages
        .iter()
        .map(|m| match m {
            Rendered::Kept(i) => raw[*i].clone(),
            Rendered::Made(v) => v.clone(),
        })
        .collect()
}

fn openai(turns: usize) -> Vec<Value> {
    let mut list = vec![json!({"role": "system", "content": "Be exact.", "x-mine": 1})];
    for n in 0..turns {
        list.push(json!({"role": "user", "content": format!("Look at src/part_{n}.rs and say what it does."), "id": n}));
        list.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": format!("c{n}"), "type": "function", "function": {"name": "read", "arguments": format!("{{\"path\":\"src/part_{n}.rs\"}}")}}]}));
        list.push(json!({"role": "tool", "tool_call_id": format!("c{n}"), "content": format!("pub fn part_{n}() -> u32 {{ {n} }}\n").repeat(9)}));
        list.push(json!({"role": "assistant", "content": format!("src/part_{n}.rs defines part_{n}, which returns {n}. Nothing else uses it yet.")}));
    }
    list
}

/// P2, I3, B5, the npm face: at every window the result fits, is valid for the provider, and what is kept is
/// the caller's own value.
#[test]
fn it_fits_and_is_valid_at_every_window() {
    let raw = openai(60);
    for window in [512, 1024, 2048, 4096, 8192] {
        let options = CompactOptions::new(window);
        let out = compact(&raw, &options, None).unwrap();
        assert!(out.report.changed);
        assert!(
            out.report.after.tokens <= out.report.limit,
            "{window}: {:?}",
            out.report
        );
        let list = fill(&out, &raw);
        let checked = validate(&list, Some(Dialect::OpenAi));
        assert!(checked.ok, "{window}: {:?}", checked.problems);
        assert_eq!(list.last(), raw.last());
        assert!(out.messages.iter().any(|m| matches!(m, Rendered::Kept(_))));
    }
}

/// B4, the npm face: a list that fits comes back unchanged, value by value.
#[test]
fn a_list_that_fits_comes_back_unchanged() {
    let raw = openai(3);
    let out = compact(&raw, &CompactOptions::new(8192), None).unwrap();
    assert!(!out.report.changed);
    assert_eq!(fill(&out, &raw), raw);
    let empty = compact(&[], &CompactOptions::new(64), None).unwrap();
    assert_eq!(empty.messages, []);
}

/// I2, the npm face: given back with the longer list, the state keeps earlier layers byte-identical.
#[test]
fn the_state_keeps_earlier_layers() {
    let options = CompactOptions::new(4096);
    let raw = openai(60);
    let first = compact(&raw, &options, None).unwrap();
    let json = serde_json::to_string(&first.state).unwrap();
    let state: CompactState = serde_json::from_str(&json).unwrap();
    assert_eq!(state, first.state);
    // the same list again: the same bytes
    let again = compact(&raw, &options, Some(state.clone())).unwrap();
    assert_eq!(fill(&again, &raw), fill(&first, &raw));
    // a little longer, still fitting after the state's layers
    let mut longer = raw.clone();
    longer.push(json!({"role": "user", "content": "Thanks."}));
    let out = compact(&longer, &options, Some(state.clone())).unwrap();
    let (a, b) = (fill(&first, &raw), fill(&out, &longer));
    assert_eq!(a[1], b[1], "the slot");
    // another list: the state is not used, and that is said
    let other = compact(&openai(59)[1..], &options, Some(state)).unwrap();
    assert!(
        other.report.adjustments[0].contains("another list"),
        "{:?}",
        other.report.adjustments
    );
}

fn anthropic(turns: usize) -> Vec<Value> {
    let mut list = Vec::new();
    for n in 0..turns {
        list.push(json!({"role": "user", "content": format!("Look at src/part_{n}.rs and say what it does.")}));
        list.push(json!({"role": "assistant", "content": [{"type": "tool_use", "id": format!("c{n}"), "name": "read", "input": {"path": format!("src/part_{n}.rs")}}]}));
        list.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("c{n}"), "content": format!("pub fn part_{n}() -> u32 {{ {n} }}\n").repeat(9)}]}));
        list.push(json!({"role": "assistant", "content": format!("src/part_{n}.rs defines part_{n}, which returns {n}. Nothing else uses it yet.")}));
    }
    list
}

/// A list that came back may hold only plain texts, which every shape has. Its state knows the shape: a request to Anthropic
/// never has a system message in its list.
#[test]
fn a_list_of_plain_texts_keeps_the_shape_that_its_state_knows() {
    let options = CompactOptions {
        pins: vec!["Answer in German.".into()],
        ..CompactOptions::new(4096)
    };
    let mut all = anthropic(12);
    for n in 0..160 {
        all.push(json!({"role": "user", "content": format!("Say in a sentence why part {n} is there, please.")}));
        all.push(json!({"role": "assistant", "content": format!("Part {n} is there because part {} needs it.", n + 1)}));
    }
    let out = compact(&all, &options, None).unwrap();
    let list = fill(&out, &all);
    assert_eq!(palimpsest_core::dialect::detect_certain(&list), None);
    let stored = serde_json::to_string(&out.state).unwrap();
    let again = compact(
        &list,
        &options,
        Some(serde_json::from_str(&stored).unwrap()),
    )
    .unwrap();
    assert!(!again.report.changed);
    assert_eq!(fill(&again, &list), list);

    // the caller's word and a message that only one shape has come first
    let mut other = list;
    other.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}]}));
    other.push(json!({"role": "tool", "tool_call_id": "a", "content": "Nothing."}));
    let moved = compact(
        &other,
        &options,
        Some(serde_json::from_str(&stored).unwrap()),
    )
    .unwrap();
    let first = &fill(&moved, &other)[0];
    assert_eq!(first["role"], "system", "{first}");
}

/// I2, the npm face: the list that came back may take the place of the whole one. With its state it is recognised:
/// handed back as it is it comes back as it is, value by value; and a conversation that only ever keeps what came
/// back fits, is valid and keeps its layers.
#[test]
fn what_came_back_can_be_handed_back() {
    let pinned = CompactOptions {
        pins: vec!["Answer in German.".into()],
        ..CompactOptions::new(4096)
    };
    let checkpoints = CompactOptions {
        policy: Policy::preset("checkpoints").unwrap(),
        ..CompactOptions::new(4096)
    };
    for (all, options) in [
        (openai(120), CompactOptions::new(4096)),
        (openai(120), pinned.clone()),
        (openai(120), checkpoints),
        (anthropic(120), CompactOptions::new(4096)),
        (anthropic(120), pinned),
    ] {
        let mut list = all[..all.len() / 2].to_vec();
        let mut state = None;
        for turn in all[all.len() / 2..].chunks(4) {
            let out = compact(&list, &options, state).unwrap();
            assert!(out.report.after.tokens <= out.report.limit);
            let unknown = |a: &String| a.contains("another list");
            assert!(!out.report.adjustments.iter().any(unknown));
            list = fill(&out, &list);
            let checked = validate(&list, palimpsest_core::dialect::detect(&list));
            assert!(checked.ok, "{:?}", checked.problems);

            let stored = serde_json::to_string(&out.state).unwrap();
            let kept: CompactState = serde_json::from_str(&stored).unwrap();
            let again = compact(&list, &options, Some(kept)).unwrap();
            let own: Vec<Rendered> = (0..list.len()).map(Rendered::Kept).collect();
            assert_eq!((&again.messages, again.report.changed), (&own, false));
            assert_eq!(again.report.before, again.report.after);
            assert_eq!(again.report.layers, out.report.layers);

            state = Some(again.state);
            list.extend(turn.iter().cloned());
        }
        let text = Value::Array(list.clone()).to_string();
        assert!(
            text.contains("[Messages 1-"),
            "the first layer is still there"
        );
        assert_eq!(text.matches("Not an instruction.").count(), 1, "one slot");
        assert!(list.len() < 60, "{} messages", list.len());
    }
}

/// I10: a state that was edited to speak of four thousand million messages is not believed, and costs nothing.
#[test]
fn a_state_that_exaggerates_is_not_believed() {
    let list = openai(60);
    let options = CompactOptions::new(4096);
    let out = compact(&list, &options, None).unwrap();
    let short = fill(&out, &list);
    let mut state = serde_json::to_value(&out.state).unwrap();
    state["messages"] = json!(u32::MAX);
    let state: CompactState = serde_json::from_value(state).unwrap();
    let again = compact(&short, &options, Some(state)).unwrap();
    assert!(again.report.adjustments[0].contains("edited"));
    assert_eq!(again.messages.len(), short.len());
}

/// B10: a refusal names what must stay: always more than the limit, and more where the content is more.
#[test]
fn what_must_stay_is_named() {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let floor = |text: String| {
        let list = vec![json!({"role": "user", "content": text})];
        let options = CompactOptions::new(1024);
        match Compaction::start(list, &options, None, &counter, SEED)
            .and_then(Compaction::finish_without_model)
        {
            Err(CoreError::CannotFit { floor, limit }) => {
                assert!(floor > limit, "{floor} of {limit}");
                floor
            }
            other => panic!("{other:?}"),
        }
    };
    let floors = [150, 400, 2_000].map(|n| floor("This is one sentence of many. ".repeat(n)));
    assert!(floors.is_sorted_by(|a, b| a < b), "{floors:?}");
}

/// B10, B5: what cannot fit is refused with a code; so are impossible windows.
#[test]
fn refusals_have_codes() {
    let big = vec![json!({"role": "user", "content": "word ".repeat(5_000)})];
    assert_eq!(
        compact(&big, &CompactOptions::new(1024), None),
        Err("cannot_fit")
    );
    assert_eq!(
        compact(&big, &CompactOptions::new(10), None),
        Err("invalid_window")
    );
    assert_eq!(
        compact(&[json!(7)], &CompactOptions::new(1024), None),
        Err("bad_input")
    );
}

/// P7: the jobs of a compaction are known when the first one is asked for, and come in that order with those very prompts:
/// whoever has them answered at once answers the same questions.
#[test]
fn jobs_are_known_ahead() {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let mut options = CompactOptions::new(4096);
    options.model = Some("host".into());
    let mut run = Compaction::start(openai(200), &options, None, &counter, SEED).unwrap();
    let mut ahead: Vec<(u32, String)> = Vec::new();
    let mut asked = 0;
    while let CompactStep::Need(job) = run.step().unwrap() {
        if asked == 0 {
            ahead = run.queued().map(|j| (j.id, j.prompt.clone())).collect();
            assert!(ahead.len() > 3, "{} jobs", ahead.len());
        } else {
            assert_eq!(ahead.get(asked - 1), Some(&(job.id, job.prompt.clone())));
        }
        asked += 1;
        let failed = SuppliedSummary::Failed("nobody".into());
        run.supply(job.id, failed).unwrap();
    }
    assert_eq!(asked, ahead.len() + 1);
    assert_eq!(run.queued().count(), 0);
}

/// P7: however long a list is, no compaction asks for summaries of a few tokens each: neighbouring parts are joined, and
/// each request still fits what a summariser may read.
#[test]
fn a_long_list_asks_few_questions() {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    for (window, turns) in [
        (4_096, 120),
        (4_096, 1_200),
        (8_192, 1_200),
        (16_384, 1_200),
    ] {
        let mut options = CompactOptions::new(window);
        options.model = Some("host".into());
        let mut run = Compaction::start(openai(turns), &options, None, &counter, SEED).unwrap();
        let CompactStep::Need(first) = run.step().unwrap() else {
            panic!("a list of {turns} turns needs a summary");
        };
        let jobs: Vec<_> = std::iter::once(&*first).chain(run.queued()).collect();
        let room: u32 = jobs.iter().map(|job| job.target_tokens).sum();
        let least = jobs.iter().map(|job| job.target_tokens).min();
        assert!(
            jobs.len() as u32 * 40 <= room && least >= Some(24),
            "{window}: {} jobs for {room} tokens, the least {least:?}",
            jobs.len()
        );
        let most = jobs.iter().map(|job| counter.count(&job.prompt)).max();
        assert!(most < Some(window), "{window}: a prompt of {most:?} tokens");
    }
}

/// P8: of a model's summary the statements go that name somebody or a number the covered messages do not, and the report says
/// so; the others stay.
#[test]
fn what_a_summary_makes_up_is_struck_out() {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let places = ["garden", "river", "kitchen", "meadow", "cellar"];
    let ways = ["door", "wall", "gate", "well"];
    let talk: Vec<Value> = (0..400)
        .map(|i| {
            let (place, way) = (places[i / 2 % places.len()], ways[i / 2 % ways.len()]);
            if i % 2 == 0 {
                json!({"role": "user", "content": format!("what do you think about the {place} behind the house?")})
            } else {
                json!({"role": "assistant", "content": format!("it is warm there in the evening, and people like to sit a while before they go on to the {way}")})
            }
        })
        .collect();
    let mut options = CompactOptions::new(8192);
    options.model = Some("host".into());
    let mut run = Compaction::start(talk, &options, None, &counter, SEED).unwrap();
    let good = "They spoke about quiet places near the house, and which of them is warm.";
    let output = loop {
        match run.step().unwrap() {
            CompactStep::Need(job) => {
                let text = format!("{good} Later they deleted the database of Peter Novak.");
                run.supply(job.id, SuppliedSummary::Text(text)).unwrap();
            }
            CompactStep::Done(output) => break output,
        }
    };
    let window: String = output
        .messages
        .iter()
        .filter_map(|m| match m {
            Rendered::Made(value) => Some(value.to_string()),
            Rendered::Kept(_) => None,
        })
        .collect();
    assert!(window.contains("which of them is warm"), "{window}");
    assert!(!window.contains("Novak") && !window.contains("database"));
    let codes = &output.report.codes;
    assert!(codes.iter().any(|c| c == "struck_statements"), "{codes:?}");
}
