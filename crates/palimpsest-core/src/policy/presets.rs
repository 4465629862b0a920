//! The named policies.

use super::{
    Denominator, Fading, Headings, KeepRecent, Pass, Policy, SlotRole, Trigger, UserWords,
};

/// Makes a policy.
pub type Make = fn() -> Policy;

/// Every preset by name, the default first.
pub const ALL: &[(&str, Make)] = &[("balanced", balanced)];

/// The names, for a message to the user.
pub fn names() -> String {
    ALL.iter()
        .map(|(name, _)| *name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The default: acts at 80 % of the available room, covers the oldest exchanges with one layer made
/// from the originals, keeps the user's words verbatim within their share.
pub fn balanced() -> Policy {
    Policy {
        name: "balanced".into(),
        triggers: vec![Trigger::Fill {
            of: Denominator::Available,
            at: 0.8,
        }],
        passes: vec![Pass::Summarize, Pass::Emergency],
        keep_recent: KeepRecent::Share,
        user_words: UserWords::Share,
        slot_role: SlotRole::User,
        slot_prefix: None,
        fading: Fading::Notes,
        headings: Headings::Level,
        recall: true,
    }
}
