//! What is asked, and of which conversations: our own in `tests/fixtures/survival`, and recorded ones beside the repository.

use std::collections::BTreeMap;
use std::path::PathBuf;

pub(crate) use palimpsest_core::forgotten::Update;
use serde_json::{Value, json};

/// A question, the words of its answer, and the messages that are needed for it.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) answer: String,
    pub(crate) evidence: Vec<usize>,
}

/// A conversation and what is known about it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Talk {
    pub(crate) id: String,
    pub(crate) language: String,
    pub(crate) system: String,
    /// In OpenAI's shape.
    pub(crate) messages: Vec<Value>,
    /// `i` for a message that says something, `v` for a vague one, `e` for an empty one; nothing where nobody said.
    pub(crate) labels: Vec<char>,
    pub(crate) questions: Vec<Question>,
    pub(crate) facts: Vec<String>,
    pub(crate) updates: Vec<Update>,
    pub(crate) rules: Vec<String>,
}

/// All that a message says: its words, and the arguments of its calls.
pub(crate) fn said(message: &Value) -> String {
    let mut out = match &message["content"] {
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|p| p["text"].as_str()).collect();
            texts.join("\n")
        }
        other => other.as_str().unwrap_or_default().to_owned(),
    };
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(call["function"]["arguments"].as_str().unwrap_or_default());
    }
    out
}

/// The long chats, each by itself.
pub(crate) fn chats() -> Vec<Talk> {
    ["move", "pottery", "people"]
        .iter()
        .flat_map(|n| own(n))
        .collect()
}

/// Whether there are recorded conversations beside the repository.
pub(crate) fn is_recorded() -> bool {
    at("../shared/data/locomo-dev.json").exists()
}

fn at(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn file(path: &str) -> String {
    let path = at(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn index(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// The conversations of one file of our own.
pub(crate) fn own(name: &str) -> Vec<Talk> {
    let all: Value =
        serde_json::from_str(&file(&format!("tests/fixtures/survival/{name}.json"))).unwrap();
    list(&all)
        .map(|from| Talk {
            id: text(&from["id"]),
            language: text(&from["language"]),
            system: text(&from["system"]),
            messages: list(&from["messages"]).cloned().collect(),
            labels: from["labels"].as_str().unwrap().chars().collect(),
            questions: list(&from["questions"])
                .map(|q| Question {
                    text: text(&q["question"]),
                    answer: text(&q["answer"]),
                    evidence: list(&q["evidence"]).map(index).collect(),
                })
                .collect(),
            facts: list(&from["facts"]).map(|f| text(&f["text"])).collect(),
            updates: list(&from["updates"])
                .map(|u| Update {
                    old: text(&u["old"]),
                    new: text(&u["new"]),
                })
                .collect(),
            rules: list(&from["rules"]).map(|r| text(&r["text"])).collect(),
        })
        .collect()
}

/// Several conversations as one: what is said in the first stands before what is said in the second.
pub(crate) fn joined(id: &str, talks: &[Talk]) -> Talk {
    let mut all = Talk {
        id: id.into(),
        language: talks[0].language.clone(),
        system: talks[0].system.clone(),
        ..Talk::default()
    };
    for (n, talk) in talks.iter().enumerate() {
        let first = all.messages.len();
        all.messages
            .extend(talk.messages.iter().map(|m| renamed(m, n)));
        all.labels.extend(&talk.labels);
        all.questions
            .extend(talk.questions.iter().map(|q| Question {
                evidence: q.evidence.iter().map(|e| e + first).collect(),
                ..q.clone()
            }));
        all.facts.extend(talk.facts.iter().cloned());
        all.updates.extend(talk.updates.iter().cloned());
        all.rules.extend(talk.rules.iter().cloned());
    }
    all
}

/// A message whose calls have names of their own among joined conversations.
fn renamed(message: &Value, n: usize) -> Value {
    let mut own = message.clone();
    let name = |id: &Value| json!(format!("{}_{n}", id.as_str().unwrap_or_default()));
    if let Some(id) = own.get_mut("tool_call_id") {
        *id = name(id);
    }
    if let Some(calls) = own.get_mut("tool_calls").and_then(Value::as_array_mut) {
        for call in calls {
            call["id"] = name(&call["id"]);
        }
    }
    own
}

/// Very long chats of two people, with the lines that answer each question.
pub(crate) fn recorded_friends() -> Vec<Talk> {
    let all: Value = serde_json::from_str(&file("../shared/data/locomo-dev.json")).unwrap();
    list(&all)
        .enumerate()
        .map(|(n, from)| friends(n, from))
        .collect()
}

fn friends(n: usize, from: &Value) -> Talk {
    let talk = &from["conversation"];
    let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
    let mut messages = Vec::new();
    for session in 1..60 {
        for turn in list(&talk[format!("session_{session}")]) {
            let speaker = turn["speaker"].as_str().unwrap();
            let role = if turn["speaker"] == talk["speaker_a"] {
                "user"
            } else {
                "assistant"
            };
            ids.insert(turn["dia_id"].as_str().unwrap(), messages.len());
            let words = format!("{speaker}: {}", text(&turn["text"]));
            messages.push(json!({"role": role, "content": words}));
        }
    }
    // category 5 asks for what was never said
    let questions = list(&from["qa"])
        .filter(|qa| qa["category"] != 5)
        .filter_map(|qa| {
            let ids: Option<Vec<usize>> = list(&qa["evidence"])
                .flat_map(|e| e.as_str().unwrap_or_default().split([';', ' ']))
                .map(str::trim)
                .filter(|e| !e.is_empty())
                .map(|e| ids.get(e).copied())
                .collect();
            Some(Question {
                text: text(&qa["question"]),
                answer: text(&qa["answer"]),
                evidence: ids.filter(|ids| !ids.is_empty())?,
            })
        });
    Talk {
        id: format!("friends-{n}"),
        language: "en".into(),
        questions: questions.collect(),
        messages,
        ..Talk::default()
    }
}

fn listed(id: String, messages: &Value) -> Talk {
    let mut talk = Talk {
        id,
        language: "en".into(),
        ..Talk::default()
    };
    for message in list(messages) {
        match message["role"].as_str() {
            Some("system") => talk.system = said(message),
            Some("tool") => {
                let id = match &message["tool_call_id"] {
                    Value::Null => &message["tool_call_ids"][0],
                    id => id,
                };
                talk.messages
                    .push(json!({"role": "tool", "tool_call_id": id, "content": text_of(message)}));
            }
            Some(role) => {
                let mut own = json!({"role": role, "content": text_of(message)});
                if list(&message["tool_calls"]).next().is_some() {
                    own["tool_calls"] = message["tool_calls"].clone();
                }
                talk.messages.push(own);
            }
            None => {}
        }
    }
    talk
}

fn text_of(message: &Value) -> String {
    said(&json!({"content": message["content"]}))
}

/// Recorded cases of a service desk.
pub(crate) fn recorded_service() -> Vec<Talk> {
    let all: Value = serde_json::from_str(&file("../shared/data/tau-airline-dev.json")).unwrap();
    list(&all)
        .enumerate()
        .map(|(n, case)| listed(format!("airline-{n}"), &case["traj"]))
        .collect()
}

/// A recorded trajectory of an agent that cures one defect.
pub(crate) fn recorded_cure() -> Vec<Talk> {
    let all: Value = serde_json::from_str(&file("../shared/data/swe-agent.traj")).unwrap();
    vec![listed("bug fixing".into(), &all["history"])]
}

/// A recorded coding session, its first messages.
pub(crate) fn recorded_coding(most: usize) -> Vec<Talk> {
    let mut talk = Talk {
        id: "coding session".into(),
        language: "en".into(),
        ..Talk::default()
    };
    for line in file("../shared/data/coding-session.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let m = &row["message"];
        match m["role"].as_str() {
            Some("user") => talk
                .messages
                .push(json!({"role": "user", "content": text_of(m)})),
            Some("assistant") => {
                let calls: Vec<Value> = list(&m["content"])
                    .filter(|p| p["type"] == "toolCall")
                    .map(|p| {
                        json!({"id": p["id"], "type": "function",
                            "function": {"name": p["name"], "arguments": p["arguments"].to_string()}})
                    })
                    .collect();
                let mut own = json!({"role": "assistant", "content": text_of(m)});
                if !calls.is_empty() {
                    own["tool_calls"] = Value::Array(calls);
                }
                talk.messages.push(own);
            }
            Some("toolResult") => talk.messages.push(
                json!({"role": "tool", "tool_call_id": m["toolCallId"], "content": text_of(m)}),
            ),
            _ => {}
        }
        if talk.messages.len() >= most {
            break;
        }
    }
    vec![talk]
}

/// Standing instructions as people wrote them, of the part that may be read.
pub(crate) fn recorded_rules(language: &str) -> Vec<String> {
    file("../shared/data/standing-instructions.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|row| {
            let kind = row["type"].as_str().unwrap_or_default();
            // what takes another instruction back is no instruction to keep
            let is_new = kind != "withdraw" && !kind.starts_with("pair");
            row["part"] == "tune" && row["lang"] == language && row["label"] == "standing" && is_new
        })
        .map(|row| text(&row["text"]))
        .collect()
}
