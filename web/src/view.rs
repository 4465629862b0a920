//! The data of the page, without behaviour.
//!
//! [`crate::bind`] converts the engine's reports to these values, and components only draw them. Nothing here computes
//! a budget: sizes and limits are the engine's.

pub mod address;
pub mod budget;
pub mod card;
pub mod hit;
pub mod kept;
pub mod layer;
pub mod line;
pub mod model;
pub mod policy;
pub mod profile;
pub mod prompt;
pub mod record;
pub mod rows;
pub mod sent;
pub mod sentences;
pub mod session;
pub mod stored;
pub mod thread;
pub mod title;
pub mod turns;
pub mod window;
