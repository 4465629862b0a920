//! Which large texts a session is the last to name (O4).

use std::collections::BTreeSet;

use crate::ports::{KeyPart, Query, Store, StoreError, Table};
use crate::rows::{MessageRow, session_key, unseal};

/// The blobs that messages of `session` name and no message of any other session does. A row that cannot be read
/// names nothing that is known: then it is `None`, and every blob has to stay.
pub(crate) async fn named_only_by(
    store: &dyn Store,
    session: &str,
) -> Result<Option<Vec<String>>, StoreError> {
    let Some(mut own) = named_by(store, session).await? else {
        return Ok(None);
    };
    if own.is_empty() {
        return Ok(Some(Vec::new()));
    }
    // one session after the other: never all messages at once
    for head in store.read(Query::all(Table::Heads, vec![])).await? {
        let Some(KeyPart::Text(other)) = head.key.first() else {
            continue;
        };
        if other == session {
            continue;
        }
        match named_by(store, other).await? {
            Some(named) => own.retain(|hash| !named.contains(hash)),
            None => return Ok(None),
        }
    }
    Ok(Some(own.into_iter().collect()))
}

/// The blobs that a session's messages name; `None` if one of them cannot be read.
async fn named_by(
    store: &dyn Store,
    session: &str,
) -> Result<Option<BTreeSet<String>>, StoreError> {
    let rows = store
        .read(Query::all(Table::Messages, session_key(session)))
        .await?;
    let mut named = BTreeSet::new();
    for row in rows {
        let Ok(message) = unseal::<MessageRow>("a message", &row.value) else {
            return Ok(None);
        };
        named.extend(message.blobs.into_iter().map(|b| b.hash));
    }
    Ok(Some(named))
}
