//! An archive holds every row of a stored session, for a backup, and restores the session row for row (S3, S7). A
//! [`Transfer`](crate::Transfer) serves other programs; an archive also holds the branches, snapshots, undone
//! compactions and the log.

use palimpsest_core::sorted::SortedSet;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::head::{Head, SCHEMA, head_json};
use crate::ports::{Durability, Expect, Key, KeyPart, Op, Query, StoreError, Table};
use crate::rows::{MessageRow, content_hash, is_sealed, session_key, unseal};
use crate::snapshot::Snapshot;
use crate::stored::version;
use crate::temporary;

/// The tables whose rows an archive keeps. A reply that was still coming in is not part of it.
const KEPT: [Table; 8] = [
    Table::Messages,
    Table::Revisions,
    Table::Renditions,
    Table::Layers,
    Table::Notes,
    Table::Records,
    Table::Snapshots,
    Table::Log,
];

/// The tables that decide whether one session continues another. Their rows are only ever added.
const TELLING: [Table; 3] = [Table::Messages, Table::Records, Table::Layers];

/// Every row of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    /// The session's identifier.
    pub id: String,
    /// Its head, as JSON text.
    pub head: String,
    /// Its other rows: table, key without the session, JSON text.
    pub rows: Vec<(Table, Key, String)>,
    /// Its large texts: the key, the JSON text.
    pub texts: Vec<(Key, String)>,
}

/// The result of restoring an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// No such session existed. The store has it again.
    Made,
    /// The stored session has everything in the archive already.
    There,
    /// The archive continues the stored session, which now has all of it.
    Continued,
    /// The stored session continued differently, so the archive became another session.
    Beside,
}

impl Archive {
    /// Reads the head, unless a newer version wrote it.
    fn readable_head(&self) -> Result<Head, StoreError> {
        let head: Head = palimpsest_text::json::read(&self.head)
            .map_err(|e| StoreError::Corrupt(format!("the head of {}: {e}", self.id)))?;
        if head.schema > SCHEMA {
            return Err(StoreError::Newer);
        }
        Ok(head)
    }

    /// The chunks of the large texts whose hash agrees with their name. No file may change a text that other sessions
    /// name.
    fn sound_texts(&self) -> impl Iterator<Item = &(Key, String)> {
        let texts = self.texts.chunk_by(|a, b| a.0.first() == b.0.first());
        texts.filter(|chunks| is_sound(chunks)).flatten()
    }

    fn of(&self, table: Table) -> impl Iterator<Item = &(Table, Key, String)> {
        self.rows.iter().filter(move |row| row.0 == table)
    }

    /// Returns `true` if this archive has all messages, records and layers of `other` unchanged.
    fn holds(&self, other: &Self) -> bool {
        TELLING
            .into_iter()
            .all(|table| self.has(table, other.of(table)))
    }

    /// Returns `true` if every row is readable and present once, and everything that the head names exists. A stored
    /// session is never replaced by less.
    fn is_whole(&self, head: &Head) -> bool {
        let in_order = |table: Table| {
            let keys = || self.of(table).map(|row| &row.1);
            keys().zip(keys().skip(1)).all(|(a, b)| a < b)
        };
        let numbered = |(n, (_, key, value)): (u32, &(Table, Key, String))| {
            let message = unseal::<MessageRow>("a message", value);
            message.is_ok_and(|row| row.message.seq == n) && *key == [KeyPart::Number(n)]
        };
        let there = |table: Table, n: u32| self.of(table).any(|row| row.1 == [KeyPart::Number(n)]);
        let messages = head.last_seq.map_or(0, |seq| seq + 1);
        KEPT.into_iter().all(in_order)
            && self.rows.iter().all(|row| is_sealed(&row.2))
            && self.of(Table::Messages).count() == messages as usize
            && (0..).zip(self.of(Table::Messages)).all(numbered)
            && head.tip.is_none_or(|tip| tip < messages)
            && there(Table::Records, head.records)
            && (head.revision == 0 || there(Table::Revisions, head.revision))
    }

    /// Returns `true` if this archive can replace `other`: it also has its windows and its named snapshots.
    fn replaces(&self, other: &Self) -> bool {
        let named = |row: &&(Table, Key, String)| {
            unseal::<Snapshot>("a snapshot", &row.2).is_ok_and(|s| !s.name.is_empty())
        };
        self.holds(other)
            && self.has(Table::Revisions, other.of(Table::Revisions))
            && self.has(Table::Snapshots, other.of(Table::Snapshots).filter(named))
    }

    /// Returns `true` if the table has these rows in this order, which is the order of the store's keys.
    fn has<'a>(
        &self,
        table: Table,
        mut rows: impl Iterator<Item = &'a (Table, Key, String)>,
    ) -> bool {
        let mut own = self.of(table);
        rows.all(|row| own.any(|there| there == row))
    }
}

/// Returns `true` if the hash of the chunks agrees with their name.
fn is_sound(chunks: &[(Key, String)]) -> bool {
    let mut text = String::new();
    for (_, value) in chunks {
        match unseal::<String>("a large text", value) {
            Ok(chunk) => text.push_str(&chunk),
            Err(_) => return false,
        }
    }
    let name = chunks.first().and_then(|(key, _)| key.first());
    name == Some(&KeyPart::Text(content_hash(text.as_bytes())))
}

impl Engine {
    /// Reads every row of a session, and reads again if another writer changes it meanwhile.
    ///
    /// # Errors
    ///
    /// [`StoreError::Busy`] if the session keeps changing.
    pub async fn archive(&self, id: &str) -> Result<Archive, EngineError> {
        for _ in 0..5 {
            let Some(head) = version(self.host.store.as_ref(), id).await? else {
                return Err(EngineError::NoSession(id.to_owned()));
            };
            let archive = self.rows_of(id, head).await?;
            if version(self.host.store.as_ref(), id).await?.as_ref() == Some(&archive.head) {
                return Ok(archive);
            }
        }
        Err(StoreError::Busy.into())
    }

    async fn rows_of(&self, id: &str, head: String) -> Result<Archive, StoreError> {
        let mut archive = Archive {
            id: id.to_owned(),
            head,
            ..Archive::default()
        };
        for table in KEPT {
            let rows = self
                .host
                .store
                .read(Query::all(table, session_key(id)))
                .await?;
            for row in rows {
                let key = row.key.into_iter().skip(1).collect();
                archive.rows.push((table, key, row.value));
            }
        }
        let mut hashes: SortedSet<String> = SortedSet::default();
        for (_, _, value) in archive.of(Table::Messages) {
            // A message that is not readable names no known text.
            if let Ok(row) = unseal::<MessageRow>("a message", value) {
                for blob in row.blobs {
                    hashes.insert(blob.hash);
                }
            }
        }
        for hash in hashes {
            let chunks = Query::all(Table::Blobs, vec![KeyPart::Text(hash)]);
            let rows = self.host.store.read(chunks).await?;
            archive
                .texts
                .extend(rows.into_iter().map(|row| (row.key, row.value)));
        }
        Ok(archive)
    }

    /// Restores a session in one transaction. Returns its identifier and the result.
    ///
    /// Nothing in the store is lost: a session that continued differently stays, and the archive becomes another
    /// session. The same archive twice changes nothing. The caller vouches for the archive: its content counts as the
    /// user's own (S7).
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`] if the head is not readable, [`StoreError::Newer`] if a newer version wrote it.
    pub async fn restore(&self, archive: &Archive) -> Result<(String, Restored), EngineError> {
        let head = archive.readable_head()?;
        let id = archive.id.clone();
        let Some(there) = version(self.host.store.as_ref(), &id).await? else {
            self.put_back(&id, archive, head, None).await?;
            return Ok((id, Restored::Made));
        };
        let there = self.rows_of(&id, there).await?;
        if there.holds(archive) {
            let deleted = there.readable_head().is_ok_and(|h| h.deleted_at.is_some());
            if deleted {
                self.undelete(&id).await?;
            }
            return Ok((id, Restored::There));
        }
        if archive.replaces(&there) && archive.is_whole(&head) {
            let version = there.readable_head()?.version;
            self.put_back(&id, archive, head, Some(version)).await?;
            return Ok((id, Restored::Continued));
        }
        let beside = content_hash(format!("{id}{}", archive.head).as_bytes());
        if version(self.host.store.as_ref(), &beside).await?.is_some() {
            return Ok((beside, Restored::There));
        }
        self.put_back(&beside, archive, head, None).await?;
        Ok((beside, Restored::Beside))
    }

    /// Copies a session with all of its rows under another title, and returns the identifier of the copy.
    ///
    /// # Errors
    ///
    /// Those of [`Self::archive`] and [`Self::restore`].
    pub async fn duplicate(&self, id: &str, title: &str) -> Result<String, EngineError> {
        let archive = self.archive(id).await?;
        let mut head = archive.readable_head()?;
        let now = self.host.world.clock.now();
        title.clone_into(&mut head.title);
        head.titled = true;
        head.pinned = false;
        head.created = now;
        head.updated = now;
        let copy = temporary::like(id, self.fresh_id());
        self.put_back(&copy, &archive, head, None).await?;
        Ok(copy)
    }

    /// Stores a temporary session with all of its rows, and returns the identifier of the stored one.
    ///
    /// # Errors
    ///
    /// Those of [`Self::archive`] and [`Self::restore`].
    pub async fn keep(&self, id: &str) -> Result<String, EngineError> {
        let archive = self.archive(id).await?;
        let mut head = archive.readable_head()?;
        head.continues = head.continues.filter(|id| !temporary::is_temporary(id));
        let kept = self.fresh_id();
        self.put_back(&kept, &archive, head, None).await?;
        Ok(kept)
    }

    async fn put_back(
        &self,
        id: &str,
        archive: &Archive,
        mut head: Head,
        there: Option<u32>,
    ) -> Result<(), EngineError> {
        // Sessions that are open read the new rows.
        self.open.forget(id);
        let lease = self.host.store.claim(id, there.is_some()).await?;
        head.epoch = lease.epoch;
        head.version = head.version.max(there.unwrap_or(0)) + 1;
        head.deleted_at = None;
        let own = |key: &Key| [session_key(id), key.clone()].concat();
        let clear = KEPT.into_iter().chain([Table::Partials, Table::Jobs]);
        let clear = clear.map(|table| Op::DeletePrefix {
            table,
            prefix: session_key(id),
        });
        let rows = archive
            .rows
            .iter()
            .filter(|(table, ..)| KEPT.contains(table))
            .map(|(table, key, value)| Op::Put {
                table: *table,
                key: own(key),
                value: value.clone(),
            });
        let mut texts = archive.sound_texts().peekable();
        let naming = texts.peek().map(|_| crate::rows::naming());
        let texts = texts.map(|(key, value)| Op::Put {
            table: Table::Blobs,
            key: key.clone(),
            value: value.clone(),
        });
        let head_op = Op::Put {
            table: Table::Heads,
            key: session_key(id),
            value: head_json(&head)?,
        };
        let ops = clear
            .chain(rows)
            .chain(texts)
            .chain(naming)
            .chain([head_op])
            .collect();
        let expect = Expect { version: there };
        self.host
            .store
            .apply(&lease, Some(expect), ops, Durability::Strict)
            .await?;
        self.host.world.notify.changed(id, head.version);
        Ok(())
    }
}
