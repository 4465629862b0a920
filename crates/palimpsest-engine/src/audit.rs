//! Reads a session back: its size in the store, and whether every row exists that other rows name (S5).

use palimpsest_core::context::Cause;
use palimpsest_core::layer::Layer;
use palimpsest_core::message::{Role, Seq};
use palimpsest_core::note::Note;
use palimpsest_core::record::Records;
use palimpsest_text::sorted::{SortedMap, SortedSet};
use serde::de::DeserializeOwned;

use crate::engine::Engine;
use crate::fault::Fault;
use crate::head::{Head, SCHEMA};
use crate::ports::{KeyPart, Query, Store, StoreError, Table};
use crate::rows::{
    BlobRef, MessageRow, RenditionRow, RevisionRow, content_hash, session_key, unseal,
};
use crate::snapshot::Snapshot;
use crate::stored::{stored_ids, version};

/// The number of message rows that are read at once. Other work runs in between.
const PAGE: u32 = 256;

/// The bytes of a session's rows, by content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Messages of people and models, with their large texts.
    pub messages: u64,
    /// Tool results, with their large texts.
    pub tools: u64,
    /// Layers, notes, shorter forms, revisions and records.
    pub layers: u64,
    /// Snapshots.
    pub snapshots: u64,
}

impl Taken {
    /// The sum.
    pub const fn all(&self) -> u64 {
        self.messages + self.tools + self.layers + self.snapshots
    }
}

/// The result of reading a session back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audit {
    /// The number of rows that were read.
    pub rows: u32,
    /// The number of messages among them, over all branches.
    pub messages: u32,
    /// The bytes that they take.
    pub taken: Taken,
    /// The differences from the rows that were written, each once.
    pub faults: Vec<Fault>,
}

/// The depth of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Every row, but not the content of large texts.
    Rows,
    /// Every row and every large text.
    Texts,
}

impl Engine {
    /// Lists every session of the store, including deleted ones that can be restored and those whose head is missing or
    /// not readable.
    pub async fn stored_sessions(&self) -> Result<Vec<String>, StoreError> {
        stored_ids(self.host.store.as_ref()).await
    }

    /// Reads a session back. It changes nothing and needs no lease. If another writer changes the session meanwhile, it
    /// reads once more.
    pub async fn audit(&self, id: &str, depth: Depth) -> Result<Audit, StoreError> {
        let store = self.host.store.as_ref();
        let mut before = version(store, id).await?;
        for _ in 0..2 {
            let audit = Reader::read(store, id, depth).await?;
            let after = version(store, id).await?;
            if audit.faults.is_empty() || after == before {
                return Ok(audit);
            }
            before = after;
        }
        Reader::read(store, id, depth).await
    }
}

struct Reader<'a> {
    store: &'a dyn Store,
    id: &'a str,
    audit: Audit,
    faults: SortedSet<Fault>,
    /// The numbers of the rows that were found, readable or not.
    found: SortedMap<Table, SortedSet<u32>>,
}

impl<'a> Reader<'a> {
    async fn read(store: &'a dyn Store, id: &'a str, depth: Depth) -> Result<Audit, StoreError> {
        let mut reader = Self {
            store,
            id,
            audit: Audit::default(),
            faults: SortedSet::new(),
            found: SortedMap::new(),
        };
        reader.all(depth).await?;
        reader.audit.faults = reader.faults.into_iter().collect();
        Ok(reader.audit)
    }

    async fn all(&mut self, depth: Depth) -> Result<(), StoreError> {
        // Everything that the head names was written before it, so the head is read first.
        let head = version(self.store, self.id).await?.unwrap_or_default();
        self.audit.rows += 1;
        self.audit.taken.messages += head.len() as u64;
        let Ok(head) = palimpsest_text::json::read::<Head>(&head) else {
            self.faults.insert(Fault::Head);
            return Ok(());
        };
        if head.schema > SCHEMA {
            self.faults.insert(Fault::Newer);
            return Ok(());
        }
        self.messages(&head, depth).await?;
        let snapshots: Vec<(u32, Snapshot)> = self
            .rows(Table::Snapshots, |taken| &mut taken.snapshots)
            .await?;
        let layers: Vec<(u32, Layer)> = self.kept(Table::Layers).await?;
        let _: Vec<(u32, Note)> = self.kept(Table::Notes).await?;
        let _: Vec<(u32, Records)> = self.kept(Table::Records).await?;
        let revisions: Vec<(u32, RevisionRow)> = self.kept(Table::Revisions).await?;
        let forms = self.forms().await?;
        self.needs(Table::Revisions, head.revision);
        self.needs_row(Table::Records, head.records);
        for (_, row) in &revisions {
            self.needs(Table::Revisions, row.parent.unwrap_or(0));
            if let Cause::Undo { to } | Cause::Restore { to } = row.cause {
                self.needs(Table::Revisions, to);
            }
            for layer in &row.layers {
                self.needs_row(Table::Layers, *layer);
            }
            for note in &row.notes {
                self.needs_row(Table::Notes, *note);
            }
            for (seq, n) in &row.reduced {
                if !forms.contains(&(*seq, *n)) {
                    let (table, n) = (Table::Renditions, *seq);
                    self.faults.insert(Fault::Missing { table, n });
                }
            }
        }
        for (_, snapshot) in &snapshots {
            self.needs(Table::Revisions, snapshot.revision);
            self.needs_row(Table::Records, snapshot.records);
            if let Some(tip) = snapshot.tip {
                self.needs_row(Table::Messages, tip);
            }
        }
        for (n, layer) in &layers {
            let said = |seq| head.last_seq.is_some_and(|last| seq <= last);
            if layer.covers.iter().any(|s| s.from > s.to || !said(s.to)) {
                self.faults.insert(Fault::Range { layer: *n });
            }
        }
        Ok(())
    }

    /// Reads the messages page by page, and their large texts.
    async fn messages(&mut self, head: &Head, depth: Depth) -> Result<(), StoreError> {
        let mut parents: SortedMap<Seq, Option<Seq>> = SortedMap::new();
        let mut texts: SortedSet<String> = SortedSet::new();
        let mut from = Some(0);
        while let Some(next) = from.take() {
            let query = Query::Range {
                table: Table::Messages,
                prefix: session_key(self.id),
                from: Some(next),
                to: None,
                reverse: false,
                limit: PAGE,
            };
            let page = self.store.read(query).await?;
            for row in &page {
                let Some(KeyPart::Number(seq)) = row.key.get(1) else {
                    continue;
                };
                let mut bytes = row.value.len() as u64;
                self.audit.rows += 1;
                self.audit.messages += 1;
                self.found.entry(Table::Messages).or_default().insert(*seq);
                let message = unseal::<MessageRow>("a message", &row.value);
                let Some(message) = message.ok().filter(|m| m.message.seq == *seq) else {
                    self.damaged(Table::Messages, *seq);
                    self.audit.taken.messages += bytes;
                    continue;
                };
                parents.insert(*seq, message.message.parent);
                for blob in &message.blobs {
                    if texts.insert(blob.hash.clone()) {
                        bytes += u64::from(blob.bytes);
                    }
                    if depth == Depth::Texts && !self.has(blob).await? {
                        self.faults.insert(Fault::Text { seq: *seq });
                    }
                }
                if message.message.role == Role::Tool {
                    self.audit.taken.tools += bytes;
                } else {
                    self.audit.taken.messages += bytes;
                }
            }
            if page.len() as u32 == PAGE
                && let Some(KeyPart::Number(last)) = page.last().and_then(|row| row.key.get(1))
            {
                from = last.checked_add(1);
            }
        }
        let found = self.found.entry(Table::Messages).or_default();
        let mut expected = 0;
        let end = head.last_seq.map_or(0, |last| last.saturating_add(1));
        for seq in found.iter().copied().chain([end]) {
            if seq > expected && expected < end {
                self.faults.insert(Fault::Gap {
                    from: expected,
                    to: seq.min(end) - 1,
                });
            }
            expected = expected.max(seq.saturating_add(1));
        }
        for (seq, parent) in &parents {
            if parent.is_some_and(|p| p >= *seq || !found.contains(&p)) {
                self.faults.insert(Fault::Broken { seq: *seq });
            }
        }
        // A row that is not readable breaks the path, too, but it is reported already.
        if parents.len() == found.len() {
            let (mut at, mut length) = (head.tip, 0);
            while let Some(parent) = at.and_then(|seq| parents.get(&seq).map(|p| (seq, *p))) {
                length += 1;
                at = parent.1.filter(|p| *p < parent.0);
            }
            if length != head.messages {
                self.faults.insert(Fault::Path);
            }
        }
        Ok(())
    }

    /// Returns `true` if a large text exists and is the one that was stored.
    async fn has(&self, blob: &BlobRef) -> Result<bool, StoreError> {
        let key = vec![KeyPart::Text(blob.hash.clone())];
        let chunks = self.store.read(Query::all(Table::Blobs, key)).await?;
        let mut text = String::new();
        for chunk in &chunks {
            match unseal::<String>("a large text", &chunk.value) {
                Ok(piece) => text.push_str(&piece),
                Err(_) => return Ok(false),
            }
        }
        Ok(text.len() == blob.bytes as usize && content_hash(text.as_bytes()) == blob.hash)
    }

    async fn kept<T: DeserializeOwned>(
        &mut self,
        table: Table,
    ) -> Result<Vec<(u32, T)>, StoreError> {
        self.rows(table, |taken| &mut taken.layers).await
    }

    /// Reads the rows of a table with their numbers and notes those that are not readable.
    async fn rows<T: DeserializeOwned>(
        &mut self,
        table: Table,
        size: fn(&mut Taken) -> &mut u64,
    ) -> Result<Vec<(u32, T)>, StoreError> {
        let rows = self
            .store
            .read(Query::all(table, session_key(self.id)))
            .await?;
        let mut read = Vec::new();
        for row in rows {
            let Some(KeyPart::Number(n)) = row.key.get(1) else {
                continue;
            };
            self.audit.rows += 1;
            *size(&mut self.audit.taken) += row.value.len() as u64;
            self.found.entry(table).or_default().insert(*n);
            match unseal(table.name(), &row.value) {
                Ok(value) => read.push((*n, value)),
                Err(_) => self.damaged(table, *n),
            }
        }
        Ok(read)
    }

    /// The shorter forms that exist: message and revision.
    async fn forms(&mut self) -> Result<SortedSet<(Seq, u32)>, StoreError> {
        let query = Query::all(Table::Renditions, session_key(self.id));
        let mut forms = SortedSet::new();
        for row in self.store.read(query).await? {
            let (Some(KeyPart::Number(seq)), Some(KeyPart::Number(n))) =
                (row.key.get(1), row.key.get(2))
            else {
                continue;
            };
            self.audit.rows += 1;
            self.audit.taken.layers += row.value.len() as u64;
            forms.insert((*seq, *n));
            if unseal::<RenditionRow>("a form", &row.value).is_err() {
                self.damaged(Table::Renditions, *seq);
            }
        }
        Ok(forms)
    }

    fn damaged(&mut self, table: Table, n: u32) {
        self.faults.insert(Fault::Damaged { table, n });
    }

    /// Notes a missing row. Revision 0 is the beginning and has no row.
    fn needs(&mut self, table: Table, n: u32) {
        if n > 0 {
            self.needs_row(table, n);
        }
    }

    fn needs_row(&mut self, table: Table, n: u32) {
        if !self.found.get(&table).is_some_and(|rows| rows.contains(&n)) {
            self.faults.insert(Fault::Missing { table, n });
        }
    }
}
