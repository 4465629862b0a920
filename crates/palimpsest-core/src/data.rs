//! The data: messages, tools, layers, notes, marks, views, records, goals, policies and shares. No module here looks at
//! a whole conversation.

pub(crate) mod covered;
pub mod goal;
pub mod layer;
pub mod mark;
pub mod marker;
pub mod mode;
pub mod model;
pub mod note;
pub mod policy;
pub mod prompt;
pub mod record;
pub(crate) mod refusal;
pub mod rendition;
pub mod request;
pub mod shares;
pub mod view;

pub use palimpsest_dialect::{message, tool};
