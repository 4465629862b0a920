//! Bad input and bad moments for a session: errors have codes, nothing is half done.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::cell::Cell;
use std::rc::Rc;

use futures_executor::block_on;
use futures_util::future::join;
use palimpsest_core::message::{Message, Part};
use palimpsest_core::record::PinKind;
use palimpsest_engine::ports::{Clock, Durability, Key, Op, Query, Signal, Store, Table, World};
use palimpsest_engine::session::{CompactOptions, IfOver, NewMessage, NextJob};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, EngineError, Format, MemoryStore, NewSession, Session, Transfer};
use palimpsest_tokens::Estimator;

async fn engine(store: &Rc<MemoryStore>, world: World) -> Engine {
    Engine::start(store.clone(), world, Rc::new(Estimator::default()))
        .await
        .unwrap()
}

async fn session() -> (Rc<MemoryStore>, Engine, Session) {
    let store = Rc::new(MemoryStore::new());
    let engine = engine(&store, world()).await;
    let new = NewSession {
        window: 4096,
        ..NewSession::default()
    };
    let session = engine.create(new).await.unwrap();
    (store, engine, session)
}

async fn talk(session: &Session, turns: usize) {
    for n in 0..turns {
        let question = format!("Question {n} about config/part_{n}.toml?");
        session.append(NewMessage::user(question)).await.unwrap();
        let text = format!("It sets the limit to {n} seconds; a restart is needed. ").repeat(4);
        session
            .append(NewMessage::assistant(vec![Part::text(text)]))
            .await
            .unwrap();
    }
}

fn manual() -> CompactOptions {
    CompactOptions {
        manual: true,
        ..CompactOptions::default()
    }
}

/// B5, F 5, 39: a user's message that fits no window is refused before it is stored, with sizes; with a smaller window
/// chosen afterwards the next message compacts first and fits.
#[test]
fn messages_and_windows_that_do_not_fit() {
    block_on(async {
        let (_, _, s) = session().await;
        let error = s
            .append(NewMessage::user("word ".repeat(20_000)))
            .await
            .unwrap_err();
        assert_eq!(error.code(), "message_too_large");
        assert!(error.to_string().contains("only"));
        assert_eq!(s.message_count(), 0);
        talk(&s, 25).await;
        s.set_model("m", 2048, "balanced", false).await.unwrap();
        assert!(s.budget().over > 0);
        s.compact(manual(), Signal::never()).await.unwrap();
        assert_eq!(s.budget().over, 0);
        assert_eq!(
            s.set_model("m", 3, "balanced", false)
                .await
                .unwrap_err()
                .code(),
            "invalid_window"
        );
        assert_eq!(
            s.set_model("m", 4096, "best", false)
                .await
                .unwrap_err()
                .code(),
            "unknown_policy"
        );
        assert_eq!(s.head().window, 2048);
    });
}

/// I6, F 16–18: an identifier that is taken makes no second session; odd identifiers are only names.
#[test]
fn odd_identifiers() {
    block_on(async {
        let (_, engine, s) = session().await;
        talk(&s, 1).await;
        let again = engine.create_with_id(s.id(), NewSession::default()).await;
        assert!(again.is_err());
        assert_eq!(s.message_count(), 2);
        for id in ["__proto__", "constructor", "a/b", "\u{0}", "日本"] {
            let odd = engine
                .create_with_id(id, NewSession::default())
                .await
                .unwrap();
            odd.append(NewMessage::user("Hello.")).await.unwrap();
            assert_eq!(
                engine.open(id, false).await.unwrap().message_count(),
                1,
                "{id:?}"
            );
        }
        assert_eq!(engine.sessions().await.unwrap().len(), 6);
        assert_eq!(
            engine.open("nobody", false).await.unwrap_err().code(),
            "no_session"
        );
    });
}

struct Backwards(Cell<f64>);

impl Clock for Backwards {
    fn now(&self) -> f64 {
        self.0.set(self.0.get() - 31_536_000_000.0);
        self.0.get()
    }
}

/// S4, F 20: a clock that jumps back a year at each look orders nothing: messages stay in order, the newest snapshots stay.
#[test]
fn a_clock_that_jumps_back() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let world = World {
            clock: Rc::new(Backwards(Cell::new(1.8e12))),
            ..world()
        };
        let engine = engine(&store, world).await;
        let s = engine
            .create(NewSession {
                window: 4096,
                ..NewSession::default()
            })
            .await
            .unwrap();
        for _ in 0..8 {
            talk(&s, 12).await;
            s.compact(manual(), Signal::never()).await.unwrap();
        }
        let seqs: Vec<u32> = s
            .history(None, usize::MAX)
            .iter()
            .map(|i| i.message.seq)
            .collect();
        assert!(seqs.windows(2).all(|w| w[0] < w[1]));
        let numbers: Vec<u32> = s.snapshots().iter().map(|x| x.n).collect();
        assert_eq!(numbers.len(), 5);
        assert_eq!(*numbers.last().unwrap(), s.head().snapshots);
    });
}

/// I6, I9, F 63–65, 67: what the user does while a summary is written is not lost; two runs at once make one commit each
/// at most; a restore meanwhile makes the run's result worthless, and it is not committed.
#[test]
fn bad_moments() {
    block_on(async {
        let (_, _, s) = session().await;
        s.begin_goal("First").await.unwrap();
        talk(&s, 25).await;
        let early = s.snapshot("early").await.unwrap();
        let job = s.next_job(true).job().unwrap();
        s.begin_goal("Second").await.unwrap();
        s.pin(PinKind::Pin, "Kept.").await.unwrap();
        let text = "- Each part file sets a limit in seconds. A restart is needed.";
        s.complete_job(job.id, Some(text.into()))
            .await
            .unwrap()
            .unwrap();
        let records = s.records();
        assert_eq!(records.goal.unwrap().description, "Second");
        assert!(records.pins.iter().any(|p| p.text == "Kept."));

        talk(&s, 12).await;
        let (a, b) = join(
            Box::pin(s.compact(manual(), Signal::never())),
            Box::pin(s.compact(manual(), Signal::never())),
        )
        .await;
        assert!(a.is_ok());
        assert!(
            b.is_ok() || matches!(b, Err(EngineError::Refused(_))),
            "{b:?}"
        );

        talk(&s, 12).await;
        let job = s.next_job(true).job().unwrap();
        s.restore(early).await.unwrap();
        let window = s.window();
        let mut late = s.complete_job(job.id, Some(text.into())).await;
        while matches!(late, Ok(None)) {
            let job = s.next_job(true).job().unwrap();
            late = s.complete_job(job.id, None).await;
        }
        assert_eq!(late.unwrap_err().code(), "busy");
        assert_eq!(s.window(), window);
        assert_eq!(
            s.complete_job(99, None).await.unwrap_err().code(),
            "not_found"
        );
    });
}

/// S4, F 68, 69: restoring twice is restoring once; one whose rows are gone or damaged is refused and changes nothing,
/// the others still work.
#[test]
fn damaged_snapshots() {
    block_on(async {
        let (store, engine, s) = session().await;
        talk(&s, 25).await;
        s.compact(manual(), Signal::never()).await.unwrap();
        let good = s.snapshot("good").await.unwrap();
        let window = s.window();
        talk(&s, 12).await;
        s.compact(manual(), Signal::never()).await.unwrap();
        let bad = s.snapshot("bad").await.unwrap();
        let revision = s.head().revision;
        s.restore(good).await.unwrap();
        s.restore(good).await.unwrap();
        assert_eq!(s.window(), window);
        let id = s.id().to_owned();
        drop((s, engine));
        let lease = store.claim(&id, true).await.unwrap();
        let key: Key = vec![id.as_str().into(), revision.into()];
        let damage = Op::Put {
            table: Table::Revisions,
            key,
            value: "{\"crc\":1,\"row\":{}}".into(),
        };
        store
            .apply(&lease, None, vec![damage], Durability::Strict)
            .await
            .unwrap();
        let engine = self::engine(&store, world()).await;
        let s = engine.open(&id, true).await.unwrap();
        assert_eq!(s.restore(bad).await.unwrap_err().code(), "storage_corrupt");
        assert_eq!(s.window(), window);
        s.restore(good).await.unwrap();
        s.delete_snapshot(bad).await.unwrap();
        assert_eq!(
            s.delete_snapshot(bad).await.unwrap_err().code(),
            "not_found"
        );
    });
}

/// S5, F 86: one damaged message leaves a marked gap; the rest opens.
#[test]
fn a_damaged_message_is_a_gap() {
    block_on(async {
        let (store, engine, s) = session().await;
        talk(&s, 10).await;
        let id = s.id().to_owned();
        drop((s, engine));
        let rows = store
            .read(Query::Get {
                table: Table::Messages,
                key: vec![id.as_str().into(), 19u32.into()],
            })
            .await
            .unwrap();
        let lease = store.claim(&id, true).await.unwrap();
        let damage = Op::Put {
            table: Table::Messages,
            key: vec![id.as_str().into(), 19u32.into()],
            value: rows[0].value.replace("restart", "rEstart"),
        };
        store
            .apply(&lease, None, vec![damage], Durability::Strict)
            .await
            .unwrap();
        let engine = self::engine(&store, world()).await;
        let s = engine.open(&id, true).await.unwrap();
        let items = s.history(None, usize::MAX);
        let last = items.last().unwrap();
        assert!(last.message.words().contains("cannot be read"));
    });
}

/// S3, F 89: an export is of one moment, whatever is written meanwhile.
#[test]
fn an_export_is_of_one_moment() {
    block_on(async {
        let (_, _, s) = session().await;
        talk(&s, 25).await;
        let writing = async {
            talk(&s, 5).await;
            s.compact(manual(), Signal::never()).await.unwrap();
        };
        let (file, ()) = join(Box::pin(s.export(Format::JsonLines)), Box::pin(writing)).await;
        let read = Transfer::read(&file.unwrap()).unwrap();
        let messages: Vec<&Message> = read.messages.iter().collect();
        assert_eq!(read.facts.tip, messages.last().map(|m| m.seq));
        let named = read
            .view
            .as_ref()
            .map(|v| v.layers.clone())
            .unwrap_or_default();
        assert!(named.iter().all(|n| read.layers.iter().any(|l| l.id == *n)));
    });
}

/// P10: undo, lift and skip where there is nothing to undo, lift or skip.
#[test]
fn nothing_there() {
    block_on(async {
        let (_, _, s) = session().await;
        assert_eq!(s.undo().await.unwrap_err().code(), "nothing_to_undo");
        assert_eq!(
            s.undo_with(IfOver::Show).await.unwrap_err().code(),
            "nothing_to_undo"
        );
        assert_eq!(s.lift(1).await.unwrap_err().code(), "not_found");
        s.skip_wait();
        s.cancel_compaction();
        s.stop();
        assert_eq!(s.next_job(false), NextJob::NotDue);
        assert_eq!(s.preview(None).unwrap_err().code(), "nothing_to_compress");
        assert_eq!(s.accept_proposal(1).await.unwrap_err().code(), "not_found");
        assert_eq!(
            s.pin_snapshot(1, true).await.unwrap_err().code(),
            "not_found"
        );
    });
}
