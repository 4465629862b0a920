//! The presets under the names that people see.

use crate::text::{T, t};

/// What a preset is called; another policy by its own name.
pub fn policy_name(name: &str) -> String {
    POLICIES
        .iter()
        .find(|(preset, ..)| *preset == name)
        .map_or_else(|| name.to_owned(), |(_, title, _)| t(*title).to_owned())
}

/// The presets with their names and descriptions.
pub const POLICIES: [(&str, T, T); 5] = [
    ("balanced", T::PolicyBalanced, T::PolicyBalancedHelp),
    (
        "checkpoints",
        T::PolicyCheckpoints,
        T::PolicyCheckpointsHelp,
    ),
    ("watermark", T::PolicyWatermark, T::PolicyWatermarkHelp),
    ("offload-compact", T::PolicyOffload, T::PolicyOffloadHelp),
    ("auto-summarize", T::PolicyAuto, T::PolicyAutoHelp),
];
