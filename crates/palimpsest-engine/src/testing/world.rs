//! A world in which time stands still and identifiers count up.

use std::cell::Cell;
use std::rc::Rc;

use crate::ports::{Clock, Ids, LocalFuture, Notify, Timer, World};

/// The longest pause before another attempt, in milliseconds. Time-outs are longer and never fire.
const LONG: u32 = 30_000;

struct Still(Cell<u32>);

impl Clock for Still {
    fn now(&self) -> f64 {
        1_700_000_000_000.0
    }
}

impl Ids for Still {
    fn random(&self) -> [u8; 16] {
        self.0.set(self.0.get() + 1);
        let mut id = [0; 16];
        id[12..].copy_from_slice(&self.0.get().to_be_bytes());
        id
    }
}

impl Timer for Still {
    fn sleep(&self, ms: u32) -> LocalFuture<'static, ()> {
        if ms > LONG {
            Box::pin(std::future::pending())
        } else {
            Box::pin(std::future::ready(()))
        }
    }
}

impl Notify for Still {
    fn changed(&self, _: &str, _: u32) {}
}

/// A fresh world: the first identifier is 1, pauses take no time, and time-outs never fire.
pub fn world() -> World {
    let still = Rc::new(Still(Cell::new(0)));
    World {
        clock: still.clone(),
        ids: still.clone(),
        timer: still.clone(),
        notify: still,
    }
}
