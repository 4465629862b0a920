//! Pages that are open beside each other, counted by the locks that each holds.

use std::rc::Rc;

use palimpsest_engine::ports::Ids;
use palimpsest_engine::rows::hex;

use crate::lock::{Answer, Asking, Lock, held, lock};

/// This page is open: as long as it lives, others count it. A closed or crashed page is not counted any more.
#[derive(Debug, Clone)]
pub struct Presence {
    _lock: Rc<Lock>,
    prefix: String,
}

impl Presence {
    /// Lets the pages that share the database `name` know. `None` where the host has no locks.
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

    /// How many others are open; `None` where that cannot be known.
    pub async fn others(&self) -> Option<u32> {
        held(&self.prefix).await?.checked_sub(1)
    }
}
