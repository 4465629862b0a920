//! What a session tells its host (E2).

use std::cell::RefCell;
use std::rc::Rc;

use palimpsest_core::layer::LayerId;
use palimpsest_core::message::Seq;
use palimpsest_core::run::{RunReport, Stage};
use serde::Serialize;

use crate::snapshot::Purpose;

/// Something that happened. `revision` and `version` let a listener skip what it already shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// A message was stored.
    MessageAdded {
        /// Its number.
        seq: Seq,
    },
    /// A compaction goes on.
    Compressing {
        /// Where it is.
        stage: Stage,
        /// Tokens written so far by the summariser, where known.
        written: u32,
        /// Tokens it is to write at most.
        of: u32,
    },
    /// A compaction was committed.
    Compressed {
        /// The new revision.
        revision: u32,
        /// What it did.
        report: Box<RunReport>,
    },
    /// A compaction changed nothing.
    CompressionSkipped {
        /// The code of the reason.
        code: &'static str,
        /// The reason.
        message: String,
    },
    /// A compaction failed. Nothing changed.
    /// Two automatic compactions in a row freed too little: none is tried again before the window changes. `floor` is
    /// what no compaction may shrink, and `trigger` where one starts, both in tokens.
    CannotShrink {
        /// Tokens that no compaction may shrink.
        floor: u32,
        /// Tokens at which a compaction starts.
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
    /// A layer got shorter.
    CheckpointAged {
        /// The layer that was.
        from: LayerId,
        /// The layer that is.
        to: LayerId,
    },
    /// A snapshot was made.
    SnapshotCreated {
        /// Its number.
        snapshot: u32,
        /// Whether nobody asked for it.
        automatic: bool,
    },
    /// A snapshot was made without anybody asking for it (S4).
    AutoSnapshotCreated {
        /// Its number.
        snapshot: u32,
        /// What it is for.
        purpose: Purpose,
    },
    /// A snapshot could not be made, restored or removed. Nothing changed.
    SnapshotError {
        /// The code of the failure.
        code: &'static str,
        /// The failure.
        message: String,
    },
    /// The conversation goes on in another session (E1).
    RolloverComplete {
        /// The session it goes on in.
        session: String,
        /// How many notes that one starts from.
        notes: u32,
    },
    /// A large tool result is shown as a reference (O1).
    Offloaded {
        /// The message it is in.
        seq: Seq,
        /// Tokens freed.
        freed: u32,
    },
    /// A message that was shown in a shorter form is shown as it was said again.
    Restored {
        /// The message.
        seq: Seq,
    },
    /// Changes of the goal wait for a decision, or one was decided (G3).
    ProposalsChanged {
        /// How many wait.
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
    /// Another revision is shown: undo, lift or restore.
    ViewChanged {
        /// The revision.
        revision: u32,
    },
    /// Old passages were quoted for the last message.
    Recalled {
        /// The messages quoted.
        seqs: Vec<Seq>,
    },
    /// The window's numbers changed.
    BudgetChanged {
        /// Tokens it holds.
        tokens: u32,
        /// Where automatic runs start.
        trigger: u32,
        /// Tokens it may hold.
        limit: u32,
    },
    /// The server read less of the prompt than was sent (B9).
    PromptTruncated {
        /// Tokens sent.
        sent: u32,
        /// Tokens read.
        read: u32,
    },
    /// Something the user should know.
    Warning {
        /// A stable name.
        code: &'static str,
        /// What it is and what to do.
        message: String,
    },
}

type Listener = Rc<dyn Fn(&Event)>;

/// Who listens. A listener may add or remove listeners.
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
    /// Adds a listener; its number removes it again.
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

    /// Tells everybody. No borrow is held while a listener runs.
    pub fn emit(&self, event: &Event) {
        let now: Vec<Listener> = self.0.borrow().iter().map(|(_, l)| Rc::clone(l)).collect();
        for listener in now {
            listener(event);
        }
    }
}
