//! Opening: head row, revision, layers, records, messages.

use std::collections::BTreeMap;
use std::rc::Rc;

use palimpsest_core::context::{Context, Entry, Quote, View};
use palimpsest_core::layer::Layer;
use palimpsest_core::message::Seq;
use palimpsest_core::note::Note;
use palimpsest_core::record::Records;
use palimpsest_core::sorted::SortedMap;

use crate::audit::Fault;
use crate::damage::{Found, find_head, last_number, was_mended};
use crate::engine::{Engine, setup_of};
use crate::error::EngineError;
use crate::head::Head;
use crate::ports::{Key, KeyPart, Lease, Query, Store, StoreError, Table};
use crate::rows::{MessageRow, RenditionRow, RevisionRow, key, part_text, session_key, unseal};

use super::partial::Partial;
use super::{Session, Snapshot, State, Stored};

impl Session {
    pub(crate) async fn load(
        engine: &Engine,
        id: &str,
        take_over: bool,
    ) -> Result<Self, EngineError> {
        // what a newer version has written is shown and never written (S5): it is not even claimed
        if engine.is_newer(id).await? {
            return Self::follow(engine, id).await;
        }
        // the claim writes its epoch into the head, so the head is read after it
        let lease = engine.claim_whole(id, take_over).await?;
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
        let mut losses = Vec::new();
        let mut head = match find_head(engine, id).await? {
            Found::Whole(head) => {
                if was_mended(store, id).await? {
                    losses.push(Fault::Head);
                }
                head
            }
            Found::Rebuilt(head, _) => {
                losses.push(Fault::Head);
                head
            }
        };
        let shown = shown(engine, id, &mut head, &mut losses).await?;
        let snapshots = store
            .read(Query::all(Table::Snapshots, session_key(id)))
            .await?;
        let snapshots = snapshots
            .iter()
            .filter_map(|row| {
                let read = unseal::<Snapshot>("a snapshot", &row.value).ok();
                if read.is_none() {
                    losses.push(damaged_at(Table::Snapshots, &row.key));
                }
                read
            })
            .collect();
        let partial = store
            .read(Query::Get {
                table: Table::Partials,
                key: session_key(id),
            })
            .await?;
        let partial = partial
            .first()
            .and_then(|row| Partial::unseal(&row.value, head.tip));
        let head_revision = head.revision;
        let state = State {
            head,
            context: shown.context,
            messages: shown.messages,
            stored_forms: shown.stored_forms,
            losses,
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

    /// What of the session could not be read, each once. A message stands as a marked gap in its place; where a layer or a
    /// shorter form is lost its messages are shown as they were said; lost notes and snapshots are left out; in the place
    /// of a revision or of records the newest whole ones before them are shown. Their rows stay as they are.
    pub fn losses(&self) -> Vec<Fault> {
        self.0.state.borrow().losses.clone()
    }
}

/// What a head shows.
struct Shown {
    context: Context,
    messages: SortedMap<Seq, Stored>,
    stored_forms: SortedMap<Seq, u32>,
}

/// The context that a head which is made anew would show.
pub(crate) async fn rebuilt_parts(
    engine: &Engine,
    id: &str,
    head: &Head,
) -> Result<Context, EngineError> {
    let mut head = head.clone();
    Ok(shown(engine, id, &mut head, &mut Vec::new()).await?.context)
}

/// Reads what a head shows. A revision that cannot be read gives way to the newest whole one before it: the head then
/// names that one.
async fn shown(
    engine: &Engine,
    id: &str,
    head: &mut Head,
    losses: &mut Vec<Fault>,
) -> Result<Shown, EngineError> {
    let store = engine.store.as_ref();
    let records = records(store, id, head.records, losses).await?;
    let counter = engine.counter_for(&head.model);
    let setup = setup_of(head, counter.as_ref())?;
    let messages = messages(store, id, head.tip, counter.epoch(), losses).await?;
    let mut context = Context::new(setup, records, counter);
    for entry in path(&messages, head.tip) {
        context.push_counted(entry);
    }
    let mut stored_forms = SortedMap::new();
    if head.revision > 0 {
        let before = losses.len();
        let row = newest_revision(store, id, head.revision, losses).await?;
        let mut view = match row {
            Some(row) => {
                stored_forms = row.reduced.iter().copied().collect();
                view(store, id, row, losses).await?
            }
            None => View::default(),
        };
        if losses.len() > before {
            stored_forms.retain(|seq, _| view.reduced.contains_key(seq));
            let said = |q: &Quote| messages.contains_key(&q.seq);
            let covered = |q: &Quote| view.layers.iter().any(|l| l.covers(q.seq));
            // words are not quoted from a message that is shown whole again
            let quotes = std::mem::take(&mut view.quotes);
            view.quotes = quotes
                .into_iter()
                .filter(|q| covered(q) || !said(q))
                .collect();
            // numbers never go back: what cannot be read keeps its own
            let layers = last_number(store, Table::Layers, id).await?;
            let notes = last_number(store, Table::Notes, id).await?;
            view.next_layer = view.next_layer.max(layers.map_or(1, |n| n + 1));
            view.next_note = view.next_note.max(notes.map_or(1, |n| n + 1));
            head.revision = view.revision;
        }
        context.set_view(view);
        // Stored counts may be another counter's; messages are counted again when there is time.
        context.recount_view();
    }
    Ok(Shown {
        context,
        messages,
        stored_forms,
    })
}

/// The records of that number, or the newest whole ones before them, or none.
async fn records(
    store: &dyn Store,
    id: &str,
    n: u32,
    losses: &mut Vec<Fault>,
) -> Result<Records, StoreError> {
    let found = newest(store, Table::Records, id, n, losses).await?;
    Ok(found.unwrap_or_default())
}

/// The row of that revision, or the newest whole one before it.
async fn newest_revision(
    store: &dyn Store,
    id: &str,
    n: u32,
    losses: &mut Vec<Fault>,
) -> Result<Option<RevisionRow>, StoreError> {
    newest(store, Table::Revisions, id, n, losses).await
}

/// The row of that number, or the newest one before it that can be read.
async fn newest<T: serde::de::DeserializeOwned>(
    store: &dyn Store,
    table: Table,
    id: &str,
    n: u32,
    losses: &mut Vec<Fault>,
) -> Result<Option<T>, StoreError> {
    if let Some(row) = kept(store, table, key(id, n), losses).await? {
        return Ok(Some(row));
    }
    let older = Query::Range {
        table,
        prefix: session_key(id),
        from: None,
        to: Some(n),
        reverse: true,
        limit: 0,
    };
    let rows = store.read(older).await?;
    Ok(rows
        .iter()
        .find_map(|row| unseal(table.name(), &row.value).ok()))
}

/// The row of that key; `None` and one loss more if it is damaged or gone.
async fn kept<T: serde::de::DeserializeOwned>(
    store: &dyn Store,
    table: Table,
    key: Key,
    losses: &mut Vec<Fault>,
) -> Result<Option<T>, StoreError> {
    let rows = store
        .read(Query::Get {
            table,
            key: key.clone(),
        })
        .await?;
    let loss = match rows.first().map(|row| unseal(table.name(), &row.value)) {
        Some(Ok(row)) => return Ok(Some(row)),
        Some(Err(_)) => damaged_at(table, &key),
        None => Fault::Missing {
            table,
            n: number(&key),
        },
    };
    if !losses.contains(&loss) {
        losses.push(loss);
    }
    Ok(None)
}

/// The number in a key.
fn number(key: &Key) -> u32 {
    match key.get(1) {
        Some(KeyPart::Number(n)) => *n,
        _ => 0,
    }
}

fn damaged_at(table: Table, key: &Key) -> Fault {
    Fault::Damaged {
        table,
        n: number(key),
    }
}

async fn get<T: serde::de::DeserializeOwned>(
    store: &dyn Store,
    table: Table,
    key: Key,
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

/// The view of a revision, with the layers, notes and forms that it names. What cannot be read is left out: messages that
/// a lost layer covered, or that had a lost form, are shown as they were said.
pub(super) async fn view(
    store: &dyn Store,
    id: &str,
    row: RevisionRow,
    losses: &mut Vec<Fault>,
) -> Result<View, StoreError> {
    let mut layers = Vec::new();
    for n in &row.layers {
        let layer = kept::<Layer>(store, Table::Layers, key(id, *n), losses).await?;
        layers.extend(layer.map(Rc::new));
    }
    let mut notes = Vec::new();
    for n in &row.notes {
        let note = kept::<Note>(store, Table::Notes, key(id, *n), losses).await?;
        notes.extend(note.map(Rc::new));
    }
    let mut reduced = SortedMap::new();
    for (seq, n) in &row.reduced {
        let key = vec![id.into(), (*seq).into(), (*n).into()];
        let form: Option<RenditionRow> = kept(store, Table::Renditions, key, losses).await?;
        if let Some(form) = form {
            reduced.insert(*seq, Rc::new(form.reduced));
        }
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
    losses: &mut Vec<Fault>,
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
                losses.push(damaged_at(Table::Messages, &row.key));
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
                .unwrap_or_else(|| {
                    losses.push(Fault::Text { seq: *seq });
                    format!("[Content unavailable: {}]", blob.hash)
                });
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
            gaps.entry(seq).or_insert_with(|| {
                losses.push(Fault::Gap { from: seq, to: seq });
                StoreError::Corrupt("a message: it is not there".into())
            });
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
        path.push(stored.entry());
        // parents are older by construction: a damaged row cannot make a circle
        at = stored.message.parent.filter(|p| *p < stored.message.seq);
    }
    path.reverse();
    path
}
