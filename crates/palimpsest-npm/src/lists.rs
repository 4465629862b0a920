//! The functions for lists of messages: they need no storage and no server, and are in the main module.

pub(crate) mod calibrator;
pub(crate) mod compact;
pub(crate) mod conversations;
pub(crate) mod count;
pub(crate) mod forgotten;
pub(crate) mod live;
pub(crate) mod own_counter;
pub(crate) mod recall;
pub(crate) mod replay;
pub(crate) mod resolve;
pub(crate) mod validate;
pub(crate) mod version;
