//! Stage 5: the new view. Older layers fade and merge, the user's words are quoted, facts that the
//! summary missed go to the ledger, constraints to the records (C3, C4, P3, P9).

use std::rc::Rc;

use crate::context::Context;
use crate::context::shrink::{fit, of_notes};
use crate::data::layer::{Layer, LayerId};
use crate::data::marker::Proposal;
use crate::data::mode::Mode;
use crate::data::policy::{Demands, Fading};
use crate::data::record::Found;
use palimpsest_text::extractive;
use palimpsest_text::retention::{self, Fact};

use super::Task;
use super::aging::{Aging, keep_within, push_layer};
use super::candidate::{Candidate, window_words};
use super::checkpoint::Noted;
use super::cover::{Form, SMALLEST_SUMMARY};
use super::identify::Identified;
use super::metadata::Metadata;
use super::passage::emphasis;
use super::quoting::OwnWords;
use super::rooms::{OwnRooms, Rooms};
use super::scope::Scope;
use super::summarize::Answers;

/// Makes the window with the new layer.
pub(super) fn update(task: &Task, found: &Identified, answers: Answers, noted: Noted) -> Candidate {
    let base = &found.trimmed.context;
    let plan = &found.plan;
    let mut candidate = Candidate::of(found, plan.clone(), answers.noticed);
    candidate.audit = noted.audit;
    candidate.found = adopted(task, base, &plan.covered, answers.proposals);
    let mut records = base.records().clone();
    records.adopt(&candidate.found);
    if records.revision != base.records().revision {
        candidate.context.set_records(records.clone());
        candidate.records = Some(records);
    }
    if plan.covered.is_empty() {
        // the deterministic passes were enough, or nothing can be covered
        return candidate;
    }

    // The new layer, and the older ones one step shorter.
    let aging = Aging {
        base,
        mode: task.options.mode,
        now: task.seed.now,
        faded: answers.faded.as_ref(),
    };
    let covered = || {
        plan.covered
            .iter()
            .map(|&i| base.entries[i].message.as_ref())
    };
    let facts = Metadata::of(covered(), &candidate.audit, &candidate.found.proposals);
    candidate.context.edit_view(|view| {
        view.next_note += u32::from(noted.note.is_some());
        for message in covered() {
            view.reduced.remove(&message.seq);
        }
        let layer = Layer {
            key_decisions: facts.key_decisions,
            files_modified: facts.files_modified,
            next_steps: facts.next_steps,
            ..aging.new_layer(plan, noted.note.as_ref(), view)
        };
        candidate.layer = Some(layer.id);
        view.notes.extend(noted.note.map(Rc::new));
        if let Some(old) = &found.remade {
            view.layers.push(Rc::new(in_place_of(old, layer)));
        } else {
            aging.age(view, plan.shared.is_some());
            push_layer(view, layer);
        }
        if task.options.scope != Scope::Policy {
            palimpsest_text::order::sort_by_key(&mut view.layers, |l| l.range().from);
        }
        let layers = view.layers.iter();
        let used: Vec<u32> = layers.flat_map(|l| l.notes.iter().copied()).collect();
        view.notes.retain(|n| used.contains(&n.id));
    });

    // The user's own words.
    let own = OwnWords::of(&candidate.context);
    let share = base.setup().shares.user;
    candidate.quote(&own, share);

    let rooms: Box<dyn Rooms> = match plan.shared.zip(task.options.shared) {
        Some((least, room)) => room.rooms(&candidate.context, least, &aging),
        None => Box::new(OwnRooms(&aging)),
    };
    rooms.begin(&mut candidate);
    // What the summary missed; what room is left goes there first (P4).
    if plan.form != Form::Summary {
        return candidate;
    }
    let talks = !base.has_tools();
    if !talks {
        // what its note says next comes in sentences, and a fact in the list beside it stands alone
        rooms.widen(&mut candidate);
    }
    rooms.fill_ledgers(&mut candidate);
    if talks {
        // a sentence of a layer says more for its room than a whole message of a talk
        rooms.lengthen(&mut candidate);
    }
    let left = candidate.left();
    if left > 0 {
        let quotes = candidate.context.view().quotes.iter();
        let taken: u32 = quotes.map(|q| q.tokens).sum();
        candidate.quote(&own, taken.max(share) + left);
        if candidate.context.tokens() > plan.aim {
            candidate.quote(&own, share);
        }
        rooms.lengthen(&mut candidate);
    }
    // references of tools are alike without replacing each other
    if talks {
        candidate.follow_changes(task);
    }
    if base.setup().has_one_layer {
        candidate.shorten(task.limit());
    }
    rooms.end(&mut candidate);
    candidate
}

/// A layer that takes the place of an older one: its text is new, its past is not.
fn in_place_of(old: &Layer, layer: Layer) -> Layer {
    Layer {
        number: old.number,
        rank: old.rank,
        created: old.created,
        compressions: old.compressions,
        replaces: vec![old.id],
        ..layer
    }
}

/// The demands in the user's covered words (P9), and what the summaries propose (G3). Only the host's own
/// words count as demands: a tool's or an import's text cannot become a constraint (I8).
fn adopted(task: &Task, context: &Context, covered: &[usize], proposals: Vec<Proposal>) -> Found {
    let mut found = Found {
        constraints: Vec::new(),
        proposals,
    };
    if context.setup().policy.demands == Demands::Off {
        return found;
    }
    for &i in covered {
        let message = &context.entries[i].message;
        let words = message.own_words().unwrap_or_default();
        let scan = task.known.scan(&words, retention::Speaker::User);
        let constraints = scan.constraints(&words).into_iter();
        found
            .constraints
            .extend(constraints.map(|c| (message.seq, c)));
    }
    found
}

impl Candidate {
    /// Gives the layers the room that is left under the aim: faded text comes back, then more of the messages is said.
    pub(super) fn lengthen(&mut self, aging: &Aging<'_>) {
        let setup = aging.base.setup();
        if setup.policy.fading != Fading::Notes {
            return;
        }
        if setup.has_one_layer {
            self.widen(self.left());
        } else {
            self.restore(aging);
            // half for the new layer, so that the older ones get something; then what they leave
            self.widen(self.left() / 2);
            self.grow(aging);
            if aging.base.has_tools() {
                self.widen(self.left());
            }
        }
    }

    /// Adds later values to the newest layer, if the layers or the user's own words still hold the earlier ones. A value
    /// for which there is no room is left out.
    fn follow_changes(&mut self, task: &Task) {
        let Some(at) = self.newest() else { return };
        let setup = self.context.setup();
        let (shares, longest) = (setup.shares, setup.longest_layer);
        // no more than every compaction leaves to quotes, so that none is due again at once
        let more = shares.recall;
        let most = self.plan.aim.saturating_add(more).min(task.limit());
        let notes = self.context.view().notes.iter();
        let facts: Vec<Fact> = notes.flat_map(|n| n.facts.iter().cloned()).collect();
        let (front, tail) = window_words(&self.context);
        for sentence in extractive::changes(&front, &facts) {
            if tail.contains(sentence) {
                continue;
            }
            let before = Rc::clone(&self.context.view().layers[at]);
            let mut layer = (*before).clone();
            layer.ledger.push(sentence.to_owned());
            layer.recount(self.context.counter.as_ref());
            let is_long = longest.is_some_and(|longest| layer.tokens > longest);
            self.put(at, Rc::new(layer));
            if is_long || self.context.tokens() > most {
                self.put(at, before);
            }
        }
    }

    /// Tokens that are left below the aim.
    pub(super) fn left(&self) -> u32 {
        self.plan.aim.saturating_sub(self.context.tokens())
    }

    /// Quotes the user's covered words within `room` tokens.
    fn quote(&mut self, own: &OwnWords, room: u32) {
        let quotes = own.quotes(&self.context, room);
        self.context.edit_view(|view| view.quotes = quotes);
    }

    /// Shows another form of a layer.
    pub(super) fn put(&mut self, place: usize, layer: Rc<Layer>) {
        self.context.edit_view(|view| view.layers[place] = layer);
    }

    /// Shows another form of a layer, if the window still reaches its aim with it.
    pub(super) fn try_put(&mut self, place: usize, layer: Rc<Layer>) {
        let before = Rc::clone(&self.context.view().layers[place]);
        self.put(place, layer);
        if self.context.tokens() > self.plan.aim {
            self.put(place, before);
        }
    }

    /// The place of the new layer.
    pub(super) fn newest(&self) -> Option<usize> {
        let layers = &self.context.view().layers;
        layers.iter().position(|l| Some(l.id) == self.layer)
    }

    /// Facts that the window does not hold go to the list beside the new layer's summary, as far as there is room.
    pub(super) fn fill_ledger(&mut self, mode: Mode) {
        let newest = self.plan.newest;
        let Some(at) = self.newest() else { return };
        let mut check = self.check();
        if check.missing.is_empty() {
            return;
        }
        let counter = Rc::clone(self.context.counter());
        let counter = counter.as_ref();
        let view = self.context.view();
        let mut layer = (*view.layers[at]).clone();
        let quarter = newest / 4;
        let left = self.left();
        // what was chosen for its worth is not cut for facts that were not
        let is_chosen = of_notes(view, &layer.notes, newest, counter).is_some();
        if left < quarter && layer.tokens > newest - quarter && !is_chosen {
            layer.summary = fit(&layer.summary, newest - quarter, layer.level, counter);
            layer.recount(counter);
            self.put(at, Rc::new(layer.clone()));
            check = self.check();
        }
        let own = newest.saturating_sub(layer.tokens);
        // The sizes of a cascade, or one that a person named, are the sizes of the layers; else what is left under the aim helps too.
        let setup = self.context.setup();
        let fading = &setup.policy.fading;
        let fixed = fading.room(0, u32::MAX).is_some() || setup.longest_layer.is_some();
        let room = if fixed {
            own
        } else {
            own.max(quarter.min(own + left))
                .max(self.left().min(newest * 2))
        };
        layer.ledger = retention::ledger(&check.missing, emphasis(mode), room, counter).lines;
        if fixed {
            keep_within(&mut layer, newest, counter);
        } else {
            layer.recount(counter);
        }
        self.put(at, Rc::new(layer));
    }

    /// Older layers that were made shorter come back as they were while there is room, the newest first.
    fn restore(&mut self, aging: &Aging<'_>) {
        for at in (0..self.context.view().layers.len()).rev() {
            let faded = &self.context.view().layers[at];
            let [replaced] = faded.replaces[..] else {
                continue;
            };
            let mut layers = aging.base.view().layers.iter();
            let Some(old) = layers.find(|l| l.id == replaced) else {
                continue;
            };
            if old.tokens <= faded.tokens
                || self.context.tokens() + (old.tokens - faded.tokens) > self.plan.aim
                || Some(faded.id) == self.layer
                // a model was asked for the shorter form
                || aging.faded.is_some_and(|(id, _)| *id == replaced)
            {
                continue;
            }
            self.try_put(at, Rc::clone(old));
        }
    }

    /// Gives the new layer `more` tokens, as far as its note has more to say.
    pub(super) fn widen(&mut self, more: u32) {
        let setup = self.context.setup();
        // where somebody said how long a summary may be, that holds
        if setup.policy.fading != Fading::Notes || setup.longest_layer.is_some() {
            return;
        }
        let Some(at) = self.newest() else { return };
        let counter = self.context.counter.as_ref();
        let view = self.context.view();
        let mut layer = (*view.layers[at]).clone();
        let room = counter.count(&layer.summary) + more;
        let longer = of_notes(view, &layer.notes, room, counter);
        let Some(longer) = longer.filter(|text| text.len() > layer.summary.len()) else {
            return;
        };
        layer.summary = longer;
        layer.recount(counter);
        self.try_put(at, Rc::new(layer));
    }

    /// Cuts the new layer by what the window is over `limit`: facts of its list first, then the last of its sentences.
    fn shorten(&mut self, limit: u32) {
        let over = self.context.tokens().saturating_sub(limit);
        let Some(at) = self.newest().filter(|_| over > 0) else {
            return;
        };
        let counter = self.context.counter.as_ref();
        let view = self.context.view();
        let mut layer = (*view.layers[at]).clone();
        let room = layer.tokens.saturating_sub(over);
        keep_within(&mut layer, room, counter);
        let more = layer.tokens.saturating_sub(room);
        if more > 0 {
            let left = counter.count(&layer.summary).saturating_sub(more);
            if let Some(shorter) = of_notes(view, &layer.notes, left, counter) {
                layer.summary = shorter;
                layer.recount(counter);
            }
        }
        self.put(at, Rc::new(layer));
    }

    /// What is left under the aim after ledger and quotes goes to the older layers, the newest first: facts of their
    /// notes that their room had no place for (P4).
    fn grow(&mut self, aging: &Aging<'_>) {
        for at in (0..self.context.view().layers.len()).rev() {
            let left = self.left();
            let counter = self.context.counter.as_ref();
            let view = self.context.view();
            let old = &view.layers[at];
            if left < SMALLEST_SUMMARY || Some(old.id) == self.layer || old.notes.is_empty() {
                continue;
            }
            // a form never gets longer than the one before, and what is stored keeps its row
            let seen = |id: LayerId| aging.base.view().layers.iter().find(|l| l.id == id);
            if seen(old.id).is_some() {
                continue;
            }
            let most = match old.replaces[..] {
                [before] => seen(before).map_or(u32::MAX, |l| l.tokens - 1),
                _ => u32::MAX,
            };
            let mut layer = (**old).clone();
            let room = (old.tokens + left * 3 / 4).min(most);
            let longer = of_notes(view, &layer.notes, room, counter);
            if let Some(longer) = longer.filter(|text| text.len() > old.summary.len()) {
                layer.summary = longer;
            }
            layer.ledger = aging.carry(view, &layer, (old.tokens + left).min(most));
            layer.recount(counter);
            if layer.tokens <= old.tokens || layer.tokens > most {
                continue;
            }
            self.try_put(at, Rc::new(layer));
        }
    }
}
