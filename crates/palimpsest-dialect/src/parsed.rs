//! Messages as they were read from a list, and where in that list each part stands.

use palimpsest_text::sorted::SortedSet;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Message, Part, Seq};
use crate::shape::Dialect;

/// Where in the caller's value a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Slot {
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
    /// An item of the caller's list that is not the message's own: reasoning before it.
    Item(usize),
}

/// How a part's value differs from what the dialect wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Not at all.
    None,
    /// It is wrong, but the caller's own: only the linter's repair writes it anew.
    Minor,
    /// It lacks the id that its other half needs: always written anew.
    Identity,
}

/// Where a part stands, and what is wrong with it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) slot: Slot,
    pub(crate) fault: Fault,
}

/// A core message and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedMessage {
    /// The message. Its position counts from 0 in [`Parsed::messages`].
    pub message: Message,
    /// Index of the value in the caller's list that it comes from. Several messages may share one.
    pub raw: usize,
    /// For each part, where it stands in that value; `None` for words that are not the caller's.
    pub(crate) places: Vec<Option<Place>>,
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
    pub fn reasons(&self) -> bool {
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
pub struct Shows {
    /// None for the layers and the line after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// How many parts stand before its own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after: u32,
    /// Quotes for this question lead it: their bytes in front of its own words, 0 where they are the last part before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quoted: Option<u32>,
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
    pub(crate) broken: SortedSet<usize>,
    /// Messages that are written without their reasoning.
    pub silent: SortedSet<Seq>,
    /// Whether the messages were put together from a compacted list: then they are not in the order of their values.
    pub(crate) is_gathered: bool,
}

impl Parsed {
    /// An empty list.
    pub const fn nothing(dialect: Dialect) -> Self {
        Self {
            dialect,
            system: Vec::new(),
            messages: Vec::new(),
            broken: SortedSet::new(),
            silent: SortedSet::new(),
            is_gathered: false,
        }
    }

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
    pub fn of_compacted(&mut self, whole: u32, shows: &[Shows], hidden: impl Fn(Seq) -> Message) {
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
        self.is_gathered = true;
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
