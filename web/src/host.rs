//! The browser behind the engine's ports: where rows are kept, and what other tabs do to them.

use std::rc::Rc;

use palimpsest_browser::{
    HeadNote, IndexedDbStore, LocalStorageStore, OpenOptions, StorageEvent, Tabs,
};
use palimpsest_engine::MemoryStore;
use palimpsest_engine::ports::Store;

use crate::embed;
use crate::text::{T, t};
use crate::view::kept::Kept;

/// The name of the database, of the tabs' channel and of the note.
pub const NAME: &str = "palimpsest";

/// The name of the channel of tabs that share a host's storage.
const HOSTED: &str = "palimpsest-hosted";

/// The host's store, if it brings one, else the best that this browser allows.
pub async fn store(on_event: impl Fn(StorageEvent) + 'static) -> (Rc<dyn Store>, Kept) {
    if let Some(store) = embed::storage() {
        return (Rc::new(store), Kept::Whole);
    }
    let options = OpenOptions {
        name: NAME.into(),
        on_event: Rc::new(on_event),
        ..OpenOptions::default()
    };
    match IndexedDbStore::open(options).await {
        Ok(store) => (Rc::new(store), Kept::Whole),
        Err(_) => match LocalStorageStore::open(NAME) {
            Ok(store) => (Rc::new(store), Kept::Small),
            Err(_) => (memory(), Kept::Memory),
        },
    }
}

/// A store that is gone with the tab.
pub fn memory() -> Rc<dyn Store> {
    Rc::new(MemoryStore::default())
}

/// The channel to the other tabs.
pub fn tabs() -> Tabs {
    Tabs::new(if embed::storage().is_some() {
        HOSTED
    } else {
        NAME
    })
}

/// What a storage event means for a person, if anything.
pub fn sentence(event: &StorageEvent) -> Option<&'static str> {
    match event {
        StorageEvent::Blocked => Some(t(T::StoreBlocked)),
        StorageEvent::Upgraded => Some(t(T::StoreUpgraded)),
        StorageEvent::Deleted => Some(t(T::StoreDeleted)),
        _ => None,
    }
}

/// Whether the database holds fewer sessions than it did when the page was last here.
pub fn lost_since(now: HeadNote) -> bool {
    use palimpsest_browser::Found;
    !matches!(HeadNote::compare(HeadNote::load(NAME), now), Found::Whole)
}
