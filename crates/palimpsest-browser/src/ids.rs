//! Fresh identifiers.

use palimpsest_engine::ports::{Ids, StoreError};

/// The host's cryptographic random numbers.
#[derive(Debug, Clone, Copy)]
pub struct HostIds(());

impl HostIds {
    /// Binds the host's random numbers.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] if the host has none. Without them identifiers could be guessed, so the application
    /// does not start.
    pub fn new() -> Result<Self, StoreError> {
        let mut bytes = [0; 16];
        fill(&mut bytes)
            .map_err(|error| StoreError::Unavailable(format!("no random numbers: {error}")))?;
        Ok(Self(()))
    }
}

impl Ids for HostIds {
    fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        fill(&mut bytes).expect("a host that had random numbers at the start has them later");
        bytes
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one adapter that makes random numbers"
)]
fn fill(bytes: &mut [u8]) -> Result<(), getrandom::Error> {
    getrandom::fill(bytes)
}
