//! A layer whose text a person writes: the revision that shows it, with the same figures as every other change.

use std::rc::Rc;

use palimpsest_text::retention::{Audit, Known, Speaker};

use crate::context::shrink::ordered;
use crate::context::{Cause, Context, Seed};
use crate::data::layer::{Author, Layer, LayerId};
use crate::data::note::Note;
use crate::data::record::Found;
use crate::error::CoreError;
use crate::loss;
use crate::pass::{Adjustment, PassKind, Shed};

use super::candidate::window_words;
use super::passage::words_of;
use super::{Proposal, RunReport};

/// Proposes the view in which `text` stands in place of a layer's summary and its facts.
///
/// The text becomes a note of its own, so that shorter forms of the layer are made from it, and what the person took out
/// does not come back. Refused if there is no such layer, or the text is empty.
pub fn edited_layer(
    context: &Context,
    id: LayerId,
    text: &str,
    seed: Seed,
) -> Result<Proposal, CoreError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(CoreError::EmptyRecord);
    }
    let mut view = context.view().clone();
    let place = view.layers.iter().position(|l| l.id == id);
    let place = place.ok_or(CoreError::NotFound { what: "layer", id })?;
    let old = Rc::clone(&view.layers[place]);
    let counter = context.counter().as_ref();
    let facts = Audit::new([(Speaker::Assistant, text)]).facts;
    let note = Note {
        id: view.next_note,
        covers: old.covers.clone(),
        text: text.to_owned(),
        facts: ordered(&facts).cloned().collect(),
        tokens: counter.count(text),
        order: Vec::new(),
        author: Author::Person,
    };
    let mut layer = Layer {
        id: view.next_layer,
        summary: text.to_owned(),
        ledger: Vec::new(),
        notes: vec![note.id],
        compressed_at: seed.now,
        replaces: vec![old.id],
        author: Author::Person,
        is_cut: false,
        ..(*old).clone()
    };
    layer.recount(counter);
    view.next_layer += 1;
    view.next_note += 1;
    view.layers[place] = Rc::new(layer);
    let used: Vec<_> = view.layers.iter().flat_map(|l| l.notes.clone()).collect();
    view.notes.retain(|n| used.contains(&n.id));
    view.notes.push(Rc::new(note));
    view.cause = Cause::Edited { layer: old.id };
    view.revision += 1;

    let mut after = context.clone();
    after.set_view(view);
    let new = after.view().layers[place].id;
    let freed = context.tokens().saturating_sub(after.tokens());
    let mut passes = [Shed::new(PassKind::Summarize, old.messages, freed)];
    let loss = loss::settle(
        context,
        &mut after,
        Some(new),
        &mut passes,
        &Known::default(),
    );
    audited(&mut after, place);
    let view = after.view().clone();
    let limit = context.setup().shares.limit;
    let done = format!("layer {} was written by a person", old.id);
    let report = RunReport {
        layer: Some(new),
        covers: old.covers.clone(),
        messages: old.messages,
        covered_tokens: old.original_tokens,
        manual: true,
        ..RunReport::between(context, &after, loss, passes.to_vec())
    };
    Ok(Proposal {
        base: context.view().revision,
        tip: context.entries().last().map(|e| e.message.seq),
        edits: context.view().edits_to(&view),
        view,
        records: None,
        records_base: context.records().revision,
        found: Found::default(),
        report: report
            .adjusted(vec![Adjustment::new("layer_edited", done)])
            .verified(after.check_limit().valid, limit),
    })
}

/// Notes in the layer which facts of the messages that it covers the window holds (P9).
fn audited(after: &mut Context, place: usize) {
    let layer = Rc::clone(&after.view().layers[place]);
    let entries = after.entries().iter();
    let sources: Vec<(Speaker, String)> = entries
        .filter(|e| layer.covers(e.message.seq))
        .map(|e| (Speaker::from(e.message.role), words_of(&e.message.parts)))
        .collect();
    let audit = Audit::new(sources.iter().map(|(who, text)| (*who, text.as_str())));
    let (front, tail) = window_words(after);
    let checked = audit.check(&format!("{front}\n{tail}"));
    let layer = Layer {
        retention: checked.retention(),
        dropped: ordered(&checked.missing).map(|f| f.text.clone()).collect(),
        ..(*layer).clone()
    };
    after.view.layers[place] = Rc::new(layer);
}
