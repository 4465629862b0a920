//! Takes over a list that holds the whole conversation, as a chat frontend keeps it.

use palimpsest_core::error::CoreError;
use palimpsest_core::message::{Message, Part, Role, Seq};
use palimpsest_core::rendition::Rendition;

use crate::error::EngineError;
use crate::head::Head;

use super::{NewMessage, Session, State};

/// The effect of a list that was given as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synced {
    /// The numbers of the messages that were new.
    pub added: Vec<Seq>,
    /// The list is not only longer than the shown path: it left out, changed or brought back messages, so another branch is
    /// shown now.
    pub branched: bool,
}

/// The conversation that is to be shown.
enum Wanted {
    /// These messages, which are all of it.
    List(Vec<NewMessage>),
    /// The present one without the messages between two, both included.
    Without { from: Seq, to: Seq },
}

/// The place in a session that a list leads to.
struct Place {
    /// The number of messages of the list that are stored.
    known: usize,
    /// The last of them.
    at: Option<Seq>,
    /// The list leaves the shown path, or ends before its end.
    leaves: bool,
}

impl Session {
    /// Shows the conversation as `list` has it, which is all of it from its first message. What is stored already is not stored
    /// again, on whichever branch it lies; what is new follows it. Messages that the list does not have any more stay on their
    /// branch. An empty list changes nothing.
    pub async fn sync(&self, list: Vec<NewMessage>) -> Result<Synced, EngineError> {
        self.show_list(Wanted::List(list)).await
    }

    /// Shows the conversation without the messages from `from` to `to`, both included, and without the results of their calls.
    /// The messages after them are stored again on a branch of its own. The branch with them stays, and [`Self::switch_to`]
    /// shows it again.
    ///
    /// # Errors
    ///
    /// The shown conversation has no such messages, the first is a tool's result, or a layer covers one of them.
    pub async fn remove_messages(&self, from: Seq, to: Seq) -> Result<Synced, EngineError> {
        self.show_list(Wanted::Without { from, to }).await
    }

    async fn show_list(&self, wanted: Wanted) -> Result<Synced, EngineError> {
        let _turn = self.0.syncing.lock().await;
        if self.is_replying() {
            return Err(EngineError::Busy("a reply"));
        }
        self.keep_arrived().await;
        let (list, may_clear, place, before) = {
            let state = self.0.state.borrow();
            let (list, may_clear) = match wanted {
                Wanted::List(list) => (list, false),
                Wanted::Without { from, to } => (without(&state, from, to)?, true),
            };
            let place = place(&state, &list);
            (list, may_clear, place, state.head.tip)
        };
        let is_taken = may_clear || !list.is_empty();
        let branched = place.leaves && is_taken;
        let moves = place.at != before && is_taken;
        if moves {
            self.move_tip(place.at).await?;
        }
        let new = list.into_iter().skip(place.known).collect::<Vec<_>>();
        if new.is_empty() {
            return Ok(Synced {
                added: Vec::new(),
                branched,
            });
        }
        // What another call has stored meanwhile is not in the list.
        let is_there = |head: &Head| {
            if head.tip == place.at {
                Ok(())
            } else {
                Err(EngineError::Busy("another message"))
            }
        };
        match self.append_at(new, &is_there).await {
            Ok(added) => Ok(Synced { added, branched }),
            Err(error) => {
                // The list is taken as a whole or not at all.
                if moves && self.head().tip == place.at {
                    self.move_tip(before).await?;
                }
                Err(error)
            }
        }
    }
}

/// The shown conversation without the messages between two, and without the results of their calls.
fn without(state: &State, from: Seq, to: Seq) -> Result<Vec<NewMessage>, CoreError> {
    let entries = state.context.entries();
    let place = |id: Seq| {
        let what = "message";
        let found = entries.iter().position(|e| e.message.seq == id);
        found.ok_or(CoreError::NotFound { what, id })
    };
    let (first, last) = (place(from)?, place(to)?);
    let is_result = |at: &usize| entries[*at].message.role == Role::Tool;
    if is_result(&first) {
        let why = "The message is the result of a tool. Remove the reply that called it.";
        return Err(CoreError::BadInput(why.to_owned()));
    }
    let results = (last + 1..entries.len()).take_while(is_result).count();
    let gone = first..last + 1 + results;
    let view = state.context.view();
    let is_covered = |at: usize| {
        let form = view.rendition(entries[at].message.seq);
        matches!(form, Rendition::Covered(_))
    };
    if gone.clone().any(is_covered) {
        let why = "A layer covers the message. Restore the layer's messages, then remove it.";
        return Err(CoreError::BadInput(why.to_owned()));
    }
    let kept = (0..entries.len()).filter(|at| !gone.contains(at));
    Ok(kept
        .map(|at| NewMessage::like(&entries[at].message))
        .collect())
}

/// Follows the list through the stored messages: along the shown path as far as it goes, then along other branches.
fn place(state: &State, list: &[NewMessage]) -> Place {
    let shown = state.context.entries();
    let pairs = shown.iter().zip(list);
    let on_path = pairs.take_while(|(entry, new)| is_same(&entry.message, new));
    let mut known = on_path.count();
    let mut at = known.checked_sub(1).map(|n| shown[n].message.seq);
    let leaves = known < shown.len();
    if known < list.len() {
        // A message is stored after its parent, so where the list only goes on there is nothing to look through.
        let later = state.messages.range(at.map_or(0, |at| at + 1)..);
        let later = later.map(|(seq, stored)| (stored.message.parent, *seq));
        let mut children: Vec<(Option<Seq>, Seq)> = later.collect();
        children.sort_unstable();
        while let Some(new) = list.get(known) {
            let first = children.partition_point(|(parent, _)| *parent < at);
            let own = children[first..].iter();
            let mut own = own.take_while(|(parent, _)| *parent == at);
            let found = own.find(|(_, seq)| {
                let stored = state.messages.get(seq);
                stored.is_some_and(|stored| is_same(&stored.message, new))
            });
            let Some((_, seq)) = found else { break };
            at = Some(*seq);
            known += 1;
        }
    }
    Place { known, at, leaves }
}

/// Returns `true` if both say the same. Reasoning, white space at the ends and the ids of tool calls do not count: frontends
/// keep them in forms of their own.
fn is_same(stored: &Message, new: &NewMessage) -> bool {
    let parts = (&stored.parts, &new.parts);
    stored.role == new.role && (parts.0 == parts.1 || says_same(parts.0, parts.1))
}

fn says_same(a: &[Part], b: &[Part]) -> bool {
    let text = |parts: &[Part]| {
        let texts = parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.trim()),
            _ => None,
        });
        texts
            .filter(|t| !t.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let others = |parts: &[Part]| -> Vec<Part> {
        let others = parts.iter().filter_map(|part| match part {
            Part::Text { .. } | Part::Thinking { .. } => None,
            Part::ToolCall {
                name, arguments, ..
            } => Some(Part::ToolCall {
                id: String::new(),
                name: name.clone(),
                arguments: plain(arguments),
            }),
            Part::ToolResult { text, error, .. } => Some(Part::ToolResult {
                call: String::new(),
                name: None,
                text: text.trim().to_owned(),
                error: *error,
            }),
            part => Some(part.clone()),
        });
        others.collect()
    };
    text(a) == text(b) && others(a) == others(b)
}

/// JSON text without its spacing; any other text as it is.
fn plain(arguments: &str) -> String {
    use palimpsest_text::json::{ToJson as _, parse};
    parse(arguments).map_or_else(|_| arguments.to_owned(), |value| value.to_json())
}
