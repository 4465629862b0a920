//! Rows in the store: crashes, other writers, other versions, the list of sessions.

use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::Part;
use palimpsest_engine::ports::{Signal, Store, Table};
use palimpsest_engine::session::{CompactOptions, NewMessage};
use palimpsest_engine::testing::fault::{Fault, FaultStore};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, EngineError, MemoryStore, NewSession};
use palimpsest_tokens::Estimator;

use super::engine;
use crate::scene::talk;

/// An opening on a store in memory never waits.
fn block_on_now<T>(opening: impl Future<Output = Result<T, EngineError>>) -> T {
    use futures_util::FutureExt;
    opening.now_or_never().unwrap().unwrap()
}

/// I6, F 66: a crash at every step of a compaction's commit leaves the old state or the new one, and the
/// session opens again.
#[test]
fn a_crash_at_every_step_of_a_commit() {
    block_on(async {
        let mut seen = [false; 2];
        for at in 1.. {
            let memory = MemoryStore::new();
            let e = engine(Rc::new(memory.clone())).await;
            let s = e
                .create_with_id(
                    "s",
                    NewSession {
                        window: 2048,
                        ..NewSession::default()
                    },
                )
                .await
                .unwrap();
            talk(&s, 20).await;
            drop((s, e));

            let faulty = Rc::new(FaultStore::new(memory.clone()).failing_at(at, Fault::Crashes));
            if let Ok(e) =
                Engine::start(faulty.clone(), world(), Rc::new(Estimator::default())).await
                && let Ok(s) = e.open("s", true).await
            {
                // whatever it says: what counts is what the store holds
                drop(s.compact(CompactOptions::default(), Signal::never()).await);
            }

            let e = engine(Rc::new(memory.clone())).await;
            let s = e
                .open("s", true)
                .await
                .unwrap_or_else(|e| panic!("step {at}: {e}"));
            let layers = s.layers().len() as u32;
            assert_eq!(
                (s.message_count(), layers),
                (40, s.head().revision),
                "step {at}"
            );
            s.window().check_egress(&s.context()).unwrap();
            seen[layers as usize] = true;
            if !faulty.has_fired() {
                assert!(at > 8, "only {at} steps");
                break;
            }
        }
        assert_eq!(seen, [true, true], "both the old and the new state turn up");
    });
}

/// I10: every failure has a code and a sentence that says what to do.
#[test]
fn errors_speak() {
    let all = [
        EngineError::NothingToUndo,
        EngineError::NoSession("x".into()),
        EngineError::Busy("a reply"),
    ];
    for error in all {
        assert!(!error.code().is_empty());
        assert!(error.to_string().ends_with('.'), "{error}");
    }
}

/// S5: a session that another writer holds can be read along, as it stands; writing is refused.
#[test]
fn a_follower_reads_and_cannot_write() {
    block_on(async {
        let store: Rc<dyn Store> = Rc::new(MemoryStore::new());
        let (one, other) = (engine(Rc::clone(&store)).await, engine(store).await);
        let session = one.create(NewSession::default()).await.unwrap();
        talk(&session, 2).await;
        let follower = other.follow(session.id()).await.unwrap();
        assert_eq!(follower.message_count(), 4);
        assert_eq!(follower.window(), session.window());
        let refused = follower.append(NewMessage::user("hello")).await;
        assert_eq!(refused.unwrap_err().code(), "superseded");
        // the writer is not disturbed
        talk(&session, 1).await;
        assert_eq!(other.follow(session.id()).await.unwrap().message_count(), 6);
        // and can be superseded, after which the session is read anew here
        let taken = other.open(session.id(), true).await.unwrap();
        taken.append(NewMessage::user("mine now")).await.unwrap();
        let late = session.append(NewMessage::user("too late")).await;
        assert_eq!(late.unwrap_err().code(), "superseded");
        let back = one.open(session.id(), true).await.unwrap();
        assert_eq!(back.message_count(), 7);
    });
}

/// S5: rows of a newer version are shown, and never written: not even claimed; rows of an older one open as they are.
#[test]
fn a_newer_schema_opens_read_only() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let s = e
            .create(NewSession {
                window: 4096,
                ..NewSession::default()
            })
            .await
            .unwrap();
        talk(&s, 3).await;
        let (id, window) = (s.id().to_owned(), s.window());
        drop((s, e));
        let rows = store.rows();
        let with_schema = |schema: u32| {
            let rows = rows.iter().cloned().map(|(table, mut row)| {
                if table == Table::Heads {
                    row.value = row
                        .value
                        .replace("\"schema\":1", &format!("\"schema\":{schema}"));
                }
                (table, row)
            });
            Rc::new(MemoryStore::from_rows(rows))
        };
        let newer = with_schema(2);
        let before = newer.rows();
        let s = engine(newer.clone()).await.open(&id, true).await.unwrap();
        assert_eq!((s.window(), s.message_count()), (window.clone(), 6));
        assert_eq!(
            s.append(NewMessage::user("x")).await.unwrap_err().code(),
            "storage_newer"
        );
        assert_eq!(s.rename("x").await.unwrap_err().code(), "storage_newer");
        drop(s);
        let closed = engine(newer.clone()).await;
        for refused in [
            closed.rename(&id, "x").await,
            closed.pin_session(&id, true).await,
            closed.delete(&id).await,
        ] {
            assert_eq!(refused.unwrap_err().code(), "storage_newer");
        }
        assert_eq!(newer.rows(), before, "not a byte was written");
        assert!(
            closed
                .open(&id, true)
                .await
                .unwrap()
                .export(palimpsest_engine::Format::Markdown)
                .await
                .unwrap()
                .contains("config/part_0.toml")
        );
        let older = with_schema(0);
        let s = engine(older).await.open(&id, true).await.unwrap();
        assert_eq!(s.window(), window);
        s.append(NewMessage::user("It goes on.")).await.unwrap();
    });
}

/// S6: a session is renamed, pinned, deleted and brought back, doubled, branched, and erased for good; the list says so at
/// each step, and nothing else changes.
#[test]
fn sessions_are_managed() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let mut ids = Vec::new();
        for name in ["One", "Two", "Three"] {
            let s = e
                .create(NewSession {
                    title: name.into(),
                    window: 4096,
                    ..NewSession::default()
                })
                .await
                .unwrap();
            talk(&s, 2).await;
            ids.push(s.id().to_owned());
        }
        let titles = async || -> Vec<String> {
            e.sessions()
                .await
                .unwrap()
                .into_iter()
                .map(|s| s.head.title)
                .collect()
        };
        e.rename(&ids[0], " First ").await.unwrap();
        let named = e.open(&ids[0], false).await.unwrap();
        assert!(!named.propose_title("First", "Another").await.unwrap());
        let fresh = e.create(NewSession::default()).await.unwrap();
        fresh
            .append(NewMessage::user("Which bread?"))
            .await
            .unwrap();
        assert!(!fresh.propose_title("Which", "Bread").await.unwrap());
        assert!(!fresh.propose_title("Which bread?", " ").await.unwrap());
        assert!(
            fresh
                .propose_title("Which bread?", " Bread ")
                .await
                .unwrap()
        );
        assert_eq!(
            (fresh.head().title.as_str(), fresh.head().titled),
            ("Bread", false)
        );
        e.purge(fresh.id()).await.unwrap();
        e.pin_session(&ids[2], true).await.unwrap();
        assert_eq!(titles().await[0], "Three");
        let tags = ["home".to_owned(), "Baking".to_owned()];
        e.tag_session(&ids[2], &tags).await.unwrap();
        let tagged = e.sessions().await.unwrap();
        assert_eq!(tagged[0].head.tags, ["Baking", "home"]);
        assert!(titles().await.contains(&"First".to_owned()));
        e.delete(&ids[1]).await.unwrap();
        assert_eq!(titles().await.len(), 2);
        assert_eq!(e.deleted_sessions().await.unwrap()[0].head.title, "Two");
        e.undelete(&ids[1]).await.unwrap();
        let back = e.open(&ids[1], false).await.unwrap();
        assert_eq!((titles().await.len(), back.message_count()), (3, 4));

        let mut copy = back.transfer().await.unwrap();
        copy.facts.id = "copy".into();
        let copy = e
            .import(copy, palimpsest_engine::Accept::Everything)
            .await
            .unwrap();
        assert_eq!((copy.id(), copy.message_count()), ("copy", 4));
        copy.rewind_before(2).await.unwrap();
        copy.append(NewMessage::user("Another question."))
            .await
            .unwrap();
        assert_eq!((copy.message_count(), back.message_count()), (3, 4));
        assert_eq!(copy.history(None, 1)[0].branch, (2, 2));

        for id in ids.iter().map(String::as_str).chain(["copy"]) {
            e.purge(id).await.unwrap();
        }
        assert_eq!(titles().await.len(), 0);
        let left: Vec<_> = store.rows().into_iter().map(|(table, _)| table).collect();
        assert!(left.iter().all(|t| *t == Table::Meta), "{left:?}");
    });
}

/// S5, F 93: opening reads a session once: what it costs grows with its messages and with nothing else, and is printed.
#[test]
fn opening_long_sessions() {
    block_on(async {
        let mut each = Vec::new();
        for n in [5_000_u32, 50_000] {
            let store = Rc::new(MemoryStore::new());
            let e = engine(store.clone()).await;
            let s = e.create(NewSession::default()).await.unwrap();
            let id = s.id().to_owned();
            let said = (0..n).map(|n| {
                let text = format!(
                    "Message {n} says that config/part_{n}.toml sets the limit to {n} seconds."
                );
                if n % 2 == 0 {
                    NewMessage::user(text)
                } else {
                    NewMessage::assistant(vec![Part::text(text)])
                }
            });
            s.append_all(said.collect()).await.unwrap();
            drop((s, e));
            let bytes: usize = store.rows().iter().map(|(_, row)| row.value.len()).sum();
            let e = engine(store).await;
            let best = (0..3)
                .map(|_| {
                    let start = std::time::Instant::now();
                    let s = block_on_now(e.open(&id, true));
                    assert_eq!(s.message_count(), n as usize);
                    start.elapsed().as_secs_f64() * 1e6
                })
                .fold(f64::MAX, f64::min);
            println!(
                "opening {n} messages ({} KB stored): {:.1} ms",
                bytes / 1000,
                best / 1e3
            );
            each.push(best / f64::from(n));
        }
        assert!(each[1] < each[0] * 6.0, "microseconds a message: {each:?}");
    });
}
