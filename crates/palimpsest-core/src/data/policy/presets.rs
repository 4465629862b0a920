//! The named policies.

use super::{
    Cover, DedupeOptions, Demands, Denominator, Escalation, Fading, Headings, KeepRecent, Levels,
    OffloadOptions, OnFailure, Pass, Policy, SlotRole, StripOptions, Trigger, UserWords,
};
use crate::data::mark::Marks;
use crate::data::model::TierBudgets;
use palimpsest_text::condense::CondenseOptions;

/// Makes a policy.
pub type Make = fn() -> Policy;

/// Every preset by name, the default first.
pub const ALL: &[(&str, Make)] = &[
    ("balanced", balanced),
    ("checkpoints", checkpoints),
    ("watermark", watermark),
    ("offload-compact", offload_compact),
    ("auto-summarize", auto_summarize),
];

/// The names, for a message to the user.
pub fn names() -> String {
    ALL.iter()
        .map(|(name, _)| *name)
        .collect::<Vec<_>>()
        .join(", ")
}

const OFFLOAD: Pass = Pass::Offload(OffloadOptions {
    tokens: 512,
    window_percent: 4,
    brief: false,
});

/// The default. It acts at 90 % of the available room, and earlier if quotes would find no room. First it shortens tool output and shows repetitions once and
/// large results as references. Then it covers the oldest exchanges with one layer made from the originals, and keeps
/// the user's words verbatim within their share.
pub fn balanced() -> Policy {
    Policy {
        name: "balanced".into(),
        triggers: vec![
            Trigger::Fill {
                of: Denominator::Available,
                at: 0.9,
            },
            Trigger::Overflow,
            Trigger::Manual,
        ],
        passes: vec![
            Pass::Condense,
            Pass::Dedupe,
            Pass::Strip(StripOptions {
                keep: 0,
                keep_errors: true,
                keep_best: 0,
            }),
            OFFLOAD,
            Pass::Summarize,
            Pass::Fade,
            Pass::Emergency,
        ],
        escalate: Escalation::Target,
        cover: Cover::Needed,
        keep_recent: KeepRecent::Share,
        user_words: UserWords::Share,
        slot_role: SlotRole::User,
        demands: Demands::Layer,
        slot_prefix: None,
        levels: Levels::Age,
        fading: Fading::Notes,
        headings: Headings::Level,
        on_failure: OnFailure::Extractive,
        recall: true,
        on_arrival: false,
        prompt_budgets: TierBudgets::default(),
        tool_output: CondenseOptions::default(),
        repeats: DedupeOptions::default(),
        marks: Marks::default(),
    }
}

/// Seeds 1 and 2: at 80 % of the window beside the fixed part, everything but the recent messages becomes a checkpoint.
/// Each older checkpoint becomes shorter every time, 1,200 → 600 → 300 → 150, and the oldest merge. The user's words
/// stay verbatim within their share.
pub fn checkpoints() -> Policy {
    Policy {
        name: "checkpoints".into(),
        triggers: vec![
            Trigger::Fill {
                of: Denominator::WindowLessFixed,
                at: 0.8,
            },
            Trigger::Overflow,
            Trigger::Manual,
        ],
        passes: vec![Pass::Summarize, Pass::Fade, Pass::Emergency],
        cover: Cover::All,
        keep_recent: KeepRecent::Tokens { tokens: 2_048 },
        slot_role: SlotRole::Assistant,
        demands: Demands::Layer,
        fading: Fading::Cascade {
            sizes: vec![1_200, 600, 300, 150],
        },
        recall: false,
        ..balanced()
    }
}

/// Seed 3: tool calls and results before the watermark go, and everything else stays. It asks no model.
pub fn watermark() -> Policy {
    Policy {
        name: "watermark".into(),
        triggers: vec![Trigger::Watermark, Trigger::Overflow, Trigger::Manual],
        passes: vec![
            Pass::Strip(StripOptions {
                keep: 0,
                keep_errors: false,
                keep_best: 0,
            }),
            Pass::Emergency,
        ],
        recall: false,
        ..balanced()
    }
}

/// Seed 4: large tool results become references. If that frees too little, everything but the last five messages
/// becomes one summary under eight headings, which is rewritten each time.
pub fn offload_compact() -> Policy {
    Policy {
        name: "offload-compact".into(),
        triggers: vec![
            Trigger::Fill {
                of: Denominator::Available,
                at: 0.8,
            },
            Trigger::Overflow,
            Trigger::Manual,
        ],
        passes: vec![OFFLOAD, Pass::Summarize, Pass::Fade, Pass::Emergency],
        escalate: Escalation::Weak {
            tokens: 15_000,
            window_percent: 20,
        },
        cover: Cover::All,
        keep_recent: KeepRecent::Messages { messages: 5 },
        user_words: UserWords::Summarize,
        slot_prefix: Some("[Compressed History]".into()),
        fading: Fading::Single { tokens: 8_000 },
        headings: Headings::Eight,
        on_failure: OnFailure::Refuse,
        recall: false,
        ..balanced()
    }
}

/// Seed 5: tool output is condensed on arrival. At half of the window, all but the latest three messages become a short
/// summary. Earlier summaries age as in `balanced`.
pub fn auto_summarize() -> Policy {
    Policy {
        name: "auto-summarize".into(),
        triggers: vec![
            Trigger::Fill {
                of: Denominator::Window,
                at: 0.5,
            },
            Trigger::Overflow,
            Trigger::Manual,
        ],
        passes: vec![Pass::Condense, Pass::Summarize, Pass::Fade, Pass::Emergency],
        cover: Cover::All,
        keep_recent: KeepRecent::Messages { messages: 3 },
        user_words: UserWords::Summarize,
        slot_role: SlotRole::Assistant,
        demands: Demands::Layer,
        slot_prefix: Some("[SUMMARY]".into()),
        headings: Headings::Short,
        recall: false,
        on_arrival: true,
        ..balanced()
    }
}
