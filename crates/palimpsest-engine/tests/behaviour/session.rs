//! A session from the outside, on the store in memory.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise and prints what it measured"
)]

mod keeping;
mod sending;
mod undoing;
mod window;

use std::rc::Rc;

use palimpsest_engine::ports::Store;
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, MemoryStore, NewSession, Session};
use palimpsest_tokens::Estimator;

async fn engine(store: Rc<dyn Store>) -> Engine {
    Engine::start(store, world(), Rc::new(Estimator::default()))
        .await
        .unwrap()
}

async fn session(window: u32) -> (Engine, Session) {
    let engine = engine(Rc::new(MemoryStore::new())).await;
    let new = NewSession {
        window,
        model: "m".into(),
        system: "Be exact.".into(),
        ..NewSession::default()
    };
    let session = engine.create(new).await.unwrap();
    (engine, session)
}
