//! Finds covered passages: a BM25 index over the originals (R1).
//!
//! It cuts passages into chunks of about 60 to 120 tokens at sentence borders. It keeps only hashes and positions,
//! never text, so the index of a long history stays small. To rebuild it, add the originals again in order: the same
//! additions give the same answers on every machine.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::words::script::unspaced;
use crate::words::segment::{UnitKind, prose};
use crate::words::terms::each_term;
use crate::words::vocabulary::{CHANGE, listed};
use crate::words::{Plain, small_word};

mod question;
mod unsaid;

pub use unsaid::{Unsaid, says_little};

use question::{Question, each_beginning, speaker};

/// A chunk that answers a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recalled {
    /// The message.
    pub seq: u32,
    /// First byte in its text.
    pub start: u32,
    /// After the last byte.
    pub end: u32,
    /// The score, with what its neighbours add; comparable within one query only.
    pub score: f32,
    /// The share of the query's words that the chunk itself has, each by its rarity, 0 to 1.
    pub share: f32,
}

#[derive(Debug, Clone, Copy)]
struct Chunk {
    seq: u32,
    start: u32,
    end: u32,
    /// Terms, small words left out.
    length: u32,
    /// The speaker, where the message names one before its words.
    speaker: Option<u64>,
    /// A word of it announces that something is another than before.
    announces_a_change: bool,
}

/// The index. Add messages as they are covered; ask with the user's message.
#[derive(Debug, Clone)]
pub struct Recall {
    chunks: Vec<Chunk>,
    ids: HashMap<u64, u32, Plain>,
    /// Per term: its hash, and its chunks with their counts packed as `chunk << 8 | count`, in order.
    terms: Vec<(u64, Vec<u32>)>,
    length: u64,
    postings: usize,
    most_postings: usize,
    /// Per speaker that messages name: the number of chunks.
    speakers: HashMap<u64, u32, Plain>,
    /// Scratch: term counts of the chunk being added.
    counts: Vec<(u32, u32)>,
}

/// Four bytes each: 16 MB.
const MOST_POSTINGS: usize = 4_000_000;

/// The most postings that one question looks at. A word that stands in nearly every chunk of a long history tells little of any.
const MOST_SCORED: usize = 16_384;

/// A chunk is closed when the next sentence would take it past this many tokens (estimated) …
const LONG: u32 = 120;
/// … or when it has this many and a paragraph ends.
const SHORT: u32 = 60;

/// Saturation of repeated terms, and how much length counts against a chunk (Robertson and Walker; chunks are of like length).
const K1: f32 = 1.2;
const B: f32 = 0.7;

/// The share of a neighbouring message's score that a chunk gets: an answer often shares no word with the question, but
/// the message before it does.
const NEIGHBOUR: f32 = 0.6;
/// And those one further.
const FURTHER: f32 = 0.24;

/// A name is a speaker's if it stands before so many chunks: "Note: …" is not.
const LEAST_SAID: u32 = 3;
/// How much more the words of the speaker whom a question names are worth.
const NAMED: f32 = 2.0;

impl Default for Recall {
    fn default() -> Self {
        Self::with_limit(MOST_POSTINGS)
    }
}

impl Recall {
    /// An index of at most `most_postings` entries of four bytes. Past it the oldest half is forgotten.
    pub fn with_limit(most_postings: usize) -> Self {
        Self {
            chunks: Vec::new(),
            ids: HashMap::default(),
            terms: Vec::new(),
            length: 0,
            postings: 0,
            most_postings: most_postings.max(1024),
            speakers: HashMap::default(),
            counts: Vec::new(),
        }
    }

    /// Adds a message's text. Call in ascending order of `seq`; a text in several parts may be added part by part
    /// only if the positions are to be read against each part.
    pub fn add(&mut self, seq: u32, text: &str) {
        let speaker = speaker(text);
        for (start, end) in chunks(text) {
            self.add_chunk(
                Chunk {
                    seq,
                    start: start as u32,
                    end: end as u32,
                    length: 0,
                    speaker,
                    announces_a_change: false,
                },
                &text[start..end],
            );
        }
        if self.postings > self.most_postings || self.chunks.len() >= 1 << 24 {
            self.forget_oldest_half();
        }
    }

    /// Number of chunks held.
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// The number of chunks and the newest message. As long as both stay, a search finds the same.
    pub fn state(&self) -> (usize, Option<u32>) {
        (self.chunks.len(), self.chunks.last().map(|chunk| chunk.seq))
    }

    /// Returns `true` if nothing was added.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Chunks that answer `query`, the best first, at most `most`; only of messages that `allowed` lets through
    /// (those that are covered now). Ties go to the newer. Of words that are common in a long history only the newest places count.
    pub fn search(&self, query: &str, most: usize, allowed: impl Fn(u32) -> bool) -> Vec<Recalled> {
        self.search_from(0, query, most, allowed)
    }

    /// Does the same among the messages after `seq`, if one of them announces a change. Without one it returns nothing.
    pub fn search_after_with_a_change(&self, seq: u32, query: &str, most: usize) -> Vec<Recalled> {
        let first = self.chunks.partition_point(|chunk| chunk.seq <= seq);
        let newer = &self.chunks[first..];
        if !newer.iter().any(|chunk| chunk.announces_a_change) {
            return Vec::new();
        }
        self.search_from(first, query, most, |_| true)
    }

    /// Searches the chunks from the number `first` on. Their scores are the same as in a search through all.
    fn search_from(
        &self,
        first: usize,
        query: &str,
        most: usize,
        allowed: impl Fn(u32) -> bool,
    ) -> Vec<Recalled> {
        if self.chunks.len() <= first {
            return Vec::new();
        }
        let is_speaker = |name| self.speakers.get(&name).is_some_and(|n| *n >= LEAST_SAID);
        let asked = Question::of(query, is_speaker);
        let n = self.chunks.len() as f32;
        let mean = (self.length as f32 / n).max(1.0);
        let rarity = |df: f32| log2(1.0 + (n - df + 0.5) / (df + 0.5));
        let mut terms: Vec<(f32, &[u32])> = Vec::new();
        for (key, weight) in &asked.terms {
            if let Some(id) = self.ids.get(key) {
                terms.push((*weight, self.terms[*id as usize].1.as_slice()));
            }
        }
        // The two chunks before the first lend it their scores.
        let base = first.saturating_sub(2);
        let chunks = &self.chunks[base..];
        let mut scores = vec![0f32; chunks.len()];
        // what of the question's weight a chunk holds
        let mut held = vec![0f32; chunks.len()];
        let mut whole = 0f32;
        let absent = asked
            .terms
            .iter()
            .filter(|(key, _)| !self.ids.contains_key(key));
        let absent: f32 = absent.map(|(_, weight)| weight * rarity(0.0)).sum();
        let mut touched: Vec<usize> = Vec::new();
        for ((weight, postings), looked_at) in terms.iter().zip(newest_of(&terms)) {
            let idf = rarity(postings.len() as f32);
            whole += weight * idf;
            let newest = &postings[postings.len() - looked_at..];
            let before = newest.partition_point(|p| ((p >> 8) as usize) < base);
            for &p in &newest[before..] {
                let (chunk, tf) = ((p >> 8) as usize - base, (p & 0xFF) as f32);
                if scores[chunk] <= 0.0 {
                    touched.push(chunk);
                }
                let norm = K1 * (1.0 - B + B * chunks[chunk].length as f32 / mean);
                scores[chunk] += weight * idf * tf * (K1 + 1.0) / (tf + norm);
                held[chunk] += weight * idf;
            }
        }
        // Two words of a question in one chunk say more than each in a chunk of its own.
        for &i in &touched {
            scores[i] *= 1.0 + held[i] / whole;
            if asked.speaker.is_some() && chunks[i].speaker == asked.speaker {
                scores[i] *= NAMED;
            }
        }
        let order = |a: &Recalled, b: &Recalled| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| (Reverse(a.seq), a.start).cmp(&(Reverse(b.seq), b.start)))
        };
        // Of a long history nearly every chunk has a score: only the few that are wanted are kept, in order.
        let mut found: Vec<Recalled> = Vec::new();
        for i in reached(touched, chunks.len()) {
            let chunk = &chunks[i];
            let score = scores[i]
                + NEIGHBOUR * beside(chunks, i, 1, &scores)
                + FURTHER * beside(chunks, i, 2, &scores);
            let answers = base + i >= first && score > 0.0 && allowed(chunk.seq);
            if !answers {
                continue;
            }
            let hit = Recalled {
                seq: chunk.seq,
                start: chunk.start,
                end: chunk.end,
                score,
                share: held[i] / (whole + absent),
            };
            let is_better = |worst: &Recalled| order(&hit, worst).is_lt();
            if found.len() >= most && !found.last().is_some_and(is_better) {
                continue;
            }
            let at = found.partition_point(|known| order(known, &hit).is_lt());
            found.insert(at, hit);
            found.truncate(most);
        }
        found
    }

    fn add_chunk(&mut self, chunk: Chunk, text: &str) {
        let number = self.chunks.len() as u32;
        let mut length = 0u32;
        let mut announces_a_change = false;
        self.counts.clear();
        let (ids, terms, counts) = (&mut self.ids, &mut self.terms, &mut self.counts);
        let mut count = |hash| {
            let id = *ids.entry(hash).or_insert_with(|| {
                terms.push((hash, Vec::new()));
                terms.len() as u32 - 1
            });
            counts.push((id, 1));
        };
        each_term(text, |t| {
            length += u32::from(small_word(t.hash) == 0);
            announces_a_change |= listed(t.hash) & CHANGE != 0;
            count(t.hash);
        });
        each_beginning(text, count);
        if self.counts.is_empty() {
            return;
        }
        self.counts.sort_unstable();
        let mut at = 0;
        while at < self.counts.len() {
            let id = self.counts[at].0;
            let same = self.counts[at..].iter().take_while(|c| c.0 == id).count();
            self.terms[id as usize]
                .1
                .push(number << 8 | (same as u32).min(255));
            self.postings += 1;
            at += same;
        }
        self.length += u64::from(length);
        if let Some(speaker) = chunk.speaker {
            *self.speakers.entry(speaker).or_insert(0) += 1;
        }
        self.chunks.push(Chunk {
            length,
            announces_a_change,
            ..chunk
        });
    }

    fn forget_oldest_half(&mut self) {
        let cut = (self.chunks.len() / 2) as u32;
        self.chunks.drain(..cut as usize);
        self.length = self.chunks.iter().map(|c| u64::from(c.length)).sum();
        self.speakers.clear();
        for speaker in self.chunks.iter().filter_map(|c| c.speaker) {
            *self.speakers.entry(speaker).or_insert(0) += 1;
        }
        for (_, postings) in &mut self.terms {
            postings.retain(|p| p >> 8 >= cut);
            for p in postings.iter_mut() {
                *p -= cut << 8;
            }
            postings.shrink_to_fit();
        }
        self.terms.retain(|t| !t.1.is_empty());
        self.terms.shrink_to_fit();
        self.ids = self
            .terms
            .iter()
            .enumerate()
            .map(|(i, t)| (t.0, i as u32))
            .collect();
        self.postings = self.terms.iter().map(|t| t.1.len()).sum();
    }
}

/// The chunks of `all` that may have a score: those in which a term stands, and two on each side of them. In order.
fn reached(touched: Vec<usize>, all: usize) -> Vec<usize> {
    if touched.len() > all / 8 {
        return (0..all).collect();
    }
    let near = |at: usize| at.saturating_sub(2)..(at + 3).min(all);
    let mut reached: Vec<usize> = touched.into_iter().flat_map(near).collect();
    reached.sort_unstable();
    reached.dedup();
    reached
}

/// The better of the two chunks `step` before and after `i`, if they belong to the same message or one close by.
fn beside(chunks: &[Chunk], i: usize, step: usize, scores: &[f32]) -> f32 {
    let seq = chunks[i].seq;
    let score = |j: Option<usize>| {
        let near = j.filter(|&j| {
            chunks
                .get(j)
                .is_some_and(|c| c.seq.abs_diff(seq) as usize <= step + 1)
        });
        near.map_or(0.0, |j| scores[j])
    };
    score(i.checked_sub(step)).max(score(i.checked_add(step)))
}

/// The number of newest postings of each term that a search reads: all of the rarest terms, and of the others as far as
/// [`MOST_SCORED`] reaches, so that the cost of a question has a bound.
fn newest_of(terms: &[(f32, &[u32])]) -> Vec<usize> {
    let mut rarest: Vec<usize> = (0..terms.len()).collect();
    crate::order::sort_by_key(&mut rarest, |at| terms[*at].1.len());
    let mut left = MOST_SCORED;
    let mut newest = vec![0; terms.len()];
    for at in rarest {
        newest[at] = terms[at].1.len().min(left);
        left -= newest[at];
    }
    newest
}

/// Takes hits from the best down while their tokens fit; a hit that does not fit is passed over. `cost` counts a hit as
/// it will be quoted. The result is in the order of the conversation.
pub fn within(
    hits: &[Recalled],
    max_tokens: u32,
    mut cost: impl FnMut(&Recalled) -> u32,
) -> Vec<Recalled> {
    let mut used = 0u32;
    let mut out = Vec::new();
    for hit in hits {
        let tokens = cost(hit);
        if tokens <= max_tokens - used {
            used += tokens;
            out.push(*hit);
        }
    }
    crate::order::sort_by_key(&mut out, |h| (h.seq, h.start));
    out
}

/// Cuts a text into chunks at unit borders; long code and logs at line ends.
fn chunks(text: &str) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut open: Option<(usize, usize, u32)> = None;
    for unit in prose(text) {
        let size = estimate(&text[unit.start..unit.end]);
        if let Some((s, e, tokens)) = open
            && (tokens + size > LONG || tokens >= SHORT && unit.opens)
        {
            out.push((s, e));
            open = None;
        }
        if size > LONG && unit.kind != UnitKind::Sentence {
            if let Some((s, e, _)) = open.take() {
                out.push((s, e));
            }
            by_lines(text, unit.start, unit.end, &mut out);
            continue;
        }
        open = Some(match open {
            Some((s, _, tokens)) => (s, unit.end, tokens + size),
            None => (unit.start, unit.end, size),
        });
    }
    if let Some((s, e, _)) = open {
        out.push((s, e));
    }
    // The brackets around a long JSON value are in no unit. A text that is quoted whole has them.
    if let Some((start, _)) = out.first_mut() {
        *start = text.len() - text.trim_start().len();
    }
    if let Some((_, end)) = out.last_mut() {
        *end = text.trim_end().len();
    }
    out
}

fn by_lines(text: &str, start: usize, end: usize, out: &mut Vec<(usize, usize)>) {
    let mut from = start;
    let mut tokens = 0;
    let mut at = start;
    for line in text[start..end].split_inclusive('\n') {
        let size = estimate(line);
        if tokens > 0 && tokens + size > LONG {
            out.push((from, at));
            from = at;
            tokens = 0;
        }
        at += line.len();
        tokens += size;
    }
    if at > from {
        out.push((from, at));
    }
}

/// A rough count, good enough to cut by: four characters a token, one where scripts have no spaces.
fn estimate(text: &str) -> u32 {
    let quarters: u32 = text
        .chars()
        .map(|c| {
            if c.is_ascii() {
                1
            } else if unspaced(c) {
                4
            } else {
                2
            }
        })
        .sum();
    quarters.div_ceil(4)
}

/// Base-2 logarithm of a number ≥ 1, straight between powers of two: the same on every machine.
fn log2(x: f32) -> f32 {
    let bits = x.max(1.0).to_bits();
    let exponent = (bits >> 23).saturating_sub(127);
    let mantissa = f32::from_bits(bits & 0x007F_FFFF | 0x3F80_0000);
    exponent as f32 + (mantissa - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retention::{Speaker, extract_from};
    use crate::words::worth::announces_a_change;

    /// R1: a name before the words tells who spoke. Whoever asks for somebody's words finds those first.
    #[test]
    fn a_quoted_list_of_json_has_its_brackets() {
        let rows: Vec<String> = (10..30)
            .map(|n| format!(r#"{{"oven":{n},"ready":true}}"#))
            .collect();
        let text = format!(" {{\"ovens\":[{}]}}\n", rows.join(","));
        let chunks = chunks(&text);
        let (first, last) = (chunks[0], chunks[chunks.len() - 1]);
        assert_eq!(&text[first.0..last.1], text.trim());
    }

    #[test]
    fn the_words_of_the_named_speaker_come_first() {
        let mut recall = Recall::default();
        for (seq, text) in [
            "Ann: The ferry was late again.",
            "Ben: The ferry was late, too, and cold.",
            "Ann: I took the bus.",
            "Ben: Ann told me about the bus.",
            "Ann: It rained.",
            "Ben: Here as well.",
        ]
        .into_iter()
        .enumerate()
        {
            recall.add(seq as u32, text);
        }
        let check = |question: &str, first: u32| {
            let found = recall.search(question, 1, |_| true);
            assert_eq!(found[0].seq, first, "{question}");
        };
        check("What did Ben say about the ferry?", 1);
        check("What did Ann say about the ferry?", 0);
        check("What did Ann say about the bus?", 2);
    }

    /// R1: a chunk with two words of a question comes before one that has the rarer of them twice, and words of one family are
    /// found where no stemmer joins them.
    #[test]
    fn words_together_and_words_of_one_family() {
        let mut recall = Recall::default();
        for (seq, text) in [
            "He mentored me, and the choir sang.",
            "The boat is red.",
            "A boat, and another boat, lay at the quay.",
            "The mast of the boat is new.",
            "Mast, mast, mast!",
        ]
        .into_iter()
        .enumerate()
        {
            recall.add(seq as u32 * 10, text);
        }
        let first = |question| recall.search(question, 1, |_| true)[0].seq;
        assert_eq!(first("Which boat has a mast?"), 30);
        assert_eq!(first("Who offers mentorship?"), 0);
    }

    /// R1: the cost of a question has a bound, and a word that is rare in a long history is found in its oldest places,
    /// too.
    #[test]
    fn common_words_count_in_the_newest_places_only() {
        let mut recall = Recall::default();
        for seq in 0..30_000 {
            let name = if seq == 40 { "heron" } else { "ferry" };
            recall.add(seq, &format!("The {name} goes to the island today."));
        }
        let found = recall.search("When does the heron go to the island?", 3, |_| true);
        assert_eq!(found[0].seq, 40);
        let found = recall.search("Where does the ferry go?", 3, |_| true);
        assert!(found.len() == 3 && found[0].seq > 29_000, "{found:?}");
        let (few, many) = (vec![0; 10], vec![0; 30_000]);
        let terms = [(1.0, many.as_slice()), (1.0, few.as_slice())];
        assert_eq!(newest_of(&terms), [MOST_SCORED - 10, 10]);
    }

    /// A search near the terms finds the same chunks as a search through all of them.
    #[test]
    fn what_is_near_is_all_there_is() {
        let mut recall = Recall::default();
        for seq in 0..400 {
            let name = if seq % 90 == 7 { "heron" } else { "ferry" };
            recall.add(seq, &format!("The {name} goes to the island on day {seq}."));
        }
        let found = recall.search("heron", usize::MAX, |_| true);
        let mut seqs: Vec<u32> = found.iter().map(|f| f.seq).collect();
        seqs.sort_unstable();
        let near = (0..400).filter(|seq| (5..=9).contains(&(seq % 90)));
        assert_eq!(seqs, near.collect::<Vec<u32>>());
    }

    /// A search after a message finds the same chunks as a search through all, where one of them announces a change.
    #[test]
    fn a_search_after_a_message_finds_the_same() {
        let mut recall = Recall::default();
        let things = ["ferry", "heron", "island", "quay"];
        for seq in 0..300 {
            let (a, b) = (things[seq % 4], things[seq / 4 % 3]);
            let now = if seq == 200 { "now " } else { "" };
            recall.add(
                seq as u32 * 2,
                &format!("The {a} {now}leaves the {b} at {seq}."),
            );
        }
        for question in ["the ferry at the quay", "island 250", "nothing of it"] {
            for seq in [0, 7, 200, 399, 400, 599] {
                let found = recall.search_after_with_a_change(seq, question, 12);
                let newer = recall.search(question, 12, |of| of > seq);
                let expected = if seq < 400 { newer } else { Vec::new() };
                assert_eq!(found, expected, "{question} after {seq}");
            }
        }
    }

    /// A sentence with a fact that announces a change lies in a chunk that does, in every language.
    #[test]
    fn a_sentence_that_announces_a_change_is_in_such_a_chunk() {
        for text in [
            "We meet at noon. The ferry now leaves at 14:30 instead.",
            "Die Fähre fährt. Sie kostet jetzt 40 Euro statt 35 Euro.",
            "El barco sale. Ahora cuesta 40 euros en vez de 35.",
            "Le bateau part. Il coûte maintenant 40 euros.",
            "Паром идёт. Теперь билет стоит 40 евро.",
            "船が出ます。料金は40ユーロに変更されました。",
            "船开了。现在票价是40欧元。",
        ] {
            let facts = extract_from(text, Speaker::Assistant);
            let announced = facts.iter().any(|fact| announces_a_change(&fact.context));
            assert!(announced, "{text}");
            let mut recall = Recall::default();
            recall.add(1, text);
            let found = recall.search_after_with_a_change(0, text, 12);
            assert!(!found.is_empty(), "{text}");
        }
    }
}
