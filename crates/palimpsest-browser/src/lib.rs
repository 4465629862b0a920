//! Implements the ports of `palimpsest-engine` for browsers and Node.
//!
//! | port | here |
//! |---|---|
//! | `Store` | [`IndexedDbStore`]; [`LocalStorageStore`] for small sessions if the host refuses IndexedDB; [`HostStore`] for a host's own storage |
//! | `LanguageModel` | [`ServerModel`], a codec of `palimpsest-ollama` over a [`Transport`] ([`FetchTransport`], [`HostTransport`]) |
//! | `Clock`, `Ids`, `Timer`, `Notify` | [`HostClock`], [`HostIds`], [`HostTimer`], [`Tabs`]; together [`world`] |
//!
//! [`vocabulary`] fetches the vocabulary of the user's own model from its server, through a worker and a cache. The
//! crate also has [`settings`] and the [`HeadNote`] in `localStorage`, [`outline`], and [`examine`], which does the
//! probes of the connection doctor. All code goes through `globalThis`, never `window`: pages, workers and Node are all
//! hosts. A feature that a host lacks is an error value, not a panic.

mod clock;
mod diagnosis;
mod fetch;
mod global;
mod head_note;
mod host_store;
mod host_transport;
mod ids;
mod indexed_db;
mod local_store;
mod lock;
#[cfg(target_arch = "wasm32")]
mod memory;
mod model;
pub mod outline;
mod presence;
mod served;
pub mod settings;
mod tabs;
mod timer;
mod transport;
pub mod vocabulary;
mod world;

#[cfg(test)]
#[cfg(target_arch = "wasm32")]
mod tests;

pub use clock::HostClock;
pub use diagnosis::{examine, examine_over};
pub use fetch::{FetchTransport, Patience};
pub use head_note::{Found, HeadNote};
pub use host_store::{HostStore, StorageHost};
pub use host_transport::{Exchange, HostTransport, TransportHost};
pub use ids::HostIds;
pub use indexed_db::{IndexedDbStore, OpenOptions, StorageEvent};
pub use local_store::LocalStorageStore;
pub use model::ServerModel;
pub use presence::Presence;
pub use served::{ServedModel, served_model};
pub use tabs::{Changed, Listening, Tabs};
pub use timer::HostTimer;
pub use transport::{Answer, ByteStream, Transport, beginning, whole};
pub use world::world;
