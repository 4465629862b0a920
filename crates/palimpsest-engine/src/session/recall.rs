//! Quotes covered messages when the user's words ask for them (R1).

use palimpsest_core::context::{Cause, Elsewhere, Entry, Quote, Recalled};
use palimpsest_core::layer::LayerId;
use palimpsest_core::message::{Message, Role, Seq};
use palimpsest_core::quotes::{self, CoveredWords};
use palimpsest_core::rendition::Rendition;
use palimpsest_core::view_edit::{Stale, ViewEdit};
use palimpsest_text::recall::Recall;

use crate::error::EngineError;
use crate::event::Event;

use super::revise::Revision;
use super::{Session, State};

/// The search index over the covered messages. It grows with the covered range. If that range shrinks or another branch
/// is shown, it is rebuilt, because its answers must depend only on the present range (I2).
#[derive(Default)]
pub(crate) struct CoveredIndex {
    /// The layers of the present index.
    layers: Vec<LayerId>,
    /// The messages in the index, in order.
    seqs: Vec<Seq>,
    index: Recall,
    words: CoveredWords,
}

/// Updates the index after the layers changed (R1). If they did not, it only compares their numbers.
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

/// Returns the covered passages that answer `message`, which takes `tokens` and is not in the window yet. They get at
/// most a quarter of the limit and no more than is free (R1).
pub(super) fn recall(state: &State, message: &Message, tokens: u32) -> Option<Recalled> {
    let context = &state.context;
    let room = context.recall_room(context.setup().shares.limit, tokens);
    within(state, message, room)
}

/// Does the same within `room` tokens.
fn within(state: &State, message: &Message, room: u32) -> Option<Recalled> {
    let context = &state.context;
    let view = context.view();
    if !context.setup().policy.recall || view.layers.is_empty() || message.role != Role::User {
        return None;
    }
    follow(state);
    let known = &mut *state.covered_index.borrow_mut();
    let passages = quotes::choose(context, &known.index, &mut known.words, message, room);
    let quotes = passages.iter().filter_map(|p| p.quote(context)).collect();
    quotes::block(message.seq, quotes)
}

/// Returns quotes for the user's last message, if it waits for its reply and has none yet. In the middle of a turn what is free
/// above the target belongs to the next calls and their results.
fn for_the_last(state: &State) -> Option<Recalled> {
    let context = &state.context;
    if context.view().recalled.is_some() {
        return None;
    }
    let entries = context.entries();
    let last = &entries.last()?.message;
    let question = &entries.get(context.last_user()?)?.message;
    match last.role {
        Role::User => recall(state, question, 0),
        Role::Tool => {
            let free = context.target().saturating_sub(context.tokens());
            let room = context.recall_room(context.setup().shares.limit, 0);
            within(state, question, room.min(free))
        }
        Role::Assistant | Role::System => None,
    }
}

/// The revision of a session and its end. Quotes that were chosen at another place are stale.
type Seen = (u32, Option<Seq>);

const fn place(state: &State) -> Seen {
    (state.head.revision, state.head.tip)
}

impl Session {
    /// The session's revision and its end now.
    pub(crate) fn place(&self) -> Seen {
        place(&self.0.state.borrow())
    }

    /// Quotes covered passages for a question that waits for its reply, after a compaction has written its window anew. What
    /// answers it may have been covered just now. [`Session::send`] does it by itself.
    pub async fn recall_anew(&self) -> Result<(), EngineError> {
        let (seen, found) = {
            let state = self.0.state.borrow();
            (place(&state), for_the_last(&state))
        };
        match found {
            Some(found) => self.show_quotes(seen, found).await,
            None => Ok(()),
        }
    }

    /// Shows these quotes, unless the session has changed since its revision and its end were `seen`.
    pub(crate) async fn show_quotes(
        &self,
        seen: Seen,
        quotes: Recalled,
    ) -> Result<(), EngineError> {
        let done = self
            .revise(|state, draft| {
                if place(state) != seen {
                    return Err(Stale.into());
                }
                let from = state.context.view().recalled.clone();
                let edits = vec![ViewEdit::Recall {
                    from,
                    to: Some(quotes),
                }];
                draft.show(state, Revision::of(state, Cause::Recall, edits))
            })
            .await;
        let revision = match done {
            // a message that came in meanwhile has quotes of its own
            Err(_) if place(&self.0.state.borrow()) != seen => return Ok(()),
            done => done?,
        };
        self.emit_view(revision);
        let seqs: Vec<Seq> = self.recalled().iter().map(|q| q.seq).collect();
        self.emit(&Event::Recalled { seqs });
        Ok(())
    }

    /// Quotes what was said in other sessions for a question that waits for its reply, where [`Engine::recall_others`] is on and
    /// some of it answers the question. Such quotes take what the own ones leave, at most half of the room for quotes.
    /// [`Session::send`] does it by itself.
    ///
    /// [`Engine::recall_others`]: crate::Engine::recall_others
    pub async fn recall_others(&self) -> Result<(), EngineError> {
        let others = self.0.open.others.borrow().clone();
        let last = self.0.state.borrow().context.entries().last().cloned();
        let last = last.map(|last| last.message);
        match (others, last) {
            (Some(others), Some(last)) if last.role == Role::User => {
                others.quote(self.clone(), last).await
            }
            _ => Ok(()),
        }
    }

    /// Returns the covered messages that can be recalled now, oldest first.
    pub fn recallable(&self) -> Vec<Seq> {
        let state = self.0.state.borrow();
        follow(&state);
        let known = state.covered_index.borrow();
        known.seqs.clone()
    }

    /// Returns the quotes of covered messages that the window holds for the last question, in their order.
    pub fn recalled(&self) -> Vec<Quote> {
        let state = self.0.state.borrow();
        let recalled = state.context.view().recalled.as_ref();
        recalled.map_or_else(Vec::new, |recalled| recalled.quotes.clone())
    }

    /// Returns the quotes from other sessions that the window holds for the last question, the best first.
    pub fn recalled_elsewhere(&self) -> Vec<Elsewhere> {
        let state = self.0.state.borrow();
        let recalled = state.context.view().recalled.as_ref();
        recalled.map_or_else(Vec::new, |recalled| recalled.elsewhere.clone())
    }

    /// Removes one recalled quote from the window, or all of them.
    pub async fn forget_recalled(&self, seq: Option<Seq>) -> Result<(), EngineError> {
        let stays = |quote: &Quote| seq.is_some_and(|seq| quote.seq != seq);
        self.keep_recalled(stays, |_| seq.is_some()).await
    }

    /// Removes the quotes of a message of another session from the window.
    pub async fn forget_elsewhere(&self, session: &str, seq: Seq) -> Result<(), EngineError> {
        let stays = |one: &Elsewhere| one.session != session || one.quote.seq != seq;
        self.keep_recalled(|_| true, stays).await
    }

    async fn keep_recalled(
        &self,
        own: impl Fn(&Quote) -> bool,
        others: impl Fn(&Elsewhere) -> bool,
    ) -> Result<(), EngineError> {
        let revision = self
            .revise(|state, draft| {
                let from = state.context.view().recalled.clone();
                let to = from.clone().and_then(|mut recalled| {
                    recalled.quotes.retain(&own);
                    recalled.elsewhere.retain(&others);
                    quotes::block_with(recalled.before, recalled.quotes, recalled.elsewhere)
                });
                let edits = vec![ViewEdit::Recall { from, to }];
                draft.show(state, Revision::of(state, Cause::Recall, edits))
            })
            .await?;
        self.emit_view(revision);
        Ok(())
    }
}
