//! Watermarks in a session: who sets them, where they are stored, and what cannot be released.

use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::{Role, Seq, number_of};
use palimpsest_core::pass::PassKind;
use palimpsest_core::prompt::Skill;
use palimpsest_core::request::{Delta, FinishReason};
use palimpsest_core::watermark::MarkReason;
use palimpsest_engine::ports::{Signal, Store, Table};
use palimpsest_engine::session::{CompactOptions, NewMessage, PromptParts, SendOptions};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::{Engine, MemoryStore, NewSession, Session};

use super::{blobs, create, engine, exchange, lines, tend, window_text};

fn calling(name: &str, arguments: &str) -> ScriptedModel {
    let call = Answer::Deltas(vec![
        Ok(Delta::ToolCall {
            id: "own".into(),
            name: name.into(),
            arguments: arguments.into(),
        }),
        Ok(Delta::Done {
            reason: FinishReason::ToolCalls,
        }),
    ]);
    ScriptedModel::new([call, Answer::text("Done.")], |_| {
        Answer::text("They talked.")
    })
}

/// W1, W2, W4: a mark that was asked for, its settling and the anchors are stored with the session and survive
/// reopening; undo takes the stripping back.
#[test]
fn marks_are_stored() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let s = create(&e, "watermark", 32_768).await;
        let first = exchange(&s, 1, "bash", lines(30, 1)).await;
        let second = exchange(&s, 2, "bash", lines(30, 2)).await;
        s.anchor(second).await.unwrap();
        s.ask_mark("compress_to_checkpoint", MarkReason::Asked)
            .await
            .unwrap();
        let id = s.id().to_owned();
        drop((s, e));
        let e = engine(store.clone()).await;
        let s = e.open(&id, true).await.unwrap();
        assert!(!s.is_due(), "the call has not come");
        exchange(&s, 3, "compress_to_checkpoint", "ok".into()).await;
        assert!(s.is_due());
        let before = window_text(&s);
        let done = tend(&s).await.unwrap();
        assert_eq!(
            done.report
                .passes
                .iter()
                .map(|p| p.pass)
                .collect::<Vec<_>>(),
            [PassKind::Strip]
        );
        let text = window_text(&s);
        assert!(
            !text.contains("line 0 of 1 ") && text.contains("line 0 of 2 "),
            "{text}"
        );
        assert_eq!(tend(&s).await, None);
        let window = s.window();
        drop((s, e));
        let s = engine(store).await.open(&id, true).await.unwrap();
        assert_eq!(s.window(), window);
        assert_eq!(s.anchor(999).await.unwrap_err().code(), "not_found");
        s.undo().await.unwrap();
        assert_eq!(window_text(&s), before);
        let figures = s.analytics();
        assert_eq!(figures.total.saved(), 0);
        assert_eq!(first + 4, second);
    });
}

/// W1, W2: deactivating skills returns the sorted names and always sets a mark: by the model's tool call that call, by
/// the host the end of the history; `compress_to_checkpoint` is the second trigger; activation only by option.
#[test]
fn skills_and_checkpoints_set_marks() {
    block_on(async {
        let e = engine(Rc::new(MemoryStore::new())).await;
        let own = "{\"base\":\"watermark\",\"name\":\"mine\",\"marks\":{\"onActivate\":true}}";
        for (policy, activation) in [("watermark", false), (own, true)] {
            let s = create(&e, policy, 32_768).await;
            let mut config = palimpsest_engine::Config::default();
            config.tools.enabled = true;
            s.configure(config).await.unwrap();
            let skill = |name: &str| Skill {
                name: name.into(),
                text: format!("How to {name}."),
                active: true,
            };
            let parts = PromptParts {
                skills: Some(vec![skill("web-css"), skill("db-sql"), skill("web-html")]),
                ..PromptParts::default()
            };
            s.set_prompt(parts).await.unwrap();
            let mark = |s: &Session| s.context().view().watermark;
            let tell = async |name: &str, arguments: &str| {
                let model = calling(name, arguments);
                let options = SendOptions::new(Rc::new(model.clone()));
                s.send(
                    NewMessage::user("Go on."),
                    &options,
                    Signal::never(),
                    &|_| {},
                )
                .await
                .unwrap();
                tend(&s).await;
                let history = s.history(None, 100);
                let call = history
                    .iter()
                    .rev()
                    .find(|i| i.message.calls().next().is_some());
                let result = history.iter().rev().find(|i| i.message.role == Role::Tool);
                (call.unwrap().message.seq, result.unwrap().message.words())
            };
            exchange(&s, 1, "bash", lines(5, 1)).await;
            let (call, said) = tell("deactivate_skills", "{\"patterns\":\"web-*\"}").await;
            assert_eq!(mark(&s), Some(call));
            assert!(said.contains("web-css, web-html"), "{said}");
            assert!(!window_text(&s).contains("line 0 of 1 "));
            let (call, _) = tell("deactivate_skills", "{\"patterns\":\"nothing-*\"}").await;
            assert_eq!(mark(&s), Some(call), "a mark even if nothing was on");
            let before = mark(&s);
            let (call, _) = tell("activate_skills", "{\"patterns\":\"web-css\"}").await;
            assert_eq!(mark(&s), if activation { Some(call) } else { before });
            exchange(&s, 2, "bash", lines(5, 2)).await;
            let (call, _) = tell("compress_to_checkpoint", "{}").await;
            assert_eq!(mark(&s), Some(call));
            assert!(!window_text(&s).contains("line 0 of 2 "));
            exchange(&s, 3, "bash", lines(5, 3)).await;
            let names = s.deactivate_skills(&["*".into()]).await.unwrap();
            assert_eq!(names, ["db-sql", "web-css"]);
            let tip = s.head().tip.unwrap();
            assert_eq!(mark(&s), Some(tip + 1), "the end of the history");
        }
    });
}

/// W2: a mark whose call never came is dropped at the end of the next turn, with a warning.
#[test]
fn marks_that_cannot_be_are_warned_of() {
    block_on(async {
        let e = engine(Rc::new(MemoryStore::new())).await;
        let s = create(&e, "watermark", 32_768).await;
        let heard: Rc<std::cell::RefCell<Vec<&'static str>>> = Rc::default();
        let log = Rc::clone(&heard);
        s.on(move |event| {
            if let palimpsest_engine::Event::Warning { code, .. } = event {
                log.borrow_mut().push(code);
            }
        });
        exchange(&s, 1, "bash", lines(5, 1)).await;
        s.ask_mark("compress_to_checkpoint", MarkReason::Asked)
            .await
            .unwrap();
        exchange(&s, 2, "bash", lines(5, 2)).await;
        assert_eq!(tend(&s).await, None, "the next turn is not over");
        exchange(&s, 3, "bash", lines(5, 3)).await;
        let done = tend(&s).await.unwrap();
        assert_eq!(
            (done.report.before, *heard.borrow() == ["mark_dropped"]),
            (done.report.after, true)
        );
        assert!(s.context().view().pending.is_none());
    });
}

/// W1, W4: a host's own tool whose name the policy lists sets a mark when it is called, also in a session; a policy that does
/// not act on marks sets none.
#[test]
fn tools_of_the_host_mark() {
    block_on(async {
        for (policy, marked) in [
            (r#"{"base":"watermark","marks":{"tools":"close_*"}}"#, true),
            (r#"{"base":"balanced","marks":{"tools":"close_*"}}"#, false),
        ] {
            let e = engine(Rc::new(MemoryStore::new())).await;
            let s = create(&e, policy, 32_768).await;
            exchange(&s, 1, "bash", lines(5, 1)).await;
            exchange(&s, 2, "close_ticket", lines(5, 2)).await;
            exchange(&s, 3, "bash", lines(5, 3)).await;
            let history = s.history(None, usize::MAX);
            let calls = |words: &str| {
                history
                    .iter()
                    .position(|i| i.message.words().contains(words))
            };
            let call = calls("Step 2, please.").unwrap() + 1;
            let done = tend(&s).await;
            let mark = s.budget().watermark.and_then(|w| w.boundary);
            assert_eq!(
                (done.is_some(), mark),
                (marked, marked.then_some(call as Seq)),
                "{policy}"
            );
            // a mark is set once, whether or not the conversation goes on
            exchange(&s, 4, "bash", lines(5, 4)).await;
            assert_eq!(tend(&s).await, None, "{policy}");
        }
    });
}

/// O3: a text that cannot be released is a warning, and everything else goes on: a reference whose text is gone when it
/// leaves the window, and a session that is erased while one of its messages cannot be read.
#[test]
fn what_cannot_be_released_is_warned_of() {
    use palimpsest_engine::ports::{Durability, KeyPart, Op};
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let s = create(&e, "offload-compact", 32_768).await;
        exchange(&s, 0, "bash", lines(1_500, 0)).await;
        for n in 1..8 {
            exchange(&s, n, "bash", lines(60, n)).await;
        }
        let by_hand = || CompactOptions {
            manual: true,
            ..CompactOptions::default()
        };
        s.compact(by_hand(), Signal::never()).await.unwrap();
        let gone = s.references().into_iter().find(|r| r.message == 2);
        let gone = gone.expect("the large result is a reference");
        let id = s.id().to_owned();
        drop((s, e));
        let remove = async |prefix: Vec<KeyPart>, table| {
            let lease = store.claim(&id, true).await.unwrap();
            let op = Op::DeletePrefix { table, prefix };
            store
                .apply(&lease, None, vec![op], Durability::Strict)
                .await
                .unwrap();
        };
        remove(
            vec![KeyPart::Text(palimpsest_core::pass::offload::content_hash(
                lines(1_500, 0).as_bytes(),
            ))],
            Table::Blobs,
        )
        .await;
        let e = engine(store.clone()).await;
        let s = e.open(&id, true).await.unwrap();
        let heard: Rc<std::cell::RefCell<Vec<String>>> = Rc::default();
        let log = Rc::clone(&heard);
        s.on(move |event| {
            if let palimpsest_engine::Event::Warning { code, message } = event {
                log.borrow_mut().push(format!("{code}: {message}"));
            }
        });
        for n in 8..40 {
            exchange(&s, n, "bash", lines(90, n)).await;
            if s.references().iter().all(|r| r.message != 2) {
                break;
            }
            tend(&s).await;
        }
        let warned = heard.borrow().clone();
        let expected = format!(
            "not_released: the text of message {}, part 0 could not be released",
            number_of(gone.message)
        );
        assert!(
            warned.iter().any(|w| w.starts_with(&expected)),
            "{warned:?}"
        );
        drop(s);
        let named = async |e: &Engine, id: &str| {
            let new = NewSession {
                window: 32_768,
                ..NewSession::default()
            };
            e.create_with_id(id, new).await.unwrap()
        };
        // a message that is damaged: nobody knows which texts it names
        let other = named(&e, "other").await;
        exchange(&other, 1, "bash", lines(1_500, 3)).await;
        let other_id = other.id().to_owned();
        drop(other);
        let lease = store.claim(&other_id, true).await.unwrap();
        let op = Op::Put {
            table: Table::Messages,
            key: vec![other_id.as_str().into(), 9_u32.into()],
            value: "{\"crc\":1,\"row\":{}}".into(),
        };
        store
            .apply(&lease, None, vec![op], Durability::Strict)
            .await
            .unwrap();
        let purged = e.purge(&other_id).await.unwrap();
        assert_eq!((purged.released, purged.kept), (0, true));
        assert!(purged.warning().unwrap().contains("stay in the store"));
        assert_eq!(blobs(&store).await, 1, "it is still there");
        let whole = named(&e, "whole").await;
        exchange(&whole, 1, "bash", lines(1_500, 4)).await;
        let whole_id = whole.id().to_owned();
        drop(whole);
        let purged = e.purge(&whole_id).await.unwrap();
        assert_eq!((purged.released, purged.warning()), (1, None));
    });
}
