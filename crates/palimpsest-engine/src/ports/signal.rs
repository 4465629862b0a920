//! Cancelling.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Poll, Waker};

#[derive(Debug, Default)]
struct State {
    aborted: Cell<bool>,
    wakers: RefCell<Vec<Waker>>,
}

/// Tells others to stop.
#[derive(Debug, Clone, Default)]
pub struct Abort(Rc<State>);

/// Is told to stop. Cloned freely.
#[derive(Debug, Clone, Default)]
pub struct Signal(Rc<State>);

impl Abort {
    /// A new, unused one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The other end.
    pub fn signal(&self) -> Signal {
        Signal(Rc::clone(&self.0))
    }

    /// Tells everybody who listens. Again: no effect.
    pub fn abort(&self) {
        if !self.0.aborted.replace(true) {
            let wakers = self.0.wakers.take();
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}

impl Signal {
    /// A signal that never comes.
    pub fn never() -> Self {
        Self::default()
    }

    /// Whether to stop.
    pub fn is_aborted(&self) -> bool {
        self.0.aborted.get()
    }

    /// Resolves when to stop.
    pub fn aborted(&self) -> impl Future<Output = ()> + use<> {
        let state = Rc::clone(&self.0);
        std::future::poll_fn(move |cx| {
            if state.aborted.get() {
                return Poll::Ready(());
            }
            let mut wakers = state.wakers.borrow_mut();
            if !wakers.iter().any(|w| w.will_wake(cx.waker())) {
                wakers.push(cx.waker().clone());
            }
            Poll::Pending
        })
    }
}
