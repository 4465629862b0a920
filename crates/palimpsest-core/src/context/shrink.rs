//! Cuts layers to a size and lists the text that stays. Runs, the passes that fade and force, and the comparison of
//! windows use it.

use std::rc::Rc;

use palimpsest_text::extractive;
use palimpsest_text::retention::Fact;
use palimpsest_tokens::TokenCounter;

use crate::context::{Context, View};
use crate::data::layer::{Layer, Level};
use crate::data::message::{Message, Role};
use crate::data::note::Note;
use crate::data::rendition::Rendition;
use palimpsest_text::sorted::SortedSet;

/// Returns facts in the ledger's order of classes, each class in the order of the text.
pub(crate) fn ordered(facts: &[Fact]) -> impl Iterator<Item = &Fact> {
    let mut facts: Vec<&Fact> = facts.iter().collect();
    palimpsest_text::order::sort_by_key(&mut facts, |f| f.class);
    facts.into_iter()
}

/// Returns `text` if it fits, otherwise cut by level.
pub(crate) fn fit(text: &str, room: u32, level: Level, counter: &dyn TokenCounter) -> String {
    if counter.count(text) <= room {
        return text.to_owned();
    }
    let cut = extractive::shorten(text, room, level.into(), counter);
    // a mark of what was left out says nothing by itself
    if cut == extractive::CUT {
        String::new()
    } else {
        cut
    }
}

/// Returns the best pieces of these notes in `room` tokens. `None` if a model wrote one of them, or if no piece fits.
pub(crate) fn of_notes(
    view: &View,
    notes: &[u32],
    room: u32,
    counter: &dyn TokenCounter,
) -> Option<String> {
    let notes = notes.iter().map(|id| view.note(*id));
    let notes: Option<Vec<&Rc<Note>>> = notes.collect();
    let notes = notes.filter(|all| all.iter().all(|n| !n.order.is_empty()))?;
    let parts: Vec<(&str, &[extractive::Piece])> = notes
        .iter()
        .map(|n| (n.text.as_str(), n.order.as_slice()))
        .collect();
    let (text, order) = extractive::joined(&parts);
    extractive::fade(&text, &order, room, counter)
}

/// The line of a layer without a summary (P8, `truncate`).
pub(crate) fn left_out(messages: u32, tokens: u32) -> String {
    format!("{messages} earlier messages ({tokens} tokens) were left out.")
}

/// Returns `true` if the layer only says that messages were left out.
pub(crate) fn is_wordless(layer: &Layer) -> bool {
    layer.tokens == 0
        || (layer.notes.is_empty()
            && layer.ledger.is_empty()
            && layer.summary == left_out(layer.messages, layer.original_tokens))
}

/// Returns the messages that the window shows as they are.
pub(crate) fn verbatim(context: &Context) -> impl Iterator<Item = &Message> {
    let shown = context.shown.iter().map(|&i| &*context.entries[i].message);
    shown.filter(|m| matches!(context.view.rendition(m.seq), Rendition::Verbatim))
}

/// Returns the words of these messages.
pub(crate) fn words_of<'a>(messages: impl Iterator<Item = &'a Message>) -> SortedSet<String> {
    let mut said = SortedSet::new();
    for message in messages {
        said.insert(message.words().trim().to_owned());
    }
    said
}

/// The user's words that stand verbatim besides the quotes: the shown messages and the demands.
pub(crate) fn standing(context: &Context) -> SortedSet<String> {
    let mut said = words_of(verbatim(context).filter(|m| m.role == Role::User));
    for demand in context.demands() {
        said.insert(demand.text.trim().to_owned());
    }
    said
}
