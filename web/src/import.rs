//! A conversation from a file: a list of messages, or an object that holds one.

use std::collections::BTreeMap;

use palimpsest_core::dialect::exports::{self, Exported};
use palimpsest_core::dialect::{self, Dialect};
use palimpsest_core::goal::Goal;
use palimpsest_core::message::{Message, Origin, Part};
use palimpsest_core::record::Pin;
use palimpsest_engine::rows::content_hash;
use palimpsest_engine::session::NewMessage;
use palimpsest_engine::{Archive, Profile};
use serde_json::Value;
use thiserror::Error;

use crate::settings::Settings;

/// The largest file that is read, in bytes.
pub const LARGEST: u32 = 128_000_000;

/// What stands before a system line that was not taken.
const QUOTED: &str = "[System line of the imported conversation]\n";

/// How the conversation of a file stands to the one that is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// All of it is here.
    Here,
    /// It goes on: what comes from this number on is new.
    More(usize),
    /// They went different ways.
    Apart,
}

/// Compares what is here with what a file has. A quoted system line is part of neither.
pub fn meet<'a>(here: impl Iterator<Item = &'a Message>, file: &[NewMessage]) -> Meeting {
    let is_quoted = |parts: &[Part]| parts.first().is_some_and(|p| p.words().starts_with(QUOTED));
    let mut here = here.peekable();
    if here.peek().is_some_and(|m| is_quoted(&m.parts)) {
        here.next();
    }
    let skipped = usize::from(file.first().is_some_and(|m| is_quoted(&m.parts)));
    for (n, new) in file.iter().enumerate().skip(skipped) {
        match here.next() {
            None => return Meeting::More(n),
            Some(old) if old.role == new.role && old.parts == new.parts => {}
            Some(_) => return Meeting::Apart,
        }
    }
    Meeting::Here
}

/// A conversation that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The same for the same conversation.
    pub id: String,
    /// The same for the same content only: where the conversation went another way than the one that is here.
    pub other: String,
    /// Its title.
    pub title: String,
    /// The system lines it begins with. They count only if the person accepts them (S7).
    pub system: String,
    /// What was said.
    pub messages: Vec<NewMessage>,
    /// Its goal, in a file of ours. Counts only if the person accepts it.
    pub goal: Option<Goal>,
    /// Its pins, in a file of ours. They count only if the person accepts them; nothing else of a file is ever pinned.
    pub pins: Vec<Pin>,
    /// Everything that was stored of it, in a file of ours. Counts only if the person accepts it.
    pub archive: Option<Archive>,
}

impl Imported {
    /// The person does not take the system lines: they become the first message, as quoted text (S7).
    pub fn decline_system(&mut self) {
        self.goal = None;
        self.archive = None;
        self.pins.clear();
        let system = std::mem::take(&mut self.system);
        if system.trim().is_empty() {
            return;
        }
        let quoted = NewMessage {
            origin: Origin::Import,
            at: self.messages.first().map_or(0.0, |m| m.at),
            ..NewMessage::user(format!("{QUOTED}{system}"))
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

/// What a file of ours has beside conversations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beside {
    /// The settings, where the file is one of settings and not of sessions.
    pub settings: Option<Settings>,
    /// Profiles by name; what this page cannot read is left out.
    pub profiles: BTreeMap<String, Profile>,
}

impl Beside {
    /// What stands in a file's value.
    fn of(value: &Value) -> Self {
        let field = |key: &str| value.get("palimpsest").and(value.get(key));
        let settings = match field("sessions") {
            None => field("settings"),
            Some(_) => None,
        };
        let profiles = field("profiles").and_then(Value::as_object);
        let read = |(name, value): (&String, &Value)| {
            let profile = Profile::from_json(&value.to_string()).ok()?;
            (!name.trim().is_empty()).then(|| (name.clone(), profile))
        };
        Self {
            settings: settings.and_then(|v| palimpsest_text::json::read_value(v).ok()),
            profiles: profiles.into_iter().flatten().filter_map(read).collect(),
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Reads the conversations of a file, and what it has beside them: a list of messages, one session or a whole vault of
/// ours, or what Open WebUI, ChatGPT and Claude export. `name` is the file's name: it becomes the title where there is
/// none. A file of settings may have no conversation.
pub fn read_whole(text: &str, name: &str) -> Result<(Vec<Imported>, Beside), ImportError> {
    let value = parse(text)?;
    let beside = Beside::of(&value);
    match conversations(&value, text, name) {
        Err(_) if !beside.is_empty() => Ok((Vec::new(), beside)),
        read => read.map(|all| (all, beside)),
    }
}

fn parse(text: &str) -> Result<Value, ImportError> {
    exports::parse(text).map_err(|e| ImportError::NotJson(e.to_string()))
}

#[cfg(test)]
fn read(text: &str, name: &str) -> Result<Vec<Imported>, ImportError> {
    conversations(&parse(text)?, text, name)
}

/// A conversation in which nothing was said is left out; a file in which all are so is refused.
fn conversations(value: &Value, text: &str, name: &str) -> Result<Vec<Imported>, ImportError> {
    let stem = name.strip_suffix(".json").unwrap_or(name);
    let mut all = Vec::new();
    let mut why = ImportError::NoMessages;
    for exported in exports::conversations(value) {
        let hash = match value {
            whole if std::ptr::eq(whole, exported.value) => content_hash(text.as_bytes()),
            _ => content_hash(exported.value.to_string().as_bytes()),
        };
        match conversation(&exported, hash, stem) {
            Ok(one) => all.push(one),
            Err(error) => why = error,
        }
    }
    if all.is_empty() { Err(why) } else { Ok(all) }
}

fn conversation(exported: &Exported, hash: String, stem: &str) -> Result<Imported, ImportError> {
    let (value, list) = (exported.value, &exported.messages);
    let dialect = dialect::detect(list).unwrap_or(Dialect::OpenAi);
    let parsed = dialect::parse(list, dialect, Origin::Import)
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
            ended: None,
        })
        .collect();
    if messages.is_empty() {
        return Err(ImportError::NoMessages);
    }
    let title = exported.title().unwrap_or(stem).chars().take(80).collect();
    let own = |key: &str| value.get(key).cloned().unwrap_or(Value::Null);
    let archive: Option<Archive> = palimpsest_text::json::read_value(&own("archive")).ok();
    let id = own_id(value);
    Ok(Imported {
        // only with everything else is it a session of ours
        archive: archive.filter(|archive| id.as_ref() == Some(&archive.id)),
        id: id
            .or_else(|| foreign_id(value))
            .unwrap_or_else(|| hash.clone()),
        other: hash,
        title,
        system,
        messages,
        goal: palimpsest_text::json::read_value(&own("goal")).unwrap_or_default(),
        pins: palimpsest_text::json::read_value(&own("pins")).unwrap_or_default(),
    })
}

/// The identifier of a session of ours: the same session again is no second one.
fn own_id(value: &Value) -> Option<String> {
    let id = value.get("id")?.as_str()?;
    let own = value.get("layers").is_some() && value.get("pins").is_some();
    let plain = id.len() <= 64 && id.bytes().all(|b| b.is_ascii_alphanumeric());
    (own && plain && !id.is_empty()).then(|| id.to_owned())
}

/// The identifier of a conversation of another app: exported again, it is no second one. It cannot be that of a session of
/// ours.
fn foreign_id(value: &Value) -> Option<String> {
    let app = ["mapping", "chat_messages", "chat"]
        .into_iter()
        .find(|key| value.get(key).is_some())?;
    let id = ["conversation_id", "uuid", "id"]
        .iter()
        .find_map(|key| value.get(*key)?.as_str())?;
    Some(content_hash(format!("{app}\n{id}").as_bytes()))
}

#[cfg(test)]
mod tests {

    use palimpsest_core::message::Role;

    use super::*;

    fn one(text: &str, name: &str) -> Imported {
        let mut all = read(text, name).unwrap();
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    /// S3, S7: other apps' conversations keep their times and their identity: exported again with more in it, it is the same
    /// conversation; another one's is another.
    #[test]
    fn other_apps_keep_times_and_identity() {
        let check = |text: &str, longer: &str, times: &[f64]| {
            let (a, b) = (one(text, "a.json"), one(longer, "b.json"));
            let at: Vec<f64> = a.messages.iter().map(|m| m.at).collect();
            assert_eq!(at, times, "{text}");
            assert_eq!(a.id, b.id);
            assert_ne!(a.other, b.other);
            assert_ne!(a.id, a.other);
            let here: Vec<Message> = a.messages.iter().map(stored).collect();
            assert_eq!(meet(here.iter(), &b.messages), Meeting::More(1));
        };
        check(
            r#"[{"uuid":"u1","name":"N","chat_messages":[{"sender":"human","text":"A","created_at":"2023-11-14T22:13:20.5Z"}]}]"#,
            r#"[{"uuid":"u1","name":"N","chat_messages":[{"sender":"human","text":"A","created_at":"2023-11-14T22:13:20.500000+00:00"},{"sender":"assistant","text":"B"}]}]"#,
            &[1_700_000_000_500.0],
        );
        check(
            r#"[{"conversation_id":"c","id":"c","current_node":"a","mapping":{"a":{"parent":null,"message":{"author":{"role":"user"},"create_time":1700000000.25,"content":{"parts":["A"]}}}}}]"#,
            r#"[{"conversation_id":"c","id":"c","current_node":"b","mapping":{"a":{"parent":null,"message":{"author":{"role":"user"},"content":{"parts":["A"]}}},"b":{"parent":"a","message":{"author":{"role":"assistant"},"content":{"parts":["B"]}}}}}]"#,
            &[1_700_000_000_250.0],
        );
        check(
            r#"[{"id":"w","chat":{"history":{"currentId":"1","messages":{"1":{"parentId":null,"role":"user","content":"A","timestamp":1700000000}}}}}]"#,
            r#"[{"id":"w","chat":{"history":{"currentId":"2","messages":{"1":{"parentId":null,"role":"user","content":"A"},"2":{"parentId":"1","role":"assistant","content":"B"}}}}}]"#,
            &[1_700_000_000_000.0],
        );
    }

    fn stored(new: &NewMessage) -> Message {
        Message {
            seq: 0,
            parent: None,
            role: new.role,
            origin: new.origin,
            parts: new.parts.clone(),
            at: new.at,
            ended: new.ended,
        }
    }

    /// S7, F 88: what is here already, what goes on, and what went another way; a quoted system line is no difference.
    #[test]
    fn conversations_meet() {
        let said = |texts: &[&str]| -> Vec<NewMessage> {
            texts.iter().map(|text| NewMessage::user(*text)).collect()
        };
        let check = |here: &[&str], file: &[&str], expected: Meeting| {
            let here: Vec<Message> = said(here).iter().map(stored).collect();
            assert_eq!(meet(here.iter(), &said(file)), expected, "{file:?}");
        };
        let quoted = format!("{QUOTED}Be brief.");
        check(&["a", "b"], &["a", "b"], Meeting::Here);
        check(&["a", "b", "c"], &["a", "b"], Meeting::Here);
        check(&["a"], &["a", "b"], Meeting::More(1));
        check(&["a", "x"], &["a", "b"], Meeting::Apart);
        check(&[&quoted, "a"], &["a"], Meeting::Here);
        check(&["a"], &[&quoted, "a"], Meeting::Here);
        check(&["a"], &[&quoted, "a", "b"], Meeting::More(2));
        check(&[], &["a"], Meeting::More(0));
    }

    /// S7: what was stored of a session counts only for that session, and only where the person accepts it.
    #[test]
    fn an_archive_belongs_to_its_session() {
        let file = |id: &str| {
            format!(
                r#"{{"id":"abc123","title":"T","layers":[],"pins":[],"messages":[{{"role":"user","content":"Hi"}}],
                "archive":{{"id":"{id}","head":"{{}}","rows":[["messages",[0],"x"]],"texts":[]}}}}"#
            )
        };
        let mut own = one(&file("abc123"), "x.json");
        assert_eq!(own.archive.as_ref().unwrap().rows.len(), 1);
        own.decline_system();
        assert_eq!(own.archive, None);
        assert_eq!(one(&file("other"), "x.json").archive, None);
    }

    /// S7: a session of ours keeps its identity, so that importing it again adds nothing.
    #[test]
    fn our_own_sessions_keep_their_identity() {
        let session = r#"{"id":"abc123","title":"T","layers":[],"goal":null,
            "pins":[{"id":1,"kind":"pin","text":"Keep"}],"messages":[{"role":"user","content":"Hi"}]}"#;
        let vault = format!(r#"{{"palimpsest":1,"sessions":[{session}]}}"#);
        let read_in = one(&vault, "vault.json");
        assert_eq!(
            (read_in.id.as_str(), read_in.pins.len(), &read_in.goal),
            ("abc123", 1, &None)
        );
        // a foreign file cannot name a session of ours
        let foreign = r#"{"id":"abc123","title":"T","messages":[{"role":"user","content":"Hi"}]}"#;
        assert_ne!(one(foreign, "x.json").id, "abc123");
    }

    /// S7: roles, origin, system lines and title; the same file has the same identity.
    #[test]
    fn an_openai_list_is_read() {
        let text = r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c1","content":"ok"},{"role":"assistant","content":"Done."}]"#;
        let read_in = one(text, "talk.json");
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
        assert_eq!(read_in.id, one(text, "other.json").id);
        let wrapped = format!(r#"{{"title":" Auth ","messages":{text}}}"#);
        assert_eq!(one(&wrapped, "talk.json").title, "Auth");
    }

    /// S7, I8: what somebody demands in a file is never pinned, whoever says it there.
    #[test]
    fn demands_of_a_file_are_not_pinned() {
        let text = r#"[{"role":"user","content":"Always answer in English. What is up?"},
            {"role":"assistant","content":"Never open the oven."},
            {"role":"user","content":"From now on always answer in German."}]"#;
        assert_eq!(one(text, "talk.json").pins, []);
    }

    /// S7: system lines that are not taken become quoted text at the beginning, of an import's origin.
    #[test]
    fn a_declined_system_line_is_quoted() {
        let text = r#"[{"role":"system","content":"Obey me."},{"role":"user","content":"Hi"}]"#;
        let mut read_in = one(text, "talk.json");
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
        check("[1,2]", "no list of messages");
        check(r#"[{"role":"wizard","content":"x"}]"#, "essage 0");
    }
}
