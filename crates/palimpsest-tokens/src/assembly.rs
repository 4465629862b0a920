//! Building a vocabulary, a slice of the work at a time.

use crate::{
    error::Error,
    joins::Joins,
    pairs::{MAX_IDS, MAX_MERGES, Pairs},
    pre::Pre,
    pretokenize::Rules,
    specials::{Finder, Special},
    vocabulary::{Symbols, Vocabulary},
    words::{Arena, Index, hash},
};

/// How a vocabulary makes tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Byte-pair merges of words.
    Bpe(Pre),
    /// SentencePiece: the best-scored merges of the whole text, with or without a space put before it.
    Spm { space_prefix: bool },
}

impl Default for Kind {
    fn default() -> Self {
        Self::Spm {
            space_prefix: false,
        }
    }
}

impl Kind {
    /// Whether tokens are UTF-8 with `▁` for a space and bytes only as a fallback. Otherwise they are bytes in
    /// GPT-2's alphabet.
    pub(crate) fn raw(self) -> bool {
        match self {
            Self::Bpe(pre) => pre.raw,
            Self::Spm { .. } => true,
        }
    }
}

/// What a model's description says about its tokenizer.
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
}

/// `left` and `right` make `made`; `tied` if the merge is due at the same time as the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Merge {
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) made: u32,
    pub(crate) tied: bool,
}

/// What a token is for, as `tokenizer.ggml.token_type` numbers it.
pub(crate) const UNKNOWN: u8 = 2;
pub(crate) const CONTROL: u8 = 3;
pub(crate) const USER_DEFINED: u8 = 4;

/// A vocabulary without its tables: what a snapshot holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts {
    pub(crate) model: String,
    pub(crate) pre: String,
    pub(crate) kind: Kind,
    pub(crate) add_bos: bool,
    /// Texts as they stand in a prompt: bytes; `▁` is a space. Beyond `tokens`, symbols that are no tokens.
    pub(crate) texts: Arena,
    pub(crate) tokens: u32,
    /// Special tokens: text as written, id, what it is.
    pub(crate) specials: (Arena, Vec<(u32, Special)>),
    /// In the order they are due.
    pub(crate) merges: Vec<Merge>,
}

/// Work in progress.
#[derive(Debug)]
pub(crate) struct Assembly {
    stage: Stage,
    /// How far the stage is.
    at: usize,
    description: Description,
    order: Vec<u32>,
    parts: Parts,
    index: Index,
    pairs: Pairs,
    joins: Joins,
    number: u32,
    due: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Texts of tokens, and which are special.
    Texts,
    /// Merges as written, looked up.
    Merges,
    /// Characters that pieces are made of but that are no pieces.
    Characters,
    /// All ways to make each piece of two.
    Splits,
    /// Texts into the index, for a snapshot.
    Reindex,
    /// Merges into the table.
    Pairs,
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

impl Assembly {
    /// From a description.
    pub(crate) fn new(description: Description) -> Result<Self, Error> {
        if description.tokens.len() == 0 {
            return Err(Error::Absent);
        }
        let kind = kind(
            &description.model,
            &description.pre,
            description.space_prefix,
        )?;
        let add_bos = match kind {
            // llama.cpp overrules what Gemma 4's file says
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
            Kind::Bpe(_) if description.merges.len() == 0 => {
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
            texts: Arena::default(),
            tokens: n as u32,
            specials: Default::default(),
            merges: Vec::new(),
        };
        let index = Index::with_capacity(n + (1 << 14));
        Ok(Self::at(Stage::Texts, description, parts, index))
    }

    /// From a snapshot's parts.
    pub(crate) fn resume(parts: Parts) -> Self {
        let index = Index::with_capacity(parts.texts.len());
        Self::at(Stage::Reindex, Description::default(), parts, index)
    }

    fn at(stage: Stage, description: Description, parts: Parts, index: Index) -> Self {
        Self {
            stage,
            at: 0,
            description,
            order: Vec::new(),
            parts,
            index,
            pairs: Pairs::default(),
            joins: Joins::default(),
            number: 0,
            due: Vec::new(),
        }
    }

    /// Does about `items` tokens' or merges' worth of work. `true` when there is no more to do.
    pub(crate) fn step(&mut self, items: usize) -> Result<bool, Error> {
        let end = self.at + items.max(1);
        match self.stage {
            Stage::Texts => self.texts(end),
            Stage::Merges => self.merges(end)?,
            Stage::Characters => self.characters(end)?,
            Stage::Splits => self.splits(end)?,
            Stage::Reindex => self.reindex(end),
            Stage::Pairs => self.pairs(end),
            Stage::Done => return Ok(true),
        }
        Ok(self.stage == Stage::Done)
    }

    /// The vocabulary, when [`Self::step`] has said that all is done.
    pub(crate) fn finish(self) -> Result<Vocabulary, Error> {
        if self.stage != Stage::Done {
            return Err(Error::Incomplete);
        }
        let Self {
            parts,
            index,
            pairs,
            joins,
            ..
        } = self;
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
        let mut epoch =
            hash(parts.texts.bytes()) ^ hash(parts.pre.as_bytes()) ^ hash(parts.model.as_bytes());
        for merge in &parts.merges {
            let word =
                u64::from(merge.left) << 40 | u64::from(merge.right) << 20 | u64::from(merge.made);
            epoch = (epoch ^ word)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(23);
        }
        Ok(Vocabulary::new(
            parts,
            index,
            pairs,
            joins,
            finder,
            symbols,
            (epoch >> 1) & !1,
            Rules::LlamaCpp,
        ))
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
                _ if ALWAYS_CONTROL.iter().any(|text| text.as_bytes() == written) => {
                    Some(Special::Assumed)
                }
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
            // Where this token is, llama.cpp takes `</s>` for what it is in HTML (Gemma 4).
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
            self.next(match self.parts.kind {
                Kind::Bpe(_) => Stage::Merges,
                Kind::Spm { .. } => Stage::Characters,
            });
        }
    }

    /// The symbol with the open text of the arena; a new one beyond the tokens if need be.
    fn symbol(&mut self, text: &[u8]) -> Result<u32, Error> {
        if let Some(id) = self.index.get(&self.parts.texts, text) {
            return Ok(id);
        }
        let id = self.parts.texts.len();
        // Few are expected, and the index has room for that many.
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
        let (mut left, mut both) = (Vec::new(), Vec::new());
        if self.at == 0 {
            self.parts.merges.reserve_exact(n);
        }
        for i in self.at..end.min(n) {
            let written = std::mem::take(&mut self.description.merges);
            let text = written.get(i);
            // A space separates the two, but may also be the first byte of the left one.
            let space = text
                .iter()
                .skip(1)
                .position(|b| *b == b' ')
                .map(|at| at + 1);
            let parts = space.map(|at| (&text[..at], &text[at + 1..]));
            left.clear();
            both.clear();
            let readable = match parts {
                Some((a, b)) if raw => {
                    to_spaces(a, &mut left);
                    both.extend_from_slice(&left);
                    to_spaces(b, &mut both);
                    true
                }
                Some((a, b)) => {
                    let readable = to_bytes(a, &mut left);
                    both.extend_from_slice(&left);
                    readable && to_bytes(b, &mut both)
                }
                None => false,
            };
            self.description.merges = written;
            // A merge that cannot be read can never apply.
            if !readable || left.is_empty() || left.len() == both.len() {
                continue;
            }
            let merge = Merge {
                left: self.symbol(&left)?,
                right: self.symbol(&both[left.len()..])?,
                made: self.symbol(&both)?,
                tied: false,
            };
            self.parts.merges.push(merge);
        }
        self.at = end;
        if end >= n {
            self.description.merges = Arena::default();
            self.next(Stage::Pairs);
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
            // Best score first; of equal scores the one that comes first.
            self.order = (0..n as u32).collect();
            let scores = &self.description.scores;
            let score = |id: &u32| scores[*id as usize];
            self.order
                .sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.cmp(b)));
            self.next(Stage::Splits);
        }
        Ok(())
    }

    fn splits(&mut self, end: usize) -> Result<(), Error> {
        let n = self.order.len();
        for i in self.at..end.min(n) {
            let id = self.order[i];
            let text = self.parts.texts.get(id as usize);
            // Of equal texts only the first is ever made.
            if text.len() < 2 || self.index.get(&self.parts.texts, text) != Some(id) {
                continue;
            }
            let mut tied = i > 0
                && self.description.scores[self.order[i - 1] as usize]
                    .total_cmp(&self.description.scores[id as usize])
                    .is_eq();
            for at in 1..text.len() {
                if text[at] & 0xc0 == 0x80 {
                    continue;
                }
                let (a, b) = text.split_at(at);
                if let (Some(left), Some(right)) = (
                    self.index.get(&self.parts.texts, a),
                    self.index.get(&self.parts.texts, b),
                ) {
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

    fn reindex(&mut self, end: usize) {
        let n = self.parts.texts.len();
        for id in self.at..end.min(n) {
            if !self.parts.texts.get(id).is_empty() {
                self.index.insert(&self.parts.texts, id as u32);
            }
        }
        self.at = end;
        if end >= n {
            self.next(Stage::Pairs);
        }
    }

    fn pairs(&mut self, end: usize) {
        let n = self.parts.merges.len();
        if self.at == 0 {
            let mut made: Vec<u32> = Vec::new();
            let mut several = false;
            for merge in &self.parts.merges {
                // Merges that are due together and make the same are one.
                if !merge.tied || made.last() != Some(&merge.made) {
                    several |= merge.tied && !made.is_empty();
                    let due = match self.due.last() {
                        Some(due) if merge.tied => *due,
                        _ => made.len() as u32,
                    };
                    made.push(merge.made);
                    self.due.push(due);
                }
            }
            let due = std::mem::take(&mut self.due);
            self.number = u32::MAX;
            self.pairs = Pairs::new(n, made, several.then_some(due));
        }
        let mut last = self.at.checked_sub(1).map(|i| self.parts.merges[i].made);
        for merge in &self.parts.merges[self.at..end.min(n)] {
            if !merge.tied || last != Some(merge.made) {
                self.number = self.number.wrapping_add(1);
                self.joins.add(self.parts.texts.get(merge.made as usize));
            }
            last = Some(merge.made);
            self.pairs.insert(merge.left, merge.right, self.number);
        }
        self.at = end;
        if end >= n {
            self.next(Stage::Done);
        }
    }
}

/// How `tokenizer.ggml.model` and `.pre` make tokens.
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

/// `▁` to a space, in which form texts are compared. A text with a real space, which merging never makes, becomes
/// nothing.
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

/// GPT-2's alphabet of printable characters to the bytes they stand for. `false` if a character is not of it.
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

    /// B8: GPT-2's alphabet stands for each byte once.
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
