//! Large texts: shortened, kept beside the messages, and brought back by their references.

use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::{Role, number_of};
use palimpsest_core::pass::PassKind;
use palimpsest_core::rendition::ReducedKind;
use palimpsest_core::request::{Delta, FinishReason};
use palimpsest_engine::MemoryStore;
use palimpsest_engine::ports::{Signal, Store, Table};
use palimpsest_engine::session::{CompactOptions, NewMessage, SendOptions};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};

use super::{blobs, create, engine, exchange, lines, rows, tend, window_text};

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
