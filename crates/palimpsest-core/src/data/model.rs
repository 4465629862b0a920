//! The facts about a model: its size, its windows, and the reliability of its summaries.

mod profile;
mod reliability;
mod size;
mod tier;

pub use profile::{
    ASSUMED_WINDOW, ContextSize, ModelProfile, WindowAsk, WindowError, WindowSize, resolve_window,
};
pub use reliability::{
    CompactionWarning, Grade, Penalty, Reliability, SizeClass, WARNING_RETENTION, WarningCheck,
    check_warning, model_factor, reliability, warning_threshold,
};
pub use size::ModelSize;
pub use tier::{Tier, TierBudgets, checkpoint_budget};
