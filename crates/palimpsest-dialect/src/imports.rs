//! Conversations in files that other programs write.
//!
//! [`Importer`] takes the bytes of a file as they arrive and gives messages as soon as they are read: of JSON Lines it holds one
//! line at a time, of an array one element. What a file is shows in its records, not in its name. [`read`] takes a whole text.
//!
//! Messages of plain lists stay as they are; those of other programs become messages as OpenAI's servers take them, with the
//! time in `timestamp` (milliseconds since 1970) where it is known. Every branch of a conversation is read. What is not
//! understood is counted in the [`Report`].
//!
//! Each format is a file of its own, named in [`FORMATS`].

mod chatgpt;
mod claude;
mod claude_code;
mod codex;
mod gemini_cli;
mod jan;
mod libre_chat;
mod lists;
mod lm_studio;
mod lobe_hub;
mod open_webui;
mod opencode;
mod pi;
mod records;
mod report;
mod silly_tavern;
mod sink;
mod talk;
mod tree;
mod turn;

use serde_json::{Map, Value};

use records::{Record, Records};
pub use report::{ImportError, Reason, Report, Skipped};
use sink::Sink;
pub use sink::{Event, Head};
pub use talk::{Branch, Conversation, Imported, read};

/// How deep a conversation may lie in lists and wrappers.
const DEPTH: u32 = 4;

/// The fields of an object that may hold several conversations.
const WRAPPERS: [&str; 4] = ["sessions", "conversations", "chats", "data"];

/// One format of files.
struct Format {
    /// What people call it.
    title: &'static str,
    /// Whether a record is one of this format.
    is: fn(&Map<String, Value>) -> bool,
    read: fn(&mut Sink, &Map<String, Value>),
}

macro_rules! formats {
    ($($title:literal $module:ident)*) => {
        [$(Format { title: $title, is: $module::is, read: $module::read }),*]
    };
}

/// Every format. The first one that knows a record reads it.
const FORMATS: [Format; 14] = formats! {
    "ChatGPT" chatgpt
    "Claude" claude
    "Open WebUI" open_webui
    "LobeHub" lobe_hub
    "LM Studio" lm_studio
    "LibreChat" libre_chat
    "opencode" opencode
    "Gemini CLI" gemini_cli
    "Claude Code" claude_code
    "Codex" codex
    "pi" pi
    "SillyTavern" silly_tavern
    "Jan" jan
    "lists of messages" lists
};

/// Reads a file that arrives in pieces.
#[derive(Default)]
pub struct Importer {
    records: Records,
    sink: Sink,
    is_begun: bool,
    is_json: bool,
    /// Whether what a file of palimpsest's own holds beside conversations was taken already.
    is_own: bool,
    /// Why the first record that is no JSON is none.
    why: Option<String>,
    /// The shape of the first record.
    found: Option<String>,
}

impl Importer {
    /// Takes the next bytes of the file.
    pub fn push(&mut self, bytes: &[u8]) {
        self.is_begun |= bytes.iter().any(|b| !b.is_ascii_whitespace());
        let mut records = std::mem::take(&mut self.records);
        records.push(bytes, |record| self.record(record));
        self.records = records;
    }

    /// What was read since this was called last.
    pub fn take(&mut self) -> Vec<Event> {
        let events = std::mem::take(&mut self.sink.events);
        self.is_own |= has_own(&events);
        events
    }

    /// Ends the file: the last events, and what became of it all. Fails if there was no conversation in it, unless the file is
    /// one of palimpsest's own that holds something else.
    pub fn finish(mut self) -> Result<(Vec<Event>, Report), ImportError> {
        let mut records = std::mem::take(&mut self.records);
        records.finish(|record| self.record(record));
        self.sink.end();
        let Sink { events, report, .. } = self.sink;
        if report.imported > 0 || self.is_own || has_own(&events) {
            return Ok((events, report));
        }
        if !self.is_begun {
            return Err(ImportError::Empty);
        }
        if !self.is_json && !report.skipped.is_empty() {
            let why = self.why.unwrap_or_else(|| "it ends too early".to_owned());
            return Err(ImportError::NotJson(why));
        }
        let titles: Vec<&str> = FORMATS.iter().map(|format| format.title).collect();
        Err(ImportError::NoMessages {
            found: self.found.unwrap_or_else(|| "an empty list".to_owned()),
            known: titles.join(", "),
        })
    }

    fn record(&mut self, record: Record<'_>) {
        if record.bytes.iter().all(u8::is_ascii_whitespace) && !record.is_cut {
            return;
        }
        self.sink.record = record.number;
        if record.is_cut {
            // the end of an array may be all that is missing
            self.is_json |= self.sink.report.imported > 0;
            return self.sink.skip(Reason::CutOff, "the end of the file");
        }
        let Ok(text) = std::str::from_utf8(record.bytes) else {
            return self.sink.skip(Reason::NotText, "no UTF-8");
        };
        match palimpsest_text::json::parse(text) {
            Ok(value) => {
                self.is_json = true;
                if self.found.is_none() {
                    self.found = Some(lists::kind_of(&value));
                }
                take(&mut self.sink, &value, DEPTH);
            }
            Err(error) => {
                self.sink.skip(Reason::NotJson, "no JSON");
                self.why.get_or_insert_with(|| error.to_string());
            }
        }
    }
}

/// Whether what a file of palimpsest's own holds beside conversations is among the events.
fn has_own(events: &[Event]) -> bool {
    events.iter().any(|e| matches!(e, Event::Beside(_)))
}

/// Reads one record, whichever program wrote it.
fn take(sink: &mut Sink, value: &Value, depth: u32) {
    let fields = match value {
        Value::Array(list) if depth > 0 && !list.is_empty() => {
            // a list in a list is a conversation, or several
            sink.end();
            for one in list {
                take(sink, one, depth - 1);
            }
            return sink.end();
        }
        Value::Object(fields) => fields,
        other => return sink.unknown(other),
    };
    if let Some(format) = FORMATS.iter().find(|format| (format.is)(fields)) {
        return (format.read)(sink, fields);
    }
    let wrapped = WRAPPERS
        .iter()
        .find(|key| fields.get(**key).is_some_and(Value::is_array));
    let is_own = fields.contains_key("palimpsest");
    if let Some(key) = wrapped.filter(|_| depth > 0) {
        let list = fields.get(*key).and_then(Value::as_array);
        for one in list.into_iter().flatten() {
            take(sink, one, depth - 1);
        }
    } else if lists::is_held(fields) {
        return lists::read_held(sink, fields);
    } else if !is_own {
        return sink.unknown(value);
    }
    if is_own {
        let mut rest = fields.clone();
        if let Some(key) = wrapped {
            rest.shift_remove(*key);
        }
        rest.insert("hasSessions".to_owned(), wrapped.is_some().into());
        sink.end();
        sink.events.push(Event::Beside(Value::Object(rest)));
    }
}
