//! The room of the layers in a new window: each has its own, or all share one.

use super::aging::Aging;
use super::candidate::Candidate;

/// The steps in which layers get what room there is.
pub(super) trait Rooms {
    /// Gives the layers the room that the plan has for them. The user's words are quoted already.
    fn begin(&self, candidate: &mut Candidate);

    /// Gives what a note says next half of the room that is left.
    fn widen(&self, candidate: &mut Candidate);

    /// Puts facts that the window does not hold into the lists beside the layers' texts.
    fn fill_ledgers(&self, candidate: &mut Candidate);

    /// Gives the layers the room that is left.
    fn lengthen(&self, candidate: &mut Candidate);

    /// Ends the division.
    fn end(&self, candidate: &mut Candidate);
}

/// Every layer has a room of its own, by its age.
pub(super) struct OwnRooms<'a>(pub(super) &'a Aging<'a>);

impl Rooms for OwnRooms<'_> {
    /// The layers were made for their rooms.
    fn begin(&self, _: &mut Candidate) {}

    fn widen(&self, candidate: &mut Candidate) {
        candidate.widen(candidate.left() / 2);
    }

    fn fill_ledgers(&self, candidate: &mut Candidate) {
        candidate.fill_ledger(self.0.mode);
    }

    fn lengthen(&self, candidate: &mut Candidate) {
        candidate.lengthen(self.0);
    }

    fn end(&self, _: &mut Candidate) {}
}
