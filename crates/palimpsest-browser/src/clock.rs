//! The wall clock.

use palimpsest_engine::ports::Clock;

/// `Date.now()`.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostClock;

impl Clock for HostClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one adapter that reads the clock"
    )]
    fn now(&self) -> f64 {
        js_sys::Date::now()
    }
}
