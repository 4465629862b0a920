//! The errors about a list as a whole.

use thiserror::Error;

/// A typed refusal of a list.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DialectError {
    /// Input that is not a list of messages in a known dialect.
    #[error("{0}")]
    BadInput(String),
}

impl DialectError {
    /// A stable code of the kind of failure.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadInput(_) => "bad_input",
        }
    }
}
