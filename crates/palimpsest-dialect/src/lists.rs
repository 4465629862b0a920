//! Lists of all dialects: detected, read and written. The only file that knows which dialect is which module.

use serde_json::{Value, json};

use crate::error::DialectError;
use crate::message::{Origin, Part, Role};
use crate::parsed::{Parsed, Rendered};
use crate::problem::{Code, Problem};
use crate::reader::{Reader, kind};
use crate::shape::Dialect;
use crate::writer::{self, Atom, Care, Said, Writer};
use crate::{ai_sdk, anthropic, bedrock, gemini, ollama, openai, responses};

/// The shape of a list, from the first message that only one dialect has; plain texts are OpenAI's, which all
/// providers read. `None` if nothing in the list looks like a message.
pub fn detect(values: &[Value]) -> Option<Dialect> {
    let says_a_role = |value: &Value| value.get("role").is_some_and(Value::is_string);
    let plain = || values.iter().any(says_a_role).then_some(Dialect::OpenAi);
    detect_certain(values).or_else(plain)
}

/// The shape of a list, from the first message that only one dialect has. `None` for a list of plain texts.
pub fn detect_certain(values: &[Value]) -> Option<Dialect> {
    for value in values {
        let Some(message) = value.as_object() else {
            continue;
        };
        if gemini::is(message) {
            return Some(Dialect::Gemini);
        }
        if ai_sdk::is_ui(message) {
            return Some(Dialect::AiSdkUi);
        }
        let found = ollama::is(message)
            .then_some(Dialect::Ollama)
            .or_else(|| responses::is(message).then_some(Dialect::Responses))
            .or_else(|| openai::is(message).then_some(Dialect::OpenAi))
            .or_else(|| {
                let blocks = message.get("content")?.as_array()?;
                blocks.iter().find_map(|block| {
                    if anthropic::is(block) {
                        Some(Dialect::Anthropic)
                    } else if ai_sdk::is(block) {
                        Some(Dialect::AiSdkModel)
                    } else if bedrock::is(block) {
                        Some(Dialect::Bedrock)
                    } else if responses::is_block(block) {
                        Some(Dialect::Responses)
                    } else {
                        openai::is_block(block).then_some(Dialect::OpenAi)
                    }
                })
            });
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Reads a list. `origin` is [`Origin::Import`] for a file nobody vouches for, anything else for a list that the
/// embedding program hands over: then roles are its word (S7).
///
/// Fails with [`DialectError::BadInput`] naming the index of the first value that is no message of the dialect and
/// what is expected there.
pub fn parse(values: &[Value], dialect: Dialect, origin: Origin) -> Result<Parsed, DialectError> {
    let (parsed, problems) = read(values, dialect, origin);
    match first_fatal(&problems) {
        Some(error) => Err(error),
        None => Ok(parsed),
    }
}

/// The error with which strict readers stop, if there is one.
pub(crate) fn first_fatal(problems: &[Problem]) -> Option<DialectError> {
    let problem = problems.iter().find(|problem| problem.fatal())?;
    Some(DialectError::BadInput(format!(
        "Message {}: {}",
        problem.index, problem.message
    )))
}

/// The parts in the dialect of the list that `parsed` was read from, naming the values that are the caller's own.
pub fn render_list<'a>(
    said: impl IntoIterator<Item = Said<'a>>,
    raw: &[Value],
    parsed: &Parsed,
) -> Vec<Rendered> {
    write(writer::of_said(said, parsed), raw, parsed, Care::Keep)
}

/// As [`render_list`], with the caller's own values filled in.
pub fn render<'a>(
    said: impl IntoIterator<Item = Said<'a>>,
    raw: &[Value],
    parsed: &Parsed,
) -> Vec<Value> {
    fill(render_list(said, raw, parsed), raw)
}

/// Messages of no particular list in a dialect. In Anthropic's, which has no system messages, the system line
/// becomes the first text of the first user message.
pub fn to_values<'a>(
    messages: impl IntoIterator<Item = (Role, &'a [Part])>,
    dialect: Dialect,
) -> Vec<Value> {
    let (nothing, _) = Reader::new(dialect, Origin::Host).finish();
    fill(
        write(writer::of_messages(messages), &[], &nothing, Care::Keep),
        &[],
    )
}

/// Reads a list as far as it can be read. Strict callers stop at the first fatal problem.
pub(crate) fn read(values: &[Value], dialect: Dialect, origin: Origin) -> (Parsed, Vec<Problem>) {
    let mut reader = Reader::new(dialect, origin);
    for (index, value) in values.iter().enumerate() {
        read_value(&mut reader, index, value);
    }
    reader.finish()
}

/// Reads the value of that index.
pub(crate) fn read_value(reader: &mut Reader, index: usize, value: &Value) {
    reader.index = index;
    let Some(message) = value.as_object() else {
        reader.problem(
            Code::NotAMessage,
            format!("expected an object with a role, found {}", kind(value)),
        );
        return;
    };
    match reader.parsed().dialect {
        Dialect::OpenAi => openai::read(reader, message),
        Dialect::Ollama => ollama::read(reader, message),
        Dialect::Anthropic => anthropic::read(reader, message),
        Dialect::AiSdkModel => ai_sdk::read_model(reader, message),
        Dialect::AiSdkUi => ai_sdk::read_ui(reader, message),
        Dialect::Responses => responses::read(reader, message),
        Dialect::Gemini => gemini::read(reader, message),
        Dialect::Bedrock => bedrock::read(reader, message),
    }
}

/// Groups the parts into messages and writes those that are not the caller's own.
pub(crate) fn write(
    atoms: Vec<Atom<'_>>,
    raw: &[Value],
    parsed: &Parsed,
    care: Care,
) -> Vec<Rendered> {
    let writer = Writer::new(&atoms, raw, parsed, care);
    let groups = writer.join(atoms);
    let mut out = Vec::with_capacity(groups.len() + 1);
    let first = groups.iter().find(|g| g.role != Role::System);
    let opening = parsed.dialect.takes_turns() && first.is_some_and(|g| g.role == Role::Assistant);
    for group in &groups {
        if opening && first.is_some_and(|first| std::ptr::eq(first, group)) {
            out.push(Rendered::Made(opening_of(parsed.dialect)));
        }
        out.extend(writer.thoughts(group).map(Rendered::Kept));
        out.push(match writer.whole(group) {
            Some(index) => Rendered::Kept(index),
            None => Rendered::Made(match parsed.dialect {
                Dialect::OpenAi => openai::write(group, &writer),
                Dialect::Ollama => ollama::write(group, &writer),
                Dialect::Anthropic => anthropic::write(group, &writer),
                Dialect::AiSdkModel => ai_sdk::write_model(group, &writer),
                Dialect::AiSdkUi => ai_sdk::write_ui(group, &writer),
                Dialect::Responses => responses::write(group, &writer),
                Dialect::Gemini => gemini::write(group, &writer),
                Dialect::Bedrock => bedrock::write(group, &writer),
            }),
        });
    }
    out
}

/// The user's message before an assistant's that would begin the list.
fn opening_of(dialect: Dialect) -> Value {
    let text = anthropic::OPENING;
    match dialect {
        Dialect::Gemini => json!({ "role": "user", "parts": [{ "text": text }] }),
        Dialect::Bedrock => json!({ "role": "user", "content": [{ "text": text }] }),
        _ => json!({ "role": "user", "content": text }),
    }
}

/// A list of which the caller's own values are filled in.
pub(crate) fn fill(rendered: Vec<Rendered>, raw: &[Value]) -> Vec<Value> {
    let own = |message| match message {
        Rendered::Kept(index) => raw[index].clone(),
        Rendered::Made(value) => value,
    };
    rendered.into_iter().map(own).collect()
}
