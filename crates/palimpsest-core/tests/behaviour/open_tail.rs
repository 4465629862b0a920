//! What is not finished stays as it is: an open end of a list, in every dialect.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, CompactOutput, CompactState, Compaction};
use palimpsest_core::context::Seed;
use palimpsest_core::dialect::{Dialect, Rendered};
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

const SEED: Seed = Seed {
    now: 0.0,
    secret: [0; 16],
};
const INTERRUPTED: &str = "the call was interrupted";

fn compact(values: &[Value], dialect: Dialect, state: Option<CompactState>) -> CompactOutput {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let options = CompactOptions {
        dialect: Some(dialect),
        ..CompactOptions::new(2048)
    };
    Compaction::start(values.to_vec(), &options, state, &counter, SEED)
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

fn output(n: usize) -> String {
    format!("pub fn part_{n}() -> u32 {{ {n} }}\n").repeat(9)
}

/// A finished conversation that is longer than the window, and a last question.
fn finished(dialect: Dialect, turns: usize) -> Vec<Value> {
    let mut list = Vec::new();
    for n in 0..turns {
        let (id, ask, path) = (
            format!("c{n}"),
            format!("Look at src/part_{n}.rs."),
            format!("src/part_{n}.rs"),
        );
        let said = format!("src/part_{n}.rs returns {n}. Nothing uses it.");
        match dialect {
            Dialect::OpenAi => list.extend([
                json!({"role": "user", "content": ask}),
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": "read", "arguments": json!({"path": path}).to_string()}}]}),
                json!({"role": "tool", "tool_call_id": id, "content": output(n)}),
                json!({"role": "assistant", "content": said}),
            ]),
            Dialect::Ollama => list.extend([
                json!({"role": "user", "content": ask}),
                json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "read", "arguments": {"path": path}}}]}),
                json!({"role": "tool", "tool_name": "read", "content": output(n)}),
                json!({"role": "assistant", "content": said}),
            ]),
            Dialect::Anthropic => list.extend([
                json!({"role": "user", "content": ask}),
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "read", "input": {"path": path}}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": output(n)}]}),
                json!({"role": "assistant", "content": said}),
            ]),
            Dialect::AiSdkModel => list.extend([
                json!({"role": "user", "content": ask}),
                json!({"role": "assistant", "content": [{"type": "tool-call", "toolCallId": id, "toolName": "read", "input": {"path": path}}]}),
                json!({"role": "tool", "content": [{"type": "tool-result", "toolCallId": id, "toolName": "read", "output": {"type": "text", "value": output(n)}}]}),
                json!({"role": "assistant", "content": said}),
            ]),
            Dialect::Responses => list.extend([
                json!({"role": "user", "content": ask}),
                json!({"type": "reasoning", "id": format!("rs{n}"), "summary": []}),
                json!({"type": "function_call", "call_id": id, "name": "read", "arguments": json!({"path": path}).to_string()}),
                json!({"type": "function_call_output", "call_id": id, "output": output(n)}),
                json!({"role": "assistant", "content": [{"type": "output_text", "text": said}]}),
            ]),
            Dialect::Gemini => list.extend([
                json!({"role": "user", "parts": [{"text": ask}]}),
                json!({"role": "model", "parts": [{"functionCall": {"name": "read", "args": {"path": path}}}]}),
                json!({"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": output(n)}}}]}),
                json!({"role": "model", "parts": [{"text": said}]}),
            ]),
            Dialect::Bedrock => list.extend([
                json!({"role": "user", "content": [{"text": ask}]}),
                json!({"role": "assistant", "content": [{"toolUse": {"toolUseId": id, "name": "read", "input": {"path": path}}}]}),
                json!({"role": "user", "content": [{"toolResult": {"toolUseId": id, "content": [{"text": output(n)}]}}]}),
                json!({"role": "assistant", "content": [{"text": said}]}),
            ]),
            Dialect::AiSdkUi => list.extend([
                json!({"id": format!("u{n}"), "role": "user", "parts": [{"type": "text", "text": ask}]}),
                json!({"id": format!("a{n}"), "role": "assistant", "parts": [
                    {"type": "step-start"},
                    {"type": "tool-read", "toolCallId": id, "state": "output-available", "input": {"path": path}, "output": output(n)},
                    {"type": "step-start"},
                    {"type": "text", "text": said},
                ]}),
            ]),
        }
    }
    let ask = "Now delete the oldest one.";
    list.push(match dialect {
        Dialect::AiSdkUi => {
            json!({"id": "last", "role": "user", "parts": [{"type": "text", "text": ask}]})
        }
        Dialect::Gemini => json!({"role": "user", "parts": [{"text": ask}]}),
        Dialect::Bedrock => json!({"role": "user", "content": [{"text": ask}]}),
        _ => json!({"role": "user", "content": ask}),
    });
    list
}

/// Every way a list of that dialect may end unfinished.
fn ends(dialect: Dialect) -> Vec<Vec<Value>> {
    let arguments = json!({"path": "src/part_0.rs"});
    match dialect {
        Dialect::OpenAi => {
            let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "delete", "arguments": arguments.to_string()}});
            let one = json!({"role": "assistant", "content": "I delete it.", "tool_calls": [call("open")]});
            let two = json!({"role": "assistant", "content": null, "tool_calls": [call("done"), call("open")], "x-mine": 1});
            vec![
                vec![one],
                vec![
                    two,
                    json!({"role": "tool", "tool_call_id": "done", "content": "gone"}),
                ],
                vec![
                    json!({"role": "assistant", "content": null, "function_call": {"name": "delete", "arguments": "{}"}}),
                ],
            ]
        }
        Dialect::Ollama => {
            let call = json!({"function": {"name": "delete", "arguments": arguments}});
            vec![
                vec![json!({"role": "assistant", "content": "", "tool_calls": [call]})],
                vec![
                    json!({"role": "assistant", "content": "", "tool_calls": [call, call]}),
                    json!({"role": "tool", "tool_name": "delete", "content": "gone"}),
                ],
            ]
        }
        Dialect::Anthropic => {
            let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "delete", "input": arguments});
            let thought = json!({"type": "thinking", "thinking": "It is the oldest.", "signature": "c2lnbmVk"});
            vec![
                vec![json!({"role": "assistant", "content": [thought, call("open")]})],
                vec![
                    json!({"role": "assistant", "content": [thought, call("done"), call("open")]}),
                    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "done", "content": "gone"}]}),
                ],
                vec![
                    json!({"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "part_0"}}]}),
                ],
            ]
        }
        Dialect::AiSdkModel => {
            let call = |id: &str| json!({"type": "tool-call", "toolCallId": id, "toolName": "delete", "input": arguments});
            let asked =
                json!({"type": "tool-approval-request", "approvalId": "a", "toolCallId": "open"});
            let answer =
                json!({"type": "tool-approval-response", "approvalId": "a", "approved": true});
            let provider = json!({"type": "tool-call", "toolCallId": "open", "toolName": "delete", "input": arguments, "providerExecuted": true});
            let done = json!({"type": "tool-result", "toolCallId": "done", "toolName": "delete", "output": {"type": "text", "value": "gone"}});
            vec![
                vec![json!({"role": "assistant", "content": [call("open")]})],
                vec![json!({"role": "assistant", "content": [call("open"), asked]})],
                vec![
                    json!({"role": "assistant", "content": [call("open"), asked]}),
                    json!({"role": "tool", "content": [answer]}),
                ],
                vec![
                    json!({"role": "assistant", "content": [call("done"), call("open"), asked]}),
                    json!({"role": "tool", "content": [done, answer]}),
                ],
                vec![
                    json!({"role": "assistant", "content": [provider, asked]}),
                    json!({"role": "tool", "content": [answer]}),
                ],
            ]
        }
        Dialect::Responses => {
            let call = |id: &str| json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "delete", "arguments": arguments.to_string()});
            let thought = json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "c2lnbmVk"});
            vec![
                vec![thought.clone(), call("open")],
                vec![
                    thought,
                    call("done"),
                    call("open"),
                    json!({"type": "function_call_output", "call_id": "done", "output": "gone"}),
                ],
            ]
        }
        Dialect::Gemini => {
            let call = json!({"functionCall": {"name": "delete", "args": arguments}, "thoughtSignature": "c2lnbmVk"});
            vec![
                vec![
                    json!({"role": "model", "parts": [{"text": "It is the oldest.", "thought": true}, call]}),
                ],
                vec![
                    json!({"role": "model", "parts": [call, call]}),
                    json!({"role": "user", "parts": [{"functionResponse": {"name": "delete", "response": {"output": "gone"}}}]}),
                ],
            ]
        }
        Dialect::Bedrock => {
            let call = |id: &str| json!({"toolUse": {"toolUseId": id, "name": "delete", "input": arguments}});
            let thought = json!({"reasoningContent": {"reasoningText": {"text": "It is the oldest.", "signature": "c2lnbmVk"}}});
            vec![
                vec![json!({"role": "assistant", "content": [thought, call("open")]})],
                vec![
                    json!({"role": "assistant", "content": [call("done"), call("open")]}),
                    json!({"role": "user", "content": [{"toolResult": {"toolUseId": "done", "content": [{"text": "gone"}]}}]}),
                ],
            ]
        }
        Dialect::AiSdkUi => {
            let tool = |state: &str, approval: Value| {
                let mut part = json!({"type": "tool-delete", "toolCallId": "open", "state": state, "input": arguments});
                if !approval.is_null() {
                    part["approval"] = approval;
                }
                part
            };
            let done = json!({"type": "tool-delete", "toolCallId": "done", "state": "output-available", "input": arguments, "output": "gone"});
            let states = [
                tool("input-streaming", Value::Null),
                tool("input-available", Value::Null),
                tool("approval-requested", json!({"id": "a"})),
                tool("approval-responded", json!({"id": "a", "approved": true})),
                tool("approval-responded", json!({"id": "a", "approved": false})),
            ];
            let start = json!({"type": "step-start"});
            states
                .iter()
                .flat_map(|open| {
                    [
                        vec![json!({"id": "open", "role": "assistant", "parts": [open]})],
                        vec![
                            json!({"id": "open", "role": "assistant", "metadata": {"n": 1}, "parts": [start, done, start, {"type": "text", "text": "Now this one."}, done, open]}),
                        ],
                    ]
                })
                .collect()
        }
    }
}

/// P2, I3: an unfinished end comes back as it was, message for message, and nobody invents a result for it; with the state and
/// without, and when the list goes on after it.
#[test]
fn an_open_end_stays_as_it_is() {
    for dialect in Dialect::ALL {
        for (n, end) in ends(dialect).into_iter().enumerate() {
            for turns in [1, 20, 60] {
                let mut list = finished(dialect, turns);
                list.extend(end.iter().cloned());
                let out = compact(&list, dialect, None);
                let name = format!("{} {n}, {turns} turns", dialect.name());
                assert_eq!(out.report.changed, turns > 1, "{name}");
                assert!(out.report.after.tokens <= out.report.limit, "{name}");
                let short = fill(&out, &list);
                let text = Value::Array(short.clone()).to_string();
                assert!(!text.contains(INTERRUPTED), "{name}: {text}");
                assert_eq!(short[short.len() - end.len()..], end, "{name}");

                let again = compact(&short, dialect, Some(out.state.clone()));
                let again = fill(&again, &short);
                assert_eq!(again[again.len() - end.len()..], end, "{name}, handed back");
                if matches!(dialect, Dialect::OpenAi | Dialect::Anthropic) {
                    assert_eq!(again, short, "{name}, handed back");
                }
                let stated = compact(&list, dialect, Some(out.state));
                assert_eq!(fill(&stated, &list), short, "{name}, with its state");
            }
        }
    }
}

/// P2: an approval in the last step of a message that is itself longer than the window: the steps before it are compacted,
/// the last one stays.
#[test]
fn the_last_step_of_a_long_message_stays() {
    let mut parts = Vec::new();
    for n in 0..80 {
        parts.push(json!({"type": "step-start"}));
        parts.push(json!({"type": "tool-read", "toolCallId": format!("c{n}"), "state": "output-available", "input": {"path": format!("src/part_{n}.rs")}, "output": output(n)}));
    }
    let open = [
        json!({"type": "step-start"}),
        json!({"type": "text", "text": "I delete the oldest."}),
        json!({"type": "tool-delete", "toolCallId": "open", "state": "approval-responded", "input": {"path": "src/part_0.rs"}, "approval": {"id": "a", "approved": true}}),
    ];
    parts.extend(open.iter().cloned());
    let list = [
        json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": "Read all, then delete the oldest."}]}),
        json!({"id": "a", "role": "assistant", "parts": parts}),
    ];
    let out = compact(&list, Dialect::AiSdkUi, None);
    assert!(out.report.changed && out.report.after.tokens <= out.report.limit);
    let short = fill(&out, &list);
    let answer = short.last().unwrap();
    assert_eq!(answer["id"], "a");
    let parts = answer["parts"].as_array().unwrap();
    assert!(parts.len() < 40, "{} parts", parts.len());
    assert_eq!(parts[parts.len() - open.len()..], open);
    assert!(!answer.to_string().contains(INTERRUPTED));
    assert_eq!(short.iter().filter(|m| m["id"] == "a").count(), 1);
    let stated = compact(&list, Dialect::AiSdkUi, Some(out.state));
    assert_eq!(fill(&stated, &list), short);
}

/// I3: what somebody spoke after is past: there a call without a result gets a stand-in, as providers ask for one.
#[test]
fn a_call_that_was_passed_over_is_interrupted() {
    let mut list = finished(Dialect::OpenAi, 40);
    list.push(ends(Dialect::OpenAi)[0][0].clone());
    list.push(json!({"role": "user", "content": "Never mind, leave it."}));
    let out = compact(&list, Dialect::OpenAi, None);
    let text = Value::Array(fill(&out, &list)).to_string();
    assert_eq!(text.matches(INTERRUPTED).count(), 1, "{text}");
}
