//! All sessions: search, files, storage, deletion.

/// Sessions, search results, files and storage as they are drawn.
pub mod data {
    pub mod bind;
    pub mod export;
    pub mod hit;
    pub mod import;
    pub mod kept;
    pub mod session;
    pub mod stored;
}

/// What is done with sessions as a whole.
#[cfg(target_arch = "wasm32")]
pub mod actions {
    pub mod import;
    pub mod library;
    pub mod sample;
    pub mod sessions;
    pub mod storage;
    pub mod temporary;
    pub mod trash;
}

/// The library screen.
#[cfg(target_arch = "wasm32")]
pub mod view {
    pub mod dialogs;
    pub mod library;
    pub mod row;
    pub mod save;
    pub mod storage;
    pub mod trash;
}
