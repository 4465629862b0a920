//! Temporary sessions: their rows stay in memory, whatever the store of the others is.

use std::rc::Rc;

use crate::ports::{
    Applied, Durability, Expect, KeyPart, Lease, LocalFuture, Op, Query, Row, Store, StoreError,
    Table,
};

/// The beginning of the identifiers of temporary sessions.
const PREFIX: &str = "temporary-";

/// Returns `true` if the session with that identifier is temporary.
pub fn is_temporary(id: &str) -> bool {
    id.starts_with(PREFIX)
}

/// The identifier of a new temporary session.
pub(crate) fn named(fresh: &str) -> String {
    format!("{PREFIX}{fresh}")
}

/// The identifier of a session that comes from another: a temporary session's successors and copies are temporary.
pub(crate) fn like(id: &str, fresh: String) -> String {
    if is_temporary(id) {
        named(&fresh)
    } else {
        fresh
    }
}

/// Two stores as one: one has the temporary sessions, the other everything else.
pub struct WithTemporary {
    stored: Rc<dyn Store>,
    temporary: Rc<dyn Store>,
}

impl WithTemporary {
    /// Keeps temporary sessions in the second store.
    pub fn new(stored: Rc<dyn Store>, temporary: Rc<dyn Store>) -> Self {
        Self { stored, temporary }
    }

    fn of(&self, session: &str) -> &dyn Store {
        if is_temporary(session) {
            self.temporary.as_ref()
        } else {
            self.stored.as_ref()
        }
    }

    async fn rows(&self, query: Query) -> Result<Vec<Row>, StoreError> {
        let (table, key) = match &query {
            Query::Get { table, key } => (*table, key),
            Query::Range { table, prefix, .. } => (*table, prefix),
        };
        match key.first() {
            // Every session reads its large texts by their hash.
            Some(_) if table == Table::Blobs => {
                let rows = self.temporary.read(query.clone()).await?;
                if rows.is_empty() {
                    self.stored.read(query).await
                } else {
                    Ok(rows)
                }
            }
            Some(KeyPart::Text(session)) => self.of(session).read(query).await,
            Some(KeyPart::Number(_)) => self.stored.read(query).await,
            None => {
                let mut rows = self.stored.read(query.clone()).await?;
                rows.extend(self.temporary.read(query.clone()).await?);
                if let Query::Range { reverse, limit, .. } = query {
                    palimpsest_text::order::sort_by(&mut rows, |a: &Row, b: &Row| {
                        if reverse {
                            b.key.cmp(&a.key)
                        } else {
                            a.key.cmp(&b.key)
                        }
                    });
                    if limit > 0 {
                        rows.truncate(limit as usize);
                    }
                }
                Ok(rows)
            }
        }
    }
}

impl Store for WithTemporary {
    fn claim<'a>(
        &'a self,
        session: &'a str,
        take_over: bool,
    ) -> LocalFuture<'a, Result<Lease, StoreError>> {
        self.of(session).claim(session, take_over)
    }

    fn read(&self, query: Query) -> LocalFuture<'_, Result<Vec<Row>, StoreError>> {
        Box::pin(self.rows(query))
    }

    fn apply<'a>(
        &'a self,
        lease: &'a Lease,
        expect: Option<Expect>,
        ops: Vec<Op>,
        durability: Durability,
    ) -> LocalFuture<'a, Result<Applied, StoreError>> {
        self.of(&lease.session)
            .apply(lease, expect, ops, durability)
    }
}
