//! The page of `tests/durability`: writes turns and commits into the real store until it is killed, and says later
//! what is left.

use js_sys::Function;
use palimpsest_browser::{HostStore, IndexedDbStore, OpenOptions, StorageHost};
use palimpsest_engine::ports::{
    Durability, Expect, Key, Lease, Op, Query, Store, StoreError, Table,
};
use palimpsest_engine::testing::contract;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;

const SESSION: &str = "s";

/// Every so many turns there is a commit of another kind.
const TURNS_PER_COMMIT: u32 = 5;

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Head {
    epoch: u32,
    version: u32,
    last_seq: u32,
    revision: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Message {
    seq: u32,
    text: String,
    sum: u32,
}

/// What is left.
#[derive(Debug, Serialize)]
struct Left {
    /// What the head says.
    head: Head,
    /// Messages that are there.
    messages: u32,
    /// Those that cannot be read, have another text than was written, or another number than their key.
    bad: u32,
    /// Numbers that are missing before the last one.
    gaps: u32,
    /// Rows of commits, of both kinds.
    revisions: u32,
    layers: u32,
    /// The epoch of the claim made now.
    epoch: u32,
}

/// Writes for ever, or until an error, which it returns as its code. `acknowledge` gets the kind and the number of
/// each write that the store has reported as done. Goes on where the last writer stopped.
#[wasm_bindgen]
pub async fn write(
    name: String,
    durability: String,
    acknowledge: Function,
) -> Result<String, JsValue> {
    match write_on(&name, &durability, &acknowledge).await {
        Ok(never) => match never {},
        Err(error) => Ok(error.code().to_owned()),
    }
}

enum Never {}

/// Runs the store contract on the browser's database: `[cases that hold, cases that do not, words]` as JSON.
#[wasm_bindgen]
pub async fn contract(name: String) -> String {
    let count = std::cell::Cell::new(0);
    let report = contract::run_all(async || {
        count.set(count.get() + 1);
        match open(&format!("{name}-{}", count.get())).await {
            Ok(store) => store,
            Err(error) => wasm_bindgen::throw_str(&error.to_string()),
        }
    })
    .await;
    json(&(report.passed.len(), report.failed.len(), report.to_string()))
}

/// Runs the store contract on storages in JavaScript, a new one from `make` for each case.
#[wasm_bindgen]
pub async fn contract_of(make: Function) -> String {
    let report = contract::run_all(async || match make.call0(&JsValue::NULL) {
        Ok(host) => HostStore::new(host.unchecked_into::<StorageHost>()),
        Err(thrown) => wasm_bindgen::throw_val(thrown),
    })
    .await;
    json(&(report.passed.len(), report.failed.len(), report.to_string()))
}

async fn write_on(
    name: &str,
    durability: &str,
    acknowledge: &Function,
) -> Result<Never, StoreError> {
    let durability = if durability == "strict" {
        Durability::Strict
    } else {
        Durability::Relaxed
    };
    let store = open(name).await?;
    let lease = store.claim(SESSION, false).await?;
    let mut head = head(&store).await?.unwrap_or_default();
    let done = |kind: &str, n: u32| {
        let _ = acknowledge.call2(&JsValue::NULL, &kind.into(), &n.into());
    };
    let apply = async |lease: &Lease, before: Head, after: Head, mut ops: Vec<Op>| {
        let version = (before.version > 0).then_some(before.version);
        ops.push(Op::Put {
            table: Table::Heads,
            key: vec![SESSION.into()],
            value: json(&after),
        });
        store
            .apply(lease, Some(Expect { version }), ops, durability)
            .await
    };
    loop {
        let partial = Op::Put {
            table: Table::Partials,
            key: vec![SESSION.into()],
            value: json(&head.last_seq),
        };
        store
            .apply(&lease, None, vec![partial], Durability::Relaxed)
            .await?;

        let seq = head.last_seq + 1;
        let turn = Head {
            epoch: lease.epoch,
            version: head.version + 1,
            last_seq: seq,
            ..head
        };
        let ops = vec![
            Op::Add {
                table: Table::Messages,
                key: key(seq),
                value: json(&message(seq)),
            },
            Op::Delete {
                table: Table::Partials,
                key: vec![SESSION.into()],
            },
        ];
        apply(&lease, head, turn, ops).await?;
        head = turn;
        done("turn", seq);

        if seq.is_multiple_of(TURNS_PER_COMMIT) {
            let n = head.revision + 1;
            let commit = Head {
                version: head.version + 1,
                revision: n,
                ..head
            };
            let add = |table| Op::Add {
                table,
                key: key(n),
                value: json(&message(n)),
            };
            apply(
                &lease,
                head,
                commit,
                vec![add(Table::Layers), add(Table::Revisions)],
            )
            .await?;
            head = commit;
            done("commit", n);
        }
    }
}

/// Says what is left, as JSON, or the code of the error.
#[wasm_bindgen]
pub async fn check(name: String) -> Result<String, JsValue> {
    match left(&name).await {
        Ok(left) => Ok(json(&left)),
        Err(error) => Err(JsValue::from_str(&error.to_string())),
    }
}

async fn left(name: &str) -> Result<Left, StoreError> {
    let store = open(name).await?;
    // not taken over: the lock of a killed page must be free by itself
    let lease = store.claim(SESSION, false).await?;
    let head = head(&store).await?.unwrap_or_default();
    let rows = store
        .read(Query::all(Table::Messages, vec![SESSION.into()]))
        .await?;
    let mut bad = 0;
    let mut gaps = 0;
    for (row, expected) in rows.iter().zip(1..) {
        let found: Option<Message> = serde_json::from_str(&row.value).ok();
        let is_good = found.is_some_and(|found| {
            let should = message(found.seq);
            row.key == key(found.seq) && found.text == should.text && found.sum == sum(&found.text)
        });
        bad += u32::from(!is_good);
        gaps += u32::from(row.key != key(expected));
    }
    let count = async |table| {
        let rows = store.read(Query::all(table, vec![SESSION.into()])).await?;
        Ok::<_, StoreError>(rows.len() as u32)
    };
    Ok(Left {
        head,
        messages: rows.len() as u32,
        bad,
        gaps,
        revisions: count(Table::Revisions).await?,
        layers: count(Table::Layers).await?,
        epoch: lease.epoch,
    })
}

async fn open(name: &str) -> Result<IndexedDbStore, StoreError> {
    IndexedDbStore::open(OpenOptions {
        name: name.to_owned(),
        ..OpenOptions::default()
    })
    .await
}

async fn head(store: &IndexedDbStore) -> Result<Option<Head>, StoreError> {
    let rows = store
        .read(Query::Get {
            table: Table::Heads,
            key: vec![SESSION.into()],
        })
        .await?;
    let parse = |text: &str| {
        serde_json::from_str(text).map_err(|error| StoreError::Corrupt(error.to_string()))
    };
    rows.first().map(|row| parse(&row.value)).transpose()
}

fn key(n: u32) -> Key {
    vec![SESSION.into(), n.into()]
}

/// About a kilobyte that depends on the number alone.
fn message(seq: u32) -> Message {
    let mut state = seq.wrapping_mul(0x9e37_79b9) | 1;
    let text: String = (0..1_000)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            char::from(b'a' + (state % 26) as u8)
        })
        .collect();
    Message {
        seq,
        sum: sum(&text),
        text,
    }
}

/// FNV-1a.
fn sum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| {
        (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
