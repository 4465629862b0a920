//! The parts of a vocabulary.

use crate::{pre::Pre, pretokenize::Rules, specials::Special, words::Arena};

/// The way in which a vocabulary makes tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Byte-pair merges of words.
    Bpe(Pre),
    /// SentencePiece: the best-scored merges of the whole text. `space_prefix` says that a space is put before the
    /// text.
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
    /// Returns `true` if tokens are UTF-8 with `▁` for a space and single bytes only as a fallback. Otherwise tokens
    /// are bytes in GPT-2's alphabet.
    pub(crate) fn raw(self) -> bool {
        match self {
            Self::Bpe(pre) => pre.raw,
            Self::Spm { .. } => true,
        }
    }

    /// Returns `true` if a word that is in the vocabulary is always one token, even where merging would give another
    /// result.
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

/// The merge of `left` and `right` into `made`. `tied` says that it has the same place in the order as the merge
/// before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Merge {
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) made: u32,
    pub(crate) tied: bool,
}

/// A vocabulary without its tables: the content of a snapshot.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts {
    pub(crate) model: String,
    pub(crate) pre: String,
    pub(crate) kind: Kind,
    pub(crate) add_bos: bool,
    /// The edition of the regular expressions that cut the words.
    pub(crate) rules: Rules,
    /// The bytes of texts as they stand in a prompt, with a space for `▁`. Ids from `tokens` on are symbols that are no
    /// tokens.
    pub(crate) texts: Arena,
    pub(crate) tokens: u32,
    /// The special tokens: their text, and for each its id and kind.
    pub(crate) specials: (Arena, Vec<(u32, Special)>),
    /// The merges in their order.
    pub(crate) merges: Vec<Merge>,
}

/// A number that differs between any two lists of merges.
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
