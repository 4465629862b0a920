//! What a session does with what bad and slow models write instead of summaries.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::layer::Author;
use palimpsest_engine::ports::Signal;
use palimpsest_engine::session::{CompactOptions, NewMessage};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, MemoryStore, NewSession, Session};
use palimpsest_tokens::Estimator;

use super::scene::{options, silent, talk};

async fn session() -> Session {
    let store = Rc::new(MemoryStore::new());
    let engine = Engine::start(store, world(), Rc::new(Estimator::default()))
        .await
        .unwrap();
    let new = NewSession {
        window: 4_096,
        model: "m".into(),
        ..NewSession::default()
    };
    engine.create(new).await.unwrap()
}

/// F22: whatever a tiny model writes, no layer holds it: the built-in summary stands in its place, with the reason.
#[test]
fn garbage_is_never_committed() {
    let counted = (0..57)
        .map(|n| format!("- {n}"))
        .collect::<Vec<_>>()
        .join("\n");
    let mut seen = Vec::new();
    for (garbage, reason) in [
        ("[[pal:27d80f0f73bd9135:notes>> [n]", "leaked"),
        (
            "[[pal:27d80f0f73bd9135:notes>>\n- Part 3 is limited to 3 seconds.",
            "leaked",
        ),
        (
            "Your last notes could not be used. Write new, shorter ones. Now write the notes. Begin with the first line of the notes.",
            "echo",
        ),
        (
            "- Part 3 is limited to 3 seconds.\nBegin with the first line of the notes.",
            "echo",
        ),
        (
            "{\"n\":0,\"role\":\"user\",\"text\":\"Question 0: what does config/part_0.toml set?\"}",
            "echo",
        ),
        (counted.as_str(), "repetitive"),
        (
            "- Restart.\n- Restart.\n- Restart.\n- Restart.\n- Restart.",
            "repetitive",
        ),
        (
            "Part 3 is limited to 3 seconds, and the part and the part and the part and the part and the part and the part and the part and the part.",
            "repetitive",
        ),
        (
            "The user adopted a puppy called Pixie and moved to Lisbon in 2019.",
            "invented",
        ),
    ] {
        block_on(async {
            let s = session().await;
            talk(&s, 24).await;
            let text = garbage.to_owned();
            let model = ScriptedModel::new([], move |_| Answer::text(&text));
            let by_model = CompactOptions {
                model: Some(Rc::new(model)),
                manual: true,
                ..CompactOptions::default()
            };
            s.compact(by_model, Signal::never()).await.unwrap();
            let layer = &s.layers()[0];
            assert!(!layer.summary.contains("pal:"), "{}", layer.summary);
            assert!(layer.tokens > 0 && layer.summary.contains("part"));
            match &layer.author {
                Author::Fallback { reason: why } => seen.push((reason, why.clone())),
                other => panic!("{garbage:?} was taken: {other:?}"),
            }
        });
    }
    assert!(
        seen.iter().all(|(expected, why)| expected == why),
        "{seen:?}"
    );
}

/// F22: a model that does not answer holds the person's message for ten seconds and no longer.
#[test]
fn a_slow_model_does_not_hold_the_message() {
    block_on(async {
        let s = session().await;
        talk(&s, 90).await;
        assert!(s.budget().over > 0);
        let model = ScriptedModel::new([Answer::text("Here.")], |_| Answer::Silence);
        let asking = options(&model);
        let message = NewMessage::user("And?");
        s.send(message, &asking, Signal::never(), &silent)
            .await
            .unwrap();
        assert_eq!(s.layers()[0].author, Author::Extractive);
        assert_eq!(s.budget().over, 0);
    });
}
