//! Warnings for the user about a successful run.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::data::message::number_of;
use crate::pass::offload::Reference;

/// Something a run came upon that did not stop it. Its sentence is what people read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(remote = "Self", rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "code"))]
pub enum Caution {
    /// The call that was to become the watermark never came (W2).
    #[error("the mark asked for by `{tool}` was dropped: no such call came")]
    MarkDropped {
        /// The tool it waited for.
        tool: String,
    },
    /// The watermark is not among these messages (W3).
    #[error("the watermark is not on this branch: nothing was stripped")]
    WatermarkNotFound,
    /// A reference left the window, and the text it stood for is not there to come back (O3).
    #[error("the text of message {}, part {} could not be released: it is not there any more", number_of(.reference.message), .reference.part)]
    NotReleased {
        /// The reference that stood in the window.
        reference: Reference,
    },
}

palimpsest_text::tagged!(Caution, "code");

impl Caution {
    /// A stable name.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::MarkDropped { .. } => "mark_dropped",
            Self::WatermarkNotFound => "watermark_not_found",
            Self::NotReleased { .. } => "not_released",
        }
    }
}
