//! Policies and settings, and what a session says of what it did by them.

use std::cell::Cell;
use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::policy::presets;
use palimpsest_engine::ports::{Clock, Signal, World};
use palimpsest_engine::session::{
    CompactOptions, NewMessage, PromptParts, SendOptions, log_markdown,
};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, MemoryStore, NewSession, Session};
use palimpsest_tokens::Estimator;

use super::{create, engine, exchange, lines, rows, tend};

/// A clock that a test moves on.
struct Moved(Cell<f64>);

impl Clock for Moved {
    fn now(&self) -> f64 {
        self.0.get()
    }
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
