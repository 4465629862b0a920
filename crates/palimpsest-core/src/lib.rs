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
pub mod budget;
pub mod context;
pub mod error;
pub mod layer;
pub mod note;
pub mod pass;
pub mod policy;
pub mod record;
pub mod rendition;
pub mod run;
pub mod shares;
pub mod window;
pub mod retention;
pub mod extractive;
pub mod recall;
