//! For the tests of adapters and of what is built on them: the store contract, and stores that fail
//! or wait where they are told to. Feature `testing`.

pub mod contract;
pub mod fault;
pub mod model;
pub mod pause;
pub mod world;
