//! The window that a server really has, which may be smaller than the one a session asks for.

use serde::{Deserialize, Serialize};

/// What a server said about the window of one of its models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// The model.
    pub model: String,
    /// Who runs it, as the host calls it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// Tokens.
    pub window: u32,
}
