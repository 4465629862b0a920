//! Lists that hold the whole conversation, as chat frontends keep them.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;

use futures_executor::block_on;
use palimpsest_core::message::Part;
use palimpsest_engine::NewSession;
use palimpsest_engine::session::{NewMessage, Session, Synced};
use proptest::prelude::*;

use crate::transfer::engine;

fn list(words: &[u8]) -> Vec<NewMessage> {
    let said = |(n, word): (usize, &u8)| {
        let text = format!("word {word}");
        if n % 2 == 0 {
            NewMessage::user(text)
        } else {
            NewMessage::assistant(vec![Part::text(text)])
        }
    };
    words.iter().enumerate().map(said).collect()
}

fn shown(session: &Session) -> Vec<String> {
    let items = session.history(None, usize::MAX);
    items.iter().map(|item| item.message.words()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// F16, F17: whatever lists follow each other, each is what is shown then, and each message is stored once at its place.
    #[test]
    fn every_list_is_shown_and_nothing_is_stored_twice(
        lists in prop::collection::vec(prop::collection::vec(0_u8..3, 0..6), 1..8),
    ) {
        block_on(async {
            let engine = engine().await;
            let session = engine.create(NewSession::default()).await.unwrap();
            let mut places: BTreeSet<Vec<u8>> = BTreeSet::new();
            let mut expected: Vec<String> = Vec::new();
            for words in &lists {
                let new = (1..=words.len()).filter(|n| places.insert(words[..*n].to_vec())).count();
                let done = session.sync(list(words)).await.unwrap();
                if !words.is_empty() {
                    let before = std::mem::take(&mut expected);
                    expected = words.iter().map(|word| format!("word {word}")).collect();
                    prop_assert_eq!(done.branched, !expected.starts_with(&before));
                }
                prop_assert_eq!(done.added.len(), new);
                prop_assert_eq!(&shown(&session), &expected);
                prop_assert_eq!(session.sync(list(words)).await.unwrap(), Synced { added: Vec::new(), branched: false });
            }
            let last = session.head().last_seq.map_or(0, |seq| seq as usize + 1);
            prop_assert_eq!(last, places.len());
            Ok(())
        })?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any message can go. The others stay in their order, and the branch with it is shown again by its last message.
    #[test]
    fn a_message_is_removed_and_comes_back(words in prop::collection::vec(0_u8..3, 1..8), at in any::<prop::sample::Index>()) {
        block_on(async {
            let session = engine().await.create(NewSession::default()).await.unwrap();
            session.sync(list(&words)).await.unwrap();
            let before = shown(&session);
            let tip = session.head().tip.unwrap();
            let gone = at.index(words.len());
            let done = session.remove_messages(gone as u32, gone as u32).await.unwrap();
            let mut expected = before.clone();
            expected.remove(gone);
            prop_assert!(done.branched);
            prop_assert_eq!(&shown(&session), &expected);
            session.switch_to(tip).await.unwrap();
            prop_assert_eq!(shown(&session), before);
            Ok(())
        })?;
    }
}

/// With a reply that called a tool go the results. What cannot be removed alone is refused, with what to do instead, and
/// stays shown.
#[test]
fn calls_go_with_their_results_and_the_rest_is_refused() {
    block_on(async {
        let session = engine().await.create(NewSession::default()).await.unwrap();
        let call = Part::ToolCall {
            id: "c1".into(),
            name: "look".into(),
            arguments: "{}".into(),
        };
        let result = Part::ToolResult {
            call: "c1".into(),
            name: Some("look".into()),
            text: "seven".into(),
            error: false,
        };
        let whole = vec![
            NewMessage::user("Look it up."),
            NewMessage::assistant(vec![call]),
            NewMessage::tool(vec![result]),
            NewMessage::assistant(vec![Part::text("It is seven.")]),
        ];
        session.sync(whole).await.unwrap();
        let refused =
            |error: palimpsest_engine::error::EngineError| (error.code(), error.to_string());
        let result = session.remove_messages(2, 2).await.unwrap_err();
        let unknown = session.remove_messages(0, 9).await.unwrap_err();
        assert_eq!(
            refused(result),
            (
                "bad_input",
                "The message is the result of a tool. Remove the reply that called it.".to_owned()
            )
        );
        assert_eq!(unknown.code(), "not_found");
        assert_eq!(session.history(None, usize::MAX).len(), 4);
        session.remove_messages(1, 1).await.unwrap();
        assert_eq!(shown(&session), ["Look it up.", "It is seven."]);
    });
}
