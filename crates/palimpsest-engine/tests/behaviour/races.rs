//! Two changes at once, in orders that a test decides: neither may write over the other.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::cell::Cell;
use std::rc::Rc;

use futures_executor::block_on;
use futures_util::future::{join, join3};
use palimpsest_core::message::{Part, Seq};
use palimpsest_core::rendition::ReducedKind;
use palimpsest_core::watermark::MarkReason;
use palimpsest_engine::ports::{Abort, Query, Signal, Store, Table};
use palimpsest_engine::session::{CompactOptions, Compacted, IfOver, NewMessage, SendOptions};
use palimpsest_engine::testing::fault::{Fault, FaultStore};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::testing::pause::{Call, PausingStore};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, EngineError, MemoryStore, NewSession, Session};
use palimpsest_tokens::{Estimator, Source};

use super::counting::vocabulary;
use super::scene::{options, silent, talk};

const SUMMARY: &str = "The user asks what each config/part file sets; the assistant names the limits in seconds, why they were chosen, and that a restart is needed.";

type TestStore = Rc<PausingStore<MemoryStore>>;

async fn start(store: &TestStore) -> Engine {
    let store: Rc<dyn Store> = store.clone();
    Engine::start(store, world(), Rc::new(Estimator::default()))
        .await
        .unwrap()
}

async fn scene(policy: &str, window: u32) -> (TestStore, Engine, Session) {
    let store = Rc::new(PausingStore::new(MemoryStore::new()));
    let engine = start(&store).await;
    let new = NewSession {
        window,
        model: "m".into(),
        policy: policy.into(),
        system: "Be exact.".into(),
        ..NewSession::default()
    };
    let session = engine.create(new).await.unwrap();
    (store, engine, session)
}

/// As a new process finds it.
async fn reopened(store: &TestStore, session: &Session) -> Session {
    let engine = start(store).await;
    engine.open(session.id(), true).await.unwrap()
}

fn by_hand(model: Option<ScriptedModel>) -> CompactOptions {
    CompactOptions {
        model: model.map(|m| Rc::new(m) as Rc<dyn palimpsest_engine::ports::LanguageModel>),
        manual: true,
        ..CompactOptions::default()
    }
}

/// Compacts, and does something while the model writes.
async fn while_compacting(
    session: &Session,
    doing: impl Future<Output = ()>,
) -> Result<Compacted, EngineError> {
    let go = Abort::new();
    let signal = go.signal();
    let model = ScriptedModel::new([], move |_| Answer::after(signal.clone(), SUMMARY));
    let asked = model.clone();
    let (done, ()) = join(
        Box::pin(session.compact(by_hand(Some(model)), Signal::never())),
        async {
            assert_eq!(asked.asked().len(), 1, "the model writes");
            doing.await;
            go.abort();
        },
    )
    .await;
    done
}

/// A reply that is larger than a quarter of a small window, and would not fit.
fn long_reply() -> NewMessage {
    NewMessage::assistant(vec![Part::text(
        "One more sentence about it. ".repeat(2_000),
    )])
}

fn form_of(session: &Session, seq: Seq) -> Option<ReducedKind> {
    let history = session.history(None, 10_000);
    let item = history.iter().find(|i| i.message.seq == seq).unwrap();
    item.reduced
}

/// W1, W4: a mark and an anchor that are set while a compaction runs are there after it, also when the session is
/// opened again.
#[test]
fn marks_set_during_a_compaction_stay() {
    block_on(async {
        let (store, _e, s) = scene("balanced", 8_192).await;
        talk(&s, 30).await;
        let last = s.message_count() as Seq - 1;
        let done = while_compacting(&s, async {
            s.ask_mark("deactivate_skills", MarkReason::Deactivated)
                .await
                .unwrap();
            s.anchor(last).await.unwrap();
        })
        .await;
        assert!(done.unwrap().report.after < s.budget().limit);
        assert_eq!(s.layers().len(), 1);
        for s in [&s, &reopened(&store, &s).await] {
            let context = s.context();
            let pending = context.view().pending.clone();
            assert_eq!(
                pending.map(|p| p.tool).as_deref(),
                Some("deactivate_skills")
            );
            assert!(context.view().anchors.contains(&last));
        }
    });
}

/// P7, W1: a run that gave way to a message goes on later; a mark that was asked for in between is not lost by it.
#[test]
fn a_mark_outlives_a_run_that_was_put_off() {
    block_on(async {
        let (store, _e, s) = scene("balanced", 4_096).await;
        while !s.is_due() {
            talk(&s, 1).await;
        }
        let silence = ScriptedModel::new([Answer::text("It is.")], |_| Answer::Silence);
        let background = CompactOptions {
            model: Some(Rc::new(silence.clone())),
            ..CompactOptions::default()
        };
        let chat = options(&silence);
        let send = s.send(NewMessage::user("And?"), &chat, Signal::never(), &silent);
        let (put_off, reply) = join(
            Box::pin(s.tend(background, Signal::never())),
            Box::pin(send),
        )
        .await;
        assert_eq!(put_off.unwrap(), None);
        reply.unwrap();
        s.ask_mark("deactivate_skills", MarkReason::Deactivated)
            .await
            .unwrap();
        let model = ScriptedModel::new([], |_| Answer::text(SUMMARY));
        let resumed = CompactOptions {
            model: Some(Rc::new(model)),
            ..CompactOptions::default()
        };
        let done = s.tend(resumed, Signal::never()).await.unwrap();
        assert!(done.is_some());
        for s in [&s, &reopened(&store, &s).await] {
            assert!(s.context().view().pending.is_some());
        }
    });
}

/// P10, I6: a compaction that is committed while an undo reads is not undone with it: the undo is refused, and the
/// window is what the compaction made.
#[test]
fn an_undo_does_not_write_over_a_compaction() {
    block_on(async {
        let (store, _e, s) = scene("balanced", 8_192).await;
        talk(&s, 30).await;
        s.compact(by_hand(None), Signal::never()).await.unwrap();
        talk(&s, 8).await;
        let pause = store.pause(|call| {
            matches!(
                call,
                Call::Read(Query::Get {
                    table: Table::Revisions,
                    ..
                })
            )
        });
        let (undone, compacted) = join(s.undo(), async {
            pause.reached().await;
            let done = s.compact(by_hand(None), Signal::never()).await;
            pause.end();
            done
        })
        .await;
        compacted.unwrap();
        let refused = undone.unwrap_err();
        assert_eq!((refused.code(), refused.is_retryable()), ("busy", true));
        assert_eq!(s.layers().len(), 2);
        let s = reopened(&store, &s).await;
        assert_eq!(s.layers().len(), 2);
        s.undo().await.unwrap();
        assert_eq!(s.layers().len(), 1);
    });
}

/// P10, W4: an anchor that is set on a message which a layer covers does not stand in the way of undoing the layer, also
/// where that message was shown shortened before.
#[test]
fn an_anchor_does_not_hold_up_an_undo() {
    block_on(async {
        let (store, _e, s) = scene("balanced", 8_192).await;
        talk(&s, 2).await;
        s.append(NewMessage::user("Read it.")).await.unwrap();
        let call = Part::ToolCall {
            id: "call_1".into(),
            name: "read_file".into(),
            arguments: "{}".into(),
        };
        s.append(NewMessage::assistant(vec![call])).await.unwrap();
        let result = Part::ToolResult {
            call: "call_1".into(),
            name: Some("read_file".into()),
            text: "12:00:01 worker 7 wrote 4096 bytes in 17 ms\n".repeat(40),
            error: false,
        };
        let result = NewMessage::tool(vec![result]);
        let seq = s.append(result).await.unwrap();
        talk(&s, 2).await;
        s.emergency().await.unwrap();
        assert_eq!(form_of(&s, seq), Some(ReducedKind::Excerpt));
        talk(&s, 20).await;
        s.compact(by_hand(None), Signal::never()).await.unwrap();
        assert_eq!(form_of(&s, seq), None, "a layer covers it");
        s.anchor(seq).await.unwrap();
        s.undo().await.unwrap();
        assert!(s.layers().is_empty());
        for s in [&s, &reopened(&store, &s).await] {
            assert_eq!(form_of(s, seq), Some(ReducedKind::Excerpt));
            assert!(s.context().view().anchors.contains(&seq));
        }
    });
}

/// P10, B5: a reply that is shown as an excerpt while an undo reads stays one.
#[test]
fn an_undo_keeps_what_arrives_meanwhile() {
    block_on(async {
        let (store, _e, s) = scene("balanced", 4_096).await;
        talk(&s, 40).await;
        s.compact(by_hand(None), Signal::never()).await.unwrap();
        s.append(NewMessage::user("Tell me all.")).await.unwrap();
        let pause = store.pause(|call| {
            matches!(
                call,
                Call::Read(Query::Get {
                    table: Table::Revisions,
                    ..
                })
            )
        });
        let (undone, seq) = join(s.undo_with(IfOver::Show), async {
            pause.reached().await;
            let seq = s.append(long_reply()).await.unwrap();
            assert_eq!(form_of(&s, seq), Some(ReducedKind::Excerpt));
            pause.end();
            seq
        })
        .await;
        undone.unwrap();
        assert!(s.layers().is_empty());
        for s in [&s, &reopened(&store, &s).await] {
            assert_eq!(form_of(s, seq), Some(ReducedKind::Excerpt));
        }
    });
}

/// P10, B5: a layer is lifted from the view that is there when its turn comes.
#[test]
fn a_lift_keeps_what_arrives_meanwhile() {
    block_on(async {
        let (store, _e, s) = scene("balanced", 4_096).await;
        talk(&s, 40).await;
        s.compact(by_hand(None), Signal::never()).await.unwrap();
        s.append(NewMessage::user("Tell me all.")).await.unwrap();
        let layer = s.layers()[0].id;
        let pause = store.pause(|call| matches!(call, Call::Apply(_)));
        let (seq, lifted, ()) = join3(
            s.append(long_reply()),
            async {
                pause.reached().await;
                s.lift_with(layer, IfOver::Show).await
            },
            async {
                pause.reached().await;
                pause.end();
            },
        )
        .await;
        lifted.unwrap();
        let seq = seq.unwrap();
        assert!(s.layers().is_empty());
        for s in [&s, &reopened(&store, &s).await] {
            assert_eq!(form_of(s, seq), Some(ReducedKind::Excerpt));
        }
    });
}

/// E1: an emergency that another change of the window came before is worked out once more.
#[test]
fn an_emergency_after_a_lift_is_worked_out_anew() {
    block_on(async {
        let (store, _e, s) = scene("balanced", 4_096).await;
        talk(&s, 40).await;
        s.compact(by_hand(None), Signal::never()).await.unwrap();
        let layer = s.layers()[0].id;
        let pause = store.pause(|call| matches!(call, Call::Apply(_)));
        let (lifted, shrunk, ()) = join3(
            s.lift_with(layer, IfOver::Show),
            async {
                pause.reached().await;
                s.emergency().await
            },
            async {
                pause.reached().await;
                pause.end();
            },
        )
        .await;
        lifted.unwrap();
        shrunk.unwrap();
        assert!(s.context().check_limit().valid);
    });
}

/// B3, B8: the tools that a send counts, and a counter that is taken, while the store writes a revision or another branch
/// stay with the window.
#[test]
fn what_is_counted_while_the_store_writes_stays() {
    block_on(async {
        for moves in [false, true] {
            let (store, e, s) = scene("balanced", 8_192).await;
            talk(&s, 4).await;
            let model = ScriptedModel::new([Answer::text("Yes.")], |_| Answer::Silence);
            let tools = vec![serde_json::json!({
                "type": "function",
                "function": { "name": "look", "description": "Looks it up. ".repeat(20), "parameters": {} },
            })];
            let chat = SendOptions {
                tools,
                ..options(&model)
            };
            let pause = store.pause(|call| matches!(call, Call::Apply(_)));
            let send = s.send(NewMessage::user("And?"), &chat, Signal::never(), &silent);
            let (written, reply, ()) = join3(
                async {
                    if moves {
                        s.rewind_before(6).await
                    } else {
                        s.anchor(1).await
                    }
                },
                async {
                    pause.reached().await;
                    Box::pin(send).await
                },
                async {
                    pause.reached().await;
                    assert!(s.context().setup().tools > 50);
                    e.set_vocabulary(Some(("m", vocabulary(1))));
                    pause.end();
                },
            )
            .await;
            written.unwrap();
            reply.unwrap();
            assert!(s.context().setup().tools > 50, "moves: {moves}");
            assert_eq!(s.context().counter().source(), Source::Exact);
        }
    });
}

/// O4, I1: whatever step of a purge another session says the same large text at, that session keeps it; and without
/// one the text goes.
#[test]
fn a_purge_leaves_a_large_text_that_is_said_again() {
    let large = "A line of a large result, again and again.\n".repeat(1_500);
    let mut steps = 0;
    for step in 1.. {
        let over = block_on(async {
            let (store, e, a) = scene("balanced", 65_536).await;
            let b = e.create(NewSession::default()).await.unwrap();
            let said = || NewMessage::assistant(vec![Part::text(large.clone())]);
            a.append(said()).await.unwrap();
            let id = a.id().to_owned();
            drop(a);
            let calls = Cell::new(0);
            let pause = store.pause(move |_| {
                calls.set(calls.get() + 1);
                calls.get() == step
            });
            let purge = async {
                let purged = e.purge(&id).await;
                pause.end();
                purged
            };
            let (purged, ()) = join(purge, async {
                if pause.is_reached() {
                    b.append(said()).await.unwrap();
                    pause.end();
                }
            })
            .await;
            purged.unwrap();
            let met = pause.is_reached();
            let rows = store.read(Query::all(Table::Blobs, vec![])).await.unwrap();
            if !met {
                assert!(rows.is_empty(), "nobody names it any more");
                return true;
            }
            let b = reopened(&store, &b).await;
            let shown = b.history(None, 10);
            assert_eq!(shown[0].message.words(), large, "step {step}");
            false
        });
        if over {
            steps = step - 1;
            break;
        }
    }
    assert!(steps >= 4, "{steps} steps");
}

/// O4, I6: a purge that is cut off at any step leaves a whole session or none; texts that nobody names any more go with
/// the next purge.
#[test]
fn the_next_purge_takes_what_one_has_left() {
    let large = |n: usize| format!("A line of the large result {n}.\n").repeat(1_500);
    for step in 1.. {
        let fired = block_on(async {
            let memory = MemoryStore::new();
            let start = async |store: Rc<dyn Store>| {
                Engine::start(store, world(), Rc::new(Estimator::default())).await
            };
            let e = start(Rc::new(memory.clone())).await.unwrap();
            for n in 0..2 {
                let new = NewSession::default();
                let s = e.create_with_id(&format!("s{n}"), new).await.unwrap();
                let said = NewMessage::assistant(vec![Part::text(large(n))]);
                s.append(said).await.unwrap();
            }
            drop(e);
            let faulty = Rc::new(FaultStore::new(memory.clone()).failing_at(step, Fault::Crashes));
            if let Ok(e) = start(faulty.clone()).await {
                // whatever it says: what counts is what the store holds
                drop(e.purge("s0").await);
            }
            let e = start(Rc::new(memory.clone())).await.unwrap();
            if e.sessions().await.unwrap().len() == 2 {
                let s = e.open("s0", true).await.unwrap();
                assert_eq!(
                    s.history(None, 1)[0].message.words(),
                    large(0),
                    "step {step}"
                );
                drop(s);
                e.purge("s0").await.unwrap();
            }
            e.purge("s1").await.unwrap();
            let left = memory.read(Query::all(Table::Blobs, vec![])).await.unwrap();
            assert_eq!(left.len(), 0, "step {step}");
            faulty.has_fired()
        });
        if !fired {
            assert!(step > 10, "{step} steps");
            return;
        }
    }
}
