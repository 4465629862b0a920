//! Where the readers of all formats put what they read: conversations, each a tree of messages, and what was left out.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::report::{Reason, Report};
use super::turn::{Turn, first};

/// One piece of what a file holds, in the order it is read.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A conversation begins.
    Begin,
    /// A message of the conversation that began last.
    Message {
        /// The message of that conversation that it follows, counted from 0; nothing for a first one.
        parent: Option<u32>,
        /// The message, as it stood in the file or as OpenAI's servers take it.
        message: Value,
    },
    /// The conversation is complete. Only now is known what it is called.
    End(Head),
    /// An object of palimpsest's own that holds more than conversations: settings, profiles.
    Beside(Value),
}

/// What is known of a conversation beside its messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Head {
    /// The format it was in.
    pub format: &'static str,
    /// Its title; empty if it has none.
    pub title: String,
    /// Its identifier in the program that wrote it.
    pub id: Option<String>,
    /// The last message of the branch that was shown last.
    pub tip: Option<u32>,
    /// The other fields of a session of palimpsest's own: goal, pins, layers, archive.
    pub fields: Option<Value>,
}

/// What a message follows.
#[derive(Debug, Clone, Copy)]
pub(super) enum After<'a> {
    /// The message that was read last.
    Last,
    /// The record of this identifier; nothing if that record is not there.
    Named(&'a str),
    /// The record of this identifier, or what was read last if that is nothing but results of its calls, or if that record
    /// is not there.
    Joined(&'a str),
    /// Nothing.
    Nothing,
}

#[derive(Default)]
struct Open {
    head: Head,
    /// The last message of each record that has an identifier.
    ids: BTreeMap<String, Option<u32>>,
    /// What the next message follows.
    after: Option<u32>,
    /// The message that was read last.
    last: Option<u32>,
    count: u32,
    /// The newest message that is no tool's result.
    spoken: Option<u32>,
    /// Identifiers of the record whose words are not complete yet.
    keys: Vec<String>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Sink {
    pub(super) events: Vec<Event>,
    pub(super) report: Report,
    /// The number of the record that is being read.
    pub(super) record: u32,
    pub(super) turn: Turn,
    open: Option<Open>,
}

impl Sink {
    /// Begins a conversation, and ends the one before.
    pub(super) fn begin(&mut self, format: &'static str) {
        self.end();
        self.report.found(format);
        self.events.push(Event::Begin);
        self.open = Some(Open {
            head: Head {
                format,
                ..Head::default()
            },
            ..Open::default()
        });
    }

    /// Goes on with the open conversation if it is of this format, else begins one: for formats with a message a record.
    pub(super) fn go_on(&mut self, format: &'static str) {
        if self.format() != Some(format) {
            self.begin(format);
        }
    }

    /// The format of the open conversation.
    pub(super) fn format(&self) -> Option<&'static str> {
        self.open.as_ref().map(|open| open.head.format)
    }

    /// Ends the open conversation. One in which nothing was said is counted as empty.
    pub(super) fn end(&mut self) {
        self.flush();
        self.turn = Turn::default();
        let Some(open) = self.open.take() else {
            return;
        };
        if open.count == 0 {
            self.report.skip(Reason::Empty, "conversation", self.record);
        } else {
            self.report.conversations += 1;
        }
        let tip = open.head.tip.or(open.last);
        self.events.push(Event::End(Head { tip, ..open.head }));
    }

    /// What is known of the open conversation.
    pub(super) fn head(&mut self) -> &mut Head {
        &mut self.open.get_or_insert_default().head
    }

    /// Takes title and identifier from the first of these fields that there are.
    pub(super) fn name(&mut self, fields: &Map<String, Value>, titles: &[&str], ids: &[&str]) {
        let title = first(fields, titles).map(str::trim).unwrap_or_default();
        let id = first(fields, ids).filter(|id| !id.is_empty());
        let head = self.head();
        if !title.is_empty() {
            title.clone_into(&mut head.title);
        }
        if let Some(id) = id {
            head.id = Some(id.to_owned());
        }
    }

    /// Says that the message which was read last under this identifier ends the branch that was shown last.
    pub(super) fn shown(&mut self, id: &str) {
        self.flush();
        let open = self.open.get_or_insert_default();
        if let Some(last) = open.ids.get(id).copied().flatten() {
            open.head.tip = Some(last);
        }
    }

    /// Counts something that is left out.
    pub(super) fn skip(&mut self, reason: Reason, what: &str) {
        self.report.skip(reason, what, self.record);
    }

    /// Somebody speaks in a record of this identifier. What follows is put into [`Self::turn`].
    pub(super) fn speak(
        &mut self,
        id: Option<&str>,
        after: After<'_>,
        role: &'static str,
        at: f64,
    ) {
        self.flush();
        self.turn.begin(role, at);
        let open = self.open.get_or_insert_default();
        open.after = match after {
            After::Last => open.last,
            After::Nothing => None,
            After::Named(parent) => open.ids.get(parent).copied().flatten(),
            After::Joined(parent) => match open.ids.get(parent).copied().flatten() {
                Some(parent) if open.spoken.is_none_or(|spoken| parent < spoken) => Some(parent),
                _ => open.last,
            },
        };
        open.keys.extend(id.map(str::to_owned));
    }

    /// A record that says nothing, but that others may name as the one they follow.
    pub(super) fn silent(&mut self, id: Option<&str>, after: After<'_>) {
        self.speak(id, after, "", 0.0);
        self.flush();
    }

    /// Takes another identifier for the record that is being read.
    pub(super) fn also(&mut self, id: &str) {
        let open = self.open.get_or_insert_default();
        open.keys.push(id.to_owned());
    }

    /// Whether a record of this identifier was read.
    pub(super) fn knows(&self, id: &str) -> bool {
        let known = |open: &Open| open.ids.contains_key(id) || open.keys.iter().any(|k| k == id);
        self.open.as_ref().is_some_and(known)
    }

    /// Counts a value that nobody here knows.
    pub(super) fn unknown(&mut self, value: &Value) {
        self.skip(Reason::Unknown, &super::lists::kind_of(value));
    }

    /// Whether the record of this identifier is the one that is being read.
    pub(super) fn is_open(&self, id: &str) -> bool {
        let is = |open: &Open| open.keys.iter().any(|key| key == id);
        self.open.as_ref().is_some_and(is)
    }

    /// Whether anything was said in the open conversation.
    pub(super) fn has_said(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.count > 0) || !self.turn.is_empty()
    }

    /// Nobody will name this record any more.
    pub(super) fn forget(&mut self, id: &str) {
        if let Some(open) = &mut self.open {
            open.ids.remove(id);
        }
    }

    /// Takes content into the turn, and counts the blocks that are not understood.
    pub(super) fn content(&mut self, content: Option<&Value>) {
        let (report, record) = (&mut self.report, self.record);
        self.turn.content(content, &mut |kind| {
            report.skip(Reason::Unknown, kind, record);
        });
    }

    /// Takes a message as it stands in the file.
    pub(super) fn keep(&mut self, message: &Value) {
        self.flush();
        let open = self.open.get_or_insert_default();
        open.after = open.last;
        self.put(message.clone());
    }

    /// Hands out what was said so far.
    pub(super) fn flush(&mut self) {
        self.turn.close();
        for message in std::mem::take(&mut self.turn.said) {
            self.put(message);
        }
        if let Some(open) = &mut self.open {
            for key in std::mem::take(&mut open.keys) {
                open.ids.insert(key, open.after);
            }
        }
    }

    /// Hands out the messages of a turn that are complete, while more of it may come.
    pub(super) fn drain(&mut self) {
        for message in std::mem::take(&mut self.turn.said) {
            self.put(message);
        }
    }

    fn put(&mut self, message: Value) {
        let open = self.open.get_or_insert_default();
        let is_result = message["role"] == "tool";
        self.events.push(Event::Message {
            parent: open.after,
            message,
        });
        open.after = Some(open.count);
        open.last = open.after;
        if !is_result {
            open.spoken = open.last;
        }
        open.count += 1;
        self.report.imported += 1;
    }
}
