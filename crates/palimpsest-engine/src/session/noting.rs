//! Takes a snapshot of a session's state: its row, the rows that it replaces, and the list in memory.

use palimpsest_core::model::Tier;

use crate::head::Head;
use crate::ports::{Op, StoreError, Table};
use crate::rows::{key, seal};
use crate::snapshot::{Purpose, Snapshot};

use super::State;

/// The number of automatic snapshots that are kept (S4). Named and pinned ones do not count.
const KEEP_AUTOMATIC: usize = 5;

/// A snapshot on request, not before a layer.
pub(super) const RECOVERY: (Purpose, Option<u32>) = (Purpose::Recovery, None);

/// Takes the next snapshot of the state. Returns the rows to write and to remove. `before` is the number of the layer
/// that is about to be written.
pub(super) fn take(
    state: &State,
    session: &str,
    name: &str,
    (purpose, before): (Purpose, Option<u32>),
    at: f64,
) -> Result<(Snapshot, Vec<Op>, Vec<u32>), StoreError> {
    let head = Head {
        tokens: state.context.tokens(),
        ..state.head.clone()
    };
    take_of(state, &head, session, name, (purpose, before), at)
}

/// Does the work of [`take`] for the head that the same transaction writes.
pub(super) fn take_of(
    state: &State,
    head: &Head,
    session: &str,
    name: &str,
    (purpose, before): (Purpose, Option<u32>),
    at: f64,
) -> Result<(Snapshot, Vec<Op>, Vec<u32>), StoreError> {
    let snapshot = Snapshot {
        n: head.snapshots + 1,
        name: name.to_owned(),
        purpose,
        revision: head.revision,
        tip: head.tip,
        records: head.records,
        pinned: false,
        at,
        tokens: head.tokens,
        messages: head.messages,
        layers: state.context.view().layers.len() as u32,
        model: head.model.clone(),
        tier: Tier::of_window(head.effective_window()),
        mode: head.mode,
        before,
        goal: state
            .context
            .records()
            .goal
            .as_ref()
            .map(|g| g.description.clone()),
    };
    let mut ops = vec![Op::Add {
        table: Table::Snapshots,
        key: key(session, snapshot.n),
        value: seal(&snapshot)?,
    }];
    let mut automatic: Vec<u32> = state
        .snapshots
        .iter()
        .filter(|s| s.is_automatic())
        .map(|s| s.n)
        .collect();
    if snapshot.is_automatic() {
        automatic.push(snapshot.n);
    }
    palimpsest_text::order::sort(&mut automatic);
    let prune: Vec<u32> = automatic
        .iter()
        .rev()
        .skip(KEEP_AUTOMATIC)
        .copied()
        .collect();
    ops.extend(prune.iter().map(|n| Op::Delete {
        table: Table::Snapshots,
        key: key(session, *n),
    }));
    Ok((snapshot, ops, prune))
}

/// Updates the list in memory after [`take`] was committed.
pub(super) fn taken(state: &mut State, snapshot: Snapshot, prune: &[u32]) {
    state.snapshots.retain(|s| !prune.contains(&s.n));
    state.snapshots.push(snapshot);
}
