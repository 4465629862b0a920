//! The public linter: finds everything in a list of messages that a provider would refuse, and repairs it.

use palimpsest_text::fence::is_blank;
use palimpsest_text::sorted::{SortedMap, SortedSet};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::lists::{detect, fill, read, write};
use crate::message::{Origin, Part, Role};
use crate::parsed::{Fault, Parsed, ParsedMessage, Place, Rendered, Slot};
use crate::problem::{Code, Problem};
use crate::shape::{Dialect, MAX_ID_BYTES};
use crate::tool::{Pairing, PartAt};
use crate::writer::{self, Care};

/// The result of the linter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// The list has no problems.
    pub ok: bool,
    /// The shape in which it was read.
    pub dialect: Dialect,
    /// The problems, in the order of the list.
    pub problems: Vec<Problem>,
    /// The repaired list; `None` if there are no problems. Unreadable messages and parts are left out, everything else
    /// is there, and messages without problems are the caller's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<Vec<Value>>,
}

/// Checks a list in the given dialect, or in the detected one. It never fails, for any values.
pub fn validate(values: &[Value], dialect: Option<Dialect>) -> Validation {
    let (mut validation, repaired) = validate_list(values, dialect);
    validation.repaired = repaired.map(|list| fill(list, values));
    validation
}

/// Does [`validate`], and also returns the repaired list with the caller's own messages by index.
pub fn validate_list(
    values: &[Value],
    dialect: Option<Dialect>,
) -> (Validation, Option<Vec<Rendered>>) {
    let dialect = dialect
        .or_else(|| detect(values))
        .unwrap_or(Dialect::OpenAi);
    let (parsed, mut problems) = read(values, dialect, Origin::Host);
    structure(values, &parsed, &mut problems);
    message_ids(values, dialect, &mut problems);
    palimpsest_text::order::sort_by_key(&mut problems, |p| p.index);
    let ok = problems.is_empty();
    let repaired = (!ok).then(|| repair(values, dialect));
    let validation = Validation {
        ok,
        dialect,
        problems,
        repaired: None,
    };
    (validation, repaired)
}

/// Finds what is wrong with the list as a whole: empty messages, their order, and the pairs of calls and results.
fn structure(values: &[Value], parsed: &Parsed, problems: &mut Vec<Problem>) {
    let unread: SortedSet<usize> = problems
        .iter()
        .filter(|p| p.fatal())
        .map(|p| p.index)
        .collect();
    let mut found = Structure { parsed, problems };
    found.empty_parts();
    let shown = shown(parsed);
    for index in 0..values.len() {
        if !shown.contains_key(&index) && !unread.contains(&index) {
            found.add(
                Code::EmptyMessage,
                index,
                "the message says nothing: leave it out",
            );
        }
    }
    found.order(&shown);
    found.results();
    found.ids();
}

/// The speakers of the messages that say anything, by their place in the list.
fn shown(parsed: &Parsed) -> SortedMap<usize, Role> {
    let system = parsed.system.iter();
    let mut shown: SortedMap<usize, Role> = system.map(|line| (line.raw, Role::System)).collect();
    for from in &parsed.messages {
        for place in from.places.iter().flatten() {
            // reasoning in an item of its own
            if let Slot::Item(item) = place.slot {
                shown.insert(item, Role::Assistant);
            }
        }
        if says_anything(from) {
            let role = match (parsed.dialect, from.message.role) {
                (dialect, Role::Tool) if dialect.takes_turns() => Role::User,
                (Dialect::AiSdkUi, Role::Tool) => Role::Assistant,
                (_, role) => role,
            };
            shown.insert(from.raw, role);
        }
    }
    shown
}

fn says_anything(from: &ParsedMessage) -> bool {
    from.message.parts.iter().any(|part| !part.is_empty())
}

/// The search for what is wrong with a list as a whole.
struct Structure<'a> {
    parsed: &'a Parsed,
    problems: &'a mut Vec<Problem>,
}

impl Structure<'_> {
    fn add(&mut self, code: Code, index: usize, message: &str) {
        self.problems.push(Problem {
            code,
            index,
            message: message.to_owned(),
        });
    }

    /// Finds text blocks without text, which a dialect of turns refuses.
    fn empty_parts(&mut self) {
        let is_empty_block = |(part, place): (&Part, &Option<Place>)| {
            matches!(part, Part::Text { text } if is_blank(text))
                && place.is_some_and(|p| matches!(p.slot, Slot::Block(_)))
        };
        let parsed = self.parsed;
        let messages = parsed.messages.iter();
        for from in messages.filter(|from| parsed.dialect.takes_turns() && says_anything(from)) {
            let mut parts = from.message.parts.iter().zip(&from.places);
            if parts.any(is_empty_block) {
                self.add(
                    Code::EmptyPart,
                    from.raw,
                    "a text block says nothing: leave it out",
                );
            }
        }
    }

    /// Finds messages that may not follow the message before them.
    fn order(&mut self, shown: &SortedMap<usize, Role>) {
        let alternate = self.parsed.dialect.takes_turns();
        let mut last: Option<Role> = None;
        for (&index, &role) in shown {
            if alternate && role == Role::System {
                self.add(
                    Code::SystemMessage,
                    index,
                    "this dialect has no system messages: the system prompt is a field of the request",
                );
            }
            match (last, role) {
                (Some(Role::User), Role::User) => self.add(
                    Code::ConsecutiveUsers,
                    index,
                    "two user messages in a row: make them one",
                ),
                (Some(Role::Assistant), Role::Assistant) if alternate => self.add(
                    Code::ConsecutiveAssistants,
                    index,
                    "two assistant messages in a row: make them one",
                ),
                (None | Some(Role::System), Role::Assistant)
                    if alternate && !shown.range(..index).any(|(_, r)| *r == Role::User) =>
                {
                    self.add(
                        Code::LeadingAssistant,
                        index,
                        "the first message must be the user's",
                    );
                }
                _ => {}
            }
            last = Some(role);
        }
    }

    /// Finds calls without a result, and results that answer none or stand in a wrong place.
    fn results(&mut self) {
        let parsed = self.parsed;
        if parsed.dialect.takes_turns() {
            for index in words_before_results(parsed) {
                self.add(
                    Code::MisplacedResult,
                    index,
                    "tool results stand before everything else in their message",
                );
            }
        }
        let messages = &parsed.messages;
        let pairing = Pairing::of(messages.iter().map(|m| &m.message));
        for at in &pairing.unanswered {
            self.add(
                Code::MissingResult,
                messages[at.message].raw,
                "a tool call has no result",
            );
        }
        let mut answered: SortedSet<&str> = SortedSet::new();
        for (message, from) in messages.iter().enumerate() {
            for (part, said) in from.message.parts.iter().enumerate() {
                let Part::ToolResult { call, .. } = said else {
                    continue;
                };
                match pairing.call_of.get(&PartAt { message, part }) {
                    Some(asked) => {
                        answered.insert(call);
                        if self.is_parted(asked.message, message) {
                            self.add(
                                Code::MisplacedResult,
                                from.raw,
                                "a tool result does not stand right after its call",
                            );
                        }
                    }
                    None if answered.contains(call.as_str()) => self.add(
                        Code::SecondResult,
                        from.raw,
                        "the call has a result already",
                    ),
                    None => self.add(
                        Code::OrphanResult,
                        from.raw,
                        "no earlier message makes the call this result answers",
                    ),
                }
            }
        }
    }

    /// Returns `true` if something stands between the message with a call and the message with its result.
    fn is_parted(&self, call: usize, result: usize) -> bool {
        let parsed = self.parsed;
        // items of one turn stand side by side
        let is_beside = |between: &ParsedMessage| {
            parsed.dialect == Dialect::Responses && between.message.role == Role::Assistant
        };
        parsed.messages[call + 1..result].iter().any(|between| {
            between.message.role != Role::Tool && !is_beside(between) && says_anything(between)
        })
    }

    /// Finds calls with the id of an earlier call.
    fn ids(&mut self) {
        let parsed = self.parsed;
        for (m, p, _) in duplicates(parsed) {
            let Part::ToolCall { id, .. } = &parsed.messages[m].message.parts[p] else {
                continue;
            };
            let shown: String = id.chars().take(40).collect();
            self.add(
                Code::DuplicateId,
                parsed.messages[m].raw,
                &format!("the id \"{shown}\" belongs to an earlier call"),
            );
        }
    }
}

/// Values with other content before a tool result, which Anthropic refuses.
fn words_before_results(parsed: &Parsed) -> Vec<usize> {
    let mut first_other: SortedMap<usize, Slot> = SortedMap::new();
    let mut last_result: SortedMap<usize, Slot> = SortedMap::new();
    for from in &parsed.messages {
        for (part, place) in from.message.parts.iter().zip(&from.places) {
            let Some(place) = place else { continue };
            if matches!(part, Part::ToolResult { .. }) {
                let last = last_result.entry(from.raw).or_insert(place.slot);
                *last = (*last).max(place.slot);
            } else if !part.is_empty() {
                let first = first_other.entry(from.raw).or_insert(place.slot);
                *first = (*first).min(place.slot);
            }
        }
    }
    let late = |(raw, last): (usize, Slot)| {
        first_other
            .get(&raw)
            .is_some_and(|f| *f < last)
            .then_some(raw)
    };
    last_result.into_iter().filter_map(late).collect()
}

/// Returns the calls whose id an earlier call has: anywhere before in Anthropic's dialect, and in the others while that
/// call is open. Each comes with the position of its result.
fn duplicates(parsed: &Parsed) -> Vec<(usize, usize, Option<PartAt>)> {
    let pairing = Pairing::of(parsed.messages.iter().map(|m| &m.message));
    let everywhere = matches!(parsed.dialect, Dialect::Anthropic | Dialect::Bedrock);
    let mut seen: SortedSet<&str> = SortedSet::new();
    let mut found = Vec::new();
    for (m, from) in parsed.messages.iter().enumerate() {
        for (p, part) in from.message.parts.iter().enumerate() {
            match part {
                Part::ToolCall { id, .. } => {
                    if seen.insert(id) {
                        continue;
                    }
                    let at = PartAt {
                        message: m,
                        part: p,
                    };
                    found.push((m, p, pairing.result_of.get(&at).copied()));
                }
                Part::ToolResult { call, .. } if !everywhere => {
                    seen.remove(call.as_str());
                }
                _ => {}
            }
        }
    }
    found
}

fn message_ids(values: &[Value], dialect: Dialect, problems: &mut Vec<Problem>) {
    if dialect != Dialect::AiSdkUi {
        return;
    }
    let mut seen = SortedSet::new();
    for (index, value) in values.iter().enumerate() {
        if let Some(id) = value.get("id").and_then(Value::as_str)
            && !seen.insert(id)
        {
            let message = "an earlier message has the same id".to_owned();
            problems.push(Problem {
                code: Code::DuplicateMessageId,
                index,
                message,
            });
        }
    }
}

fn repair(values: &[Value], dialect: Dialect) -> Vec<Rendered> {
    let (list, own) = if dialect == Dialect::AiSdkUi {
        unique_messages(values)
    } else {
        (values.to_vec(), (0..values.len()).map(Some).collect())
    };
    let (mut parsed, _) = read(&list, dialect, Origin::Host);
    rename(&mut parsed);
    let rendered = write(writer::of_parsed(&parsed), &list, &parsed, Care::Repair);
    let ours = |message| match message {
        Rendered::Kept(index) => match own[index] {
            Some(index) => Rendered::Kept(index),
            None => Rendered::Made(list[index].clone()),
        },
        made @ Rendered::Made(_) => made,
    };
    rendered.into_iter().map(ours).collect()
}

/// Leaves out a repeated message (F 16), and gives another message with the same id a new one (F 17). Returns the index
/// in the caller's list for each unchanged message.
fn unique_messages(values: &[Value]) -> (Vec<Value>, Vec<Option<usize>>) {
    let mut ids: SortedSet<String> = SortedSet::new();
    let mut out: Vec<Value> = Vec::new();
    let mut own = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let mut value = value.clone();
        let mut unchanged = Some(index);
        if let Some(id) = value.get("id").and_then(Value::as_str).map(str::to_owned) {
            let mut id = id;
            if ids.contains(&id) {
                if out.contains(&value) {
                    continue;
                }
                id = fresh(&id, &ids);
                value["id"] = id.as_str().into();
                unchanged = None;
            }
            ids.insert(id);
        }
        out.push(value);
        own.push(unchanged);
    }
    (out, own)
}

/// Leaves out each message that stands before under the same id with the same content (F16).
pub fn said_once(values: Vec<Value>) -> Vec<Value> {
    let mut ids: SortedSet<String> = SortedSet::new();
    let mut out: Vec<Value> = Vec::with_capacity(values.len());
    for value in values {
        let id = value.get("id").and_then(Value::as_str);
        let is_taken = id.is_some_and(|id| !ids.insert(id.to_owned()));
        if !(is_taken && out.contains(&value)) {
            out.push(value);
        }
    }
    out
}

/// Gives each repeated call, and its result, an id of its own.
fn rename(parsed: &mut Parsed) {
    let mut ids: SortedSet<String> = SortedSet::new();
    for from in &parsed.messages {
        ids.extend(from.message.calls().map(str::to_owned));
    }
    for (m, p, result) in duplicates(parsed) {
        let Part::ToolCall { id, .. } = &mut parsed.messages[m].message.parts[p] else {
            continue;
        };
        let new = fresh(id, &ids);
        id.clone_from(&new);
        ids.insert(new.clone());
        renamed(parsed, m, p);
        if let Some(at) = result
            && let Part::ToolResult { call, .. } =
                &mut parsed.messages[at.message].message.parts[at.part]
        {
            call.clone_from(&new);
            renamed(parsed, at.message, at.part);
        }
    }
}

fn renamed(parsed: &mut Parsed, message: usize, part: usize) {
    if let Some(place) = &mut parsed.messages[message].places[part] {
        place.fault = Fault::Identity;
    }
}

/// Makes an unused id from a used one.
fn fresh(id: &str, taken: &SortedSet<String>) -> String {
    let mut end = id.len().min(MAX_ID_BYTES - 12);
    while !id.is_char_boundary(end) {
        end -= 1;
    }
    let mut n = 2u32;
    loop {
        let new = format!("{}_{n}", &id[..end]);
        if !taken.contains(&new) {
            return new;
        }
        n += 1;
    }
}
