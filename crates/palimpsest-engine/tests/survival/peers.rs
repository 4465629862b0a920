//! What others do with a conversation that is too long, without a model: cutting, masking, and choosing sentences.
//!
//! Each is made here from its published description, gets all the room that ours may fill, and is counted alike. Whatever
//! chooses keeps the newest messages in a quarter of the room, and fills the rest with what it chose of what stands before.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use palimpsest_core::dialect::{self, Dialect};
use palimpsest_core::message::{Origin, Role, message_tokens};
use palimpsest_core::shares::{ShareOptions, Shares};
use palimpsest_text::words::segment;
use palimpsest_text::words::small_word;
use palimpsest_text::words::terms::each_term;
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

use crate::contender::{Contender, Shown};
use crate::corpus::said;

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The newest messages.
    Tail,
    /// The oldest messages.
    Lead,
    /// Messages that a seeded generator draws.
    Random,
    /// Sentences by their rank among those that share words with them.
    TextRank,
    /// Sentences by their rank among those with a like vector.
    LexRank,
    /// Sentences that together have the most weight of words, each counted once.
    TfIdf,
    /// Messages that a search for the question finds; where none is asked, for the user's last message. What room is left goes
    /// to the newest.
    Bm25,
    /// The newest messages that begin with a user's, as `trimMessages` of LangChain keeps them.
    Trim,
    /// Without the tool calls before the last two messages, as `pruneMessages` of the AI SDK leaves them; then the newest.
    Prune,
    /// The ten newest tool results, a placeholder for all others; then the newest.
    Mask,
    /// Without old tool results once they take much of the window, as opencode does it; then the newest.
    OpenCode,
}

impl Kind {
    pub(crate) const ALL: [Self; 11] = [
        Self::Tail,
        Self::Lead,
        Self::Random,
        Self::TextRank,
        Self::LexRank,
        Self::TfIdf,
        Self::Bm25,
        Self::Trim,
        Self::Prune,
        Self::Mask,
        Self::OpenCode,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::Lead => "lead",
            Self::Random => "random",
            Self::TextRank => "TextRank",
            Self::LexRank => "LexRank",
            Self::TfIdf => "TF-IDF coverage",
            Self::Bm25 => "BM25 search",
            Self::Trim => "like `trimMessages`",
            Self::Prune => "like `pruneMessages`",
            Self::Mask => "keep-10 masking",
            Self::OpenCode => "like opencode",
        }
    }

    /// Compares every sentence with every other: too slow for long tool output.
    pub(crate) const fn is_graph(self) -> bool {
        matches!(self, Self::TextRank | Self::LexRank)
    }

    const fn shortens(self) -> bool {
        matches!(self, Self::Prune | Self::Mask | Self::OpenCode)
    }
}

const OMITTED: &str = "[Old tool result content cleared]";

/// Results of tools that masking keeps.
const KEPT_RESULTS: usize = 10;

struct Entry {
    role: Role,
    text: String,
    tokens: u32,
    calls: bool,
    value: Value,
}

/// A sentence or line of a message.
struct Piece {
    message: usize,
    text: String,
    tokens: u32,
    /// Ascending; small words left out.
    terms: Vec<u64>,
}

/// One method over one conversation.
pub(crate) struct Peer {
    kind: Kind,
    room: u32,
    window: u32,
    entries: Vec<Entry>,
    pieces: Vec<Piece>,
    counter: Rc<dyn TokenCounter>,
    /// Places of messages or pieces, the best first, and of how many messages they were ranked.
    ranked: Option<(usize, Vec<usize>)>,
}

/// The distinct terms of a text that carry meaning.
fn terms(text: &str) -> Vec<u64> {
    let mut all = Vec::new();
    each_term(text, |term| {
        if small_word(term.hash) == 0 {
            all.push(term.hash);
        }
    });
    all.sort_unstable();
    all.dedup();
    all
}

/// How many terms stand in both, and the sum of their weights.
fn shared(a: &[u64], b: &[u64], weight: impl Fn(u64) -> f64) -> (usize, f64) {
    let (mut i, mut j, mut count, mut sum) = (0, 0, 0, 0.0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                count += 1;
                sum += weight(a[i]);
                i += 1;
                j += 1;
            }
        }
    }
    (count, sum)
}

/// Rank of each node of a graph of undirected, weighted edges.
fn page_rank(edges: &[Vec<(u32, f64)>]) -> Vec<f64> {
    let n = edges.len();
    let sums: Vec<f64> = edges
        .iter()
        .map(|own| own.iter().map(|(_, w)| w).sum())
        .collect();
    let mut ranks = vec![1.0 / n as f64; n];
    for _ in 0..30 {
        let mut next = vec![0.15 / n as f64; n];
        for (from, own) in edges.iter().enumerate() {
            for (to, w) in own {
                next[*to as usize] += 0.85 * ranks[from] * w / sums[from];
            }
        }
        ranks = next;
    }
    ranks
}

/// Places by descending score; the earlier one of equals first.
fn by_score(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order
}

/// In how many of the texts a term stands.
fn frequencies<'a>(texts: impl Iterator<Item = &'a [u64]>) -> BTreeMap<u64, f64> {
    let mut all = BTreeMap::new();
    for own in texts {
        for term in own {
            *all.entry(*term).or_insert(0.0) += 1.0;
        }
    }
    all
}

impl Peer {
    pub(crate) fn new(kind: Kind, system: &str, window: u32) -> Self {
        let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
        let own = if system.is_empty() {
            0
        } else {
            counter.count(system) + 5
        };
        let limit = Shares::of(window, ShareOptions::default()).unwrap().limit;
        Self {
            kind,
            room: limit.saturating_sub(own),
            window,
            entries: Vec::new(),
            pieces: Vec::new(),
            counter,
            ranked: None,
        }
    }

    fn tokens(&self, message: &Value) -> u32 {
        let one = std::slice::from_ref(message);
        let parsed = dialect::parse(one, Dialect::OpenAi, Origin::Host).unwrap();
        let all = parsed.messages.iter().map(|from| &from.message);
        all.map(|m| message_tokens(m.role, &m.parts, self.counter.as_ref()))
            .sum()
    }

    /// The first of the newest messages that fit. A result does not stand without its call.
    fn newest(&self, entries: &[Entry], room: u32) -> usize {
        let mut left = room;
        let mut first = entries.len();
        while first > 0 && entries[first - 1].tokens <= left {
            first -= 1;
            left -= entries[first].tokens;
        }
        let wrong = |entry: &Entry| {
            entry.role == Role::Tool || self.kind == Kind::Trim && entry.role != Role::User
        };
        while first < entries.len() && wrong(&entries[first]) {
            first += 1;
        }
        first
    }

    /// The messages with tool results taken out the method's way.
    fn shortened(&self) -> Vec<Entry> {
        let entries = &self.entries;
        let copy = |entry: &Entry| Entry {
            role: entry.role,
            text: entry.text.clone(),
            tokens: entry.tokens,
            calls: entry.calls,
            value: entry.value.clone(),
        };
        let cleared = |entry: &Entry| {
            let mut value = entry.value.clone();
            value["content"] = json!(OMITTED);
            Entry {
                text: OMITTED.into(),
                tokens: self.tokens(&value),
                value,
                ..copy(entry)
            }
        };
        let results: Vec<usize> = (0..entries.len())
            .filter(|n| entries[*n].role == Role::Tool)
            .collect();
        match self.kind {
            Kind::Prune => {
                let last = entries.len().saturating_sub(2);
                let old = entries[..last].iter().filter_map(|entry| {
                    if entry.role == Role::Tool {
                        return None;
                    }
                    let mut own = copy(entry);
                    if entry.calls {
                        own.value.as_object_mut().unwrap().remove("tool_calls");
                        own.text = said(&own.value);
                        own.tokens = self.tokens(&own.value);
                        own.calls = false;
                    }
                    (!own.text.is_empty()).then_some(own)
                });
                old.chain(entries[last..].iter().map(copy)).collect()
            }
            Kind::Mask => {
                let old = &results[..results.len().saturating_sub(KEPT_RESULTS)];
                let own = |(n, entry): (usize, &Entry)| {
                    if old.contains(&n) {
                        cleared(entry)
                    } else {
                        copy(entry)
                    }
                };
                entries.iter().enumerate().map(own).collect()
            }
            _ => {
                // 40,000 of 200,000 tokens are protected and less than 20,000 are not worth it
                let (protect, worth) = (self.window / 5, self.window / 10);
                let users = entries.iter().rposition(|e| e.role == Role::User);
                let turn =
                    users.and_then(|n| entries[..n].iter().rposition(|e| e.role == Role::User));
                let (mut seen, mut freed, mut old) = (0, 0, Vec::new());
                for n in results.iter().rev().filter(|n| Some(**n) < turn) {
                    seen += entries[*n].tokens;
                    if seen > protect {
                        freed += entries[*n].tokens;
                        old.push(*n);
                    }
                }
                if freed < worth {
                    old.clear();
                }
                let own = |(n, entry): (usize, &Entry)| {
                    if old.contains(&n) {
                        cleared(entry)
                    } else {
                        copy(entry)
                    }
                };
                entries.iter().enumerate().map(own).collect()
            }
        }
    }

    /// Whether it chooses whole messages.
    const fn whole(&self) -> bool {
        matches!(self.kind, Kind::Lead | Kind::Random | Kind::Bm25)
    }

    fn rank(&self, question: Option<&str>) -> Vec<usize> {
        match self.kind {
            Kind::Random => {
                let mut state = 7_u64;
                let mut draw = || {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    state >> 11
                };
                let mut order: Vec<(u64, usize)> =
                    (0..self.entries.len()).map(|n| (draw(), n)).collect();
                order.sort_unstable();
                order.into_iter().map(|(_, n)| n).collect()
            }
            Kind::TextRank => {
                let mut edges = vec![Vec::new(); self.pieces.len()];
                for (i, a) in self.pieces.iter().enumerate() {
                    for (j, b) in self.pieces.iter().enumerate().skip(i + 1) {
                        let (count, _) = shared(&a.terms, &b.terms, |_| 0.0);
                        let length = (a.terms.len() as f64).ln() + (b.terms.len() as f64).ln();
                        if count > 0 && length > 0.0 {
                            let like = count as f64 / length;
                            edges[i].push((j as u32, like));
                            edges[j].push((i as u32, like));
                        }
                    }
                }
                by_score(&page_rank(&edges))
            }
            Kind::LexRank => {
                let n = self.pieces.len() as f64;
                let df = frequencies(self.pieces.iter().map(|p| p.terms.as_slice()));
                let idf = |term: u64| (n / df[&term]).ln();
                // each term once in a sentence, so its weight is its rarity
                let norm = |terms: &[u64]| {
                    let squares = terms.iter().map(|t| idf(*t) * idf(*t));
                    squares.sum::<f64>().sqrt()
                };
                let norms: Vec<f64> = self.pieces.iter().map(|p| norm(&p.terms)).collect();
                let mut edges = vec![Vec::new(); self.pieces.len()];
                for (i, a) in self.pieces.iter().enumerate() {
                    for (j, b) in self.pieces.iter().enumerate().skip(i + 1) {
                        // most pairs share nothing: the rarity is looked up only for what they share
                        let (_, dot) = shared(&a.terms, &b.terms, |t| idf(t) * idf(t));
                        if dot > 0.1 * norms[i] * norms[j] {
                            edges[i].push((j as u32, 1.0));
                            edges[j].push((i as u32, 1.0));
                        }
                    }
                }
                by_score(&page_rank(&edges))
            }
            Kind::TfIdf => self.cover(),
            Kind::Bm25 => {
                let last = self.entries.iter().rfind(|e| e.role == Role::User);
                let last = last.map(|e| e.text.as_str());
                self.search(question.or(last).unwrap_or_default())
            }
            _ => (0..self.entries.len()).collect(),
        }
    }

    /// Greedy: the piece with the most weight of terms that no earlier one has, for its tokens.
    fn cover(&self) -> Vec<usize> {
        let n = self.pieces.len() as f64;
        let df = frequencies(self.pieces.iter().map(|p| p.terms.as_slice()));
        let mut left: BTreeMap<u64, f64> =
            df.iter().map(|(term, df)| (*term, (n / df).ln())).collect();
        let mut open: Vec<usize> = (0..self.pieces.len()).collect();
        let mut order = Vec::new();
        let mut spent = 0;
        let worth = |piece: &Piece, left: &BTreeMap<u64, f64>| {
            let sum: f64 = piece.terms.iter().map(|term| left[term]).sum();
            sum / f64::from(piece.tokens)
        };
        let mut bounds: Vec<f64> = self.pieces.iter().map(|p| worth(p, &left)).collect();
        while spent < 2 * self.room {
            // worth only falls, so an old value is a bound
            let mut best: Option<(f64, usize)> = None;
            for (place, piece) in open.iter().enumerate() {
                if best.is_none_or(|(value, _)| bounds[*piece] > value) {
                    bounds[*piece] = worth(&self.pieces[*piece], &left);
                    if best.is_none_or(|(value, _)| bounds[*piece] > value) {
                        best = Some((bounds[*piece], place));
                    }
                }
            }
            let Some((_, place)) = best.filter(|(value, _)| *value > 0.0) else {
                break;
            };
            let piece = open.remove(place);
            for term in &self.pieces[piece].terms {
                left.insert(*term, 0.0);
            }
            spent += self.pieces[piece].tokens;
            order.push(piece);
        }
        order
    }

    fn search(&self, question: &str) -> Vec<usize> {
        let texts: Vec<Vec<u64>> = self.entries.iter().map(|e| counted(&e.text)).collect();
        let n = texts.len() as f64;
        let mean = texts.iter().map(Vec::len).sum::<usize>() as f64 / n;
        let asked = terms(question);
        let times = |text: &[u64], term: u64| text.iter().filter(|t| **t == term).count() as f64;
        let idf: Vec<f64> = asked
            .iter()
            .map(|term| {
                let df = texts.iter().filter(|t| t.contains(term)).count() as f64;
                (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
            })
            .collect();
        let score = |text: &Vec<u64>| {
            let length = 1.2 * (0.25 + 0.75 * text.len() as f64 / mean);
            let sum = asked.iter().zip(&idf).map(|(term, idf)| {
                let tf = times(text, *term);
                idf * tf * 2.2 / (tf + length)
            });
            sum.sum::<f64>()
        };
        let scores: Vec<f64> = texts.iter().map(score).collect();
        let mut order = by_score(&scores);
        order.retain(|n| scores[*n] > 0.0);
        order
    }

    fn make(&mut self, question: Option<&str>) -> Shown {
        let started = Instant::now();
        let asked = question.map_or(0, |q| self.counter.count(q) + 5);
        let room = self.room.saturating_sub(asked);
        let mut shown = match self.kind {
            kind if kind.shortens() => self.cut(&self.shortened(), room),
            Kind::Tail | Kind::Trim => self.cut(&self.entries, room),
            _ => self.choose(question, room),
        };
        shown.tokens += asked;
        shown.took = started.elapsed();
        shown
    }

    fn cut(&self, entries: &[Entry], room: u32) -> Shown {
        let newest = &entries[self.newest(entries, room)..];
        let texts: Vec<&str> = newest.iter().map(|e| e.text.as_str()).collect();
        Shown {
            text: texts.join("\n"),
            tokens: newest.iter().map(|e| e.tokens).sum(),
            ..Shown::default()
        }
    }

    fn choose(&mut self, question: Option<&str>, room: u32) -> Shown {
        let mut first = if self.entries.iter().map(|e| e.tokens).sum::<u32>() <= room {
            0
        } else {
            self.newest(&self.entries, room / 4)
        };
        let known = self
            .ranked
            .take()
            .filter(|(n, _)| *n == self.entries.len() && self.kind != Kind::Bm25);
        let (n, order) = known.unwrap_or_else(|| (self.entries.len(), self.rank(question)));
        let mut tokens: u32 = self.entries[first..].iter().map(|e| e.tokens).sum();
        let mut chosen = Vec::new();
        for place in &order {
            let (message, cost) = if self.whole() {
                (*place, self.entries[*place].tokens)
            } else {
                let piece = &self.pieces[*place];
                (piece.message, piece.tokens)
            };
            if message < first && tokens + cost <= room {
                tokens += cost;
                chosen.push(*place);
            }
        }
        if self.kind == Kind::Bm25 {
            // a search that finds little leaves its room to the newest messages
            while first > 0 {
                let known = chosen.iter().position(|n| *n == first - 1);
                let cost = known.map_or(self.entries[first - 1].tokens, |_| 0);
                if tokens + cost > room {
                    break;
                }
                known.map(|n| chosen.remove(n));
                tokens += cost;
                first -= 1;
            }
        }
        let newest = &self.entries[first..];
        chosen.sort_unstable();
        let text = |n: &usize| {
            if self.whole() {
                self.entries[*n].text.as_str()
            } else {
                self.pieces[*n].text.as_str()
            }
        };
        let made = chosen.iter().map(text).collect::<Vec<_>>().join("\n");
        let rest: Vec<&str> = newest.iter().map(|e| e.text.as_str()).collect();
        let shown = Shown {
            text: format!("{made}\n{}", rest.join("\n")),
            made,
            tokens,
            ..Shown::default()
        };
        self.ranked = Some((n, order));
        shown
    }
}

/// All terms of a text that carry meaning, as often as they stand in it.
fn counted(text: &str) -> Vec<u64> {
    let mut all = Vec::new();
    each_term(text, |term| {
        if small_word(term.hash) == 0 {
            all.push(term.hash);
        }
    });
    all
}

impl Contender for Peer {
    fn push(&mut self, message: &Value) {
        let text = said(message);
        let n = self.entries.len();
        for unit in segment::prose(&text) {
            let piece = &text[unit.start..unit.end];
            self.pieces.push(Piece {
                message: n,
                text: piece.into(),
                tokens: self.counter.count(piece) + 1,
                terms: terms(piece),
            });
        }
        let role = match message["role"].as_str() {
            Some("assistant") => Role::Assistant,
            Some("tool") => Role::Tool,
            _ => Role::User,
        };
        self.entries.push(Entry {
            role,
            text,
            tokens: self.tokens(message),
            calls: message["tool_calls"].is_array(),
            value: message.clone(),
        });
    }

    fn tend(&mut self) {}

    fn now(&mut self) -> Shown {
        self.make(None)
    }

    fn ask(&mut self, question: &str) -> Shown {
        self.make(Some(question))
    }
}
