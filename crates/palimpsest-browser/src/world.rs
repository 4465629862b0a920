//! The small ports of this host in one value.

use std::rc::Rc;

use palimpsest_engine::ports::{StoreError, World};

use crate::{HostClock, HostIds, HostTimer, Tabs};

/// Returns the host's clock, random numbers and timer, and the tabs that use the same database.
///
/// # Errors
///
/// [`StoreError::Unavailable`] on a host without random numbers.
pub fn world(tabs: &Tabs) -> Result<World, StoreError> {
    Ok(World {
        clock: Rc::new(HostClock),
        ids: Rc::new(HostIds::new()?),
        timer: Rc::new(HostTimer),
        notify: Rc::new(tabs.clone()),
    })
}
