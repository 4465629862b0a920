//! Records make room where the window is too small for them: the system prompt and the last message come first.

use super::{Compaction, shed};
use crate::data::message::Seq;
use crate::data::record::{Level, Pin, PinKind, Records};
use crate::error::CoreError;
use crate::loss;
use crate::pass::{Adjustment, PassKind, emergency};
use palimpsest_text::retention::{Constraint, RuleReading};

impl Compaction {
    /// Makes the window fit without some of the records, those of the lowest rank first. What the user demanded stays in the
    /// state, so that a larger window shows it again. Returns an error if the window does not fit without any record.
    pub(super) fn yield_records(&mut self, mut floor: u32) -> Result<(), CoreError> {
        let found = self.context.clone();
        let was = found.count().tokens;
        let mut records = found.records().clone();
        let mut is_less = false;
        // first as it was: what was too much may be the demands of the messages that leave, of which those stay that fit
        loop {
            if self.context.floor() <= self.limit
                && let Ok(done) = emergency::shrink_with_demands(&mut self.context, self.limit, 0.0)
            {
                self.adjustments.extend(done.adjustments);
                self.keep_lost_demands();
                if is_less || !self.yielded.is_empty() {
                    self.adjustments.push(Adjustment::new(
                        "left_out_records",
                        "left pins, demands or the goal out of the window, which has no room for them",
                    ));
                }
                let messages = loss::changed(&found, &self.context);
                let kind = PassKind::Emergency;
                shed(&mut self.passes, kind, messages, was, &self.context);
                return Ok(());
            }
            if !leave_one_out(&mut records, &mut self.yielded) {
                let limit = self.limit;
                return Err(CoreError::CannotFit { floor, limit });
            }
            is_less = true;
            self.context = found.clone();
            self.context.set_records(records.clone());
            floor = self.context.must_stay();
        }
    }

    /// Keeps the demands of messages that an emergency took out of the window, where the window has no room for them.
    pub(super) fn keep_lost_demands(&mut self) {
        let lost = emergency::demands_of(&self.found, &self.context);
        if lost.is_empty() {
            return;
        }
        let mut known = self.kept_demands();
        let read = known.iter().map(|pin| RuleReading::of(&pin.text));
        let mut read: Vec<RuleReading> = read.collect();
        // the newest first, since an older one may hold no longer
        for (from, constraint) in lost.into_iter().rev() {
            let Constraint { text, level, .. } = constraint;
            let older = RuleReading::of(&text);
            let holds_for = |(pin, newer): (&Pin, &RuleReading)| {
                pin.text == text || said_in(pin) > from && newer.supersedes(&older)
            };
            if !known.iter().zip(&read).any(holds_for) {
                read.push(older);
                let id = known.iter().map(|pin| pin.id + 1).max().unwrap_or(1);
                let kind = PinKind::Constraint { from, level };
                known.push(Pin { id, kind, text });
                self.yielded.extend(known.last().cloned());
            }
        }
    }

    /// The demands that the state keeps, in the order in which they were said: those of the records, and those for which the
    /// window has no room.
    pub(super) fn kept_demands(&self) -> Vec<Pin> {
        let mut demands: Vec<Pin> = Vec::new();
        for pins in [&self.context.records().pins, &self.yielded] {
            for pin in pins.iter().filter(|pin| pin.is_demand()) {
                let at = demands.partition_point(|other| said_in(other) <= said_in(pin));
                demands.insert(at, pin.clone());
            }
        }
        demands
    }
}

/// The message in which a demand was said.
const fn said_in(pin: &Pin) -> Seq {
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
        at = pins.iter().position(Pin::is_demand);
    }
    let Some(at) = at.or(pins.len().checked_sub(1)) else {
        return false;
    };
    let pin = pins.remove(at);
    if pin.is_demand() {
        yielded.push(pin);
    }
    true
}
