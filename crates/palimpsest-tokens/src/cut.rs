//! The ways in which vocabularies cut text into words before they merge.

/// One way to cut. Several apply one after the other, each to every piece that the one before left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
    Words(Words),
    /// The expression of GPT-4o, which cuts words before capitals and keeps contractions at their end.
    Cased { digits: usize, contractions: bool },
    /// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
    Gpt2,
    /// The last expression of DeepSeek V3.
    Deepseek,
    /// `\p{N}{1,n}`; `usize::MAX` for `\p{N}+`.
    Numbers(usize),
    /// `[0-9][0-9][0-9]`
    ThreeDigits,
    /// `[\r\n]`
    Line,
    /// `[^\n]+|[\n]+`
    Lines,
    /// `[一-龥぀-ゟ゠-ヿ]+`
    HanKana,
    /// `[一-龥ࠀ-一가-퟿]+`
    Asian,
    /// `\s?\p{L}+`
    SpacedLetters,
    /// `\s?\p{P}+`
    SpacedPunctuation,
    /// `\s?` and one or more of the cased letters that DeepSeek LLM lists.
    SpacedCased,
    /// `\s?[!-/:-~！-／：-～‘-‟　-。]+`
    SpacedMarks,
    /// `\s+$`
    TrailingSpace,
    /// `[\p{P}\$\+<=>\^~\|]+`, with a backtick for Falcon.
    Marks { backtick: bool },
}

/// The variations of [`Cut::Words`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Words {
    /// The largest number of digits in a word.
    pub(crate) digits: usize,
    /// The expression cuts off `'s` and the like.
    pub(crate) contractions: bool,
    /// Combining marks belong to the letters before them (Qwen 3.5).
    pub(crate) marks: bool,
    /// Punctuation takes the line breaks after it along.
    pub(crate) lines: bool,
}

impl Words {
    pub(crate) const LLAMA3: Self = Self {
        digits: 3,
        contractions: true,
        marks: false,
        lines: true,
    };
    pub(crate) const QWEN2: Self = Self {
        digits: 1,
        ..Self::LLAMA3
    };
}
