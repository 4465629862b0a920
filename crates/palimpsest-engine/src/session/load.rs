//! Opens a session: reads its head, revision, layers, records and messages.

use std::rc::Rc;

use crate::error::EngineError;
use crate::fault::Fault;
use crate::ports::{Lease, Query, Table};
use crate::rows::{session_key, unseal};
use crate::snapshot::Snapshot;
use crate::stored::{Found, claim_whole, damaged_at, find_head, is_newer, shown, was_mended};

use super::open::OpenSessions;
use super::partial::Partial;
use super::{Session, State};

impl Session {
    /// Opens a session in the state in which it was left. `take_over` reads it again even if it is open here, because
    /// another writer may have changed it.
    pub(crate) async fn open(
        open: &Rc<OpenSessions>,
        id: &str,
        take_over: bool,
    ) -> Result<Self, EngineError> {
        if let Some(session) = open.get(id).filter(|_| !take_over) {
            return Ok(session);
        }
        let session = Self::load(open, id, take_over).await?;
        open.remember(&session);
        Ok(session)
    }

    async fn load(open: &Rc<OpenSessions>, id: &str, take_over: bool) -> Result<Self, EngineError> {
        // A session of a newer version is shown but never written (S5), so it is not even claimed.
        if is_newer(open.host.store.as_ref(), id).await? {
            return Self::follow(open, id).await;
        }
        // The claim writes its epoch into the head, so the head is read after it.
        let lease = claim_whole(&open.host, id, take_over).await?;
        Self::read(open, id, lease).await
    }

    /// Opens a session without the right to write it. Every write is refused as superseded.
    pub(crate) async fn follow(open: &Rc<OpenSessions>, id: &str) -> Result<Self, EngineError> {
        let lease = Lease {
            session: id.to_owned(),
            epoch: 0,
            guard: None,
        };
        Self::read(open, id, lease).await
    }

    async fn read(open: &Rc<OpenSessions>, id: &str, lease: Lease) -> Result<Self, EngineError> {
        let host = &open.host;
        let store = host.store.as_ref();
        let mut losses = Vec::new();
        let mut head = match find_head(host, id).await? {
            Found::Whole(head) => {
                if was_mended(store, id).await? {
                    losses.push(Fault::Head);
                }
                head
            }
            Found::Rebuilt(head, _) => {
                losses.push(Fault::Head);
                head
            }
        };
        let shown = shown(host, id, &mut head, &mut losses).await?;
        let snapshots = store
            .read(Query::all(Table::Snapshots, session_key(id)))
            .await?;
        let snapshots = snapshots
            .iter()
            .filter_map(|row| {
                let read = unseal::<Snapshot>("a snapshot", &row.value).ok();
                if read.is_none() {
                    losses.push(damaged_at(Table::Snapshots, &row.key));
                }
                read
            })
            .collect();
        let partial = store
            .read(Query::Get {
                table: Table::Partials,
                key: session_key(id),
            })
            .await?;
        let partial = partial
            .first()
            .and_then(|row| Partial::unseal(&row.value, head.tip));
        let head_revision = head.revision;
        let state = State {
            head,
            context: shown.context,
            messages: shown.messages,
            stored_forms: shown.stored_forms,
            losses,
            snapshots,
            covered_index: std::cell::RefCell::default(),
            follow_index: std::cell::Cell::default(),
            compaction: None,
            put_off: None,
            layout: head_revision,
            speed: super::Speed::default(),
            reply: None,
            partial,
            host_run: None,
            as_good_as_gets: None,
        };
        Ok(Self::with_state(open, id, lease, state, None))
    }

    /// The faults that were found in the session, each once. A lost message is a marked gap in its place. If a layer or
    /// a shorter form is lost, its messages are verbatim. Lost notes and snapshots are left out. A lost revision or
    /// lost records are replaced by the newest whole ones before them. The damaged rows stay in the store.
    pub fn losses(&self) -> Vec<Fault> {
        self.0.state.borrow().losses.clone()
    }
}
