//! Decides what a model sees of a long conversation.
#![forbid(unsafe_code)]
pub mod message;
pub mod tool;
pub mod mode;
pub mod model;
pub mod request;
pub mod goal;
pub mod fence;
pub mod glob;
pub mod marker;
pub mod prompt;
