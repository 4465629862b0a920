//! Transcripts of agents: made by a generator of our own, and recorded ones beside the repository.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

/// Numbers that look random and are the same at every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

const PARTS: [&str; 16] = [
    "billing", "ledger", "invoice", "parser", "router", "session", "storage", "worker", "render",
    "widget", "import", "export", "metric", "schema", "report", "filter",
];
const VERBS: [&str; 12] = [
    "load", "store", "merge", "split", "check", "apply", "encode", "decode", "collect", "resolve",
    "format", "flush",
];
const WORDS: [&str; 24] = [
    "the", "value", "of", "each", "entry", "is", "kept", "until", "next", "call", "returns",
    "because", "older", "rows", "are", "written", "before", "new", "ones", "can", "be", "read",
    "again", "here",
];

/// A program that an agent works on: what it can name.
struct World {
    dice: Dice,
    /// Paths and identifiers that were seen, the newest last.
    seen: Vec<String>,
}

impl World {
    fn path(&mut self) -> String {
        let (a, b) = (*self.dice.pick(&PARTS), *self.dice.pick(&PARTS));
        let n = self.dice.below(40);
        let end = *self.dice.pick(&["rs", "ts", "py", "toml"]);
        format!("src/{a}/{b}_{n}.{end}")
    }

    fn name(&mut self) -> String {
        let (a, b) = (*self.dice.pick(&VERBS), *self.dice.pick(&PARTS));
        format!("{a}_{b}_{}", self.dice.below(90))
    }

    fn id(&mut self) -> String {
        format!("req-{:06x}", self.dice.below(0xFF_FFFF))
    }

    /// Something to name in a call: mostly of late, sometimes from far back, now and then new.
    fn again(&mut self, is_path: bool) -> String {
        let of_kind: Vec<&String> = self
            .seen
            .iter()
            .filter(|s| s.contains('/') == is_path)
            .collect();
        let roll = self.dice.below(100);
        if of_kind.is_empty() || roll < 15 {
            return if is_path { self.path() } else { self.name() };
        }
        let back = if roll < 65 {
            of_kind.len().min(40)
        } else {
            of_kind.len()
        };
        let at = of_kind.len() - 1 - self.dice.below(back);
        of_kind[at].clone()
    }

    fn see(&mut self, value: &str) {
        self.seen.push(value.to_owned());
    }

    fn prose(&mut self, words: usize) -> String {
        let words: Vec<&str> = (0..words).map(|_| *self.dice.pick(&WORDS)).collect();
        words.join(" ")
    }

    /// How long an output is, in lines: most are short, a few are very long.
    fn lines(&mut self) -> usize {
        match self.dice.below(100) {
            0..45 => 2 + self.dice.below(8),
            45..80 => 10 + self.dice.below(25),
            80..95 => 35 + self.dice.below(60),
            _ => 100 + self.dice.below(120),
        }
    }

    fn code(&mut self, lines: usize) -> String {
        let mut out = String::new();
        for n in 0..lines {
            let line = match self.dice.below(6) {
                0 => {
                    let name = self.name();
                    if self.dice.chance(30) {
                        self.see(&name);
                    }
                    format!("pub fn {name}(at: usize) -> Option<u32> {{")
                }
                1 => format!("    // {}", self.prose(9)),
                2 => format!("    let total_{n} = {}(at + {n})?;", self.name()),
                3 => format!("    rows.push(({n}, \"{}\"));", self.prose(3)),
                4 => "    }".to_owned(),
                _ => format!("    if at > {} {{ return None; }}", self.dice.below(900)),
            };
            out.push_str(&line);
            out.push('\n');
        }
        out
    }

    fn listing(&mut self, lines: usize) -> String {
        let mut out = String::new();
        for _ in 0..lines {
            let (path, n, words) = (self.path(), self.dice.below(400), self.prose(5));
            if self.dice.chance(25) {
                self.see(&path);
            }
            let _ = writeln!(out, "{path}:{n}: {words}");
        }
        out
    }

    fn run(&mut self, lines: usize) -> String {
        let mut out = String::new();
        for _ in 0..lines {
            let name = self.name();
            let line = if self.dice.chance(8) {
                self.see(&name);
                format!("test {name} ... FAILED")
            } else {
                format!("test {name} ... ok")
            };
            out.push_str(&line);
            out.push('\n');
        }
        let id = self.id();
        self.see(&id);
        let failed = self.dice.below(5);
        let _ = writeln!(out, "run {id}: {lines} passed, {failed} failed");
        out
    }
}

/// One request of a user's and `steps` steps of an agent, each a call and its result. Every `ask`-th step is followed by
/// an answer and another request; never if it is 0.
pub(crate) fn generated(seed: u64, steps: usize, ask: usize) -> Vec<Value> {
    let mut world = World {
        dice: Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        seen: Vec::new(),
    };
    let mut list = vec![
        json!({"role": "system", "content": "You work on a program with the tools that you have. Say little."}),
        json!({"role": "user", "content": "Find out why the totals of src/billing/ledger_7.rs are wrong, and mend it. Never touch the tests."}),
    ];
    world.see("src/billing/ledger_7.rs");
    for step in 0..steps {
        let id = format!("call_{step}");
        let path = world.again(true);
        world.see(&path);
        let lines = world.lines();
        let (tool, arguments, output) = match world.dice.below(10) {
            0..4 => ("read", json!({"path": path}), world.code(lines)),
            4..6 => {
                let pattern = world.again(false);
                (
                    "grep",
                    json!({"pattern": pattern, "path": path}),
                    world.listing(lines.min(60)),
                )
            }
            6..8 => {
                let (old, new) = (world.code(3), world.code(4));
                (
                    "edit",
                    json!({"path": path, "old": old, "new": new}),
                    format!("Replaced 3 lines of {path}."),
                )
            }
            _ => {
                let name = world.again(false);
                ("test", json!({"name": name}), world.run(lines))
            }
        };
        let words = if world.dice.chance(60) {
            let count = 6 + world.dice.below(30);
            json!(format!("{}: {}.", path, world.prose(count)))
        } else {
            Value::Null
        };
        list.push(json!({"role": "assistant", "content": words, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}}]}));
        list.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
        if ask > 0 && step % ask == ask - 1 {
            let (done, path) = (world.prose(40), world.again(true));
            list.push(json!({"role": "assistant", "content": format!("Done: {done}.")}));
            list.push(json!({"role": "user", "content": format!("Good. Now look at {path}: {}.", world.prose(15))}));
        }
    }
    list
}

/// The text of a recorded file, if it is there.
fn recorded(name: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data")
        .join(name);
    std::fs::read_to_string(path).ok()
}

fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|p| p["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// A coding agent's session.
pub(crate) fn coding() -> Option<Vec<Value>> {
    let text = recorded("coding-session.jsonl")?;
    let rows = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut list = vec![json!({"role": "system", "content": "You are a coding agent."})];
    for row in rows {
        let message = &row["message"];
        let content = words(&message["content"]);
        match message["role"].as_str() {
            Some("user") => list.push(json!({"role": "user", "content": content})),
            Some("assistant") => {
                let parts = message["content"].as_array().cloned().unwrap_or_default();
                let calls: Vec<Value> = parts
                    .iter()
                    .filter(|p| p["type"] == "toolCall")
                    .map(|p| json!({"id": p["id"], "type": "function", "function": {"name": p["name"], "arguments": p["arguments"].to_string()}}))
                    .collect();
                if calls.is_empty() && content.is_empty() {
                    continue;
                }
                let mut made = json!({"role": "assistant", "content": content});
                if !calls.is_empty() {
                    made["tool_calls"] = json!(calls);
                }
                list.push(made);
            }
            Some("toolResult") => list.push(
                json!({"role": "tool", "tool_call_id": message["toolCallId"], "content": content}),
            ),
            _ => {}
        }
    }
    Some(list)
}

/// A bug that was mended.
pub(crate) fn mending() -> Option<Vec<Value>> {
    let read: Value = serde_json::from_str(&recorded("swe-agent.traj")?).ok()?;
    let mut list = Vec::new();
    for message in read["history"].as_array()? {
        let content = words(&message["content"]);
        let mut made = json!({"role": message["role"], "content": content});
        match message["role"].as_str()? {
            "assistant" => {
                if let Some(calls) = message["tool_calls"].as_array() {
                    made["tool_calls"] = json!(calls);
                }
            }
            "tool" => {
                let ids = message["tool_call_ids"].as_array();
                made["tool_call_id"] = ids
                    .and_then(|ids| ids.first().cloned())
                    .unwrap_or_else(|| json!("c"));
            }
            _ => {}
        }
        list.push(made);
    }
    Some(list)
}

/// Talks with a service, each with tools; those of many customers one after the other, as one agent has them.
pub(crate) fn service(most: usize) -> Option<Vec<Value>> {
    let read: Value = serde_json::from_str(&recorded("tau-airline-dev.json")?).ok()?;
    let mut list: Vec<Value> = Vec::new();
    for (n, talk) in read.as_array()?.iter().enumerate() {
        for message in talk["traj"].as_array()? {
            if message["role"] == "system" && n > 0 {
                continue;
            }
            let mut message = message.clone();
            if let Some(calls) = message["tool_calls"].as_array_mut() {
                for call in calls {
                    call["id"] = json!(format!("{n}-{}", call["id"].as_str().unwrap_or_default()));
                }
            } else if let Some(made) = message.as_object_mut() {
                made.remove("tool_calls");
            }
            if let Some(id) = message["tool_call_id"].as_str() {
                message["tool_call_id"] = json!(format!("{n}-{id}"));
            }
            if let Some(made) = message.as_object_mut() {
                made.retain(|key, value| {
                    ["role", "content", "tool_calls", "tool_call_id"].contains(&key.as_str())
                        && !(value.is_null() && key != "content")
                });
            }
            list.push(message);
            if list.len() >= most {
                return Some(list);
            }
        }
    }
    Some(list)
}
