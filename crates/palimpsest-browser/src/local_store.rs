//! Keeps small sessions in `localStorage`, for hosts that refuse IndexedDB.
//!
//! All rows are one text, and every strict write writes it anew. This suits a few megabytes. A crash may lose the last
//! seconds (in a kill test it lost 95 % of the recent writes), so the application warns its user.

use std::cell::RefCell;
use std::rc::Rc;

use gloo_storage::{LocalStorage, Storage};
use palimpsest_engine::MemoryStore;
use palimpsest_engine::ports::{
    Applied, Durability, Expect, Lease, LocalFuture, Op, Query, Row, Store, StoreError, Table,
};

use crate::settings::is_available;

/// A [`Store`] in `localStorage`. Clones share the rows. Before each call the store reads the text again if another tab
/// has written it. Relaxed writes stay in memory until the next strict one.
#[derive(Debug, Clone)]
pub struct LocalStorageStore(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    entry: String,
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    rows: MemoryStore,
    /// The text from which the rows were read or to which they were last written.
    text: Option<String>,
}

impl LocalStorageStore {
    /// Opens the rows under `name`. A text that is not readable moves to the same name with `.old` added.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] if there is no `localStorage`.
    pub fn open(name: &str) -> Result<Self, StoreError> {
        if !is_available() {
            return Err(StoreError::Unavailable("there is no localStorage".into()));
        }
        let entry = format!("{name}:rows");
        let text = item(&entry);
        let rows = match text.as_deref().map(rows_of) {
            Some(Some(rows)) => MemoryStore::from_rows(rows),
            Some(None) => {
                let _ = LocalStorage::raw()
                    .set_item(&format!("{entry}.old"), text.as_deref().unwrap_or_default());
                MemoryStore::new()
            }
            None => MemoryStore::new(),
        };
        Ok(Self(Rc::new(Inner {
            entry,
            state: RefCell::new(State { rows, text }),
        })))
    }

    /// Deletes everything under `name`.
    pub fn erase(name: &str) {
        if is_available() {
            LocalStorage::delete(format!("{name}:rows"));
            LocalStorage::delete(format!("{name}:rows.old"));
        }
    }

    /// The current rows, including those that other tabs have written.
    fn current(&self) -> MemoryStore {
        let mut state = self.0.state.borrow_mut();
        let text = item(&self.0.entry);
        if text != state.text {
            // The other tab reports a text that is not readable; this tab keeps its rows.
            let rows = text.as_deref().map_or_else(|| Some(Vec::new()), rows_of);
            if let Some(rows) = rows {
                *state = State {
                    rows: MemoryStore::from_rows(rows),
                    text,
                };
            }
        }
        state.rows.clone()
    }

    /// Writes the rows, or undoes the last write if that fails.
    fn keep(&self, rows: &MemoryStore, before: Vec<(Table, Row)>) -> Result<(), StoreError> {
        let text =
            serde_json::to_string(&rows.rows()).map_err(|e| StoreError::Failed(e.to_string()));
        let written = text.and_then(|text| {
            let set = LocalStorage::raw().set_item(&self.0.entry, &text);
            set.map(|()| text).map_err(|_| StoreError::Quota)
        });
        let mut state = self.0.state.borrow_mut();
        match written {
            Ok(text) => {
                state.text = Some(text);
                Ok(())
            }
            Err(why) => {
                state.rows = MemoryStore::from_rows(before);
                Err(why)
            }
        }
    }
}

impl Store for LocalStorageStore {
    fn claim<'a>(
        &'a self,
        session: &'a str,
        take_over: bool,
    ) -> LocalFuture<'a, Result<Lease, StoreError>> {
        Box::pin(async move {
            let rows = self.current();
            let before = rows.rows();
            let lease = rows.claim(session, take_over).await?;
            self.keep(&rows, before)?;
            Ok(lease)
        })
    }

    fn read(&self, query: Query) -> LocalFuture<'_, Result<Vec<Row>, StoreError>> {
        Box::pin(async move { self.current().read(query).await })
    }

    fn apply<'a>(
        &'a self,
        lease: &'a Lease,
        expect: Option<Expect>,
        ops: Vec<Op>,
        durability: Durability,
    ) -> LocalFuture<'a, Result<Applied, StoreError>> {
        Box::pin(async move {
            let rows = self.current();
            let before = match durability {
                Durability::Strict => rows.rows(),
                Durability::Relaxed => return rows.apply(lease, expect, ops, durability).await,
            };
            let applied = rows.apply(lease, expect, ops, durability).await?;
            self.keep(&rows, before)?;
            Ok(applied)
        })
    }
}

fn item(name: &str) -> Option<String> {
    LocalStorage::raw().get_item(name).ok().flatten()
}

fn rows_of(text: &str) -> Option<Vec<(Table, Row)>> {
    palimpsest_text::json::read(text).ok()
}
