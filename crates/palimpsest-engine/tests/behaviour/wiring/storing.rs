//! Rows in the store, and the state that a crash leaves.

use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::record::PinKind;
use palimpsest_engine::ports::{Signal, Store};
use palimpsest_engine::session::{CompactOptions, IfOver, NewMessage};
use palimpsest_engine::testing::fault::{Fault, FaultStore};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Accept, Config, Engine, EngineError, MemoryStore, Session};
use palimpsest_tokens::{Estimator, TokenCounter};

use super::{SUMMARY, compact, marking, reopen, session};
use crate::scene::{options, silent, talk};

/// The sessions as a person would find them: title, words, window, records, snapshots.
async fn found(engine: &Engine) -> Vec<String> {
    let mut all = Vec::new();
    for info in engine.sessions().await.unwrap() {
        let s = engine.open(&info.id, true).await.unwrap();
        s.window().check_egress(&s.context()).unwrap();
        assert_eq!(s.window().tokens(), s.context().tokens());
        let snapshots: Vec<_> = s.snapshots().iter().map(|x| (x.n, x.purpose)).collect();
        let said = s.history(None, usize::MAX);
        let words: Vec<String> = said.iter().map(|i| i.message.words()).collect();
        let head = s.head();
        all.push(format!(
            "{} {:?} {:?} {:?} {:?} {snapshots:?} {:?}",
            head.title,
            head.continues,
            words,
            s.window().messages(),
            s.records(),
            s.layers()
        ));
    }
    all.sort();
    all
}

/// Lets the process die at every step of `act`, one after the other: what is found afterwards is what was there
/// before, or what is there when nothing dies; both turn up. Gives the steps visited.
async fn at_every_step(
    before: &MemoryStore,
    act: impl AsyncFn(&Engine) -> Result<(), EngineError>,
) -> u32 {
    let copy = || MemoryStore::from_rows(before.rows());
    let start = async |store: Rc<dyn Store>| {
        Engine::start(store, world(), Rc::new(Estimator::default())).await
    };
    let plain = copy();
    let engine = start(Rc::new(plain.clone())).await.unwrap();
    act(&engine).await.unwrap();
    drop(engine);
    let old = found(&start(Rc::new(copy())).await.unwrap()).await;
    let new = found(&start(Rc::new(plain)).await.unwrap()).await;
    assert_ne!(old, new, "the act changes something");
    let mut seen = [false; 2];
    for at in 1.. {
        let memory = copy();
        let faulty = Rc::new(FaultStore::new(memory.clone()).failing_at(at, Fault::Crashes));
        if let Ok(engine) = start(faulty.clone()).await {
            // whatever it says: what counts is what the store holds
            drop(act(&engine).await);
        }
        let now = found(&start(Rc::new(memory)).await.unwrap()).await;
        assert!(now == old || now == new, "step {at}: {now:#?}");
        seen[usize::from(now == new)] = true;
        if !faulty.has_fired() {
            assert_eq!(seen, [true, true], "both states turn up");
            return at - 1;
        }
    }
    0
}

/// E3: settings take effect: with compression off nothing runs on its own and a message that does not fit is refused
/// with the larger window; snapshots and recall can be switched off; a policy nobody knows is refused.
#[test]
fn settings_take_effect() {
    block_on(async {
        let (store, engine, s) = session(4096).await;
        let config = Config::from_json(
            r#"{"compression":{"enabled":false,"summary_max_tokens":60},"snapshots":{"auto_create":false}}"#,
        )
        .unwrap();
        s.configure(config.clone()).await.unwrap();
        talk(&s, 90).await;
        assert!(!s.is_due());
        assert_eq!(s.snapshots(), []);
        let model = ScriptedModel::new([Answer::text("Here.")], |_| Answer::text(SUMMARY));
        let error = s
            .send(
                NewMessage::user("And?"),
                &options(&model),
                Signal::never(),
                &silent,
            )
            .await
            .unwrap_err();
        let EngineError::WouldNotFit { choices, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(
            choices,
            [palimpsest_engine::RoomChoice::LargerWindow { window: 8192 }]
        );
        assert!(model.asked().is_empty());
        let id = s.id().to_owned();
        drop((s, engine));
        let engine = reopen(&store).await;
        let s = engine.open(&id, true).await.unwrap();
        assert_eq!(s.config().compression, config.compression);
        compact(&s, &model).await;
        // the summary; facts it missed are listed after it where there is room
        let layer = &s.layers()[0];
        let summary = Estimator::default().count(&layer.summary);
        assert!(summary <= 60 && summary > 0, "{summary}: {}", layer.summary);
        assert_eq!(s.snapshots(), []);
        let unknown = Config {
            policy: Some("balancd".into()),
            ..Config::default()
        };
        assert_eq!(
            s.configure(unknown).await.unwrap_err().code(),
            "unknown_policy"
        );
    });
}

/// P1, I6: what arrives while a summary is written does not disturb it, recalled quotes and excerpts included; another
/// change of the window does.
#[test]
fn a_run_survives_what_arrives_meanwhile() {
    block_on(async {
        let (_, _, s) = session(8192).await;
        talk(&s, 60).await;
        s.compact(
            CompactOptions {
                manual: true,
                ..CompactOptions::default()
            },
            Signal::never(),
        )
        .await
        .unwrap();
        talk(&s, 30).await;
        let job = s.next_job(true).job().unwrap();
        s.append(NewMessage::user("What does config/part_42.toml set?"))
            .await
            .unwrap();
        assert!(
            s.context().view().recalled.is_some(),
            "a quote came with it"
        );
        let mut done = s.complete_job(job.id, Some(SUMMARY.into())).await.unwrap();
        while done.is_none() {
            let job = s.next_job(true).job().unwrap();
            done = s.complete_job(job.id, Some(SUMMARY.into())).await.unwrap();
        }
        assert_eq!(s.layers().len(), 2);
        assert!(
            s.context().view().recalled.is_some(),
            "the quote is still there"
        );

        talk(&s, 30).await;
        let job = s.next_job(true).job().unwrap();
        let lifted = s.layers()[1].id;
        s.lift_with(lifted, IfOver::Show).await.unwrap();
        let mut step = s.complete_job(job.id, Some(SUMMARY.into())).await;
        while matches!(step, Ok(None)) {
            let job = s.next_job(true).job().unwrap();
            step = s.complete_job(job.id, Some(SUMMARY.into())).await;
        }
        assert_eq!(step.unwrap_err().code(), "busy");
        assert_eq!(s.layers().len(), 1);
    });
}

/// I6, E1, S7, G3: a crash at every step of a rollover, of an import (with consent and without, and of a file that has
/// more than last time), of accepting and declining a proposal, of an emergency, an undo and a restore leaves the old
/// state or the new one: no half session, no layer without its messages.
#[test]
fn a_crash_at_every_step_of_everything_else() {
    block_on(async {
        let (store, engine, s) = session(4096).await;
        let id = s.id().to_owned();
        s.begin_goal("Understand the configuration").await.unwrap();
        s.pin(PinKind::Pin, "The customer is Ada.").await.unwrap();
        talk(&s, 26).await;
        let model = marking("[DECISION] Restart after each change (#1)\n[NEXT] Read part 30 (#2)");
        compact(&s, &model).await;
        talk(&s, 6).await;
        s.append(NewMessage::user("And now?")).await.unwrap();
        let file = s.transfer().await.unwrap();
        let proposals = s.proposals();
        let early = s.snapshots().first().unwrap().n;
        let before = MemoryStore::from_rows(store.rows());
        drop((s, engine));
        let mut steps = Vec::new();
        let opened = async |engine: &Engine| engine.open(&id, true).await;
        steps.push(
            at_every_step(&before, async |engine| {
                opened(engine).await?.roll_over().await.map(drop)
            })
            .await,
        );
        steps.push(
            at_every_step(&before, async |engine| {
                opened(engine)
                    .await?
                    .accept_proposal(proposals[0].id)
                    .await
                    .map(drop)
            })
            .await,
        );
        steps.push(
            at_every_step(&before, async |engine| {
                opened(engine)
                    .await?
                    .decline_proposal(proposals[1].id)
                    .await
                    .map(drop)
            })
            .await,
        );
        steps.push(
            at_every_step(&before, async |engine| {
                opened(engine).await?.emergency().await
            })
            .await,
        );
        steps.push(at_every_step(&before, async |engine| opened(engine).await?.undo().await).await);
        steps.push(
            at_every_step(&before, async |engine| {
                opened(engine).await?.restore(early).await
            })
            .await,
        );
        for accept in [Accept::Everything, Accept::Words] {
            let empty = MemoryStore::new();
            drop(reopen(&Rc::new(empty.clone())).await);
            let import =
                async |engine: &Engine| engine.import(file.clone(), accept).await.map(drop);
            steps.push(at_every_step(&empty, import).await);
            // the same file, grown by what was said since
            let engine = reopen(&Rc::new(empty.clone())).await;
            let mut less = file.clone();
            less.messages.truncate(40);
            less.facts.tip = Some(39);
            less.view = None;
            engine.import(less, accept).await.unwrap();
            drop(engine);
            steps.push(at_every_step(&empty, import).await);
        }
        println!("steps visited: {steps:?}");
        assert!(steps.iter().all(|n| *n >= 4), "{steps:?}");
    });
}

/// S4, C1, I2: a layer that an emergency makes shorter is another layer: undo, and the snapshot before it, show the
/// same bytes again, also after reopening.
#[test]
fn an_emergency_leaves_the_stored_layers_alone() {
    block_on(async {
        let (store, engine, s) = session(4096).await;
        talk(&s, 30).await;
        let model = ScriptedModel::new([], |_| Answer::text(SUMMARY));
        compact(&s, &model).await;
        talk(&s, 2).await;
        let before = (s.window(), s.layers());
        let snapshot = s.snapshot("before").await.unwrap();
        for _ in 0..6 {
            s.emergency().await.unwrap();
        }
        let after = s.layers();
        assert!(after[0].tokens < before.1[0].tokens);
        assert_ne!(after[0].id, before.1[0].id);
        assert!(after[0].compressions > before.1[0].compressions);
        for _ in 0..6 {
            s.undo().await.unwrap();
        }
        assert_eq!((s.window(), s.layers()), before);
        let id = s.id().to_owned();
        drop((s, engine));
        let s = reopen(&store).await.open(&id, true).await.unwrap();
        assert_eq!((s.window(), s.layers()), before);
        s.emergency().await.unwrap();
        s.restore(snapshot).await.unwrap();
        assert_eq!((s.window(), s.layers()), before);
        let read = s.layer(after[0].id).await.unwrap();
        assert_eq!(read.tokens, after[0].tokens, "what was made is kept, too");
    });
}

/// R1: the index follows what is covered: after each compaction it holds exactly that; undo, lift and another branch take
/// out what is shown again; what it answers does not depend on how it was made, or when it was first asked.
#[test]
fn the_recall_index_follows_what_is_covered() {
    block_on(async {
        let (store, engine, s) = session(8192).await;
        let covered = |s: &Session| -> Vec<u32> {
            let items = s.history(None, usize::MAX);
            let covered = items.iter().filter(|i| i.covered_by.is_some());
            covered.map(|i| i.message.seq).collect()
        };
        let none = ScriptedModel::new([], |_| Answer::text(SUMMARY));
        let mut sizes = Vec::new();
        for _ in 0..3 {
            talk(&s, 30).await;
            compact(&s, &none).await;
            assert_eq!(s.recallable(), covered(&s));
            sizes.push(s.recallable().len());
        }
        assert!(sizes.windows(2).all(|w| w[0] < w[1]), "{sizes:?}");
        s.undo().await.unwrap();
        assert_eq!(s.recallable().len(), sizes[1]);
        compact(&s, &none).await;
        let last = s.layers().last().unwrap().id;
        s.lift(last).await.unwrap();
        assert_eq!(s.recallable(), covered(&s));
        compact(&s, &none).await;
        let id = s.id().to_owned();
        let before = MemoryStore::from_rows(store.rows());
        let question = "What limit does config/part_7.toml set for part 7?";
        s.append(NewMessage::user(question)).await.unwrap();
        let here = s.context().view().recalled.clone().unwrap();
        drop((s, engine));
        let s = reopen(&Rc::new(before))
            .await
            .open(&id, true)
            .await
            .unwrap();
        s.append(NewMessage::user(question)).await.unwrap();
        assert_eq!(s.context().view().recalled.clone().unwrap(), here);
        assert_eq!(s.recallable(), covered(&s));
        s.rewind_before(2).await.unwrap();
        assert_eq!(s.recallable(), covered(&s));
    });
}
