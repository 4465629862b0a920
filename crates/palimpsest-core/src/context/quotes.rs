//! Chooses the passages that are quoted for a question, and their room.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::context::shrink::{verbatim, words_of};
use crate::context::slot::recall_tokens;
use crate::context::window::{RECALL_FRAME, quote_tokens};
use crate::context::{self, Context, Elsewhere, Quote};
use crate::data::message::{Message, Seq};
use crate::data::rendition::Rendition;
use palimpsest_text::extractive;
use palimpsest_text::recall::{Recall, Recalled, Unsaid, says_little, within};
use palimpsest_text::retention::{self, Fact, FactClass, Speaker};
use palimpsest_text::sorted::SortedMap;
use palimpsest_text::standing::asks;

/// The number of best passages that are considered.
const MOST_HITS: usize = 64;
/// A passage with a lower score than this share of the best is not quoted, because it matches by chance. A passage with all words
/// of a question, said by the speaker whom it names, scores four times as much as its words alone.
const LEAST: f32 = 0.1;

/// The place of a quote, from which it can be quoted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Passage {
    /// The message.
    pub seq: Seq,
    /// First byte in its words.
    pub start: u32,
    /// After the last byte.
    pub end: u32,
}

impl Passage {
    const fn of(hit: &Recalled) -> Self {
        Self {
            seq: hit.seq,
            start: hit.start,
            end: hit.end,
        }
    }

    /// Returns the passage with its words.
    pub fn quote(&self, context: &Context) -> Option<Quote> {
        self.quote_of(self.message(context)?, context)
    }

    fn message<'a>(&self, context: &'a Context) -> Option<&'a Message> {
        let entries = context.entries();
        let at = entries.binary_search_by_key(&self.seq, |e| e.message.seq);
        Some(&entries[at.ok()?].message)
    }

    fn quote_of(&self, message: &Message, context: &Context) -> Option<Quote> {
        Some(quote(self.seq, &self.text_of(message)?, context))
    }

    fn text_of(&self, message: &Message) -> Option<String> {
        let words = message.words();
        let text = words.get(self.start as usize..self.end as usize)?;
        Some(text.trim().to_owned())
    }
}

/// Makes a quote of these words.
pub(crate) fn quote(seq: Seq, text: &str, context: &Context) -> Quote {
    Quote {
        seq,
        text: text.to_owned(),
        tokens: quote_tokens(seq, text, context.counter().as_ref()),
    }
}

/// The bytes of a message that is too long for a remark.
const TOO_LONG: usize = 4_096;
/// The share of the room, as a divisor, that goes to what resembles a remark. The rest goes to what nothing in the window says.
const FOR_LIKE: u32 = 3;
/// The bytes of the newest covered messages that are read for what nothing in the window says.
const NEWEST_BYTES: usize = 1 << 16;

/// Returns the passages of covered messages that answer `message`, in the order of the conversation, within `room`
/// tokens including their frame. Messages that are quoted in the slot already are left out. `index` holds the words of
/// covered messages. Where the message asks nothing, most of the room goes to sentences with words that nothing in the window
/// says. What was read of them is kept in `known` for the next choice.
pub fn choose(
    context: &Context,
    index: &Recall,
    known: &mut CoveredWords,
    message: &Message,
    room: u32,
) -> Vec<Passage> {
    known.follow(index);
    let shown: Vec<Seq> = context.view().quotes.iter().map(|q| q.seq).collect();
    let words = message.words();
    let mut hits = index.search(&words, MOST_HITS, |seq| !shown.contains(&seq));
    let least = hits.first().map_or(0.0, |best| best.score * LEAST);
    hits.retain(|hit| hit.score >= least);
    // References of tools resemble each other without replacing each other.
    if context.has_tools() {
        return fitting(context, &hits, room);
    }
    if words.len() >= TOO_LONG || asks(&words) {
        let chosen = fitting(context, &hits, room);
        return with_changes(context, index, known, chosen, room);
    }
    let like = if says_little(&words) {
        Vec::new()
    } else {
        hits.retain(|hit| {
            let quote = Passage::of(hit).quote(context);
            quote.is_some_and(|quote| !says_little(&quote.text))
        });
        fitting(context, &hits, room / FOR_LIKE)
    };
    let chosen = with_news(context, &mut known.unsaid, words, like, &shown, room);
    with_changes(context, index, known, chosen, room)
}

/// Returns the hits that fit into `room` tokens, in the order of the conversation, each text once.
fn fitting(context: &Context, hits: &[Recalled], room: u32) -> Vec<Passage> {
    let mut said = words_of(verbatim(context));
    let chosen = within(hits, room.saturating_sub(RECALL_FRAME), |hit| {
        let quote = Passage::of(hit).quote(context);
        let new = quote.filter(|quote| said.insert(quote.text.clone()));
        new.map_or(u32::MAX, |quote| quote.tokens)
    });
    chosen.iter().map(Passage::of).collect()
}

/// Adds sentences of the newest covered messages with words that neither the remark nor the window says, within `room` tokens.
/// Messages of `shown` are quoted already.
fn with_news(
    context: &Context,
    unsaid: &mut Unsaid,
    remark: String,
    mut chosen: Vec<Passage>,
    shown: &[Seq],
    room: u32,
) -> Vec<Passage> {
    let mut sight = vec![context.slot_text().to_owned(), remark];
    let mut covered: Vec<(Seq, String)> = Vec::new();
    let mut bytes = 0;
    for entry in context.entries().iter().rev() {
        let message = &entry.message;
        let words = message.words();
        if words.len() > NEWEST_BYTES {
            // a paste, of which a window shows the ends at most
            continue;
        }
        if !matches!(context.view().rendition(message.seq), Rendition::Covered(_)) {
            sight.push(words);
        } else if !shown.contains(&message.seq) {
            bytes += words.len();
            if bytes > NEWEST_BYTES {
                break;
            }
            covered.push((message.seq, words));
        }
    }
    covered.reverse();
    let quotes = chosen.iter().filter_map(|p| p.quote(context));
    let mut used = RECALL_FRAME;
    for quote in quotes {
        used = used.saturating_add(quote.tokens);
        sight.push(quote.text);
    }
    let texts = covered.iter().map(|(seq, text)| (*seq, text.as_str()));
    let news = unsaid.find(texts, sight.iter().map(String::as_str), MOST_HITS);
    for passage in news.iter().map(Passage::of) {
        let tokens = passage.quote(context).map_or(u32::MAX, |q| q.tokens);
        if used.saturating_add(tokens) <= room {
            used += tokens;
            chosen.push(passage);
        }
    }
    palimpsest_text::order::sort_by_key(&mut chosen, |p| (p.seq, p.start));
    chosen
}

/// Adds to each passage the newest one that changes its value, within `room` tokens. A passage whose change has no room is
/// left out: a value that no longer holds does not stand alone.
fn with_changes(
    context: &Context,
    index: &Recall,
    known: &mut CoveredWords,
    chosen: Vec<Passage>,
    room: u32,
) -> Vec<Passage> {
    let tokens = |p: &Passage| p.quote(context).map_or(0, |quote| quote.tokens);
    let mut used: u32 = chosen
        .iter()
        .map(tokens)
        .fold(RECALL_FRAME, u32::saturating_add);
    let mut all = chosen.clone();
    for passage in chosen {
        let Some((change, sentence)) = change_of(context, index, &passage, known) else {
            continue;
        };
        let holds =
            |p: &Passage| p.seq == change.seq && p.start <= change.start && change.end <= p.end;
        let stands = matches!(context.view().rendition(change.seq), Rendition::Verbatim);
        if stands || all.iter().any(holds) || context.slot_text().contains(&sentence) {
            continue;
        }
        let more = tokens(&change);
        if used.saturating_add(more) <= room {
            used += more;
            all.push(change);
        } else {
            used = used.saturating_sub(tokens(&passage));
            all.retain(|p| *p != passage);
        }
    }
    palimpsest_text::order::sort_by_key(&mut all, |p| (p.seq, p.start));
    all
}

/// The number of newer passages that are searched for a change of one.
const MOST_NEWER: usize = 12;

/// A passage that was looked at: those of one topic find each other.
#[derive(Debug)]
struct ReadPassage {
    text: String,
    /// It states a value that something else may change.
    states_a_value: bool,
    /// The facts of its sentences that announce a change.
    changing: Vec<Fact>,
}

/// Passages and sentences of covered messages that were read. Their words do not change, so they hold for later choices.
#[derive(Debug, Default)]
pub struct CoveredWords {
    passages: SortedMap<Passage, Rc<ReadPassage>>,
    /// Per passage: the newest one that changes it, in the index of `state`.
    changes: SortedMap<Passage, Option<Change>>,
    state: (usize, Option<Seq>),
    unsaid: Unsaid,
}

/// A passage and its sentence with the new value.
type Change = (Passage, String);

/// The number of passages after which they are read anew.
const MOST_KNOWN: usize = 1_024;

impl CoveredWords {
    /// Forgets what does not hold for this index, and all passages when they are many.
    fn follow(&mut self, index: &Recall) {
        if self.passages.len() > MOST_KNOWN {
            self.passages.clear();
            self.changes.clear();
        }
        if self.state != index.state() {
            self.state = index.state();
            self.changes.clear();
        }
    }
}

fn read_passage(
    context: &Context,
    passage: &Passage,
    words: &mut CoveredWords,
) -> Option<Rc<ReadPassage>> {
    if let Some(known) = words.passages.get(passage) {
        return Some(Rc::clone(known));
    }
    let text = passage.text_of(passage.message(context)?)?;
    let mut facts = retention::extract_from(&text, Speaker::Assistant);
    let states_a_value = facts.iter().any(|fact| {
        matches!(
            fact.class,
            FactClass::Number | FactClass::Date | FactClass::Identifier
        )
    });
    facts.retain(|fact| extractive::announces_a_change(&fact.context));
    let known = Rc::new(ReadPassage {
        text,
        states_a_value,
        changing: facts,
    });
    words.passages.insert(*passage, Rc::clone(&known));
    Some(known)
}

/// Returns the newest passage that changes a value of this one, and its sentence with the new value.
fn change_of(
    context: &Context,
    index: &Recall,
    passage: &Passage,
    words: &mut CoveredWords,
) -> Option<Change> {
    if let Some(known) = words.changes.get(passage) {
        return known.clone();
    }
    let change = find_change(context, index, passage, words);
    words.changes.insert(*passage, change.clone());
    change
}

fn find_change(
    context: &Context,
    index: &Recall,
    passage: &Passage,
    words: &mut CoveredWords,
) -> Option<Change> {
    let own = read_passage(context, passage, words)?;
    if !own.states_a_value {
        return None;
    }
    let mut newer = index.search_after_with_a_change(passage.seq, &own.text, MOST_NEWER);
    palimpsest_text::order::sort_by_key(&mut newer, |hit| (hit.seq, hit.start));
    let newer: Vec<_> = newer
        .iter()
        .filter_map(|hit| {
            let passage = Passage::of(hit);
            Some((passage, read_passage(context, &passage, words)?))
        })
        .filter(|(_, known)| !known.changing.is_empty())
        .collect();
    if newer.is_empty() {
        return None;
    }
    let facts = newer.iter().flat_map(|(_, known)| known.changing.iter());
    let facts: Vec<Fact> = facts.cloned().collect();
    let sentence = (*extractive::changes(&own.text, &facts).last()?).to_owned();
    let (change, _) = newer
        .iter()
        .rfind(|(_, known)| known.text.contains(&sentence))?;
    Some((*change, sentence))
}

/// Returns the block of these quotes before the message `before`, or `None` without quotes.
pub fn block(before: Seq, quotes: Vec<Quote>) -> Option<context::Recalled> {
    block_with(before, quotes, Vec::new())
}

/// Does the same with passages of other sessions.
pub fn block_with(
    before: Seq,
    quotes: Vec<Quote>,
    elsewhere: Vec<Elsewhere>,
) -> Option<context::Recalled> {
    let mut recalled = context::Recalled {
        before,
        quotes,
        elsewhere,
        tokens: 0,
    };
    recalled.tokens = recall_tokens(&recalled);
    (!recalled.is_empty()).then_some(recalled)
}
