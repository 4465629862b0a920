//! Tools for tests of adapters and of code above the engine: the store contract, and stores that fail or wait at a
//! given place. They need the feature `testing`.

pub mod contract;
pub mod fault;
pub mod model;
pub mod pause;
pub mod world;
