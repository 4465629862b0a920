//! A window that a run could end in, made to fit.

use crate::context::Context;
use crate::context::window::Source;
use crate::data::layer::LayerId;
use crate::data::record::{Found, Records};
use crate::loss;
use crate::pass::{Adjustment, PassKind, Shed, emergency, fade};
use palimpsest_text::retention::{Audit, Checked};

use super::cover::{Form, Plan};
use super::identify::Identified;
use super::summarize::Noticed;
use super::{Refusal, Task};

/// A window that a run could end in. Its context is the only owner of its view.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Path, records and view as they would be.
    pub(super) context: Context,
    /// What its new layer covers.
    pub(super) plan: Plan,
    /// The number of that layer; `None` if nothing is covered.
    pub(super) layer: Option<LayerId>,
    /// Facts of the covered messages.
    pub(super) audit: Audit,
    /// The records, where they are others than before.
    pub(super) records: Option<Records>,
    /// What is new in them.
    pub(super) found: Found,
    /// Things that were noticed in the summaries.
    pub(super) noticed: Noticed,
    /// What each pass took.
    pub(super) passes: Vec<Shed>,
    /// What was done beside summarising.
    pub(super) adjustments: Vec<Adjustment>,
    /// What the shown messages hold: looked for once, however often the slot changes.
    tail: Option<Tail>,
}

/// The words of the messages in a window, and the facts that are not among them.
#[derive(Debug, Clone)]
struct Tail {
    words: String,
    found: u32,
    rest: Audit,
}

impl Candidate {
    /// The window as the deterministic passes left it. Nothing of `plan` is covered yet.
    pub(super) fn of(found: &Identified, plan: Plan, noticed: Noticed) -> Self {
        let mut context = found.trimmed.context.clone();
        // a layer that is written again is no further compaction
        let further = u32::from(found.remade.is_none());
        context.edit_view(|view| view.compactions += further);
        Self {
            context,
            plan,
            layer: None,
            audit: Audit::default(),
            records: None,
            found: Found::default(),
            noticed,
            passes: found
                .forgotten
                .iter()
                .chain(&found.trimmed.passes)
                .copied()
                .collect(),
            adjustments: found.trimmed.adjustments.clone(),
            tail: None,
        }
    }

    /// Which facts of the source the window still holds (P9).
    pub(super) fn check(&mut self) -> Checked {
        // without facts there is nothing to look for, and the window need not be put together
        if self.audit.facts.is_empty() {
            return Checked::default();
        }
        let (front, tail) = window_words(&self.context);
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

    /// The same, made to fit: older layers one step shorter, then whatever it takes.
    pub(super) fn fitted(mut self, task: &Task, found: &Identified) -> Result<Self, Refusal> {
        if self.layer.is_some() {
            let kind = if self.plan.form == Form::Note {
                PassKind::Truncate
            } else {
                PassKind::Summarize
            };
            let before = match found.remade {
                Some(_) => &task.original,
                None => &found.trimmed.context,
            };
            let tokens = before.tokens().saturating_sub(self.context.tokens());
            let messages = self.plan.covered.len() as u32;
            self.passes.push(Shed::new(kind, messages, tokens));
        }
        let limit = task.limit();
        let before = self.context.tokens();
        if before > limit && task.ladder.fades {
            let was = self.context.clone();
            fade::step(&mut self.context, self.layer, task.seed.now);
            if self.context.tokens() < before {
                self.shed(PassKind::Fade, &was);
                self.adjustments.push(Adjustment::new(
                    "faded_layers",
                    "made the older layers one step shorter",
                ));
            }
        }
        let most = self.most(task, limit);
        if self.context.tokens() > most {
            let was = self.context.clone();
            let goal = self.goal(task, most);
            let helped =
                match emergency::shrink_with_demands(&mut self.context, goal, task.seed.now) {
                    Err(_) if goal < limit => {
                        self.context = was.clone();
                        emergency::shrink_with_demands(&mut self.context, limit, task.seed.now)?
                    }
                    result => result?,
                };
            self.shed(PassKind::Emergency, &was);
            self.adjustments.extend(helped.adjustments);
            if !helped.found.constraints.is_empty() {
                self.records = Some(self.context.records().clone());
                self.found.constraints.extend(helped.found.constraints);
            }
        }
        Ok(self)
    }

    /// The most tokens that the window may hold. A policy that covers nothing goes down some way at once, not to the limit
    /// at every message.
    fn most(&self, task: &Task, limit: u32) -> u32 {
        let covers = task.ladder.covers.is_some();
        let aim = self.plan.aim;
        if task.options.aim.hard().is_some() && !covers {
            aim.min(limit)
        } else if covers || !self.context.is_due() || task.options.manual {
            limit
        } else {
            below_trigger(&self.context, limit).max(aim).min(limit)
        }
    }

    /// The tokens that an emergency leaves where it is needed: the next message finds room.
    fn goal(&self, task: &Task, most: u32) -> u32 {
        let aim = self.plan.aim;
        let below = if task.options.aim.hard().is_some() {
            most - most / 8
        } else if task.options.manual {
            most
        } else {
            below_trigger(&self.context, most)
        };
        below.max(aim).min(most)
    }

    /// Notes what a pass took of the window as it was.
    fn shed(&mut self, pass: PassKind, was: &Context) {
        self.passes.push(Shed::new(
            pass,
            loss::changed(was, &self.context),
            was.tokens().saturating_sub(self.context.tokens()),
        ));
    }
}

/// An eighth below the limit, or so far below that the bound of the count does not reach the trigger.
fn below_trigger(context: &Context, limit: u32) -> u32 {
    let mut most = limit - limit / 8;
    while most > 0 && most.saturating_add(context.counter.bound(most)) >= context.trigger() {
        most -= most / 16 + 1;
    }
    most
}

/// All words of a window, which the audit searches: those of records and slot, and those of the messages.
pub(super) fn window_words(context: &Context) -> (String, String) {
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
