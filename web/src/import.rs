//! A conversation from a file: a list of messages, or an object that holds one.

use palimpsest_core::dialect::{self, Dialect};
use palimpsest_core::message::Origin;
use palimpsest_engine::rows::content_hash;
use palimpsest_engine::session::NewMessage;
use serde_json::Value;
use thiserror::Error;

/// The largest file that is read, in bytes.
pub const LARGEST: u32 = 32_000_000;

/// A conversation that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The same for the same file.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The system lines it begins with. They count only if the person accepts them (S7).
    pub system: String,
    /// What was said.
    pub messages: Vec<NewMessage>,
}

impl Imported {
    /// The person does not take the system lines: they become the first message, as quoted text (S7).
    pub fn decline_system(&mut self) {
        let system = std::mem::take(&mut self.system);
        if system.trim().is_empty() {
            return;
        }
        let quoted = NewMessage {
            origin: Origin::Import,
            ..NewMessage::user(format!(
                "[System line of the imported conversation]\n{system}"
            ))
        };
        self.messages.insert(0, quoted);
    }
}

/// Why a file is no conversation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    /// It is no JSON.
    #[error("it is not JSON ({0})")]
    NotJson(String),
    /// There is no list of messages in it.
    #[error("it holds no list of messages")]
    NoMessages,
    /// A message is not as it should be.
    #[error("{0}")]
    BadMessage(String),
}

/// Reads a conversation. `name` is the file's name: it becomes the title where the file has none.
pub fn read(text: &str, name: &str) -> Result<Imported, ImportError> {
    let value: Value =
        serde_json::from_str(text).map_err(|e| ImportError::NotJson(e.to_string()))?;
    let (values, title) = match &value {
        Value::Array(list) => (list, None),
        Value::Object(object) => {
            let list = object
                .get("messages")
                .and_then(Value::as_array)
                .ok_or(ImportError::NoMessages)?;
            (
                list,
                object
                    .get("title")
                    .or_else(|| object.get("name"))
                    .and_then(Value::as_str),
            )
        }
        _ => return Err(ImportError::NoMessages),
    };
    let dialect = dialect::detect(values).unwrap_or(Dialect::OpenAi);
    let parsed = dialect::parse(values, dialect, Origin::Import)
        .map_err(|e| ImportError::BadMessage(e.to_string()))?;
    let system = parsed.system_text();
    let messages: Vec<NewMessage> = parsed
        .messages
        .into_iter()
        .map(|m| NewMessage {
            role: m.message.role,
            origin: m.message.origin,
            parts: m.message.parts,
            at: m.message.at,
        })
        .collect();
    if messages.is_empty() {
        return Err(ImportError::NoMessages);
    }
    let stem = name.strip_suffix(".json").unwrap_or(name);
    let title = title
        .map(str::trim)
        .filter(|t| !t.is_empty())
        .unwrap_or(stem)
        .chars()
        .take(80)
        .collect();
    Ok(Imported {
        id: content_hash(text.as_bytes()),
        title,
        system,
        messages,
    })
}

#[cfg(test)]
mod tests {
    use palimpsest_core::message::Role;

    use super::*;

    /// S7: roles, origin, system lines and title; the same file has the same identity.
    #[test]
    fn an_openai_list_is_read() {
        let text = r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c1","content":"ok"},{"role":"assistant","content":"Done."}]"#;
        let read_in = read(text, "talk.json").unwrap();
        assert_eq!(
            (read_in.title.as_str(), read_in.system.as_str()),
            ("talk", "Be brief.")
        );
        let roles: Vec<Role> = read_in.messages.iter().map(|m| m.role).collect();
        assert_eq!(
            roles,
            [Role::User, Role::Assistant, Role::Tool, Role::Assistant]
        );
        assert!(read_in.messages.iter().all(|m| m.origin == Origin::Import));
        assert_eq!(read_in.id, read(text, "other.json").unwrap().id);
        let wrapped = format!(r#"{{"title":" Auth ","messages":{text}}}"#);
        assert_eq!(read(&wrapped, "talk.json").unwrap().title, "Auth");
    }

    /// S7: system lines that are not taken become quoted text at the beginning, of an import's origin.
    #[test]
    fn a_declined_system_line_is_quoted() {
        let text = r#"[{"role":"system","content":"Obey me."},{"role":"user","content":"Hi"}]"#;
        let mut read_in = read(text, "talk.json").unwrap();
        read_in.decline_system();
        assert_eq!((read_in.system.as_str(), read_in.messages.len()), ("", 2));
        let first = &read_in.messages[0];
        assert_eq!((first.role, first.origin), (Role::User, Origin::Import));
        assert_eq!(
            first.parts[0].words(),
            "[System line of the imported conversation]\nObey me."
        );
        // nothing to decline, nothing added
        read_in.decline_system();
        assert_eq!(read_in.messages.len(), 2);
    }

    /// I10: what is no conversation is refused with a sentence.
    #[test]
    fn bad_files_are_refused() {
        let check = |text: &str, part: &str| {
            let said = read(text, "x.json").unwrap_err().to_string();
            assert!(said.contains(part), "{text:?}: {said}");
        };
        check("{", "not JSON");
        check("\"hello\"", "no list of messages");
        check("{\"a\":1}", "no list of messages");
        check("[]", "no list of messages");
        check("[1,2]", "essage");
        check(r#"[{"role":"wizard","content":"x"}]"#, "essage 0");
    }
}
