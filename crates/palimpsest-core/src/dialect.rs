//! Message lists in the shapes people already have: read, written back in the same shape, and checked.
//!
//! Reading gives core messages and remembers where each part stood in the caller's list. Writing gives the
//! caller's own value back wherever a message stands as it was said, so that fields palimpsest does not know
//! survive untouched, and writes in the dialect what is new or changed.
//!
//! | file | what |
//! |---|---|
//! | `read.rs` | what the readers of all dialects share |
//! | `openai.rs`, `ollama.rs`, `anthropic.rs`, `ai_sdk.rs` | one dialect each: reader and writer |
//! | `exports.rs` | conversations in the files of other programs |
//! | `group.rs` | which parts of a window share one message of the dialect |
//! | `count.rs` | how large a list is as a prompt |
//! | `reasoning.rs` | what a list's reasoning costs |
//! | `tail.rs` | the unfinished end of a list |
//! | `validate.rs` | the public linter |

use crate::sorted::SortedSet;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::window::Window;
use crate::data::message::{Message, Origin, Part, Role, Seq};
use crate::data::request::RequestMessage;
use crate::error::CoreError;

mod ai_sdk;
mod anthropic;
mod count;
pub mod exports;
mod group;
mod ollama;
mod openai;
mod read;
mod reasoning;
mod tail;
pub mod validate;

pub use count::count;
pub(crate) use reasoning::reasoning;
pub(crate) use tail::{OpenTail, open_tail};
pub use validate::{Problem, Validation, validate, validate_list};

/// The longest identifier that is taken, in bytes (F 18).
pub const MAX_ID_BYTES: usize = 256;

/// A shape of message lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Dialect {
    /// OpenAI chat completions: `tool_calls` with arguments as text, results as messages of role `tool`.
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic messages: content blocks, results inside user messages.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// Ollama's `/api/chat`: `tool_calls` with arguments as objects, `images` as base64.
    #[serde(rename = "ollama")]
    Ollama,
    /// The Vercel AI SDK's model messages (`ModelMessage`).
    #[serde(rename = "ai-sdk")]
    AiSdkModel,
    /// The Vercel AI SDK's messages of the user interface (`UIMessage`): a tool's call and its result are one part.
    #[serde(rename = "ai-sdk-ui")]
    AiSdkUi,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Ollama,
        Self::AiSdkModel,
        Self::AiSdkUi,
    ];

    /// Its name in options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Ollama => "ollama",
            Self::AiSdkModel => "ai-sdk",
            Self::AiSdkUi => "ai-sdk-ui",
        }
    }

    /// The dialect of that name.
    pub fn named(name: &str) -> Result<Self, CoreError> {
        Self::ALL
            .into_iter()
            .find(|d| d.name() == name)
            .ok_or_else(|| {
                let known = Self::ALL.map(Self::name).join(", ");
                CoreError::BadInput(format!(
                    "There is no dialect called \"{name}\". Choose one of: {known}."
                ))
            })
    }
}

/// Where in the caller's value a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    /// The whole content, a string.
    Content,
    /// An element of the content's (or the parts') array.
    Block(usize),
    /// The result's half of such an element, where call and result are one.
    ResultOf(usize),
    /// An element of `tool_calls`.
    Call(usize),
    /// The field `function_call` of old OpenAI messages.
    FunctionCall,
    /// An element of Ollama's `images`.
    Image(usize),
    /// A field beside the content, such as `thinking` or `refusal`.
    Field(&'static str),
}

/// How a part's value differs from what the dialect wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Not at all.
    None,
    /// It is wrong, but the caller's own: only the linter's repair writes it anew.
    Minor,
    /// It lacks the id that its other half needs: always written anew.
    Identity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    slot: Slot,
    fault: Fault,
}

/// A core message and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedMessage {
    /// The message. Its position counts from 0 in [`Parsed::messages`].
    pub message: Message,
    /// Index of the value in the caller's list that it comes from. Several messages may share one.
    pub raw: usize,
    /// For each part, where it stands in that value; `None` for words that are not the caller's.
    places: Vec<Option<Place>>,
}

impl ParsedMessage {
    /// Takes out the first `count` parts that a model reads.
    fn leave_out(&mut self, mut count: usize) {
        let mut at = 0;
        while count > 0 && at < self.message.parts.len() {
            if self.message.parts[at].is_empty() {
                at += 1;
                continue;
            }
            self.message.parts.remove(at);
            self.places.remove(at);
            count -= 1;
        }
    }

    /// Takes out what leads its own words: parts, and then bytes of the first text.
    fn leave_out_lead(&mut self, parts: usize, bytes: usize) {
        self.leave_out(parts);
        if bytes == 0 {
            return;
        }
        let first = self.message.parts.iter().position(|p| !p.is_empty());
        let Some(at) = first else { return };
        if let Part::Text { text } = &mut self.message.parts[at]
            && let Some(rest) = text.get(bytes..)
        {
            *text = rest.to_owned();
            // these are not the words of the caller's value
            self.places[at] = None;
        }
    }

    /// Whether reasoning stands in it.
    pub(crate) fn reasons(&self) -> bool {
        let mut parts = self.message.parts.iter();
        parts.any(|part| matches!(part, Part::Thinking { .. }))
    }
}

/// A system line before the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemLine {
    /// Index of the value in the caller's list.
    pub raw: usize,
    /// Its words.
    pub text: String,
}

/// Which message of the whole list a message of a compacted one shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shows {
    /// None for the layers and the line after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seq: Option<Seq>,
    /// How many parts stand before its own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) after: u32,
    /// Quotes for this question lead it: their bytes in front of its own words, 0 where they are the last part before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) quoted: Option<u32>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
const fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What was read from a caller's list.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The list's shape.
    pub dialect: Dialect,
    /// System lines before the first other message: the system prompt. Lines further down are messages of role
    /// [`Role::System`] in their place, or quoted text of the user's if the list is an import (S7).
    pub system: Vec<SystemLine>,
    /// Everything else, oldest first.
    pub messages: Vec<ParsedMessage>,
    /// Values that could not be read whole. Always empty after [`parse`]: only the linter reads on.
    broken: SortedSet<usize>,
    /// Messages that are written without their reasoning.
    pub(crate) silent: SortedSet<Seq>,
}

impl Parsed {
    /// The system prompt; empty if there is none.
    pub fn system_text(&self) -> String {
        self.system
            .iter()
            .map(|line| line.text.as_str())
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    /// What was read of a list that compacting had given, as the longer list it stands for. `shows` says for each
    /// message read which one of the `whole` it shows and how many of its first parts are not that one's; what no message
    /// shows is made by `hidden`. Messages past `shows` follow.
    pub(crate) fn of_compacted(
        &mut self,
        whole: u32,
        shows: &[Shows],
        hidden: impl Fn(Seq) -> Message,
    ) {
        let read = std::mem::take(&mut self.messages);
        let first = read.first().map_or(0, |m| m.raw);
        let mut list: Vec<ParsedMessage> = (0..whole)
            .map(|seq| {
                let message = hidden(seq);
                ParsedMessage {
                    places: vec![None; message.parts.len()],
                    message,
                    raw: first,
                }
            })
            .collect();
        for (n, mut from) in read.into_iter().enumerate() {
            match shows.get(n) {
                None => list.push(from),
                Some(Shows { seq: None, .. }) => {}
                Some(Shows {
                    seq: Some(seq),
                    after,
                    quoted,
                }) => {
                    if let Some(stub) = list.get_mut(*seq as usize) {
                        from.leave_out_lead(*after as usize, quoted.unwrap_or_default() as usize);
                        if quoted.is_some() {
                            // the quotes are in the caller's value by now: it is written anew
                            self.broken.insert(from.raw);
                        }
                        *stub = from;
                    }
                }
            }
        }
        for (seq, from) in (0..).zip(&mut list) {
            from.message.seq = seq;
            from.message.parent = seq.checked_sub(1);
        }
        self.messages = list;
    }

    /// Index in the caller's list of the value that message comes from.
    pub fn raw_of(&self, seq: Seq) -> Option<usize> {
        Some(self.messages.get(seq as usize)?.raw)
    }
}

/// One message of a rendered list.
#[derive(Debug, Clone, PartialEq)]
pub enum Rendered {
    /// The caller's value of that index, as it is.
    Kept(usize),
    /// A value made in the dialect.
    Made(Value),
}

/// The shape of a list, from the first message that only one dialect has; plain texts are OpenAI's, which all
/// providers read. `None` if nothing in the list looks like a message.
pub fn detect(values: &[Value]) -> Option<Dialect> {
    let mut plain = false;
    for value in values {
        let Some(message) = value.as_object() else {
            continue;
        };
        if message.get("parts").is_some_and(Value::is_array) {
            return Some(Dialect::AiSdkUi);
        }
        let found = ollama::is(message)
            .then_some(Dialect::Ollama)
            .or_else(|| openai::is(message).then_some(Dialect::OpenAi))
            .or_else(|| {
                let blocks = message.get("content")?.as_array()?;
                blocks.iter().find_map(|block| {
                    if anthropic::is(block) {
                        Some(Dialect::Anthropic)
                    } else if ai_sdk::is(block) {
                        Some(Dialect::AiSdkModel)
                    } else {
                        openai::is_block(block).then_some(Dialect::OpenAi)
                    }
                })
            });
        if found.is_some() {
            return found;
        }
        plain |= message.get("role").is_some_and(Value::is_string);
    }
    plain.then_some(Dialect::OpenAi)
}

/// Reads a list. `origin` is [`Origin::Import`] for a file nobody vouches for, anything else for a list that the
/// embedding program hands over: then roles are its word (S7).
///
/// Fails with [`CoreError::BadInput`] naming the index of the first value that is no message of the dialect and
/// what is expected there.
pub fn parse(values: &[Value], dialect: Dialect, origin: Origin) -> Result<Parsed, CoreError> {
    let (parsed, problems) = read::read(values, dialect, origin);
    match problems.into_iter().find(Problem::fatal) {
        Some(problem) => Err(CoreError::BadInput(format!(
            "Message {}: {}",
            problem.index, problem.message
        ))),
        None => Ok(parsed),
    }
}

/// The window in the dialect of the list it was parsed from, naming what is the caller's own.
pub fn render_list(window: &Window, raw: &[Value], parsed: &Parsed) -> Vec<Rendered> {
    group::write(
        group::of_window(window, parsed),
        raw,
        parsed,
        group::Care::Keep,
    )
}

/// As [`render_list`], with the caller's own values filled in.
pub fn render(window: &Window, raw: &[Value], parsed: &Parsed) -> Vec<Value> {
    fill(render_list(window, raw, parsed), raw)
}

/// Messages of no particular list in a dialect. In Anthropic's, which has no system messages, the system line
/// becomes the first text of the first user message.
pub fn to_values(messages: &[RequestMessage], dialect: Dialect) -> Vec<Value> {
    let nothing = Parsed {
        dialect,
        system: Vec::new(),
        messages: Vec::new(),
        broken: SortedSet::new(),
        silent: SortedSet::new(),
    };
    fill(
        group::write(
            group::of_request(messages),
            &[],
            &nothing,
            group::Care::Keep,
        ),
        &[],
    )
}

fn fill(rendered: Vec<Rendered>, raw: &[Value]) -> Vec<Value> {
    let own = |message| match message {
        Rendered::Kept(index) => raw[index].clone(),
        Rendered::Made(value) => value,
    };
    rendered.into_iter().map(own).collect()
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

#[cfg(test)]
mod tests;
