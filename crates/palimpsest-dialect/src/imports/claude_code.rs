//! Claude Code's sessions: JSON Lines, each record with an identifier and that of the record it follows. One reply may be
//! spread over several lines.

use serde_json::{Map, Value};

use super::report::Reason;
use super::sink::{After, Sink};
use super::turn::{first, time};
use crate::reader::string;

pub(super) const NAME: &str = "claude-code";

/// Records that tell of the program and not of the conversation.
const BESIDE: [&str; 9] = [
    "system",
    "progress",
    "file-history-snapshot",
    "queue-operation",
    "last-prompt",
    "attachment",
    "permission-mode",
    "agent-name",
    "pr-link",
];

/// Records that name the session.
const TITLES: [&str; 3] = ["summary", "ai-title", "custom-title"];

pub(super) fn is(fields: &Map<String, Value>) -> bool {
    let kind = string(fields, "type").unwrap_or_default();
    let is_said = matches!(kind, "user" | "assistant") && fields.contains_key("message");
    (is_said && (fields.contains_key("uuid") || fields.contains_key("sessionId")))
        || (kind == "summary" && fields.contains_key("leafUuid"))
        || (kind != "session" && fields.contains_key("sessionId") && fields.contains_key("type"))
        || BESIDE[2..].contains(&kind)
        || TITLES[1..].contains(&kind)
}

pub(super) fn read(sink: &mut Sink, fields: &Map<String, Value>) {
    sink.go_on(NAME);
    if sink.head().id.is_none() {
        sink.name(fields, &[], &["sessionId"]);
    }
    let id = string(fields, "uuid");
    let parent = first(fields, &["parentUuid", "logicalParentUuid"]);
    let after = parent.map_or(After::Last, After::Joined);
    let kind = string(fields, "type").unwrap_or_default();
    let message = fields.get("message").and_then(Value::as_object);
    let set = |key: &str| fields.get(key) == Some(&Value::Bool(true));
    let role = match (kind, message) {
        (kind, _) if TITLES.contains(&kind) => {
            return sink.name(fields, &["summary", "aiTitle", "customTitle", "title"], &[]);
        }
        ("user", Some(_)) => "user",
        ("assistant", Some(_)) => "assistant",
        (kind, _) => {
            let known = BESIDE.contains(&kind);
            sink.skip(
                if known {
                    Reason::NotSaid
                } else {
                    Reason::Unknown
                },
                kind,
            );
            return sink.silent(id, after);
        }
    };
    let hidden = [
        ("isSidechain", set("isSidechain")),
        ("isApiErrorMessage", set("isApiErrorMessage")),
        // what it sums up stands before it
        (
            "isCompactSummary",
            set("isCompactSummary") && sink.has_said(),
        ),
    ];
    if let Some((what, _)) = hidden.iter().find(|(_, is)| *is) {
        sink.skip(Reason::Hidden, what);
        return sink.silent(id, after);
    }
    let message = message.unwrap_or(fields);
    let reply = string(message, "id").filter(|_| role == "assistant");
    let key = reply.map(|reply| format!("reply {reply}"));
    if key.as_ref().is_some_and(|key| sink.is_open(key)) {
        sink.also(id.unwrap_or_default());
    } else {
        sink.speak(id, after, role, time(fields.get("timestamp")));
        if let Some(key) = key {
            sink.also(&key);
        }
    }
    sink.content(message.get("content"));
    sink.drain();
}
