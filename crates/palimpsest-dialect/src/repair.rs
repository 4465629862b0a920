//! Arranges parts in the order that every provider accepts: each result directly after its call, a stand-in for each
//! missing result, and results without a call as quoted text. Windows and repaired lists both use this arrangement
//! (I3).

use crate::message::{Part, Role};
use crate::tool::{Pairing, PartAt};

/// The text in place of a missing result.
const INTERRUPTED: &str = "[no result: the call was interrupted]";

/// One part of an arranged message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The message's own part with this index, in this role.
    Own(usize, Role),
    /// The message's result with this index answers no call: the user quotes it, in the form of [`quoted`].
    Orphan(usize),
    /// The result at that place, which answers a call of this message.
    Answer(PartAt),
    /// The message's call with this index has no result: [`interrupted`] takes its place.
    Missing(usize),
}

/// The arrangement of the parts of a list of messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arrangement {
    pairing: Pairing,
}

impl Arrangement {
    /// Pairs the calls and results of messages, oldest first.
    pub fn of_parts<'a>(messages: impl IntoIterator<Item = (Role, &'a [Part])>) -> Self {
        Self {
            pairing: Pairing::of_parts(messages),
        }
    }

    /// Returns `true` if the part is a result that stands after its call and not with its message.
    pub fn is_elsewhere(&self, message: usize, part: usize) -> bool {
        self.pairing.call_of.contains_key(&PartAt { message, part })
    }

    /// Returns the parts in place of message `message`: its own parts with content, then the results of its calls in
    /// the order of the calls. Results of an earlier call are left out, because they stand with that call.
    pub fn steps(&self, message: usize, role: Role, parts: &[Part]) -> Vec<Step> {
        let mut steps = Vec::with_capacity(parts.len());
        let indexed = || parts.iter().enumerate();
        for (p, part) in indexed().filter(|(_, part)| !part.is_empty()) {
            match part {
                Part::ToolResult { .. } if self.is_elsewhere(message, p) => {}
                Part::ToolResult { .. } => steps.push(Step::Orphan(p)),
                // Words of a tool that are not a result belong to no call.
                _ if role == Role::Tool => steps.push(Step::Own(p, Role::User)),
                _ => steps.push(Step::Own(p, role)),
            }
        }
        for (part, _) in indexed().filter(|(_, part)| matches!(part, Part::ToolCall { .. })) {
            match self.pairing.result_of.get(&PartAt { message, part }) {
                Some(result) => steps.push(Step::Answer(*result)),
                None if role == Role::Assistant => steps.push(Step::Missing(part)),
                None => {}
            }
        }
        steps
    }
}

/// The text in which the user quotes a result that answers no call.
pub fn quoted(text: &str, error: bool) -> Part {
    let label = if error {
        "Failed tool result"
    } else {
        "Tool result"
    };
    Part::text(format!("[{label} without its call]\n{text}"))
}

/// The stand-in for the result of a call that was interrupted.
pub fn interrupted(id: &str, name: &str) -> Part {
    Part::ToolResult {
        call: id.to_owned(),
        name: Some(name.to_owned()),
        text: INTERRUPTED.into(),
        error: true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A copy of the code that `Context::window` had before: results by their place in the list, and calls without one
    /// repaired.
    fn as_windows_did(messages: &[(Role, Vec<Part>)]) -> Vec<Vec<Step>> {
        let pairing = Pairing::of_parts(messages.iter().map(|(r, p)| (*r, p.as_slice())));
        let mut out = Vec::new();
        for (m, (role, parts)) in messages.iter().enumerate() {
            let mut steps = Vec::new();
            for (p, part) in parts.iter().enumerate().filter(|(_, p)| !p.is_empty()) {
                let at = PartAt {
                    message: m,
                    part: p,
                };
                if let Part::ToolResult { .. } = part {
                    if !pairing.call_of.contains_key(&at) {
                        steps.push(Step::Orphan(p));
                    }
                } else if *role == Role::Tool {
                    steps.push(Step::Own(p, Role::User));
                } else {
                    steps.push(Step::Own(p, *role));
                }
            }
            for (p, part) in parts.iter().enumerate() {
                let at = PartAt {
                    message: m,
                    part: p,
                };
                if !matches!(part, Part::ToolCall { .. }) {
                    continue;
                }
                if let Some(result) = pairing.result_of.get(&at) {
                    steps.push(Step::Answer(*result));
                } else if *role == Role::Assistant {
                    steps.push(Step::Missing(p));
                }
            }
            out.push(steps);
        }
        out
    }

    fn part() -> impl Strategy<Value = Part> {
        let id = prop_oneof![Just("a".to_owned()), Just("b".to_owned())];
        prop_oneof![
            Just(Part::text("words")),
            Just(Part::text(" ")),
            Just(Part::Thinking { text: "hm".into() }),
            id.clone().prop_map(|id| Part::ToolCall {
                id,
                name: "t".into(),
                arguments: "{}".into(),
            }),
            (id, any::<bool>()).prop_map(|(call, error)| Part::ToolResult {
                call,
                name: None,
                text: "ok".into(),
                error,
            }),
        ]
    }

    fn messages() -> impl Strategy<Value = Vec<(Role, Vec<Part>)>> {
        let role = prop_oneof![
            Just(Role::User),
            Just(Role::Assistant),
            Just(Role::Tool),
            Just(Role::System)
        ];
        prop::collection::vec((role, prop::collection::vec(part(), 0..4)), 0..8)
    }

    proptest! {
        /// I3: the arrangement agrees with that of earlier windows, and every part with content appears exactly once.
        #[test]
        fn parts_are_arranged_once(messages in messages()) {
            let parts = |(role, parts): &(Role, Vec<Part>)| (*role, parts.clone());
            let list: Vec<_> = messages.iter().map(parts).collect();
            let arrangement = Arrangement::of_parts(list.iter().map(|(r, p)| (*r, p.as_slice())));
            let steps: Vec<Vec<Step>> = list
                .iter()
                .enumerate()
                .map(|(m, (role, parts))| arrangement.steps(m, *role, parts))
                .collect();
            prop_assert_eq!(&steps, &as_windows_did(&list));
            let mut stands = Vec::new();
            for (message, steps) in steps.iter().enumerate() {
                stands.extend(steps.iter().filter_map(|step| match *step {
                    Step::Own(part, _) | Step::Orphan(part) => Some(PartAt { message, part }),
                    Step::Answer(at) => Some(at),
                    Step::Missing(_) => None,
                }));
            }
            stands.sort_unstable();
            let mut wanted = Vec::new();
            for (message, (_, parts)) in list.iter().enumerate() {
                let said = parts.iter().enumerate().filter(|(_, part)| !part.is_empty());
                wanted.extend(said.map(|(part, _)| PartAt { message, part }));
            }
            prop_assert_eq!(stands, wanted);
        }
    }
}
