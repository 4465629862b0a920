//! Quotes in a list: passages that layers cover and that answer the user's last message stand before it (R1).
//!
//! What was chosen for a message stays while that message is the last of the user's, so that the calls of one turn find
//! the beginning of the prompt as it was. It is chosen anew when a run has written the window anew, and goes when it does
//! not fit any more.

use palimpsest_tokens::Count;
use serde::{Deserialize, Serialize};

use super::{CompactState, Compaction};
use crate::context::quotes::{self, CoveredWords, Passage};
use crate::context::slot::{quote_mark, recall_block};
use crate::context::{Context, Entry, Quote, Recalled};
use crate::data::layer::{LayerId, Span};
use crate::data::message::{Message, Seq};
use crate::data::rendition::Rendition;
use crate::data::shares::Shares;
use crate::run::Aim;
use palimpsest_dialect::Parsed;
use palimpsest_text::recall::Recall;

/// Bytes of covered words that are looked through at most, the newest.
const MOST_BYTES: usize = 4_000_000;

/// What was chosen for a message of the user's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    /// The message.
    before: Seq,
    /// What is quoted before it. Empty if nothing answers it, or if there was no room any more.
    passages: Vec<Passage>,
}

/// What an earlier call chose, and the words where the list does not hold them any more.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    asked: Option<Asked>,
    /// The layers that stood then.
    layers: Vec<LayerId>,
    /// The quotes as they stand in the given list.
    given: Option<Recalled>,
}

impl Earlier {
    pub(super) fn of(state: &CompactState, given: Option<Recalled>) -> Self {
        Self {
            asked: state.asked.clone(),
            layers: state.view.layers.iter().map(|l| l.id).collect(),
            given,
        }
    }

    /// The quotes that the given list holds.
    pub(super) const fn given(&self) -> Option<&Recalled> {
        self.given.as_ref()
    }
}

impl CompactState {
    /// The words of the quotes in the list that was handed out with this state; nothing if they are not there as they were.
    pub(super) fn given_quotes(&self, parsed: &Parsed) -> Vec<(Seq, String)> {
        let block = || {
            let asked = self.asked.as_ref()?;
            let shows = &self.output.as_ref()?.shows;
            let place = shows.iter().position(|row| row.seq == Some(asked.before))?;
            let row = shows.get(place)?;
            let parts = &parsed.messages.get(place)?.message.parts;
            let mut parts = parts.iter().filter(|p| !p.is_empty());
            let text = match row.quoted? {
                0 => parts.nth(row.after.checked_sub(1)? as usize)?.words(),
                bytes => {
                    let own = parts.nth(row.after as usize)?.words();
                    own.get(..bytes as usize)?.strip_suffix(JOIN)?
                }
            };
            split(text, &asked.passages)
        };
        block().unwrap_or_default()
    }
}

/// How texts are joined where a message is one text.
pub(super) const JOIN: &str = "\n\n";

/// The quotes of a block, as they stand there.
fn split(block: &str, passages: &[Passage]) -> Option<Vec<(Seq, String)>> {
    let mut quotes = Vec::new();
    let mut rest = block;
    for (n, passage) in passages.iter().enumerate() {
        let head = quote_mark(passage.seq);
        let at = if n == 0 { rest.find(&head)? } else { 0 };
        rest = rest.get(at..)?.strip_prefix(&head)?;
        let end = match passages.get(n + 1) {
            Some(next) => {
                // what was said may hold such a mark, too: the first that leaves a text of the known length
                let mark = quote_mark(next.seq);
                let least = (passage.end.saturating_sub(passage.start) as usize).min(rest.len());
                let all = rest.match_indices(&mark).map(|(at, _)| at);
                let trimmed = |at: &usize| *at + TRIMMED >= least;
                all.clone().find(trimmed).or_else(|| all.clone().last())?
            }
            None => rest.rfind('\n')?,
        };
        quotes.push((passage.seq, rest.get(..end)?.to_owned()));
        rest = rest.get(end..)?;
    }
    let as_quote = |(seq, text): &(Seq, String)| Quote {
        seq: *seq,
        text: text.clone(),
        tokens: 0,
    };
    let again = recall_block(&quotes.iter().map(as_quote).collect::<Vec<_>>(), &[]);
    (again == block).then_some(quotes)
}

/// White space at the borders of a passage that a quote leaves out, at most as a rule.
const TRIMMED: usize = 4;

/// The block of the quotes that a given list holds.
pub(super) fn given(
    state: &CompactState,
    quotes: Vec<(Seq, String)>,
    context: &Context,
) -> Option<Recalled> {
    let quotes = quotes.into_iter();
    let quotes = quotes.map(|(seq, text)| quotes::quote(seq, &text, context));
    quotes::block(state.asked.as_ref()?.before, quotes.collect())
}

/// What of a limit is left to quotes: where people talk and something was covered, a question finds at least half of the
/// room that quotes may take, however long ago the last compaction was.
pub(super) fn kept_free(context: &Context, limit: u32) -> u32 {
    let has_covered = !context.view().layers.is_empty();
    if context.setup().policy.recall && has_covered && !context.has_tools() {
        Shares::recall_most(limit) / 2
    } else {
        0
    }
}

/// What a run aims at that is needed anyway: where people talk, room for quotes is left. Tool calls need what they read
/// in their own place, and find little of it in quotes.
pub(super) fn aim(context: &Context, limit: u32, below: u32) -> Aim {
    let mut aim = below.min(limit);
    if context.setup().policy.recall && !context.has_tools() {
        aim = aim.min(limit - Shares::recall_most(limit));
    }
    if aim < limit {
        Aim::Below { aim, most: limit }
    } else {
        Aim::AtMost(limit)
    }
}

/// The window's count with quotes in it.
pub(super) fn count_with(context: &mut Context, quotes: Option<&Recalled>) -> Count {
    let last = context.last_user().and_then(|i| context.entries().get(i));
    let (Some(quotes), Some(last)) = (quotes, last) else {
        return context.count();
    };
    // the message they were for need not be the last any more
    let quotes = Recalled {
        before: last.message.seq,
        ..quotes.clone()
    };
    let bare = context.view().clone();
    let mut view = bare.clone();
    view.recalled = Some(quotes);
    context.set_view(view);
    let count = context.count();
    context.set_view(bare);
    count
}

impl Compaction {
    /// Puts the quotes for the last message of the user's into the context, and says what was chosen.
    pub(super) fn quote(&mut self) -> Option<Asked> {
        let policy = &self.context.setup().policy;
        if !policy.recall || self.context.view().layers.is_empty() {
            return None;
        }
        let question = self.question()?;
        let (passages, quotes) = self.same_quotes(question.seq).unwrap_or_else(|| {
            let mut room = self.context.recall_room(self.limit, 0);
            let last = self.context.entries().last();
            let is_answered = last.is_some_and(|e| e.message.seq != question.seq);
            if is_answered && self.context.has_tools() && self.aim < self.limit {
                // in the middle of a turn what is free belongs to the next calls and their results
                room = room.min(self.aim.saturating_sub(self.context.tokens()));
            }
            let covered = self.covered.get_or_insert_default();
            covered.update(&self.context);
            let passages = covered.choose(&self.context, &question, room);
            let quotes = passages.iter().filter_map(|p| p.quote(&self.context));
            let quotes = quotes.collect();
            (passages, quotes)
        });
        let mut asked = Asked {
            before: question.seq,
            passages,
        };
        let block = quotes::block(question.seq, quotes);
        let tokens = block.as_ref().map_or(0, |b| b.tokens);
        if self.context.count().tokens.saturating_add(tokens) > self.limit {
            // quotes never push anything out; they do not come back in this turn, either
            asked.passages.clear();
        } else if block.is_some() {
            self.show_quotes(block);
        }
        Some(asked)
    }

    pub(super) fn show_quotes(&mut self, block: Option<Recalled>) {
        self.context.set_recalled(block);
    }

    /// The user's last message, if it is shown.
    fn question(&self) -> Option<Message> {
        let context = &self.context;
        let message = &context.entries().get(context.last_user()?)?.message;
        let is_shown = !matches!(context.view().rendition(message.seq), Rendition::Covered(_));
        is_shown.then(|| (**message).clone())
    }

    /// What an earlier call chose for the same message, if no layer was written since.
    fn same_quotes(&self, before: Seq) -> Option<(Vec<Passage>, Vec<Quote>)> {
        let asked = self.earlier.asked.as_ref()?;
        let layers = self.context.view().layers.iter().map(|l| l.id);
        if asked.before != before || !layers.eq(self.earlier.layers.iter().copied()) {
            return None;
        }
        let quotes = match &self.earlier.given {
            Some(given) => given.quotes.clone(),
            None if self.is_handed => Vec::new(),
            None => {
                let quotes = asked.passages.iter();
                quotes.filter_map(|p| p.quote(&self.context)).collect()
            }
        };
        Some((asked.passages.clone(), quotes))
    }
}

/// The index over what layers cover, the newest part of it. Kept between calls it grows by what was covered since.
#[derive(Debug, Default)]
pub(super) struct Covered {
    index: Recall,
    words: CoveredWords,
    /// The messages it holds, neighbours joined.
    spans: Vec<Span>,
    bytes: usize,
}

impl Covered {
    fn choose(&mut self, context: &Context, question: &Message, room: u32) -> Vec<Passage> {
        quotes::choose(context, &self.index, &mut self.words, question, room)
    }

    fn update(&mut self, context: &Context) {
        let spans = joined(context.covered());
        if self.extends_to(&spans) {
            let from = self.spans.last().map_or(0, |last| last.to + 1);
            let mut bytes = self.bytes;
            let mut new = Vec::new();
            for entry in entries(context, &spans, from) {
                let own = entry.message.words();
                bytes += own.len();
                new.push((entry.message.seq, own));
            }
            if bytes <= MOST_BYTES {
                for (seq, own) in &new {
                    self.index.add(*seq, own);
                }
                (self.spans, self.bytes) = (spans, bytes);
                return;
            }
        }
        *self = Self::of(context, spans);
    }

    /// Whether the index holds the beginning of these messages, and all of it.
    fn extends_to(&self, spans: &[Span]) -> bool {
        let Some((last, before)) = self.spans.split_last() else {
            return true;
        };
        spans.starts_with(before)
            && spans
                .get(before.len())
                .is_some_and(|span| span.from == last.from && span.to >= last.to)
    }

    fn of(context: &Context, spans: Vec<Span>) -> Self {
        let mut bytes = 0;
        let mut words = Vec::new();
        let all: Vec<&Entry> = entries(context, &spans, 0).collect();
        let mut is_whole = true;
        for entry in all.into_iter().rev() {
            let own = entry.message.words();
            if bytes + own.len() > MOST_BYTES {
                is_whole = false;
                break;
            }
            bytes += own.len();
            words.push((entry.message.seq, own));
        }
        let mut index = Recall::default();
        for (seq, own) in words.iter().rev() {
            index.add(*seq, own);
        }
        Self {
            index,
            words: CoveredWords::default(),
            // one that lacks the oldest is made anew
            spans: if is_whole { spans } else { vec![NEVER] },
            bytes,
        }
    }
}

/// A stretch that no view covers.
const NEVER: Span = Span {
    from: Seq::MAX,
    to: Seq::MAX,
};

/// Spans in order, those that touch as one.
fn joined(spans: Vec<Span>) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    for span in spans {
        match out.last_mut() {
            Some(last) if span.from <= last.to.saturating_add(1) => last.to = last.to.max(span.to),
            _ => out.push(span),
        }
    }
    out
}

/// The entries of these spans from the message `from` on.
fn entries<'a>(
    context: &'a Context,
    spans: &'a [Span],
    from: Seq,
) -> impl Iterator<Item = &'a Entry> {
    let all = context.entries();
    spans
        .iter()
        .filter(move |span| span.to >= from)
        .flat_map(move |span| {
            let first = all.partition_point(|e| e.message.seq < span.from.max(from));
            let end = all.partition_point(|e| e.message.seq <= span.to);
            all[first..end.max(first)].iter()
        })
}
