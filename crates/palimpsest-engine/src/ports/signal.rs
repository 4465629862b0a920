//! Cancels running work.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Poll, Waker};

#[derive(Debug, Default)]
struct State {
    aborted: Cell<bool>,
    wakers: RefCell<Vec<Waker>>,
}

/// The sender of a cancellation.
#[derive(Debug, Clone, Default)]
pub struct Abort(Rc<State>);

/// The receiver of a cancellation. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct Signal {
    state: Rc<State>,
    /// A further signal that also counts.
    also: Option<Rc<Self>>,
}

impl Abort {
    /// Creates a sender that has not fired.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a receiver for this sender.
    pub fn signal(&self) -> Signal {
        Signal {
            state: Rc::clone(&self.0),
            also: None,
        }
    }

    /// Fires. Further calls have no effect.
    pub fn abort(&self) {
        if !self.0.aborted.replace(true) {
            let wakers = self.0.wakers.take();
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}

impl Signal {
    /// Returns a signal that never fires.
    pub fn never() -> Self {
        Self::default()
    }

    /// Returns a signal that fires when this one or `other` does.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        match &self.also {
            None => Self {
                state: Rc::clone(&self.state),
                also: Some(Rc::new(other.clone())),
            },
            Some(also) => Self {
                state: Rc::clone(&self.state),
                also: Some(Rc::new(also.or(other))),
            },
        }
    }

    /// Returns `true` after the signal has fired.
    pub fn is_aborted(&self) -> bool {
        self.state.aborted.get() || self.also.as_ref().is_some_and(|also| also.is_aborted())
    }

    /// Resolves when the signal fires.
    pub fn aborted(&self) -> impl Future<Output = ()> + use<> {
        let signal = self.clone();
        std::future::poll_fn(move |cx| {
            if signal.is_aborted() {
                return Poll::Ready(());
            }
            let mut next = Some(&signal);
            while let Some(Self { state, also }) = next {
                let mut wakers = state.wakers.borrow_mut();
                if !wakers.iter().any(|w| w.will_wake(cx.waker())) {
                    wakers.push(cx.waker().clone());
                }
                next = also.as_deref();
            }
            Poll::Pending
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;
    use futures_util::future::join;

    use super::*;

    /// P7: a signal made of three fires with any of them and wakes its waiter.
    #[test]
    fn one_of_several() {
        for which in 0..3 {
            let ends = [Abort::new(), Abort::new(), Abort::new()];
            let all = ends[0].signal().or(&ends[1].signal()).or(&ends[2].signal());
            assert!(!all.is_aborted());
            let ((), ()) = block_on(join(all.aborted(), async { ends[which].abort() }));
            assert!(all.is_aborted());
        }
    }
}
