//! Why there is no vocabulary.

/// Why a vocabulary could not be had. Whoever gets one of these counts with an [`crate::Estimator`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The answer holds no tokenizer: a cloud model, a safetensors model, or one asked for without `verbose`.
    #[error("the model's description holds no tokenizer")]
    Absent,
    /// A kind of tokenizer, or of cutting words, that is not implemented: `tokenizer.ggml.model` or `.pre`.
    #[error("unknown {field}: {name:?}")]
    Unknown {
        /// `tokenizer.ggml.model` or `tokenizer.ggml.pre`.
        field: &'static str,
        /// What it says.
        name: String,
    },
    /// Larger than any vocabulary should be.
    #[error("more than {limit} {what}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much would be accepted.
        limit: usize,
    },
    /// Not what was expected at this byte.
    #[error("malformed at byte {at}: {what}")]
    Malformed {
        /// Bytes from the start.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// The bytes end too early. Ask for them again.
    #[error("incomplete")]
    Incomplete,
    /// A snapshot written by another version of this crate. Load from the model's description again.
    #[error("a snapshot of another version")]
    OtherVersion,
}

impl Error {
    /// A stable name: `tokenizer_absent`, `tokenizer_unknown`, `tokenizer_too_large`, `tokenizer_malformed`,
    /// `tokenizer_incomplete` or `tokenizer_other_version`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Absent => "tokenizer_absent",
            Self::Unknown { .. } => "tokenizer_unknown",
            Self::TooLarge { .. } => "tokenizer_too_large",
            Self::Malformed { .. } => "tokenizer_malformed",
            Self::Incomplete => "tokenizer_incomplete",
            Self::OtherVersion => "tokenizer_other_version",
        }
    }
}
