//! What the readers of all dialects share.

use palimpsest_text::json::ToJson as _;
use palimpsest_text::time::from_iso;
use serde_json::{Map, Value};

use crate::message::{Message, Origin, Part, Role, Seq};
use crate::parsed::{Fault, Parsed, ParsedMessage, Place, Slot, SystemLine};
use crate::problem::{Code, Problem};
use crate::shape::{Dialect, MAX_ID_BYTES};

/// A part with its place.
pub(crate) type Placed = (Part, Option<Place>);

/// An unknown block up to this size is shown to a summariser as its JSON text; a larger one only has a size.
const OPAQUE_TEXT: usize = 4096;
/// A text that is nothing but a base64 image of at least this size is an image (F 28).
const IMAGE_TEXT: usize = 1024;

/// A call of the newest assistant message that has no result yet.
struct OpenCall {
    id: String,
    name: String,
    /// A result of the value that is being read answers it.
    is_taken: bool,
}

/// The identifier of a call, as the caller gives it.
#[derive(Clone, Copy)]
pub(crate) struct Named<'v> {
    given: Option<&'v Value>,
    /// The dialect requires one.
    is_required: bool,
}

impl<'v> Named<'v> {
    /// An identifier without which the message is wrong.
    pub(crate) const fn required(given: Option<&'v Value>) -> Self {
        Self {
            given,
            is_required: true,
        }
    }

    /// An identifier that may be missing.
    pub(crate) const fn optional(given: Option<&'v Value>) -> Self {
        Self {
            given,
            is_required: false,
        }
    }
}

pub(crate) struct Reader {
    origin: Origin,
    /// Index of the value that is being read.
    pub(crate) index: usize,
    leading: bool,
    open: Vec<OpenCall>,
    /// Reasoning that belongs to the assistant's next message.
    thoughts: Vec<Placed>,
    dialect: Dialect,
    parsed: Parsed,
    problems: Vec<Problem>,
}

impl Reader {
    /// Nothing read yet.
    pub(crate) const fn new(dialect: Dialect, origin: Origin) -> Self {
        Self {
            origin,
            index: 0,
            leading: true,
            open: Vec::new(),
            thoughts: Vec::new(),
            dialect,
            parsed: Parsed::nothing(dialect),
            problems: Vec::new(),
        }
    }

    /// What was read so far.
    pub(crate) const fn parsed(&self) -> &Parsed {
        &self.parsed
    }

    /// What was read so far, for a caller that puts it back as it was.
    pub(crate) const fn parsed_mut(&mut self) -> &mut Parsed {
        &mut self.parsed
    }

    /// Takes the problems that were found so far.
    pub(crate) fn take_problems(&mut self) -> Vec<Problem> {
        std::mem::take(&mut self.problems)
    }

    /// Forgets the values from the `from`-th on, as if they had not been read.
    pub(crate) fn cut(&mut self, from: usize) {
        self.parsed.system.retain(|line| line.raw < from);
        // Reasoning items before the cut wait again for the message that they lead to.
        let is_before = |(_, place): &Placed| matches!(place.map(|p| p.slot), Some(Slot::Item(item)) if item < from);
        self.thoughts.retain(is_before);
        while let Some(gone) = self.parsed.messages.pop_if(|m| m.raw >= from) {
            let placed = gone.message.parts.into_iter().zip(gone.places);
            let waiting: Vec<Placed> = placed.filter(is_before).collect();
            self.thoughts.splice(0..0, waiting);
        }
        while let Some(&broken) = self.parsed.broken.iter().last().filter(|n| **n >= from) {
            self.parsed.broken.remove(&broken);
        }
        self.problems.retain(|problem| problem.index < from);
        self.leading = self.parsed.messages.is_empty();
        self.open.clear();
        let is_reply = |m: &ParsedMessage| m.message.role == Role::Assistant;
        let messages = std::mem::take(&mut self.parsed.messages);
        let from = messages.iter().rposition(is_reply).unwrap_or(0);
        for message in &messages[from..] {
            message.message.parts.iter().for_each(|part| self.see(part));
        }
        self.parsed.messages = messages;
    }

    /// Everything that was read, and what was wrong with it.
    pub(crate) fn finish(mut self) -> (Parsed, Vec<Problem>) {
        self.settle();
        (self.parsed, self.problems)
    }

    /// Takes reasoning that stands in an item of its own: it belongs to the assistant's next message.
    pub(crate) fn thought(&mut self, item: &Map<String, Value>) {
        let summary = item.get("summary").and_then(Value::as_array);
        let content = item.get("content").and_then(Value::as_array);
        let words = summary.into_iter().chain(content).flatten();
        let words = words.filter_map(|part| part.get("text")?.as_str());
        let text = words.collect::<Vec<_>>().join("\n");
        let slot = Slot::Item(self.index);
        self.thoughts.push(at(Part::Thinking { text }, slot));
    }

    /// Adds a message of the assistant, with the reasoning that stands before it.
    pub(crate) fn push_thinking(&mut self, parts: Vec<Placed>, at: f64) {
        let thoughts = std::mem::take(&mut self.thoughts);
        self.push(
            Role::Assistant,
            thoughts.into_iter().chain(parts).collect(),
            at,
        );
    }

    /// Reasoning after which the assistant says nothing stands for itself.
    fn settle(&mut self) {
        for (part, place) in std::mem::take(&mut self.thoughts) {
            let index = self.index;
            if let Some(Slot::Item(item)) = place.map(|place| place.slot) {
                self.index = item;
            }
            let words = match part {
                Part::Thinking { text } if !text.trim().is_empty() => text,
                _ => "reasoning".to_owned(),
            };
            let kept = media(&words, "application/json", "", Slot::Content);
            self.push(Role::Assistant, vec![kept], 0.0);
            self.index = index;
        }
    }

    pub(crate) fn problem(&mut self, code: Code, message: impl Into<String>) {
        let problem = Problem {
            code,
            index: self.index,
            message: message.into(),
        };
        if problem.fatal() {
            self.parsed.broken.insert(self.index);
        }
        self.problems.push(problem);
    }

    /// The role of a message, if the dialect has it.
    pub(crate) fn role(
        &mut self,
        message: &Map<String, Value>,
        known: &[(&'static str, Role)],
    ) -> Option<Role> {
        let names = || {
            known
                .iter()
                .map(|(name, _)| *name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        match message.get("role") {
            Some(Value::String(role)) => {
                let found = known
                    .iter()
                    .find(|(name, _)| name == role)
                    .map(|(_, role)| *role);
                if found.is_none() {
                    let shown: String = role.chars().take(40).collect();
                    self.problem(
                        Code::UnknownRole,
                        format!("unknown role \"{shown}\", expected one of: {}", names()),
                    );
                }
                found
            }
            other => {
                let found = match other {
                    None => format!("none in {}", shape(message)),
                    Some(other) => kind(other).to_owned(),
                };
                self.problem(
                    Code::UnknownRole,
                    format!("expected a role, one of: {}; found {found}", names()),
                );
                None
            }
        }
    }

    /// A system line: the prompt if it leads the list, a message further down, and quoted text in an import.
    pub(crate) fn system(&mut self, mut parts: Vec<Placed>, at: f64) {
        if parts
            .iter()
            .any(|(part, _)| !matches!(part, Part::Text { .. }))
        {
            self.problem(Code::BadPart, "a system message holds nothing but text");
            parts.retain(|(part, _)| matches!(part, Part::Text { .. }));
        }
        let text = || {
            parts
                .iter()
                .map(|(p, _)| p.words())
                .filter(|t| !t.is_empty())
                .collect::<Vec<_>>()
                .join("\n")
        };
        let import = self.origin == Origin::Import;
        if self.leading && (!import || self.parsed.system.is_empty()) {
            let text = text();
            if !text.trim().is_empty() {
                self.parsed.system.push(SystemLine {
                    raw: self.index,
                    text,
                });
            }
        } else if import {
            let text = text();
            if !text.trim().is_empty() {
                let quoted = Part::text(format!(
                    "[System line of the imported conversation]\n{text}"
                ));
                self.push(Role::User, vec![(quoted, None)], at);
            }
        } else {
            self.push(Role::System, parts, at);
        }
    }

    /// Adds a message of the value that is being read.
    pub(crate) fn push(&mut self, role: Role, parts: Vec<Placed>, at: f64) {
        self.leading = false;
        if !self.thoughts.is_empty() {
            self.settle();
        }
        // the calls of one turn are items of their own
        if role == Role::Assistant && self.dialect != Dialect::Responses {
            self.open.clear();
        }
        for (part, _) in &parts {
            self.see(part);
        }
        let seq = self.parsed.messages.len() as Seq;
        let (parts, places) = parts.into_iter().unzip();
        let message = Message {
            seq,
            parent: seq.checked_sub(1),
            role,
            origin: origin_of(role, self.origin),
            parts,
            at,
            ended: None,
        };
        self.parsed.messages.push(ParsedMessage {
            message,
            raw: self.index,
            places,
        });
    }

    /// Notes a call that waits for its result, or the result of one that waited.
    fn see(&mut self, part: &Part) {
        match part {
            Part::ToolCall { id, name, .. } => self.open.push(OpenCall {
                id: id.clone(),
                name: name.clone(),
                is_taken: false,
            }),
            Part::ToolResult { call, .. } => {
                let is_it = |open: &OpenCall| open.id == *call;
                let taken = |open: &OpenCall| open.is_taken && is_it(open);
                let at = self.open.iter().position(taken);
                if let Some(at) = at.or_else(|| self.open.iter().position(is_it)) {
                    self.open.remove(at);
                }
            }
            _ => {}
        }
    }

    /// Takes the first open call of which `is_it` is true, so that another result of the same message takes the next one.
    fn take_open(&mut self, is_it: impl Fn(&OpenCall) -> bool) -> Option<&str> {
        let mut open = self.open.iter_mut();
        let call = open.find(|open| !open.is_taken && is_it(open))?;
        call.is_taken = true;
        Some(&call.id)
    }

    /// The id of a call: its own, or one made from its position where the dialect or the caller has none.
    pub(crate) fn call_id(
        &mut self,
        id: Option<&Value>,
        nth: usize,
        required: bool,
    ) -> (String, Fault) {
        let made = format!("call_{}_{nth}", self.index);
        match id {
            Some(Value::String(id)) if !id.is_empty() => {
                if self.check_id(id) {
                    (id.clone(), Fault::None)
                } else {
                    (made, Fault::Identity)
                }
            }
            None | Some(Value::Null | Value::String(_)) if !required => (made, Fault::None),
            _ => {
                self.problem(Code::MissingId, "a tool call has no id");
                (made, Fault::Identity)
            }
        }
    }

    /// The call a result answers: the one it names, else the next open one (of that tool's name, if it has one).
    pub(crate) fn answered(
        &mut self,
        id: Option<&Value>,
        name: Option<&str>,
        required: bool,
    ) -> (String, Fault) {
        if let Some(Value::String(id)) = id
            && !id.is_empty()
        {
            return if self.check_id(id) {
                self.take_open(|open| open.id == *id);
                (id.clone(), Fault::None)
            } else {
                (self.next_open(name), Fault::Identity)
            };
        }
        if required {
            self.problem(
                Code::MissingId,
                "a tool result does not say which call it answers",
            );
        }
        (
            self.next_open(name),
            if required {
                Fault::Identity
            } else {
                Fault::None
            },
        )
    }

    /// A call in the `i`-th block of a message. `None` if it names no tool.
    pub(crate) fn call_in_block(
        &mut self,
        i: usize,
        name: Option<&Value>,
        id: Named<'_>,
        arguments: Option<&Value>,
    ) -> Option<Placed> {
        let name = self.name(name)?;
        let (id, no_id) = self.call_id(id.given, i, id.is_required);
        let (arguments, fault) = self.arguments_object(arguments);
        let fault = if no_id == Fault::None { fault } else { no_id };
        let part = Part::ToolCall {
            id,
            name,
            arguments,
        };
        let slot = Slot::Block(i);
        Some((part, Some(Place { slot, fault })))
    }

    /// A result in the `i`-th block of a message, with its text and whether the tool failed.
    pub(crate) fn result_in_block(
        &mut self,
        i: usize,
        name: Option<&str>,
        id: Named<'_>,
        (text, error): (String, bool),
    ) -> Placed {
        let (call, fault) = self.answered(id.given, name, id.is_required);
        let part = Part::ToolResult {
            call,
            name: name.map(str::to_owned),
            text,
            error,
        };
        let slot = Slot::Block(i);
        (part, Some(Place { slot, fault }))
    }

    /// Reports a block that stands in a message of the wrong role.
    pub(crate) fn misplaced(&mut self, block: &str, whose: &str) {
        self.problem(
            Code::BadPart,
            format!("a {block} stands in {whose} message only"),
        );
    }

    /// The id of the next open call, of that tool if it has a name.
    fn next_open(&mut self, name: Option<&str>) -> String {
        let otherwise = format!("result_{}", self.index);
        let next = self.take_open(|open| name.is_none_or(|name| open.name == name));
        next.map_or(otherwise, str::to_owned)
    }

    fn check_id(&mut self, id: &str) -> bool {
        let fits = id.len() <= MAX_ID_BYTES;
        if !fits {
            self.problem(
                Code::IdTooLong,
                format!(
                    "an id has {} bytes, at most {MAX_ID_BYTES} are taken",
                    id.len()
                ),
            );
        }
        fits
    }

    /// Arguments that the dialect has as JSON text.
    pub(crate) fn arguments_text(&mut self, arguments: Option<&Value>) -> (String, Fault) {
        match arguments {
            Some(Value::String(text)) if is_object_text(text) => (text.clone(), Fault::None),
            Some(Value::String(text)) => {
                self.problem(
                    Code::BadArguments,
                    "the arguments of a tool call are not the text of a JSON object",
                );
                (mended(text), Fault::Minor)
            }
            other => {
                self.problem(
                    Code::BadArguments,
                    "the arguments of a tool call must be JSON text",
                );
                (
                    other.map_or_else(|| "{}".into(), as_object_text),
                    Fault::Minor,
                )
            }
        }
    }

    /// Arguments that the dialect has as an object.
    pub(crate) fn arguments_object(&mut self, arguments: Option<&Value>) -> (String, Fault) {
        if let Some(object @ Value::Object(_)) = arguments {
            return (object.to_json(), Fault::None);
        }
        self.problem(
            Code::BadArguments,
            "the arguments of a tool call must be an object",
        );
        let text = match arguments {
            None | Some(Value::Null) => "{}".into(),
            Some(Value::String(text)) if is_object_text(text) => text.clone(),
            Some(Value::String(text)) => mended(text),
            Some(other) => as_object_text(other),
        };
        (text, Fault::Minor)
    }

    /// The words of a text part.
    pub(crate) fn words<'v>(&mut self, fields: &'v Map<String, Value>) -> Option<&'v str> {
        let words = string(fields, "text");
        if words.is_none() {
            self.problem(Code::BadPart, "a text part has no text");
        }
        words
    }

    /// A tool's name. A call without one cannot be answered.
    pub(crate) fn name(&mut self, name: Option<&Value>) -> Option<String> {
        match name.and_then(Value::as_str) {
            Some(name) if !name.is_empty() => Some(name.to_owned()),
            _ => {
                self.problem(Code::BadPart, "a tool call has no name");
                None
            }
        }
    }
}

fn is_object_text(text: &str) -> bool {
    matches!(palimpsest_text::json::parse(text), Ok(Value::Object(_)))
}

/// Text that is no JSON object, as one.
fn mended(text: &str) -> String {
    if text.trim().is_empty() {
        return "{}".into();
    }
    Value::Object(Map::from_iter([(
        "text".to_owned(),
        Value::String(text.to_owned()),
    )]))
    .to_json()
}

fn as_object_text(value: &Value) -> String {
    match value {
        Value::Object(_) => value.to_json(),
        Value::Null => "{}".into(),
        other => Value::Object(Map::from_iter([("value".to_owned(), other.clone())])).to_json(),
    }
}

/// A part at a place where nothing is wrong.
pub(crate) fn at(part: Part, slot: Slot) -> Placed {
    (
        part,
        Some(Place {
            slot,
            fault: Fault::None,
        }),
    )
}

/// A text part; an image if the text is nothing but one (F 28).
pub(crate) fn text(text: &str, slot: Slot) -> Placed {
    if text.len() >= IMAGE_TEXT
        && let Some((media_type, _)) = data_url(text.trim_end())
        && media_type.starts_with("image/")
        && !text.trim_end().contains(char::is_whitespace)
    {
        let part = Part::Image {
            name: "image".into(),
            media_type: media_type.to_owned(),
            data: text.trim_end().to_owned(),
            tokens: None,
        };
        return at(part, slot);
    }
    at(Part::text(text), slot)
}

/// A block of a type nobody here knows: kept as it is while it stands verbatim, read as its JSON text else.
pub(crate) fn opaque(kind: &str, block: &Value, slot: Slot) -> Placed {
    let json = block.to_json();
    let part = if json.len() <= OPAQUE_TEXT {
        Part::text(format!("[{kind}] {json}"))
    } else {
        let tokens = Some(u32::try_from(json.len() / 4).unwrap_or(u32::MAX));
        Part::Image {
            name: kind.to_owned(),
            media_type: "application/json".into(),
            data: String::new(),
            tokens,
        }
    };
    at(part, slot)
}

/// Audio, PDF and the like: opaque to every pass, as images are.
pub(crate) fn media(name: &str, media_type: &str, data: &str, slot: Slot) -> Placed {
    let part = Part::Image {
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        data: data.to_owned(),
        tokens: None,
    };
    at(part, slot)
}

/// MIME type and base64 data of a `data:` URL.
pub(crate) fn data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

/// Milliseconds since 1970 that a message carries as a number or in words of ISO 8601; 0 if none or not a time.
pub(crate) fn time_of(message: &Map<String, Value>) -> f64 {
    let time = ["createdAt", "created_at", "timestamp"]
        .iter()
        .find_map(|key| match message.get(*key)? {
            Value::String(text) => Some(from_iso(text)),
            value => value.as_f64(),
        });
    time.filter(|t| t.is_finite() && (0.0..=8.64e15).contains(t))
        .unwrap_or(0.0)
}

/// Names an object that has no role, for messages to people.
fn shape(message: &Map<String, Value>) -> String {
    const LANGCHAIN: &str = "of LangChain: give it to fitMessages() of \"palimpsest/langchain\"";
    let class = message.get("id").and_then(Value::as_array);
    let class = class.and_then(|id| id.last()?.as_str());
    let kind = string(message, "type").unwrap_or_default();
    if message.contains_key("lc") {
        return format!("a {} {LANGCHAIN}", class.unwrap_or("message"));
    }
    if matches!(
        kind,
        "human" | "ai" | "tool" | "system" | "function" | "remove"
    ) && (message.contains_key("content") || message.contains_key("data"))
    {
        return format!("a \"{kind}\" message {LANGCHAIN}");
    }
    let keys: Vec<&str> = message.keys().take(4).map(String::as_str).collect();
    if keys.is_empty() {
        "an empty object".to_owned()
    } else {
        format!("an object with {}", keys.join(", "))
    }
}

/// What a value is, for messages to people.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The string of a field.
pub(crate) fn string<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

/// The type and the fields of a content block.
pub(crate) fn typed(block: &Value) -> Option<(&str, &Map<String, Value>)> {
    let fields = block.as_object()?;
    Some((string(fields, "type")?, fields))
}

/// Text of a tool result whose content is text blocks, with a word for whatever is no text.
pub(crate) fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(blocks) => {
            let words = blocks.iter().map(|block| match typed(block) {
                Some(("text", fields)) => string(fields, "text").unwrap_or_default().to_owned(),
                Some(("image" | "image_url" | "media" | "image-data" | "file", fields)) => {
                    let kind = ["mediaType", "media_type"]
                        .iter()
                        .find_map(|key| string(fields, key));
                    let source = fields
                        .get("source")
                        .and_then(Value::as_object)
                        .and_then(|s| string(s, "media_type"));
                    format!("[image: {}]", kind.or(source).unwrap_or("unknown type"))
                }
                _ => block
                    .as_str()
                    .map_or_else(|| block.to_json(), str::to_owned),
            });
            words.collect::<Vec<_>>().join("\n")
        }
        other => other.to_json(),
    }
}

/// Where the words of a message of `role` come from, in a list of `origin`.
fn origin_of(role: Role, origin: Origin) -> Origin {
    match (origin, role) {
        (Origin::Import, _) => Origin::Import,
        (_, Role::Assistant) => Origin::Model,
        (_, Role::Tool) => Origin::Tool,
        (_, Role::System | Role::User) => Origin::Host,
    }
}
