//! Waiting for replies and summaries, and ways not to wait.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_executor::block_on;
use futures_util::future::join;
use palimpsest_core::message::Role;
use palimpsest_core::prompt::Skill;
use palimpsest_core::record::PinKind;
use palimpsest_core::request::{ChatRequest, Delta, FinishReason, ModelError, Purpose, Usage};
use palimpsest_core::run::Stage;
use palimpsest_engine::ports::{Clock, LocalFuture, Signal, World};
use palimpsest_engine::session::{
    CompactOptions, NewMessage, PromptParts, SendEvent, SendOptions, Summariser, ToolHandler,
};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Config, Engine, Event, MemoryStore, NewSession, Session};
use palimpsest_tokens::Estimator;

use super::{SUMMARY, compact, manual, record, session, system_of};
use crate::scene::{options, silent, talk};

/// Asks for these tools, one reply each, then says a word.
fn calling(calls: &[(&str, &str)]) -> ScriptedModel {
    let mut answers: Vec<Answer> = calls
        .iter()
        .enumerate()
        .map(|(n, (name, arguments))| {
            Answer::Deltas(vec![
                Ok(Delta::ToolCall {
                    id: format!("call-{n}"),
                    name: (*name).into(),
                    arguments: (*arguments).into(),
                }),
                Ok(Delta::Done {
                    reason: FinishReason::ToolCalls,
                }),
            ])
        })
        .collect();
    answers.push(Answer::text("Done."));
    ScriptedModel::new(answers, |_| Answer::text(SUMMARY))
}

fn last_result(session: &Session) -> String {
    let items = session.history(None, 100_000);
    let tool = items
        .iter()
        .rev()
        .find(|i| i.message.role == Role::Tool)
        .unwrap();
    tool.message.words()
}

struct Host(RefCell<Vec<String>>);

impl ToolHandler for Host {
    fn call<'a>(&'a self, name: &'a str, _: &'a str) -> LocalFuture<'a, Result<String, String>> {
        self.0.borrow_mut().push(name.to_owned());
        Box::pin(std::future::ready(Ok("from the host".into())))
    }
}

/// Every pause is over at once, time-outs included.
struct Hurry;

impl palimpsest_engine::ports::Timer for Hurry {
    fn sleep(&self, _: u32) -> LocalFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// G9: our own tools are offered and counted when switched on, answered inside the turn, under configurable names;
/// others go to the host; bad arguments are an answer for the model, never a failure of the turn; at most 8 rounds.
#[test]
fn own_tools_are_answered_inside_send() {
    block_on(async {
        let (_, _, s) = session(4096).await;
        talk(&s, 24).await;
        let plain = ScriptedModel::new([Answer::text("Yes.")], |_| Answer::text(SUMMARY));
        compact(&s, &plain).await;
        let mut config = Config::default();
        config.tools.enabled = true;
        config.tools.search_history = "look".into();
        s.configure(config).await.unwrap();
        s.set_prompt(PromptParts {
            skills: Some(vec![Skill {
                name: "sql".into(),
                text: "Write SQL.".into(),
                active: false,
            }]),
            ..PromptParts::default()
        })
        .await
        .unwrap();
        let ask = async |name: &str, arguments: &str, expect: &str| {
            let model = calling(&[(name, arguments)]);
            let reply = s
                .send(
                    NewMessage::user("Go on."),
                    &options(&model),
                    Signal::never(),
                    &silent,
                )
                .await
                .unwrap();
            assert_eq!(reply.reason, FinishReason::Stop);
            let result = last_result(&s);
            assert!(result.contains(expect), "{name} {arguments}: {result}");
            let asked = model.asked();
            let chat = asked.iter().find(|r| r.purpose == Purpose::Chat).unwrap();
            assert_eq!(chat.tools.len(), 5);
        };
        ask("recall", r#"{"query":"config/part_3.toml"}"#, "part_3.toml").await;
        ask(
            "recall",
            r#"{"message":1}"#,
            "[1] Question 0: what does config/part_0.toml set?",
        )
        .await;
        ask(
            "recall",
            r#"{"message":99999}"#,
            "There is no message 99999",
        )
        .await;
        ask("recall", "{}", "Say what to look for").await;
        ask("recall", "no json", "not JSON").await;
        ask("look", r#"{"query":"part_23"}"#, "part_23").await;
        ask("look", r#"{"query":"zebra"}"#, "Nothing that was said").await;
        ask(
            "activate_skills",
            r#"{"patterns":["s*"]}"#,
            "Switched on: sql",
        )
        .await;
        ask(
            "deactivate_skills",
            r#"{"patterns":"sql"}"#,
            "Switched off: sql",
        )
        .await;
        ask("deactivate_skills", "", "Say which skills").await;
        let layers = s.layers().len();
        talk(&s, 20).await;
        ask("compress_to_checkpoint", r#"{"focus":"limits"}"#, "tokens").await;
        assert!(s.layers().len() > layers);
        assert!(s.budget().segments.iter().any(|seg| {
            seg.kind == palimpsest_core::budget::SegmentKind::Tools && seg.count.tokens > 100
        }));

        let host = Rc::new(Host(RefCell::default()));
        let model = calling(&[("search_history", "{}")]);
        let with_host = SendOptions {
            handler: Some(host.clone()),
            ..options(&model)
        };
        s.send(
            NewMessage::user("Go on."),
            &with_host,
            Signal::never(),
            &silent,
        )
        .await
        .unwrap();
        assert_eq!(
            *host.0.borrow(),
            ["search_history"],
            "not ours under that name"
        );

        let model = calling(&[("look", r#"{"query":"x"}"#); 12]);
        let reply = s
            .send(
                NewMessage::user("Go on."),
                &options(&model),
                Signal::never(),
                &silent,
            )
            .await
            .unwrap();
        let asked = model.asked();
        let chats = asked.iter().filter(|r| r.purpose == Purpose::Chat);
        assert_eq!(chats.count(), 9);
        assert_eq!(reply.reason, FinishReason::ToolCalls);
    });
}

/// P7: the user's message has right of way: a running summary is stopped, kept pending, and goes on where it stopped;
/// what was pinned meanwhile is not lost.
#[test]
fn the_user_has_right_of_way() {
    block_on(async {
        let (_, _, s) = session(8192).await;
        talk(&s, 80).await;
        // the first time it never answers
        let asked = Rc::new(Cell::new(0));
        let count = Rc::clone(&asked);
        let slow = ScriptedModel::new([Answer::text("Here I am.")], move |_| {
            count.set(count.get() + 1);
            if count.get() == 1 {
                Answer::Silence
            } else {
                Answer::text(SUMMARY)
            }
        });
        assert!(s.is_due(), "{:?}", s.budget());
        let background = async {
            let tend = CompactOptions {
                model: Some(Rc::new(slow.clone())),
                ..CompactOptions::default()
            };
            s.tend(tend, Signal::never()).await.unwrap()
        };
        let user = async {
            s.pin(PinKind::Pin, "Keep this pin.").await.unwrap();
            s.send(
                NewMessage::user("From now on never use tabs. Who are you?"),
                &options(&slow),
                Signal::never(),
                &silent,
            )
            .await
            .unwrap()
        };
        let (compacted, reply) = join(Box::pin(background), Box::pin(user)).await;
        assert_eq!(compacted, None, "it gave way");
        assert_eq!(reply.reason, FinishReason::Stop);
        assert!(s.layers().is_empty());
        assert_eq!(asked.get(), 1);
        let tend = CompactOptions {
            model: Some(Rc::new(slow.clone())),
            ..CompactOptions::default()
        };
        let done = s.tend(tend, Signal::never()).await.unwrap().unwrap();
        assert!(done.report.after < done.report.before);
        assert_eq!(asked.get(), 2, "it went on where it stopped");
        assert_eq!(done.report.layer, Some(s.layers()[0].id));
        assert!(s.records().pins.iter().any(|p| p.text == "Keep this pin."));
        let items = s.history(None, 2);
        assert!(items[1].message.words().contains("Here I am"));
    });
}

/// P7: where the window does not fit the wait is shown; "skip" ends it with the deterministic summary.
#[test]
fn a_wait_can_be_skipped() {
    block_on(async {
        let (_, _, s) = session(4096).await;
        talk(&s, 90).await;
        assert!(s.budget().over > 0);
        let model = ScriptedModel::new([Answer::text("Here.")], |_| Answer::Silence);
        let waited = Cell::new(false);
        let skipping = s.clone();
        let on = |event| {
            if event == SendEvent::Waiting {
                waited.set(true);
            }
        };
        let asking = options(&model);
        let send = s.send(NewMessage::user("And?"), &asking, Signal::never(), &on);
        let skip = async {
            skipping.skip_wait();
        };
        let (reply, ()) = join(send, skip).await;
        assert_eq!(reply.unwrap().reason, FinishReason::Stop);
        assert!(waited.get());
        assert_eq!(s.layers().len(), 1);
        assert_eq!(
            s.layers()[0].author,
            palimpsest_core::layer::Author::Extractive
        );
        assert_eq!(s.budget().over, 0);
    });
}

/// P7: the summary that a message waits for is by whom the message says: the model that answers, another one, or none.
#[test]
fn the_summariser_of_a_wait_is_chosen() {
    block_on(async {
        let other = ScriptedModel::new([], |_| Answer::text(SUMMARY));
        for (summariser, asked, asked_other, name) in [
            (Summariser::Same, 1, 0, None),
            (Summariser::BuiltIn, 0, 0, None),
            (
                Summariser::Named(Rc::new(other.clone()), "writer:8b".into()),
                0,
                1,
                Some("writer:8b"),
            ),
        ] {
            let (_, _, s) = session(4096).await;
            talk(&s, 90).await;
            let model = ScriptedModel::new([Answer::text("Here.")], |_| Answer::text(SUMMARY));
            let how = SendOptions {
                summariser,
                ..options(&model)
            };
            s.send(NewMessage::user("And?"), &how, Signal::never(), &silent)
                .await
                .unwrap();
            let summaries = |model: &ScriptedModel| {
                let asked = model.asked();
                asked
                    .iter()
                    .filter(|r| r.purpose == Purpose::Summary)
                    .count()
                    .min(1)
            };
            assert_eq!((summaries(&model), summaries(&other)), (asked, asked_other));
            let named = other.asked().first().map(|r| r.model.clone());
            assert_eq!(named.as_deref(), name);
            assert_eq!(s.layers().len(), 1);
        }
    });
}

/// B9, F 81: a summary whose prompt the server cut without a word is not used.
#[test]
fn a_summary_of_a_cut_prompt_is_rejected() {
    block_on(async {
        let (_, _, s) = session(4096).await;
        talk(&s, 24).await;
        let events = record(&s);
        let model = ScriptedModel::new([Answer::text("Yes.")], |_| {
            Answer::Deltas(vec![
                Ok(Delta::text(SUMMARY)),
                Ok(Delta::Usage(Usage {
                    prompt_tokens: Some(200),
                    ..Usage::default()
                })),
                Ok(Delta::Done {
                    reason: FinishReason::Stop,
                }),
            ])
        });
        compact(&s, &model).await;
        assert_eq!(
            s.layers()[0].author,
            palimpsest_core::layer::Author::Fallback {
                reason: "prompt_truncated".into()
            }
        );
        assert!(
            events
                .borrow()
                .iter()
                .any(|e| matches!(e, Event::PromptTruncated { read: 200, .. }))
        );
    });
}

/// P1: the result says how long each of the six stages took, in their order; together they are what the whole took.
#[test]
fn each_stage_has_its_time() {
    /// A millisecond later every time it is asked.
    struct Ticking(Cell<f64>);
    impl Clock for Ticking {
        fn now(&self) -> f64 {
            self.0.set(self.0.get() + 1.0);
            self.0.get()
        }
    }
    block_on(async {
        let world = World {
            clock: Rc::new(Ticking(Cell::new(1_700_000_000_000.0))),
            ..world()
        };
        let store = Rc::new(MemoryStore::new());
        let engine = Engine::start(store, world, Rc::new(Estimator::default()))
            .await
            .unwrap();
        let new = NewSession {
            window: 4096,
            model: "m".into(),
            ..NewSession::default()
        };
        let s = engine.create(new).await.unwrap();
        talk(&s, 60).await;
        let model = ScriptedModel::new([], |_| Answer::text(SUMMARY));
        let report = compact(&s, &model).await.report;
        let stages: Vec<Stage> = report.stages.iter().map(|time| time.stage).collect();
        assert_eq!(
            stages,
            [
                Stage::Identify,
                Stage::Prepare,
                Stage::Summarize,
                Stage::Checkpoint,
                Stage::Update,
                Stage::Verify
            ]
        );
        let sum: f64 = report.stages.iter().map(|time| time.ms).sum();
        let took = report.took.unwrap();
        assert!(report.stages.iter().all(|time| time.ms >= 1.0));
        assert!(sum <= took, "{sum} of {took} ms");
    });
}

/// P7: a summariser that does not answer in time, or is busy, is asked three times, then the deterministic summary is
/// taken; what cannot pass is not asked again; the measured speed is shown with the preview and decides, where the host
/// sets a limit, whether a model is asked at all; summaries get 120 % of their target, the session's window, no thinking.
#[test]
fn summaries_in_time() {
    block_on(async {
        let patient = |answer: fn(usize) -> Answer| {
            let count = Cell::new(0);
            ScriptedModel::new([Answer::text("Yes.")], move |_| {
                count.set(count.get() + 1);
                answer(count.get())
            })
        };
        let author = async |model: &ScriptedModel| {
            let engine = Engine::start(
                Rc::new(MemoryStore::new()),
                World {
                    timer: Rc::new(Hurry),
                    ..world()
                },
                Rc::new(Estimator::default()),
            )
            .await
            .unwrap();
            let s = engine
                .create(NewSession {
                    window: 4096,
                    ..NewSession::default()
                })
                .await
                .unwrap();
            talk(&s, 24).await;
            compact(&s, model).await;
            let author = s.layers()[0].author.clone();
            (author, model.asked().len())
        };
        let fallback = |reason: &str| palimpsest_core::layer::Author::Fallback {
            reason: reason.into(),
        };
        let written = palimpsest_core::layer::Author::Model {
            name: String::new(),
        };
        let silent = patient(|_| Answer::Silence);
        assert_eq!(author(&silent).await, (fallback("timed_out"), 3));
        let model = patient(|n| {
            if n < 3 {
                Answer::error(ModelError::Busy {
                    retry_after_ms: Some(5),
                })
            } else {
                Answer::text(SUMMARY)
            }
        });
        assert_eq!(author(&model).await, (written, 3));
        let model = patient(|_| Answer::error(ModelError::Forbidden));
        assert_eq!(author(&model).await, (fallback("forbidden"), 1));

        let (_, _, s) = session(4096).await;
        talk(&s, 24).await;
        let timed = ScriptedModel::new([Answer::text("Yes.")], |_| {
            Answer::Deltas(vec![
                Ok(Delta::text(SUMMARY)),
                Ok(Delta::Usage(Usage {
                    prompt_tokens: Some(1_500),
                    completion_tokens: Some(100),
                    prompt_ms: Some(15_000),
                    completion_ms: Some(10_000),
                })),
                Ok(Delta::Done {
                    reason: FinishReason::Stop,
                }),
            ])
        });
        let preview = s.preview(None).unwrap();
        assert_eq!(s.summary_seconds(&preview), None, "not measured yet");
        compact(&s, &timed).await;
        let request = &timed.asked()[0];
        assert_eq!(
            (request.options.num_ctx, request.options.think),
            (4096, Some(false))
        );
        assert!(request.options.keep_alive.is_some());
        assert_eq!(s.speed().reads, Some(100.0));
        talk(&s, 12).await;
        let preview = s.preview(None).unwrap();
        let seconds = s.summary_seconds(&preview).unwrap();
        assert_eq!(
            seconds,
            (f64::from(preview.covered_tokens) / 100.0 + f64::from(preview.layer_tokens) / 10.0)
                .ceil() as u32
        );
        let asked = timed.asked().len();
        let hasty = CompactOptions {
            most_seconds: Some(seconds - 1),
            ..manual(&timed)
        };
        s.compact(hasty, Signal::never()).await.unwrap();
        assert_eq!(timed.asked().len(), asked, "not worth its seconds");
        talk(&s, 12).await;
        let slow = CompactOptions {
            most_seconds: Some(seconds + 60),
            ..manual(&timed)
        };
        s.compact(slow, Signal::never()).await.unwrap();
        assert!(timed.asked().len() > asked);
    });
}

/// C4: of the layers that fade at a compaction one is rewritten by the model, from its notes and in one call; a bad answer
/// costs no second call and the cut is deterministic; no layer's own text is ever summarised again.
#[test]
fn one_model_call_goes_to_fading() {
    block_on(async {
        // a summary with less in it than the built-in one is not taken
        let long = |request: &ChatRequest| {
            let prompt = request.messages[1].parts[0].words().to_owned();
            let mut files: Vec<String> = Vec::new();
            for at in prompt.match_indices("config/part_").map(|(at, _)| at) {
                let end = prompt[at..].find(".toml").map_or(at, |end| at + end + 5);
                let file = prompt[at..end].to_owned();
                if files.len() < 12 && !files.contains(&file) {
                    files.push(file);
                }
            }
            format!(
                "- The user asks what each config/part file sets; each sets a limit in seconds, chosen because the old default was too slow.\n- A restart is needed after each change.\n- Files: {}.",
                files.join(", ")
            )
        };
        let short = "- The user asks what each config file of a part sets: each sets a limit in seconds.\n- A restart is needed after each change, in short.";
        let fades = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&fades);
        let model = ScriptedModel::new([Answer::text("Yes.")], move |request| {
            if system_of(request).contains("Main points only") {
                let prompt = request.messages[1].parts[0].words().to_owned();
                let n = seen.borrow().len();
                seen.borrow_mut().push(prompt);
                if n == 1 {
                    return Answer::text("I'm sorry, but I can't help with that.");
                }
                return Answer::text(short);
            }
            Answer::text(&long(request))
        });
        let (_, _, s) = session(2850).await;
        for _ in 0..4 {
            talk(&s, 18).await;
            let before = model.asked().len();
            compact(&s, &model).await;
            assert!(
                model.asked().len() - before <= 2,
                "one summary, one fade at most"
            );
        }
        let fades = fades.borrow();
        let sizes: Vec<(u8, u32, String)> = s
            .layers()
            .iter()
            .map(|l| (u8::from(l.level), l.tokens, l.summary.clone()))
            .collect();
        assert_eq!(fades.len(), 3, "{sizes:?}");
        assert!(
            fades
                .iter()
                .all(|p| p.contains("chosen because the old default was too slow"))
        );
        assert!(fades.iter().all(|p| !p.contains("in short")));
        let layers = s.layers();
        let rewritten = layers.iter().filter(|l| l.summary.starts_with(short));
        assert_eq!(rewritten.count(), 1, "{layers:?}");
        for layer in &layers {
            assert!(!layer.summary.is_empty() && !layer.summary.contains("sorry"));
            let lines: Vec<&str> = layer.summary.lines().collect();
            for (n, line) in lines.iter().enumerate() {
                assert!(!lines[..n].contains(line), "twice: {}", layer.summary);
            }
        }
        assert!(u8::from(layers[0].level) < 3);
    });
}
