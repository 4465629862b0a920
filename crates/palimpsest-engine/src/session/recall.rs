//! Quoting what is covered when the user's words ask for it (R1).

use palimpsest_core::context::{Cause, Entry, Quote, Recalled};
use palimpsest_core::layer::LayerId;
use palimpsest_core::message::{Message, Role, Seq};
use palimpsest_core::recall::{Recall, within};
use palimpsest_core::rendition::Rendition;
use palimpsest_core::view_edit::ViewEdit;
use palimpsest_core::window::{RECALL_FRAME, quote_tokens};

use crate::error::EngineError;

use super::revise::Revision;
use super::{Session, State};

/// Passages looked at, the best first.
const MOST_HITS: usize = 24;

/// The index over what is covered. It grows as more is covered; where less is, or another branch is shown, it is made
/// again: what it answers depends on what is covered now and on nothing that was before (I2).
#[derive(Default)]
pub(crate) struct CoveredIndex {
    /// The layers it was made for.
    layers: Vec<LayerId>,
    /// The messages in it, in order.
    seqs: Vec<Seq>,
    index: Recall,
}

/// Brings the index up to date after the layers changed (R1). Where they did not, it costs a look at their numbers.
fn follow(state: &State) {
    state.follow_index.set(Some(follow));
    let context = &state.context;
    let view = context.view();
    if !context.setup().policy.recall {
        return;
    }
    let mut known = state.covered_index.borrow_mut();
    let layers = || view.layers.iter().map(|l| l.id);
    if layers().eq(known.layers.iter().copied()) {
        return;
    }
    let covered: Vec<&Entry> = if view.layers.is_empty() {
        Vec::new()
    } else {
        let entries = context.entries().iter();
        entries
            .filter(|e| matches!(view.rendition(e.message.seq), Rendition::Covered(_)))
            .collect()
    };
    let grows = known.seqs.len() <= covered.len()
        && known
            .seqs
            .iter()
            .zip(&covered)
            .all(|(seq, entry)| *seq == entry.message.seq);
    if !grows {
        *known = CoveredIndex::default();
    }
    for entry in &covered[known.seqs.len()..] {
        let message = &entry.message;
        known.index.add(message.seq, &message.words());
        known.seqs.push(message.seq);
    }
    known.layers = layers().collect();
}

/// The passages of covered messages that answer `message`, as far as the recall slot reaches. What is quoted
/// word for word in the slot already is not quoted again.
pub(super) fn recall(state: &State, message: &Message) -> Option<Recalled> {
    let context = &state.context;
    let view = context.view();
    if !context.setup().policy.recall || view.layers.is_empty() || message.role != Role::User {
        return None;
    }
    follow(state);
    let known = state.covered_index.borrow();
    let index = &known.index;
    let shown: Vec<Seq> = view.quotes.iter().map(|q| q.seq).collect();
    let hits = index.search(&message.words(), MOST_HITS, |seq| !shown.contains(&seq));
    let words = |seq: Seq| {
        let entries = context.entries();
        let at = entries.binary_search_by_key(&seq, |e| e.message.seq).ok()?;
        Some(entries[at].message.words())
    };
    let passage = |seq: Seq, start: u32, end: u32| {
        words(seq).and_then(|w| {
            w.get(start as usize..end as usize)
                .map(|p| p.trim().to_owned())
        })
    };
    let counter = context.counter().as_ref();
    let room = context.setup().shares.recall.saturating_sub(RECALL_FRAME);
    let chosen = within(&hits, room, |hit| {
        passage(hit.seq, hit.start, hit.end)
            .map_or(u32::MAX, |text| quote_tokens(hit.seq, &text, counter))
    });
    let quotes: Vec<Quote> = chosen
        .iter()
        .filter_map(|hit| {
            let text = passage(hit.seq, hit.start, hit.end)?;
            let tokens = quote_tokens(hit.seq, &text, counter);
            Some(Quote {
                seq: hit.seq,
                text,
                tokens,
            })
        })
        .collect();
    let tokens = RECALL_FRAME + quotes.iter().map(|q| q.tokens).sum::<u32>();
    (!quotes.is_empty()).then_some(Recalled {
        before: message.seq,
        quotes,
        tokens,
    })
}

impl Session {
    /// The covered messages that can be recalled now, oldest first.
    pub fn recallable(&self) -> Vec<Seq> {
        let state = self.0.state.borrow();
        follow(&state);
        let known = state.covered_index.borrow();
        known.seqs.clone()
    }

    /// Takes one recalled quote out of the window, or all of them.
    pub async fn forget_recalled(&self, seq: Option<Seq>) -> Result<(), EngineError> {
        let revision = self
            .revise(|state, draft| {
                let from = state.context.view().recalled.clone();
                let mut to = from.clone();
                if let Some(recalled) = &mut to {
                    recalled.quotes.retain(|q| seq.is_some_and(|s| q.seq != s));
                    recalled.tokens =
                        RECALL_FRAME + recalled.quotes.iter().map(|q| q.tokens).sum::<u32>();
                }
                let to = to.filter(|r| !r.quotes.is_empty());
                let edits = vec![ViewEdit::Recall { from, to }];
                draft.show(state, Revision::of(state, Cause::Recall, edits))
            })
            .await?;
        self.emit_view(revision);
        Ok(())
    }
}
