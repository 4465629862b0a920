//! The session's own tools, answered inside of `send` (G9). Their results are stored in the conversation like any
//! other, and are no more trusted.

use palimpsest_core::context::Context;
use palimpsest_core::message::{Message, Part, Role, Seq, number_of, seq_of};
use palimpsest_core::pass::offload::{self, Reference};
use palimpsest_core::rendition::Rendition;
use palimpsest_core::watermark::MarkReason;
use palimpsest_core::window::quote_tokens;
use palimpsest_text::extractive;
use palimpsest_text::recall::Recall;
use serde_json::{Value, json};

use crate::config::OwnTools;
use crate::error::EngineError;
use crate::ports::Signal;

use super::{CompactOptions, SendOptions, Session, State};

/// The largest number of hits of a search.
const MOST_HITS: usize = 12;

/// One of the session's own tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnTool {
    Recall,
    SearchHistory,
    Compress,
    ActivateSkills,
    DeactivateSkills,
}

impl OwnTools {
    pub(super) fn named(&self, name: &str) -> Option<OwnTool> {
        if !self.enabled {
            return None;
        }
        let at = self.names().iter().position(|n| *n == name)?;
        [
            OwnTool::Recall,
            OwnTool::SearchHistory,
            OwnTool::Compress,
            OwnTool::ActivateSkills,
            OwnTool::DeactivateSkills,
        ]
        .get(at)
        .copied()
    }

    /// The definitions in the form that all servers take. Empty if the tools are off.
    pub fn definitions(&self) -> Vec<Value> {
        if !self.enabled {
            return Vec::new();
        }
        let define = |name: &str, description: &str, properties: Value, required: Value| {
            json!({"type": "function", "function": {"name": name, "description": description,
                "parameters": {"type": "object", "properties": properties, "required": required}}})
        };
        let names = json!({"patterns": {"type": "array", "items": {"type": "string"},
            "description": "Skill names; * matches any letters"}});
        vec![
            define(
                &self.recall,
                "Brings back the exact words of an earlier part of this conversation that is only summarised now.",
                json!({"query": {"type": "string", "description": "What to look for"},
                    "message": {"type": "integer", "description": "Or the number of one message"},
                    "reference": {"type": "string", "description": "Or what stands in the place of an offloaded result: its first line, or its hash"}}),
                json!([]),
            ),
            define(
                &self.search_history,
                "Lists messages of this conversation that are about something, with their numbers.",
                json!({"query": {"type": "string"}}),
                json!(["query"]),
            ),
            define(
                &self.compress_to_checkpoint,
                "Summarises the older part of this conversation now, to make room.",
                json!({"focus": {"type": "string", "description": "What must be kept in detail"}}),
                json!([]),
            ),
            define(
                &self.activate_skills,
                "Switches on blocks of instructions.",
                names.clone(),
                json!(["patterns"]),
            ),
            define(
                &self.deactivate_skills,
                "Switches off blocks of instructions that are not needed any more.",
                names,
                json!(["patterns"]),
            ),
        ]
    }
}

impl Session {
    /// Returns the session's own tool of that name, if it is offered.
    pub(super) fn own_tool(&self, name: &str) -> Option<OwnTool> {
        self.0.state.borrow().head.config.tools.named(name)
    }

    /// Answers a call. The model reads an `Err`.
    pub(super) async fn answer_own(
        &self,
        tool: OwnTool,
        arguments: &str,
        options: &SendOptions,
        signal: &Signal,
    ) -> Result<String, String> {
        // Small models send an empty string if there are no arguments.
        let text = if arguments.trim().is_empty() {
            "{}"
        } else {
            arguments
        };
        let arguments: Value = palimpsest_text::json::parse(text)
            .map_err(|e| format!("The arguments are not JSON: {e}"))?;
        let name = {
            let state = self.0.state.borrow();
            let tools = &state.head.config.tools;
            match tool {
                OwnTool::ActivateSkills => tools.activate_skills.clone(),
                OwnTool::DeactivateSkills => tools.deactivate_skills.clone(),
                _ => tools.compress_to_checkpoint.clone(),
            }
        };
        match tool {
            OwnTool::Recall => self.answer_recall(&arguments),
            OwnTool::SearchHistory => self.answer_search(&arguments),
            OwnTool::Compress => {
                // This call becomes the watermark: a policy that strips does so up to here.
                self.ask_mark(&name, MarkReason::Asked)
                    .await
                    .map_err(|e| e.to_string())?;
                let compact = CompactOptions {
                    focus: arguments
                        .get("focus")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                    ..options.compaction()
                };
                match Box::pin(self.compact(compact, signal.clone())).await {
                    Ok(done) => Ok(format!(
                        "The window went from {} to {} tokens.",
                        done.report.before, done.report.after
                    )),
                    // A refusal because there is nothing to do is an answer, not a failure.
                    Err(EngineError::Refused(refusal)) => {
                        Ok(crate::error::refusal_sentence(&refusal))
                    }
                    Err(error) => Err(error.to_string()),
                }
            }
            OwnTool::ActivateSkills => self
                .switch_skills_by(&name, &patterns(&arguments)?, true)
                .await
                .map(|names| switched("on", &names))
                .map_err(|e| e.to_string()),
            OwnTool::DeactivateSkills => self
                .switch_skills_by(&name, &patterns(&arguments)?, false)
                .await
                .map(|names| switched("off", &names))
                .map_err(|e| e.to_string()),
        }
    }

    fn answer_recall(&self, arguments: &Value) -> Result<String, String> {
        let state = self.0.state.borrow();
        let context = &state.context;
        let counter = context.counter().as_ref();
        let room = context.setup().shares.recall.max(64);
        if let Some(reference) = arguments.get("reference") {
            return answer_reference(&state, reference);
        }
        if let Some(number) = arguments.get("message").and_then(Value::as_u64) {
            let seq = u32::try_from(number).ok().and_then(seq_of);
            let seq = seq.ok_or_else(|| no_message(number))?;
            let entries = context.entries();
            let at = entries
                .binary_search_by_key(&seq, |e| e.message.seq)
                .map_err(|_| no_message(number))?;
            let words = entries[at].message.words();
            return Ok(format!("[{number}] {}", within_quarter(words, context)));
        }
        let query = query(arguments)?;
        let own = &state.head.config.tools;
        let covered = |seq: Seq| matches!(context.view().rendition(seq), Rendition::Covered(_));
        let found = search(context, own, &query, MOST_HITS * 2, covered);
        let lines = within_room(&found, room, counter);
        if lines.is_empty() {
            return Ok("Nothing in the summarised part answers that.".into());
        }
        Ok(lines.join("\n"))
    }

    fn answer_search(&self, arguments: &Value) -> Result<String, String> {
        let state = self.0.state.borrow();
        let context = &state.context;
        let counter = context.counter().as_ref();
        let query = query(arguments)?;
        let own = &state.head.config.tools;
        let found = search(context, own, &query, MOST_HITS, |_| true);
        let short: Vec<(Seq, String)> = found
            .into_iter()
            .map(|(seq, text)| {
                let text = if counter.count(&text) > 40 {
                    extractive::excerpt(&text, 40, counter)
                } else {
                    text
                };
                (seq, text)
            })
            .collect();
        let lines = within_room(&short, context.setup().shares.recall.max(64), counter);
        if lines.is_empty() {
            return Ok("Nothing that was said is about that.".into());
        }
        Ok(lines.join("\n"))
    }
}

/// The text of a reference. Small models write the whole line, a part of it, or only the hash.
fn answer_reference(state: &State, given: &Value) -> Result<String, String> {
    let context = &state.context;
    let shown = offload::references(context);
    let known = |same: &dyn Fn(&Reference) -> bool| shown.iter().find(|r| same(r)).cloned();
    let written = given.as_str().unwrap_or_default().trim();
    let found = match given {
        Value::Object(fields) => {
            let number = |key: &str| fields.get(key).and_then(Value::as_u64);
            let (message, part) = (number("message"), number("part"));
            known(&|r| {
                message == Some(u64::from(number_of(r.message)))
                    && part.is_none_or(|p| p == u64::from(r.part))
            })
        }
        _ => Reference::find(written).or_else(|| {
            let hash = written.trim_matches(|c: char| !c.is_ascii_hexdigit());
            known(&|r| hash.len() >= 6 && r.hash.starts_with(&hash[..hash.len().min(r.hash.len())]))
        }),
    };
    let no_reference = || {
        format!(
            "There is no offloaded result like that. There are: {}",
            shown
                .iter()
                .map(|r| format!(
                    "message {}, part {}, {}",
                    number_of(r.message),
                    r.part,
                    r.hash
                ))
                .collect::<Vec<_>>()
                .join("; ")
        )
    };
    let reference = found.ok_or_else(no_reference)?;
    let text = offload::meant(&reference).find_map(|seq| {
        let stored = state.messages.get(&seq)?;
        let text = offload::text_of(&stored.message, &reference)?;
        Some((number_of(seq), text.to_owned()))
    });
    let (number, text) = text.ok_or_else(no_reference)?;
    Ok(format!("[{number}] {}", within_quarter(text, context)))
}

/// Shortens a message to a quarter of the window, the limit of any result.
fn within_quarter(words: String, context: &Context) -> String {
    let counter = context.counter().as_ref();
    let most = context.setup().shares.window / 4;
    if counter.count_until(&words, most).is_some() {
        words
    } else {
        extractive::excerpt(&words, most, counter)
    }
}

/// Returns the passages that match, the best first.
fn search(
    context: &Context,
    own: &OwnTools,
    query: &str,
    most: usize,
    allowed: impl Fn(Seq) -> bool,
) -> Vec<(Seq, String)> {
    let entries = context.entries();
    // The question itself, and earlier calls and results of its turn, are not answers.
    let turn = entries
        .iter()
        .rposition(|e| e.message.role == Role::User)
        .unwrap_or(entries.len());
    let mut index = Recall::default();
    for entry in &entries[..turn] {
        if allowed(entry.message.seq) {
            index.add(entry.message.seq, &said(&entry.message, own));
        }
    }
    let hits = index.search(query, most, |_| true);
    hits.iter()
        .filter_map(|hit| {
            let at = entries
                .binary_search_by_key(&hit.seq, |e| e.message.seq)
                .ok()?;
            let words = said(&entries[at].message, own);
            let text = words.get(hit.start as usize..hit.end as usize)?.trim();
            Some((hit.seq, text.to_owned()))
        })
        .collect()
}

/// The words of a message without tool arguments and without results of the session's own tools.
fn said(message: &Message, own: &OwnTools) -> String {
    let mut out = String::new();
    for part in &message.parts {
        let text = match part {
            Part::ToolResult {
                name: Some(name), ..
            } if own.names().contains(&name.as_str()) => continue,
            Part::Text { text } | Part::ToolResult { text, .. } | Part::File { text, .. } => text,
            _ => continue,
        };
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(text);
    }
    out
}

/// Returns lines with numbers, the best first, up to `room`.
fn within_room(
    found: &[(Seq, String)],
    room: u32,
    counter: &dyn palimpsest_tokens::TokenCounter,
) -> Vec<String> {
    let mut left = room;
    let mut out = Vec::new();
    for (seq, text) in found {
        let cost = quote_tokens(*seq, text, counter);
        if let Some(rest) = left.checked_sub(cost) {
            left = rest;
            out.push(format!("[{}] {text}", number_of(*seq)));
        }
    }
    out
}

fn no_message(number: u64) -> String {
    format!("There is no message {number} in this conversation.")
}

fn query(arguments: &Value) -> Result<String, String> {
    arguments
        .get("query")
        .and_then(Value::as_str)
        .map(str::trim)
        .filter(|q| !q.is_empty())
        .map(str::to_owned)
        .ok_or_else(|| "Say what to look for: {\"query\": \"…\"}".to_owned())
}

/// Reads patterns from an array, one string, or a string with commas: models write all three.
fn patterns(arguments: &Value) -> Result<Vec<String>, String> {
    let patterns = arguments.get("patterns").or_else(|| arguments.get("names"));
    let list: Vec<String> = match patterns {
        Some(Value::Array(all)) => all
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        Some(Value::String(one)) => one.split(',').map(|p| p.trim().to_owned()).collect(),
        _ => Vec::new(),
    };
    let list: Vec<String> = list.into_iter().filter(|p| !p.is_empty()).collect();
    if list.is_empty() {
        Err("Say which skills: {\"patterns\": [\"name\"]}".into())
    } else {
        Ok(list)
    }
}

fn switched(what: &str, names: &[String]) -> String {
    if names.is_empty() {
        format!("No skill of that name was there to be switched {what}.")
    } else {
        format!("Switched {what}: {}", names.join(", "))
    }
}
