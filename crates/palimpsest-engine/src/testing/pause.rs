//! A store that waits at a given place while a test does something else. Races then have the same result every time.

use std::cell::RefCell;

use crate::ports::{
    Abort, Applied, Durability, Expect, Lease, LocalFuture, Op, Query, Row, Signal, Store,
    StoreError,
};

/// A call to a store.
#[derive(Debug)]
pub enum Call<'a> {
    /// A claim of a session.
    Claim(&'a str),
    /// A read.
    Read(&'a Query),
    /// A transaction.
    Apply(&'a [Op]),
}

type Place = dyn Fn(&Call<'_>) -> bool;

/// The two ends of one pause.
#[derive(Debug, Clone)]
pub struct Pause {
    reached: Abort,
    go: Abort,
}

impl Pause {
    /// Resolves when the call waits.
    pub async fn reached(&self) {
        self.reached.signal().aborted().await;
    }

    /// Returns `true` if the call waits or has waited.
    pub fn is_reached(&self) -> bool {
        self.reached.signal().is_aborted()
    }

    /// Lets the call continue.
    pub fn end(&self) {
        self.go.abort();
    }
}

/// Wraps a store.
pub struct PausingStore<S> {
    inner: S,
    next: RefCell<Option<(Box<Place>, Abort, Signal)>>,
}

impl<S: std::fmt::Debug> std::fmt::Debug for PausingStore<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PausingStore")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

impl<S> PausingStore<S> {
    /// Wraps a store without a pause.
    pub const fn new(inner: S) -> Self {
        Self {
            inner,
            next: RefCell::new(None),
        }
    }

    /// Makes the next call that matches `at` wait before it reaches the store. Later calls do not wait.
    pub fn pause(&self, at: impl Fn(&Call<'_>) -> bool + 'static) -> Pause {
        let (reached, go) = (Abort::new(), Abort::new());
        let next = (Box::new(at) as Box<Place>, reached.clone(), go.signal());
        self.next.replace(Some(next));
        Pause { reached, go }
    }

    async fn wait(&self, call: Call<'_>) {
        let here = self
            .next
            .borrow()
            .as_ref()
            .is_some_and(|(at, ..)| at(&call));
        let taken = if here { self.next.take() } else { None };
        if let Some((_, reached, go)) = taken {
            reached.abort();
            go.aborted().await;
        }
    }
}

impl<S: Store> Store for PausingStore<S> {
    fn claim<'a>(
        &'a self,
        session: &'a str,
        take_over: bool,
    ) -> LocalFuture<'a, Result<Lease, StoreError>> {
        Box::pin(async move {
            self.wait(Call::Claim(session)).await;
            self.inner.claim(session, take_over).await
        })
    }

    fn read(&self, query: Query) -> LocalFuture<'_, Result<Vec<Row>, StoreError>> {
        Box::pin(async move {
            self.wait(Call::Read(&query)).await;
            self.inner.read(query).await
        })
    }

    fn apply<'a>(
        &'a self,
        lease: &'a Lease,
        expect: Option<Expect>,
        ops: Vec<Op>,
        durability: Durability,
    ) -> LocalFuture<'a, Result<Applied, StoreError>> {
        Box::pin(async move {
            self.wait(Call::Apply(&ops)).await;
            self.inner.apply(lease, expect, ops, durability).await
        })
    }
}
