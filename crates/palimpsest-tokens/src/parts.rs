//! What a vocabulary is made of.

use crate::{pre::Pre, pretokenize::Rules, specials::Special, words::Arena};

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

    /// Whether a word that is in the vocabulary is one token, whatever merging would make of it.
    pub(crate) fn keeps_words(self) -> bool {
        matches!(self, Self::Bpe(pre) if pre.ignore_merges)
    }

    /// Makes every word that is in the vocabulary one token.
    pub(crate) fn keep_words(&mut self) {
        if let Self::Bpe(pre) = self {
            pre.ignore_merges = true;
        }
    }
}

/// `left` and `right` make `made`; `tied` if the merge is due at the same time as the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Merge {
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) made: u32,
    pub(crate) tied: bool,
}

/// A vocabulary without its tables: what a snapshot holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts {
    pub(crate) model: String,
    pub(crate) pre: String,
    pub(crate) kind: Kind,
    pub(crate) add_bos: bool,
    /// Whose edition of the regular expressions cuts the words.
    pub(crate) rules: Rules,
    /// Texts as they stand in a prompt: bytes; `▁` is a space. Beyond `tokens`, symbols that are no tokens.
    pub(crate) texts: Arena,
    pub(crate) tokens: u32,
    /// Special tokens: text as written, id, what it is.
    pub(crate) specials: (Arena, Vec<(u32, Special)>),
    /// In the order they are due.
    pub(crate) merges: Vec<Merge>,
}

/// A number that differs with every list of merges.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MergesEpoch(pub(crate) u64);

impl MergesEpoch {
    #[inline]
    pub(crate) fn add(&mut self, merge: &Merge) {
        let word =
            u64::from(merge.left) << 40 | u64::from(merge.right) << 20 | u64::from(merge.made);
        self.0 = (self.0 ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(23);
    }
}
