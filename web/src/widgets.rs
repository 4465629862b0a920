//! Pieces of views that several features use.

pub mod dialog;
pub mod field;
