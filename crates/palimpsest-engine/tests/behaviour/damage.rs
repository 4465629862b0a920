//! One row of a session is damaged or gone: what is left opens, says what was lost, and goes on (S5, F 86).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::Part;
use palimpsest_engine::ports::{Key, KeyPart, Row, Signal, Store, Table};
use palimpsest_engine::session::{CompactOptions, NewMessage};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, Fault, Format, MemoryStore, NewSession, Session, Transfer};
use palimpsest_tokens::Estimator;

use crate::scene::talk;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Harm {
    /// One byte inside the row differs.
    Damaged,
    /// The row is no JSON any more.
    Torn,
    /// The row is not there.
    Missing,
}

async fn engine(store: &MemoryStore) -> Engine {
    let store: Rc<dyn Store> = Rc::new(store.clone());
    Engine::start(store, world(), Rc::new(Estimator::default()))
        .await
        .unwrap()
}

fn by_hand() -> CompactOptions {
    CompactOptions {
        manual: true,
        ..CompactOptions::default()
    }
}

/// A session with a row of every kind: two layers with notes, a shorter form, pins, a snapshot, a large text.
async fn scene() -> MemoryStore {
    let store = MemoryStore::new();
    let engine = engine(&store).await;
    let new = NewSession {
        title: "The limits".into(),
        window: 8192,
        system: "Be exact.".into(),
        ..NewSession::default()
    };
    let session = engine.create_with_id("s", new).await.unwrap();
    read_log(&session).await;
    for round in 0..2 {
        talk(&session, 12).await;
        session
            .pin(
                palimpsest_core::record::PinKind::Pin,
                &format!("Keep rule {round}."),
            )
            .await
            .unwrap();
        session.compact(by_hand(), Signal::never()).await.unwrap();
    }
    session.snapshot("before the end").await.unwrap();
    // the same text once more: it is shown in a shorter form
    read_log(&session).await;
    talk(&session, 2).await;
    store
}

/// A tool's result that lies beside the rows of messages.
async fn read_log(session: &Session) {
    let ask = NewMessage::user("Read the log.");
    session.append(ask).await.unwrap();
    let call = Part::ToolCall {
        id: "call_1".into(),
        name: "read_file".into(),
        arguments: "{\"path\":\"log.txt\"}".into(),
    };
    let call = NewMessage::assistant(vec![call]);
    session.append(call).await.unwrap();
    let result = Part::ToolResult {
        call: "call_1".into(),
        name: Some("read_file".into()),
        text: "12:00:01 worker 7 wrote 4096 bytes to /var/data/part.bin in 17 ms\n".repeat(600),
        error: false,
    };
    session
        .append(NewMessage::tool(vec![result]))
        .await
        .unwrap();
}

/// The rows of a table that belong to the session, or to its large texts.
fn of(store: &MemoryStore, table: Table) -> Vec<Key> {
    let rows = store.rows().into_iter();
    rows.filter(|(t, _)| *t == table)
        .map(|(_, row)| row.key)
        .collect()
}

/// The store with that row as it was harmed.
fn harmed(store: &MemoryStore, table: Table, key: &Key, harm: Harm) -> MemoryStore {
    let rows = store.rows().into_iter().filter_map(|(t, row)| {
        if (t, &row.key) != (table, key) {
            return Some((t, row));
        }
        let value = match harm {
            Harm::Missing => return None,
            Harm::Torn => row.value[..row.value.len() / 2].to_owned(),
            Harm::Damaged if t == Table::Heads => {
                row.value.replace("\"window\"", "\"wind\u{fffd}w\"")
            }
            Harm::Damaged => row.value.replacen("\"row\":", "\"row\": ", 1),
        };
        assert_ne!(value, row.value);
        Some((
            t,
            Row {
                key: row.key,
                value,
            },
        ))
    });
    MemoryStore::from_rows(rows.collect::<Vec<_>>())
}

fn value(store: &MemoryStore, table: Table, key: &Key) -> Option<String> {
    let rows = store.rows().into_iter();
    rows.filter(|(t, row)| (*t, &row.key) == (table, key))
        .map(|(_, row)| row.value)
        .next()
}

/// Everything a person does with a session, on what is left of one.
async fn lives(store: &MemoryStore, table: Table, key: &Key, harm: Harm) {
    let what = format!("{} {key:?} {harm:?}", table.name());
    let engine = engine(store).await;
    // it is listed, or listed as damaged
    let listed = engine.sessions().await.unwrap().iter().any(|s| s.id == "s");
    let damaged = engine.damaged_sessions().await.unwrap() == ["s"];
    assert!(
        listed != damaged,
        "{what}: listed {listed}, damaged {damaged}"
    );
    assert_eq!(damaged, table == Table::Heads, "{what}");
    // it can be saved before anybody writes to it
    let saved = engine.salvage("s", Format::JsonLines).await.unwrap();
    assert!(
        saved.faults.contains(&expected(table, key, harm)),
        "{what}: {:?}",
        saved.faults
    );
    let read = Transfer::read(&saved.text).unwrap();
    assert!(
        read.messages.iter().any(|m| m.words().contains("part_11")),
        "{what}"
    );
    // it opens and says what was lost
    let session = engine
        .open("s", false)
        .await
        .unwrap_or_else(|e| panic!("{what}: {e}"));
    let losses = session.losses();
    assert!(
        losses.contains(&expected(table, key, harm)),
        "{what}: {losses:?}"
    );
    let before = value(store, table, key);
    let messages = session.message_count();
    assert!(messages >= 24, "{what}: {messages} messages");
    assert_eq!(session.records().system, "Be exact.", "{what}");
    // what it shows can be sent, and more can be said
    assert!(session.window().tokens() > 0, "{what}");
    session.append(NewMessage::user("And now?")).await.unwrap();
    session
        .append(NewMessage::assistant(vec![Part::text("Now we go on.")]))
        .await
        .unwrap();
    talk(&session, 10).await;
    session
        .pin(palimpsest_core::record::PinKind::Pin, "A later line.")
        .await
        .unwrap_or_else(|e| panic!("{what}: {e}"));
    session
        .compact(by_hand(), Signal::never())
        .await
        .unwrap_or_else(|e| panic!("{what}: {e}"));
    session.snapshot("later").await.unwrap();
    let _ = session.undo().await;
    session.export(Format::JsonLines).await.unwrap();
    session.log().await.unwrap();
    let window = session.window();
    drop((session, engine));
    // nobody wrote over what could not be read
    if table != Table::Heads {
        assert_eq!(value(store, table, key), before, "{what}");
    }
    let engine = self::engine(store).await;
    let session = engine.open("s", false).await.unwrap();
    assert_eq!(session.window(), window, "{what}");
    drop((session, engine));
    // it is renamed, pinned, deleted, brought back, purged
    let engine = self::engine(store).await;
    engine.rename("s", "Another").await.unwrap();
    engine.pin_session("s", true).await.unwrap();
    engine.delete("s").await.unwrap();
    engine.undelete("s").await.unwrap();
    engine.delete("s").await.unwrap();
    assert_eq!(engine.deleted_sessions().await.unwrap().len(), 1, "{what}");
    engine.purge("s").await.unwrap();
    assert_eq!(engine.stored_sessions().await.unwrap().len(), 0, "{what}");
    let own = |row: &Row| row.key.first() == Some(&KeyPart::from("s"));
    assert!(!store.rows().iter().any(|(_, row)| own(row)), "{what}");
}

fn expected(table: Table, key: &Key, harm: Harm) -> Fault {
    let n = match key.get(1) {
        Some(KeyPart::Number(n)) => *n,
        _ => 0,
    };
    match (table, harm) {
        (Table::Heads, _) => Fault::Head,
        // of all large texts only that of the tool's results is in this scene
        (Table::Blobs, _) => Fault::Text { seq: 2 },
        (Table::Messages, Harm::Missing) => Fault::Gap { from: n, to: n },
        (_, Harm::Missing) => Fault::Missing { table, n },
        _ => Fault::Damaged { table, n },
    }
}

/// S5, F 86: whatever row of a session is damaged or gone, it opens with what is left, names the loss, is written on,
/// compacted, saved, deleted and purged; and nothing that cannot be read is written over.
#[test]
fn any_one_row_may_be_lost() {
    block_on(async {
        let store = scene().await;
        for table in [
            Table::Messages,
            Table::Layers,
            Table::Notes,
            Table::Renditions,
            Table::Revisions,
            Table::Records,
            Table::Snapshots,
            Table::Heads,
            Table::Blobs,
        ] {
            let keys = of(&store, table);
            assert!(!keys.is_empty(), "the scene has no row of {}", table.name());
            // the newest is what is shown; of messages also one in the middle
            let newest = keys.len() - 1;
            let some = if table == Table::Messages {
                vec![newest, newest / 2]
            } else {
                vec![newest]
            };
            for at in some {
                for harm in [Harm::Damaged, Harm::Torn, Harm::Missing] {
                    if table == Table::Snapshots && harm == Harm::Missing {
                        // nothing names a snapshot
                        continue;
                    }
                    let store = harmed(&store, table, &keys[at], harm);
                    lives(&store, table, &keys[at], harm).await;
                }
            }
        }
    });
}

/// S5: renaming, pinning and deleting read nothing of a session but its head.
#[test]
fn a_list_edits_heads_only() {
    block_on(async {
        let store = scene().await;
        let heads_only: Vec<(Table, Row)> = store
            .rows()
            .into_iter()
            .filter(|(table, _)| matches!(table, Table::Heads | Table::Meta))
            .collect();
        let store = MemoryStore::from_rows(heads_only);
        let engine = engine(&store).await;
        engine.rename("s", "Renamed").await.unwrap();
        engine.pin_session("s", true).await.unwrap();
        engine.delete("s").await.unwrap();
        let deleted = engine.deleted_sessions().await.unwrap();
        assert_eq!(deleted[0].head.title, "Renamed");
        assert!(deleted[0].head.pinned);
    });
}
