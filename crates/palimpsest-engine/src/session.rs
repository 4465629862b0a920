//! One conversation: its messages, its view, and all changes of both.
//!
//! Every change is one transaction that the session's head decides (I6). The state in memory changes only after the
//! store has confirmed the write. Messages that arrive while a compaction runs do not disturb it.

mod append;
mod aside;
mod compact;
mod count;
mod exact;
mod history;
mod layers;
mod load;
mod log;
mod marks;
mod noting;
mod open;
mod overflow;
mod partial;
mod profile;
mod prompt;
mod recall;
mod records;
mod revise;
mod rollover;
mod send;
mod snapshots;
mod sync;
mod tools;
mod trust;
mod view;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_util::lock::Mutex;
use palimpsest_core::budget::Budget;
use palimpsest_core::context::{Context, Seed, Setup};
use palimpsest_core::layer::{Layer, LayerId};
use palimpsest_core::message::Seq;
use palimpsest_core::record::Records;
use palimpsest_core::run::Run;
use palimpsest_core::sorted::SortedMap;
use palimpsest_core::window::Window;

use crate::error::EngineError;
use crate::event::{Event, Listeners};
use crate::fault::Fault;
use crate::head::{Head, SCHEMA, head_json};
use crate::host::Host;
use crate::ports::{Abort, Durability, Expect, Lease, Op, StoreError, Table};
use crate::rows::session_key;
pub use crate::snapshot::{Purpose, Snapshot};
use crate::stored::Stored;

pub use append::NewMessage;
pub use aside::{Aside, Follows};
pub use compact::{CompactOptions, Compacted, NextJob, PendingJob, Speed};
pub use history::{HistoryItem, LookBack};
pub(crate) use open::{OpenSessions, SearchOthers};
use partial::Partial;

pub use log::{LogAction, LogEntry, log_markdown};
pub use prompt::{PromptParts, proposal_sentence};
pub use send::{Reply, SendEvent, SendOptions, Summariser, ToolHandler};
pub use sync::Synced;
pub use view::IfOver;

pub(crate) struct State {
    pub(crate) head: Head,
    pub(crate) context: Context,
    /// All messages of the session, on every path.
    pub(crate) messages: SortedMap<Seq, Stored>,
    /// The revision that stored each shorter form.
    pub(crate) stored_forms: SortedMap<Seq, u32>,
    /// The faults that were found when the session was opened, or since.
    pub(crate) losses: Vec<Fault>,
    pub(crate) snapshots: Vec<Snapshot>,
    /// The search index over the covered messages. The first search builds it, and from then on it follows the layers.
    pub(crate) covered_index: RefCell<recall::CoveredIndex>,
    /// A function pointer to `follow`, set on first use. The linker can then drop the recall index for callers that
    /// never search.
    pub(crate) follow_index: Cell<Option<fn(&State)>>,
    /// The compaction that runs now.
    pub(crate) compaction: Option<compact::Running>,
    /// A run that gave way to the user's message. It will continue where it stopped (P7).
    pub(crate) put_off: Option<Box<Run>>,
    /// The last revision that changed more than excerpts and recalled quotes. A run that was planned on it or later can
    /// be committed.
    pub(crate) layout: u32,
    /// The measured speed of the model.
    pub(crate) speed: Speed,
    /// The reply that streams now.
    pub(crate) reply: Option<Abort>,
    /// The part of a reply that has arrived and is not stored yet.
    pub(crate) partial: Option<Partial>,
    /// A run whose summaries the host writes.
    pub(crate) host_run: Option<compact::HostRun>,
    /// The layer that the model of this name could not improve. Quiet moments do not try that again (I9).
    pub(crate) as_good_as_gets: Option<(LayerId, String)>,
}

impl State {
    /// Replaces the context by one that was made from it. Changes in memory that happened during the store's write
    /// stay: the tools that a send counted, and a counter that was replaced or has learned.
    pub(crate) fn replace_context(&mut self, context: Context) {
        let before = std::mem::replace(&mut self.context, context);
        if self.context.setup() != before.setup() {
            self.context.set_setup(before.setup().clone());
        }
        self.context.set_counter(Rc::clone(before.counter()));
    }
}

pub(crate) struct Inner {
    pub(crate) host: Rc<Host>,
    pub(crate) open: Rc<OpenSessions>,
    pub(crate) id: String,
    pub(crate) lease: Lease,
    /// The device's secret mixed with the session's identifier. A token made with it is valid for this session only
    /// (G3).
    secret: [u8; 16],
    pub(crate) state: RefCell<State>,
    pub(crate) listeners: Listeners,
    /// Serialises the writes, because each names the head's version. Until the session is stored for the first time, it
    /// holds the rows that go with its first write.
    writing: Mutex<Option<Vec<Op>>>,
    /// Serialises the compactions.
    pub(crate) compacting: Mutex<()>,
    /// Serialises the lists that are taken over as a whole: each looks at what the one before has stored.
    syncing: Mutex<()>,
}

/// One conversation. Cloning is cheap, and all clones are the same session.
#[derive(Clone)]
pub struct Session(pub(crate) Rc<Inner>);

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.0.id)
            .finish_non_exhaustive()
    }
}

/// The writes of one transaction, and the head after it.
pub(crate) struct Change {
    pub(crate) ops: Vec<Op>,
    pub(crate) head: Head,
}

/// The date of the last change that a write leaves in a session's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dating {
    /// The present, unless the change brings another date than the head had.
    Now,
    /// The date that the change brings, also where it is the one that the head had.
    AsGiven,
}

impl Session {
    pub(crate) fn begin(
        open: &Rc<OpenSessions>,
        id: &str,
        lease: Lease,
        head: Head,
        setup: Setup,
        records: Records,
        first: Vec<Op>,
    ) -> Self {
        let context = Context::new(setup, records, open.host.counter_for(&head.model));
        Self::with_state(
            open,
            id,
            lease,
            State {
                head,
                context,
                messages: SortedMap::new(),
                stored_forms: SortedMap::new(),
                losses: Vec::new(),
                snapshots: Vec::new(),
                covered_index: RefCell::default(),
                follow_index: Cell::default(),
                compaction: None,
                put_off: None,
                layout: 0,
                speed: Speed::default(),
                reply: None,
                partial: None,
                host_run: None,
                as_good_as_gets: None,
            },
            Some(first),
        )
    }

    pub(crate) fn with_state(
        open: &Rc<OpenSessions>,
        id: &str,
        lease: Lease,
        state: State,
        first: Option<Vec<Op>>,
    ) -> Self {
        Self(Rc::new(Inner {
            host: Rc::clone(&open.host),
            open: Rc::clone(open),
            id: id.to_owned(),
            lease,
            secret: palimpsest_text::fence::session_secret(&open.host.secret(), id),
            state: RefCell::new(state),
            listeners: Listeners::default(),
            writing: Mutex::new(first),
            compacting: Mutex::new(()),
            syncing: Mutex::new(()),
        }))
    }

    /// The resources that it shares with the other sessions.
    pub(crate) fn host(&self) -> &Host {
        &self.0.host
    }

    /// The session's identifier.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// A copy of the session's head.
    pub fn head(&self) -> Head {
        self.0.state.borrow().head.clone()
    }

    /// The exact messages for the model.
    pub fn window(&self) -> Window {
        self.0.state.borrow().context.window()
    }

    /// The size and the content of the window.
    pub fn budget(&self) -> Budget {
        self.0.state.borrow().context.budget()
    }

    /// The layers in the window, oldest first.
    pub fn layers(&self) -> Vec<Rc<Layer>> {
        self.0.state.borrow().context.view().layers.clone()
    }

    /// The records.
    pub fn records(&self) -> Records {
        self.0.state.borrow().context.records().clone()
    }

    /// A copy of the active context, for previews and inspectors.
    pub fn context(&self) -> Context {
        self.0.state.borrow().context.clone()
    }

    /// Adds a listener and returns the number that removes it.
    pub fn on(&self, listener: impl Fn(&Event) + 'static) -> u32 {
        self.0.listeners.add(listener)
    }

    /// Removes a listener.
    pub fn off(&self, listener: u32) {
        self.0.listeners.remove(listener);
    }

    pub(crate) fn seed(&self) -> Seed {
        Seed {
            now: self.now(),
            secret: self.0.secret,
        }
    }

    pub(crate) fn now(&self) -> f64 {
        self.0.host.world.clock.now()
    }

    pub(crate) fn emit(&self, event: &Event) {
        self.0.listeners.emit(event);
    }

    pub(crate) fn emit_budget(&self) {
        let (tokens, trigger, limit) = {
            let state = self.0.state.borrow();
            let context = &state.context;
            (
                context.tokens(),
                context.trigger(),
                context.setup().shares.limit,
            )
        };
        self.emit(&Event::BudgetChanged {
            tokens,
            trigger,
            limit,
        });
    }

    /// One transaction. `plan` sees the state and says what to write and how the head will be; `done`
    /// brings the state in memory up to date after the store has said yes.
    pub(crate) async fn write<T>(
        &self,
        durability: Durability,
        plan: impl FnOnce(&State) -> Result<(Change, T), EngineError>,
        done: impl FnOnce(&mut State, T),
    ) -> Result<(), EngineError> {
        self.write_dated(durability, Dating::Now, plan, done).await
    }

    /// [`Self::write`] with a choice of the date that the session carries afterwards.
    pub(crate) async fn write_dated<T>(
        &self,
        durability: Durability,
        dating: Dating,
        plan: impl FnOnce(&State) -> Result<(Change, T), EngineError>,
        done: impl FnOnce(&mut State, T),
    ) -> Result<(), EngineError> {
        let mut turn = self.0.writing.lock().await;
        let (mut change, carry, expect) = {
            let state = self.0.state.borrow();
            if state.head.schema > SCHEMA {
                return Err(StoreError::Newer.into());
            }
            let (mut change, carry) = plan(&state)?;
            change.head.version = state.head.version + 1;
            change.head.epoch = self.0.lease.epoch;
            // Rows that come from elsewhere carry their own date.
            if dating == Dating::Now
                && change.head.updated.to_bits() == state.head.updated.to_bits()
            {
                change.head.updated = self.now();
            }
            (
                change,
                carry,
                Expect {
                    version: turn.is_none().then_some(state.head.version),
                },
            )
        };
        if let Some(first) = &*turn {
            change.ops.splice(0..0, first.iter().cloned());
        }
        let value = head_json(&change.head)?;
        change.ops.push(Op::Put {
            table: Table::Heads,
            key: session_key(&self.0.id),
            value,
        });
        self.0
            .host
            .store
            .apply(&self.0.lease, Some(expect), change.ops, durability)
            .await?;
        *turn = None;
        {
            let mut state = self.0.state.borrow_mut();
            state.head = change.head;
            done(&mut state, carry);
            if let Some(follow) = state.follow_index.get() {
                follow(&state);
            }
        }
        drop(turn);
        let version = self.0.state.borrow().head.version;
        self.0.host.world.notify.changed(&self.0.id, version);
        Ok(())
    }

    /// Changes only the head.
    pub(crate) async fn edit_head(&self, edit: impl FnOnce(&mut Head)) -> Result<(), EngineError> {
        self.write(
            Durability::Strict,
            |state| {
                let mut head = state.head.clone();
                edit(&mut head);
                Ok((
                    Change {
                        ops: Vec::new(),
                        head,
                    },
                    (),
                ))
            },
            |_, ()| {},
        )
        .await
    }
}
