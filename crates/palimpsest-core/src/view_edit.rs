//! Changes of a view as values. They are planned on one view and applied to the view at the time of storing.
//!
//! A compaction takes as long as a model writes. A change that a person or a tool makes meanwhile (a mark, an anchor,
//! an offloaded result that returns) must survive it, so a plan holds only the changes and not a whole view.

use std::rc::Rc;

use thiserror::Error;

use crate::context::{Quote, Recalled, View};
use crate::data::layer::{Layer, LayerId};
use crate::data::mark::{MarkReason, Pending};
use crate::data::message::Seq;
use crate::data::note::{Note, NoteId};
use crate::data::rendition::{Reduced, ReducedKind};
use crate::watermark;

/// The plan no longer fits the view. Nothing is changed; plan again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the window was changed meanwhile; plan the change again")]
pub struct Stale;

/// One change of a view.
#[derive(Debug, Clone, PartialEq)]
pub enum ViewEdit {
    /// Replaces the layers. Stale if the layers are not those of the plan.
    Slot(Box<Slot>),
    /// Removes one layer, with its quotes and with the notes that only it uses. Stale if it does not exist.
    Uncover(LayerId),
    /// Shows a message in another form.
    Show {
        /// The message.
        seq: Seq,
        /// Its form at the time of the plan; `None` for verbatim.
        from: Option<Rc<Reduced>>,
        /// Its new form.
        to: Option<Rc<Reduced>>,
        /// It stayed whole before the watermark at the time of the plan.
        anchored: bool,
    },
    /// Replaces the quotes from covered messages before the last user message.
    Recall {
        /// The quotes at the time of the plan.
        from: Option<Recalled>,
        /// The new quotes.
        to: Option<Recalled>,
    },
    /// Moves the watermark, or settles a pending one.
    Settle {
        /// The marks at the time of the plan.
        from: Marked,
        /// The new marks.
        to: Marked,
    },
    /// Asks for a mark on the next call of a tool ([`watermark::ask`]).
    Ask {
        /// The tool.
        tool: String,
        /// The reason.
        reason: MarkReason,
        /// The last message.
        tip: Option<Seq>,
    },
    /// Sets the watermark at the end of the history ([`watermark::mark_end`]).
    MarkEnd {
        /// The last message.
        tip: Option<Seq>,
    },
    /// Keeps a message whole before the watermark.
    Anchor(Seq),
    /// No longer keeps a message whole before the watermark.
    Release(Seq),
    /// Sets the number of compactions.
    Count(u32),
    /// Pauses automatic runs until the user acts.
    Pause,
    /// Resumes automatic runs.
    Resume,
}

/// The layers of a view with their notes and quotes.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// The layers at the time of the plan.
    pub from: Vec<LayerId>,
    /// The layers, oldest first.
    pub layers: Vec<Rc<Layer>>,
    /// The notes from which they are made, oldest first.
    pub notes: Vec<Rc<Note>>,
    /// The user's words beside them, oldest first.
    pub quotes: Vec<Quote>,
    /// The next layer's number, or a larger one.
    pub next_layer: LayerId,
    /// The next note's number, or a larger one.
    pub next_note: NoteId,
}

/// The watermark and the pending mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// The first message after the boundary.
    pub watermark: Option<Seq>,
    /// A mark that waits for its call.
    pub pending: Option<Pending>,
}

impl Marked {
    fn of(view: &View) -> Self {
        Self {
            watermark: view.watermark,
            pending: view.pending.clone(),
        }
    }
}

impl View {
    /// Returns the edits that turn this view into `after`. The number and cause of a revision are left out, because the
    /// store of a revision assigns them.
    pub fn edits_to(&self, after: &Self) -> Vec<ViewEdit> {
        let mut edits = Vec::new();
        if !ids(&self.layers).eq(ids(&after.layers))
            || !numbers(&self.notes).eq(numbers(&after.notes))
            || self.quotes != after.quotes
        {
            edits.push(ViewEdit::Slot(Box::new(Slot {
                from: ids(&self.layers).collect(),
                layers: after.layers.clone(),
                notes: after.notes.clone(),
                quotes: after.quotes.clone(),
                next_layer: after.next_layer,
                next_note: after.next_note,
            })));
        }
        let gone = self.reduced.keys();
        let gone = gone.filter(|seq| !after.reduced.contains_key(seq));
        for seq in gone.chain(after.reduced.keys()).copied() {
            let (from, to) = (self.reduced.get(&seq), after.reduced.get(&seq));
            if !same_form(from, to) {
                edits.push(ViewEdit::Show {
                    seq,
                    from: from.cloned(),
                    to: to.cloned(),
                    anchored: self.anchors.contains(&seq),
                });
            }
        }
        if self.recalled != after.recalled {
            edits.push(ViewEdit::Recall {
                from: self.recalled.clone(),
                to: after.recalled.clone(),
            });
        }
        let (from, to) = (Marked::of(self), Marked::of(after));
        if from != to {
            edits.push(ViewEdit::Settle { from, to });
        }
        let anchored = after.anchors.iter().filter(|s| !self.anchors.contains(s));
        edits.extend(anchored.map(|seq| ViewEdit::Anchor(*seq)));
        let released = self.anchors.iter().filter(|s| !after.anchors.contains(s));
        edits.extend(released.map(|seq| ViewEdit::Release(*seq)));
        if after.compactions > self.compactions {
            edits.push(ViewEdit::Count(after.compactions));
        }
        match (self.paused, after.paused) {
            (false, true) => edits.push(ViewEdit::Pause),
            (true, false) => edits.push(ViewEdit::Resume),
            _ => {}
        }
        edits
    }

    /// Applies one change. Other changes since the plan stay, or the edit is stale.
    ///
    /// # Errors
    ///
    /// [`Stale`], and the view is unchanged.
    pub fn apply(&mut self, edit: &ViewEdit) -> Result<(), Stale> {
        match edit {
            ViewEdit::Slot(slot) => return self.fill(slot),
            ViewEdit::Uncover(layer) => return self.uncover(*layer),
            ViewEdit::Show {
                seq,
                from,
                to,
                anchored,
            } => return self.show(*seq, from.as_ref(), to.as_ref(), *anchored),
            ViewEdit::Recall { from, to } => {
                // Quotes for a later message are unaffected.
                let before = |r: &Option<Recalled>| r.as_ref().map(|r| r.before);
                if self.recalled.is_none() || before(&self.recalled) == before(from) {
                    self.recalled.clone_from(to);
                }
            }
            ViewEdit::Settle { from, to } => self.settle(from, to),
            ViewEdit::Ask { tool, reason, tip } => watermark::ask(self, tool, *reason, *tip),
            ViewEdit::MarkEnd { tip } => watermark::mark_end(self, *tip),
            ViewEdit::Anchor(seq) => watermark::anchor(self, *seq),
            ViewEdit::Release(seq) => watermark::release(self, *seq),
            ViewEdit::Count(compactions) => self.compactions = self.compactions.max(*compactions),
            ViewEdit::Pause => self.paused = true,
            ViewEdit::Resume => self.paused = false,
        }
        Ok(())
    }

    fn fill(&mut self, slot: &Slot) -> Result<(), Stale> {
        if !ids(&self.layers).eq(slot.from.iter().copied()) {
            return Err(Stale);
        }
        // A layer that stays keeps its present count.
        let known = |layer: &Rc<Layer>| {
            let stays = self.layers.iter().find(|l| l.id == layer.id);
            Rc::clone(stays.unwrap_or(layer))
        };
        self.layers = slot.layers.iter().map(known).collect();
        self.notes.clone_from(&slot.notes);
        self.quotes.clone_from(&slot.quotes);
        self.next_layer = self.next_layer.max(slot.next_layer);
        self.next_note = self.next_note.max(slot.next_note);
        Ok(())
    }

    fn uncover(&mut self, layer: LayerId) -> Result<(), Stale> {
        let place = self.layers.iter().position(|l| l.id == layer);
        let layers = &self.layers;
        let first = |seq: Seq| layers.iter().position(|l| l.covers(seq));
        let place = place.ok_or(Stale)?;
        self.quotes.retain(|q| first(q.seq) != Some(place));
        self.layers.remove(place);
        let used: Vec<NoteId> = self.layers.iter().flat_map(|l| l.notes.clone()).collect();
        self.notes.retain(|n| used.contains(&n.id));
        Ok(())
    }

    fn show(
        &mut self,
        seq: Seq,
        from: Option<&Rc<Reduced>>,
        to: Option<&Rc<Reduced>>,
        anchored: bool,
    ) -> Result<(), Stale> {
        let untouched = same_form(self.reduced.get(&seq), from);
        // A call and its result change together: half of such a change would leave the other alone.
        let strips = to.is_some_and(|r| r.kind == ReducedKind::Stripped);
        if strips && (!untouched || self.anchors.contains(&seq) != anchored) {
            return Err(Stale);
        }
        if untouched {
            match to {
                Some(form) => self.reduced.insert(seq, Rc::clone(form)),
                None => self.reduced.remove(&seq),
            };
        }
        Ok(())
    }

    /// Moves the boundary. If it moved meanwhile, it only goes forward. A mark that was requested meanwhile still
    /// waits.
    fn settle(&mut self, from: &Marked, to: &Marked) {
        self.watermark = if self.watermark == from.watermark {
            to.watermark
        } else {
            self.watermark.max(to.watermark)
        };
        if self.pending == from.pending {
            self.pending.clone_from(&to.pending);
            return;
        }
        let (Some(now), Some(planned)) = (&mut self.pending, &from.pending) else {
            return;
        };
        if now.tool == planned.tool {
            let left = to.pending.as_ref().map_or(0, |p| p.times);
            let found = planned.times.saturating_sub(left);
            now.times = now.times.saturating_sub(found);
            if now.times == 0 {
                self.pending = None;
            }
        }
    }
}

fn ids(layers: &[Rc<Layer>]) -> impl Iterator<Item = LayerId> {
    layers.iter().map(|l| l.id)
}

fn numbers(notes: &[Rc<Note>]) -> impl Iterator<Item = NoteId> {
    notes.iter().map(|n| n.id)
}

/// Returns `true` if both forms look the same. Counts may differ, because another counter may have counted since.
fn same_form(a: Option<&Rc<Reduced>>, b: Option<&Rc<Reduced>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Rc::ptr_eq(a, b) || (a.kind == b.kind && a.parts == b.parts),
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::message::Part;

    fn form(kind: ReducedKind, text: &str) -> Rc<Reduced> {
        Rc::new(Reduced {
            kind,
            parts: vec![Part::text(text)],
            tokens: 3,
        })
    }

    fn made(view: &View, edits: &[ViewEdit]) -> Result<View, Stale> {
        let mut view = view.clone();
        edits.iter().try_for_each(|edit| view.apply(edit))?;
        Ok(view)
    }

    /// I6: the edits of a plan, applied to its own view, give the planned view.
    #[test]
    fn edits_lead_from_one_view_to_the_other() {
        let mut before = View::default();
        before.reduced.insert(3, form(ReducedKind::Offloaded, "o"));
        before.reduced.insert(4, form(ReducedKind::Condensed, "c"));
        watermark::ask(&mut before, "skills", MarkReason::Asked, Some(4));
        let mut after = before.clone();
        after.reduced.remove(&3);
        after.reduced.insert(5, form(ReducedKind::Stripped, "s"));
        after.watermark = Some(6);
        after.pending = None;
        after.compactions = 1;
        after.paused = true;
        after.anchors.insert(9);
        assert_eq!(made(&before, &before.edits_to(&after)), Ok(after.clone()));
        assert_eq!(before.edits_to(&before), []);
    }

    /// W1, W4, O1: marks, anchors and returned results since the plan survive it.
    #[test]
    fn what_was_changed_since_stays() {
        let mut base = View::default();
        base.reduced.insert(3, form(ReducedKind::Offloaded, "o"));
        let mut planned = base.clone();
        planned.reduced.insert(3, form(ReducedKind::Excerpt, "e"));
        planned.watermark = Some(4);
        let mut now = base.clone();
        watermark::ask(&mut now, "skills", MarkReason::Asked, Some(8));
        watermark::anchor(&mut now, 5);
        now.reduced.remove(&3);
        let view = made(&now, &base.edits_to(&planned)).unwrap();
        assert_eq!(view.pending, now.pending);
        assert!(view.anchors.contains(&5));
        assert!(!view.reduced.contains_key(&3));
        assert_eq!(view.watermark, Some(4));
    }

    /// W2: a mark waits for two calls, and the plan found one of them. The mark that was requested since still waits.
    #[test]
    fn a_mark_asked_for_again_still_waits() {
        let mut base = View::default();
        watermark::ask(&mut base, "skills", MarkReason::Asked, Some(4));
        let mut planned = base.clone();
        planned.watermark = Some(6);
        planned.pending = None;
        let mut now = base.clone();
        watermark::ask(&mut now, "skills", MarkReason::Asked, Some(8));
        let view = made(&now, &base.edits_to(&planned)).unwrap();
        assert_eq!(view.watermark, Some(6));
        assert_eq!(view.pending.map(|p| p.times), Some(1));
    }

    /// W4, I3: a plan that strips a message is stale if the message has to stay whole now.
    #[test]
    fn stripping_what_was_anchored_since_is_stale() {
        let base = View::default();
        let mut planned = base.clone();
        planned.reduced.insert(3, form(ReducedKind::Stripped, "s"));
        let mut now = base.clone();
        watermark::anchor(&mut now, 3);
        assert_eq!(made(&now, &base.edits_to(&planned)), Err(Stale));
    }
}
