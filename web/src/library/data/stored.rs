//! The size of the sessions in the store, and their integrity.

use palimpsest_engine::{Fault, Taken};
use palimpsest_text::sorted::SortedMap;

/// The measurements of the store, one session after the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sizes {
    /// Bytes by session, with the version of its head that was measured.
    pub of: SortedMap<String, (u32, Taken)>,
    /// Bytes of the models' vocabularies.
    pub vocabularies: u64,
    /// Every session was measured.
    pub done: bool,
}

impl Sizes {
    /// Bytes of messages, tool results, vocabularies, layers with notes, and snapshots.
    pub fn kinds(&self) -> [u64; 5] {
        let mut all = [0, 0, self.vocabularies, 0, 0];
        for (_, taken) in self.of.values() {
            all[0] += taken.messages;
            all[1] += taken.tools;
            all[3] += taken.layers;
            all[4] += taken.snapshots;
        }
        all
    }
}

/// The check of everything that is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Integrity {
    /// Sessions read back.
    pub read: u32,
    /// Sessions there are; 0 before it begins.
    pub of: u32,
    /// Messages read back.
    pub messages: u32,
    /// The faults: the session's title or identifier, and the fault.
    pub faults: Vec<(String, Fault)>,
    /// It is over.
    pub done: bool,
    /// Why the store could not be read, if it could not.
    pub failed: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S5: sizes are shown by kind: the sums over the sessions, and the vocabularies between them.
    #[test]
    fn kinds_add_up() {
        let taken = |messages, tools, layers, snapshots| Taken {
            messages,
            tools,
            layers,
            snapshots,
        };
        let sizes = Sizes {
            of: [
                ("a".to_owned(), (1, taken(10, 20, 30, 40))),
                ("b".to_owned(), (7, taken(1, 2, 3, 4))),
            ]
            .into(),
            vocabularies: 500,
            done: true,
        };
        assert_eq!(sizes.kinds(), [11, 22, 500, 33, 44]);
    }
}
