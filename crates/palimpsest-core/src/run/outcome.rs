//! The result table of seed 4 (O3), and the line that `/compact` prints (O5).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::pass::offload::Reference;

use crate::layer::LayerId;

use super::{Refusal, RunReport, StageTime, Verification};

/// What a compaction came to, as seed 4's callers expect it. The new messages are the context's window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Tokens before.
    pub previous_tokens: u32,
    /// Tokens after.
    pub current_tokens: u32,
    /// Tokens freed.
    pub freed_tokens: u32,
    /// Messages that are still shown.
    pub preserved_count: u32,
    /// References to offloaded results that left the window. Their texts stay in the history.
    pub released: Vec<Reference>,
    /// Whether it succeeded. Having nothing to do is a success.
    pub success: bool,
    /// Why nothing changed, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The new layer, if one was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<LayerId>,
    /// What the last stage found; `None` if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// What was done beside summarising: passes that had to help, rules that gave way to an invariant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adjustments: Vec<String>,
    /// How long each stage took, where that was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stage_times: Vec<StageTime>,
}

impl Outcome {
    /// Of a run that ended, over a window of `tokens` tokens that shows `shown` messages.
    pub fn of(result: Result<&RunReport, Refusal>, tokens: u32, shown: u32) -> Self {
        match result {
            Ok(report) => Self {
                previous_tokens: report.before,
                current_tokens: report.after,
                freed_tokens: report.freed(),
                preserved_count: report.preserved,
                released: report.released.clone(),
                success: true,
                reason: None,
                layer: report.layer,
                verification: report.verification,
                adjustments: report.adjustments.clone(),
                stage_times: report.stages.clone(),
            },
            Err(refusal) => {
                let nothing = matches!(refusal, Refusal::NothingToCompress);
                Self {
                    previous_tokens: tokens,
                    current_tokens: tokens,
                    freed_tokens: 0,
                    preserved_count: shown,
                    released: Vec::new(),
                    success: nothing,
                    reason: Some(if nothing {
                        "nothing to compress".into()
                    } else {
                        refusal.code().into()
                    }),
                    layer: None,
                    verification: None,
                    adjustments: Vec::new(),
                    stage_times: Vec::new(),
                }
            }
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            previous_tokens,
            current_tokens,
            freed_tokens,
            released,
            success,
            reason,
            ..
        } = self;
        if let Some(reason) = reason {
            let what = if *success { "Unchanged" } else { "Failed" };
            return write!(f, "{what}: {reason}. {current_tokens} tokens.");
        }
        let references = match released.len() {
            1 => "1 reference".to_owned(),
            n => format!("{n} references"),
        };
        write!(
            f,
            "{previous_tokens} → {current_tokens} tokens, {freed_tokens} freed, {references} released."
        )
    }
}
