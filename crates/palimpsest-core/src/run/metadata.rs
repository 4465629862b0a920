//! Lists the decisions, files and next steps of a layer's range (C1).

use crate::data::marker::{Change, Proposal};
use crate::data::message::{Message, Part, Role};
use palimpsest_text::retention::{Audit, FactClass};
use palimpsest_text::words::segment::prose;

/// The largest number of entries of one kind in a layer. Of merged layers the newest stay.
const MOST: usize = 32;
/// A longer sentence is pasted material and not a step.
const LONGEST_STEP: usize = 240;

/// Decisions, files and next steps of a covered range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    pub(super) key_decisions: Vec<String>,
    pub(super) files_modified: Vec<String>,
    pub(super) next_steps: Vec<String>,
}

/// Parts of tool names that show that the tool changes a file.
const WRITES: [&str; 13] = [
    "write", "edit", "create", "patch", "replace", "insert", "save", "delete", "remove", "move",
    "rename", "append", "update",
];

/// Arguments that name a file.
const PATHS: [&str; 10] = [
    "path",
    "file_path",
    "filepath",
    "filePath",
    "file",
    "filename",
    "file_name",
    "target_file",
    "notebook_path",
    "destination",
];

/// Beginnings and contents of sentences about next steps, in lower case.
const STEP_STARTS: [&str; 22] = [
    "next step",
    "next,",
    "next:",
    "next up",
    "todo",
    "to do:",
    "still to do",
    "remaining:",
    "then we",
    "als nächstes",
    "nächster schritt",
    "nächste schritte",
    "siguiente paso",
    "próximo paso",
    "prochaine étape",
    "ensuite,",
    "下一步",
    "接下来",
    "待办",
    "次に",
    "次のステップ",
    "следующий шаг",
];
const STEP_INSIDE: [&str; 6] = [
    "next step is",
    "still need to",
    "still needs to",
    "remains to be done",
    "we will next",
    "muss noch",
];

impl Metadata {
    /// Reads the covered messages, oldest first, with earlier findings in them. Files are those that tool calls wrote,
    /// then those that the summariser named.
    pub(super) fn of<'a>(
        messages: impl Iterator<Item = &'a Message>,
        audit: &Audit,
        proposals: &[Proposal],
    ) -> Self {
        let mut out = Self::default();
        let decisions = audit
            .facts
            .iter()
            .filter(|f| f.class == FactClass::Decision);
        for fact in decisions {
            push(&mut out.key_decisions, &fact.text);
        }
        for message in messages {
            for part in &message.parts {
                match part {
                    Part::ToolCall {
                        name, arguments, ..
                    } => written(name, arguments, &mut out.files_modified),
                    Part::Text { text } if message.role != Role::Tool => {
                        steps(text, &mut out.next_steps);
                    }
                    _ => {}
                }
            }
        }
        for proposal in proposals {
            match &proposal.change {
                Change::Decision { text, .. } => push(&mut out.key_decisions, text),
                Change::Artifact { path, .. } => push(&mut out.files_modified, path),
                Change::NextStep { text } => push(&mut out.next_steps, text),
                _ => {}
            }
        }
        out
    }
}

/// Joins two lists with each entry once, and keeps the newest if there are too many.
pub(super) fn joined(older: &[String], newer: &[String]) -> Vec<String> {
    let mut out: Vec<String> = older
        .iter()
        .filter(|o| !newer.contains(o))
        .cloned()
        .collect();
    out.extend(newer.iter().cloned());
    let excess = out.len().saturating_sub(MOST);
    out.drain(..excess);
    out
}

/// Adds an entry. A repeated one becomes the newest.
fn push(list: &mut Vec<String>, entry: &str) {
    let entry = entry.trim();
    if entry.is_empty() {
        return;
    }
    list.retain(|e| e != entry);
    list.push(entry.to_owned());
    if list.len() > MOST {
        list.remove(0);
    }
}

/// The files a tool call changes.
fn written(name: &str, arguments: &str, files: &mut Vec<String>) {
    let name = name.to_lowercase();
    if !WRITES.iter().any(|w| name.contains(w)) {
        return;
    }
    let Ok(serde_json::Value::Object(fields)) = palimpsest_text::json::parse(arguments) else {
        return;
    };
    for key in PATHS {
        if let Some(path) = fields.get(key).and_then(serde_json::Value::as_str)
            && path.len() <= LONGEST_STEP
        {
            push(files, path);
        }
    }
}

/// Finds sentences and items about next steps.
fn steps(text: &str, out: &mut Vec<String>) {
    for unit in prose(text) {
        let Some(body) = text.get(unit.start..unit.end).map(str::trim) else {
            continue;
        };
        if body.len() > LONGEST_STEP {
            continue;
        }
        let low = body.to_lowercase();
        let start = low.trim_start_matches(|c: char| !c.is_alphanumeric());
        if STEP_STARTS.iter().any(|s| start.starts_with(s))
            || STEP_INSIDE.iter().any(|s| low.contains(s))
        {
            push(out, body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palimpsest_text::retention::Speaker;

    /// C1: a layer names the decisions, the files that tools wrote and the next steps of its range, each once.
    #[test]
    fn metadata_of_a_range() {
        let say = |seq, role, text: &str| Message::text(seq, role, text);
        let call = |seq, name: &str, arguments: &str| Message {
            parts: vec![Part::ToolCall {
                id: "c".into(),
                name: name.into(),
                arguments: arguments.into(),
            }],
            ..say(seq, Role::Assistant, "")
        };
        let messages = [
            say(0, Role::User, "We decided to use SQLite for the cache."),
            call(1, "write_file", r#"{"path":"src/cache.rs","content":"x"}"#),
            call(2, "read_file", r#"{"path":"src/main.rs"}"#),
            call(3, "str_replace_editor", r#"{"path":"src/cache.rs"}"#),
            call(4, "write_file", "not json"),
            say(
                5,
                Role::Assistant,
                "The cache works. Next step: measure it under load.",
            ),
        ];
        let words: Vec<(Speaker, String)> = messages
            .iter()
            .map(|m| (Speaker::from(m.role), m.words()))
            .collect();
        let audit = Audit::new(words.iter().map(|(s, t)| (*s, t.as_str())));
        let found = Metadata::of(messages.iter(), &audit, &[]);
        assert_eq!(
            found.key_decisions,
            ["We decided to use SQLite for the cache."]
        );
        assert_eq!(found.files_modified, ["src/cache.rs"]);
        assert_eq!(found.next_steps, ["Next step: measure it under load."]);
        assert_eq!(
            joined(&["a".into(), "b".into()], &["b".into(), "c".into()]),
            ["a", "b", "c"]
        );
    }
}
