//! Layers of a small window, which share one room: what says the most in all of them stands, whichever of them says it.

use std::fmt;
use std::rc::Rc;

use crate::context::Context;
use crate::data::layer::{Layer, Level, layer_body};
use palimpsest_text::extractive::{self, Options, SummaryPart, Together};
use palimpsest_text::retention::{self, Audit, Fact};

use super::aging::Aging;
use super::candidate::{Candidate, window_words};
use super::passage::emphasis;
use super::rooms::Rooms;

/// The newest facts of older notes that are looked at for the lists beside the layers' texts.
const OLDER_FACTS: usize = 320;

/// The worth of what the newest layer says beside tools, relative to the others: a loop needs it again more often.
const NEWEST_OF_LOOPS: f32 = 1.5;

/// The tokens of the mark before a line beside a text, and of the line break.
const MARK: u32 = 2;

/// The choice among what all layers of a small window say. A caller whose windows never share their room leaves it out, and with
/// it this code out of its module.
#[derive(Clone, Copy)]
pub struct SharedRoom(for<'a> fn(&Context, u32, &'a Aging<'a>) -> Box<dyn Rooms + 'a>);

impl SharedRoom {
    /// Divides the room of this context's layers, of which they have at least `least` tokens together.
    pub(super) fn rooms<'a>(
        self,
        context: &Context,
        least: u32,
        aging: &'a Aging<'a>,
    ) -> Box<dyn Rooms + 'a> {
        (self.0)(context, least, aging)
    }
}

impl Default for SharedRoom {
    fn default() -> Self {
        Self(|context, least, aging| Box::new(Sharing::of(context, least, aging)))
    }
}

impl PartialEq for SharedRoom {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for SharedRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedRoom")
    }
}

/// The sentences and lines of all layers, in one order.
struct Sharing<'a> {
    aging: &'a Aging<'a>,
    /// The least tokens of all layers together.
    least: u32,
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

impl<'a> Sharing<'a> {
    /// Puts in one order what the context's layers say, the newest of which is made from its note.
    fn of(context: &Context, least: u32, aging: &'a Aging<'a>) -> Self {
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
            emphasis: emphasis(aging.mode),
            ..Options::default()
        };
        let counter = context.counter().as_ref();
        let newest = if context.has_tools() {
            NEWEST_OF_LOOPS
        } else {
            1.0
        };
        let together = Together::of(&borrowed(&parts), newest, &options, counter);
        Self {
            aging,
            least,
            parts,
            together,
        }
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

impl Rooms for Sharing<'_> {
    fn begin(&self, candidate: &mut Candidate) {
        let planned = candidate.plan.newest;
        self.share(candidate, planned);
        let over = candidate.context.tokens();
        let over = over.saturating_sub(most_with_layers(candidate));
        if over > 0 {
            self.share(candidate, planned.saturating_sub(over).max(self.least));
        }
    }

    fn widen(&self, candidate: &mut Candidate) {
        self.share_more(candidate, 2);
    }

    /// Facts of all layers count here. An older layer does not get longer than it was (C3).
    fn fill_ledgers(&self, candidate: &mut Candidate) {
        let counter = Rc::clone(candidate.context.counter());
        let counter = counter.as_ref();
        let told = Told::of(candidate);
        let (front, tail) = window_words(&candidate.context);
        let mut room = ledger_room(candidate);
        let mut words = format!("{front}\n{tail}");
        let mut lines: Vec<String> = Vec::new();
        // What replaces a value in a talk comes first. References of tools are alike without replacing each other.
        if !candidate.context.has_tools() {
            let notes = candidate.context.view().notes.iter();
            let facts: Vec<Fact> = notes.flat_map(|n| n.facts.iter().cloned()).collect();
            for sentence in extractive::changes(&front, &facts) {
                let tokens = counter.count(sentence) + MARK;
                if tokens <= room && !tail.contains(sentence) {
                    room -= tokens;
                    words.push('\n');
                    words.push_str(sentence);
                    lines.push(sentence.to_owned());
                }
            }
        }
        let missing = told.audit.check(&words).missing;
        let emphasis = emphasis(self.aging.mode);
        lines.extend(retention::ledger(&missing, emphasis, room, counter).lines);
        let newest = self.parts.len() - 1;
        candidate.context.edit_view(|view| {
            for line in lines {
                let at = told.layer_of(&line).unwrap_or(newest);
                let mut layer = (*view.layers[at]).clone();
                layer.ledger.push(line);
                layer.recount(counter);
                let was = &self.parts[at];
                if at == newest || layer.tokens <= counter.count(&layer_body(&was.text, &was.lines))
                {
                    view.layers[at] = Rc::new(layer);
                }
            }
        });
    }

    fn lengthen(&self, candidate: &mut Candidate) {
        self.share_more(candidate, 1);
    }

    /// Gives each older layer that says something else than before a number of its own. Layers that say the same stay as
    /// they were.
    fn end(&self, candidate: &mut Candidate) {
        let newest = candidate.layer;
        let Aging { base, now, .. } = *self.aging;
        candidate.context.edit_view(|view| {
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

impl Sharing<'_> {
    /// Gives the layers `room` tokens together. Lines that were added beside their texts stay.
    fn share(&self, candidate: &mut Candidate, room: u32) {
        let counter = Rc::clone(candidate.context.counter());
        let counter = counter.as_ref();
        let forms = self.together.forms(&borrowed(&self.parts), room, counter);
        candidate.context.edit_view(|view| {
            for ((layer, form), part) in view.layers.iter_mut().zip(forms).zip(&self.parts) {
                // A layer without notes only says that something was left out.
                if layer.notes.is_empty() {
                    continue;
                }
                let mut own = (**layer).clone();
                let added = own.ledger.into_iter().filter(|l| !part.lines.contains(l));
                own.ledger = form.lines.into_iter().chain(added).collect();
                own.summary = form.text;
                own.recount(counter);
                *layer = Rc::new(own);
            }
        });
    }

    /// Gives the layers what is left, divided by `part`, if the window has room for it then.
    fn share_more(&self, candidate: &mut Candidate, part: u32) {
        let most = most_with_layers(candidate);
        let more = most.saturating_sub(candidate.context.tokens()) / part;
        let before = candidate.context.view().layers.clone();
        let used: u32 = before.iter().map(|l| l.tokens).sum();
        self.share(candidate, used + more);
        if candidate.context.tokens() > most {
            candidate.context.edit_view(|view| view.layers = before);
        }
    }
}

/// The tokens that the window may have with its layers: its aim, and so few that their count with its bound does not reach
/// the trigger again.
fn most_with_layers(candidate: &Candidate) -> u32 {
    let context = &candidate.context;
    let mut most = candidate.plan.aim;
    while most > 0 && most.saturating_add(context.counter().bound(most)) >= context.trigger() {
        most -= most / 32 + 1;
    }
    most
}

/// The tokens for facts beside the layers' texts.
fn ledger_room(candidate: &Candidate) -> u32 {
    let left = most_with_layers(candidate).saturating_sub(candidate.context.tokens());
    let share = candidate.plan.newest;
    let layers = candidate.context.view().layers.iter();
    let used: u32 = layers.map(|l| l.tokens).sum();
    let own = share.saturating_sub(used).min(left);
    own.max((share / 4).min(own + left))
        .max(left.min(share * 2))
}

/// Facts, each with the place of the layer that has it in its notes.
struct Told {
    audit: Audit,
    layers: Vec<usize>,
}

impl Told {
    /// The facts of the newest layer, and so many of the older ones that a compaction does not take longer with each.
    fn of(candidate: &Candidate) -> Self {
        let view = candidate.context.view();
        let newest = view.layers.len().saturating_sub(1);
        let mut facts: Vec<Fact> = candidate.audit.facts.clone();
        let mut layers: Vec<usize> = vec![newest; facts.len()];
        let older = view.layers[..newest].iter().enumerate().rev();
        let noted = older.flat_map(|(at, layer)| layer.notes.iter().rev().map(move |id| (at, id)));
        let noted = noted.filter_map(|(at, id)| Some((at, view.note(*id)?)));
        let noted = noted.flat_map(|(at, note)| note.facts.iter().map(move |fact| (at, fact)));
        for (at, fact) in noted.take(OLDER_FACTS) {
            if !facts.contains(fact) {
                facts.push(fact.clone());
                layers.push(at);
            }
        }
        let audit = Audit { facts };
        Self { audit, layers }
    }

    /// The place of the layer from whose notes a line is.
    fn layer_of(&self, line: &str) -> Option<usize> {
        let is_of = |f: &Fact| f.context.contains(line) || line.contains(&f.text);
        let fact = self.audit.facts.iter().position(is_of)?;
        Some(self.layers[fact])
    }
}
