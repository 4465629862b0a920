//! The log of a session, and its replay under other policies.

/// Figures by turn.
pub mod data {
    pub mod turns;
}

/// Reads the log, replays a session.
#[cfg(target_arch = "wasm32")]
pub mod actions {
    pub mod figures;
}

/// The two screens of figures.
#[cfg(target_arch = "wasm32")]
pub mod view {
    pub mod figures;
}
