//! The browser behind the engine's ports: where rows are kept, and what other tabs do to them.

use std::cell::OnceCell;
use std::rc::Rc;

use palimpsest_browser::{
    HeadNote, IndexedDbStore, LocalStorageStore, OpenOptions, StorageEvent, Tabs,
};
use palimpsest_engine::ports::{
    Applied, Durability, Expect, Lease, LocalFuture, Op, Query, Row, Store, StoreError,
};
use palimpsest_engine::{MemoryStore, WithTemporary};

use crate::act;
use crate::library::data::kept::Kept;
use crate::platform::guest;
use crate::text::{T, t};

/// The name of the database, of the tabs' channel and of the note.
pub const NAME: &str = "palimpsest";

/// The name of the channel of tabs that share a host's storage.
const HOSTED: &str = "palimpsest-hosted";

/// The host's store, if it brings one, else the best that this browser allows.
/// Nothing where it allows none and what would keep them in memory cannot be loaded.
pub async fn store(on_event: impl Fn(StorageEvent) + 'static) -> Option<(Rc<dyn Store>, Kept)> {
    if guest::keeps() {
        act::guest().wait().await;
        if let Some(store) = act::hosted_store().flatten() {
            return Some((store, Kept::Whole));
        }
    }
    let options = OpenOptions {
        name: NAME.into(),
        on_event: Rc::new(on_event),
        ..OpenOptions::default()
    };
    if let Ok(store) = IndexedDbStore::open(options).await {
        return Some((Rc::new(store), Kept::Whole));
    }
    act::spare().wait().await;
    match act::small_store().flatten() {
        Some(store) => Some((store, Kept::Small)),
        None => Some((act::memory_store()?, Kept::Memory)),
    }
}

/// A store in `localStorage`, if the browser allows that.
pub fn small() -> Option<Rc<dyn Store>> {
    let store = LocalStorageStore::open(NAME).ok()?;
    Some(Rc::new(store))
}

/// A store that is gone with the tab.
pub fn memory() -> Rc<dyn Store> {
    Rc::new(MemoryStore::default())
}

/// That store, with one beside it that is gone with the tab: for temporary sessions.
pub fn memory_beside(stored: Rc<dyn Store>) -> Rc<dyn Store> {
    Rc::new(WithTemporary::new(stored, memory()))
}

/// A store in whose place another can be put once.
pub struct Switch {
    at_first: Rc<dyn Store>,
    then: OnceCell<Rc<dyn Store>>,
}

impl Switch {
    /// Begins with this store.
    pub const fn to(store: Rc<dyn Store>) -> Self {
        Self {
            at_first: store,
            then: OnceCell::new(),
        }
    }

    /// Returns `true` once another store is in its place.
    pub fn is_turned(&self) -> bool {
        self.then.get().is_some()
    }

    /// Puts another store in its place, which has everything that this one has.
    pub fn turn_to(&self, store: Rc<dyn Store>) {
        let _ = self.then.set(store);
    }

    /// The store in use.
    pub fn now(&self) -> Rc<dyn Store> {
        Rc::clone(self.used())
    }

    fn used(&self) -> &Rc<dyn Store> {
        self.then.get().unwrap_or(&self.at_first)
    }
}

impl Store for Switch {
    fn claim<'a>(
        &'a self,
        session: &'a str,
        take_over: bool,
    ) -> LocalFuture<'a, Result<Lease, StoreError>> {
        self.used().claim(session, take_over)
    }

    fn read(&self, query: Query) -> LocalFuture<'_, Result<Vec<Row>, StoreError>> {
        self.used().read(query)
    }

    fn apply<'a>(
        &'a self,
        lease: &'a Lease,
        expect: Option<Expect>,
        ops: Vec<Op>,
        durability: Durability,
    ) -> LocalFuture<'a, Result<Applied, StoreError>> {
        self.used().apply(lease, expect, ops, durability)
    }
}

/// The channel to the other tabs.
pub fn tabs() -> Tabs {
    Tabs::new(if guest::keeps() { HOSTED } else { NAME })
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
