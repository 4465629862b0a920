//! The port for storage.

use std::any::Any;
use std::rc::Rc;

use palimpsest_text::json::NumberOrText;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::LocalFuture;

/// The tables of rows. ARCHITECTURE.md, "Storage rows", describes the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Table {
    /// `[session, seq]`, add only.
    Messages,
    /// `[session, n]`, add only.
    Revisions,
    /// `[session, seq, n]`, add only.
    Renditions,
    /// `[session, n]`, add only.
    Layers,
    /// `[session, n]`, add only.
    Notes,
    /// `[session, kind, n]`, add only.
    Records,
    /// `[session]`: the only row of a session that changes. Its JSON has the numbers `epoch` and `version`, which
    /// [`Expect`] compares.
    Heads,
    /// `[session, n]`.
    Snapshots,
    /// `[session]`: the reply being streamed, and the draft.
    Partials,
    /// `[session, id]`.
    Jobs,
    /// `[hash, chunk]`.
    Blobs,
    /// `[digest]`.
    Tokenizers,
    /// `[session, n]`, add only.
    Log,
    /// `[name]`.
    Meta,
}

impl Table {
    /// All tables, in the order of their definition.
    pub const ALL: [Self; 14] = [
        Self::Messages,
        Self::Revisions,
        Self::Renditions,
        Self::Layers,
        Self::Notes,
        Self::Records,
        Self::Heads,
        Self::Snapshots,
        Self::Partials,
        Self::Jobs,
        Self::Blobs,
        Self::Tokenizers,
        Self::Log,
        Self::Meta,
    ];

    /// The name of the table in a database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Revisions => "revisions",
            Self::Renditions => "renditions",
            Self::Layers => "layers",
            Self::Notes => "notes",
            Self::Records => "records",
            Self::Heads => "heads",
            Self::Snapshots => "snapshots",
            Self::Partials => "partials",
            Self::Jobs => "jobs",
            Self::Blobs => "blobs",
            Self::Tokenizers => "tokenizers",
            Self::Log => "log",
            Self::Meta => "meta",
        }
    }
}

/// One element of a key. Numbers sort before texts, as in IndexedDB.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged, from = "NumberOrText")]
pub enum KeyPart {
    /// A number.
    Number(u32),
    /// A text.
    Text(String),
}

impl From<NumberOrText> for KeyPart {
    fn from(read: NumberOrText) -> Self {
        match read {
            NumberOrText::Number(n) => Self::Number(n),
            NumberOrText::Text(text) => Self::Text(text),
        }
    }
}

impl From<u32> for KeyPart {
    fn from(n: u32) -> Self {
        Self::Number(n)
    }
}

impl From<&str> for KeyPart {
    fn from(s: &str) -> Self {
        Self::Text(s.to_owned())
    }
}

/// The key of a row.
pub type Key = Vec<KeyPart>;

/// A write of a transaction. A transaction does all of its writes or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum Op {
    /// A new row. Fails with [`StoreError::Exists`] if the key is taken.
    Add {
        /// The table.
        table: Table,
        /// The key.
        key: Key,
        /// JSON text.
        value: String,
    },
    /// A row, new or not.
    Put {
        /// The table.
        table: Table,
        /// The key.
        key: Key,
        /// JSON text.
        value: String,
    },
    /// Removes a row, if it is there.
    Delete {
        /// The table.
        table: Table,
        /// The key.
        key: Key,
    },
    /// Removes every row whose key begins with a prefix.
    DeletePrefix {
        /// The table.
        table: Table,
        /// The prefix.
        prefix: Key,
    },
}

palimpsest_text::tagged!(Op, "op");

/// The state that the session's head must still have inside of the transaction. Otherwise nothing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// The `version` of the head row, or `None` if no head may exist yet.
    pub version: Option<u32>,
}

/// A read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum Query {
    /// One row.
    Get {
        /// The table.
        table: Table,
        /// Its key.
        key: Key,
    },
    /// The rows whose keys begin with `prefix`, in key order.
    Range {
        /// The table.
        table: Table,
        /// The prefix.
        prefix: Key,
        /// Only keys whose next part is at least this number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u32>,
        /// Only keys whose next part is at most this number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<u32>,
        /// Newest first.
        #[serde(default)]
        reverse: bool,
        /// The largest number of rows; 0 for all.
        #[serde(default)]
        limit: u32,
    },
}

palimpsest_text::tagged!(Query, "query");

impl Query {
    /// Reads all rows whose keys begin with a prefix.
    pub const fn all(table: Table, prefix: Key) -> Self {
        Self::Range {
            table,
            prefix,
            from: None,
            to: None,
            reverse: false,
            limit: 0,
        }
    }
}

/// A stored row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its key.
    pub key: Key,
    /// JSON text.
    pub value: String,
}

/// The durability that a write must have when it is reported as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// On the disk: for the end of a turn and for a commit.
    Strict,
    /// With the operating system: for deltas of a stream and for drafts.
    Relaxed,
}

/// The right to write a session. The epoch is the guarantee: the store refuses a writer with an older one. Dropping the
/// last clone releases the host's lock, if there is one.
#[derive(Clone)]
pub struct Lease {
    /// The session.
    pub session: String,
    /// The epoch, which grows with every claim.
    pub epoch: u32,
    /// Holds the host's lock, if it has one.
    pub guard: Option<Rc<dyn Any>>,
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lease")
            .field("session", &self.session)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

/// A committed transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Rows written.
    pub rows: u32,
}

/// The reason for which a store refused. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another tab or window writes this session.
    #[error("This session is open for writing elsewhere. Close it there, or take it over.")]
    Busy,
    /// Another writer took the session over, or its head moved on.
    #[error("This session was continued elsewhere. Reload it to go on from there.")]
    Superseded,
    /// A row with that key exists already.
    #[error("A row that must be new is there already ({0}).")]
    Exists(String),
    /// The storage is full.
    #[error("The storage is full. Nothing was written. Export your sessions, then free some room.")]
    Quota,
    /// A newer version made the database.
    #[error(
        "The stored data comes from a newer version of palimpsest, and this one cannot write it. Update palimpsest."
    )]
    Newer,
    /// The host offers no storage.
    #[error(
        "Storage is not available here ({0}), so nothing would be kept. Open the session in memory, or in a storage of your own."
    )]
    Unavailable(String),
    /// A stored row is not readable.
    #[error("A stored row is damaged ({0}). The rest of the session can be read.")]
    Corrupt(String),
    /// Any other failure, with the cause in the host's words.
    #[error("Storage failed: {0}.")]
    Failed(String),
}

impl StoreError {
    /// A stable code of the kind of failure.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Busy => "session_busy",
            Self::Superseded => "superseded",
            Self::Exists(_) => "row_exists",
            Self::Quota => "storage_quota",
            Self::Newer => "storage_newer",
            Self::Unavailable(_) => "storage_unavailable",
            Self::Corrupt(_) => "storage_corrupt",
            Self::Failed(_) => "storage_failed",
        }
    }

    /// Returns `true` if the same call may succeed later without any other action.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

/// A store of sessions. The implementations are `MemoryStore` (this crate; it also documents the contract),
/// `IndexedDbStore` (`palimpsest-browser`) and, in the npm package, a host's three functions with the same operations
/// as JSON.
///
/// The suite `palimpsest_engine::testing::contract` tests the contract.
pub trait Store {
    /// Claims the right to write `session`: raises the epoch by one and writes it into the head row, if there is one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Busy`] while another holder is alive, unless `take_over` is set.
    fn claim<'a>(
        &'a self,
        session: &'a str,
        take_over: bool,
    ) -> LocalFuture<'a, Result<Lease, StoreError>>;

    /// Reads rows in key order. It needs no lease.
    fn read(&self, query: Query) -> LocalFuture<'_, Result<Vec<Row>, StoreError>>;

    /// Writes all of `ops` or none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Superseded`] if, inside of the same transaction, the session's head does not have the lease's
    /// epoch or, if `expect` is given, that version.
    fn apply<'a>(
        &'a self,
        lease: &'a Lease,
        expect: Option<Expect>,
        ops: Vec<Op>,
        durability: Durability,
    ) -> LocalFuture<'a, Result<Applied, StoreError>>;
}
