//! Temporary sessions: everything that a session can do, and nothing of it in the store of the others.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::Part;
use palimpsest_engine::ports::Signal;
use palimpsest_engine::session::CompactOptions;
use palimpsest_engine::session::NewMessage;
use palimpsest_engine::testing::contract;
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Depth, Engine, MemoryStore, NewSession, WithTemporary, is_temporary};
use palimpsest_tokens::Estimator;

use super::scene::talk;

/// A word that is said in temporary sessions alone.
const SECRET: &str = "zanzibarian";

async fn engine(stored: &MemoryStore, temporary: &MemoryStore) -> Engine {
    let both = WithTemporary::new(Rc::new(stored.clone()), Rc::new(temporary.clone()));
    Engine::start(Rc::new(both), world(), Rc::new(Estimator::default()))
        .await
        .unwrap()
}

fn says(store: &MemoryStore, what: &str) -> bool {
    let is_said = |text: &str| text.contains(what);
    let mut rows = store.rows().into_iter();
    rows.any(|(_, row)| is_said(&row.value) || is_said(&format!("{:?}", row.key)))
}

/// Whoever reads and writes sees one store.
#[test]
fn the_two_stores_are_one() {
    let make =
        async || WithTemporary::new(Rc::new(MemoryStore::new()), Rc::new(MemoryStore::new()));
    let report = block_on(contract::run_all(make));
    assert!(report.is_ok(), "{report}");
}

/// 19.7: messages, large texts, layers, snapshots, a copy and the session that goes on from it: all in memory, none stored. What is
/// kept after all is whole, and is stored from then on.
#[test]
fn nothing_of_a_temporary_session_is_stored_until_it_is_kept() {
    block_on(async {
        let (stored, memory) = (MemoryStore::new(), MemoryStore::new());
        let engine = engine(&stored, &memory).await;
        let other = engine.create(NewSession::default()).await.unwrap();
        other.append(NewMessage::user("Hello.")).await.unwrap();
        let before = stored.rows();

        let new = NewSession {
            title: format!("The {SECRET}"),
            window: 2_048,
            ..NewSession::default()
        };
        let session = engine.create_temporary(new).await.unwrap();
        assert!(is_temporary(session.id()) && !is_temporary(other.id()));
        session
            .append(NewMessage::user(format!("My {SECRET} lives in Lund.")))
            .await
            .unwrap();
        talk(&session, 12).await;
        session
            .compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        session.snapshot(SECRET).await.unwrap();
        let log = format!("a line of the {SECRET}'s log\n").repeat(6_000);
        session
            .append(NewMessage::assistant(vec![Part::text(log)]))
            .await
            .unwrap();
        let copy = engine.duplicate(session.id(), SECRET).await.unwrap();
        let next = session.roll_over().await.unwrap();
        assert!(is_temporary(&copy) && is_temporary(next.id()));
        let all = engine.sessions().await.unwrap();
        assert_eq!(all.len(), 4);
        assert_eq!(all.iter().filter(|s| is_temporary(&s.id)).count(), 3);
        assert!(says(&memory, SECRET));
        assert_eq!(stored.rows(), before, "nothing was stored");

        let kept = engine.keep(session.id()).await.unwrap();
        assert!(!is_temporary(&kept));
        assert_eq!(engine.audit(&kept, Depth::Texts).await.unwrap().faults, []);
        let again = engine.open(&kept, false).await.unwrap();
        assert_eq!(again.window(), session.window());
        assert_eq!(again.layers(), session.layers());
        assert_eq!(again.snapshots(), session.snapshots());
        let texts = |s: &palimpsest_engine::Session| {
            let items = s.history(None, 999).into_iter();
            items.map(|item| item.message).collect::<Vec<_>>()
        };
        assert_eq!(texts(&again), texts(&session));
        engine.purge(session.id()).await.unwrap();
        again
            .append(NewMessage::user("Here I stay."))
            .await
            .unwrap();

        // another page, without what was in memory
        let later = self::engine(&stored, &MemoryStore::new()).await;
        assert_eq!(later.sessions().await.unwrap().len(), 2);
        assert_eq!(later.audit(&kept, Depth::Texts).await.unwrap().faults, []);
    });
}
