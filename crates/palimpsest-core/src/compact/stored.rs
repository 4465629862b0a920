//! Reduces a view to the parts that a state stores: positions in the caller's messages in place of their texts, and no
//! more notes of a layer than its next forms have room for. Every call carries the state and the caller stores it, so
//! its size must depend on the window, not on the history.

use std::rc::Rc;

use palimpsest_text::extractive;
use palimpsest_text::order;
use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};

use crate::context::shrink::fit;
use crate::context::{Context, View};
use crate::data::message::{Message, Part, Seq};
use crate::data::note::Note;
use crate::data::policy::Fading;
use crate::data::rendition::{Reduced, ReducedKind};

/// A message's shorter form, stored as pieces of the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shorter {
    seq: Seq,
    kind: ReducedKind,
    tokens: u32,
    parts: Vec<Piecewise>,
}

/// One part of a shorter form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Piecewise {
    /// The part of the message of which this is the shorter form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<u32>,
    /// Its text. `None` if it is the text of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Vec<Piece>>,
    /// A part that the message does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<Part>,
}

/// A piece of the message's text, and words of ours after it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Piece {
    #[serde(default, skip_serializing_if = "is_zero")]
    from: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    bytes: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    say: String,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
const fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Removes the shorter forms from a view and returns them.
pub(super) fn take(view: &mut View, context: &Context) -> Vec<Shorter> {
    let reduced = std::mem::take(&mut view.reduced);
    let entries = context.entries();
    let shorter = reduced.iter().filter_map(|(seq, reduced)| {
        let place = entries.binary_search_by_key(seq, |e| e.message.seq).ok()?;
        let message = &entries.get(place)?.message;
        Some(Shorter {
            seq: *seq,
            kind: reduced.kind,
            tokens: reduced.tokens,
            parts: pieces_of(&reduced.parts, message),
        })
    });
    shorter.collect()
}

/// Rebuilds the shorter forms of a view from the messages of the list. Forms that cannot be rebuilt are left out.
pub(super) fn put(view: &mut View, shorter: &[Shorter], context: &Context) {
    let entries = context.entries();
    for form in shorter {
        let place = entries.binary_search_by_key(&form.seq, |e| e.message.seq);
        let Some(entry) = place.ok().and_then(|at| entries.get(at)) else {
            continue;
        };
        let parts = form.parts.iter().map(|part| part.read(&entry.message));
        let Some(parts) = parts.collect::<Option<Vec<Part>>>() else {
            continue;
        };
        let reduced = Reduced {
            kind: form.kind,
            parts,
            tokens: form.tokens,
        };
        view.reduced.insert(form.seq, Rc::new(reduced));
    }
}

/// Returns the text of a part that a shorter form may cut.
const fn text_of(part: &Part) -> Option<&String> {
    match part {
        Part::Text { text } | Part::ToolResult { text, .. } | Part::File { text, .. } => Some(text),
        Part::ToolCall { arguments, .. } => Some(arguments),
        Part::Thinking { .. } | Part::Image { .. } => None,
    }
}

fn with_text(part: &Part, new: String) -> Part {
    let mut part = part.clone();
    match &mut part {
        Part::Text { text } | Part::ToolResult { text, .. } | Part::File { text, .. } => {
            *text = new;
        }
        Part::ToolCall { arguments, .. } => *arguments = new,
        Part::Thinking { .. } | Part::Image { .. } => {}
    }
    part
}

fn pieces_of(parts: &[Part], message: &Message) -> Vec<Piecewise> {
    let mut from = 0;
    let mut out = Vec::new();
    for part in parts {
        // Parts of a shorter form are in the order of their originals.
        let found = message
            .parts
            .iter()
            .enumerate()
            .skip(from)
            .find(|(_, own)| {
                text_of(part).is_some_and(|text| with_text(own, text.clone()) == *part)
            });
        let Some((at, own)) = found else {
            let same = message.parts.iter().position(|own| own == part);
            out.push(Piecewise {
                of: same.map(|at| at as u32),
                text: None,
                own: same.is_none().then(|| part.clone()),
            });
            continue;
        };
        from = at + 1;
        let (long, short) = (text_of(own), text_of(part));
        let text = long.zip(short).filter(|(long, short)| long != short);
        out.push(Piecewise {
            of: Some(at as u32),
            text: text.map(|(long, short)| pieces(short, long)),
            own: None,
        });
    }
    out
}

impl Piecewise {
    fn read(&self, message: &Message) -> Option<Part> {
        let Some(at) = self.of else {
            return self.own.clone();
        };
        let own = message.parts.get(at as usize)?;
        let Some(pieces) = &self.text else {
            return Some(own.clone());
        };
        let long = text_of(own)?;
        let mut text = String::new();
        for piece in pieces {
            let from = piece.from as usize;
            text.push_str(long.get(from..from.checked_add(piece.bytes as usize)?)?);
            text.push_str(&piece.say);
        }
        Some(with_text(own, text))
    }
}

/// The smallest piece that is searched in the longer text, in bytes. A position costs about as much.
const LEAST: usize = 24;

/// Writes a text as pieces of a longer one, and the text between them.
fn pieces(short: &str, long: &str) -> Vec<Piece> {
    let (new, old) = (short.as_bytes(), long.as_bytes());
    // All blocks of the longer text at multiples of their length, sorted, so that a binary search finds them.
    let block = LEAST / 2;
    let mut blocks: Vec<(&[u8], usize)> = old
        .chunks_exact(block)
        .enumerate()
        .map(|(n, bytes)| (bytes, n * block))
        .collect();
    order::sort(&mut blocks);
    let mut out = vec![Piece::default()];
    let (mut done, mut at) = (0, 0);
    while let Some(window) = new.get(at..at + block) {
        let first = blocks.partition_point(|(bytes, _)| *bytes < window);
        // Of equal blocks, the one that continues at the end of the last piece is preferred.
        let alike = blocks[first..]
            .iter()
            .take_while(|(bytes, _)| *bytes == window)
            .take(8);
        let longest = alike
            .map(|&(_, place)| {
                let back = (0..at - done)
                    .take_while(|b| place > *b && new[at - b - 1] == old[place - b - 1])
                    .count();
                let on = new[at..]
                    .iter()
                    .zip(&old[place..])
                    .take_while(|(a, b)| a == b)
                    .count();
                (back + on, at - back, place - back)
            })
            .max_by_key(|(bytes, _, _)| *bytes);
        let Some((bytes, start, place)) = longest else {
            at += 1;
            continue;
        };
        let Some((start, place, bytes)) = whole(short, start, place, bytes) else {
            at += 1;
            continue;
        };
        if let Some(last) = out.last_mut() {
            last.say.push_str(&short[done..start]);
        }
        out.push(Piece {
            from: place as u32,
            bytes: bytes as u32,
            say: String::new(),
        });
        done = start + bytes;
        at = done;
    }
    if let Some(last) = out.last_mut() {
        last.say.push_str(&short[done..]);
    }
    if out.first().is_some_and(|p| p.say.is_empty()) && out.len() > 1 {
        out.remove(0);
    }
    out
}

/// Cuts a piece to whole characters. `None` if it is then too short.
fn whole(
    short: &str,
    mut start: usize,
    mut place: usize,
    mut bytes: usize,
) -> Option<(usize, usize, usize)> {
    while bytes > 0 && !short.is_char_boundary(start) {
        (start, place, bytes) = (start + 1, place + 1, bytes - 1);
    }
    while bytes > 0 && !short.is_char_boundary(start + bytes) {
        bytes -= 1;
    }
    (bytes >= LEAST).then_some((start, place, bytes))
}

/// The largest number of facts in the notes of the newest layer, and of an older one. It is more than the next forms
/// have room for.
const NEWEST_FACTS: usize = 64;
const OLDER_FACTS: usize = 32;

/// Keeps the parts of a view that later calls need: one note for each layer, with the facts that a shorter form can
/// hold.
pub(super) fn slim(view: &mut View, context: &Context) {
    let counter = context.counter().as_ref();
    let setup = context.setup();
    let shares = setup.shares;
    let newest = view.layers.len().saturating_sub(1);
    for at in 0..view.layers.len() {
        let old = &view.layers[at];
        let is_newest = at == newest;
        let own: Vec<Rc<Note>> = view
            .notes
            .iter()
            .filter(|n| old.notes.contains(&n.id))
            .cloned()
            .collect();
        let room = match setup.layer_room(0) {
            Some(room) => room,
            None if is_newest => shares.newest,
            None => shares.older,
        };
        let most = match (setup.has_one_layer, is_newest) {
            (true, _) => NEWEST_FACTS + OLDER_FACTS * shares.older_slots as usize,
            (false, true) => NEWEST_FACTS,
            (false, false) => OLDER_FACTS,
        };
        let mut layer = (**old).clone();
        layer.dropped.clear();
        layer.key_decisions.clear();
        layer.files_modified.clear();
        layer.next_steps.clear();
        let is_small = own.len() <= 1
            && own
                .iter()
                .all(|n| n.facts.len() <= most && n.tokens <= room);
        // A single layer that is rewritten each time has its notes rewritten, too.
        let is_single = matches!(setup.policy.fading, Fading::Single { .. });
        if !is_small
            && !is_single
            && let Some(note) = joined(&own, room, most, layer.level, counter)
        {
            view.notes.retain(|n| !layer.notes.contains(&n.id));
            layer.notes = vec![note.id];
            view.notes.push(Rc::new(note));
        }
        view.layers[at] = Rc::new(layer);
    }
    order::sort_by_key(&mut view.notes, |n| n.id);
}

/// Joins notes within `room` tokens and the given number of facts: equally many from each note, the most important
/// first.
fn joined(
    notes: &[Rc<Note>],
    room: u32,
    most: usize,
    level: crate::data::layer::Level,
    counter: &dyn TokenCounter,
) -> Option<Note> {
    let last = notes.last()?;
    let parts: Vec<(&str, &[extractive::Piece])> = notes
        .iter()
        .map(|n| (n.text.as_str(), n.order.as_slice()))
        .collect();
    let (whole, order) = extractive::joined(&parts);
    let in_order = parts.iter().all(|(_, order)| !order.is_empty());
    let (text, order) = extractive::faded(&whole, &order, room, counter)
        .filter(|_| in_order)
        .unwrap_or_else(|| (fit(&whole, room, level, counter), Vec::new()));
    let each = most.div_ceil(notes.len());
    let mut facts: Vec<_> = notes
        .iter()
        .flat_map(|n| n.facts.iter().take(each))
        .cloned()
        .collect();
    order::sort_by_key(&mut facts, |f| f.class);
    facts.truncate(most);
    Some(Note {
        id: last.id,
        covers: notes
            .iter()
            .flat_map(|n| n.covers.iter().copied())
            .collect(),
        tokens: counter.count(&text),
        text,
        facts,
        order,
        author: last.author.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(pieces: &[Piece], long: &str) -> String {
        let mut out = String::new();
        for piece in pieces {
            let from = piece.from as usize;
            out.push_str(&long[from..from + piece.bytes as usize]);
            out.push_str(&piece.say);
        }
        out
    }

    #[test]
    fn a_cut_text_is_two_stretches() {
        let lines: Vec<String> = (0..200)
            .map(|n| format!("line {n} of the file\n"))
            .collect();
        let long = lines.concat();
        let short = format!(
            "{}… 3,000 bytes …{}",
            &long[..600],
            &long[long.len() - 400..]
        );
        let made = pieces(&short, &long);
        assert_eq!(read(&made, &long), short);
        let said: usize = made.iter().map(|p| p.say.len()).sum();
        assert!(said < 40, "{made:?}");
        assert!(made.len() < 5, "{made:?}");
    }

    proptest! {
        /// For any two texts, the short one can be rebuilt from the long one.
        #[test]
        fn every_text_is_made_again(long in "[a-cäß\n]{0,300}", other in "[a-cß…]{0,60}", from in 0usize..300, bytes in 0usize..200) {
            let cut: String = long.chars().skip(from).take(bytes).collect();
            for short in [format!("{cut}{other}"), format!("{other}{cut}"), format!("{cut}{other}{cut}")] {
                prop_assert_eq!(read(&pieces(&short, &long), &long), short);
            }
        }
    }
}
