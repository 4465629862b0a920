//! The browser: elements, signals, parts that are loaded later, stores, the document, and the host of a mounted app.

pub mod el;
pub mod guest;
pub mod host;
pub mod icon;
pub mod later;
pub mod page;
pub mod pdf;
pub mod resident;
pub mod signal;
pub mod tokenizer;
