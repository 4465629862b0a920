//! Layers of a small window, which share one room: what says the most in all of them stands, whichever of them says it.

use std::rc::Rc;

use crate::context::Context;
use crate::data::layer::{Layer, Level, layer_body};
use crate::data::mode::Mode;
use palimpsest_text::extractive::{Options, SummaryForm, SummaryPart, Together};
use palimpsest_text::retention::{self, Audit, Fact};

use super::candidate::{Candidate, window_words};
use super::passage::emphasis;

/// The newest facts of older notes that are looked at for the lists beside the layers' texts.
const OLDER_FACTS: usize = 320;

/// The worth of what the newest layer says beside tools, relative to the others: a loop needs it again more often.
const NEWEST_OF_LOOPS: f32 = 1.5;

/// The sentences and lines of all layers, in one order.
pub(super) struct Sharing {
    parts: Vec<Part>,
    together: Together,
}

/// The text and lines from which a layer's form is chosen.
struct Part {
    /// The text of an older layer, or all of the newest one's note.
    text: String,
    /// The lines beside it.
    lines: Vec<String>,
}

impl Sharing {
    /// Puts in one order what the context's layers say, the newest of which is made from its note.
    pub(super) fn of(context: &Context, mode: Mode) -> Self {
        let view = context.view();
        let newest = view.layers.len().saturating_sub(1);
        let part_of = |(at, layer): (usize, &Rc<Layer>)| {
            let note = layer.notes.last().and_then(|id| view.note(*id));
            let note = note.filter(|_| at == newest);
            Part {
                text: note.map_or_else(|| layer.summary.clone(), |note| note.text.clone()),
                lines: layer.ledger.clone(),
            }
        };
        let parts: Vec<Part> = view.layers.iter().enumerate().map(part_of).collect();
        let options = Options {
            target_tokens: context.setup().shares.limit,
            emphasis: emphasis(mode),
            ..Options::default()
        };
        let counter = context.counter().as_ref();
        let newest = if context.has_tools() {
            NEWEST_OF_LOOPS
        } else {
            1.0
        };
        let together = Together::of(&borrowed(&parts), newest, &options, counter);
        Self { parts, together }
    }

    fn forms(&self, context: &Context, room: u32) -> Vec<SummaryForm> {
        let counter = context.counter().as_ref();
        self.together.forms(&borrowed(&self.parts), room, counter)
    }
}

fn borrowed(parts: &[Part]) -> Vec<SummaryPart<'_>> {
    let parts = parts.iter();
    parts
        .map(|part| SummaryPart {
            text: &part.text,
            lines: &part.lines,
        })
        .collect()
}

impl Candidate {
    /// Gives the layers `room` tokens together. Lines that were added beside their texts stay.
    pub(super) fn share(&mut self, sharing: &Sharing, room: u32) {
        let forms = sharing.forms(&self.context, room);
        let counter = Rc::clone(self.context.counter());
        self.context.edit_view(|view| {
            for ((layer, form), part) in view.layers.iter_mut().zip(forms).zip(&sharing.parts) {
                // A layer without notes only says that something was left out.
                if layer.notes.is_empty() {
                    continue;
                }
                let mut own = (**layer).clone();
                let added = own.ledger.into_iter().filter(|l| !part.lines.contains(l));
                own.ledger = form.lines.into_iter().chain(added).collect();
                own.summary = form.text;
                own.recount(counter.as_ref());
                *layer = Rc::new(own);
            }
        });
    }

    /// The tokens that the window may have with its layers: its aim, and so few that their count with its bound does not
    /// reach the trigger again.
    pub(super) fn most_with_layers(&self) -> u32 {
        let context = &self.context;
        let mut most = self.plan.aim;
        while most > 0 && most.saturating_add(context.counter().bound(most)) >= context.trigger() {
            most -= most / 32 + 1;
        }
        most
    }

    /// Gives the layers what is left, divided by `part`, if the window has room for it then.
    pub(super) fn share_more(&mut self, sharing: &Sharing, part: u32) {
        let most = self.most_with_layers();
        let more = most.saturating_sub(self.context.tokens()) / part;
        let before = self.context.view().layers.clone();
        let used: u32 = before.iter().map(|l| l.tokens).sum();
        self.share(sharing, used + more);
        if self.context.tokens() > most {
            self.context.edit_view(|view| view.layers = before);
        }
    }

    /// Facts of all layers that the window does not hold go to the lists beside the texts, as far as there is room. An older
    /// layer does not get longer than it was (C3).
    pub(super) fn fill_ledgers(&mut self, sharing: &Sharing, mode: Mode) {
        let counter = Rc::clone(self.context.counter());
        let counter = counter.as_ref();
        let view = self.context.view();
        let newest = view.layers.len().saturating_sub(1);
        // Each fact with its layer, those of the newest first.
        let mut facts: Vec<Fact> = self.audit.facts.clone();
        let mut layer_of: Vec<usize> = vec![newest; facts.len()];
        let older = view.layers[..newest].iter().enumerate().rev();
        let noted = older.flat_map(|(at, layer)| layer.notes.iter().rev().map(move |id| (at, id)));
        let noted = noted.filter_map(|(at, id)| Some((at, view.note(*id)?)));
        let noted = noted.flat_map(|(at, note)| note.facts.iter().map(move |fact| (at, fact)));
        for (at, fact) in noted.take(OLDER_FACTS) {
            if !facts.contains(fact) {
                facts.push(fact.clone());
                layer_of.push(at);
            }
        }
        let (front, tail) = window_words(&self.context);
        let all = Audit { facts };
        let missing = all.check(&format!("{front}\n{tail}")).missing;
        let left = self.most_with_layers();
        let left = left.saturating_sub(self.context.tokens());
        let share = self.plan.newest;
        let used: u32 = view.layers.iter().map(|l| l.tokens).sum();
        let own = share.saturating_sub(used).min(left);
        let room = own
            .max((share / 4).min(own + left))
            .max(left.min(share * 2));
        let lines = retention::ledger(&missing, emphasis(mode), room, counter).lines;
        let place_of = |line: &String| {
            let is_of = |f: &Fact| f.context.contains(line.as_str()) || line.contains(&f.text);
            let fact = all.facts.iter().position(is_of);
            fact.map_or(newest, |fact| layer_of[fact])
        };
        let places: Vec<usize> = lines.iter().map(place_of).collect();
        self.context.edit_view(|view| {
            for (line, at) in lines.into_iter().zip(places) {
                let mut layer = (*view.layers[at]).clone();
                layer.ledger.push(line);
                layer.recount(counter);
                let was = &sharing.parts[at];
                if at == newest || layer.tokens <= counter.count(&layer_body(&was.text, &was.lines))
                {
                    view.layers[at] = Rc::new(layer);
                }
            }
        });
    }

    /// Gives each older layer that says something else than in `base` a number of its own. Layers that say the same stay
    /// as they were.
    pub(super) fn settle(&mut self, base: &Context, now: f64) {
        let newest = self.layer;
        self.context.edit_view(|view| {
            for layer in &mut view.layers {
                let old = base.view().layers.iter().find(|l| l.id == layer.id);
                let Some(old) = old.filter(|l| Some(l.id) != newest) else {
                    continue;
                };
                if old.summary == layer.summary && old.ledger == layer.ledger {
                    *layer = Rc::clone(old);
                    continue;
                }
                *layer = Rc::new(Layer {
                    id: view.next_layer,
                    level: match old.level {
                        Level::Detailed => Level::Moderate,
                        _ => Level::Compact,
                    },
                    compressed_at: now,
                    replaces: vec![old.id],
                    compressions: old.compressions + 1,
                    is_cut: true,
                    ..(**layer).clone()
                });
                view.next_layer += 1;
            }
        });
    }
}
