//! Stage 5: the new view. Older layers fade and merge, the user's words are quoted, facts that the
//! summary missed go to the ledger, constraints to the records (C3, C4, P3, P9).

use std::rc::Rc;

use palimpsest_tokens::TokenCounter;

use crate::context::shrink::{fit, is_wordless, left_out, of_notes, standing};
use crate::context::slot::quote_line;
use crate::context::window::Source;
use crate::context::{Context, Quote, View};
use crate::data::layer::{Author, Layer, Level, layer_body};
use crate::data::message::{Role, Seq};
use crate::data::mode::Mode;
use crate::data::note::Note;
use crate::data::policy::{Demands, Fading, UserWords};
use crate::data::record::{Found, Records};
use crate::data::rendition::Rendition;
use crate::data::shares::{ShareOptions, Shares};
use crate::pass::Adjustment;
use palimpsest_text::extractive;
use palimpsest_text::retention::{self, Audit, Checked, Emphasis};

use super::Run;
use super::identify::{Form, SMALLEST_SUMMARY};

/// The view being built.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) view: View,
    pub(super) note: Option<Note>,
    pub(super) audit: Audit,
    pub(super) records: Option<Records>,
    pub(super) found: Found,
    pub(super) adjustments: Vec<Adjustment>,
    /// Number of the new layer.
    pub(super) layer: u32,
    /// What the messages hold that are shown: looked for once, however often the slot changes.
    tail: Option<Tail>,
}

/// The words of the messages in a window, and the facts that are not among them.
#[derive(Debug, Clone)]
struct Tail {
    words: String,
    found: u32,
    rest: Audit,
}

impl Draft {
    pub(super) fn new(view: View, note: Option<Note>, audit: Audit) -> Self {
        Self {
            view,
            note,
            audit,
            records: None,
            found: Found::default(),
            adjustments: Vec::new(),
            layer: 0,
            tail: None,
        }
    }

    /// Which facts of the source the window still holds (P9).
    pub(super) fn check(&mut self, context: &Context) -> Checked {
        // without facts there is nothing to look for, and the window need not be put together
        if self.audit.facts.is_empty() {
            return Checked::default();
        }
        let (front, tail) = window_words(context);
        let known = self.tail.take().filter(|known| known.words == tail);
        let known = known.unwrap_or_else(|| {
            let checked = self.audit.check(&tail);
            Tail {
                words: tail,
                found: checked.found,
                rest: Audit {
                    facts: checked.missing,
                },
            }
        });
        let mut checked = known.rest.check(&front);
        checked.found += known.found;
        self.tail = Some(known);
        checked
    }
}

impl Run {
    pub(super) fn update(&mut self) {
        let (Some(plan), Some(mut draft)) = (self.plan.clone(), self.draft.take()) else {
            return;
        };
        let shares = self.context.setup().shares;
        let mut context = self.context.clone();

        draft.found = self.found(&plan.covered);
        let mut records = self.context.records().clone();
        records.adopt(&draft.found);
        if records.revision != self.context.records().revision {
            context.set_records(records.clone());
            draft.records = Some(records);
        }

        // The new layer, and the older ones one step shorter.
        let view = &mut draft.view;
        view.compactions += 1;
        for seq in plan
            .covered
            .iter()
            .map(|&i| self.context.entries[i].message.seq)
        {
            view.reduced.remove(&seq);
        }
        if plan.covered.is_empty() {
            // the deterministic passes were enough, or nothing can be covered
            self.draft = Some(draft);
            return;
        }
        let facts = super::metadata::Metadata::of(
            plan.covered
                .iter()
                .map(|&i| self.context.entries[i].message.as_ref()),
            &draft.audit,
            &draft.found.proposals,
        );
        let mut layer = self.new_layer(&plan, draft.note.as_ref(), view);
        layer.key_decisions = facts.key_decisions;
        layer.files_modified = facts.files_modified;
        layer.next_steps = facts.next_steps;
        draft.layer = layer.id;
        if let Some(note) = draft.note.take() {
            view.notes.push(Rc::new(note));
        }
        self.age(view);
        push_layer(view, layer);
        let used: Vec<u32> = view
            .layers
            .iter()
            .flat_map(|l| l.notes.iter().copied())
            .collect();
        view.notes.retain(|n| used.contains(&n.id));

        // The user's own words, newest first.
        context.set_view(draft.view.clone());
        draft.view.quotes = quotes(&context, shares.user);
        context.set_view(draft.view.clone());

        // What the summary missed; what room is left goes there first (P4).
        if plan.form == Form::Summary {
            self.fill_ledger(&mut draft, &mut context, plan.newest, plan.aim);
        }
        let left = plan.aim.saturating_sub(context.tokens());
        if left > 0 && plan.form == Form::Summary {
            let quoted: u32 = draft.view.quotes.iter().map(|q| q.tokens).sum();
            draft.view.quotes = quotes(&context, quoted.max(shares.user) + left);
            context.set_view(draft.view.clone());
            if context.tokens() > plan.aim {
                draft.view.quotes = quotes(&context, shares.user);
                context.set_view(draft.view.clone());
            }
            // What nobody else needs: what faded comes back, and what the layers can say well is said.
            self.restore(&mut draft, &mut context, plan.aim);
            self.widen(&mut draft, &mut context, plan.newest, plan.aim);
            self.grow(&mut draft, &mut context, plan.aim);
        }
        self.context = context;
        self.draft = Some(draft);
    }

    /// Older layers that were made shorter come back as they were while there is room, the newest first.
    fn restore(&self, draft: &mut Draft, context: &mut Context, aim: u32) {
        if self.context.setup().policy.fading != Fading::Notes {
            return;
        }
        for at in (0..draft.view.layers.len()).rev() {
            let faded = &draft.view.layers[at];
            let [replaced] = faded.replaces[..] else {
                continue;
            };
            let mut layers = self.context.view().layers.iter();
            let Some(old) = layers.find(|l| l.id == replaced) else {
                continue;
            };
            if old.tokens <= faded.tokens
                || context.tokens() + (old.tokens - faded.tokens) > aim
                || faded.id == draft.layer
                // a model was asked for the shorter form
                || self.faded.as_ref().is_some_and(|(id, _)| *id == replaced)
            {
                continue;
            }
            let before = std::mem::replace(&mut draft.view.layers[at], Rc::clone(old));
            context.set_view(draft.view.clone());
            if context.tokens() > aim {
                draft.view.layers[at] = before;
                context.set_view(draft.view.clone());
            }
        }
    }

    /// Half of what is left under the aim goes to the new layer, as far as its note has more to say.
    fn widen(&self, draft: &mut Draft, context: &mut Context, newest: u32, aim: u32) {
        if self.context.setup().policy.fading != Fading::Notes {
            return;
        }
        // where somebody said how long a summary may be, that holds
        let shares = self.context.setup().shares;
        let usual = ShareOptions {
            reserve: Some(shares.reserve),
            ..ShareOptions::default()
        };
        if Shares::of(shares.window, usual).is_ok_and(|usual| usual.newest > shares.newest) {
            return;
        }
        let counter = self.context.counter.as_ref();
        let left = aim.saturating_sub(context.tokens()) / 2;
        let Some(at) = draft.view.layers.iter().position(|l| l.id == draft.layer) else {
            return;
        };
        let mut layer = (*draft.view.layers[at]).clone();
        let longer = of_notes(
            &draft.view,
            &layer.notes,
            newest.max(layer.tokens) + left,
            counter,
        );
        let Some(longer) = longer.filter(|text| text.len() > layer.summary.len()) else {
            return;
        };
        layer.summary = longer;
        layer.recount(counter);
        let before = std::mem::replace(&mut draft.view.layers[at], Rc::new(layer));
        context.set_view(draft.view.clone());
        if context.tokens() > aim {
            draft.view.layers[at] = before;
            context.set_view(draft.view.clone());
        }
    }

    /// What is left under the aim after ledger and quotes goes to the older layers, the newest first: facts of their
    /// notes that their room had no place for (P4).
    fn grow(&self, draft: &mut Draft, context: &mut Context, aim: u32) {
        if self.context.setup().policy.fading != Fading::Notes {
            return;
        }
        let counter = self.context.counter.as_ref();
        for at in (0..draft.view.layers.len()).rev() {
            let left = aim.saturating_sub(context.tokens());
            let old = &draft.view.layers[at];
            if left < SMALLEST_SUMMARY || old.id == draft.layer || old.notes.is_empty() {
                continue;
            }
            let mut layer = (**old).clone();
            // a form never gets longer than the one before, and what is stored keeps its row
            let seen = |id: &u32| self.context.view().layers.iter().find(|l| l.id == *id);
            if seen(&old.id).is_some() {
                continue;
            }
            let most = match old.replaces[..] {
                [before] => seen(&before).map_or(u32::MAX, |l| l.tokens - 1),
                _ => u32::MAX,
            };
            let room = (old.tokens + left * 3 / 4).min(most);
            let longer = of_notes(&draft.view, &layer.notes, room, counter);
            if let Some(longer) = longer.filter(|text| text.len() > old.summary.len()) {
                layer.summary = longer;
            }
            layer.ledger = self.carry(&draft.view, &layer, (old.tokens + left).min(most));
            layer.recount(counter);
            if layer.tokens <= old.tokens || layer.tokens > most {
                continue;
            }
            let before = draft.view.clone();
            draft.view.layers[at] = Rc::new(layer);
            context.set_view(draft.view.clone());
            if context.tokens() > aim {
                draft.view = before;
                context.set_view(draft.view.clone());
            }
        }
    }

    fn new_layer(
        &self,
        plan: &super::identify::Plan,
        note: Option<&Note>,
        view: &mut View,
    ) -> Layer {
        let counter = self.context.counter.as_ref();
        let id = view.next_layer;
        view.next_layer += 1;
        let messages = plan.covered.len() as u32;
        let level = self.context.setup().policy.levels.of(plan.covered_tokens);
        let summary = match note {
            Some(n) => extractive::fade(&n.text, &n.order, plan.newest, counter)
                .unwrap_or_else(|| fit(&n.text, plan.newest, level, counter)),
            None if plan.form == Form::Note => left_out(messages, plan.covered_tokens),
            None => String::new(),
        };
        let mut layer = Layer {
            id,
            level,
            covers: plan.spans(&self.context),
            summary,
            ledger: Vec::new(),
            tokens: 0,
            original_tokens: plan.covered_tokens,
            messages: plan.covered.len() as u32,
            notes: note.map(|n| n.id).into_iter().collect(),
            rank: 0,
            number: view.compactions,
            compressions: 1,
            created: self.seed.now,
            compressed_at: self.seed.now,
            replaces: Vec::new(),
            author: note.map_or(Author::Extractive, |n| n.author.clone()),
            is_cut: false,
            retention: 0.0,
            dropped: Vec::new(),
            key_decisions: Vec::new(),
            files_modified: Vec::new(),
            next_steps: Vec::new(),
        };
        let single = matches!(self.context.setup().policy.fading, Fading::Single { .. });
        if single && plan.form == Form::Summary {
            rewrite(&mut layer, view);
        }
        layer.recount(counter);
        layer
    }

    /// Makes every layer that is there one step shorter and merges the two neighbours of lowest rank
    /// while there are more than the slots hold. Made from notes, never from a layer's text (C4).
    fn age(&self, view: &mut View) {
        let shares = self.context.setup().shares;
        let counter = self.context.counter.as_ref();
        let fading = &self.context.setup().policy.fading;
        let slots = match fading {
            Fading::Notes => shares.older_slots.max(1) as usize,
            // what is rewritten is gone already; only layers of another policy are left
            Fading::Single { .. } => 1,
            Fading::Cascade { .. } | Fading::Ratios { .. } => CASCADE_SLOTS - 1,
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
            let merged = self.merge(view, at);
            view.layers.splice(at..=at + 1, [Rc::new(merged)]);
        }
        let layers = view.layers.len();
        let notes = matches!(fading, Fading::Notes);
        let most = |room| if notes { u32::MAX } else { room };
        for i in 0..view.layers.len() {
            let old = Rc::clone(&view.layers[i]);
            let age = layers - i;
            let room = fading.room(age, shares.window).unwrap_or(shares.older);
            // a form that is a few marks over its room is not cut again each time: what a model wrote stays
            let slack = if notes && old.level != Level::Detailed {
                room / 8
            } else {
                0
            };
            if old.tokens <= room + slack {
                continue;
            }
            if notes && old.level != Level::Detailed {
                // it only carries more facts than its room holds, from a time when there was more of it
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
            let by_model = self.faded.as_ref().filter(|(id, _)| *id == old.id);
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
                compressed_at: self.seed.now,
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

    fn merge(&self, view: &mut View, at: usize) -> Layer {
        let shares = self.context.setup().shares;
        let fading = &self.context.setup().policy.fading;
        let room = fading
            .room(usize::MAX, shares.window)
            .unwrap_or(shares.older);
        let (a, b) = (Rc::clone(&view.layers[at]), Rc::clone(&view.layers[at + 1]));
        let notes: Vec<u32> = a.notes.iter().chain(&b.notes).copied().collect();
        let level = a.level.min(b.level).min(Level::Moderate);
        let mut summary = self.text_of_notes(view, &notes, level, room);
        if notes.is_empty() && a.tokens + b.tokens > 0 {
            summary = left_out(
                a.messages + b.messages,
                a.original_tokens.saturating_add(b.original_tokens),
            );
        }
        let mut merged = Layer {
            id: view.next_layer,
            level,
            covers: a.covers.iter().chain(&b.covers).copied().collect(),
            summary,
            ledger: Vec::new(),
            tokens: 0,
            original_tokens: a.original_tokens.saturating_add(b.original_tokens),
            messages: a.messages + b.messages,
            notes,
            rank: a.rank.max(b.rank) + 1,
            number: b.number,
            compressions: a.compressions.max(b.compressions) + 1,
            created: a.created,
            compressed_at: self.seed.now,
            replaces: vec![a.id, b.id],
            author: b.author.clone(),
            is_cut: true,
            retention: a.retention.min(b.retention),
            dropped: a.dropped.iter().chain(&b.dropped).cloned().collect(),
            key_decisions: super::metadata::joined(&a.key_decisions, &b.key_decisions),
            files_modified: super::metadata::joined(&a.files_modified, &b.files_modified),
            next_steps: b.next_steps.clone(),
        };
        view.next_layer += 1;
        palimpsest_text::order::sort(&mut merged.covers);
        merged.ledger = self.carry(view, &merged, room);
        // the shares of section XI leave room for that; the sizes of a cascade are the sizes
        let most = if matches!(fading, Fading::Notes) {
            u32::MAX
        } else {
            room
        };
        keep_within(&mut merged, most, self.context.counter.as_ref());
        merged
    }

    /// The text of notes cut to its part of `room`; the rest is for facts.
    fn text_of_notes(&self, view: &View, notes: &[u32], level: Level, room: u32) -> String {
        let counter = self.context.counter.as_ref();
        if let Some(text) = of_notes(view, notes, room - room / 4, counter) {
            return text;
        }
        let texts: Vec<&str> = notes
            .iter()
            .filter_map(|id| view.note(*id))
            .map(|n| n.text.as_str())
            .collect();
        fit(&texts.join("\n"), prose_of(level, room), level, counter)
    }

    fn carry(&self, view: &View, layer: &Layer, room: u32) -> Vec<String> {
        facts_beside(&self.context, view, layer, room, self.options.mode)
    }

    fn fill_ledger(&self, draft: &mut Draft, context: &mut Context, newest: u32, aim: u32) {
        let counter = self.context.counter.as_ref();
        let Some(at) = draft.view.layers.iter().position(|l| l.id == draft.layer) else {
            return;
        };
        let mut layer = (*draft.view.layers[at]).clone();
        let mut check = draft.check(context);
        if check.missing.is_empty() {
            return;
        }
        let quarter = newest / 4;
        let left = aim.saturating_sub(context.tokens());
        // what was chosen for its worth is not cut for facts that were not
        let is_chosen = of_notes(&draft.view, &layer.notes, newest, counter).is_some();
        if left < quarter && layer.tokens > newest - quarter && !is_chosen {
            layer.summary = fit(&layer.summary, newest - quarter, layer.level, counter);
            layer.recount(counter);
            draft.view.layers[at] = Rc::new(layer.clone());
            context.set_view(draft.view.clone());
            check = draft.check(context);
        }
        let own = newest.saturating_sub(layer.tokens);
        // The sizes of a cascade are the sizes of its layers; else what is left under the aim helps too.
        let fixed = self
            .context
            .setup()
            .policy
            .fading
            .room(0, u32::MAX)
            .is_some();
        let room = if fixed {
            own
        } else {
            own.max(quarter.min(own + left))
                .max(aim.saturating_sub(context.tokens()).min(newest * 2))
        };
        layer.ledger =
            retention::ledger(&check.missing, emphasis(self.options.mode), room, counter).lines;
        if fixed {
            keep_within(&mut layer, newest, counter);
        } else {
            layer.recount(counter);
        }
        draft.view.layers[at] = Rc::new(layer);
        context.set_view(draft.view.clone());
    }

    /// The demands in the user's covered words (P9), and what the summaries propose (G3). Only the host's own
    /// words count as demands: a tool's or an import's text cannot become a constraint (I8).
    fn found(&self, covered: &[usize]) -> Found {
        let mut found = Found {
            constraints: Vec::new(),
            proposals: self.proposals.clone(),
        };
        if self.context.setup().policy.demands == Demands::Off {
            return found;
        }
        for &i in covered {
            let message = &self.context.entries[i].message;
            let words = message.own_words().unwrap_or_default();
            let constraints = retention::constraints(&words).into_iter();
            found
                .constraints
                .extend(constraints.map(|c| (message.seq, c)));
        }
        found
    }
}

/// As a layer of this context's view would carry them.
pub(super) fn carried(context: &Context, layer: &Layer, room: u32, mode: Mode) -> Vec<String> {
    facts_beside(context, &context.view, layer, room, mode)
}

/// Facts of the notes that this form of the layer would lose, as far as `room` reaches. What stands in the records in its
/// own words is not carried a second time.
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
    // first what is new of something that stands here, or in another layer, as it was
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

/// The part of a faded layer's room that prose takes. The less room a layer has for what it stands for, the more of it
/// goes to facts: cut prose keeps few of them, whoever wrote it.
const fn prose_of(level: Level, room: u32) -> u32 {
    match level {
        Level::Detailed => room * 3 / 4,
        Level::Moderate => room / 3,
        Level::Compact => room / 6,
    }
}

/// The user's words from covered messages, newest first, within `room` (P3). In the order of the conversation. Words that
/// stand in the window already are not quoted, nor is what says next to nothing by itself. What does not fit as a whole is cut to at most a quarter of the room, if it
/// is long; what is short stays whole or goes.
fn quotes(context: &Context, room: u32) -> Vec<Quote> {
    let counter = context.counter.as_ref();
    if context.setup().policy.user_words == UserWords::Summarize || room < SMALLEST_SUMMARY {
        return Vec::new();
    }
    let most = room / 4;
    let mut said = standing(context);
    let mut left = room;
    let mut quotes: Vec<Quote> = Vec::new();
    // what was cut although nobody needs its room yet, newest first
    let mut cut: Vec<(usize, String)> = Vec::new();
    for entry in context.entries.iter().rev() {
        let message = &entry.message;
        if message.role != Role::User
            || !matches!(context.view.rendition(message.seq), Rendition::Covered(_))
        {
            continue;
        }
        let words = message.words().trim().to_owned();
        if said.contains(&words) || extractive::says_little(&words) {
            continue;
        }
        let Some(quote) = quote(message.seq, &words, most.min(left), left, counter) else {
            break;
        };
        left -= quote.tokens;
        if quote.text != words {
            cut.push((quotes.len(), words.clone()));
        }
        said.insert(words);
        quotes.push(quote);
    }
    for (at, words) in cut {
        let room = quotes[at].tokens + left;
        if let Some(longer) = quote(quotes[at].seq, &words, room, room, counter) {
            left = room - longer.tokens;
            quotes[at] = longer;
        }
    }
    quotes.reverse();
    quotes
}

/// The most layers of a cascade; more merge (C5).
const CASCADE_SLOTS: usize = 10;

/// The layers that are there become part of the new one (seed 4).
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

/// Adds the layer; two neighbouring ones without a summary become one.
fn push_layer(view: &mut View, layer: Layer) {
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

/// Counts the layer, and lets go of the ledger's last lines until it is within `room`.
fn keep_within(layer: &mut Layer, room: u32, counter: &dyn TokenCounter) {
    layer.recount(counter);
    while layer.tokens > room && layer.ledger.pop().is_some() {
        layer.recount(counter);
    }
}

/// The fewest tokens of a message that is ever cut: of a shorter one a cut leaves less than its mark costs.
const SMALLEST_CUT: u32 = 60;

/// One quoted message: whole if it is within `whole_room` and short, or within `room`; else excerpted to `room`. `None` if
/// it is short and does not fit, or if not even an excerpt fits.
fn quote(
    seq: Seq,
    words: &str,
    room: u32,
    whole_room: u32,
    counter: &dyn TokenCounter,
) -> Option<Quote> {
    let whole = words.trim();
    let cost = |text: &str| counter.count(&quote_line(seq, text)) + 1;
    let mut text = whole.to_owned();
    let mut tokens = cost(whole);
    if counter.count(whole) < SMALLEST_CUT {
        return (tokens <= whole_room).then_some(Quote { seq, text, tokens });
    }
    let frame = counter.count(&quote_line(seq, "")) + 1;
    let mut own = room.checked_sub(frame).filter(|r| *r >= 12)?;
    // the line as a whole may count more than its pieces
    while tokens > room {
        text = extractive::excerpt(whole, own, counter);
        tokens = cost(&text);
        own = own
            .checked_sub(tokens.saturating_sub(room).max(1))
            .filter(|r| *r >= 12)?;
    }
    Some(Quote { seq, text, tokens })
}

/// All words of a window, which the audit searches: those of records and slot, and those of the messages.
fn window_words(context: &Context) -> (String, String) {
    let (mut front, mut tail) = (String::new(), String::new());
    for message in context.window().messages() {
        for (part, source) in message.parts().iter().zip(message.sources()) {
            let out = match source {
                Source::Records | Source::Slot | Source::Bridge => &mut front,
                Source::Message(_) | Source::Recalled | Source::Repair(_) => &mut tail,
            };
            out.push_str(part.words());
            out.push('\n');
        }
    }
    (front, tail)
}

/// What a mode holds dearest.
pub(super) const fn emphasis(mode: Mode) -> Emphasis {
    match mode {
        Mode::Developer => Emphasis::Developer,
        Mode::Planning => Emphasis::Planning,
        Mode::Debugger => Emphasis::Debugger,
        Mode::Assistant => Emphasis::Assistant,
    }
}
