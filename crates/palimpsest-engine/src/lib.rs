//! Drives the decisions of `palimpsest-core` through ports.
//!
//! [`Engine`] lists, makes and opens sessions; [`Session`] is one conversation. Hosts implement the traits
//! of [`ports`]; [`MemoryStore`] is the store that documents the contract.
#![forbid(unsafe_code)]

mod archive;
mod audit;
mod blobs;
pub mod config;
mod counting;
mod damage;
mod engine;
pub mod error;
pub mod event;
mod fault;
mod glance;
pub mod head;
mod host;
pub mod imports;
mod memory;
mod others;
pub mod ports;
pub mod profile;
pub mod rows;
mod served;
pub mod session;
mod setup;
mod snapshot;
mod stored;
mod temporary;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transfer;
mod trash;

pub use archive::{Archive, Restored};
pub use audit::{Audit, Depth, Taken};
pub use config::{Config, ConfigError, Sampling};
pub use damage::Salvaged;
pub use engine::{DEVICE, Engine, Purged};
pub use error::{EngineError, RoomChoice};
pub use event::Event;
pub use fault::Fault;
pub use glance::{Glance, Parts};
pub use head::{Head, NewSession, SessionInfo};
pub use memory::MemoryStore;
pub use profile::{ModelPolicy, Profile};
pub use served::Served;
pub use session::Session;
pub use temporary::{WithTemporary, is_temporary};
pub use transfer::{Accept, Format, Rejected, Transfer, TransferError};
pub use trash::{KEPT_FOR, days_left};
