//! What a list of sessions knows of each, and what reading one back finds.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::{Part, Role};
use palimpsest_engine::ports::{Durability, Key, KeyPart, Op, Query, Signal, Store, Table};
use palimpsest_engine::session::{CompactOptions, IfOver, NewMessage, Session};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Audit, Depth, Engine, Fault, MemoryStore, NewSession};
use palimpsest_tokens::Estimator;

use super::scene::talk;

async fn engine(store: Rc<dyn Store>) -> Engine {
    Engine::start(store, world(), Rc::new(Estimator::default()))
        .await
        .unwrap()
}

async fn compact(session: &Session) {
    let options = CompactOptions {
        manual: true,
        ..CompactOptions::default()
    };
    session.compact(options, Signal::never()).await.unwrap();
}

/// A session that was compacted, undone, restored, branched, and holds a large text; and one that goes on from it.
async fn eventful(engine: &Engine) -> Session {
    let new = NewSession {
        window: 4096,
        system: "Be exact.".into(),
        ..NewSession::default()
    };
    let s = engine.create(new).await.unwrap();
    talk(&s, 20).await;
    s.snapshot("early").await.unwrap();
    compact(&s).await;
    talk(&s, 14).await;
    compact(&s).await;
    s.undo_with(IfOver::Show).await.unwrap();
    compact(&s).await;
    let large = NewMessage::assistant(vec![Part::text("word ".repeat(9_000))]);
    s.append(large).await.unwrap();
    s.restore(1).await.unwrap();
    s.append(NewMessage::user("Another way.")).await.unwrap();
    s
}

/// S5: a session that is as it was written is read back without a fault, whatever happened to it; its sizes are those
/// of its rows.
#[test]
fn what_was_written_is_there() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let s = eventful(&e).await;
        let next = s.roll_over().await.unwrap();
        for id in [s.id(), next.id()] {
            let audit = e.audit(id, Depth::Texts).await.unwrap();
            assert_eq!(audit.faults, []);
            let mut bytes = 0;
            let mut rows = 0;
            for table in Table::ALL {
                let all = store
                    .read(Query::all(table, vec![id.into()]))
                    .await
                    .unwrap();
                rows += all.len() as u32;
                bytes += all.iter().map(|r| r.value.len() as u64).sum::<u64>();
            }
            let large = if id == s.id() { 45_000 } else { 0 };
            assert_eq!((audit.rows, audit.taken.all()), (rows, bytes + large));
        }
        let audit = e.audit(s.id(), Depth::Rows).await.unwrap();
        assert_eq!(audit.messages, s.head().last_seq.unwrap() + 1);
        assert!(audit.taken.messages > 45_000 && audit.taken.snapshots > 0);
        assert!(audit.taken.layers > 0 && audit.taken.tools == 0);
        let mut ids = vec![s.id().to_owned(), next.id().to_owned()];
        ids.sort();
        assert_eq!(e.stored_sessions().await.unwrap(), ids);
    });
}

async fn row(store: &MemoryStore, table: Table, id: &str, n: u32) -> String {
    let key: Key = vec![id.into(), n.into()];
    let rows = store.read(Query::Get { table, key }).await.unwrap();
    rows[0].value.clone()
}

/// S5: each kind of damage is found and named: a row that was altered, one that is gone, a large text that is another.
#[test]
fn damage_is_named() {
    let check =
        |what: &str, damage: fn(String, String) -> Op, table: Table, n: u32, expected: &[Fault]| {
            block_on(async {
                let store = Rc::new(MemoryStore::new());
                let e = engine(store.clone()).await;
                let s = eventful(&e).await;
                let id = s.id().to_owned();
                drop(s);
                let lease = store.claim(&id, true).await.unwrap();
                let value = if table == Table::Blobs || table == Table::Heads {
                    let prefix = if table == Table::Heads {
                        vec![id.as_str().into()]
                    } else {
                        vec![]
                    };
                    let rows = store.read(Query::all(table, prefix)).await.unwrap();
                    match (&rows[0].key[0], table) {
                        (KeyPart::Text(hash), Table::Blobs) => hash.clone(),
                        _ => rows[0].value.clone(),
                    }
                } else {
                    row(&store, table, &id, n).await
                };
                let op = damage(id.clone(), value);
                store
                    .apply(&lease, None, vec![op], Durability::Strict)
                    .await
                    .unwrap();
                let Audit { faults, .. } = e.audit(&id, Depth::Texts).await.unwrap();
                assert_eq!(faults, expected, "{what}");
            });
        };
    check(
        "an altered message",
        |id, value| Op::Put {
            table: Table::Messages,
            key: vec![id.as_str().into(), 3u32.into()],
            value: value.replace("seconds", "minutes"),
        },
        Table::Messages,
        3,
        &[Fault::Damaged {
            table: Table::Messages,
            n: 3,
        }],
    );
    check(
        "a message that is gone",
        |id, _| Op::Delete {
            table: Table::Messages,
            key: vec![id.as_str().into(), 3u32.into()],
        },
        Table::Messages,
        3,
        &[
            Fault::Gap { from: 3, to: 3 },
            Fault::Broken { seq: 4 },
            Fault::Path,
        ],
    );
    check(
        "the last message is gone",
        |id, _| Op::Delete {
            table: Table::Messages,
            key: vec![id.as_str().into(), 69u32.into()],
        },
        Table::Messages,
        69,
        &[Fault::Gap { from: 69, to: 69 }, Fault::Path],
    );
    check(
        "a layer that is gone",
        |id, _| Op::Delete {
            table: Table::Layers,
            key: vec![id.as_str().into(), 1u32.into()],
        },
        Table::Layers,
        1,
        &[Fault::Missing {
            table: Table::Layers,
            n: 1,
        }],
    );
    check(
        "a revision that is gone",
        |id, _| Op::Delete {
            table: Table::Revisions,
            key: vec![id.as_str().into(), 1u32.into()],
        },
        Table::Revisions,
        1,
        &[Fault::Missing {
            table: Table::Revisions,
            n: 1,
        }],
    );
    check(
        "a large text that is gone",
        |_, hash| Op::DeletePrefix {
            table: Table::Blobs,
            prefix: vec![KeyPart::Text(hash)],
        },
        Table::Blobs,
        0,
        &[Fault::Text { seq: 68 }],
    );
    check(
        "a large text whose first piece is another",
        |_, hash| Op::Put {
            table: Table::Blobs,
            key: vec![KeyPart::Text(hash), 0u32.into()],
            value: palimpsest_engine::rows::seal(&"other ".repeat(5_461)).unwrap(),
        },
        Table::Blobs,
        0,
        &[Fault::Text { seq: 68 }],
    );
    check(
        "a head of a newer version",
        |id, value| Op::Put {
            table: Table::Heads,
            key: vec![id.as_str().into()],
            value: value.replace("\"schema\":1", "\"schema\":99"),
        },
        Table::Heads,
        0,
        &[Fault::Newer],
    );
    check(
        "a head that cannot be read",
        |id, value| Op::Put {
            table: Table::Heads,
            key: vec![id.as_str().into()],
            value: value.replace("\"schema\":1", "\"schema\":\"one\""),
        },
        Table::Heads,
        0,
        &[Fault::Head],
    );
}

/// S5: a layer whose ranges reach past what was said is named, although its checksum is right.
#[test]
fn ranges_lie_within_what_was_said() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let s = eventful(&e).await;
        let id = s.id().to_owned();
        let mut layer = (*s.layer(1).await.unwrap()).clone();
        layer.covers[0].to = 4_000;
        drop(s);
        let lease = store.claim(&id, true).await.unwrap();
        let op = Op::Put {
            table: Table::Layers,
            key: vec![id.as_str().into(), 1u32.into()],
            value: palimpsest_engine::rows::seal(&layer).unwrap(),
        };
        store
            .apply(&lease, None, vec![op], Durability::Strict)
            .await
            .unwrap();
        let audit = e.audit(&id, Depth::Rows).await.unwrap();
        assert_eq!(audit.faults, [Fault::Range { layer: 1 }]);
    });
}

/// S6: the list knows each window's parts, layers and badge from the head alone, as the session itself has them; a head
/// stays under 1 KB, and one of an older version is read.
#[test]
fn the_list_knows_each_window() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let s = eventful(&e).await;
        let check = async |what: &str| {
            let listed = e.sessions().await.unwrap();
            let glance = listed[0].head.glance.clone().unwrap();
            let budget = s.budget();
            assert_eq!(glance.tokens(), budget.used.tokens, "{what}");
            assert_eq!(glance.layers as usize, s.layers().len(), "{what}");
            let shares = listed[0].head.shares().unwrap();
            let of = (shares.window, shares.reserve, shares.margin, shares.limit);
            assert_eq!(
                of,
                (budget.window, budget.reserve, budget.margin, budget.limit),
                "{what}"
            );
            let (now, then) = (s.reliability(), glance.reliability());
            assert_eq!(
                (then.percent, then.level),
                (now.percent, now.level),
                "{what}"
            );
            glance
        };
        let before = check("after a restore and a message").await;
        s.append(NewMessage {
            role: Role::Tool,
            ..NewMessage::assistant(vec![Part::ToolResult {
                call: "c".into(),
                name: None,
                text: "204 degrees".into(),
                error: false,
            }])
        })
        .await
        .unwrap();
        let after = e.sessions().await.unwrap()[0].head.glance.clone().unwrap();
        assert!(after.parts.tool > before.parts.tool);
        assert_eq!(after.parts.assistant, before.parts.assistant);
        talk(&s, 10).await;
        compact(&s).await;
        let compacted = check("after a compaction").await;
        assert!(compacted.layers > before.layers && compacted.parts.fresh > 0);
        s.undo_with(IfOver::Show).await.unwrap();
        check("after an undo").await;
        let rows = store.read(Query::all(Table::Heads, vec![])).await.unwrap();
        assert!(rows[0].value.len() < 1_024, "{}", rows[0].value);
        let start = rows[0].value.find(",\"glance\"").unwrap();
        let old = format!("{}}}", &rows[0].value[..start]);
        let old: palimpsest_engine::Head = serde_json::from_str(&old).unwrap();
        assert_eq!(old.glance, None);
        // the parts are stored as they always were: ten numbers in window order
        let row = r#"{"parts":[1,2,3,4,5,6,7,8,9,10],"layers":3,"compactions":4,"kept":0.5}"#;
        let read: palimpsest_engine::Glance = serde_json::from_str(row).unwrap();
        let parts = palimpsest_engine::Parts {
            system: 1,
            goal: 2,
            ancient: 3,
            old: 4,
            aged: 5,
            fresh: 6,
            recalled: 7,
            user: 8,
            assistant: 9,
            tool: 10,
        };
        assert_eq!((read.parts, read.tokens()), (parts, 55));
        assert_eq!(serde_json::to_string(&read).unwrap(), row);
    });
}

/// S4: an automatic snapshot names the layer it was taken before; going back under a name keeps the present for good;
/// what is newer is counted on the path, not by numbers.
#[test]
fn going_back_under_a_name() {
    block_on(async {
        let e = engine(Rc::new(MemoryStore::new())).await;
        let s = eventful(&e).await;
        for layer in s.snapshots().iter().filter_map(|n| n.before) {
            assert!((1..=3).contains(&layer), "{layer}");
        }
        talk(&s, 20).await;
        compact(&s).await;
        let taken = s.snapshots().last().unwrap().clone();
        let written = s.layers().last().unwrap().number;
        assert_eq!(taken.before, Some(written));
        // 40 messages up to the snapshot; after it one of the other way and 40 more
        let early = s
            .snapshots()
            .iter()
            .find(|n| n.name == "early")
            .unwrap()
            .clone();
        let back = s.look_back(early.tip, 2);
        assert_eq!(back.newer, 41);
        let words: Vec<String> = back.last.iter().map(|m| m.words()).collect();
        assert!(words[0].starts_with("Question 19") && words[1].starts_with("It sets the limit"));
        s.restore_as(early.n, " the other way ").await.unwrap();
        let present = s.snapshots().last().unwrap().clone();
        assert_eq!(
            (present.name.as_str(), present.messages),
            ("the other way", 81)
        );
        assert_eq!(s.message_count(), 40);
        // from there, what is newer than the present are no messages, although their numbers are higher
        assert_eq!(s.look_back(present.tip, 1).newer, 0);
        for _ in 0..7 {
            talk(&s, 14).await;
            compact(&s).await;
        }
        assert!(s.snapshots().iter().any(|n| n.name == "the other way"));
        s.restore(present.n).await.unwrap();
        assert_eq!(s.message_count(), 81);
    });
}

/// S5: what was said before a damaged or lost message is still there, in its order; the place is marked, and a session
/// whose last message is lost goes on.
#[test]
fn the_path_goes_on_past_a_gap() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let s = e.create(NewSession::default()).await.unwrap();
        talk(&s, 6).await;
        let id = s.id().to_owned();
        drop(s);
        let lease = store.claim(&id, true).await.unwrap();
        let key = |n: u32| -> Key { vec![id.as_str().into(), n.into()] };
        let altered = row(&store, Table::Messages, &id, 3).await;
        let table = Table::Messages;
        let mut ops: Vec<Op> = [6, 7, 11].map(|n| Op::Delete { table, key: key(n) }).into();
        ops.push(Op::Put {
            table,
            key: key(3),
            value: altered.replace("seconds", "minutes"),
        });
        store
            .apply(&lease, None, ops, Durability::Strict)
            .await
            .unwrap();
        drop(lease);
        let s = engine(store).await.open(&id, true).await.unwrap();
        let said: Vec<(u32, bool)> = s
            .history(None, 99)
            .iter()
            .map(|i| {
                let gap = i
                    .message
                    .words()
                    .starts_with("[This message cannot be read");
                (i.message.seq, gap)
            })
            .collect();
        let expected: Vec<(u32, bool)> = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11]
            .map(|n| (n, matches!(n, 3 | 7 | 11)))
            .into();
        assert_eq!(said, expected);
        s.append(NewMessage::user("And now?")).await.unwrap();
        assert_eq!(s.history(None, 99).len(), 12);
    });
}
