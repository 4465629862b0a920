//! A note of how much was stored, outside the database, so that an emptied database is seen as a loss.
//!
//! Browsers clear a database without telling: on a full disk, after a week without a visit, by a cleaner. Then an
//! application must not begin as if the user were new.

use gloo_storage::{LocalStorage, Storage};
use serde::{Deserialize, Serialize};

use crate::settings::is_available;

/// How much there was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadNote {
    /// Sessions in the database.
    pub sessions: u32,
    /// The highest sequence number of a message in any of them.
    pub last_seq: u32,
}

/// What the note and the database say together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing is missing.
    Whole,
    /// There were sessions and there are none.
    Emptied {
        /// What there was.
        before: HeadNote,
    },
    /// There are fewer sessions than there were.
    Fewer {
        /// What there was.
        before: HeadNote,
    },
}

impl HeadNote {
    /// The note of the database `name`, if there is one that can be read.
    pub fn load(name: &str) -> Option<Self> {
        if !is_available() {
            return None;
        }
        let text = LocalStorage::raw().get_item(&entry(name)).ok()??;
        palimpsest_text::json::read(&text).ok()
    }

    /// Writes it. To be called whenever a session was begun or deleted and at the end of a turn. Failing is no loss: the
    /// note is a second look, not a promise.
    pub fn save(self, name: &str) {
        if is_available() {
            let _ = LocalStorage::set(entry(name), self);
        }
    }

    /// Compares the note with what is in the database at start-up.
    pub fn compare(note: Option<Self>, now: Self) -> Found {
        match note {
            Some(before) if before.sessions > 0 && now.sessions == 0 => Found::Emptied { before },
            Some(before) if before.sessions > now.sessions => Found::Fewer { before },
            _ => Found::Whole,
        }
    }
}

fn entry(name: &str) -> String {
    format!("{name}:stored")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S5, F 84: an emptied database is not taken for a new user's.
    #[test]
    fn an_emptied_database_is_noticed() {
        let check = |note: Option<(u32, u32)>, now: (u32, u32), expected: Found| {
            let note = note.map(|(sessions, last_seq)| HeadNote { sessions, last_seq });
            assert_eq!(
                HeadNote::compare(
                    note,
                    HeadNote {
                        sessions: now.0,
                        last_seq: now.1
                    }
                ),
                expected
            );
        };
        let before = HeadNote {
            sessions: 40,
            last_seq: 900,
        };
        check(None, (0, 0), Found::Whole);
        check(Some((0, 0)), (0, 0), Found::Whole);
        check(Some((40, 900)), (40, 900), Found::Whole);
        // a setting written last may be older than the database
        check(Some((40, 900)), (41, 950), Found::Whole);
        check(Some((40, 900)), (0, 0), Found::Emptied { before });
        check(Some((40, 900)), (39, 900), Found::Fewer { before });
    }
}
