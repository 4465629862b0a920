//! Stage 4: makes the note, and lists the facts of the source (C4, P9).

use crate::context::shrink::ordered;
use crate::data::layer::Author;
use crate::data::note::Note;
use palimpsest_text::extractive::{self, Piece};
use palimpsest_text::retention::{Audit, Fact, Speaker};

use super::Task;
use super::cover::Form;
use super::identify::Identified;
use super::passage::words_of;
use super::summarize::{Answers, Written};

/// The largest number of facts that a note carries for later fades.
const NOTE_FACTS: usize = 160;

/// The content of the covered messages.
#[derive(Debug, Clone)]
pub(super) struct Noted {
    /// The note, if a summary was written.
    pub(super) note: Option<Note>,
    /// Their facts.
    pub(super) audit: Audit,
}

/// Finds the facts of the covered messages, and makes a note of the summaries.
pub(super) fn checkpoint(task: &Task, found: &Identified, answers: &Answers) -> Noted {
    let context = &found.trimmed.context;
    let plan = &found.plan;
    let sources: Vec<(Speaker, String)> = plan
        .covered
        .iter()
        .map(|&i| &context.entries[i].message)
        .map(|m| (Speaker::from(m.role), words_of(&m.parts)))
        .collect();
    let sources = sources.iter().map(|(who, text)| (*who, text.as_str()));
    let mut audit = Audit::of_known(&task.known, sources);

    if context.setup().has_one_layer {
        // A layer that is rewritten is responsible for the facts of its notes.
        let known = context.view().notes.iter().flat_map(|n| n.facts.iter());
        let new: Vec<Fact> = known
            .filter(|f| !audit.facts.contains(f))
            .cloned()
            .collect();
        audit.facts.extend(new);
    }
    let written = &answers.written;
    let note = (plan.form == Form::Summary && !written.is_empty()).then(|| {
        let parts: Vec<(&str, &[Piece])> = written
            .iter()
            .map(|w| (w.text.trim(), w.order.as_slice()))
            .collect();
        let (text, mut order) = extractive::joined(&parts);
        if written.iter().any(|w| w.order.is_empty()) {
            order.clear();
        }
        Note {
            id: context.view().next_note,
            covers: plan.spans(context),
            tokens: context.counter.count(&text),
            text,
            order,
            facts: ordered(&audit.facts).take(NOTE_FACTS).cloned().collect(),
            author: author(written),
        }
    });
    Noted { note, audit }
}

/// The author of a note. The least trusted author of a part counts for the whole note.
fn author(written: &[Written]) -> Author {
    let fallback = written
        .iter()
        .find(|w| matches!(w.author, Author::Fallback { .. }));
    fallback
        .or(written.first())
        .map_or(Author::Extractive, |w| w.author.clone())
}
