//! Writes Markdown for people and reads it back. Comments that no renderer shows hold the kinds of the parts. A line of
//! the conversation that looks like such a comment gets a backslash before it.

use palimpsest_text::json::ToJson as _;
use std::fmt::Write;

use palimpsest_core::message::{Message, Part, Role};
use palimpsest_core::record::Records;
use palimpsest_text::number::{fixed, shortest};
use palimpsest_text::time::to_iso;
use serde_json::{Value, json};

use super::json_lines::ratio;
use super::{SessionFacts, Transfer, TransferError, path};

const MARK: &str = "<!-- palimpsest ";
const VERSION: u64 = 1;

pub(super) fn is_ours(text: &str) -> bool {
    text.starts_with("<!-- palimpsest session ")
}

pub(super) fn write(transfer: &Transfer) -> String {
    let mut out = String::new();
    let facts = &transfer.facts;
    mark(
        &mut out,
        "session",
        &json!({ "version": VERSION, "facts": facts, "records": transfer.records }),
    );
    let title = if facts.title.is_empty() {
        "Conversation"
    } else {
        &facts.title
    };
    _ = writeln!(
        out,
        "# {}\n\nModel {}, {} to {}, {} compactions.\n",
        one_line(title),
        one_line(&facts.model),
        to_iso(facts.created),
        to_iso(facts.updated),
        facts.compressions
    );
    if !transfer.records.system.is_empty() {
        _ = writeln!(
            out,
            "## System prompt\n\n{}\n",
            escape(&transfer.records.system)
        );
    }
    for (n, message) in path(transfer).into_iter().enumerate() {
        let mut facts =
            json!({ "seq": n, "role": message.role, "origin": message.origin, "at": message.at });
        if let Some(ended) = message.ended {
            facts["ended"] = json!(ended);
        }
        mark(&mut out, "message", &facts);
        let who = match message.role {
            Role::System => "System",
            Role::User => "User",
            Role::Assistant => "Assistant",
            Role::Tool => "Tool",
        };
        _ = writeln!(out, "## {who}\n");
        for part in &message.parts {
            let mut part = part.clone();
            let text = crate::rows::part_text(&mut part)
                .map(std::mem::take)
                .unwrap_or_default();
            mark(&mut out, "part", &json!(part));
            out.push_str(&escape(&text));
            out.push_str("\n\n");
        }
    }
    _ = writeln!(out, "{MARK}end -->\n");
    if !transfer.layers.is_empty() {
        out.push_str("## Layers\n\n| layer | messages | level | tokens before | after | ratio | retention |\n|---|---|---|---|---|---|---|\n");
        for layer in &transfer.layers {
            let range = layer.range();
            _ = writeln!(
                out,
                "| {} | {}–{} | {} | {} | {} | {} | {} |",
                layer.id,
                range.from,
                range.to,
                u8::from(layer.level),
                layer.original_tokens,
                layer.tokens,
                shortest(ratio(layer)),
                fixed(layer.retention.into(), 2)
            );
        }
        for layer in transfer.layers.iter().filter(|l| !l.summary.is_empty()) {
            _ = writeln!(
                out,
                "\n### Layer {}\n\n{}",
                layer.id,
                escape(&layer.summary)
            );
        }
    }
    out
}

fn mark(out: &mut String, name: &str, value: &Value) {
    // Two hyphens would end the comment early for some parsers.
    let json = value.to_json().replace("--", "-\\u002d");
    _ = writeln!(out, "{MARK}{name} {json} -->");
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Adds a backslash before lines that look like a mark, escaped or not.
fn escape(text: &str) -> String {
    change(text, |line| format!("\\{line}"))
}

fn unescape(text: &str) -> String {
    change(text, |line| {
        line.strip_prefix('\\').unwrap_or(line).to_owned()
    })
}

fn change(text: &str, edit: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if line.trim_start_matches('\\').starts_with(MARK) {
            out.push_str(&edit(line));
        } else {
            out.push_str(line);
        }
    }
    out
}

pub(super) fn read(text: &str) -> Result<Transfer, TransferError> {
    let mut out = Transfer::default();
    let mut at = 0;
    let mut line = 1;
    let mut open: Option<Part> = None;
    let mut body = 0;
    let marks: Vec<(usize, usize)> = marks(text);
    for &(from, to) in &marks {
        line += text[at..from].matches('\n').count();
        at = from;
        let damaged = |why: &str| TransferError::Damaged {
            line,
            why: why.to_owned(),
        };
        if let Some(mut part) = open.take() {
            let raw = text.get(body..from).unwrap_or_default();
            let raw = raw.strip_suffix("\n\n").unwrap_or(raw);
            if let Some(slot) = crate::rows::part_text(&mut part) {
                *slot = unescape(raw);
            }
            let message = out
                .messages
                .last_mut()
                .ok_or_else(|| damaged("a part stands before the first message"))?;
            message.parts.push(part);
        }
        body = to;
        let inside = text[from + MARK.len()..to]
            .trim_end()
            .strip_suffix("-->")
            .ok_or_else(|| damaged("a comment has no end"))?
            .trim_end();
        let (name, json) = inside.split_once(' ').unwrap_or((inside, "null"));
        let value: Value =
            palimpsest_text::json::parse(json).map_err(|e| damaged(&e.to_string()))?;
        let wrong = |e: serde_json::Error| damaged(&e.to_string());
        match name {
            "session" => {
                let version = value.get("version").and_then(Value::as_u64).unwrap_or(0);
                if version > VERSION {
                    return Err(TransferError::Newer(version));
                }
                out.facts = palimpsest_text::json::read_value::<SessionFacts>(&value["facts"])
                    .map_err(wrong)?;
                out.records = palimpsest_text::json::read_value::<Records>(&value["records"])
                    .map_err(wrong)?;
            }
            "message" => {
                let seq = out.messages.len() as u32;
                out.messages.push(Message {
                    seq,
                    parent: seq.checked_sub(1),
                    role: palimpsest_text::json::read_value(&value["role"]).map_err(wrong)?,
                    origin: palimpsest_text::json::read_value(&value["origin"]).map_err(wrong)?,
                    parts: Vec::new(),
                    at: value["at"].as_f64().unwrap_or(0.0),
                    ended: palimpsest_text::json::read_value(&value["ended"]).map_err(wrong)?,
                });
            }
            "part" => open = Some(palimpsest_text::json::read_value(&value).map_err(wrong)?),
            "end" => break,
            _ => return Err(damaged("an unknown mark")),
        }
    }
    if open.is_some() {
        return Err(TransferError::Damaged {
            line,
            why: "the file ends in the middle of a message".into(),
        });
    }
    out.facts.tip = out.messages.last().map(|m| m.seq);
    Ok(out)
}

/// The places of the marks, from the first byte to the end of the line with its break.
fn marks(text: &str) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(MARK) {
            out.push((at, at + line.len()));
        }
        at += line.len();
    }
    out
}
