//! Makes layers and ages them: each becomes shorter, and neighbours merge (C2, C3, C4).

use std::rc::Rc;

use palimpsest_tokens::TokenCounter;

use crate::context::shrink::{fit, is_wordless, left_out, of_notes};
use crate::context::{Context, View};
use crate::data::layer::{Author, Layer, LayerId, Level, layer_body};
use crate::data::mode::Mode;
use crate::data::note::Note;
use crate::data::policy::Fading;
use palimpsest_text::extractive;
use palimpsest_text::retention::{self, Audit};

use super::cover::{Form, Plan};
use super::metadata::joined;
use super::passage::emphasis;

/// The input for making layers.
pub(super) struct Aging<'a> {
    /// The context before anything is covered. A layer does not repeat its records and demands.
    pub(super) base: &'a Context,
    /// The kind of work.
    pub(super) mode: Mode,
    /// Milliseconds since 1970.
    pub(super) now: f64,
    /// The shorter form of a layer that the model wrote.
    pub(super) faded: Option<&'a (LayerId, String)>,
}

impl Aging<'_> {
    /// Makes the layer of the covered messages.
    pub(super) fn new_layer(&self, plan: &Plan, note: Option<&Note>, view: &mut View) -> Layer {
        let counter = self.base.counter.as_ref();
        let id = view.next_layer;
        view.next_layer += 1;
        let messages = plan.covered.len() as u32;
        let level = self.base.setup().policy.levels.of(plan.covered_tokens);
        let summary = match note {
            Some(n) => extractive::fade(&n.text, &n.order, plan.newest, counter)
                .unwrap_or_else(|| fit(&n.text, plan.newest, level, counter)),
            None if plan.form == Form::Note => left_out(messages, plan.covered_tokens),
            None => String::new(),
        };
        let mut layer = Layer {
            summary,
            original_tokens: plan.covered_tokens,
            messages,
            notes: note.map(|n| n.id).into_iter().collect(),
            number: view.compactions,
            author: note.map_or(Author::Extractive, |n| n.author.clone()),
            ..Layer::new(id, level, plan.spans(self.base), self.now)
        };
        let single = self.base.setup().has_one_layer;
        if single && plan.form == Form::Summary {
            rewrite(&mut layer, view);
        }
        layer.recount(counter);
        layer
    }

    /// Makes every present layer one step shorter, and merges the two neighbours of lowest rank while there are more
    /// layers than slots. Layers are made from notes, never from the text of a layer (C4). Where layers share one room, they only merge
    /// here, with their texts joined, and their forms are chosen together afterwards.
    pub(super) fn age(&self, view: &mut View, shares_room: bool) {
        let shares = self.base.setup().shares;
        let counter = self.base.counter.as_ref();
        let setup = self.base.setup();
        let fading = &setup.policy.fading;
        let slots = match fading {
            // The rewritten layer is gone already; only others are left.
            _ if setup.has_one_layer => 1,
            Fading::Notes => shares.older_slots.max(1) as usize,
            Fading::Single { .. } | Fading::Cascade { .. } | Fading::Ratios { .. } => {
                CASCADE_SLOTS - 1
            }
        };
        while view.layers.len() > slots {
            let at = match fading {
                Fading::Notes => {
                    let rank = |i: usize| (view.layers[i].rank + view.layers[i + 1].rank, i);
                    (0..view.layers.len() - 1).min_by_key(|&i| rank(i))
                }
                // the oldest merge (C2)
                _ => Some(0),
            };
            let Some(at) = at else { break };
            let mut merged = merged(view, at, self.now);
            if shares_room && !merged.notes.is_empty() {
                let (a, b) = (&view.layers[at], &view.layers[at + 1]);
                merged.summary = format!("{}\n{}", a.summary, b.summary);
                merged.ledger = a.ledger.iter().chain(&b.ledger).cloned().collect();
            } else {
                self.write_merged(view, &mut merged);
            }
            view.layers.splice(at..=at + 1, [Rc::new(merged)]);
        }
        if shares_room {
            return;
        }
        let layers = view.layers.len();
        let notes = matches!(fading, Fading::Notes);
        let most = |room| if notes { u32::MAX } else { room };
        for i in 0..view.layers.len() {
            let old = Rc::clone(&view.layers[i]);
            let age = layers - i;
            let room = setup.layer_room(age).unwrap_or(shares.older);
            // A form that is slightly over its room is not cut again each time, so the text of a model stays.
            let slack = if notes && old.level != Level::Detailed {
                room / 8
            } else {
                0
            };
            if old.tokens <= room + slack {
                continue;
            }
            if notes && old.level != Level::Detailed {
                // The layer only carries more facts than its present room allows.
                let mut lighter = Layer {
                    id: view.next_layer,
                    replaces: vec![old.id],
                    ..(*old).clone()
                };
                keep_within(&mut lighter, room, counter);
                if lighter.tokens <= room + slack {
                    view.next_layer += 1;
                    view.layers[i] = Rc::new(lighter);
                    continue;
                }
            }
            let level = match (fading, old.level) {
                (Fading::Cascade { .. } | Fading::Ratios { .. }, _) if age > 1 => Level::Compact,
                (_, Level::Detailed) => Level::Moderate,
                _ => Level::Compact,
            };
            let by_model = self.faded.filter(|(id, _)| *id == old.id);
            let mut layer = match by_model {
                Some((_, text)) => fit(text, prose_of(level, room), level, counter),
                None => self.text_of_notes(view, &old.notes, level, room),
            };
            if layer.is_empty() {
                layer = fit(&old.summary, room, level, counter);
            }
            let mut faded = Layer {
                id: view.next_layer,
                level,
                summary: layer,
                ledger: Vec::new(),
                compressed_at: self.now,
                replaces: vec![old.id],
                compressions: old.compressions + 1,
                is_cut: by_model.is_none(),
                ..(*old).clone()
            };
            faded.ledger = self.carry(view, &faded, room);
            keep_within(&mut faded, most(room), counter);
            if faded.tokens < old.tokens {
                view.next_layer += 1;
                view.layers[i] = Rc::new(faded);
            }
        }
    }

    /// Writes the text of a merged layer from its notes, and the list beside it.
    fn write_merged(&self, view: &View, merged: &mut Layer) {
        let setup = self.base.setup();
        let room = setup.layer_room(usize::MAX).unwrap_or(setup.shares.older);
        if !merged.notes.is_empty() {
            merged.summary = self.text_of_notes(view, &merged.notes, merged.level, room);
        }
        merged.ledger = self.carry(view, merged, room);
        // The default sizes of layers leave room for that; the sizes of a cascade are exact.
        let most = if matches!(setup.policy.fading, Fading::Notes) {
            u32::MAX
        } else {
            room
        };
        keep_within(merged, most, self.base.counter.as_ref());
    }

    /// The text of notes, cut to its part of `room`; the rest is for facts.
    fn text_of_notes(&self, view: &View, notes: &[u32], level: Level, room: u32) -> String {
        let counter = self.base.counter.as_ref();
        if let Some(text) = of_notes(view, notes, room - room / 4, counter) {
            return text;
        }
        let notes = notes.iter().filter_map(|id| view.note(*id));
        // two notes may say the same of their parts, once is enough
        let mut lines: Vec<&str> = Vec::new();
        for line in notes.flat_map(|note| note.text.lines()) {
            if line.trim().is_empty() || !lines.contains(&line) {
                lines.push(line);
            }
        }
        fit(&lines.join("\n"), prose_of(level, room), level, counter)
    }

    /// Returns the facts of the layer's notes that stand beside its text, within `room`.
    pub(super) fn carry(&self, view: &View, layer: &Layer, room: u32) -> Vec<String> {
        facts_beside(self.base, view, layer, room, self.mode)
    }
}

/// Returns the facts that a layer of this context's view would carry.
pub(super) fn carried(context: &Context, layer: &Layer, room: u32, mode: Mode) -> Vec<String> {
    facts_beside(context, &context.view, layer, room, mode)
}

/// Returns the facts of the notes that this form of the layer would lose, within `room`. Facts that the records contain
/// in their own words are not repeated.
fn facts_beside(
    context: &Context,
    view: &View,
    layer: &Layer,
    room: u32,
    mode: Mode,
) -> Vec<String> {
    let counter = context.counter.as_ref();
    let left = room.saturating_sub(counter.count(&layer.summary));
    let facts = layer
        .notes
        .iter()
        .filter_map(|id| view.note(*id))
        .flat_map(|n| n.facts.iter().cloned());
    let audit = Audit {
        facts: facts.collect(),
    };
    let mut known = format!("{}\n{}", layer.summary, context.rendered.text);
    for demand in context.demands() {
        known.push('\n');
        known.push_str(&demand.text);
    }
    // New values of something that an old value represents here or in another layer come first.
    let mut standing = known.clone();
    for other in &view.layers {
        if other.id != layer.id && !layer.replaces.contains(&other.id) {
            standing.push('\n');
            standing.push_str(&layer_body(&other.summary, &other.ledger));
        }
    }
    let mut lines: Vec<String> = Vec::new();
    let mut left = left;
    for sentence in extractive::changes(&standing, &audit.facts) {
        let tokens = counter.count(sentence) + 2;
        if tokens <= left {
            left -= tokens;
            known.push('\n');
            known.push_str(sentence);
            lines.push(sentence.to_owned());
        }
    }
    let missing = audit.check(&known).missing;
    lines.extend(retention::ledger(&missing, emphasis(mode), left, counter).lines);
    lines
}

/// Merges the layer at this place with the next one. Only a layer without notes has its text already, which says how much
/// was left out.
fn merged(view: &mut View, at: usize, now: f64) -> Layer {
    let (a, b) = (Rc::clone(&view.layers[at]), Rc::clone(&view.layers[at + 1]));
    let notes: Vec<u32> = a.notes.iter().chain(&b.notes).copied().collect();
    let summary = if notes.is_empty() && a.tokens + b.tokens > 0 {
        left_out(
            a.messages + b.messages,
            a.original_tokens.saturating_add(b.original_tokens),
        )
    } else {
        String::new()
    };
    let level = a.level.min(b.level).min(Level::Moderate);
    let covers = a.covers.iter().chain(&b.covers).copied().collect();
    let mut merged = Layer {
        summary,
        original_tokens: a.original_tokens.saturating_add(b.original_tokens),
        messages: a.messages + b.messages,
        notes,
        rank: a.rank.max(b.rank) + 1,
        number: b.number,
        compressions: a.compressions.max(b.compressions) + 1,
        created: a.created,
        replaces: vec![a.id, b.id],
        author: b.author.clone(),
        is_cut: true,
        retention: a.retention.min(b.retention),
        dropped: a.dropped.iter().chain(&b.dropped).cloned().collect(),
        key_decisions: joined(&a.key_decisions, &b.key_decisions),
        files_modified: joined(&a.files_modified, &b.files_modified),
        next_steps: b.next_steps.clone(),
        ..Layer::new(view.next_layer, level, covers, now)
    };
    view.next_layer += 1;
    palimpsest_text::order::sort(&mut merged.covers);
    merged
}

/// The part of a faded layer's room for prose. The less room a layer has for its content, the more of it goes to facts,
/// because cut prose keeps few facts, whoever wrote it.
const fn prose_of(level: Level, room: u32) -> u32 {
    match level {
        Level::Detailed => room * 3 / 4,
        Level::Moderate => room / 3,
        Level::Compact => room / 6,
    }
}

/// The largest number of layers in a cascade; more layers merge (C5).
const CASCADE_SLOTS: usize = 10;

/// Makes the present layers part of the new one (seed 4).
fn rewrite(layer: &mut Layer, view: &mut View) {
    for old in view.layers.drain(..).rev() {
        layer.covers.extend(old.covers.iter().copied());
        layer.messages += old.messages;
        layer.original_tokens = layer.original_tokens.saturating_add(old.original_tokens);
        layer.replaces.push(old.id);
        layer.created = layer.created.min(old.created);
        layer.compressions = layer.compressions.max(old.compressions + 1);
    }
    palimpsest_text::order::sort(&mut layer.covers);
}

/// Adds the layer, and merges two neighbouring ones without a summary.
pub(super) fn push_layer(view: &mut View, layer: Layer) {
    if let Some(last) = view.layers.last()
        && is_wordless(last)
        && is_wordless(&layer)
    {
        let mut joined = layer;
        let says = last.tokens > 0 || joined.tokens > 0;
        joined.covers = last.covers.iter().chain(&joined.covers).copied().collect();
        joined.messages += last.messages;
        joined.original_tokens = joined.original_tokens.saturating_add(last.original_tokens);
        joined.replaces.push(last.id);
        if says {
            joined.summary = left_out(joined.messages, joined.original_tokens);
            joined.tokens = last.tokens.max(joined.tokens) + 2;
        }
        view.layers.pop();
        view.layers.push(Rc::new(joined));
        return;
    }
    view.layers.push(Rc::new(layer));
}

/// Counts the layer, and drops the last lines of its ledger until it fits `room`. Beside facts no prose stands of which
/// only a speaker's name is left.
pub(super) fn keep_within(layer: &mut Layer, room: u32, counter: &dyn TokenCounter) {
    layer.recount(counter);
    while layer.tokens > room && layer.ledger.pop().is_some() {
        layer.recount(counter);
    }
    if !layer.ledger.is_empty() && is_bare(&layer.summary) {
        layer.summary.clear();
        layer.recount(counter);
    }
}

/// Returns `true` if every line is a single word in Latin letters, as the label of a speaker is, or says that something was
/// left out.
fn is_bare(summary: &str) -> bool {
    let is_word = |line: &str| line.bytes().all(|byte| byte.is_ascii_alphabetic());
    let mut lines = summary
        .lines()
        .map(|line| line.trim().trim_end_matches(':'));
    lines.all(|line| line.starts_with("[…") || is_word(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_alone_say_nothing() {
        let check = |summary: &str, expected: bool| assert_eq!(is_bare(summary), expected);
        check("User", true);
        check("User:\n[…]", true);
        check("", true);
        check("User: Yes.", false);
        check("I never fly.", false);
        check("返事は必ず三文以内", false);
        check("v2", false);
    }
}
