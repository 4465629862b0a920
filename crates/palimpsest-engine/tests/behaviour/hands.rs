//! A person's hands on layers: writing their text, having them written again, choosing what a new one covers.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::rc::Rc;

use futures_executor::block_on;
use futures_util::future::join;
use palimpsest_core::context::Cause;
use palimpsest_core::dialect::{self, Dialect};
use palimpsest_core::layer::{Author, Layer};
use palimpsest_core::message::{Origin, Seq};
use palimpsest_core::run::{Refusal, Scope};
use palimpsest_engine::ports::{Abort, LanguageModel, Signal, Store};
use palimpsest_engine::session::{CompactOptions, IfOver, LogAction, NewMessage};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, EngineError, MemoryStore, NewSession, Session};
use palimpsest_tokens::Estimator;
use serde_json::Value;

use super::scene::talk;

const WRITTEN: &str =
    "The limit of part 3 is 30 seconds, not 3. A restart is needed after each change.";
const SUMMARY: &str = "The user asks what each config/part file sets; the assistant names the limits in seconds, why they were chosen, and that a restart is needed.";

async fn scene(turns: usize) -> (Rc<MemoryStore>, Session) {
    let store = Rc::new(MemoryStore::new());
    let engine = engine(&store).await;
    let new = NewSession {
        window: 8_192,
        model: "m".into(),
        system: "Be exact.".into(),
        ..NewSession::default()
    };
    let session = engine.create(new).await.unwrap();
    talk(&session, turns).await;
    (store, session)
}

async fn engine(store: &Rc<MemoryStore>) -> Engine {
    let store: Rc<dyn Store> = store.clone();
    Engine::start(store, world(), Rc::new(Estimator::default()))
        .await
        .unwrap()
}

fn by_hand(scope: Scope) -> CompactOptions {
    CompactOptions {
        scope,
        manual: true,
        ..CompactOptions::default()
    }
}

fn asking(model: &ScriptedModel) -> CompactOptions {
    CompactOptions {
        model: Some(Rc::new(model.clone()) as Rc<dyn LanguageModel>),
        ..CompactOptions::default()
    }
}

async fn compact(session: &Session, scope: Scope) -> Result<u32, EngineError> {
    let done = session.compact(by_hand(scope), Signal::never()).await?;
    Ok(done.revision)
}

fn newest(session: &Session) -> Layer {
    (**session.layers().last().unwrap()).clone()
}

/// Everything the next request says.
fn sent(session: &Session) -> String {
    format!("{:?}", session.window().messages())
}

fn range(layer: &Layer) -> (Seq, Seq) {
    (layer.range().from, layer.range().to)
}

/// P10, C1: what a person writes stands in the window in place of the layer's text, is audited like every layer, is there
/// when the session is opened again, and undo brings the very window before back.
#[test]
fn a_layer_is_written_over_and_that_is_undone() {
    block_on(async {
        let (store, s) = scene(30).await;
        compact(&s, Scope::Policy).await.unwrap();
        let (before, old) = (sent(&s), newest(&s));
        let done = s.edit_layer(old.id, WRITTEN, IfOver::Refuse).await.unwrap();
        let layer = newest(&s);
        assert_eq!((layer.summary.as_str(), layer.ledger.len()), (WRITTEN, 0));
        assert_eq!(layer.author, Author::Person);
        assert_eq!(layer.replaces, [old.id]);
        assert_eq!(layer.covers, old.covers);
        assert!(layer.retention < old.retention, "less of the facts is kept");
        assert!(!layer.dropped.is_empty());
        assert!(!done.report.dropped.is_empty());
        assert!(sent(&s).contains(WRITTEN));
        let opened = engine(&store).await.follow(s.id()).await.unwrap();
        assert_eq!(sent(&opened), sent(&s));
        let log = s.log().await.unwrap();
        assert_eq!(log.last().unwrap().action, LogAction::Edited);
        assert!(!s.context().view().paused);

        s.undo().await.unwrap();
        assert_eq!(sent(&s), before);
        assert!(!s.context().view().paused, "automatic runs go on");
        s.undo().await.unwrap();
        assert!(s.layers().is_empty(), "then the compaction itself");
        assert!(matches!(s.undo().await, Err(EngineError::NothingToUndo)));
    });
}

/// C4: a written layer gets shorter by its own words: what a person took out does not come back.
#[test]
fn a_written_layer_fades_by_its_own_words() {
    block_on(async {
        let (_, s) = scene(30).await;
        compact(&s, Scope::Policy).await.unwrap();
        s.edit_layer(newest(&s).id, WRITTEN, IfOver::Refuse)
            .await
            .unwrap();
        for _ in 0..3 {
            talk(&s, 24).await;
            compact(&s, Scope::Policy).await.unwrap();
        }
        let first = s.layers()[0].clone();
        let view = s.context().view().clone();
        let notes = view.notes.iter().filter(|n| first.notes.contains(&n.id));
        assert!(notes.clone().any(|n| n.text == WRITTEN));
        assert!(
            notes
                .clone()
                .all(|n| !n.text.contains("config/part_3.toml set"))
        );
    });
}

/// Nothing changes for a text without a word, a layer that is not there, or one that would not fit; where the person wants
/// it all the same, it is shown.
#[test]
fn what_cannot_be_written_changes_nothing() {
    block_on(async {
        let (_, s) = scene(30).await;
        compact(&s, Scope::Policy).await.unwrap();
        let (id, before) = (newest(&s).id, s.head().revision);
        let empty = s.edit_layer(id, " \n ", IfOver::Refuse).await;
        assert_eq!(empty.unwrap_err().code(), "empty_record");
        let gone = s.edit_layer(99, WRITTEN, IfOver::Refuse).await;
        assert_eq!(gone.unwrap_err().code(), "not_found");
        let gone = s.rewrite_layer(99, CompactOptions::default(), Signal::never());
        assert_eq!(gone.await.unwrap_err().code(), "not_found");
        let long = "A sentence that says something new about it all. ".repeat(900);
        let large = s.edit_layer(id, &long, IfOver::Refuse).await;
        assert_eq!(large.unwrap_err().code(), "would_not_fit");
        assert_eq!(s.head().revision, before);
        s.edit_layer(id, &long, IfOver::Show).await.unwrap();
        assert_eq!(newest(&s).summary, long.trim());
    });
}

/// A layer is written again from what it covers: by a model, whose words stand there then; by the built-in summariser, with
/// an eye on something. It is no further compaction, and undo takes it back.
#[test]
fn a_layer_is_written_again() {
    block_on(async {
        let (_, s) = scene(30).await;
        compact(&s, Scope::Policy).await.unwrap();
        let (before, old) = (sent(&s), newest(&s));
        let model = ScriptedModel::new([], |_| Answer::text(SUMMARY));
        s.rewrite_layer(old.id, asking(&model), Signal::never())
            .await
            .unwrap();
        let layer = newest(&s);
        assert_eq!(layer.author, Author::Model { name: "m".into() });
        assert!(layer.summary.contains("a restart is needed"));
        assert_eq!(layer.covers, old.covers);
        assert_eq!((layer.number, layer.replaces), (old.number, vec![old.id]));
        assert_eq!(s.context().view().compactions, 1);
        assert_eq!(s.context().view().cause, Cause::Remade { layer: old.id });
        let prompt = format!("{:?}", model.asked()[0].messages);
        assert!(
            prompt.contains("Question 3: what does config/part_3.toml set?"),
            "from the messages, not from the layer"
        );
        s.undo().await.unwrap();
        assert_eq!(sent(&s), before);

        let focus = CompactOptions {
            focus: Some("config/part_7.toml".into()),
            ..CompactOptions::default()
        };
        s.rewrite_layer(newest(&s).id, focus, Signal::never())
            .await
            .unwrap();
        let layer = newest(&s);
        assert_eq!(layer.author, Author::Extractive);
        assert!(layer.summary.contains("part_7"), "{}", layer.summary);
    });
}

/// A model that writes nothing usable leaves the layer as it is; nobody asked for other words.
#[test]
fn a_model_that_fails_leaves_the_layer() {
    block_on(async {
        let (_, s) = scene(30).await;
        compact(&s, Scope::Policy).await.unwrap();
        let (before, id) = (sent(&s), newest(&s).id);
        let model = ScriptedModel::new([], |_| Answer::text(""));
        let done = s.rewrite_layer(id, asking(&model), Signal::never()).await;
        assert!(matches!(
            done,
            Err(EngineError::Refused(Refusal::ModelFailed))
        ));
        assert_eq!((sent(&s), newest(&s).id), (before, id));
    });
}

/// P2: a person names how far, or from where to where; calls and results, the last exchange and messages outside stay.
#[test]
fn a_person_names_what_is_covered() {
    block_on(async {
        let (_, s) = scene(12).await;
        compact(&s, Scope::UpTo(7)).await.unwrap();
        assert_eq!(range(&newest(&s)), (0, 7));
        compact(&s, Scope::Range { from: 12, to: 15 })
            .await
            .unwrap();
        assert_eq!(range(&newest(&s)), (12, 15));
        let said = sent(&s);
        for (n, stands) in [(2, false), (5, true), (6, false), (7, false), (8, true)] {
            let words = format!("It sets the limit of part {n} to {n} seconds.");
            let shown = s.context().window();
            let whole = shown
                .messages()
                .iter()
                .any(|m| m.parts().len() == 1 && m.parts()[0].words().starts_with(&words));
            assert_eq!(whole, stands, "exchange {n} of {said}");
        }
        s.undo().await.unwrap();
        assert_eq!(s.layers().len(), 1);
        // all of it: the last exchange stays
        compact(&s, Scope::UpTo(23)).await.unwrap();
        let last = s.layers().iter().map(|l| l.range().to).max();
        assert!(last.is_some_and(|to| to < 23));
        assert!(sent(&s).contains("It sets the limit of part 11 to 11 seconds."));
    });
}

/// A layer that a person asks for uses what is free: of an agent's work that fits its window it keeps about a third, however
/// small the policy's own layers are.
#[test]
fn what_a_person_covers_keeps_a_third() {
    block_on(async {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/fixtures/survival/coding.json"
        );
        let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let messages = all[0]["messages"].as_array().unwrap();
        let new = NewSession {
            window: 32_768,
            ..NewSession::default()
        };
        let s = engine(&Rc::new(MemoryStore::new()))
            .await
            .create(new)
            .await
            .unwrap();
        let parsed = dialect::parse(messages, Dialect::OpenAi, Origin::Host).unwrap();
        let new = parsed.messages.into_iter().map(|from| NewMessage {
            role: from.message.role,
            origin: from.message.origin,
            parts: from.message.parts,
            at: 0.0,
            ended: None,
        });
        s.append_all(new.collect()).await.unwrap();
        let scope = Scope::Range { from: 0, to: 119 };
        let done = s.compact(by_hand(scope), Signal::never()).await.unwrap();
        let report = done.report;
        let kept = report.covered_tokens - (report.before - report.after);
        let third = report.covered_tokens / 3;
        assert!(
            kept.abs_diff(third) <= third / 8,
            "{kept} of {} tokens",
            report.covered_tokens
        );
    });
}

/// What is not there, is turned round or is covered already is refused, each with its code.
#[test]
fn what_cannot_be_covered_changes_nothing() {
    block_on(async {
        let (_, s) = scene(12).await;
        let code = |done: Result<u32, EngineError>| done.unwrap_err().code();
        assert_eq!(code(compact(&s, Scope::UpTo(90)).await), "not_found");
        let turned = Scope::Range { from: 9, to: 4 };
        assert_eq!(code(compact(&s, turned).await), "bad_input");
        compact(&s, Scope::UpTo(7)).await.unwrap();
        let again = Scope::Range { from: 2, to: 5 };
        assert_eq!(code(compact(&s, again).await), "nothing_to_compress");
        assert_eq!(s.layers().len(), 1);
    });
}

/// I6: what a person does by hand while a compaction is being written wins: the compaction was planned on the layers as they
/// were, and is not committed. Nothing is half done.
#[test]
fn hands_win_over_a_compaction_that_runs() {
    block_on(async {
        let (store, s) = scene(30).await;
        compact(&s, Scope::Policy).await.unwrap();
        talk(&s, 24).await;
        let id = newest(&s).id;
        let go = Abort::new();
        let signal = go.signal();
        let model = ScriptedModel::new([], move |_| Answer::after(signal.clone(), SUMMARY));
        let options = CompactOptions {
            manual: true,
            ..asking(&model)
        };
        let (done, ()) = join(Box::pin(s.compact(options, Signal::never())), async {
            assert_eq!(model.asked().len(), 1, "the model writes");
            s.edit_layer(id, WRITTEN, IfOver::Refuse).await.unwrap();
            go.abort();
        })
        .await;
        assert_eq!(done.unwrap_err().code(), "busy");
        assert_eq!(s.layers().len(), 1);
        assert_eq!(newest(&s).summary, WRITTEN);
        let opened = engine(&store).await.follow(s.id()).await.unwrap();
        assert_eq!(sent(&opened), sent(&s));
        compact(&s, Scope::Policy).await.unwrap();
        assert_eq!(
            s.layers().len(),
            2,
            "the next one is planned on the new text"
        );
    });
}

/// I6: a layer that is written again waits for the compaction that runs. What that one did to the layer is seen: a layer that
/// is not there any more is not written again.
#[test]
fn writing_again_waits_its_turn() {
    block_on(async {
        let (_, s) = scene(30).await;
        compact(&s, Scope::Policy).await.unwrap();
        let id = newest(&s).id;
        let go = Abort::new();
        let signal = go.signal();
        let model = ScriptedModel::new([], move |_| Answer::after(signal.clone(), SUMMARY));
        let again = s.rewrite_layer(id, asking(&model), Signal::never());
        let (first, second, ()) = futures_util::future::join3(
            Box::pin(again),
            Box::pin(s.rewrite_layer(id, CompactOptions::default(), Signal::never())),
            async {
                assert_eq!(model.asked().len(), 1);
                go.abort();
            },
        )
        .await;
        first.unwrap();
        assert_eq!(second.unwrap_err().code(), "not_found");
        assert_eq!(newest(&s).author, Author::Model { name: "m".into() });
    });
}

/// A message that a layer covers cannot be removed, and one behind the layers goes without changing them.
#[test]
fn layers_stay_when_a_later_message_is_removed() {
    block_on(async {
        let (_, session) = scene(12).await;
        compact(&session, Scope::UpTo(9)).await.unwrap();
        let (layer, texts) = (newest(&session), |session: &Session| -> Vec<String> {
            let all = session.history(None, usize::MAX);
            all.iter().map(|item| item.message.words()).collect()
        });
        let before = texts(&session);
        let refused = session.remove_messages(4, 4).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "A layer covers the message. Restore the layer's messages, then remove it."
        );
        session.remove_messages(12, 13).await.unwrap();
        assert_eq!(newest(&session), layer);
        let expected: Vec<String> = [&before[..12], &before[14..]].concat();
        assert_eq!(texts(&session), expected);
    });
}
