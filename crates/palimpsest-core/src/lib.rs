//! Decides what a model sees of a long conversation.
#![forbid(unsafe_code)]
pub mod message;
pub mod tool;
pub mod mode;
pub mod model;
