//! Conversations in files that other programs write: ChatGPT, Claude, Open WebUI, plain lists and JSON Lines of messages.
//!
//! [`parse`] reads the text of a file, [`conversations`] finds what is in it. Messages of plain lists stay as they are;
//! those of other programs become messages as OpenAI's servers take them, with the time in `timestamp` where it is known.

use std::borrow::Cow;

use palimpsest_text::json;
use palimpsest_text::time::from_iso;
use serde_json::{Error, Map, Value};

/// How deep a conversation may lie in lists and wrappers.
const DEPTH: u32 = 4;

/// One conversation of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported<'v> {
    /// Everything that the file has of it.
    pub value: &'v Value,
    /// What was said, oldest first.
    pub messages: Cow<'v, [Value]>,
}

impl Exported<'_> {
    /// Its title, if it has one.
    pub fn title(&self) -> Option<&str> {
        [self.value.get("title"), self.value.get("name")]
            .into_iter()
            .flatten()
            .find_map(Value::as_str)
            .map(str::trim)
            .filter(|title| !title.is_empty())
    }
}

/// Reads the text of a file: JSON, or one message in JSON on each line. The error is that of the text as JSON.
pub fn parse(text: &str) -> Result<Value, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    json::read(text).or_else(|error| {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let messages: Option<Vec<Value>> = lines
            .map(|line| json::read(line).ok().filter(is_message))
            .collect();
        messages
            .filter(|messages| !messages.is_empty())
            .map(Value::Array)
            .ok_or(error)
    })
}

/// Every conversation of a file in which something was said.
pub fn conversations(file: &Value) -> Vec<Exported<'_>> {
    let mut found = Vec::new();
    find(file, DEPTH, &mut found);
    found
}

fn find<'v>(value: &'v Value, depth: u32, found: &mut Vec<Exported<'v>>) {
    let messages = match value {
        Value::Array(list) if list.iter().any(is_message) => Cow::Borrowed(&list[..]),
        message if is_message(message) => Cow::Borrowed(std::slice::from_ref(message)),
        Value::Array(list) if depth > 0 => {
            return list.iter().for_each(|one| find(one, depth - 1, found));
        }
        Value::Object(fields) => {
            if let Some(sessions) = fields.get("sessions").filter(|s| s.is_array() && depth > 0) {
                return find(sessions, depth - 1, found);
            }
            match said_in(fields) {
                Some(messages) => messages,
                None => return,
            }
        }
        _ => return,
    };
    if !messages.is_empty() {
        found.push(Exported { value, messages });
    }
}

/// The messages of one conversation, whichever program wrote it.
fn said_in(fields: &Map<String, Value>) -> Option<Cow<'_, [Value]>> {
    if let Some(mapping) = fields.get("mapping").and_then(Value::as_object) {
        return Some(Cow::Owned(chatgpt(mapping, fields.get("current_node"))));
    }
    if let Some(list) = fields.get("chat_messages").and_then(Value::as_array) {
        return Some(Cow::Owned(list.iter().filter_map(claude).collect()));
    }
    let inner = fields.get("chat").and_then(Value::as_object);
    for fields in [Some(fields), inner].into_iter().flatten() {
        if let Some(history) = fields.get("history").and_then(Value::as_object)
            && let Some(nodes) = history.get("messages").and_then(Value::as_object)
        {
            return Some(Cow::Owned(open_webui(nodes, history.get("currentId"))));
        }
        if let Some(list) = fields.get("messages").and_then(Value::as_array) {
            return Some(Cow::Borrowed(list));
        }
    }
    None
}

fn is_message(value: &Value) -> bool {
    value.get("role").is_some_and(Value::is_string)
}

/// A message as OpenAI's servers take it, if somebody said something. `at` is in milliseconds since 1970; 0 if nobody knows.
fn said(role: &str, text: &str, at: f64) -> Option<Value> {
    // what a tool wrote there has no call to belong to
    if text.trim().is_empty() || !matches!(role, "user" | "assistant" | "system") {
        return None;
    }
    let mut message = serde_json::json!({ "role": role, "content": text });
    if at > 0.0 {
        message["timestamp"] = at.into();
    }
    Some(message)
}

/// Milliseconds of a time in seconds, in milliseconds, or as a date in words of ISO 8601.
fn time(value: Option<&Value>) -> f64 {
    match value {
        Some(Value::String(text)) => from_iso(text),
        Some(value) => {
            let n = value.as_f64().unwrap_or_default();
            // no conversation with a model is older than 1973
            if n < 1e11 { n * 1000.0 } else { n }
        }
        None => 0.0,
    }
}

/// The messages from the node `last` back to the first one, oldest first: the branch that was shown last. Without a name
/// of it the branch of the last node in the file. A circle of parents ends the walk.
fn branch(
    nodes: &Map<String, Value>,
    last: Option<&Value>,
    parent: &str,
    message: impl Fn(&Value) -> Option<Value>,
) -> Vec<Value> {
    let mut messages = Vec::new();
    let named = last.and_then(Value::as_str);
    let mut at = named.or_else(|| nodes.keys().next_back().map(String::as_str));
    for _ in 0..nodes.len() {
        let Some(node) = at.and_then(|id| nodes.get(id)) else {
            break;
        };
        messages.extend(message(node));
        at = node.get(parent).and_then(Value::as_str);
    }
    messages.reverse();
    messages
}

/// ChatGPT: a tree of nodes with a message each.
fn chatgpt(mapping: &Map<String, Value>, last: Option<&Value>) -> Vec<Value> {
    branch(mapping, last, "parent", |node| {
        let message = node.get("message")?;
        let role = message.pointer("/author/role")?.as_str()?;
        let content = message.get("content")?;
        let text = match content.get("parts").and_then(Value::as_array) {
            Some(parts) => joined(parts.iter().filter_map(Value::as_str)),
            None => content.get("text")?.as_str()?.to_owned(),
        };
        said(role, &text, time(message.get("create_time")))
    })
}

/// Claude: a list with names of its own for who speaks.
fn claude(message: &Value) -> Option<Value> {
    let role = match message.get("sender")?.as_str()? {
        "human" => "user",
        "assistant" => "assistant",
        _ => return None,
    };
    let text = message.get("text").and_then(Value::as_str);
    let at = time(message.get("created_at"));
    if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
        return said(role, text, at);
    }
    let parts = message.get("content")?.as_array()?;
    let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
    said(role, &joined(texts), at)
}

/// Open WebUI: a tree of messages.
fn open_webui(nodes: &Map<String, Value>, last: Option<&Value>) -> Vec<Value> {
    branch(nodes, last, "parentId", |message| {
        let role = message.get("role")?.as_str()?;
        let text = message.get("content")?.as_str()?;
        said(role, text, time(message.get("timestamp")))
    })
}

fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(file: &str, expected: &[(&str, &[&str])]) {
        let file = parse(file).unwrap();
        let found = conversations(&file);
        let found: Vec<_> = found
            .iter()
            .map(|one| {
                let texts = one.messages.iter();
                let texts: Vec<_> = texts.map(|m| m["content"].as_str().unwrap()).collect();
                (one.title().unwrap_or_default(), texts)
            })
            .collect();
        let expected: Vec<_> = expected.iter().map(|(t, m)| (*t, m.to_vec())).collect();
        assert_eq!(found, expected, "{file}");
    }

    /// S7: what each program writes is found, at whatever depth; what says nothing is left out.
    #[test]
    fn files_of_other_programs() {
        let node = |parent: Value, role: &str, text: &str| {
            json!({ "parent": parent, "message": {
                "author": { "role": role }, "content": { "parts": [text] }, "create_time": 1_700_000_000.25 } })
        };
        let chatgpt = json!([
            { "title": "Gate", "current_node": "c", "mapping": {
                "a": node(Value::Null, "user", "Where?"), "b": node(json!("a"), "assistant", "Gate 1."),
                "c": node(json!("a"), "assistant", "Gate 4."), "t": node(json!("c"), "tool", "{}") } },
            { "title": "Empty", "current_node": "a", "mapping": { "a": { "parent": null, "message": null } } },
        ]);
        check(&chatgpt.to_string(), &[("Gate", &["Where?", "Gate 4."])]);
        let times = conversations(&chatgpt)[0].messages[0]["timestamp"].as_f64();
        assert_eq!(times, Some(1_700_000_000_250.0));
        check(
            r#"[{"name":" T ","chat_messages":[{"sender":"human","text":"A"},{"sender":"assistant","text":" ","content":[{"text":"B"},{"type":"x"}]}]}]"#,
            &[("T", &["A", "B"])],
        );
        let web = r#"{"history":{"currentId":"b","messages":{"a":{"parentId":null,"role":"user","content":"A"},"b":{"parentId":"a","role":"assistant","content":"B"}}}}"#;
        check(web, &[("", &["A", "B"])]);
        check(
            &format!(r#"[{{"title":"W","chat":{web}}}]"#),
            &[("W", &["A", "B"])],
        );
        check(
            "{\"role\":\"user\",\"content\":\"A\"}\n\n{\"role\":\"assistant\",\"content\":\"B\"}\n",
            &[("", &["A", "B"])],
        );
        check(
            r#"{"palimpsest":1,"sessions":[{"title":"S","messages":[{"role":"user","content":"A"}]},{"messages":[]}]}"#,
            &[("S", &["A"])],
        );
        check(r#"{"role":"user","content":"A"}"#, &[("", &["A"])]);
        check(
            "\u{feff}[{\"role\":\"user\",\"content\":\"A\"}]",
            &[("", &["A"])],
        );
    }

    /// S7: a circle of parents ends, and without the newest node the last one of the file counts.
    #[test]
    fn trees_are_walked_once() {
        let mapping = json!({
            "a": { "parent": "b", "message": { "author": { "role": "user" }, "content": { "parts": ["one"] } } },
            "b": { "parent": "a", "message": { "author": { "role": "assistant" }, "content": { "text": "two" } } } });
        check(
            &json!({ "mapping": mapping, "current_node": "b" }).to_string(),
            &[("", &["one", "two"])],
        );
        check(
            &json!({ "mapping": mapping }).to_string(),
            &[("", &["one", "two"])],
        );
    }

    /// I10: what holds no conversation gives none, and text that is no JSON says why.
    #[test]
    fn other_files() {
        for file in [
            "\"hello\"",
            "{\"a\":1}",
            "[]",
            "[1,2]",
            "[[[[[[[{\"role\":\"user\"}]]]]]]]",
        ] {
            check(file, &[]);
        }
        for file in ["", "{", "{\"role\":\"user\"}\nnot JSON"] {
            assert!(parse(file).is_err(), "{file:?}");
        }
    }
}
