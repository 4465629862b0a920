//! Scratch.
mod args;
mod cut;
mod json;
