//! The browser: elements, signals, parts that are loaded later, the store, the model server, the document.

pub mod el;
pub mod guest;
pub mod host;
pub mod icon;
pub mod later;
pub mod page;
pub mod resident;
pub mod signal;
pub mod tokenizer;
