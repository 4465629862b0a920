//! Computes a policy's numbers for a window of a given size, in tokens.

use std::rc::Rc;

use palimpsest_tokens::TokenCounter;
use serde::Serialize;

use crate::context::{Context, Setup};
use crate::data::policy::{KeepRecent, Pass, Policy, scaled};
use crate::data::record::Records;
use crate::data::shares::ShareOptions;
use crate::error::CoreError;
use crate::pass::PassKind;

/// A policy's numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Resolved {
    /// Its name.
    pub name: String,
    /// The window in tokens.
    pub window: u32,
    /// The room for the answer.
    pub reserve: u32,
    /// The room for errors of counting.
    pub margin: u32,
    /// The largest list.
    pub limit: u32,
    /// The tokens at which a session compacts automatically, with an empty window.
    pub trigger: u32,
    /// The goal of a session's compaction, with an empty window.
    pub target: u32,
    /// The end of the conversation that stays verbatim: tokens, or messages if the policy counts those.
    pub recent: Recent,
    /// The room for the user's own words from covered messages.
    pub user_words: u32,
    /// The room for goal, pins and demands.
    pub records: u32,
    /// The room for the newest layer. A list's only layer has the room of all of them.
    pub newest_layer: u32,
    /// The room for each older layer.
    pub older_layer: u32,
    /// The number of older layers for which there is room.
    pub older_layers: u32,
    /// The room for recalled quotes.
    pub recall: u32,
    /// The largest request to a summariser.
    pub summary_job: u32,
    /// The passes, in their order.
    pub passes: Vec<Step>,
    /// All of its rules.
    pub policy: Policy,
}

/// The end of the conversation that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Recent {
    /// At least this many tokens.
    Tokens(u32),
    /// This many messages.
    Messages(u32),
}

/// One pass, and the size from which it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Step {
    /// The pass; `policy` has its options.
    pub pass: PassKind,
    /// The pass acts on tool output of more tokens than this, if it has such a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub above: Option<u32>,
}

impl Resolved {
    /// Returns the numbers of a policy.
    pub fn of(
        policy: Policy,
        window: u32,
        share: ShareOptions,
        counter: &Rc<dyn TokenCounter>,
    ) -> Result<Self, CoreError> {
        let setup = Setup::new(window, share, policy.clone(), 0)?;
        let shares = setup.shares;
        let empty = Context::new(setup, Records::default(), Rc::clone(counter));
        let passes = policy.passes.iter().map(|pass| Step {
            pass: pass.kind(),
            above: match *pass {
                Pass::Offload(options) => Some(options.floor(window)),
                _ => None,
            },
        });
        Ok(Self {
            name: policy.name.clone(),
            window,
            reserve: shares.reserve,
            margin: shares.margin,
            limit: shares.limit,
            trigger: empty.trigger(),
            target: empty.target(),
            recent: match policy.keep_recent {
                KeepRecent::Share => Recent::Tokens(shares.recent),
                KeepRecent::Tokens { tokens } => Recent::Tokens(scaled(tokens, window)),
                KeepRecent::Messages { messages } => Recent::Messages(messages),
            },
            user_words: shares.user,
            records: shares.records,
            newest_layer: shares.newest,
            older_layer: shares.older,
            older_layers: shares.older_slots,
            recall: crate::data::shares::Shares::recall_most(shares.limit),
            summary_job: shares.chunk,
            passes: passes.collect(),
            policy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::policy::presets;
    use palimpsest_tokens::Estimator;

    fn resolved(name: &str, window: u32) -> Resolved {
        let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
        let policy = Policy::preset(name).unwrap();
        Resolved::of(policy, window, ShareOptions::default(), &counter).unwrap()
    }

    /// In every window, the numbers of every preset are in order: the goal is below the trigger, the trigger within the
    /// limit, and the limit within the window.
    #[test]
    fn numbers_are_in_order() {
        for (name, _) in presets::ALL {
            for window in [1_024, 2_048, 8_192, 32_768, 131_072, 1_000_000] {
                let r = resolved(name, window);
                assert!(r.target <= r.trigger && r.trigger <= r.limit, "{r:?}");
                assert_eq!(r.limit + r.reserve + r.margin, window);
                assert!(r.newest_layer >= r.older_layer && r.recall < r.limit);
                let above = r.passes.iter().filter_map(|s| s.above);
                assert!(above.clone().all(|n| n >= 100), "{name}");
            }
        }
    }

    #[test]
    fn balanced_in_a_small_window() {
        let r = resolved("balanced", 8_192);
        assert_eq!((r.reserve, r.margin, r.limit), (1_024, 164, 7_004));
        assert_eq!(r.recent, Recent::Tokens(983));
        let written = serde_json::to_value(&r).unwrap();
        assert_eq!(written["recent"]["tokens"], 983);
        assert_eq!(written["passes"][0]["pass"], "condense");
    }
}
