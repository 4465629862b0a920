//! Positions to return to (S4). A snapshot refers to a revision, a tip and records, so it costs one row.

use palimpsest_core::context::Cause;
use palimpsest_core::error::CoreError;

use crate::error::EngineError;
use crate::event::Event;
use crate::ports::{Durability, Op, StoreError, Table};
use crate::rows::{key, seal, unseal};
use crate::snapshot::Snapshot;
use palimpsest_core::record::Records;

use super::noting::{RECOVERY, take, taken};
use super::revise::Revision;
use crate::stored;

use super::{Change, Session};

impl Session {
    /// The snapshots, oldest first.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        self.0.state.borrow().snapshots.clone()
    }

    /// Takes a snapshot of the present under a name, and returns its number.
    pub async fn snapshot(&self, name: &str) -> Result<u32, EngineError> {
        let result = self.snapshot_named(name).await;
        self.report_snapshot(result)
    }

    /// Reports a failed snapshot to the listeners.
    fn report_snapshot<T>(&self, result: Result<T, EngineError>) -> Result<T, EngineError> {
        if let Err(error) = &result {
            self.emit(&Event::SnapshotError {
                code: error.code(),
                message: error.to_string(),
            });
        }
        result
    }

    /// Protects a snapshot from pruning, or ends that. Its content does not change.
    pub async fn pin_snapshot(&self, n: u32, pinned: bool) -> Result<(), EngineError> {
        let id = self.0.id.clone();
        self.write(
            Durability::Strict,
            |state| {
                let known = state.snapshots.iter().find(|s| s.n == n);
                let mut snapshot = known.cloned().ok_or(CoreError::NotFound {
                    what: "snapshot",
                    id: n,
                })?;
                snapshot.pinned = pinned;
                let ops = vec![Op::Put {
                    table: Table::Snapshots,
                    key: key(&id, n),
                    value: seal(&snapshot)?,
                }];
                let head = state.head.clone();
                Ok((Change { ops, head }, snapshot))
            },
            |state, snapshot| {
                if let Some(known) = state.snapshots.iter_mut().find(|s| s.n == n) {
                    *known = snapshot;
                }
            },
        )
        .await
    }

    async fn snapshot_named(&self, name: &str) -> Result<u32, EngineError> {
        if !self.0.state.borrow().head.config.snapshots.enabled {
            return Err(crate::config::ConfigError::InvalidValue {
                key: "snapshots.enabled".into(),
                why: "snapshots are switched off".into(),
            }
            .into());
        }
        let id = self.0.id.clone();
        let now = self.now();
        let mut n = 0;
        self.write(
            Durability::Strict,
            |state| {
                let (snapshot, ops, prune) = take(state, &id, name.trim(), RECOVERY, now)?;
                let mut head = state.head.clone();
                head.snapshots = snapshot.n;
                n = snapshot.n;
                Ok((Change { ops, head }, (snapshot, prune)))
            },
            |state, (snapshot, prune)| taken(state, snapshot, &prune),
        )
        .await?;
        self.emit(&Event::SnapshotCreated {
            snapshot: n,
            automatic: false,
        });
        Ok(n)
    }

    /// Returns to a snapshot. Takes a snapshot of the present first; messages since then stay on their own branch.
    pub async fn restore(&self, n: u32) -> Result<(), EngineError> {
        self.restore_as(n, "").await
    }

    /// Returns to a snapshot. The snapshot of the present gets that name, so it is never pruned.
    pub async fn restore_as(&self, n: u32, present: &str) -> Result<(), EngineError> {
        let result = self.restore_now(n, present.trim()).await;
        self.report_snapshot(result)
    }

    async fn restore_now(&self, n: u32, name: &str) -> Result<(), EngineError> {
        let missing = CoreError::NotFound {
            what: "snapshot",
            id: n,
        };
        let target = self
            .0
            .state
            .borrow()
            .snapshots
            .iter()
            .find(|s| s.n == n)
            .cloned()
            .ok_or(missing)?;
        let store = self.0.host.store.as_ref();
        let id = self.0.id.clone();
        let (view, _, forms) = self.content_of(target.revision).await?;
        let rows = store
            .read(crate::ports::Query::Get {
                table: Table::Records,
                key: key(&id, target.records),
            })
            .await?;
        let row = rows
            .first()
            .ok_or_else(|| StoreError::Corrupt("the snapshot's records are missing".into()))?;
        let records: Records = unseal("the snapshot's records", &row.value)?;
        self.revise(|state, draft| {
            draft.note_present(state, name, RECOVERY)?;
            draft.set_path(target.tip, stored::path(&state.messages, target.tip));
            if target.records != state.head.records {
                draft.set_records(records)?;
            }
            let cause = Cause::Restore {
                to: target.revision,
            };
            let edits = state.context.view().edits_to(&view);
            let revision = Revision {
                stored: forms,
                ..Revision::of(state, cause, edits)
            };
            draft.show(state, revision)
        })
        .await?;
        self.emit(&Event::SnapshotRestored { snapshot: n });
        self.emit_budget();
        Ok(())
    }

    /// Removes a snapshot. No message goes with it.
    pub async fn delete_snapshot(&self, n: u32) -> Result<(), EngineError> {
        let id = self.0.id.clone();
        self.write(
            Durability::Strict,
            |state| {
                if !state.snapshots.iter().any(|s| s.n == n) {
                    return Err(CoreError::NotFound {
                        what: "snapshot",
                        id: n,
                    }
                    .into());
                }
                let ops = vec![Op::Delete {
                    table: Table::Snapshots,
                    key: key(&id, n),
                }];
                Ok((
                    Change {
                        ops,
                        head: state.head.clone(),
                    },
                    (),
                ))
            },
            |state, ()| state.snapshots.retain(|s| s.n != n),
        )
        .await
    }
}
