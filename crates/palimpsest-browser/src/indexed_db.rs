//! Sessions in the browser's database.

mod cause;
mod connection;
mod keys;
mod schema;
mod torn;
mod transaction;

#[cfg(test)]
#[cfg(target_arch = "wasm32")]
mod tests;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use palimpsest_core::sorted::{SortedMap, SortedSet};
use palimpsest_engine::ports::{
    Applied, Durability, Expect, Lease, LocalFuture, Op, Query, Row, Store, StoreError, Table,
    fence,
};

use self::connection::{Connection, State};
use self::schema::{MIGRATIONS, Migration};
use self::transaction::{Failure, Reading};
use crate::lock::{Answer, Asking, Lock, lock};

/// An event that reaches the database from outside. The application tells its user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StorageEvent {
    /// Another tab with an older version does not close its connection, and opening waits for it.
    Blocked,
    /// A newer version in another tab changes the database, so the user must reload this tab. Claims and writes return
    /// [`StoreError::Newer`] from now on.
    Upgraded,
    /// Another tab deletes the database.
    Deleted,
    /// The browser closed the connection. The next call opens a new one.
    Lost,
    /// The connection works again.
    Reopened,
    /// Another tab took this session over. The store refuses the old lease from now on.
    TakenOver {
        /// The session.
        session: String,
    },
}

/// The options for opening a database.
#[derive(Clone)]
pub struct OpenOptions {
    /// The name of the database.
    pub name: String,
    /// Receives events from outside. Event handlers call it, so it must return at once.
    pub on_event: Rc<dyn Fn(StorageEvent)>,
    /// Milliseconds to wait for a tab with an older version.
    pub blocked_ms: u32,
    /// Milliseconds to wait for a session's lock before it counts as held. A closed tab needs up to 150.
    pub lock_ms: u32,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            name: "palimpsest".into(),
            on_event: Rc::new(|_| {}),
            blocked_ms: 5_000,
            lock_ms: 400,
        }
    }
}

impl std::fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenOptions")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A [`Store`] in IndexedDB, for pages, workers, and Node with an `indexedDB` on the global object. Clones share the
/// connection.
///
/// A session's epoch guards every write inside of the write's own transaction. The Web Lock of a claim only makes the
/// refusal come earlier. In a host without locks, [`StoreError::Busy`] never reports another tab.
#[derive(Clone)]
pub struct IndexedDbStore(Rc<Inner>);

struct Inner {
    options: OpenOptions,
    migrations: &'static [Migration],
    connection: RefCell<Rc<Connection>>,
    /// The holders of sessions in this tab.
    holders: RefCell<SortedMap<String, Weak<Guard>>>,
    reading: Cell<Reading>,
}

/// The resources that a lease keeps.
struct Guard {
    _lock: Option<Lock>,
}

impl std::fmt::Debug for IndexedDbStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexedDbStore")
            .field("name", &self.0.options.name)
            .finish_non_exhaustive()
    }
}

impl IndexedDbStore {
    /// Opens the database, and creates or upgrades it.
    ///
    /// A database of a newer version opens for reading: see [`is_read_only`](Self::is_read_only).
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] if the host has no IndexedDB or refuses it (private windows of some browsers,
    /// sandboxed frames).
    pub async fn open(options: OpenOptions) -> Result<Self, StoreError> {
        Self::open_with(options, MIGRATIONS).await
    }

    async fn open_with(
        options: OpenOptions,
        migrations: &'static [Migration],
    ) -> Result<Self, StoreError> {
        let connection = Connection::open(
            &options.name,
            migrations,
            options.blocked_ms,
            &options.on_event,
        )
        .await?;
        Ok(Self(Rc::new(Inner {
            options,
            migrations,
            connection: RefCell::new(Rc::new(connection)),
            holders: RefCell::default(),
            reading: Cell::new(Reading::of_host()),
        })))
    }

    /// Returns `true` if a newer version made the database. Claims and writes then return [`StoreError::Newer`].
    pub fn is_read_only(&self) -> bool {
        self.0.connection.borrow().is_newer
    }

    /// Returns the connection. Opens a new one if the browser closed it.
    async fn connection(&self) -> Result<Rc<Connection>, StoreError> {
        let current = Rc::clone(&self.0.connection.borrow());
        match current.state() {
            State::Open => return Ok(current),
            State::Upgraded => return Err(StoreError::Newer),
            State::Deleted => {
                return Err(StoreError::Failed(
                    "the stored data was erased in another tab".into(),
                ));
            }
            State::Lost => {}
        }
        let options = &self.0.options;
        let opened = Connection::open(
            &options.name,
            self.0.migrations,
            options.blocked_ms,
            &options.on_event,
        )
        .await?;
        let opened = Rc::new(opened);
        self.0.connection.replace(Rc::clone(&opened));
        (options.on_event)(StorageEvent::Reopened);
        Ok(opened)
    }

    /// Does one write. If the transaction cannot begin, this tries once more on a new connection. If the browser undoes
    /// the transaction, this returns the error, and the next call gets a new connection.
    async fn write(
        &self,
        session: &str,
        tables: &SortedSet<Table>,
        durability: Durability,
        decide: impl Fn() -> transaction::Decide,
    ) -> Result<(), StoreError> {
        let mut is_second = false;
        loop {
            let connection = self.connection().await?;
            if connection.is_newer {
                return Err(StoreError::Newer);
            }
            match transaction::write(
                &connection.database,
                session,
                tables.clone(),
                durability,
                decide(),
            )
            .await
            {
                Ok(()) => return Ok(()),
                Err(Failure::NoConnection(_)) if !is_second => {
                    connection.give_up();
                    is_second = true;
                }
                Err(Failure::Undone(error)) => {
                    connection.give_up();
                    return Err(error);
                }
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    async fn read_rows(&self, query: &Query) -> Result<Vec<Row>, StoreError> {
        let mut is_second = false;
        loop {
            let connection = self.connection().await?;
            match transaction::read(&connection.database, query, self.0.reading.get()).await {
                Ok(rows) => return Ok(rows),
                Err(Failure::NoConnection(_) | Failure::Undone(_)) if !is_second => {
                    connection.give_up();
                    is_second = true;
                }
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    async fn claim_session(&self, session: &str, take_over: bool) -> Result<Lease, StoreError> {
        let is_held = self
            .0
            .holders
            .borrow()
            .get(session)
            .is_some_and(|holder| holder.strong_count() > 0);
        if is_held && !take_over {
            return Err(StoreError::Busy);
        }
        let options = &self.0.options;
        let on_lost = {
            let (on_event, session) = (Rc::clone(&options.on_event), session.to_owned());
            move || on_event(StorageEvent::TakenOver { session })
        };
        let asking = if take_over {
            Asking::Steal
        } else {
            Asking::Patient(options.lock_ms)
        };
        let guard = match lock(
            &format!("{}:session:{session}", options.name),
            asking,
            on_lost,
        )
        .await
        {
            Answer::Held(lock) => Guard { _lock: Some(lock) },
            Answer::None => Guard { _lock: None },
            // Stealing cannot be refused: only the answer of the lock manager came too late.
            Answer::Taken if take_over => Guard { _lock: None },
            Answer::Taken => return Err(StoreError::Busy),
        };
        let epoch = Rc::new(Cell::new(0));
        let decide = || -> transaction::Decide {
            let (epoch, session) = (Rc::clone(&epoch), session.to_owned());
            Box::new(move |head, note| {
                let (next, op) = fence::next_claim(&session, head, note, take_over)?;
                epoch.set(next);
                Ok(vec![op])
            })
        };
        self.write(session, &SortedSet::new(), Durability::Relaxed, decide)
            .await?;
        let guard = Rc::new(guard);
        let mut holders = self.0.holders.borrow_mut();
        holders.retain(|_, holder| holder.strong_count() > 0);
        holders.insert(session.to_owned(), Rc::downgrade(&guard));
        let guard: Rc<dyn Any> = guard;
        Ok(Lease {
            session: session.to_owned(),
            epoch: epoch.get(),
            guard: Some(guard),
        })
    }

    async fn apply_ops(
        &self,
        lease: &Lease,
        expect: Option<Expect>,
        ops: Vec<Op>,
        durability: Durability,
    ) -> Result<Applied, StoreError> {
        let rows = ops.iter().filter(|op| op.is_write()).count() as u32;
        let tables: SortedSet<Table> = ops.iter().map(Op::table).collect();
        let ops = Rc::new(ops);
        let decide = || -> transaction::Decide {
            // The guard stays with the caller, because a transaction must not hold a lock.
            let lease = Lease {
                guard: None,
                ..lease.clone()
            };
            let ops = Rc::clone(&ops);
            Box::new(move |head, note| {
                let also = fence::check(&lease, expect, head, note, &ops)?;
                Ok(ops.iter().cloned().chain(also).collect())
            })
        };
        self.write(&lease.session, &tables, durability, decide)
            .await?;
        Ok(Applied { rows })
    }
}

impl Store for IndexedDbStore {
    fn claim<'a>(
        &'a self,
        session: &'a str,
        take_over: bool,
    ) -> LocalFuture<'a, Result<Lease, StoreError>> {
        Box::pin(self.claim_session(session, take_over))
    }

    fn read(&self, query: Query) -> LocalFuture<'_, Result<Vec<Row>, StoreError>> {
        Box::pin(async move { self.read_rows(&query).await })
    }

    fn apply<'a>(
        &'a self,
        lease: &'a Lease,
        expect: Option<Expect>,
        ops: Vec<Op>,
        durability: Durability,
    ) -> LocalFuture<'a, Result<Applied, StoreError>> {
        Box::pin(self.apply_ops(lease, expect, ops, durability))
    }
}
