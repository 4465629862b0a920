//! Stage 4: the note, and what the source held (C4, P9).

use crate::context::shrink::{ordered, speaker};
use crate::data::layer::Author;
use crate::data::note::Note;
use crate::data::policy::Fading;
use palimpsest_text::extractive::{self, Piece};
use palimpsest_text::retention::{self, Fact};

use super::Run;
use super::identify::Form;
use super::update::Draft;

/// The most facts a note carries for later fades.
const NOTE_FACTS: usize = 160;

impl Run {
    pub(super) fn checkpoint(&mut self) {
        let Some(plan) = &self.plan else { return };
        let counter = self.context.counter.as_ref();
        let sources: Vec<(retention::Speaker, String)> = plan
            .covered
            .iter()
            .map(|&i| &self.context.entries[i].message)
            .map(|m| (speaker(m.role), super::identify::words_of(&m.parts)))
            .collect();
        let mut audit =
            retention::Audit::new(sources.iter().map(|(who, text)| (*who, text.as_str())));

        let mut view = self.context.view().clone();
        if matches!(self.context.setup().policy.fading, Fading::Single { .. }) {
            // the layer that is rewritten stands for the facts of the notes it was made from
            let known = view.notes.iter().flat_map(|n| n.facts.iter());
            let new: Vec<Fact> = known
                .filter(|f| !audit.facts.contains(f))
                .cloned()
                .collect();
            audit.facts.extend(new);
        }
        let note = (plan.form == Form::Summary && !self.written.is_empty()).then(|| {
            let parts: Vec<(&str, &[Piece])> = self
                .written
                .iter()
                .map(|w| (w.text.trim(), w.order.as_slice()))
                .collect();
            let (text, mut order) = extractive::joined(&parts);
            if self.written.iter().any(|w| w.order.is_empty()) {
                order.clear();
            }
            Note {
                id: view.next_note,
                covers: plan.spans(&self.context),
                tokens: counter.count(&text),
                text,
                order,
                facts: ordered(&audit.facts).take(NOTE_FACTS).cloned().collect(),
                author: self.note_author(),
            }
        });
        view.next_note += u32::from(note.is_some());
        self.draft = Some(Draft::new(view, note, audit));
    }

    fn note_author(&self) -> Author {
        // The least trusted way any part was written is the whole note's.
        let fallback = self
            .written
            .iter()
            .find(|w| matches!(w.author, Author::Fallback { .. }));
        fallback
            .or(self.written.first())
            .map_or(Author::Extractive, |w| w.author.clone())
    }
}
