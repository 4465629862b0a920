//! Deletes large texts when the last session that names them is purged (O4).
//!
//! A purge first notes, in the transaction that removes the session, which texts are loose. Then it releases those that
//! no other session names. Another session may store the same text meanwhile: any writer that names a large text writes
//! one row in the same transaction, and a release fails if that row exists, and looks again. Only one release at a time
//! has the right to write, so that no release hides a name from another. The next release handles the texts that this
//! one had to leave.

use palimpsest_text::sorted::SortedSet;

use crate::ports::{Durability, Key, KeyPart, Op, Query, Store, StoreError, Table};
use crate::rows::{LARGE_TEXTS, MessageRow, named_key, seal, session_key, unseal};
use crate::stored::stored_ids;

/// The number of attempts while other sessions name large texts. After that the next purge releases them.
const ATTEMPTS: u32 = 16;

fn loose_prefix() -> Key {
    vec![LARGE_TEXTS.into(), "loose".into()]
}

/// Notes the large texts that a session named. The caller writes the note in the transaction that removes the session.
/// `None` if there are none.
pub(crate) fn loosening(
    session: &str,
    named: &SortedSet<String>,
) -> Result<Option<Op>, StoreError> {
    if named.is_empty() {
        return Ok(None);
    }
    let mut key = loose_prefix();
    key.push(session.into());
    Ok(Some(Op::Put {
        table: Table::Meta,
        key,
        value: seal(named)?,
    }))
}

/// Removes the loose large texts that no session names, and returns their number. Returns `None` and removes nothing if
/// a message is not readable, because then nothing says which texts it names.
pub(crate) async fn release(store: &dyn Store) -> Result<Option<u32>, StoreError> {
    for _ in 0..ATTEMPTS {
        match try_release(store).await {
            // Another session named a large text meanwhile, or another release began.
            Err(StoreError::Exists(_) | StoreError::Superseded) => {}
            done => return done,
        }
    }
    Ok(Some(0))
}

async fn try_release(store: &dyn Store) -> Result<Option<u32>, StoreError> {
    let loose = Query::all(Table::Meta, loose_prefix());
    if store.read(loose.clone()).await?.is_empty() {
        return Ok(Some(0));
    }
    let lease = store.claim(LARGE_TEXTS, true).await?;
    // From here on, any writer that names a large text leaves a row.
    let listen = Op::Delete {
        table: Table::Meta,
        key: named_key(),
    };
    store
        .apply(&lease, None, vec![listen], Durability::Relaxed)
        .await?;
    let rows = store.read(loose).await?;
    let mut unnamed: SortedSet<String> = SortedSet::new();
    for row in &rows {
        // A damaged note names no known texts, so its texts stay.
        unnamed.extend(unseal::<Vec<String>>("loose texts", &row.value).unwrap_or_default());
    }
    // One session after the other, so that all messages are never in memory at once.
    for session in stored_ids(store).await? {
        match named_by(store, &session).await? {
            Some(named) => unnamed.retain(|hash| !named.contains(hash)),
            None => return Ok(None),
        }
    }
    let released = unnamed.len() as u32;
    let unheard = Op::Add {
        table: Table::Meta,
        key: named_key(),
        value: "1".into(),
    };
    let texts = unnamed.into_iter().map(|hash| Op::DeletePrefix {
        table: Table::Blobs,
        prefix: vec![KeyPart::Text(hash)],
    });
    let notes = rows.into_iter().map(|row| Op::Delete {
        table: Table::Meta,
        key: row.key,
    });
    let ops = std::iter::once(unheard).chain(texts).chain(notes).collect();
    store.apply(&lease, None, ops, Durability::Strict).await?;
    Ok(Some(released))
}

/// The blobs that a session's messages name, or `None` if one message is not readable.
pub(crate) async fn named_by(
    store: &dyn Store,
    session: &str,
) -> Result<Option<SortedSet<String>>, StoreError> {
    let rows = store
        .read(Query::all(Table::Messages, session_key(session)))
        .await?;
    let mut named = SortedSet::new();
    for row in rows {
        let Ok(message) = unseal::<MessageRow>("a message", &row.value) else {
            return Ok(None);
        };
        named.extend(message.blobs.into_iter().map(|b| b.hash));
    }
    Ok(Some(named))
}
