//! The reasons for which a vocabulary cannot be loaded.

/// The reason for which there is no vocabulary. The caller can count with an [`crate::Estimator`] instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The answer holds no tokenizer. The model may be a cloud or safetensors model, or the request lacked `verbose`.
    #[error("the model's description holds no tokenizer")]
    Absent,
    /// This crate does not implement the tokenizer, or its way to cut words (`tokenizer.ggml.model` or `.pre`).
    #[error("unknown {field}: {name:?}")]
    Unknown {
        /// The field: `tokenizer.ggml.model` or `tokenizer.ggml.pre`.
        field: &'static str,
        /// The value of the field.
        name: String,
    },
    /// The description is larger than any vocabulary should be.
    #[error("more than {limit} {what}")]
    TooLarge {
        /// The kind of item of which there are too many.
        what: &'static str,
        /// The largest number that the loader accepts.
        limit: usize,
    },
    /// The bytes are not in the expected format.
    #[error("malformed at byte {at}: {what}")]
    Malformed {
        /// The offset of the fault in bytes from the start.
        at: usize,
        /// A description of the fault.
        what: &'static str,
    },
    /// The bytes end too early. Request them again.
    #[error("incomplete")]
    Incomplete,
    /// Another version of this crate wrote the snapshot. Load the vocabulary from the model's description again.
    #[error("a snapshot of another version")]
    OtherVersion,
}

impl Error {
    /// A stable code: `tokenizer_absent`, `tokenizer_unknown`, `tokenizer_too_large`, `tokenizer_malformed`,
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
