//! Adapts the ports of `palimpsest-engine` to browsers and Node.
//!
//! | port | here |
//! |---|---|
//! | `Store` | [`IndexedDbStore`]; where that is refused, [`LocalStorageStore`] for small sessions; [`HostStore`] for a host's own |
//! | `LanguageModel` | [`ServerModel`], a codec of `palimpsest-ollama` over a [`Transport`] ([`FetchTransport`], [`HostTransport`]) |
//! | `Clock`, `Ids`, `Timer`, `Notify` | [`HostClock`], [`HostIds`], [`HostTimer`], [`Tabs`]; together [`world`] |
//!
//! [`vocabulary`] brings the vocabulary of the user's own model from its server, by way of a worker and a cache.
//! Besides: [`settings`] and the [`HeadNote`] in `localStorage`, [`outline`], and [`examine`], which does what the connection doctor
//! asks for. Everything goes through `globalThis`, never `window`: pages, workers and Node are all hosts, and what one
//! of them lacks is an error value, not a panic.

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
pub use served::served_window;
pub use tabs::{Changed, Listening, Tabs};
pub use timer::HostTimer;
pub use transport::{Answer, ByteStream, Transport, beginning, whole};
pub use world::world;
