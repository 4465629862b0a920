//! Sessions that go on in a new one, branches, and snapshots on their own.

use futures_executor::block_on;
use palimpsest_core::message::Part;
use palimpsest_core::mode::Mode;
use palimpsest_core::record::PinKind;
use palimpsest_core::request::{FinishReason, ModelError};
use palimpsest_engine::ports::Signal;
use palimpsest_engine::session::{CompactOptions, NewMessage};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::{Config, EngineError, Event, Session};

use super::{SUMMARY, compact, record, reopen, session};
use crate::scene::{options, silent, talk};

/// Talks until the window is past its trigger: below it no refusal of a server leads to another session. What is recalled
/// for a message goes with the next one, so it goes well past it.
async fn fill_up(s: &Session) {
    let lasting = || s.budget().used.tokens - s.context().recalled_tokens();
    while lasting() < s.budget().trigger + 100 {
        talk(s, 1).await;
    }
}

fn roll_over_sooner(name: &str, told: Option<&str>) {
    block_on(async {
        let (_, engine, s) = session(4096).await;
        if let Some(size) = told {
            engine.know_model(name, size);
        }
        s.set_model(name, 4096, "balanced", false).await.unwrap();
        let mut config = Config::default();
        config.rollover.small_model_compactions = 2;
        s.configure(config).await.unwrap();
        let model = |n: usize| {
            let mut answers = vec![
                Answer::error(ModelError::Overflow {
                    prompt: None,
                    window: None,
                });
                n
            ];
            answers.push(Answer::text("Here."));
            ScriptedModel::new(answers, |_| Answer::text(SUMMARY))
        };
        for expected in [None, None, Some("rolled_over")] {
            fill_up(&s).await;
            let m = model(1);
            let sent = s
                .send(
                    NewMessage::user("And?"),
                    &options(&m),
                    Signal::never(),
                    &silent,
                )
                .await;
            assert_eq!(sent.err().map(|e| e.code()), expected, "{name}");
            if expected.is_none() {
                compact(&s, &m).await;
            }
        }
    });
}

/// S4: snapshots are made at the threshold and before every compaction, the last five automatic ones are kept, named
/// and pinned ones are exempt; each says what it holds; restoring notes the present first and branches; the state
/// restored reopens byte for byte, shortened messages included.
#[test]
fn snapshots_come_on_their_own() {
    block_on(async {
        let (store, engine, s) = session(4096).await;
        s.set_mode(Mode::Planning).await.unwrap();
        s.begin_goal("Read it all").await.unwrap();
        let events = record(&s);
        let named = s.snapshot("before refactor").await.unwrap();
        talk(&s, 40).await;
        let crossing: Vec<u32> = events
            .borrow()
            .iter()
            .filter_map(|e| match e {
                Event::AutoSnapshotCreated { snapshot, .. } => Some(*snapshot),
                _ => None,
            })
            .collect();
        assert_eq!(crossing, [2], "once, at 80 % of the available room");
        let at = s.snapshots()[1].clone();
        assert_eq!(
            (at.mode, at.goal.as_deref()),
            (Mode::Planning, Some("Read it all"))
        );
        let budget = s.budget();
        assert!(f64::from(at.tokens - budget.fixed) >= 0.8 * f64::from(budget.available));
        s.pin_snapshot(2, true).await.unwrap();

        // a large result that is shown as an excerpt, so that there is a shorter form to restore
        let big = "line of output with numbers 123\n".repeat(700);
        s.append(NewMessage::assistant(vec![Part::ToolCall {
            id: "t".into(),
            name: "run".into(),
            arguments: "{}".into(),
        }]))
        .await
        .unwrap();
        s.append(NewMessage::tool(vec![Part::ToolResult {
            call: "t".into(),
            name: None,
            text: big,
            error: false,
        }]))
        .await
        .unwrap();
        let window = s.window();
        let here = s.snapshot("excerpt").await.unwrap();
        let model = ScriptedModel::new([Answer::text("Yes.")], |_| Answer::text(SUMMARY));
        for _ in 0..7 {
            talk(&s, 12).await;
            compact(&s, &model).await;
        }
        let all = s.snapshots();
        let automatic = all
            .iter()
            .filter(|x| x.name.is_empty() && !x.pinned)
            .count();
        assert_eq!(automatic, 5);
        for n in [named, 2, here] {
            assert!(all.iter().any(|x| x.n == n), "{n} is exempt");
        }
        let messages = s.message_count();
        s.restore(here).await.unwrap();
        assert_eq!(s.window(), window);
        assert!(s.message_count() < messages);
        let id = s.id().to_owned();
        s.append(NewMessage::user("Another way.")).await.unwrap();
        let branch = s.window();
        drop((s, engine));
        let engine = reopen(&store).await;
        let s = engine.open(&id, true).await.unwrap();
        assert_eq!(s.window(), branch);
        // the present was noted before the restore: everything is still there
        let present = s
            .snapshots()
            .iter()
            .rev()
            .find(|x| x.name.is_empty())
            .unwrap()
            .n;
        s.restore(present).await.unwrap();
        assert_eq!(s.message_count(), messages);
        assert_eq!(s.restore(999).await.unwrap_err().code(), "not_found");
    });
}

/// I2: going to another branch and back shows the same bytes as opening the session there.
#[test]
fn branches_keep_their_layers() {
    block_on(async {
        let (store, engine, s) = session(4096).await;
        talk(&s, 34).await;
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        let tip = s.head().tip.unwrap();
        let before = s.window();
        s.rewind_before(4).await.unwrap();
        s.append(NewMessage::user("Something else.")).await.unwrap();
        assert!(
            s.layers().is_empty(),
            "the layer covers what is not on this branch"
        );
        s.switch_to(tip).await.unwrap();
        assert_eq!(s.window(), before);
        let id = s.id().to_owned();
        drop((s, engine));
        let s = reopen(&store).await.open(&id, true).await.unwrap();
        assert_eq!(s.window(), before);
    });
}

/// E1, C4: when even the emergency is not enough for the server, the conversation goes on in a new session that starts
/// from layers, notes and records and holds the open message; the old one is unchanged but for a snapshot.
#[test]
fn rollover_after_a_second_overflow() {
    block_on(async {
        let (_, engine, s) = session(4096).await;
        s.pin(PinKind::Pin, "The customer is Ada.").await.unwrap();
        talk(&s, 34).await;
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        fill_up(&s).await;
        let notes = s.context().view().notes.clone();
        let messages = s.message_count();
        let events = record(&s);
        let over = || {
            Answer::error(ModelError::Overflow {
                prompt: Some(9000),
                window: Some(4096),
            })
        };
        let model = ScriptedModel::new([over(), over(), Answer::text("Here.")], |_| {
            Answer::text(SUMMARY)
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
        let EngineError::RolledOver { session } = error else {
            panic!("{error}")
        };
        assert!(
            events.borrow().iter().any(|e| matches!(e,
            Event::RolloverComplete { session: to, notes: n } if *to == session && *n == notes.len() as u32))
        );
        assert_eq!(s.message_count(), messages + 1);
        let next = engine.open(&session, false).await.unwrap();
        assert_eq!(next.head().continues.as_deref(), Some(s.id()));
        assert_eq!(next.message_count(), 1);
        let window = next.window();
        let text: String = window
            .messages()
            .iter()
            .flat_map(palimpsest_core::window::WindowMessage::parts)
            .map(Part::words)
            .collect();
        assert!(text.contains("The customer is Ada.") && text.contains("[Earlier conversation]"));
        assert!(text.ends_with("And now?"));
        assert!(window.tokens() < s.window().tokens());
        let reply = next
            .reply(&options(&model), Signal::never(), &silent)
            .await
            .unwrap();
        assert_eq!(reply.reason, FinishReason::Stop);
        // it lives on like any other
        talk(&next, 40).await;
        next.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        assert!(next.budget().used.tokens <= next.budget().limit);
    });
}

/// E1: a small model whose conversation was compacted often rolls over at the first overflow.
#[test]
fn small_models_roll_over_sooner() {
    // the second model's name tells nothing, but its server does (G5)
    for (name, told) in [("llama3.2:3b", None), ("mine", Some("2.6B"))] {
        roll_over_sooner(name, told);
    }
}
