//! Tokens by turn, with the compactions between them: the chart of the log.

use palimpsest_core::sorted::SortedMap;

use crate::chat::data::thread::{Entry, Who};
use crate::context::data::card::{Card, State};

/// What a person said and what came back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// The number of its first message.
    pub first: u32,
    /// Tokens the person said.
    pub said: u32,
    /// Tokens of the replies with their tools.
    pub answered: u32,
    /// Compactions after it: number, tokens before, tokens after.
    pub compactions: Vec<(u32, u32, u32)>,
}

/// The turns of a thread, oldest first. A turn begins where the person speaks.
pub fn turns(entries: &[Entry], cards: &SortedMap<u32, Card>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for entry in entries {
        match entry {
            Entry::Message(m) => {
                let speaks = m.who == Who::You;
                if speaks || turns.is_empty() {
                    turns.push(Turn {
                        first: m.seq,
                        ..Turn::default()
                    });
                }
                if let Some(turn) = turns.last_mut() {
                    let side = if speaks {
                        &mut turn.said
                    } else {
                        &mut turn.answered
                    };
                    *side = side.saturating_add(m.tokens);
                }
            }
            Entry::Card(number) => {
                if let Some(State::Done(done)) = cards.get(number).map(|c| &c.state)
                    && let Some(turn) = turns.last_mut()
                {
                    turn.compactions.push((*number, done.before, done.after));
                }
            }
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::chat::data::thread::Message;
    use crate::context::data::card::Done;

    fn message(seq: u32, who: Who, tokens: u32) -> Entry {
        Entry::Message(Arc::new(Message {
            seq,
            last: seq,
            who,
            name: String::new(),
            at: 0.0,
            blocks: Vec::new(),
            ended: None,
            stats: None,
            form: None,
            tokens,
            offloaded: Vec::new(),
            branch: (1, 1),
        }))
    }

    #[test]
    fn turns_with_their_compactions() {
        let done = Done {
            before: 900,
            after: 400,
            limit: 1000,
            bar_before: Vec::new(),
            bar_after: Vec::new(),
            id: Some(1),
            covers: (1, 3),
            messages: 3,
            layer: (500, 90),
            author: None,
            fallback: None,
            steps: Vec::new(),
            summarised: 0,
            dropped: Vec::new(),
            lost: 0,
            kept: 0,
            shortened: 0,
            demands: Vec::new(),
            standing: crate::context::data::card::Standing::default(),
            took: None,
            undoable: true,
        };
        let card = |number, state| Card {
            number,
            at: 0.0,
            state,
        };
        let cards = SortedMap::from([
            (1, card(1, State::Done(Box::new(done)))),
            (2, card(2, State::Skipped { why: String::new() })),
        ]);
        let entries = [
            message(1, Who::Other, 5),
            message(2, Who::You, 10),
            message(3, Who::Model, 20),
            message(4, Who::Model, 30),
            Entry::Card(1),
            message(5, Who::You, 7),
            Entry::Card(2),
        ];
        let shown: Vec<String> = turns(&entries, &cards)
            .iter()
            .map(|t| {
                format!(
                    "{}: {} + {} {:?}",
                    t.first, t.said, t.answered, t.compactions
                )
            })
            .collect();
        assert_eq!(
            shown,
            ["1: 0 + 5 []", "2: 10 + 50 [(1, 900, 400)]", "5: 7 + 0 []"]
        );
    }
}
