//! Deleting deletes: a deleted session can be brought back for thirty days, then it is purged with its large texts.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::cell::Cell;
use std::rc::Rc;

use futures_executor::block_on;
use futures_util::future::join;
use palimpsest_engine::ports::{Clock, Query, Store, Table, World};
use palimpsest_engine::session::NewMessage;
use palimpsest_engine::testing::pause::{Call, PausingStore};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, MemoryStore, NewSession};
use palimpsest_tokens::Estimator;

const DAY: f64 = 86_400_000.0;

struct Calendar(Cell<f64>);

impl Clock for Calendar {
    fn now(&self) -> f64 {
        self.0.get()
    }
}

async fn scene() -> (MemoryStore, Rc<Calendar>, Engine) {
    let store = MemoryStore::new();
    let clock = Rc::new(Calendar(Cell::new(1_700_000_000_000.0)));
    let engine = on(Rc::new(store.clone()), &clock).await;
    (store, clock, engine)
}

async fn on(store: Rc<dyn Store>, clock: &Rc<Calendar>) -> Engine {
    let world = World {
        clock: clock.clone(),
        ..world()
    };
    Engine::start(store, world, Rc::new(Estimator::default()))
        .await
        .unwrap()
}

async fn session_with(engine: &Engine, id: &str, texts: &[&str]) {
    let new = NewSession {
        window: 131_072,
        ..NewSession::default()
    };
    let session = engine.create_with_id(id, new).await.unwrap();
    for text in texts {
        let long = text.repeat(40_000 / text.len());
        session.append(NewMessage::user(long)).await.unwrap();
    }
}

fn large_texts(store: &MemoryStore) -> usize {
    let rows = store.rows();
    let mut hashes: Vec<_> = rows
        .iter()
        .filter(|(table, _)| *table == Table::Blobs)
        .map(|(_, row)| row.key[0].clone())
        .collect();
    hashes.dedup();
    hashes.len()
}

/// O4, S6: a deleted session comes back within thirty days; after them it is purged, with those large texts that no
/// other session names.
#[test]
fn deleted_sessions_are_purged_after_thirty_days() {
    block_on(async {
        let (store, clock, engine) = scene().await;
        session_with(&engine, "a", &["one ", "shared "]).await;
        session_with(&engine, "b", &["shared ", "two "]).await;
        assert_eq!(large_texts(&store), 3);
        engine.delete("a").await.unwrap();
        clock.0.set(clock.0.get() + 29.9 * DAY);
        assert!(engine.purge_expired(8).await.unwrap().is_empty());
        engine.undelete("a").await.unwrap();
        assert_eq!(engine.sessions().await.unwrap().len(), 2);
        engine.delete("a").await.unwrap();
        // from the second deletion on it is thirty days again
        clock.0.set(clock.0.get() + 29.0 * DAY);
        assert!(engine.purge_expired(8).await.unwrap().is_empty());
        clock.0.set(clock.0.get() + 1.0 * DAY);
        assert_eq!(engine.purge_expired(8).await.unwrap(), ["a"]);
        assert_eq!(engine.stored_sessions().await.unwrap(), ["b"]);
        assert_eq!(large_texts(&store), 2);
        assert!(engine.deleted_sessions().await.unwrap().is_empty());
    });
}

/// O4: what is due is purged a few at a time, the oldest first, and what another tab holds is left alone.
#[test]
fn little_is_purged_at_once() {
    block_on(async {
        let (store, clock, engine) = scene().await;
        for id in ["a", "b", "c", "d"] {
            session_with(&engine, id, &[]).await;
            engine.delete(id).await.unwrap();
            clock.0.set(clock.0.get() + 1000.0);
        }
        clock.0.set(clock.0.get() + 31.0 * DAY);
        let held = store.claim("b", true).await.unwrap();
        // what waits for its tab takes no place of the others
        assert_eq!(engine.purge_expired(2).await.unwrap(), ["a", "c"]);
        drop(held);
        assert_eq!(engine.purge_expired(1).await.unwrap(), ["b"]);
        assert_eq!(engine.purge_expired(2).await.unwrap(), ["d"]);
    });
}

/// O4: a session that somebody brings back while it is about to be purged stays whole.
#[test]
fn a_session_that_is_brought_back_is_not_purged() {
    block_on(async {
        let inner = MemoryStore::new();
        let store = Rc::new(PausingStore::new(inner.clone()));
        let clock = Rc::new(Calendar(Cell::new(1_700_000_000_000.0)));
        let engine = on(store.clone(), &clock).await;
        session_with(&engine, "a", &["one "]).await;
        engine.delete("a").await.unwrap();
        clock.0.set(clock.0.get() + 31.0 * DAY);
        let other = on(Rc::new(inner.clone()), &clock).await;
        // between the look at the list and the claim
        let pause = store.pause(|call| matches!(call, Call::Claim("a")));
        let (gone, ()) = Box::pin(join(engine.purge_expired(8), async {
            pause.reached().await;
            other.undelete("a").await.unwrap();
            pause.end();
        }))
        .await;
        assert!(gone.unwrap().is_empty());
        // after the claim: who opens it with a take-over has the right to write it from then on
        engine.delete("a").await.unwrap();
        clock.0.set(clock.0.get() + 31.0 * DAY);
        let pause = store.pause(|call| {
            let query = Query::all(Table::Messages, vec!["a".into()]);
            matches!(call, Call::Read(read) if **read == query)
        });
        let (gone, ()) = Box::pin(join(engine.purge_expired(8), async {
            pause.reached().await;
            let session = Box::pin(other.open("a", true)).await.unwrap();
            other.undelete("a").await.unwrap();
            drop(session);
            pause.end();
        }))
        .await;
        assert!(gone.unwrap().is_empty());
        assert_eq!(engine.sessions().await.unwrap()[0].id, "a");
        assert_eq!(large_texts(&inner), 1);
        assert_eq!(engine.open("a", true).await.unwrap().message_count(), 1);
    });
}
