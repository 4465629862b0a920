//! Text for models: the prompt of a summariser ([`SummaryRequest`]) and the system message of the conversation
//! ([`SystemPrompt`]).

mod data;
mod summary;
mod system;

pub use summary::{Prompt, PromptMessage, SummaryRequest};
pub use system::{
    BuiltPrompt, PromptSection, SectionKind, Skill, SystemPrompt, SystemPromptWarning,
};
