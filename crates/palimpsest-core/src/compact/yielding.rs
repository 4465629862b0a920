//! Records make room where the window is too small for them: the system prompt and the last message come first.

use super::{Compaction, shed};
use crate::data::message::Seq;
use crate::data::record::{Level, Pin, PinKind, Records};
use crate::error::CoreError;
use crate::loss;
use crate::pass::{Adjustment, PassKind, Shed, emergency};
use palimpsest_text::retention::supersedes;

impl Compaction {
    /// Makes the window fit without some of the records, those of the lowest rank first. What the user demanded stays in the
    /// state, so that a larger window shows it again. Returns `refused` if the window does not fit without any record.
    pub(super) fn yield_records(&mut self, refused: CoreError) -> Result<(), CoreError> {
        let found = self.context.clone();
        let mut records = found.records().clone();
        let mut left_out = 0;
        while leave_one_out(&mut records, &mut self.yielded) {
            left_out += 1;
            self.context = found.clone();
            self.context.set_records(records.clone());
            if self.context.floor() > self.limit {
                continue;
            }
            let done = emergency::shrink_with_demands(&mut self.context, self.limit, 0.0);
            let Ok(done) = done else { continue };
            self.adjustments.extend(done.adjustments);
            self.adjustments.push(Adjustment::new(
                "left_out_records",
                format!("left {left_out} of the pins, demands and goals out of the window, which has no room for them"),
            ));
            let messages = loss::changed(&found, &self.context);
            let was = found.count().tokens;
            shed(
                &mut self.passes,
                PassKind::Emergency,
                messages,
                was,
                &self.context,
            );
            return Ok(());
        }
        Err(match refused {
            CoreError::CannotFit { limit, .. } if left_out > 0 => CoreError::CannotFit {
                floor: self.context.must_stay(),
                limit,
            },
            refused => refused,
        })
    }

    /// Keeps the demands of messages that an emergency took out of the window, where the window has no room for them.
    pub(super) fn keep_lost_demands(&mut self) {
        let is_emergency = |shed: &Shed| shed.pass == PassKind::Emergency;
        if !self.passes.iter().any(is_emergency) {
            return;
        }
        for (from, constraint) in emergency::demands_of(&self.found, &self.context) {
            let text = constraint.text.trim();
            let known = self.kept_demands();
            let is_known = known
                .iter()
                .any(|pin| pin.text == text || said_in(pin) > from && supersedes(&pin.text, text));
            if !is_known {
                let level = constraint.level;
                self.yielded.push(Pin {
                    id: known.iter().map(|pin| pin.id + 1).max().unwrap_or(1),
                    kind: PinKind::Constraint { from, level },
                    text: text.to_owned(),
                });
            }
        }
    }

    /// The demands that the state keeps: those of the records, and those for which the window has no room.
    pub(super) fn kept_demands(&self) -> Vec<Pin> {
        let pins = self.context.records().pins.iter().chain(&self.yielded);
        let demands = pins.filter(|pin| is_demand(pin));
        let mut demands: Vec<Pin> = demands.cloned().collect();
        palimpsest_text::order::sort_by_key(&mut demands, |pin| (said_in(pin), pin.id));
        demands
    }
}

/// The message in which a demand was said.
fn said_in(pin: &Pin) -> Seq {
    match pin.kind {
        PinKind::Constraint { from, .. } => from,
        _ => 0,
    }
}

/// Takes the record of the lowest rank out: demands that are only likely, the goal, the oldest demands, and then the pins of the
/// caller, the last one first. Demands go to `yielded`. Returns `false` if no record is left.
fn leave_one_out(records: &mut Records, yielded: &mut Vec<Pin>) -> bool {
    let likely =
        |pin: &Pin| matches!(pin.kind, PinKind::Constraint { level, .. } if level == Level::Likely);
    let pins = &mut records.pins;
    let mut at = pins.iter().rposition(likely);
    if at.is_none() {
        if records.goal.take().is_some() {
            return true;
        }
        at = pins.iter().position(is_demand);
    }
    let Some(at) = at.or(pins.len().checked_sub(1)) else {
        return false;
    };
    yielded.extend(Some(pins.remove(at)).filter(is_demand));
    true
}

fn is_demand(pin: &Pin) -> bool {
    matches!(pin.kind, PinKind::Constraint { .. })
}
