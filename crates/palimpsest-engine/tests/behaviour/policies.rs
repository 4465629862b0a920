//! Sessions under every policy: marks, references, the log, large texts.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod large;
mod marks;
mod settings;

use std::rc::Rc;

use palimpsest_core::message::{Part, Seq};
use palimpsest_engine::ports::{Query, Signal, Store, Table};
use palimpsest_engine::session::{CompactOptions, NewMessage};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, MemoryStore, NewSession, Session};
use palimpsest_tokens::Estimator;

async fn engine(store: Rc<dyn Store>) -> Engine {
    Engine::start(store, world(), Rc::new(Estimator::default()))
        .await
        .unwrap()
}

async fn create(engine: &Engine, policy: &str, window: u32) -> Session {
    let new = NewSession {
        window,
        model: "m".into(),
        system: "Be exact.".into(),
        policy: policy.into(),
        ..NewSession::default()
    };
    engine.create(new).await.unwrap()
}

/// A question, a call, its result, an answer; returns the number of the result.
async fn exchange(s: &Session, n: usize, tool: &str, text: String) -> Seq {
    s.append(NewMessage::user(format!("Step {n}, please.")))
        .await
        .unwrap();
    let call = Part::ToolCall {
        id: format!("c{n}"),
        name: tool.into(),
        arguments: format!("{{\"n\":{n}}}"),
    };
    s.append(NewMessage::assistant(vec![call])).await.unwrap();
    let result = Part::ToolResult {
        call: format!("c{n}"),
        name: None,
        text,
        error: false,
    };
    let at = s.append(NewMessage::tool(vec![result])).await.unwrap();
    let done = format!("Step {n} is done in src/part_{n}.rs.");
    s.append(NewMessage::assistant(vec![Part::text(done)]))
        .await
        .unwrap();
    at
}

fn lines(n: usize, seed: usize) -> String {
    (0..n).fold(String::new(), |t, i| {
        t + &format!(
            "line {i} of {seed} says something about part {}\n",
            i * 7 % 13
        )
    })
}

fn rows(n: usize) -> String {
    let rows: Vec<String> = (0..n)
        .map(|i| format!("{{\"id\":{i},\"name\":\"name {i}\",\"city\":\"Rome\"}}"))
        .collect();
    format!("[{}]", rows.join(","))
}

fn window_text(s: &Session) -> String {
    let window = s.window();
    let parts = window
        .messages()
        .iter()
        .flat_map(palimpsest_core::window::WindowMessage::parts);
    parts.map(Part::words).collect::<Vec<_>>().join("\n")
}

async fn tend(s: &Session) -> Option<palimpsest_engine::session::Compacted> {
    s.tend(CompactOptions::default(), Signal::never())
        .await
        .unwrap()
}

async fn blobs(store: &MemoryStore) -> usize {
    let rows = store.read(Query::all(Table::Blobs, vec![])).await.unwrap();
    let mut hashes: Vec<_> = rows.into_iter().map(|r| r.key[0].clone()).collect();
    hashes.dedup();
    hashes.len()
}
