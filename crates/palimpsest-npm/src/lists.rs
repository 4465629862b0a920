//! The functions for lists of messages: they need no storage and no server, and are in the main module.

pub(crate) mod compact;
pub(crate) mod count;
pub(crate) mod live;
pub(crate) mod own_counter;
pub(crate) mod recall;
pub(crate) mod resolve;
pub(crate) mod validate;
pub(crate) mod version;
