//! Writes a vocabulary as bytes, to keep it between visits. A snapshot has a third to a half of the size of the JSON
//! and loads in a third of the time.
//!
//! The format is `PLMT`, a version, then numbers as LEB128: model and pre (length and bytes), flags, the numbers of
//! tokens and symbols, the length of each text, all texts, special tokens, merges. The last eight bytes are a hash of
//! everything before.

use crate::{
    Vocabulary,
    assembly::{Assembly, kind},
    error::Error,
    pairs::{MAX_IDS, MAX_MERGES, Pairs},
    parts::{Kind, Merge, MergesEpoch, Parts},
    pretokenize::Rules,
    specials::Special,
    words::{Arena, hash},
};

const MAGIC: &[u8; 4] = b"PLMT";
const VERSION: u8 = 1;

/// A flag: a prompt starts with the start token.
const ADD_BOS: u8 = 1;
/// A flag: SentencePiece puts a space before a text.
const SPACE_PREFIX: u8 = 2;
/// A flag: the family's own regular expressions cut the words, not those of llama.cpp.
const REFERENCE: u8 = 4;
/// A flag: a word that is a token is never merged. Older snapshots lack the flag; the name of their pre-tokenizer
/// carries the same information.
const WHOLE_WORDS: u8 = 8;

impl Vocabulary {
    /// Returns a snapshot to store under the model's digest, or `None` if this vocabulary came from a snapshot.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let parts = self.parts()?;
        let mut out = Vec::with_capacity(parts.texts.bytes().len() + parts.merges.len() * 7);
        out.extend_from_slice(MAGIC);
        out.push(VERSION);
        text(&mut out, parts.model.as_bytes());
        text(&mut out, parts.pre.as_bytes());
        let prefix = parts.kind == Kind::Spm { space_prefix: true };
        let flags = [
            (parts.add_bos, ADD_BOS),
            (prefix, SPACE_PREFIX),
            (self.rules() == Rules::Reference, REFERENCE),
            (parts.kind.keeps_words(), WHOLE_WORDS),
        ];
        out.push(
            flags
                .into_iter()
                .filter_map(|(is_set, flag)| is_set.then_some(flag))
                .sum(),
        );
        number(&mut out, parts.tokens);
        number(&mut out, parts.texts.len() as u32);
        for id in 0..parts.texts.len() {
            number(&mut out, parts.texts.get(id).len() as u32);
        }
        out.extend_from_slice(parts.texts.bytes());
        let (texts, ids) = &parts.specials;
        number(&mut out, ids.len() as u32);
        for (i, (id, special)) in ids.iter().enumerate() {
            number(&mut out, id << 2 | *special as u32);
            text(&mut out, texts.get(i));
        }
        number(&mut out, parts.merges.len() as u32);
        let mut last = 0;
        for merge in &parts.merges {
            let step = merge.made.cast_signed() - last;
            last = merge.made.cast_signed();
            // A zigzag number keeps steps back short; its lowest bit says whether the merge is tied.
            number(
                &mut out,
                (step << 1 ^ step >> 31).cast_unsigned() << 1 | u32::from(merge.tied),
            );
            number(&mut out, merge.left);
            number(&mut out, merge.right);
        }
        let sum = hash(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        Some(out)
    }
}

/// A snapshot in the middle of reading. The head is read at once, the merges in steps.
#[derive(Debug)]
pub(crate) struct Reading {
    data: Vec<u8>,
    at: usize,
    parts: Parts,
    pairs: Pairs,
    epoch: MergesEpoch,
    /// The number of merges that are still unread.
    left: usize,
    /// The token that the last merge made.
    last: i32,
}

impl Reading {
    /// Reads about `items` merges. Returns `true` when all are read.
    pub(crate) fn step(&mut self, items: usize) -> Result<bool, Error> {
        let mut reader = Reader {
            data: &self.data,
            at: self.at,
        };
        let texts = &self.parts.texts;
        for _ in 0..items.max(1).min(self.left) {
            let word = reader.number()?;
            let step = word >> 1;
            self.last = self
                .last
                .wrapping_add((step >> 1).cast_signed() ^ -(step & 1).cast_signed());
            let (left, right) = (reader.number()?, reader.number()?);
            let made = self.last.cast_unsigned();
            let text = |id: u32| texts.get(id as usize);
            let (a, b) = (text(left), text(right));
            let whole = text(made).split_at_checked(a.len());
            if a.is_empty() || b.is_empty() || whole != Some((a, b)) {
                return reader.malformed("merge");
            }
            let merge = Merge {
                left,
                right,
                made,
                tied: word & 1 != 0,
            };
            self.pairs.push(&merge);
            self.epoch.add(&merge);
            self.left -= 1;
        }
        self.at = reader.at;
        if self.left == 0 && reader.at != self.data.len() {
            return reader.malformed("more than a snapshot");
        }
        Ok(self.left == 0)
    }

    /// Returns the assembly. [`Self::step`] must have returned `true` before.
    pub(crate) fn finish(&mut self) -> Assembly {
        self.data = Vec::new();
        Assembly::resume(
            std::mem::take(&mut self.parts),
            std::mem::take(&mut self.pairs),
            self.epoch,
        )
    }
}

/// Begins to read a snapshot, and checks that it is whole.
pub(crate) fn read(bytes: &[u8]) -> Result<Reading, Error> {
    if bytes.len() < MAGIC.len() + 1 {
        return Err(Error::Incomplete);
    }
    if !bytes.starts_with(MAGIC) {
        return Err(Error::Malformed {
            at: 0,
            what: "not a snapshot",
        });
    }
    if bytes[4] != VERSION {
        return Err(Error::OtherVersion);
    }
    let Some((data, sum)) = bytes.split_last_chunk::<8>() else {
        return Err(Error::Incomplete);
    };
    if hash(data) != u64::from_le_bytes(*sum) {
        return Err(Error::Malformed {
            at: bytes.len() - 8,
            what: "hash",
        });
    }
    let mut reader = Reader { data, at: 5 };
    let model = reader.name()?;
    let pre = reader.name()?;
    let flags = reader.take(1)?[0];
    let mut kind = kind(&model, &pre, Some(flags & SPACE_PREFIX != 0))?;
    if flags & WHOLE_WORDS != 0 {
        kind.keep_words();
    }
    let tokens = reader.number_to(MAX_IDS as u32, "tokens")?;
    let symbols = reader.number_to(MAX_IDS as u32, "symbols")? as usize;
    if tokens == 0 || symbols < tokens as usize {
        return reader.malformed("symbols");
    }
    // Each length takes at least one byte, so this refuses more symbols than the bytes can describe.
    if symbols > data.len() - reader.at {
        return Err(Error::Incomplete);
    }
    let mut lengths = Vec::with_capacity(symbols);
    for _ in 0..symbols {
        lengths.push(reader.number()?);
    }
    let texts = Arena::cut(&data[reader.at..], &lengths).ok_or(Error::Incomplete)?;
    reader.take(texts.bytes().len())?;
    let mut specials = (Arena::default(), Vec::new());
    for _ in 0..reader.number_to(tokens, "special tokens")? {
        let word = reader.number()?;
        let special = match word & 3 {
            0 => Special::Defined,
            1 => Special::Control,
            2 => Special::Assumed,
            _ => return reader.malformed("special token"),
        };
        if word >> 2 >= tokens {
            return reader.malformed("special token");
        }
        specials.1.push((word >> 2, special));
        let n = reader.number()? as usize;
        specials.0.push(reader.take(n)?);
    }
    let n = reader.number_to(MAX_MERGES as u32, "merges")? as usize;
    if n > (data.len() - reader.at) / 3 {
        return Err(Error::Incomplete);
    }
    let at = reader.at;
    Ok(Reading {
        data: data.to_vec(),
        at,
        parts: Parts {
            model,
            pre,
            kind,
            add_bos: flags & ADD_BOS != 0,
            rules: if flags & REFERENCE != 0 {
                Rules::Reference
            } else {
                Rules::LlamaCpp
            },
            texts,
            tokens,
            specials,
            merges: Vec::new(),
        },
        pairs: Pairs::with_capacity(n),
        epoch: MergesEpoch::default(),
        left: n,
        last: 0,
    })
}

fn number(out: &mut Vec<u8>, mut n: u32) {
    while n > 127 {
        out.push(n as u8 | 128);
        n >>= 7;
    }
    out.push(n as u8);
}

fn text(out: &mut Vec<u8>, text: &[u8]) {
    number(out, text.len() as u32);
    out.extend_from_slice(text);
}

struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn malformed<T>(&self, what: &'static str) -> Result<T, Error> {
        Err(Error::Malformed { at: self.at, what })
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], Error> {
        let end = self
            .at
            .checked_add(n)
            .filter(|end| *end <= self.data.len())
            .ok_or(Error::Incomplete)?;
        let taken = &self.data[self.at..end];
        self.at = end;
        Ok(taken)
    }

    #[inline]
    fn number(&mut self) -> Result<u32, Error> {
        let (mut n, mut shift) = (0_u64, 0);
        loop {
            let b = *self.data.get(self.at).ok_or(Error::Incomplete)?;
            self.at += 1;
            n |= u64::from(b & 127) << shift;
            if b < 128 {
                break;
            }
            shift += 7;
            if shift > 28 {
                return self.malformed("number");
            }
        }
        match u32::try_from(n) {
            Ok(n) => Ok(n),
            Err(_) => self.malformed("number"),
        }
    }

    fn number_to(&mut self, limit: u32, what: &'static str) -> Result<u32, Error> {
        match self.number()? {
            n if n > limit => Err(Error::TooLarge {
                what,
                limit: limit as usize,
            }),
            n => Ok(n),
        }
    }

    fn name(&mut self) -> Result<String, Error> {
        let n = self.number_to(64, "bytes in a name")? as usize;
        match String::from_utf8(self.take(n)?.to_vec()) {
            Ok(name) => Ok(name),
            Err(_) => self.malformed("name"),
        }
    }
}
