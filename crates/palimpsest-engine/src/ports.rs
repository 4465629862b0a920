//! The ports: the traits that a host implements. Their futures need not be `Send`, because a browser has one thread.

pub mod fence;
mod model;
mod range;
mod signal;
mod store;
mod world;

pub use model::{DeltaStream, LanguageModel};
pub use range::after_prefix;
pub use signal::{Abort, Signal};
pub use store::{
    Applied, Durability, Expect, Key, KeyPart, Lease, Op, Query, Row, Store, StoreError, Table,
};
pub use world::{Clock, Ids, Notify, Timer, World};

/// A future of the current thread.
pub type LocalFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + 'a>>;
