//! Pieces of views that several features use.

pub mod bar;
pub mod dialog;
pub mod field;
pub mod policies;
pub mod prose;
pub mod trust;
pub mod words;
