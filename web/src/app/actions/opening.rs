//! Actions that wait until a session is open.

use std::cell::{Cell, RefCell};

use futures_channel::oneshot::{Sender, channel};

use crate::platform::page;
use crate::state::Attached;

/// The time in which a session is opened. Whoever needs the session waits for the end.
pub(crate) struct Opening {
    is_on: Cell<bool>,
    /// The message field was empty at its beginning.
    was_empty: Cell<bool>,
    /// The files that were attached at its beginning.
    files: Cell<usize>,
    waiting: RefCell<Vec<Sender<()>>>,
}

impl Opening {
    /// The time before the first session is open.
    pub(crate) fn of_the_first() -> Self {
        Self {
            is_on: Cell::new(true),
            was_empty: Cell::new(true),
            files: Cell::new(0),
            waiting: RefCell::default(),
        }
    }

    /// Another session is opened, while as many `files` are attached.
    pub(crate) fn begin(&self, files: usize) {
        if !self.is_on.replace(true) {
            self.was_empty.set(page::value("#msg").is_empty());
            self.files.set(files);
        }
    }

    /// The text that was typed into an empty field since the beginning.
    pub(crate) fn typed(&self) -> String {
        if self.is_on.get() && self.was_empty.get() {
            return page::value("#msg");
        }
        String::new()
    }

    /// Divides attached files into those of the session that is left and those that were attached since the beginning.
    pub(crate) fn attached(&self, mut files: Vec<Attached>) -> (Vec<Attached>, Vec<Attached>) {
        let new = if self.is_on.get() {
            files.split_off(self.files.get().min(files.len()))
        } else {
            Vec::new()
        };
        (files, new)
    }

    /// The opening is over, whether it succeeded or not.
    pub(crate) fn end(&self) {
        self.is_on.set(false);
        for one in self.waiting.take() {
            let _ = one.send(());
        }
    }

    /// Returns `true` until the opening is over.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.get()
    }

    /// Waits until nothing is being opened.
    pub(crate) async fn over(&self) {
        while self.is_on.get() {
            let (tell, told) = channel();
            self.waiting.borrow_mut().push(tell);
            let _ = told.await;
        }
    }
}
