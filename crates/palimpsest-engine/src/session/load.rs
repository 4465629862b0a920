//! Opening: head row, revision, layers, records, messages.

use std::collections::BTreeMap;
use std::rc::Rc;

use palimpsest_core::context::{Context, Entry, View};
use palimpsest_core::layer::Layer;
use palimpsest_core::message::Seq;
use palimpsest_core::note::Note;
use palimpsest_core::record::Records;
use palimpsest_core::sorted::SortedMap;

use crate::engine::{Engine, setup_of};
use crate::error::EngineError;
use crate::head::{Head, SCHEMA};
use crate::ports::{KeyPart, Lease, Query, Store, StoreError, Table};
use crate::rows::{MessageRow, RenditionRow, RevisionRow, key, part_text, session_key, unseal};

use super::{Session, Snapshot, State, Stored};

impl Session {
    pub(crate) async fn load(
        engine: &Engine,
        id: &str,
        take_over: bool,
    ) -> Result<Self, EngineError> {
        let store = engine.store.as_ref();
        let heads = store
            .read(Query::Get {
                table: Table::Heads,
                key: session_key(id),
            })
            .await?;
        if heads.is_empty() {
            return Err(EngineError::NoSession(id.to_owned()));
        }
        // what a newer version has written is shown and never written (S5): it is not even claimed
        let newer = heads
            .first()
            .is_some_and(|row| schema_of(&row.value) > SCHEMA);
        if newer {
            return Self::follow(engine, id).await;
        }
        // the claim writes its epoch into the head, so the head is read after it
        let lease = store.claim(id, take_over).await?;
        Self::read(engine, id, lease).await
    }

    /// The session as it stands in the store, without the right to write it: whatever would be written is
    /// refused as superseded.
    pub(crate) async fn follow(engine: &Engine, id: &str) -> Result<Self, EngineError> {
        let lease = Lease {
            session: id.to_owned(),
            epoch: 0,
            guard: None,
        };
        Self::read(engine, id, lease).await
    }

    async fn read(engine: &Engine, id: &str, lease: Lease) -> Result<Self, EngineError> {
        let store = engine.store.as_ref();
        let rows = store
            .read(Query::Get {
                table: Table::Heads,
                key: session_key(id),
            })
            .await?;
        let row = rows
            .first()
            .ok_or_else(|| EngineError::NoSession(id.to_owned()))?;
        let head: Head = palimpsest_core::json::read(&row.value)
            .map_err(|e| StoreError::Corrupt(format!("the head of {id}: {e}")))?;

        let records: Records =
            get(store, Table::Records, key(id, head.records), "the records").await?;
        let counter = engine.counter_for(&head.model);
        let setup = setup_of(&head, counter.as_ref())?;
        let messages = messages(store, id, head.tip, counter.epoch()).await?;
        let mut context = Context::new(setup, records, counter);
        let mut stored_forms = SortedMap::new();
        for entry in path(&messages, head.tip) {
            context.push_counted(entry);
        }
        if head.revision > 0 {
            let row = revision(store, id, head.revision).await?;
            stored_forms = row.reduced.iter().copied().collect();
            context.set_view(view(store, id, row).await?);
            // Stored counts may be another counter's; messages are counted again when there is time.
            context.recount_view();
        }
        let snapshots = store
            .read(Query::all(Table::Snapshots, session_key(id)))
            .await?;
        let snapshots = snapshots
            .iter()
            .filter_map(|row| unseal::<Snapshot>("a snapshot", &row.value).ok())
            .collect();
        let partial = store
            .read(Query::Get {
                table: Table::Partials,
                key: session_key(id),
            })
            .await?;
        let partial = partial
            .first()
            .and_then(|row| unseal::<String>("a partial reply", &row.value).ok());
        let head_revision = head.revision;
        let state = State {
            head,
            context,
            messages,
            stored_forms,
            snapshots,
            covered_index: std::cell::RefCell::default(),
            follow_index: std::cell::Cell::default(),
            compaction: None,
            put_off: None,
            layout: head_revision,
            speed: super::Speed::default(),
            reply: None,
            partial,
            host_run: None,
            as_good_as_gets: None,
        };
        Ok(Self::with_state(engine, id, lease, state, None))
    }
}

/// The version of the rows of a head; 0 if it cannot be read.
fn schema_of(head: &str) -> u32 {
    #[derive(serde::Deserialize)]
    struct Version {
        schema: u32,
    }
    palimpsest_core::json::read(head).map_or(0, |v: Version| v.schema)
}

async fn get<T: serde::de::DeserializeOwned>(
    store: &dyn Store,
    table: Table,
    key: crate::ports::Key,
    what: &str,
) -> Result<T, StoreError> {
    let rows = store.read(Query::Get { table, key }).await?;
    let row = rows
        .first()
        .ok_or_else(|| StoreError::Corrupt(format!("{what} are missing")))?;
    unseal(what, &row.value)
}

/// The row of a revision.
pub(super) async fn revision(
    store: &dyn Store,
    id: &str,
    n: u32,
) -> Result<RevisionRow, StoreError> {
    get(
        store,
        Table::Revisions,
        key(id, n),
        &format!("the rows of revision {n}"),
    )
    .await
}

/// The view of a revision, with the layers, notes and forms that it names.
pub(super) async fn view(
    store: &dyn Store,
    id: &str,
    row: RevisionRow,
) -> Result<View, StoreError> {
    let mut layers = Vec::new();
    for n in &row.layers {
        layers.push(Rc::new(
            get::<Layer>(store, Table::Layers, key(id, *n), "a layer's rows").await?,
        ));
    }
    let mut notes = Vec::new();
    for n in &row.notes {
        notes.push(Rc::new(
            get::<Note>(store, Table::Notes, key(id, *n), "a note's rows").await?,
        ));
    }
    let mut reduced = SortedMap::new();
    for (seq, n) in &row.reduced {
        let key = vec![id.into(), (*seq).into(), (*n).into()];
        let form: RenditionRow =
            get(store, Table::Renditions, key, "a message's shorter forms").await?;
        reduced.insert(*seq, Rc::new(form.reduced));
    }
    Ok(View {
        revision: row.n,
        cause: row.cause,
        layers,
        notes,
        reduced,
        quotes: row.quotes,
        recalled: row.recalled,
        watermark: row.watermark,
        pending: row.pending,
        anchors: row.anchors,
        compactions: row.compactions,
        next_layer: row.next_layer,
        next_note: row.next_note,
        strikes: 0,
        paused: row.paused,
    })
}

/// Every readable message of the session. A damaged or lost row leaves a marked gap, never an unreadable session: the
/// path goes on at the message before it.
async fn messages(
    store: &dyn Store,
    id: &str,
    tip: Option<Seq>,
    epoch: u64,
) -> Result<SortedMap<Seq, Stored>, StoreError> {
    let rows = store
        .read(Query::all(Table::Messages, session_key(id)))
        .await?;
    let mut messages: SortedMap<Seq, Stored> = SortedMap::new();
    let mut gaps: BTreeMap<Seq, StoreError> = BTreeMap::new();
    for row in rows {
        let Some(KeyPart::Number(seq)) = row.key.get(1) else {
            continue;
        };
        let mut message = match unseal::<MessageRow>("a message", &row.value) {
            Ok(message) => message,
            Err(error) => {
                gaps.insert(*seq, error);
                continue;
            }
        };
        for blob in std::mem::take(&mut message.blobs) {
            let chunks = store
                .read(Query::all(
                    Table::Blobs,
                    vec![KeyPart::Text(blob.hash.clone())],
                ))
                .await?;
            let text: Result<Vec<String>, _> = chunks
                .iter()
                .map(|c| unseal::<String>("a large text", &c.value))
                .collect();
            let text = text
                .map(|t| t.concat())
                .ok()
                .filter(|t| t.len() == blob.bytes as usize)
                .unwrap_or_else(|| format!("[Content unavailable: {}]", blob.hash));
            if let Some(slot) = message
                .message
                .parts
                .get_mut(blob.part as usize)
                .and_then(part_text)
            {
                *slot = text;
            }
        }
        messages.insert(
            *seq,
            Stored {
                message: Rc::new(message.message),
                tokens: message.tokens,
                counted_by: message.counted_by,
            },
        );
    }
    let named = messages.values().filter_map(|s| s.message.parent);
    for seq in named.chain(tip) {
        if !messages.contains_key(&seq) {
            let lost = || StoreError::Corrupt("a message: it is not there".into());
            gaps.entry(seq).or_insert_with(lost);
        }
    }
    for (seq, error) in gaps {
        // what it followed stood in its row
        let before = messages.range(..seq).next_back().map(|(n, _)| *n);
        messages.insert(seq, gap(seq, before, &error, epoch));
    }
    Ok(messages)
}

fn gap(seq: Seq, parent: Option<Seq>, error: &StoreError, epoch: u64) -> Stored {
    use palimpsest_core::message::{Message, Role};
    let mut message = Message::text(
        seq,
        Role::Assistant,
        format!("[This message cannot be read: {error}]"),
    );
    message.origin = palimpsest_core::message::Origin::Import;
    message.parent = parent;
    Stored {
        message: Rc::new(message),
        tokens: 24,
        counted_by: epoch,
    }
}

/// The messages from the first one to `tip`, along their parents.
pub(super) fn path(messages: &SortedMap<Seq, Stored>, tip: Option<Seq>) -> Vec<Entry> {
    let mut path = Vec::new();
    let mut at = tip;
    while let Some(stored) = at.and_then(|seq| messages.get(&seq)) {
        path.push(Entry {
            message: Rc::clone(&stored.message),
            tokens: stored.tokens,
            counted_by: stored.counted_by,
        });
        // parents are older by construction: a damaged row cannot make a circle
        at = stored.message.parent.filter(|p| *p < stored.message.seq);
    }
    path.reverse();
    path
}
