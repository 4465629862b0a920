//! The window of the model: budget, layers, compactions, records and snapshots.

/// Budgets, cards, layers and records as they are drawn.
pub mod data {
    pub mod bind;
    pub mod budget;
    pub mod card;
    pub mod layer;
    pub mod record;
}

/// Compactions, layers, goals, pins and snapshots.
#[cfg(target_arch = "wasm32")]
pub mod actions {
    pub mod compaction;
    pub mod layers;
    pub mod records;
    pub mod snapshots;
}

/// The context screen, cards, notes and snapshots, and their dialogs.
#[cfg(target_arch = "wasm32")]
pub mod view {
    pub mod card;
    pub mod context;
    pub mod dialogs;
    pub mod goal;
    pub mod layers;
    pub mod notes;
    pub mod pin;
    pub mod snapshots;
}
