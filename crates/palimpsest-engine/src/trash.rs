//! Deleted sessions. A user can restore them for thirty days; then they are purged.

use crate::engine::Engine;
use crate::error::EngineError;
use crate::head::{Head, SessionInfo};
use crate::stored::{Found, find_head};

/// The time for which a deleted session can be restored, in milliseconds: thirty days.
pub const KEPT_FOR: f64 = 30.0 * DAY;

const DAY: f64 = 86_400_000.0;

/// The number of sessions that are tried for each one that may be purged at once.
const TRIES: u32 = 4;

/// The whole days, at least one, in which a session that was deleted at `deleted_at` can still be restored; 0 if it is
/// due for purging. Both times are milliseconds since 1970.
pub fn days_left(deleted_at: f64, now: f64) -> u32 {
    let left = deleted_at + KEPT_FOR - now;
    if left <= 0.0 {
        return 0;
    }
    // After the clock was set back, the answer is still at most thirty days.
    (left / DAY).ceil().min(KEPT_FOR / DAY) as u32
}

impl Engine {
    /// Returns the sessions that were deleted more than thirty days ago, in no order.
    pub async fn expired_sessions(&self) -> Result<Vec<SessionInfo>, EngineError> {
        let now = self.host.world.clock.now();
        let mut expired = self.deleted_sessions().await?;
        expired.retain(|session| is_due(&session.head, now));
        Ok(expired)
    }

    /// Purges at most `most` of the sessions that were deleted more than thirty days ago, the oldest first. A session
    /// that another tab holds, or that cannot be purged now, waits for the next time. Returns the identifiers of the
    /// purged ones.
    pub async fn purge_expired(&self, most: u32) -> Result<Vec<String>, EngineError> {
        let now = self.host.world.clock.now();
        let mut due = self.expired_sessions().await?;
        palimpsest_text::order::sort_by(&mut due, |a, b| {
            a.head
                .deleted_at
                .partial_cmp(&b.head.deleted_at)
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        let mut gone = Vec::new();
        // Sessions that cannot go now must not block the others, but the start of the app must not look at all of them.
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

    /// Purges a session that nobody holds. Returns `false` if it has been restored meanwhile.
    async fn let_go(&self, id: &str, now: f64) -> Result<bool, EngineError> {
        // A user who has it open in another tab keeps it.
        let lease = self.host.store.claim(id, false).await?;
        // To restore it, a writer must change its head, which only the holder of this lease can do from here on.
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

    /// O4: thirty days, rounded so that a user never has less time than announced.
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
