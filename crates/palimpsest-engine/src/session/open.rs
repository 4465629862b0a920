//! The sessions that are open now, each once.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use palimpsest_core::message::Message;
use palimpsest_core::sorted::SortedMap;

use crate::error::EngineError;
use crate::host::Host;
use crate::ports::LocalFuture;

use super::{Inner, Session};

/// The search in other sessions. There is one where a person wants it, so that nobody else loads its code.
pub(crate) trait SearchOthers {
    /// Reads all sessions.
    fn read<'a>(&'a self, host: &'a Host) -> LocalFuture<'a, Result<(), EngineError>>;

    /// Quotes what answers this question, which is the last message of the session.
    fn quote(
        &self,
        session: Session,
        question: Rc<Message>,
    ) -> LocalFuture<'_, Result<(), EngineError>>;
}

/// The sessions that are open now.
pub(crate) struct OpenSessions {
    pub(crate) host: Rc<Host>,
    /// The search in other sessions, where a person wants it.
    pub(crate) others: RefCell<Option<Rc<dyn SearchOthers>>>,
    sessions: RefCell<SortedMap<String, Weak<Inner>>>,
}

impl OpenSessions {
    pub(crate) fn new(host: Rc<Host>) -> Self {
        Self {
            host,
            others: RefCell::default(),
            sessions: RefCell::default(),
        }
    }

    /// Returns the session of that identifier, if it is open.
    pub(crate) fn get(&self, id: &str) -> Option<Session> {
        let sessions = self.sessions.borrow();
        sessions.get(id).and_then(Weak::upgrade).map(Session)
    }

    pub(crate) fn remember(&self, session: &Session) {
        let mut sessions = self.sessions.borrow_mut();
        sessions.retain(|_, inner| inner.strong_count() > 0);
        sessions.insert(session.id().to_owned(), Rc::downgrade(&session.0));
    }

    pub(crate) fn forget(&self, id: &str) {
        self.sessions.borrow_mut().remove(id);
    }

    pub(crate) fn all(&self) -> Vec<Session> {
        let sessions = self.sessions.borrow();
        sessions
            .values()
            .filter_map(Weak::upgrade)
            .map(Session)
            .collect()
    }

    /// Makes every open session adopt the present counter of its model.
    pub(crate) fn adopt_counters(&self) {
        for session in self.all() {
            session.adopt_counter();
        }
    }
}
