//! Tests in a real browser: the contract of stores, and behaviour that only a browser has.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::Function;
use palimpsest_engine::ports::{Ids, Key};
use palimpsest_engine::testing::contract;
use wasm_bindgen::prelude::*;
use wasm_bindgen_test::*;
use web_sys::{Event, IdbDatabase, IdbFactory, IdbOpenDbRequest, IdbTransaction};

use super::*;
use crate::HostIds;
use crate::global::{global, property};
use crate::timer::sleep;

wasm_bindgen_test_configure!(run_in_browser);

// ---------------------------------------------------------------------------------------------------
// What the tests share

fn fresh_name() -> String {
    let id = HostIds::new().unwrap().random();
    format!("test-{}", id.map(|byte| format!("{byte:02x}")).concat())
}

type Events = Rc<RefCell<Vec<StorageEvent>>>;

fn options(name: &str) -> (OpenOptions, Events) {
    let events = Events::default();
    let on_event: Rc<dyn Fn(StorageEvent)> = {
        let events = Rc::clone(&events);
        Rc::new(move |event| events.borrow_mut().push(event))
    };
    (
        OpenOptions {
            name: name.into(),
            on_event,
            blocked_ms: 300,
            lock_ms: 400,
        },
        events,
    )
}

async fn open(name: &str) -> IndexedDbStore {
    IndexedDbStore::open(options(name).0).await.unwrap()
}

fn erase(name: &str) {
    let factory: IdbFactory = global("indexedDB").unwrap().unchecked_into();
    factory.delete_database(name).unwrap();
}

fn key(session: &str, n: u32) -> Key {
    vec![session.into(), n.into()]
}

fn message(n: u32, value: &str) -> Op {
    Op::Add {
        table: Table::Messages,
        key: key("s", n),
        value: value.to_owned(),
    }
}

fn head(epoch: u32, version: u32) -> Op {
    let value = format!(r#"{{"epoch":{epoch},"version":{version}}}"#);
    Op::Put {
        table: Table::Heads,
        key: vec!["s".into()],
        value,
    }
}

async fn messages(store: &IndexedDbStore) -> Vec<String> {
    let rows = store
        .read(Query::all(Table::Messages, vec!["s".into()]))
        .await
        .unwrap();
    rows.into_iter().map(|row| row.value).collect()
}

async fn write(store: &IndexedDbStore, lease: &Lease, ops: Vec<Op>) -> Result<Applied, StoreError> {
    store.apply(lease, None, ops, Durability::Relaxed).await
}

/// Runs JavaScript now, and the function that it returns when dropped.
struct Patch(Function);

impl Patch {
    fn new(code: &str) -> Self {
        Self(
            Function::new_no_args(code)
                .call0(&JsValue::NULL)
                .unwrap()
                .unchecked_into(),
        )
    }
}

impl Drop for Patch {
    fn drop(&mut self) {
        self.0.call0(&JsValue::NULL).unwrap();
    }
}

/// A connection of code that ignores upgrades.
async fn stubborn(name: &str) -> IdbDatabase {
    let factory: IdbFactory = global("indexedDB").unwrap().unchecked_into();
    let request: IdbOpenDbRequest = factory.open(name).unwrap();
    let (sender, opened) = futures_channel::oneshot::channel();
    let on_success = Closure::once(move |_: Event| sender.send(()).unwrap());
    request.set_onsuccess(Some(on_success.as_ref().unchecked_ref()));
    opened.await.unwrap();
    request.result().unwrap().unchecked_into()
}

// ---------------------------------------------------------------------------------------------------
// The contract

async fn keeps_the_contract(reading: Reading) {
    let names = RefCell::new(Vec::new());
    let report = contract::run_all(async || {
        let name = fresh_name();
        let store = open(&name).await;
        store.0.reading.set(reading);
        names.borrow_mut().push(name);
        store
    })
    .await;
    console_log!("{reading:?}: {report}");
    assert!(report.is_ok(), "{report}");
    assert_eq!(report.passed.len(), 24);
    names.into_inner().iter().for_each(|name| erase(name));
}

/// I1, I6, S5: the browser's database keeps the contract of every store.
#[wasm_bindgen_test]
async fn it_keeps_the_contract() {
    keeps_the_contract(Reading::of_host()).await;
}

/// The contract holds in browsers without `getAllRecords`, too.
#[wasm_bindgen_test]
async fn it_keeps_the_contract_with_plain_reads() {
    keeps_the_contract(Reading::Plain).await;
}

// ---------------------------------------------------------------------------------------------------
// Writers

/// F 65: two connections behave like two tabs. The second is refused as busy, may take over, and the first hears of it
/// and cannot write any more.
#[wasm_bindgen_test]
async fn two_connections_have_one_writer() {
    let name = fresh_name();
    let (a_options, a_events) = options(&name);
    let a = IndexedDbStore::open(a_options).await.unwrap();
    let b = open(&name).await;
    let a_lease = a.claim("s", false).await.unwrap();
    write(&a, &a_lease, vec![head(a_lease.epoch, 1), message(1, "1")])
        .await
        .unwrap();
    assert_eq!(b.claim("s", false).await.unwrap_err(), StoreError::Busy);
    let b_lease = b.claim("s", true).await.unwrap();
    assert_eq!(b_lease.epoch, a_lease.epoch + 1);
    assert_eq!(
        write(&a, &a_lease, vec![message(2, "2")]).await,
        Err(StoreError::Superseded)
    );
    write(&b, &b_lease, vec![message(2, "3")]).await.unwrap();
    assert_eq!(messages(&a).await, ["1", "3"]);
    sleep(20).await;
    assert_eq!(
        *a_events.borrow(),
        [StorageEvent::TakenOver {
            session: "s".into()
        }]
    );
    erase(&name);
}

/// A claim waits for a tab that is just closing.
#[wasm_bindgen_test]
async fn a_lock_that_is_about_to_be_free_is_waited_for() {
    let name = fresh_name();
    let (a, b) = (open(&name).await, open(&name).await);
    let lease = a.claim("s", false).await.unwrap();
    let release = async {
        sleep(100).await;
        drop(lease);
    };
    let (claimed, ()) = futures_util::join!(b.claim("s", false), release);
    assert_eq!(claimed.unwrap().epoch, 2);
    erase(&name);
}

/// Without Web Locks the epoch alone keeps the second writer out.
#[wasm_bindgen_test]
async fn without_locks_the_epoch_decides() {
    let name = fresh_name();
    let (a, b) = (open(&name).await, open(&name).await);
    let _no_locks = Patch::new(
        "const d = Object.getOwnPropertyDescriptor(Navigator.prototype, 'locks');
         Object.defineProperty(Navigator.prototype, 'locks', { value: undefined, configurable: true });
         return () => Object.defineProperty(Navigator.prototype, 'locks', d);",
    );
    let a_lease = a.claim("s", false).await.unwrap();
    assert_eq!(a.claim("s", false).await.unwrap_err(), StoreError::Busy);
    let b_lease = b.claim("s", false).await.unwrap();
    assert_eq!(
        write(&a, &a_lease, vec![message(1, "1")]).await,
        Err(StoreError::Superseded)
    );
    write(&b, &b_lease, vec![message(1, "2")]).await.unwrap();
    assert_eq!(messages(&b).await, ["2"]);
    erase(&name);
}

/// A frame that may not use locks behaves like a host without them.
#[wasm_bindgen_test]
async fn denied_locks_are_no_locks() {
    let name = fresh_name();
    let store = open(&name).await;
    let _denied = Patch::new(
        "const d = Object.getOwnPropertyDescriptor(LockManager.prototype, 'request');
         LockManager.prototype.request = () => Promise.reject(new DOMException('denied', 'SecurityError'));
         return () => Object.defineProperty(LockManager.prototype, 'request', d);",
    );
    assert_eq!(store.claim("s", false).await.unwrap().epoch, 1);
    erase(&name);
}

/// I6: a write whose future is dropped is written whole or not at all; here, not at all.
#[wasm_bindgen_test]
async fn a_dropped_write_is_undone() {
    let name = fresh_name();
    let store = open(&name).await;
    let lease = store.claim("s", false).await.unwrap();
    let _errors = Patch::new(
        "globalThis.errors = 0; const count = () => { errors += 1; }; addEventListener('error', count);
         return () => removeEventListener('error', count);",
    );
    {
        let mut writing = Box::pin(write(
            &store,
            &lease,
            vec![message(1, "1"), message(2, "2")],
        ));
        assert!(futures_util::poll!(&mut writing).is_pending());
    }
    sleep(50).await;
    assert!(messages(&store).await.is_empty());
    assert_eq!(
        global("errors").unwrap().as_f64(),
        Some(0.0),
        "no listener was called in vain"
    );
    write(&store, &lease, vec![message(1, "3")]).await.unwrap();
    assert_eq!(messages(&store).await, ["3"]);
    erase(&name);
}

/// The browser receives the durability that the caller asked for.
#[wasm_bindgen_test]
async fn durability_reaches_the_browser() {
    let name = fresh_name();
    let store = open(&name).await;
    let lease = store.claim("s", false).await.unwrap();
    let _log = Patch::new(
        "const begin = IDBDatabase.prototype.transaction; globalThis.durabilities = [];
         IDBDatabase.prototype.transaction = function (...args) {
           const transaction = begin.apply(this, args); durabilities.push(transaction.durability); return transaction; };
         return () => { IDBDatabase.prototype.transaction = begin; };",
    );
    store
        .apply(&lease, None, vec![message(1, "1")], Durability::Strict)
        .await
        .unwrap();
    store
        .apply(&lease, None, vec![message(2, "2")], Durability::Relaxed)
        .await
        .unwrap();
    let seen: js_sys::Array = global("durabilities").unwrap().unchecked_into();
    assert_eq!(seen.join(","), "strict,relaxed");
    erase(&name);
}

// ---------------------------------------------------------------------------------------------------
// Failures

/// F 83: on a full disk the requests report nothing and the transaction only aborts, so its error gives the cause.
/// Nothing is written, and the next write works.
#[wasm_bindgen_test]
async fn a_full_disk_is_a_quota_error() {
    let name = fresh_name();
    let store = open(&name).await;
    let lease = store.claim("s", false).await.unwrap();
    for (error, code) in [
        (
            "new DOMException('', 'QuotaExceededError')",
            "storage_quota",
        ),
        (
            "new DOMException('IO error: /x.log: FILE_ERROR_NO_SPACE', 'UnknownError')",
            "storage_quota",
        ),
        (
            "new DOMException('Internal error', 'UnknownError')",
            "storage_failed",
        ),
        ("null", "storage_failed"),
    ] {
        let _full = Patch::new(&format!(
            "const add = IDBObjectStore.prototype.add;
             const d = Object.getOwnPropertyDescriptor(IDBTransaction.prototype, 'error');
             IDBObjectStore.prototype.add = function (...args) {{
               const request = add.apply(this, args); setTimeout(() => {{}}, 0); this.transaction.abort(); return request; }};
             Object.defineProperty(IDBTransaction.prototype, 'error', {{ get: () => {error}, configurable: true }});
             return () => {{ IDBObjectStore.prototype.add = add;
               Object.defineProperty(IDBTransaction.prototype, 'error', d); }};"
        ));
        let got = write(&store, &lease, vec![message(1, "1")]).await;
        assert_eq!(got.unwrap_err().code(), code, "{error}");
    }
    assert!(messages(&store).await.is_empty());
    write(&store, &lease, vec![message(1, "1")]).await.unwrap();
    erase(&name);
}

/// F 83: a closed connection is opened again once, for reads and for writes, and the application hears of it.
#[wasm_bindgen_test]
async fn a_lost_connection_comes_back() {
    let name = fresh_name();
    let (options, events) = options(&name);
    let store = IndexedDbStore::open(options).await.unwrap();
    let lease = store.claim("s", false).await.unwrap();
    let database = || store.0.connection.borrow().database.clone();
    // The browser reports the loss.
    let lost = database();
    lost.dispatch_event(&Event::new("close").unwrap()).unwrap();
    write(&store, &lease, vec![message(1, "1")]).await.unwrap();
    assert_eq!(
        *events.borrow(),
        [StorageEvent::Lost, StorageEvent::Reopened]
    );
    // The browser does not report the loss.
    database().close();
    write(&store, &lease, vec![message(2, "2")]).await.unwrap();
    database().close();
    assert_eq!(messages(&store).await, ["1", "2"]);
    assert_eq!(events.borrow().len(), 4);
    erase(&name);
}

/// F 83: a connection that closes again and again is an error after the second time, without further attempts.
#[wasm_bindgen_test]
async fn a_connection_that_keeps_closing_is_an_error() {
    let name = fresh_name();
    let store = open(&name).await;
    let lease = store.claim("s", false).await.unwrap();
    {
        let _broken = Patch::new(
            "const begin = IDBDatabase.prototype.transaction; globalThis.attempts = 0;
             IDBDatabase.prototype.transaction = () => {
               attempts += 1; throw new DOMException('The database connection is closing.', 'InvalidStateError'); };
             return () => { IDBDatabase.prototype.transaction = begin; };",
        );
        let got = write(&store, &lease, vec![message(1, "1")]).await;
        assert_eq!(got.unwrap_err().code(), "storage_failed");
        assert_eq!(global("attempts").unwrap().as_f64(), Some(2.0));
    }
    write(&store, &lease, vec![message(1, "1")]).await.unwrap();
    erase(&name);
}

/// S5, F 85: a host without IndexedDB gives the error `unavailable`.
#[wasm_bindgen_test]
async fn a_host_without_a_database_is_unavailable() {
    for value in [
        "value: undefined",
        "get() { throw new DOMException('denied', 'SecurityError'); }",
    ] {
        let _none = Patch::new(&format!(
            "const owner = 'indexedDB' in globalThis && Object.hasOwn(globalThis, 'indexedDB') ? globalThis : WindowOrWorker();
             function WindowOrWorker() {{ return Object.getPrototypeOf(globalThis); }}
             const d = Object.getOwnPropertyDescriptor(globalThis, 'indexedDB');
             Object.defineProperty(globalThis, 'indexedDB', {{ {value}, configurable: true }});
             return () => {{ if (d) Object.defineProperty(globalThis, 'indexedDB', d); else delete globalThis.indexedDB; }};"
        ));
        let got = IndexedDbStore::open(options("x").0).await;
        assert_eq!(got.unwrap_err().code(), "storage_unavailable");
    }
    let _refusing = Patch::new(
        "const open = IDBFactory.prototype.open;
         IDBFactory.prototype.open = () => { throw new DOMException('denied', 'SecurityError'); };
         return () => { IDBFactory.prototype.open = open; };",
    );
    let got = IndexedDbStore::open(options("x").0).await;
    assert_eq!(got.unwrap_err().code(), "storage_unavailable");
}

/// F 86: a damaged row leaves its neighbours readable.
#[wasm_bindgen_test]
async fn a_damaged_row_is_the_empty_text() {
    let name = fresh_name();
    let store = open(&name).await;
    let lease = store.claim("s", false).await.unwrap();
    write(&store, &lease, vec![message(1, "1"), message(3, "3")])
        .await
        .unwrap();
    let database = store.0.connection.borrow().database.clone();
    let begin: Function = property(&database, "transaction").unwrap().unchecked_into();
    let transaction: IdbTransaction = begin
        .call2(&database, &"messages".into(), &"readwrite".into())
        .unwrap()
        .unchecked_into();
    let rows = transaction.object_store("messages").unwrap();
    rows.put_with_key(&JsValue::from(42), &keys::to_js(&key("s", 2)))
        .unwrap();
    rows.put_with_key(&"foreign".into(), &JsValue::from(7))
        .unwrap();
    for reading in [Reading::of_host(), Reading::Plain] {
        store.0.reading.set(reading);
        assert_eq!(messages(&store).await, ["1", "", "3"]);
        let newest = Query::Range {
            table: Table::Messages,
            prefix: vec!["s".into()],
            from: None,
            to: None,
            reverse: true,
            limit: 2,
        };
        let rows = store.read(newest).await.unwrap();
        assert_eq!(
            rows.iter()
                .map(|row| row.value.as_str())
                .collect::<Vec<_>>(),
            ["3", ""]
        );
        assert_eq!(
            store
                .read(Query::all(Table::Messages, vec![]))
                .await
                .unwrap()
                .len(),
            3
        );
    }
    erase(&name);
}

// ---------------------------------------------------------------------------------------------------
// Versions

fn add_blue(database: &IdbDatabase, _: &IdbTransaction) -> Result<(), JsValue> {
    database.create_object_store("blue").map(drop)
}

/// Copies every row of one store into another, through the upgrade's transaction.
fn fill_blue(_: &IdbDatabase, upgrade: &IdbTransaction) -> Result<(), JsValue> {
    let blue = upgrade.object_store("blue")?;
    blue.put_with_key(&"filled".into(), &JsValue::from(1))
        .map(drop)
}

fn add_green(database: &IdbDatabase, _: &IdbTransaction) -> Result<(), JsValue> {
    database.create_object_store("green").map(drop)
}

fn fail(database: &IdbDatabase, _: &IdbTransaction) -> Result<(), JsValue> {
    database.create_object_store("half")?;
    Err(JsValue::from_str("cannot"))
}

static STEPS: [Migration; 4] = [MIGRATIONS[0], add_blue, fill_blue, add_green];
static BROKEN: [Migration; 2] = [MIGRATIONS[0], fail];

fn stores(store: &IndexedDbStore) -> Vec<String> {
    let names = store.0.connection.borrow().database.object_store_names();
    (0..names.length()).filter_map(|n| names.get(n)).collect()
}

fn version(store: &IndexedDbStore) -> usize {
    store.0.connection.borrow().database.version() as usize
}

/// S5: the real schema has every table, and its version is the number of its steps.
#[wasm_bindgen_test]
async fn the_schema_has_every_table() {
    let name = fresh_name();
    let store = open(&name).await;
    let mut tables: Vec<String> = Table::ALL.map(|table| table.name().to_owned()).to_vec();
    tables.sort();
    assert_eq!(stores(&store), tables);
    assert_eq!(version(&store), MIGRATIONS.len());
    erase(&name);
}

/// S5: every earlier version is upgraded and keeps its rows.
#[wasm_bindgen_test]
async fn every_version_is_upgraded() {
    for start in 0..=STEPS.len() {
        let name = fresh_name();
        if start > 0 {
            let old = IndexedDbStore::open_with(options(&name).0, &STEPS[..start])
                .await
                .unwrap();
            let lease = old.claim("s", false).await.unwrap();
            write(&old, &lease, vec![message(1, "1")]).await.unwrap();
        }
        let new = IndexedDbStore::open_with(options(&name).0, &STEPS)
            .await
            .unwrap();
        assert_eq!(
            messages(&new).await.len(),
            usize::from(start > 0),
            "from version {start}"
        );
        let stores = stores(&new);
        assert!(
            stores.contains(&"blue".into()) && stores.contains(&"green".into()),
            "{start}: {stores:?}"
        );
        assert_eq!(stores.len(), Table::ALL.len() + 2);
        assert_eq!(version(&new), STEPS.len());
        erase(&name);
    }
}

/// S5: a step that fails changes nothing, and the old version keeps working.
#[wasm_bindgen_test]
async fn a_failed_upgrade_changes_nothing() {
    let name = fresh_name();
    let old = open(&name).await;
    let lease = old.claim("s", false).await.unwrap();
    write(&old, &lease, vec![message(1, "1")]).await.unwrap();
    drop((lease, old));
    let got = IndexedDbStore::open_with(options(&name).0, &BROKEN).await;
    assert_eq!(
        got.unwrap_err().to_string(),
        "Storage failed: migrating from version 1: Error: cannot."
    );
    let old = open(&name).await;
    assert!(!old.is_read_only());
    assert_eq!(messages(&old).await, ["1"]);
    assert_eq!(stores(&old).len(), Table::ALL.len());
    erase(&name);
}

/// S5: old code opens a newer database for reading.
#[wasm_bindgen_test]
async fn a_newer_database_is_read_only() {
    let name = fresh_name();
    let new = IndexedDbStore::open_with(options(&name).0, &STEPS)
        .await
        .unwrap();
    let lease = new.claim("s", false).await.unwrap();
    write(&new, &lease, vec![message(1, "1")]).await.unwrap();
    let old = open(&name).await;
    assert!(old.is_read_only());
    assert_eq!(messages(&old).await, ["1"]);
    assert_eq!(old.claim("t", false).await.unwrap_err(), StoreError::Newer);
    assert_eq!(
        write(&old, &lease, vec![message(2, "2")]).await,
        Err(StoreError::Newer)
    );
    assert_eq!(messages(&new).await, ["1"]);
    erase(&name);
}

/// If another tab upgrades the database, this one closes its connection, reports it, and writes no more.
#[wasm_bindgen_test]
async fn an_upgrade_elsewhere_closes_this_connection() {
    let name = fresh_name();
    let (old_options, events) = options(&name);
    let old = IndexedDbStore::open(old_options).await.unwrap();
    let lease = old.claim("s", false).await.unwrap();
    write(&old, &lease, vec![message(1, "1")]).await.unwrap();
    let (new_options, new_events) = options(&name);
    let new = IndexedDbStore::open_with(new_options, &STEPS)
        .await
        .unwrap();
    assert_eq!(messages(&new).await, ["1"]);
    assert_eq!(*events.borrow(), [StorageEvent::Upgraded]);
    assert!(new_events.borrow().is_empty());
    assert_eq!(
        write(&old, &lease, vec![message(2, "2")]).await,
        Err(StoreError::Newer)
    );
    erase(&name);
}

/// If a tab keeps its connection, the upgrade waits, reports the tab, and then returns an error instead of hanging. The
/// upgrade does not happen later.
#[wasm_bindgen_test]
async fn a_blocked_upgrade_is_an_error() {
    let name = fresh_name();
    drop(open(&name).await);
    let other = stubborn(&name).await;
    let (new_options, events) = options(&name);
    let got = IndexedDbStore::open_with(new_options, &STEPS).await;
    assert_eq!(
        got.unwrap_err().to_string(),
        "Storage failed: an older version is open in another tab; close that tab and try again."
    );
    assert_eq!(*events.borrow(), [StorageEvent::Blocked]);
    other.close();
    sleep(100).await;
    let old = open(&name).await;
    assert!(!old.is_read_only());
    assert_eq!(stores(&old).len(), Table::ALL.len());
    drop(old);
    // If the other tab closes its connection in time, the upgrade works.
    let other = stubborn(&name).await;
    let letting_go = async {
        sleep(100).await;
        other.close();
    };
    let (new_options, events) = options(&name);
    let (new, ()) = futures_util::join!(IndexedDbStore::open_with(new_options, &STEPS), letting_go);
    assert_eq!(stores(&new.unwrap()).len(), Table::ALL.len() + 2);
    assert_eq!(*events.borrow(), [StorageEvent::Blocked]);
    erase(&name);
}

/// S6: after another tab erases the database, no write of this tab brings it back.
#[wasm_bindgen_test]
async fn an_erased_database_stays_erased() {
    let name = fresh_name();
    let (options, events) = options(&name);
    let store = IndexedDbStore::open(options).await.unwrap();
    let lease = store.claim("s", false).await.unwrap();
    erase(&name);
    // A busy machine may report it late.
    for _ in 0..100 {
        if !events.borrow().is_empty() {
            break;
        }
        sleep(50).await;
    }
    assert_eq!(*events.borrow(), [StorageEvent::Deleted]);
    assert_eq!(
        write(&store, &lease, vec![message(1, "1")])
            .await
            .unwrap_err()
            .code(),
        "storage_failed"
    );
    drop(store);
    assert!(messages(&open(&name).await).await.is_empty());
    erase(&name);
}

// ---------------------------------------------------------------------------------------------------
// Size

/// O4, P7: a read of the newest of many rows reads only those.
#[wasm_bindgen_test]
async fn the_newest_of_ten_thousand_rows_are_read_alone() {
    const ROWS: u32 = 10_000;
    let name = fresh_name();
    let store = open(&name).await;
    let lease = store.claim("s", false).await.unwrap();
    let text = "x".repeat(1_000);
    for start in (0..ROWS).step_by(2_500) {
        let ops = (start..start + 2_500)
            .map(|n| message(n, &format!("\"{n} {text}\"")))
            .collect();
        write(&store, &lease, ops).await.unwrap();
    }
    let clock = crate::HostClock;
    let now = || palimpsest_engine::ports::Clock::now(&clock);
    for reading in [Reading::of_host(), Reading::Plain] {
        store.0.reading.set(reading);
        let range = |from, to, reverse, limit| Query::Range {
            table: Table::Messages,
            prefix: vec!["s".into()],
            from,
            to,
            reverse,
            limit,
        };
        let numbers = |rows: &[Row]| -> Vec<u32> {
            rows.iter()
                .map(|row| row.value[1..].split(' ').next().unwrap().parse().unwrap())
                .collect()
        };
        let begun = now();
        let all = store.read(range(None, None, false, 0)).await.unwrap();
        let whole = now() - begun;
        assert_eq!(numbers(&all), (0..ROWS).collect::<Vec<_>>());
        let begun = now();
        for _ in 0..10 {
            let newest = store.read(range(None, None, true, 50)).await.unwrap();
            assert_eq!(
                numbers(&newest),
                (ROWS - 50..ROWS).rev().collect::<Vec<_>>()
            );
        }
        let newest = (now() - begun) / 10.0;
        let middle = store
            .read(range(Some(4_000), Some(4_999), false, 7))
            .await
            .unwrap();
        assert_eq!(numbers(&middle), (4_000..4_007).collect::<Vec<_>>());
        console_log!("{reading:?}: all {ROWS} rows {whole:.0} ms, the newest 50 {newest:.1} ms");
        assert!(
            newest * 4.0 < whole,
            "{reading:?}: {newest} ms of {whole} ms"
        );
    }
    erase(&name);
}
