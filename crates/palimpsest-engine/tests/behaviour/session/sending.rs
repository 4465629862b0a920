//! The way from a message to its reply: tools, overflows, replies that break off.

use std::cell::RefCell;
use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::{Ended, Part, Role};
use palimpsest_core::request::{Delta, FinishReason, ModelError, Purpose, Usage};
use palimpsest_engine::ports::{LocalFuture, Query, Signal, Store, Table};
use palimpsest_engine::session::{CompactOptions, IfOver, NewMessage, SendOptions, ToolHandler};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::{Event, MemoryStore, NewSession};

use super::{engine, session};
use crate::scene::{options, silent, talk};

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
