//! What the page shows, as plain data.
//!
//! The engine's reports are turned into these values in one place ([`crate::bind`]); components
//! only draw them. Nothing here computes a budget: sizes and limits are the engine's.

pub mod budget;
pub mod card;
pub mod hit;
pub mod kept;
pub mod layer;
pub mod model;
pub mod policy;
pub mod profile;
pub mod record;
pub mod rows;
pub mod sent;
pub mod session;
pub mod stored;
pub mod thread;
pub mod title;
pub mod turns;
pub mod window;
