//! Builds a vocabulary, one slice of work at a time.

use crate::{
    error::Error,
    joins::Joins,
    pairs::{MAX_IDS, MAX_MERGES, Pairs},
    parts::{Kind, Merge, MergesEpoch, Parts},
    pre::Pre,
    pretokenize::Rules,
    specials::{Finder, Special},
    vocabulary::{Symbols, Vocabulary},
    words::{Arena, Index, hash},
};

/// The tokenizer that a model's description contains.
#[derive(Debug, Clone, Default)]
pub(crate) struct Description {
    pub(crate) model: String,
    pub(crate) pre: String,
    pub(crate) tokens: Arena,
    pub(crate) types: Vec<u8>,
    pub(crate) scores: Vec<f32>,
    pub(crate) merges: Arena,
    pub(crate) add_bos: Option<bool>,
    pub(crate) space_prefix: Option<bool>,
    pub(crate) origin: Origin,
}

/// The source of a description. It decides by which rules the vocabulary cuts and merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// A server that runs llama.cpp, with its own editions of the regular expressions.
    #[default]
    LlamaCpp,
    /// A `tokenizer.json`: the family's own regular expressions, and merges in the order of the list.
    Listed,
    /// A `tokenizer.json` whose model never merges a word that is itself a token.
    WholeWords,
    /// tiktoken's ranks: tokens in the order of their ranks, without merges. Two neighbours merge if together they are
    /// a token; the lowest rank goes first, and of equal ranks the leftmost. A word that is itself a token is never
    /// merged.
    Ranks,
}

impl Origin {
    const fn rules(self) -> Rules {
        match self {
            Self::LlamaCpp => Rules::LlamaCpp,
            Self::Listed | Self::WholeWords | Self::Ranks => Rules::Reference,
        }
    }
}

/// The types of tokens, as `tokenizer.ggml.token_type` numbers them.
pub(crate) const UNKNOWN: u8 = 2;
pub(crate) const CONTROL: u8 = 3;
pub(crate) const USER_DEFINED: u8 = 4;

/// A vocabulary that is being built.
#[derive(Debug)]
pub(crate) struct Assembly {
    stage: Stage,
    /// The number of items that the current stage has processed.
    at: usize,
    description: Description,
    order: Vec<u32>,
    parts: Parts,
    index: Index,
    pairs: Pairs,
    joins: Joins,
    /// Tokens that merges make.
    made: Vec<bool>,
    epoch: MergesEpoch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Reads the texts of tokens and collects the special ones.
    Texts,
    /// Looks up the merges that the description lists.
    Merges,
    /// Adds the characters that pieces consist of but that are no pieces themselves.
    Characters,
    /// Finds all ways to make each piece from two others.
    Splits,
    /// Puts those ways into the table of pairs.
    Pairs,
    /// Puts the texts of a snapshot into the index.
    Reindex,
    /// Finds the places at which texts may be cut.
    Joins,
    Done,
}

/// Tokens that servers treat as control tokens whatever the description says.
const ALWAYS_CONTROL: [&str; 36] = [
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
    "<|fim_prefix|>",
    "<fim-prefix>",
    "<fim_prefix>",
    "<｜fim▁begin｜>",
    "<|fim_suffix|>",
    "<fim-suffix>",
    "<fim_suffix>",
    "<｜fim▁hole｜>",
    "<|fim_middle|>",
    "<fim-middle>",
    "<fim_middle>",
    "<｜fim▁end｜>",
    "<|fim_pad|>",
    "<|file_sep|>",
];

fn is_always_control(written: &[u8]) -> bool {
    // The first byte rules out all but a few tokens.
    matches!(written.first(), Some(b'<' | b'[' | b'_'))
        && ALWAYS_CONTROL.iter().any(|text| text.as_bytes() == written)
}

impl Assembly {
    /// Starts from a description.
    pub(crate) fn new(mut description: Description) -> Result<Self, Error> {
        if description.tokens.len() == 0 {
            return Err(Error::Absent);
        }
        let mut kind = kind(
            &description.model,
            &description.pre,
            description.space_prefix,
        )?;
        let ranked = description.origin == Origin::Ranks;
        if ranked || description.origin == Origin::WholeWords {
            kind.keep_words();
        }
        if ranked {
            description.scores = (0..description.tokens.len())
                .map(|rank| -(rank as f32))
                .collect();
        }
        let add_bos = match kind {
            // llama.cpp overrides the setting in Gemma 4's file.
            Kind::Bpe(pre) if pre.raw => true,
            Kind::Bpe(pre) => description.add_bos.unwrap_or(pre.add_bos),
            Kind::Spm { .. } => description.add_bos.unwrap_or(true),
        };
        let n = description.tokens.len();
        if n >= MAX_IDS {
            return Err(Error::TooLarge {
                what: "tokens",
                limit: MAX_IDS,
            });
        }
        let short = |what| Err(Error::Malformed { at: 0, what });
        if !description.types.is_empty() && description.types.len() < n {
            return short("fewer token types than tokens");
        }
        match kind {
            Kind::Bpe(_) if description.merges.len() == 0 && !ranked => {
                return short("byte-pair tokenizer without merges");
            }
            Kind::Spm { .. } if description.scores.len() < n => {
                return short("fewer scores than tokens");
            }
            _ => {}
        }
        let parts = Parts {
            model: description.model.clone(),
            pre: description.pre.clone(),
            kind,
            add_bos,
            rules: description.origin.rules(),
            texts: Arena::default(),
            tokens: n as u32,
            specials: Default::default(),
            merges: Vec::new(),
        };
        let index = Index::with_capacity(n + (1 << 14));
        let pairs = Pairs::default();
        let epoch = MergesEpoch::default();
        Ok(Self::at(
            Stage::Texts,
            description,
            parts,
            index,
            pairs,
            epoch,
        ))
    }

    /// Starts from the parts and merges of a snapshot, which keeps no list of merges.
    pub(crate) fn resume(parts: Parts, pairs: Pairs, epoch: MergesEpoch) -> Self {
        let index = Index::with_capacity(parts.texts.len());
        let stage = Stage::Reindex;
        Self::at(stage, Description::default(), parts, index, pairs, epoch)
    }

    fn at(
        stage: Stage,
        description: Description,
        parts: Parts,
        index: Index,
        pairs: Pairs,
        epoch: MergesEpoch,
    ) -> Self {
        Self {
            stage,
            at: 0,
            description,
            order: Vec::new(),
            parts,
            index,
            pairs,
            joins: Joins::default(),
            made: Vec::new(),
            epoch,
        }
    }

    /// Does work for about `items` tokens or merges. Returns `true` when nothing is left to do.
    pub(crate) fn step(&mut self, items: usize) -> Result<bool, Error> {
        let end = self.at + items.max(1);
        match self.stage {
            Stage::Texts => self.texts(end),
            Stage::Merges => self.merges(end)?,
            Stage::Characters => self.characters(end)?,
            Stage::Splits => self.splits(end)?,
            Stage::Reindex => self.reindex(end),
            Stage::Pairs => self.pairs(end),
            Stage::Joins => self.joins(end),
            Stage::Done => return Ok(true),
        }
        Ok(self.stage == Stage::Done)
    }

    /// Returns the vocabulary. [`Self::step`] must have returned `true` before; otherwise this is
    /// [`Error::Incomplete`].
    pub(crate) fn finish(self) -> Result<Vocabulary, Error> {
        if self.stage != Stage::Done {
            return Err(Error::Incomplete);
        }
        let Self {
            parts,
            index,
            pairs,
            joins,
            epoch,
            ..
        } = self;
        let rules = parts.rules;
        let symbols = Symbols::new(parts.kind, &parts.texts, &index);
        if parts.kind.raw() && !symbols.has_bytes() {
            return Err(Error::Malformed {
                at: 0,
                what: "no tokens for single bytes",
            });
        }
        let (texts, ids) = &parts.specials;
        let finder = Finder::new(
            ids.iter()
                .enumerate()
                .map(|(i, (id, control))| (texts.get(i), *id, *control)),
        );
        let epoch = hash(parts.texts.bytes())
            ^ hash(parts.pre.as_bytes())
            ^ hash(parts.model.as_bytes())
            ^ epoch.0;
        Ok(Vocabulary::new(
            parts,
            index,
            pairs,
            joins,
            finder,
            symbols,
            (epoch >> 1) & !1,
            Rules::LlamaCpp,
        )
        .with_rules(rules))
    }

    fn next(&mut self, stage: Stage) {
        self.stage = stage;
        self.at = 0;
    }

    fn texts(&mut self, end: usize) {
        let n = self.description.tokens.len();
        let mut buffer = Vec::new();
        for id in self.at..end.min(n) {
            let written = self.description.tokens.get(id);
            let special = match self.description.types.get(id).copied().unwrap_or(1) {
                CONTROL | UNKNOWN => Some(Special::Control),
                USER_DEFINED => Some(Special::Defined),
                _ if is_always_control(written) => Some(Special::Assumed),
                _ => None,
            };
            if let Some(special) = special.filter(|_| !written.is_empty()) {
                self.parts.specials.0.push(written);
                self.parts.specials.1.push((id as u32, special));
            }
            buffer.clear();
            if self.parts.kind.raw() {
                to_spaces(written, &mut buffer);
            } else if !to_bytes(written, &mut buffer) {
                buffer.clear();
            }
            self.parts.texts.push(&buffer);
            if !buffer.is_empty() {
                self.index.insert(&self.parts.texts, id as u32);
            }
        }
        self.at = end;
        if end >= n {
            self.description.tokens = Arena::default();
            // If a vocabulary has this token, llama.cpp treats `</s>` as the HTML tag and not as a special token (Gemma
            // 4).
            if self
                .index
                .get(&self.parts.texts, b"<|tool_response>")
                .is_some()
            {
                let (texts, ids) = std::mem::take(&mut self.parts.specials);
                for (i, special) in ids.into_iter().enumerate() {
                    if texts.get(i) != b"</s>" {
                        self.parts.specials.0.push(texts.get(i));
                        self.parts.specials.1.push(special);
                    }
                }
            }
            let stage = match self.parts.kind {
                Kind::Bpe(_) if self.description.origin == Origin::Ranks => {
                    self.order = best_first(&self.description.scores[..n]);
                    Stage::Splits
                }
                Kind::Bpe(_) => Stage::Merges,
                Kind::Spm { .. } => Stage::Characters,
            };
            self.next(stage);
        }
    }

    /// Returns the symbol whose text is still open in the arena, or makes a new one beyond the tokens.
    fn symbol(&mut self, text: &[u8]) -> Result<u32, Error> {
        if let Some(id) = self.index.get(&self.parts.texts, text) {
            return Ok(id);
        }
        let id = self.parts.texts.len();
        // Vocabularies need few such symbols, and the index has room for this many.
        if id >= MAX_IDS || id - self.parts.tokens as usize >= 1 << 14 {
            return Err(Error::TooLarge {
                what: "symbols that are no tokens",
                limit: 1 << 14,
            });
        }
        self.parts.texts.push(text);
        self.index.insert(&self.parts.texts, id as u32);
        Ok(id as u32)
    }

    fn merges(&mut self, end: usize) -> Result<(), Error> {
        let n = self.description.merges.len();
        let raw = self.parts.kind.raw();
        let mut both = Vec::new();
        // A vocabulary often makes one token in several ways, one after the other.
        let (mut last, mut last_made) = (Vec::new(), 0);
        if self.at == 0 {
            self.parts.merges.reserve_exact(n);
            self.pairs = Pairs::with_capacity(n);
        }
        let written = std::mem::take(&mut self.description.merges);
        for i in self.at..end.min(n) {
            let text = written.get(i);
            // A space separates the two parts, but the left part may begin with a space, too.
            let space = text
                .iter()
                .skip(1)
                .position(|b| *b == b' ')
                .map(|at| at + 1);
            let Some((a, b)) = space.map(|at| (&text[..at], &text[at + 1..])) else {
                continue;
            };
            both.clear();
            let mut readable = true;
            let mut read = |part: &[u8]| {
                if raw {
                    to_spaces(part, &mut both);
                } else {
                    readable &= to_bytes(part, &mut both);
                }
                both.len()
            };
            let middle = read(a);
            let length = read(b);
            // A merge that is not readable can never apply.
            if !readable || middle == 0 || middle == length {
                continue;
            }
            let left = self.symbol(&both[..middle])?;
            let right = self.symbol(&both[middle..])?;
            if last != both {
                last_made = self.symbol(&both)?;
                std::mem::swap(&mut last, &mut both);
            }
            let merge = Merge {
                left,
                right,
                made: last_made,
                tied: false,
            };
            self.pairs.push(&merge);
            self.epoch.add(&merge);
            self.parts.merges.push(merge);
        }
        self.description.merges = written;
        self.at = end;
        if end >= n {
            self.description.merges = Arena::default();
            self.next(Stage::Joins);
        }
        Ok(())
    }

    fn characters(&mut self, end: usize) -> Result<(), Error> {
        let n = self.parts.tokens as usize;
        for id in self.at..end.min(n) {
            let text = self.parts.texts.get(id);
            if text.len() < 2
                || text.is_ascii()
                    && text
                        .iter()
                        .all(|b| self.index.get(&self.parts.texts, &[*b]).is_some())
            {
                continue;
            }
            let Ok(text) = std::str::from_utf8(text) else {
                continue;
            };
            let missing: Vec<char> = text
                .chars()
                .filter(|c| {
                    self.index
                        .get(&self.parts.texts, c.encode_utf8(&mut [0; 4]).as_bytes())
                        .is_none()
                })
                .collect();
            for c in missing {
                self.symbol(c.encode_utf8(&mut [0; 4]).as_bytes())?;
            }
        }
        self.at = end;
        if end >= n {
            // The best score comes first; of equal scores the earlier token comes first.
            self.order = best_first(&self.description.scores[..n]);
            self.next(Stage::Splits);
        }
        Ok(())
    }

    fn splits(&mut self, end: usize) -> Result<(), Error> {
        let n = self.order.len();
        // A token of tiktoken's may end in the middle of a character.
        let characters = self.parts.kind.raw();
        for i in self.at..end.min(n) {
            let id = self.order[i];
            let text = self.parts.texts.get(id as usize);
            // If several tokens have the same text, merging only ever makes the first.
            if text.len() < 2 || self.index.get(&self.parts.texts, text) != Some(id) {
                continue;
            }
            let mut tied = i > 0
                && self.description.scores[self.order[i - 1] as usize]
                    .total_cmp(&self.description.scores[id as usize])
                    .is_eq();
            for at in 1..text.len() {
                if characters && text[at] & 0xc0 == 0x80 {
                    continue;
                }
                let (a, b) = text.split_at(at);
                if let Some(left) = self.index.get(&self.parts.texts, a)
                    && let Some(right) = self.index.get(&self.parts.texts, b)
                {
                    self.parts.merges.push(Merge {
                        left,
                        right,
                        made: id,
                        tied,
                    });
                    tied = true;
                }
            }
            if self.parts.merges.len() > MAX_MERGES {
                return Err(Error::TooLarge {
                    what: "merges",
                    limit: MAX_MERGES,
                });
            }
        }
        self.at = end;
        if end >= n {
            self.order = Vec::new();
            self.description.scores = Vec::new();
            self.parts.merges.shrink_to_fit();
            self.next(Stage::Pairs);
        }
        Ok(())
    }

    fn pairs(&mut self, end: usize) {
        let n = self.parts.merges.len();
        if self.at == 0 {
            self.pairs = Pairs::with_capacity(n);
        }
        for merge in &self.parts.merges[self.at..end.min(n)] {
            self.pairs.push(merge);
            self.epoch.add(merge);
        }
        self.at = end;
        if end >= n {
            self.next(Stage::Joins);
        }
    }

    fn reindex(&mut self, end: usize) {
        let n = self.parts.texts.len();
        for id in self.at..end.min(n) {
            if !self.parts.texts.get(id).is_empty() {
                self.index.insert(&self.parts.texts, id as u32);
            }
        }
        self.at = end;
        if end >= n {
            self.next(Stage::Joins);
        }
    }

    fn joins(&mut self, end: usize) {
        let n = self.parts.texts.len();
        if self.at == 0 {
            self.pairs.shrink();
            self.made = vec![false; n];
            for id in self.pairs.all_made() {
                if let Some(made) = self.made.get_mut(*id as usize) {
                    *made = true;
                }
            }
        }
        for id in self.at..end.min(n) {
            if self.made[id] {
                self.joins.add(self.parts.texts.get(id));
            }
        }
        self.at = end;
        if end >= n {
            self.made = Vec::new();
            self.next(Stage::Done);
        }
    }
}

/// Returns the indices of `scores`, the best score first and equal scores in their order. A radix sort, sixteen bits at
/// a time from the lowest.
fn best_first(scores: &[f32]) -> Vec<u32> {
    let key = |id: u32| {
        let bits = scores[id as usize].to_bits();
        // The order of `total_cmp`, reversed.
        if bits >> 31 == 0 {
            !bits & !(1 << 31)
        } else {
            bits
        }
    };
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    let mut sorted = vec![0; order.len()];
    for shift in [0, 16] {
        let digit = |id: u32| (key(id) >> shift & 0xffff) as usize;
        let mut places = vec![0_u32; 1 << 16];
        for id in &order {
            places[digit(*id)] += 1;
        }
        let mut sum = 0;
        for place in &mut places {
            sum += std::mem::replace(place, sum);
        }
        for id in &order {
            let place = &mut places[digit(*id)];
            sorted[*place as usize] = *id;
            *place += 1;
        }
        std::mem::swap(&mut order, &mut sorted);
    }
    order
}

/// Returns the kind of vocabulary that `tokenizer.ggml.model` and `.pre` name.
pub(crate) fn kind(model: &str, pre: &str, space_prefix: Option<bool>) -> Result<Kind, Error> {
    match model {
        "gpt2" => match Pre::named(pre) {
            Some(pre) => Ok(Kind::Bpe(pre)),
            None => Err(Error::Unknown {
                field: "tokenizer.ggml.pre",
                name: pre.to_owned(),
            }),
        },
        "gemma4" => match Pre::named("gemma4") {
            Some(pre) => Ok(Kind::Bpe(pre)),
            None => Err(Error::Absent),
        },
        "llama" => Ok(Kind::Spm {
            space_prefix: space_prefix.unwrap_or(true),
        }),
        "" => Err(Error::Absent),
        other => Err(Error::Unknown {
            field: "tokenizer.ggml.model",
            name: other.to_owned(),
        }),
    }
}

/// Replaces `▁` by a space, the form in which texts are compared. A text that contains a real space becomes empty,
/// because merging never makes it.
fn to_spaces(written: &[u8], out: &mut Vec<u8>) {
    if written.contains(&b' ') {
        return;
    }
    let mut rest = written;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix("▁".as_bytes()) {
            out.push(b' ');
            rest = after;
        } else {
            out.push(*first);
            rest = after;
        }
    }
}

/// Turns GPT-2's alphabet of printable characters into the bytes they stand for. Returns `false` if a character is not
/// in that alphabet.
fn to_bytes(written: &[u8], out: &mut Vec<u8>) -> bool {
    let mut at = 0;
    while at < written.len() {
        let b = written[at];
        if (0x21..0x7f).contains(&b) {
            out.push(b);
            at += 1;
            continue;
        }
        let Some(next) = written.get(at + 1).filter(|_| (0xc2..=0xc5).contains(&b)) else {
            return false;
        };
        let c = u32::from(b & 0x1f) << 6 | u32::from(next & 0x3f);
        match c {
            0xa1..=0xac | 0xae..=0xff => out.push(c as u8),
            0x100..=0x120 => out.push((c - 0x100) as u8),
            0x121..=0x142 => out.push((c - 0x121 + 0x7f) as u8),
            0x143 => out.push(0xad),
            _ => return false,
        }
        at += 2;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B8: the best score comes first, whatever its sign, and of equal scores the first.
    #[test]
    fn scores_are_sorted() {
        let scores = [
            -3.5,
            0.0,
            -0.0,
            7.0,
            -1e7,
            7.0,
            0.25,
            -3.25,
            f32::INFINITY,
            -3.5,
        ];
        let mut expected: Vec<u32> = (0..10).collect();
        expected.sort_by(|a, b| scores[*b as usize].total_cmp(&scores[*a as usize]));
        assert_eq!(best_first(&scores), expected);
        assert_eq!(best_first(&[]), [0; 0]);
    }

    /// B8: every byte has exactly one character in GPT-2's alphabet.
    #[test]
    fn the_alphabet_has_every_byte_once() {
        let mut seen = [0; 256];
        for c in (0..0x200).filter_map(char::from_u32) {
            let mut out = Vec::new();
            if to_bytes(c.to_string().as_bytes(), &mut out) {
                assert_eq!(out.len(), 1, "{c:?}");
                seen[out[0] as usize] += 1;
            }
        }
        assert_eq!(seen, [1; 256]);
        let mut out = Vec::new();
        assert!(to_bytes("Ġhé".replace('é', "Ã©").as_bytes(), &mut out));
        assert_eq!(out, " hé".as_bytes());
    }
}
