//! The events that a session reports to its host (E2).

use std::cell::RefCell;
use std::rc::Rc;

use palimpsest_core::layer::LayerId;
use palimpsest_core::message::Seq;
use palimpsest_core::run::{RunReport, Stage};
use serde::Serialize;

use crate::snapshot::Purpose;

/// An event. `revision` and `version` let a listener skip a state that it already shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(tag = "event"))]
pub enum Event {
    /// A message was stored.
    MessageAdded {
        /// Its number.
        seq: Seq,
    },
    /// A compaction makes progress.
    Compressing {
        /// Its stage.
        stage: Stage,
        /// The tokens that the summariser has written so far, if known.
        written: u32,
        /// The largest number of tokens that it may write.
        of: u32,
    },
    /// A compaction was committed.
    Compressed {
        /// The new revision.
        revision: u32,
        /// The report of the compaction.
        report: Box<RunReport>,
    },
    /// A compaction changed nothing.
    CompressionSkipped {
        /// The code of the reason.
        code: &'static str,
        /// The reason.
        message: String,
    },
    /// Two automatic compactions in a row freed too little, so none is tried again before the window changes. Nothing
    /// changed.
    CannotShrink {
        /// The tokens that no compaction may remove.
        floor: u32,
        /// The tokens at which a compaction starts.
        trigger: u32,
    },
    /// A compaction failed. Nothing changed.
    CompressionError {
        /// The code of the failure.
        code: &'static str,
        /// The failure.
        message: String,
    },
    /// A layer was written.
    CheckpointCreated {
        /// Its number.
        layer: LayerId,
    },
    /// A layer became shorter.
    CheckpointAged {
        /// The old layer.
        from: LayerId,
        /// The new layer.
        to: LayerId,
    },
    /// A snapshot was made.
    SnapshotCreated {
        /// Its number.
        snapshot: u32,
        /// The snapshot was taken without a request.
        automatic: bool,
    },
    /// A snapshot was taken without a request (S4).
    AutoSnapshotCreated {
        /// Its number.
        snapshot: u32,
        /// Its purpose.
        purpose: Purpose,
    },
    /// A snapshot could not be made, restored or removed. Nothing changed.
    SnapshotError {
        /// The code of the failure.
        code: &'static str,
        /// The failure.
        message: String,
    },
    /// The conversation continues in another session (E1).
    RolloverComplete {
        /// The other session.
        session: String,
        /// The number of notes with which it starts.
        notes: u32,
    },
    /// The window shows a large tool result as a reference (O1).
    Offloaded {
        /// The message of the result.
        seq: Seq,
        /// Tokens freed.
        freed: u32,
    },
    /// A message that had a shorter form is verbatim again.
    Restored {
        /// The message.
        seq: Seq,
    },
    /// Changes of the goal wait for a decision, or one was decided (G3).
    ProposalsChanged {
        /// The number that waits.
        pending: u32,
    },
    /// Skills were switched on or off (G8).
    SkillsChanged {
        /// Names switched on, sorted.
        activated: Vec<String>,
        /// Names switched off, sorted.
        deactivated: Vec<String>,
    },
    /// A snapshot was restored.
    SnapshotRestored {
        /// Its number.
        snapshot: u32,
    },
    /// The session shows another revision, through undo, lift or restore.
    ViewChanged {
        /// The revision.
        revision: u32,
    },
    /// Old passages were quoted for the last message.
    Recalled {
        /// The messages quoted.
        seqs: Vec<Seq>,
    },
    /// The size of the window changed.
    BudgetChanged {
        /// The tokens that it holds.
        tokens: u32,
        /// The tokens at which automatic runs start.
        trigger: u32,
        /// The tokens that it may hold.
        limit: u32,
    },
    /// The server read less of the prompt than was sent (B9).
    PromptTruncated {
        /// Tokens sent.
        sent: u32,
        /// Tokens read.
        read: u32,
    },
    /// A message for the user.
    Warning {
        /// A stable code.
        code: &'static str,
        /// The problem and the remedy.
        message: String,
    },
}

type Listener = Rc<dyn Fn(&Event)>;

/// The listeners of a session. A listener may add or remove listeners.
#[derive(Default, Clone)]
pub struct Listeners(Rc<RefCell<Vec<(u32, Listener)>>>);

impl std::fmt::Debug for Listeners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Listeners")
            .field(&self.0.borrow().len())
            .finish()
    }
}

impl Listeners {
    /// Adds a listener and returns the number that removes it.
    pub fn add(&self, listener: impl Fn(&Event) + 'static) -> u32 {
        let mut all = self.0.borrow_mut();
        let id = all.last().map_or(1, |(id, _)| id + 1);
        all.push((id, Rc::new(listener)));
        id
    }

    /// Removes a listener.
    pub fn remove(&self, id: u32) {
        self.0.borrow_mut().retain(|(n, _)| *n != id);
    }

    /// Calls every listener. No borrow is held while one runs.
    pub fn emit(&self, event: &Event) {
        let now: Vec<Listener> = self.0.borrow().iter().map(|(_, l)| Rc::clone(l)).collect();
        for listener in now {
            listener(event);
        }
    }
}
