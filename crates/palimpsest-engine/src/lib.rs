//! Drives the decisions of `palimpsest-core` through ports.
#![forbid(unsafe_code)]

mod memory;
pub mod ports;
#[cfg(feature = "testing")]
pub mod testing;

pub use memory::MemoryStore;
