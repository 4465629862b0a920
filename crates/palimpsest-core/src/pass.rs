//! Passes: what makes a window smaller, cheapest and least lossy first. A pass edits renditions and
//! layers of a context; it never touches messages, a store or a model.

pub mod emergency;
