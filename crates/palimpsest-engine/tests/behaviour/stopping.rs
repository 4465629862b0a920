//! Stopping, and futures that are dropped: nothing goes on behind a person's back, and no session stays busy.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::cell::Cell;
use std::rc::Rc;

use futures_executor::block_on;
use futures_util::FutureExt;
use futures_util::future::{join, join3, poll_immediate};
use palimpsest_core::message::{Part, Role};
use palimpsest_core::request::{Delta, FinishReason, ModelError};
use palimpsest_engine::ports::{Abort, LocalFuture, Signal, Timer, World};
use palimpsest_engine::session::{CompactOptions, NewMessage, SendEvent, SendOptions, ToolHandler};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, MemoryStore, NewSession, Session};
use palimpsest_tokens::Estimator;

use super::scene::{options, silent, talk};

/// A clock by which no pause ever ends.
struct Endless;

impl Timer for Endless {
    fn sleep(&self, _: u32) -> LocalFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

async fn session_in(world: World, window: u32) -> Session {
    let store = Rc::new(MemoryStore::new());
    let engine = Engine::start(store, world, Rc::new(Estimator::default()))
        .await
        .unwrap();
    let new = NewSession {
        window,
        model: "m".into(),
        ..NewSession::default()
    };
    let session = engine.create(new).await.unwrap();
    // here nobody gives up waiting but who stops: a pause in this world is over at once
    let mut config = session.config();
    config.compression.wait_seconds = Some(3_600);
    session.configure(config).await.unwrap();
    session
}

/// A session whose next message does not fit before a compaction.
async fn full(world: World) -> Session {
    let session = session_in(world, 4_096).await;
    let limit = session.context().setup().shares.limit;
    while session.context().tokens() < limit - 40 {
        talk(&session, 1).await;
    }
    session
}

fn question() -> NewMessage {
    NewMessage::user("And what does the last file set, in your own words? ".repeat(6))
}

/// Sends to `model` and stops when the wait for a compaction has begun.
async fn stopped_while_waiting(session: &Session, model: &ScriptedModel) {
    let waits = Cell::new(false);
    let on = |event: SendEvent| {
        if event == SendEvent::Waiting {
            waits.set(true);
        }
    };
    let (before, layers) = (session.message_count(), session.layers().len());
    let chat = options(model);
    let asking = session.send(question(), &chat, Signal::never(), &on);
    let (sent, ()) = join(Box::pin(asking), async {
        assert!(waits.get(), "a compaction has to run first");
        session.stop();
    })
    .await;
    assert_eq!(sent.unwrap_err().code(), ModelError::Aborted.code());
    assert_eq!(session.message_count(), before + 1, "the message is kept");
    assert_eq!(session.layers().len(), layers, "nothing was committed");
    assert_eq!(session.head().revision, 0, "no emergency either");
    assert!(!session.is_replying() && !session.is_compacting());
}

/// A clock that counts how often somebody waits for an hour, and is done with that hour when it is told so.
struct Hours {
    begun: Cell<u32>,
    over: Signal,
}

impl Timer for Hours {
    fn sleep(&self, ms: u32) -> LocalFuture<'static, ()> {
        if ms != 3_600_000 {
            return world().timer.sleep(ms);
        }
        self.begun.set(self.begun.get() + 1);
        let over = self.over.clone();
        Box::pin(async move { over.aborted().await })
    }
}

/// P7: whatever holds a message up, a run that was under way and the one for the message together, takes no longer than
/// the settings allow.
#[test]
fn a_message_waits_once() {
    block_on(async {
        let end = Abort::new();
        let hours = Rc::new(Hours {
            begun: Cell::new(0),
            over: end.signal(),
        });
        let s = full(World {
            timer: hours.clone(),
            ..world()
        })
        .await;
        let model = ScriptedModel::new([Answer::text("Here.")], |_| Answer::Silence);
        let chat = options(&model);
        let silence = ScriptedModel::new([], |_| Answer::Silence);
        let background = CompactOptions {
            model: Some(Rc::new(silence)),
            manual: true,
            ..CompactOptions::default()
        };
        let (_, reply, ()) = join3(
            Box::pin(s.compact(background, Signal::never())),
            Box::pin(s.send(question(), &chat, Signal::never(), &silent)),
            async { end.abort() },
        )
        .await;
        reply.unwrap();
        assert_eq!(hours.begun.get(), 1);
    });
}

/// P7, B9: Stop reaches the compaction that a message waits for. The message stays, and can be answered later.
#[test]
fn stop_while_a_message_waits_for_a_compaction() {
    block_on(async {
        let s = full(world()).await;
        let model = ScriptedModel::new([Answer::text("Here.")], |_| Answer::Silence);
        stopped_while_waiting(&s, &model).await;
        let model = ScriptedModel::new([Answer::text("Here.")], |_| {
            Answer::error(ModelError::Truncated)
        });
        s.reply(&options(&model), Signal::never(), &silent)
            .await
            .unwrap();
    });
}

/// P7, B9: Stop reaches the pause before another attempt.
#[test]
fn stop_while_a_busy_server_is_waited_for() {
    block_on(async {
        let endless = World {
            timer: Rc::new(Endless),
            ..world()
        };
        let s = full(endless).await;
        let busy = ModelError::Busy {
            retry_after_ms: Some(20_000),
        };
        let model = ScriptedModel::new([], move |_| Answer::error(busy.clone()));
        stopped_while_waiting(&s, &model).await;
    });
}

/// P7: the caller's own signal reaches that pause, too.
#[test]
fn a_signal_reaches_the_pause_before_another_attempt() {
    block_on(async {
        let endless = World {
            timer: Rc::new(Endless),
            ..world()
        };
        let s = full(endless).await;
        let busy = ModelError::Busy {
            retry_after_ms: Some(20_000),
        };
        let compact = CompactOptions {
            model: Some(Rc::new(ScriptedModel::new([], move |_| {
                Answer::error(busy.clone())
            }))),
            manual: true,
            ..CompactOptions::default()
        };
        let stop = Abort::new();
        let (done, ()) = join(s.compact(compact, stop.signal()), async { stop.abort() }).await;
        assert_eq!(done.unwrap_err().code(), "cancelled");
    });
}

/// P7: Stop ends the wait for a compaction that somebody else began; that one goes on.
#[test]
fn stop_while_another_compaction_is_waited_for() {
    block_on(async {
        let s = full(world()).await;
        let go = Abort::new();
        let signal = go.signal();
        let model = ScriptedModel::new([], move |_| {
            Answer::after(
                signal.clone(),
                "The user asks for the files of a configuration.",
            )
        });
        let background = CompactOptions {
            model: Some(Rc::new(model.clone())),
            ..CompactOptions::default()
        };
        let chat = options(&model);
        let (done, ()) = join(Box::pin(s.tend(background, Signal::never())), async {
            let (sent, ()) = join(s.send(question(), &chat, Signal::never(), &silent), async {
                s.stop();
            })
            .await;
            assert_eq!(sent.unwrap_err().code(), ModelError::Aborted.code());
            assert!(s.is_compacting());
            go.abort();
        })
        .await;
        assert!(done.unwrap().is_some());
    });
}

fn call(name: &str) -> Answer {
    Answer::Deltas(vec![
        Ok(Delta::ToolCall {
            id: "c1".into(),
            name: name.into(),
            arguments: "{}".into(),
        }),
        Ok(Delta::Done {
            reason: FinishReason::Stop,
        }),
    ])
}

struct NeverAnswers;

impl ToolHandler for NeverAnswers {
    fn call<'a>(&'a self, _: &'a str, _: &'a str) -> LocalFuture<'a, Result<String, String>> {
        Box::pin(std::future::pending())
    }
}

/// G9: Stop reaches our own tools and the host's. The call has a result that says so, and the model is not asked again.
#[test]
fn stop_while_a_tool_runs() {
    block_on(async {
        for own in [true, false] {
            let s = session_in(world(), 8_192).await;
            talk(&s, 30).await;
            let name = if own {
                let mut config = s.config();
                config.tools.enabled = true;
                s.configure(config).await.unwrap();
                "compress_to_checkpoint"
            } else {
                "slow"
            };
            let model =
                ScriptedModel::new([call(name), Answer::text("Done.")], |_| Answer::Silence);
            let chat = SendOptions {
                handler: Some(Rc::new(NeverAnswers)),
                ..options(&model)
            };
            let (sent, ()) = join(
                s.send(NewMessage::user("Go."), &chat, Signal::never(), &silent),
                async {
                    s.stop();
                },
            )
            .await;
            assert!(sent.unwrap().stopped, "{name}");
            let history = s.history(None, 2);
            assert_eq!(history[1].message.role, Role::Tool, "{name}");
            assert!(matches!(
                &history[1].message.parts[0],
                Part::ToolResult { call, .. } if call == "c1"
            ));
            let replies = model.asked().iter().filter(|r| !r.tools.is_empty()).count();
            assert!(replies <= 1, "{name}");
            assert!(s.layers().is_empty() && !s.is_replying() && !s.is_compacting());
        }
    });
}

/// P7, I9: a future that is dropped where it waits leaves the session free: for a reply, for a compaction, for rest.
#[test]
fn dropped_futures_leave_no_session_busy() {
    block_on(async {
        let s = session_in(world(), 8_192).await;
        talk(&s, 30).await;
        let mute = ScriptedModel::new([Answer::Silence], |_| Answer::Silence);
        let chat = options(&mute);
        let slow = || CompactOptions {
            model: Some(Rc::new(mute.clone())),
            manual: true,
            ..CompactOptions::default()
        };
        let send = s.send(NewMessage::user("?"), &chat, Signal::never(), &silent);
        assert!(poll_immediate(send).await.is_none());
        assert!(!s.is_replying());
        let reply = s.reply(&chat, Signal::never(), &silent);
        assert!(poll_immediate(reply).await.is_none());
        assert!(!s.is_replying());
        let compact = s.compact(slow(), Signal::never()).boxed_local();
        assert!(poll_immediate(compact).await.is_none());
        assert!(!s.is_compacting());
        s.compact(
            CompactOptions {
                manual: true,
                ..CompactOptions::default()
            },
            Signal::never(),
        )
        .await
        .unwrap();
        let rest = s.rest(slow(), Signal::never()).boxed_local();
        drop(poll_immediate(rest).await);
        assert!(!s.is_compacting());
        let model = ScriptedModel::new([Answer::text("Yes.")], |_| Answer::Silence);
        s.reply(&options(&model), Signal::never(), &silent)
            .await
            .unwrap();
    });
}
