//! Counts the pages that are open beside each other by the locks that they hold.

use std::rc::Rc;

use palimpsest_engine::ports::Ids;
use palimpsest_engine::rows::hex;

use crate::lock::{Answer, Asking, Lock, held, lock};

/// Makes this page count as open for as long as the value lives. A closed or crashed page stops counting.
#[derive(Debug, Clone)]
pub struct Presence {
    _lock: Rc<Lock>,
    prefix: String,
}

impl Presence {
    /// Announces this page to the pages that share the database `name`. `None` if the host has no locks.
    pub async fn begin(name: &str, ids: &dyn Ids) -> Option<Self> {
        let prefix = format!("{name}:page:");
        let own = hex(&ids.random());
        let asked = lock(&format!("{prefix}{own}"), Asking::Patient(1_000), || {}).await;
        match asked {
            Answer::Held(lock) => Some(Self {
                _lock: Rc::new(lock),
                prefix,
            }),
            Answer::Taken | Answer::None => None,
        }
    }

    /// The number of other open pages, or `None` if the host cannot tell.
    pub async fn others(&self) -> Option<u32> {
        held(&self.prefix).await?.checked_sub(1)
    }
}
