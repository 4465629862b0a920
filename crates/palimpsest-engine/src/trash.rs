//! What becomes of deleted sessions: they can be brought back for thirty days, then they are purged.

use crate::engine::Engine;
use crate::error::EngineError;
use crate::head::{Head, SessionInfo};
use crate::stored::{Found, find_head};

/// How long a deleted session can be brought back, in milliseconds: thirty days.
pub const KEPT_FOR: f64 = 30.0 * DAY;

const DAY: f64 = 86_400_000.0;

/// How many sessions are tried for each one that may be purged at once.
const TRIES: u32 = 4;

/// Whole days, at least one, in which a session that was deleted at `deleted_at` can still be brought back; 0 if it is to
/// be purged. Both times in milliseconds since 1970.
pub fn days_left(deleted_at: f64, now: f64) -> u32 {
    let left = deleted_at + KEPT_FOR - now;
    if left <= 0.0 {
        return 0;
    }
    // a clock that was set back makes no more than the thirty days of it
    (left / DAY).ceil().min(KEPT_FOR / DAY) as u32
}

impl Engine {
    /// Purges at most `most` of the sessions that were deleted more than thirty days ago, the oldest first. One that another
    /// tab holds, or that cannot be purged now, waits for the next time. The identifiers of those that are gone.
    pub async fn purge_expired(&self, most: u32) -> Result<Vec<String>, EngineError> {
        let now = self.host.world.clock.now();
        let mut due: Vec<SessionInfo> = self.deleted_sessions().await?;
        due.retain(|s| is_due(&s.head, now));
        palimpsest_text::order::sort_by(&mut due, |a, b| {
            a.head
                .deleted_at
                .partial_cmp(&b.head.deleted_at)
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        let mut gone = Vec::new();
        // some that cannot go now must not keep the others from going, but a start of the app is not for looking at all
        for session in due.into_iter().take(most.saturating_mul(TRIES) as usize) {
            if gone.len() >= most as usize {
                break;
            }
            if let Ok(true) = self.let_go(&session.id, now).await {
                gone.push(session.id);
            }
        }
        Ok(gone)
    }

    /// Purges a session that nobody holds, if it is still due: `false` if somebody has brought it back.
    async fn let_go(&self, id: &str, now: f64) -> Result<bool, EngineError> {
        // who has it open in another tab is not thrown out of it
        let lease = self.host.store.claim(id, false).await?;
        // whoever brings it back writes its head, which nobody but the holder of this lease can do from here on
        let Found::Whole(head) = find_head(&self.host, id).await? else {
            return Ok(false);
        };
        if !is_due(&head, now) {
            return Ok(false);
        }
        self.purge_with(id, lease).await?;
        Ok(true)
    }
}

fn is_due(head: &Head, now: f64) -> bool {
    head.deleted_at.is_some_and(|at| days_left(at, now) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// O4: thirty days, counted so that a person never has less time than is said.
    #[test]
    fn days_that_are_left() {
        let at = 1_700_000_000_000.0;
        assert_eq!(days_left(at, at), 30);
        assert_eq!(days_left(at, at + 1.0), 30);
        assert_eq!(days_left(at, at + 29.0 * DAY + 1.0), 1);
        assert_eq!(days_left(at, at + 30.0 * DAY - 1.0), 1);
        assert_eq!(days_left(at, at + 30.0 * DAY), 0);
        assert_eq!(days_left(at, at - 5.0 * DAY), 30);
    }
}
