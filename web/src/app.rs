//! The frame of the app: its start, its parts on the page, its address, and what belongs to no feature alone.

/// What stands in the address of the page.
pub mod data {
    pub mod address;
}

/// The start of the page, its address, and what the page around a mounted app asks.
#[cfg(target_arch = "wasm32")]
pub mod actions {
    pub mod address;
    pub mod begin;
    pub mod hosted;
    pub mod opening;
    pub mod page;
    pub mod show;
}

/// The page as a whole: the column beside it, the session screen with its head, which dialog is whose, and short notes.
#[cfg(target_arch = "wasm32")]
pub mod view {
    pub mod app;
    pub mod dialog;
    pub mod header;
    pub mod session;
    pub mod side;
    pub mod toast;
}

#[cfg(target_arch = "wasm32")]
pub mod embed;
#[cfg(target_arch = "wasm32")]
pub mod start;
