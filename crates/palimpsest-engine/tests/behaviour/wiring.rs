//! Goals, proposals, modes, skills, our own tools, right of way, snapshots, rollover, settings: a session from the
//! outside.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at the first surprise and prints what it measured"
)]

mod markers;
mod rollover;
mod storing;
mod waiting;

use std::cell::RefCell;
use std::rc::Rc;

use palimpsest_core::request::ChatRequest;
use palimpsest_engine::ports::Signal;
use palimpsest_engine::session::{CompactOptions, Compacted};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, Event, MemoryStore, NewSession, Session};
use palimpsest_tokens::Estimator;

async fn session(window: u32) -> (Rc<MemoryStore>, Engine, Session) {
    let store = Rc::new(MemoryStore::new());
    let engine = reopen(&store).await;
    let new = NewSession {
        window,
        model: "m".into(),
        system: "Be exact.".into(),
        ..NewSession::default()
    };
    let session = engine.create(new).await.unwrap();
    (store, engine, session)
}

async fn reopen(store: &Rc<MemoryStore>) -> Engine {
    Engine::start(store.clone(), world(), Rc::new(Estimator::default()))
        .await
        .unwrap()
}

fn manual(model: &ScriptedModel) -> CompactOptions {
    CompactOptions {
        model: Some(Rc::new(model.clone())),
        manual: true,
        ..CompactOptions::default()
    }
}

async fn compact(session: &Session, model: &ScriptedModel) -> Compacted {
    session
        .compact(manual(model), Signal::never())
        .await
        .unwrap()
}

fn record(session: &Session) -> Rc<RefCell<Vec<Event>>> {
    let events = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&events);
    session.on(move |e| log.borrow_mut().push(e.clone()));
    events
}

fn system_of(request: &ChatRequest) -> &str {
    request.messages[0].parts[0].words()
}

/// The nonce of a summary request, as an honest model copies it.
fn nonce(request: &ChatRequest) -> String {
    let prompt = request.messages[1].parts[0].words();
    let at = prompt.find("<<pal:").unwrap() + "<<pal:".len();
    prompt[at..at + 16].to_owned()
}

const SUMMARY: &str = "- The user asks what each config/part file sets; each sets a limit in seconds.\n- A restart is needed after each change.";

/// A summariser that writes notes and these marker lines between this job's fences.
fn marking(lines: &'static str) -> ScriptedModel {
    ScriptedModel::new([Answer::text("Yes.")], move |request| {
        let nonce = nonce(request);
        Answer::text(&format!(
            "{SUMMARY}\n<<pal:{nonce}:goal>>\n{lines}\n<<pal:{nonce}:end>>"
        ))
    })
}
