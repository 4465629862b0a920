//! The compaction card's data: one element whose text changes in place.

use palimpsest_core::pass::PassKind;

use crate::context::data::budget::Segment;

/// The content of a card.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// The compaction, from 1: the number of the layer it writes.
    pub number: u32,
    /// When it began; milliseconds since 1970.
    pub at: f64,
    /// The state.
    pub state: State,
}

impl Card {
    /// The card without what changes many times while a run works: while this stays, its buttons stay.
    pub fn frame(&self) -> Self {
        let mut card = self.clone();
        if let State::Working {
            stage,
            progress,
            before,
            expected,
        } = &mut card.state
        {
            (*stage, *progress) = (Stage::Identify, None);
            (*before, *expected) = (0, 0);
        }
        card
    }
}

/// The states of a card, in the order they are passed through.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// The trigger was reached; the run starts after the reply.
    Announced {
        /// Tokens used of the limit.
        used: u32,
        /// The limit.
        limit: u32,
    },
    /// The run is working.
    Working {
        /// The stage it is in.
        stage: Stage,
        /// Tokens written of those expected, while summarising.
        progress: Option<(u32, u32)>,
        /// Tokens before.
        before: u32,
        /// Tokens expected after.
        expected: u32,
    },
    /// The layer is written, or the window was made smaller without one.
    Done(Box<Done>),
    /// Nothing was written.
    Skipped {
        /// Why, in a sentence.
        why: String,
    },
    /// It could not be written.
    Failed {
        /// Why, in a sentence.
        why: String,
    },
    /// It was done and taken back.
    Undone {
        /// It had written a layer.
        layer: bool,
        /// Tokens with it.
        before: u32,
        /// Tokens without it.
        after: u32,
    },
}

/// The six stages of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The choice of messages.
    Identify,
    /// The input of the summariser.
    Prepare,
    /// The summary is written.
    Summarise,
    /// The layer is made.
    Checkpoint,
    /// The new view.
    Update,
    /// The invariants are checked.
    Verify,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Self; 6] = [
        Self::Identify,
        Self::Prepare,
        Self::Summarise,
        Self::Checkpoint,
        Self::Update,
        Self::Verify,
    ];
}

/// The content that every window of a session holds word for word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// There is a system prompt.
    pub has_prompt: bool,
    /// The number of pinned and locked lines.
    pub pins: u32,
}

/// The result of a finished compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// Tokens before.
    pub before: u32,
    /// Tokens after.
    pub after: u32,
    /// The window, as the scale of the two bars.
    pub limit: u32,
    /// The bar before; empty when it is not known any more.
    pub bar_before: Vec<Segment>,
    /// The bar after.
    pub bar_after: Vec<Segment>,
    /// The engine's number of the layer, if one was written.
    pub id: Option<u32>,
    /// First and last message covered.
    pub covers: (u32, u32),
    /// The number of covered messages.
    pub messages: u32,
    /// The tokens of the covered messages, and of the layer.
    pub layer: (u32, u32),
    /// The author: a model's name, or `None` for the deterministic summariser.
    pub author: Option<String>,
    /// Why the deterministic summariser stood in, if it did.
    pub fallback: Option<String>,
    /// What each pass did, in their order: its kind, the messages it changed and the tokens it removed.
    pub steps: Vec<(PassKind, u32, u32)>,
    /// Messages of the user whose words are only in the summary now.
    pub summarised: u32,
    /// Facts that are in no part of the window any more: the first of them.
    pub dropped: Vec<String>,
    /// The number of them; 0 in reports without it.
    pub lost: u32,
    /// The number of the user's messages that stay word for word.
    pub kept: u32,
    /// Messages of the user of which an excerpt stands beside the layers.
    pub shortened: u32,
    /// Demands of the person that it found.
    pub demands: Vec<String>,
    /// The content that every window holds.
    pub standing: Standing,
    /// The time in milliseconds, if known.
    pub took: Option<f64>,
    /// This is the newest one, which can be undone.
    pub undoable: bool,
}

impl Done {
    /// The saving in percent, rounded.
    pub fn percent(&self) -> u32 {
        let saved = u64::from(self.before.saturating_sub(self.after));
        ((saved * 200 + u64::from(self.before)) / (2 * u64::from(self.before.max(1)))) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P1 on the page: progress does not rebuild the card's buttons; a change of the possible actions does.
    #[test]
    fn a_frame_stays_while_a_run_works() {
        let card = |state| Card {
            number: 3,
            at: 1.0,
            state,
        };
        let working = |stage, progress, before| {
            card(State::Working {
                stage,
                progress,
                before,
                expected: before / 2,
            })
        };
        let first = working(Stage::Prepare, None, 900);
        let later = working(Stage::Summarise, Some((40, 200)), 911);
        assert_ne!(first, later);
        assert_eq!(first.frame(), later.frame());
        let failed = card(State::Failed { why: "no".into() });
        assert_ne!(later.frame(), failed.frame());
        assert_eq!(failed.frame(), failed);
    }

    #[test]
    fn the_saving_is_of_what_was_there() {
        let done = |before, after| Done {
            before,
            after,
            limit: 7004,
            bar_before: Vec::new(),
            bar_after: Vec::new(),
            id: Some(7),
            covers: (28, 41),
            messages: 9,
            layer: (2637, 402),
            author: None,
            fallback: None,
            steps: Vec::new(),
            summarised: 0,
            dropped: Vec::new(),
            lost: 0,
            kept: 5,
            shortened: 0,
            demands: Vec::new(),
            standing: Standing::default(),
            took: None,
            undoable: true,
        };
        assert_eq!(done(6204, 3665).percent(), 41);
        assert_eq!(done(6112, 3843).percent(), 37);
        assert_eq!(done(0, 0).percent(), 0);
    }
}
