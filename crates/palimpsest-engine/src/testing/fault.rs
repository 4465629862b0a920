//! A store that fails, or whose process dies, at a given step.
//!
//! A claim has two steps: before it, and after it but before the answer. An `apply` has one step before it, one for
//! each operation, and one after the commit but before the answer. A store writes all or nothing, so a fault at any
//! step but the last leaves the old state, and one at the last step leaves the new state.

use std::cell::{Cell, RefCell};

use crate::ports::{
    Applied, Durability, Expect, Lease, LocalFuture, Op, Query, Row, Store, StoreError,
};

/// The fault at a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The call returns this error. The store keeps working.
    Fails(StoreError),
    /// This call and every later claim and write return this error, as on a full disk.
    KeepsFailing(StoreError),
    /// The process dies: nothing reaches the store any more, not even a read.
    Crashes,
}

/// Wraps a store. [`FaultStore::inner`] gives access to the rows.
#[derive(Debug)]
pub struct FaultStore<S> {
    inner: S,
    steps: Cell<u32>,
    plan: RefCell<Option<(u32, Fault)>>,
    lasting: RefCell<Option<Fault>>,
    has_fired: Cell<bool>,
}

impl<S> FaultStore<S> {
    /// Wraps a store without a plan. It only counts steps.
    pub const fn new(inner: S) -> Self {
        Self {
            inner,
            steps: Cell::new(0),
            plan: RefCell::new(None),
            lasting: RefCell::new(None),
            has_fired: Cell::new(false),
        }
    }

    /// Plans a fault at the `at`-th step from the beginning (the first is 1).
    #[must_use]
    pub fn failing_at(self, at: u32, fault: Fault) -> Self {
        self.plan.replace(Some((at, fault)));
        self
    }

    /// Plans another fault, `after` steps from now (1 is the next one).
    pub fn fail_after(&self, after: u32, fault: Fault) {
        self.plan.replace(Some((self.steps.get() + after, fault)));
    }

    /// Lets writes through again, as after freeing space. A dead process stays dead.
    pub fn recover(&self) {
        let mut lasting = self.lasting.borrow_mut();
        if !matches!(*lasting, Some(Fault::Crashes)) {
            *lasting = None;
        }
    }

    /// The number of steps so far.
    pub const fn steps(&self) -> u32 {
        self.steps.get()
    }

    /// Returns `true` after the planned fault has happened.
    pub const fn has_fired(&self) -> bool {
        self.has_fired.get()
    }

    /// The wrapped store, as a new process would find it.
    pub const fn inner(&self) -> &S {
        &self.inner
    }

    fn step(&self) -> Result<(), StoreError> {
        self.steps.set(self.steps.get() + 1);
        let is_due = self
            .plan
            .borrow()
            .as_ref()
            .is_some_and(|(at, _)| *at == self.steps.get());
        if !is_due {
            return Ok(());
        }
        let Some((_, fault)) = self.plan.take() else {
            return Ok(());
        };
        self.has_fired.set(true);
        let error = error_of(&fault);
        if !matches!(fault, Fault::Fails(_)) {
            self.lasting.replace(Some(fault));
        }
        Err(error)
    }

    fn is_open(&self) -> Result<(), StoreError> {
        self.lasting
            .borrow()
            .as_ref()
            .map_or(Ok(()), |fault| Err(error_of(fault)))
    }

    fn is_alive(&self) -> Result<(), StoreError> {
        match &*self.lasting.borrow() {
            Some(Fault::Crashes) => Err(error_of(&Fault::Crashes)),
            _ => Ok(()),
        }
    }
}

fn error_of(fault: &Fault) -> StoreError {
    match fault {
        Fault::Fails(error) | Fault::KeepsFailing(error) => error.clone(),
        Fault::Crashes => StoreError::Failed("the process is gone".into()),
    }
}

impl<S: Store> Store for FaultStore<S> {
    fn claim<'a>(
        &'a self,
        session: &'a str,
        take_over: bool,
    ) -> LocalFuture<'a, Result<Lease, StoreError>> {
        Box::pin(async move {
            self.is_open()?;
            self.step()?;
            let lease = self.inner.claim(session, take_over).await?;
            self.step()?;
            Ok(lease)
        })
    }

    fn read(&self, query: Query) -> LocalFuture<'_, Result<Vec<Row>, StoreError>> {
        Box::pin(async move {
            self.is_alive()?;
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
            self.is_open()?;
            for _ in 0..=ops.len() {
                self.step()?;
            }
            let applied = self.inner.apply(lease, expect, ops, durability).await?;
            self.step()?;
            Ok(applied)
        })
    }
}

/// Visits every step of `scenario`: runs it on a fresh store with the fault at step 1, then at step 2 and so on, until
/// a run ends without a fault. After each run `verify` receives the remaining store and the step. Returns the number of
/// steps.
///
/// The result of the scenario is ignored, because a fault may turn it into an error.
pub async fn each_step<S, R, E>(
    fault: &Fault,
    make: impl AsyncFn() -> S,
    scenario: impl AsyncFn(&FaultStore<S>) -> R,
    verify: impl AsyncFn(&S, u32) -> Result<(), E>,
) -> Result<u32, E> {
    for at in 1.. {
        let store = FaultStore::new(make().await).failing_at(at, fault.clone());
        scenario(&store).await;
        verify(store.inner(), at).await?;
        if !store.has_fired() {
            return Ok(at - 1);
        }
    }
    Ok(u32::MAX)
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;

    use super::*;
    use crate::MemoryStore;
    use crate::ports::Table;

    fn put(table: Table, key: &str, value: String) -> Op {
        Op::Put {
            table,
            key: vec![key.into()],
            value,
        }
    }

    /// Two writes of three rows each. Every row of the second one holds 2.
    async fn scenario(store: &FaultStore<MemoryStore>) -> Result<(), StoreError> {
        let lease = store.claim("s", false).await?;
        for version in 1..=2 {
            let ops = vec![
                put(
                    Table::Heads,
                    "s",
                    format!(r#"{{"epoch":{},"version":{version}}}"#, lease.epoch),
                ),
                put(Table::Partials, "s", version.to_string()),
                put(Table::Jobs, "s", version.to_string()),
            ];
            store.apply(&lease, None, ops, Durability::Strict).await?;
        }
        Ok(())
    }

    fn values(store: &MemoryStore) -> Vec<String> {
        store.rows().into_iter().map(|(_, row)| row.value).collect()
    }

    /// I6, F 66: at every step the store holds the old state or the new one, and both occur.
    #[test]
    fn every_crash_point_is_visited() {
        let none: Vec<String> = vec![];
        let claimed = vec![r#"{"epoch":1}"#.to_owned()];
        let written = |n: u32| {
            vec![
                format!(r#"{{"epoch":1,"version":{n}}}"#),
                n.to_string(),
                n.to_string(),
            ]
        };
        let expected = |at: u32| match at {
            1 => none.clone(),
            2..=6 => claimed.clone(),
            7..=11 => written(1),
            _ => written(2),
        };
        let verify = async |store: &MemoryStore, at: u32| -> Result<(), String> {
            if values(store) == expected(at) {
                Ok(())
            } else {
                Err(format!("step {at}: {:?}", values(store)))
            }
        };
        for fault in [Fault::Crashes, Fault::Fails(StoreError::Quota)] {
            let steps = block_on(each_step(
                &fault,
                async || MemoryStore::new(),
                scenario,
                verify,
            ));
            // A claim has 2 steps, each apply 1 + 3 + 1.
            assert_eq!(steps, Ok(12));
        }
    }

    /// F 83: a full disk stays full until space is freed, and a dead process stays dead.
    #[test]
    fn a_lasting_fault_lasts() {
        let run = |fault: Fault| {
            block_on(async {
                let store = FaultStore::new(MemoryStore::new());
                let lease = store.claim("s", false).await.unwrap();
                store.fail_after(1, fault);
                let write = async || {
                    store
                        .apply(&lease, None, vec![], Durability::Strict)
                        .await
                        .map_err(|e| e.code())
                };
                let first = (write().await, write().await);
                let read = store.read(Query::all(Table::Heads, vec![])).await.is_ok();
                store.recover();
                (first, read, write().await.is_ok())
            })
        };
        let quota = Err("storage_quota");
        assert_eq!(
            run(Fault::KeepsFailing(StoreError::Quota)),
            ((quota, quota), true, true)
        );
        assert_eq!(
            run(Fault::Fails(StoreError::Quota)),
            ((quota, Ok(Applied { rows: 0 })), true, true)
        );
        let gone = Err("storage_failed");
        assert_eq!(run(Fault::Crashes), ((gone, gone), false, false));
    }
}
