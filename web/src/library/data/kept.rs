//! The durability of the conversation in this browser.

/// The place of the sessions, best first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kept {
    /// In IndexedDB.
    #[default]
    Whole,
    /// In `localStorage`: a few megabytes, and a crash may take the last seconds.
    Small,
    /// Nowhere: gone with the tab.
    Memory,
}
