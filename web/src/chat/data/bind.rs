//! The engine's history and window as the thread and the model's view. Nothing is decided here.

use std::sync::Arc;

use palimpsest_core::message::{Part, Role};
use palimpsest_core::rendition::ReducedKind;
use palimpsest_core::sorted::SortedMap;
use palimpsest_core::window::{Source as From, Window};
use palimpsest_engine::session::HistoryItem;

use crate::chat::data::sent::{Ink, Sent};
use crate::chat::data::thread::{Block, Entry, Form, Message, Stats, Who, place};

/// Where a card stands: after the message with this number; 0 before the first.
pub type Placed = (u32, u32);

/// The messages of a path with the cards between them. An assistant message and the tool results that
/// follow it are one entry.
pub fn thread(
    items: &[HistoryItem],
    model: &str,
    cards: &[Placed],
    costs: &SortedMap<u32, Stats>,
) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut open: Option<Message> = None;
    let mut cards = cards.to_vec();
    palimpsest_text::order::sort(&mut cards);
    let mut cards = cards.into_iter().peekable();
    let mut close = |open: &mut Option<Message>, entries: &mut Vec<Entry>, next: u32| {
        if let Some(message) = open.take() {
            entries.push(Entry::Message(Arc::new(message)));
        }
        while let Some((_, number)) = cards.next_if(|(after, _)| *after < next) {
            entries.push(Entry::Card(number));
        }
    };
    for item in items {
        let seq = place(item.message.seq);
        if item.message.role == Role::Tool
            && let Some(message) = &mut open
        {
            message.last = seq;
            message.ended = None;
            message.stats = costs.get(&seq).copied().or(message.stats);
            message.tokens += item.tokens;
            message.offloaded.extend(offloaded(item));
            // what its calls and its results are sent as is told at its head, of which it has one
            message.form = message.form.or(form(item));
            answer(&mut message.blocks, &item.message.parts, seq);
            continue;
        }
        close(&mut open, &mut entries, seq);
        let who = match item.message.role {
            Role::User => Who::You,
            Role::Assistant => Who::Model,
            Role::System | Role::Tool => Who::Other,
        };
        let mut blocks = Vec::new();
        for (n, part) in item.message.parts.iter().enumerate() {
            block(&mut blocks, part, (seq, n));
        }
        let imported = item.message.origin == palimpsest_core::message::Origin::Import;
        let name = if who == Who::Model && !imported {
            model.to_owned()
        } else {
            String::new()
        };
        open = Some(Message {
            seq,
            last: seq,
            who,
            name,
            at: item.message.at,
            blocks,
            ended: item.message.ended,
            stats: costs.get(&seq).copied(),
            form: form(item),
            offloaded: offloaded(item).into_iter().collect(),
            tokens: item.tokens,
            branch: item.branch,
        });
    }
    close(&mut open, &mut entries, u32::MAX);
    entries
}

/// The form in which a message is sent, if it is not sent as it was said.
fn form(item: &HistoryItem) -> Option<Form> {
    Some(match item.reduced? {
        ReducedKind::Condensed => Form::Condensed,
        ReducedKind::Stripped => Form::Stripped,
        ReducedKind::Offloaded => Form::Offloaded,
        ReducedKind::Excerpt => Form::Excerpt,
    })
}

/// The number of a message of which only a reference is sent.
fn offloaded(item: &HistoryItem) -> Option<u32> {
    (item.reduced == Some(ReducedKind::Offloaded)).then(|| place(item.message.seq))
}

/// Adds what a page shows of the part at that place: the number of its message, and its place in it.
fn block(blocks: &mut Vec<Block>, part: &Part, at: (u32, usize)) {
    blocks.push(match part {
        Part::Text { text } => Block::Text(text.clone()),
        Part::Thinking { text } => Block::Thinking(text.clone()),
        Part::ToolCall {
            name, arguments, ..
        } => Block::Tool {
            name: name.clone(),
            arguments: arguments.clone(),
            result: None,
            error: false,
        },
        Part::ToolResult { .. } => return answer(blocks, std::slice::from_ref(part), at.0),
        Part::Image {
            name, media_type, ..
        } => Block::Image {
            name: name.clone(),
            media: media_type.clone(),
            at,
        },
        Part::File { name, text } => Block::Attachment {
            name: name.clone(),
            text: text.clone(),
        },
    });
}

/// Puts results beside the calls they answer, in order; one without a call stands on its own.
fn answer(blocks: &mut Vec<Block>, parts: &[Part], seq: u32) {
    for (n, part) in parts.iter().enumerate() {
        let Part::ToolResult {
            name,
            text,
            error: failed,
            ..
        } = part
        else {
            block(blocks, part, (seq, n));
            continue;
        };
        let waiting = blocks.iter_mut().find_map(|b| match b {
            Block::Tool { result, error, .. } if result.is_none() => Some((result, error)),
            _ => None,
        });
        match waiting {
            Some((result, error)) => {
                *result = Some(text.clone());
                *error = *failed;
            }
            None => blocks.push(Block::Tool {
                name: name.clone().unwrap_or_default(),
                arguments: String::new(),
                result: Some(text.clone()),
                error: *failed,
            }),
        }
    }
}

/// The next window as it is sent.
pub fn sent(window: &Window) -> Vec<Sent> {
    window
        .messages()
        .iter()
        .map(|message| {
            let ink = match (message.sources().first(), message.role()) {
                (Some(From::Slot), _) => Ink::Layer,
                (_, Role::System) => Ink::System,
                (_, Role::User) => Ink::User,
                (_, Role::Assistant) => Ink::Assistant,
                (_, Role::Tool) => Ink::Tool,
            };
            let role = match message.role() {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::Tool => "tool",
            };
            let text = message
                .parts()
                .iter()
                .map(words)
                .collect::<Vec<_>>()
                .join("\n\n");
            let note = message
                .seq()
                .map_or_else(String::new, |seq| place(seq).to_string());
            Sent {
                role,
                ink,
                note,
                text,
                tokens: Some(message.tokens()),
            }
        })
        .collect()
}

fn words(part: &Part) -> String {
    match part {
        Part::ToolCall {
            name, arguments, ..
        } => format!("{name} {arguments}"),
        Part::Image {
            name, media_type, ..
        } => format!("[{name}, {media_type}]"),
        Part::File { name, text } => format!("{name}\n{text}"),
        Part::Text { text } | Part::Thinking { text } | Part::ToolResult { text, .. } => {
            text.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use palimpsest_core::message::{Message as Said, Origin, Seq};

    use super::*;

    fn item(seq: Seq, role: Role, parts: Vec<Part>) -> HistoryItem {
        let parent = seq.checked_sub(1);
        let message = Said {
            seq,
            parent,
            role,
            origin: Origin::Host,
            parts,
            at: 0.0,
            ended: None,
        };
        HistoryItem {
            message: Rc::new(message),
            tokens: 1,
            covered_by: None,
            reduced: None,
            branch: (1, 1),
        }
    }

    fn call(id: &str) -> Part {
        Part::ToolCall {
            id: id.into(),
            name: "run".into(),
            arguments: "{}".into(),
        }
    }

    fn result(call: &str, text: &str) -> Part {
        Part::ToolResult {
            call: call.into(),
            name: None,
            text: text.into(),
            error: false,
        }
    }

    /// I3 on the page: results stand with their calls, whatever order ids are in.
    #[test]
    fn results_stand_with_their_calls() {
        let items = [
            item(0, Role::User, vec![Part::text("go")]),
            item(1, Role::Assistant, vec![call("a"), call("a")]),
            item(2, Role::Tool, vec![result("a", "one")]),
            item(3, Role::Tool, vec![result("a", "two")]),
            item(4, Role::Assistant, vec![Part::text("done")]),
        ];
        let entries = thread(&items, "m:7b", &[(4, 1), (5, 2)], &SortedMap::new());
        let shape: Vec<String> = entries
            .iter()
            .map(|e| match e {
                Entry::Message(m) => format!("{}-{}", m.seq, m.last),
                Entry::Card(n) => format!("card {n}"),
            })
            .collect();
        assert_eq!(shape, ["1-1", "2-4", "card 1", "5-5", "card 2"]);
        let Entry::Message(message) = &entries[1] else {
            panic!("a message")
        };
        let results: Vec<_> = message
            .blocks
            .iter()
            .map(|b| match b {
                Block::Tool { result, .. } => result.clone().unwrap(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(results, ["one", "two"]);
        assert_eq!(message.name, "m:7b");
    }
}
