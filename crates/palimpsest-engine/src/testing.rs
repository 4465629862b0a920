//! For the tests of adapters and of what is built on them: the store contract and a store that fails
//! where it is told to. Feature `testing`.

pub mod contract;
pub mod fault;
pub mod model;
pub mod world;
