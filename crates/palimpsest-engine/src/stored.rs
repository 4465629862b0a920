//! Reads a session from its rows: the head as stored, or rebuilt from the other rows, and the context that it names
//! (S5).

use std::rc::Rc;

use palimpsest_core::context::{Context, Entry, Quote, View};
use palimpsest_core::layer::Layer;
use palimpsest_core::message::{Message, Origin, Role, Seq};
use palimpsest_core::note::Note;
use palimpsest_core::record::Records;
use palimpsest_core::sorted::{SortedMap, SortedSet};

use crate::config::Config;
use crate::error::EngineError;
use crate::fault::Fault;
use crate::head::{Head, NewSession, SCHEMA, SessionInfo, first_head, head_json, title_of};
use crate::host::Host;
use crate::ports::{Durability, Key, KeyPart, Lease, Op, Query, Store, StoreError, Table};
use crate::rows::{
    MessageRow, RenditionRow, RevisionRow, key, part_text, seal, session_key, unseal,
};
use crate::setup::{setup, setup_of};
use crate::snapshot::Snapshot;

/// The largest window of a rebuilt head, in tokens.
const LARGEST_WINDOW: u32 = 1 << 20;

/// A stored message with its count.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) message: Rc<Message>,
    pub(crate) tokens: u32,
    /// The epoch of the counter that counted it.
    pub(crate) counted_by: u64,
}

impl Stored {
    /// The message as an entry of a path.
    pub(crate) fn entry(&self) -> Entry {
        Entry {
            message: Rc::clone(&self.message),
            tokens: self.tokens,
            counted_by: self.counted_by,
        }
    }
}

/// A session's head, and its source.
pub(crate) enum Found {
    /// The head as it was written.
    Whole(Head),
    /// A head rebuilt from the other rows, with the text that stood in its place, if there was one.
    Rebuilt(Head, Option<String>),
}

/// The key of the row that notes a rebuilt head. It holds the text that stood there.
pub(crate) fn mended_key(id: &str) -> Key {
    vec!["damaged".into(), id.into()]
}

/// Returns `true` if the head of a session was ever rebuilt.
pub(crate) async fn was_mended(store: &dyn Store, id: &str) -> Result<bool, StoreError> {
    let query = Query::Get {
        table: Table::Meta,
        key: mended_key(id),
    };
    Ok(!store.read(query).await?.is_empty())
}

/// The identifiers of all sessions: those with a head, and those that only have other rows.
pub(crate) async fn stored_ids(store: &dyn Store) -> Result<Vec<String>, StoreError> {
    let mut ids = SortedSet::default();
    // A session has its first records from its first write on.
    for table in [Table::Heads, Table::Records] {
        for row in store.read(Query::all(table, Vec::new())).await? {
            if let Some(KeyPart::Text(id)) = row.key.first() {
                ids.insert(id.clone());
            }
        }
    }
    Ok(ids.iter().cloned().collect())
}

/// All sessions with a readable head.
pub(crate) async fn listed(host: &Host) -> Result<Vec<SessionInfo>, StoreError> {
    let heads = Query::all(Table::Heads, Vec::new());
    let rows = host.store.read(heads).await?;
    let all = rows.iter().filter_map(|row| {
        let id = match row.key.first() {
            Some(KeyPart::Text(id)) => id.clone(),
            _ => return None,
        };
        // `damaged_sessions` lists those with a damaged head.
        let head = palimpsest_text::json::read(&row.value).ok()?;
        Some(SessionInfo { id, head })
    });
    Ok(all.collect())
}

/// The messages of a session's shown path, as far as they are readable.
pub(crate) async fn path_of(
    host: &Host,
    id: &str,
    head: &Head,
) -> Result<Vec<Rc<Message>>, StoreError> {
    let all = messages(host.store.as_ref(), id, head.tip, 0, &mut Vec::new()).await?;
    let path = path(&all, head.tip).into_iter();
    Ok(path.map(|entry| entry.message).collect())
}

/// Returns the head of a session as stored, or rebuilt from its other rows.
pub(crate) async fn find_head(host: &Host, id: &str) -> Result<Found, EngineError> {
    let query = Query::Get {
        table: Table::Heads,
        key: session_key(id),
    };
    let stood = host.store.read(query).await?.pop().map(|row| row.value);
    if let Some(text) = &stood
        && let Ok(head) = palimpsest_text::json::read(text)
    {
        return Ok(Found::Whole(head));
    }
    if stood.is_none() {
        let mut any = false;
        for table in [Table::Records, Table::Messages] {
            any |= last_number(host.store.as_ref(), table, id).await?.is_some();
        }
        if !any {
            return Err(EngineError::NoSession(id.to_owned()));
        }
    }
    Ok(Found::Rebuilt(rebuilt(host, id).await?, stood))
}

/// The highest number of a session's rows in a table.
pub(crate) async fn last_number(
    store: &dyn Store,
    table: Table,
    id: &str,
) -> Result<Option<u32>, StoreError> {
    let query = Query::Range {
        table,
        prefix: session_key(id),
        from: None,
        to: None,
        reverse: true,
        limit: 1,
    };
    let rows = store.read(query).await?;
    Ok(rows.first().and_then(|row| match row.key.get(1) {
        Some(KeyPart::Number(n)) => Some(*n),
        _ => None,
    }))
}

/// Rebuilds a head from the other rows: the newest message is the last one, and the newest numbers are in force.
/// Settings, policy and window stand only in a head, so they start anew; the window is large enough for everything that
/// is shown.
async fn rebuilt(host: &Host, id: &str) -> Result<Head, EngineError> {
    let store = host.store.as_ref();
    let snapshots = store
        .read(Query::all(Table::Snapshots, session_key(id)))
        .await?;
    let newest = snapshots
        .iter()
        .rev()
        .find_map(|row| unseal::<Snapshot>("a snapshot", &row.value).ok());
    let new = NewSession {
        model: newest
            .as_ref()
            .map_or_else(String::new, |s| s.model.clone()),
        mode: newest.map(|s| s.mode).unwrap_or_default(),
        ..NewSession::default()
    };
    let mut head = first_head(new, 0, host.world.clock.now());
    let tip = last_number(store, Table::Messages, id).await?;
    head.tip = tip;
    head.last_seq = tip;
    head.revision = last_number(store, Table::Revisions, id).await?.unwrap_or(0);
    head.last_revision = head.revision;
    head.records = last_number(store, Table::Records, id).await?.unwrap_or(1);
    head.snapshots = last_number(store, Table::Snapshots, id).await?.unwrap_or(0);
    let context = shown(host, id, &mut head.clone(), &mut Vec::new())
        .await?
        .context;
    let said = context.entries();
    head.messages = said.len() as u32;
    if let Some(first) = said.first() {
        head.created = first.message.at;
    }
    if let Some(last) = said.last() {
        head.updated = last.message.at;
    }
    let question = said.iter().find(|e| e.message.role == Role::User);
    head.title = question.map_or_else(String::new, |e| title_of(&e.message.words()));
    let counter = host.counter_for(&head.model);
    while head.window < LARGEST_WINDOW {
        let config = Config::default();
        let setup = setup(head.window, false, &head.policy, &config, counter.as_ref())?;
        if context.tokens() <= setup.shares.limit {
            break;
        }
        head.window *= 2;
    }
    head.shows(&context);
    Ok(head)
}

/// The content that a head names.
pub(crate) struct Shown {
    pub(crate) context: Context,
    pub(crate) messages: SortedMap<Seq, Stored>,
    pub(crate) stored_forms: SortedMap<Seq, u32>,
}

/// Reads the content that a head names. If its revision is not readable, the newest whole one before it takes its
/// place, and the head then names that one.
pub(crate) async fn shown(
    host: &Host,
    id: &str,
    head: &mut Head,
    losses: &mut Vec<Fault>,
) -> Result<Shown, EngineError> {
    let store = host.store.as_ref();
    let records = records(store, id, head.records, losses).await?;
    let counter = host.counter_for(&head.model);
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
            // A message that is verbatim again is not quoted.
            let quotes = std::mem::take(&mut view.quotes);
            view.quotes = quotes
                .into_iter()
                .filter(|q| covered(q) || !said(q))
                .collect();
            // Numbers never go back: a row that is not readable keeps its own.
            let layers = last_number(store, Table::Layers, id).await?;
            let notes = last_number(store, Table::Notes, id).await?;
            view.next_layer = view.next_layer.max(layers.map_or(1, |n| n + 1));
            view.next_note = view.next_note.max(notes.map_or(1, |n| n + 1));
            head.revision = view.revision;
        }
        context.set_view(view);
        // Another counter may have made the stored counts. Messages are recounted when there is time.
        context.recount_view();
    }
    Ok(Shown {
        context,
        messages,
        stored_forms,
    })
}

/// The records of that number, or the newest readable ones before them, or none.
async fn records(
    store: &dyn Store,
    id: &str,
    n: u32,
    losses: &mut Vec<Fault>,
) -> Result<Records, StoreError> {
    let found = newest(store, Table::Records, id, n, losses).await?;
    Ok(found.unwrap_or_default())
}

/// The row of that revision, or the newest readable one before it.
async fn newest_revision(
    store: &dyn Store,
    id: &str,
    n: u32,
    losses: &mut Vec<Fault>,
) -> Result<Option<RevisionRow>, StoreError> {
    newest(store, Table::Revisions, id, n, losses).await
}

/// The row of that number, or the newest readable one before it.
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

/// The row of that key. If it is damaged or missing, returns `None` and adds a loss.
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

pub(crate) fn damaged_at(table: Table, key: &Key) -> Fault {
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
pub(crate) async fn revision(
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

/// The view of a revision, with the layers, notes and forms that it names. Unreadable ones are left out: messages with
/// a lost layer or form are verbatim.
pub(crate) async fn view(
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

/// All readable messages of the session. A damaged or lost row leaves a marked gap, and the path continues at the
/// message before it.
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
    let mut gaps: SortedMap<Seq, StoreError> = SortedMap::new();
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
        // Its row held its parent.
        let before = messages.range(..seq).next_back().map(|(n, _)| *n);
        messages.insert(seq, gap(seq, before, &error, epoch));
    }
    Ok(messages)
}

fn gap(seq: Seq, parent: Option<Seq>, error: &StoreError, epoch: u64) -> Stored {
    let mut message = Message::text(
        seq,
        Role::Assistant,
        format!("[This message cannot be read: {error}]"),
    );
    message.origin = Origin::Import;
    message.parent = parent;
    Stored {
        message: Rc::new(message),
        tokens: 24,
        counted_by: epoch,
    }
}

/// The messages from the first one to `tip`, along their parents.
pub(crate) fn path(messages: &SortedMap<Seq, Stored>, tip: Option<Seq>) -> Vec<Entry> {
    let mut path = Vec::new();
    let mut at = tip;
    while let Some(stored) = at.and_then(|seq| messages.get(&seq)) {
        path.push(stored.entry());
        // Parents are older by construction, so a damaged row cannot make a circle.
        at = stored.message.parent.filter(|p| *p < stored.message.seq);
    }
    path.reverse();
    path
}

/// The text of the head, which differs after every write.
pub(crate) async fn version(store: &dyn Store, id: &str) -> Result<Option<String>, StoreError> {
    let query = Query::Get {
        table: Table::Heads,
        key: session_key(id),
    };
    Ok(store.read(query).await?.pop().map(|row| row.value))
}

/// Returns `true` if a newer version of this software wrote the session's head.
pub(crate) async fn is_newer(store: &dyn Store, id: &str) -> Result<bool, StoreError> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema: u32,
    }
    let head = Query::Get {
        table: Table::Heads,
        key: session_key(id),
    };
    let rows = store.read(head).await?;
    // A head that is not readable has no version.
    Ok(rows.first().is_some_and(|row| {
        palimpsest_text::json::read(&row.value).is_ok_and(|v: Version| v.schema > SCHEMA)
    }))
}

/// Claims the right to write a session. A head that is not readable is rebuilt first, and its old text is kept beside
/// it.
pub(crate) async fn claim_whole(
    host: &Host,
    id: &str,
    take_over: bool,
) -> Result<Lease, EngineError> {
    let store = host.store.as_ref();
    let (head, stood) = match find_head(host, id).await? {
        Found::Whole(_) => return Ok(store.claim(id, take_over).await?),
        Found::Rebuilt(head, stood) => (head, stood),
    };
    let lease = match store.claim(id, take_over).await {
        // No one holds the session, so the claim may take a damaged head over.
        Err(StoreError::Corrupt(_)) => store.claim(id, true).await?,
        claimed => claimed?,
    };
    let head = Head {
        epoch: lease.epoch,
        version: 1,
        ..head
    };
    let ops = vec![
        Op::Put {
            table: Table::Meta,
            key: mended_key(id),
            value: seal(&stood)?,
        },
        Op::Put {
            table: Table::Heads,
            key: session_key(id),
            value: head_json(&head)?,
        },
    ];
    store.apply(&lease, None, ops, Durability::Strict).await?;
    Ok(lease)
}
