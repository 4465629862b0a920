//! Shows repeated and superseded tool output once, in its newest place (T3): output that came again, a file that was
//! read again or written after a read, and written content of a file that was written or read again. Failed results
//! never change.

use palimpsest_text::json::ToJson as _;
use std::collections::BTreeMap;
use std::hash::Hasher;

use serde_json::Value;
use siphasher::sip::SipHasher13;

use crate::context::{Context, Lookup};
use crate::data::message::{Part, Role, Seq, number_of};
pub use crate::data::policy::DedupeOptions;
use crate::data::rendition::{Reduced, ReducedKind, Rendition};
use palimpsest_text::glob;
use palimpsest_text::sorted::SortedMap;

use super::{Call, Edits, OpenCalls, see_calls};

/// The action of a tool on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Read,
    Write,
    Edit,
}

/// One successful use of a file.
struct Use<'a> {
    act: Act,
    path: String,
    /// The arguments besides the path: a range, for a read.
    rest: String,
    call: Call<'a>,
    result: (usize, usize),
    result_bytes: usize,
}

/// The newest place of each text, by its hash and length: entry, part, text.
type Newest<'a> = BTreeMap<(u64, usize), Vec<(usize, usize, &'a str)>>;

/// Returns shorter forms of messages before entry `end` whose tool output appears again, or in a newer form, later.
pub fn edits(context: &Context, end: usize, options: &DedupeOptions) -> Edits {
    let mut calls = OpenCalls::default();
    let mut uses: Vec<Use<'_>> = Vec::new();
    // The newest place of each text, on a walk from the oldest.
    let mut texts: Newest<'_> = BTreeMap::new();
    // The replacements, by entry and part.
    let mut notes: SortedMap<(usize, usize), Note> = SortedMap::new();
    for &index in &context.shown {
        see_calls(&mut calls, context, index);
        for (p, part) in context.entries[index].message.parts.iter().enumerate() {
            let Part::ToolResult {
                call, text, error, ..
            } = part
            else {
                continue;
            };
            let asked = calls.answer(call);
            if *error {
                continue;
            }
            if text.len() >= options.floor {
                let same = texts.entry((hash(text), text.len())).or_default();
                if let Some(older) = same.iter_mut().find(|(_, _, t)| t == text) {
                    notes.insert((older.0, older.1), Note::Repeated(seq(context, index)));
                    *older = (index, p, text);
                } else {
                    same.push((index, p, text));
                }
            }
            if let Some(used) = asked.and_then(|c| file_use(c, (index, p), text.len(), options)) {
                uses.push(used);
            }
        }
    }
    superseded(context, &uses, options, &mut notes);
    forms(context, end, &notes, options)
}

/// The replacement of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Note {
    /// The same output came again.
    Repeated(Seq),
    /// The file was read again.
    ReadAgain(String, Seq),
    /// The file was written after that.
    Written(String, Seq),
}

impl Note {
    fn text(&self, lookup: Lookup) -> String {
        // A message number is of no use to a reader who cannot look it up.
        let at = |seq: &Seq| match lookup {
            Lookup::Nowhere => "later".to_owned(),
            Lookup::Session | Lookup::Tool => format!("in message {}", number_of(*seq)),
        };
        match self {
            Self::Repeated(seq) => format!("[the same output came again {}]", at(seq)),
            Self::ReadAgain(path, seq) => format!("[outdated: {path} was read again {}]", at(seq)),
            Self::Written(path, seq) => format!("[outdated: {path} was written {}]", at(seq)),
        }
    }
}

fn seq(context: &Context, index: usize) -> Seq {
    context.entries[index].message.seq
}

fn hash(text: &str) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

fn file_use<'a>(
    call: Call<'a>,
    result: (usize, usize),
    result_bytes: usize,
    options: &DedupeOptions,
) -> Option<Use<'a>> {
    let tool = call.name.to_lowercase();
    let act = if glob::matches(&options.reads, &tool) {
        Act::Read
    } else if glob::matches(&options.writes, &tool) {
        Act::Write
    } else if glob::matches(&options.edits, &tool) {
        Act::Edit
    } else {
        return None;
    };
    let Ok(Value::Object(mut arguments)) = palimpsest_text::json::parse(call.arguments) else {
        return None;
    };
    let key = options
        .paths
        .iter()
        .find(|p| arguments.get(*p).is_some_and(Value::is_string))?;
    let path = arguments
        .remove(key)?
        .as_str()?
        .trim_start_matches("./")
        .to_owned();
    let rest = if act == Act::Read {
        let mut rest: Vec<String> = arguments
            .iter()
            .filter(|(_, v)| !v.is_null())
            .map(|(k, v)| format!("{k}={}", v.to_json()))
            .collect();
        palimpsest_text::order::sort(&mut rest);
        rest.join(",")
    } else {
        String::new()
    };
    Some(Use {
        act,
        path,
        rest,
        call,
        result,
        result_bytes,
    })
}

/// Finds superseded uses. A read goes if the same range or the whole file is read later, or the file is written later.
/// A write or edit goes if the whole file is written or read later.
fn superseded(
    context: &Context,
    uses: &[Use<'_>],
    options: &DedupeOptions,
    notes: &mut SortedMap<(usize, usize), Note>,
) {
    // The later uses by path, on a walk from the newest.
    let mut written: SortedMap<&str, Seq> = SortedMap::new();
    let mut whole: SortedMap<&str, Seq> = SortedMap::new();
    let mut ranges: SortedMap<(&str, &str), Seq> = SortedMap::new();
    for used in uses.iter().rev() {
        let path = used.path.as_str();
        let at = seq(context, used.result.0);
        let read_again = whole
            .get(path)
            .or_else(|| ranges.get(&(path, used.rest.as_str())));
        let note = match (used.act, written.get(path), read_again) {
            (Act::Read, _, Some(later)) => Some(Note::ReadAgain(used.path.clone(), *later)),
            (_, Some(later), _) => Some(Note::Written(used.path.clone(), *later)),
            (Act::Write | Act::Edit, None, _) => whole
                .get(path)
                .map(|later| Note::ReadAgain(used.path.clone(), *later)),
            (Act::Read, None, None) => None,
        };
        if let Some(note) = note {
            let place = match used.act {
                Act::Read => (used.result_bytes >= options.floor).then_some(used.result),
                Act::Write | Act::Edit => Some((used.call.entry, used.call.part)),
            };
            if let Some(place) = place {
                notes.entry(place).or_insert(note);
            }
        }
        match used.act {
            Act::Write => {
                written.entry(path).or_insert(at);
            }
            Act::Read if used.rest.is_empty() => {
                whole.entry(path).or_insert(at);
            }
            Act::Read => {
                ranges.entry((path, used.rest.as_str())).or_insert(at);
            }
            Act::Edit => {}
        }
    }
}

fn forms(
    context: &Context,
    end: usize,
    notes: &SortedMap<(usize, usize), Note>,
    options: &DedupeOptions,
) -> Edits {
    let counter = context.counter.as_ref();
    let mut edits = Edits::new();
    let mut from = (0, 0);
    while let Some((&(index, _), _)) = notes.range(from..).next() {
        from = (index + 1, 0);
        if index >= end {
            break;
        }
        let message = &context.entries[index].message;
        // If a form has other parts than the message, they cannot be matched one by one.
        let Some(now) = super::parts_now(context, index) else {
            continue;
        };
        let numbers: Vec<usize> = (0..message.parts.len())
            .filter(|&p| !message.parts[p].is_empty())
            .collect();
        let kind = match context.view.rendition(message.seq) {
            Rendition::Reduced(r) if r.kind != ReducedKind::Condensed => continue,
            _ => ReducedKind::Condensed,
        };
        if numbers.len() != now.len() {
            continue;
        }
        let mut changed = false;
        let parts = now.iter().zip(numbers).map(|(part, number)| {
            // Hidden parts are not copied either.
            let short = notes.get(&(index, number)).and_then(|note| {
                let text = note.text(context.setup.lookup);
                shorter(part, &text, message.role, options)
            });
            changed |= short.is_some();
            short.unwrap_or_else(|| part.clone())
        });
        let parts: Vec<Part> = parts.collect();
        if changed {
            edits.insert(index, Reduced::new(kind, message.role, parts, counter));
        }
    }
    edits
}

/// The part with a note in place of its text; `None` if it stays.
fn shorter(part: &Part, note: &str, role: Role, options: &DedupeOptions) -> Option<Part> {
    match part {
        Part::ToolResult {
            call, name, error, ..
        } => Some(Part::ToolResult {
            call: call.clone(),
            name: name.clone(),
            text: note.to_owned(),
            error: *error,
        }),
        Part::ToolCall {
            id,
            name,
            arguments,
        } if role == Role::Assistant => Some(Part::ToolCall {
            id: id.clone(),
            name: name.clone(),
            arguments: outdated(arguments, note, options.floor)?,
        }),
        _ => None,
    }
}

/// The arguments with the note in place of every long text, still a JSON object with the same keys. `None` if no text
/// is long.
fn outdated(arguments: &str, note: &str, floor: usize) -> Option<String> {
    let Ok(Value::Object(mut object)) = palimpsest_text::json::parse(arguments) else {
        return None;
    };
    let mut changed = false;
    for (_, value) in &mut object {
        let long = match value {
            Value::String(text) => text.len() >= floor,
            Value::Array(_) | Value::Object(_) => value.to_json().len() >= floor,
            _ => false,
        };
        if long {
            *value = Value::String(note.to_owned());
            changed = true;
        }
    }
    changed.then(|| Value::Object(object).to_json())
}
