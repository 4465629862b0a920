//! A conversation that grows gives what the function `compact` gives of the whole list with the state of the call before.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, CompactState, Compaction, Live, Saved};
use palimpsest_core::context::Seed;
use palimpsest_core::goal::Goal;
use palimpsest_core::policy::Policy;
use palimpsest_dialect::Dialect;
use palimpsest_tokens::{Estimator, TokenCounter};
use proptest::prelude::*;
use serde_json::{Value, json};

const SEED: Seed = Seed {
    now: 0.0,
    secret: [0; 16],
};

fn counter() -> Rc<dyn TokenCounter> {
    Rc::new(Estimator::default())
}

const SHAPES: [Dialect; 6] = [
    Dialect::OpenAi,
    Dialect::Anthropic,
    Dialect::AiSdkUi,
    Dialect::Responses,
    Dialect::Gemini,
    Dialect::Bedrock,
];

/// What somebody does next.
#[derive(Debug, Clone)]
enum Move {
    /// The user says something, now and then something that is meant to last.
    Ask(u8),
    /// The model answers.
    Answer(u8),
    /// The model calls tools; the last of them may get no result for now.
    Call { calls: u8, waits: bool },
    /// A result comes for a call that waits.
    Result,
    /// A thought arrives in an item of its own, before what it leads to.
    Think,
    /// The list is made to fit.
    Fit,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        2 => any::<u8>().prop_map(Move::Ask),
        3 => any::<u8>().prop_map(Move::Answer),
        4 => (1..4_u8, any::<bool>()).prop_map(|(calls, waits)| Move::Call { calls, waits }),
        2 => Just(Move::Result),
        1 => Just(Move::Think),
        4 => Just(Move::Fit),
    ];
    prop::collection::vec(one, 20..90)
}

fn words(n: u8) -> String {
    match n % 7 {
        0 => format!("Never rename part_{n}, the bank reads it. What does src/part_{n}.rs return?"),
        1 => format!("We decided on {n} rows for the ledger, not {}.", n / 2),
        2 => "Thanks!".into(),
        3 => format!(
            "Where did we say that the invoice of May {} goes?",
            n % 28 + 1
        ),
        _ => {
            format!("The order A-{n} goes to Mara, and the archive keeps notes/{n}.md. ").repeat(3)
        }
    }
}

fn output(n: usize) -> String {
    format!("pub fn part_{n}(at: usize) -> u32 {{ {n} }}\n").repeat(4 + n % 19)
}

/// A list in a dialect that grows by moves.
struct Script {
    dialect: Dialect,
    list: Vec<Value>,
    calls: usize,
    waiting: Vec<String>,
}

impl Script {
    fn new(dialect: Dialect) -> Self {
        let first = match dialect {
            Dialect::OpenAi | Dialect::Ollama => {
                Some(json!({"role": "system", "content": "Be exact."}))
            }
            _ => None,
        };
        Self {
            dialect,
            list: first.into_iter().collect(),
            calls: 0,
            waiting: Vec::new(),
        }
    }

    fn say(&mut self, role: &str, text: &str) {
        self.list.push(match self.dialect {
            Dialect::AiSdkUi => json!({"id": format!("m{}", self.list.len()), "role": role, "parts": [{"type": "text", "text": text}]}),
            Dialect::Anthropic if role == "assistant" => json!({"role": role, "content": [
                {"type": "thinking", "thinking": format!("Let me see: {text}"), "signature": "c2ln"},
                {"type": "text", "text": text},
            ]}),
            Dialect::Gemini => json!({"role": if role == "assistant" { "model" } else { role }, "parts": [{"text": text}]}),
            Dialect::Bedrock => json!({"role": role, "content": [{"text": text}]}),
            Dialect::Responses if role == "assistant" => json!({"type": "message", "role": role, "content": [
                {"type": "output_text", "text": text, "annotations": []},
            ]}),
            _ => json!({"role": role, "content": text}),
        });
    }

    fn think(&mut self) {
        if self.dialect == Dialect::Responses {
            let id = format!("rs_{}", self.list.len());
            self.list.push(json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "c2lnbmVk"}));
        }
    }

    fn call(&mut self, calls: u8, waits: bool) {
        let ids: Vec<(String, usize)> = (0..calls)
            .map(|_| {
                self.calls += 1;
                (format!("c{}", self.calls), self.calls)
            })
            .collect();
        let input = |n: usize| json!({"path": format!("src/part_{n}.rs")});
        let last = ids.len() - 1;
        let is_open = |n: usize| waits && n == last;
        match self.dialect {
            Dialect::AiSdkUi => {
                let part = |(at, (id, n)): (usize, &(String, usize))| {
                    if is_open(at) {
                        json!({"type": "tool-read", "toolCallId": id, "state": "input-available", "input": input(*n)})
                    } else {
                        json!({"type": "tool-read", "toolCallId": id, "state": "output-available", "input": input(*n), "output": output(*n)})
                    }
                };
                let mut parts = vec![
                    json!({"type": "step-start"}),
                    json!({"type": "text", "text": words(calls)}),
                    json!({"type": "step-start"}),
                ];
                parts.extend(ids.iter().enumerate().map(part));
                self.list.push(json!({"id": format!("m{}", self.list.len()), "role": "assistant", "parts": parts}));
            }
            Dialect::Anthropic => {
                let call = |(id, n): &(String, usize)| json!({"type": "tool_use", "id": id, "name": "read", "input": input(*n)});
                let mut blocks = vec![
                    json!({"type": "thinking", "thinking": "I read it first.", "signature": "c2ln"}),
                ];
                blocks.extend(ids.iter().map(call));
                self.list
                    .push(json!({"role": "assistant", "content": blocks}));
                let answered = ids.iter().enumerate().filter(|(at, _)| !is_open(*at));
                let results: Vec<Value> = answered
                    .map(|(_, (id, n))| json!({"type": "tool_result", "tool_use_id": id, "content": output(*n)}))
                    .collect();
                if !results.is_empty() {
                    self.list.push(json!({"role": "user", "content": results}));
                }
            }
            Dialect::Gemini => {
                let call = |(_, n): &(String, usize)| json!({"functionCall": {"name": "read", "args": input(*n)}, "thoughtSignature": "c2ln"});
                let parts: Vec<Value> = ids.iter().map(call).collect();
                self.list.push(json!({"role": "model", "parts": parts}));
                let answered = ids.iter().enumerate().filter(|(at, _)| !is_open(*at));
                let results: Vec<Value> = answered
                    .map(|(_, (_, n))| json!({"functionResponse": {"name": "read", "response": {"output": output(*n)}}}))
                    .collect();
                if !results.is_empty() {
                    self.list.push(json!({"role": "user", "parts": results}));
                }
            }
            Dialect::Bedrock => {
                let call = |(id, n): &(String, usize)| json!({"toolUse": {"toolUseId": id, "name": "read", "input": input(*n)}});
                let blocks: Vec<Value> = ids.iter().map(call).collect();
                self.list
                    .push(json!({"role": "assistant", "content": blocks}));
                let answered = ids.iter().enumerate().filter(|(at, _)| !is_open(*at));
                let results: Vec<Value> = answered
                    .map(|(_, (id, n))| json!({"toolResult": {"toolUseId": id, "content": [{"text": output(*n)}]}}))
                    .collect();
                if !results.is_empty() {
                    self.list.push(json!({"role": "user", "content": results}));
                }
            }
            Dialect::Responses => {
                self.think();
                for (id, n) in &ids {
                    self.list.push(json!({"type": "function_call", "call_id": id, "name": "read", "arguments": input(*n).to_string()}));
                }
                for (at, (id, n)) in ids.iter().enumerate() {
                    if is_open(at) {
                        self.waiting.push(id.clone());
                    } else {
                        self.list.push(json!({"type": "function_call_output", "call_id": id, "output": output(*n)}));
                    }
                }
            }
            _ => {
                let calls: Vec<Value> = ids
                    .iter()
                    .map(|(id, n)| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": input(*n).to_string()}}))
                    .collect();
                self.list
                    .push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
                for (at, (id, n)) in ids.iter().enumerate() {
                    if is_open(at) {
                        self.waiting.push(id.clone());
                    } else {
                        self.list.push(
                            json!({"role": "tool", "tool_call_id": id, "content": output(*n)}),
                        );
                    }
                }
            }
        }
    }

    fn result(&mut self) {
        if let Some(id) = self.waiting.pop() {
            self.list.push(if self.dialect == Dialect::Responses {
                json!({"type": "function_call_output", "call_id": id, "output": output(7)})
            } else {
                json!({"role": "tool", "tool_call_id": id, "content": output(7)})
            });
        }
    }
}

fn options(policy: &str, with_goal: bool) -> CompactOptions {
    let mut options = CompactOptions {
        policy: Policy::preset(policy).unwrap(),
        ..CompactOptions::new(1024)
    };
    if with_goal {
        options.pins = vec!["The ledger is in euros.".into()];
        let goal: Goal = serde_json::from_value(json!({"description": "Mend the parser"})).unwrap();
        options.goal = Some(goal);
    }
    options
}

/// Plays the moves both ways; at every fit both give the same list, the same report and the same state.
fn check(dialect: Dialect, options: &CompactOptions, moves: &[Move]) -> usize {
    let mut script = Script::new(dialect);
    let mut live = Live::new(options.clone(), &counter()).unwrap();
    let mut last: Option<CompactState> = None;
    let (mut pushed, mut changed) = (0, 0);
    for (n, step) in moves.iter().enumerate() {
        match step {
            Move::Ask(n) => script.say("user", &words(*n)),
            Move::Answer(n) => script.say("assistant", &words(*n)),
            Move::Call { calls, waits } => script.call(*calls, *waits),
            Move::Result => script.result(),
            Move::Think => script.think(),
            Move::Fit => {
                live.push(script.list[pushed..].to_vec()).unwrap();
                pushed = script.list.len();
                let whole =
                    Compaction::start(script.list.clone(), options, last.clone(), &counter(), SEED)
                        .and_then(Compaction::finish_without_model);
                let fitted = live.fit(SEED);
                match (whole, fitted) {
                    (Ok(whole), Ok(fitted)) => {
                        assert_eq!(fitted.messages, whole.messages, "messages after move {n}");
                        assert_eq!(fitted.report, whole.report, "report after move {n}");
                        let saved: Value = serde_json::from_str(&live.save(&Value::Null)).unwrap();
                        let text = serde_json::to_string(&whole.state).unwrap();
                        let state: Value = serde_json::from_str(&text).unwrap();
                        assert_eq!(saved["state"], state, "state after move {n}");
                        changed += usize::from(fitted.report.changed);
                        last = Some(whole.state);
                    }
                    (whole, fitted) => {
                        let code = fitted.map_err(|e| e.code()).map(|_| ());
                        assert_eq!(
                            code,
                            whole.map_err(|e| e.code()).map(|_| ()),
                            "after move {n}"
                        );
                    }
                }
            }
        }
    }
    changed
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// A list that grows is made to fit as the whole list is, in every shape and under every preset, whatever is unfinished at
    /// its end.
    #[test]
    fn a_growing_list_fits_as_the_whole_list_does(
        moves in moves(),
        dialect in prop::sample::select(SHAPES.to_vec()),
        policy in prop::sample::select(vec!["balanced", "balanced", "checkpoints", "watermark", "offload-compact", "auto-summarize"]),
        with_goal in any::<bool>(),
    ) {
        check(dialect, &options(policy, with_goal), &moves);
    }
}

/// The comparison is one of lists that are shortened.
#[test]
fn the_compared_lists_are_long_enough() {
    let moves: Vec<Move> = (0..60_u8)
        .flat_map(|n| {
            let turn = [
                Move::Ask(n),
                Move::Call {
                    calls: 2,
                    waits: n % 3 == 0,
                },
                Move::Fit,
                Move::Result,
                Move::Answer(n),
                Move::Fit,
            ];
            turn.into_iter()
        })
        .collect();
    for dialect in SHAPES {
        let changed = check(dialect, &options("balanced", false), &moves);
        assert!(changed > 80, "{dialect:?}: {changed} of 120");
    }
}

fn grown() -> (Live, Vec<Value>) {
    let mut script = Script::new(Dialect::OpenAi);
    for n in 0..24 {
        script.say("user", &words(n));
        script.call(2, false);
        script.say("assistant", &words(n + 3));
    }
    let mut live = Live::new(options("balanced", false), &counter()).unwrap();
    live.push(script.list.clone()).unwrap();
    assert!(live.fit(SEED).unwrap().report.changed);
    (live, script.list)
}

/// What cannot be read changes nothing, and is named by its place in the whole list.
#[test]
fn a_refused_push_leaves_the_conversation_as_it_was() {
    let (mut live, list) = grown();
    let before = live.save(&Value::Null);
    let wrong = vec![
        json!({"role": "user", "content": "And now?"}),
        json!({"role": "nobody"}),
    ];
    let error = live.push(wrong).unwrap_err();
    assert_eq!(error.code(), "bad_input");
    let at = format!("Message {}: unknown role", list.len() + 1);
    assert!(error.to_string().starts_with(&at), "{error}");
    assert_eq!((live.len(), live.save(&Value::Null)), (list.len(), before));
}

/// A message that can never fit is an error each time, and what follows works once it is asked for.
#[test]
fn a_refused_fit_leaves_the_conversation_as_it_was() {
    let (mut live, _) = grown();
    let long = "This is one sentence of many. ".repeat(600);
    live.push(vec![json!({"role": "user", "content": long})])
        .unwrap();
    let before = live.save(&Value::Null);
    for _ in 0..2 {
        assert_eq!(live.fit(SEED).unwrap_err().code(), "cannot_fit");
        assert_eq!(live.save(&Value::Null), before);
    }
    live.push(vec![
        json!({"role": "assistant", "content": "Too long for me."}),
        json!({"role": "user", "content": "Then shorter."}),
    ])
    .unwrap();
    assert!(live.fit(SEED).is_ok());
}

/// A saved conversation goes on as the one it was saved from; any other text is refused with a code.
#[test]
fn a_saved_conversation_goes_on() {
    let (mut live, list) = grown();
    let wish = json!({"window": 1024});
    let text = live.save(&wish);
    let saved = Saved::read(&text).unwrap();
    assert_eq!((&saved.options, &saved.messages), (&wish, &list));
    let mut again = Live::resume(saved, options("balanced", false), &counter()).unwrap();
    let more = json!({"role": "user", "content": "What did we decide on for the ledger?"});
    for live in [&mut live, &mut again] {
        live.push(vec![more.clone()]).unwrap();
    }
    assert_eq!(again.fit(SEED).unwrap(), live.fit(SEED).unwrap());
    assert_eq!(again.save(&wish), live.save(&wish));

    let code = |text: &str| Saved::read(text).unwrap_err().code();
    let newer = text.replacen("\"version\":1", "\"version\":2", 1);
    assert_eq!(code(&newer), "saved_newer");
    let edited = text.replacen("Mara", "Nora", 1);
    assert_ne!(edited, text);
    for text in [
        edited.as_str(),
        &text[..text.len() - 9],
        "",
        "{}",
        "[]",
        "{\"version\":1}",
    ] {
        assert_eq!(code(text), "saved_damaged", "{text:.40}");
    }
}

/// A shape that only a later message tells is that of the whole list, and what was done to plain messages before stays.
#[test]
fn the_shape_is_told_by_the_message_that_has_it() {
    let mut live = Live::new(options("balanced", false), &counter()).unwrap();
    let plain = json!({"role": "user", "content": "Look at src/part_1.rs."});
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "src/part_1.rs"}}]});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "fn part_1() {}"}]});
    live.push(vec![plain.clone()]).unwrap();
    assert!(!live.fit(SEED).unwrap().report.changed);
    live.push(vec![call.clone(), result.clone()]).unwrap();
    let list = vec![plain, call, result];
    let options = options("balanced", false);
    let whole = Compaction::start(list, &options, None, &counter(), SEED)
        .and_then(Compaction::finish_without_model)
        .unwrap();
    let fitted = live.fit(SEED).unwrap();
    assert_eq!(
        (fitted.messages, fitted.report.before),
        (whole.messages, whole.report.before)
    );
}
