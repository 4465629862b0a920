//! The ports for time, identifiers, sleep and other tabs.

use std::rc::Rc;

use super::LocalFuture;

/// The wall clock. It serves display, ages and time-outs, never order.
pub trait Clock {
    /// Milliseconds since 1970.
    fn now(&self) -> f64;
}

/// Fresh identifiers.
pub trait Ids {
    /// Returns 16 random bytes, for an identifier or a secret.
    fn random(&self) -> [u8; 16];
}

/// Sleep.
pub trait Timer {
    /// Resolves after about `ms` milliseconds.
    fn sleep(&self, ms: u32) -> LocalFuture<'static, ()>;
}

/// Other tabs of the same origin.
pub trait Notify {
    /// Tells other tabs that `session` changed and that its head has a new version.
    fn changed(&self, session: &str, version: u32);
}

/// The small ports together. Cloning is cheap.
#[derive(Clone)]
pub struct World {
    /// Time.
    pub clock: Rc<dyn Clock>,
    /// Identifiers.
    pub ids: Rc<dyn Ids>,
    /// Sleep.
    pub timer: Rc<dyn Timer>,
    /// Other tabs.
    pub notify: Rc<dyn Notify>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}
