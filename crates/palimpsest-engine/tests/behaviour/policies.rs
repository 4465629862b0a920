//! Sessions under every policy: marks, references, the log, large texts.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::cell::Cell;
use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::{Part, Role, Seq, number_of};
use palimpsest_core::pass::PassKind;
use palimpsest_core::policy::presets;
use palimpsest_core::prompt::Skill;
use palimpsest_core::rendition::ReducedKind;
use palimpsest_core::request::{Delta, FinishReason};
use palimpsest_core::watermark::MarkReason;
use palimpsest_engine::ports::{Clock, Query, Signal, Store, Table, World};
use palimpsest_engine::session::{
    CompactOptions, NewMessage, PromptParts, SendOptions, log_markdown,
};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
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

/// E4, I2, I6: a session runs under every preset and under one given as data: it compacts by itself, fits, and comes
/// back from the store byte for byte.
#[test]
fn every_policy_in_a_session() {
    block_on(async {
        let own = "{\"base\":\"balanced\",\"name\":\"mine\",\"passes\":[{\"pass\":\"condense\"},{\"pass\":\"truncate\"},{\"pass\":\"emergency\"}]}";
        let names = presets::ALL.iter().map(|(name, _)| *name).chain([own]);
        for name in names {
            let store = Rc::new(MemoryStore::new());
            let e = engine(store.clone()).await;
            let s = create(&e, name, 8_192).await;
            let mut done = 0;
            for n in 0..24 {
                let text = if n % 2 == 0 { rows(60) } else { lines(60, n) };
                exchange(&s, n, "bash", text).await;
                done += u32::from(tend(&s).await.is_some());
                if name == "watermark" && n == 12 {
                    s.mark_end().await.unwrap();
                }
                assert!(
                    s.context().check_limit().valid || name == "watermark",
                    "{name}"
                );
            }
            assert!(done > 0, "{name}");
            let before = s.window();
            let id = s.id().to_owned();
            drop((s, e));
            let again = engine(store).await.open(&id, true).await.unwrap();
            assert_eq!(again.window(), before, "{name}");
        }
        let e = engine(Rc::new(MemoryStore::new())).await;
        let wrong = NewSession {
            policy: "{\"base\":\"balanced\",\"trigers\":[]}".into(),
            ..NewSession::default()
        };
        let error = e.create(wrong).await.unwrap_err();
        assert!(
            error.to_string().contains("did you mean \"triggers\"?"),
            "{error}"
        );
    });
}

/// T2: under `auto-summarize` a result is condensed as it arrives, by its tool; the original stays in the history, and
/// the form is the same after reopening.
#[test]
fn condensed_on_arrival() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let s = create(&e, "auto-summarize", 32_768).await;
        let at = exchange(&s, 1, "database_query", rows(300)).await;
        let text = window_text(&s);
        assert!(
            text.contains("\n300 rows\n") && text.len() < 2_000,
            "{text}"
        );
        let history = s.history(None, 10);
        let item = history.iter().find(|i| i.message.seq == at).unwrap();
        assert_eq!(
            (item.reduced, item.message.words()),
            (Some(ReducedKind::Condensed), rows(300))
        );
        let id = s.id().to_owned();
        let before = s.window();
        drop((s, e));
        let again = engine(store).await.open(&id, true).await.unwrap();
        assert_eq!(again.window(), before);

        let e = engine(Rc::new(MemoryStore::new())).await;
        let other = create(&e, "balanced", 32_768).await;
        exchange(&other, 1, "database_query", rows(300)).await;
        assert!(
            window_text(&other).contains(&rows(300)),
            "not under another policy"
        );
    });
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

/// A clock that a test moves on.
struct Moved(Cell<f64>);

impl Clock for Moved {
    fn now(&self) -> f64 {
        self.0.get()
    }
}

/// B4: a conversation that rests for as long as its policy says is compacted, if that changes anything.
#[test]
fn an_idle_conversation_is_compacted() {
    block_on(async {
        let clock = Rc::new(Moved(Cell::new(1_700_000_000_000.0)));
        let world = World {
            clock: clock.clone(),
            ..world()
        };
        let pass = |ms: f64| clock.0.set(clock.0.get() + ms);
        let store = Rc::new(MemoryStore::new());
        let engine = Engine::start(store, world, Rc::new(Estimator::default()))
            .await
            .unwrap();
        let policy = r#"{"base":"balanced","triggers":[{"on":"idle","seconds":60}]}"#;
        let s = create(&engine, policy, 8_192).await;
        exchange(&s, 1, "bash", lines(5, 1)).await;
        assert_eq!(s.until_idle(), None, "there is nothing to gain");
        for n in 2..40 {
            exchange(&s, n, "bash", lines(5, n)).await;
        }
        assert!(s.budget().used.tokens > s.budget().target);
        assert_eq!(s.until_idle(), Some(60_000));
        pass(59_999.5);
        assert_eq!((s.until_idle(), tend(&s).await), (Some(1), None));
        // what is said begins the wait anew
        exchange(&s, 40, "bash", lines(5, 40)).await;
        assert_eq!((s.until_idle(), tend(&s).await), (Some(60_000), None));
        pass(60_000.0);
        assert!(tend(&s).await.is_some());
        assert_eq!(s.until_idle(), None, "it is done");
    });
}

/// O1, O4: an offloaded result is in the history, its reference finds it by hash, also after reopening, and shown again
/// it is as it was said.
#[test]
fn references_bring_back() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let s = create(&e, "offload-compact", 16_384).await;
        for n in 0..12 {
            exchange(&s, n, "bash", lines(120, n)).await;
        }
        let done = tend(&s).await.unwrap();
        assert_eq!(done.report.passes[0].pass, PassKind::Offload);
        let id = s.id().to_owned();
        drop((s, e));
        let s = engine(store).await.open(&id, true).await.unwrap();
        let references = s.references();
        assert!(references.len() > 3);
        let one = &references[0];
        assert_eq!(s.offloaded_text(one).unwrap(), lines(120, 0));
        assert!(!window_text(&s).contains(&lines(120, 0)));
        s.bring_back(one.message).await.unwrap();
        assert!(window_text(&s).contains(&lines(120, 0)));
        assert_eq!(s.references().len(), references.len() - 1);
        assert_eq!(
            s.bring_back(one.message).await.unwrap_err().code(),
            "not_found"
        );
        let wrong = palimpsest_core::pass::offload::Reference {
            hash: "000000000000".into(),
            ..one.clone()
        };
        assert_eq!(s.offloaded_text(&wrong).unwrap_err().code(), "not_found");
    });
}

async fn blobs(store: &MemoryStore) -> usize {
    let rows = store.read(Query::all(Table::Blobs, vec![])).await.unwrap();
    let mut hashes: Vec<_> = rows.into_iter().map(|r| r.key[0].clone()).collect();
    hashes.dedup();
    hashes.len()
}

/// O4: a large text lies in blobs since it arrived, one for the same text in two sessions; it goes with the last session
/// that names it, and never before.
#[test]
fn large_texts_live_as_long_as_they_are_named() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let large = lines(1_500, 7);
        assert!(large.len() > 32 * 1_024);
        let a = create(&e, "offload-compact", 32_768).await;
        let b = create(&e, "balanced", 32_768).await;
        exchange(&a, 1, "bash", large.clone()).await;
        exchange(&a, 2, "bash", lines(1_500, 8)).await;
        exchange(&b, 1, "bash", large.clone()).await;
        assert_eq!(blobs(&store).await, 2);
        let (id_a, id_b) = (a.id().to_owned(), b.id().to_owned());
        let options = CompactOptions {
            manual: true,
            ..CompactOptions::default()
        };
        a.compact(options, Signal::never()).await.unwrap();
        assert_eq!(blobs(&store).await, 2, "a compaction deletes nothing");
        drop((a, b));
        e.purge(&id_a).await.unwrap();
        assert_eq!(
            blobs(&store).await,
            1,
            "the other session names one of them"
        );
        let b = e.open(&id_b, true).await.unwrap();
        let history = b.history(None, 10);
        assert!(
            history
                .iter()
                .any(|i| i.message.role == Role::Tool && i.message.words() == large)
        );
        drop(b);
        e.purge(&id_b).await.unwrap();
        assert_eq!(blobs(&store).await, 0);
    });
}

/// O3, O4: a large text that cannot be read is a placeholder that names it; the rest of the session opens.
#[test]
fn an_unreadable_large_text() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let s = create(&e, "balanced", 32_768).await;
        let large = lines(1_500, 7);
        exchange(&s, 1, "bash", large.clone()).await;
        let id = s.id().to_owned();
        drop((s, e));
        let hash = palimpsest_core::pass::offload::content_hash(large.as_bytes());
        let lease = store.claim(&id, true).await.unwrap();
        let gone = palimpsest_engine::ports::Op::DeletePrefix {
            table: Table::Blobs,
            prefix: vec![palimpsest_engine::ports::KeyPart::Text(hash.clone())],
        };
        store
            .apply(
                &lease,
                None,
                vec![gone],
                palimpsest_engine::ports::Durability::Strict,
            )
            .await
            .unwrap();
        let s = engine(store).await.open(&id, true).await.unwrap();
        let history = s.history(None, 10);
        let words: Vec<String> = history.iter().map(|i| i.message.words()).collect();
        assert_eq!(words[2], format!("[Content unavailable: {hash}]"));
        assert_eq!(words[3], "Step 1 is done in src/part_1.rs.");
    });
}

/// T4, W5: the log has time, action, messages and tokens before and after, percentages and saving of every compaction,
/// as data and as Markdown; analytics say what each tool takes and what is not shown of it.
#[test]
fn the_session_log() {
    block_on(async {
        let e = engine(Rc::new(MemoryStore::new())).await;
        let s = create(&e, "balanced", 8_192).await;
        for n in 0..10 {
            exchange(
                &s,
                n,
                if n % 2 == 0 { "bash" } else { "read" },
                lines(60, n),
            )
            .await;
        }
        let done = tend(&s).await.unwrap();
        let log = s.log().await.unwrap();
        assert_eq!(log.len(), 1);
        let entry = &log[0];
        assert_eq!(entry.tokens, (done.report.before, done.report.after));
        assert_eq!((entry.window, entry.revision), (8_192, done.revision));
        assert_eq!(entry.saved(), done.report.freed());
        assert_eq!(entry.messages.1, done.report.preserved);
        assert!(entry.at > 0.0);
        let text = log_markdown("A\n# title", &log, &|_| "2026-01-02T03:04:05".into());
        let percent = |t: u32| f64::from(t) * 100.0 / 8_192.0;
        assert!(
            text.starts_with("# Session log: A # title\n\n## Compacted @ 2026-01-02T03:04:05\n"),
            "{text}"
        );
        assert!(text.contains(&format!(
            "- Before: {} / 8192 tokens ({:.1} %)",
            entry.tokens.0,
            percent(entry.tokens.0)
        )));
        assert!(text.contains(&format!(
            "- Saved: {} tokens ({:.1} %)",
            entry.saved(),
            entry.saving_percent()
        )));
        for shed in &done.report.passes {
            assert!(text.contains(&format!(": {} tokens\n", shed.tokens)));
        }
        let figures = s.analytics();
        assert_eq!(figures.tools.iter().map(|t| t.blocks).sum::<u32>(), 20);
        assert_eq!(figures.total.blocks, 20);
        assert!(figures.total.saved() > 0 && figures.total.ratio() < 1.0);
        assert!(
            figures
                .tools
                .is_sorted_by_key(|t| std::cmp::Reverse(t.saved()))
        );
        assert_eq!(
            s.log().await.unwrap().last().unwrap().tokens.1,
            done.report.after
        );
    });
}

/// O1: the model brings an offloaded result back by its reference: the line that stands in its place, a part of it, its
/// hash, or its place; what is none is answered with those there are.
#[test]
fn a_reference_is_recalled_by_the_model() {
    block_on(async {
        let e = engine(Rc::new(MemoryStore::new())).await;
        let s = create(&e, "offload-compact", 16_384).await;
        let config = palimpsest_engine::Config::from_json(r#"{"tools":{"enabled":true}}"#).unwrap();
        s.configure(palimpsest_engine::Config {
            policy: Some("offload-compact".into()),
            ..config
        })
        .await
        .unwrap();
        for n in 0..12 {
            exchange(&s, n, "bash", lines(120, n)).await;
        }
        tend(&s).await.unwrap();
        let one = s.references()[0].clone();
        assert!(window_text(&s).contains(&one.text()[..60]));
        let ask = async |argument: String| {
            let call = Answer::Deltas(vec![
                Ok(Delta::ToolCall {
                    id: "r".into(),
                    name: "recall".into(),
                    arguments: format!("{{\"reference\":{argument}}}"),
                }),
                Ok(Delta::Done {
                    reason: FinishReason::ToolCalls,
                }),
            ]);
            let model = ScriptedModel::new([call, Answer::text("Thanks.")], |_| Answer::Silence);
            let options = SendOptions::new(Rc::new(model));
            s.send(
                NewMessage::user("What was in it?"),
                &options,
                Signal::never(),
                &|_| {},
            )
            .await
            .unwrap();
            let history = s.history(None, 2);
            history[0].message.words()
        };
        let line = one.text().lines().next().unwrap().to_owned();
        let whole = format!("[{}] {}", number_of(one.message), lines(120, 0));
        for argument in [
            format!("{line:?}"),
            format!(
                "\"offloaded: message {}, part 0, {} bytes, {}\"",
                number_of(one.message),
                one.bytes,
                one.hash
            ),
            // as older versions wrote it, which counted messages from 0
            format!(
                "\"offloaded: message {}, part 0, {} bytes, {}\"",
                one.message, one.bytes, one.hash
            ),
            format!("\"{}\"", one.hash),
            format!("{{\"message\":{},\"part\":0}}", number_of(one.message)),
        ] {
            assert_eq!(ask(argument.clone()).await, whole, "{argument}");
        }
        let none = ask("\"ffffffffffff\"".into()).await;
        assert!(
            none.starts_with("There is no offloaded result like that."),
            "{none}"
        );
        assert!(
            none.contains(&format!("message {}, part 0", number_of(one.message))),
            "{none}"
        );
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

/// E3, B5: what is kept for the answer is a setting of the session: its windows leave it free, its replies may take it and no
/// more, half of a small window is the most, and a session that is not made yet tells what it would begin with. So is how
/// its replies choose their words.
#[test]
fn what_is_kept_for_the_answer() {
    block_on(async {
        let e = engine(Rc::new(MemoryStore::new())).await;
        let s = create(&e, "balanced", 8_192).await;
        let usual = s.budget();
        let config = palimpsest_engine::Config::from_json(r#"{"reserve":2048}"#).unwrap();
        s.configure(palimpsest_engine::Config {
            policy: Some("balanced".into()),
            ..config.clone()
        })
        .await
        .unwrap();
        let own = s.budget();
        assert_eq!((usual.reserve, own.reserve), (1_024, 2_048));
        assert_eq!(own.limit, usual.limit - 1_024);
        assert!(own.trigger < usual.trigger);
        s.set_model("small", 2_048, "balanced", true).await.unwrap();
        assert_eq!(s.budget().reserve, 1_024, "at most half of the window");

        let new = NewSession {
            config,
            system: "Be brief.".into(),
            ..NewSession::default()
        };
        let sessions = e.sessions().await.unwrap().len();
        let told = e.budget_of(new.clone()).await.unwrap();
        assert_eq!(
            e.sessions().await.unwrap().len(),
            sessions,
            "nothing was made"
        );
        let made = e.create(new.clone()).await.unwrap();
        assert_eq!(told, made.budget());
        assert_eq!(told.reserve, 2_048);
        let request = made
            .request(&crate::scene::options(&ScriptedModel::new([], |_| {
                Answer::text("Yes.")
            })))
            .unwrap();
        assert_eq!(request.options.num_predict, 2_048);
        assert_eq!(request.options.seed, None);
        let sampling = r#"{"sampling":{"temperature":0.5,"top_p":0.9,"seed":7}}"#;
        let config = palimpsest_engine::Config::from_json(sampling).unwrap();
        made.configure(palimpsest_engine::Config {
            policy: Some("balanced".into()),
            ..config
        })
        .await
        .unwrap();
        let model = ScriptedModel::new([], |_| Answer::text("Yes."));
        let mut how = crate::scene::options(&model);
        how.sampling.temperature = None;
        let own = made.request(&how).unwrap().options;
        assert_eq!(
            (own.temperature, own.top_p, own.seed),
            (Some(0.5), Some(0.9), Some(7))
        );
        how.sampling.temperature = Some(1.0);
        let called = made.request(&how).unwrap().options;
        assert_eq!(
            called.temperature,
            Some(1.0),
            "a call goes before the session"
        );
        assert_eq!(called.seed, Some(7), "and the session says the rest");
        how.max_tokens = Some(40);
        how.stop = vec!["END".into()];
        how.format = Some(serde_json::json!({"type": "object"}));
        how.sampling.min_p = Some(0.05);
        let called = made.request(&how).unwrap().options;
        assert_eq!((called.num_predict, called.min_p), (40, Some(0.05)));
        assert_eq!(
            (called.stop, called.format),
            (how.stop.clone(), how.format.clone())
        );
        // what no reply can be given with is refused before anything is stored
        let before = made.message_count();
        let with = |change: &dyn Fn(&mut SendOptions)| {
            let mut how = crate::scene::options(&model);
            change(&mut how);
            how
        };
        let wrong = [
            (with(&|how| how.max_tokens = Some(0)), "max_tokens"),
            (with(&|how| how.max_tokens = Some(100_000)), "reserve"),
            (with(&|how| how.stop = vec![String::new()]), "stop"),
            (
                with(&|how| how.format = Some(serde_json::json!(7))),
                "format",
            ),
            (
                with(&|how| how.sampling.temperature = Some(3.0)),
                "temperature",
            ),
            (
                with(&|how| how.sampling.repeat_penalty = Some(0.0)),
                "repeat_penalty",
            ),
        ];
        for (how, setting) in wrong {
            let sent = made.send(NewMessage::user("Hi"), &how, Signal::never(), &|_| {});
            let error = sent.await.unwrap_err();
            assert_eq!(error.code(), "invalid_setting");
            assert!(error.to_string().contains(setting), "{error}");
        }
        assert_eq!(made.message_count(), before);
        let unknown = NewSession {
            profile: Some("none".into()),
            ..new
        };
        assert_eq!(
            e.budget_of(unknown).await.unwrap_err().code(),
            "unknown_profile"
        );
    });
}

/// O5: the settings of `/compact`: trigger threshold, target, messages kept, summary model, attempts; and the line it
/// prints: before → after, freed, references.
#[test]
fn the_settings_of_compact() {
    block_on(async {
        let e = engine(Rc::new(MemoryStore::new())).await;
        let s = create(&e, "offload-compact", 16_384).await;
        let settings = r#"{"compression":{"trigger_threshold":900,"summary_max_tokens":150,"preserve_count":9,"summary_model":"small","attempts":2,"trigger_at":0.6}}"#;
        let config = palimpsest_engine::Config::from_json(settings).unwrap();
        s.configure(palimpsest_engine::Config {
            policy: Some("offload-compact".into()),
            ..config
        })
        .await
        .unwrap();
        let context = s.context();
        let policy = &context.setup().policy;
        assert_eq!(
            policy.escalate,
            palimpsest_core::policy::Escalation::Weak {
                tokens: 900,
                window_percent: 20
            }
        );
        assert_eq!(
            policy.keep_recent,
            palimpsest_core::policy::KeepRecent::Messages { messages: 9 }
        );
        assert_eq!(
            policy.fading,
            palimpsest_core::policy::Fading::Single { tokens: 150 }
        );
        assert!((policy.fill_of_available() - 0.6).abs() < 1e-6);
        for n in 0..12 {
            exchange(&s, n, "bash", lines(10, n)).await;
        }
        let model = ScriptedModel::new([], |_| {
            Answer::error(palimpsest_core::request::ModelError::Busy {
                retry_after_ms: Some(1),
            })
        });
        let by_hand = |model: &ScriptedModel| CompactOptions {
            model: Some(Rc::new(model.clone())),
            manual: true,
            ..CompactOptions::default()
        };
        let failed = s.compact(by_hand(&model), Signal::never()).await;
        assert_eq!(failed.unwrap_err().code(), "model_failed");
        let asked = model.asked();
        assert_eq!(asked.len(), 2, "two attempts");
        assert_eq!(asked[0].model, "small");
        let model = ScriptedModel::new([], |_| {
            Answer::text("Twelve steps were asked for; each of them is done and fine.")
        });
        let done = s.compact(by_hand(&model), Signal::never()).await.unwrap();
        assert_eq!(done.report.preserved, 9);
        let layer = &s.layers()[0];
        assert!(layer.tokens <= 150, "{}", layer.tokens);
        assert!(done.report.released.is_empty());
        assert_eq!(done.report.freed(), done.report.before - done.report.after);
        for (wrong, key) in [
            (r#"{"compression":{"attempts":0}}"#, "compression.attempts"),
            (
                r#"{"compression":{"preserve_count":0}}"#,
                "compression.preserve_count",
            ),
            (
                r#"{"compression":{"preserve_count":3,"preserve_recent":9}}"#,
                "compression.preserve_count",
            ),
            (
                r#"{"compression":{"trigger_at":1.2}}"#,
                "compression.trigger_at",
            ),
            (
                r#"{"compression":{"trigger_threshold":-1}}"#,
                "compression.trigger_threshold",
            ),
        ] {
            let error = palimpsest_engine::Config::from_json(wrong).unwrap_err();
            assert_eq!(error.code(), "invalid_setting");
            assert!(error.to_string().contains(key), "{error}");
        }
    });
}

/// W4, E4: a project's profile holds the settings and a policy for each model: sessions begin with it, follow it when it
/// is saved, get the policy of another model with that model, and keep what was chosen by hand.
#[test]
fn a_project_has_its_profile() {
    use palimpsest_engine::Profile;
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let mut profile = Profile::from_json(
            r#"{"policy":"balanced","models":[
                {"model":"{llama*,qwen3:4b}","policy":{"base":"watermark","name":"marks","passes":[
                    {"pass":"strip","keep":2,"keep_errors":true,"keep_best":1},{"pass":"emergency"}],
                    "marks":{"everyTokens":900,"atTasks":true}}},
                {"model":"*70b*","policy":"checkpoints"}],
               "settings":{"compression":{"trigger_at":0.7},"recall":false}}"#,
        )
        .unwrap();
        assert_eq!(e.save_profile("atlas", &profile).await.unwrap(), (0, 0));
        assert_eq!(e.profiles().await.unwrap(), ["atlas"]);
        let begin = async |model: &str| {
            let new = NewSession {
                model: model.into(),
                profile: Some("atlas".into()),
                ..NewSession::default()
            };
            e.create(new).await.unwrap()
        };
        let policy = |s: &Session| s.context().setup().policy.name.clone();
        let small = begin("Qwen3:4b").await;
        assert_eq!(policy(&small), "marks");
        let report = small.budget().watermark.unwrap();
        assert_eq!(
            (report.marks.every_tokens, report.marks.at_tasks),
            (900, true)
        );
        let stays = report.stays.unwrap();
        assert_eq!(
            (stays.keep, stays.keep_errors, stays.keep_best),
            (2, true, 1)
        );
        let large = begin("deepseek:70b-q4").await;
        assert_eq!(policy(&large), "checkpoints");
        let other = begin("gemma3").await;
        assert_eq!(policy(&other), "balanced");
        assert!((other.context().setup().policy.fill_of_available() - 0.7).abs() < 1e-6);
        assert!(!other.context().setup().policy.recall);

        // another model, another policy; what was chosen by hand stays
        let head = other.head();
        other
            .set_model("llama3.2:3b", head.window, &head.policy, false)
            .await
            .unwrap();
        assert_eq!(policy(&other), "marks");
        let head = large.head();
        large
            .set_model(&head.model, head.window, "auto-summarize", false)
            .await
            .unwrap();
        large
            .set_model("llama3.2:3b", head.window, "auto-summarize", false)
            .await
            .unwrap();
        assert_eq!(policy(&large), "auto-summarize");

        // a profile that is saved again reaches the sessions that use it, after reopening too
        profile.models.clear();
        profile.policy = "offload-compact".into();
        assert_eq!(e.save_profile("atlas", &profile).await.unwrap(), (3, 0));
        assert_eq!(
            (policy(&small), policy(&large)),
            ("offload-compact".into(), "offload-compact".into())
        );
        small.use_profile(None).await.unwrap();
        assert_eq!(
            e.save_profile("atlas", &Profile::default()).await.unwrap(),
            (2, 0)
        );
        assert_eq!(policy(&small), "offload-compact");
        let id = large.id().to_owned();
        drop((small, large, other));
        let e = engine(store).await;
        let again = e.open(&id, true).await.unwrap();
        assert_eq!(
            (policy(&again), again.head().profile),
            ("balanced".into(), Some("atlas".into()))
        );
        assert_eq!(e.profile("atlas").await.unwrap(), Some(Profile::default()));

        e.remove_profile("atlas").await.unwrap();
        assert_eq!(e.profile("atlas").await.unwrap(), None);
        let refused = |result: Result<Profile, palimpsest_engine::EngineError>| {
            result.unwrap_err().to_string()
        };
        assert_eq!(
            again.use_profile(Some("atlas")).await.unwrap_err().code(),
            "unknown_profile"
        );
        assert!(
            refused(Profile::from_json(r#"{"polcy":"balanced"}"#))
                .contains("Did you mean \"policy\"?")
        );
        assert!(
            refused(Profile::from_json(r#"{"models":[{"modl":"a"}]}"#))
                .contains("Did you mean \"model\"?")
        );
        assert!(
            refused(Profile::from_json(r#"{"policy":"balancd"}"#)).contains("There is no policy")
        );
        assert!(
            refused(Profile::from_json(r#"{"settings":{"recal":true}}"#)).contains("\"recall\"")
        );
    });
}

/// T4: the exact request and the rendered system message can be looked at, and are what is then sent.
#[test]
fn the_exact_request() {
    block_on(async {
        let e = engine(Rc::new(MemoryStore::new())).await;
        let s = create(&e, "balanced", 8_192).await;
        s.set_prompt(PromptParts {
            mandates: Some("Never guess.".into()),
            ..PromptParts::default()
        })
        .await
        .unwrap();
        s.pin(palimpsest_core::record::PinKind::Pin, "The port is 4711.")
            .await
            .unwrap();
        exchange(&s, 1, "bash", "fine".into()).await;
        let model = ScriptedModel::new([Answer::text("It is.")], |_| Answer::Silence);
        let options = SendOptions {
            tools: vec![serde_json::json!({"type": "function", "function": {"name": "bash"}})],
            sampling: palimpsest_engine::Sampling {
                temperature: Some(0.5),
                ..Default::default()
            },
            ..SendOptions::new(Rc::new(model.clone()))
        };
        let system = s.system_message();
        assert!(system.starts_with("Be exact."), "{system}");
        assert!(
            system.contains("Never guess.") && system.contains("The port is 4711."),
            "{system}"
        );
        s.append(NewMessage::user("Is it?")).await.unwrap();
        let shown = s.request(&options).unwrap();
        assert_eq!(shown.messages[0].parts[0].words(), system);
        assert_eq!(
            (shown.options.num_ctx, shown.options.temperature),
            (8_192, Some(0.5))
        );
        s.reply(&options, Signal::never(), &|_| {}).await.unwrap();
        assert_eq!(model.asked()[0], shown, "the same that is sent");
    });
}
