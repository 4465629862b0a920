//! Replies that are not whole: what arrived is a message with a mark, and can be gone on with.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::rc::Rc;

use futures_executor::block_on;
use futures_util::future::join;
use palimpsest_core::message::{Ended, Role};
use palimpsest_core::request::{Delta, FinishReason, ModelError, Purpose, Usage};
use palimpsest_engine::ports::{Abort, Durability, Op, Query, Signal, Store, Table};
use palimpsest_engine::rows::seal;
use palimpsest_engine::session::{NewMessage, SendEvent, Session};
use palimpsest_engine::testing::fault::{Fault, FaultStore};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::transfer::{Accept, Format, Transfer};
use palimpsest_engine::{Engine, MemoryStore, NewSession};
use palimpsest_tokens::Estimator;

use super::scene::{options, silent, talk};

async fn engine(store: Rc<dyn Store>) -> Engine {
    Engine::start(store, world(), Rc::new(Estimator::default()))
        .await
        .unwrap()
}

async fn session(store: Rc<dyn Store>) -> (Engine, Session) {
    let engine = engine(store).await;
    let new = NewSession {
        window: 4096,
        model: "m".into(),
        ..NewSession::default()
    };
    let session = engine.create(new).await.unwrap();
    (engine, session)
}

fn broken(text: &str) -> Answer {
    Answer::Deltas(vec![Ok(Delta::text(text)), Err(ModelError::Truncated)])
}

fn cut(text: &str, tokens: u32) -> Answer {
    Answer::Deltas(vec![
        Ok(Delta::text(text)),
        Ok(Delta::Usage(Usage {
            completion_tokens: Some(tokens),
            ..Usage::default()
        })),
        Ok(Delta::Done {
            reason: FinishReason::Length,
        }),
    ])
}

fn model(answers: impl IntoIterator<Item = Answer>) -> ScriptedModel {
    ScriptedModel::new(answers, |_| Answer::text("x"))
}

fn said(s: &Session) -> Vec<(String, Option<Ended>)> {
    let items = s.history(None, 99);
    items
        .iter()
        .map(|i| (i.message.words(), i.message.ended))
        .collect()
}

fn line(text: &str, ended: Option<Ended>) -> (String, Option<Ended>) {
    (text.to_owned(), ended)
}

/// P7, F76: a reply that broke off is a message with a mark; going on with it makes one whole message of both, and what was
/// there stays on its branch. Where there is nothing to go on with, that is said, and no model is asked.
#[test]
fn a_broken_reply_is_gone_on_with() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let (e, s) = session(store.clone()).await;
        let model = model([broken("Half an "), Answer::text("hour.")]);
        let o = options(&model);
        let nothing = s.continue_reply(&o, Signal::never(), &silent).await;
        assert_eq!(nothing.unwrap_err().code(), "nothing_to_continue");
        assert_eq!(model.asked().len(), 0);
        let error = s
            .send(NewMessage::user("How long?"), &o, Signal::never(), &silent)
            .await;
        assert_eq!(error.unwrap_err().code(), "truncated");
        let half = [
            line("How long?", None),
            line("Half an ", Some(Ended::Stopped)),
        ];
        assert_eq!(said(&s), half);
        assert_eq!(s.partial(), None);

        let again = e.open(s.id(), true).await.unwrap();
        assert_eq!(said(&again), half, "the mark is stored");
        let reply = again
            .continue_reply(&o, Signal::never(), &silent)
            .await
            .unwrap();
        assert_eq!((reply.ended, reply.stopped), (None, false));
        let whole = [line("How long?", None), line("Half an hour.", None)];
        assert_eq!(said(&again), whole);
        assert_eq!(again.history(None, 1)[0].branch, (2, 2));
        let asked = model.asked();
        let last = asked.last().unwrap();
        assert_eq!(last.purpose, Purpose::Chat);
        let last = last.messages.last().unwrap();
        assert_eq!(
            (last.role, last.parts[0].words()),
            (Role::Assistant, "Half an ")
        );
        let again = e.open(s.id(), true).await.unwrap();
        assert_eq!(said(&again), whole);
        let nothing = again.continue_reply(&o, Signal::never(), &silent).await;
        assert_eq!(nothing.unwrap_err().code(), "nothing_to_continue");
    });
}

/// P7: a reply that the server cut says at how many tokens; cut again, at how many in all. A server that has nothing to add
/// makes it whole.
#[test]
fn a_cut_reply_says_where() {
    block_on(async {
        let (_, s) = session(Rc::new(MemoryStore::new())).await;
        let over = Answer::Deltas(vec![Ok(Delta::Done {
            reason: FinishReason::Stop,
        })]);
        let model = model([cut("One, two, ", 6), cut("three, ", 3), over]);
        let o = options(&model);
        let first = s
            .send(NewMessage::user("Count."), &o, Signal::never(), &silent)
            .await
            .unwrap();
        assert_eq!(first.ended, Some(Ended::Cut(6)));
        for (ended, text) in [
            (Some(Ended::Cut(9)), "One, two, three, "),
            (None, "One, two, three, "),
        ] {
            let reply = s
                .continue_reply(&o, Signal::never(), &silent)
                .await
                .unwrap();
            assert_eq!(reply.ended, ended);
            assert_eq!(said(&s)[1], line(text, ended));
        }
    });
}

/// P7: what a model says again at the seam stands once; a short repetition is the reply's own.
#[test]
fn the_seam_is_not_said_twice() {
    for (before, more, whole) in [
        (
            "the quick brown fox ",
            "the quick brown fox jumps",
            "the quick brown fox jumps",
        ),
        (
            "see the quick brown fox",
            "quick brown fox jumps",
            "see the quick brown foxquick brown fox jumps",
        ),
        (
            "we saw the quick brown fox",
            "the quick brown fox jumps",
            "we saw the quick brown fox jumps",
        ),
        ("ha ha ", "ha ha", "ha ha ha ha"),
        (
            "日本語の文章を書きます",
            "日本語の文章を書きます。",
            "日本語の文章を書きます。",
        ),
    ] {
        block_on(async {
            let (_, s) = session(Rc::new(MemoryStore::new())).await;
            let o = options(&model([broken(before), Answer::text(more)]));
            let hi = NewMessage::user("Hi");
            assert!(s.send(hi, &o, Signal::never(), &silent).await.is_err());
            s.continue_reply(&o, Signal::never(), &silent)
                .await
                .unwrap();
            assert_eq!(said(&s)[1].0, whole);
        });
    }
}

/// P7: a continuation that fails, or is stopped, keeps what it brought; if it brought nothing, all is as before.
#[test]
fn a_continuation_that_breaks_off() {
    block_on(async {
        let (_, s) = session(Rc::new(MemoryStore::new())).await;
        let nothing = Answer::error(ModelError::Unreachable { why: "gone".into() });
        let model = model([
            broken("One, "),
            nothing,
            broken("two, "),
            Answer::text("three, four"),
        ]);
        let o = options(&model);
        let count = NewMessage::user("Count.");
        assert!(s.send(count, &o, Signal::never(), &silent).await.is_err());
        for (text, branch) in [("One, ", (1, 1)), ("One, two, ", (2, 2))] {
            let failed = s.continue_reply(&o, Signal::never(), &silent).await;
            assert!(failed.is_err());
            assert_eq!(said(&s)[1], line(text, Some(Ended::Stopped)));
            assert_eq!(s.history(None, 1)[0].branch, branch);
        }
        let own = s.clone();
        let stop = move |event| {
            if matches!(event, SendEvent::Delta(_)) {
                own.stop();
            }
        };
        let reply = s.continue_reply(&o, Signal::never(), &stop).await.unwrap();
        assert_eq!(reply.ended, Some(Ended::Stopped));
        assert_eq!(said(&s)[1], line("One, two, three, ", Some(Ended::Stopped)));
    });
}

/// P7: a session that was left in the middle of a reply has what arrived as a message; one of another question stays with that
/// one. A row of an earlier version is read, too.
#[test]
fn what_was_left_is_kept_where_it_belongs() {
    let here = seal(&serde_json::json!({ "text": "Half", "after": 2 })).unwrap();
    let before = seal(&"Half").unwrap();
    let elsewhere = seal(&serde_json::json!({ "text": "Half", "after": 0 })).unwrap();
    for (row, is_here) in [(here, true), (before, true), (elsewhere, false)] {
        block_on(async {
            let store = Rc::new(MemoryStore::new());
            let (e, s) = session(store.clone()).await;
            talk(&s, 1).await;
            s.append(NewMessage::user("And now?")).await.unwrap();
            let put = Op::Put {
                table: Table::Partials,
                key: vec![s.id().into()],
                value: row.clone(),
            };
            let lease = store.claim(s.id(), true).await.unwrap();
            let put = store.apply(&lease, None, vec![put], Durability::Relaxed);
            put.await.unwrap();
            let s = e.open(s.id(), true).await.unwrap();
            s.keep_arrived().await;
            let rows = Query::all(Table::Partials, vec![s.id().into()]);
            assert_eq!(store.read(rows).await.unwrap().len(), 0, "{row}");
            if !is_here {
                assert_eq!(said(&s).last().unwrap(), &line("And now?", None));
                assert_eq!(s.history(None, 99)[1].branch, (1, 2));
                s.switch_to(3).await.unwrap();
            }
            let half = line("Half", Some(Ended::Stopped));
            assert_eq!(said(&s).last().unwrap(), &half, "{row}");
        });
    }
}

/// P7, F67: going back while a reply streams: the reply stands with its own question, and the present with its own.
#[test]
fn going_back_while_a_reply_streams() {
    block_on(async {
        let (_, s) = session(Rc::new(MemoryStore::new())).await;
        talk(&s, 2).await;
        let snapshot = s.snapshot("before").await.unwrap();
        for ended in [None, Some(Ended::Stopped)] {
            let (go, is_stored) = (Abort::new(), Abort::new());
            let mut deltas = vec![Ok(Delta::text("one two three"))];
            deltas.push(match ended {
                None => Ok(Delta::Done {
                    reason: FinishReason::Stop,
                }),
                Some(_) => Err(ModelError::Truncated),
            });
            let o = options(&model([Answer::Late(go.signal(), deltas)]));
            let asked = std::cell::Cell::new(0);
            let hear = |event: SendEvent| {
                if let SendEvent::Stored(seq) = event {
                    asked.set(seq);
                    is_stored.abort();
                }
            };
            let sending = s.send(NewMessage::user("And?"), &o, Signal::never(), &hear);
            let going_back = async {
                is_stored.signal().aborted().await;
                s.restore(snapshot).await.unwrap();
                go.abort();
            };
            let (sent, ()) = join(sending, going_back).await;
            assert_eq!(sent.is_ok(), ended.is_none());
            assert_eq!((s.message_count(), s.partial()), (4, None));
            s.switch_to(asked.get()).await.unwrap();
            let there = [line("And?", None), line("one two three", ended)];
            assert_eq!(said(&s)[4..], there);
            s.restore(snapshot).await.unwrap();
        }
    });
}

/// P7: written anew, an unfinished reply comes back if nothing comes in its place.
#[test]
fn an_unfinished_reply_written_anew() {
    block_on(async {
        let (_, s) = session(Rc::new(MemoryStore::new())).await;
        let gone = Answer::error(ModelError::Unreachable { why: "gone".into() });
        let o = options(&model([broken("Half an "), gone, Answer::text("An hour.")]));
        let hi = NewMessage::user("How long?");
        assert!(s.send(hi, &o, Signal::never(), &silent).await.is_err());
        assert!(s.reply(&o, Signal::never(), &silent).await.is_err());
        assert_eq!(said(&s)[1], line("Half an ", Some(Ended::Stopped)));
        s.reply(&o, Signal::never(), &silent).await.unwrap();
        assert_eq!(said(&s)[1..], [line("An hour.", None)]);
    });
}

/// I6, P7: killed at any step of the store, a continuation leaves the reply as it was, what came besides, or the whole; never
/// less, and always one message.
#[test]
fn a_continuation_killed_at_every_step() {
    let mut whole = 0;
    for at in 0..40 {
        block_on(async {
            let memory = MemoryStore::new();
            let (_, s) = session(Rc::new(memory.clone())).await;
            let id = s.id().to_owned();
            let o = options(&model([broken("One, ")]));
            let count = NewMessage::user("Count.");
            assert!(s.send(count, &o, Signal::never(), &silent).await.is_err());
            drop(s);

            let faulty = Rc::new(FaultStore::new(memory.clone()).failing_at(at, Fault::Crashes));
            let work = async {
                let e =
                    Engine::start(faulty.clone(), world(), Rc::new(Estimator::default())).await?;
                let s = e.open(&id, true).await?;
                let o = options(&model([Answer::text("two, three")]));
                s.continue_reply(&o, Signal::never(), &silent).await
            };
            whole += u32::from(work.await.is_ok());

            let e = engine(Rc::new(memory.clone())).await;
            let s = e.open(&id, true).await.unwrap();
            let now = said(&s);
            assert_eq!(now.len(), 2, "killed at {at}: {now:?}");
            let (text, ended) = &now[1];
            assert!(
                "One, two, three".starts_with(text) && text.starts_with("One, "),
                "{text}"
            );
            if ended.is_none() {
                assert_eq!(text, "One, two, three");
            }
            assert!(s.context().check_limit().valid);
        });
    }
    assert!(whole > 0, "the last ones are not killed");
}

/// S3: the mark is in every file format, and comes back from it.
#[test]
fn the_mark_is_in_files() {
    block_on(async {
        let (e, s) = session(Rc::new(MemoryStore::new())).await;
        let o = options(&model([cut("One, ", 3)]));
        let count = NewMessage::user("Count.");
        s.send(count, &o, Signal::never(), &silent).await.unwrap();
        for format in [Format::JsonLines, Format::Markdown, Format::SessionJson] {
            let file = s.export(format).await.unwrap();
            let read = Transfer::read(&file).unwrap();
            let marks: Vec<_> = read.messages.iter().map(|m| m.ended).collect();
            assert_eq!(marks, [None, Some(Ended::Cut(3))], "{format:?}");
            let mut read = read;
            read.facts.id = format!("{format:?}");
            let made = e.import(read, Accept::Everything).await.unwrap();
            assert_eq!(said(&made)[1].1, Some(Ended::Cut(3)), "{format:?}");
        }
    });
}
