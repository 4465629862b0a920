//! Keeps a note of the amount of stored data outside of the database, so that the application notices when the database
//! was emptied.
//!
//! Browsers clear a database without telling anyone: on a full disk, after a week without a visit, through a cleaner.
//! The application must not treat its user as a new one then.

use gloo_storage::{LocalStorage, Storage};
use serde::{Deserialize, Serialize};

use crate::settings::is_available;

/// The amount of stored data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadNote {
    /// Sessions in the database.
    pub sessions: u32,
    /// The highest sequence number of a message in any of them.
    pub last_seq: u32,
}

/// The result of comparing the note with the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// All sessions are there.
    Whole,
    /// The database had sessions and now has none.
    Emptied {
        /// The note.
        before: HeadNote,
    },
    /// The database has fewer sessions than the note.
    Fewer {
        /// The note.
        before: HeadNote,
    },
}

impl HeadNote {
    /// Loads the note of the database `name`. `None` if there is none, or if it is not readable.
    pub fn load(name: &str) -> Option<Self> {
        if !is_available() {
            return None;
        }
        let text = LocalStorage::raw().get_item(&entry(name)).ok()??;
        palimpsest_text::json::read(&text).ok()
    }

    /// Saves the note. Call it whenever a session begins or is deleted, and at the end of a turn. A failure loses
    /// nothing: the note is a second check, not a promise.
    pub fn save(self, name: &str) {
        if is_available() {
            let _ = LocalStorage::set(entry(name), self);
        }
    }

    /// Compares the note with the content of the database at start-up.
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

    /// S5, F 84: an emptied database is detected and not taken for that of a new user.
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
        // A note that was written last may be older than the database.
        check(Some((40, 900)), (41, 950), Found::Whole);
        check(Some((40, 900)), (0, 0), Found::Emptied { before });
        check(Some((40, 900)), (39, 900), Found::Fewer { before });
    }
}
