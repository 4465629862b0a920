//! The store in memory. It keeps nothing after the process ends, and its short code documents the contract of stores.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::{Rc, Weak};

use crate::ports::fence;
use crate::ports::{
    Applied, Durability, Expect, Key, Lease, LocalFuture, Op, Query, Row, Store, StoreError, Table,
};

type Address = (Table, Key);

/// A store in memory. Clones share the rows, like two tabs of one browser.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore(Rc<RefCell<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    rows: BTreeMap<Address, String>,
    /// The writers of sessions. An entry ends with its lease.
    holders: BTreeMap<String, Weak<()>>,
    /// The undo steps of writes that are not yet on the disk, newest last.
    #[cfg(feature = "testing")]
    unsynced: Vec<Undo>,
}

/// A row before a write.
type Undo = (Address, Option<String>);

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a store with these rows. Of two rows with the same key the later one counts.
    pub fn from_rows(rows: impl IntoIterator<Item = (Table, Row)>) -> Self {
        let store = Self::new();
        let rows = rows
            .into_iter()
            .map(|(table, row)| ((table, row.key), row.value));
        store.0.borrow_mut().rows.extend(rows);
        store
    }

    /// Every row, in the order of tables and keys.
    pub fn rows(&self) -> Vec<(Table, Row)> {
        let inner = self.0.borrow();
        inner
            .rows
            .iter()
            .map(|((table, key), value)| {
                (
                    *table,
                    Row {
                        key: key.clone(),
                        value: value.clone(),
                    },
                )
            })
            .collect()
    }

    /// Simulates the worst power failure: keeps everything up to the last strict write and nothing after it, and
    /// forgets all claims.
    #[cfg(feature = "testing")]
    pub fn lose_power(&self) {
        let mut inner = self.0.borrow_mut();
        let unsynced = std::mem::take(&mut inner.unsynced);
        inner.take_back(unsynced);
        inner.holders.clear();
    }
}

impl Inner {
    fn get(&self, table: Table, key: &Key) -> Option<&str> {
        // The map owns its keys as pairs, so a look-up needs one.
        self.rows.get(&(table, key.clone())).map(String::as_str)
    }

    fn claim(&mut self, session: &str, take_over: bool) -> Result<Lease, StoreError> {
        let is_held = self
            .holders
            .get(session)
            .is_some_and(|holder| holder.strong_count() > 0);
        if is_held && !take_over {
            return Err(StoreError::Busy);
        }
        let head = self.get(Table::Heads, &fence::head_key(session));
        let note = self.get(Table::Meta, &fence::claim_key(session));
        let (epoch, op) = fence::next_claim(session, head, note, take_over)?;
        let undo = self.write(&[op])?;
        self.commit(undo, Durability::Relaxed);
        let holder = Rc::new(());
        self.holders.retain(|_, holder| holder.strong_count() > 0);
        self.holders
            .insert(session.to_owned(), Rc::downgrade(&holder));
        let guard: Rc<dyn Any> = holder;
        Ok(Lease {
            session: session.to_owned(),
            epoch,
            guard: Some(guard),
        })
    }

    fn read(&self, query: &Query) -> Vec<Row> {
        let table = query.table();
        let (first, end) = query.bounds();
        let end = match (end, following(table)) {
            (Some(end), _) => Bound::Excluded((table, end)),
            (None, Some(next)) => Bound::Excluded((next, Key::new())),
            (None, None) => Bound::Unbounded,
        };
        let start = (table, first);
        // A range that ends before it begins is empty here, but would panic in a map.
        if matches!(&end, Bound::Excluded(end) if *end <= start) {
            return Vec::new();
        }
        let rows = self.rows.range((Bound::Included(start), end));
        let row = |((_, key), value): (&Address, &String)| Row {
            key: key.clone(),
            value: value.clone(),
        };
        match query {
            Query::Range {
                reverse: true,
                limit,
                ..
            } => rows.rev().take(at_most(*limit)).map(row).collect(),
            Query::Range {
                reverse: false,
                limit,
                ..
            } => rows.take(at_most(*limit)).map(row).collect(),
            Query::Get { .. } => rows.map(row).collect(),
        }
    }

    fn apply(
        &mut self,
        lease: &Lease,
        expect: Option<Expect>,
        ops: &[Op],
        durability: Durability,
    ) -> Result<Applied, StoreError> {
        let head = self.get(Table::Heads, &fence::head_key(&lease.session));
        let note = self.get(Table::Meta, &fence::claim_key(&lease.session));
        let also = fence::check(lease, expect, head, note, ops)?;
        let mut undo = self.write(ops)?;
        if let Some(op) = also {
            undo.extend(self.write(&[op])?);
        }
        self.commit(undo, durability);
        Ok(Applied {
            rows: ops.iter().filter(|op| op.is_write()).count() as u32,
        })
    }

    /// Writes all of `ops` in order, or none. Returns the steps that undo them.
    fn write(&mut self, ops: &[Op]) -> Result<Vec<Undo>, StoreError> {
        let mut undo = Vec::new();
        for op in ops {
            match op {
                Op::Add { table, key, value } => {
                    let address = (*table, key.clone());
                    if self.rows.contains_key(&address) {
                        self.take_back(undo);
                        return Err(StoreError::Exists(shown(*table, key)));
                    }
                    self.rows.insert(address.clone(), value.clone());
                    undo.push((address, None));
                }
                Op::Put { table, key, value } => {
                    let address = (*table, key.clone());
                    let old = self.rows.insert(address.clone(), value.clone());
                    undo.push((address, old));
                }
                Op::Delete { table, key } => {
                    let address = (*table, key.clone());
                    let old = self.rows.remove(&address);
                    undo.push((address, old));
                }
                Op::DeletePrefix { table, prefix } => {
                    let query = Query::all(*table, prefix.clone());
                    for row in self.read(&query) {
                        let address = (*table, row.key);
                        self.rows.remove(&address);
                        undo.push((address, Some(row.value)));
                    }
                }
            }
        }
        Ok(undo)
    }

    fn take_back(&mut self, undo: Vec<Undo>) {
        for (address, old) in undo.into_iter().rev() {
            match old {
                Some(value) => self.rows.insert(address, value),
                None => self.rows.remove(&address),
            };
        }
    }

    #[cfg(feature = "testing")]
    fn commit(&mut self, undo: Vec<Undo>, durability: Durability) {
        match durability {
            // A strict write also syncs all earlier relaxed ones.
            Durability::Strict => self.unsynced.clear(),
            Durability::Relaxed => self.unsynced.extend(undo),
        }
    }

    #[cfg(not(feature = "testing"))]
    #[allow(
        clippy::unused_self,
        clippy::needless_pass_by_value,
        reason = "the same calls with and without the feature"
    )]
    fn commit(&mut self, _undo: Vec<Undo>, _durability: Durability) {}
}

/// Names a row for error messages.
fn shown(table: Table, key: &Key) -> String {
    format!(
        "{} {}",
        table.name(),
        serde_json::to_string(key).unwrap_or_default()
    )
}

fn following(table: Table) -> Option<Table> {
    Table::ALL.into_iter().find(|other| *other > table)
}

const fn at_most(limit: u32) -> usize {
    if limit == 0 {
        usize::MAX
    } else {
        limit as usize
    }
}

impl Store for MemoryStore {
    fn claim<'a>(
        &'a self,
        session: &'a str,
        take_over: bool,
    ) -> LocalFuture<'a, Result<Lease, StoreError>> {
        Box::pin(async move { self.0.borrow_mut().claim(session, take_over) })
    }

    fn read(&self, query: Query) -> LocalFuture<'_, Result<Vec<Row>, StoreError>> {
        Box::pin(async move { Ok(self.0.borrow().read(&query)) })
    }

    fn apply<'a>(
        &'a self,
        lease: &'a Lease,
        expect: Option<Expect>,
        ops: Vec<Op>,
        durability: Durability,
    ) -> LocalFuture<'a, Result<Applied, StoreError>> {
        Box::pin(async move { self.0.borrow_mut().apply(lease, expect, &ops, durability) })
    }
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;

    use super::*;
    use crate::testing::contract;

    /// I1, I6: the store in memory keeps the contract.
    #[test]
    fn it_keeps_the_contract() {
        let report = block_on(contract::run_all(async || MemoryStore::new()));
        assert!(report.is_ok(), "{report}");
        assert_eq!(report.passed.len(), 24);
    }

    /// I6: a power failure takes at most the writes after the last strict one.
    #[test]
    fn power_loss_takes_what_was_not_synced() {
        let add = |n: u32| {
            vec![Op::Add {
                table: Table::Log,
                key: vec!["s".into(), n.into()],
                value: n.to_string(),
            }]
        };
        let store = MemoryStore::new();
        block_on(async {
            let lease = store.claim("s", false).await.unwrap();
            store
                .apply(&lease, None, add(1), Durability::Relaxed)
                .await
                .unwrap();
            store
                .apply(&lease, None, add(2), Durability::Strict)
                .await
                .unwrap();
            store
                .apply(&lease, None, add(3), Durability::Relaxed)
                .await
                .unwrap();
            let delete = vec![Op::DeletePrefix {
                table: Table::Log,
                prefix: vec!["s".into()],
            }];
            store
                .apply(&lease, None, delete, Durability::Relaxed)
                .await
                .unwrap();
            store.lose_power();
            let left = store.read(Query::all(Table::Log, vec![])).await.unwrap();
            assert_eq!(
                left.iter()
                    .map(|row| row.value.as_str())
                    .collect::<Vec<_>>(),
                ["1", "2"]
            );
        });
    }

    /// A mistake that a careless store might make.
    #[derive(Debug, Clone, Copy)]
    enum Slip {
        TearsBatches,
        WritesLate,
        IgnoresVersions,
        LetsEverybodyIn,
        ForgetsEpochs,
        OverwritesAdded,
        IgnoresLimits,
        CutsBeforeReversing,
        SortsNumbersAsText,
        IgnoresBounds,
        MatchesTextPrefixes,
        MixesTables,
    }

    struct Careless(MemoryStore, Slip);

    impl Store for Careless {
        fn claim<'a>(
            &'a self,
            session: &'a str,
            take_over: bool,
        ) -> LocalFuture<'a, Result<Lease, StoreError>> {
            Box::pin(async move {
                let mut lease = self
                    .0
                    .claim(
                        session,
                        take_over || matches!(self.1, Slip::LetsEverybodyIn),
                    )
                    .await?;
                if matches!(self.1, Slip::ForgetsEpochs) {
                    lease.epoch = 1;
                }
                Ok(lease)
            })
        }

        fn read(&self, query: Query) -> LocalFuture<'_, Result<Vec<Row>, StoreError>> {
            Box::pin(async move {
                let Query::Range {
                    table,
                    prefix,
                    from,
                    to,
                    reverse,
                    limit,
                } = query
                else {
                    return self.0.read(query).await;
                };
                match self.1 {
                    Slip::IgnoresLimits => {
                        self.0
                            .read(Query::Range {
                                table,
                                prefix,
                                from,
                                to,
                                reverse,
                                limit: 0,
                            })
                            .await
                    }
                    Slip::IgnoresBounds => {
                        self.0
                            .read(Query::Range {
                                table,
                                prefix,
                                from: None,
                                to: None,
                                reverse,
                                limit,
                            })
                            .await
                    }
                    Slip::CutsBeforeReversing => {
                        let mut rows = self
                            .0
                            .read(Query::Range {
                                table,
                                prefix,
                                from,
                                to,
                                reverse: false,
                                limit,
                            })
                            .await?;
                        if reverse {
                            rows.reverse();
                        }
                        Ok(rows)
                    }
                    Slip::SortsNumbersAsText => {
                        let mut rows = self
                            .0
                            .read(Query::Range {
                                table,
                                prefix,
                                from,
                                to,
                                reverse,
                                limit,
                            })
                            .await?;
                        rows.sort_by_key(|row| serde_json::to_string(&row.key).unwrap());
                        Ok(rows)
                    }
                    _ => {
                        self.0
                            .read(Query::Range {
                                table,
                                prefix,
                                from,
                                to,
                                reverse,
                                limit,
                            })
                            .await
                    }
                }
            })
        }

        fn apply<'a>(
            &'a self,
            lease: &'a Lease,
            expect: Option<Expect>,
            mut ops: Vec<Op>,
            durability: Durability,
        ) -> LocalFuture<'a, Result<Applied, StoreError>> {
            Box::pin(async move {
                match self.1 {
                    Slip::TearsBatches => {
                        let rows = ops.iter().filter(|op| op.is_write()).count() as u32;
                        for op in ops {
                            self.0.apply(lease, expect, vec![op], durability).await?;
                        }
                        return Ok(Applied { rows });
                    }
                    Slip::WritesLate => {
                        let mut inner = self.0.0.borrow_mut();
                        return match inner.apply(lease, expect, &ops, durability) {
                            Err(StoreError::Superseded) => {
                                inner.write(&ops)?;
                                Err(StoreError::Superseded)
                            }
                            other => other,
                        };
                    }
                    Slip::IgnoresVersions => {
                        return self.0.apply(lease, None, ops, durability).await;
                    }
                    Slip::ForgetsEpochs => {
                        let rows = ops.iter().filter(|op| op.is_write()).count() as u32;
                        self.0.0.borrow_mut().write(&ops)?;
                        return Ok(Applied { rows });
                    }
                    Slip::OverwritesAdded => {
                        for op in &mut ops {
                            if let Op::Add { table, key, value } = op.clone() {
                                *op = Op::Put { table, key, value };
                            }
                        }
                    }
                    Slip::MatchesTextPrefixes => {
                        let mut more = Vec::new();
                        for op in &ops {
                            let Op::DeletePrefix { table, prefix } = op else {
                                continue;
                            };
                            let start = serde_json::to_string(prefix).unwrap();
                            let start = start.trim_end_matches(['"', ']']);
                            for row in self.0.read(Query::all(*table, vec![])).await? {
                                if serde_json::to_string(&row.key).unwrap().starts_with(start) {
                                    more.push(Op::Delete {
                                        table: *table,
                                        key: row.key,
                                    });
                                }
                            }
                        }
                        ops.extend(more);
                    }
                    Slip::MixesTables => {
                        for op in &mut ops {
                            if let Op::Add {
                                table: table @ Table::Layers,
                                ..
                            } = op
                            {
                                *table = Table::Notes;
                            }
                        }
                    }
                    _ => {}
                }
                self.0.apply(lease, expect, ops, durability).await
            })
        }
    }

    /// Each of these mistakes is found by its case of the contract.
    #[test]
    fn the_contract_finds_careless_stores() {
        let check = |slip: Slip, case: &str| {
            let report = block_on(contract::run_all(async || {
                Careless(MemoryStore::new(), slip)
            }));
            let found: Vec<&str> = report.failed.iter().map(|(name, _)| *name).collect();
            assert!(
                found.contains(&case),
                "{slip:?} was found by {found:?} only"
            );
        };
        check(Slip::TearsBatches, "a_failing_batch_leaves_nothing_behind");
        check(Slip::WritesLate, "a_superseded_writer_writes_nothing");
        check(
            Slip::IgnoresVersions,
            "only_the_expected_version_is_written",
        );
        check(
            Slip::LetsEverybodyIn,
            "a_session_has_one_writer_unless_taken_over",
        );
        check(Slip::ForgetsEpochs, "epochs_grow_with_every_claim");
        check(
            Slip::ForgetsEpochs,
            "a_writer_is_superseded_before_there_is_a_head",
        );
        check(
            Slip::OverwritesAdded,
            "a_row_that_must_be_new_is_not_overwritten",
        );
        check(
            Slip::IgnoresLimits,
            "a_range_has_bounds_a_direction_and_a_limit",
        );
        check(
            Slip::IgnoresBounds,
            "a_range_goes_by_the_part_after_the_prefix",
        );
        check(
            Slip::CutsBeforeReversing,
            "a_range_has_bounds_a_direction_and_a_limit",
        );
        check(Slip::SortsNumbersAsText, "rows_come_in_key_order");
        check(
            Slip::MatchesTextPrefixes,
            "delete_prefix_removes_exactly_the_prefix",
        );
        check(Slip::MixesTables, "tables_are_separate");
    }
}
