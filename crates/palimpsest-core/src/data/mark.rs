//! Marks: requests for the boundary before which tool blocks are hidden (W1).

use serde::{Deserialize, Serialize};

use crate::data::message::Seq;

/// The reason for a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkReason {
    /// Skills were deactivated.
    Deactivated,
    /// Skills were activated, and the policy marks activations, too.
    Activated,
    /// `compress_to_checkpoint`, or the user.
    Asked,
    /// The conversation since the last mark is long.
    Length,
    /// A new task begins.
    Task,
}

/// A mark that waits for its call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The tool whose call becomes the mark, a pattern ([`palimpsest_text::glob`]).
    pub tool: String,
    /// The last message at the time of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Seq>,
    /// The number of requests since the last build. The mark moves on by this many calls.
    pub times: u32,
    /// The reason.
    pub reason: MarkReason,
}

/// The rules by which marks are set (W1, W4). They are data of a policy, so they hold per session or project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Marks {
    /// A pattern for tools whose calls are marks, where the policy acts on marks. Those of a session's own tools are marks
    /// in any case.
    pub tools: String,
    /// Activating skills sets a mark, too.
    pub on_activate: bool,
    /// Sets a mark at the end of the history when this many tokens stand since the last one; 0 for never.
    pub every_tokens: u32,
    /// Sets a mark where a new task begins: before a user message that shares hardly any words with the turn before it.
    pub at_tasks: bool,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            tools: "{compress_to_checkpoint,deactivate_skills,deactivate_augments,*__compress_to_checkpoint,*__deactivate_skills,*__deactivate_augments}".into(),
            on_activate: false,
            every_tokens: 0,
            at_tasks: false,
        }
    }
}
