//! Counts exactly, with a model's own vocabulary.

use std::cell::{Cell, RefCell};

use crate::{
    CountRole, Family, Overhead, Rules, Source, Specials, TokenCounter,
    cache::{Cache, LARGE, LONG, LargeKey, SMALL, SmallKey},
    joins::Joins,
    pairs::{MAX_IDS, Pairs, Room},
    parts::{Kind, Merge, Parts},
    pretokenize::Scanner,
    specials::Finder,
    unicode::decode,
    words::{Arena, Index},
};

/// Longer words are merged in blocks of this many bytes. This limits memory for texts that no person wrote, and may
/// give one token more than the model would.
const LONGEST_WORD: usize = 1 << 20;

/// Says whether the counts of a vocabulary may be called exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The kind of vocabulary was compared with the original, or live counts have agreed.
    Proven,
    /// No live count has contradicted the vocabulary, but fewer than three have agreed.
    Unproven,
    /// Live counts contradict the vocabulary: the model uses another vocabulary, template or content.
    Refuted,
}

/// The tokens that a model knows, and the merges or scores that make them: byte-pair merges or SentencePiece scores.
///
/// [`crate::Loader`] or [`Vocabulary::from_bytes`] creates it. It counts like the server does: it reads special tokens
/// inside of the text as tokens. It holds caches, so it is not `Sync`. It takes 5 to 20 MiB for 128 to 262 thousand
/// tokens.
#[derive(Debug)]
pub struct Vocabulary {
    parts: Parts,
    /// The merges are still present.
    whole: bool,
    index: Index,
    pairs: Pairs,
    joins: Joins,
    finder: Finder,
    symbols: Symbols,
    epoch: u64,
    rules: Rules,
    trust: Cell<Trust>,
    overhead: Cell<Overhead>,
    /// Live counts have confirmed the overhead.
    template_known: Cell<bool>,
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    cache: Cache,
    room: Room,
    /// A text with a space put before it, or with spaces for `▁`.
    spaced: String,
}

impl Vocabulary {
    #[allow(
        clippy::too_many_arguments,
        reason = "one caller, which has just made each of them"
    )]
    pub(crate) fn new(
        parts: Parts,
        index: Index,
        pairs: Pairs,
        joins: Joins,
        finder: Finder,
        symbols: Symbols,
        epoch: u64,
        rules: Rules,
    ) -> Self {
        let mut overhead = Overhead::default();
        overhead.base += u32::from(parts.add_bos);
        let trust = match parts.kind {
            Kind::Bpe(pre) if !pre.proven => Trust::Unproven,
            _ => Trust::Proven,
        };
        Self {
            whole: !parts.merges.is_empty(),
            parts,
            index,
            pairs,
            joins,
            finder,
            symbols,
            epoch,
            rules,
            trust: Cell::new(trust),
            overhead: Cell::new(overhead),
            template_known: Cell::new(false),
            state: RefCell::default(),
        }
    }

    /// Returns the same vocabulary under other [`Rules`], for a server that is not llama.cpp.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.epoch = self.epoch & !1 | u64::from(rules == Rules::Reference);
        self.rules = rules;
        self.state = RefCell::default();
        self
    }

    /// The edition of the regular expressions that cut the words.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// `tokenizer.ggml.model`: `gpt2`, `llama` or `gemma4`.
    pub fn model(&self) -> &str {
        &self.parts.model
    }

    /// `tokenizer.ggml.pre`; empty if the model has none.
    pub fn pre(&self) -> &str {
        &self.parts.pre
    }

    /// The family whose estimates come closest.
    pub fn family(&self) -> Family {
        Family::of_tokenizer(&self.parts.model, &self.parts.pre, self.len())
    }

    /// The number of tokens in the vocabulary.
    pub fn len(&self) -> usize {
        self.parts.tokens as usize
    }

    /// Always `false`: a vocabulary without tokens does not load.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if the server puts a start token before every prompt.
    pub fn adds_bos(&self) -> bool {
        self.parts.add_bos
    }

    /// Says whether the counts may be called exact.
    pub fn trust(&self) -> Trust {
        self.trust.get()
    }

    /// Sets the result of comparing with live counts. The epoch stays, because the counts do not change.
    pub fn set_trust(&self, trust: Trust) {
        self.trust.set(trust);
    }

    /// Sets the tokens that the model's template adds, once they are known. The epoch changes, because messages get
    /// other counts.
    pub fn set_overhead(&self, overhead: Overhead) {
        self.overhead.set(overhead);
        self.template_known.set(true);
    }

    /// Sets an overhead that explains the counts so far but has not predicted any yet.
    pub(crate) fn suppose_overhead(&self, overhead: Overhead) {
        self.overhead.set(overhead);
        self.template_known.set(false);
    }

    /// Counts the text of a message in its place. The line break that ends the header merges with white space at the
    /// start of the text.
    pub(crate) fn count_body(&self, text: &str) -> u32 {
        if text.starts_with(char::is_whitespace) {
            self.count(&format!("\n{text}"))
                .saturating_sub(self.count("\n"))
        } else {
            self.count(text)
        }
    }

    /// The memory in bytes, caches included.
    pub fn memory(&self) -> usize {
        self.parts.texts.memory()
            + self.parts.merges.capacity() * size_of::<Merge>()
            + self.index.memory()
            + self.pairs.memory()
            + self.joins.memory()
            + self.finder.memory()
            + self.symbols.memory()
            + self.state.borrow().cache.memory()
    }

    /// Returns the parts, or `None` if [`Self::without_snapshot`] dropped the merges.
    pub(crate) fn parts(&self) -> Option<&Parts> {
        self.whole.then_some(&self.parts)
    }

    /// Drops the data that only [`Self::to_bytes`] needs, about a third of the memory.
    #[must_use]
    pub fn without_snapshot(mut self) -> Self {
        self.parts.merges = Vec::new();
        self.whole = false;
        self
    }

    /// Returns the ids of a text's tokens. It serves tests and inspection; counting is many times faster.
    pub fn encode(&self, text: &str, which: Specials) -> Vec<u32> {
        let mut ids = Vec::new();
        let mut start_of_text = true;
        let scanner = Scanner::new(text, self.rules);
        self.finder.split(
            text.as_bytes(),
            which,
            self.rules,
            &mut |start, end, token| {
                if let Some(token) = token {
                    ids.push(token);
                    start_of_text = true;
                    return true;
                }
                match self.parts.kind {
                    Kind::Bpe(pre) if !pre.raw => {
                        scanner.cut(pre.cuts, start, end, &mut |start, end| {
                            self.encode_word(&text[start..end], &mut ids);
                            true
                        });
                    }
                    _ => {
                        let spaced = self.spaced(&text[start..end], start_of_text);
                        match self.parts.kind {
                            Kind::Bpe(pre) => {
                                Scanner::new(&spaced, self.rules).cut(
                                    pre.cuts,
                                    0,
                                    spaced.len(),
                                    &mut |start, end| {
                                        self.encode_word(&spaced[start..end], &mut ids);
                                        true
                                    },
                                );
                            }
                            Kind::Spm { .. } => self.encode_word(&spaced, &mut ids),
                        }
                    }
                }
                start_of_text = false;
                true
            },
        );
        ids
    }

    fn encode_word(&self, word: &str, ids: &mut Vec<u32>) {
        if let Some(id) = self.whole(word.as_bytes()) {
            ids.push(id);
            return;
        }
        let mut room = Room::default();
        self.symbols
            .of(word, &self.parts.texts, &self.index, &mut room.ids);
        room.merge(&self.pairs);
        let mut rest = word.as_bytes();
        for id in room.ids {
            let n = if id < self.parts.tokens {
                ids.push(id);
                self.parts.texts.get(id as usize).len()
            } else {
                let n = if id >= MAX_IDS as u32 {
                    self.symbols.unknown_len(id, rest)
                } else {
                    self.parts.texts.get(id as usize).len()
                };
                ids.extend(
                    rest[..n]
                        .iter()
                        .flat_map(|b| self.symbols.byte(*b, &self.parts.texts, &self.index)),
                );
                n
            };
            rest = &rest[n..];
        }
    }

    /// Returns the token of a whole word, if the family does not merge such words.
    #[inline]
    fn whole(&self, word: &[u8]) -> Option<u32> {
        let Kind::Bpe(pre) = self.parts.kind else {
            return None;
        };
        let whole = pre.ignore_merges || pre.raw && word.first() == Some(&b'\n');
        let id = self.index.get(&self.parts.texts, word).filter(|_| whole)?;
        (id < self.parts.tokens).then_some(id)
    }

    /// Returns the text as SentencePiece sees it, with a space for `▁`.
    fn spaced(&self, text: &str, start_of_text: bool) -> String {
        let prefix = start_of_text && self.parts.kind == Kind::Spm { space_prefix: true };
        let mut spaced = String::with_capacity(text.len() + 1);
        if prefix {
            spaced.push(' ');
        }
        spaced.push_str(text);
        if text.contains('▁') {
            spaced.replace('▁', " ")
        } else {
            spaced
        }
    }

    fn count_all(&self, text: &str, which: Specials, limit: u32) -> Option<u32> {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let bytes = text.as_bytes();
        let mut n = 0_u32;
        let mut start_of_text = true;
        let scanner = Scanner::new(text, self.rules);
        let within = self
            .finder
            .split(bytes, which, self.rules, &mut |start, end, token| {
                if token.is_some() {
                    n += 1;
                    start_of_text = true;
                    return n <= limit;
                }
                let State {
                    cache,
                    room,
                    spaced,
                } = state;
                let within = match self.parts.kind {
                    Kind::Bpe(pre) if !pre.raw => {
                        scanner.cut(pre.cuts, start, end, &mut |start, end| {
                            n += self.count_word(cache, room, text, start, end);
                            n <= limit
                        })
                    }
                    kind => {
                        let prefix = start_of_text && kind == Kind::Spm { space_prefix: true };
                        let part = &text[start..end];
                        let (text, start, end) = if prefix || part.contains('▁') {
                            *spaced = self.spaced(part, start_of_text);
                            (spaced.as_str(), 0, spaced.len())
                        } else {
                            (text, start, end)
                        };
                        match kind {
                            Kind::Bpe(pre) => Scanner::new(text, self.rules).cut(
                                pre.cuts,
                                start,
                                end,
                                &mut |start, end| {
                                    n += match self.whole(&text.as_bytes()[start..end]) {
                                        Some(_) => 1,
                                        None => self.count_pieces(cache, room, text, start, end),
                                    };
                                    n <= limit
                                },
                            ),
                            Kind::Spm { .. } => {
                                let mut at = start;
                                while at < end && n <= limit {
                                    // Counting goes in pieces of a few kilobytes, so that it can stop early.
                                    let piece = self.joins.piece(text.as_bytes(), at, end);
                                    n += self.count_piece(cache, room, text, at, piece);
                                    at = piece;
                                }
                                n <= limit
                            }
                        }
                    }
                };
                start_of_text = false;
                within
            });
        within.then_some(n)
    }

    #[inline]
    fn count_word(
        &self,
        cache: &mut Cache,
        room: &mut Room,
        text: &str,
        start: usize,
        end: usize,
    ) -> u32 {
        if end - start <= SMALL {
            let key = SmallKey::new(text.as_bytes(), start, end);
            cache
                .small(key)
                .unwrap_or_else(|| self.count_new(cache, room, text, start, end))
        } else {
            self.count_long(cache, room, text, start, end)
        }
    }

    /// Counts a word that fits the small cache but is not in it. A function of its own keeps the path for cached words
    /// short.
    #[inline(never)]
    fn count_new(
        &self,
        cache: &mut Cache,
        room: &mut Room,
        text: &str,
        start: usize,
        end: usize,
    ) -> u32 {
        let bytes = text.as_bytes();
        let count = match self.whole(&bytes[start..end]) {
            Some(_) => 1,
            None if bytes[end - 1] < 128 => self.merge(room, text, start, end),
            None => self.count_pieces(cache, room, text, start, end),
        };
        cache.keep_small(SmallKey::new(bytes, start, end), count);
        count
    }

    /// Counts a word that does not fit the small cache.
    #[inline(never)]
    fn count_long(
        &self,
        cache: &mut Cache,
        room: &mut Room,
        text: &str,
        start: usize,
        end: usize,
    ) -> u32 {
        let word = &text.as_bytes()[start..end];
        let count = |cache: &mut Cache, room: &mut Room| match self.whole(word) {
            Some(_) => 1,
            None => self.count_pieces(cache, room, text, start, end),
        };
        if word.len() <= LARGE {
            let key = LargeKey::new(word);
            if let Some(count) = cache.large(&key) {
                return count;
            }
            let count = count(cache, room);
            cache.keep_large(&key, count);
            count
        } else if word.len() <= LONG && word.last().is_some_and(u8::is_ascii) {
            // Lines of signs repeat; sentences without spaces hardly do.
            if let Some(count) = cache.long(word) {
                return count;
            }
            let count = count(cache, room);
            cache.keep_long(word, count);
            count
        } else {
            count(cache, room)
        }
    }

    fn count_pieces(
        &self,
        cache: &mut Cache,
        room: &mut Room,
        text: &str,
        start: usize,
        end: usize,
    ) -> u32 {
        let (mut at, mut n) = (start, 0);
        while at < end {
            let piece = self.joins.piece(text.as_bytes(), at, end);
            n += self.count_piece(cache, room, text, at, piece);
            at = piece;
        }
        n
    }

    /// Counts a piece that no merge reaches out of.
    #[inline]
    fn count_piece(
        &self,
        cache: &mut Cache,
        room: &mut Room,
        text: &str,
        start: usize,
        end: usize,
    ) -> u32 {
        let n = end - start;
        if n <= SMALL {
            // A piece of a word must not count as a whole word that its family does not merge.
            let key = SmallKey::new(text.as_bytes(), start, end);
            if matches!(self.parts.kind, Kind::Bpe(pre) if pre.ignore_merges) {
                return cache.piece(key).unwrap_or_else(|| {
                    let count = self.merge(room, text, start, end);
                    cache.keep_piece(key, count);
                    count
                });
            }
            cache.small(key).unwrap_or_else(|| {
                let count = self.merge(room, text, start, end);
                cache.keep_small(key, count);
                count
            })
        } else if n <= LARGE {
            let key = LargeKey::new(&text.as_bytes()[start..end]);
            cache.large_piece(&key).unwrap_or_else(|| {
                let count = self.merge(room, text, start, end);
                cache.keep_large_piece(&key, count);
                count
            })
        } else {
            self.merge(room, text, start, end)
        }
    }

    fn merge(&self, room: &mut Room, text: &str, start: usize, end: usize) -> u32 {
        let (mut at, mut n) = (start, 0);
        while at < end {
            let mut block = end.min(at + LONGEST_WORD);
            while !text.is_char_boundary(block) {
                block -= 1;
            }
            room.ids.clear();
            self.symbols.of(
                &text[at..block],
                &self.parts.texts,
                &self.index,
                &mut room.ids,
            );
            room.merge(&self.pairs);
            for id in &room.ids {
                n += if *id < self.parts.tokens {
                    1
                } else {
                    self.cost(*id)
                };
            }
            at = block;
        }
        n
    }

    /// The tokens of a symbol, which may not be a token itself.
    #[cold]
    fn cost(&self, id: u32) -> u32 {
        if id >= MAX_IDS as u32 {
            return id - MAX_IDS as u32;
        }
        let text = self.parts.texts.get(id as usize);
        text.iter()
            .map(|b| {
                self.symbols
                    .byte(*b, &self.parts.texts, &self.index)
                    .count() as u32
            })
            .sum()
    }
}

impl TokenCounter for Vocabulary {
    fn count(&self, text: &str) -> u32 {
        self.count_all(text, Specials::All, u32::MAX)
            .unwrap_or(u32::MAX)
    }

    fn count_until(&self, text: &str, limit: u32) -> Option<u32> {
        self.count_all(text, Specials::All, limit)
    }

    fn count_message(&self, role: CountRole, text: &str) -> u32 {
        self.overhead.get().of(role) + self.count_body(text)
    }

    fn source(&self) -> Source {
        match self.trust.get() {
            Trust::Proven => Source::Exact,
            Trust::Unproven | Trust::Refuted => Source::Estimated,
        }
    }

    /// 0 for proven counts, one per cent for an unconfirmed vocabulary, five per cent for a contradicted one.
    fn bound(&self, tokens: u32) -> u32 {
        match self.trust.get() {
            Trust::Proven => 0,
            Trust::Unproven => tokens.div_ceil(100),
            Trust::Refuted => tokens.div_ceil(20),
        }
    }

    fn overhead(&self) -> Overhead {
        self.overhead.get()
    }

    /// A few tokens per message while the template is a guess.
    fn template_bound(&self, messages: u32) -> u32 {
        if self.template_known.get() {
            0
        } else {
            messages.saturating_mul(3).saturating_add(8)
        }
    }

    fn epoch(&self) -> u64 {
        // The lowest bit tells the rules apart, the highest bit tells estimates from vocabularies.
        self.epoch ^ (self.overhead.get().epoch() << 2 >> 1)
    }
}

/// The symbols of a word before anything merges.
#[derive(Debug, Clone)]
pub(crate) struct Symbols {
    raw: bool,
    /// For byte-level vocabularies each byte's token, otherwise each ASCII character's token.
    bytes: [u32; 256],
    /// For other vocabularies, the tokens of the remaining characters of the basic plane.
    plane: Vec<u32>,
    has_bytes: bool,
}

impl Symbols {
    pub(crate) fn new(kind: Kind, texts: &Arena, index: &Index) -> Self {
        let raw = kind.raw();
        let missing = MAX_IDS as u32;
        let mut bytes = [missing; 256];
        // A byte without a token costs nothing; a character without a token costs the token of its byte.
        for (b, id) in (0..=255_u8)
            .zip(&mut bytes)
            .take(if raw { 128 } else { 256 })
        {
            *id = index.get(texts, &[b]).unwrap_or(missing + u32::from(raw));
        }
        let mut plane = Vec::new();
        if raw {
            plane = vec![0; 0x1_0000];
            for (c, id) in plane.iter_mut().enumerate().skip(128) {
                let n = if c < 0x800 { 2 } else { 3 };
                *id = missing + n;
                if let Some(c) = char::from_u32(c as u32)
                    && let Some(found) = index.get(texts, c.encode_utf8(&mut [0; 4]).as_bytes())
                {
                    *id = found;
                }
            }
        }
        let mut symbols = Self {
            raw,
            bytes,
            plane,
            has_bytes: false,
        };
        symbols.has_bytes = (0..=255).all(|b| symbols.byte(b, texts, index).next().is_some());
        symbols
    }

    /// Returns `true` if every byte has a token.
    pub(crate) fn has_bytes(&self) -> bool {
        self.has_bytes
    }

    /// Adds the symbols of a word.
    #[inline]
    fn of(&self, word: &str, texts: &Arena, index: &Index, ids: &mut Vec<u32>) {
        let bytes = word.as_bytes();
        if !self.raw {
            ids.extend(bytes.iter().map(|b| self.bytes[*b as usize]));
            return;
        }
        let mut at = 0;
        while at < bytes.len() {
            let b = bytes[at];
            if b < 128 {
                ids.push(self.bytes[b as usize]);
                at += 1;
                continue;
            }
            let (c, after) = decode(bytes, at);
            ids.push(match self.plane.get(c as usize) {
                Some(id) => *id,
                None => index
                    .get(texts, &bytes[at..after])
                    .unwrap_or(MAX_IDS as u32 + 4),
            });
            at = after;
        }
    }

    /// Returns the token of one byte, if there is one.
    fn byte(&self, b: u8, texts: &Arena, index: &Index) -> impl Iterator<Item = u32> + use<> {
        let id = if self.raw {
            index.get(texts, format!("<0x{b:02X}>").as_bytes())
        } else {
            Some(self.bytes[b as usize])
        };
        id.filter(|id| *id < MAX_IDS as u32).into_iter()
    }

    /// The number of bytes of the unknown symbol at the start of `rest`.
    fn unknown_len(&self, id: u32, rest: &[u8]) -> usize {
        let n = if self.raw {
            (id - MAX_IDS as u32) as usize
        } else {
            1
        };
        n.min(rest.len())
    }

    pub(crate) fn memory(&self) -> usize {
        self.plane.capacity() * 4 + size_of::<Self>()
    }
}
