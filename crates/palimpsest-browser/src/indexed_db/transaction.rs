//! Runs the only two kinds of transactions: one that reads, and one that looks at a session's head, decides and writes.
//! It makes all requests in one tick (or in the callback of one of them) and then awaits the end of the whole
//! transaction, so that no transaction can end by itself between two awaits.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_channel::oneshot;
use js_sys::{Array, Function};
use palimpsest_core::sorted::SortedSet;
use palimpsest_engine::ports::fence::{claim_key, head_key};
use palimpsest_engine::ports::{Durability, Key, Op, Query, Row, StoreError, Table, after_prefix};
use wasm_bindgen::prelude::*;
use web_sys::{
    Event, IdbCursorDirection, IdbCursorWithValue, IdbDatabase, IdbKeyRange, IdbObjectStore,
    IdbRequest, IdbTransaction,
};

use super::cause::cause;
use super::keys;
use crate::global::{global, object, property};

#[wasm_bindgen]
extern "C" {
    /// `IDBDatabase` with options that are still unstable in web-sys.
    type Database;
    #[wasm_bindgen(method, catch, js_name = transaction)]
    fn begin(
        this: &Database,
        stores: &Array,
        mode: &str,
        options: &JsValue,
    ) -> Result<IdbTransaction, JsValue>;

    /// `IDBObjectStore` with a function that web-sys does not know yet.
    type Records;
    #[wasm_bindgen(method, catch, js_name = getAllRecords)]
    fn get_all_records(this: &Records, options: &JsValue) -> Result<IdbRequest, JsValue>;
}

/// The reason for which a transaction failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The transaction could not begin, because the connection is closed. No request was made.
    NoConnection(StoreError),
    /// The browser undid the transaction.
    Undone(StoreError),
    /// This code undid the transaction.
    Refused(StoreError),
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NoConnection(error) | Failure::Undone(error) | Failure::Refused(error) => {
                error
            }
        }
    }
}

/// Looks at the session's head row and its claim note, and returns the writes or a refusal.
pub(super) type Decide = Box<dyn FnOnce(Option<&str>, Option<&str>) -> Result<Vec<Op>, StoreError>>;

/// Reads, decides and writes in one transaction. `tables` are the tables that `decide` may write, besides heads and
/// notes.
pub(super) async fn write(
    database: &IdbDatabase,
    session: &str,
    mut tables: SortedSet<Table>,
    durability: Durability,
    decide: Decide,
) -> Result<(), Failure> {
    tables.extend([Table::Heads, Table::Meta]);
    let durability = match durability {
        Durability::Strict => "strict",
        Durability::Relaxed => "relaxed",
    };
    let transaction = begin(database, &tables, "readwrite", durability)?;
    let mut running = Running::new(transaction.clone());
    let reason = Rc::clone(&running.reason);
    let requests = || -> Result<(IdbRequest, IdbRequest), JsValue> {
        let head = transaction
            .object_store(Table::Heads.name())?
            .get(&keys::to_js(&head_key(session)))?;
        let note = transaction
            .object_store(Table::Meta.name())?
            .get(&keys::to_js(&claim_key(session)))?;
        Ok((head, note))
    };
    let (head, note) = requests().map_err(|thrown| Failure::Undone(cause(&thrown)))?;
    let added = Rc::clone(&running.added);
    // The browser answers requests in order: after the answer to the second one, the first is answered, too.
    let on_note = {
        let note = note.clone();
        let transaction = transaction.clone();
        Closure::once(move |_: Event| {
            let outcome = decide(text(&head).as_deref(), text(&note).as_deref())
                .and_then(|ops| issue(&transaction, &ops, &added).map_err(|thrown| cause(&thrown)));
            if let Err(error) = outcome {
                reason.replace(Some(error));
                let _ = transaction.abort();
            }
        })
    };
    note.set_onsuccess(Some(on_note.as_ref().unchecked_ref()));
    running.keep(on_note);
    running.end().await
}

/// The result of a `get`, or `None` if there is no row.
fn text(request: &IdbRequest) -> Option<String> {
    let value = request.result().ok()?;
    (!value.is_undefined()).then(|| text_of(&value))
}

type Added = Rc<RefCell<Vec<(IdbRequest, Table, Key)>>>;

fn issue(transaction: &IdbTransaction, ops: &[Op], added: &Added) -> Result<(), JsValue> {
    let mut last: Option<(Table, IdbObjectStore)> = None;
    for op in ops {
        let table = op.table();
        let store = match last.take() {
            Some((same, store)) if same == table => store,
            _ => transaction.object_store(table.name())?,
        };
        match op {
            Op::Add { key, value, .. } => {
                let request = store.add_with_key(&JsValue::from_str(value), &keys::to_js(key))?;
                added.borrow_mut().push((request, table, key.clone()));
            }
            Op::Put { key, value, .. } => {
                store.put_with_key(&JsValue::from_str(value), &keys::to_js(key))?;
            }
            Op::Delete { key, .. } => {
                store.delete(&keys::to_js(key))?;
            }
            Op::DeletePrefix { prefix, .. } => {
                let range = keys::range(prefix, after_prefix(prefix).as_ref())?;
                store.delete(&range)?;
            }
        }
        last = Some((table, store));
    }
    Ok(())
}

/// The way to read ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// `getAllRecords`, where the browser has it: keys and values in either direction in one request.
    Records,
    /// `getAllKeys` with `getAll`, and a cursor for the newest rows of many.
    Plain,
}

impl Reading {
    /// Returns the way that this browser supports.
    pub(super) fn of_host() -> Self {
        let has = global("IDBObjectStore")
            .and_then(|class| property(&class, "prototype"))
            .is_some_and(|prototype| property(&prototype, "getAllRecords").is_some());
        if has { Self::Records } else { Self::Plain }
    }
}

/// Reads rows in one transaction.
pub(super) async fn read(
    database: &IdbDatabase,
    query: &Query,
    reading: Reading,
) -> Result<Vec<Row>, Failure> {
    let (first, end) = query.bounds();
    if end.as_ref().is_some_and(|end| *end <= first) {
        return Ok(Vec::new());
    }
    let table = query.table();
    let transaction = begin(database, &SortedSet::from([table]), "readonly", "default")?;
    let running = Running::new(transaction.clone());
    let undone = |thrown: JsValue| Failure::Undone(cause(&thrown));
    let store = transaction.object_store(table.name()).map_err(undone)?;
    match query {
        Query::Get { key, .. } => {
            let request = store.get(&keys::to_js(key)).map_err(undone)?;
            running.end().await?;
            let value = request.result().map_err(undone)?;
            if value.is_undefined() {
                return Ok(Vec::new());
            }
            Ok(vec![Row {
                value: text_of(&value),
                key: key.clone(),
            }])
        }
        Query::Range { reverse, limit, .. } => {
            let range = keys::range(&first, end.as_ref()).map_err(undone)?;
            match (reading, *reverse) {
                (Reading::Records, reverse) => {
                    records(&store, &range, reverse, *limit, running).await
                }
                (Reading::Plain, true) if *limit > 0 => {
                    newest(&store, &range, *limit, running).await
                }
                (Reading::Plain, reverse) => {
                    let mut rows = plain(&store, &range, *limit, running).await?;
                    if reverse {
                        rows.reverse();
                    }
                    Ok(rows)
                }
            }
        }
    }
}

async fn records(
    store: &IdbObjectStore,
    range: &IdbKeyRange,
    reverse: bool,
    limit: u32,
    running: Running,
) -> Result<Vec<Row>, Failure> {
    let direction = if reverse { "prev" } else { "next" };
    let count = if limit == 0 {
        JsValue::UNDEFINED
    } else {
        limit.into()
    };
    let options = object([
        ("query", range.into()),
        ("direction", direction.into()),
        ("count", count),
    ]);
    let undone = |thrown: JsValue| Failure::Undone(cause(&thrown));
    let request = store
        .unchecked_ref::<Records>()
        .get_all_records(&options)
        .map_err(undone)?;
    running.end().await?;
    let found: Array = request.result().map_err(undone)?.unchecked_into();
    let rows = found.iter().filter_map(|record| {
        let part = |name| property(&record, name).unwrap_or(JsValue::UNDEFINED);
        row(&part("key"), &part("value"))
    });
    Ok(rows.collect())
}

async fn plain(
    store: &IdbObjectStore,
    range: &IdbKeyRange,
    limit: u32,
    running: Running,
) -> Result<Vec<Row>, Failure> {
    let undone = |thrown: JsValue| Failure::Undone(cause(&thrown));
    let requests = || {
        if limit == 0 {
            Ok((
                store.get_all_keys_with_key(range)?,
                store.get_all_with_key(range)?,
            ))
        } else {
            let keys = store.get_all_keys_with_key_and_limit(range, limit)?;
            Ok((keys, store.get_all_with_key_and_limit(range, limit)?))
        }
    };
    let (keys, values) = requests().map_err(undone)?;
    running.end().await?;
    let keys: Array = keys.result().map_err(undone)?.unchecked_into();
    let values: Array = values.result().map_err(undone)?.unchecked_into();
    Ok(keys
        .iter()
        .zip(values.iter())
        .filter_map(|(key, value)| row(&key, &value))
        .collect())
}

async fn newest(
    store: &IdbObjectStore,
    range: &IdbKeyRange,
    limit: u32,
    mut running: Running,
) -> Result<Vec<Row>, Failure> {
    let undone = |thrown: JsValue| Failure::Undone(cause(&thrown));
    let request = store
        .open_cursor_with_range_and_direction(range, IdbCursorDirection::Prev)
        .map_err(undone)?;
    let found = Rc::new(RefCell::new(Vec::new()));
    let on_row = {
        let (found, request) = (Rc::clone(&found), request.clone());
        Closure::new(move |_: Event| {
            let Ok(cursor) = request.result() else { return };
            if cursor.is_null() {
                return;
            }
            let cursor: IdbCursorWithValue = cursor.unchecked_into();
            let mut found = found.borrow_mut();
            found.push((cursor.key(), cursor.value()));
            if (found.len() as u32) < limit {
                // This fails only if the transaction is over, and then the error of the transaction is reported.
                let _ = cursor.continue_();
            }
        })
    };
    request.set_onsuccess(Some(on_row.as_ref().unchecked_ref()));
    running.keep(on_row);
    running.end().await?;
    let undefined = |part: Result<JsValue, JsValue>| part.unwrap_or(JsValue::UNDEFINED);
    let found = found.take().into_iter();
    Ok(found
        .filter_map(|(key, value)| row(&undefined(key), &undefined(value)))
        .collect())
}

/// Converts a row. `None` if this program did not make its key.
fn row(key: &JsValue, value: &JsValue) -> Option<Row> {
    Some(Row {
        key: keys::from_js(key)?,
        value: text_of(value),
    })
}

/// Returns the empty text for a value that is not text. The empty text is not valid JSON, so the reader sees the
/// damage, and the other rows of the range are not lost.
fn text_of(value: &JsValue) -> String {
    value.as_string().unwrap_or_default()
}

/// Names a row for error messages.
fn address(table: Table, key: &Key) -> String {
    format!(
        "{} {}",
        table.name(),
        serde_json::to_string(key).unwrap_or_default()
    )
}

fn begin(
    database: &IdbDatabase,
    tables: &SortedSet<Table>,
    mode: &str,
    durability: &str,
) -> Result<IdbTransaction, Failure> {
    let stores: Array = tables
        .iter()
        .map(|table| JsValue::from_str(table.name()))
        .collect();
    let options = object([("durability", durability.into())]);
    database
        .unchecked_ref::<Database>()
        .begin(&stores, mode, &options)
        .map_err(|thrown| Failure::NoConnection(cause(&thrown)))
}

/// A pending transaction. If it is dropped, it is undone.
struct Running {
    transaction: IdbTransaction,
    ended: oneshot::Receiver<Result<(), Failure>>,
    is_over: Rc<Cell<bool>>,
    /// The reason for which this code undid the transaction.
    reason: Rc<RefCell<Option<StoreError>>>,
    /// The requests that fail if their row exists already.
    added: Added,
    listeners: Vec<Closure<dyn FnMut(Event)>>,
}

impl Running {
    fn new(transaction: IdbTransaction) -> Self {
        let (sender, ended) = oneshot::channel();
        let sender = Rc::new(RefCell::new(Some(sender)));
        let is_over = Rc::new(Cell::new(false));
        let reason = Rc::new(RefCell::new(None::<StoreError>));
        let added = Added::default();
        let tell = {
            let is_over = Rc::clone(&is_over);
            move |outcome: Result<(), Failure>| {
                is_over.set(true);
                if let Some(sender) = sender.take() {
                    let _ = sender.send(outcome);
                }
            }
        };
        let on_complete: Closure<dyn FnMut(Event)> = {
            let tell = tell.clone();
            Closure::new(move |_| tell(Ok(())))
        };
        let on_error: Closure<dyn FnMut(Event)> = {
            let (reason, added) = (Rc::clone(&reason), Rc::clone(&added));
            Closure::new(move |event: Event| {
                let Some(target) = event.target() else { return };
                let error = property(&target, "error").map(|error| cause(&error));
                if !matches!(error, Some(StoreError::Exists(_))) {
                    return;
                }
                let target: &JsValue = target.as_ref();
                let added = added.borrow();
                let row = added
                    .iter()
                    .find(|(request, ..)| AsRef::<JsValue>::as_ref(request) == target);
                if let Some((_, table, key)) = row {
                    reason.replace(Some(StoreError::Exists(address(*table, key))));
                }
            })
        };
        let on_abort: Closure<dyn FnMut(Event)> = {
            let (reason, transaction) = (Rc::clone(&reason), transaction.clone());
            Closure::new(move |_| {
                tell(Err(match reason.take() {
                    Some(error) => Failure::Refused(error),
                    // On a full disk only the transaction reports the error, not the requests.
                    None => Failure::Undone(transaction.error().map_or_else(
                        || StoreError::Failed("the browser gave the transaction up".into()),
                        |error| cause(&error.into()),
                    )),
                }));
            })
        };
        transaction.set_oncomplete(Some(function(&on_complete)));
        transaction.set_onerror(Some(function(&on_error)));
        transaction.set_onabort(Some(function(&on_abort)));
        Self {
            transaction,
            ended,
            is_over,
            reason,
            added,
            listeners: vec![on_complete, on_error, on_abort],
        }
    }

    /// Keeps the listener of a request alive.
    fn keep(&mut self, listener: Closure<dyn FnMut(Event)>) {
        self.listeners.push(listener);
    }

    async fn end(mut self) -> Result<(), Failure> {
        (&mut self.ended).await.unwrap_or_else(|_| {
            Err(Failure::Undone(StoreError::Failed(
                "the transaction went away".into(),
            )))
        })
    }
}

fn function(listener: &Closure<dyn FnMut(Event)>) -> &Function {
    listener.as_ref().unchecked_ref()
}

impl Drop for Running {
    fn drop(&mut self) {
        self.transaction.set_oncomplete(None);
        self.transaction.set_onerror(None);
        self.transaction.set_onabort(None);
        if !self.is_over.get() {
            // A request of this transaction may still get an answer; its listener must do nothing then.
            let _ = self.transaction.abort();
        }
    }
}
