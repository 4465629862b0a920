//! A session from the outside, on the store in memory.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise and prints what it measured"
)]

use std::cell::RefCell;
use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::{Ended, Part, Role};
use palimpsest_core::model::{Grade, SizeClass, WindowAsk};
use palimpsest_core::record::PinKind;
use palimpsest_core::request::{Delta, FinishReason, ModelError, Purpose, Usage};
use palimpsest_engine::ports::{LocalFuture, Query, Signal, Store, Table};
use palimpsest_engine::session::{CompactOptions, IfOver, NewMessage, SendOptions, ToolHandler};
use palimpsest_engine::testing::fault::{Fault, FaultStore};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, EngineError, Event, MemoryStore, NewSession, RoomChoice, Session};
use palimpsest_tokens::Estimator;

use super::scene::{options, silent, talk};

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

/// I1, I2, I6, P10, S2: compact, reopen, undo, reopen: each time the same bytes; what was said is all there.
#[test]
fn compact_reopen_undo() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let new = NewSession {
            window: 4096,
            system: "Be exact.".into(),
            ..NewSession::default()
        };
        let s = e.create(new).await.unwrap();
        let id = s.id().to_owned();
        talk(&s, 40).await;
        let before = s.window();
        assert!(s.is_due());
        let done = s
            .compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        let after = s.window();
        assert!(after.tokens() < before.tokens());
        assert_eq!(done.report.after, after.tokens());
        drop(s);
        drop(e);

        let e = engine(store.clone()).await;
        let s = e.open(&id, true).await.unwrap();
        assert_eq!(s.window(), after, "the reopened window");
        assert_eq!(s.message_count(), 80);
        s.undo().await.unwrap();
        assert_eq!(s.window(), before, "the window after undo");
        assert!(!s.is_due(), "no automatic run after undo");
        drop(s);
        drop(e);

        let e = engine(store).await;
        let s = e.open(&id, true).await.unwrap();
        assert_eq!(s.window(), before, "the window after undo, reopened");
        let items = s.history(None, 1000);
        assert_eq!(items.len(), 80);
        assert!(items.iter().all(|i| i.covered_by.is_none()));
        assert_eq!(s.undo().await.unwrap_err().code(), "nothing_to_undo");
    });
}

/// P10, C1: one layer is lifted, the other stays; the covered messages are shown as they were said.
#[test]
fn lift_one_layer() {
    block_on(async {
        let (_, s) = session(8192).await;
        talk(&s, 30).await;
        let manual = || CompactOptions {
            manual: true,
            ..CompactOptions::default()
        };
        s.compact(manual(), Signal::never()).await.unwrap();
        talk(&s, 8).await;
        s.compact(manual(), Signal::never()).await.unwrap();
        let layers = s.layers();
        assert_eq!(layers.len(), 2);
        s.lift(layers[1].id).await.unwrap();
        assert_eq!(s.layers().len(), 1);
        let covered = s
            .history(None, 1000)
            .iter()
            .filter(|i| i.covered_by.is_some())
            .count();
        assert_eq!(covered as u32, layers[0].messages);
        assert_eq!(s.lift(99).await.unwrap_err().code(), "not_found");
    });
}

/// P7, B9, E2: a chat that crosses the trigger on its own is compressed in the background with the model's
/// summary; the request has an explicit window; thinking is off for summaries.
#[test]
fn a_chat_crosses_the_trigger() {
    block_on(async {
        let (_, s) = session(4096).await;
        let summary = "The user asks what each config/part file sets; the assistant answers with limits in seconds and says that a restart is needed.";
        let model = ScriptedModel::new(
            [Answer::text(
                "It sets a limit. A restart is needed, as always, after each change of the file.",
            )],
            move |_| Answer::text(summary),
        );
        let events = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&events);
        s.on(move |e| log.borrow_mut().push(e.clone()));
        let mut compacted = None;
        for n in 0..200 {
            let text = format!(
                "Question {n}: what does the file config/part_{n}.toml set, and why is that so in this release?"
            );
            let reply = s
                .send(
                    NewMessage::user(text),
                    &options(&model),
                    Signal::never(),
                    &silent,
                )
                .await
                .unwrap();
            assert_eq!(reply.reason, FinishReason::Stop);
            let compact = CompactOptions {
                model: Some(Rc::new(model.clone())),
                ..CompactOptions::default()
            };
            compacted = s.tend(compact, Signal::never()).await.unwrap();
            if compacted.is_some() {
                break;
            }
        }
        let report = compacted.expect("never crossed the trigger").report;
        assert!(report.after < report.before);
        assert!(
            s.layers()[0]
                .summary
                .contains("asks what each config/part file sets")
        );
        let asked = model.asked();
        assert!(
            asked
                .iter()
                .all(|r| r.options.num_ctx == 4096 && r.options.num_predict > 0)
        );
        assert!(
            asked
                .iter()
                .filter(|r| r.purpose == Purpose::Summary)
                .all(|r| r.options.think == Some(false))
        );
        assert!(
            events
                .borrow()
                .iter()
                .any(|e| matches!(e, Event::Compressed { report: r, .. } if **r == report))
        );
    });
}

/// B9, E1: the server's overflow starts the emergency once, and the reply comes.
#[test]
fn an_overflow_is_answered_by_one_emergency() {
    block_on(async {
        let (_, s) = session(4096).await;
        talk(&s, 12).await;
        let over = ModelError::Overflow {
            prompt: Some(5000),
            window: Some(4096),
        };
        let model =
            ScriptedModel::new([Answer::error(over.clone()), Answer::text("Here.")], |_| {
                Answer::text("x")
            });
        let before = s.window().tokens();
        s.send(
            NewMessage::user("And now?"),
            &options(&model),
            Signal::never(),
            &silent,
        )
        .await
        .unwrap();
        assert!(s.window().tokens() < before);
        assert_eq!(model.asked().len(), 2);
        let mut config = palimpsest_engine::Config::default();
        config.rollover.enabled = false;
        s.configure(config).await.unwrap();
        let model = ScriptedModel::new([Answer::error(over.clone()), Answer::error(over)], |_| {
            Answer::text("x")
        });
        let error = s
            .send(
                NewMessage::user("And now?"),
                &options(&model),
                Signal::never(),
                &silent,
            )
            .await
            .unwrap_err();
        assert_eq!(error.code(), "overflow");
        assert_eq!(model.asked().len(), 2, "one retry, no more");
    });
}

/// I1, I10, P7: a server that dies in the middle: the user's message is stored, what arrived is kept beside,
/// and the next reply goes on from there.
#[test]
fn a_reply_that_breaks_off() {
    block_on(async {
        let (_, s) = session(4096).await;
        let broken = Answer::Deltas(vec![
            Ok(Delta::text("Half an ")),
            Err(ModelError::Truncated),
        ]);
        let model = ScriptedModel::new([broken, Answer::text("A whole answer.")], |_| {
            Answer::text("x")
        });
        let error = s
            .send(
                NewMessage::user("Hello?"),
                &options(&model),
                Signal::never(),
                &silent,
            )
            .await
            .unwrap_err();
        assert_eq!(error.code(), "truncated");
        assert_eq!(s.partial(), None);
        assert_eq!(s.message_count(), 2);
        let half = &s.history(None, 9)[1].message;
        assert_eq!(
            (half.words().as_str(), half.ended),
            ("Half an ", Some(Ended::Stopped))
        );
        s.reply(&options(&model), Signal::never(), &silent)
            .await
            .unwrap();
        assert_eq!(s.history(None, 9)[1].message.words(), "A whole answer.");
        assert_eq!(s.partial(), None);
    });
}

/// P7: what arrived of a reply goes with its question: it is not shown once another one is the last.
#[test]
fn a_reply_that_broke_off_stays_with_its_question() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let new = NewSession {
            window: 4096,
            model: "m".into(),
            ..NewSession::default()
        };
        let s = e.create(new).await.unwrap();
        let half = || {
            let deltas = vec![Ok(Delta::text("Half an ")), Err(ModelError::Truncated)];
            Answer::Deltas(deltas)
        };
        let answers = [Answer::text("Tea."), half()];
        let model = ScriptedModel::new(answers, |_| Answer::text("x"));
        for (question, is_whole) in [("Tea or coffee?", true), ("How long?", false)] {
            let message = NewMessage::user(question);
            let reply = s
                .send(message, &options(&model), Signal::never(), &silent)
                .await;
            assert_eq!(reply.is_ok(), is_whole, "{question}");
        }
        let last = s.rewind_to_last_user().await.unwrap();
        assert_eq!((s.partial(), s.message_count()), (None, 3));
        s.rewind_before(last).await.unwrap();
        assert_eq!((s.partial(), s.unfinished()), (None, None));
        s.switch_to(last).await.unwrap();
        assert_eq!(s.unfinished().unwrap().words(), "Half an ");
        let rows = Query::all(Table::Partials, vec![s.id().into()]);
        assert_eq!(store.read(rows).await.unwrap().len(), 0);
    });
}

/// P7: stopping a reply keeps what has arrived as a message.
#[test]
fn stopping_keeps_what_arrived() {
    block_on(async {
        let (_, s) = session(4096).await;
        let model = ScriptedModel::new([Answer::text("one two three four")], |_| Answer::text("x"));
        let session = s.clone();
        let stop = move |event| {
            if matches!(event, palimpsest_engine::session::SendEvent::Delta(_)) {
                session.stop();
            }
        };
        let reply = s
            .send(
                NewMessage::user("Count."),
                &options(&model),
                Signal::never(),
                &stop,
            )
            .await
            .unwrap();
        assert!(reply.stopped);
        assert_eq!(s.history(None, 9)[1].message.words(), "one ");
        assert!(!s.is_replying());
    });
}

/// B5: a message larger than its room is refused before it is stored, with both sizes.
#[test]
fn a_message_too_large_is_refused_before_it_is_stored() {
    block_on(async {
        let (_, s) = session(2048).await;
        let error = s
            .append(NewMessage::user("word ".repeat(4000)))
            .await
            .unwrap_err();
        assert_eq!(error.code(), "message_too_large");
        assert_eq!(s.message_count(), 0);
        // a tool's result is always stored, and shown as an excerpt
        s.append(NewMessage::user("Read it.")).await.unwrap();
        let call = Part::ToolCall {
            id: "a".into(),
            name: "read".into(),
            arguments: "{}".into(),
        };
        s.append(NewMessage::assistant(vec![call])).await.unwrap();
        let result = Part::ToolResult {
            call: "a".into(),
            name: None,
            text: "a line of the file\n".repeat(2000),
            error: false,
        };
        s.append(NewMessage::tool(vec![result.clone()]))
            .await
            .unwrap();
        assert_eq!(s.history(None, 1)[0].message.parts, [result]);
        assert!(
            s.context().check_limit().valid,
            "{:?}",
            s.context().check_limit()
        );
    });
}

struct Echo;

impl ToolHandler for Echo {
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a str,
    ) -> LocalFuture<'a, Result<String, String>> {
        Box::pin(async move {
            if name == "fails" {
                Err("no such file".into())
            } else {
                Ok(format!("{name} got {arguments}"))
            }
        })
    }
}

/// G9, I3: tool calls are answered inside `send`; failures are shown as such. In the eighth round they are refused, so that
/// the model answers.
#[test]
fn tools_are_answered_inside_send() {
    block_on(async {
        let (_, s) = session(8192).await;
        let call = |name: &str| {
            Answer::Deltas(vec![
                Ok(Delta::ToolCall {
                    id: format!("{name}_1"),
                    name: name.into(),
                    arguments: "{\"a\":1}".into(),
                }),
                Ok(Delta::Done {
                    reason: FinishReason::ToolCalls,
                }),
            ])
        };
        let model =
            ScriptedModel::new([call("look"), call("fails"), Answer::text("Done.")], |_| {
                Answer::text("x")
            });
        let options = SendOptions {
            handler: Some(Rc::new(Echo)),
            ..options(&model)
        };
        s.send(NewMessage::user("Go."), &options, Signal::never(), &silent)
            .await
            .unwrap();
        let roles: Vec<Role> = s.history(None, 99).iter().map(|i| i.message.role).collect();
        assert_eq!(
            roles,
            [
                Role::User,
                Role::Assistant,
                Role::Tool,
                Role::Assistant,
                Role::Tool,
                Role::Assistant
            ]
        );
        assert!(s.history(None, 99)[4].message.is_error());
        // a model that never stops calling
        let model = ScriptedModel::new([call("look")], |_| Answer::text("x"));
        let options = SendOptions {
            handler: Some(Rc::new(Echo)),
            ..options
        };
        let options = SendOptions {
            model: Rc::new(model.clone()),
            ..options
        };
        s.send(
            NewMessage::user("Again."),
            &options,
            Signal::never(),
            &silent,
        )
        .await
        .unwrap();
        assert_eq!(model.asked().len(), 9);
        let results: Vec<String> = s
            .history(None, 99)
            .iter()
            .rev()
            .map(|i| i.message.words())
            .collect();
        assert!(
            results[1].contains("Answer with the results so far"),
            "{results:?}"
        );
        assert!(results[3].contains("look got"), "{results:?}");
        // and one that heeds it
        let calls = (0..8)
            .map(|_| call("look"))
            .chain([Answer::text("Enough.")]);
        let model = ScriptedModel::new(calls, |_| Answer::text("x"));
        let options = SendOptions {
            model: Rc::new(model.clone()),
            ..options
        };
        let reply = s
            .send(
                NewMessage::user("Once more."),
                &options,
                Signal::never(),
                &silent,
            )
            .await
            .unwrap();
        assert_eq!((reply.reason, model.asked().len()), (FinishReason::Stop, 9));
    });
}

/// B9: far fewer tokens read than sent is an event.
#[test]
fn a_cut_prompt_is_noticed() {
    block_on(async {
        let (_, s) = session(8192).await;
        talk(&s, 20).await;
        let usage = Usage {
            prompt_tokens: Some(100),
            ..Usage::default()
        };
        let deltas = vec![
            Ok(Delta::text("Hm.")),
            Ok(Delta::Usage(usage)),
            Ok(Delta::Done {
                reason: FinishReason::Stop,
            }),
        ];
        let model = ScriptedModel::new([Answer::Deltas(deltas)], |_| Answer::text("x"));
        let cut = Rc::new(RefCell::new(None));
        let seen = Rc::clone(&cut);
        s.on(move |e| {
            if let Event::PromptTruncated { read, .. } = e {
                *seen.borrow_mut() = Some(*read);
            }
        });
        s.send(
            NewMessage::user("Well?"),
            &options(&model),
            Signal::never(),
            &silent,
        )
        .await
        .unwrap();
        assert_eq!(*cut.borrow(), Some(100));
    });
}

/// I9: after two automatic runs that were refused the engine stops, once, naming the floor; the user's own
/// change starts it again.
#[test]
fn no_automatic_loop() {
    block_on(async {
        let e = engine(Rc::new(MemoryStore::new())).await;
        let new = NewSession {
            window: 2048,
            system: "All of this matters. ".repeat(290),
            ..NewSession::default()
        };
        let s = e.create(new).await.unwrap();
        let say = "That is how it is, as I said before, more or less, and so on and so forth, until the end. ".repeat(6);
        s.append(NewMessage::user("And?")).await.unwrap();
        s.append(NewMessage::assistant(vec![Part::text(say)]))
            .await
            .unwrap();
        assert!(s.is_due(), "{:?}", s.budget());
        let mut results = Vec::new();
        for _ in 0..5 {
            results.push(
                s.tend(CompactOptions::default(), Signal::never())
                    .await
                    .map_err(|e| e.code()),
            );
        }
        assert_eq!(
            results,
            [Ok(None), Err("cannot_shrink"), Ok(None), Ok(None), Ok(None)]
        );
        assert!(!s.is_due());
        s.set_system("Less matters.").await.unwrap();
        assert_eq!(s.head().strikes, 0);
    });
}

/// S4: snapshots are taken before each compaction, the last five are kept, named ones stay; a restore
/// brings back the same bytes and leaves what was said since on its own branch.
#[test]
fn snapshots() {
    block_on(async {
        let (_, s) = session(4096).await;
        talk(&s, 3).await;
        let named = s.snapshot("before").await.unwrap();
        let window = s.window();
        for _ in 0..8 {
            talk(&s, 14).await;
            s.compact(
                CompactOptions {
                    manual: true,
                    ..CompactOptions::default()
                },
                Signal::never(),
            )
            .await
            .unwrap();
        }
        let all = s.snapshots();
        assert_eq!(all.iter().filter(|n| n.name.is_empty()).count(), 5);
        assert!(all.iter().any(|n| n.n == named && n.name == "before"));
        let last = s.head().tip;
        s.restore(named).await.unwrap();
        assert_eq!(s.window(), window);
        assert_eq!(s.message_count(), 6);
        s.switch_to(last.unwrap()).await.unwrap();
        assert_eq!(s.message_count(), 6 + 8 * 28);
        assert_eq!(s.restore(999).await.unwrap_err().code(), "not_found");
    });
}

/// I1, S6: regenerating and editing add siblings; nothing is removed and either can be shown.
#[test]
fn branches() {
    block_on(async {
        let (_, s) = session(4096).await;
        let model = ScriptedModel::new([Answer::text("First."), Answer::text("Second.")], |_| {
            Answer::text("x")
        });
        s.send(
            NewMessage::user("Say something."),
            &options(&model),
            Signal::never(),
            &silent,
        )
        .await
        .unwrap();
        s.rewind_to_last_user().await.unwrap();
        s.reply(&options(&model), Signal::never(), &silent)
            .await
            .unwrap();
        assert_eq!(s.history(None, 9)[1].message.words(), "Second.");
        assert_eq!(s.history(None, 9)[1].branch, (2, 2));
        let first = s.siblings(s.history(None, 9)[1].message.seq)[0];
        s.switch_to(first).await.unwrap();
        assert_eq!(s.history(None, 9)[1].message.words(), "First.");
    });
}

/// I4: pins and the system prompt stand byte-identical in every window; too large ones are refused.
#[test]
fn records_stay() {
    block_on(async {
        let (_, s) = session(4096).await;
        let id = s
            .pin(PinKind::Pin, "The customer is called Ada.")
            .await
            .unwrap();
        let system = s.window().messages()[0].clone();
        talk(&s, 40).await;
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        assert_eq!(s.window().messages()[0], system);
        let error = s
            .pin(PinKind::Pin, &"much ".repeat(3000))
            .await
            .unwrap_err();
        assert_eq!(error.code(), "records_too_large");
        s.unpin(id).await.unwrap();
        assert!(!s.window().messages()[0].parts()[0].words().contains("Ada"));
    });
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

/// R1: what is covered is quoted before the message that asks for it, in a quarter of the limit; it can be removed; a
/// new message has its own quotes.
#[test]
fn covered_passages_are_recalled() {
    block_on(async {
        let (_, s) = session(4096).await;
        s.append(NewMessage::user(
            "The door code of the cabin is 4711-bluebird.",
        ))
        .await
        .unwrap();
        s.append(NewMessage::assistant(vec![Part::text(
            "I will remember the cabin's door code.",
        )]))
        .await
        .unwrap();
        talk(&s, 60).await;
        while s.is_due() {
            s.compact(CompactOptions::default(), Signal::never())
                .await
                .unwrap();
        }
        s.append(NewMessage::user(
            "What limit does config/part_7.toml set for part 7?",
        ))
        .await
        .unwrap();
        let last = s.window().messages().last().unwrap().clone();
        let quoted = last.parts()[0].words();
        assert!(quoted.starts_with("<recalled_quotes>"), "{quoted}");
        assert!(quoted.contains("limit of part 7 to 7 seconds"), "{quoted}");
        let recalled = s.context().view().recalled.clone().unwrap();
        assert!(recalled.tokens <= s.context().setup().shares.limit / 4);
        assert_eq!(s.window().tokens(), s.context().tokens());
        s.forget_recalled(None).await.unwrap();
        assert_eq!(s.window().messages().last().unwrap().parts().len(), 1);
    });
}

/// R1: a question that waits while the window is made to fit is answered by what was covered for it. Undo takes both back.
#[test]
fn a_question_is_quoted_for_after_a_compaction() {
    block_on(async {
        let (_, s) = session(4096).await;
        talk(&s, 60).await;
        s.append(NewMessage::user(
            "What limit does config/part_7.toml set for part 7?",
        ))
        .await
        .unwrap();
        let before = s.window();
        assert!(!s.context().check_limit().valid, "the window is too full");
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        let last = s.window().messages().last().unwrap().clone();
        let quoted = last.parts()[0].words();
        assert!(quoted.starts_with("<recalled_quotes>"), "{quoted}");
        assert!(quoted.contains("limit of part 7 to 7 seconds"), "{quoted}");
        assert!(s.context().check_limit().valid);
        s.undo_with(IfOver::Show).await.unwrap();
        assert_eq!(s.window(), before);
    });
}

/// B6, B7: the limit check and the report say the same as the window; segments add up in window order.
#[test]
fn the_budget_adds_up() {
    block_on(async {
        let (_, s) = session(4096).await;
        talk(&s, 40).await;
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        s.pin(PinKind::Pin, "Ada is the customer.").await.unwrap();
        let budget = s.budget();
        let window = s.window();
        assert_eq!(budget.used.tokens, window.tokens());
        assert_eq!(
            budget.segments.iter().map(|x| x.count.tokens).sum::<u32>(),
            window.tokens()
        );
        assert_eq!(budget.limit + budget.reserve + budget.margin, 4096);
        assert!(
            budget.floor < budget.target
                && budget.target < budget.trigger
                && budget.trigger < budget.limit
        );
        let left = budget.trigger - budget.used.tokens;
        assert!(0 < budget.until_trigger && budget.until_trigger <= left - budget.used.bound);
        let check = s.context().check_limit();
        assert_eq!(
            (check.valid, check.tokens, check.overage),
            (true, window.tokens(), None)
        );
        s.set_model("m", 1024, "balanced", false).await.unwrap();
        let check = s.context().check_limit();
        assert_eq!(check.overage, Some(check.tokens - check.limit));
        assert!(check.message.unwrap().contains("larger window"));
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

/// P10: where the window before a compaction is over the limit, undo is refused first, with the choices as data;
/// asked for all the same it shows that window byte for byte, starts no automatic run, survives reopening, and
/// sends nothing that does not fit: the next message compacts first.
#[test]
fn undo_of_an_import_over_the_limit() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let new = NewSession {
            window: 4096,
            ..NewSession::default()
        };
        let s = e.create(new).await.unwrap();
        let id = s.id().to_owned();
        talk(&s, 90).await;
        let before = s.window();
        let limit = s.budget().limit;
        assert!(before.tokens() > limit);
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        let after = s.window();
        let Err(EngineError::WouldNotFit {
            tokens,
            limit: said,
            choices,
        }) = s.undo().await
        else {
            panic!("not refused")
        };
        assert_eq!((tokens, said), (before.tokens(), limit));
        assert_eq!(
            choices,
            [
                RoomChoice::LargerWindow { window: 8192 },
                RoomChoice::ShowAnyway {
                    over: before.tokens() - limit
                }
            ]
        );
        assert_eq!(s.window(), after, "a refusal changes nothing");

        s.undo_with(IfOver::Show).await.unwrap();
        assert_eq!(s.window(), before);
        assert!(!s.is_due(), "no automatic run");
        assert_eq!(
            s.tend(CompactOptions::default(), Signal::never())
                .await
                .unwrap(),
            None
        );
        drop((s, e));
        let e = engine(store).await;
        let s = e.open(&id, true).await.unwrap();
        assert_eq!(s.window(), before, "the window after reopening");
        assert!(!s.is_due());

        let model = ScriptedModel::new([Answer::text("Fine.")], |_| Answer::text("x"));
        let waited = std::cell::Cell::new(false);
        let on = |event| {
            waited.set(
                waited.get() || matches!(event, palimpsest_engine::session::SendEvent::Waiting),
            );
        };
        let mut sent = options(&model);
        sent.model = Rc::new(model.clone());
        s.send(NewMessage::user("Go on."), &sent, Signal::never(), &on)
            .await
            .unwrap();
        assert!(waited.get());
        let chats: Vec<_> = model
            .asked()
            .into_iter()
            .filter(|r| r.purpose == Purpose::Chat)
            .collect();
        assert_eq!(chats.len(), 1);
        assert!(s.budget().used.tokens <= limit);
        assert_eq!(s.layers().len(), 1);
    });
}

/// P10: lifting a layer that would not fit is refused with a smaller one to lift instead, and done if asked for
/// all the same.
#[test]
fn lifting_over_the_limit_names_a_layer_that_fits() {
    block_on(async {
        let (_, s) = session(4096).await;
        talk(&s, 60).await;
        let manual = || CompactOptions {
            manual: true,
            ..CompactOptions::default()
        };
        s.compact(manual(), Signal::never()).await.unwrap();
        talk(&s, 3).await;
        s.compact(manual(), Signal::never()).await.unwrap();
        let layers = s.layers();
        let Err(EngineError::WouldNotFit { choices, .. }) = s.lift(layers[0].id).await else {
            panic!("not refused")
        };
        let Some(RoomChoice::Lift { layer, tokens }) = choices.first().copied() else {
            panic!("no layer offered: {choices:?}")
        };
        assert_eq!(layer, layers[1].id);
        s.lift(layer).await.unwrap();
        assert_eq!(s.budget().used.tokens, tokens);
        s.lift_with(layers[0].id, IfOver::Show).await.unwrap();
        assert!(s.layers().is_empty());
        assert!(s.budget().over > 0 && !s.is_due());
    });
}

/// P9: what a compaction's card shows is stored with the revision: the stretches before and after, and how
/// long it took.
#[test]
fn a_stored_report_has_the_bars() {
    block_on(async {
        let store: Rc<dyn Store> = Rc::new(MemoryStore::new());
        let engine = engine(Rc::clone(&store)).await;
        let new = NewSession {
            window: 2048,
            system: "Be exact.".into(),
            ..NewSession::default()
        };
        let session = engine.create(new).await.unwrap();
        talk(&session, 14).await;
        let options = CompactOptions {
            manual: true,
            ..CompactOptions::default()
        };
        let done = session.compact(options, Signal::never()).await.unwrap();
        let rows = session.revisions().await.unwrap();
        let report = rows.last().unwrap().report.clone().unwrap();
        let sum = |all: &[palimpsest_core::budget::Segment]| -> u32 {
            all.iter().map(|s| s.count.tokens).sum()
        };
        assert_eq!(sum(&report.segments_before), done.report.before);
        assert_eq!(sum(&report.segments_after), done.report.after);
        let neighbours = report.segments_before.windows(2);
        assert!(neighbours.into_iter().all(|p| p[0].kind != p[1].kind));
        assert!(report.took.is_some());
    });
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

/// B1: one number, whatever size was asked for by name: it is shown, sent as `num_ctx` to the chat model and to the summariser, and
/// divided by; an unknown size is an error that names the known ones, an unknown model gets 4,096 and says so.
#[test]
fn the_window_that_is_shown_is_sent() {
    block_on(async {
        let e = engine(Rc::new(MemoryStore::new())).await;
        e.know_model("chat", "3.2B");
        let ask = |name: &str| WindowAsk::Named(name.into());
        let check = |name: &str, expected: u32| {
            let size = e
                .window_for("chat", Some(131_072), Some(&ask(name)))
                .unwrap();
            assert_eq!((size.tokens, size.assumed), (expected, false), "{name}");
            size.tokens
        };
        check("16K", 13_600);
        let window = check("8K", 6_800);
        let unknown = e
            .window_for("chat", Some(131_072), Some(&ask("9K")))
            .unwrap_err();
        assert_eq!(unknown.code(), "unknown_size");
        assert!(unknown.to_string().contains("8K"), "{unknown}");
        let number = e
            .window_for("chat", None, Some(&WindowAsk::Tokens(5_000)))
            .unwrap();
        assert_eq!((number.tokens, number.assumed), (5_000, false));
        let assumed = e.window_for("", None, None).unwrap();
        assert_eq!((assumed.tokens, assumed.assumed), (4_096, true));

        let s = e
            .create(NewSession {
                window,
                model: "chat".into(),
                ..NewSession::default()
            })
            .await
            .unwrap();
        talk(&s, 60).await;
        let model = ScriptedModel::new([Answer::text("Here.")], |_| {
            Answer::text(
                "The user asks what each config/part file sets; each sets a limit in seconds, and a restart is needed.",
            )
        });
        let compact = CompactOptions {
            model: Some(Rc::new(model.clone())),
            manual: true,
            ..CompactOptions::default()
        };
        s.compact(compact, Signal::never()).await.unwrap();
        s.send(
            NewMessage::user("And now?"),
            &options(&model),
            Signal::never(),
            &silent,
        )
        .await
        .unwrap();
        let asked = model.asked();
        assert!(asked.iter().any(|r| r.purpose == Purpose::Summary));
        assert!(asked.iter().any(|r| r.purpose != Purpose::Summary));
        assert!(asked.iter().all(|r| r.options.num_ctx == window));
        let budget = s.budget();
        assert_eq!((budget.window, s.head().window), (window, window));
        assert_eq!(budget.limit + budget.reserve + budget.margin, window);
        let info = e.sessions().await.unwrap().remove(0);
        let fill = f64::from(info.head.tokens) / f64::from(window);
        assert!((f64::from(info.fill()) - fill).abs() < 1e-6);
    });
}

/// S1, I7: what a window is made of is a type of its own, with its origin: a snapshot and a message of the history hold no
/// window part, and a window is refused for every context in which one of its parts is not active: another session's, one
/// in which the message is covered, one that stands on another branch, one that was restored.
#[test]
fn only_what_is_active_becomes_a_window_part() {
    block_on(async {
        let (e, s) = session(4096).await;
        talk(&s, 30).await;
        let n = s.snapshot("before").await.unwrap();
        let stored = serde_json::to_string(&s.snapshots()).unwrap();
        assert!(
            !stored.contains("config/part"),
            "a snapshot holds numbers, no words: {stored}"
        );
        let whole = s.window();
        whole.check_egress(&s.context()).unwrap();
        let refused = |window: &palimpsest_core::window::Window, s: &Session| {
            window.check_egress(&s.context()).unwrap_err().code()
        };
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        assert_eq!(refused(&whole, &s), "egress", "covered by now");
        let compacted = s.window();
        let other = e
            .create(NewSession {
                window: 4096,
                ..NewSession::default()
            })
            .await
            .unwrap();
        assert_eq!(refused(&compacted, &other), "egress", "another session's");
        s.append(NewMessage::user("On this branch only."))
            .await
            .unwrap();
        let branch = s.window();
        s.restore(n).await.unwrap();
        assert_eq!(refused(&branch, &s), "egress", "not on this path");
        assert_eq!(refused(&compacted, &s), "egress", "its layer is not shown");
        whole.check_egress(&s.context()).unwrap();
        // S2: the active context says what it holds
        assert_eq!(s.context().check_limit().tokens, s.window().tokens());
        assert_eq!(s.context().entries().len(), s.message_count());
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

/// G6, G7: the badge is 100 % for a chat that was never compacted, whatever its model, and falls with compactions and with
/// what they lost; the size is the provider's word before the name's; after the class's number of compactions comes one
/// warning with the recommendations, not again after reopening, and none while everything is still there.
#[test]
fn trust_in_a_session_that_was_compacted() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let check = async |model: &str, stated: Option<&str>, expected: Option<u32>| {
            if let Some(size) = stated {
                e.know_model(model, size);
            }
            let s = e
                .create(NewSession {
                    window: 4096,
                    model: model.into(),
                    ..NewSession::default()
                })
                .await
                .unwrap();
            let new = s.reliability();
            assert_eq!(
                (new.percent, new.measured, new.level),
                (100, false, Grade::High),
                "{model}"
            );
            let warnings = Rc::new(RefCell::new(Vec::new()));
            let log = Rc::clone(&warnings);
            let mut last = 100;
            let mut first = None;
            for round in 1..=11 {
                let heard = Rc::clone(&log);
                let listener = s.on(move |event| {
                    if let Event::Warning {
                        code: "compacted_often",
                        message,
                    } = event
                    {
                        heard.borrow_mut().push((round, message.clone()));
                    }
                });
                for n in 0..14 {
                    let n = round * 100 + n;
                    s.append(NewMessage::user(format!(
                        "What does src/part_{n}.rs need {n} ms for?"
                    )))
                    .await
                    .unwrap();
                    let text = format!(
                        "It takes {n} ms because of module_{n}. We decided to keep limit_{n} until 2024-05-{:02}. The log is in /var/log/part_{n}.log.",
                        n % 28 + 1
                    );
                    s.append(NewMessage::assistant(vec![Part::text(text)]))
                        .await
                        .unwrap();
                }
                let manual = CompactOptions {
                    manual: true,
                    ..CompactOptions::default()
                };
                s.compact(manual, Signal::never()).await.unwrap();
                s.off(listener);
                let now = s.reliability();
                // what is kept is measured anew each time: it may come back by a little
                assert!(
                    now.measured && now.percent <= last + 2 && now.percent < 100,
                    "{model}, round {round}: {last} → {}",
                    now.percent
                );
                last = now.percent;
                let first = *first.get_or_insert(last);
                assert!(round < 6 || last < first, "{model}: {first} → {last}");
            }
            let said = warnings.borrow().clone();
            assert_eq!(
                said.iter().map(|w| w.0).collect::<Vec<_>>(),
                expected.into_iter().collect::<Vec<_>>(),
                "{model}: {said:?}"
            );
            if let Some((_, text)) = said.first() {
                assert!(
                    text.contains(model) && text.contains("Use a larger model"),
                    "{text}"
                );
            }
            s
        };
        let s = check("tiny:1b", None, Some(3)).await;
        assert_eq!(s.reliability().class, Some(SizeClass::Small));
        assert!(s.reliability().score.unwrap() <= 0.3);
        check("named:70b", Some("6.7B"), Some(5)).await;
        check("plain:13b", None, Some(7)).await;
        check("big:70b", None, Some(10)).await;
        check("whatever", None, Some(3)).await;
        let id = s.id().to_owned();
        drop((s, check));
        let e = engine(store).await;
        let s = e.open(&id, true).await.unwrap();
        assert!(s.head().warned, "it was said, and is not said again");
    });
}

/// C4, P7, I9: in a quiet moment one layer that had been cut is written again by the model, from its notes, strictly smaller, as
/// a revision of its own that undo passes over; a bad answer, and a session that is paused, change nothing,
/// and a model whose answer was no better is not asked again.
#[test]
fn a_quiet_moment() {
    block_on(async {
        let (e, s) = session(8192).await;
        let plain = CompactOptions {
            manual: true,
            ..CompactOptions::default()
        };
        let mut earlier = 0;
        for _ in 0..8 {
            talk(&s, 20).await;
            earlier = s.layers().len();
            s.compact(plain.clone(), Signal::never()).await.unwrap();
        }
        let before = (s.layers(), s.window());
        let good = ScriptedModel::new([], |_| {
            Answer::text(
                "The files of config each set a limit in seconds; a restart is needed after a change.",
            )
        });
        let bad = ScriptedModel::new([], |_| Answer::text("I'm sorry, I can't help with that."));
        let with = |model: &ScriptedModel| CompactOptions {
            model: Some(Rc::new(model.clone())),
            ..CompactOptions::default()
        };
        assert_eq!(
            s.rest(plain.clone(), Signal::never()).await.unwrap(),
            None,
            "nobody to ask"
        );
        assert_eq!(s.rest(with(&bad), Signal::never()).await.unwrap(), None);
        assert_eq!((s.layers(), s.window()), before);
        let asked = bad.asked().len();
        assert!(asked > 0);
        assert_eq!(s.rest(with(&bad), Signal::never()).await.unwrap(), None);
        assert_eq!(bad.asked().len(), asked, "not in every quiet moment");
        let snapshots = s.snapshots().len();
        let other = CompactOptions {
            model_name: Some("another".into()),
            ..with(&good)
        };
        let revision = s.rest(other, Signal::never()).await.unwrap().unwrap();
        assert_eq!(s.head().revision, revision);
        assert_eq!(good.asked().len(), 1, "one call");
        assert_eq!(s.snapshots().len(), snapshots);
        let after = s.layers();
        assert_eq!(after.len(), before.0.len());
        let new = after
            .iter()
            .find(|l| !before.0.iter().any(|o| o.id == l.id))
            .unwrap();
        let old = before.0.iter().find(|l| new.replaces == [l.id]).unwrap();
        assert!(new.tokens < old.tokens && new.summary.starts_with("The files of config"));
        let id = s.id().to_owned();
        let window = s.window();
        drop(s);
        let s = e.open(&id, true).await.unwrap();
        assert_eq!(s.window(), window);
        s.undo().await.unwrap();
        assert_eq!(s.layers().len(), earlier, "undo takes back the compaction");
        assert_eq!(
            s.rest(with(&good), Signal::never()).await.unwrap(),
            None,
            "paused"
        );
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

/// An opening on a store in memory never waits.
fn block_on_now<T>(opening: impl Future<Output = Result<T, EngineError>>) -> T {
    use futures_util::FutureExt;
    opening.now_or_never().unwrap().unwrap()
}
