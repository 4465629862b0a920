//! Decides who may write. Every store calls these pure functions on a session's head row inside of its transaction, so
//! that all stores decide alike.
//!
//! A session's epoch is a number that grows with every claim. The head row holds it; if there is no head, or a damaged
//! one, a note holds it, which is a row of `meta`. A lease with another epoch than the session's writes nothing,
//! however late its write arrives.

use palimpsest_text::json::ToJson as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::store::{Expect, Key, Lease, Op, StoreError, Table};

/// The first epoch after the take-over of a damaged head row, far above any epoch that claims reach by counting.
const AFTER_DAMAGE: u32 = 0x4000_0000;

/// The fields of a head row that a store reads.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct HeadNumbers {
    epoch: u32,
    version: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct ClaimNote {
    epoch: u32,
}

/// The key, in [`Table::Meta`], of the note that holds the epoch of a session without a readable head.
pub fn claim_key(session: &str) -> Key {
    vec!["claim".into(), session.into()]
}

/// The key of the session's row in [`Table::Heads`].
pub fn head_key(session: &str) -> Key {
    vec![session.into()]
}

/// Decides a claim from the current rows (`None` if absent). Returns the new epoch and the operation that stores it.
///
/// # Errors
///
/// [`StoreError::Corrupt`] for a damaged head, unless `take_over` is set: then the head may be rewritten.
pub fn next_claim(
    session: &str,
    head: Option<&str>,
    note: Option<&str>,
    take_over: bool,
) -> Result<(u32, Op), StoreError> {
    if let Some(head) = head {
        match with_next_epoch(head) {
            Some((epoch, value)) => {
                return Ok((
                    epoch,
                    Op::Put {
                        table: Table::Heads,
                        key: head_key(session),
                        value,
                    },
                ));
            }
            None if !take_over => return Err(damaged(session)),
            None => {}
        }
    }
    let start = if head.is_some() { AFTER_DAMAGE } else { 0 };
    let epoch = note_epoch(note).unwrap_or(start).wrapping_add(1);
    let value = format!(r#"{{"epoch":{epoch}}}"#);
    Ok((
        epoch,
        Op::Put {
            table: Table::Meta,
            key: claim_key(session),
            value,
        },
    ))
}

/// Decides whether `ops` may be written, from the session's head row or, if that is missing or damaged, from its note.
/// Returns the operation to add to them, if any.
///
/// # Errors
///
/// - [`StoreError::Superseded`] if the epoch is not that of the lease, if there is neither head nor note (the session
///   was deleted: claim it again), or if the version is not the expected one.
/// - [`StoreError::Failed`] if `ops` write a head with another epoch than the lease's, which would let two writers in.
pub fn check(
    lease: &Lease,
    expect: Option<Expect>,
    head: Option<&str>,
    note: Option<&str>,
    ops: &[Op],
) -> Result<Option<Op>, StoreError> {
    let numbers = head.map(palimpsest_text::json::read::<HeadNumbers>);
    let readable = match &numbers {
        Some(Ok(numbers)) => Some(*numbers),
        _ => None,
    };
    let is_damaged = matches!(numbers, Some(Err(_)));
    let epoch = readable.map(|head| head.epoch).or_else(|| note_epoch(note));
    match epoch {
        Some(epoch) if epoch == lease.epoch => {}
        None if is_damaged => return Err(damaged(&lease.session)),
        _ => return Err(StoreError::Superseded),
    }
    if let Some(expect) = expect {
        if is_damaged {
            return Err(damaged(&lease.session));
        }
        if expect.version != readable.map(|head| head.version) {
            return Err(StoreError::Superseded);
        }
    }
    let mut writes_head = false;
    for op in ops {
        let (Op::Add {
            table: Table::Heads,
            key,
            value,
        }
        | Op::Put {
            table: Table::Heads,
            key,
            value,
        }) = op
        else {
            continue;
        };
        if *key != head_key(&lease.session) {
            continue;
        }
        match palimpsest_text::json::read::<HeadNumbers>(value) {
            Ok(new) if new.epoch == lease.epoch => writes_head = true,
            _ => {
                return Err(StoreError::Failed(
                    "the new head row has not the epoch of its writer".into(),
                ));
            }
        }
    }
    let is_noted = readable.is_none();
    Ok((is_noted && writes_head).then(|| Op::Delete {
        table: Table::Meta,
        key: claim_key(&lease.session),
    }))
}

/// The head row with its epoch raised by one and everything else unchanged.
fn with_next_epoch(head: &str) -> Option<(u32, String)> {
    let numbers: HeadNumbers = palimpsest_text::json::read(head).ok()?;
    let epoch = numbers.epoch.wrapping_add(1);
    let mut row: Value = palimpsest_text::json::parse(head).ok()?;
    *row.get_mut("epoch")? = epoch.into();
    Some((epoch, row.to_json()))
}

fn note_epoch(note: Option<&str>) -> Option<u32> {
    palimpsest_text::json::read::<ClaimNote>(note?)
        .ok()
        .map(|note| note.epoch)
}

fn damaged(session: &str) -> StoreError {
    StoreError::Corrupt(format!("heads {session}"))
}
