//! Pairs tool calls with their results, finds the places where a conversation may be cut (I3), and counts tool
//! definitions.

use palimpsest_text::json::ToJson as _;
use std::borrow::Borrow;

use palimpsest_tokens::TokenCounter;
use serde_json::Value;

use palimpsest_text::sorted::SortedMap;

use crate::message::{Message, Part, Role};

/// The tokens that a template puts around one tool definition besides its JSON.
const DEFINITION_TOKENS: u32 = 4;

/// The tokens of tool definitions in a prompt: their JSON, and the template around it.
pub fn definitions_tokens<'a>(
    tools: impl IntoIterator<Item = &'a Value>,
    counter: &dyn TokenCounter,
) -> u32 {
    tools
        .into_iter()
        .map(|t| {
            counter
                .count(&t.to_json())
                .saturating_add(DEFINITION_TOKENS)
        })
        .fold(0, u32::saturating_add)
}

/// The place of a tool call or result: message index and part index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartAt {
    /// Index of the message in the list.
    pub message: usize,
    /// Index of the part in the message.
    pub part: usize,
}

/// The calls of a walk through messages, oldest first, that have no result yet.
///
/// A result belongs to the nearest preceding call with its id that has no result yet; ids may be reused later in the
/// conversation. A result without a call is an orphan.
#[derive(Debug, Clone)]
pub struct OpenCalls<Id, Call> {
    open: SortedMap<Id, Vec<Call>>,
}

impl<Id: Ord, Call> Default for OpenCalls<Id, Call> {
    fn default() -> Self {
        Self {
            open: SortedMap::default(),
        }
    }
}

impl<Id: Ord + Borrow<str>, Call> OpenCalls<Id, Call> {
    /// Adds a call that waits for its result.
    pub fn ask(&mut self, id: Id, call: Call) {
        self.open.entry(id).or_default().push(call);
    }

    /// Returns the call that a result with this id answers, which waits no more.
    pub fn answer(&mut self, id: &str) -> Option<Call> {
        self.open.get_mut(id)?.pop()
    }

    /// Returns the calls that still wait.
    pub fn into_unanswered(self) -> impl Iterator<Item = Call> {
        self.open.into_values().flatten()
    }
}

/// The pairs of a list of messages, as [`OpenCalls`] finds them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairing {
    /// Result → the call it answers.
    pub call_of: SortedMap<PartAt, PartAt>,
    /// Call → its result.
    pub result_of: SortedMap<PartAt, PartAt>,
    /// Calls that never got a result.
    pub unanswered: Vec<PartAt>,
    /// Results without a call, or a second result of one call.
    pub orphans: Vec<PartAt>,
}

impl Pairing {
    /// Pairs the calls and results of `messages`, oldest first.
    pub fn of<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        Self::of_parts(messages.into_iter().map(|m| (m.role, m.parts.as_slice())))
    }

    /// Pairs the calls and results in the shown parts of messages.
    pub fn of_parts<'a>(messages: impl IntoIterator<Item = (Role, &'a [Part])>) -> Self {
        let mut pairing = Self::default();
        let mut open: OpenCalls<&str, PartAt> = OpenCalls::default();
        for (m, (role, parts)) in messages.into_iter().enumerate() {
            for (p, part) in parts.iter().enumerate() {
                let at = PartAt {
                    message: m,
                    part: p,
                };
                match part {
                    Part::ToolCall { id, .. } if role == Role::Assistant => {
                        open.ask(id, at);
                    }
                    Part::ToolResult { call, .. } => match open.answer(call) {
                        Some(call) => {
                            pairing.call_of.insert(at, call);
                            pairing.result_of.insert(call, at);
                        }
                        None => pairing.orphans.push(at),
                    },
                    _ => {}
                }
            }
        }
        pairing.unanswered = open.into_unanswered().collect();
        palimpsest_text::order::sort(&mut pairing.unanswered);
        pairing
    }

    /// Returns for each place if the list may be cut before message `i`: no call stands before the cut with its result
    /// after it. The list has one entry more than there are messages, and both ends are safe.
    pub fn safe_cuts(&self, messages: usize) -> Vec<bool> {
        let mut crossing = vec![0i32; messages + 1];
        for (result, call) in &self.call_of {
            if result.message > call.message {
                crossing[call.message + 1] += 1;
                if result.message < messages {
                    crossing[result.message + 1] -= 1;
                }
            }
        }
        let mut open = 0;
        crossing
            .iter()
            .map(|delta| {
                open += delta;
                open == 0
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Origin;

    fn call(id: &str) -> Message {
        let mut m = Message::text(0, Role::Assistant, "");
        m.parts = vec![Part::ToolCall {
            id: id.into(),
            name: "t".into(),
            arguments: "{}".into(),
        }];
        m
    }

    fn result(id: &str) -> Message {
        Message {
            parts: vec![Part::ToolResult {
                call: id.into(),
                name: None,
                text: "ok".into(),
                error: false,
            }],
            origin: Origin::Tool,
            ..Message::text(0, Role::Tool, "")
        }
    }

    fn user() -> Message {
        Message::text(0, Role::User, "hi")
    }

    fn check(messages: &[Message], cuts: &str, unanswered: usize, orphans: usize) {
        let pairing = Pairing::of(messages);
        let got: String = pairing
            .safe_cuts(messages.len())
            .iter()
            .map(|s| if *s { '|' } else { '-' })
            .collect();
        assert_eq!(
            (
                got.as_str(),
                pairing.unanswered.len(),
                pairing.orphans.len()
            ),
            (cuts, unanswered, orphans)
        );
    }

    /// I3: a cut never falls between a call and its result. F 10–15 of the bad inputs: missing calls, missing results,
    /// second results, parallel calls answered in another order, reused ids.
    #[test]
    fn cuts_and_orphans() {
        check(&[], "|", 0, 0);
        check(&[user(), call("a"), result("a"), user()], "||-||", 0, 0);
        check(
            &[call("a"), call("b"), result("b"), result("a")],
            "|---|",
            0,
            0,
        );
        check(&[call("a"), user()], "|||", 1, 0);
        check(&[result("a"), user()], "|||", 0, 1);
        check(&[call("a"), result("a"), result("a")], "|-||", 0, 1);
        check(
            &[call("a"), result("a"), call("a"), result("a")],
            "|-|-|",
            0,
            0,
        );
    }
}
