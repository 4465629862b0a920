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
