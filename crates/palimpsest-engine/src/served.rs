//! The real window of a server, which may be smaller than the one that a session asks for.

use serde::{Deserialize, Serialize};

/// A server's statement about the window of one of its models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// The model.
    pub model: String,
    /// The provider of the model, by the host's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// The window in tokens.
    pub window: u32,
}
