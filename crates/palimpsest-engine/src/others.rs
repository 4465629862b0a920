//! Finds passages of other sessions of the same store that answer a question (R3).

use std::cell::RefCell;
use std::rc::Rc;

use futures_util::lock::Mutex;
use palimpsest_core::context::{Context, Elsewhere, Quote, Recalled};
use palimpsest_core::message::{Message, Role, Seq};
use palimpsest_core::quotes;
use palimpsest_core::sorted::{SortedMap, SortedSet};
use palimpsest_core::window::{ELSEWHERE_FRAME, RECALL_FRAME, elsewhere_tokens};
use palimpsest_text::extractive::iso_day;
use palimpsest_text::recall::{Recall, says_little};

use crate::error::EngineError;
use crate::head::{Head, SessionInfo};
use crate::host::Host;
use crate::ports::LocalFuture;
use crate::session::{SearchOthers, Session};
use crate::stored::{listed, path_of};
use crate::temporary::is_temporary;

/// The largest number of sessions that are read, the most recently used first.
const MOST_SESSIONS: usize = 200;
/// The largest number of bytes of their words that are held.
const MOST_BYTES: usize = 8 << 20;
/// The bytes of a message that is too long to be somebody's own words.
const TOO_LONG: usize = 1 << 16;
/// The number of best passages that are looked at, and the number of those that are quoted at most.
const MOST_HITS: usize = 32;
const MOST_QUOTED: usize = 6;
/// The share of the question's words that the best passage has at least; else all of them match by chance. Of questions about another
/// chat 3 in 100 find something; without this rule nearly all do.
const LEAST_SHARE: f32 = 0.4;
/// A passage with a lower score than this share of the best is not quoted.
const LEAST: f32 = 0.5;
/// The longest title in a quote, in characters.
const LONGEST_TITLE: usize = 60;
/// Free numbers between sessions, so that their messages are no neighbours in the index.
const GAP: u32 = 8;

/// The words of the other sessions, and an index over them. It follows the sessions with every search.
#[derive(Default)]
pub(crate) struct Others {
    /// One reads the sessions at a time.
    reading: Mutex<()>,
    held: RefCell<Held>,
}

#[derive(Default)]
struct Held {
    index: Recall,
    /// The messages by their numbers in the index.
    said: SortedMap<u32, Said>,
    /// The sessions with the numbers of their messages.
    sessions: SortedMap<String, Known>,
    /// The number of the next message.
    next: u32,
    /// The messages in the index that are held no more.
    gone: usize,
}

struct Known {
    title: String,
    tip: Option<Seq>,
    numbers: Vec<u32>,
    bytes: usize,
}

struct Said {
    session: String,
    message: Rc<Message>,
    words: String,
}

impl SearchOthers for Others {
    fn read<'a>(&'a self, host: &'a Host) -> LocalFuture<'a, Result<(), EngineError>> {
        Box::pin(self.follow(host, ""))
    }

    fn quote(
        &self,
        session: Session,
        question: Rc<Message>,
    ) -> LocalFuture<'_, Result<(), EngineError>> {
        Box::pin(async move {
            let found = self.search(&session, &question.words()).await;
            let seen = session.place();
            if found.is_empty() || seen.1 != Some(question.seq) {
                return Ok(());
            }
            match block(&session.context(), question.seq, found) {
                Some(block) => session.show_quotes(seen, block).await,
                None => Ok(()),
            }
        })
    }
}

impl Others {
    /// Returns passages of other sessions that answer a question of this one, the best first. Their tokens are not counted yet.
    async fn search(&self, session: &Session, question: &str) -> Vec<Elsewhere> {
        if says_little(question) {
            return Vec::new();
        }
        // what cannot be read is not quoted, and holds no message up
        let read = self.follow(session.host(), session.id()).await;
        if read.is_err() {
            return Vec::new();
        }
        self.held.borrow().search(session.id(), question)
    }

    /// Reads the sessions that have changed since. The own one is read when another asks.
    async fn follow(&self, host: &Host, own: &str) -> Result<(), EngineError> {
        let _turn = self.reading.lock().await;
        let mut all = listed(host).await?;
        all.retain(|one| one.head.deleted_at.is_none() && !is_temporary(&one.id));
        palimpsest_text::order::sort_by(&mut all, |a, b| b.head.updated.total_cmp(&a.head.updated));
        all.truncate(MOST_SESSIONS);
        self.held.borrow_mut().keep(&all);
        let mut read = Vec::new();
        let mut bytes = 0;
        for SessionInfo { id, head } in all.into_iter().filter(|one| one.id != own) {
            if bytes > MOST_BYTES {
                self.held.borrow_mut().forget(&id);
                continue;
            }
            let known = self.held.borrow_mut().known(&id, &head);
            if let Some(known) = known {
                bytes += known;
                continue;
            }
            let path = path_of(host, &id, &head).await?;
            bytes += path.iter().map(|m| m.words().len()).sum::<usize>();
            read.push((id, head, path));
        }
        // the newest come last: of two that are as good the newer one counts
        for (id, head, path) in read.into_iter().rev() {
            self.held.borrow_mut().take(&id, &head, path);
        }
        Ok(())
    }
}

impl Held {
    /// Forgets the sessions that are listed no more.
    fn keep(&mut self, listed: &[SessionInfo]) {
        let there: SortedSet<&str> = listed.iter().map(|one| one.id.as_str()).collect();
        let ids = self.sessions.keys();
        let lost = ids.filter(|id| !there.contains(id.as_str())).cloned();
        for id in lost.collect::<Vec<_>>() {
            self.forget(&id);
        }
        if self.gone > self.said.len() {
            // the index holds more of what is gone than of what is there
            *self = Self::default();
        }
    }

    /// Returns the bytes that are held of a session, or `None` if it is to be read. Its title is the present one.
    fn known(&mut self, id: &str, head: &Head) -> Option<usize> {
        let known = self.sessions.get_mut(id)?;
        known.title = titled(head);
        (known.tip == head.tip).then_some(known.bytes)
    }

    fn forget(&mut self, id: &str) {
        let Some(known) = self.sessions.remove(id) else {
            return;
        };
        for number in &known.numbers {
            self.gone += usize::from(self.said.remove(number).is_some());
        }
    }

    /// Holds the shown path of a session. What is held already stays, if the path only went on.
    fn take(&mut self, id: &str, head: &Head, path: Vec<Rc<Message>>) {
        let spoken = |m: &Rc<Message>| matches!(m.role, Role::User | Role::Assistant);
        let path: Vec<Rc<Message>> = path.into_iter().filter(spoken).collect();
        let goes_on = self.sessions.get(id).is_some_and(|known| {
            let mut pairs = known.numbers.iter().zip(&path);
            let same = |(number, message): (&u32, &Rc<Message>)| {
                let said = self.said.get(number);
                said.is_none_or(|said| said.message.seq == message.seq)
            };
            known.numbers.len() <= path.len() && pairs.all(same)
        });
        if !goes_on {
            self.forget(id);
        }
        let mut known = self.sessions.remove(id).unwrap_or_else(|| Known {
            title: String::new(),
            tip: None,
            numbers: Vec::new(),
            bytes: 0,
        });
        self.next += GAP;
        for message in path.into_iter().skip(known.numbers.len()) {
            let number = self.next;
            self.next += 1;
            known.numbers.push(number);
            let words = message.words();
            if words.len() > TOO_LONG {
                continue;
            }
            self.index.add(number, &words);
            known.bytes += words.len();
            let session = id.to_owned();
            self.said.insert(
                number,
                Said {
                    session,
                    message,
                    words,
                },
            );
        }
        known.title = titled(head);
        known.tip = head.tip;
        self.sessions.insert(id.to_owned(), known);
    }

    fn search(&self, own: &str, question: &str) -> Vec<Elsewhere> {
        let is_other = |number| {
            let said = self.said.get(&number);
            said.is_some_and(|said| said.session != own)
        };
        let hits = self.index.search(question, MOST_HITS, is_other);
        let share = hits.iter().map(|hit| hit.share).fold(0.0, f32::max);
        if share < LEAST_SHARE {
            return Vec::new();
        }
        let least = hits.first().map_or(0.0, |best| best.score * LEAST);
        let hits = hits.iter().filter(|hit| hit.score >= least);
        hits.filter_map(|hit| {
            let said = self.said.get(&hit.seq)?;
            let text = said.words.get(hit.start as usize..hit.end as usize)?;
            if says_little(text) {
                return None;
            }
            let title = &self.sessions.get(&said.session)?.title;
            let source = match iso_day(said.message.at) {
                Some(day) => format!("{title}, {day}"),
                None => title.clone(),
            };
            let quote = Quote {
                seq: said.message.seq,
                text: text.trim().to_owned(),
                tokens: 0,
            };
            Some(Elsewhere {
                session: said.session.clone(),
                source,
                quote,
            })
        })
        .collect()
    }
}

/// The title of a session in a quote: one line, not too long.
fn titled(head: &Head) -> String {
    let words = head.title.split_whitespace().collect::<Vec<_>>().join(" ");
    words
        .replace('"', "'")
        .chars()
        .take(LONGEST_TITLE)
        .collect()
}

/// Returns the quotes for the message `before`: the own ones, and passages of other sessions in the room that those leave, at most half of
/// the room for quotes. `None` if no passage fits.
fn block(context: &Context, before: Seq, found: Vec<Elsewhere>) -> Option<Recalled> {
    let own = context.view().recalled.as_ref();
    let own = own.filter(|recalled| recalled.before == before);
    let used = own.map_or(RECALL_FRAME, |recalled| recalled.tokens);
    let own = own.map_or_else(Vec::new, |recalled| recalled.quotes.clone());
    let room = context.recall_room(context.setup().shares.limit, 0);
    let room = room.saturating_sub(used).min(room / 2);
    let chosen = fitting(context, found, room.saturating_sub(ELSEWHERE_FRAME));
    if chosen.is_empty() {
        return None;
    }
    quotes::block_with(before, own, chosen)
}

/// Counts the passages and returns those that fit into `room` tokens, the best first. What the session says itself is left out.
fn fitting(context: &Context, found: Vec<Elsewhere>, room: u32) -> Vec<Elsewhere> {
    let own: Vec<String> = context
        .entries()
        .iter()
        .map(|e| e.message.words())
        .collect();
    let counter = context.counter().as_ref();
    let mut used = 0u32;
    let mut chosen: Vec<Elsewhere> = Vec::new();
    for mut one in found {
        if chosen.len() == MOST_QUOTED {
            break;
        }
        let quote = &mut one.quote;
        let is_said = chosen.iter().any(|other| other.quote.text == quote.text)
            || own.iter().any(|words| words.contains(&quote.text));
        quote.tokens = elsewhere_tokens(&one.source, &quote.text, counter);
        if !is_said && used.saturating_add(quote.tokens) <= room {
            used += quote.tokens;
            chosen.push(one);
        }
    }
    chosen
}
