//! Marks: where the boundary before which tool blocks are not shown is asked for (W1).

use serde::{Deserialize, Serialize};

use crate::data::message::Seq;

/// Why a mark was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkReason {
    /// Skills were deactivated.
    Deactivated,
    /// Skills were activated, and the policy marks that too.
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
    /// The last message when it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Seq>,
    /// How often it was asked for since the last build: so many calls the mark goes on.
    pub times: u32,
    /// Why.
    pub reason: MarkReason,
}

/// When marks are set (W1, W4). Data of a policy, so per session or project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Marks {
    /// Tools whose calls are marks in a list of messages that nobody attended: a pattern.
    pub tools: String,
    /// Whether activating skills sets a mark too.
    pub on_activate: bool,
    /// A mark at the end of the history when so many tokens stand since the last one; 0 for never.
    pub every_tokens: u32,
    /// A mark where a new task begins: before a user message that shares next to no words with the
    /// turn before it.
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
